/**
 * A local stand-in for `jsr:@std/assert`: our own code with the same interface for the functions that our tests use, so that a
 * fresh clone tests itself without a network. It is not the @std package; deno.json maps the name here through `links`.
 *
 * @module
 */
import { deepStrictEqual } from "node:assert";
import { isDeepStrictEqual } from "node:util";

/** Thrown by every assertion that does not hold. */
export class AssertionError extends Error {
  override name = "AssertionError";
}

// deno-lint-ignore no-explicit-any
type AnyConstructor = abstract new (...args: any[]) => any;
// deno-lint-ignore no-explicit-any
type ErrorConstructorLike<E extends Error = Error> = new (...args: any[]) => E;

/** Throws an {@linkcode AssertionError}. */
export function fail(msg?: string): never {
  throw new AssertionError(msg ? `Failed assertion: ${msg}` : "Failed assertion.");
}

/** Asserts that `expr` is truthy. */
export function assert(expr: unknown, msg = ""): asserts expr {
  if (!expr) throw new AssertionError(msg);
}

/** Asserts that `expr` is falsy. */
export function assertFalse(expr: unknown, msg?: string): asserts expr is false {
  if (expr) throw new AssertionError(msg ?? "Expected a falsy value.");
}

/** Asserts deep equality (own enumerable properties, prototypes, NaN equals NaN; +0 differs from -0). Shows a line diff. */
export function assertEquals<T>(actual: T, expected: T, msg?: string): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new AssertionError(`${prefix(msg)}Values are not equal.\n${difference(actual, expected)}`);
}

/** Asserts that two values are not deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void {
  if (!isDeepStrictEqual(actual, expected)) return;
  throw new AssertionError(`${prefix(msg)}Expected values to differ, both are ${show(actual)}`);
}

/** Asserts identity by `Object.is`. */
export function assertStrictEquals<T>(actual: unknown, expected: T, msg?: string): asserts actual is T {
  if (Object.is(actual, expected)) return;
  const note = isDeepStrictEqual(actual, expected)
    ? "Values have the same structure but are not the same object."
    : "Values are not strictly equal.";
  throw new AssertionError(`${prefix(msg)}${note}\n${difference(actual, expected)}`);
}

/** Asserts that two values are not identical by `Object.is`. */
export function assertNotStrictEquals<T>(actual: T, expected: T, msg?: string): void {
  if (!Object.is(actual, expected)) return;
  throw new AssertionError(`${prefix(msg)}Expected values not to be identical, both are ${show(actual)}`);
}

/** Asserts that a value is neither null nor undefined. */
export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T> {
  if (actual === undefined || actual === null) {
    throw new AssertionError(`${prefix(msg)}Expected a value that is neither null nor undefined, got ${actual}`);
  }
}

/** Asserts that `actual` is an instance of `type`. */
export function assertInstanceOf<T extends AnyConstructor>(
  actual: unknown,
  type: T,
  msg?: string,
): asserts actual is InstanceType<T> {
  if (actual instanceof type) return;
  const kind = actual === null || typeof actual !== "object" ? typeof actual : actual.constructor?.name ?? "Object";
  throw new AssertionError(`${prefix(msg)}Expected an instance of ${type.name}, got ${kind}: ${show(actual)}`);
}

/** Asserts that `actual` is not an instance of `type`. */
export function assertNotInstanceOf<T>(actual: unknown, type: AnyConstructor, msg?: string): asserts actual is T {
  if (actual instanceof type) throw new AssertionError(`${prefix(msg)}Expected no instance of ${type.name}`);
}

/** Asserts that `actual` contains `expected`. */
export function assertStringIncludes(actual: string, expected: string, msg?: string): void {
  if (actual.includes(expected)) return;
  throw new AssertionError(`${prefix(msg)}Expected ${show(actual)} to contain ${show(expected)}`);
}

/** Asserts that `actual` matches `expected`. */
export function assertMatch(actual: string, expected: RegExp, msg?: string): void {
  if (actual.search(expected) >= 0) return;
  throw new AssertionError(`${prefix(msg)}Expected ${show(actual)} to match ${expected}`);
}

/** Asserts that `actual` does not match `expected`. */
export function assertNotMatch(actual: string, expected: RegExp, msg?: string): void {
  if (actual.search(expected) < 0) return;
  throw new AssertionError(`${prefix(msg)}Expected ${show(actual)} not to match ${expected}`);
}

