import { UsageError } from "../errors.ts";
import { loadFile } from "./loaders/load_file.ts";
import type { Program } from "./program.ts";

/**
 * Reads a guest program from a file of any format that holds one: program JSON (docs/program-json.md) or a golden capture.
 *
 * @throws UsageError if the file holds something else. @throws InvalidInputError if it is malformed, with offset and reason.
 */
export function loadProgram(path: string): Program {
  const loaded = loadFile(path);
  if (loaded.kind !== "program") {
    throw new UsageError(
      "guest.not-a-program",
      `${path} holds a shader: it has no memory and no command stream to run`,
      {
        file: path,
      },
    );
  }
  return loaded.program;
}
