/** How each compiler's code finds its data: the values of the user SGPRs, and the memory that they point to. */
import { hex, RefusedError, UsageError } from "../../errors.ts";
import { userSgprOf } from "../loaders/agc_record.ts";
import type { ShaderAbi, ShaderSource } from "../shader_source.ts";
import { bytesOfView, type GuestArena } from "./arena.ts";
import { high, low, privateSegmentDescriptor } from "./descriptors.ts";
import type { Placement } from "./placement.ts";
import type { LaunchRequest } from "./types.ts";

/** What the ABIs need to know of a launch. */
export interface AbiContext {
  request: LaunchRequest;
  placement: Placement;
  /** Memory anywhere. */
  arena: GuestArena;
  /** Memory whose addresses have the upper half that the code gives to one-SGPR pointers. */
  pointerArena: GuestArena;
  waveSize: 32 | 64;
  /** Workgroups in each direction. */
  groups: readonly [number, number, number];
  /** Waves of the whole dispatch. */
  waves: number;
}

/** What an ABI decides. */
export interface AbiResult {
  /** Values of the user SGPRs from s0 on. */
  userData: number[];
  /** COMPUTE_TMPRING_SIZE, where scratch memory is needed. */
  tmpringSize?: number;
}

/**
 * RADV's ACO: ring pointer in s[0:1] (read only by code with scratch memory), one SGPR for each descriptor set, push constants inline or behind a
 * one-SGPR pointer, the grid's size. One-SGPR pointers get the upper half 0xFFFF8000 from the code.
 */
export function acoUserData(shader: ShaderSource, abi: ShaderAbi & { kind: "aco" }, context: AbiContext): AbiResult {
  const { placement, request, pointerArena, arena, waves } = context;
  const waveBytes = Math.ceil(abi.scratchBytesPerWave / SCRATCH_UNIT) * SCRATCH_UNIT;
  const push = placement.pushConstants(request.pushConstants ?? []);
  if (4 * push.length > abi.pushConstantBytes) {
    throw new UsageError(
      "harness.push-constant",
      `${push.length} push-constant dwords, but the shader has ${abi.pushConstantBytes} bytes of them`,
    );
  }
  const pushDword = (index: number): number => {
    if (index >= push.length) {
      throw new UsageError(
        "harness.push-constant",
        `the shader reads push-constant dword ${index}, only ${push.length} are given`,
      );
    }
    return push[index];
  };
  const userData = new Array<number>(shader.userSgprCount).fill(0);
  for (const { name, sgpr, count, set } of shader.userSgprs) {
    let values: number[];
    switch (name) {
      case "ring_offsets":
        values = waveBytes === 0 ? [0, 0] : scratchRing(pointerArena.take("scratch memory", waveBytes * waves));
        break;
      case "descriptor_set_ptr":
        values = [
          low(pointerArena.take(`descriptor set ${set}`, ...block(placement.descriptorSet(set ?? 0, abi.bindings)))),
        ];
        break;
      case "inline_push_constants": {
        const dwords = Array.from({ length: 32 }, (_, i) => i).filter((i) => abi.inlinePushMask >>> i & 1);
        values = dwords.map(pushDword);
        break;
      }
      case "push_constants_ptr": {
        const bytes = Uint32Array.from({ length: Math.ceil(abi.pushConstantBytes / 4) }, (_, i) => pushDword(i));
        values = [low(pointerArena.take("push constants", ...block(bytesOfView(bytes))))];
        break;
      }
      case "grid_size": {
        if (count === 3) values = [...context.groups];
        else {
          const address = arena.take("grid size", ...block(bytesOfView(Uint32Array.from(context.groups))));
          values = [low(address), high(address)];
        }
        break;
      }
      default:
        refuse(shader, `user SGPR ${name}`);
    }
    store(shader, userData, sgpr, count, name, values);
  }
  return { userData, tmpringSize: tmpringSize(waveBytes, waves) };
}

/** Words 0 and 1 of the V# of scratch memory: base, and SWIZZLE_ENABLE, which ACO's code adds away to get an address. */
function scratchRing(address: bigint): number[] {
  return [low(address), high(address) & 0xffff | 0x8000_0000];
}

/** COMPUTE_TMPRING_SIZE: WAVES 11:0, WAVESIZE 24:12 in units of 256 dwords (AMD register headers). */
function tmpringSize(waveBytes: number, waves: number): number | undefined {
  return waveBytes === 0 ? undefined : Math.min(waves, 0xFFF) | waveBytes / SCRATCH_UNIT << 12;
}

