/**
 * What a program's results may depend on although its code is executed rightly: the interpreter runs the machine code again with another choice, and the
 * words that change are those that nobody defines, or defines to some precision only. The interpreter's table of handlers and its workgroups are changed
 * from here and put back; the product knows nothing of it.
 *
 * @module
 */
import { Encoding, Extra, Flag, Instruction, Operand } from "../../src/rdna/instruction.ts";
import { HANDLERS } from "../../src/rdna/interpreter/handlers.ts";
import type { Handler } from "../../src/rdna/interpreter/handler.ts";
import { LANES, type Wave } from "../../src/rdna/interpreter/machine/wave.ts";
import { Workgroup } from "../../src/rdna/interpreter/machine/workgroup.ts";
import { beginVector, fetchOf, NARROW } from "../../src/rdna/interpreter/operands/vector.ts";
import { opcodeId, OPCODES, Trait } from "../../src/rdna/table.ts";
import { Random } from "../../tests/support/random.ts";

/** A choice that hardware, or the compiler, is free to make. */
export interface Freedom {
  /** For tables: what the results depend on. */
  readonly name: string;
  /** Makes the choice; returns what takes it back. Different seeds make different choices. */
  install(seed: number): () => void;
}

/** The handlers as what they are at run time: an array that anybody may write. */
const TABLE = HANDLERS as (Handler | undefined)[];

/** Replaces the handlers of opcodes. @returns what puts them back */
function replace(chosen: readonly number[], wrap: (handler: Handler, id: number) => Handler): () => void {
  const before = chosen.map((id) => TABLE[id]);
  chosen.forEach((id, k) => {
    const handler = before[k];
    if (handler !== undefined) TABLE[id] = wrap(handler, id);
  });
  return () => chosen.forEach((id, k) => TABLE[id] = before[k]);
}

/** Does something to each workgroup before its first instruction. @returns what ends it */
function beforeGroups(act: (group: Workgroup) => void): () => void {
  const run = Workgroup.prototype.run;
  Workgroup.prototype.run = function () {
    act(this);
    run.call(this);
  };
  return () => Workgroup.prototype.run = run;
}

/** Workgroup memory holds what is left of others when a group starts. */
export const UNWRITTEN_LDS: Freedom = {
  name: "workgroup memory that nobody wrote",
  install: (seed) => {
    const random = new Random(seed);
    return beforeGroups(({ lds }) => {
      // Random bits, or NaN everywhere, which no factor of zero hides.
      for (let k = 0; k < lds.bytes.length; k++) lds.bytes[k] = seed % 2 === 1 ? random.u32() : 0xff;
    });
  },
};

/** Waves of a group run in any order between barriers: here in the opposite one, or in turns of a random number of instructions. */
export const WAVE_ORDER: Freedom = {
  name: "the order of waves",
  install: (seed) => {
    const random = new Random(seed);
    return beforeGroups((group) => {
      if (seed % 2 === 1) group.waves.reverse();
      else {
        // A wave that has executed more than it was given gives its turn away.
        const context = group.context as { observer?: (wave: Wave, instruction: Instruction) => void };
        const observer = context.observer;
        context.observer = (wave, instruction) => {
          observer?.(wave, instruction);
          if (random.below(8) === 0) wave.executed += 4096;
        };
      }
    });
  },
};

const MEMORY_WRITES = OPCODES.filter(({ encoding, traits }) =>
  encoding >= Encoding.Ds && encoding <= Encoding.Mimg && (traits & (Trait.Store | Trait.Atomic)) !== 0 &&
  (traits & (Trait.Lanes | Trait.Cache)) === 0
).map(({ id }) => id);

/** Lanes that store to one place, or work on it with atomics, come in any order: here the last one first. */
export const LANE_ORDER: Freedom = {
  name: "the order of lanes in a store or an atomic operation",
  install: () =>
    replace(MEMORY_WRITES, (handler) => (w, i) => {
      const { sgpr, size } = w, low = sgpr[Operand.Exec], high = sgpr[Operand.ExecHi];
      for (let lane = size - 1; lane >= 0; lane--) {
        if (((lane < 32 ? low : high) >>> (lane & 31) & 1) === 0) continue;
        sgpr[Operand.Exec] = lane < 32 ? 1 << lane : 0;
        sgpr[Operand.ExecHi] = lane < 32 ? 0 : 1 << lane - 32;
        handler(w, i);
      }
      sgpr[Operand.Exec] = low;
      sgpr[Operand.ExecHi] = high;
    }),
};

