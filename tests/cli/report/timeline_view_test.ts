import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { milliseconds } from "../../../src/cli/milliseconds.ts";
import { timelineView } from "../../../src/cli/report/timeline_view.ts";

Deno.test("a timeline without spans says so", () => {
  assertStringIncludes(timelineView([]).text, "Nothing was recorded");
});

Deno.test("spans stand where they happened, on one row for each track, in the order of the tracks' first spans", () => {
  const { text } = timelineView([
    { track: "later", name: "b", startMs: 25, endMs: 100 },
    { track: "first", name: "a", startMs: 0, endMs: 50, detail: "of two\nlines" },
  ]);
  assertStringIncludes(text, `left: 25.0000%; width: 75.0000%" title="b: 75.0 ms from 25.0 ms">b<`);
  assertStringIncludes(text, `left: 0.0000%; width: 50.0000%" title="a: 50.0 ms from 0\nof two\nlines">a<`);
  assert(text.indexOf(">first<") < text.indexOf(">later<"));
  assertEquals(text.match(/class="track"/g)?.length, 2);
});

Deno.test("of very many spans the shortest are left out, and the page says how many", () => {
  const spans = Array.from({ length: 4100 }, (_, i) => ({ track: "t", name: `s${i}`, startMs: i, endMs: i + i / 1e4 }));
  const { text } = timelineView(spans);
  assertStringIncludes(text, "The 100 shortest of 4100 spans are left out");
  assertEquals(text.match(/class="span"/g)?.length, 4000);
  assert(!text.includes(">s99<") && text.includes(">s100<"));
});

Deno.test("durations read well at any size", () => {
  assertEquals([0, 0.0123, 1.25, 1234.4].map(milliseconds), ["0", "12 us", "1.3 ms", "1234 ms"]);
});
