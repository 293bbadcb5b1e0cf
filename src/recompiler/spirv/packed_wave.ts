import { Op } from "../ir/ops.ts";
import { Capability, Code, Scope } from "./codes.ts";
import type { Emitter } from "./emitter.ts";
import type { ExchangePlan } from "./exchange_plan.ts";
import { T } from "./module.ts";
import { NativeExchange } from "./native_wave.ts";

/**
 * The packed form: a host subgroup is a guest wave, and every invocation has several of its lanes (passes/pack). What lanes exchange has become exchanges of
 * the subgroup already, so this is the native form, on subgroups that are narrower than the wave; a vote of the workgroup goes through
 * workgroup memory.
 */
export class PackedExchange extends NativeExchange {
  constructor(e: Emitter, plan: ExchangePlan) {
    super(e, plan);
    // Votes of the workgroup ask for it anywhere.
    if (e.usage.present[Op.AnyGroup] !== 0) e.inputs.waveId();
  }

  override any(condition: number): number {
    const { body, module } = this.e;
    const [low, high] = this.vote(condition);
    const bits = this.width === 64 ? body.op2(Code.BitwiseOr, T.U32, low, high) : low;
    return body.op2(Code.INotEqual, T.Bool, bits, module.u32(0));
  }

  override broadcast(value: number, lane: number, type: T = T.U32): number {
    const { body, module } = this.e;
    module.capability(Capability.GroupNonUniformBallot);
    return body.op3(Code.GroupNonUniformBroadcast, type, module.u32(Scope.Subgroup), value, module.u32(lane));
  }

  override readLane(value: number, lane: number, type: T = T.U32): number {
    const { body, module } = this.e;
    module.capability(Capability.GroupNonUniformShuffle);
    return body.op3(Code.GroupNonUniformShuffle, type, module.u32(Scope.Subgroup), value, lane);
  }

  override agree(): number {
    throw new Error("a branch of a packed module that the workgroup would have to agree on");
  }
}
