/**
 * Machine code with a JSON description beside it: `NAME.json` and `NAME.rdna.bin`. Two producers: RADV's ACO (`user_sgpr_base`, `bindings`) and
 * LLVM code objects (`kernel`, `args`). Keys that a launch does not need are left unread.
 */
import type { Target } from "../program.ts";
import type {
  DescriptorBinding,
  KernelArgument,
  ShaderAbi,
  ShaderSource,
  ShaderStage,
  SystemSgpr,
  UserSgpr,
} from "../shader_source.ts";
import { isFile, MalformedFileError, nameOf, readInputFile, wordsOf } from "./file_format.ts";
import type { JsonNode } from "./json_node.ts";

/** SGPRs that user data can reach (AMD register headers: 32 user-data registers per graphics stage, 16 for compute). */
const MAX_USER_SGPRS = 40;
const MAX_U32 = 0xFFFF_FFFF;
/** Largest code that is read, in bytes. */
const MAX_CODE_BYTES = 64 << 20;

/** Stages by the word that descriptions use. */
export const CODE_STAGES: Readonly<Record<string, ShaderStage>> = {
  comp: "compute",
  vert: "vertex",
  frag: "pixel",
  geom: "geometry",
};

/** True when the document is one of the two descriptions. */
export function isCodeDescription(root: JsonNode): boolean {
  return root.isObject && root.optional("user_sgprs") !== undefined && root.optional("exec_size") !== undefined;
}

/** Path of the code that belongs to a description, or of the description that belongs to code; undefined for any other name. */
export function partnerOf(path: string): string | undefined {
  if (path.endsWith(".json")) return path.replace(/\.json$/, ".rdna.bin");
  return path.endsWith(".rdna.bin") ? path.replace(/\.rdna\.bin$/, ".json") : undefined;
}

/** Code and where it lies. */
export interface CodeFile {
  file: string;
  bytes: Uint8Array;
}

/** Reads a description and its code, which lies beside it unless it is given. */
export function loadCodeDescription(root: JsonNode, code: CodeFile = codeBeside(root)): ShaderSource {
  const { file, bytes } = code;
  const codeBytes = root.get("code_size").integer(4, MAX_CODE_BYTES),
    execBytes = root.get("exec_size").integer(4, codeBytes);
  if (bytes.length !== codeBytes) {
    throw new MalformedFileError(
      "file.code-size",
      `${bytes.length} bytes of code, but ${root.file} says ${codeBytes}`,
      { file, fileOffset: bytes.length },
    );
  }
  if (codeBytes % 4 !== 0) root.get("code_size").fail("must be a multiple of 4");
  if (execBytes % 4 !== 0) root.get("exec_size").fail("must be a multiple of 4");
  const stage = root.get("stage");
  const kernel = root.optional("kernel") !== undefined;
  const userSgprCount = root.get("num_user_sgprs").integer(0, MAX_USER_SGPRS);
  return {
    name: nameOf(root.file).replace(/\.json$/, ""),
    file,
    target: targetOf(root.get("family")),
    stage: CODE_STAGES[stage.text()] ?? stage.fail(`unknown stage; known: ${Object.keys(CODE_STAGES).join(", ")}`),
    code: wordsOf(bytes),
    codeFileOffset: 0,
    execBytes,
    waveSize: waveSizeOf(root.get("wave_size")),
    workgroupSize: workgroupSizeOf(root),
    userSgprs: root.get("user_sgprs").items().map(userSgprOf),
    userSgprCount,
    systemSgprs: root.get("system_sgprs").items().map(systemSgprOf),
    rsrc1: root.optional("compute_pgm_rsrc1")?.integer(0, MAX_U32),
    rsrc2: root.optional("compute_pgm_rsrc2")?.integer(0, MAX_U32),
    rsrc3: root.optional("compute_pgm_rsrc3")?.integer(0, MAX_U32),
    ldsBytes: root.get("lds_bytes").integer(0, 65536),
    ...stageRegistersOf(root),
    abi: kernel ? llvmAbi(root) : acoAbi(root),
  };
}

/** Registers of a graphics stage, where the description lists them: pairs of offset and value. */
function stageRegistersOf(root: JsonNode): Pick<ShaderSource, "stageRegisters"> {
  const [sh, context] = ["sh_registers", "context_registers"].map((key) =>
    root.optional(key)?.items().map((node) => {
      const items = node.items();
      if (items.length !== 2) node.fail("an offset and a value are expected");
      return { offset: items[0].integer(0, 0xffff), value: items[1].integer(0, MAX_U32) };
    })
  );
  return sh === undefined && context === undefined ? {} : { stageRegisters: { sh: sh ?? [], context: context ?? [] } };
}

