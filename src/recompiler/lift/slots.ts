/**
 * The register state of the lift as one vector of slots. Numbers of scalar registers keep the ISA's own operand numbers (see rdna/instruction.ts),
 * so that an operand is its own slot; vector register n is slot 256 + n.
 */
export const Slot = {
  /** SCC, a Bool. */
  Scc: 128,
  /** FLAT_SCRATCH, the address of scratch memory: low and high word. */
  FlatScratch: 129,
  /** First vector register. */
  Vgpr0: 256,
  /** Shadow (a Bool: this lane's bit) of scalar register 0; 0 = none. */
  Shadow0: 512,
  /** Graphics stages: four components of each of 48 export targets (lift/stages/exports.ts). */
  Export0: 640,
  /** Whether the lane has exported to each of them, a Bool. */
  Exported0: 832,
  /** Which pixels count, and whether the last export has been done; Bools. */
  Valid: 880,
  Done: 881,
  /** First structurizer guard, a Bool. */
  Guard0: 896,
} as const;

/** Number of scalar registers that programs name freely; VCC and others follow. */
export const SGPR_COUNT = 106;

/** Whether a slot's value is a Bool. */
export function isBoolSlot(slot: number): boolean {
  return slot === Slot.Scc || (slot >= Slot.Shadow0 && (slot < Slot.Export0 || slot >= Slot.Exported0));
}

/** Whether a slot is a shadow. */
export function isShadowSlot(slot: number): boolean {
  return slot >= Slot.Shadow0 && slot < Slot.Export0;
}

/** Slots that changed, with the values they had at the end of an arm; ascending. */
export interface SlotChanges {
  readonly slots: number[];
  readonly values: number[];
}

/**
 * The slots with a log of changes, so that entering and leaving an arm costs what the arm changes and not the number of registers.
 */
export class SlotState {
  readonly values: Int32Array;
  /** Slot and old value of each change, in turns; the first `logged` numbers count. */
  private log = new Int32Array(1024);
  private logged = 0;
  private readonly seen: Uint32Array;
  private stamp = 0;
  /** Slots that may change in the innermost loop (1 each); null outside loops. */
  allowed: Uint8Array | null = null;

  /** @param guards number of structurizer guards */
  constructor(guards: number) {
    this.values = new Int32Array(Slot.Guard0 + guards);
    this.seen = new Uint32Array(this.values.length);
  }

  /** Gives a slot a value. @throws Error if the loop's prescan did not see that the slot changes (a bug). */
  set(slot: number, value: number): void {
    const old = this.values[slot];
    if (old === value) return;
    if (this.allowed !== null && this.allowed[slot] === 0) {
      throw new Error(`the lift changes register slot ${slot} in a loop whose prescan missed it`);
    }
    if (this.logged === this.log.length) {
      const wider = new Int32Array(this.log.length * 2);
      wider.set(this.log);
      this.log = wider;
    }
    this.log[this.logged++] = slot;
    this.log[this.logged++] = old;
    this.values[slot] = value;
  }

  /** A position in the log, for {@linkcode collect}. */
  mark(): number {
    return this.logged;
  }

  /** Undoes everything since `mark` and returns what had changed. */
  collect(mark: number): SlotChanges {
    const { values, log, seen } = this;
    const stamp = ++this.stamp;
    const changed: number[] = [];
    const ends = new Map<number, number>();
    for (let i = this.logged - 2; i >= mark; i -= 2) {
      const slot = log[i];
      if (seen[slot] !== stamp) {
        seen[slot] = stamp;
        changed.push(slot);
        ends.set(slot, values[slot]);
      }
      values[slot] = log[i + 1];
    }
    this.logged = mark;
    const slots = changed.filter((slot) => ends.get(slot) !== values[slot]).sort((a, b) => a - b);
    return { slots, values: slots.map((slot) => ends.get(slot)!) };
  }
}
