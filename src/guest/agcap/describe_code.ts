import { RefusedError } from "../../errors.ts";
import { CODE_STAGES } from "../loaders/code_json.ts";
import type { ShaderAbi, ShaderSource } from "../shader_source.ts";

/**
 * The JSON description of a compiled shader, as `loadCodeDescription` reads it: `NAME.json` beside `NAME.rdna.bin`, made again from what was read of it.
 *
 * @throws RefusedError for shaders that such a description cannot hold.
 */
export function describeCode(shader: ShaderSource): Record<string, unknown> {
  const { abi, waveSize, ldsBytes } = shader;
  const stage = Object.keys(CODE_STAGES).find((name) => CODE_STAGES[name] === shader.stage);
  if (stage === undefined || waveSize === undefined || ldsBytes === undefined || abi.kind === "agc") {
    throw new RefusedError("agcap.shader", `${shader.name}: a capture cannot hold this ${shader.stage} shader`);
  }
  return {
    family: shader.target,
    stage,
    code_size: 4 * shader.code.length,
    exec_size: shader.execBytes,
    wave_size: waveSize,
    ...(shader.workgroupSize === undefined ? {} : { local_size: shader.workgroupSize }),
    num_user_sgprs: shader.userSgprCount,
    user_sgprs: shader.userSgprs,
    system_sgprs: shader.systemSgprs,
    ...registers(shader),
    lds_bytes: ldsBytes,
    ...describeAbi(abi, shader.name),
  };
}

function registers({ rsrc1, rsrc2, rsrc3 }: ShaderSource): Record<string, number> {
  return Object.fromEntries(
    [rsrc1, rsrc2, rsrc3].flatMap((value, i) => value === undefined ? [] : [[`compute_pgm_rsrc${i + 1}`, value]]),
  );
}

function describeAbi(abi: Exclude<ShaderAbi, { kind: "agc" }>, name: string): Record<string, unknown> {
  if (abi.kind === "llvm") {
    return {
      kernel: name,
      args: abi.arguments,
      kernarg_size: abi.kernargBytes,
      scratch_bytes_per_lane: abi.scratchBytesPerLane,
    };
  }
  return {
    bindings: abi.bindings.map(({ samplerOffset, ...binding }) => ({
      ...binding,
      ...(samplerOffset === undefined ? {} : { sampler_offset: samplerOffset }),
    })),
    inline_push_constant_mask: abi.inlinePushMask,
    push_constant_size: abi.pushConstantBytes,
    address32_hi: abi.address32Hi,
    scratch_bytes_per_wave: abi.scratchBytesPerWave,
  };
}
