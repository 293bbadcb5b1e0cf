/**
 * How much memory this process has, and has had at most since a moment. The kernel keeps the high-water mark itself (VmHWM, proc_pid_status(5)),
 * and writing "5" to /proc/self/clear_refs begins it anew (proc_pid_clear_refs(5)): exact between the two, where samples of
 * /proc/self/statm would need a thread that is awake while another one is in the driver's compiler, and would miss what is short.
 *
 * @module
 */

/** Memory of the process, in bytes. */
export interface MemoryProbe {
  /** Resident now. */
  resident(): number;
  /** Most that was resident since {@linkcode MemoryProbe.beginPeak}. */
  peak(): number;
  /** Begins a new peak; false when this kernel cannot. It is the process's only one. */
  beginPeak(): boolean;
}

/** The probe over /proc. */
export const procMemory: MemoryProbe = {
  resident: () => field("VmRSS"),
  peak: () => field("VmHWM"),
  beginPeak() {
    try {
      Deno.writeTextFileSync("/proc/self/clear_refs", "5", { create: false });
      return true;
    } catch {
      return false; // a kernel without CONFIG_PROC_PAGE_MONITOR, or a container that hides it
    }
  },
};

/** A line of /proc/self/status, which are in KiB. */
function field(name: string): number {
  const text = Deno.readTextFileSync("/proc/self/status");
  const at = text.indexOf(`${name}:`);
  return at === -1 ? 0 : Number.parseInt(text.slice(at + name.length + 1), 10) * 1024;
}
