/** An isolate that asks for pipelines. */
import { computePipeline, type PipelineDriver, pipelineKey } from "../../../../src/driver/pools/prebuild.ts";
import type { PipelineRequest } from "../../../../src/driver/vulkan/pipeline_request.ts";
import { encodeError } from "../../../../src/sync/error_data.ts";
import { setStepHook } from "../../../../src/sync/steps.ts";
import {
  attach,
  countCreations,
  Flag,
  holdUp,
  originalError,
  type PipelineAnswer,
  type PipelineTask,
  trivialRequest,
} from "./support.ts";

const scope = globalThis as unknown as { postMessage(answer: PipelineAnswer): void };

globalThis.addEventListener("message", (event) => {
  const { handle, flags, action, numbers, together } = (event as MessageEvent<PipelineTask>).data;
  const shared = attach(handle), { room } = shared, pipelines: bigint[] = [];
  countCreations(shared.device, flags, action === "held" ? () => holdUp(flags) : undefined);
  setStepHook((point) => void (point === "table.wait" && Atomics.add(flags, Flag.Waits, 1)));
  // Fails once all others wait for it.
  const failing: PipelineDriver<PipelineRequest> = {
    create() {
      Atomics.add(flags, Flag.Calls, 1);
      while (Atomics.load(flags, Flag.Waits) < together - 1) Atomics.wait(flags, Flag.Release, 0, 5);
      throw originalError();
    },
  };
  if (action === "die") {
    room.pipelines.begin(pipelineKey(trivialRequest(handle.layout, numbers[0])));
    Atomics.store(flags, Flag.Begun, 1);
    return globalThis.close();
  }
  if (Atomics.add(flags, Flag.Gate, 1) + 1 === together) Atomics.notify(flags, Flag.Gate);
  for (let seen; (seen = Atomics.load(flags, Flag.Gate)) < together;) Atomics.wait(flags, Flag.Gate, seen, 20_000);
  let error: Uint8Array<ArrayBuffer> | undefined;
  try {
    for (const number of numbers) {
      const request = trivialRequest(handle.layout, number);
      const { pipeline, pin } = computePipeline(room, request, action === "fail" ? failing : shared.driver);
      pipelines.push(pipeline);
      room.pipelines.unpin(pin);
    }
  } catch (thrown) {
    error = encodeError(thrown);
  }
  shared.leave();
  scope.postMessage({ error, pipelines });
  globalThis.close();
});
