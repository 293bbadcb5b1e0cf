/** Corruptions of the lift table: what an opcode's handler may get wrong. */
import { Encoding, Extra, Flag, Instruction } from "../../../src/rdna/instruction.ts";
import { type Opcode, OPCODES, Trait } from "../../../src/rdna/table.ts";
import { Op, Type } from "../../../src/recompiler/ir/ops.ts";
import type { Lifter } from "../../../src/recompiler/lift/context.ts";
import { type Handler, HANDLERS } from "../../../src/recompiler/lift/dispatch.ts";
import { REFUSED_NAMES } from "../../../src/recompiler/lift/unsupported.ts";
import { clampRefused, knownRefusals } from "../../../tests/fuzz/refusals.ts";
import { isApproximate } from "../../../tests/fuzz/instances/accuracy.ts";
import { commutes, equivalentLift, looksAlike, swapsSources } from "./equivalents.ts";
import type { Mutant, Scope } from "./mutant.ts";

/** The table as what it is at run time: an array that anybody may write. */
const TABLE = HANDLERS as (Handler | undefined)[];

/** Opcodes of which a side refuses clamp. */
const REFUSES_CLAMP = clampRefused(knownRefusals());

/** All mutants of the lift table, in the order of the opcodes. */
export function liftMutants(): Mutant[] {
  return OPCODES.flatMap((opcode) => {
    if (TABLE[opcode.id] === undefined || REFUSED_NAMES.has(opcode.name)) return [];
    return [
      ...resultMutants(opcode),
      ...maskMutants(opcode),
      ...operandMutants(opcode),
      ...modifierMutants(opcode),
      ...neighbourMutants(opcode),
    ];
  });
}

/** A mutant whose handler is `wrap` of the entry's. */
function mutant(opcode: Opcode, kind: string, note: string, wrap: (handler: Handler, scope: Scope) => Handler): Mutant {
  return {
    table: "lift",
    entry: opcode.name,
    kind,
    note,
    equivalent: equivalentLift(opcode, kind),
    install(scope) {
      const handler = TABLE[opcode.id]!;
      const wrong = wrap(handler, scope);
      TABLE[opcode.id] = (l, i) => {
        if (!scope.covers(i.pc)) return handler(l, i);
        try {
          wrong(l, i);
        } catch (error) {
          if (scope.failed?.(error) !== true) throw error;
          handler(l, i);
        }
      };
      return () => TABLE[opcode.id] = handler;
    },
  };
}

/** Runs a handler while the lifter has other methods. */
function withPatches(l: Lifter, patches: PropertyDescriptorMap, run: () => void): void {
  Object.defineProperties(l, patches);
  try {
    run();
  } finally {
    for (const name of Object.keys(patches)) delete (l as unknown as Record<string, unknown>)[name];
  }
}

function method(value: unknown): PropertyDescriptor {
  return { value, configurable: true };
}

/** Operations that store operand c. */
const STORES: readonly number[] = [Op.Store, Op.LdsStore, Op.Atomic, Op.LdsAtomic];

function writesSomething({ dst, traits }: Opcode): boolean {
  return dst.length > 0 || (traits & (Trait.Store | Trait.Atomic | Trait.Swap)) !== 0;
}

/** The first register or the first stored value with its lowest bit flipped; approximate results by more than their tolerance. */
function resultMutants(opcode: Opcode): Mutant[] {
  if (!writesSomething(opcode)) return [];
  const bit = !isApproximate(opcode) ? 1 : opcode.dst[0].bits === 16 ? 0x200 : 0x400000;
  const note = `bit 0x${bit.toString(16)} of the result is flipped`;
  return [mutant(opcode, "result", note, (handler, scope) => (l, i) => {
    const { ir } = l;
    let done = false;
    const flip = (id: number): number => {
      if (done) return id;
      done = true;
      scope.acted();
      return flipped(l, id, bit);
    };
    const proto = Object.getPrototypeOf(l) as Lifter;
    const emit = ir.emit;
    ir.emit = (op, a, b, c, d) => emit.call(ir, op, a, b, STORES.includes(op) ? flip(c!) : c, d);
    try {
      withPatches(l, {
        setVector: method((operand: number, id: number) => proto.setVector.call(l, operand, flip(id))),
        setScalar: method((register: number, id: number, shadow = 0) => {
          if (done) return proto.setScalar.call(l, register, id, shadow);
          proto.setScalar.call(l, register, flip(id));
        }),
        setMask: method((register: number, id: number) => {
          const wrong = done ? id : l.not(id);
          if (!done) scope.acted();
          done = true;
          proto.setMask.call(l, register, wrong);
        }),
      }, () => handler(l, i));
    } finally {
      delete (ir as unknown as Record<string, unknown>).emit;
    }
  })];
}

