/** Guest memory: global and flat instructions, scalar stores and atomics of gfx10.1. */
import { assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { type Check, every, masks, test, testChecks, WAVES } from "./check.ts";
import { INPUTS, liftedOf, randomInput } from "./frame.ts";
import type { ModelWave } from "./model.ts";

const laneMode = "laneless" as const;

/** Memory of the lane: its input words 4..7 at v42 + 16 are what is accessed. The model keeps them in v4..v7 and in `memory`. */
function memoryOf(w: ModelWave): Uint32Array[] {
  return [4, 5, 6, 7].map((k) => w.v[k].slice());
}

/** Loads the lane's memory into v4..v7 again. */
const READ_BACK = ["s_waitcnt vmcnt(0)", "global_load_dwordx4 v[4:7], v42, s[0:1] offset:16", "s_waitcnt vmcnt(0)"];

const view = new DataView(new ArrayBuffer(8));
const float = (bits: bigint, size: number) =>
  size === 32
    ? (view.setUint32(0, Number(bits)), view.getFloat32(0))
    : (view.setBigUint64(0, bits), view.getFloat64(0));
const signed = (value: bigint, bits: number) => BigInt.asIntN(bits, value);

/** Memory instructions, section 12.15: data and, for compare-swap, the compare value behind it. */
const UPDATES: Readonly<Record<string, (old: bigint, data: bigint, compare: bigint, bits: number) => bigint>> = {
  swap: (_, data) => data,
  cmpswap: (old, data, compare) => old === compare ? data : old,
  add: (old, data) => old + data,
  sub: (old, data) => old - data,
  smin: (old, data, _, bits) => signed(data, bits) < signed(old, bits) ? data : old,
  umin: (old, data) => data < old ? data : old,
  smax: (old, data, _, bits) => signed(data, bits) > signed(old, bits) ? data : old,
  umax: (old, data) => data > old ? data : old,
  and: (old, data) => old & data,
  or: (old, data) => old | data,
  xor: (old, data) => old ^ data,
  inc: (old, data) => old >= data ? 0n : old + 1n,
  dec: (old, data) => old === 0n || old > data ? data : old - 1n,
  csub: (old, data) => old < data ? 0n : old - data,
  fcmpswap: (old, data, compare, bits) => float(old, bits) === float(compare, bits) ? data : old,
  fmin: (old, data, _, bits) => float(data, bits) < float(old, bits) ? data : old,
  fmax: (old, data, _, bits) => float(data, bits) > float(old, bits) ? data : old,
};

function joined(words: readonly number[]): bigint {
  return words.reduce((sum, word, k) => sum | BigInt(word) << BigInt(32 * k), 0n);
}

const atomics: Check[] = WAVES.flatMap((waveSize) =>
  Object.entries(UPDATES).flatMap(([name, update]) =>
    (name === "csub" ? [32] : [32, 64]).flatMap((bits) =>
      ["global", "flat"].filter((segment) => segment === "global" || name !== "csub").flatMap((segment) =>
        [true, false].filter((returns) => returns || name !== "csub").map((returns): Check => {
          const dwords = bits / 32;
          const range = (from: number, count: number) => count === 1 ? `v${from}` : `v[${from}:${from + count - 1}]`;
          const data = range(0, dwords * (name.endsWith("cmpswap") ? 2 : 1));
          const address = segment === "global" ? `v42, ${data}, s[0:1] offset:24` : `v[46:47], ${data}`;
          const suffix = bits === 64 ? "_x2" : "";
          const line = returns
            ? `${segment}_atomic_${name}${suffix} ${range(4, dwords)}, ${address} glc`
            : `${segment}_atomic_${name}${suffix} ${address}`;
          const c = {
            waveSize,
            exec: masks(waveSize)[1],
            lines: [
              ...(segment === "flat"
                ? [
                  "v_add_co_u32 v46, s[24:25], s0, v42".replace("s[24:25]", waveSize === 32 ? "s24" : "s[24:25]"),
                  `v_mov_b32_e32 v47, s1`,
                  "v_add_nc_u32_e32 v46, 24, v46",
                ]
                : []),
              line,
              "s_waitcnt vmcnt(0)",
              // What memory holds now, beside the old value.
              "global_load_dwordx2 v[6:7], v42, s[0:1] offset:24",
              "s_waitcnt vmcnt(0)",
            ],
          };
          const input = randomInput(c, name.length + bits);
          for (let k = 0; k < input.length; k++) {
            const place = k % INPUTS, high = bits === 64 && (place & 1) === 1;
            if (name.startsWith("f")) {
              const floats = [0, 0x8000_0000, 1, 0x3f80_0000, 0xbf80_0000, 0x7f80_0000, 0x7fc0_0000, 0x7ff8_0001];
              input[k] = bits === 64 && !high ? 0 : floats[(k * 5 + (k >> 3) * 3) % 8];
            } else if (k % 3 !== 0) input[k] = high ? k % 2 : input[k] & 3;
          }
          return {
            ...c,
            name: line,
            laneMode,
            input,
            model: (w) => {
              const memory = memoryOf(w);
              const words = (from: number, lane: number) =>
                joined(Array.from({ length: dwords }, (_, k) => w.v[from + k][lane]));
              const results = Array.from({ length: w.size }, (_, lane) => {
                const old = joined(Array.from({ length: dwords }, (_, k) => memory[2 + k][lane]));
                const fresh = BigInt.asUintN(bits, update(old, words(0, lane), words(dwords, lane), bits));
                return { old, fresh };
              });
              const part = (value: bigint, k: number) => Number(value >> BigInt(32 * k) & 0xffffffffn);
              for (let k = 0; k < dwords; k++) {
                if (returns) w.write(4 + k, (lane) => part(results[lane].old, k));
                w.write(6 + k, (lane) => part(results[lane].fresh, k));
              }
              // With 32 bits the word behind is as it was.
            },
          };
        })
      )
    )
  )
);
testChecks("Global and flat atomics", atomics, every(atomics, 9, 4));

const sext = (value: number, bits: number) => value << (32 - bits) >> (32 - bits);
const byteAt = (memory: Uint32Array[], lane: number, at: number) => memory[at >> 2][lane] >>> 8 * (at & 3) & 255;

const LOADS: readonly (readonly [name: string, bytes: number, into: (old: number, value: number) => number])[] = [
  ["load_ubyte", 1, (_, value) => value],
  ["load_sbyte", 1, (_, value) => sext(value, 8)],
  ["load_ushort", 2, (_, value) => value],
  ["load_sshort", 2, (_, value) => sext(value, 16)],
  ["load_dword", 4, (_, value) => value],
  ["load_ubyte_d16", 1, (old, value) => old & 0xffff0000 | value],
  ["load_ubyte_d16_hi", 1, (old, value) => old & 0xffff | value << 16],
  ["load_sbyte_d16", 1, (old, value) => old & 0xffff0000 | sext(value, 8) & 0xffff],
  ["load_sbyte_d16_hi", 1, (old, value) => old & 0xffff | sext(value, 8) << 16],
  ["load_short_d16", 2, (old, value) => old & 0xffff0000 | value],
  ["load_short_d16_hi", 2, (old, value) => old & 0xffff | value << 16],
];

const transfers: Check[] = WAVES.flatMap((waveSize) => {
  const exec = masks(waveSize)[1], carry = waveSize === 32 ? "s24" : "s[24:25]";
  const flatAddress = (offset: number) => [
    `v_add_co_u32 v46, ${carry}, s0, v42`,
    "v_mov_b32_e32 v47, s1",
    `v_add_nc_u32_e32 v46, ${16 + offset}, v46`,
  ];
  const loads = ["global", "flat"].flatMap((segment) =>
    LOADS.flatMap(([name, bytes, into]) =>
      [0, 2, 8].map((offset): Check => ({
        name: `${segment}_${name}`,
        waveSize,
        exec,
        laneMode,
        lines: [
          ...(segment === "flat" ? flatAddress(offset & -bytes) : []),
          segment === "flat"
            ? `flat_${name} v3, v[46:47]`
            : `global_${name} v3, v42, s[0:1] offset:${16 + (offset & -bytes)}`,
          "s_waitcnt vmcnt(0) lgkmcnt(0)",
        ],
        model: (w) => {
          const memory = memoryOf(w), at = offset & -bytes, old = w.v[3].slice();
          w.write(3, (lane) => {
            let value = 0;
            for (let k = bytes - 1; k >= 0; k--) value = value * 256 + byteAt(memory, lane, at + k);
            return into(old[lane], value);
          });
        },
      }))
    )
  );
  const stores = ([
    ["store_byte", 1, (value: number) => value],
    ["store_short", 2, (value: number) => value],
    ["store_byte_d16_hi", 1, (value: number) => value >>> 16],
    ["store_short_d16_hi", 2, (value: number) => value >>> 16],
    ["store_dword", 4, (value: number) => value],
  ] as const).flatMap(([name, bytes, part]) =>
    ["global", "flat"].map((segment): Check => {
      const at = 4 + (bytes < 4 ? 2 : 0);
      return {
        name: `${segment}_${name}`,
        waveSize,
        exec,
        laneMode,
        lines: [
          ...(segment === "flat" ? flatAddress(at) : []),
          segment === "flat" ? `flat_${name} v[46:47], v1` : `global_${name} v42, v1, s[0:1] offset:${16 + at}`,
          ...READ_BACK,
        ],
        model: (w) =>
          w.write(5, (lane) => {
            const mask = bytes === 4 ? 0xffffffff : ((1 << 8 * bytes) - 1) << 8 * (at & 3);
            return w.v[5][lane] & ~mask | part(w.v[1][lane]) << 8 * (at & 3) & mask;
          }),
      };
    })
  );
  const byLane: Check[] = [{
    name: "global_load_dword_addtid and global_store_dword_addtid",
    waveSize,
    exec,
    laneMode,
    lines: [
      "global_load_dword_addtid v3, s[0:1] offset:8",
      "s_waitcnt vmcnt(0)",
      "global_store_dword_addtid v1, s[0:1] offset:512",
      "global_load_dword_addtid v6, s[0:1] offset:512",
      "s_waitcnt vmcnt(0)",
    ],
    model: (w) => {
      const words = (k: number) => w.v[k % INPUTS][Math.floor(k / INPUTS)];
      const loaded = Array.from({ length: w.size }, (_, lane) => words(2 + lane));
      w.write(3, (lane) => loaded[lane]);
      w.write(6, (lane) => w.v[1][lane]);
    },
  }];
  return [...loads, ...stores, ...byLane];
});
testChecks("Global and flat loads and stores", transfers, every(transfers, 11, 2));

test("the offset of a FLAT instruction, which gfx10.1 ignores, is refused by name", () => {
  const flat = { waveSize: 32, target: "gfx1013", lines: [".long dc300010, 03000002"] } as const;
  assertThrows(() => liftedOf(flat), RefusedError, "flat_load_dword: the offset of a FLAT instruction");
});

/** Scalar writes to the memory of lane 0, in waves of which no lane is active, too. */
const scalarWrites: Check[] = WAVES.flatMap((waveSize) =>
  [masks(waveSize)[0], masks(waveSize)[1], 0n].flatMap((exec): Check[] => {
    const all = waveSize === 32 ? "s_mov_b32 exec_lo, s30" : "s_mov_b64 exec, s[30:31]";
    const shape = { waveSize, exec, target: "gfx1013" as const };
    // Lane 0 sees its words again.
    const look = ["s_dcache_wb", "s_waitcnt lgkmcnt(0)", all, ...READ_BACK];
    const first = (w: ModelWave) => w.exec = (1n << BigInt(w.size)) - 1n;
    return [
      {
        ...shape,
        name: "s_store_dword, s_store_dwordx2",
        argument: 0x1234_5678,
        laneMode,
        lines: ["s_store_dword s6, s[0:1], 0x10", "s_store_dwordx2 s[6:7], s[0:1], 0x18", ...look],
        model: (w) => {
          first(w);
          w.v[4][0] = w.argument;
          w.v[6][0] = w.argument;
          w.v[7][0] = w.size;
        },
      },
      {
        ...shape,
        name: "s_buffer_store_dwordx4 of which a part is in range",
        argument: 0x1234_5678,
        laneMode,
        lines: [
          "s_mov_b32 s12, s0",
          "s_mov_b32 s13, s1",
          "s_mov_b32 s14, 28",
          "s_mov_b32 s15, 0x31016fac",
          "s_buffer_store_dwordx4 s[4:7], s[12:15], 0x10",
          ...look,
        ],
        model: (w) => {
          w.v[4][0] = Number(exec & 0xffffffffn);
          w.v[5][0] = Number(exec >> 32n);
          w.v[6][0] = w.argument;
          first(w);
        },
      },
      {
        ...shape,
        name: "s_atomic_add and s_atomic_cmpswap_x2 without result",
        argument: 9,
        laneMode,
        lines: [
          "s_atomic_add s6, s[0:1], 0x14",
          "s_mov_b32 s12, 1",
          "s_mov_b32 s13, 2",
          "s_load_dwordx2 s[14:15], s[0:1], 0x18",
          "s_waitcnt lgkmcnt(0)",
          "s_atomic_cmpswap_x2 s[12:15], s[0:1], 0x18",
          ...look,
        ],
        model: (w) => {
          first(w);
          w.v[5][0] += 9;
          w.v[6][0] = 1;
          w.v[7][0] = 2;
        },
      },
      {
        ...shape,
        name: "scalar atomics with results",
        argument: 0xff,
        lines: [
          "s_mov_b32 s20, s6",
          "s_atomic_and s20, s[0:1], 0x10 glc",
          "s_mov_b32 s22, s6",
          "s_atomic_umax s22, s[0:1], 0x14 glc",
          "s_waitcnt lgkmcnt(0)",
          ...look,
        ],
        model: (w) => {
          first(w);
          w.s[20] = w.v[4][0];
          w.s[22] = w.v[5][0];
          w.v[4][0] &= 0xff;
          w.v[5][0] = Math.max(w.v[5][0], 0xff);
        },
      },
    ];
  })
);
testChecks("Scalar writes", scalarWrites, every(scalarWrites, 3, 1));

const waveNumbers: Check[] = WAVES.map((waveSize): Check => ({
  name: "s_get_waveid_in_workgroup",
  waveSize,
  threads: waveSize * 3,
  groups: 2,
  target: "gfx1013",
  laneMode,
  lines: ["s_get_waveid_in_workgroup s20", "s_waitcnt lgkmcnt(0)"],
  model: (w) => void (w.s[20] = w.first / w.size % 3),
}));
testChecks("Wave numbers", waveNumbers);
