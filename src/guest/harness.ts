/**
 * Runs one compute shader of the corpus, or of any compiler with the same ABI: lays out guest memory the way the code needs it and builds the Program
 * with its command stream. What the shader is given and where its results are is in {@linkcode Launch}.
 */
import { RefusedError, UsageError } from "../errors.ts";
import { type AbiContext, type AbiResult, acoUserData, agcUserData, llvmUserData } from "./harness/abi.ts";
import { GuestArena } from "./harness/arena.ts";
import { dispatchStream } from "./harness/dispatch_stream.ts";
import { Placement } from "./harness/placement.ts";
import type { Launch, LaunchRequest } from "./harness/types.ts";
import { bytesOf } from "./loaders/file_format.ts";
import type { Expectation } from "./program.ts";
import type { ShaderSource } from "./shader_source.ts";

export type { Launch, LaunchRequest, LaunchResource, PlacedResource, PushConstant } from "./harness/types.ts";

/** Where code and data go. The upper half 2 is the one that console code gives to its one-SGPR pointers. */
const LOW_BASE = 0x2_0010_0000n;
/** Offset of the pointer memory in the 4 GiB that ACO's one-SGPR pointers reach. */
const POINTER_OFFSET = 0x0010_0000n;
/** Upper half of one-SGPR pointers in AGC code. */
const AGC_POINTER_HIGH = 2;
/** What the end marker becomes. */
const MARKER_VALUE = 0x600D_F00D;

/** Builds the launch. Throws a UsageError for a request that does not fit the shader, a RefusedError for what the harness does not know. */
export function launch(request: LaunchRequest): Launch {
  const { shader } = request;
  if (shader.stage !== "compute") {
    throw new RefusedError(
      "harness.stage",
      `${shader.name} is a ${shader.stage} shader; the harness launches compute shaders`,
    );
  }
  const { rsrc1 } = shader;
  if (rsrc1 === undefined || shader.rsrc2 === undefined) {
    throw new RefusedError("harness.resources", `${shader.name} has no PGM_RSRC1 and PGM_RSRC2`);
  }
  const rsrc2 = withLdsSize(shader, shader.rsrc2);
  const waveSize = waveSizeOf(request),
    workgroupSize = workgroupSizeOf(request),
    gridInThreads = request.gridUnit === "threads";
  const userSgprs = rsrc2 >>> 1 & 0x1F;
  if (userSgprs !== shader.userSgprCount || userSgprs > 16) {
    throw new UsageError(
      "harness.user-sgprs",
      `${shader.name}: RSRC2 asks for ${userSgprs} user SGPRs, the description for ${shader.userSgprCount} (at most 16)`,
    );
  }
  const groups = [0, 1, 2].map((axis) =>
    gridInThreads ? Math.ceil(request.grid[axis] / workgroupSize[axis]) : request.grid[axis]
  ) as [number, number, number];
  if (request.grid.some((size) => !Number.isInteger(size) || size < 1 || size > 0xFFFF_FFFF)) {
    throw new UsageError("harness.grid", `grid ${request.grid.join("x")}: sizes from 1 on are expected`);
  }

  const arena = new GuestArena("launch", LOW_BASE);
  const codeAddress = arena.take("code", 4 * shader.code.length, bytesOf(shader.code), true);
  const marker = { address: arena.take("end marker", 4), value: MARKER_VALUE };
  const pointerArena = pointerArenaOf(shader, arena);
  const placement = new Placement(request.resources, arena);
  const threads = workgroupSize[0] * workgroupSize[1] * workgroupSize[2];
  const waves = groups[0] * groups[1] * groups[2] * Math.ceil(threads / waveSize);
  const { userData, tmpringSize } = userDataOf(shader, {
    request,
    placement,
    arena,
    pointerArena,
    waveSize,
    groups,
    waves,
  });
  placement.refuseUnused();

  const words = dispatchStream({
    codeAddress,
    workgroupSize,
    grid: request.grid,
    gridInThreads,
    waveSize,
    rsrc1,
    rsrc2,
    rsrc3: shader.rsrc3 ?? 0,
    tmpringSize,
    userData,
    marker,
  });
  const done: Expectation = {
    address: marker.address,
    data: bytesOf(Uint32Array.of(MARKER_VALUE)),
    bytes: 4,
    reason: "the end marker is written when the dispatch is done",
  };
  const arenas = pointerArena === arena ? [arena] : [arena, pointerArena];
  return {
    codeAddress,
    marker,
    resources: placement.placed,
    program: {
      name: shader.name,
      sourceFile: shader.file,
      target: shader.target,
      memory: arenas.flatMap((each) => each.memory()),
      submissions: [{ queue: request.queue ?? 0, words, label: "dispatch" }],
      expectations: [done],
      untouched: arenas.flatMap((each) => each.untouched),
      shaders: [{ name: shader.name, address: codeAddress, source: shader }],
      notes: [],
    },
  };
}

/**
 * LLVM leaves LDS_SIZE (bits 23:15, in units of 512 bytes) open for whoever dispatches: kernels of one code object may be given more LDS than they ask
 * for (LLVM "User Guide for AMDGPU Backend", compute_pgm_rsrc2, GRANULATED_LDS_SIZE).
 */
function withLdsSize({ abi, ldsBytes }: ShaderSource, rsrc2: number): number {
  if (abi.kind !== "llvm" || (rsrc2 >>> 15 & 0x1FF) !== 0) return rsrc2;
  return rsrc2 | Math.ceil((ldsBytes ?? 0) / 512) << 15;
}

function userDataOf(shader: ShaderSource, context: AbiContext): AbiResult {
  switch (shader.abi.kind) {
    case "aco":
      return acoUserData(shader, shader.abi, context);
    case "llvm":
      return llvmUserData(shader, shader.abi, context);
    case "agc":
      return agcUserData(shader, shader.abi, context);
  }
}

/** The memory of one-SGPR pointers: its own window for ACO code, the common one where the upper half is 2 (or no such pointer exists). */
function pointerArenaOf(shader: ShaderSource, arena: GuestArena): GuestArena {
  const high = shader.abi.kind === "aco" ? shader.abi.address32Hi : AGC_POINTER_HIGH;
  return BigInt(high) === arena.base >> 32n
    ? arena
    : new GuestArena("pointers", (BigInt(high) << 32n) + POINTER_OFFSET);
}

function waveSizeOf({ shader, waveSize }: LaunchRequest): 32 | 64 {
  const known = shader.waveSize;
  if (known !== undefined && waveSize !== undefined && known !== waveSize) {
    throw new UsageError("harness.wave-size", `${shader.name} is wave${known} code, not wave${waveSize}`);
  }
  return known ?? waveSize ?? 32;
}

function workgroupSizeOf({ shader, workgroupSize }: LaunchRequest): readonly [number, number, number] {
  const known = shader.workgroupSize, size = workgroupSize ?? known;
  if (size === undefined) {
    throw new UsageError("harness.workgroup-size", `${shader.name} does not say its workgroup size; the launch must`);
  }
  if (known !== undefined && known.some((each, axis) => each !== size[axis])) {
    throw new UsageError(
      "harness.workgroup-size",
      `${shader.name} was compiled for ${known.join("x")} threads, not ${size.join("x")}`,
    );
  }
  if (size.some((each) => !Number.isInteger(each) || each < 1) || size[0] * size[1] * size[2] > 1024) {
    throw new UsageError("harness.workgroup-size", `${size.join("x")}: a workgroup has 1 to 1024 threads`);
  }
  return size;
}
