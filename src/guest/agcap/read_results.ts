import { hex } from "../../errors.ts";
import type { JsonNode } from "../loaders/json_node.ts";
import { readAddressIn, readQueue, requireMapped } from "../loaders/program_checks.ts";
import type { ProgramMemory } from "../program.ts";
import type { RecordedError, RecordedLabel, RecordedResults } from "../recorded_results.ts";
import { type AgcapEntries, readRange } from "./entries.ts";

const MAX_U64 = (1n << 64n) - 1n;

/** Reads `results` of a manifest that satisfies the schema. */
export function readResults(
  node: JsonNode,
  memory: readonly ProgramMemory[],
  entries: AgcapEntries,
): RecordedResults {
  const device = node.get("device"), outcome = node.get("outcome").text() as RecordedResults["outcome"];
  const error = node.optional("error"), ranges = node.get("memory");
  if ((outcome === "failed") !== (error !== undefined)) {
    (error ?? node).fail("a run that failed has an error, and no other has", "agcap.results");
  }
  if (outcome === "failed" && ranges.items().length > 0) {
    ranges.fail("what memory holds after a run that failed is not defined", "agcap.results");
  }
  const results: RecordedResults = {
    device: {
      name: device.get("name").text(),
      type: device.get("type").text(),
      apiVersion: device.get("apiVersion").text(),
      driver: device.get("driver").text(),
    },
    outcome,
    dispatches: node.get("dispatches").integer(0, 0xFFFF_FFFF),
    labels: node.get("labels").items().map((label) => ({
      queue: readQueue(label.get("queue")),
      address: readAddressIn(label.get("address"), 4),
      value: label.get("value").unsigned(MAX_U64),
      kind: label.get("kind").text() as RecordedLabel["kind"],
    })),
    memory: readChanges(node, memory, entries),
    volatile: node.get("volatile").items().map((range) => readRange(range, memory)),
  };
  if (error !== undefined) results.error = readError(error);
  return results;
}

function readChanges(node: JsonNode, memory: readonly ProgramMemory[], entries: AgcapEntries) {
  let end = 0n;
  const ranges = node.get("memory").items().map((range) => {
    const address = readAddressIn(range.get("address"), 1), bytes = range.get("bytes").integer(1, 2 ** 32);
    if (address < end) range.fail(`starts before ${hex(end)}, where the range before it ends`, "agcap.overlap");
    requireMapped(range.get("address"), address, bytes, memory);
    end = address + BigInt(bytes);
    return { address, bytes };
  });
  const data = entries.readPieces(node, ranges.map(({ bytes }) => bytes));
  return ranges.map(({ address }, i) => ({ address, data: data[i] }));
}

function readError(node: JsonNode): RecordedError {
  const queue = node.optional("queue"), guestAddress = node.optional("guestAddress"), pc = node.optional("pc");
  return {
    code: node.get("code").text(),
    message: node.get("message").text(),
    ...(queue === undefined ? {} : { queue: readQueue(queue) }),
    // Whatever the guest tried to reach, canonical or not.
    ...(guestAddress === undefined ? {} : { guestAddress: guestAddress.unsigned(MAX_U64) }),
    ...(pc === undefined ? {} : { pc: pc.integer(0, 0xFFFF_FFFF) }),
  };
}
