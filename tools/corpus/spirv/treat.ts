/**
 * Prepares a module for a comparison of results bit by bit: compilers may then neither fuse a multiplication and an addition nor flush
 * denormals. Every result of a floating-point arithmetic instruction is decorated NoContraction, and the entry points get DenormPreserve for 32
 * bits and for every other width in use (SPIR-V specification, "Decoration" and "Execution Mode"; extension SPV_KHR_float_controls).
 *
 * Instructions of GLSL.std.450 are not decorated: it is no arithmetic instruction that NoContraction would apply to, and Mesa ignores it there.
 * Fma may be one rounding or two, as the device likes; `splitFma` makes it two everywhere.
 *
 * @module
 */
import { Capability, Decoration, ExecutionMode, Glsl, HEADER_WORDS, Op } from "./numbers.ts";
import { SpirvModule } from "./module.ts";

/** Options of {@linkcode treat}. */
export interface TreatOptions {
  /** Also SignedZeroInfNanPreserve, for the same widths. */
  readonly preserveSpecials?: boolean;
  /** Replace Fma of GLSL.std.450 by a multiplication and an addition, both decorated. */
  readonly splitFma?: boolean;
}

/** A treated module and what was done. */
export interface Treated {
  readonly module: SpirvModule;
  /** Results that got NoContraction. */
  readonly decorated: number;
  /** Fma instructions that became two. */
  readonly split: number;
  /** Widths that have DenormPreserve now, in bits. */
  readonly widths: readonly number[];
}

/** Arithmetic instructions whose results may be contracted; each is of floating-point type. */
const ARITHMETIC: ReadonlySet<number> = new Set([
  Op.FNegate,
  Op.FAdd,
  Op.FSub,
  Op.FMul,
  Op.FDiv,
  Op.FRem,
  Op.FMod,
  Op.VectorTimesScalar,
  Op.MatrixTimesScalar,
  Op.VectorTimesMatrix,
  Op.MatrixTimesVector,
  Op.MatrixTimesMatrix,
  Op.OuterProduct,
  Op.Dot,
]);

const FLOAT_CONTROLS = "SPV_KHR_float_controls";
/** Float controls are part of SPIR-V from this version on. */
const VERSION_WITH_FLOAT_CONTROLS = 0x00010400;

/**
 * Treats a module. Treating the result again changes nothing.
 *
 * @throws {InvalidInputError} `spirv.treat` for a module that asks for flushed denormals or has FloatControls2's own rules
 */
export function treat(module: SpirvModule, options: TreatOptions = {}): Treated {
  const survey = new Survey(module);
  const widths = [...survey.widths].sort((a, b) => a - b);
  const output = new Output(survey, options, widths);
  return {
    module: new SpirvModule(output.words(), module.file),
    decorated: output.decorated,
    split: output.split,
    widths,
  };
}

/** What the module has already, and where things belong. */
class Survey {
  readonly module: SpirvModule;
  /** Widths of the floating-point types, and 32. */
  readonly widths = new Set([32]);
  readonly capabilities = new Set<number>();
  readonly extensions = new Set<string>();
  readonly entryPoints: number[] = [];
  /** `ENTRY MODE WIDTH` of the float controls. */
  readonly modes = new Set<string>();
  /** Ids with NoContraction. */
  readonly exact = new Set<number>();
  /** Ids of arithmetic results, in order. */
  readonly arithmetic: number[] = [];
  /** Word indexes of Fma instructions. */
  readonly fma = new Set<number>();
  /** Word index behind the last instruction of each section. */
  readonly ends = {
    capabilities: HEADER_WORDS,
    extensions: HEADER_WORDS,
    modes: HEADER_WORDS,
    annotations: HEADER_WORDS,
  };

  constructor(module: SpirvModule) {
    this.module = module;
    let glsl = -1, inFunctions = false;
    for (const at of module.instructions()) {
      const opcode = module.opcode(at), next = at + module.length(at);
      if (ARITHMETIC.has(opcode)) this.arithmetic.push(module.operand(at, 2));
      if (opcode === Op.ExtInst && module.operand(at, 3) === glsl && module.operand(at, 4) === Glsl.Fma) {
        this.fma.add(at);
      }
      inFunctions ||= opcode === Op.Function;
      if (inFunctions) continue;
      this.#section(opcode, next);
      switch (opcode) {
        case Op.Capability:
          this.capabilities.add(module.operand(at, 1));
          break;
        case Op.Extension:
          this.extensions.add(module.text(at, 1).text);
          break;
        case Op.ExtInstImport:
          if (module.text(at, 2).text === "GLSL.std.450") glsl = module.operand(at, 1);
          break;
        case Op.EntryPoint:
          this.entryPoints.push(module.operand(at, 2));
          break;
        case Op.ExecutionMode:
          if (module.operand(at, 2) === ExecutionMode.DenormFlushToZero) {
            module.fail(at, "spirv.treat", "the module asks for flushed denormals: it cannot be told to preserve them");
          }
          this.modes.add([...module.operands(at, 1)].join(" "));
          break;
        case Op.Decorate:
          if (module.operand(at, 2) === Decoration.NoContraction) this.exact.add(module.operand(at, 1));
          break;
        case Op.GroupDecorate:
          if (this.exact.has(module.operand(at, 1))) module.operands(at, 2).forEach((id) => this.exact.add(id));
          break;
        case Op.TypeFloat:
          // A third operand names another encoding (bfloat16, 8-bit floats), which float controls do not speak of.
          if (module.length(at) === 3) this.widths.add(module.operand(at, 2));
          break;
      }
    }
    if (this.capabilities.has(Capability.FloatControls2)) {
      module.fail(HEADER_WORDS, "spirv.treat", "the module uses FloatControls2, which has no NoContraction");
    }
  }

