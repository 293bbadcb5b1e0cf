import type { Arena } from "../arena.ts";

/**
 * One member of a C struct: where it is, how a TypeScript value becomes its bytes and back.
 *
 * @template W type that is written
 * @template R type that is read
 * @template O whether the member may be left out (it is 0 then)
 */
export interface Field<W = unknown, R = unknown, O extends boolean = boolean> {
  /** Byte offset in the struct. */
  readonly at: number;
  /** Whether it may be left out. */
  readonly optional: O;
  /** Stores a value; `offset` is the member's own, in the arena. */
  write(arena: Arena, offset: number, value: W): void;
  /** Reads the value; `offset` is the member's own, in the arena. */
  read(arena: Arena, offset: number): R;
}

/** The members of a struct, whatever their types (method parameters are compared bivariantly, so `any` is not needed). */
export type Fields = Readonly<Record<string, Field<never, unknown>>>;

/** Object with the members to write; those that Vulkan lets be 0 may be left out. */
export type Init<F extends Fields> =
  & {
    readonly [K in keyof F as F[K] extends Field<never, unknown, false> ? K : never]: F[K] extends Field<infer W> ? W
      : never;
  }
  & {
    readonly [K in keyof F as F[K] extends Field<never, unknown, true> ? K : never]?: F[K] extends Field<infer W> ? W
      : never;
  };

/** Object with all members, as read. */
export type Values<F extends Fields> = { readonly [K in keyof F]: F[K] extends Field<never, infer R> ? R : never };

/** Layout of a C struct or union, with typed access to one in an {@linkcode Arena}. Made by the generator, from vk.xml. */
export class Struct<F extends Fields> {
  /** Made by generated code only. */
  constructor(
    /** Name in Vulkan. */
    readonly name: string,
    /** Size in bytes. */
    readonly byteLength: number,
    /** Alignment in bytes. */
    readonly alignment: number,
    /** Value of the sType member, or undefined when there is none. */
    readonly sType: number | undefined,
    /** Members other than sType. `fields.NAME.at` is the offset, for code that rewrites one member in place. */
    readonly fields: F,
  ) {}

  /** Allocates one for Vulkan to fill: zeroed, with sType and, if given, pNext. Returns its offset. */
  allocate(arena: Arena, pNext = 0n): number {
    const offset = arena.allocate(this.byteLength, this.alignment);
    if (this.sType !== undefined) {
      arena.setU32(offset, this.sType);
      arena.setU64(offset + 8, pNext);
    }
    return offset;
  }

  /** Allocates `count` of them for Vulkan to fill, one after the other. Returns the offset of the first. */
  allocateArray(arena: Arena, count: number): number {
    const offset = arena.allocate(this.byteLength * count, this.alignment);
    if (this.sType !== undefined) {
      for (let i = 0; i < count; i++) arena.setU32(offset + i * this.byteLength, this.sType);
    }
    return offset;
  }

  /** Allocates one and writes the members. Returns its offset. */
  place(arena: Arena, init: Init<F>): number {
    const offset = this.allocate(arena);
    this.write(arena, offset, init);
    return offset;
  }

  /** Allocates one and writes the members. Returns its address. */
  make(arena: Arena, init: Init<F>): bigint {
    return arena.address(this.place(arena, init));
  }

  /** Allocates an array and writes it. Returns the address of the first, or 0 for none. */
  makeArray(arena: Arena, inits: readonly Init<F>[]): bigint {
    if (inits.length === 0) return 0n;
    const offset = this.allocateArray(arena, inits.length);
    inits.forEach((init, i) => this.write(arena, offset + i * this.byteLength, init));
    return arena.address(offset);
  }

  /** Writes the given members, and sType; leaves the others as they are. */
  write(arena: Arena, offset: number, init: Init<F>): void {
    if (this.sType !== undefined) arena.setU32(offset, this.sType);
    for (const [name, value] of Object.entries(init)) {
      if (value === undefined) continue;
      const field = this.fields[name];
      field.write(arena, offset + field.at, value as never);
    }
  }

