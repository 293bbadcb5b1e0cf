import type { GpuMutex } from "../../sync/gpu_mutex.ts";

/** Tries before it sleeps: others have the mutex for a microsecond or two, and waking up takes longer than all of them together. */
const TRIES = 200;

/** Takes the GPU mutex, which many isolates want for a short time. */
export function lockSoon(mutex: GpuMutex): void {
  for (let k = 0; k < TRIES; k++) if (mutex.tryLock()) return;
  mutex.lock();
}
