import { layoutOf } from "./layout.ts";
import type { Registry } from "./registry.ts";
import type { Topic } from "./used.ts";

/** What one generated file holds. */
export interface Selection {
  readonly topic: Topic;
  /** Enumerations, in order of first use. */
  readonly enums: readonly string[];
  /** Structs, each after those that it contains. */
  readonly structs: readonly string[];
  readonly commands: readonly string[];
}

/** Gives every needed struct and enumeration to the first topic that needs it. */
export function select(registry: Registry, topics: readonly Topic[]): Selection[] {
  const taken = new Set<string>(["VkStructureType"]); // sType values are part of the struct layouts
  return topics.map((topic) => {
    const enums: string[] = [];
    const structs: string[] = [];
    const addType = (type: string) => {
      const name = registry.canonical(type);
      const enumeration = registry.enumOf(name);
      if (enumeration !== undefined) addEnum(enumeration);
      if (registry.structs.has(name)) addStruct(name);
    };
    const addEnum = (name: string) => {
      const declaration = registry.enums.get(name);
      if (taken.has(name) || declaration === undefined || declaration.values.length === 0) return;
      taken.add(name);
      enums.push(name);
    };
    const addStruct = (name: string) => {
      if (taken.has(name)) return;
      taken.add(name);
      // What is only pointed at is needed as well, except the input chain, which has no type.
      for (const { declaration } of layoutOf(registry, name).members) addType(declaration.type);
      structs.push(name);
    };
    for (const name of topic.enums ?? []) {
      if (!registry.enums.has(name)) throw new Error(`the registry knows no enumeration ${name}`);
      addEnum(name);
    }
    for (const name of topic.commands ?? []) {
      const command = registry.commands.get(name);
      if (command === undefined) throw new Error(`the registry knows no command ${name}`);
      for (const { type } of command.parameters) {
        if (type !== "VkAllocationCallbacks") addType(type); // always null here
      }
    }
    for (const name of topic.structs ?? []) addStruct(name);
    return { topic, enums, structs, commands: topic.commands ?? [] };
  });
}
