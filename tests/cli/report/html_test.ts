import { assertEquals } from "@std/assert";
import { escapeText, Html, markup } from "../../../src/cli/report/html.ts";

Deno.test("text in a template shows as itself, wherever it stands", () => {
  const hostile = `"><script>alert('1')</script>&amp;`;
  assertEquals(
    markup`<b title="${hostile}">${hostile}</b>`.text,
    `<b title="&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;">` +
      `&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;</b>`,
  );
});

Deno.test("HTML in a template stays, lists are joined, undefined is nothing", () => {
  assertEquals(markup`${[markup`<i>${1}</i>`, "<", undefined]}${new Html("<br>")}`.text, "<i>1</i>&lt;<br>");
});

Deno.test("characters that HTML does not allow are replaced", () => {
  assertEquals(escapeText("a\0b\x1b\n\tc"), "a\ufffdb\ufffd\n\tc");
});