/** Asserts that two numbers differ by no more than `tolerance` (default: 1e-7 times |expected|, or 1e-7 around 0). */
export function assertAlmostEquals(actual: number, expected: number, tolerance?: number, msg?: string): void {
  if (Object.is(actual, expected)) return;
  const limit = tolerance ?? (isFinite(expected) ? Math.abs(expected || 1) * 1e-7 : 0);
  const delta = Math.abs(expected - actual);
  if (delta <= limit) return;
  throw new AssertionError(
    `${prefix(msg)}Expected ${actual} to be within ${limit} of ${expected}; the difference is ${delta}`,
  );
}

/** Asserts that `actual > expected`. */
export function assertGreater<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual > expected)) throw new AssertionError(`${prefix(msg)}Expected ${show(actual)} > ${show(expected)}`);
}

/** Asserts that `actual >= expected`. */
export function assertGreaterOrEqual<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual >= expected)) throw new AssertionError(`${prefix(msg)}Expected ${show(actual)} >= ${show(expected)}`);
}

/** Asserts that `actual < expected`. */
export function assertLess<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual < expected)) throw new AssertionError(`${prefix(msg)}Expected ${show(actual)} < ${show(expected)}`);
}

/** Asserts that `actual <= expected`. */
export function assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual <= expected)) throw new AssertionError(`${prefix(msg)}Expected ${show(actual)} <= ${show(expected)}`);
}

/** Asserts that `actual` holds every element of `expected` (deep equality). */
export function assertArrayIncludes<T>(actual: ArrayLike<T>, expected: ArrayLike<T>, msg?: string): void {
  const missing = Array.from(expected).filter((e) => !Array.from(actual).some((a) => isDeepStrictEqual(a, e)));
  if (missing.length > 0) {
    throw new AssertionError(`${prefix(msg)}Expected ${show(actual)} to include ${show(missing)}`);
  }
}

/** Asserts that `actual` has at least the properties of `expected`, at every depth. Arrays must have the same length. */
export function assertObjectMatch(
  actual: Record<PropertyKey, unknown>,
  expected: Record<PropertyKey, unknown>,
  msg?: string,
): void {
  if (!contains(actual, expected)) {
    throw new AssertionError(`${prefix(msg)}The object does not match.\n${difference(actual, expected)}`);
  }
}

/** Asserts that an error is of `errorClass` and that its message contains `msgIncludes`. */
export function assertIsError<E extends Error = Error>(
  error: unknown,
  errorClass?: ErrorConstructorLike<E>,
  msgIncludes?: string | RegExp,
  msg?: string,
): asserts error is E {
  if (!(error instanceof Error)) {
    throw new AssertionError(`${prefix(msg)}Expected an Error object, got ${show(error)}`);
  }
  if (errorClass && !(error instanceof errorClass)) {
    throw new AssertionError(
      `${prefix(msg)}Expected an error of class ${errorClass.name}, got ${error.constructor.name}: ${error.message}`,
    );
  }
  const bad = msgIncludes instanceof RegExp
    ? error.message.search(msgIncludes) < 0
    : msgIncludes !== undefined && !error.message.includes(msgIncludes);
  if (bad) {
    throw new AssertionError(
      `${prefix(msg)}Expected the error message to include ${show(msgIncludes)}, but got ${show(error.message)}`,
    );
  }
}

/** Asserts that `fn` throws. With a class (and a part of the message) the error must fit them; the error is returned. */
export function assertThrows(fn: () => unknown, msg?: string): unknown;
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  // deno-lint-ignore no-explicit-any
  errorClass: abstract new (...args: any[]) => E,
  msgIncludes?: string,
  msg?: string,
): E;
export function assertThrows(
  fn: () => unknown,
  classOrMsg?: AnyConstructor | string,
  msgIncludes?: string,
  msg?: string,
): unknown {
  const errorClass = typeof classOrMsg === "string" ? undefined : classOrMsg as ErrorConstructorLike | undefined;
  const note = typeof classOrMsg === "string" ? classOrMsg : msg;
  let result: unknown;
  try {
    result = fn();
  } catch (error) {
    if (errorClass) assertIsError(error, errorClass, msgIncludes, note);
    return error;
  }
  // An async function never throws here: the caller meant assertRejects, and must not pass by mistake.
  if (result instanceof Promise) {
    result.catch(() => {});
    throw new AssertionError(`${prefix(note)}The function returned a promise: use assertRejects`);
  }
  throw new AssertionError(
    `${prefix(note)}Expected the function to throw${errorClass ? ` ${errorClass.name}` : ""}, but it returned`,
  );
}

