import { InputKind, Op, Type } from "../ir/ops.ts";
import { BuiltIn, Code, Storage } from "./codes.ts";
import { threadsOf } from "../request.ts";
import type { Emitter } from "./emitter.ts";
import { axisOf, slotOf } from "../passes/pack/shape.ts";
import { PUSH_MEMBERS, T } from "./module.ts";
import { Addresses } from "./addresses.ts";
import { loopsOnLoads } from "./faults.ts";
import { Resolved } from "./resolved.ts";

/** The program's inputs, read once in its first block, and what else must be there before the first operation. */
export function writePrologue(e: Emitter): void {
  const { usage, module } = e;
  const present = (op: number) => usage.present[op] !== 0;
  const loads = present(Op.Load) || present(Op.Atomic);
  const memory = loads || present(Op.Store) || e.plan !== undefined;
  // Members of the push constant block in the order of their offsets.
  if (memory || present(Op.LdsAtomic)) module.pushMember(PUSH_MEMBERS.context.offset, PUSH_MEMBERS.context.type);
  if (e.plan !== undefined) e.resolved = new Resolved(e);
  e.inputs.write();
  e.inputs.writeZeros();
  if (memory && (e.resolved === undefined || e.resolved.otherMemory)) e.addresses = new Addresses(e);
  const mayFail = e.addresses !== undefined || e.faults.declared;
  if (mayFail && loads && present(Op.Loop)) e.loopsOnLoads = loopsOnLoads(e.ir);
}

/** Ids of inputs that were read already, each read once. */
export class Inputs {
  protected readonly known = new Map<string, number>();

  constructor(protected readonly e: Emitter) {}

