/** LDS loads and stores of every width, and addresses made of the lane's number. */
import { type Check, every, masks, testChecks, WAVES } from "./check.ts";
import type { ModelWave } from "./model.ts";

/** LDS as bytes, with the range of the allocation. */
class Bytes {
  private readonly view: DataView;
  readonly end: number;

  constructor(w: ModelWave) {
    this.view = new DataView(w.lds.buffer);
    // The allocation is in units of 512 bytes; what lies behind the threads' places holds zeros.
    this.end = Math.ceil(w.lds.byteLength / 512) * 512;
  }

  read(at: number): number {
    return at < this.view.byteLength ? this.view.getUint8(at) : 0;
  }

  /** Little-endian, 0 where any of the bytes is out of range. */
  load(at: number, bytes: number): number {
    if (at + bytes > this.end) return 0;
    let value = 0;
    for (let k = bytes - 1; k >= 0; k--) value = value * 256 + this.read(at + k);
    return value;
  }

  store(at: number, bytes: number, value: number): void {
    if (at + bytes > this.end) return;
    for (let k = 0; k < bytes; k++) {
      if (at + k < this.view.byteLength) this.view.setUint8(at + k, value >>> (8 * k) & 255);
    }
  }
}

const sext = (value: number, bits: number) => value << (32 - bits) >> (32 - bits);
const place = (w: ModelWave, lane: number) => (w.first % (w.lds.length / 4) + lane) * 16;

type Load = readonly [name: string, bytes: number, into: (old: number, value: number) => number];
const NARROW_LOADS: readonly Load[] = [
  ["ds_read_u8", 1, (_, value) => value],
  ["ds_read_i8", 1, (_, value) => sext(value, 8)],
  ["ds_read_u16", 2, (_, value) => value],
  ["ds_read_i16", 2, (_, value) => sext(value, 16)],
  ["ds_read_u8_d16", 1, (old, value) => old & 0xffff0000 | value],
  ["ds_read_u8_d16_hi", 1, (old, value) => old & 0xffff | value << 16],
  ["ds_read_i8_d16", 1, (old, value) => old & 0xffff0000 | sext(value, 8) & 0xffff],
  ["ds_read_i8_d16_hi", 1, (old, value) => old & 0xffff | sext(value, 8) << 16],
  ["ds_read_u16_d16", 2, (old, value) => old & 0xffff0000 | value],
  ["ds_read_u16_d16_hi", 2, (old, value) => old & 0xffff | value << 16],
];

/** Offsets in bytes, also such that cross dwords and such that leave the allocation for the last lanes. */
const OFFSETS = [0, 1, 2, 3, 5, 511, 503];

function registers(dwords: number, from = 0): string {
  return dwords === 1 ? `v${from}` : `v[${from}:${from + dwords - 1}]`;
}

const loads: Check[] = WAVES.flatMap((waveSize) =>
  masks(waveSize).slice(0, 2).flatMap((exec) => {
    const shape = { waveSize, exec, lds: true, laneMode: "laneless" as const };
    return [
      ...NARROW_LOADS.flatMap(([name, bytes, into]) =>
        OFFSETS.map((offset): Check => ({
          ...shape,
          name,
          lines: [`${name} v3, v44 offset:${offset}`, "s_waitcnt lgkmcnt(0)"],
          model: (w) => {
            const memory = new Bytes(w), old = w.v[3].slice();
            w.write(3, (lane) => into(old[lane], memory.load(place(w, lane) + offset, bytes)));
          },
        }))
      ),
      ...[1, 2, 3, 4].flatMap((dwords) =>
        [0, 4, 8, 496, 1, 2].map((offset): Check => ({
          ...shape,
          name: `ds_read_b${dwords * 32}`,
          lines: [`ds_read_b${dwords * 32} ${registers(dwords)}, v44 offset:${offset}`, "s_waitcnt lgkmcnt(0)"],
          model: (w) => {
            const memory = new Bytes(w);
            for (let k = 0; k < dwords; k++) w.write(k, (lane) => memory.load(place(w, lane) + offset + 4 * k, 4));
          },
        }))
      ),
      ...[["ds_read2_b32", 1, 4], ["ds_read2st64_b32", 1, 256], ["ds_read2_b64", 2, 8], ["ds_read2st64_b64", 2, 512]]
        .flatMap(([name, dwords, unit]) =>
          [[0, 1], [3, 2], [1, 1]].map(([first, second]): Check => ({
            ...shape,
            name: String(name),
            lines: [
              `${name} ${registers(2 * Number(dwords))}, v44 offset0:${first} offset1:${second}`,
              "s_waitcnt lgkmcnt(0)",
            ],
            model: (w) => {
              const memory = new Bytes(w);
              [first, second].forEach((offset, n) => {
                for (let k = 0; k < Number(dwords); k++) {
                  const at = (lane: number) => place(w, lane) + offset * Number(unit) + 4 * k;
                  w.write(n * Number(dwords) + k, (lane) => memory.load(at(lane), 4));
                }
              });
            },
          }))
        ),
    ];
  })
);
testChecks("LDS loads", loads, every(loads, 9, 2));

