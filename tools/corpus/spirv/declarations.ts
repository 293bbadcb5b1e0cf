import { Decoration, Op } from "./numbers.ts";
import type { SpirvModule } from "./module.ts";

/** Values of specialization constants by SpecId, as raw bits. */
export type Specialization = ReadonlyMap<number, bigint>;

/**
 * What stands in front of a module's functions: types, constants, variables, names and decorations, each found by id. Functions are not
 * looked at.
 */
export class Declarations {
  /** The module. */
  readonly module: SpirvModule;
  /** Word index of the instruction that defines an id. */
  readonly #definitions = new Map<number, number>();
  readonly #names = new Map<number, string>();
  readonly #decorations = new Map<number, Map<number, number>>();
  readonly #memberDecorations = new Map<number, Map<number, Map<number, number>>>();
  /** Word indexes of the module's variables. */
  readonly variables: readonly number[];
  /** Word indexes of the specialization constants that have values of their own (not composites or operations). */
  readonly specConstants: readonly number[];
  #specialization: Specialization = new Map();

  /** Reads the module's declarations. */
  constructor(module: SpirvModule) {
    this.module = module;
    const variables: number[] = [], specConstants: number[] = [];
    const groups = new Map<number, Map<number, number>>();
    for (const at of module.instructions()) {
      const opcode = module.opcode(at);
      if (opcode === Op.Function) break;
      switch (opcode) {
        case Op.Name:
          this.#names.set(module.operand(at, 1), module.text(at, 2).text);
          break;
        case Op.Decorate:
          this.#decorate(
            module.operand(at, 1),
            module.operand(at, 2),
            module.length(at) > 3 ? module.words[at + 3] : 0,
          );
          break;
        case Op.MemberDecorate: {
          const type = module.operand(at, 1), member = module.operand(at, 2);
          const members = getOrAdd(this.#memberDecorations, type, () => new Map());
          getOrAdd(members, member, () => new Map()).set(
            module.operand(at, 3),
            module.length(at) > 4 ? module.words[at + 4] : 0,
          );
          break;
        }
        case Op.DecorationGroup: {
          const group = module.operand(at, 1);
          groups.set(group, this.#decorations.get(group) ?? new Map());
          break;
        }
        case Op.GroupDecorate:
          for (const target of module.operands(at, 2)) {
            for (const [decoration, value] of groups.get(module.operand(at, 1)) ?? []) {
              this.#decorate(target, decoration, value);
            }
          }
          break;
        case Op.GroupMemberDecorate:
          module.fail(at, "spirv.group-member-decorate", "OpGroupMemberDecorate is not read");
          break;
        case Op.Variable:
          this.#definitions.set(module.operand(at, 2), at);
          variables.push(at);
          break;
        case Op.SpecConstantTrue:
        case Op.SpecConstantFalse:
        case Op.SpecConstant:
          specConstants.push(at);
          this.#definitions.set(module.operand(at, 2), at);
          break;
        case Op.Constant:
        case Op.ConstantTrue:
        case Op.ConstantFalse:
        case Op.ConstantComposite:
        case Op.SpecConstantComposite:
        case Op.SpecConstantOp:
          this.#definitions.set(module.operand(at, 2), at);
          break;
        case Op.TypeBool:
        case Op.TypeInt:
        case Op.TypeFloat:
        case Op.TypeVector:
        case Op.TypeMatrix:
        case Op.TypeImage:
        case Op.TypeSampler:
        case Op.TypeSampledImage:
        case Op.TypeArray:
        case Op.TypeRuntimeArray:
        case Op.TypeStruct:
        case Op.TypePointer:
          this.#definitions.set(module.operand(at, 1), at);
          break;
      }
    }
    this.variables = variables;
    this.specConstants = specConstants;
  }

  /** Replaces the defaults of specialization constants wherever a constant is evaluated from now on. */
  specialize(specialization: Specialization): void {
    this.#specialization = specialization;
  }

  /** Name that OpName gives; empty when there is none. */
  name(id: number): string {
    return this.#names.get(id) ?? "";
  }

  /** Operand of a decoration (0 when it has none); undefined when the id does not have it. */
  decoration(id: number, decoration: number): number | undefined {
    return this.#decorations.get(id)?.get(decoration);
  }

  /** Like {@linkcode decoration}, of a struct's member. */
  memberDecoration(type: number, member: number, decoration: number): number | undefined {
    return this.#memberDecorations.get(type)?.get(member)?.get(decoration);
  }

  /** Ids that have a decoration, with its operand. */
  *decorated(decoration: number): Generator<[id: number, value: number]> {
    for (const [id, own] of this.#decorations) {
      const value = own.get(decoration);
      if (value !== undefined) yield [id, value];
    }
  }

  /** Word index of the type or constant `id`; `user` is the instruction that names it. */
  definition(id: number, user: number): number {
    return this.#definitions.get(id) ??
      this.module.fail(user, "spirv.definition", `id ${id} is no type or constant that is read`);
  }

  /** Bytes of a value of a type with explicit layout, without padding at its end; a runtime array has none. */
  byteSize(type: number, user: number): number {
    const { module } = this;
    const at = this.definition(type, user);
    switch (module.opcode(at)) {
      case Op.TypeInt:
      case Op.TypeFloat:
        return module.operand(at, 2) / 8;
      case Op.TypeVector:
        return this.byteSize(module.operand(at, 2), at) * module.operand(at, 3);
      case Op.TypeArray: {
        const stride = this.decoration(type, Decoration.ArrayStride);
        if (stride === undefined) return module.fail(at, "spirv.layout", `array type ${type} has no ArrayStride`);
        return stride * this.count(module.operand(at, 3), at);
      }
      case Op.TypeRuntimeArray:
        return 0;
      case Op.TypePointer: // of physical storage: the only pointers that memory holds
        return 8;
      case Op.TypeStruct:
        return module.operands(at, 2).reduce(
          (end, member, i) => Math.max(end, this.#memberEnd(type, member, i, at)),
          0,
        );
      default:
        return module.fail(at, "spirv.layout", `the size of opcode ${module.opcode(at)} is not known`);
    }
  }

  /** Value of a constant that counts something. */
  count(id: number, user: number): number {
    return Number(this.constant(id, user));
  }

  /** Bits of an integer or Boolean constant, as an unsigned number of its own width. */
  constant(id: number, user: number): bigint {
    const { module } = this;
    const at = this.definition(id, user);
    switch (module.opcode(at)) {
      case Op.SpecConstant:
      case Op.SpecConstantTrue:
      case Op.SpecConstantFalse: {
        const specId = this.decoration(id, Decoration.SpecId);
        const given = specId === undefined ? undefined : this.#specialization.get(specId);
        return given ?? this.literal(at);
      }
      case Op.Constant:
      case Op.ConstantTrue:
      case Op.ConstantFalse:
        return this.literal(at);
      case Op.SpecConstantOp:
        return this.#operation(at);
      default:
        return module.fail(at, "spirv.constant", `opcode ${module.opcode(at)} is no scalar constant that is evaluated`);
    }
  }

  /** Bits that a scalar constant's own instruction gives; for a specialization constant this is the default. */
  literal(at: number): bigint {
    const { module } = this;
    switch (module.opcode(at)) {
      case Op.ConstantTrue:
      case Op.SpecConstantTrue:
        return 1n;
      case Op.ConstantFalse:
      case Op.SpecConstantFalse:
        return 0n;
    }
    const low = BigInt(module.operand(at, 3));
    const bits = module.length(at) > 4 ? BigInt(module.words[at + 4]) << 32n | low : low;
    return BigInt.asUintN(this.scalarBits(module.operand(at, 1), at), bits);
  }

  /** Bits of a scalar type; 1 for a Boolean. */
  scalarBits(type: number, user: number): number {
    const at = this.definition(type, user);
    switch (this.module.opcode(at)) {
      case Op.TypeBool:
        return 1;
      case Op.TypeInt:
      case Op.TypeFloat:
        return this.module.operand(at, 2);
      default:
        return this.module.fail(at, "spirv.constant", `type ${type} is no scalar`);
    }
  }

  #operation(at: number): bigint {
    const { module } = this;
    const bits = this.scalarBits(module.operand(at, 1), at), opcode = module.operand(at, 3);
    const compute = OPERATIONS[opcode];
    if (compute === undefined) {
      return module.fail(at, "spirv.constant", `the constant operation ${opcode} is not evaluated`);
    }
    const [a, b] = [4, 5].map((operand) => this.constant(module.operand(at, operand), at));
    if (b === 0n && (opcode === Op.UDiv || opcode === Op.UMod)) {
      return module.fail(at, "spirv.constant", "a constant is divided by zero");
    }
    return BigInt.asUintN(bits, compute(a, b));
  }

  #memberEnd(type: number, member: number, index: number, at: number): number {
    const offset = this.memberDecoration(type, index, Decoration.Offset);
    if (offset === undefined) {
      return this.module.fail(at, "spirv.layout", `member ${index} of struct ${type} has no Offset`);
    }
    const stride = this.memberDecoration(type, index, Decoration.MatrixStride);
    if (stride === undefined) return offset + this.byteSize(member, at);
    return offset + this.#matrixBytes(type, member, index, stride, at);
  }