/** A value with a bit of its first word flipped. */
function flipped(l: Lifter, id: number, bit: number): number {
  const { ir } = l;
  const type = ir.type[id] as Type;
  if (type < Type.V2) return l.asLike(ir.emit(Op.Xor, l.asU(id), l.u(bit)), type);
  const parts = [0, 1, 2, 3].slice(0, type - Type.V2 + 2).map((k) => ir.emit(Op.Extract, id, k));
  parts[0] = ir.emit(Op.Xor, parts[0], l.u(bit));
  return ir.append(Op.Vec, type, parts[0], parts[1] ?? 0, parts[2] ?? 0, parts[3] ?? 0);
}

/** SCC and carries negated; EXEC forgotten. */
function maskMutants(opcode: Opcode): Mutant[] {
  const { traits, dst, encoding } = opcode;
  const list: Mutant[] = [];
  if (traits & Trait.WritesScc) {
    list.push(mutant(opcode, "scc", "SCC is negated", (handler, scope) => (l, i) => {
      const slots = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(l), "scc")!;
      const scc: PropertyDescriptor = {
        configurable: true,
        get: () => slots.get!.call(l),
        set: (id: number) => {
          scope.acted();
          slots.set!.call(l, l.not(id));
        },
      };
      withPatches(l, { scc }, () => handler(l, i));
    }));
  }
  if (dst.length === 2) {
    list.push(mutant(opcode, "carry", "the lane mask beside the result is negated", (handler, scope) => (l, i) => {
      const { setMask } = Object.getPrototypeOf(l) as Lifter;
      const wrong = (register: number, id: number) => {
        scope.acted();
        setMask.call(l, register, l.not(id));
      };
      withPatches(l, { setMask: method(wrong) }, () => handler(l, i));
    }));
  }
  const vector = encoding >= Encoding.Vop1 && encoding <= Encoding.Mimg;
  if (vector && !opcode.scalarDst) {
    list.push(mutant(opcode, "exec", "lanes that EXEC switches off count as active", (handler, scope) => (l, i) => {
      const { exec } = Object.getPrototypeOf(l) as Lifter;
      const wrong = () => {
        if (exec.call(l) !== l.enabled) scope.acted();
        return l.enabled;
      };
      withPatches(l, { exec: method(wrong) }, () => handler(l, i));
    }));
  }
  return list;
}

/** A mutant that gives the handler another instruction. @param change returns whether it changed the copy */
function changed(
  opcode: Opcode,
  kind: string,
  note: string,
  change: (copy: Instruction) => boolean,
): Mutant {
  return mutant(opcode, kind, note, (handler, scope) => (l, i) => {
    const copy = Object.assign(new Instruction(), i);
    if (!change(copy)) return handler(l, i);
    scope.acted();
    handler(l, copy);
  });
}

/** Sources (or data registers) of the same type exchanged, where their order matters. */
function operandMutants(opcode: Opcode): Mutant[] {
  const list: Mutant[] = [];
  const { src } = opcode;
  const alike = (a: number, b: number) =>
    src.length > b && src[a].kind === src[b].kind && src[a].bits * src[a].count === src[b].bits * src[b].count &&
    opcode.srcClass[a] === opcode.srcClass[b];
  if (opcode.encoding <= Encoding.Vopc && src[0]?.kind !== "addr") {
    if (alike(0, 1) && !commutes(opcode)) {
      list.push(changed(opcode, "operands01", "sources 0 and 1 are exchanged", (i) => exchange(i, "src0", "src1")));
    }
    if (alike(1, 2) && swapsSources(opcode)) {
      list.push(changed(opcode, "operands12", "sources 1 and 2 are exchanged", (i) => exchange(i, "src1", "src2")));
    }
  }
  if (opcode.encoding === Encoding.Ds && src.length === 3) {
    list.push(changed(opcode, "operands", "both data registers are exchanged", (i) => exchange(i, "data", "data1")));
  }
  return list;
}

type Field = "src0" | "src1" | "src2" | "data" | "data1";

function exchange(i: Instruction, a: Field, b: Field): boolean {
  // SDWA and DPP say more of source 0 than its register.
  if (i.extra !== Extra.None || i[a] === i[b]) return false;
  [i[a], i[b]] = [i[b], i[a]];
  return true;
}

