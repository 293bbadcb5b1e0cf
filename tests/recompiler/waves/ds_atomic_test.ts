/** LDS atomics of 32 and 64 bits, with and without the old value. */
import { assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { type Check, every, masks, test, testChecks, WAVES } from "./check.ts";
import { liftedOf, randomInput } from "./frame.ts";
import type { ModelWave } from "./model.ts";

/** New memory of an operation on `bits` bits (RDNA3.5 ISA, section 16.15). */
type Update = (old: bigint, data: bigint, data2: bigint, bits: number) => bigint;

const view = new DataView(new ArrayBuffer(8));

function float(bits: bigint, size: number): number {
  if (size === 32) return view.setUint32(0, Number(bits)), view.getFloat32(0);
  return view.setBigUint64(0, bits), view.getFloat64(0);
}

const signed = (value: bigint, bits: number) => BigInt.asIntN(bits, value);

const UPDATES: Readonly<Record<string, Update>> = {
  add_u: (old, data) => old + data,
  sub_u: (old, data) => old - data,
  rsub_u: (old, data) => data - old,
  inc_u: (old, data) => old >= data ? 0n : old + 1n,
  dec_u: (old, data) => old === 0n || old > data ? data : old - 1n,
  min_i: (old, data, _, bits) => signed(data, bits) < signed(old, bits) ? data : old,
  max_i: (old, data, _, bits) => signed(data, bits) >= signed(old, bits) ? data : old,
  min_u: (old, data) => data < old ? data : old,
  max_u: (old, data) => data >= old ? data : old,
  and_b: (old, data) => old & data,
  or_b: (old, data) => old | data,
  xor_b: (old, data) => old ^ data,
  mskor_b: (old, data, data2) => old & ~data | data2,
  cmpst_b: (old, data, data2) => old === data ? data2 : old,
  cmpst_f: (old, data, data2, bits) => float(old, bits) === float(data, bits) ? data2 : old,
  min_f: (old, data, _, bits) => float(data, bits) < float(old, bits) ? data : old,
  max_f: (old, data, _, bits) => float(data, bits) > float(old, bits) ? data : old,
  wrxchg_b: (_, data) => data,
  wrap_b: (old, data, data2) => old >= data ? old - data : old + data2,
};
const TWO_OPERANDS = /mskor|cmpst|wrap/;
const ONLY_RETURNING = /wrxchg|wrap/;

/** Float words at the edges: zeros of both signs, denormals, NaN, infinities. */
const FLOATS = [
  0,
  0x8000_0000,
  1,
  0x8000_0001,
  0x3f80_0000,
  0xbf80_0000,
  0x7f80_0000,
  0xff80_0000,
  0x7fc0_0000,
  0x42f6_e979,
];

interface Wide {
  read(at: number): bigint;
  write(at: number, value: bigint): void;
}

/** LDS as numbers of 32 or 64 bits at byte addresses. */
function numbers(w: ModelWave, bits: number): Wide {
  const data = new DataView(w.lds.buffer);
  return bits === 32
    ? { read: (at) => BigInt(data.getUint32(at, true)), write: (at, v) => data.setUint32(at, Number(v), true) }
    : { read: (at) => data.getBigUint64(at, true), write: (at, v) => data.setBigUint64(at, v, true) };
}

function registerValue(w: ModelWave, register: number, lane: number, bits: number): bigint {
  const low = BigInt(w.v[register][lane]);
  return bits === 32 ? low : low | BigInt(w.v[register + 1][lane]) << 32n;
}

/** Lanes in order; each updates `at(lane)`. The old values go to v0 (and v1) where asked for. */
function model(update: Update, bits: number, returns: boolean, at: (w: ModelWave, lane: number) => number) {
  return (w: ModelWave) => {
    const memory = numbers(w, bits);
    const old: bigint[] = [];
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.active(lane)) continue;
      old[lane] = memory.read(at(w, lane));
      const fresh = update(old[lane], registerValue(w, 2, lane, bits), registerValue(w, 4, lane, bits), bits);
      memory.write(at(w, lane), BigInt.asUintN(bits, fresh));
    }
    if (!returns) return;
    w.write(0, (lane) => Number((old[lane] ?? 0n) & 0xffffffffn));
    if (bits === 64) w.write(1, (lane) => Number((old[lane] ?? 0n) >> 32n));
  };
}

const ownPlace = (w: ModelWave, lane: number) => (w.first % (w.lds.length / 4) + lane) * 16 + 8;