  #section(opcode: number, next: number): void {
    const { ends } = this;
    switch (opcode) {
      case Op.Capability:
        ends.capabilities = next;
        break;
      case Op.Extension:
        ends.extensions = next;
        break;
      case Op.EntryPoint:
      case Op.ExecutionMode:
      case Op.ExecutionModeId:
        ends.modes = next;
        break;
      case Op.Decorate:
      case Op.MemberDecorate:
      case Op.DecorationGroup:
      case Op.GroupDecorate:
      case Op.GroupMemberDecorate:
      case Op.DecorateId:
      case Op.DecorateString:
      case Op.MemberDecorateString:
        ends.annotations = next;
        break;
      case Op.String:
      case Op.SourceExtension:
      case Op.Source:
      case Op.Name:
      case Op.MemberName:
      case Op.ModuleProcessed:
        ends.annotations = Math.max(ends.annotations, next);
        break;
    }
    // Sections follow each other: an empty one ends where the one before it does.
    ends.extensions = Math.max(ends.extensions, ends.capabilities);
    ends.annotations = Math.max(ends.annotations, ends.modes);
  }
}

/** Writes the treated words. */
class Output {
  readonly #survey: Survey;
  readonly #options: TreatOptions;
  readonly #widths: readonly number[];
  #bound: number;
  decorated = 0;
  split = 0;

  constructor(survey: Survey, options: TreatOptions, widths: readonly number[]) {
    this.#survey = survey;
    this.#options = options;
    this.#widths = widths;
    this.#bound = survey.module.bound;
  }

  words(): Uint32Array {
    const { module, ends, fma } = this.#survey;
    const products = new Map<number, number>(); // word index of an Fma, id of its product
    if (this.#options.splitFma) { for (const at of fma) products.set(at, this.#bound++); }
    this.split = products.size;

    const inserted = new Map<number, number[]>();
    const insert = (at: number, words: number[]) => inserted.set(at, [...inserted.get(at) ?? [], ...words]);
    insert(ends.capabilities, this.#capabilities());
    insert(ends.extensions, this.#extensions());
    insert(ends.modes, this.#modes());
    insert(ends.annotations, this.#decorations(products));

    const output: number[] = [...module.words.subarray(0, 3), this.#bound, module.words[4]];
    for (const at of module.instructions()) {
      for (const word of inserted.get(at) ?? []) output.push(word);
      const product = products.get(at);
      if (product !== undefined) output.push(...this.#splitFma(at, product));
      else for (const word of module.operands(at, 0)) output.push(word);
    }
    return Uint32Array.from(output);
  }

  #modeNumbers(): { mode: number; capability: number }[] {
    return [
      { mode: ExecutionMode.DenormPreserve, capability: Capability.DenormPreserve },
      ...(this.#options.preserveSpecials
        ? [{ mode: ExecutionMode.SignedZeroInfNanPreserve, capability: Capability.SignedZeroInfNanPreserve }]
        : []),
    ];
  }

  #capabilities(): number[] {
    return this.#modeNumbers().filter(({ capability }) => !this.#survey.capabilities.has(capability)).flatMap((
      { capability },
    ) => instruction(Op.Capability, [capability]));
  }

  #extensions(): number[] {
    const { module, extensions } = this.#survey;
    if (module.version >= VERSION_WITH_FLOAT_CONTROLS || extensions.has(FLOAT_CONTROLS)) return [];
    return instruction(Op.Extension, literal(FLOAT_CONTROLS));
  }

  #modes(): number[] {
    const { entryPoints, modes } = this.#survey;
    return entryPoints.flatMap((entry) =>
      this.#modeNumbers().flatMap(({ mode }) =>
        this.#widths.filter((width) => !modes.has([entry, mode, width].join(" "))).flatMap((width) =>
          instruction(Op.ExecutionMode, [entry, mode, width])
        )
      )
    );
  }

  #decorations(products: ReadonlyMap<number, number>): number[] {
    const { module, arithmetic, exact } = this.#survey;
    const results = arithmetic.filter((id) => !exact.has(id));
    for (const [at, product] of products) {
      results.push(product);
      if (!exact.has(module.operand(at, 2))) results.push(module.operand(at, 2));
    }
    this.decorated = results.length;
    return results.flatMap((id) => instruction(Op.Decorate, [id, Decoration.NoContraction]));
  }

  /** Operands of Fma: type, result, set, instruction, a, b, c. */
  #splitFma(at: number, product: number): number[] {
    const { module } = this.#survey;
    const type = module.operand(at, 1);
    return [
      ...instruction(Op.FMul, [type, product, module.operand(at, 5), module.operand(at, 6)]),
      ...instruction(Op.FAdd, [type, module.operand(at, 2), product, module.operand(at, 7)]),
    ];
  }
}

function instruction(opcode: number, operands: readonly number[]): number[] {
  return [((operands.length + 1) << 16 | opcode) >>> 0, ...operands];
}

/** A literal string: UTF-8, ended and filled up with zeros. */
function literal(text: string): number[] {
  const bytes = new TextEncoder().encode(text);
  const padded = new Uint8Array((bytes.length >>> 2) * 4 + 4);
  padded.set(bytes);
  return [...new Uint32Array(padded.buffer)];
}
