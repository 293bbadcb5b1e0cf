import type { Declaration, Registry, Scalar, StructDeclaration } from "./registry.ts";

/** Where a member is in its struct. */
export interface MemberLayout {
  readonly declaration: Declaration;
  /** Byte offset. */
  readonly at: number;
  /** Size of one element in bytes. */
  readonly elementBytes: number;
  /** Scalar form; undefined for a nested struct or union. */
  readonly scalar?: Scalar;
  /** Canonical name of the nested struct or union. */
  readonly struct?: string;
}

/** Size, alignment and member offsets of a struct or union. */
export interface StructLayout {
  readonly declaration: StructDeclaration;
  readonly byteLength: number;
  readonly alignment: number;
  readonly members: readonly MemberLayout[];
}

/** Size and alignment of the scalars, in bytes. */
export const scalarBytes: Readonly<Record<Scalar, number>> = {
  u8: 1,
  u16: 2,
  u32: 4,
  i32: 4,
  f32: 4,
  u64: 8,
  i64: 8,
  f64: 8,
};

/** Computes a layout by the rules of the System V ABI for x86-64 (chapter 3.1.2). */
export function layoutOf(registry: Registry, name: string): StructLayout {
  const declaration = registry.structs.get(name);
  if (declaration === undefined) throw new Error(`the registry knows no struct ${name}`);
  const members: MemberLayout[] = [];
  let end = 0, alignment = 1, largest = 0;
  for (const member of declaration.members) {
    if (member.bitField) throw new Error(`bit fields are not supported: ${name}.${member.name}`);
    const scalar = member.pointers > 0 ? "u64" : registry.scalar(member.type);
    const struct = scalar === undefined ? registry.canonical(member.type) : undefined;
    const inner = struct === undefined ? undefined : layoutOf(registry, struct);
    const elementBytes = inner?.byteLength ?? scalarBytes[scalar!];
    const memberAlignment = inner?.alignment ?? elementBytes;
    const bytes = elementBytes * (member.count ?? 1);
    const at = declaration.union ? 0 : Math.ceil(end / memberAlignment) * memberAlignment;
    end = at + bytes;
    largest = Math.max(largest, end);
    alignment = Math.max(alignment, memberAlignment);
    members.push({ declaration: member, at, elementBytes, scalar, struct });
  }
  return { declaration, byteLength: Math.ceil(largest / alignment) * alignment, alignment, members };
}
