import { RefusedError, UsageError } from "../errors.ts";
import { loadFile } from "./loaders/load_file.ts";
import type { LoadedProgram, Program } from "./program.ts";

/**
 * Reads a guest program from a file of any format that holds one: program JSON (docs/program-json.md), a capture (.agcap, docs/agcap.md), a golden capture,
 * an OpenAGC capture.
 *
 * @throws UsageError if the file holds something else. @throws InvalidInputError if it is malformed, with offset and reason. @throws RefusedError if
 * the file does not carry what a run needs.
 */
export function loadProgram(path: string): Program {
  return loadRunnable(path);
}

/** {@linkcode loadProgram}, with what the file says beside the program. */
export function loadRunnable(path: string): LoadedProgram {
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
  const missing = loaded.program.missing ?? [];
  if (missing.length > 0) {
    throw new RefusedError("guest.incomplete", `a run needs what the file does not carry: ${missing.join("; ")}`, {
      file: path,
    });
  }
  return loaded.program;
}
