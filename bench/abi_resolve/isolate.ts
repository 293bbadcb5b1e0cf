/** A guest thread of bench/abi_resolve: resolves the ABIs of pixel shaders, or registers compute shaders. */
import { attachRoom, type RoomHandle } from "../../src/driver/pools/room.ts";
import { stageAbi } from "../../src/driver/registry/abi.ts";
import { createInterpolantMapping } from "../../src/driver/registry/interpolants.ts";
import { type RegistryHandle, ShaderRegistry } from "../../src/driver/registry/shader_registry.ts";
import { recompile } from "../../src/recompiler/recompile.ts";
import { addShaders, guestMemory, type ShaderSet } from "./shaders.ts";

/** What it is told first. */
export interface IsolateStart {
  readonly room: RoomHandle;
  readonly registry: RegistryHandle;
  readonly shaders: ShaderSet;
  /** Recompiled here before the start, where the loader recompiles. */
  readonly warm: ShaderSet;
  /** The loader resolves on its own thread. */
  readonly synchronous: boolean;
  readonly role: "loader" | "flooder";
  /** Milliseconds that the loader works on something else for each call. */
  readonly otherMs: number;
  /** Set to 1 for the start. */
  readonly go: Int32Array<SharedArrayBuffer>;
}

/** What it says at its end. */
export interface IsolateResult {
  /** Milliseconds of its loop. */
  readonly ms: number;
  /** Longest call. */
  readonly worstMs: number;
  /** Jobs that were not done when the loop ended. */
  readonly pending: number;
}

const scope = globalThis as unknown as { postMessage(message: "ready" | IsolateResult): void };

globalThis.addEventListener("message", (event) => {
  const start = (event as MessageEvent<IsolateStart>).data, { shaders, otherMs, go, role, synchronous } = start;
  const room = attachRoom(start.room), memory = guestMemory(shaders.bytes);
  const registry = ShaderRegistry.attach(room, start.registry, {
    memory,
    synchronous: role === "loader" && synchronous,
  });
  const calls: (() => void)[] = role === "flooder"
    ? shaders.computes.map((record) => () => registry.registerShader(record))
    : shaders.pixels.map((record) => {
      const shader = registry.registerShader(record);
      return () => {
        const mapping = createInterpolantMapping(record.inputs, record.inputs);
        const context = [...mapping].map((value, i) => ({ offset: 0x191 + i, value }));
        registry.resolveShaderAbi(shader, stageAbi(record, context));
      };
    });
  if (role === "loader" && synchronous) {
    addShaders(memory, start.warm);
    for (const record of start.warm.pixels.slice(0, 24)) {
      const shader = registry.find(record.codeAddress, registry.snapshot())!;
      recompile(registry.request(shader, stageAbi(record, [])));
    }
  }
  scope.postMessage("ready");
  Atomics.wait(go, 0, 0);
  const begin = performance.now();
  let worstMs = 0;
  for (const call of calls) {
    if (otherMs > 0 && role === "loader") work(otherMs);
    const before = performance.now();
    call();
    worstMs = Math.max(worstMs, performance.now() - before);
  }
  const ms = performance.now() - begin, { queued, claimed } = room.board.stats();
  room.registry.leave(room.self);
  scope.postMessage({ ms, worstMs, pending: queued + claimed });
  globalThis.close();
});

/** Other work of a loader. */
function work(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}
