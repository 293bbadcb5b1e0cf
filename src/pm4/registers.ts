import { hex, RefusedError } from "../errors.ts";
import { COMPUTE_REGISTERS } from "./registers/compute.ts";
import { CONTEXT_REGISTERS } from "./registers/context.ts";
import type { RegisterRow } from "./registers/row.ts";
import { SHADER_REGISTERS } from "./registers/shader.ts";
import { UCONFIG_REGISTERS } from "./registers/uconfig.ts";

/**
 * The register banks that packets write. Offsets in packets count 32-bit words from the bank's start.
 *
 * `first` is the first register's word number in the GPU's register space and `words` the bank's size (Linux soc15d.h: PACKET3_SET_SH_REG_START and
 * its like). CONFIG is named for error messages only: streams may not write it.
 */
export const BANKS = [
  { name: "SH", first: 0x2c00, words: 0x400 },
  { name: "CONTEXT", first: 0xa000, words: 0x400 },
  { name: "UCONFIG", first: 0xc000, words: 0x4000 },
  { name: "CONFIG", first: 0x2000, words: 0xc00 },
] as const;

/** Index in {@linkcode BANKS}. */
export const Bank = { Sh: 0, Context: 1, Uconfig: 2, Config: 3 } as const;
/** One of the values of {@linkcode Bank}. */
export type Bank = typeof Bank[keyof typeof Bank];

const SH_ROWS = [...SHADER_REGISTERS, ...COMPUTE_REGISTERS] as const;
/** The register tables, by {@linkcode Bank}. */
const ROWS: readonly (readonly RegisterRow[])[] = [SH_ROWS, CONTEXT_REGISTERS, UCONFIG_REGISTERS, []];

type RowName =
  | (typeof SH_ROWS)[number][1]
  | (typeof CONTEXT_REGISTERS)[number][1]
  | (typeof UCONFIG_REGISTERS)[number][1];
type First<Name extends string> = Name extends `${infer A}#${infer B}` ? `${A}0${B}` : Name;
type Any<Name extends string> = Name extends `${infer A}#${infer B}` ? `${A}${number}${B}` : Name;

/** Name of a register of the tables; arrays carry their index: `COMPUTE_USER_DATA_3`, `CB_COLOR1_BASE`. */
export type RegisterName = Any<RowName>;

/** A bit field of a register. */
export interface RegisterField {
  readonly name: string;
  /** Lowest bit. */
  readonly shift: number;
  /** Number of bits. */
  readonly width: number;
}

/** A register, as the tables describe it. */
export interface RegisterInfo {
  readonly name: string;
  readonly bank: Bank;
  /** Words from the start of the bank. */
  readonly offset: number;
  /** Value after CLEAR_STATE. */
  readonly reset: number;
  /** Its bit fields; empty when it is one number. */
  readonly fields: readonly RegisterField[];
  /** Why it may not be written: the write starts an action that is not executed. */
  readonly action?: string;
}

/** An element of a row; fields are parsed when somebody asks for them. */
class TableRegister implements RegisterInfo {
  #fields: RegisterField[] | undefined;

  constructor(
    readonly name: string,
    readonly bank: Bank,
    readonly offset: number,
    readonly reset: number,
    readonly fieldText: string,
    readonly action: string | undefined,
  ) {}

  get fields(): readonly RegisterField[] {
    return this.#fields ??= this.fieldText.split(" ").filter((part) => part !== "").map((part) => {
      const [name, bits] = part.split(":");
      const [low, high] = bits.split("-").map(Number);
      return { name, shift: low, width: high - low + 1 };
    });
  }
}

const byName = new Map<string, TableRegister>();
const byOffset: Map<number, TableRegister>[] = BANKS.map(() => new Map());

for (const [bank, rows] of ROWS.entries()) {
  for (const [offset, name, fields = "", more = {}] of rows) {
    for (let i = 0; i < (more.count ?? 1); i++) {
      const at = offset + i * (more.stride ?? 1);
      const register = new TableRegister(
        name.replace("#", String(i)),
        bank as Bank,
        at,
        more.reset ?? 0,
        fields,
        more.action,
      );
      byName.set(register.name, register);
      byOffset[bank].set(at, register);
    }
  }
}

/**
 * Offsets of the registers in their banks, by name, for code that indexes the banks itself: `state.sh[Reg.COMPUTE_PGM_LO]`. Arrays appear with their
 * first register (`COMPUTE_USER_DATA_0`). Copy what a hot loop needs into constants of its module.
 */
export const Reg: { readonly [Name in First<RowName>]: number } = Object.fromEntries(
  ROWS.flat().map(([offset, name]) => [name.replace("#", "0"), offset]),
) as { [Name in First<RowName>]: number };

/** The register at an offset of a bank, or undefined when the tables have none there. */
export function registerAt(bank: Bank, offset: number): RegisterInfo | undefined {
  return byOffset[bank].get(offset);
}

/** The register with this name, or undefined. */
export function registerNamed(name: string): RegisterInfo | undefined {
  return byName.get(name);
}