  /** Bytes of a member that is a matrix or an array (of arrays) of them. */
  #matrixBytes(type: number, member: number, index: number, stride: number, user: number): number {
    const { module } = this;
    const at = this.definition(member, user);
    if (module.opcode(at) === Op.TypeArray) return this.byteSize(member, user);
    if (module.opcode(at) === Op.TypeRuntimeArray) return 0;
    const columns = module.operand(at, 3);
    const rows = module.operand(this.definition(module.operand(at, 2), at), 3);
    return stride * (this.memberDecoration(type, index, Decoration.RowMajor) === undefined ? columns : rows);
  }

  #decorate(id: number, decoration: number, value: number): void {
    getOrAdd(this.#decorations, id, () => new Map()).set(decoration, value);
  }
}

/** Operations of unsigned integers that constants may use; the result is cut to its width. */
const OPERATIONS: Readonly<Record<number, (a: bigint, b: bigint) => bigint>> = {
  [Op.IAdd]: (a, b) => a + b,
  [Op.ISub]: (a, b) => a - b,
  [Op.IMul]: (a, b) => a * b,
  [Op.UDiv]: (a, b) => a / b,
  [Op.UMod]: (a, b) => a % b,
  [Op.ShiftRightLogical]: (a, b) => a >> b,
  [Op.ShiftLeftLogical]: (a, b) => a << b,
  [Op.BitwiseOr]: (a, b) => a | b,
  [Op.BitwiseXor]: (a, b) => a ^ b,
  [Op.BitwiseAnd]: (a, b) => a & b,
};

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, value = make());
  return value;
}
