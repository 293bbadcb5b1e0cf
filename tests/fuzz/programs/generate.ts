/** Makes random program trees: what compilers make of nested conditions, loops with several exits, LDS, calls. */
import { Operand } from "../../../src/rdna/instruction.ts";
import { TARGETS } from "../../../src/rdna/target.ts";
import type { Random } from "../../support/random.ts";
import { Code } from "../code.ts";
import { dpp16, dpp8, ds, int, opcodeOf, v } from "../encode.ts";
import { randomInt } from "../values.ts";
import type { MaskStyle, ProgramSettings, ProgramTree, Statement } from "./tree.ts";
import { S0, SCALARS, V0, VECTORS } from "./tree.ts";

/** Bytes of LDS of a program: two words per thread, and common ones behind them. */
export const COMMON_LDS = 2048 * 2;
export const PROGRAM_LDS = COMMON_LDS + 64;

/** Integer instructions of two vector sources. */
const VECTOR2 = [
  ..."v_add_nc_u32 v_sub_nc_u32 v_xor_b32 v_and_b32 v_or_b32 v_min_u32 v_max_i32 v_min_i32 v_mul_u32_u24 v_lshlrev_b32"
    .split(" "),
  ..."v_lshrrev_b32 v_ashrrev_i32 v_xnor_b32 v_mul_hi_u32_u24".split(" "),
];
const VECTOR3 =
  "v_add3_u32 v_lshl_add_u32 v_xad_u32 v_bfe_u32 v_bfi_b32 v_perm_b32 v_mad_u32_u24 v_alignbit_b32 v_med3_i32".split(
    " ",
  );
const VECTOR1 = "v_not_b32 v_bfrev_b32 v_ffbh_u32 v_mov_b32".split(" ");
const SCALAR2 = [
  ..."s_add_u32 s_sub_u32 s_mul_i32 s_xor_b32 s_and_b32 s_or_b32 s_lshl_b32 s_lshr_b32 s_ashr_i32 s_min_u32 s_max_i32"
    .split(" "),
  ..."s_addc_u32 s_subb_u32 s_bfe_u32 s_absdiff_i32 s_cselect_b32 s_andn2_b32".split(" "),
];
const COMPARES = "v_cmp_lt_u32 v_cmp_eq_u32 v_cmp_gt_i32 v_cmp_ne_u32 v_cmp_le_i32 v_cmp_ge_u32".split(" ");
const SCALAR_COMPARES = "s_cmp_lt_u32 s_cmp_eq_u32 s_cmp_gt_i32 s_cmp_lg_u32 s_bitcmp1_b32".split(" ");

/** Makes one program. */
export function randomProgram(random: Random): ProgramTree {
  const settings = randomSettings(random);
  const generator = new Generator(random, settings);
  const subroutines = Array.from(
    { length: random.chance(0.35) ? 1 + random.below(2) : 0 },
    () => generator.subroutine(),
  );
  generator.callees = subroutines.length;
  return { settings, body: generator.body(), subroutines };
}

function randomSettings(random: Random): ProgramSettings {
  const waveSize = random.pick([32, 64] as const);
  const waves = random.pick([1, 1, 1, 2, 3, 4]);
  const whole = waves * waveSize;
  const threads = random.chance(0.25) ? Math.max(1, whole - random.below(waveSize)) : whole;
  const groups = 1 + random.below(3);
  return {
    target: random.pick(TARGETS),
    waveSize,
    threads,
    groups,
    limit: random.chance(0.2) ? threads * (groups - 1) + 1 + random.below(threads) : undefined,
    floatMode: random.pick([0x00, 0xc0, 0xf0]),
    ieee: random.chance(0.3),
    dx10Clamp: random.chance(0.7),
    inputs: random.u32(),
  };
}

class Generator {
  callees = 0;
  #budget = 0;
  #depth = 0;
  /** No barrier and no call here. */
  #inside = 0;
  /** Lanes may leave a loop here. */
  #inLoop = false;
  /** The wave may begin the next round of its loop here. */
  #inRound = false;

  constructor(private readonly random: Random, private readonly settings: ProgramSettings) {}