function line(name: string, bits: number, returns: boolean, address: string): string {
  const [operation, type] = name.split("_");
  const pair = (register: number) => bits === 32 ? `v${register}` : `v[${register}:${register + 1}]`;
  const operands = [pair(2), ...(TWO_OPERANDS.test(name) ? [pair(4)] : [])].join(", ");
  return returns
    ? `ds_${operation}_rtn_${type}${bits} ${pair(0)}, ${address}, ${operands} offset:8`
    : `ds_${operation}_${type}${bits} ${address}, ${operands} offset:8`;
}

function checksOf(bits: 32 | 64): Check[] {
  return WAVES.flatMap((waveSize) =>
    Object.entries(UPDATES).filter(([name]) => bits === 32 || !/wrap/.test(name)).flatMap(([name, update]) =>
      [false, true].filter((returns) => returns || !ONLY_RETURNING.test(name)).flatMap((returns) =>
        masks(waveSize).slice(0, 2).map((exec): Check => {
          const c = { waveSize, exec, lds: true, lines: [line(name, bits, returns, "v44"), "s_waitcnt lgkmcnt(0)"] };
          const input = randomInput(c, name.length + waveSize);
          // Small numbers meet each other; floats their edges.
          for (let k = 0; k < input.length; k++) {
            const isFloat = name.endsWith("_f");
            const high = bits === 64 && k % 2 === 1;
            if (isFloat) {
              input[k] = high ? doubleHigh(FLOATS[(k * 7 >> 3) % 10]) : bits === 64 ? k % 3 : FLOATS[(k * 7 >> 2) % 10];
            } else if (k % 3 !== 0) input[k] = high ? k % 2 : input[k] & 3;
          }
          return {
            ...c,
            name: `${name}${bits}${returns ? " with return" : ""}`,
            input,
            laneMode: "laneless",
            model: model(update, bits, returns, ownPlace),
          };
        })
      )
    )
  );
}

/** High word of the f64 of the kind that an f32 is. */
function doubleHigh(bits: number): number {
  const exponent = bits >>> 23 & 255;
  return (bits & 0x8000_0000 | (exponent === 255 ? 0x7ff0_0000 : exponent === 0 ? 0 : 0x3ff0_0000) |
    (bits >>> 3 & 0xf_ffff)) >>> 0;
}

const narrow = checksOf(32);
testChecks("LDS atomics of 32 bits, a place a lane", narrow, every(narrow, 3, 1));
const wide = checksOf(64);
testChecks("LDS atomics of 64 bits, a place a lane", wide, every(wide, 3, 1));

/** Operations whose result does not depend on the order of lanes, all on one place, from several waves. */
const shared: Check[] = WAVES.flatMap((waveSize) =>
  ([32, 64] as const).flatMap((bits) =>
    ["add_u", "sub_u", "min_i", "max_i", "min_u", "max_u", "and_b", "or_b", "xor_b"].map((name): Check => ({
      name: `${name}${bits} of all lanes on one place`,
      waveSize,
      threads: waveSize * 3,
      groups: 2,
      exec: masks(waveSize)[1],
      lds: true,
      laneMode: "laneless",
      lines: ["v_mov_b32_e32 v45, 16", line(name, bits, false, "v45")],
      model: model(UPDATES[name], bits, false, () => 24),
    }))
  )
);
testChecks("LDS atomics on one place", shared, every(shared, 2));

