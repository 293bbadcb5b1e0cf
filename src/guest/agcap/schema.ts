/**
 * The manifest of a capture as a JSON Schema: the one description of its keys. The reader checks manifests with it, docs/agcap.schema.json is a copy
 * (`deno run -A tools/agcap/write_schema.ts`), and a test compares both and docs/agcap.md.
 */
import { MAX_BYTES, MAX_SUBMISSION_WORDS } from "../loaders/program_checks.ts";
import type { JsonSchema } from "./json_schema.ts";

/** Value of the manifest's `schema`. */
export const AGCAP_SCHEMA_NAME = "anyagc.agcap/1";
/** Name of the manifest in the archive. */
export const MANIFEST = "manifest.json";
/** Longest name or reason, in letters. */
const MAX_TEXT = 1 << 16;
/** Bytes that are written into the manifest at most; longer data has an entry of its own. */
export const MAX_INLINE_BYTES = 256;

const text: JsonSchema = { type: "string", maxLength: MAX_TEXT };
const address: JsonSchema = {
  type: "string",
  pattern: "^0x[0-9a-f]{1,16}$",
  description: "guest address: sign-extended 48-bit, as an unsigned 64-bit number",
};
const bytes: JsonSchema = { type: "integer", minimum: 1, maximum: MAX_BYTES, description: "how many bytes" };
const entry: JsonSchema = {
  type: "string",
  pattern: "^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$",
  maxLength: 200,
  description: "name of an entry of the archive",
};
const queue: JsonSchema = { type: "integer", maximum: 0x57, description: "0: graphics; 32 to 87: compute" };

function object(
  properties: Readonly<Record<string, JsonSchema>>,
  optional: readonly string[] = [],
  description?: string,
): JsonSchema {
  return {
    type: "object",
    ...(description === undefined ? {} : { description }),
    properties,
    required: Object.keys(properties).filter((key) => !optional.includes(key)),
    additionalProperties: false,
  };
}

function list(items: JsonSchema, description: string): JsonSchema {
  return { type: "array", items, maxItems: 1 << 20, description };
}

const ref = (name: string): JsonSchema => ({ $ref: `#/$defs/${name}` });

/** The schema. */
export const AGCAP_SCHEMA: JsonSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $id: "urn:anyagc:agcap:1",
  title: "Manifest of an AnyAGC capture (.agcap)",
  ...object(
    {
      schema: { type: "string", const: AGCAP_SCHEMA_NAME, description: "format and version" },
      name: { ...text, minLength: 1, description: "short name of the program" },
      target: { type: "string", enum: ["gfx1013", "gfx1030"], description: "instruction set of all machine code" },
      producer: { ...text, description: "what wrote the file" },
      source: { ...text, description: "name of the file that it was made from" },
      notes: list(text, "what a reader of the results should know"),
      memory: list(ref("window"), "windows of guest memory before the run"),
      shaders: list(ref("shader"), "shaders that are known by name"),
      queues: list(queue, "queues of the submissions, in order of first use"),
      submissions: list(ref("submission"), "what the guest submits, in order"),
      expect: list(ref("expectation"), "bytes that must be in memory after the run"),
      untouched: list(ref("range"), "ranges that the run must not change"),
      frame: ref("frame"),
      missing: list(text, "what a run needs and the capture lacks; with any, runs are refused"),
      results: ref("results"),
    },
    ["producer", "source", "frame", "missing", "results"],
  ),
  $defs: {
    window: object(
      {
        name: text,
        base: { ...address, description: "first guest address, a multiple of 4096" },
        bytes: { ...bytes, description: "size, a multiple of 4096" },
        permissions: { type: "string", pattern: "^r?w?x?$", minLength: 1, description: "letters of rwx" },
        contents: list(
          object({
            offset: { type: "integer", maximum: MAX_BYTES - 1, description: "from the window's base" },
            bytes,
          }),
          "pieces of initial contents, by rising offset, without overlaps; everything else is zero",
        ),
        entry: { ...entry, description: "entry with the pieces' bytes, one after the other; left out without pieces" },
      },
      ["entry"],
      "a window of guest memory",
    ),
    shader: {
      oneOf: [
        object(
          { form: { type: "string", const: "record-file" }, name: text, address, entry },
          ["address"],
          "an AGC shader record in a file of its own (.sb)",
        ),
        object(
          { form: { type: "string", const: "record" }, name: text, address, record: address },
          ["address"],
          "an AGC shader record in the initial memory, at `record`, with absolute pointers",
        ),
        object(
          { form: { type: "string", const: "code" }, name: text, address, entry, describedBy: entry },
          ["address"],
          "machine code in `entry`, and its description as JSON in `describedBy`",
        ),
      ],
    },
    submission: object(
      {
        queue,
        label: { ...text, description: "name for messages" },
        address: { ...address, description: "where the words lie in guest memory, if they do" },
        dwords: { type: "integer", maximum: MAX_SUBMISSION_WORDS, description: "how many words" },
        entry,
      },
      ["label", "address"],
      "a command buffer",
    ),
    data: {
      oneOf: [
        object({
          in: { type: "string", const: "manifest" },
          hex: { type: "string", pattern: "^([0-9a-f]{2})+$", maxLength: 2 * MAX_INLINE_BYTES },
        }),
        object({ in: { type: "string", const: "entry" }, bytes, entry }),
      ],
    },
    expectation: object(
      {
        address,
        bytes: { ...bytes, description: "a multiple of the data's length: the data is repeated" },
        data: ref("data"),
        reason: text,
      },
      [],
      "bytes that must be in memory after the run",
    ),
    range: object({ address, bytes, reason: text }, [], "a range of memory"),
    frame: object(
      {
        address,
        width: { type: "integer", minimum: 1, maximum: 16384, description: "pixels" },
        height: { type: "integer", minimum: 1, maximum: 16384, description: "pixels" },
        pitchBytes: { type: "integer", minimum: 4, maximum: 1 << 20, description: "bytes from one row to the next" },
        format: { type: "string", enum: ["rgba8", "bgra8"] },
        tiling: { type: "string", enum: ["linear", "64KB_R_X"] },
      },
      [],
      "a picture in memory",
    ),
    results: object(
      {
        device: object({ name: text, type: text, apiVersion: text, driver: text }),
        outcome: { type: "string", enum: ["passed", "differs", "failed"] },
        error: object(
          {
            code: text,
            message: text,
            queue,
            guestAddress: address,
            pc: { type: "integer", maximum: 0xFFFF_FFFF, description: "bytes from the program's start" },
          },
          ["queue", "guestAddress", "pc"],
          "why the run stopped; only for failed",
        ),
        dispatches: { type: "integer", maximum: 0xFFFF_FFFF },
        labels: list(
          object({
            queue,
            address,
            value: { type: "string", pattern: "^0x[0-9a-f]{1,16}$" },
            kind: { type: "string", enum: ["u32", "u64", "clock"] },
          }),
          "labels in the order in which they were written",
        ),
        memory: list(
          object({ address, bytes }),
          "ranges that the run changed, by rising address; everything else in the windows is as before",
        ),
        entry: { ...entry, description: "entry with the ranges' bytes, one after the other; left out without ranges" },
        volatile: list(ref("range"), "ranges that differ from run to run, and are not compared"),
      },
      ["error", "entry"],
      "what a run gave",
    ),
  },
};
