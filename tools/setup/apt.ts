/**
 * Installs Debian packages where it may: as root, or through a sudo that asks for no password.
 *
 * @module
 */

/** How a command went. */
export interface CommandOutcome {
  /** Exit status; 127 when the program is not there. */
  code: number;
  /** The last lines that it printed, for an error message. */
  tail: string;
}

/** What {@linkcode installPackages} needs from the machine. Tests give their own. */
export interface Machine {
  /** User id of this process. */
  uid: number | null;
  /** Runs a program with the given extra environment, without input. */
  run(program: string, args: readonly string[]): Promise<CommandOutcome>;
  /** Prints a line. */
  say(line: string): void;
}

/** How an installation went. */
export type InstallOutcome =
  | { kind: "installed" }
  /** It may not install here; `command` is what a person has to run. */
  | { kind: "not allowed"; command: string }
  | { kind: "failed"; command: string; tail: string };

const APT = ["-y", "-o", "Dpkg::Use-Pty=0", "--no-install-recommends"];

/** Installs `names`. Package lists are fetched only if the installation fails without. */
export async function installPackages(names: readonly string[], machine: Machine): Promise<InstallOutcome> {
  const install = ["install", ...APT, ...names];
  const command = `apt-get update && apt-get install -y --no-install-recommends ${names.join(" ")}`;
  const asRoot = `sudo sh -c '${command}'`;
  if ((await machine.run("apt-get", ["--version"])).code !== 0) {
    return { kind: "not allowed", command: `(this is no Debian: install what corresponds to) ${names.join(" ")}` };
  }
  const root = machine.uid === 0;
  if (!root && (await machine.run("sudo", ["-n", "true"])).code !== 0) return { kind: "not allowed", command: asRoot };
  const apt = (args: readonly string[]) =>
    root
      ? machine.run("apt-get", args)
      : machine.run("sudo", ["-n", "DEBIAN_FRONTEND=noninteractive", "apt-get", ...args]);

  machine.say(`installing ${names.join(" ")}`);
  let outcome = await apt(install);
  if (outcome.code !== 0) {
    machine.say("fetching the package lists (apt-get update)");
    const update = await apt(["update"]);
    outcome = await apt(install);
    if (outcome.code !== 0 && update.code !== 0) outcome.tail = `${update.tail}\n${outcome.tail}`;
  }
  return outcome.code === 0
    ? { kind: "installed" }
    : { kind: "failed", command: root ? command : asRoot, tail: outcome.tail };
}

/** The machine that this runs on. */
export function thisMachine(say: (line: string) => void): Machine {
  return {
    uid: Deno.uid(),
    say,
    async run(program, args) {
      try {
        const { code, stdout, stderr } = await new Deno.Command(program, {
          args: [...args],
          env: { DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" },
          stdin: "null",
          stdout: "piped",
          stderr: "piped",
        }).output();
        const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
        return { code, tail: text.trim().split("\n").slice(-6).join("\n") };
      } catch (error) {
        return { code: 127, tail: String(error) };
      }
    },
  };
}