  /** Reads all members. */
  read(arena: Arena, offset: number): Values<F> {
    const values: Record<string, unknown> = {};
    for (const [name, field] of Object.entries(this.fields)) values[name] = field.read(arena, offset + field.at);
    return values as Values<F>;
  }

  /** Reads an array of `count`. */
  readArray(arena: Arena, offset: number, count: number): Values<F>[] {
    return Array.from({ length: count }, (_, i) => this.read(arena, offset + i * this.byteLength));
  }
}

/** Fields whose type says that they may be left out. */
export function optional<W, R>(field: Field<W, R, false>): Field<W, R, true> {
  return { ...field, optional: true };
}

/** Unsigned 8-bit member. */
export function u8(at: number): Field<number, number, false> {
  return scalar(at, (arena, o, v) => arena.view.setUint8(o, v), (arena, o) => arena.view.getUint8(o));
}

/** Unsigned 16-bit member. */
export function u16(at: number): Field<number, number, false> {
  return scalar(at, (arena, o, v) => arena.view.setUint16(o, v, true), (arena, o) => arena.view.getUint16(o, true));
}

/** Unsigned 32-bit member: counts, flags, VkBool32. */
export function u32(at: number): Field<number, number, false> {
  return scalar(at, (arena, o, v) => arena.view.setUint32(o, v, true), (arena, o) => arena.view.getUint32(o, true));
}

/** Signed 32-bit member; enumerations too. */
export function i32(at: number): Field<number, number, false> {
  return scalar(at, (arena, o, v) => arena.view.setInt32(o, v, true), (arena, o) => arena.view.getInt32(o, true));
}

/** Unsigned 64-bit member: addresses, handles, sizes, 64-bit flags. */
export function u64(at: number): Field<bigint, bigint, false> {
  return scalar(
    at,
    (arena, o, v) => arena.view.setBigUint64(o, v, true),
    (arena, o) => arena.view.getBigUint64(o, true),
  );
}

/** Signed 64-bit member. */
export function i64(at: number): Field<bigint, bigint, false> {
  return scalar(at, (arena, o, v) => arena.view.setBigInt64(o, v, true), (arena, o) => arena.view.getBigInt64(o, true));
}

/** Member of type float. */
export function f32(at: number): Field<number, number, false> {
  return scalar(at, (arena, o, v) => arena.view.setFloat32(o, v, true), (arena, o) => arena.view.getFloat32(o, true));
}

/** Member of type double. */
export function f64(at: number): Field<number, number, false> {
  return scalar(at, (arena, o, v) => arena.view.setFloat64(o, v, true), (arena, o) => arena.view.getFloat64(o, true));
}

/** Fixed-size character array, as text. */
export function text(at: number, byteLength: number): Field<string, string, false> {
  return scalar(at, (arena, o, v) => {
    const bytes = new TextEncoder().encode(v);
    if (bytes.length >= byteLength) {
      throw new RangeError(`the text ${JSON.stringify(v)} does not fit into ${byteLength} bytes`);
    }
    arena.bytes.fill(0, o, o + byteLength);
    arena.bytes.set(bytes, o);
  }, (arena, o) => arena.getText(o, byteLength));
}

/** Struct or union inside the struct. */
export function nested<F extends Fields>(at: number, struct: Struct<F>): Field<Init<F>, Values<F>, false> {
  return scalar(at, (arena, o, v) => struct.write(arena, o, v), (arena, o) => struct.read(arena, o));
}

/** Fixed-size array inside the struct; `element` describes element 0 (at 0), `stride` is the distance in bytes. */
export function array<W, R>(
  at: number,
  count: number,
  stride: number,
  element: Field<W, R, false>,
): Field<readonly W[], readonly R[], false> {
  return scalar(at, (arena, o, v) => {
    if (v.length > count) throw new RangeError(`${v.length} elements do not fit into an array of ${count}`);
    v.forEach((one, i) => element.write(arena, o + i * stride, one));
  }, (arena, o) => Array.from({ length: count }, (_, i) => element.read(arena, o + i * stride)));
}

function scalar<W, R>(
  at: number,
  write: (arena: Arena, offset: number, value: W) => void,
  read: (arena: Arena, offset: number) => R,
): Field<W, R, false> {
  return { at, optional: false, write, read };
}
