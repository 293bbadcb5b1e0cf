import { Encoding } from "./instruction.ts";
import { MTBUF, MUBUF } from "./table/buffer.ts";
import { DS } from "./table/ds.ts";
import { FLAT } from "./table/flat.ts";
import { EXP, VINTRP } from "./table/interp.ts";
import { MIMG } from "./table/mimg.ts";
import type { Row } from "./table/row.ts";
import { SOP1, SOP2, SOPC, SOPK, SOPP } from "./table/scalar.ts";
import { SMEM } from "./table/smem.ts";
import { VOP1, VOP2 } from "./table/vop.ts";
import { VOP3 } from "./table/vop3.ts";
import { VOP3P } from "./table/vop3p.ts";
import { VOPC_RUNS } from "./table/vopc.ts";
import { type Target, TARGETS } from "./target.ts";
import { type DataType, dataType } from "./types.ts";

/**
 * What an opcode does beside computing its destinations from its sources. Bits of {@linkcode Opcode.traits}.
 *
 * The EXEC mask guards every vector instruction; `ReadsExec` marks only those whose result depends on EXEC as a value.
 */
export const Trait = {
  ReadsScc: 1 << 0,
  WritesScc: 1 << 1,
  /** Reads VCC without naming it, or names it implicitly in its 32-bit encoding. */
  ReadsVcc: 1 << 2,
  /** Writes VCC in its 32-bit encoding. */
  WritesVcc: 1 << 3,
  ReadsExec: 1 << 4,
  WritesExec: 1 << 5,
  ReadsM0: 1 << 6,
  /**
   * The old value of the destination counts: accumulators, conditional moves, half-register writes (16-bit results of vector instructions leave
   * the other half as it was). SDWA with UNUSED_PRESERVE and DPP lanes without a source keep it too: see the instruction.
   */
  ReadsDst: 1 << 7,
  /** May change the program counter. */
  Branch: 1 << 8,
  /** Nothing follows: s_endpgm and its variants, s_code_end. */
  End: 1 << 9,
  Barrier: 1 << 10,
  /** Waits for counters, and computes nothing. */
  Wait: 1 << 11,
  Load: 1 << 12,
  Store: 1 << 13,
  /** Read-modify-write; the old value is returned with GLC (buffer, flat, scalar, image) or by the *_rtn_* opcodes (DS). */
  Atomic: 1 << 14,
  /** Reads or writes registers of other lanes (readlane, permlane, swizzle ...). DPP does so too: see `Instruction.extra`. */
  Lanes: 1 << 15,
  /** The result depends on the lane's number, or on the wave as a whole (mbcnt, append, addtid). */
  Wave: 1 << 16,
  /** One result for all lanes. */
  Uniform: 1 << 17,
  /** Addresses registers relative to M0. */
  Indirect: 1 << 18,
  /** Carries a literal constant always. */
  Literal: 1 << 19,
  /** Exchanges its two operands. */
  Swap: 1 << 20,
  /** Reads or writes hardware registers (MODE and others). */
  HwReg: 1 << 21,
  /** Uses the program counter as a value. */
  Pc: 1 << 22,
  /** Invalidates or writes back caches. */
  Cache: 1 << 23,
  /** 16-bit data in the low half of each register, or packed. */
  D16: 1 << 24,
  /** 16-bit data in the high half of the register. */
  D16Hi: 1 << 25,
  /** Result of v_cmp and v_cmpx. */
  Compare: 1 << 26,
  /** Parameter interpolation. */
  Interp: 1 << 27,
  /** Export. */
  Export: 1 << 28,
  /** SMEM: the base is a buffer resource (V#). */
  Buffer: 1 << 29,
  /** DS: two elements with an 8-bit offset each. */
  Two: 1 << 30,
} as const;

