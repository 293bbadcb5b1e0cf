/** Chooses operands of instances: registers of the frame, constants, literals. */
import { Operand } from "../../../src/rdna/instruction.ts";
import type { DataType } from "../../../src/rdna/types.ts";
import type { Random } from "../../support/random.ts";
import type { Code } from "../code.ts";
import { int, v } from "../encode.ts";
import { DESTINATION, moveMask, SCALARS, VECTORS } from "../frame.ts";
import { randomF32, randomF64, randomHalves, randomInt } from "../values.ts";

/** Which kind of register suits a type. */
function flavour(type: DataType): "float" | "integer" | "halves" | "double" | "wide" {
  if (type.bits * type.count === 64) return type.kind === "f" ? "double" : "wide";
  if (type.bits === 16) return type.kind === "f" ? "halves" : "integer";
  return type.kind === "f" ? "float" : "integer";
}

/** Chooses the operands of one instance. */
export class Operands {
  /** Value of the literal, if one was chosen. */
  literal: number | undefined;
  /** Different scalar registers and literals that the vector instruction reads; the hardware has two buses for them. */
  readonly #scalars = new Set<number>();

  constructor(readonly random: Random, readonly waveSize: 32 | 64) {}

  /** Notes that a scalar register is read anyway. */
  reserve(register: number): void {
    this.#scalars.add(register);
  }

  /** A vector register (or the first of a tuple) for a type. */
  vector(type: DataType): number {
    const { random } = this;
    const words = Math.max(1, type.dwords);
    if (random.chance(0.12)) return v(DESTINATION.vector + random.below(DESTINATION.count - words + 1));
    if (random.chance(0.15)) return v(VECTORS.all[0] + random.below(VECTORS.all[1] - VECTORS.all[0] + 2 - words));
    if (words > 2) return v(VECTORS.all[0] + random.below(16));
    if (words === 1 && type.kind !== "f" && random.chance(0.25)) return v(random.pick(VECTORS.small));
    return v(random.pick(VECTORS[flavour(type)]));
  }

  /** A scalar register (pairs start at even ones). */
  scalarRegister(type: DataType): number {
    const { random } = this;
    const words = Math.max(1, type.dwords);
    if (random.chance(0.15)) {
      const [first, last] = SCALARS.all;
      const register = first + random.below(last - first + 2 - words);
      return words > 1 ? register & ~1 : register;
    }
    if (words === 1 && type.kind !== "f" && random.chance(0.25)) return random.pick(SCALARS.small);
    return random.pick(SCALARS[flavour(type)]);
  }

  /** An inline constant. */
  inline(): number {
    const { random } = this;
    if (random.chance(0.5)) return int(random.below(81) - 16);
    return 240 + random.below(9);
  }

  /** Code of the literal; its value suits the type. One instruction has one literal. */
  useLiteral(type: DataType): number {
    const { random } = this;
    this.literal ??= type.kind === "f" && type.bits === 64
      ? randomF64(random)[1]
      : type.kind === "f" && type.bits === 16
      ? randomHalves(random)
      : type.kind === "f"
      ? randomF32(random)
      : randomInt(random);
    return Operand.Literal;
  }

  /** A source of a scalar instruction. */
  scalar(type: DataType, literals = true): number {
    const { random } = this;
    const roll = random.below(20);
    if (roll < 12) return this.scalarRegister(type);
    if (roll < 15) return this.inline();
    if (roll < 17 && literals) return this.useLiteral(type);
    if (type.dwords > 1) return random.pick([Operand.Vcc, Operand.Exec, DESTINATION.scalar, int(0)]);
    return random.pick([
      Operand.Vcc,
      Operand.VccHi,
      Operand.Exec,
      Operand.M0,
      Operand.Null,
      Operand.Scc,
      251,
      252,
      DESTINATION.scalar,
    ]);
  }

  /** A source of a vector instruction that admits all kinds. */
  source(type: DataType, literals = true): number {
    const { random } = this;
    const roll = random.below(20);
    if (roll < 12) return this.vector(type);
    if (roll < 15) return this.inline();
    const code = this.scalar(type, literals);
    const onBus = code < 128 || code > 248;
    if (!onBus || this.#scalars.has(code)) return code;
    if (this.#scalars.size >= 2) return this.vector(type);
    this.#scalars.add(code);
    return code;
  }

  /** A lane mask in scalar registers. */
  mask(): number {
    const { random } = this;
    const register = random.pick([Operand.Vcc, ...SCALARS.wide, ...SCALARS.double]);
    if (this.#scalars.size >= 2 && !this.#scalars.has(register)) {
      return [...this.#scalars].find((r) => r < 128 && r % 2 === 0) ?? int(-1);
    }
    this.#scalars.add(register);
    return register;
  }

  /** First destination register of a tuple. */
  vectorDestination(words: number): number {
    return DESTINATION.vector + this.random.below(DESTINATION.count - words + 1);
  }

  /** First scalar destination register. */
  scalarDestination(words: number): number {
    const alignment = words > 2 ? 4 : words;
    const places = Math.floor((DESTINATION.count - words) / alignment) + 1;
    return DESTINATION.scalar + this.random.below(places) * alignment;
  }
}

/** Preparation of an instance: what its registers hold before. */
export class Preparation {
  readonly #steps: ((code: Code) => void)[] = [];

  constructor(private readonly random: Random, private readonly waveSize: 32 | 64) {}

  /** Any other step. */
  add(step: (code: Code) => void): void {
    this.#steps.push(step);
  }

  /** Gives all destination registers values from the operands. */
  destinations(): void {
    const from = Array.from({ length: DESTINATION.count }, () => VECTORS.all[0] + this.random.below(24));
    this.add((code) => from.forEach((register, k) => code.vop("v_mov_b32", v(DESTINATION.vector + k), v(register))));
  }

  /** Gives scalar destination registers values. */
  scalars(first: number, count: number): void {
    const from = Array.from({ length: count }, () => SCALARS.all[0] + this.random.below(32));
    this.add((code) => from.forEach((register, k) => code.sop1("s_mov_b32", first + k, register)));
  }

  /** SCC from a bit of an operand. */
  scc(): void {
    const register = SCALARS.all[0] + this.random.below(32), bit = this.random.below(32);
    this.add((code) => code.sopc("s_bitcmp1_b32", register, int(bit)));
  }

  /** VCC from an operand. */
  vcc(): void {
    const register = this.random.pick([...SCALARS.wide, ...SCALARS.double]);
    this.add((code) => moveMask(code, Operand.Vcc, register, this.waveSize));
  }

  /** M0 from an operand, masked. */
  m0(mask: number): void {
    const register = this.random.pick([...SCALARS.integer, ...SCALARS.small]);
    this.add((code) => code.sop2("s_and_b32", Operand.M0, register, Operand.Literal, mask));
  }

  /** Some lanes only. */
  exec(): void {
    const { random, waveSize } = this;
    if (random.below(16) === 0) {
      // Without any lane nothing shows: that is drawn rarely.
      const bits = int(random.chance(0.1) ? 0 : 1 + random.below(3));
      return this.add((code) => moveMask(code, Operand.Exec, bits, waveSize));
    }
    const register = random.pick([...SCALARS.wide, ...SCALARS.double]);
    this.add((code) => moveMask(code, Operand.Exec, register, waveSize));
  }

  /** Everything so far, in order. */
  emit(code: Code): void {
    for (const step of this.#steps) step(code);
  }
}
