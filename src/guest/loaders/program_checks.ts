/** What every description of a guest program must satisfy, whatever format it came in. Each check reports at the JSON value that is wrong. */
import { hex } from "../../errors.ts";
import { isCanonical, PAGE_BYTES } from "../memory/address.ts";
import { Permission } from "../memory/window.ts";
import type { Frame, MemoryPiece, ProgramMemory } from "../program.ts";
import type { JsonNode } from "./json_node.ts";

const MAX_U32 = 0xFFFF_FFFF;
const MAX_U64 = (1n << 64n) - 1n;
/** Largest window, contents or expectation, in bytes. */
export const MAX_BYTES = 0x1_0000_0000;
/** Longest command buffer, in words. */
export const MAX_SUBMISSION_WORDS = 1 << 26;

/** Reads `base` and `bytes` of a window: whole pages of guest addresses that no window before it has. */
export function readWindowRange(
  node: JsonNode,
  before: readonly Pick<ProgramMemory, "name" | "base" | "bytes">[],
): { base: bigint; bytes: number } {
  const baseNode = node.get("base"),
    base = baseNode.unsigned(MAX_U64),
    bytesNode = node.get("bytes"),
    bytes = bytesNode.integer(1, MAX_BYTES);
  if (base % BigInt(PAGE_BYTES) !== 0n) baseNode.fail(`${hex(base)} is no multiple of 4096`);
  if (bytes % PAGE_BYTES !== 0) bytesNode.fail(`${bytes} is no multiple of 4096`);
  const last = base + BigInt(bytes) - 1n;
  if (!isCanonical(base)) baseNode.fail(`${hex(base)} is no guest address: bits 63 to 48 must repeat bit 47`);
  if (!isCanonical(last) || last >> 63n !== base >> 63n || last === MAX_U64) {
    bytesNode.fail(`the window leaves the guest's addresses at ${hex(base + BigInt(bytes))}`);
  }
  const other = before.find((window) => base <= window.base + BigInt(window.bytes) - 1n && window.base <= last);
  if (other !== undefined) node.fail(`overlaps window ${other.name}`);
  return { base, bytes };
}

/** Permission bits from letters; all of them when nothing is said. */
export function readPermissions(node: JsonNode | undefined): number {
  if (node === undefined) return Permission.All;
  const text = node.text();
  if (!/^r?w?x?$/.test(text) || text === "") {
    node.fail(`${JSON.stringify(text)}: letters of "rwx", in this order, are expected`);
  }
  return (text.includes("r") ? Permission.Read : 0) | (text.includes("w") ? Permission.Write : 0) |
    (text.includes("x") ? Permission.Execute : 0);
}

/** Fails at the item whose contents overlap other contents of the window. */
export function refuseOverlap(list: JsonNode | undefined, pieces: readonly MemoryPiece[]): void {
  const order = pieces.map((_, index) => index).toSorted((a, b) => pieces[a].offset - pieces[b].offset);
  for (let i = 1; i < order.length; i++) {
    const before = pieces[order[i - 1]], piece = pieces[order[i]];
    if (before.offset + before.data.length > piece.offset) {
      list!.items()[order[i]].fail(`overlaps the contents at offset ${hex(before.offset)}`);
    }
  }
}

/** Reads a queue number. */
export function readQueue(node: JsonNode): number {
  const queue = node.integer(0, MAX_U32);
  if (queue !== 0 && (queue < 0x20 || queue > 0x57)) {
    node.fail("queues are 0 (graphics) and 0x20 to 0x57 (compute)");
  }
  return queue;
}

/** Reads the description of a picture; all of its bytes must be in one window. */
export function readFrame(node: JsonNode, memory: readonly ProgramMemory[]): Frame {
  node.onlyKeys(["address", "width", "height", "pitchBytes", "format", "tiling"]);
  const address = readAddressIn(node.get("address"), 4);
  const width = node.get("width").integer(1, 16384), height = node.get("height").integer(1, 16384);
  const pitchNode = node.optional("pitchBytes"), format = node.get("format").oneOf<Frame["format"]>("rgba8", "bgra8");
  const tiling = node.optional("tiling")?.oneOf<Frame["tiling"]>("linear", "64KB_R_X") ?? "linear";
  const tiled = tiling !== "linear";
  const natural = 4 * (tiled ? Math.ceil(width / 128) * 128 : width);
  const pitchBytes = pitchNode?.integer(natural, 1 << 20) ?? natural;
  if (pitchBytes % (tiled ? 512 : 4) !== 0) pitchNode!.fail(`must be a multiple of ${tiled ? 512 : 4}`);
  const bytes = tiled ? pitchBytes * Math.ceil(height / 128) * 128 : pitchBytes * (height - 1) + 4 * width;
  requireMapped(node.get("address"), address, bytes, memory);
  return { address, width, height, pitchBytes, format, tiling };
}

/** Reads an address: canonical, a multiple of `alignment`. */
export function readAddressIn(node: JsonNode, alignment: number): bigint {
  const address = node.unsigned(MAX_U64);
  if (!isCanonical(address)) node.fail(`${hex(address)} is no guest address: bits 63 to 48 must repeat bit 47`);
  if (address % BigInt(alignment) !== 0n) node.fail(`${hex(address)} is no multiple of ${alignment}`);
  return address;
}

/** The window that has all of the range; fails when none has. */
export function requireMapped(
  node: JsonNode,
  address: bigint,
  bytes: number,
  memory: readonly ProgramMemory[],
): ProgramMemory {
  const window = memory.find(({ base, bytes: size }) =>
    address >= base && address + BigInt(bytes) <= base + BigInt(size)
  );
  return window ?? node.fail(`${hex(address)} to ${hex(address + BigInt(bytes))} is not inside one memory window`);
}
