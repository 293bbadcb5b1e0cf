/**
 * Lets a member die at every single access to shared memory, one run for each. To be imported before anything of src: it replaces the constructors of the
 * typed arrays that the structures have over shared memory, and Atomics, so that each access is counted.
 *
 * Nobody waits for anybody here: a sleep is over at once, as one whose time is up; who sleeps again and again waits for ever.
 */

/** Thrown at the access where the member dies, and at all that follow: what runs in its `finally` does nothing any more. */
export class DiesHere extends Error {}

const MOST_SLEEPS = 300;
const RAW = Symbol("the array itself");
const real = globalThis.Atomics;

let accesses = 0, sleeps = 0;
/** At which access somebody dies; 0: nobody. */
let last = 0;

function access(): void {
  if (last !== 0 && ++accesses >= last) throw new DiesHere();
}

function raw<T>(array: T): T {
  return (array as { [RAW]?: T })[RAW] ?? array;
}

/** An array over shared memory, each access counted. */
function counted<T extends object>(array: T): T {
  return new Proxy(array, {
    get(target, name) {
      if (name === RAW) return target;
      if (typeof name === "string" && /^\d/.test(name)) access();
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...parameters: unknown[]) => {
        if (name === "fill" || name === "set") access();
        return value.apply(target, parameters.map(raw));
      };
    },
    set(target, name, value) {
      access();
      return Reflect.set(target, name, value, target);
    },
  });
}

const globals = globalThis as unknown as Record<string, unknown>;
for (const name of ["Int32Array", "Float64Array", "BigInt64Array"]) {
  globals[name] = new Proxy(globals[name] as new () => object, {
    construct(target, parameters) {
      const array = Reflect.construct(target, parameters.map(raw));
      return array.buffer instanceof SharedArrayBuffer ? counted(array) : array;
    },
  });
}
const operations = ["load", "store", "add", "sub", "or", "exchange", "compareExchange", "notify"] as const;
globals.Atomics = {
  ...Object.fromEntries(operations.map((name) => {
    const operation = real[name] as (array: unknown, ...rest: unknown[]) => unknown;
    return [name, (array: unknown, ...rest: unknown[]) => {
      access();
      return operation(raw(array), ...rest);
    }];
  })),
  wait(array: Int32Array<SharedArrayBuffer>, index: number, value: number) {
    access();
    if (real.load(raw(array), index) !== value) return "not-equal";
    if (++sleeps > MOST_SLEEPS) throw new Error("it sleeps for ever");
    return "timed-out";
  },
};

/** Does something, and dies at an access. @returns false if it came to its end before */
export function dies(at: number, action: () => void): boolean {
  [accesses, sleeps, last] = [0, 0, at];
  try {
    action();
  } catch (error) {
    if (accesses < at) throw error;
  } finally {
    last = 0;
  }
  return accesses >= at;
}

/** Does something without dying. */
export function lives<T>(action: () => T): T {
  sleeps = 0;
  return action();
}
