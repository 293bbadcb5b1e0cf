import { assertEquals, assertMatch } from "@std/assert";
import { checkLimits, readLimits, type ReadText } from "../../../src/cli/doctor/limits.ts";

const files = (contents: Record<string, string>): ReadText => (path) => contents[path];
const LIMITS = `Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max open files            1024                 1048576              files     
Max locked memory         8388608              8388608              bytes     
Max address space         unlimited            unlimited            bytes     
`;

Deno.test("control groups of version 2: the smallest limit from the own group up counts", () => {
  const limits = readLimits(files({
    "/proc/self/cgroup": "0::/user.slice/run.scope\n",
    "/sys/fs/cgroup/user.slice/run.scope/memory.max": "max\n",
    "/sys/fs/cgroup/user.slice/memory.max": "3221225472\n",
    "/sys/fs/cgroup/user.slice/run.scope/cpu.max": "150000 100000\n",
    "/sys/fs/cgroup/user.slice/cpu.max": "max 100000\n",
    "/sys/fs/cgroup/user.slice/run.scope/pids.max": "500\n",
  }));
  assertEquals(limits, { memoryBytes: 3 * 2 ** 30, processors: 1.5, threads: 500 });
});

Deno.test("control groups of version 1, also in a container that sees its own group as the root", () => {
  const limits = readLimits(files({
    "/proc/self/cgroup": "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n2:pids:/docker/abc\n0::/\n",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n",
    "/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us": "-1\n",
    "/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us": "100000\n",
    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
    "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    "/sys/fs/cgroup/pids/pids.max": "max\n",
  }));
  assertEquals(limits, { memoryBytes: 2 ** 29, processors: 0.5 });
});

Deno.test("no limit is none: max, version 1's huge number, -1, and files that are not there", () => {
  assertEquals(readLimits(files({})), {});
  const unlimited = readLimits(files({
    "/proc/self/cgroup": "4:memory:/\n0::/\n",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
  }));
  assertEquals(unlimited, {});
});

Deno.test("resource limits of the process are its soft ones", () => {
  assertEquals(readLimits(files({ "/proc/self/limits": LIMITS })), { openFiles: 1024, lockedBytes: 8 * 2 ** 20 });
});

Deno.test("limits that are wide enough are one line; each that is too small is a line with its fix", () => {
  assertEquals(checkLimits({}, true), [{ name: "limits", state: "ok", text: "no control group limits" }]);
  const wide = checkLimits({ memoryBytes: 2 ** 33, processors: 4, threads: 4096, lockedBytes: 2 ** 31 }, true);
  assertEquals(wide.map((c) => [c.state, c.text]), [[
    "ok",
    "control group: 8 GiB of memory, the time of 4 processors, 4096 threads",
  ]]);
  const narrow = checkLimits({
    memoryBytes: 2 ** 28,
    processors: 0.5,
    threads: 20,
    addressSpaceBytes: 2 ** 32,
    openFiles: 100,
    lockedBytes: 65536,
  }, true);
  assertEquals(narrow.map((c) => `${c.state} ${c.name}`), [
    "problem address space",
    "warning memory",
    "warning processors",
    "warning threads",
    "warning open files",
    "warning locked memory",
    "ok limits",
  ]);
  for (const { state, text } of narrow) if (state !== "ok") assertMatch(text, /ulimit|docker run/);
});

Deno.test("locked memory matters only to a GPU's driver", () => {
  assertEquals(checkLimits({ lockedBytes: 65536 }, false).map((c) => c.name), ["limits"]);
});
