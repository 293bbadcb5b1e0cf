/** What lanes of a graphics stage can tell each other: quads by quad operations, and what maps to the host's own subgroup. */
import { InputKind, Op, OPS } from "../../ir/ops.ts";
import { classifyUniformity, Uniformity } from "../../passes/uniformity.ts";
import { Capability, Code, Scope } from "../codes.ts";
import type { Emitter, HandlerTable } from "../emitter.ts";
import { NativeExchange } from "../native_wave.ts";
import { isExchange } from "../exchange_plan.ts";
import { T } from "../module.ts";

/** Directions of a quad swap: its lane's number with a bit, or both, turned. */
const HORIZONTAL = 0, VERTICAL = 1;

/** How the lanes of a program look at each other. */
export type StageLaneMode = "laneless" | "quad" | "subgroup";

/**
 * Chooses the lane mode and prepares the exchange.
 *
 * A quad's lanes are invocations that a host runs together. A guest wave is a host subgroup, if that has no more lanes: the lanes that it lacks are ones that
 * the wave has not been given. So votes and ballots are the subgroup's, but what a particular lane of the wave holds is not.
 *
 * @throws RefusedError for what lanes of a graphics stage cannot tell each other on this device
 */
export function prepareStageExchange(e: Emitter): { mode: StageLaneMode; reason: string } {
  const { ir, request: { device, waveSize, graphics } } = e;
  let quad = -1, subgroup = -1;
  for (let i = 1; i < ir.length; i++) {
    const op = ir.op[i];
    if (op === Op.QuadAny || op === Op.QuadShuffle) quad = quad < 0 ? i : quad;
    else if (op === Op.Shuffle) throw e.refuse(i, "lane-exchange", "lanes of other quads are looked at");
    else if (op === Op.ReadLane && ir.op[ir.b[i]] === Op.Const) {
      throw e.refuse(
        i,
        "lane-exchange",
        "a lane of a fixed number is looked at: which pixel or vertex it is, nobody knows",
      );
    } else if (isExchange(op)) subgroup = subgroup < 0 ? i : subgroup;
    if (op === Op.Input && ir.a[i] === InputKind.LaneId && e.usage.uses[i] > 0) subgroup = subgroup < 0 ? i : subgroup;
  }
  if (quad < 0 && subgroup < 0) return { mode: "laneless", reason: "no lane looks at another one" };
  const { flow } = classifyUniformity(ir, true);
  for (let i = 1; i < ir.length; i++) {
    if (isExchange(ir.op[i]) && flow[i] !== Uniformity.Workgroup) {
      throw e.refuse(i, "lane-exchange", "an exchange between lanes in control flow that they do not share");
    }
  }
  const named = (i: number) => `${OPS[ir.op[i]].name} at pc 0x${ir.pc[i].toString(16)}`;
  if (quad >= 0) {
    if (device.graphics?.quads !== true || graphics?.stage !== "pixel") {
      throw e.refuse(quad, "lane-exchange", "quad operations, which this stage of the device does not have");
    }
    e.module.capability(Capability.GroupNonUniform);
    e.module.capability(Capability.GroupNonUniformQuad);
  }
  if (subgroup < 0) return { mode: "quad", reason: `lanes of a quad look at each other: ${named(quad)}` };
  if (device.graphics?.subgroups !== true) {
    throw e.refuse(
      subgroup,
      "lane-exchange",
      "the wave is observed; this device has no subgroup operations in the stage",
    );
  }
  if (device.subgroupSize > waveSize) {
    throw e.refuse(
      subgroup,
      "lane-exchange",
      `the wave is observed; a subgroup has ${device.subgroupSize} lanes, the wave ${waveSize}`,
    );
  }
  const none = new Uint8Array(ir.length);
  e.native = true;
  e.exchange = new NativeExchange(e, { holds: none, agree: none, condition: none, badExchange: -1 });
  return { mode: "subgroup", reason: `the program observes the wave: ${named(subgroup)}` };
}

/** A quad shuffle: a broadcast, a swap, or a choice of broadcasts. */
function quadShuffle(e: Emitter, i: number): void {
  const { ir, body, module } = e, value = e.use(ir.a[i]), packed = ir.b[i];
  const from = [0, 1, 2, 3].map((lane) => packed >> 2 * lane & 3);
  const scope = module.u32(Scope.Subgroup);
  const swap = [1, 2, 3].find((bits) => from.every((lane, own) => lane === (own ^ bits)));
  if (from.every((lane, own) => lane === own)) e.ids[i] = value;
  else if (swap !== undefined) {
    e.ids[i] = body.op3(Code.GroupNonUniformQuadSwap, T.U32, scope, value, module.u32(swap - 1));
  } else {
    const broadcast = new Map<number, number>();
    for (const lane of new Set(from)) {
      broadcast.set(lane, body.op3(Code.GroupNonUniformQuadBroadcast, T.U32, scope, value, module.u32(lane)));
    }
    let result = broadcast.get(from[3])!;
    if (broadcast.size > 1) {
      const own = body.op2(Code.BitwiseAnd, T.U32, e.inputs.laneId(), module.u32(3));
      for (const lane of [2, 1, 0]) {
        const here = body.op2(Code.IEqual, T.Bool, own, module.u32(lane));
        result = body.select(T.U32, here, broadcast.get(from[lane])!, result);
      }
    }
    e.ids[i] = result;
  }
}

function quadAny(e: Emitter, i: number): void {
  const { body, module } = e, scope = module.u32(Scope.Subgroup);
  let bits = body.select(T.U32, e.use(e.ir.a[i]), module.u32(1), module.u32(0));
  for (const direction of [HORIZONTAL, VERTICAL]) {
    const other = body.op3(Code.GroupNonUniformQuadSwap, T.U32, scope, bits, module.u32(direction));
    bits = body.op2(Code.BitwiseOr, T.U32, bits, other);
  }
  e.ids[i] = body.op2(Code.INotEqual, T.Bool, bits, module.u32(0));
}

/** Handlers of this file. */
export const QUADS: HandlerTable = { QuadShuffle: quadShuffle, QuadAny: quadAny };
