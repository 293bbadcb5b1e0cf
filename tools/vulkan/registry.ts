import { child, elements, parseXml, textOf, type XmlElement } from "./xml.ts";

/** A declaration in C: a struct member or a command parameter. */
export interface Declaration {
  readonly name: string;
  /** C type without const and stars. */
  readonly type: string;
  /** Number of stars. */
  readonly pointers: number;
  /** Product of the array sizes; undefined when it is no array. */
  readonly count?: number;
  /** May be left out (0). */
  readonly optional: boolean;
  /** Name of the VkStructureType that the member must hold. */
  readonly value?: string;
  /** Member that holds the number of elements that a pointer points at. */
  readonly length?: string;
  /** Narrower than its type. */
  readonly bitField: boolean;
}

/** Struct or union. */
export interface StructDeclaration {
  readonly name: string;
  readonly union: boolean;
  /** Only ever written by the implementation. */
  readonly returnedOnly: boolean;
  readonly members: readonly Declaration[];
}

/** Command (function). */
export interface CommandDeclaration {
  readonly name: string;
  readonly returns: string;
  readonly parameters: readonly Declaration[];
  /** Success codes of a command that returns VkResult. */
  readonly successCodes: readonly string[];
}

/** One value of an enumeration. */
export interface EnumValue {
  readonly name: string;
  readonly value: bigint;
}

/** Enumeration or bit mask. */
export interface EnumDeclaration {
  readonly name: string;
  /** Width in bits: 32 or 64. */
  readonly bits: number;
  readonly values: readonly EnumValue[];
}

/** How a scalar type is passed and stored. */
export type Scalar = "u8" | "u16" | "u32" | "i32" | "u64" | "i64" | "f32" | "f64";

/** What vk.xml says, for the versions and extensions asked for. */
export interface Registry {
  readonly headerVersion: string;
  readonly structs: ReadonlyMap<string, StructDeclaration>;
  readonly commands: ReadonlyMap<string, CommandDeclaration>;
  readonly enums: ReadonlyMap<string, EnumDeclaration>;
  /** API constants (VK_MAX_MEMORY_TYPES, VK_WHOLE_SIZE, ...). */
  readonly constants: ReadonlyMap<string, { readonly value: bigint | number; readonly bits: 32 | 64 }>;
  /** Names of the extensions' commands by extension. */
  readonly extensionCommands: ReadonlyMap<string, readonly string[]>;
  /** Follows type aliases. */
  canonical(type: string): string;
  /** Scalar form of a type; undefined for structs and unions. */
  scalar(type: string): Scalar | undefined;
  /** Enumeration whose values a type (enumeration or flags) takes. */
  enumOf(type: string): string | undefined;
}

const cTypes: Record<string, Scalar> = {
  char: "u8",
  uint8_t: "u8",
  uint16_t: "u16",
  uint32_t: "u32",
  int32_t: "i32",
  int: "i32",
  uint64_t: "u64",
  int64_t: "i64",
  size_t: "u64",
  float: "f32",
  double: "f64",
};

/**
 * Reads vk.xml (format: "The Khronos Vulkan API Registry" document of the Vulkan-Docs repository).
 *
 * @param source text of vk.xml
 * @param version highest core version whose values count, for example 1.3
 * @param extensions extensions whose values count
 */
export function readRegistry(source: string, version: number, extensions: readonly string[]): Registry {
  const root = parseXml(source);
  const types = new Map<string, XmlElement>();
  const structs = new Map<string, StructDeclaration>();
  let headerVersion = "";
  const constants = readConstants(root);
  for (const type of elements(child(root, "types")!, "type").filter(isVulkan)) {
    const name = type.attributes.name ?? nameOf(type);
    if (name === undefined) continue;
    types.set(name, type);
    const category = type.attributes.category;
    if (name === "VK_HEADER_VERSION") headerVersion = textOf(type).trim().split(/\s+/).pop()!;
    if ((category === "struct" || category === "union") && type.attributes.alias === undefined) {
      structs.set(name, {
        name,
        union: category === "union",
        returnedOnly: type.attributes.returnedonly === "true",
        members: elements(type, "member").filter(isVulkan).map((member) => readDeclaration(member, constants)),
      });
    }
  }

  const commands = new Map<string, CommandDeclaration>();
  for (const command of elements(child(root, "commands")!, "command").filter(isVulkan)) {
    const proto = child(command, "proto");
    if (proto === undefined) continue; // an alias
    const name = nameOf(proto)!;
    commands.set(name, {
      name,
      returns: textOf(child(proto, "type")!).trim(),
      parameters: elements(command, "param").filter(isVulkan).map((parameter) => readDeclaration(parameter, constants)),
      successCodes: command.attributes.successcodes?.split(",") ?? [],
    });
  }

  const canonical = (type: string): string => {
    const alias = types.get(type)?.attributes.alias;
    return alias === undefined ? type : canonical(alias);
  };
  const scalar = (type: string): Scalar | undefined => {
    if (type in cTypes) return cTypes[type];
    const element = types.get(canonical(type));
    switch (element?.attributes.category) {
      case "enum":
        return "i32";
      case "handle":
      case "funcpointer":
        return "u64";
      case "bitmask":
      case "basetype":
        return scalar(textOf(child(element, "type")!).trim());
    }
    return undefined;
  };
  const enumOf = (type: string): string | undefined => {
    const name = canonical(type);
    const element = types.get(name);
    if (element?.attributes.category === "enum") return name;
    if (element?.attributes.category === "bitmask") return element.attributes.bitvalues ?? element.attributes.requires;
    return undefined;
  };
  return {
    headerVersion,
    structs,
    commands,
    constants,
    enums: readEnums(root, version, extensions),
    extensionCommands: readExtensionCommands(root, extensions),
    canonical,
    scalar,
    enumOf,
  };
}

