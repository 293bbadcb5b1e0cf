/** Writes a program as a file that `anyagc run` reads (docs/program-json.md), with the reference's results as expectations. */
import type { Program } from "../../src/guest/program.ts";
import { Permission } from "../../src/guest/memory/window.ts";

/** Bytes that must be in memory at the end. */
export interface ExpectedBytes {
  address: bigint;
  words: Uint32Array;
  reason: string;
}

/** The program as JSON text. */
export function programJson(program: Program, notes: readonly string[], expected: readonly ExpectedBytes[]): string {
  const memory = program.memory.map(({ name, base, bytes, permissions, contents }) => ({
    name,
    base: hex(base),
    bytes,
    permissions: letters(permissions),
    contents: contents.map(({ offset, data }) => ({ offset, words: hexWords(wordsOf(data)) })),
  }));
  const submissions = program.submissions.map(({ queue, words }) => ({ queue, words: hexWords(words) }));
  const expect = expected.map(({ address, words, reason }) => ({
    address: hex(address),
    words: hexWords(words),
    reason,
  }));
  const { name, target } = program;
  return JSON.stringify({ schema: "anyagc.program/1", name, target, notes, memory, submissions, expect }) + "\n";
}

function hex(value: bigint): string {
  return `0x${value.toString(16)}`;
}

function hexWords(words: Uint32Array): string[] {
  return Array.from(words, (word) => `0x${word.toString(16)}`);
}

function wordsOf(data: Uint8Array): Uint32Array {
  const words = new Uint32Array(Math.ceil(data.length / 4));
  new Uint8Array(words.buffer).set(data);
  return words;
}

function letters(permissions: number): string {
  const bits = [[Permission.Read, "r"], [Permission.Write, "w"], [Permission.Execute, "x"]] as const;
  return bits.filter(([bit]) => (permissions & bit) !== 0).map(([, letter]) => letter).join("");
}
