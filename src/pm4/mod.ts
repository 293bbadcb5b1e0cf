/**
 * PM4: packets in, register state and actions out. Knows nothing of Vulkan, and of guest memory only what {@linkcode CommandMemory} says.
 *
 * @module
 */
export { type ComputeProgram, computeProgram, computeUserData, USER_DATA_COUNT } from "./compute_program.ts";
export { decodePackets, type Packet, scanPackets } from "./decode.ts";
export { disassemble, type DisassembleOptions } from "./disassemble.ts";
export { QueueExecutor, type StepResult } from "./execute.ts";
export { packetHeader } from "./header.ts";
export { knownPackets } from "./lookup.ts";
export type { PacketDefinition, WaitDescription } from "./packets/definition.ts";
export { Bank, BANKS, fieldValue, Reg, registerAt, registerName, registerNamed, RegisterState } from "./registers.ts";
export type {
  BarrierCommand,
  CommandMemory,
  CommandSink,
  DispatchCommand,
  DispatchIndirectCommand,
  DispatchState,
  PacketSource,
  ReleaseCommand,
} from "./sink.ts";
export { GRAPHICS_QUEUE, type QueueKind, queueKind, type Submission } from "./submission.ts";
export { checkSubmission, type PacketProblem, validateSubmission } from "./validate.ts";
export type { ValidatedSubmission } from "./validated.ts";
