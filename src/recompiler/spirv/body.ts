import { Code, FunctionControl, MemoryOperand, Storage } from "./codes.ts";
import { type Module, T } from "./module.ts";
import { Words } from "./words.ts";

/**
 * Writes one function. Every method appends one instruction and returns the id of its result; operands are ids. The block that is being written
 * is {@linkcode block}, which a phi needs as its predecessor.
 */
export class Body {
  /** The words so far. */
  readonly words: Words;
  /** Label of the current block. */
  block = 0;
  /** Ids of the parameters. */
  readonly parameters: number[] = [];

  private constructor(readonly module: Module, readonly id: number, capacity: number) {
    this.words = new Words(capacity);
  }

  /** Starts a function and its first block. */
  static start(
    module: Module,
    id: number,
    result: T,
    parameters: readonly T[] = [],
    control: number = FunctionControl.None,
    capacity = 128,
  ): Body {
    const body = new Body(module, id, capacity);
    const { words } = body;
    words.put5(Code.Function, module.type(result), id, control, module.functionType(result, parameters));
    for (const type of parameters) {
      const parameter = module.bound++;
      words.put3(Code.FunctionParameter, module.type(type), parameter);
      body.parameters.push(parameter);
    }
    body.label(module.bound++);
    return body;
  }

  /** Ends the function and hands it to the module. */
  finish(): void {
    this.words.put1(Code.FunctionEnd);
    this.module.addFunction(this.words);
  }

  /** An instruction with one operand. */
  op1(opcode: number, type: T, a: number): number {
    const id = this.module.bound++;
    this.words.put4(opcode, this.module.type(type), id, a);
    return id;
  }

  /** An instruction with two operands. */
  op2(opcode: number, type: T, a: number, b: number): number {
    const id = this.module.bound++;
    this.words.put5(opcode, this.module.type(type), id, a, b);
    return id;
  }

  /** An instruction with three operands. */
  op3(opcode: number, type: T, a: number, b: number, c: number): number {
    const id = this.module.bound++;
    this.words.put6(opcode, this.module.type(type), id, a, b, c);
    return id;
  }

  /** An instruction with any number of operands. */
  ops(opcode: number, type: T, operands: readonly number[]): number {
    const id = this.module.bound++;
    this.words.put(opcode, [this.module.type(type), id, ...operands]);
    return id;
  }

  /** An instruction of GLSL.std.450 with one operand. */
  glsl1(instruction: number, type: T, a: number): number {
    const id = this.module.bound++;
    this.words.put6(Code.ExtInst, this.module.type(type), id, this.module.glsl, instruction, a);
    return id;
  }

  /** An instruction of GLSL.std.450. */
  glsl(instruction: number, type: T, operands: readonly number[]): number {
    const id = this.module.bound++;
    this.words.put(Code.ExtInst, [this.module.type(type), id, this.module.glsl, instruction, ...operands]);
    return id;
  }

  /** Calls a function. */
  call(functionId: number, result: T, args: readonly number[]): number {
    return this.ops(Code.FunctionCall, result, [functionId, ...args]);
  }

  /** OpSelect. */
  select(type: T, condition: number, yes: number, no: number): number {
    return this.op3(Code.Select, type, condition, yes, no);
  }

  /** Composite member by a literal index. */
  extract(type: T, composite: number, index: number): number {
    return this.op2(Code.CompositeExtract, type, composite, index);
  }

  /** A value of a variable, or of a pointer that needs no alignment. */
  load(type: T, pointer: number): number {
    return this.op1(Code.Load, type, pointer);
  }

  /** Loads from a device address (U64) that is a multiple of `alignment` bytes. */
  loadAt(type: T, address: number, alignment: number, volatile = false): number {
    const pointer = this.pointerAt(type, address);
    const id = this.module.bound++;
    const access = MemoryOperand.Aligned | (volatile ? MemoryOperand.Volatile : 0);
    this.words.put6(Code.Load, this.module.type(type), id, pointer, access, alignment);
    return id;
  }

  /** Stores to a device address (U64) that is a multiple of `alignment` bytes. */
  storeAt(type: T, address: number, value: number, alignment: number, volatile = false): void {
    const pointer = this.pointerAt(type, address);
    const access = MemoryOperand.Aligned | (volatile ? MemoryOperand.Volatile : 0);
    this.words.put5(Code.Store, pointer, value, access, alignment);
  }

  /** A pointer into buffer memory from a device address. */
  pointerAt(type: T, address: number): number {
    const id = this.module.bound++;
    const pointer = this.module.pointer(Storage.PhysicalStorageBuffer, type);
    this.words.put4(Code.ConvertUToPtr, pointer, id, address);
    return id;
  }

  /** A pointer to an element of a composite variable. */
  element(storage: number, type: T, base: number, index: number): number {
    const id = this.module.bound++;
    this.words.put5(Code.AccessChain, this.module.pointer(storage, type), id, base, index);
    return id;
  }

  /** Value of a push constant member. */
  push(member: { offset: number; type: T }): number {
    const index = this.module.u32(this.module.pushMember(member.offset, member.type));
    const pointer = this.element(Storage.PushConstant, member.type, this.module.pushVariable, index);
    return this.load(member.type, pointer);
  }

  /** Starts a block. */
  label(label: number): void {
    this.words.put2(Code.Label, label);
    this.block = label;
  }

  /** Ends the block with a jump. */
  branch(label: number): void {
    this.words.put2(Code.Branch, label);
  }

  /** Ends the block with a two-way jump. */
  branchIf(condition: number, yes: number, no: number): void {
    this.words.put4(Code.BranchConditional, condition, yes, no);
  }

  /** Declares where the arms of the next two-way jump meet. */
  selectionMerge(label: number): void {
    this.words.put3(Code.SelectionMerge, label, 0);
  }

  /** A phi of two values. */
  phi2(type: T, a: number, fromA: number, b: number, fromB: number): number {
    return this.ops(Code.Phi, type, [a, fromA, b, fromB]);
  }

  /**
   * `condition ? yes() : no()` as blocks; `no` may be left out when there is no result. The callbacks write the arms and return the result's id.
   */
  choose(type: T, condition: number, yes: () => number, no?: () => number): number {
    const merge = this.module.bound++, first = this.module.bound++;
    const second = no === undefined ? merge : this.module.bound++;
    this.selectionMerge(merge);
    this.branchIf(condition, first, second);
    this.label(first);
    const a = yes();
    const fromA = this.block;
    this.branch(merge);
    let b = 0, fromB = 0;
    if (no !== undefined) {
      this.label(second);
      b = no();
      fromB = this.block;
      this.branch(merge);
    }
    this.label(merge);
    return type === T.Void ? 0 : this.phi2(type, a, fromA, b, fromB);
  }

  /** Runs `arm` when the condition holds. */
  when(condition: number, arm: () => void): void {
    this.choose(T.Void, condition, () => {
      arm();
      return 0;
    });
  }

  /** OpReturn. */
  return(): void {
    this.words.put1(Code.Return);
  }

  /** OpReturnValue. */
  returnValue(value: number): void {
    this.words.put2(Code.ReturnValue, value);
  }
}
