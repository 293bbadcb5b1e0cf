import { MalformedFileError } from "./file_format.ts";

/** What a JSON value can be. */
export type JsonValue = null | boolean | number | string | JsonNode[] | Map<string, JsonNode>;

/**
 * A JSON value with its place in the file. The methods say what the caller wants; anything else is a {@linkcode MalformedFileError} that names the
 * path (`$.memory[2].base`), the byte offset and the reason.
 */
export class JsonNode {
  readonly file: string;
  /** Byte offset of the value's first character. */
  readonly offset: number;
  readonly parent: JsonNode | undefined;
  readonly key: string | number | undefined;
  readonly value: JsonValue;

  constructor(
    file: string,
    offset: number,
    parent: JsonNode | undefined,
    key: string | number | undefined,
    value: JsonValue,
  ) {
    this.file = file;
    this.offset = offset;
    this.parent = parent;
    this.key = key;
    this.value = value;
  }

  /** Where the value is in the document, `$` for the document itself. */
  get path(): string {
    if (this.parent === undefined) return "$";
    if (typeof this.key === "number") return `${this.parent.path}[${this.key}]`;
    return /^[A-Za-z_][A-Za-z0-9_]*$/.test(this.key!)
      ? `${this.parent.path}.${this.key}`
      : `${this.parent.path}[${JSON.stringify(this.key)}]`;
  }

  /** Throws: this value is wrong for `reason`. */
  fail(reason: string, code = "file.value"): never {
    throw new MalformedFileError(code, `${this.path}: ${reason}`, { file: this.file, fileOffset: this.offset });
  }

  /** What kind of value this is, for messages. */
  get kind(): string {
    if (this.value === null) return "null";
    if (Array.isArray(this.value)) return "a list";
    if (this.value instanceof Map) return "an object";
    return {
      boolean: "a boolean",
      number: "a number",
      string: "a text",
    }[typeof this.value as "boolean" | "number" | "string"];
  }

  get isObject(): boolean {
    return this.value instanceof Map;
  }

  get isText(): boolean {
    return typeof this.value === "string";
  }

  /** The members; fails unless this is an object. */
  members(): Map<string, JsonNode> {
    return this.value instanceof Map ? this.value : this.fail(`an object is expected, not ${this.kind}`);
  }

  /** Fails unless this is an object whose keys are all in `keys`. */
  onlyKeys(keys: readonly string[]): void {
    for (const [key, node] of this.members()) {
      if (!keys.includes(key)) node.fail(`unknown key; known here: ${keys.join(", ")}`, "file.unknown-key");
    }
  }

  /** The member `key`; fails when there is none. */
  get(key: string): JsonNode {
    return this.members().get(key) ?? this.fail(`the key ${JSON.stringify(key)} is missing`, "file.missing-key");
  }

  /** The member `key`, or undefined. */
  optional(key: string): JsonNode | undefined {
    return this.members().get(key);
  }

  /** The items; fails unless this is a list with at least `minimum` items. */
  items(minimum = 0): JsonNode[] {
    if (!Array.isArray(this.value)) this.fail(`a list is expected, not ${this.kind}`);
    if (this.value.length < minimum) {
      this.fail(`at least ${minimum} item${minimum === 1 ? " is" : "s are"} expected, not ${this.value.length}`);
    }
    return this.value;
  }

  text(): string {
    return typeof this.value === "string" ? this.value : this.fail(`a text is expected, not ${this.kind}`);
  }

  boolean(): boolean {
    return typeof this.value === "boolean" ? this.value : this.fail(`true or false is expected, not ${this.kind}`);
  }

  /** One of a few texts. */
  oneOf<T extends string>(...choices: readonly T[]): T {
    const text = this.text() as T;
    return choices.includes(text) ? text : this.fail(`${JSON.stringify(text)} is not one of ${choices.join(", ")}`);
  }

  /** A whole number from `minimum` to `maximum`: a JSON number, or a text with a hexadecimal number after 0x. */
  integer(minimum: number, maximum: number): number {
    const value = this.unsigned(BigInt(maximum), BigInt(minimum));
    return Number(value);
  }

  /** Like {@linkcode integer}, for values that may need more than 53 bits; those must be texts. */
  unsigned(maximum: bigint, minimum = 0n): bigint {
    let value: bigint;
    if (typeof this.value === "number") {
      if (!Number.isSafeInteger(this.value)) {
        this.fail("a whole number is expected; write one of more than 53 bits as a text with 0x");
      }
      value = BigInt(this.value);
    } else if (typeof this.value === "string") {
      if (!/^0[xX][0-9a-fA-F]+$/.test(this.value)) {
        this.fail(`a number is expected: ${JSON.stringify(this.value.slice(0, 40))} is not hexadecimal with 0x`);
      }
      value = BigInt(this.value);
    } else this.fail(`a number is expected, not ${this.kind}`);
    if (value < minimum || value > maximum) this.fail(`${value} is outside ${minimum} to ${maximum}`);
    return value;
  }

  /** A list of 32-bit words, each a number or a text with 0x. */
  words(): Uint32Array<ArrayBuffer> {
    return Uint32Array.from(this.items(), (item) => item.integer(0, 0xFFFF_FFFF));
  }
}
