/** NOP and the packets that AGC builds from it. Bits 7..2 of the header are the sub-code. */
import { GuestFaultError, RefusedError } from "../../errors.ts";
import type { PacketChecker, PacketExecute } from "./definition.ts";

/** First words of the markers of an older interface, which drivers must act on: not known here. */
const OLD_MARKER = 0x6875;

/** NOP proper: the body is whatever the buffer held, so it is never looked at, but for the old markers. */
export function checkNop(packet: PacketChecker): void {
  if (packet.size > 1 && packet.word(1) >>> 16 === OLD_MARKER) {
    packet.refuse("a payload 0x6875xxxx is a command of an older interface");
  }
}

/** NOP: nothing. */
export const executeNop: PacketExecute = () => true;

/** DISPATCH_RESET: the whole state of the queue is that of a new queue. */
export const executeDispatchReset: PacketExecute = (machine) => {
  machine.resetState();
  return true;
};

/** PUSH_MARKER carries text that a zero byte ends. */
export function checkPushMarker(packet: PacketChecker): void {
  if (markerText(packet.words, packet.at, packet.size) === null) packet.malformed("the text has no end (zero byte)");
}

/** PUSH_MARKER: tells the sink the text. */
export const executePushMarker: PacketExecute = (machine, words, at, size) => {
  machine.sink.marker?.(markerText(words, at, size) ?? "");
  return true;
};

/** POP_MARKER: tells the sink the end of the last one. */
export const executePopMarker: PacketExecute = (machine) => {
  machine.sink.marker?.(null);
  return true;
};

/** The text of a PUSH_MARKER packet, or null when no zero byte ends it. */
export function markerText(words: Uint32Array, at: number, size: number): string | null {
  const bytes = new Uint8Array((size - 1) * 4);
  const view = new DataView(bytes.buffer);
  for (let i = 1; i < size; i++) view.setUint32((i - 1) * 4, words[at + i], true);
  const end = bytes.indexOf(0);
  return end < 0 ? null : new TextDecoder().decode(bytes.subarray(0, end));
}

/** Operations of CONTEXT_STATE. */
const ContextOperation = { Clear: 0, Push: 1, Pop: 2, PushClear: 3 } as const;

/** CONTEXT_STATE: a known operation. */
export function checkContextState(packet: PacketChecker): void {
  if (packet.word(1) > ContextOperation.PushClear) {
    packet.refuse(`operation ${packet.word(1)} is not one of clear, push, pop, push and clear`);
  }
}

/** CONTEXT_STATE: clears, pushes and pops the CONTEXT registers. There is one level. */
export const executeContextState: PacketExecute = (machine, words, at) => {
  const operation = words[at + 1];
  if (operation === ContextOperation.Pop) {
    if (machine.pushedContext === null) {
      throw new GuestFaultError("pm4.context-stack", "CONTEXT_STATE pops, but nothing was pushed", machine.place());
    }
    machine.registers.context.set(machine.pushedContext);
    machine.pushedContext = null;
    return true;
  }
  if (operation !== ContextOperation.Clear) {
    if (machine.pushedContext !== null) {
      throw new RefusedError(
        "pm4.context-stack",
        "CONTEXT_STATE pushes twice without a pop; one level is known",
        machine.place(),
      );
    }
    machine.pushedContext = machine.registers.context.slice();
  }
  if (operation !== ContextOperation.Push) machine.registers.clearContext();
  return true;
};
