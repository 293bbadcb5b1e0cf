/**
 * Programs of graphics stages that are run twice and compared: machine code on the reference interpreter, the recompiled module on the SPIR-V evaluator. What is
 * in the registers, what an export means and how an attribute is interpolated is said in pixel_frame.ts, vertex_frame.ts and group_frame.ts once more, apart
 * from what the recompiler has of it.
 */
import { assertEquals } from "@std/assert";
import { openSpirvTools } from "../../../ffi/spirv_tools.ts";
import { Access, type MachineOptions, runStageWave, WindowSpace } from "../../../src/rdna/interpreter/mod.ts";
import { Context, WindowEntry } from "../../../src/recompiler/abi.ts";
import { GENERIC_DEVICE } from "../../../src/recompiler/generic_device.ts";
import { NeedsImageDescriptors } from "../../../src/recompiler/lift/image_descriptor.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import type { Artifact, RecompilerDevice, RecompileRequest } from "../../../src/recompiler/request.ts";
import { verifyModule } from "../../support/verify_module.ts";
import { type StageProgram, stageRequest } from "../../../src/recompiler/stages/registers.ts";
import { PLAIN_DEVICE } from "../../support/lift.ts";
import { DeviceMemory } from "../../support/spirv_eval/memory.ts";

/** A device that has all of what graphics stages may want. */
export const STAGE_DEVICE: RecompilerDevice = {
  ...PLAIN_DEVICE,
  graphics: GENERIC_DEVICE.graphics,
};

/** Where the code of every case lies. */
export const CODE = 0x2_0010_0000n;
/** Device address of the context block. */
const CONTEXT = 0x10_0000_0000n;
const USER_DATA = 0x10_0001_0000n, WINDOWS = 0x20_0000_0000n;

/** Code and memory of a program to run. */
export interface ProgramCase {
  readonly name: string;
  readonly code: Uint32Array;
  readonly program: { readonly userSgprCount: number };
  readonly target?: RecompileRequest["target"];
  readonly userData?: readonly number[];
  /** Guest memory; both runs get copies. */
  readonly memory?: readonly { readonly address: bigint; readonly bytes: Uint8Array }[];
  /** A T#, and an S# behind it, for every image instruction. */
  readonly image?: readonly number[];
}

/** A pixel or vertex program to run. */
export interface StageCase extends ProgramCase {
  readonly program: StageProgram;
  /** Quads of the pixels, in x and y, that random ones are chosen from; 500 when left out. */
  readonly quads?: number;
}

/** The request of a case; image instructions have the case's descriptor. */
export function requestOf(c: StageCase, device = STAGE_DEVICE): RecompileRequest {
  return withImages(c, stageRequest(c.program, c.code, CODE, c.target ?? "gfx1030", device));
}

/** A request with the case's descriptor for every image instruction. */
export function withImages(c: ProgramCase, request: RecompileRequest): RecompileRequest {
  for (let round = 0; round < 32; round++) {
    try {
      recompile(request);
      return request;
    } catch (error) {
      if (!(error instanceof NeedsImageDescriptors) || c.image === undefined) throw error;
      const images = new Map(request.imageDescriptors ?? []);
      for (const { pc, words } of error.needs) images.set(pc, Uint32Array.from(c.image.slice(0, words.length)));
      request = { ...request, imageDescriptors: images };
    }
  }
  throw new Error(`${c.name}: image descriptors without end`);
}

/** Recompiles a case; the module is checked by the emitter's own verification and by SPIRV-Tools. */
export function validated(c: StageCase, device = STAGE_DEVICE): Artifact {
  return checked(c.name, recompile(requestOf(c, device)));
}

/** An artifact whose module is valid. */
export function checked(name: string, artifact: Artifact): Artifact {
  assertEquals(verifyModule(artifact.spirv), [], name);
  assertEquals(openSpirvTools().validate(artifact.spirv).map(({ message }) => message), [], name);
  return artifact;
}

/** User data of a case. */
export function userDataOf({ program, userData = [] }: ProgramCase): number[] {
  return Array.from({ length: program.userSgprCount }, (_, k) => (userData[k] ?? 0) >>> 0);
}

function copiesOf({ memory = [] }: ProgramCase): Uint8Array<ArrayBuffer>[] {
  return memory.map(({ bytes }) => new Uint8Array(bytes));
}