/** Asserts that the promise of `fn` rejects. With a class (and a part of the message) the error must fit them; it is returned. */
export function assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  // deno-lint-ignore no-explicit-any
  errorClass: abstract new (...args: any[]) => E,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export async function assertRejects(
  fn: () => PromiseLike<unknown>,
  classOrMsg?: AnyConstructor | string,
  msgIncludes?: string,
  msg?: string,
): Promise<unknown> {
  const errorClass = typeof classOrMsg === "string" ? undefined : classOrMsg as ErrorConstructorLike | undefined;
  const note = typeof classOrMsg === "string" ? classOrMsg : msg;
  let promise: PromiseLike<unknown>;
  try {
    promise = fn();
  } catch (error) {
    throw new AssertionError(
      `${prefix(note)}The function threw instead of returning a promise that rejects: ${show(error)}`,
    );
  }
  if (promise === null || typeof promise !== "object" || typeof promise.then !== "function") {
    throw new AssertionError(`${prefix(note)}The function returned no promise`);
  }
  try {
    await promise;
  } catch (error) {
    if (errorClass) assertIsError(error, errorClass, msgIncludes, note);
    return error;
  }
  throw new AssertionError(
    `${prefix(note)}Expected the promise to reject${errorClass ? ` with ${errorClass.name}` : ""}, but it resolved`,
  );
}

/** Throws: marks a place that must not be reached. */
export function unreachable(reason?: string): never {
  throw new AssertionError(reason ?? "Unreachable");
}

function prefix(msg: string | undefined): string {
  return msg ? `${msg}: ` : "";
}

function show(value: unknown): string {
  return Deno.inspect(value, { depth: 4, strAbbreviateSize: 400, iterableLimit: 40, breakLength: 100 });
}

function difference(actual: unknown, expected: unknown): string {
  // Large typed arrays: the first difference says more than a diff of a million lines.
  if (
    ArrayBuffer.isView(actual) && ArrayBuffer.isView(expected) && !(actual instanceof DataView) &&
    !(expected instanceof DataView)
  ) {
    const a = actual as unknown as ArrayLike<number | bigint>, e = expected as unknown as ArrayLike<number | bigint>;
    if (actual.constructor === expected.constructor && (a.length > 64 || e.length > 64)) return firstDifference(a, e);
  }
  try {
    deepStrictEqual(actual, expected);
  } catch (error) {
    return String((error as Error).message);
  }
  return `actual ${show(actual)}\nexpected ${show(expected)}`;
}

function firstDifference(actual: ArrayLike<number | bigint>, expected: ArrayLike<number | bigint>): string {
  let count = 0, first = -1;
  const n = Math.min(actual.length, expected.length);
  for (let i = 0; i < n; i++) {
    if (Object.is(actual[i], expected[i])) continue;
    if (first < 0) first = i;
    count++;
  }
  const lengths = actual.length === expected.length ? "" : `lengths ${actual.length} and ${expected.length}; `;
  if (first < 0) return `${lengths}the common part is equal`;
  return `${lengths}${count} of ${n} elements differ, first at [${first}]: actual ${actual[first]}, expected ${
    expected[first]
  }`;
}

function contains(actual: unknown, expected: unknown): boolean {
  if (expected === null || typeof expected !== "object" || actual === null || typeof actual !== "object") {
    return isDeepStrictEqual(actual, expected);
  }
  const plain = Object.getPrototypeOf(expected) === Object.prototype || Object.getPrototypeOf(expected) === null;
  if (Array.isArray(expected)) {
    return Array.isArray(actual) && actual.length === expected.length &&
      expected.every((e, i) => contains(actual[i], e));
  }
  if (!plain) return isDeepStrictEqual(actual, expected);
  return Reflect.ownKeys(expected).every((key) =>
    Reflect.has(actual, key) && contains(Reflect.get(actual, key), Reflect.get(expected, key))
  );
}
