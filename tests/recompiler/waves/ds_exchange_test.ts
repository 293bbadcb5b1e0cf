/** ds_swizzle, ds_permute, ds_bpermute. */
import { type Check, every, masks, testChecks, WAVES } from "./check.ts";
import type { ModelWave } from "./model.ts";

/** The lane that each lane of 32 reads under an offset of ds_swizzle_b32 (RDNA3.5 ISA, DS_SWIZZLE_B32). */
function swizzled(offset: number): number[] {
  return Array.from({ length: 32 }, (_, i) => {
    const mask = offset & 31;
    if (offset >= 0xe000) {
      const reversed = parseInt([...i.toString(2).padStart(5, "0")].reverse().join(""), 2);
      const ones = mask.toString(2).replaceAll("0", "").length;
      return (reversed >> ones) | (i & mask);
    }
    if (offset >= 0xc000) {
      const rotate = (offset >> 5 & 31) * (offset & 0x400 ? -1 : 1);
      return (i & mask) | ((i + rotate) & ~mask & 31);
    }
    if (offset & 0x8000) return i - i % 4 + (offset >> 2 * (i % 4) & 3);
    return ((i & mask) | (offset >> 5 & 31)) ^ (offset >> 10 & 31);
  });
}

const OFFSETS = [
  0x001f, // nothing
  0x041f, // neighbours
  0x401f, // halves of 32
  0x7c1f, // reversed
  0x0260, // lane 19 to all
  0x1598, // and, or, xor
  0x8000,
  0x80b1,
  0x801b,
  0x80e4,
  0xc020, // rotate left by 1
  0xc420, // rotate right by 1
  0xc021,
  0xc421,
  0xc3e5,
  0xc5aa,
  0xe000,
  0xe010,
  0xe01f,
  0xe00b,
];

const swizzles = WAVES.flatMap((waveSize) =>
  OFFSETS.flatMap((offset) =>
    masks(waveSize).map((exec): Check => ({
      name: `ds_swizzle_b32 offset 0x${offset.toString(16)}`,
      waveSize,
      exec,
      laneMode: "spanned",
      lines: [`ds_swizzle_b32 v3, v1 offset:${offset}`, "s_waitcnt lgkmcnt(0)"],
      model: (w) => {
        const from = swizzled(offset);
        w.write(3, (lane) => {
          const source = (lane & 32) + from[lane % 32];
          return w.active(source) ? w.v[1][source] : 0;
        });
      },
    }))
  )
);
testChecks("ds_swizzle_b32", swizzles, every(swizzles, 9, 4));

/** A lane's index from its address, within 32. */
const named = (w: ModelWave, lane: number, offset: number) => (w.v[2][lane] + offset) % 0x1_0000_0000 >> 2 & 31;

const permutes = WAVES.flatMap((waveSize) =>
  [0, 4, 0xfffc, 3].flatMap((offset) =>
    masks(waveSize).flatMap((exec): Check[] => [
      {
        name: `ds_bpermute_b32 offset ${offset}`,
        waveSize,
        exec,
        lines: [`ds_bpermute_b32 v3, v2, v1 offset:${offset}`, "s_waitcnt lgkmcnt(0)"],
        model: (w) =>
          w.write(3, (lane) => {
            const source = (lane & 32) + named(w, lane, offset);
            return w.active(source) ? w.v[1][source] : 0;
          }),
      },
      {
        name: `ds_permute_b32 offset ${offset}`,
        waveSize,
        exec,
        lines: [`ds_permute_b32 v3, v2, v1 offset:${offset}`, "s_waitcnt lgkmcnt(0)"],
        model: (w) => {
          const arrived = new Uint32Array(64);
          for (let lane = 0; lane < w.size; lane++) {
            if (w.active(lane)) arrived[(lane & 32) + named(w, lane, offset)] = w.v[1][lane];
          }
          w.write(3, (lane) => arrived[lane]);
        },
      },
    ])
  )
);
testChecks("ds_permute_b32 and ds_bpermute_b32", permutes, every(permutes, 7, 3));

const several = WAVES.map((waveSize): Check => ({
  name: "permutes of two waves in two workgroups",
  waveSize,
  threads: waveSize * 2,
  groups: 2,
  exec: masks(waveSize)[1],
  lines: [
    "ds_permute_b32 v3, v2, v1",
    "ds_bpermute_b32 v4, v2, v1",
    "s_waitcnt lgkmcnt(0)",
    "ds_swizzle_b32 v5, v4 offset:0x401f",
    "s_waitcnt lgkmcnt(0)",
  ],
  model: (w) => {
    const arrived = new Uint32Array(64);
    for (let lane = 0; lane < w.size; lane++) {
      if (w.active(lane)) arrived[(lane & 32) + named(w, lane, 0)] = w.v[1][lane];
    }
    w.write(3, (lane) => arrived[lane]);
    w.write(4, (lane) => {
      const source = (lane & 32) + named(w, lane, 0);
      return w.active(source) ? w.v[1][source] : 0;
    });
    const pulled = w.v[4].slice();
    w.write(5, (lane) => w.active(lane ^ 16) ? pulled[lane ^ 16] : 0);
  },
}));
testChecks("Permutes of several waves", several);
