/**
 * `anyagc doctor`: what this machine can do, what is missing, and the fix.
 *
 * @module
 */
import { ExitCode } from "../errors.ts";
import type { Command } from "./command.ts";
import { deviceRows, diagnose } from "./doctor/diagnose.ts";
import { version, versionLine } from "./version.ts";

/** The command. */
export const DOCTOR: Command = {
  name: "doctor",
  summary: "say what this machine can do and what is missing, with the fix",
  details: [
    "Exit code 0 when programs can run (warnings allowed), 3 when something that every run needs is missing.",
    "In a checkout, deno task setup installs and builds whatever is missing.",
  ],
  arguments: [],
  options: [],
  example: "anyagc doctor",
  async run({ out }) {
    const { HOST_PROBES } = await import("./doctor/host_probes.ts");
    const diagnosis = await diagnose(HOST_PROBES);
    out.line(versionLine(version()));
    out.table(diagnosis.checks.map((c) => [MARKS[c.state], c.name, c.text]));
    for (const device of diagnosis.devices) {
      out.line();
      out.line(`${device.capabilities.name}${device.chosen ? " (chosen)" : ""}`);
      out.table(deviceRows(device.capabilities), "  ");
      for (const problem of device.problems) out.line(`  cannot be used: ${problem}`);
    }
    return {
      exitCode: diagnosis.ok ? ExitCode.Done : ExitCode.Host,
      data: {
        schema: "anyagc.doctor/1",
        ok: diagnosis.ok,
        version: version(),
        checks: diagnosis.checks,
        devices: diagnosis.devices,
      },
    };
  },
};

const MARKS = { ok: "ok", warning: "warning", problem: "PROBLEM" } as const;