const TRAIT_WORDS: Readonly<Record<string, number>> = {
  rscc: Trait.ReadsScc,
  wscc: Trait.WritesScc,
  rvcc: Trait.ReadsVcc,
  wvcc: Trait.WritesVcc,
  rexec: Trait.ReadsExec,
  wexec: Trait.WritesExec,
  rm0: Trait.ReadsM0,
  rdst: Trait.ReadsDst,
  branch: Trait.Branch,
  end: Trait.End,
  barrier: Trait.Barrier,
  wait: Trait.Wait,
  load: Trait.Load,
  store: Trait.Store,
  atomic: Trait.Atomic,
  lanes: Trait.Lanes,
  wave: Trait.Wave,
  uniform: Trait.Uniform,
  indirect: Trait.Indirect,
  literal: Trait.Literal,
  swap: Trait.Swap,
  hwreg: Trait.HwReg,
  pc: Trait.Pc,
  cache: Trait.Cache,
  d16: Trait.D16,
  d16hi: Trait.D16Hi,
  interp: Trait.Interp,
  export: Trait.Export,
  buffer: Trait.Buffer,
  two: Trait.Two,
};

/** Words that are kept in {@linkcode Opcode.words} and have no bit of their own. */
const PLAIN_WORDS = new Set(
  "opsel src2 st64 gws scratch clock waveid message privileged mix novop3 nosdwa nodpp wide b c d cd cl l lz o g16 lod mip msaa"
    .split(" "),
);

/** Numbers of an opcode, one per encoding that has it. */
export interface OpcodeNumbers {
  readonly [Encoding.Vop3]?: number;
  readonly [encoding: number]: number | undefined;
}

/** What a source may be, where that is less than the encoding admits. */
export const SourceClass = { Any: 0, Vector: 1, Scalar: 2, ScalarRegister: 3 } as const;

const SOURCE_CLASS_PREFIXES = "-vsr";

/** Kind of access of an image instruction. */
export type ImageKind = "load" | "store" | "atomic" | "sample" | "gather" | "resinfo" | "bvh";

/** One opcode of the RDNA2 family. An opcode that exists in several encodings (VOP2, VOP3, SDWA, DPP) is one entry. */
export interface Opcode {
  /** Index in {@linkcode OPCODES}: the value of `Instruction.op`. */
  readonly id: number;
  /** Mnemonic without suffix of the encoding, for example "v_add_f32". */
  readonly name: string;
  /** The shortest encoding that has it. */
  readonly encoding: Encoding;
  /** Opcode number by {@linkcode Encoding}. */
  readonly numbers: OpcodeNumbers;
  /** Whether the SDWA form exists. */
  readonly sdwa: boolean;
  /** Whether the DPP forms (DPP16, DPP8) exist. */
  readonly dpp: boolean;
  /** Bit set over {@linkcode TARGETS}. */
  readonly targets: number;
  /** Destination types: `dst`, then the lane mask in `sdst`. Comparisons have a mask only. */
  readonly dst: readonly DataType[];
  /** Whether the destination of a vector instruction is a scalar register (v_readlane_b32, v_readfirstlane_b32). */
  readonly scalarDst: boolean;
  /** Source types in the order of src0, src1, src2 (memory: address, data, second data). */
  readonly src: readonly DataType[];
  /** Restriction of each source, one of {@linkcode SourceClass}. */
  readonly srcClass: readonly number[];
  /** {@linkcode Trait} bits. */
  readonly traits: number;
  /** All trait words of the row, also those without a bit. */
  readonly words: ReadonlySet<string>;
  /** Memory: type of one element in memory ("u8", "b96" ...), or undefined. Format loads and stores have `formatCount` instead. */
  readonly memory: DataType | undefined;
  /** Typed buffer access: components transferred, 0 otherwise. */
  readonly formatCount: number;
  /** FLAT: 0 flat, 1 scratch, 2 global. */
  readonly segment: number;
  /** MIMG: kind of access, undefined otherwise. */
  readonly image: ImageKind | undefined;
}

const opcodes: Opcode[] = [];

/** What a row itself does not say. */
interface Extra extends Partial<Pick<Opcode, "sdwa" | "dpp" | "segment" | "image" | "traits">> {
  /** Owned by the opcode. */
  numbers?: Record<number, number>;
}

