import { hex, RefusedError } from "../../errors.ts";
import { FloatFacts } from "../ir/float_facts.ts";
import type { Ir } from "../ir/ir.ts";
import { MemoryWidth, Op, OPS, Type } from "../ir/ops.ts";
import type { RecompileRequest } from "../request.ts";
import type { Addresses } from "./addresses.ts";
import { Body } from "./body.ts";
import { Code } from "./codes.ts";
import type { Convergence } from "./convergence.ts";
import type { Facts } from "./facts.ts";
import type { LdsCalls } from "./lds_calls.ts";
import { Faults } from "./faults.ts";
import { Inputs } from "./inputs.ts";
import { StageInputs } from "./stages/inputs.ts";
import { Module, T } from "./module.ts";
import { LaneModeRefusal, type PackShape } from "../passes/pack/shape.ts";
import { firstBehindAcquire, tellsOthers } from "../passes/device_order.ts";
import type { ResourcePlan } from "../resources/plan.ts";
import type { Resolved } from "./resolved.ts";
import { RuntimeFunctions } from "./runtime/functions.ts";
import { StructureState } from "./structure.ts";
import type { Usage } from "./usage.ts";
import type { LaneExchange } from "./wave.ts";

/** Emits one operation. */
export type Handler = (emitter: Emitter, i: number) => void;
/** Handlers of operations, by operation name. */
export type HandlerTable = { readonly [name: string]: Handler };

/** Everything that the handlers of operations share while one program is emitted. */
export class Emitter {
  readonly module = new Module();
  readonly functions: RuntimeFunctions;
  /** The entry point. */
  readonly body: Body;
  /** SPIR-V id of each value; 0 = not there yet. */
  readonly ids: Uint32Array;
  /** 1: the value's id is a F32 or a vector of them although its type is U32. */
  readonly floatForm: Uint8Array;
  /** Ids that the driver must not contract or reassociate. */
  readonly exact: number[] = [];
  /** Open constructs. */
  readonly structure = new StructureState();
  /** Translation of guest addresses; undefined in programs that access none. */
  addresses: Addresses | undefined;
  /** What the host has resolved; undefined in programs that do it themselves. */
  resolved: Resolved | undefined;
  /** What operations were refused for. */
  readonly refusals: RefusedError[] = [];
  /** Accesses that may fail. */
  readonly faults = new Faults(this);
  /** Loops that a failed load may keep from ending; undefined in programs without loads. */
  loopsOnLoads: Uint8Array | undefined;
  /** How the program accesses LDS; found out when it is first asked for. */
  ldsCalls: LdsCalls | undefined;
  /** What the entry block reads. */
  readonly inputs: Inputs;
  /** What a graphics stage does before the entry point returns; undefined in compute programs. */
  finish: (() => void) | undefined;
  /** The program discards pixels. */
  discards = false;
  /** Lane exchange; undefined in laneless modules. */
  exchange: LaneExchange | undefined;
  /** A host subgroup is a guest wave. */
  native = false;
  /** A host subgroup is a guest wave, and every invocation has several of its lanes; undefined in all other forms. */
  packed: PackShape | undefined;
  /** What is known of conditions and barriers; undefined in modules without barriers. */
  convergence: Convergence | undefined;
  /** Uniformity of the condition at each If; undefined as well. */
  conditions: Uint8Array | undefined;
  /** The last wave of a workgroup lacks threads, and its lanes are invocations all the same; LocalSize is a row of whole waves then. */
  wholeWaves = false;
  /** Whether the module's denormal results are flushed by an execution mode. */
  flushes = false;
  /** Whether the module must keep f32 denormals that the device loses, see `RuntimeFunctions.denormals`. */
  guards = false;
  /** Loads from here on find what other workgroups have stored, and nothing that a cache of the device holds (passes/device_order.ts). */
  private readonly anewFrom: number;
  private readonly tellsOthers: boolean;
  private floats: FloatFacts | undefined;

