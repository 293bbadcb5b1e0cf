/**
 * Compiles OpenCL C kernels for the host with the machine's C compiler and runs them through FFI: the oracle for machine code that LLVM made from the
 * same source. Sources name work-items as the corpus does: `host_lid()`, `host_grp()`, `host_barrier()` outside of AMDGCN (see corpus/llvm/ids.h).
 * Shared objects are kept in .cache/opencl under a hash of everything that they are made from.
 */
import { addressOf } from "../../ffi/libc.ts";
import { openLibrary } from "../../ffi/library.ts";

/** A kernel's signature, in the words of the corpus. */
export interface KernelSignature {
  name: string;
  arguments: readonly {
    /** `global_buffer` or `by_value`. */
    kind: string;
    /** C type; for a buffer with a `*` behind it. */
    type: string;
  }[];
}

/** Compilers to try, in order. `g++` comes with its C compiler, `cc` and `gcc` name it. */
const COMPILERS = ["cc", "gcc", "clang-19", "clang"];
// No contraction and no x87: single operations round as the kernel's do.
const FLAGS = ["-std=gnu11", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden", "-w"];
const support = new URL("opencl_oracle/", import.meta.url).pathname;
const cache = new URL("../../.cache/opencl/", import.meta.url).pathname;

/** The first C compiler that answers; undefined when the machine has none. */
export const hostCompiler: string | undefined = COMPILERS.find((name) => {
  try {
    return new Deno.Command(name, { args: ["--version"], stdout: "null", stderr: "null" }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
});

const symbols = {
  anyagc_run: { parameters: ["u32", "u32", "u32", "buffer"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

/** Kernels of one source file, compiled for the host. */
export class HostKernels {
  readonly #kernels: readonly KernelSignature[];
  readonly #library: Deno.StaticForeignLibraryInterface<typeof symbols>;

  /**
   * @param source path of the OpenCL C file; it may include files beside it
   * @param kernels signatures of the kernels to call
   */
  constructor(source: string, kernels: readonly KernelSignature[]) {
    this.#kernels = kernels;
    this.#library =
      openLibrary(compile(source, kernels), symbols, "Remove .cache/opencl to have it built again.").symbols;
  }

  /**
   * Runs workgroups 0..groups-1, one after the other, work-items interleaved at barriers only.
   *
   * @param values one for each argument: a buffer that the kernel works on in place, or the bytes of a value
   */
  run(name: string, groups: number, threads: number, values: readonly ArrayBufferView<ArrayBuffer>[]): void {
    const index = this.#kernels.findIndex((kernel) => kernel.name === name);
    if (index < 0 || this.#kernels[index].arguments.length !== values.length) {
      throw new Error(`kernel ${name} with ${values.length} arguments is not among those that were compiled`);
    }
    // Small buffers may lie on the moving heap: the kernel works on copies that do not, and the results are copied back.
    const copies = values.map((value) => {
      const copy = new Uint8Array(Math.max(4096, value.byteLength));
      copy.set(bytesOf(value));
      return copy;
    });
    const pointers = new BigUint64Array(512);
    copies.forEach((copy, i) => pointers[i] = addressOf(copy.buffer));
    const result = this.#library.anyagc_run(index, groups, threads, pointers);
    if (result !== 0) {
      throw new Error(
        result === 1 ? `kernel ${name}: not all work-items reach the same barrier` : `kernel ${name} cannot be run`,
      );
    }
    values.forEach((value, i) => bytesOf(value).set(copies[i].subarray(0, value.byteLength)));
  }
}

function compile(source: string, kernels: readonly KernelSignature[]): string {
  if (hostCompiler === undefined) throw new Error(`none of the C compilers ${COMPILERS.join(", ")} is installed`);
  const text = translationUnit(source, kernels);
  const folder = source.slice(0, source.lastIndexOf("/"));
  const inputs = [
    text,
    hostCompiler,
    ...FLAGS,
    Deno.readTextFileSync(source),
    ...["prologue.h", "runner.h"].map((name) => Deno.readTextFileSync(support + name)),
    // What the source may include.
    ...[...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.endsWith(".h")).sort().map((name) =>
      Deno.readTextFileSync(`${folder}/${name}`)
    ),
  ];
  const output = `${cache}${fnv1a64(inputs.join("\0"))}.so`;
  try {
    if (Deno.statSync(output).isFile) return output;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  Deno.mkdirSync(cache, { recursive: true });
  const unit = `${output}.${Deno.pid}.c`, temporary = `${output}.${Deno.pid}`;
  Deno.writeTextFileSync(unit, text);
  try {
    const { success, stderr } = new Deno.Command(hostCompiler, { args: [...FLAGS, "-o", temporary, unit] })
      .outputSync();
    if (!success) throw new Error(`${hostCompiler} does not compile ${source}: ${new TextDecoder().decode(stderr)}`);
    Deno.renameSync(temporary, output);
  } finally {
    Deno.removeSync(unit);
  }
  return output;
}

function translationUnit(source: string, kernels: readonly KernelSignature[]): string {
  const calls = kernels.map(({ name, arguments: list }, index) => {
    const values = list.map(({ kind, type }, i) =>
      kind === "by_value" ? `*(${type} *)arguments[${i}]` : `arguments[${i}]`
    );
    return `    case ${index}: ${name}(${values.join(", ")}); break;`;
  });
  return [
    `#include "${support}prologue.h"`,
    `#include "${source}"`,
    "static void anyagc_call(unsigned kernel, void **arguments) {",
    "  switch (kernel) {",
    ...calls,
    "  }",
    "}",
    `#include "${support}runner.h"`,
    "",
  ].join("\n");
}

function bytesOf(view: ArrayBufferView<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

/** FNV-1a of the text's UTF-8 bytes: names a file in the cache, nothing more. */
function fnv1a64(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, "0");
}
