import { Code } from "../codes.ts";
import { T } from "../module.ts";
import type { RuntimeFunctions } from "./functions.ts";

/** Id of `(a, b, c) -> c` plus the products of the parts of a and b. `form` as operand d of the IR's DotParts. */
export function dotParts(functions: RuntimeFunctions, form: number): number {
  const bits = form & 0xff;
  return functions.get(`dot${form}`, T.U32, [T.U32, T.U32, T.U32], (body) => {
    const { module } = body;
    const [a, b, c] = body.parameters;
    const extract = (form & 0x100) !== 0 ? Code.BitFieldSExtract : Code.BitFieldUExtract;
    let sum = c;
    for (let at = 0; at < 32; at += bits) {
      const [x, y] = [a, b].map((word) => body.op3(extract, T.U32, word, module.u32(at), module.u32(bits)));
      sum = body.op2(Code.IAdd, T.U32, sum, body.op2(Code.IMul, T.U32, x, y));
    }
    body.returnValue(sum);
  });
}
