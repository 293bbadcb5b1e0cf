/**
 * Which words of a push-constant block are floats.
 *
 * @module
 */
import { Declarations } from "../corpus/spirv/declarations.ts";
import type { SpirvModule } from "../corpus/spirv/module.ts";
import { Decoration, Op, StorageClass } from "../corpus/spirv/numbers.ts";

/** Indices of the words that are 32-bit floats. Members of members and arrays count as integers. */
export function floatPushWords(module: SpirvModule): ReadonlySet<number> {
  const declarations = new Declarations(module), floats = new Set<number>();
  for (const at of declarations.variables) {
    if (module.operand(at, 3) !== StorageClass.PushConstant) continue;
    const struct = module.operand(declarations.definition(module.operand(at, 1), at), 3);
    const definition = declarations.definition(struct, at);
    if (module.opcode(definition) !== Op.TypeStruct) continue;
    module.operands(definition, 2).forEach((type, member) => {
      const offset = declarations.memberDecoration(struct, member, Decoration.Offset);
      const of = declarations.definition(type, definition);
      if (offset !== undefined && module.opcode(of) === Op.TypeFloat && module.operand(of, 2) === 32) {
        floats.add(offset / 4);
      }
    });
  }
  return floats;
}
