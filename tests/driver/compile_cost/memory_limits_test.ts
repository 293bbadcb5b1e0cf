import { assert, assertEquals } from "@std/assert";
import { runInGroup } from "./control_group.ts";
import { readMemory } from "../../../src/driver/compile_cost/memory_limits.ts";

const MIB = 1 << 20;
const MEMINFO = "MemTotal:       16777216 kB\nMemFree:  100 kB\nMemAvailable:    8388608 kB\n";
const V2 = "36 32 0:29 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate";
const V1 = "40 32 0:33 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory";

function files(given: Record<string, string>): (path: string) => string | undefined {
  return (path) => given[path];
}

Deno.test("without control groups it is what the machine has available", () => {
  const state = readMemory(files({ "/proc/meminfo": MEMINFO }));
  assertEquals(state, { limit: 16384 * MIB, free: 8192 * MIB, source: "/proc/meminfo" });
  assertEquals(readMemory(files({})), undefined);
});

Deno.test("version 2: memory.max less memory.current, inactive files not counted, of the group and all above it", () => {
  const given = {
    "/proc/meminfo": MEMINFO,
    "/proc/self/mountinfo": V2,
    "/proc/self/cgroup": "0::/user/app",
    "/sys/fs/cgroup/user/app/memory.max": `${2048 * MIB}`,
    "/sys/fs/cgroup/user/app/memory.current": `${1024 * MIB}`,
    "/sys/fs/cgroup/user/app/memory.stat": `anon 5\ninactive_file ${256 * MIB}\nactive_file 7`,
    "/sys/fs/cgroup/user/memory.max": "max",
    "/sys/fs/cgroup/user/memory.current": "123",
  };
  assertEquals(readMemory(files(given)), {
    limit: 2048 * MIB,
    free: 1280 * MIB,
    source: "/sys/fs/cgroup/user/app/memory.max",
  });
  const tight = {
    ...given,
    "/sys/fs/cgroup/user/memory.max": `${100 * MIB}`,
    "/sys/fs/cgroup/user/memory.current": "0",
  };
  assertEquals(readMemory(files(tight))?.source, "/sys/fs/cgroup/user/memory.max");
});

Deno.test("version 2 in a container: its own group is the root of what is mounted", () => {
  const at = (cgroup: string, mount: string) =>
    readMemory(files({
      "/proc/meminfo": MEMINFO,
      "/proc/self/mountinfo": mount,
      "/proc/self/cgroup": cgroup,
      "/sys/fs/cgroup/memory.max": `${512 * MIB}`,
      "/sys/fs/cgroup/memory.current": `${112 * MIB}`,
    }))?.free;
  assertEquals(at("0::/", V2), 400 * MIB);
  const bind = "36 32 0:29 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw";
  assertEquals(at("0::/docker/abc", bind), 400 * MIB);
  assertEquals(at("0::/../other", V2), 400 * MIB);
});

Deno.test("version 1: memory.limit_in_bytes; a limit beyond the machine's memory is none", () => {
  const given = {
    "/proc/meminfo": MEMINFO,
    "/proc/self/mountinfo": `31 32 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n${V1}`,
    "/proc/self/cgroup": "4:memory:/job\n3:cpuset:/\n1:cpu,cpuacct:/job",
    "/sys/fs/cgroup/memory/job/memory.limit_in_bytes": `${1000 * MIB}`,
    "/sys/fs/cgroup/memory/job/memory.usage_in_bytes": `${900 * MIB}`,
    "/sys/fs/cgroup/memory/job/memory.stat": `inactive_file 1\ntotal_inactive_file ${50 * MIB}`,
    "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
    "/sys/fs/cgroup/memory/memory.usage_in_bytes": `${9000 * MIB}`,
  };
  assertEquals(readMemory(files(given))?.free, 150 * MIB);
  const unlimited = { ...given, "/sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712" };
  assertEquals(readMemory(files(unlimited))?.source, "/proc/meminfo");
});

Deno.test("this machine has memory, and says where its limit is", () => {
  const state = readMemory();
  assert(state !== undefined && state.limit > 0 && state.free > 0 && state.free <= state.limit, JSON.stringify(state));
  assert(Deno.statSync(state.source).isFile);
});

/** A process whose compiles may take 512 MiB with all that it has itself, and the same without a limit. */
const LIMIT = 512 * MIB, CHILD = new URL("./group_child.ts", import.meta.url).pathname;
const run = (...args: string[]) => ["run", "-A", "--no-check", CHILD, ...args];
const limited = await runInGroup(LIMIT, run("guarded"));
const missing = "missing" in limited ? limited.missing : undefined;

Deno.test({
  name: "in a real control group the limit is found, and a job that would pass it waits and then runs alone" +
    (missing === undefined ? "" : ` [ignored: no control group can be had here: ${missing}]`),
  ignore: missing !== undefined,
  async fn() {
    const { output, code } = limited as { output: string; code: number };
    assertEquals(code, 0, "it was not killed");
    const { state: { limit, free, source }, events, check, held } = JSON.parse(output);
    assertEquals([limit, /memory\.(max|limit_in_bytes)$/.test(source)], [LIMIT, true]);
    assert(free > 0 && free < LIMIT);
    // The second one beside the first, anything beside the second while the large one waits, the small one beside the large one: none.
    assertEquals(events, ["first", "none", "second", "none", "large", "none", "small"]);
    assertEquals([check, held], [null, 0]);
    // Without the guard the second one begins beside the first, 400 MiB in all.
    const { stdout } = await new Deno.Command(Deno.execPath(), { args: run("unguarded") }).output();
    assertEquals(JSON.parse(new TextDecoder().decode(stdout)).events, ["first", "second"]);
  },
});
