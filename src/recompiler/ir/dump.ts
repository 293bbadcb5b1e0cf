import type { Ir } from "./ir.ts";
import { IfKind, InputKind, Op, OPS, Type, TYPE_NAMES } from "./ops.ts";

const INPUT_NAMES = names(InputKind);
const IF_NAMES = names(IfKind);

/**
 * Text of a program, one operation a line: guest pc, value with type, operation, operands. Constants are written at their uses, so the text does
 * not depend on where they stand. Stable: the same program gives the same text.
 */
export function dumpIr(ir: Ir): string {
  const lines: string[] = [];
  let depth = 0;
  for (let i = 0; i < ir.length; i++) {
    const op = ir.op[i];
    if (op === Op.Nop || op === Op.Const) continue;
    if (op === Op.Else || op === Op.EndIf || op === Op.LoopCont || op === Op.EndLoop) depth--;
    const result = ir.type[i] === Type.Void ? "" : `%${i}:${TYPE_NAMES[ir.type[i]]} = `;
    const operands = operandText(ir, i);
    const text = result + OPS[op].name + (operands === "" ? "" : " " + operands);
    lines.push(`${ir.pc[i].toString(16).padStart(4, "0")}  ${"  ".repeat(Math.max(depth, 0))}${text}`);
    if (op === Op.If || op === Op.Else || op === Op.Loop || op === Op.LoopCont) depth++;
  }
  return lines.join("\n") + "\n";
}

/** Text of one value as an operand: the constant, or `%id`. */
function valueText(ir: Ir, id: number): string {
  if (id === 0) return "none";
  if (ir.op[id] !== Op.Const) return `%${id}`;
  const bits = ir.a[id];
  switch (ir.type[id]) {
    case Type.Bool:
      return bits === 0 ? "false" : "true";
    case Type.U32:
      return (bits >= -64 && bits < 65536) ? String(bits) : "0x" + (bits >>> 0).toString(16);
    case Type.F32:
      return floatText(bits);
    default:
      return "0x" + ((BigInt(ir.b[id] >>> 0) << 32n) | BigInt(bits >>> 0)).toString(16) + TYPE_NAMES[ir.type[id]];
  }
}

function operandText(ir: Ir, i: number): string {
  const op = ir.op[i];
  if (op === Op.Input) return `${INPUT_NAMES[ir.a[i]]}${ir.a[i] <= InputKind.LocalId ? " " + ir.b[i] : ""}`;
  if (op === Op.If) return `${valueText(ir, ir.a[i])} ${IF_NAMES[ir.b[i]]}`;
  const columns = [ir.a[i], ir.b[i], ir.c[i], ir.d[i]];
  const kinds = OPS[op].operands;
  if (kinds === "pn") return ir.pool.slice(columns[0], columns[0] + columns[1]).map((v) => valueText(ir, v)).join(", ");
  const used = op === Op.Vec ? ir.type[i] - Type.V2 + 2 : kinds.length;
  const parts: string[] = [];
  for (let k = 0; k < used; k++) parts.push(kinds[k] === "v" ? valueText(ir, columns[k]) : `#${columns[k]}`);
  return parts.join(", ");
}

const floatView = new DataView(new ArrayBuffer(4));

function floatText(bits: number): string {
  floatView.setInt32(0, bits);
  const value = floatView.getFloat32(0);
  if (Number.isNaN(value)) return `nan(0x${(bits >>> 0).toString(16)})`;
  const text = Object.is(value, -0) ? "-0" : String(value);
  return /^-?\d+$/.test(text) ? text + ".0" : text + (text.includes("Infinity") ? "" : "f");
}

function names(table: Record<string, number>): string[] {
  const list: string[] = [];
  for (const [name, value] of Object.entries(table)) list[value] = name;
  return list;
}