function add(row: Row, encoding: Encoding, extra: Extra = {}): Opcode {
  const [code, name, signatureText, traitText = ""] = row;
  const { words, traits, targets, memory, formatCount } = once(traitSets, traitText, parseTraits);
  const { dst, src, srcClass, scalarDst, half } = encoding === Encoding.Mimg
    ? NO_SIGNATURE
    : once(signatures, signatureText, parseSignature);
  const numbers: Record<number, number> = extra.numbers ?? {};
  numbers[encoding] = code;
  const opcode: Opcode = {
    id: opcodes.length,
    name,
    encoding,
    sdwa: extra.sdwa ?? false,
    dpp: extra.dpp ?? false,
    targets,
    dst,
    scalarDst,
    src,
    srcClass,
    words,
    memory,
    formatCount,
    segment: extra.segment ?? 0,
    image: extra.image,
    traits: traits | (extra.traits ?? 0) | (isVop(encoding) && half ? Trait.ReadsDst : 0),
    numbers,
  };
  opcodes.push(opcode);
  return opcode;
}

// Rows share few different signatures and sets of traits, and the table is built at every start: each is parsed once.
const signatures = new Map<string, Signature>(), traitSets = new Map<string, TraitSet>();

function once<T>(known: Map<string, T>, text: string, parse: (text: string) => T): T {
  let value = known.get(text);
  if (value === undefined) known.set(text, value = parse(text));
  return value;
}

type TraitSet = Pick<Opcode, "words" | "traits" | "targets" | "memory" | "formatCount">;

function parseTraits(text: string): TraitSet {
  const words = new Set(text === "" ? [] : text.split(" "));
  let traits = 0, targets = 0, formatCount = 0;
  let memory: DataType | undefined;
  for (const word of words) {
    const target = TARGETS.indexOf(word as Target);
    if (target >= 0) targets |= 1 << target;
    else if (word.startsWith("as:format")) formatCount = Number(word.slice(9));
    else if (word.startsWith("as:")) memory = dataType(word.slice(3));
    else if (TRAIT_WORDS[word] !== undefined) traits |= TRAIT_WORDS[word];
    else if (!PLAIN_WORDS.has(word)) throw new Error(`unknown trait "${word}" in the opcode table`);
  }
  return { words, traits, targets: targets === 0 ? (1 << TARGETS.length) - 1 : targets, memory, formatCount };
}

function isVop(encoding: Encoding): boolean {
  return encoding >= Encoding.Vop1 && encoding <= Encoding.Vop3p;
}

interface Signature extends Pick<Opcode, "dst" | "src" | "srcClass" | "scalarDst"> {
  /** The destination is half a register. */
  readonly half: boolean;
}

const NO_SIGNATURE: Signature = { dst: [], src: [], srcClass: [], scalarDst: false, half: false };

function parseSignature(signature: string): Signature {
  const [dst, src] = signature.split("=").map((side) => side.split(" ").filter((word) => word !== ""));
  const scalarDst = dst.length > 0 && dst[0].startsWith("s");
  return {
    dst: dst.map((type) => dataType(scalarDst ? type.slice(1) : type)),
    scalarDst,
    src: src.map((type) => dataType(SOURCE_CLASS_PREFIXES.indexOf(type[0]) > 0 ? type.slice(1) : type)),
    srcClass: src.map((type) => Math.max(SOURCE_CLASS_PREFIXES.indexOf(type[0]), 0)),
    half: dst.length > 0 && /^[fuib]16$/.test(dst[0]),
  };
}

function addVop(row: Row, encoding: Encoding, vop3Base: number): void {
  const { words } = once(traitSets, row[3] ?? "", parseTraits);
  add(row, encoding, {
    sdwa: !words.has("nosdwa"),
    dpp: !words.has("nodpp"),
    numbers: words.has("novop3") ? {} : { [Encoding.Vop3]: vop3Base + row[0] },
  });
}

