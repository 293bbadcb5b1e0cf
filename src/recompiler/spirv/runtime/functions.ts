import type { RecompilerDevice } from "../../request.ts";
import { Body } from "../body.ts";
import { FunctionControl } from "../codes.ts";
import type { Module, T } from "../module.ts";

/** Functions that modules call. Each is written when it is first asked for, and once. */
export class RuntimeFunctions {
  private readonly ids = new Map<string, number>();
  /** Shared values of the functions, by name (ids of global variables). */
  readonly variables = new Map<string, number>();
  /** LDS is an array of 64-bit elements, see lds_cells.ts. Must be set before LDS is first accessed. */
  wideLds = false;
  /** What becomes of f32 denormals in float instructions of a module that must keep them. Must be set before anything is emitted. */
  denormals: "kept" | "keptInSums" | "lost" = "kept";

  constructor(readonly module: Module, readonly device: RecompilerDevice) {}

  /**
   * Id of the function `name`; `write` fills its body, return included.
   *
   * @param outOfLine asks consumers of the module not to inline it: for what rarely runs.
   */
  get(name: string, result: T, parameters: readonly T[], write: (body: Body) => void, outOfLine = false): number {
    let id = this.ids.get(name);
    if (id === undefined) {
      id = this.module.bound++;
      this.ids.set(name, id);
      const body = Body.start(
        this.module,
        id,
        result,
        parameters,
        outOfLine ? FunctionControl.DontInline : FunctionControl.None,
      );
      write(body);
      body.finish();
    }
    return id;
  }

  /** Id of a global variable that several functions share. */
  variable(name: string, make: () => number): number {
    let id = this.variables.get(name);
    if (id === undefined) this.variables.set(name, id = make());
    return id;
  }
}
