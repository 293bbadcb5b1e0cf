/** The page's style sheet. */
export const STYLE = `
:root { color-scheme: light dark; --line: #8884; --dim: #777; --card: #8881; --good: #2a8a3e; --bad: #c03028; }
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 1500px; padding: 1.5rem; }
h1 { margin: 0; font-size: 1.6rem; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 .6rem; font-size: 1.15rem; }
.outcome { font-weight: 600; } .passed { color: var(--good); } .failed, .differs { color: var(--bad); }
.dim { color: var(--dim); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 0; }
dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; } .wide { overflow-x: auto; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
code, pre { font: 12.5px/1.4 ui-monospace, monospace; }
.error { border-left: 4px solid var(--bad); background: var(--card); padding: .6rem 1rem; margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
img { max-width: 100%; height: auto; image-rendering: pixelated; border: 1px solid var(--line); }
.lanes { display: grid; grid-template-columns: 9rem minmax(0, 1fr); border: 1px solid var(--line); }
.names > div, .track { height: 26px; border-bottom: 1px solid var(--line); }
.names > div { padding: 0 .5rem; line-height: 26px; font-size: 13px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.scroll { overflow-x: auto; overflow-y: hidden; } .tracks { position: relative; min-width: 100%; overflow: hidden; }
.track { position: relative; }
.span { position: absolute; top: 3px; bottom: 3px; min-width: 2px; overflow: hidden; white-space: nowrap; font-size: 11px; line-height: 20px;
  padding: 0; color: #fff; background: hsl(var(--hue) 55% 42%); border-radius: 2px; }
.span.wait { background: repeating-linear-gradient(135deg, #9995 0 5px, #9992 5px 10px); color: inherit; }
.span.stopped { background: var(--bad); }
.axis { position: relative; height: 22px; font-size: 11px; color: var(--dim); }
.axis span { position: absolute; border-left: 1px solid var(--line); padding-left: 3px; }
.zoom { display: inline-flex; gap: .5rem; align-items: center; margin-bottom: .4rem; }
.code { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1rem; }
.code h3 { margin: .3rem 0; font-size: .95rem; }
.code pre { border: 1px solid var(--line); background: var(--card); margin: 0; padding: .6rem; overflow: auto; max-height: 75vh; }
@media (max-width: 900px) { .code { grid-template-columns: minmax(0, 1fr); } }
[hidden] { display: none !important; }
`;

/** The page's script: the program that is shown, and the width of the timeline. Without it all programs are shown. */
export const SCRIPT = `
"use strict";
const chooser = document.querySelector("#program"), zoom = document.querySelector("#zoom");
if (chooser) {
  const show = () => document.querySelectorAll(".program").forEach((e) => e.hidden = e.id !== chooser.value);
  chooser.closest("label").hidden = false;
  chooser.addEventListener("change", show);
  show();
  document.querySelectorAll("a[data-program]").forEach((a) => a.addEventListener("click", () => { chooser.value = a.dataset.program; show(); }));
}
if (zoom) zoom.addEventListener("input", () => document.querySelectorAll(".tracks").forEach((e) => e.style.width = zoom.value * 100 + "%"));
`;
