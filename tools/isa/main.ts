/**
 * Writes docs/isa.md, the coverage of the ISA: `deno run -A tools/isa/main.ts`, part of `deno task gen`. A test fails when the file is not what this makes.
 *
 * @module
 */
import { coverage, type CoverageRow, type Status } from "./coverage.ts";
import { refusedForms } from "./forms.ts";

const FILE = new URL("../../docs/isa.md", import.meta.url);

const INTRO = `# ISA coverage

Written by \`tools/isa\` (\`deno task gen\`); do not edit. Every opcode of gfx1013 and gfx1030 that the table in
\`src/rdna/table/\` has, and what becomes of it. **yes**: done in every documented form but those that the last part
lists; **flow**: done, by the control flow graph; a text: refused, by name and with the program counter, and why.

Rounding modes of MODE other than to nearest even (up, down, toward zero) are refused by name where an operation rounds:
SPIR-V has no form for two of them, and most devices none for the third. Operations that are exact, comparisons and
conversions with a rounding of their own are done in all modes. The interpreter honours all four.
`;

/** Columns of equal width, as `deno fmt` makes them. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, c) => Math.max(3, title.length, ...rows.map((row) => row[c].length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, c) => cell.padEnd(widths[c])).join(" | ")} |`;
  return [line(head), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...rows.map(line)].join("\n");
}

function statusText(status: Status): string {
  if (!status.done) return status.why.replaceAll("|", "\\\\|");
  return status.how === "control flow" ? "flow" : "yes";
}

function count(rows: readonly CoverageRow[], of: (row: CoverageRow) => boolean): string {
  return `${rows.filter(of).length}`;
}

function byEncoding(rows: readonly CoverageRow[]): Map<string, CoverageRow[]> {
  const groups = new Map<string, CoverageRow[]>();
  for (const row of rows) groups.set(row.encoding, [...groups.get(row.encoding) ?? [], row]);
  return groups;
}

function summary(rows: readonly CoverageRow[]): string {
  const line = (name: string, list: readonly CoverageRow[]) => [
    name,
    `${list.length}`,
    count(list, (row) => row.decoder),
    count(list, (row) => row.disassembler),
    count(list, (row) => row.interpreter.done),
    count(list, (row) => row.recompiler.done),
  ];
  return table(["encoding", "opcodes", "decoder", "disassembler", "interpreter", "recompiler"], [
    ...[...byEncoding(rows)].map(([name, list]) => line(name, list)),
    line("all", rows),
  ]);
}

function opcodes(rows: readonly CoverageRow[]): string {
  const yes = (is: boolean) => is ? "yes" : "no";
  return [...byEncoding(rows)].map(([name, list]) => {
    const cells = list.map((row) => {
      const { opcode } = row;
      const number = opcode.numbers[opcode.encoding] ?? 0;
      return [
        `\`${opcode.name}\``,
        `0x${number.toString(16)}`,
        row.targets.length === 2 ? "both" : row.targets.join(),
        yes(row.decoder),
        yes(row.disassembler),
        statusText(row.interpreter),
        statusText(row.recompiler),
      ];
    });
    return `## ${name}\n\n${
      table(["opcode", "number", "targets", "decoder", "disassembler", "interpreter", "recompiler"], cells)
    }\n`;
  }).join("\n");
}

/** The whole document. */
export function document(): string {
  const rows = coverage();
  const forms = refusedForms().map(({ file, texts }) =>
    `\`${file}\`\n\n${texts.map((text) => `- ${text}`).join("\n")}\n`
  );
  return [
    INTRO,
    `${summary(rows)}\n`,
    opcodes(rows),
    "## Refused forms\n\nWhat the recompiler refuses of instructions that it has, by the file that does it; … stands for numbers and names.\n",
    forms.join("\n"),
  ].join("\n");
}

if (import.meta.main) {
  Deno.writeTextFileSync(FILE, document());
  console.log("docs/isa.md");
}
