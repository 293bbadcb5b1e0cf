import { assert, assertEquals } from "@std/assert";
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

/** A process in a control group of its own with a limit; undefined where this machine gives none to this user. */
async function limitedProcess(bytes: number): Promise<string | undefined> {
  const script = `const { readMemory } = await import(${
    JSON.stringify(new URL("../../../src/driver/compile_cost/memory_limits.ts", import.meta.url).href)
  }); console.log(JSON.stringify(readMemory()));`;
  const scope = ["--user", "--scope", "--quiet", "-p", `MemoryMax=${bytes}`];
  try {
    const args = [...scope, Deno.execPath(), "eval", "--no-check", script];
    const { code, stdout } = await new Deno.Command("systemd-run", { args, stderr: "null" }).output();
    return code === 0 ? new TextDecoder().decode(stdout) : undefined;
  } catch {
    return undefined;
  }
}

const LIMIT = 1024 * MIB;
const limited = await limitedProcess(LIMIT);

Deno.test({
  name: "in a real control group with a limit, that limit is found" +
    (limited === undefined ? " (ignored: systemd-run --user gives this user no group of its own here)" : ""),
  ignore: limited === undefined,
  fn() {
    const { limit, free, source } = JSON.parse(limited!);
    assertEquals([limit, /memory\.(max|limit_in_bytes)$/.test(source)], [LIMIT, true]);
    assert(free > 0 && free < LIMIT);
  },
});
