/**
 * Every request to the recompiler as a file: `APS5_DUMP_SHADERS`.
 *
 * @module
 */
import { hex, UsageError } from "../errors.ts";
import { programWords } from "../recompiler/recompile.ts";
import type { RecompileRequest } from "../recompiler/request.ts";
import { encodeRequest, REQUEST_SUFFIX } from "../recompiler/request_file.ts";
import { stageOf } from "../recompiler/stages/state.ts";
import { writeFileAtomically } from "../storage/atomic_file.ts";
import { byteChecksum } from "../storage/byte_checksum.ts";
import { switchValue } from "../switches.ts";

/** Name of a request's file: stage, address, wave size, hash of the file's content. */
function requestFileName(request: RecompileRequest, content: Uint8Array): string {
  const { codeAddress, waveSize } = request;
  return `${stageOf(request)}_${hex(codeAddress)}_wave${waveSize}_${byteChecksum(content).toHex()}${REQUEST_SUFFIX}`;
}

/** A folder of requests. */
export class RequestDump {
  readonly #folder: string;

  /** @param folder made if need be */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Writes a request, its code cut to the program. Before it is recompiled: that may fail. @returns the file's path @throws UsageError */
  write(request: RecompileRequest): string {
    const text = encodeRequest({ ...request, code: request.code.subarray(0, programWords(request)) });
    const content = new TextEncoder().encode(text), path = `${this.#folder}/${requestFileName(request, content)}`;
    try {
      Deno.mkdirSync(this.#folder, { recursive: true });
      writeFileAtomically(path, content);
    } catch (error) {
      throw new UsageError("driver.dump-folder", `APS5_DUMP_SHADERS: ${(error as Error).message}`, { file: path });
    }
    return path;
  }

  /** Takes a request back: it only asked which image descriptors the program needs, and comes again with them. */
  withdraw(path: string): void {
    try {
      Deno.removeSync(path);
    } catch {
      // Somebody was faster.
    }
  }
}

/** The dump that the switch asks for, if it does. */
export function openRequestDump(): RequestDump | undefined {
  const folder = switchValue("APS5_DUMP_SHADERS");
  return folder === undefined ? undefined : new RequestDump(folder);
}
