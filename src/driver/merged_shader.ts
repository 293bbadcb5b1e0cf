/**
 * Merged programs as a library: two halves of a program, from their files to a module.
 *
 * @module
 */
import { AnyAgcError } from "../errors.ts";
import { readInputFile } from "../guest/loaders/file_format.ts";
import { loadSb } from "../guest/loaders/sb.ts";
import { GENERIC_DEVICE } from "../recompiler/generic_device.ts";
import { recompile } from "../recompiler/recompile.ts";
import type { GroupLayout } from "../recompiler/stages/group.ts";
import { openRequestDump } from "./request_dump.ts";
import { fusedRequest, fuseShaderHalves, withHalf } from "./shader_halves.ts";

/** What a merged program became. */
export interface MergedShader {
  /**
   * `vertex`: a vertex shader. `group`: a compute shader, a workgroup for each group of vertices and primitives, whose registers and exports are in memory
   * (`layout`; docs/architecture.md, "Stages").
   */
  readonly kind: "vertex" | "group";
  /** SPIR-V words. */
  readonly spirv: Uint32Array;
  /** Instructions of the guest that were recompiled. */
  readonly instructions: number;
  /** Both halves as they must be in memory, at the address that was given. */
  readonly code: Uint32Array;
  /** Byte offset of the back half: the user SGPR with its address has the low half of the code's address plus this. */
  readonly backOffset?: number;
  /** Of a group: the records of its memory. */
  readonly layout?: GroupLayout;
}

/** Where code is, if nothing else is said. */
const CODE_ADDRESS = 0x2_0000_0000n;

/**
 * Recompiles the two halves of a merged program (`.sb` files): of a vertex and a geometry shader, of a vertex and a hull shader, or of a domain and a geometry
 * shader.
 *
 * @param codeAddress of the fused code, a multiple of 256 whose high half is 2
 * @throws InvalidInputError for files that are no halves of one program, RefusedError for what is not recompiled, with the half that it is in
 *
 * @example How many targets a geometry shader's group exports to
 * ```ts no-assert
 * import { recompileMergedShader } from "@anyagc/anyagc";
 *
 * const merged = recompileMergedShader("triangle_ngg_front.sb", "triangle_ngg_back.sb");
 * console.log(merged.kind, merged.layout?.targets);
 * ```
 */
export function recompileMergedShader(front: string, back: string, codeAddress = CODE_ADDRESS): MergedShader {
  const load = (path: string) => loadSb(path, readInputFile(path));
  const fused = fuseShaderHalves(load(front), load(back));
  try {
    const request = fusedRequest(fused, codeAddress, GENERIC_DEVICE);
    openRequestDump()?.write(request);
    const artifact = recompile(request);
    const { spirv, instructionCount: instructions, group: layout } = artifact, { code, backOffset } = fused;
    return { kind: fused.program.kind, spirv, instructions, code, backOffset, layout };
  } catch (error) {
    throw error instanceof AnyAgcError ? withHalf(error, fused) : error;
  }
}