  constructor(
    readonly ir: Ir,
    readonly request: RecompileRequest,
    readonly usage: Usage,
    readonly facts: Facts,
    /** What the lift wants to have from the host. */
    readonly plan?: ResourcePlan,
  ) {
    this.inputs = request.graphics === undefined ? new Inputs(this) : new StageInputs(this);
    this.module.atomicLoads = request.graphics === undefined;
    this.functions = new RuntimeFunctions(this.module, request.device);
    this.body = Body.start(this.module, this.module.main, T.Void, [], 0, ir.length * 8 + 256);
    this.anewFrom = firstBehindAcquire(ir);
    this.tellsOthers = tellsOthers(ir);
    this.ids = new Uint32Array(ir.length);
    this.floatForm = new Uint8Array(ir.length);
  }

  /**
   * Whether the load or store `i` of guest memory sees or shows what other workgroups do (runtime/shared.ts): loads that are coherent or behind an acquire,
   * and all stores of programs that tell or ask others anything.
   */
  isShared(i: number): boolean {
    const { op, c, d } = this.ir;
    if (op[i] === Op.Load) return (c[i] & MemoryWidth.Coherent) !== 0 || i >= this.anewFrom;
    return op[i] === Op.Store && (this.tellsOthers || (d[i] & MemoryWidth.Coherent) !== 0);
  }

  /** SPIR-V id of an operand, with the IR's type. */
  use(value: number): number {
    const id = this.ids[value];
    if (id === 0) return this.late(value);
    return this.floatForm[value] === 0 ? id : this.asBits(value, id);
  }

  /** Whether an F32 value can be denormal. */
  mayBeDenormal(value: number): boolean {
    this.floats ??= FloatFacts.ofProgram(this.ir);
    return this.floats.mayBeDenormal(value);
  }

  /** Whether a value is the constant with these bits. */
  isConstant(value: number, bits: number): boolean {
    return this.ir.op[value] === Op.Const && this.ir.a[value] === (bits | 0);
  }

  /** Refuses operation `i`. */
  refuse(i: number, code: string, why: string): RefusedError {
    return this.refuseAt(i, code, `${OPS[this.ir.op[i]].name}: ${why}`);
  }

  /** Refuses operation `i` for what another lane mode may be able to do. */
  refuseMode(i: number, code: string, why: string): LaneModeRefusal {
    const { code: full, summary, place } = this.refuse(i, code, why);
    return new LaneModeRefusal(full, summary, place);
  }

  /** Refuses at the place of operation `i`. */
  refuseAt(i: number, code: string, message: string): RefusedError {
    const pc = this.ir.pc[i];
    return new RefusedError(`recompiler.${code}`, message, {
      pc,
      guestAddress: BigInt.asUintN(64, this.request.codeAddress + BigInt(pc)),
    });
  }

  /** Constants and undefined values get their ids when they are first used. */
  private late(value: number): number {
    const { ir, module } = this;
    const type = ir.type[value] as T;
    let id = 0;
    if (ir.op[value] === Op.Const) {
      const zero = this.inputs.floatZero(value);
      if (zero !== 0) id = zero;
      else {
        id = type === Type.U64 || type === Type.F64
          ? module.constant64(type, ir.a[value], ir.b[value])
          : module.constant(type, ir.a[value]);
      }
    } else if (ir.op[value] === Op.Undef) id = module.undef(type);
    else {
      throw new Error(
        `value %${value} (${OPS[ir.op[value]].name}, pc ${hex(ir.pc[value])}) is used before it is defined`,
      );
    }
    this.ids[value] = id;
    return id;
  }

  /** The U32 form of a value that was emitted as F32. Only reached when an analysis was wrong about the uses, so it need not be fast. */
  private asBits(value: number, id: number): number {
    return this.body.op1(Code.Bitcast, this.ir.type[value] as T, id);
  }
}
