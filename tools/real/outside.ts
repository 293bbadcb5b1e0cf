/**
 * What a module makes of an index that is outside of an array or a buffer: nobody defines that (Vulkan specification, "Robustness"; the feature that would
 * bound accesses to buffers is off). The module is changed so that such an index becomes another one, inside; the words that change with it are those
 * that depend on an access outside.
 *
 * @module
 */
import { HEADER_WORDS, Op } from "../corpus/spirv/numbers.ts";
import { SpirvModule } from "../corpus/spirv/module.ts";

/** Where an index goes that is outside. */
export type Redirection = "first" | "last" | "modulo";

/** All of them: a word that none of them changes does not depend on such an index, or only where elements are equal. */
export const REDIRECTIONS: readonly Redirection[] = ["first", "last", "modulo"];

const ACCESS_CHAINS: readonly number[] = [65, 66]; // OpAccessChain, OpInBoundsAccessChain
const ARRAY_LENGTH = 68, BITCAST = 124, I_SUB = 130, U_MOD = 137, SELECT = 169, U_LESS_THAN = 176;

/**
 * The module with every index of 32 bits into an array, a vector, or the array at the end of a buffer kept inside of it; undefined where there is none that
 * is no constant.
 */
export function redirected(module: SpirvModule, how: Redirection): SpirvModule | undefined {
  const words = new Redirected(module, how).words();
  return words === undefined ? undefined : new SpirvModule(words, module.file);
}

class Redirected {
  /** Word index of the definition of each type. */
  readonly #types = new Map<number, number>();
  /** Type of each value. */
  readonly #typeOf = new Map<number, number>();
  readonly #constants = new Map<number, number>();
  #bound: number;
  /** Ids of declarations that the module lacks, and their words. */
  readonly #extra = new Map<string, number>();
  readonly #declared: number[] = [];
  #changed = false;

  constructor(private readonly module: SpirvModule, private readonly how: Redirection) {
    this.#bound = module.bound;
  }

  words(): Uint32Array | undefined {
    const { module } = this;
    for (const at of module.instructions()) this.#know(at);
    const output: number[] = [];
    let functions = -1;
    for (const at of module.instructions()) {
      if (module.opcode(at) === Op.Function && functions < 0) functions = output.length;
      if (ACCESS_CHAINS.includes(module.opcode(at))) output.push(...this.#accessChain(at));
      else for (const word of module.operands(at, 0)) output.push(word);
    }
    if (!this.#changed) return undefined;
    const header = [...module.words.subarray(0, 3), this.#bound, module.words[HEADER_WORDS - 1]];
    return Uint32Array.from([...header, ...output.slice(0, functions), ...this.#declared, ...output.slice(functions)]);
  }

  /** Types and values in the order of the module: only what has a type begins with the id of one that is known. */
  #know(at: number): void {
    const { module } = this, opcode = module.opcode(at);
    if (opcode >= 19 && opcode <= 39) this.#types.set(module.operand(at, 1), at);
    else if (module.length(at) > 2 && this.#types.has(module.operand(at, 1))) {
      const result = module.operand(at, 2);
      if (!this.#typeOf.has(result)) this.#typeOf.set(result, module.operand(at, 1));
      if (opcode === Op.Constant && module.length(at) === 4) this.#constants.set(result, module.operand(at, 3));
    }
  }

  #isInt32(type: number | undefined): boolean {
    const at = this.#types.get(type ?? -1) ?? -1;
    return at >= 0 && this.module.opcode(at) === Op.TypeInt && this.module.operand(at, 2) === 32;
  }

  /** Id of a type, declared where the module has none. */
  #type(opcode: number, ...operands: number[]): number {
    const { module } = this;
    for (const [id, at] of this.#types) {
      if (module.opcode(at) !== opcode) continue;
      if (operands.every((operand, k) => module.operand(at, k + 2) === operand)) return id;
    }
    return this.#declare([opcode, ...operands].join(), (id) => [(operands.length + 2) << 16 | opcode, id, ...operands]);
  }

  #uint(value: number): number {
    const type = this.#type(Op.TypeInt, 32, 0);
    return this.#declare(`uint ${value}`, (id) => [4 << 16 | Op.Constant, type, id, value]);
  }

  #declare(key: string, words: (id: number) => number[]): number {
    return this.#extra.getOrInsertComputed(key, () => {
      const id = this.#bound++;
      this.#declared.push(...words(id));
      return id;
    });
  }

  #accessChain(at: number): number[] {
    const { module } = this, [result, id, base, ...indices] = module.operands(at, 1), before: number[] = [];
    const uint = this.#type(Op.TypeInt, 32, 0), bool = this.#type(Op.TypeBool);
    const emit = (opcode: number, type: number, ...operands: number[]) => {
      const made = this.#bound++;
      before.push((operands.length + 3) << 16 | opcode, type, made, ...operands);
      return made;
    };
    const unsigned = (value: number) => this.#typeOf.get(value) === uint ? value : emit(BITCAST, uint, value);
    const pointer = this.#types.get(this.#typeOf.get(base) ?? -1);
    if (pointer === undefined || module.opcode(pointer) !== Op.TypePointer) return [...module.operands(at, 0)];
    let type = module.operand(pointer, 3);
    const inside = indices.map((index, k) => {
      const definition: number | undefined = this.#types.get(type);
      // A type of an extension: what is inside of it is not looked at.
      if (definition === undefined) return index;
      const opcode = module.opcode(definition), constant: number | undefined = this.#constants.get(index);
      if (opcode === Op.TypeStruct) {
        if (constant === undefined) this.module.fail(at, "spirv.operand", `index ${k} into a structure is no constant`);
        type = module.operand(definition, 2 + constant);
        return index;
      }
      type = module.operand(definition, 2);
      let length: number | undefined;
      if (opcode === Op.TypeArray && this.#isInt32(this.#typeOf.get(module.operand(definition, 3)))) {
        length = module.operand(definition, 3);
      } else if (opcode === Op.TypeVector || opcode === Op.TypeMatrix) {
        length = this.#uint(module.operand(definition, 3));
      } else if (opcode === Op.TypeRuntimeArray && k === 1) {
        length = emit(ARRAY_LENGTH, uint, base, this.#constants.get(indices[0])!);
      }
      if (length === undefined || !this.#isInt32(this.#typeOf.get(index))) return index;
      if (constant !== undefined && this.#isWithin(constant, length)) return index;
      this.#changed = true;
      const isInside = emit(U_LESS_THAN, bool, index, length);
      const other = this.how === "first"
        ? this.#uint(0)
        : this.how === "last"
        ? emit(I_SUB, uint, unsigned(length), this.#uint(1))
        : emit(U_MOD, uint, unsigned(index), unsigned(length));
      return emit(SELECT, uint, isInside, unsigned(index), other);
    });
    return [...before, (inside.length + 4) << 16 | module.opcode(at), result, id, base, ...inside];
  }

  /** Whether a constant is below a length that is a literal. */
  #isWithin(index: number, length: number): boolean {
    const known = this.#constants.get(length);
    return known !== undefined && index < known;
  }
}