/** LLVM code objects: private V# in s[0:3], kernarg segment pointer, and the base of flat scratch where the kernel uses scratch memory. */
export function llvmUserData(shader: ShaderSource, abi: ShaderAbi & { kind: "llvm" }, context: AbiContext): AbiResult {
  const { placement, arena, waveSize } = context;
  const kernarg = new DataView(new ArrayBuffer(Math.max(16, abi.kernargBytes)));
  abi.arguments.forEach(({ offset, size, kind }, index) => {
    const { key, resource } = placement.find(String(index));
    if (kind === "global_buffer") kernarg.setBigUint64(offset, placement.place(key).address, true);
    else if (kind === "by_value") {
      if (resource.kind !== "value") {
        throw new UsageError(
          "harness.resource-kind",
          `argument ${index} is a value of ${size} bytes, not a ${resource.kind}`,
        );
      }
      const bytes = bytesOfView(resource.data);
      if (bytes.length !== size) {
        throw new UsageError("harness.argument-size", `argument ${index} has ${size} bytes, not ${bytes.length}`);
      }
      new Uint8Array(kernarg.buffer).set(bytes, offset);
    } else refuse(shader, `argument kind ${kind}`);
  });
  const kernargAddress = arena.take("kernarg segment", ...block(new Uint8Array(kernarg.buffer)));
  const waveBytes = Math.ceil(abi.scratchBytesPerLane * waveSize / SCRATCH_UNIT) * SCRATCH_UNIT;
  const scratchBytes = waveBytes * context.waves;
  const scratch = scratchBytes === 0 ? 0n : arena.take("scratch memory", scratchBytes);
  const userData = new Array<number>(shader.userSgprCount).fill(0);
  for (const { name, sgpr, count } of shader.userSgprs) {
    let values: number[];
    switch (name) {
      case "private_segment_buffer":
        // Without scratch memory nothing reads it: all zero is a null descriptor, so that a use would show.
        values = scratchBytes === 0 ? [0, 0, 0, 0] : privateSegmentDescriptor(scratch, scratchBytes, waveSize);
        break;
      case "kernarg_segment_ptr":
        values = [low(kernargAddress), high(kernargAddress)];
        break;
      case "flat_scratch_init":
        values = [low(scratch), high(scratch)];
        break;
      default:
        refuse(shader, `user SGPR ${name}`);
    }
    store(shader, userData, sgpr, count, name, values);
  }
  return { userData, tmpringSize: tmpringSize(waveBytes, context.waves) };
}

/**
 * AGC compute records of OpenAGC's compiler (loaders/sb.ts lists them): ring pointer in s[0:1], the descriptor sets that placeholders name, push
 * constants in the SGPRs that are left.
 */
export function agcUserData(shader: ShaderSource, abi: ShaderAbi & { kind: "agc" }, context: AbiContext): AbiResult {
  const { record } = abi, { placement, request, pointerArena } = context;
  if (record.scratchDwordsPerThread > 0 || (shader.rsrc2! & 1) !== 0) refuse(shader, "scratch memory");
  const userData = new Array<number>(shader.userSgprCount).fill(0);
  const taken = new Set([0, 1]);
  for (const { kind, register, set } of record.placeholders) {
    if (kind !== "descriptor-set") refuse(shader, `placeholder ${kind} in a compute record`);
    const sgpr = userSgprOf("compute", register)!;
    const address = pointerArena.take(
      `descriptor set ${set}`,
      ...block(placement.descriptorSet(set!, request.bindings ?? [])),
    );
    store(shader, userData, sgpr, 1, `descriptor set ${set}`, [low(address)]);
    taken.add(sgpr);
  }
  const free = userData.keys().toArray().filter((sgpr) => !taken.has(sgpr));
  const push = placement.pushConstants(request.pushConstants ?? []);
  if (push.length !== free.length) {
    throw new UsageError(
      "harness.push-constant",
      `the shader takes ${free.length} push-constant dwords (s${free.join(", s")}), not ${push.length}`,
    );
  }
  free.forEach((sgpr, i) => userData[sgpr] = push[i]);
  return { userData };
}

/** Bytes in which the hardware counts a wave's scratch memory. */
const SCRATCH_UNIT = 1024;

function block(data: Uint8Array): [bytes: number, data: Uint8Array, constant: boolean] {
  return [data.length, data, true];
}

function store(
  shader: ShaderSource,
  userData: number[],
  sgpr: number,
  count: number,
  name: string,
  values: readonly number[],
): void {
  if (values.length !== count || sgpr + count > userData.length) {
    throw new UsageError(
      "harness.user-sgprs",
      `${shader.name}: ${name} needs ${values.length} SGPRs, the description gives it s${sgpr} and ${
        count - 1
      } more of ${userData.length}`,
    );
  }
  values.forEach((value, i) => userData[sgpr + i] = value >>> 0);
}

function refuse(shader: ShaderSource, what: string): never {
  const place = shader.codeFileOffset === undefined
    ? { file: shader.file }
    : { file: shader.file, fileOffset: shader.codeFileOffset };
  throw new RefusedError(
    "harness.abi",
    `${shader.name} (rsrc2 ${hex(shader.rsrc2 ?? 0)}): the harness does not supply ${what}`,
    place,
  );
}
