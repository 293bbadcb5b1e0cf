import { BUILD_STAMP } from "../src/build_stamp.ts";
import { AnyAgcError, HostError, InvalidInputError } from "../src/errors.ts";
import { switchValue } from "../src/switches.ts";
import { cString, viewMemory } from "./libc.ts";
import { openLibrary } from "./library.ts";

/** Rules to check against, as SPIRV-Tools names them. */
export type SpirvEnvironment = "vulkan1.3" | "vulkan1.2" | "vulkan1.1" | "spv1.6" | "spv1.5" | "spv1.3";

/** What SPIRV-Tools says about a module or about assembly text. */
export interface Diagnostic {
  /** How bad it is. */
  readonly level: "fatal" | "internal error" | "error" | "warning" | "info" | "debug";
  /** What it says; may have several lines. */
  readonly message: string;
  /** For a module: index of the word that it is about; 0 when it is about the whole module. */
  readonly word: number;
  /** For assembly text: line and column, from 1. */
  readonly line: number;
  /** Column, from 1. */
  readonly column: number;
}

/** Options of {@linkcode SpirvTools.validate}. */
export interface ValidateOptions {
  /** Rules to check against; vulkan1.3 when left out. */
  readonly environment?: SpirvEnvironment;
  /** Allow the scalarBlockLayout feature's layouts. */
  readonly scalarBlockLayout?: boolean;
}

/** Options of {@linkcode SpirvTools.disassemble}. */
export interface DisassembleOptions {
  /** Rules to read it by; vulkan1.3 when left out. */
  readonly environment?: SpirvEnvironment;
  /** Numbers instead of names made from types and OpName. */
  readonly rawIds?: boolean;
  /** Prefix each instruction with its byte offset. */
  readonly offsets?: boolean;
}

const symbols = {
  anyagc_spirv_version: { parameters: [], result: "pointer" },
  anyagc_spirv_release: { parameters: ["buffer"], result: "void" },
  anyagc_spirv_validate: { parameters: ["buffer", "u32", "buffer", "u64", "buffer"], result: "i32" },
  anyagc_spirv_optimize: { parameters: ["buffer", "buffer", "buffer", "u64", "buffer"], result: "i32" },
  anyagc_spirv_assemble: { parameters: ["buffer", "u32", "buffer", "u64", "buffer"], result: "i32" },
  anyagc_spirv_disassemble: { parameters: ["buffer", "u32", "buffer", "u64", "buffer"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

const libraryName = "libanyagc-spirv-tools.so";
const defaultEnvironment: SpirvEnvironment = "vulkan1.3";

// Values of spv_message_level_t and of the option enumerations: <spirv-tools/libspirv.h>.
const levels = ["fatal", "internal error", "error", "warning", "info", "debug"] as const;
const ASSEMBLE_PRESERVE_NUMERIC_IDS = 2;
const DISASSEMBLE_SHOW_BYTE_OFFSET = 0x10,
  DISASSEMBLE_NO_HEADER = 0x20,
  DISASSEMBLE_FRIENDLY_NAMES = 0x40,
  DISASSEMBLE_INDENT = 0x8;

const STATUS_DONE = 0, STATUS_REJECTED = 1;
const RESULT_BYTES = 32;

let opened: SpirvTools | undefined;

/**
 * SPIRV-Tools, opened once per isolate: from ANYAGC_SPIRV_TOOLS_LIB, else from .cache/lib in the project's folder, else from the folder of
 * the executable, else from the folder of this module (a bundle).
 *
 * @throws {HostError} `host.library-missing`, which says how to get it
 */
export function openSpirvTools(): SpirvTools {
  return opened ??= new SpirvTools(findLibrary());
}

/**
 * Checks the library that an executable has unpacked, since a start looks only at its size.
 *
 * @throws {HostError} `host.library-damaged`
 */
function requireIntact(path: string): void {
  const expected = BUILD_STAMP?.assets[libraryName];
  if (expected === undefined || path !== `${import.meta.dirname}/${libraryName}`) return;
  // Not imported at the top: node's modules cost every start tens of milliseconds.
  const { createHash } = globalThis.process.getBuiltinModule("node:crypto");
  if (createHash("sha256").update(Deno.readFileSync(path)).digest("hex") === expected) return;
  throw new HostError(
    "host.library-damaged",
    `${path} is not what the executable has unpacked. Remove that folder; the next start makes it again.`,
  );
}

/** Path of the shared library that {@linkcode openSpirvTools} loads; undefined when there is none. */
export function findSpirvTools(): string | undefined {
  const named = switchValue("ANYAGC_SPIRV_TOOLS_LIB");
  if (named !== undefined) return named;
  const here = import.meta.dirname;
  const executable = Deno.execPath();
  const candidates = [
    ...(here === undefined || BUILD_STAMP !== undefined ? [] : [`${here}/../.cache/lib/${libraryName}`]),
    `${executable.slice(0, executable.lastIndexOf("/"))}/${libraryName}`,
    ...(here === undefined ? [] : [`${here}/${libraryName}`]),
  ];
  return candidates.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false;
      throw error;
    }
  });
}

