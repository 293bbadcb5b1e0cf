/** Cases of RADV's machine code: registers, descriptors, vertex buffers and push constants as its descriptions say where they go. */
import { groupProgramOf, stageProgramOf } from "../../../src/driver/stage_program.ts";
import { linearImageDescriptor, rawBufferDescriptor } from "../../../src/guest/harness/descriptors.ts";
import type { ShaderSource } from "../../../src/guest/shader_source.ts";
import type { GroupCase } from "./group_frame.ts";
import type { StageCase } from "./stage_case.ts";

/** One-SGPR pointers get the high half 0xffff8000. */
const BASE = 0xffff_8000_0000_0000n;
const SET = BASE + 0x1000n,
  TABLE = BASE + 0x2000n,
  RINGS = BASE + 0x3000n,
  BUFFERS = BASE + 0x4000n,
  TEXELS = BASE + 0x8000n,
  VERTICES = BASE + 0x10000n;
const BYTES = 0x20000, BUFFER_BYTES = 1024, VERTEX_BYTES = 1024;
/** Where the sampler is in a combined descriptor, where a description does not say. */
const SAMPLER_OFFSET = 80;
const SAMPLER = [0x92, 0xfff000, 0, 0], COMPARE_SAMPLER = [0x92 | 3 << 12, 0xfff000, 0, 0];
const IMAGE = linearImageDescriptor(TEXELS, { width: 64, height: 64, format: 56, texelBytes: 4 });
/** 32_FLOAT, for depth comparisons. */
const DEPTH_IMAGE = linearImageDescriptor(TEXELS, { width: 64, height: 64, format: 22, texelBytes: 4 });

/** The case of a stage with everything that it may read. */
export function acoCase(shader: ShaderSource): StageCase {
  if (shader.abi.kind !== "aco") throw new Error(`${shader.name} is not ACO's`);
  const bytes = new Uint8Array(BYTES), view = new DataView(bytes.buffer);
  const put = (address: bigint, words: readonly number[]) =>
    words.forEach((word, k) => view.setUint32(Number(address - BASE) + 4 * k, word, true));
  // Small floats everywhere that integers of shaders may be taken from, too.
  for (let at = 0x4000; at < BYTES; at += 4) view.setFloat32(at, (at >> 2) % 29 - 9.25, true);
  const isShadow = shader.name.includes("shadow");
  const image = isShadow ? DEPTH_IMAGE : IMAGE, sampler = isShadow ? COMPARE_SAMPLER : SAMPLER;
  if (isShadow) {
    for (let at = 0; at < 64 * 64; at++) view.setFloat32(Number(TEXELS - BASE) + 4 * at, at % 17 / 16, true);
  }
  // Behind the rings' descriptors are the positions of samples: of one, two, four, eight of them (Mesa, radv_device.c).
  for (let k = 0; k < 30; k++) view.setFloat32(Number(RINGS - BASE) + 192 + 4 * k, (7 * k + 3) % 16 / 16, true);
  shader.abi.bindings.forEach(({ type, offset, samplerOffset }, n) => {
    const buffer = BUFFERS + BigInt(BUFFER_BYTES * n);
    if (type.endsWith("_buffer")) put(SET + BigInt(offset), rawBufferDescriptor(buffer, BUFFER_BYTES));
    // The numbers of the uniform block: small integers.
    if (type === "uniform_buffer") put(buffer + 80n, [4, 2, 5, 1]);
    if (type === "combined_image_sampler") {
      put(SET + BigInt(offset), image);
      put(SET + BigInt(offset + (samplerOffset ?? SAMPLER_OFFSET)), sampler);
    }
  });
  for (let n = 0; n < 16; n++) {
    const at = VERTICES + BigInt(VERTEX_BYTES * n);
    put(TABLE + BigInt(16 * n), [low(at), Number(at >> 32n & 0xffffn) | 16 << 16, VERTEX_BYTES / 16, 0x1101_4fac]);
  }
  return {
    name: shader.name,
    code: shader.code,
    program: stageProgramOf(shader),
    target: shader.target,
    userData: userDataOf(shader),
    memory: [{ address: BASE, bytes }],
    image: [...image, ...sampler],
  };
}

/** The case of a stage that is a merged group: every primitive has three vertices. */
export function acoGroupCase(shader: ShaderSource, threads: number): GroupCase {
  const stage = acoCase(shader), program = groupProgramOf(shader, threads);
  return { ...stage, program, vertices: threads, primitives: threads, corners: 3 };
}

function userDataOf({ userSgprs, userSgprCount, stage, systemSgprs }: ShaderSource): number[] {
  // Merged programs have their first eight SGPRs from the hardware.
  const first = stage === "vertex" && systemSgprs[0].sgpr === 0 ? 8 : 0;
  const data = new Array<number>(userSgprCount).fill(0);
  for (const { name, sgpr, count } of userSgprs) {
    const values: Readonly<Record<string, readonly number[]>> = {
      descriptor_set_ptr: [low(SET)],
      vertex_buffers_ptr: [low(TABLE)],
      ring_offsets: [low(RINGS), Number(RINGS >> 32n)],
      inline_push_constants: Array.from({ length: count }, (_, k) => f32(k + 0.5)),
      push_constants_ptr: [low(BUFFERS)],
      base_vertex_draw_id_start_instance: [3, 2, 1],
      // Culling of back faces and small primitives (Mesa, radv_shader.h: ngg_culling_settings); a viewport's scales and offsets.
      ngg_culling_settings: [2 | 8 | 0xfc << 24],
      ngg_viewport: [320, 240, 320, 240].map(f32),
    };
    (values[name] ?? []).slice(0, count).forEach((value, k) => data[sgpr - first + k] = value);
  }
  return data;
}

function low(address: bigint): number {
  return Number(address & 0xffff_ffffn);
}

function f32(value: number): number {
  return new Uint32Array(Float32Array.of(value).buffer)[0];
}
