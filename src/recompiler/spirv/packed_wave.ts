import { Capability, Code, Scope } from "./codes.ts";
import { T } from "./module.ts";
import { NativeExchange } from "./native_wave.ts";

/**
 * The packed form: a host subgroup is a guest wave, and every invocation has several of its lanes (passes/pack). What lanes exchange has become exchanges of
 * the subgroup already, so this is the native form, on subgroups that are narrower than the wave; what only the workgroup could agree on does not occur.
 */
export class PackedExchange extends NativeExchange {
  override any(condition: number): number {
    const { body, module } = this.e;
    const [low, high] = this.vote(condition);
    const bits = this.width === 64 ? body.op2(Code.BitwiseOr, T.U32, low, high) : low;
    return body.op2(Code.INotEqual, T.Bool, bits, module.u32(0));
  }

  override broadcast(value: number, lane: number): number {
    const { body, module } = this.e;
    module.capability(Capability.GroupNonUniformBallot);
    return body.op3(Code.GroupNonUniformBroadcast, T.U32, module.u32(Scope.Subgroup), value, module.u32(lane));
  }

  override readLane(value: number, lane: number): number {
    const { body, module } = this.e;
    module.capability(Capability.GroupNonUniformShuffle);
    return body.op3(Code.GroupNonUniformShuffle, T.U32, module.u32(Scope.Subgroup), value, lane);
  }

  override voteGroup(): number {
    throw new Error("a vote of the workgroup in a packed module");
  }

  override agree(): number {
    throw new Error("a branch of a packed module that the workgroup would have to agree on");
  }
}
