/**
 * Limits that the machine's owner has set: control groups (kernel documentation, "cgroup-v1" and "cgroup-v2"), resource limits (getrlimit(2)),
 * and what of them is too little.
 *
 * @module
 */
import { bytesText } from "./units.ts";

/** Reads a small file of the kernel; undefined when it is not there or may not be read. */
export type ReadText = (path: string) => string | undefined;

/** What limits this process. Undefined: nothing does, or nobody knows. */
export interface HostLimits {
  /** Bytes of memory that the control group may use. */
  memoryBytes?: number;
  /** Processors' worth of time that the control group may use. */
  processors?: number;
  /** Threads and processes that the control group may have. */
  threads?: number;
  /** Bytes of address space of a process (ulimit -v). */
  addressSpaceBytes?: number;
  /** Bytes that a process may lock in memory (ulimit -l). */
  lockedBytes?: number;
  /** Files that a process may have open (ulimit -n). */
  openFiles?: number;
}

/** Line of the diagnosis. */
export interface LimitCheck {
  name: string;
  state: "ok" | "warning" | "problem";
  text: string;
}

const CGROUP = "/sys/fs/cgroup";
/** V8 and the guest's windows reserve much more address space than they use. */
const LEAST_ADDRESS_SPACE = 64 * 2 ** 30;
/** The runtime, a driver and a program of moderate size. */
const LEAST_MEMORY = 2 ** 30;
/** The runtime's own threads, a driver's, and some workers. */
const LEAST_THREADS = 64;
const LEAST_FILES = 256;
/** Guest memory that drivers of real GPUs pin. */
const GOOD_LOCKED = 2 ** 30;

/** Reads the limits. */
export function readLimits(read: ReadText): HostLimits {
  const groups = cgroupPaths(read("/proc/self/cgroup") ?? "");
  const rlimits = read("/proc/self/limits") ?? "";
  const [quota, period] = cpuQuota(read, groups);
  return withoutUndefined({
    memoryBytes: first(read, groups, "memory", ["memory.max", "memory.limit_in_bytes"]),
    processors: quota === undefined || period === undefined || quota <= 0 ? undefined : quota / period,
    threads: first(read, groups, "pids", ["pids.max"]),
    addressSpaceBytes: softLimit(rlimits, "Max address space"),
    lockedBytes: softLimit(rlimits, "Max locked memory"),
    openFiles: softLimit(rlimits, "Max open files"),
  });
}

/** Says what the limits mean. `pins`: the chosen device is a GPU, whose driver pins guest memory. */
export function checkLimits(limits: HostLimits, pins: boolean): LimitCheck[] {
  const { memoryBytes, processors, threads, addressSpaceBytes, lockedBytes, openFiles } = limits;
  const problems: LimitCheck[] = [];
  const lack = (state: "warning" | "problem", name: string, text: string) => problems.push({ name, state, text });
  if (addressSpaceBytes !== undefined && addressSpaceBytes < LEAST_ADDRESS_SPACE) {
    const text = bytesText(addressSpaceBytes);
    lack("problem", "address space", `limited to ${text}; guest memory is reserved, not used: ulimit -v unlimited`);
  }
  if (memoryBytes !== undefined && memoryBytes < LEAST_MEMORY) {
    lack(
      "warning",
      "memory",
      `the control group has ${
        bytesText(memoryBytes)
      }: large programs end by "killed". Give the container more (docker run --memory)`,
    );
  }
  if (processors !== undefined && processors < 2) {
    lack(
      "warning",
      "processors",
      `the control group has the time of ${
        processors.toFixed(2)
      }: compiling ahead competes with running (docker run --cpus)`,
    );
  }
  if (threads !== undefined && threads < LEAST_THREADS) {
    lack(
      "warning",
      "threads",
      `the control group may have ${threads}: workers may not start (docker run --pids-limit)`,
    );
  }
  if (openFiles !== undefined && openFiles < LEAST_FILES) {
    lack("warning", "open files", `limited to ${openFiles}: ulimit -n 1024`);
  }
  if (pins && lockedBytes !== undefined && lockedBytes < GOOD_LOCKED) {
    lack(
      "warning",
      "locked memory",
      `limited to ${bytesText(lockedBytes)}: a driver may refuse to import more guest memory (ulimit -l unlimited)`,
    );
  }
  return [...problems, { name: "limits", state: "ok", text: describe(limits) }];
}

