/**
 * What the recompiler made of a request, as a file: to be compared with what another build makes of it.
 *
 * @module
 */
import { UsageError } from "../../errors.ts";
import type { Artifact } from "../../recompiler/request.ts";
import { byteChecksum, CHECKSUM_BYTES, sameBytes } from "../../storage/byte_checksum.ts";
import { decodeData, encodeData } from "../../sync/plain_data.ts";
import { writeOutputNow } from "../files.ts";

const SCHEMA = "anyagc.artifact/1";
/** Ends the names of the files. */
export const ARTIFACT_SUFFIX = ".artifact";

/** Content of a file. */
export interface ArtifactFile {
  /** RECOMPILER_VERSION of the build that wrote it. */
  readonly version: number;
  /** Hash of the code. */
  readonly shader: string;
  readonly artifact: Artifact;
}

/** Writes it: plain data behind its checksum. @throws UsageError */
export function writeArtifact(path: string, content: ArtifactFile): void {
  const data = encodeData({ schema: SCHEMA, ...content }), bytes = new Uint8Array(CHECKSUM_BYTES + data.length);
  bytes.set(byteChecksum(data));
  bytes.set(data, CHECKSUM_BYTES);
  writeOutputNow(path, bytes);
}

/** Reads what {@linkcode writeArtifact} wrote. @throws UsageError if it is something else, or damaged */
export function readArtifact(bytes: Uint8Array<ArrayBuffer>, file: string): ArtifactFile {
  const data = bytes.subarray(CHECKSUM_BYTES);
  if (bytes.length > CHECKSUM_BYTES && sameBytes(byteChecksum(data.slice()), bytes.subarray(0, CHECKSUM_BYTES))) {
    try {
      const { schema, ...content } = decodeData(data) as ArtifactFile & { schema: string };
      if (schema === SCHEMA && content.artifact.spirv instanceof Uint32Array) return content;
    } catch {
      // It is no plain data: said below.
    }
  }
  throw new UsageError("replay.no-artifact", `${file} is no artifact of anyagc replay --artifacts, or is damaged`, {
    file,
  });
}
