import { assertThrows } from "@std/assert";
import { Random } from "../../support/random.ts";
import { compareLanes, run, words } from "./vector_support.ts";

const i16 = (word: number) => word << 16 >> 16;
const u16 = (word: number) => word & 0xffff;
const high = (word: number) => word >>> 16;
const limit = (x: number, least: number, most: number) => Math.min(Math.max(x, least), most);
const signed = (x: number) => limit(x, -0x8000, 0x7fff);
const unsigned = (x: number) => limit(x, 0, 0xffff);
const median = (a: number, b: number, c: number) => [a, b, c].sort((x, y) => x - y)[1];

/** v3 = f(v0, v1, v2): 16 bits into the half that `upper` says, the other half stays. */
function each(line: string, f: (a: number, b: number, c: number) => number, upper = false): void {
  Deno.test(`${line} computes 16 bits and keeps the other half`, () => {
    const random = new Random(line.length);
    for (let k = 0; k < 3; k++) {
      const [a, b, c, old] = [words(random), words(random), words(random), words(random)];
      const after = run([line], { v: { 0: a, 1: b, 2: c, 3: old } });
      compareLanes(
        line,
        (lane) => after.v(3, lane).toString(16),
        (lane) => {
          const result = f(a[lane], b[lane], c[lane]) & 0xffff;
          const word = upper ? u16(old[lane]) | result << 16 : old[lane] & 0xffff0000 | result;
          return (word >>> 0).toString(16);
        },
      );
    }
  });
}

each("v_add_nc_u16 v3, v0, v1", (a, b) => a + b);
each("v_add_nc_u16 v3, v0, v1 clamp", (a, b) => unsigned(u16(a) + u16(b)));
each("v_add_nc_u16 v3, v0, v1 op_sel:[1,0,1]", (a, b) => high(a) + b, true);
each("v_sub_nc_u16 v3, v0, v1", (a, b) => a - b);
each("v_sub_nc_u16 v3, v0, v1 clamp", (a, b) => unsigned(u16(a) - u16(b)));
each("v_add_nc_i16 v3, v0, v1", (a, b) => a + b);
each("v_add_nc_i16 v3, v0, v1 clamp", (a, b) => signed(i16(a) + i16(b)));
each("v_sub_nc_i16 v3, v0, v1", (a, b) => a - b);
each("v_sub_nc_i16 v3, v0, v1 op_sel:[0,1,0] clamp", (a, b) => signed(i16(a) - i16(high(b))));
each("v_mul_lo_u16 v3, v0, v1", (a, b) => u16(a) * u16(b));
each("v_mad_u16 v3, v0, v1, v2", (a, b, c) => u16(a) * u16(b) + u16(c));
each("v_mad_u16 v3, v0, v1, v2 clamp", (a, b, c) => unsigned(u16(a) * u16(b) + u16(c)));
each("v_mad_i16 v3, v0, v1, v2", (a, b, c) => i16(a) * i16(b) + i16(c));
each("v_mad_i16 v3, v0, v1, v2 clamp", (a, b, c) => signed(i16(a) * i16(b) + i16(c)));
each("v_mad_i16 v3, v0, v1, v2 op_sel:[1,1,1,1]", (a, b, c) => i16(high(a)) * i16(high(b)) + i16(high(c)), true);
each("v_lshlrev_b16 v3, v0, v1", (a, b) => b << (a & 15));
each("v_lshrrev_b16 v3, v0, v1", (a, b) => u16(b) >>> (a & 15));
each("v_ashrrev_i16 v3, v0, v1", (a, b) => i16(b) >> (a & 15));
each("v_min_u16 v3, v0, v1", (a, b) => Math.min(u16(a), u16(b)));
each("v_max_u16 v3, v0, v1", (a, b) => Math.max(u16(a), u16(b)));
each("v_min_i16 v3, v0, v1", (a, b) => Math.min(i16(a), i16(b)));
each("v_max_i16 v3, v0, v1", (a, b) => Math.max(i16(a), i16(b)));
each("v_min3_u16 v3, v0, v1, v2", (a, b, c) => Math.min(u16(a), u16(b), u16(c)));
each("v_max3_u16 v3, v0, v1, v2", (a, b, c) => Math.max(u16(a), u16(b), u16(c)));
each("v_med3_u16 v3, v0, v1, v2", (a, b, c) => median(u16(a), u16(b), u16(c)));
each("v_min3_i16 v3, v0, v1, v2", (a, b, c) => Math.min(i16(a), i16(b), i16(c)));
each("v_max3_i16 v3, v0, v1, v2", (a, b, c) => Math.max(i16(a), i16(b), i16(c)));
each("v_med3_i16 v3, v0, v1, v2", (a, b, c) => median(i16(a), i16(b), i16(c)));
each("v_add_nc_u16 v3, -3, v1", (_a, b) => b - 3);

Deno.test("v_mad_u32_u16 and v_mad_i32_i16 multiply halves that op_sel names and add 32 bits", () => {
  const random = new Random(1);
  const [a, b, c] = [words(random), words(random), words(random)];
  const after = run(
    ["v_mad_u32_u16 v3, v0, v1, v2 op_sel:[1,0,0,0]", "v_mad_i32_i16 v4, v0, v1, v2 op_sel:[0,1,0,0]"],
    { v: { 0: a, 1: b, 2: c } },
  );
  compareLanes(
    "mad",
    (lane) => `${after.v(3, lane)} ${after.v(4, lane)}`,
    (lane) =>
      `${BigInt.asUintN(32, BigInt(high(a[lane]) * u16(b[lane]) + c[lane]))} ${
        BigInt.asUintN(32, BigInt(i16(a[lane]) * i16(high(b[lane])) + c[lane]))
      }`,
  );
});

Deno.test("v_sat_pk_u8_i16 clamps two halves to bytes", () => {
  const random = new Random(2);
  const a = words(random);
  const after = run(["v_sat_pk_u8_i16_e32 v3, v0"], { v: { 0: a, 3: -1 } });
  compareLanes(
    "bytes",
    (lane) => after.v(3, lane).toString(16),
    (lane) => (limit(i16(a[lane]), 0, 255) | limit(i16(high(a[lane])), 0, 255) << 8).toString(16),
  );
});

Deno.test("clamp where nothing says what it does is refused", () => {
  assertThrows(() => run(["v_mad_u32_u16 v3, v0, v1, v2 clamp"], {}), Error, "clamp");
});
