import { Decoration, Storage } from "../codes.ts";
import type { Module, T } from "../module.ts";

/** Input and output variables of a graphics stage, each made when it is first asked for. */
export class StageVariables {
  private readonly known = new Map<string, number>();

  constructor(private readonly module: Module) {}

  /** A built-in input or output. `flat`: integer inputs of fragment shaders must be. */
  builtIn(storage: number, builtIn: number, type: T, flat = false): number {
    return this.once(`builtIn${storage}.${builtIn}`, () => {
      const id = this.module.variable(storage, this.module.type(type));
      this.module.decorate(id, Decoration.BuiltIn, builtIn);
      if (flat) this.module.decorate(id, Decoration.Flat);
      return id;
    });
  }

  /** A built-in that is an array of `count` elements. */
  builtInArray(storage: number, builtIn: number, element: T, count: number, flat = false): number {
    return this.once(`builtIn${storage}.${builtIn}`, () => {
      const id = this.module.variable(storage, this.module.array(element, count));
      this.module.decorate(id, Decoration.BuiltIn, builtIn);
      if (flat) this.module.decorate(id, Decoration.Flat);
      return id;
    });
  }

  /** The variable at a location, with its decorations. */
  location(storage: number, location: number, type: T, decorations: readonly number[] = []): number {
    return this.once(`location${storage}.${location}`, () => {
      const id = this.module.variable(storage, this.module.type(type));
      this.module.decorate(id, Decoration.Location, location);
      for (const decoration of decorations) this.module.decorate(id, decoration);
      return id;
    });
  }

  /** The variable at a location that has a vector for each of the primitive's three vertices. */
  perVertex(storage: number, location: number, type: T): number {
    return this.once(`location${storage}.${location}`, () => {
      const id = this.module.variable(storage, this.module.array(type, 3));
      this.module.decorate(id, Decoration.Location, location);
      this.module.decorate(id, Decoration.PerVertex);
      return id;
    });
  }

  private once(key: string, make: () => number): number {
    let id = this.known.get(key);
    if (id === undefined) this.known.set(key, id = make());
    return id;
  }
}

/** Storage classes of the interface. */
export const { Input: INPUT, Output: OUTPUT } = Storage;