function isVulkan(element: XmlElement): boolean {
  const api = element.attributes.api ?? element.attributes.supported;
  return api === undefined || api.split(",").includes("vulkan");
}

function nameOf(element: XmlElement): string | undefined {
  const name = child(element, "name");
  return name === undefined ? undefined : textOf(name).trim();
}

function readDeclaration(element: XmlElement, constants: Registry["constants"]): Declaration {
  const name = nameOf(element)!;
  const text = textOf(element);
  const after = text.slice(text.indexOf(name, text.indexOf(textOf(child(element, "type")!))) + name.length);
  const sizes = [...after.matchAll(/\[\s*(\w+)\s*\]/g)].map(([, size]) =>
    Number(/^\d+$/.test(size) ? size : constants.get(size)!.value)
  );
  return {
    name,
    type: textOf(child(element, "type")!).trim(),
    pointers: text.split("*").length - 1,
    count: sizes.length === 0 ? undefined : sizes.reduce((product, size) => product * size, 1),
    optional: (element.attributes.optional ?? "").startsWith("true") || element.attributes.noautovalidity === "true",
    length: element.attributes.len?.split(",")[0],
    value: element.attributes.values,
    bitField: after.includes(":"),
  };
}

function readConstants(root: XmlElement): Map<string, { value: bigint | number; bits: 32 | 64 }> {
  const constants = new Map<string, { value: bigint | number; bits: 32 | 64 }>();
  const block = elements(root, "enums").find((one) => one.attributes.name === "API Constants")!;
  for (const { attributes } of elements(block, "enum")) {
    if (attributes.value === undefined) continue; // an alias
    const inverted = /^\(~(\d+)(U|ULL)\)$/.exec(attributes.value);
    if (inverted !== null) {
      const bits = inverted[2] === "ULL" ? 64 : 32;
      constants.set(attributes.name, { value: BigInt.asUintN(bits, ~BigInt(inverted[1])), bits });
    } else if (/^\d+$/.test(attributes.value)) {
      constants.set(attributes.name, { value: BigInt(attributes.value), bits: 32 });
    } else {
      constants.set(attributes.name, { value: parseFloat(attributes.value), bits: 32 });
    }
  }
  return constants;
}

function readEnums(root: XmlElement, version: number, extensions: readonly string[]): Map<string, EnumDeclaration> {
  const enums = new Map<string, { name: string; bits: number; values: EnumValue[] }>();
  const add = (name: string, value: EnumValue) => {
    const values = enums.get(name)?.values;
    if (values !== undefined && !values.some((one) => one.name === value.name)) values.push(value);
  };
  for (const block of elements(root, "enums")) {
    if (block.attributes.type === undefined) continue;
    const name = block.attributes.name;
    enums.set(name, { name, bits: Number(block.attributes.bitwidth ?? 32), values: [] });
    for (const one of elements(block, "enum").filter(isVulkan)) {
      if (one.attributes.alias === undefined) add(name, { name: one.attributes.name, value: ownValue(one) });
    }
  }
  const extend = (source: XmlElement, extension: number) => {
    for (const require of elements(source, "require").filter(isVulkan)) {
      for (const one of elements(require, "enum").filter(isVulkan)) {
        if (one.attributes.extends === undefined || one.attributes.alias !== undefined) continue;
        add(one.attributes.extends, { name: one.attributes.name, value: ownValue(one, extension) });
      }
    }
  };
  for (const feature of elements(root, "feature").filter(isVulkan)) {
    if (Number(feature.attributes.number) <= version) extend(feature, 0);
  }
  for (const extension of usedExtensions(root, extensions)) extend(extension, Number(extension.attributes.number));
  return enums;
}

/** Value of an enum element; for the offsets of extensions see "Vulkan Documentation and Extensions: Procedures and Conventions", 3.2. */
function ownValue({ attributes }: XmlElement, extension = 0): bigint {
  if (attributes.value !== undefined) return BigInt(attributes.value);
  if (attributes.bitpos !== undefined) return 1n << BigInt(attributes.bitpos);
  const block = BigInt(attributes.extnumber ?? extension) - 1n;
  const value = 1_000_000_000n + block * 1000n + BigInt(attributes.offset);
  return attributes.dir === "-" ? -value : value;
}

function readExtensionCommands(root: XmlElement, extensions: readonly string[]): Map<string, string[]> {
  return new Map(
    usedExtensions(root, extensions).map((extension) => [
      extension.attributes.name,
      elements(extension, "require").filter(isVulkan).flatMap((one) =>
        elements(one, "command").map((command) => command.attributes.name)
      ),
    ]),
  );
}

function usedExtensions(root: XmlElement, names: readonly string[]): XmlElement[] {
  const all = elements(child(root, "extensions")!, "extension").filter(isVulkan);
  return names.map((name) => {
    const extension = all.find((one) => one.attributes.name === name);
    if (extension === undefined) throw new Error(`the registry knows no extension ${name}`);
    return extension;
  });
}