/** Bounds of the functions, in units in the last place of f32, by the operand (Vulkan, "Precision of GLSL.std.450 instructions", and of OpFDiv). */
const FUNCTIONS: Readonly<Record<string, (x: number) => number>> = {
  v_rcp_f32: () => 2.5,
  v_rcp_iflag_f32: () => 2.5,
  v_rsq_f32: () => 2,
  v_sqrt_f32: () => 2.5,
  v_exp_f32: (x) => 3 + 2 * Math.abs(x),
  v_log_f32: () => 3,
};
/** Absolute bounds: sine and cosine 2^-11, and log2 2^-21 near its zero. */
const ABSOLUTE: Readonly<Record<string, number>> = { v_sin_f32: 2 ** -11, v_cos_f32: 2 ** -11, v_log_f32: 2 ** -21 };
/** f16 functions: one unit. */
const FUNCTIONS16 = ["rcp", "rsq", "sqrt", "exp", "log", "sin", "cos"].map((name) => `v_${name}_f16`);

const BITS = new DataView(new ArrayBuffer(4));

/** The number of f32 bits. */
function number32(bits: number): number {
  BITS.setInt32(0, bits);
  return BITS.getFloat32(0);
}

/** f32 bits of the nearest number. */
function bits32(value: number): number {
  BITS.setFloat32(0, value);
  return BITS.getInt32(0);
}

/** One unit in the last place at a number. */
function ulpOf(value: number): number {
  return 2 ** (Math.max(-126, Math.floor(Math.log2(Math.abs(value)))) - 23);
}

/** Calls back for each active lane with the place of the destination in `w.vgpr`, after the instruction. */
function afterwards(w: Wave, i: Instruction, act: (lane: number, at: number) => void): void {
  w.activateExec();
  const row = (i.dst - Operand.Vgpr0) * LANES;
  for (let lane = 0; lane < w.size; lane++) if (w.isActive(lane)) act(lane, row + lane);
}

/** Whether the 32 bits of the destination are the result, and nothing else. */
function writesWhole(i: Instruction): boolean {
  return i.extra !== Extra.Sdwa && i.dst >= Operand.Vgpr0;
}

/** Reciprocals, roots, exponentials, logarithms, sines: each result moved at random within its bound. */
export const FUNCTION_PRECISION: Freedom = {
  name: "the precision of functions",
  install: (seed) => {
    const random = new Random(seed), within = () => 2 * random.below(1 << 20) / (1 << 20) - 1;
    const names = [...new Set([...Object.keys(FUNCTIONS), ...Object.keys(ABSOLUTE)])];
    const first = replace(names.map(opcodeId), (handler, id) => {
      const { name } = OPCODES[id], fetch = fetchOf(OPCODES[id], 0), operands = new Int32Array(LANES);
      return (w, i) => {
        beginVector(w, i);
        fetch(w, i, 0);
        operands.set(NARROW[0]);
        handler(w, i);
        if (!writesWhole(i)) return;
        afterwards(w, i, (lane, at) => {
          const value = number32(w.vgpr[at]);
          if (!Number.isFinite(value) || value === 0) return;
          const ulps = FUNCTIONS[name]?.(number32(operands[lane])) ?? 0;
          const bound = Math.max(ulps * ulpOf(value), ABSOLUTE[name] ?? 0);
          w.vgpr[at] = bits32(value + within() * bound);
        });
      };
    });
    const second = replace(FUNCTIONS16.map(opcodeId), (handler) => (w, i) => {
      handler(w, i);
      if (!writesWhole(i)) return;
      const shift = i.opSel & 8 ? 16 : 0;
      afterwards(w, i, (_, at) => {
        const half = w.vgpr[at] >>> shift & 0x7fff;
        if (half !== 0 && half < 0x7bff) w.vgpr[at] += (random.below(3) - 1) << shift;
      });
    });
    return () => {
      second();
      first();
    };
  },
};

/** Smallest and largest number that a conversion can give. */
const CONVERSIONS: Readonly<Record<string, readonly [least: number, most: number]>> = {
  v_cvt_i32_f32: [-(2 ** 31), 2 ** 31 - 1],
  v_cvt_u32_f32: [0, 2 ** 32 - 1],
  v_cvt_rpi_i32_f32: [-(2 ** 31), 2 ** 31 - 1],
  v_cvt_flr_i32_f32: [-(2 ** 31), 2 ** 31 - 1],
};

