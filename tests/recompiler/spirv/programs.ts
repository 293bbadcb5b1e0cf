/** Pieces of hand-built programs. */
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";

/** Guest addresses of the usual windows. */
export const INPUT = 0x2_0000_0000n, OUTPUT = 0xffff_8000_0000_1000n;

/** Builds a program that maps elements of the input window to elements of the output window, one per lane. */
export class Lanes {
  readonly ir = new Ir();
  readonly yes = this.ir.constB(true);
  /** Global number of the lane. */
  readonly index: number;
  private nextPc = 4;

  /** @param threads lanes of a workgroup. */
  constructor(threads: number) {
    const { ir } = this;
    const group = ir.append(Op.Input, Type.U32, InputKind.WorkgroupId, 0);
    const local = ir.append(Op.Input, Type.U32, InputKind.LocalIndex);
    this.index = ir.emit(Op.IAdd, ir.emit(Op.IMul, group, ir.constU(threads)), local);
  }

  /** U64 constant. */
  u64(value: bigint): number {
    const bits = BigInt.asUintN(64, value);
    return this.ir.append(Op.Const, Type.U64, Number(bits & 0xffffffffn) | 0, Number(bits >> 32n) | 0);
  }

  /** Address of dword `index * stride + offset` behind `base`. */
  address(base: bigint, index: number, stride: number, offset: number): number {
    const { ir } = this;
    const scaled = ir.emit(Op.UMulWide, index, ir.constU(stride * 4));
    return ir.emit(Op.IAdd64, this.u64(base + BigInt(offset * 4)), scaled);
  }

  /** Dword `offset` of the lane's `stride` dwords of input, as U32. */
  input(stride: number, offset: number): number {
    return this.load(this.address(INPUT, this.index, stride, offset), 4, Type.U32);
  }

  load(address: number, width: number, type: Type, active = this.yes): number {
    this.pc();
    return this.ir.append(Op.Load, type, address, active, width);
  }

  store(address: number, value: number, width: number, active = this.yes): void {
    this.pc();
    this.ir.emit(Op.Store, address, active, value, width);
  }

  /** Stores values of any scalar type as the lane's dwords of output. */
  output(values: readonly number[]): void {
    const { ir } = this;
    const dwords: number[] = [];
    for (const value of values) {
      switch (ir.type[value]) {
        case Type.Bool:
          dwords.push(ir.append(Op.Select, Type.U32, value, ir.constU(1), ir.constU(0)));
          break;
        case Type.F32:
          dwords.push(ir.emit(Op.BitcastU, value));
          break;
        case Type.U64:
          dwords.push(ir.emit(Op.Lo64, value), ir.emit(Op.Hi64, value));
          break;
        default:
          dwords.push(value);
      }
    }
    this.outputDwords(dwords);
  }

  private outputDwords(dwords: readonly number[]): void {
    const { ir } = this;
    for (let k = 0; k < dwords.length; k += 4) {
      const part = dwords.slice(k, k + 4);
      const address = this.address(OUTPUT, this.index, dwords.length, k);
      if (part.length === 1) this.store(address, part[0], 4);
      else {
        const type = (Type.V2 + part.length - 2) as Type;
        this.store(address, ir.append(Op.Vec, type, part[0], part[1], part[2] ?? 0, part[3] ?? 0), part.length * 4);
      }
    }
  }

  /** Moves the guest pc on. */
  pc(): number {
    this.ir.currentPc = this.nextPc;
    this.nextPc += 4;
    return this.ir.currentPc;
  }

  end(): Ir {
    this.ir.emit(Op.End);
    return this.ir;
  }
}
