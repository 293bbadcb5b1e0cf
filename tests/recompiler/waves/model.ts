/**
 * What the instructions of a case should do, written by hand from the ISA document: a wave as plain arrays. Shares nothing with the recompiler or the
 * interpreter.
 */
import { INPUTS, lanesOf, OUTPUTS, type WaveCase } from "./frame.ts";

/** One wave between the instructions' beginning and end. */
export class ModelWave {
  /** v[register][lane], unsigned; also lanes that the workgroup does not have. */
  readonly v: Uint32Array[];
  readonly s = new Uint32Array(32);
  scc = 0;
  exec: bigint;

  /** @param first number of the wave's first lane among all lanes of all workgroups */
  constructor(
    readonly size: 32 | 64,
    /** Lanes that exist. */
    readonly lanes: number,
    readonly first: number,
    /** LDS words of the workgroup; empty without LDS. */
    readonly lds: Uint32Array,
    exec: bigint,
    readonly argument: number,
  ) {
    this.v = Array.from({ length: INPUTS }, () => new Uint32Array(size));
    this.exec = exec & ((1n << BigInt(lanes)) - 1n);
  }

  /** Whether a lane is active. */
  active(lane: number): boolean {
    return (this.exec >> BigInt(lane) & 1n) === 1n;
  }

  /** The lanes of which `f` holds, as a mask; inactive ones give 0. */
  ballot(f: (lane: number) => boolean): bigint {
    let bits = 0n;
    for (let lane = 0; lane < this.size; lane++) if (this.active(lane) && f(lane)) bits |= 1n << BigInt(lane);
    return bits;
  }

  /** Writes a mask to a pair of scalar registers (waves of 32: to the first). */
  setMask(register: number, bits: bigint): void {
    this.s[register] = Number(bits & 0xffffffffn);
    if (this.size === 64) this.s[register + 1] = Number(bits >> 32n);
  }

  /** Gives a register new values in the active lanes; `f` sees the registers as they were. */
  write(register: number, f: (lane: number) => number): void {
    const fresh = Array.from({ length: this.size }, (_, lane) => f(lane) >>> 0);
    fresh.forEach((value, lane) => {
      if (this.active(lane)) this.v[register][lane] = value;
    });
  }
}

/** The output of a case when every wave does `body`, wave by wave. */
export function expectedOutput(c: WaveCase, input: Uint32Array, body: (w: ModelWave) => void): Uint32Array {
  const output = new Uint32Array(lanesOf(c) * OUTPUTS);
  const threads = c.threads ?? c.waveSize;
  for (let group = 0; group < (c.groups ?? 1); group++) {
    const lds = new Uint32Array(c.lds ? threads * 4 : 0);
    const start = group * threads;
    for (let k = 0; k < lds.length; k++) lds[k] = input[(start + (k >> 2)) * INPUTS + 4 + (k & 3)];
    const waves: ModelWave[] = [];
    for (let at = 0; at < threads; at += c.waveSize) {
      const lanes = Math.min(c.waveSize, threads - at);
      const exec = c.exec ?? (1n << BigInt(c.waveSize)) - 1n;
      const w = new ModelWave(c.waveSize, lanes, start + at, lds, exec, c.argument ?? 0);
      w.s[20] = w.s[21] = w.s[22] = 0;
      for (let lane = 0; lane < lanes; lane++) {
        for (let k = 0; k < INPUTS; k++) w.v[k][lane] = input[(start + at + lane) * INPUTS + k];
      }
      body(w);
      waves.push(w);
    }
    for (const w of waves) {
      for (let lane = 0; lane < w.lanes; lane++) {
        const at = (w.first + lane) * OUTPUTS;
        for (let k = 0; k < INPUTS; k++) output[at + k] = w.v[k][lane];
        output.set([w.s[20], w.s[21], w.s[22], w.scc], at + 8);
        const place = (w.first + lane - start) * 4;
        if (c.lds) output.set(lds.subarray(place, place + 4), at + 12);
      }
    }
  }
  return output;
}
