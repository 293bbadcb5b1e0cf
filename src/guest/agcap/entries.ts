import { MalformedFileError } from "../loaders/file_format.ts";
import type { JsonNode } from "../loaders/json_node.ts";
import { readAddressIn, requireMapped } from "../loaders/program_checks.ts";
import type { ProgramMemory, UntouchedRange } from "../program.ts";
import type { ZipArchive } from "../zip/read_zip.ts";
import { MANIFEST } from "./schema.ts";

/** The archive's entries for the readers of the manifest's parts: each may be named once, and all must be named. */
export class AgcapEntries {
  readonly archive: ZipArchive;
  readonly #used = new Set<string>([MANIFEST]);

  constructor(archive: ZipArchive) {
    this.archive = archive;
  }

  /** Path of an entry for errors. */
  pathOf(name: string): string {
    return `${this.archive.file}:${name}`;
  }

  /** The bytes of the entry that a value names; their number must be `bytes` where it is given. */
  read(node: JsonNode, bytes?: number): Uint8Array<ArrayBuffer> {
    const name = node.text(), entry = this.archive.entries.get(name);
    if (entry === undefined) node.fail(`the archive has no entry ${name}`, "agcap.missing-entry");
    if (this.#used.has(name)) node.fail(`entry ${name} is named a second time`, "agcap.shared-entry");
    this.#used.add(name);
    if (bytes !== undefined && entry.bytes !== bytes) {
      node.fail(`entry ${name} has ${entry.bytes} bytes; ${bytes} are expected`, "agcap.entry-size");
    }
    return this.archive.read(name);
  }

  /** Cuts the entry that `node` names into pieces of the given lengths, which must be all of it. */
  readPieces(owner: JsonNode, lengths: readonly number[]): Uint8Array<ArrayBuffer>[] {
    const node = owner.optional("entry");
    if (lengths.length === 0) {
      node?.fail("there are no pieces that the entry could hold", "agcap.entry-size");
      return [];
    }
    const all = this.read(owner.get("entry"), lengths.reduce((sum, length) => sum + length, 0));
    let at = 0;
    return lengths.map((length) => all.slice(at, at += length));
  }

  /** Refuses entries that nothing named. */
  finish(): void {
    for (const { name, headerOffset } of this.archive.entries.values()) {
      if (this.#used.has(name)) continue;
      throw new MalformedFileError("agcap.unknown-entry", `the manifest does not name entry ${name}`, {
        file: this.archive.file,
        fileOffset: headerOffset,
      });
    }
  }
}

/** An address, a length and a reason; the range must be in one window. */
export function readRange(node: JsonNode, memory: readonly ProgramMemory[]): UntouchedRange {
  const address = readAddressIn(node.get("address"), 1), bytes = node.get("bytes").integer(1, 2 ** 32);
  requireMapped(node.get("address"), address, bytes, memory);
  return { address, bytes, reason: node.get("reason").text() };
}
