/**
 * A sample program as its script gives it, and its text as a program file (docs/program-json.md).
 *
 * @module
 */

/** See docs/program-json.md for the meaning of the fields. */
export interface SampleProgram {
  name: string;
  notes: string[];
  memory: {
    name: string;
    base: bigint;
    bytes: number;
    permissions: string;
    contents?: { offset: number; file: string }[];
  }[];
  submissions: {
    queue: number;
    label: string;
    /** Words of each packet. */
    packets: number[][];
  }[];
  expect: { address: bigint; words: number[]; reason: string }[];
  frame: { address: bigint; width: number; height: number; pitchBytes: number; format: "rgba8" | "bgra8" };
}

/** The file's text: JSON with one packet a line, so that a change of a stream is a readable difference. */
export function programText(program: SampleProgram): string {
  const list = (items: readonly string[], indent: string) =>
    items.length === 0 ? "[]" : `[\n${items.map((item) => `${indent}  ${item}`).join(",\n")}\n${indent}]`;
  const member = (key: string, value: string) => `  ${JSON.stringify(key)}: ${value}`;
  const submission = (s: SampleProgram["submissions"][number]) => {
    const words = s.packets.map((packet) => packet.map((word) => JSON.stringify(hex(word, 8))).join(", "));
    return `{ "queue": ${JSON.stringify(hex(s.queue))}, "label": ${JSON.stringify(s.label)}, "words": ${
      list(words, "    ")
    } }`;
  };
  return `{\n${
    [
      member("schema", JSON.stringify("anyagc.program/1")),
      member("name", JSON.stringify(program.name)),
      member("target", JSON.stringify("gfx1013")),
      member("notes", list(program.notes.map((note) => JSON.stringify(note)), "  ")),
      member("memory", list(program.memory.map((m) => line({ ...m, base: hex(m.base) })), "  ")),
      member("submissions", list(program.submissions.map(submission), "  ")),
      member(
        "expect",
        list(
          program.expect.map((e) => line({ ...e, address: hex(e.address), words: e.words.map((w) => hex(w, 8)) })),
          "  ",
        ),
      ),
      member("frame", line({ ...program.frame, address: hex(program.frame.address) })),
    ].join(",\n")
  }\n}\n`;
}

/** JSON of an object on one line, with blanks. */
function line(value: Record<string, unknown>): string {
  return JSON.stringify(value, null, 1).replace(/\n\s*/g, " ");
}

function hex(value: number | bigint, digits = 1): string {
  return "0x" + value.toString(16).padStart(digits, "0");
}
