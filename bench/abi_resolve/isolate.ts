/** A guest thread of bench/abi_resolve: resolves the ABIs of pixel shaders, or registers compute shaders; one run for each message. */
import { attachRoom, type Room, type RoomHandle } from "../../src/driver/pools/room.ts";
import { stageAbi } from "../../src/driver/registry/abi.ts";
import { createInterpolantMapping } from "../../src/driver/registry/interpolants.ts";
import { type RegistryHandle, ShaderRegistry } from "../../src/driver/registry/shader_registry.ts";
import type { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import { recompile } from "../../src/recompiler/recompile.ts";
import { addShaders, guestMemory, type ShaderSet } from "./shaders.ts";

/** What it is told first. */
export interface IsolateStart {
  readonly room: RoomHandle;
  readonly shaders: ShaderSet;
  /** Where {@linkcode ShaderSet} `warm` was registered. */
  readonly registry: RegistryHandle;
  /** Recompiled here before the first run, where the loader recompiles in some. */
  readonly warm: ShaderSet;
  readonly role: "loader" | "flooder";
  /** Becomes the number of a run when it begins. */
  readonly go: Int32Array<SharedArrayBuffer>;
}

/** One run. */
export interface IsolateRun {
  /** Counts from 1. */
  readonly number: number;
  /** Nobody has registered anything there. */
  readonly registry: RegistryHandle;
  /** The loader resolves on its own thread. */
  readonly synchronous: boolean;
  /** Milliseconds that the loader works on something else for each call. */
  readonly otherMs: number;
}

/** What it says at a run's end. */
export interface IsolateResult {
  /** Milliseconds of its loop. */
  readonly ms: number;
  /** Longest call. */
  readonly worstMs: number;
  /** Jobs that were not done when the loop ended. */
  readonly pending: number;
}

/** What it says. */
export type IsolateMessage = "ready" | IsolateResult;

/** Shaders that the loader recompiles before its first run. */
const WARM_UP = 24;

const scope = globalThis as unknown as { postMessage(message: IsolateMessage): void };
let room: Room, memory: GuestMemory, started: IsolateStart;

globalThis.addEventListener("message", (event) => {
  const { data } = event as MessageEvent<IsolateStart | IsolateRun | "end">;
  if (data === "end") {
    room.registry.leave(room.self);
    globalThis.close();
  } else if ("room" in data) begin(data);
  else run(data);
});

function begin(start: IsolateStart): void {
  started = start;
  room = attachRoom(start.room);
  memory = guestMemory(start.shaders.bytes);
  if (start.role === "loader") {
    addShaders(memory, start.warm);
    const registry = ShaderRegistry.attach(room, start.registry, { memory });
    for (const record of start.warm.pixels.slice(0, WARM_UP)) {
      const shader = registry.find(record.codeAddress, registry.snapshot())!;
      recompile(registry.request(shader, stageAbi(record, [])));
    }
  }
  scope.postMessage("ready");
}

function run({ number, registry: handle, synchronous, otherMs }: IsolateRun): void {
  const { role, shaders, go } = started, isLoader = role === "loader";
  const registry = ShaderRegistry.attach(room, handle, { memory, synchronous: isLoader && synchronous });
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
  scope.postMessage("ready");
  Atomics.wait(go, 0, number - 1);
  const begin = performance.now();
  let worstMs = 0;
  for (const call of calls) {
    if (otherMs > 0 && isLoader) work(otherMs);
    const before = performance.now();
    call();
    worstMs = Math.max(worstMs, performance.now() - before);
  }
  const ms = performance.now() - begin, { queued, claimed } = room.board.stats();
  scope.postMessage({ ms, worstMs, pending: queued + claimed });
}

/** Other work of a loader. */
function work(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}
