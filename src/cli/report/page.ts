/**
 * The page of `anyagc run --report`: one file, readable without network.
 *
 * @module
 */
import type { ProgramReport } from "../../driver/executor.ts";
import type { Span } from "../../driver/recording/timeline.ts";
import { type AnyAgcError, hex } from "../../errors.ts";
import type { Difference } from "../../guest/map_program.ts";
import { milliseconds } from "../milliseconds.ts";
import { Html, markup } from "./html.ts";
import { SCRIPT, STYLE } from "./style.ts";
import { timelineView } from "./timeline_view.ts";

/** A picture of the page. */
export interface ReportPicture {
  title: string;
  width: number;
  height: number;
  /** A PNG file. */
  png: Uint8Array;
}

/** A program of the page. */
export interface ReportProgram {
  /** Guest address. */
  address: bigint;
  /** Cells of the table beside the address; empty for a program that did not come to run. */
  facts?: Omit<ProgramReport, "address">;
  /** Guest code as a listing. */
  disassembly: string;
  /** The module as assembly, or why there is none. */
  spirv: string;
}

/** Everything that is on the page. */
export interface ReportContent {
  title: string;
  outcome: string;
  /** Name and text of the facts at the top. */
  summary: readonly (readonly [string, string])[];
  error?: AnyAgcError;
  /** What the program's file says about it. */
  notes: readonly string[];
  /** Problems besides the error: validation messages, what the interpreter found. */
  problems: readonly string[];
  differences: readonly Difference[];
  pictures: readonly ReportPicture[];
  spans: readonly Span[];
  programs: readonly ReportProgram[];
  /** Version of AnyAGC. */
  version: string;
}

/** What the page may load: nothing but what is in it (W3C "Content Security Policy Level 3"). */
const POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/** Makes the page. */
export function reportPage(content: ReportContent): string {
  const { title, outcome, summary, notes, pictures, programs, version } = content;
  const { text } = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width">
<title>${title}: ${outcome}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<h1>${title}</h1>
<p><span class="outcome ${outcome}">${outcome}</span> <span class="dim">anyagc ${version}</span></p>
${notes.map((note) => markup`<p>${note}</p>`)}
<dl>${summary.map(([name, value]) => markup`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
${problemList(content)}
${pictures.length === 0 ? undefined : markup`<h2 id="pictures">Pictures</h2>${pictures.map(picture)}`}
<h2 id="timeline">Timeline</h2>
${timelineView(content.spans)}
<h2 id="programs">Programs</h2>
${programs.length === 0 ? markup`<p class="dim">No program was dispatched.</p>` : [table(programs), code(programs)]}
<script>${new Html(SCRIPT)}</script>
</body>
</html>
`;
  return text;
}

function problemList({ error, problems, differences }: ReportContent): Html | undefined {
  const parts: Html[] = [];
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    const code = "code" in each ? markup` <code>${String(each.code)}</code>` : undefined;
    parts.push(markup`<div class="error">${each.message}${code}</div>`);
  }
  for (const problem of problems) parts.push(markup`<div class="error">${problem}</div>`);
  if (differences.length > 0) {
    parts.push(markup`<div class="wide"><table>
      <tr><th>address</th><th>what</th><th class="n">found</th><th class="n">expected</th><th class="n">bytes</th><th>expected by</th></tr>
      ${
      differences.map((d) =>
        markup`
          <tr>
            <td><code>${hex(d.address)}</code></td>
            <td>${d.kind === "untouched" ? "was changed" : "differs"}</td>
            <td class="n"><code>${hex(d.actual, 2)}</code></td>
            <td class="n"><code>${hex(d.expected, 2)}</code></td>
            <td class="n">${d.count}</td>
            <td>${d.reason}</td>
          </tr>
        `
      )
    }</table></div>`);
  }
  return parts.length === 0 ? undefined : markup`<h2 id="problems">Refusals, faults and differences</h2>${parts}`;
}

function picture({ title, width, height, png }: ReportPicture): Html {
  const source = `data:image/png;base64,${png.toBase64()}`;
  return markup`<figure><img src="${source}" width="${width}" height="${height}" alt="${title}">
<figcaption class="dim">${title}, ${width} x ${height}</figcaption></figure>`;
}

function table(programs: readonly ReportProgram[]): Html {
  return markup`<div class="wide"><table>
    <tr><th>address</th><th class="n">instructions</th><th class="n">SPIR-V words</th><th>wave</th><th>mode</th><th>threads</th><th class="n">recompile</th><th class="n">pipeline</th><th class="n">dispatches</th></tr>
    ${
    programs.map(({ address, facts: f }, index) =>
      markup`<tr><td><a href="#code" data-program="program-${index}"><code>${hex(address)}</code></a></td>${
        f === undefined ? markup`<td colspan="8" class="dim">did not run</td>` : markup`
          <td class="n">${f.instructions}</td>
          <td class="n">${f.words}</td>
          <td>wave${f.waveSize}</td>
          <td title="${f.laneModeReason}">${f.laneMode}<br><span class="dim">${f.laneModeReason}</span></td>
          <td>${f.workgroupSize.join(" x ")}</td>
          <td class="n">${milliseconds(f.recompileMs)}</td>
          <td class="n">${milliseconds(f.createMs)}</td>
          <td class="n">${f.dispatches}</td>
        `
      }</tr>\n`
    )
  }</table></div>`;
}

function code(programs: readonly ReportProgram[]): Html {
  return markup`<h2 id="code">Guest code and SPIR-V</h2>
<label hidden>Program <select id="program">${
    programs.map(({ address }, index) => markup`<option value="program-${index}">${hex(address)}</option>`)
  }</select></label>
${
    programs.map(({ address, disassembly, spirv }, index) =>
      markup`
        <section class="program" id="program-${index}">
          <div class="code">
            <div>
              <h3>Guest code at <code>${hex(address)}</code></h3>
              <pre class="guest">${disassembly}</pre>
            </div>
            <div>
              <h3>SPIR-V</h3>
              <pre class="spirv">${spirv}</pre>
            </div>
          </div>
        </section>
      `
    )
  }`;
}