  /** Gives every Input operation its id. */
  write(): void {
    const { ir, usage } = this.e;
    const wanted: number[] = [];
    for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Input && usage.uses[i] > 0) wanted.push(i);
    const quads = new Map<number, Set<number>>();
    for (const i of wanted) {
      if (ir.a[i] !== InputKind.UserData) continue;
      if (ir.b[i] < 0 || ir.b[i] > 15) throw this.e.refuse(i, "user-data", `user data register ${ir.b[i]}`);
      const quad = ir.b[i] >> 2;
      quads.set(quad, (quads.get(quad) ?? new Set()).add(ir.b[i]));
    }
    // The thread limits come first: their offsets are lower.
    for (const i of wanted) if (ir.a[i] === InputKind.ThreadActive) this.e.ids[i] = this.threadActive(slotOf(ir.b[i]));
    for (const i of wanted) if (ir.a[i] === InputKind.ScratchOffset) this.e.ids[i] = this.scratchOffset();
    for (const quad of [...quads.keys()].sort()) this.userData(quad, quads.get(quad)!);
    for (const i of wanted) if (this.e.ids[i] === 0) this.e.ids[i] = this.read(ir.a[i], ir.b[i], i);
  }

  /**
   * Makes the float zeros that the program computes with: numbers that no driver knows to be zero. Mesa's llvmpipe (gallivm, lp_build_mul and lp_build_add)
   * takes x * 0 for 0 and x + 0 for x whatever x is, NoContraction and float controls or not, so that NaN, infinities and -0 come out wrong.
   */
  writeZeros(): void {
    const { ir, usage } = this.e;
    for (let i = 1; i < ir.length; i++) {
      if (ir.op[i] === Op.Const && usage.uses[i] > 0) this.floatZero(i, true);
      else if (ir.op[i] === Op.HAdd || ir.op[i] === Op.HMul || ir.op[i] === Op.HFma) this.zeroBits();
    }
  }

  /** Id of the zero that stands for a float constant; 0 when the value is none. */
  floatZero(value: number, make = false): number {
    const { ir, body } = this.e;
    const sign = ir.type[value] === Type.F64 ? ir.b[value] : ir.a[value];
    if ((sign & 0x7fffffff) !== 0) return 0;
    if (ir.type[value] === Type.F32) {
      const name = `zero32.${sign}`;
      if (!make) return this.known.get(name) ?? 0;
      return this.once(name, () => body.op1(Code.Bitcast, T.F32, this.signedZero(sign)));
    }
    if (ir.type[value] !== Type.F64 || ir.a[value] !== 0) return 0;
    const name = `zero64.${sign}`;
    if (!make) return this.known.get(name) ?? 0;
    return this.once(name, () => body.op1(Code.FConvert, T.F64, body.op1(Code.Bitcast, T.F32, this.signedZero(sign))));
  }

  private signedZero(sign: number): number {
    const { body, module } = this.e;
    return sign === 0 ? this.zeroBits() : body.op2(Code.BitwiseOr, T.U32, this.zeroBits(), module.u32(sign));
  }

  /** A U32 zero that no driver knows to be one, nor any bit of it: copies of the top bit of a workgroup's number. Made in the first block. */
  zeroBits(): number {
    return this.once("zeroBits", () => {
      const { body, module } = this.e;
      return body.op2(Code.ShiftRightArithmetic, T.U32, this.component(BuiltIn.WorkgroupId, 0), module.u32(31));
    });
  }

  /** Id of a value that is made once. */
  once(name: string, make: () => number): number {
    let id = this.known.get(name);
    if (id === undefined) this.known.set(name, id = make());
    return id;
  }

  /** Says where a number is that the host has computed. */
  setResolved(number: number, id: number): void {
    this.known.set(`resolved${number}`, id);
  }

  /** Flat index of a thread of the invocation in its workgroup; of its only one, unless the program is packed. */
  localIndex(slot = 0): number {
    return this.once(named("localIndex", slot), () => {
      const { body, module, native, packed, request } = this.e;
      if (packed !== undefined) {
        const lane = this.laneId(slot);
        if (threads(this.e) <= request.waveSize) return lane;
        return body.op2(Code.IAdd, T.U32, this.firstOfWave(), lane);
      }
      if (native) {
        if (threads(this.e) <= request.waveSize) return this.laneId();
        const first = body.op2(Code.IMul, T.U32, this.waveId(), module.u32(request.waveSize));
        return body.op2(Code.IAdd, T.U32, first, this.laneId());
      }
      return body.load(T.U32, module.builtIn(BuiltIn.LocalInvocationIndex));
    });
  }

  /** Flat index of the wave's first thread. */
  private firstOfWave(): number {
    const { body, module, request } = this.e;
    return this.once("firstOfWave", () => body.op2(Code.IMul, T.U32, this.waveId(), module.u32(request.waveSize)));
  }

  /** Lane number in the guest wave. */
  laneId(slot = 0): number {
    const { body, module, request, native, packed } = this.e;
    if (packed !== undefined) {
      const lane = this.once("laneId", () => body.load(T.U32, module.builtIn(BuiltIn.SubgroupLocalInvocationId)));
      if (slot === 0) return lane;
      return this.once(`laneId.${slot}`, () => body.op2(Code.IAdd, T.U32, lane, module.u32(slot * packed.width)));
    }
    if (native) return this.once("laneId", () => body.load(T.U32, module.builtIn(BuiltIn.SubgroupLocalInvocationId)));
    if (threads(this.e) <= request.waveSize) return this.localIndex();
    return this.once(
      "laneId",
      () => body.op2(Code.BitwiseAnd, T.U32, this.localIndex(), module.u32(request.waveSize - 1)),
    );
  }

  /** Number of the wave in its workgroup. */
  waveId(): number {
    const { body, module, request, native, packed } = this.e;
    if (threads(this.e) <= request.waveSize) return module.u32(0);
    if (native || packed !== undefined) {
      return this.once("waveId", () => body.load(T.U32, module.builtIn(BuiltIn.SubgroupId)));
    }
    const shift = Math.log2(request.waveSize);
    return this.once("waveId", () => body.op2(Code.ShiftRightLogical, T.U32, this.localIndex(), module.u32(shift)));
  }

  /** Where the wave's scratch memory starts: waves of the dispatch are numbered group by group, x fastest. */
  private scratchOffset(): number {
    return this.once("scratchOffset", () => {
      const { body, module, request } = this.e;
      const counts = body.load(T.V3, module.builtIn(BuiltIn.NumWorkgroups));
      const id = (axis: number) => this.component(BuiltIn.WorkgroupId, axis);
      const along = (axis: number, inner: number) =>
        body.op2(
          Code.IAdd,
          T.U32,
          body.op2(Code.IMul, T.U32, inner, body.extract(T.U32, counts, axis)),
          id(axis),
        );
      let wave = along(0, along(1, id(2)));
      const waves = Math.ceil(threadsOf(request) / request.waveSize);
      if (waves > 1) {
        wave = body.op2(Code.IAdd, T.U32, body.op2(Code.IMul, T.U32, wave, module.u32(waves)), this.waveId());
      }
      return body.op2(Code.IMul, T.U32, wave, body.push(PUSH_MEMBERS.scratchWaveBytes));
    });
  }

  private read(kind: number, index: number, i: number): number {
    switch (kind) {
      case InputKind.UserData:
        return this.known.get(`userData${index}`)!;
      case InputKind.Resolved:
        return this.known.get(`resolved${index}`)!;
      case InputKind.WorkgroupId:
        return this.component(BuiltIn.WorkgroupId, index);
      case InputKind.LocalId:
        return this.localId(axisOf(index), slotOf(index));
      case InputKind.LocalIndex:
        return this.localIndex(slotOf(index));
      case InputKind.LaneId:
        return this.laneId(slotOf(index));
      case InputKind.WaveId:
        return this.waveId();
      default:
        throw this.e.refuse(i, "input", `unknown input ${kind}`);
    }
  }

  /** The thread's number in its workgroup along an axis; where invocations are a row of whole waves, from the flat index. */
  private localId(axis: number, slot: number): number {
    const { request, module, body, wholeWaves } = this.e;
    if (request.workgroupSize[axis] === 1) return module.u32(0);
    if (!wholeWaves) return this.component(BuiltIn.LocalInvocationId, axis);
    return this.once(named(`localId${axis}`, slot), () => {
      const [x, y, z] = request.workgroupSize;
      const below = [1, x, x * y][axis], above = [y * z, z, 1][axis];
      let id = this.localIndex(slot);
      if (below > 1) id = body.op2(Code.UDiv, T.U32, id, module.u32(below));
      return above > 1 ? body.op2(Code.UMod, T.U32, id, module.u32(request.workgroupSize[axis])) : id;
    });
  }

  /** The thread's number in the dispatch along an axis. */
  private globalId(axis: number, slot: number): number {
    const { request, module, body, wholeWaves } = this.e;
    if (!wholeWaves) return this.component(BuiltIn.GlobalInvocationId, axis);
    const size = module.u32(request.workgroupSize[axis]);
    const first = body.op2(Code.IMul, T.U32, this.component(BuiltIn.WorkgroupId, axis), size);
    return body.op2(Code.IAdd, T.U32, first, this.localId(axis, slot));
  }

  private component(builtIn: number, axis: number): number {
    const { body, module } = this.e;
    const vector = this.once(`builtIn${builtIn}`, () => body.load(T.V3, module.builtIn(builtIn)));
    return this.once(`builtIn${builtIn}.${axis}`, () => body.extract(T.U32, vector, axis));
  }

  /** Registers of one quad: as one vector when two or more are wanted, which is shorter then. */
  private userData(quad: number, registers: Set<number>): void {
    const { body, module } = this.e;
    const member = PUSH_MEMBERS.userData(quad);
    const index = module.u32(module.pushMember(member.offset, member.type));
    if (registers.size === 1) {
      const [register] = registers;
      const id = module.bound++;
      const pointer = module.pointer(Storage.PushConstant, T.U32);
      body.words.put6(Code.AccessChain, pointer, id, module.pushVariable, index, module.u32(register & 3));
      this.known.set(`userData${register}`, body.load(T.U32, id));
      return;
    }
    const vector = body.push(member);
    for (const register of registers) {
      this.known.set(`userData${register}`, body.extract(T.U32, vector, register & 3));
    }
  }

  /** Whether the invocation has a thread: one of its workgroup, whose number in the dispatch is below the limit in each axis. */
  private threadActive(slot: number): number {
    const { body, module, request, wholeWaves } = this.e;
    if (!request.partialThreads && !wholeWaves) return module.constant(T.Bool, 1);
    return this.once(named("threadActive", slot), () => {
      const tests: number[] = [];
      if (wholeWaves) {
        tests.push(body.op2(Code.ULessThan, T.Bool, this.localIndex(slot), module.u32(threadsOf(request))));
      }
      for (let axis = 0; request.partialThreads && axis < 3; axis++) {
        const limit = body.push(PUSH_MEMBERS.threadLimit(axis));
        tests.push(body.op2(Code.ULessThan, T.Bool, this.globalId(axis, slot), limit));
      }
      return tests.reduce((all, test) => body.op2(Code.LogicalAnd, T.Bool, all, test));
    });
  }
}

/** Name of a value of one slot. */
function named(name: string, slot: number): string {
  return slot === 0 ? name : `${name}.${slot}`;
}

/** Threads of a workgroup, or lanes of its waves where those are there as a whole. */
export function threads({ request, wholeWaves }: Emitter): number {
  const count = threadsOf(request);
  return wholeWaves ? Math.ceil(count / request.waveSize) * request.waveSize : count;
}