/** Modifiers of each form dropped. */
function modifierMutants(opcode: Opcode): Mutant[] {
  const { encoding } = opcode;
  const list: Mutant[] = [];
  const add = (kind: string, note: string, change: (i: Instruction) => boolean) =>
    list.push(changed(opcode, kind, note, change));
  const isVop = encoding >= Encoding.Vop1 && encoding <= Encoding.Vopc;
  if (isVop) {
    add("signs", "neg and abs are dropped", (i) => {
      const any = (i.neg | i.abs) !== 0;
      i.neg = i.abs = 0;
      return any;
    });
    // Where clamp is refused, nothing more than the refusal would be missing.
    if (!REFUSES_CLAMP.has(opcode.name)) add("clamp", "clamp is dropped", (i) => dropFlag(i, Flag.Clamp));
    add("omod", "the output modifier is dropped", (i) => {
      const any = i.omod !== 0;
      i.omod = 0;
      return any;
    });
    add("op_sel", "op_sel is dropped", (i) => {
      const packed = encoding === Encoding.Vop3p;
      const any = i.opSel !== 0 || (packed && i.opSelHi !== 7);
      i.opSel = 0;
      if (packed) i.opSelHi = 7;
      return any;
    });
  }
  if (opcode.sdwa) {
    add("sdwa", "SDWA selects are dropped", (i) => {
      if (i.extra !== Extra.Sdwa) return false;
      const control = i.control;
      i.control = control & ~0x0f0f0000 | 0x06060000;
      if (encoding !== Encoding.Vopc) i.control = i.control & ~0x1f00 | 0x0600;
      return i.control !== control;
    });
  }
  if (opcode.dpp) {
    add("dpp", "DPP reads the own lane", (i) => {
      const own = i.extra === Extra.Dpp16 ? 0xe4 : 0xfac688;
      if (i.extra < Extra.Dpp16 || i.control === own) return false;
      i.control = own;
      return true;
    });
    add("dpp_masks", "row and bank masks are dropped", (i) => {
      const any = i.extra === Extra.Dpp16 && i.masks !== 0xff;
      i.masks = 0xff;
      return any;
    });
    add("dpp_bounds", "BOUND_CTRL and FI are negated", (i) => {
      if (i.extra < Extra.Dpp16) return false;
      i.flags ^= i.extra === Extra.Dpp16 ? Flag.BoundCtrl | Flag.FetchInactive : Flag.FetchInactive;
      return true;
    });
  }
  const hasOffset = encoding === Encoding.Smem || (encoding >= Encoding.Ds && encoding <= Encoding.Mtbuf);
  if (hasOffset && (opcode.traits & Trait.Cache) === 0) {
    add("offset", "the immediate offset is dropped", (i) => {
      const any = i.imm !== 0;
      i.imm = 0;
      return any;
    });
  }
  if (encoding === Encoding.Mubuf || encoding === Encoding.Mtbuf) {
    add("offen", "the vector offset is dropped", (i) => dropFlag(i, Flag.Offen));
    add("soffset", "the scalar offset is dropped", (i) => {
      const any = i.soffset < 128;
      i.soffset = 128;
      return any;
    });
  }
  if (encoding === Encoding.Smem) {
    add("soffset", "the scalar offset is dropped", (i) => {
      i.soffset = -1;
      return dropFlag(i, Flag.SgprOffset);
    });
  }
  return list;
}

function dropFlag(i: Instruction, flag: number): boolean {
  const any = (i.flags & flag) !== 0;
  i.flags &= ~flag;
  return any;
}

/** The handler of the next opcode that looks the same and has another meaning. */
function neighbourMutants(opcode: Opcode): Mutant[] {
  const same = OPCODES.filter((other) =>
    other.encoding === opcode.encoding && shape(other) === shape(opcode) && TABLE[other.id] !== undefined &&
    !REFUSED_NAMES.has(other.name)
  );
  const at = same.indexOf(opcode);
  const next = [...same.slice(at + 1), ...same.slice(0, at)].find((other) => !looksAlike(opcode, other));
  if (next === undefined) return [];
  return [mutant(opcode, "neighbour", `acts as ${next.name}`, (_, scope) => {
    const other = TABLE[next.id]!;
    return (l, i) => {
      scope.acted();
      // Handlers of several opcodes look at the number, too.
      other(l, Object.assign(new Instruction(), i, { op: next.id }));
    };
  })];
}

function shape({ dst, src, traits, memory, segment, words }: Opcode): string {
  const type = (t: { kind: string; bits: number; count: number }) => `${t.kind}${t.bits}x${t.count}`;
  const kinds = traits & (Trait.Load | Trait.Store | Trait.Atomic | Trait.Lanes | Trait.Indirect | Trait.Literal);
  const bits = memory === undefined ? 0 : memory.bits * memory.count;
  return [dst.map(type), src.map(type), kinds, bits, segment, words.has("buffer"), words.has("rtn")].join(";");
}
