/**
 * `anyagc journal`: the journals of pipelines that runs left for the next ones.
 *
 * @module
 */
import { ExitCode, UsageError } from "../errors.ts";
import { type Command, type CommandContext, optionText } from "./command.ts";
import { count } from "./count.ts";
import { didYouMean } from "./nearest.ts";
import type { Output } from "./output.ts";

const ACTIONS = ["list", "show", "verify", "clear"] as const;
type Action = (typeof ACTIONS)[number];

/** The command. */
export const JOURNAL: Command = {
  name: "journal",
  summary: "list, show, verify or clear the journals of pipelines that runs left",
  details: [
    "list (without an ACTION, too): which program and device each is for. show: the pipelines in it. verify: whether it is as it was written, and what the next run " +
    "would cut off; nothing is changed, and the exit code is 1 when one is damaged. clear: removes journals, but those that another process has locked.",
    "JOURNAL is a name that list shows, or the beginning of one; all when left out. show and verify take the path of a file, too. The folder is pipelines below " +
    "ANYAGC_CACHE_DIR (docs/warm_start.md).",
  ],
  arguments: [
    { name: "ACTION", summary: ACTIONS.join(", "), optional: true, values: ACTIONS },
    { name: "JOURNAL", summary: "which of them", optional: true, repeated: true },
  ],
  options: [
    {
      name: "device",
      value: "NAME",
      values: ["any", "cpu"],
      summary: "of list: say which are for this device: a part of its name, or any for the one that a run would use",
    },
    { name: "unused", value: "DAYS", summary: "of clear: only those that no run has used for so long" },
  ],
  example: "anyagc journal list",
  run,
};

async function run(context: CommandContext) {
  const [word = "list", ...names] = context.positionals;
  const action = ACTIONS.find((each) => each === word);
  if (action === undefined) {
    const hint = didYouMean(word, [...ACTIONS]);
    throw new UsageError("cli.bad-value", `journal does ${ACTIONS.join(", ")}, not ${word}${hint}`);
  }
  for (const [option, only] of [["device", "list"], ["unused", "clear"]] as const) {
    if (context.options[option] !== undefined && action !== only) {
      throw new UsageError("cli.bad-value", `--${option} belongs to journal ${only}`);
    }
  }
  const { journalFolder } = await import("./journal/folder.ts");
  const folder = journalFolder(),
    actions: Record<Action, () => Promise<Outcome>> = {
      list: () => list(context, folder, names),
      show: () => show(context, folder, names),
      verify: () => verify(context, folder, names),
      clear: () => clear(context, folder, names),
    };
  const { exitCode = ExitCode.Done, ...data } = await actions[action]();
  return { exitCode, data: { schema: "anyagc.journal/1", action, folder, ...data } };
}

/** What an action gives for `--json`, and the exit code where it is not 0. */
type Outcome = Record<string, unknown> & { exitCode?: number };

async function list({ out, options }: CommandContext, folder: string | undefined, names: string[]): Promise<Outcome> {
  const { ageText, listed } = await import("./journal/report.ts");
  const device = typeof options.device === "string"
    ? (await import("./journal/device.ts")).deviceText(options.device === "any" ? undefined : options.device)
    : undefined;
  const journals = (await opened(out, "reading", folder, names)).map((journal) => listed(journal, device));
  if (journals.length === 0) out.line(folder === undefined ? "nothing is kept" : `no journals in ${folder}`);
  else out.line(`${folder}:`);
  out.table(
    journals.map(({ name, program, device, records, bytes, usedAt, damage, thisDevice, problem }) => [
      name,
      problem ?? program?.name ?? "?",
      program?.target ?? "",
      count(records ?? 0, "record"),
      `${bytes} bytes`,
      ageText(usedAt),
      device === undefined ? "?" : `${device.name}, driver ${device.driverVersion}`,
      ...(thisDevice ? ["this device"] : thisDevice === false ? ["another device"] : []),
      ...(damage?.length ? ["DAMAGED"] : []),
    ]),
    "  ",
  );
  return { journals };
}

async function show({ out }: CommandContext, folder: string | undefined, names: string[]): Promise<Outcome> {
  const { chosenJournals, openJournal } = await import("./journal/folder.ts");
  const { damageText, journalText, recordText } = await import("./journal/contents.ts");
  if (names.length === 0) throw new UsageError("cli.missing-argument", "journal show needs a JOURNAL");
  const journals = chosenJournals(folder, names).map((place) => {
    const { facts, records } = openJournal(place);
    out.line(`${place.path}: ${journalText(facts)}`);
    records.forEach((record) => out.line(`  ${recordText(record)}`));
    facts.damage.forEach((damage) => out.line(`  DAMAGED ${damageText(damage)}`));
    const { records: _, ...rest } = facts;
    return { name: place.name, file: place.path, ...rest, records };
  });
  return { journals };
}

async function verify({ out }: CommandContext, folder: string | undefined, names: string[]): Promise<Outcome> {
  const { damageText } = await import("./journal/contents.ts");
  const { verified } = await import("./journal/report.ts");
  const journals = (await opened(out, "verifying", folder, names)).map(verified);
  for (const { file, sound, records, damage, problem, notes } of journals) {
    out.line(`${file}: ${sound ? `sound, ${count(records, "record")}` : "DAMAGED"}`);
    if (problem !== undefined) out.line(`  ${problem}`);
    damage.forEach((each) => out.line(`  ${damageText(each)}`));
    notes.forEach((note) => out.line(`  ${note}`));
  }
  if (journals.length === 0) out.line(folder === undefined ? "nothing is kept" : `no journals in ${folder}`);
  const damaged = journals.filter(({ sound }) => !sound).length;
  return { journals, damaged, exitCode: damaged > 0 ? ExitCode.Guest : ExitCode.Done };
}

/** Reads the journals that were asked for; it says how far it is. */
async function opened(out: Output, what: string, folder: string | undefined, names: string[]) {
  const { chosenJournals, openJournals } = await import("./journal/folder.ts");
  const places = chosenJournals(folder, names);
  return await out.progress(what, "journals", places.length, (progress) => {
    let done = 0;
    return openJournals(places, () => progress.update(done++));
  });
}

async function clear(context: CommandContext, folder: string | undefined, names: string[]): Promise<Outcome> {
  const { out } = context, { clearJournals } = await import("./journal/clear.ts");
  const days = daysOption(context), { removed, kept } = clearJournals(folder, names, days);
  for (const { file, bytes } of removed) out.line(`removed ${file}, ${count(bytes, "byte")}`);
  for (const { file, reason } of kept) out.line(`kept ${file}: ${reason}`);
  if (removed.length === 0 && kept.length === 0) {
    out.line(folder === undefined ? "nothing is kept" : `no journals in ${folder}`);
  }
  const failed = kept.some(({ failed }) => failed);
  return { removed, kept, exitCode: failed ? ExitCode.Guest : ExitCode.Done };
}

function daysOption(context: CommandContext): number | undefined {
  const text = optionText(context, "unused");
  if (text === undefined) return undefined;
  const days = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text)) {
    throw new UsageError("cli.bad-value", `--unused is a number of days, not ${text}`);
  }
  return days;
}
