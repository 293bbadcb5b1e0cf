import type { Ir } from "../ir/ir.ts";
import { InputKind, Op, Type } from "../ir/ops.ts";
import { type Tape, TapeBuilder } from "./tape.ts";

/**
 * What the host computes before each dispatch of a program, and where the program finds it: numbers, and buffers. A buffer is a V# whose words the host
 * knows; the program sees its device address and size instead of the words.
 */

/** How an instruction reads a V#. */
export const BufferForm = {
  /** MUBUF without an index: OOB_SELECT decides on the offset that is out of range. */
  Vector: 0,
  /** s_buffer_load: NUM_RECORDS records of STRIDE bytes (bytes where that is 0). */
  Scalar: 1,
} as const;
/** One of the values of {@linkcode BufferForm}. */
export type BufferForm = typeof BufferForm[keyof typeof BufferForm];

/** A buffer of the program, as the lift found it. */
export interface PlannedBuffer {
  /** Tape nodes of the descriptor's four words. */
  readonly words: readonly [number, number, number, number];
  readonly form: BufferForm;
}

/** Numbers and buffers that the lift wants to have from the host. */
export class ResourcePlan {
  /** Tape node of each number; `Input` operations name them. */
  readonly values: number[] = [];
  readonly buffers: PlannedBuffer[] = [];
  private readonly builder: TapeBuilder;
  private readonly inputs = new Map<number, number>();
  private readonly bufferIndex = new Map<string, number>();

  constructor(private readonly ir: Ir) {
    this.builder = new TapeBuilder(ir);
  }

  /** The host's number instead of a U32 value that it can compute; the value itself where it cannot, or need not. */
  value(id: number): number {
    const { ir, builder } = this;
    if (ir.op[id] === Op.Const || ir.op[id] === Op.Input || ir.type[id] !== Type.U32 || !builder.isKnown(id)) return id;
    const node = builder.node(id);
    let input = this.inputs.get(node);
    if (input === undefined) {
      input = ir.append(Op.Input, Type.U32, InputKind.Resolved, this.values.push(node) - 1);
      builder.declare(input, node);
      this.inputs.set(node, input);
    }
    return input;
  }

  /** Whether the host can compute a value. */
  isKnown(id: number): boolean {
    return this.builder.isKnown(id);
  }

  /** Number of the buffer that these words describe, or -1 when the host cannot know them. */
  buffer(words: readonly number[], form: BufferForm): number {
    const { builder, bufferIndex } = this;
    if (!words.every((id) => builder.isKnown(id))) return -1;
    const nodes = words.map((id) => builder.node(id)) as [number, number, number, number];
    const key = `${form}:${nodes.join()}`;
    let index = bufferIndex.get(key);
    if (index === undefined) bufferIndex.set(key, index = this.buffers.push({ words: nodes, form }) - 1);
    return index;
  }

  /** The tape of everything asked for. */
  tape(): Tape {
    return this.builder.finish();
  }
}

/** Where accesses say which buffer they go to: bits 8.. of their immediate operand hold its number + 1, and their address is an offset. */
export const BUFFER_SHIFT = 8;

/** Buffer of an access by its immediate operand (width or atomic kind); -1: it goes to a guest address. */
export function bufferOf(immediate: number): number {
  return (immediate >>> BUFFER_SHIFT) - 1;
}

/** What a module and its host agree on, beside abi.ts. Made by the emitter: only what the program uses in the end. */
export interface Resources {
  readonly tape: Tape;
  /** Tape nodes of the numbers, a dword each, from the start of the resolved area on. */
  readonly values: Int32Array;
  /** Byte offset in the resolved area of the U64 part, and size of the whole in bytes. */
  readonly wideOffset: number;
  readonly bytes: number;
  readonly buffers: readonly ResolvedBuffer[];
  /** The program also writes memory by other ways than these buffers. */
  readonly writesElsewhere: boolean;
}

/** A buffer that the module uses. Places are byte offsets in the resolved area. */
export interface ResolvedBuffer extends PlannedBuffer {
  /** U64: device address of the first byte. */
  readonly base: number;
  /** U32: offsets from this one on are out of range. */
  readonly limit: number;
  /** U64: bytes from the first one to the end of its window; -1 when nobody asks. */
  readonly extent: number;
  /** U64: the guest address of the first byte; -1 when nobody asks. */
  readonly guest: number;
  /** Access bits of what the program does with it. */
  readonly access: number;
  /** What its first byte's address must be a multiple of. */
  readonly alignment: number;
}