function describe({ memoryBytes, processors, threads }: HostLimits): string {
  const parts = [
    memoryBytes === undefined ? undefined : `${bytesText(memoryBytes)} of memory`,
    processors === undefined ? undefined : `the time of ${Number(processors.toFixed(2))} processors`,
    threads === undefined ? undefined : `${threads} threads`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? "no control group limits" : `control group: ${parts.join(", ")}`;
}

/** Path of this process's group by controller; `""` is the unified hierarchy. Lines are `number:controllers:path`. */
function cgroupPaths(text: string): Map<string, string> {
  const paths = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path !== undefined) { for (const name of controllers.split(",")) paths.set(name, path); }
  }
  return paths;
}

/** Folders in which a controller's files may lie. In a container its own group is the root of what is mounted, whatever its path says. */
function* folders(groups: ReadonlyMap<string, string>, controller: string): Iterable<string> {
  const own = groups.get(controller), unified = groups.get("");
  const parents = (root: string, path: string) => {
    const list: string[] = [];
    for (let at = path.replace(/\/+$/, ""); at !== ""; at = at.slice(0, at.lastIndexOf("/"))) list.push(root + at);
    return [...list, root];
  };
  if (own !== undefined) yield* parents(`${CGROUP}/${controller}`, own);
  if (unified !== undefined) yield* parents(CGROUP, unified);
}

/** The smallest number in files of these names, from the own group up: limits of parents hold as well. */
function first(
  read: ReadText,
  groups: ReadonlyMap<string, string>,
  controller: string,
  names: readonly string[],
): number | undefined {
  let least: number | undefined;
  for (const folder of folders(groups, controller)) {
    for (const name of names) {
      const value = limitValue(read(`${folder}/${name}`));
      if (value !== undefined && (least === undefined || value < least)) least = value;
    }
  }
  return least;
}

function cpuQuota(read: ReadText, groups: ReadonlyMap<string, string>): [number?, number?] {
  let least: [number?, number?] = [];
  const ratio = ([quota, period]: [number?, number?]) => (quota ?? Infinity) / (period ?? 1);
  for (const folder of folders(groups, "cpu")) {
    const [quota, period] = (read(`${folder}/cpu.max`) ?? "").trim().split(/\s+/);
    const v2: [number?, number?] = [limitValue(quota), limitValue(period)];
    const v1: [number?, number?] = [
      limitValue(read(`${folder}/cpu.cfs_quota_us`)),
      limitValue(read(`${folder}/cpu.cfs_period_us`)),
    ];
    for (const pair of [v2, v1]) {
      if (pair[0] !== undefined && pair[1] !== undefined && ratio(pair) < ratio(least)) least = pair;
    }
  }
  return least;
}

/** A number; undefined for `max`, -1, and the "no limit" of version 1, which is near 2^63. */
function limitValue(text: string | undefined): number | undefined {
  const trimmed = text?.trim() ?? "";
  if (!/^\d+$/.test(trimmed)) return undefined;
  const value = Number(trimmed);
  return value >= 2 ** 62 ? undefined : value;
}

/** Soft limit of a line of /proc/self/limits: name, soft limit, hard limit, unit. */
function softLimit(text: string, name: string): number | undefined {
  const line = text.split("\n").find((l) => l.startsWith(name));
  return limitValue(line?.slice(name.length).trim().split(/\s+/)[0]);
}

function withoutUndefined(limits: HostLimits): HostLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}