type Launch = Parameters<typeof runStageWave>[0];

/** The interpreter's machine for a case, with a copy of the memory. */
export function machineOf(c: ProgramCase): { machine: MachineOptions; memory: Uint8Array[] } {
  const memory = copiesOf(c), space = new WindowSpace();
  c.memory?.forEach(({ address }, n) => space.add(address, memory[n]));
  const code = new Uint32Array(c.code);
  space.add(CODE, new Uint8Array(code.buffer), Access.Read | Access.Execute);
  const machine: MachineOptions = {
    space,
    code: (address) => address >= Number(CODE) ? { base: Number(CODE), words: code } : undefined,
    instructionLimit: 100_000,
  };
  return { machine, memory };
}

/** Runs a wave on the interpreter. */
export function runOnInterpreter(
  c: StageCase,
  launch: Pick<Launch, "exec" | "scalars" | "vectors" | "primitiveMask" | "parameter">,
) {
  const { floatMode, ieee, dx10Clamp, waveSize } = c.program, { machine, memory } = machineOf(c);
  const result = runStageWave(
    { codeAddress: CODE, target: c.target ?? "gfx1030", waveSize, floatMode, ieee, dx10Clamp, ...launch },
    machine,
  );
  return { ...result, memory };
}

/**
 * The device memory of a case: context block with all windows, and the windows themselves. `bytes` checks that nothing failed.
 *
 * @param more windows beside the guest's own
 * @param addressOf device addresses of the windows and of the context block; the evaluator's when left out
 */
export function contextOf(
  c: ProgramCase,
  more: readonly { readonly address: bigint; readonly bytes: Uint8Array<ArrayBuffer> }[] = [],
  addressOf?: (bytes: Uint8Array<ArrayBuffer>) => bigint,
) {
  const memory = new DeviceMemory(), copies = copiesOf(c);
  const code = new Uint32Array(c.code);
  const windows = [
    ...(c.memory ?? []).map(({ address }, n) => ({ address, bytes: copies[n], access: 3 })),
    ...more.map((window) => ({ ...window, access: 3 })),
    { address: CODE, bytes: new Uint8Array(code.buffer), access: 1 | 4 },
  ].sort((a, b) => a.address < b.address ? -1 : 1);
  const context = new Uint8Array(Context.Windows + WindowEntry.Bytes * (windows.length + 1)),
    view = new DataView(context.buffer);
  view.setUint32(Context.WindowCount, windows.length, true);
  windows.forEach(({ address, bytes, access }, n) => {
    const device = addressOf?.(bytes) ?? WINDOWS + BigInt(n) * 0x1_0000_0000n;
    const at = Context.Windows + n * WindowEntry.Bytes;
    view.setBigUint64(at + WindowEntry.Begin, address, true);
    view.setBigUint64(at + WindowEntry.End, address + BigInt(bytes.length), true);
    view.setBigUint64(at + WindowEntry.Delta, BigInt.asUintN(64, device - address), true);
    view.setUint32(at + WindowEntry.Access, access, true);
    memory.add({ address: device, bytes });
  });
  const address = addressOf?.(context) ?? CONTEXT;
  memory.add({ address, bytes: context });
  return {
    memory,
    context,
    address,
    bytes: () => {
      assertEquals(
        [...context.subarray(Context.Fault, Context.Fault + 16)],
        new Array(16).fill(0),
        `${c.name}: a fault`,
      );
      return copies;
    },
  };
}

/** The device memory of a stage and its push constants. */
export function deviceOf(c: StageCase, stage: "pixel" | "vertex") {
  const { memory, bytes, context } = contextOf(c);
  const user = new Uint8Array(128);
  userDataOf(c).forEach((word, k) => new DataView(user.buffer).setUint32(4 * k, word, true));
  memory.add({ address: USER_DATA, bytes: user });
  // Each stage has its own 16 bytes of push constants; the other's are noise.
  const push = new DataView(new ArrayBuffer(32));
  for (let at = 0; at < 32; at += 4) push.setUint32(at, 0xfeed_0000 + at, true);
  push.setBigUint64(stage === "pixel" ? 16 : 0, CONTEXT, true);
  push.setBigUint64(stage === "pixel" ? 24 : 8, USER_DATA, true);
  return { memory, push, bytes, context };
}
