import { JsonNode, type JsonValue } from "./json_node.ts";
import { MalformedFileError } from "./file_format.ts";

/** Deepest nesting that is read; inputs need less than ten levels. */
const MAX_DEPTH = 64;

/**
 * Reads JSON text (RFC 8259) and keeps the byte offset of every value, so that errors can name the place. Stricter than JSON.parse: a key that
 * appears twice is refused, as are a byte order mark, bytes that are not UTF-8 and deep nesting.
 */
export function parseJson(file: string, bytes: Uint8Array): JsonNode {
  return new Parser(file, bytes).document();
}

class Parser {
  readonly #file: string;
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(file: string, bytes: Uint8Array) {
    this.#file = file;
    this.#bytes = bytes;
  }

  document(): JsonNode {
    this.#space();
    const node = this.#value(undefined, undefined, 0);
    this.#space();
    if (this.#at < this.#bytes.length) this.#fail("text after the end of the document");
    return node;
  }

  #value(parent: JsonNode | undefined, key: string | number | undefined, depth: number): JsonNode {
    if (depth > MAX_DEPTH) this.#fail(`nested deeper than ${MAX_DEPTH} levels`);
    const start = this.#at;
    const node = (value: JsonValue) => new JsonNode(this.#file, start, parent, key, value);
    switch (this.#bytes[start]) {
      case 0x7B: // {
        return this.#object(node(new Map()), depth);
      case 0x5B: // [
        return this.#array(node([]), depth);
      case 0x22: // "
        return node(this.#text());
      case 0x74: // t
        return this.#word("true"), node(true);
      case 0x66: // f
        return this.#word("false"), node(false);
      case 0x6E: // n
        return this.#word("null"), node(null);
      default:
        return node(this.#number());
    }
  }

  #object(node: JsonNode, depth: number): JsonNode {
    const members = node.value as Map<string, JsonNode>;
    this.#at++;
    this.#space();
    if (this.#accept(0x7D)) return node;
    do {
      this.#space();
      const start = this.#at;
      if (this.#bytes[start] !== 0x22) this.#fail("a key in quotes is expected");
      const key = this.#text();
      if (members.has(key)) this.#fail(`the key ${JSON.stringify(key)} appears twice in one object`, start);
      this.#space();
      if (!this.#accept(0x3A)) this.#fail("a colon is expected");
      this.#space();
      members.set(key, this.#value(node, key, depth + 1));
      this.#space();
    } while (this.#accept(0x2C));
    if (!this.#accept(0x7D)) this.#fail("a comma or a closing brace is expected");
    return node;
  }

  #array(node: JsonNode, depth: number): JsonNode {
    const items = node.value as JsonNode[];
    this.#at++;
    this.#space();
    if (this.#accept(0x5D)) return node;
    do {
      this.#space();
      items.push(this.#value(node, items.length, depth + 1));
      this.#space();
    } while (this.#accept(0x2C));
    if (!this.#accept(0x5D)) this.#fail("a comma or a closing bracket is expected");
    return node;
  }

  #text(): string {
    const start = this.#at++;
    let plain = true;
    for (;;) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) this.#fail("a text has no end", start);
      if (byte < 0x20) this.#fail("a control character in a text");
      if (byte === 0x22) break;
      if (byte === 0x5C) {
        plain = false;
        this.#at++;
        if (this.#at >= this.#bytes.length) this.#fail("a text has no end", start);
      }
      this.#at++;
    }
    const raw = this.#bytes.subarray(start, ++this.#at);
    let text: string;
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw);
    } catch {
      this.#fail("a text is not UTF-8", start);
    }
    if (plain) return text.slice(1, -1);
    try {
      return JSON.parse(text);
    } catch {
      this.#fail("a text with a bad escape", start);
    }
  }

  #number(): number {
    const start = this.#at;
    // The bytes that a number may hold: + - . 0-9 E e
    while (this.#at < this.#bytes.length && /[-+.0-9Ee]/.test(String.fromCharCode(this.#bytes[this.#at]))) this.#at++;
    const text = String.fromCharCode(...this.#bytes.subarray(start, Math.min(this.#at, start + 400)));
    if (!/^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$/.test(text)) this.#fail("a value is expected", start);
    return Number(text);
  }

  #word(word: string): void {
    for (let i = 0; i < word.length; i++) {
      if (this.#bytes[this.#at + i] !== word.charCodeAt(i)) this.#fail("a value is expected");
    }
    this.#at += word.length;
  }

  #space(): void {
    while (isSpace(this.#bytes[this.#at])) this.#at++;
  }

  #accept(byte: number): boolean {
    if (this.#bytes[this.#at] !== byte) return false;
    this.#at++;
    return true;
  }

  #fail(reason: string, at = this.#at): never {
    const end = at >= this.#bytes.length ? "; the file ends here" : "";
    throw new MalformedFileError("file.json", `not JSON: ${reason}${end}`, { file: this.#file, fileOffset: at });
  }
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0A || byte === 0x0D || byte === 0x09;
}
