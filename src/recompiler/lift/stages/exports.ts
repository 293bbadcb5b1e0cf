/**
 * Exports (AMD RDNA2 ISA, section 12.18 and chapter 11). Where something is exported the values go to slots of the register state, one for each component of
 * each target, and what the slots hold at the program's end is what is exported: control flow needs nothing of its own.
 */
import { Flag, type Instruction } from "../../../rdna/instruction.ts";
import { Op, Type } from "../../ir/ops.ts";
import type { ExportFormat, PixelState } from "../../stages/state.ts";
import { ExportTarget, isCompressed } from "../../stages/export_targets.ts";
import type { Lifter } from "../context.ts";
import type { Define } from "../dispatch.ts";
import { refuse } from "../refusal.ts";
import { Slot } from "../slots.ts";
import { exportGroup } from "./group.ts";

/** Targets whose components have slots: colours, depth and positions first, then the parameters. */
const LOW_TARGETS = 16;

/** Index of a target among those with slots. */
export function exportIndex(target: number): number {
  return target < LOW_TARGETS ? target : target - ExportTarget.Param0 + LOW_TARGETS;
}

/** Adds the handlers of this class. */
export function defineExports(define: Define): void {
  define("exp", (l, i) => {
    const { graphics } = l.request;
    if (l.group !== undefined) return exportGroup(l, i, l.group);
    if (graphics === undefined) refuse("it belongs to graphics stages, this is a compute program");
    if (graphics.stage === "pixel") exportPixel(l, i, graphics);
    else if (i.dim === ExportTarget.Primitive) exportPrimitive(l, i);
    else exportVertex(l, i);
  });
}

function exportPixel(l: Lifter, i: Instruction, state: PixelState): void {
  const target = i.dim;
  if (target < ExportTarget.Depth) store(l, i, state.colors[target].format);
  else if (target === ExportTarget.Depth) store(l, i, state.depthFormat);
  else if (target !== ExportTarget.Null) refuse(`export target ${target} in a pixel program`);
  // The mask of pixels that count is EXEC at the last export that says so.
  if (i.flags & Flag.ValidMask) l.state.set(Slot.Valid, l.exec());
  if (i.flags & Flag.Done) l.state.set(Slot.Done, l.true);
}

function exportVertex(l: Lifter, i: Instruction): void {
  const target = i.dim;
  const isPosition = target >= ExportTarget.Position0 && target < ExportTarget.Position0 + 4;
  if (!isPosition && target < ExportTarget.Param0) refuse(`export target ${target} in a vertex program`);
  if (i.flags & Flag.Compr) refuse("a compressed export in a vertex program");
  store(l, i, "32_abgr");
}

/** The primitive that a lane of an NGG wave exports: looked at when the program is lifted (stages/merged_wave.ts). */
function exportPrimitive(l: Lifter, i: Instruction): void {
  const { graphics } = l.request;
  if (graphics?.stage !== "vertex" || graphics.form !== "ngg") refuse("a primitive export outside of NGG programs");
  if (i.mode !== 1 || (i.flags & Flag.Done) === 0) {
    refuse("a primitive export of another form than one word that is done");
  }
  const exec = l.exec();
  let value = l.source(i.src0);
  while (l.ir.op[value] === Op.Select && l.ir.a[value] === exec) value = l.ir.b[value];
  l.ir.emit(Op.GsPrimitive, l.asU(value), exec);
}

/** Puts the components into their slots, in the active lanes. */
function store(l: Lifter, i: Instruction, format: ExportFormat): void {
  if (format === "zero" || i.mode === 0) return;
  const compressed = (i.flags & Flag.Compr) !== 0;
  if (isCompressed(format) !== compressed) {
    refuse(
      `an export that is ${compressed ? "" : "not "}compressed, to a target whose format is ${format.toUpperCase()}`,
    );
  }
  const { state } = l, exec = l.exec(), index = exportIndex(i.dim), exported = Slot.Exported0 + index;
  if (l.and(exec, state.values[exported]) !== l.false) refuse("a lane may come to two exports to one target");
  const sources = [i.src0, i.src1, i.src2, i.src3];
  for (let k = 0; k < (compressed ? 2 : 4); k++) {
    const enabled = compressed ? (i.mode >> 2 * k & 3) !== 0 : (i.mode >> k & 1) !== 0;
    if (!enabled) continue;
    if (compressed && (i.mode >> 2 * k & 3) !== 3) refuse("a compressed export of half a word");
    const slot = Slot.Export0 + index * 4 + k;
    state.set(slot, l.select(exec, l.source(sources[k]), state.values[slot]));
  }
  state.set(exported, l.or(exec, state.values[exported]));
}

/** Emits what the slots hold: called right before the program's end. */
export function emitExports(l: Lifter): void {
  const { ir, state, request: { graphics } } = l;
  if (graphics === undefined) return;
  const pixel = graphics.stage === "pixel";
  if (pixel && state.values[Slot.Done] !== l.true) {
    refuse("the program may end without an export that is done: nothing says then which pixels count");
  }
  const valid = pixel ? state.values[Slot.Valid] : l.true;
  const targets = pixel ? Array.from({ length: ExportTarget.Depth + 1 }, (_, t) => t) : [
    ...Array.from({ length: 4 }, (_, t) => ExportTarget.Position0 + t),
    ...Array.from({ length: 32 }, (_, t) => ExportTarget.Param0 + t),
  ];
  for (const target of targets) {
    const index = exportIndex(target), exported = state.values[Slot.Exported0 + index];
    if (exported === l.false) continue;
    const parts = [0, 1, 2, 3].map((k) => l.asU(state.values[Slot.Export0 + index * 4 + k]));
    const vector = ir.append(Op.Vec, Type.V4, parts[0], parts[1], parts[2], parts[3]);
    ir.emit(Op.Export, vector, l.and(exported, valid), target);
  }
  if (pixel) ir.emit(Op.Valid, valid);
}
