/** An isolate that uses all shaders of a registry, in an order of its own. */
import { attachRoom, type RoomHandle } from "../../../src/driver/pools/room.ts";
import { recordAbi } from "../../../src/driver/registry/abi.ts";
import { type RegistryHandle, ShaderRegistry } from "../../../src/driver/registry/shader_registry.ts";
import type { AgcShaderRecord } from "../../../src/guest/loaders/agc_record.ts";
import { Random } from "../../support/random.ts";
import { ShaderGuest, SHADERS } from "./support.ts";

interface Start {
  readonly room: RoomHandle;
  readonly registry: RegistryHandle;
  readonly records: AgcShaderRecord[];
  readonly code: Uint8Array;
  readonly go: Int32Array;
  readonly seed: number;
}

const scope = globalThis as unknown as { postMessage(message: unknown): void };

globalThis.addEventListener("message", (event) => {
  const { room: handle, registry: shared, records, code, go, seed } = (event as MessageEvent<Start>).data;
  const guest = new ShaderGuest(), room = attachRoom(handle);
  guest.memory.initialize(SHADERS, code);
  const registry = ShaderRegistry.attach(room, shared, { memory: guest.memory });
  scope.postMessage("ready");
  Atomics.wait(go, 0, 0, 20_000);
  const random = new Random(seed), snapshot = Atomics.load(go, 0), words = new Array<number>(records.length);
  const order = records.map((record, n) => ({ record, n, at: random.u32() })).sort((a, b) => a.at - b.at);
  for (const { record, n } of order) {
    words[n] = registry.use(record.codeAddress, recordAbi(record)!, snapshot).request.code[1];
  }
  room.registry.leave(room.self);
  scope.postMessage({ words });
});