/** Name of the register at an offset of a bank; registers that the tables lack get the bank's name and the offset, as in `SH+0x3f0`. */
export function registerName(bank: Bank, offset: number): string {
  return byOffset[bank].get(offset)?.name ?? `${BANKS[bank].name}+${hex(offset)}`;
}

/** All registers of the tables, by bank and rising row. */
export function allRegisters(): readonly RegisterInfo[] {
  return [...byName.values()];
}

const contextDefaults = new Uint32Array(BANKS[Bank.Context].words);
for (const register of byOffset[Bank.Context].values()) contextDefaults[register.offset] = register.reset;

const USER_DATA_FIRST = Reg.COMPUTE_USER_DATA_0;
const COMPUTE_FIRST = Reg.COMPUTE_DISPATCH_INITIATOR;
const COMPUTE_LAST = Reg.COMPUTE_NOWHERE;

/** What one queue has set: a bank is a typed array that is indexed by the register's offset. */
export class RegisterState {
  /** SH bank: shader programs and user data. Write through {@linkcode writeSh}, so that {@linkcode computeGeneration} stays true. */
  readonly sh: Uint32Array<ArrayBuffer> = new Uint32Array(BANKS[Bank.Sh].words);
  /** COMPUTE_USER_DATA_0 to 15: a view of {@linkcode sh}, made once, because dispatches ask for it each time. */
  readonly computeUserData: Uint32Array<ArrayBuffer> = this.sh.subarray(USER_DATA_FIRST, USER_DATA_FIRST + 16);
  /** CONTEXT bank: draw state. */
  readonly context: Uint32Array<ArrayBuffer> = new Uint32Array(BANKS[Bank.Context].words);
  /** UCONFIG bank. */
  readonly uconfig: Uint32Array<ArrayBuffer> = new Uint32Array(BANKS[Bank.Uconfig].words);
  /**
   * Rises whenever a compute register other than COMPUTE_USER_DATA is written: as long as it stays, {@linkcode computeProgram} gives the same program
   * and only user data can differ.
   */
  computeGeneration = 0;

  constructor() {
    this.clearContext();
  }

  /** Everything as a new queue has it: CONTEXT at its defaults, the rest zero. */
  reset(): void {
    this.sh.fill(0);
    this.uconfig.fill(0);
    this.clearContext();
    this.computeGeneration++;
  }

  /** CONTEXT at its defaults: what CLEAR_STATE does. */
  clearContext(): void {
    this.context.set(contextDefaults);
  }

  /** An independent copy. */
  clone(): RegisterState {
    const copy = new RegisterState();
    copy.sh.set(this.sh);
    copy.context.set(this.context);
    copy.uconfig.set(this.uconfig);
    copy.computeGeneration = this.computeGeneration;
    return copy;
  }

  /** Writes `count` SH registers from `offset` on with `words[from]`... The range must lie in the bank. */
  writeSh(offset: number, words: Uint32Array, from: number, count: number): void {
    const sh = this.sh;
    for (let i = 0; i < count; i++) sh[offset + i] = words[from + i];
    // The last user data register is not the last compute register, so both ends need a look.
    const last = offset + count - 1;
    if (last < COMPUTE_FIRST || offset > COMPUTE_LAST) return;
    if (offset < USER_DATA_FIRST || last >= USER_DATA_FIRST + 16) this.computeGeneration++;
  }

  /** The bank as an array; CONFIG has none. */
  bank(bank: Bank): Uint32Array<ArrayBuffer> {
    switch (bank) {
      case Bank.Sh:
        return this.sh;
      case Bank.Context:
        return this.context;
      case Bank.Uconfig:
        return this.uconfig;
      default:
        throw new RefusedError(
          "pm4.config-register",
          "CONFIG registers cannot be written by command streams, so they have no state",
        );
    }
  }

  /** Value of a register by name. Slow: for tests, messages and tools. */
  get(name: RegisterName): number {
    const { bank, offset } = require(name);
    return this.bank(bank)[offset];
  }

  /** Sets a register by name. Slow: for tests and tools. */
  set(name: RegisterName, value: number): void {
    const { bank, offset } = require(name);
    if (bank === Bank.Sh) this.writeSh(offset, Uint32Array.of(value), 0, 1);
    else this.bank(bank)[offset] = value;
  }

  /** Value of a bit field by name. Slow: for tests, messages and tools. */
  field(name: RegisterName, field: string): number {
    return fieldValue(this.get(name), requireField(require(name), field));
  }
}

/** The value of a bit field in a register's value. */
export function fieldValue(value: number, field: RegisterField): number {
  return field.width === 32 ? value >>> 0 : (value >>> field.shift) & (2 ** field.width - 1);
}

function require(name: string): RegisterInfo {
  const register = byName.get(name);
  if (register === undefined) throw new RefusedError("pm4.register-name", `no register is named ${name}`);
  return register;
}

function requireField(register: RegisterInfo, field: string): RegisterField {
  const found = register.fields.find((each) => each.name === field);
  if (found === undefined) {
    throw new RefusedError("pm4.register-name", `register ${register.name} has no field ${field}`);
  }
  return found;
}
