/** Runs a process in a control group of its own with a limit of memory: by systemd, or in a group made by hand, where this user may make one. */

/** What came of it; `missing` says why no group could be had. */
export type GroupRun = { readonly output: string; readonly code: number } | { readonly missing: string };

/** Runs `deno` with these arguments. @param bytes the limit */
export async function runInGroup(bytes: number, args: readonly string[]): Promise<GroupRun> {
  const problems: string[] = [];
  if (await canUseSystemd(problems)) {
    const scope = ["--user", "--scope", "--quiet", "-p", `MemoryMax=${bytes}`, Deno.execPath()];
    return await run("systemd-run", [...scope, ...args]);
  }
  for (const { folder, limit } of placesForGroups()) {
    const group = `${folder}/anyagc-test-${Deno.pid}`;
    try {
      Deno.mkdirSync(group);
    } catch (error) {
      problems.push(`${group}: ${text(error)}`);
      continue;
    }
    try {
      Deno.writeTextFileSync(`${group}/${limit}`, String(bytes), { create: false });
      // The shell moves itself into the group, and becomes the process.
      return await run("/bin/sh", [
        "-c",
        'echo $$ > "$0/cgroup.procs" && exec "$@"',
        group,
        Deno.execPath(),
        ...args,
      ]);
    } catch (error) {
      problems.push(`${group}/${limit}: ${text(error)}`);
    } finally {
      remove(group);
    }
  }
  return { missing: problems.join("; ") || "no control groups of memory are mounted" };
}

async function run(command: string, args: readonly string[]): Promise<GroupRun> {
  const { code, stdout } = await new Deno.Command(command, { args: [...args], stderr: "inherit" }).output();
  return { code, output: new TextDecoder().decode(stdout) };
}

async function canUseSystemd(problems: string[]): Promise<boolean> {
  try {
    const args = ["--user", "--scope", "--quiet", "-p", "MemoryMax=1G", "true"];
    const { code, stderr } = await new Deno.Command("systemd-run", { args }).output();
    if (code !== 0) problems.push(`systemd-run: ${new TextDecoder().decode(stderr).trim().split("\n")[0]}`);
    return code === 0;
  } catch (error) {
    problems.push(`systemd-run: ${text(error)}`);
    return false;
  }
}

/** Where a group may be made: in this process's own, else right below the mount (cgroups(7); proc_pid_mountinfo(5)). */
function placesForGroups(): { folder: string; limit: string }[] {
  const groups = Deno.readTextFileSync("/proc/self/cgroup");
  return Deno.readTextFileSync("/proc/self/mountinfo").split("\n").flatMap((line) => {
    const [mount, filesystem = ""] = line.split(" - ");
    const point = mount.split(" ")[4], [type, , options = ""] = filesystem.split(" ");
    const isV1 = type === "cgroup" && options.split(",").includes("memory");
    if (!isV1 && type !== "cgroup2") return [];
    const own = (isV1 ? /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m : /^0::(.*)$/m).exec(groups)?.[1] ?? "/";
    const limit = isV1 ? "memory.limit_in_bytes" : "memory.max";
    return [...new Set([`${point}${own === "/" ? "" : own}`, point])].map((folder) => ({ folder, limit }));
  });
}

/** A group can be removed as soon as its last process is gone. */
function remove(group: string): void {
  for (let tries = 0; tries < 100; tries++) {
    try {
      return Deno.removeSync(group);
    } catch (error) {
      if (tries === 99) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