function findLibrary(): string {
  const path = findSpirvTools();
  if (path !== undefined) {
    requireIntact(path);
    return path;
  }
  throw new HostError(
    "host.library-missing",
    `the SPIRV-Tools library (${libraryName}) is not built. Install the packages g++ and spirv-tools (Debian: apt install g++ spirv-tools), ` +
      "then run: deno run -A tools/spirv_tools/build.ts. ANYAGC_SPIRV_TOOLS_LIB may name a library that is elsewhere.",
  );
}

/** Validates, optimizes, assembles and disassembles SPIR-V. Calls are synchronous; a large module takes long, so run it in a worker. */
export class SpirvTools {
  readonly #library: Deno.StaticForeignLibraryInterface<typeof symbols>;
  readonly #result = new ArrayBuffer(4096); // a page, so that it does not move

  /**
   * Opens the library.
   *
   * @param path the shared library that tools/spirv_tools/build.ts makes
   */
  constructor(path: string) {
    this.#library =
      openLibrary(path, symbols, "Build it again: deno run -A tools/spirv_tools/build.ts --force.").symbols;
  }

  /** Version text of SPIRV-Tools. */
  get version(): string {
    return new Deno.UnsafePointerView(this.#library.anyagc_spirv_version()!).getCString();
  }

  /** Checks a module (words). An empty list means that it is valid. */
  validate(words: Uint32Array, options: ValidateOptions = {}): Diagnostic[] {
    const { environment = defaultEnvironment, scalarBlockLayout = false } = options;
    const own = unshared(words);
    const status = this.#library.anyagc_spirv_validate(
      cString(environment),
      scalarBlockLayout ? 1 : 0,
      own,
      BigInt(own.length),
      this.#result,
    );
    const { messages } = this.#take();
    if (status === STATUS_DONE) return [];
    if (status !== STATUS_REJECTED) throw unexpected("validation", status, messages);
    return messages.length > 0
      ? messages
      : [{ level: "error", message: "the module is not valid", word: 0, line: 0, column: 0 }];
  }

  /** Throws unless the module is valid; the error holds the first diagnostic, and `what` names the module. */
  requireValid(words: Uint32Array, what: string, options: ValidateOptions = {}): void {
    const [first, ...more] = this.validate(words, options);
    if (first === undefined) return;
    const rest = more.length === 0 ? "" : ` (and ${more.length} more)`;
    throw new AnyAgcError(
      "spirv.invalid",
      `${what} is not valid SPIR-V: ${first.message} at word ${first.word}${rest}`,
    );
  }