/** The result of a conversion of a number that the integer cannot hold (SPIR-V, OpConvertFToS: it is undefined). */
export const OUT_OF_RANGE: Freedom = {
  name: "conversions of numbers that the integer type cannot hold",
  install: (seed) => {
    const random = new Random(seed);
    return replace(Object.keys(CONVERSIONS).map(opcodeId), (handler, id) => {
      const [least, most] = CONVERSIONS[OPCODES[id].name], fetch = fetchOf(OPCODES[id], 0);
      const operands = new Int32Array(LANES);
      return (w, i) => {
        beginVector(w, i);
        fetch(w, i, 0);
        operands.set(NARROW[0]);
        handler(w, i);
        if (!writesWhole(i)) return;
        afterwards(w, i, (lane, at) => {
          const value = Math.trunc(number32(operands[lane]));
          if (!(value >= least && value <= most)) w.vgpr[at] = random.u32() | 0;
        });
      };
    });
  },
};

/** Fused operations that compilers make of products that are summed up, by whether the third operand is the destination. */
const FUSED: Readonly<Record<string, boolean>> = {
  v_fma_f32: false,
  v_fma_mix_f32: false,
  v_fmac_f32: true,
  v_fmamk_f32: false,
  v_fmaak_f32: false,
};

/** Fused or not, and in which order a dot product is summed up: each term and each sum is moved by at most one rounding. */
export const DOT_PRODUCTS: Freedom = {
  name: "order and rounding inside of dot products",
  install: (seed) => {
    const random = new Random(seed), within = () => 2 * random.below(1 << 20) / (1 << 20) - 1;
    return replace(Object.keys(FUSED).map(opcodeId), (handler, id) => {
      const accumulates = FUSED[OPCODES[id].name];
      const products = new Float64Array(LANES);
      return (w, i) => {
        if (!writesWhole(i)) return handler(w, i);
        const row = (i.dst - Operand.Vgpr0) * LANES, old = w.vgpr.slice(row, row + LANES);
        // The product alone: the same instruction with a zero to add.
        const product = Object.assign(new Instruction(), i, { flags: i.flags & ~Flag.Clamp, omod: 0 });
        if (accumulates) w.vgpr.fill(0, row, row + LANES);
        else {
          product.src2 = ZERO;
          product.opSelHi &= 3;
          product.neg &= 3;
        }
        handler(w, product);
        afterwards(w, i, (lane, at) => products[lane] = number32(w.vgpr[at]));
        w.vgpr.set(old, row);
        handler(w, i);
        afterwards(w, i, (lane, at) => {
          const value = number32(w.vgpr[at]);
          if (!Number.isFinite(value)) return;
          w.vgpr[at] = bits32(value + within() * (Math.abs(products[lane]) + Math.abs(value)) * 2 ** -24);
        });
      };
    });
  },
};

/** The inline constant 0. */
const ZERO = 128;

const TO_FLOAT = ["v_cvt_f32_u32", "v_cvt_f32_i32"], RECIPROCAL = ["v_rcp_f32", "v_rcp_iflag_f32"];

/**
 * Whether a run divides integers by zero, which leaves all of it undefined (SPIR-V, OpUDiv). Machine code has no integer division: compilers begin it with
 * the reciprocal of the converted divisor.
 */
export function dividesByZero(interpret: () => unknown): boolean {
  let found = false;
  /** Registers that hold a converted integer. */
  const converted = new WeakMap<Wave, Set<number>>();
  const first = replace(TO_FLOAT.map(opcodeId), (handler) => (w, i) => {
    handler(w, i);
    if (!converted.has(w)) converted.set(w, new Set());
    converted.get(w)!.add(i.dst);
  });
  const second = replace(RECIPROCAL.map(opcodeId), (handler) => (w, i) => {
    if (converted.get(w)?.has(i.src0)) {
      w.activateExec();
      const row = (i.src0 - Operand.Vgpr0) * LANES;
      for (let lane = 0; lane < w.size; lane++) found ||= w.isActive(lane) && w.vgpr[row + lane] === 0;
    }
    handler(w, i);
  });
  try {
    interpret();
    return found;
  } finally {
    second();
    first();
  }
}
