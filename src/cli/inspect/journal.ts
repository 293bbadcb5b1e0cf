/**
 * Journals of pipelines, wherever they lie; `anyagc journal` looks at those of this machine's runs.
 *
 * @module
 */
import { InvalidInputError } from "../../errors.ts";
import { readInputFile } from "../../guest/loaders/file_format.ts";
import { JOURNAL_MAGIC } from "../../storage/journal.ts";
import { damageText, journalText, readJournalFacts, recordText } from "../journal/contents.ts";
import { beginsWith, type InspectKind, Problems } from "./kind.ts";

/** See src/storage/journal.ts. */
export const JOURNAL_KIND: InspectKind = {
  accepts: beginsWith(JOURNAL_MAGIC),
  // deno-lint-ignore require-await -- the interface is that of its neighbours
  async inspect(file) {
    const { facts, records } = readJournalFacts(readInputFile(file)), problems = new Problems();
    for (const damage of facts.damage) {
      const place = { file, fileOffset: damage.offset };
      problems.add(
        new InvalidInputError("journal.damaged", damageText(damage).replace(/^file offset \S+, /, ""), place),
      );
    }
    const { program, device } = facts, data = { kind: "journal", program, device, records };
    return {
      format: "journal of pipelines",
      data,
      lines: [journalText(facts), ...records.map((record) => `  ${recordText(record)}`)],
      problems,
      notes: [],
    };
  },
};
