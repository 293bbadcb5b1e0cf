/**
 * Errors as data, to cross isolates, and back: the rebuilt error has the class, the message, the stack, the cause and every own field of the
 * original, byte for byte, whoever of any number of waiters gets it.
 *
 * @module
 */
import * as errors from "../errors.ts";
import { SyncError } from "./sync_error.ts";

type ErrorClass = { readonly prototype: Error };

/** Classes that errors are rebuilt as, by name; what is not here is rebuilt as Error with the original's name. */
const CLASSES = new Map<string, ErrorClass>([
  ["SyncError", SyncError],
  ...Object.entries(errors).filter((entry): entry is [string, typeof errors.AnyAgcError] =>
    typeof entry[1] === "function" && entry[1].prototype instanceof Error
  ),
  ...[Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, AggregateError].map((
    c,
  ): [string, ErrorClass] => [c.name, c]),
]);

/** Makes a class of errors known that is not in src/errors.ts; to be called in every isolate that may get one. */
export function registerErrorClass(Class: ErrorClass & { readonly name: string }): void {
  CLASSES.set(Class.name, Class);
}

/** Tagged JSON: `null` and booleans are themselves, all else is `[tag, ...]`. */
type Data = null | boolean | [string, ...unknown[]];

/** Encodes what was thrown (an error, or any plain value) as UTF-8 text. */
export function encodeError(thrown: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(toData(thrown, [])));
}

/**
 * Rebuilds what {@linkcode encodeError} encoded.
 *
 * @throws SyncError `sync.error-data` if the bytes are not such.
 */
export function decodeError(bytes: Uint8Array): unknown {
  try {
    // TextDecoder refuses shared memory.
    return fromData(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.slice())) as Data);
  } catch (cause) {
    if (cause instanceof SyncError) throw cause;
    throw new SyncError("sync.error-data", `these ${bytes.length} bytes are no error: ${cause}`);
  }
}

function toData(value: unknown, path: object[]): Data {
  switch (typeof value) {
    case "string":
      return ["s", value];
    case "boolean":
      return value;
    case "number":
      return ["n", Object.is(value, -0) ? "-0" : String(value)];
    case "bigint":
      return ["b", value.toString()];
    case "undefined":
      return ["u"];
    case "symbol":
    case "function":
      return ["x", String(value)];
  }
  if (value === null) return null;
  const object = value as object;
  if (path.includes(object)) return ["x", "(circular)"];
  const inner = [...path, object];
  if (object instanceof Error) {
    const fields: unknown[] = [];
    for (const key of Object.getOwnPropertyNames(object)) {
      const property = Object.getOwnPropertyDescriptor(object, key)!;
      // `stack` may be an accessor of the engine; its value is what counts.
      fields.push([
        key,
        toData((object as unknown as Record<string, unknown>)[key], inner),
        property.enumerable ? 1 : 0,
      ]);
    }
    return ["e", object.constructor?.name ?? object.name, fields];
  }
  if (Array.isArray(object)) return ["a", ...object.map((item) => toData(item, inner))];
  if (ArrayBuffer.isView(object) && !(object instanceof DataView)) {
    return ["t", object.constructor.name, ...Array.from(object as unknown as ArrayLike<number | bigint>, String)];
  }
  return ["o", ...Object.entries(object).map(([key, item]) => [key, toData(item, inner)])];
}

function fromData(data: Data): unknown {
  if (data === null || typeof data === "boolean") return data;
  const [tag, ...rest] = data;
  switch (tag) {
    case "s":
      return rest[0];
    case "n":
      return Number(rest[0]);
    case "b":
      return BigInt(rest[0] as string);
    case "u":
      return undefined;
    case "x":
      return rest[0];
    case "a":
      return rest.map((item) => fromData(item as Data));
    case "t":
      return typedArray(rest[0] as string, rest.slice(1) as string[]);
    case "o":
      return Object.fromEntries(rest.map((entry) => {
        const [key, item] = entry as [string, Data];
        return [key, fromData(item)];
      }));
    case "e":
      return rebuild(rest[0] as string, rest[1] as [string, Data, number][]);
  }
  throw new SyncError("sync.error-data", `unknown tag ${JSON.stringify(tag)} in an error's data`);
}

function rebuild(className: string, fields: [string, Data, number][]): Error {
  const Class = CLASSES.get(className);
  // An error object with the class's prototype, without running a constructor: its fields are all in the data.
  const error: Error = Reflect.construct(Error, [], Class as unknown as typeof Error ?? Error);
  for (const key of Object.getOwnPropertyNames(error)) delete (error as unknown as Record<string, unknown>)[key];
  for (const [key, data, enumerable] of fields) {
    Object.defineProperty(error, key, {
      value: fromData(data),
      enumerable: enumerable === 1,
      writable: true,
      configurable: true,
    });
  }
  if (Class === undefined && error.name !== className) {
    Object.defineProperty(error, "name", { value: className, enumerable: false, writable: true, configurable: true });
  }
  return error;
}

const ARRAYS = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
};

function typedArray(name: string, items: string[]): ArrayLike<number | bigint> {
  if (name === "BigInt64Array") return BigInt64Array.from(items.map(BigInt));
  if (name === "BigUint64Array") return BigUint64Array.from(items.map(BigInt));
  if (!Object.hasOwn(ARRAYS, name)) throw new SyncError("sync.error-data", `unknown array ${name} in an error's data`);
  return ARRAYS[name as keyof typeof ARRAYS].from(items.map(Number));
}
