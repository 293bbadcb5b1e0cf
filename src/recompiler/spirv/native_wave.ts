import { Capability, Code, Scope } from "./codes.ts";
import type { Emitter } from "./emitter.ts";
import type { ExchangePlan } from "./exchange_plan.ts";
import { T } from "./module.ts";
import { LaneExchange } from "./wave.ts";

/**
 * The native form: a host subgroup is a guest wave, so lanes exchange by subgroup operations. The lane's number is the subgroup's own
 * (SubgroupLocalInvocationId), and a thread's number in its workgroup follows from it and SubgroupId: nothing ties those to LocalInvocationIndex.
 * What a whole workgroup must agree on still goes through workgroup memory.
 */
export class NativeExchange extends LaneExchange {
  /** Invocations of a subgroup. */
  protected readonly width: number;

  constructor(e: Emitter, plan: ExchangePlan) {
    super(e, plan);
    this.width = e.packed?.width ?? e.request.waveSize;
    e.module.capability(Capability.GroupNonUniform);
  }

  /** The subgroup's ballot of a condition: words of lanes 0..31 and 32..63 (the latter a constant 0 for less lanes). */
  override vote(condition: number): [number, number] {
    const { body, module } = this.e;
    module.capability(Capability.GroupNonUniformBallot);
    const ballot = body.op2(Code.GroupNonUniformBallot, T.V4, module.u32(Scope.Subgroup), condition);
    const high = this.width === 64 ? body.extract(T.U32, ballot, 1) : module.u32(0);
    return [body.extract(T.U32, ballot, 0), high];
  }

  /** Whether a condition holds in any lane of the subgroup. */
  override any(condition: number): number {
    return this.notZero(this.e.body, this.vote(condition));
  }

  /** Value of `value` in lane `lane` (an id; only its low bits count) of the subgroup. */
  override readLane(value: number, lane: number, type: T = T.U32): number {
    const { body, module } = this.e;
    module.capability(Capability.GroupNonUniformShuffle);
    const index = body.op2(Code.BitwiseAnd, T.U32, lane, module.u32(this.width - 1));
    return body.op3(Code.GroupNonUniformShuffle, type, module.u32(Scope.Subgroup), value, index);
  }

  /** Value in the lowest active lane, of lane 0 when none is active. */
  override readFirstLane(value: number, active: number): number {
    const [low, high] = this.vote(active);
    return this.readLane(value, this.lowestLane(this.e.body, low, high));
  }
}