  /**
   * Runs optimizer passes.
   *
   * @param words the module
   * @param flags spirv-opt's flags, for example `-O`, `--strip-debug`, `--inline-entry-points-exhaustive`
   * @throws {InvalidInputError} `spirv.optimize` when a flag is unknown or the module cannot be parsed
   */
  optimize(words: Uint32Array, flags: readonly string[], environment = defaultEnvironment): Uint32Array<ArrayBuffer> {
    const own = unshared(words);
    const status = this.#library.anyagc_spirv_optimize(
      cString(environment),
      cString(flags.join("\n")),
      own,
      BigInt(own.length),
      this.#result,
    );
    const { data, messages } = this.#take();
    if (status === STATUS_REJECTED) {
      throw new InvalidInputError("spirv.optimize", `spirv-opt ${flags.join(" ")} failed: ${describe(messages)}`);
    }
    if (status !== STATUS_DONE) throw unexpected("optimization", status, messages);
    return new Uint32Array(data);
  }

  /**
   * Turns assembly text into a module.
   *
   * @param preserveIds `%12` becomes id 12 instead of the next free one
   * @throws {InvalidInputError} `spirv.assemble`, with line and column
   */
  assemble(text: string, environment = defaultEnvironment, preserveIds = false): Uint32Array<ArrayBuffer> {
    const bytes = new TextEncoder().encode(text);
    const options = preserveIds ? ASSEMBLE_PRESERVE_NUMERIC_IDS : 0;
    const status = this.#library.anyagc_spirv_assemble(
      cString(environment),
      options,
      bytes,
      BigInt(bytes.length),
      this.#result,
    );
    const { data, messages } = this.#take();
    if (status === STATUS_REJECTED) {
      throw new InvalidInputError("spirv.assemble", `SPIR-V assembly failed: ${describe(messages)}`);
    }
    if (status !== STATUS_DONE) throw unexpected("assembly", status, messages);
    return new Uint32Array(data);
  }

  /**
   * Turns a module into assembly text.
   *
   * @throws {InvalidInputError} `spirv.disassemble` when the module cannot be parsed
   */
  disassemble(words: Uint32Array, options: DisassembleOptions = {}): string {
    const { environment = defaultEnvironment, rawIds = false, offsets = false } = options;
    const flags = DISASSEMBLE_NO_HEADER | DISASSEMBLE_INDENT | (rawIds ? 0 : DISASSEMBLE_FRIENDLY_NAMES) |
      (offsets ? DISASSEMBLE_SHOW_BYTE_OFFSET : 0);
    const own = unshared(words);
    const status = this.#library.anyagc_spirv_disassemble(
      cString(environment),
      flags,
      own,
      BigInt(own.length),
      this.#result,
    );
    const { data, messages } = this.#take();
    if (status === STATUS_REJECTED) {
      throw new InvalidInputError("spirv.disassemble", `SPIR-V disassembly failed: ${describe(messages)}`);
    }
    if (status !== STATUS_DONE) throw unexpected("disassembly", status, messages);
    return new TextDecoder().decode(data);
  }

  /** Copies what the result struct points at, and frees it. */
  #take(): { data: ArrayBuffer; messages: Diagnostic[] } {
    const view = new DataView(this.#result, 0, RESULT_BYTES);
    const copy = (at: number) => {
      const address = view.getBigUint64(at, true), bytes = Number(view.getBigUint64(at + 8, true));
      return address === 0n || bytes === 0 ? new ArrayBuffer(0) : viewMemory(address, bytes).slice(0);
    };
    const data = copy(0);
    const messages = new TextDecoder().decode(copy(16)).split("\x1e").slice(0, -1).map((record): Diagnostic => {
      const [level, word, line, column, message] = record.split("\x1f");
      return {
        level: levels[Number(level)],
        message,
        word: Number(word),
        line: Number(line) + 1,
        column: Number(column) + 1,
      };
    });
    this.#library.anyagc_spirv_release(this.#result);
    return { data, messages };
  }
}

/** FFI buffers cannot be shared memory: such words are copied. */
function unshared(words: Uint32Array): Uint32Array<ArrayBuffer> {
  return words.buffer instanceof ArrayBuffer ? words as Uint32Array<ArrayBuffer> : new Uint32Array(words);
}

function describe(messages: readonly Diagnostic[]): string {
  if (messages.length === 0) return "no reason was given";
  return messages.map((one) => `${one.message} (line ${one.line}, column ${one.column}, word ${one.word})`).join("; ");
}

function unexpected(what: string, status: number, messages: readonly Diagnostic[]): HostError {
  const reason = status === 2 ? "unknown environment" : "internal failure";
  return new HostError("host.spirv-tools", `SPIR-V ${what}: ${reason} in SPIRV-Tools: ${describe(messages)}`);
}
