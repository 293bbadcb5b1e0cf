/**
 * The timeline of a run: one row for each track, one box for each span.
 *
 * @module
 */
import type { Span } from "../../driver/recording/timeline.ts";
import { milliseconds } from "../milliseconds.ts";
import { type Html, markup } from "./html.ts";

/** Boxes at most; the shortest are left out, and the page says how many. */
const MAX_SPANS = 4000;
/** Marks of the time axis, about. */
const MARKS = 8;

/** The view. Spans are drawn in the order of their starts; tracks in the order of their first spans. */
export function timelineView(spans: readonly Span[]): Html {
  if (spans.length === 0) return markup`<p class="dim">Nothing was recorded.</p>`;
  const end = spans.reduce((latest, span) => Math.max(latest, span.endMs), 1e-3);
  const shown = spans.length <= MAX_SPANS
    ? spans
    : [...spans].sort((a, b) => length(b) - length(a)).slice(0, MAX_SPANS);
  const tracks = Map.groupBy([...spans].sort((a, b) => a.startMs - b.startMs), (span) => span.track);
  const drawn = new Set(shown);
  const left = spans.length - shown.length;
  const rows = [...tracks.values()].map((own, index) =>
    markup`<div class="track" style="--hue: ${index * 67 % 360}">${
      own.filter((span) => drawn.has(span)).map((span) => box(span, end))
    }</div>`
  );
  return markup`
    <label class="zoom">Zoom <input id="zoom" type="range" min="1" max="40" value="1"></label>
    ${left === 0 ? undefined : markup`<p class="dim">The ${left} shortest of ${spans.length} spans are left out.</p>`}
    <div class="lanes">
      <div class="names">${[...tracks.keys()].map((name) => markup`<div title="${name}">${name}</div>`)}</div>
      <div class="scroll">
        <div class="tracks">${rows}${axis(end)}</div>
      </div>
    </div>
  `;
}

function length(span: Span): number {
  return span.endMs - span.startMs;
}

function box(span: Span, end: number): Html {
  const left = 100 * span.startMs / end, width = 100 * length(span) / end;
  const kind = /stopped|forever|failed|refused/.test(span.name) ? " stopped" : /^wait/.test(span.name) ? " wait" : "";
  const title = `${span.name}: ${milliseconds(length(span))} from ${milliseconds(span.startMs)}` +
    (span.detail === undefined ? "" : `\n${span.detail}`);
  return markup`<div class="span${kind}" style="left: ${left.toFixed(4)}%; width: ${
    width.toFixed(4)
  }%" title="${title}">${span.name}</div>`;
}

function axis(end: number): Html {
  const rough = end / MARKS, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => power * factor >= rough)!;
  const marks: Html[] = [];
  for (let at = 0; at < end; at += step) {
    marks.push(markup`<span style="left: ${(100 * at / end).toFixed(3)}%">${milliseconds(at)}</span>`);
  }
  return markup`<div class="axis">${marks}</div>`;
}