function codeBeside(root: JsonNode): CodeFile {
  const file = partnerOf(root.file);
  if (file === undefined || !isFile(file)) {
    root.fail(`the code is missing: ${file ?? "a description's name must end in .json"}`, "file.missing-code");
  }
  return { file, bytes: readInputFile(file) };
}

function acoAbi(root: JsonNode): ShaderAbi {
  return {
    kind: "aco",
    bindings: root.get("bindings").items().map(bindingOf),
    inlinePushMask: Number(root.get("inline_push_constant_mask").unsigned(BigInt(MAX_U32))),
    pushConstantBytes: root.get("push_constant_size").integer(0, 256),
    address32Hi: root.get("address32_hi").integer(0, MAX_U32),
    scratchBytesPerWave: root.get("scratch_bytes_per_wave").integer(0, MAX_U32),
  };
}

function llvmAbi(root: JsonNode): ShaderAbi {
  const relocations = root.optional("relocs");
  if (relocations !== undefined && relocations.items().length > 0) {
    relocations.fail("code with relocations is not read");
  }
  const kernargBytes = root.get("kernarg_size").integer(0, 65536);
  return {
    kind: "llvm",
    arguments: root.get("args").items().map((node) => argumentOf(node, kernargBytes)),
    kernargBytes,
    scratchBytesPerLane: root.get("scratch_bytes_per_lane").integer(0, MAX_U32),
  };
}

/** navi1x are gfx10.1 with the console's ALU, navi2x are gfx10.3; LLVM writes the name of the processor. */
function targetOf(node: JsonNode): Target {
  const family = node.text();
  if (/^(navi1[024]|gfx1013(-.*)?)$/.test(family)) return "gfx1013";
  if (/^(navi2[1234]|gfx1030(-.*)?)$/.test(family)) return "gfx1030";
  return node.fail(
    `unknown family ${JSON.stringify(family)}; known: navi10, navi12, navi14, gfx1013, navi21 to navi24, gfx1030`,
  );
}

function waveSizeOf(node: JsonNode): 32 | 64 {
  const size = node.integer(0, MAX_U32);
  return size === 32 || size === 64 ? size : node.fail(`${size} lanes; a wave has 32 or 64`);
}

function workgroupSizeOf(root: JsonNode): [number, number, number] | undefined {
  const node = root.optional("local_size");
  if (node === undefined) return undefined;
  const items = node.items();
  if (items.length !== 3) node.fail("three sizes are expected");
  const [x, y, z] = items.map((item) => item.integer(1, 1024));
  return [x, y, z];
}

function userSgprOf(node: JsonNode): UserSgpr {
  const count = node.get("count").integer(1, MAX_USER_SGPRS);
  const result: UserSgpr = {
    name: node.get("name").text(),
    sgpr: node.get("sgpr").integer(0, MAX_USER_SGPRS - count),
    count,
  };
  const set = node.optional("set");
  if (set !== undefined) result.set = set.integer(0, 31);
  return result;
}

function systemSgprOf(node: JsonNode): SystemSgpr {
  return { name: node.get("name").text(), sgpr: node.get("sgpr").integer(0, 105) };
}

function bindingOf(node: JsonNode): DescriptorBinding {
  const result: DescriptorBinding = {
    set: node.get("set").integer(0, 31),
    binding: node.get("binding").integer(0, MAX_U32),
    type: node.get("type").text(),
    count: node.get("count").integer(0, 1 << 20),
    offset: node.get("offset").integer(0, 1 << 28),
    stride: node.get("stride").integer(0, 1 << 28),
    name: node.get("name").text(),
  };
  const sampler = node.optional("sampler_offset");
  if (sampler !== undefined) result.samplerOffset = sampler.integer(0, 1 << 12);
  return result;
}

function argumentOf(node: JsonNode, kernargBytes: number): KernelArgument {
  const offset = node.get("offset").integer(0, kernargBytes), size = node.get("size").integer(1, kernargBytes);
  if (offset + size > kernargBytes) {
    node.fail(`the argument ends at ${offset + size}, the kernarg segment at ${kernargBytes}`);
  }
  return { offset, size, kind: node.get("kind").text(), type: node.get("type").text() };
}
