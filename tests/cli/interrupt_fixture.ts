/** A launcher with commands that take long, each in its own way; interrupt_test.ts and progress_test.ts start it. */
import type { Command, CommandContext } from "../../src/cli/command.ts";
import { writeOutput } from "../../src/cli/files.ts";
import { watchInterrupts } from "../../src/cli/interrupt.ts";
import { launch } from "../../src/cli/launcher.ts";

function command(name: string, work: (context: CommandContext) => Promise<unknown>): Command {
  return {
    name,
    summary: name,
    arguments: [{ name: "FILE", summary: "written at the end", optional: true }],
    options: [],
    example: name,
    run: async (context) => {
      await work(context);
      return { exitCode: 0, data: { schema: "test/1" } };
    },
  };
}

/** Says that signals may come now; they are sent when this is read. */
const ready = () => console.log("ready");
const busy = (milliseconds: number, turn: () => void = () => {}) => {
  for (const end = performance.now() + milliseconds; performance.now() < end;) turn();
};

const COMMANDS = [
  command("computes", async () => {
    ready();
    await Promise.resolve();
    busy(30_000);
  }),
  command("looks", ({ out, positionals }) =>
    out.progress("looking", "turns", 1e9, async (progress) => {
      await writeOutput(positionals[0], new TextEncoder().encode("before"));
      ready();
      let turns = 0;
      busy(30_000, () => progress.update(turns++));
      await writeOutput(positionals[0], new TextEncoder().encode("after"));
    })),
  command("never-looks", ({ out }) =>
    out.progress("not looking", "turns", undefined, () => {
      ready();
      busy(30_000);
    })),
  command("works", ({ out }) =>
    out.progress("working", "turns", 4, async (progress) => {
      for (let i = 0; i < 4; i++) {
        await new Promise((resolve) => setTimeout(resolve, 400));
        progress.update(i + 1);
      }
    })),
];

await watchInterrupts();
Deno.exit(await launch(Deno.args, undefined, COMMANDS));
