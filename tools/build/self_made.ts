/**
 * The self-made executable: Deno's own executable with another entry point and, behind it, the program. It is a changed Deno, no product
 * of `deno compile`; it needs no base binary of that. x86-64 Linux with glibc.
 *
 * Layout: Deno | zeros | program headers, entry stub, its strings | files, index, trailer (src/executable/payload.ts).
 *
 * @module
 */
import { encodePayload } from "../../src/executable/payload.ts";
import { ElfProgram } from "./elf.ts";
import { entryStub } from "./entry_stub.ts";

/** Rights of the program. Denying any (the network, say) would also deny in-memory files, which ffi/thunks.ts needs. */
export const PERMISSIONS = ["-A"];
/** How Deno is started: like a program of its own, which neither looks around nor keeps anything of its own on the disk. */
const ARGUMENTS = [
  "run",
  ...PERMISSIONS,
  "--no-config",
  "--no-lock",
  "--no-remote",
  "--no-npm",
  "--quiet",
  "--no-prompt",
];
/** Deno would ask the network for newer versions of itself. */
const ENVIRONMENT = ["DENO_NO_UPDATE_CHECK=1"];

/** What goes into the executable. */
export interface SelfMadeOptions {
  /** Path of Deno's executable. */
  readonly deno: string;
  /** Where to write. */
  readonly output: string;
  /** Text of the first module, which finds the files. */
  readonly bootstrap: string;
  /** Files by name. */
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

/** Writes the executable: whole or not at all. @throws {HostError} `build.elf` */
export async function writeSelfMade({ deno, output, bootstrap, files }: SelfMadeOptions): Promise<void> {
  const program = new ElfProgram(await Deno.readFile(deno));
  const start = program.nextSegment + program.headerBytes;
  const stub = entryStub({
    entry: BigInt(program.entry - start),
    environSlot: BigInt(program.addressSlot("environ") - start),
    args: [...ARGUMENTS, `data:application/javascript,${encodeURIComponent(bootstrap)}`],
    environment: ENVIRONMENT,
  });
  const partial = `${output}.${Deno.pid}.part`;
  try {
    {
      using file = await Deno.open(partial, { write: true, createNew: true, mode: 0o755 });
      for (const part of [...program.withEntry(stub), ...await encodePayload(files)]) await writeAll(file, part);
    }
    await Deno.rename(partial, output);
  } catch (error) {
    await Deno.remove(partial).catch(() => {});
    throw error;
  }
}

async function writeAll(file: Deno.FsFile, data: Uint8Array): Promise<void> {
  for (let done = 0; done < data.length;) done += await file.write(data.subarray(done));
}
