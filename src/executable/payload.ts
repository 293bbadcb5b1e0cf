/**
 * Files at the end of an executable: their bytes, an index (JSON), and a trailer of 16 bytes: length of the index and of the files (u32,
 * little-endian), then {@linkcode MAGIC}.
 *
 * @module
 */
import { HostError } from "../errors.ts";
import { type Package, sha256 } from "../storage/unpack.ts";

const MAGIC = "anyagc/1";
const TRAILER_BYTES = 16;

interface IndexEntry {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly checkedOnUse?: boolean;
}

/** What is appended for `files` (name, content), in parts to be written one after another. All but modules are checked on use. */
export async function encodePayload(
  files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>,
): Promise<Uint8Array<ArrayBuffer>[]> {
  const entries: IndexEntry[] = [];
  for (const [name, data] of files) {
    const checkedOnUse = name.endsWith(".js") ? undefined : true;
    entries.push({ name, bytes: data.length, sha256: await sha256(data), checkedOnUse });
  }
  const index = new TextEncoder().encode(JSON.stringify(entries));
  const trailer = new Uint8Array(TRAILER_BYTES), view = new DataView(trailer.buffer);
  view.setUint32(0, index.length, true);
  view.setUint32(4, entries.reduce((sum, entry) => sum + entry.bytes, 0), true);
  trailer.set(new TextEncoder().encode(MAGIC), 8);
  return [...files.values(), index, trailer];
}

/** The files of an executable. @throws {HostError} `host.damaged-executable` when there are none */
export async function readPayload(path: string): Promise<Package> {
  using file = Deno.openSync(path);
  const size = file.statSync().size;
  const read = (at: number, bytes: number) => readAt(file, at, bytes);
  const trailer = size < TRAILER_BYTES ? new Uint8Array(TRAILER_BYTES) : read(size - TRAILER_BYTES, TRAILER_BYTES);
  const view = new DataView(trailer.buffer);
  const indexBytes = view.getUint32(0, true), fileBytes = view.getUint32(4, true);
  const indexAt = size - TRAILER_BYTES - indexBytes;
  if (new TextDecoder().decode(trailer.subarray(8)) !== MAGIC || indexAt < fileBytes) {
    throw new HostError("host.damaged-executable", `${path} does not end as it was built`);
  }
  const index = read(indexAt, indexBytes);
  let entries: IndexEntry[];
  try {
    entries = JSON.parse(new TextDecoder().decode(index));
  } catch {
    throw new HostError("host.damaged-executable", `${path} has a damaged list of files`);
  }
  let at = indexAt - fileBytes;
  const files = entries.map((entry) => {
    const { bytes } = entry, start = at;
    at += bytes;
    return {
      ...entry,
      read: () => {
        using file = Deno.openSync(path);
        return readAt(file, start, bytes);
      },
    };
  });
  // The index has the hash of every file, so its own hash is one of the whole content.
  return { name: (await sha256(index)).slice(0, 32), files };
}

function readAt(file: Deno.FsFile, at: number, bytes: number): Uint8Array<ArrayBuffer> {
  const data = new Uint8Array(bytes);
  file.seekSync(at, Deno.SeekMode.Start);
  for (let done = 0; done < bytes;) {
    const more = file.readSync(data.subarray(done));
    if (more === null) throw new HostError("host.damaged-executable", "the executable is shorter than it was built");
    done += more;
  }
  return data;
}