const others: Check[] = WAVES.flatMap((waveSize) =>
  masks(waveSize).slice(0, 3).flatMap((exec): Check[] => {
    const shape = { waveSize, exec, lds: true, laneMode: "laneless" as const };
    const swap = (bits: number, first: number, second: number) => (w: ModelWave) => {
      const memory = numbers(w, bits);
      const old: bigint[][] = [];
      for (let lane = 0; lane < w.size; lane++) {
        if (!w.active(lane)) continue;
        const at = ownPlace(w, lane) - 8;
        old[lane] = [first, second].map((offset) => memory.read(at + offset * bits / 8));
        [first, second].forEach((offset, k) => {
          memory.write(at + offset * bits / 8, registerValue(w, k === 0 ? 2 : 6, lane, bits));
        });
      }
      const words = (lane: number) =>
        (old[lane] ?? [0n, 0n]).flatMap((v) => bits === 32 ? [v] : [v & 0xffffffffn, v >> 32n]);
      for (let k = 0; k < bits / 16; k++) w.write(k, (lane) => Number(words(lane)[k]));
    };
    return [
      {
        ...shape,
        name: "ds_wrxchg2_rtn_b32",
        lines: ["ds_wrxchg2_rtn_b32 v[0:1], v44, v2, v6 offset0:3 offset1:1", "s_waitcnt lgkmcnt(0)"],
        model: swap(32, 3, 1),
      },
      {
        ...shape,
        name: "ds_wrxchg2_rtn_b32 twice the same place",
        lines: ["ds_wrxchg2_rtn_b32 v[0:1], v44, v2, v6 offset0:2 offset1:2", "s_waitcnt lgkmcnt(0)"],
        model: swap(32, 2, 2),
      },
      {
        ...shape,
        name: "ds_wrxchg2_rtn_b64",
        lines: ["ds_wrxchg2_rtn_b64 v[0:3], v44, v[2:3], v[6:7] offset0:0 offset1:1", "s_waitcnt lgkmcnt(0)"],
        model: swap(64, 0, 1),
      },
      {
        ...shape,
        name: "ds_condxchg32_rtn_b64",
        lines: ["ds_condxchg32_rtn_b64 v[0:1], v44, v[2:3] offset:11", "s_waitcnt lgkmcnt(0)"],
        model: (w) => {
          const memory = numbers(w, 32);
          const old: number[][] = [];
          for (let lane = 0; lane < w.size; lane++) {
            if (!w.active(lane)) continue;
            const at = ownPlace(w, lane);
            old[lane] = [0, 1].map((k) => {
              const before = memory.read(at + 4 * k), data = w.v[2 + k][lane];
              if (data >>> 31) memory.write(at + 4 * k, BigInt(data & 0x7fff_ffff));
              return Number(before);
            });
          }
          w.write(0, (lane) => old[lane]?.[0] ?? 0);
          w.write(1, (lane) => old[lane]?.[1] ?? 0);
        },
      },
    ];
  })
);
testChecks("LDS exchanges of two values", others, every(others, 3));

const sums: Check[] = WAVES.flatMap((waveSize) =>
  [0xf0, 0xc0].map((floatMode): Check => {
    const c = {
      waveSize,
      lds: true,
      floatMode,
      lines: ["ds_add_rtn_f32 v0, v44, v2 offset:8", "s_waitcnt lgkmcnt(0)"],
    };
    const input = randomInput(c, 3);
    const numbers = [
      0x3f80_0000,
      0x0000_0001,
      0x8000_0003,
      0x0080_0000,
      0x8080_0001,
      0xbf80_0001,
      0x4b80_0000,
      0x0070_0000,
    ];
    for (let k = 0; k < input.length; k++) input[k] = numbers[(k * 5 + (k >> 3)) % 8];
    const flush = (bits: number) =>
      floatMode === 0xc0 && (bits & 0x7f80_0000) === 0 ? (bits & 0x8000_0000) >>> 0 : bits;
    return {
      ...c,
      name: `ds_add_rtn_f32 in mode 0x${floatMode.toString(16)}`,
      input,
      laneMode: "laneless",
      model: model(
        (old, data) => {
          const sum = float(BigInt(flush(Number(old))), 32) + float(BigInt(flush(Number(data))), 32);
          view.setFloat32(0, sum);
          return BigInt(flush(view.getUint32(0)));
        },
        32,
        true,
        ownPlace,
      ),
    };
  })
);
testChecks("LDS float additions", sums);

const counters: Check[] = WAVES.flatMap((waveSize) =>
  masks(waveSize).map((exec): Check => ({
    name: "ds_append and ds_consume",
    waveSize,
    exec,
    lds: true,
    lines: ["s_mov_b32 m0, 0", "ds_append v3 offset:8", "ds_consume v4 offset:24", "s_waitcnt lgkmcnt(0)"],
    model: (w) => {
      let count = 0;
      for (let lane = 0; lane < w.size; lane++) if (w.active(lane)) count++;
      const [first, second] = [w.lds[2], w.lds[6]];
      w.lds[2] += count;
      w.lds[6] -= count;
      w.write(3, () => first);
      w.write(4, () => second);
    },
  }))
);
testChecks("LDS counters", counters, every(counters, 2));

test("ds_append with a base that sources read differently is refused by name", () => {
  for (const m0 of ["0x40", "0x400000", "s6"]) {
    const lines = [`s_mov_b32 m0, ${m0}`, "ds_append v3"];
    assertThrows(() => liftedOf({ waveSize: 32, lds: true, lines }), RefusedError, "ds_append: M0");
  }
});