type Store = readonly [name: string, bytes: number, part: (value: number) => number];
const NARROW_STORES: readonly Store[] = [
  ["ds_write_b8", 1, (value) => value],
  ["ds_write_b16", 2, (value) => value],
  ["ds_write_b8_d16_hi", 1, (value) => value >>> 16],
  ["ds_write_b16_d16_hi", 2, (value) => value >>> 16],
];

function store(memory: Bytes, w: ModelWave, offset: number, bytes: number, value: (lane: number) => number): void {
  for (let lane = 0; lane < w.size; lane++) {
    if (w.active(lane)) memory.store(place(w, lane) + offset, bytes, value(lane));
  }
}

const stores: Check[] = WAVES.flatMap((waveSize) =>
  masks(waveSize).slice(0, 2).flatMap((exec) => {
    const shape = { waveSize, exec, lds: true, laneMode: "laneless" as const };
    return [
      ...NARROW_STORES.flatMap(([name, bytes, part]) =>
        OFFSETS.map((offset): Check => ({
          ...shape,
          name,
          lines: [`${name} v44, v1 offset:${offset}`],
          model: (w) => store(new Bytes(w), w, offset, bytes, (lane) => part(w.v[1][lane])),
        }))
      ),
      ...[1, 2, 3, 4].flatMap((dwords) =>
        [0, 4, 16, 496, 1, 6].filter((offset) => offset % 4 !== 0 || offset + dwords * 4 <= 16 || offset >= 16).map((
          offset,
        ): Check => ({
          ...shape,
          name: `ds_write_b${dwords * 32}`,
          lines: [`ds_write_b${dwords * 32} v44, ${registers(dwords)} offset:${offset}`],
          model: (w) => {
            const memory = new Bytes(w);
            for (let k = 0; k < dwords; k++) store(memory, w, offset + 4 * k, 4, (lane) => w.v[k][lane]);
          },
        }))
      ).filter(({ lines }) => !overlaps(lines[0])),
      ...[["ds_write2_b32", 1, 4], ["ds_write2st64_b32", 1, 256], ["ds_write2_b64", 2, 8], [
        "ds_write2st64_b64",
        2,
        512,
      ]]
        .flatMap(([name, dwords, unit]) =>
          [[0, 1], [1, 0], [0, 0]].map(([first, second]): Check => ({
            ...shape,
            name: String(name),
            lines: [
              `${name} v44, ${registers(Number(dwords))}, ${
                registers(Number(dwords), 4)
              } offset0:${first} offset1:${second}`,
            ],
            model: (w) => {
              const memory = new Bytes(w);
              [[first, 0], [second, 4]].forEach(([offset, from]) => {
                for (let k = 0; k < Number(dwords); k++) {
                  store(memory, w, offset * Number(unit) + 4 * k, 4, (lane) => w.v[from + k][lane]);
                }
              });
            },
          }))
        ),
    ];
  })
);

/** Whether the places of neighbours overlap, so that the order of lanes would show. */
function overlaps(line: string): boolean {
  const [, bits, offset] = /b(\d+) .* offset:(\d+)/.exec(line)!.map(Number);
  return offset % 16 + bits / 8 > 16;
}
testChecks("LDS stores", stores, every(stores, 7, 2));

const byLane: Check[] = WAVES.flatMap((waveSize) =>
  masks(waveSize).slice(0, 3).flatMap((exec): Check[] => [
    {
      name: "ds_read_addtid_b32",
      waveSize,
      exec,
      lds: true,
      argument: 0xabcd_0010,
      laneMode: "laneless",
      lines: ["s_mov_b32 m0, s6", "ds_read_addtid_b32 v3 offset:8", "s_waitcnt lgkmcnt(0)"],
      model: (w) => {
        const memory = new Bytes(w);
        w.write(3, (lane) => memory.load(8 + 0x10 + lane * 4, 4));
      },
    },
    {
      name: "ds_write_addtid_b32",
      waveSize,
      exec,
      lds: true,
      argument: 0x4,
      laneMode: "laneless",
      lines: ["s_mov_b32 m0, s6", "ds_write_addtid_b32 v1 offset:12"],
      model: (w) => {
        const memory = new Bytes(w);
        for (let lane = 0; lane < w.size; lane++) if (w.active(lane)) memory.store(16 + lane * 4, 4, w.v[1][lane]);
      },
    },
  ])
);
testChecks("LDS addressed by the lane's number", byLane);
