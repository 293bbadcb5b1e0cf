/**
 * How much memory the process may still take: the tightest of its control groups' limits (cgroups(7): memory.max of version 2,
 * memory.limit_in_bytes of version 1, of its own group and all above it) and of the machine (MemAvailable, proc_meminfo(5)).
 *
 * @module
 */

/** What can be taken, and of what. */
export interface MemoryState {
  /** Bytes: the limit, and what is left of it; what the kernel can drop at once (inactive files) counts as left. */
  readonly limit: number;
  readonly free: number;
  /** File that says so, for people. */
  readonly source: string;
}

/** Text of a file of /proc or /sys; undefined when it is not there. Tests put their own in. */
export type FileReader = (path: string) => string | undefined;

/** Files of a version of control groups. */
const VERSIONS = {
  cgroup2: { limit: "memory.max", used: "memory.current", reclaimable: "inactive_file" },
  cgroup: { limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes", reclaimable: "total_inactive_file" },
} as const;

/** Reads the tightest limit; undefined when there is nothing to read. */
export function readMemory(read: FileReader = realFile): MemoryState | undefined {
  let tightest = machineMemory(read);
  for (const state of groupMemory(read)) {
    // "No limit" of version 1 is a very large number; the machine's is tighter then.
    if (tightest === undefined || state.free < tightest.free) tightest = state;
  }
  return tightest;
}

function machineMemory(read: FileReader): MemoryState | undefined {
  const path = "/proc/meminfo", text = read(path);
  const kib = (name: string) => Number(new RegExp(`^${name}: +(\\d+) kB`, "m").exec(text ?? "")?.[1]);
  const limit = kib("MemTotal") * 1024, free = kib("MemAvailable") * 1024;
  return Number.isNaN(limit + free) ? undefined : { limit, free, source: path };
}

/** The limits of the process's groups. */
function* groupMemory(read: FileReader): Generator<MemoryState> {
  const groups = read("/proc/self/cgroup") ?? "";
  for (const { version, root, point } of memoryMounts(read)) {
    const path = version === "cgroup2"
      ? /^0::(.*)$/m.exec(groups)?.[1]
      : /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(groups)?.[1];
    if (path === undefined) continue;
    // A container sees its own group as the root of what is mounted.
    let below = root !== "/" && path.startsWith(root) ? path.slice(root.length) : path;
    if (below.startsWith("/..")) below = "";
    const names = below.split("/").filter((name) => name !== "");
    for (let depth = names.length; depth >= 0; depth--) {
      const folder = [point, ...names.slice(0, depth)].join("/"), files = VERSIONS[version];
      const limit = Number(read(`${folder}/${files.limit}`) ?? NaN),
        used = Number(read(`${folder}/${files.used}`) ?? NaN);
      if (Number.isNaN(limit + used)) continue; // "max", or no such file
      const stat = read(`${folder}/memory.stat`) ?? "";
      const reclaimable = Number(new RegExp(`^${files.reclaimable} (\\d+)`, "m").exec(stat)?.[1] ?? 0);
      yield { limit, free: Math.max(0, limit - used + reclaimable), source: `${folder}/${files.limit}` };
    }
  }
}

/** Where the groups' files are (proc_pid_mountinfo(5): root, mount point, " - ", type, source, options). */
function* memoryMounts(read: FileReader): Generator<{ version: keyof typeof VERSIONS; root: string; point: string }> {
  for (const line of (read("/proc/self/mountinfo") ?? "").split("\n")) {
    const [mount, filesystem] = line.split(" - ");
    if (filesystem === undefined) continue;
    const [, , , root, point] = mount.split(" "), [type, , options] = filesystem.split(" ");
    if (type === "cgroup2") yield { version: type, root, point };
    else if (type === "cgroup" && options?.split(",").includes("memory")) yield { version: type, root, point };
  }
}

function realFile(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path).trimEnd();
  } catch {
    return undefined;
  }
}
