/**
 * Machine code of the self-made executable's entry point: the assembled entry_stub.s, which explains it.
 *
 * @module
 */

/** What the code needs to know, all of it relative to its own first byte. */
export interface EntryStub {
  /** Deno's entry point. */
  readonly entry: bigint;
  /** The slot into which the dynamic loader puts the address of libc's `environ`. */
  readonly environSlot: bigint;
  /** Arguments to put behind argv[0]. */
  readonly args: readonly string[];
  /** `NAME=VALUE` to put in front of the environment. */
  readonly environment: readonly string[];
}

/** The code up to its numbers. */
// deno-fmt-ignore
export const ENTRY_CODE =
  "4889e6488b06488d7cc61048833f00488d7f0875f648833f00488d7f1075f64989fd4889f94829f1" +
  "448b0db9000000448b25b60000004b8d1c21488d1cd94989f24929da4983e2f04c89d44a8d1c0849" +
  "891a488b5e0849895a08498d7a104c8d1d8b0000004c8d3594ffffff4489c983e9017213418b1b49" +
  "83c3044c01f348891f4883c708ebe84883c6104889c1f348a5488b1d48000000498b1c1e48893b44" +
  "89e183e9017213418b1b4983c3044c01f348891f4883c708ebe84c89e94829f148c1e903f348a54c" +
  "03350a00000041ffe60f1f8000000000";

/** Bytes of the numbers that end entry_stub.s: entry, environ_slot, argument_count, variable_count. */
export const ENTRY_NUMBERS_BYTES = 24;

/** Code, numbers and strings. */
export function entryStub({ entry, environSlot, args, environment }: EntryStub): Uint8Array {
  const code = Uint8Array.fromHex(ENTRY_CODE);
  const strings = [...args, ...environment].map((text) => new TextEncoder().encode(text + "\0"));
  const table = code.length + ENTRY_NUMBERS_BYTES;
  let at = table + 4 * strings.length;
  const bytes = new Uint8Array(strings.reduce((sum, text) => sum + text.length, at));
  const view = new DataView(bytes.buffer);
  bytes.set(code);
  view.setBigInt64(code.length, entry, true);
  view.setBigInt64(code.length + 8, environSlot, true);
  view.setUint32(code.length + 16, args.length, true);
  view.setUint32(code.length + 20, environment.length, true);
  strings.forEach((text, i) => {
    view.setUint32(table + 4 * i, at, true);
    bytes.set(text, at);
    at += text.length;
  });
  return bytes;
}
