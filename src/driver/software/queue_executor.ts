import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { GDS_BYTES } from "../../rdna/gds.ts";
import type { Target } from "../../rdna/target.ts";
import { IsolateRegistry, type IsolatesHandle } from "../../sync/isolates.ts";
import type { OpenedExecutor } from "../queues/executor_kinds.ts";
import type { ExecutorSource } from "../queues/messages.ts";
import { SoftwareExecutor } from "./software_executor.ts";

/** Data of the kind `software`. */
interface SoftwareSource {
  readonly registry: IsolatesHandle;
  readonly target: Target;
  readonly gds: SharedArrayBuffer;
}

/**
 * The interpreter in the isolates of queues. For tests and comparisons: the interpreter's atomic operations are not atomic against another
 * isolate's, so the software device runs queues in turns.
 */
export function softwareSource(registry: IsolateRegistry, target: Target): ExecutorSource {
  const data: SoftwareSource = { registry: registry.handle, target, gds: new SharedArrayBuffer(GDS_BYTES) };
  return { kind: "software", data };
}

/** Opens what {@linkcode softwareSource} described. */
export function openSoftwareQueue(data: unknown, memory: GuestMemory): OpenedExecutor {
  const { registry, target, gds } = data as SoftwareSource;
  const executor = new SoftwareExecutor({ target, gds: new Uint8Array(gds) });
  executor.attach(memory);
  // Last: who cannot begin is no member.
  return { self: IsolateRegistry.attach(registry).enter(), executor };
}
