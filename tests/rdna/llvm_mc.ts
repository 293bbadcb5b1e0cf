/** Runs llvm-mc-19 as an oracle of encodings, both ways: many instructions per process call. */
import { assertEquals } from "@std/assert";
import type { Target } from "../../src/rdna/target.ts";

const PROGRAM = "llvm-mc-19";

/** Whether the oracle is installed (Debian package llvm-19). */
export function hasLlvmMc(): boolean {
  try {
    return new Deno.Command(PROGRAM, { args: ["--version"], stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

/** "s_mov_b32 s105, 0x55nnnnnn": marks the end of instruction n in the output, which says nothing about refused words. */
const MARKER_WORD = 0xbee903ff;
const MARKER_BASE = 0x55000000;

/**
 * Disassembles each word sequence on its own. The result holds LLVM's text with single spaces, or undefined where LLVM refuses the words or
 * finds more than one instruction in them.
 */
export async function llvmDisassemble(
  programs: readonly (readonly number[])[],
  target: Target,
  waveSize: 32 | 64,
): Promise<(string | undefined)[]> {
  const input = programs.map((words, i) => block(words) + block([MARKER_WORD, MARKER_BASE + i])).join("");
  const child = new Deno.Command(PROGRAM, {
    args: ["-arch=amdgcn", `-mcpu=${target}`, `-mattr=+wavefrontsize${waveSize}`, "-disassemble"],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  const written = writer.write(new TextEncoder().encode(input)).then(() => writer.close());
  const { stdout } = await child.output();
  await written;
  const result: (string | undefined)[] = new Array(programs.length).fill(undefined);
  let lines: string[] = [];
  for (const line of new TextDecoder().decode(stdout).split("\n")) {
    const text = line.trim().replace(/\s+/g, " ");
    const marker = /^s_mov_b32 s105, 0x55([0-9a-f]{6})$/.exec(text);
    if (marker !== null) {
      if (lines.length === 1) result[parseInt(marker[1], 16)] = lines[0];
      lines = [];
    } else if (text !== "" && !text.startsWith(".")) lines.push(text);
  }
  return result;
}

/**
 * The words of each line as hexadecimal text, words apart by spaces; lines without labels.
 *
 * @throws AssertionError if LLVM has something to say about a line
 */
export async function llvmAssemble(lines: readonly string[], target: string, waveSize: number): Promise<string[]> {
  const attributes = `+wavefrontsize${waveSize},-wavefrontsize${96 - waveSize}`;
  const child = new Deno.Command(PROGRAM, {
    args: ["-arch=amdgcn", `-mcpu=${target}`, `-mattr=${attributes}`, "-show-encoding"],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  const written = writer.write(new TextEncoder().encode(lines.join("\n") + "\n")).then(() => writer.close());
  const { stdout, stderr } = await child.output();
  await written;
  assertEquals(new TextDecoder().decode(stderr), "");
  return [...new TextDecoder().decode(stdout).matchAll(/encoding: \[(.*?)\]/g)].map(([, text]) => {
    const bytes = text.split(",").map((byte) => byte.slice(2));
    const words: string[] = [];
    for (let at = 0; at < bytes.length; at += 4) words.push(bytes.slice(at, at + 4).reverse().join(""));
    return words.join(" ");
  });
}

function block(words: readonly number[]): string {
  const bytes = words.flatMap((word) => [word & 255, word >>> 8 & 255, word >>> 16 & 255, word >>> 24]);
  return `[${bytes.map((byte) => "0x" + byte.toString(16).padStart(2, "0")).join(",")}]\n`;
}
