/**
 * Named points inside the shared structures, between two of their memory accesses. In production nothing happens there. Stress tests put
 * a hook in: it delays (so that other isolates come in between) or throws (so that the isolate dies exactly there, locks held).
 *
 * @module
 */

/** Called at every point with its name. */
export type StepHook = (point: string) => void;

let hook: StepHook | undefined;

/** Sets the hook of this isolate; undefined takes it out. */
export function setStepHook(next: StepHook | undefined): void {
  hook = next;
}

/** Passes a point. */
export function step(point: string): void {
  if (hook !== undefined) hook(point);
}
