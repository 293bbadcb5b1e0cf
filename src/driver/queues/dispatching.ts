import type { Program } from "../../guest/program.ts";
import { scanPackets } from "../../pm4/decode.ts";

/** Packets that dispatch, and those after which only memory tells what comes. */
const MAY_DISPATCH = /^(DISPATCH_|INDIRECT_BUFFER|COND_)/;

/** How many queues of a program dispatch, those included that may. */
export function dispatchingQueues({ submissions }: Pick<Program, "submissions">): number {
  const may = submissions.filter(({ words }) => scanPackets(words).packets.some(({ name }) => MAY_DISPATCH.test(name)));
  return new Set(may.map(({ queue }) => queue)).size;
}

/** How many VkQueues a program can use: one for each of its queues, if several of them dispatch; queues that do not submit nothing. */
export function usefulQueues(program: Pick<Program, "submissions">): number {
  return dispatchingQueues(program) <= 1 ? 1 : new Set(program.submissions.map(({ queue }) => queue)).size;
}
