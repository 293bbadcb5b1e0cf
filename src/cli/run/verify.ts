/**
 * `anyagc run --verify`: its options, and its report for people.
 *
 * @module
 */
import type { WrapExecutor, WrappableDevice } from "../../driver/device.ts";
import type { StoreSite, VerifyDifference, VerifyReport } from "../../driver/verify/report.ts";
import type { VerifyExecutor } from "../../driver/verify/verify_executor.ts";
import { hex, HostError, UsageError } from "../../errors.ts";
import type { Target } from "../../rdna/target.ts";
import { type CommandContext, optionText } from "../command.ts";

/** Largest tolerance: the bits of a mantissa. */
const MAX_ULPS = 1 << 23;

/** What the command line says of verification; undefined without `--verify`. @throws UsageError */
export function verifyOptions(context: CommandContext): { ulps: number } | undefined {
  const text = optionText(context, "verify-ulps");
  if (context.options.verify !== true) {
    if (text !== undefined) throw new UsageError("cli.option-alone", "--verify-ulps is an option of --verify");
    return undefined;
  }
  const ulps = text === undefined ? 0 : Number(text);
  if (text !== undefined && (!/^\d+$/.test(text) || ulps > MAX_ULPS)) {
    throw new UsageError("cli.bad-number", `--verify-ulps is a whole number from 0 to ${MAX_ULPS}, not "${text}"`);
  }
  return { ulps };
}

/** A verification of one run. */
export interface Verification {
  /** For `WrappableDevice.run`. */
  readonly wrap: WrapExecutor;
  /** What was found. */
  report(): VerifyReport | undefined;
  /** Gives the copies of memory back. */
  close(): void;
}

/** Gets ready to compare a device with the interpreter. @throws HostError if the device is the interpreter */
export async function startVerification(device: WrappableDevice, target: Target, ulps: number): Promise<Verification> {
  if (device.description.type === "interpreter") {
    const { note } = device.description;
    throw new HostError(
      "cli.nothing-to-verify",
      `--verify compares a Vulkan device with the interpreter, and the device is the interpreter${
        note === undefined ? "" : ` (${note})`
      }`,
    );
  }
  const { VerifyExecutor } = await import("../../driver/verify/verify_executor.ts");
  let executor: VerifyExecutor | undefined;
  const close = () => executor?.close();
  return {
    wrap: (inner) => {
      close();
      return executor = new VerifyExecutor(inner, { target, ulps });
    },
    report: () => executor?.report,
    close,
  };
}

/** Rows (name, text) of a verification. */
export function verifyRows(report: VerifyReport): [string, string][] {
  const { compared, notCompared, unverified, ulps, tolerated, largestUlps, difference } = report;
  const total = compared + notCompared + unverified.length;
  const equal = compared - (difference === undefined ? 0 : 1);
  const rows: [string, string][] = [[
    "verify",
    total === 0 ? "no dispatch to compare" : `${equal} of ${total} dispatches equal to the interpreter`,
  ]];
  const more = (text: string) => rows.push(["", text]);
  if (ulps > 0) {
    more(
      `${tolerated} words differ within the tolerance of ${ulps} ulps${tolerated ? `, by ${largestUlps} at most` : ""}`,
    );
  }
  for (const { dispatch, reason } of unverified) more(`dispatch ${dispatch} could not be compared: ${reason}`);
  if (difference !== undefined) differenceLines(difference).forEach(more);
  if (notCompared > 0) {
    more(`${notCompared} later ${notCompared === 1 ? "dispatch was" : "dispatches were"} not compared`);
  }
  return rows;
}

function differenceLines(difference: VerifyDifference): string[] {
  const { dispatch, program, place, fault, address, expected, actual, before, word, bytes, store, note } = difference;
  const where = place.queue === undefined ? "" : `, queue ${hex(place.queue)}`;
  const head = `dispatch ${dispatch} of the program at ${hex(program)}${where} differs`;
  if (fault !== undefined) return [`${head}: it faults on the ${fault.side} only: ${fault.message}`];
  const lines = [
    `${head} in ${bytes} byte${bytes === 1 ? "" : "s"}; the first:`,
    `  byte ${hex(address!)} is ${hex(actual!, 2)}, expected ${hex(expected!, 2)} (before: ${hex(before!, 2)})`,
    `  word ${hex(word!.address)} is ${hex(word!.actual, 8)}, expected ${hex(word!.expected, 8)}`,
  ];
  if (note !== undefined) lines.push(`  ${note}`);
  if (store !== undefined) lines.push(...storeLines(store));
  return lines;
}

function storeLines(store: StoreSite): string[] {
  const { pc, text, group, wave, lane, lanes, register, value, chain, firstDiffering } = store;
  const lines = [
    `  stored by pc ${hex(pc)}: ${text}`,
    `    workgroup ${group.join(", ")}, wave ${wave}, ${lane === undefined ? "lane not known" : `lane ${lane}`}` +
    (register === undefined ? ", register not known" : `, ${register} = ${hex(value!, 8)}`),
  ];
  if (lanes.length > 1) lines.push(`    ${lanes.length} lanes store there: which of them wins is not defined`);
  if (chain.length > 0) {
    lines.push("  computed by, from the store backwards (values of the interpreter; the device's at the store):");
  }
  chain.forEach((link, index) => {
    const seen = link.atStore === "differs" ? `differs, ${hex(link.actual!, 8)}` : link.atStore;
    const mark = index === firstDiffering ? "  <- first that was seen to differ" : "";
    lines.push(`    pc ${hex(link.pc)}: ${link.text}; ${link.register} = ${hex(link.value, 8)}, ${seen}${mark}`);
  });
  return lines;
}