  body(): Statement[] {
    this.#budget = 6 + this.random.below(30);
    const list: Statement[] = this.random.chance(0.2) ? [this.rounds()] : [];
    while (this.#budget > 0) list.push(this.statement());
    return list;
  }

  /** A loop of the whole wave that goes on from inside of a branch, with something behind the branch: chance hardly makes one. */
  private rounds(): Statement {
    const { random } = this;
    const some = (): Statement => ({ kind: "code", words: random.chance(0.5) ? this.scalarCode() : this.vectorCode() });
    const next = (): Statement => ({ kind: "next", condition: this.scalarCondition() });
    const branch = (body: Statement[]): Statement => ({
      kind: "waveIf",
      on: "scc",
      whenSet: random.chance(0.5),
      condition: this.scalarCondition(),
      body,
      otherwise: null,
    });
    const inner = random.chance(0.5) ? [some(), next(), some()] : [some(), branch([some(), next(), some()]), some()];
    return { kind: "waveLoop", trips: 3 + random.below(3), body: [some(), branch(inner), some()], leave: null };
  }

  subroutine(): Statement[] {
    this.#budget = 1 + this.random.below(4);
    this.#inside++;
    this.#depth = 2;
    const list: Statement[] = [];
    while (this.#budget > 0) list.push(this.statement());
    this.#inside--;
    this.#depth = 0;
    return list;
  }

  /**
   * The statements inside of one; lanes leave the loop around it there, unless it is a loop of another kind itself.
   *
   * @param inside not all waves come by
   * @param inRound the wave may begin the next round of a loop of its own from there
   */
  private block(inLoop = this.#inLoop, inside = true, inRound = false): Statement[] {
    const outer = this.#inLoop, outerRound = this.#inRound;
    this.#inLoop = inLoop;
    this.#inRound = inRound;
    this.#depth++;
    if (inside) this.#inside++;
    const list: Statement[] = [];
    const count = this.random.below(4);
    for (let k = 0; k < count && this.#budget > 0; k++) list.push(this.statement());
    if (inside) this.#inside--;
    this.#depth--;
    this.#inLoop = outer;
    this.#inRound = outerRound;
    return list;
  }

  private statement(): Statement {
    this.#budget--;
    const { random } = this;
    if (this.#inLoop && random.chance(0.12)) {
      return { kind: "leave", again: random.chance(0.4), condition: this.condition() };
    }
    if (this.#inRound && random.chance(0.15)) return { kind: "next", condition: this.scalarCondition() };
    const roll = random.below(this.#depth < 4 ? (this.#inRound ? 27 : 24) : 10);
    if (roll < 5) return { kind: "code", words: this.vectorCode() };
    if (roll < 7) return { kind: "code", words: this.scalarCode() };
    if (roll === 7) return { kind: "code", words: this.laneCode() };
    if (roll === 8) return { kind: "lds", words: this.ownLds() };
    if (roll === 9) return { kind: "code", words: this.maskCode() };
    if (roll < 14) {
      return {
        kind: "if",
        style: this.style(),
        skip: random.chance(0.7),
        condition: this.condition(),
        body: this.block(),
        otherwise: random.chance(0.4) ? this.block() : null,
      };
    }
    if (roll < 16 || roll > 23) {
      const on = random.pick(["scc", "scc", "vcc"] as const);
      return {
        kind: "waveIf",
        on,
        whenSet: random.chance(0.5),
        condition: on === "scc" ? this.scalarCondition() : this.condition(),
        body: this.block(this.#inLoop, true, this.#inRound),
        otherwise: random.chance(0.4) ? this.block(this.#inLoop, true, this.#inRound) : null,
      };
    }
    if (roll < 19) {
      return {
        kind: "loop",
        trips: 1 + random.below(5),
        body: this.block(true),
        condition: this.condition(),
        rest: this.block(true),
        resume: random.chance(0.3) ? { condition: this.condition(), body: this.block(true) } : null,
        style: this.style(),
      };
    }
    if (roll === 19) {
      // Rounds that all waves go through together: barriers may be inside.
      const together = this.#inside === 0 && random.chance(0.5);
      if (together) {
        return { kind: "waveLoop", trips: 1 + random.below(4), body: this.block(false, false), leave: null };
      }
      return {
        kind: "waveLoop",
        trips: 1 + random.below(4),
        body: this.block(false, true, true),
        leave: random.chance(0.4) ? { condition: this.scalarCondition(), rest: this.block(false, true, true) } : null,
      };
    }
    if (roll === 20) {
      return { kind: "waterfall", vector: this.v(), scalar: this.s(), body: this.block(false) };
    }
    if (roll === 21) {
      // Without barriers within the wave; with barriers only where all waves come by.
      const barrier = this.#inside === 0 && random.chance(0.5);
      return { kind: "exchange", barrier, store: this.v(), load: this.v(), distance: 1 + random.below(63) };
    }
    if (roll === 22 && this.callees > 0) {
      return { kind: "call", callee: random.below(this.callees), short: random.chance(0.5) };
    }
    return { kind: "ladder", scalar: this.s(), steps: Array.from({ length: 2 + random.below(3) }, () => this.block()) };
  }

  private style(): MaskStyle {
    return this.random.pick(["llvm", "aco", "plain"] as const);
  }

  /** A vector data register. */
  private v(): number {
    return V0 + this.random.below(VECTORS);
  }

  /** A scalar data register. */
  private s(): number {
    return S0 + this.random.below(SCALARS);
  }

  private vectorSource(): number {
    const { random } = this;
    const roll = random.below(8);
    if (roll < 5) return v(this.v());
    if (roll < 7) return int(random.below(64));
    return this.s();
  }

  private vectorCode(): number[] {
    const { random } = this;
    const code = new Code();
    for (let k = 1 + random.below(3); k > 0; k--) {
      const roll = random.below(10);
      const dst = v(this.v());
      if (roll < 5) code.vop(random.pick(VECTOR2), dst, this.vectorSource(), v(this.v()));
      else if (roll < 7) code.vop3(random.pick(VECTOR3), { dst, src: [v(this.v()), this.vectorSource(), v(this.v())] });
      else if (roll === 7) code.vop(random.pick(VECTOR1), dst, this.vectorSource());
      else if (roll === 8) code.vop("v_xor_b32", dst, Operand.Literal, v(this.v()), randomInt(random));
      else this.floatCode(code, dst);
    }
    return code.words;
  }

  /** Floats from integers and back: no NaN, whose bits would be nobody's business. */
  private floatCode(code: Code, dst: number): void {
    const { random } = this;
    code.vop("v_cvt_f32_i32", v(12), v(this.v()));
    code.vop("v_cvt_f32_ubyte0", v(13), v(this.v()));
    code.vop(random.pick(["v_add_f32", "v_mul_f32", "v_sub_f32", "v_max_f32"]), v(12), v(12), v(13));
    if (random.chance(0.3)) code.vop3("v_fma_f32", { dst: v(12), src: [v(12), v(13), v(13)] });
    code.vop(random.pick(["v_cvt_i32_f32", "v_cvt_u32_f32", "v_mov_b32"]), dst, v(12));
  }

  private scalarCode(): number[] {
    const { random } = this;
    const code = new Code();
    for (let k = 1 + random.below(2); k > 0; k--) {
      const b = random.chance(0.3) ? int(random.below(33)) : this.s();
      if (random.chance(0.2)) code.sopk("s_addk_i32", this.s(), random.below(0x10000));
      else code.sop2(random.pick(SCALAR2), this.s(), this.s(), b);
    }
    return code.words;
  }

  /** Instructions that look at other lanes. */
  private laneCode(): number[] {
    const { random } = this;
    const code = new Code();
    const dst = v(this.v()), src = v(this.v());
    switch (random.below(7)) {
      case 0:
        code.vop("v_readfirstlane_b32", this.s(), src);
        break;
      case 1:
        code.vop3("v_readlane_b32", {
          dst: this.s(),
          src: [src, random.chance(0.5) ? int(random.below(32)) : this.s()],
        });
        break;
      case 2: {
        const control = random.pick([random.below(256), 0x111, 0x121, 0x140, 0x150, 0x161]);
        code.emit(dpp16(opcodeOf("v_add_nc_u32"), dst, src, v(this.v()), {
          control,
          rowMask: random.chance(0.7) ? 15 : 10,
          bankMask: 15,
          boundCtrl: random.chance(0.5),
          fetchInactive: false,
          neg: 0,
          abs: 0,
        }));
        break;
      }
      case 3:
        code.emit(dpp8(opcodeOf("v_mov_b32"), dst, src, -1, random.below(1 << 24), false));
        break;
      case 4:
        code.vop3("v_mbcnt_lo_u32_b32", { dst, src: [int(-1), int(0)] });
        code.vop3("v_mbcnt_hi_u32_b32", { dst, src: [int(-1), dst] });
        break;
      case 5:
        code.vop("v_lshlrev_b32", v(12), int(2), src);
        code.ds("ds_bpermute_b32", { dst, addr: v(12), data: v(this.v()) });
        break;
      default:
        code.vop3("v_writelane_b32", { dst, src: [this.s(), int(random.below(32))] });
    }
    return code.words;
  }

  /** Lane masks used as numbers and as conditions. */
  private maskCode(): number[] {
    const { random, settings: { waveSize } } = this;
    const code = new Code();
    code.emit(this.condition());
    const wide = waveSize === 64;
    switch (random.below(4)) {
      case 0:
        code.sop1(wide ? "s_bcnt1_i32_b64" : "s_bcnt1_i32_b32", this.s(), Operand.Vcc);
        break;
      case 1:
        code.vop("v_cndmask_b32", v(this.v()), this.vectorSource(), v(this.v()));
        break;
      case 2:
        code.sop1(wide ? "s_ff1_i32_b64" : "s_ff1_i32_b32", this.s(), Operand.Exec);
        break;
      default:
        code.vop("v_add_co_ci_u32", v(this.v()), this.vectorSource(), v(this.v()));
    }
    return code.words;
  }

  /** Leaves a lane mask in VCC. */
  private condition(): number[] {
    const { random, settings: { waveSize } } = this;
    const code = new Code();
    if (random.chance(0.4)) {
      code.vop("v_and_b32", v(12), int(random.pick([1, 3, 7, 15])), v(this.v()));
      code.vop(random.pick(COMPARES), -1, int(random.below(8)), v(12));
    } else code.vop(random.pick(COMPARES), -1, this.vectorSource(), v(this.v()));
    if (random.chance(0.2)) {
      const second = 6; // s[6:7]
      code.vop3(random.pick(COMPARES), { dst: -1, sdst: second, src: [v(this.v()), int(random.below(20))] });
      const op = random.pick(["s_and", "s_or", "s_andn2", "s_xor"]);
      code.sop2(`${op}_b${waveSize}`, Operand.Vcc, Operand.Vcc, second);
    }
    return code.words;
  }

  /** Leaves a condition in SCC. */
  private scalarCondition(): number[] {
    const { random } = this;
    const code = new Code();
    code.sopc(random.pick(SCALAR_COMPARES), this.s(), random.chance(0.5) ? int(random.below(32)) : this.s());
    return code.words;
  }

  /** The lane's own two words, or common ones that all add to. */
  private ownLds(): number[] {
    const { random } = this;
    const list: number[] = [];
    const add = (name: string, fields: Parameters<typeof ds>[1]) => list.push(...ds(opcodeOf(name), fields));
    const code = new Code();
    code.vop("v_lshlrev_b32", v(12), int(3), v(0));
    list.push(...code.words);
    switch (random.below(4)) {
      case 0:
        add("ds_write_b32", { addr: v(12), data: v(this.v()) });
        break;
      case 1:
        add("ds_read_b64", { addr: v(12), dst: v(14) });
        list.push(...xorInto(this.v(), 14), ...xorInto(this.v(), 15));
        break;
      case 2:
        add("ds_add_rtn_u32", { addr: v(12), data: v(this.v()), dst: v(14), offset: 4 });
        list.push(...xorInto(this.v(), 14));
        break;
      default: {
        // One kind of operation for each word: the order of the waves must not matter.
        const common = new Code(), word = random.below(8);
        common.vop("v_mov_b32", v(12), Operand.Literal, -1, COMMON_LDS + 4 * word);
        list.push(...common.words);
        add(["ds_add_u32", "ds_xor_b32", "ds_max_u32"][word % 3], { addr: v(12), data: v(this.v()) });
      }
    }
    return list;
  }
}

function xorInto(dst: number, src: number): number[] {
  const code = new Code();
  code.vop("v_xor_b32", v(dst), v(dst), v(src));
  return code.words;
}