function addCompares(): void {
  for (const { first, type, conditions } of VOPC_RUNS) {
    for (
      const [prefix, offset, traits, dst] of [["v_cmp_", 0, Trait.WritesVcc, "mask"], [
        "v_cmpx_",
        16,
        Trait.WritesExec,
        "mask",
      ]] as const
    ) {
      conditions.forEach((condition, index) => {
        const code = first + offset + index;
        const right = condition === "class" ? "u32" : type;
        const is64 = type.endsWith("64");
        add([code, `${prefix}${condition}_${type}`, `${dst} = ${type} ${right}`], Encoding.Vopc, {
          traits: traits | Trait.Compare,
          sdwa: !is64,
          dpp: !is64,
          numbers: { [Encoding.Vop3]: code },
        });
      });
    }
  }
}

const IMAGE_TRAITS: Readonly<Record<ImageKind, number>> = {
  load: Trait.Load,
  store: Trait.Store,
  atomic: Trait.Atomic,
  sample: Trait.Load,
  gather: Trait.Load,
  resinfo: 0,
  bvh: Trait.Load,
};

function build(): void {
  for (const row of SOP2) add(row, Encoding.Sop2);
  for (const row of SOPK) add(row, Encoding.Sopk);
  for (const row of SOP1) add(row, Encoding.Sop1);
  for (const row of SOPC) add(row, Encoding.Sopc);
  for (const row of SOPP) add(row, Encoding.Sopp);
  for (const row of SMEM) add(row, Encoding.Smem);
  for (const row of VOP2) addVop(row, Encoding.Vop2, 0x100);
  for (const row of VOP1) addVop(row, Encoding.Vop1, 0x180);
  addCompares();
  for (const row of VOP3) add(row, Encoding.Vop3);
  for (const row of VOP3P) add(row, Encoding.Vop3p);
  for (const row of VINTRP) add(row, Encoding.Vintrp, { numbers: { [Encoding.Vop3]: 0x200 + row[0] } });
  for (const row of DS) add(row, Encoding.Ds);
  ["flat", "scratch", "global"].forEach((prefix, segment) => {
    for (const [code, name, signature, traits, segments] of FLAT) {
      if (segments.includes("FSG"[segment])) {
        add([code, `${prefix}_${name}`, signature, traits], Encoding.Flat, { segment });
      }
    }
  });
  for (const row of MUBUF) add(row, Encoding.Mubuf);
  for (const row of MTBUF) add(row, Encoding.Mtbuf);
  for (const row of MIMG) {
    const image = row[2] as ImageKind;
    add(row, Encoding.Mimg, { image, traits: IMAGE_TRAITS[image] });
  }
  for (const row of EXP) add(row, Encoding.Exp);
}

build();

/** All opcodes; the index is the op id in {@linkcode Instruction.op}. */
export const OPCODES: readonly Opcode[] = opcodes;

const idByName = new Map(opcodes.map((opcode) => [opcode.name, opcode.id]));

/** Op id of the opcode with this mnemonic (no encoding suffix); throws on an unknown name. */
export function opcodeId(name: string): number {
  const id = idByName.get(name);
  if (id === undefined) throw new Error(`no opcode is named "${name}"`);
  return id;
}

/** Opcode number -> op id, for one target: index by {@linkcode Encoding}, then by the encoding's opcode field (FLAT: segment * 128 + number); -1 = none. */
export type OpcodeIndex = readonly Int16Array[];

const INDEX_SIZE = 1024;

function buildIndex(target: number): OpcodeIndex {
  const index = Object.values(Encoding).map(() => new Int16Array(INDEX_SIZE).fill(-1));
  for (const opcode of opcodes) {
    if ((opcode.targets >> target & 1) === 0) continue;
    for (const encoding in opcode.numbers) {
      const slot = opcode.segment * 128 + opcode.numbers[encoding]!;
      const row = index[encoding];
      if (row[slot] !== -1) {
        throw new Error(`${opcode.name} and ${opcodes[row[slot]].name} share a number in the opcode table`);
      }
      row[slot] = opcode.id;
    }
  }
  return index;
}

const indexes = TARGETS.map((_, target) => buildIndex(target));

/** The opcode index of a target. */
export function opcodeIndex(target: Target): OpcodeIndex {
  const position = TARGETS.indexOf(target);
  if (position < 0) throw new Error(`unknown target "${target}"`);
  return indexes[position];
}
