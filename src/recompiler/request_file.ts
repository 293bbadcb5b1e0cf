/**
 * A request to the recompiler as a file of its own (JSON, docs/cli-json.md "anyagc.request/1"): everything that decides the output, the device included,
 * so that it is recompiled the same on any machine. What a file may say is the tables below, which the compiler holds against `RecompileRequest`.
 *
 * @module
 */
import { hex, UsageError } from "../errors.ts";
import { TARGETS } from "../rdna/target.ts";
import { byteChecksum } from "../storage/byte_checksum.ts";
import type { RecompilerDevice, RecompileRequest } from "./request.ts";
import {
  type ColorExport,
  type DepthControl,
  EXPORT_FORMATS,
  type GraphicsState,
  type Interpolant,
  type PixelState,
  type Stage,
  stageOf,
  TARGET_NUMBERS,
  VERTEX_FORMS,
  type VertexState,
} from "./stages/state.ts";

/** Schema of the files. */
const REQUEST_SCHEMA = "anyagc.request/1";
/** Ends the names of the files. */
export const REQUEST_SUFFIX = ".request.json";
/** Words of code at most: 1 MiB. */
const MAX_CODE_WORDS = 1 << 18;
const WORDS_PER_LINE = 8;

/** What a field may be: reads the JSON value, or tells in words what it should have been. */
interface Field {
  readonly read: (value: unknown) => unknown;
  readonly expected: string;
  readonly optional?: boolean;
}

/** No value of the field's kind. */
const WRONG = Symbol("wrong");

const integer = (least: number, most: number): Field => ({
  read: (value) => Number.isInteger(value) && value as number >= least && value as number <= most ? value : WRONG,
  expected: `a whole number from ${least} to ${most}`,
});
const oneOf = (...values: readonly (string | number)[]): Field => ({
  read: (value) => values.includes(value as string) ? value : WRONG,
  expected: values.map((value) => JSON.stringify(value)).join(" or "),
});
const tuple = (length: number, { read, expected }: Field): Field => ({
  read: (value) => {
    if (!Array.isArray(value) || value.length !== length) return WRONG;
    const items = value.map(read);
    return items.includes(WRONG) ? WRONG : items;
  },
  expected: `a list of ${length}, each ${expected}`,
});
const optional = (field: Field): Field => ({ ...field, optional: true });

const FLAG: Field = { read: (value) => typeof value === "boolean" ? value : WRONG, expected: "true or false" };
const ADDRESS: Field = {
  read: (value) => typeof value === "string" && /^0x[0-9a-f]{1,16}$/i.test(value) ? BigInt(value) : WRONG,
  expected: 'an address like "0x200000000"',
};
const WORD: Field = {
  read: (value) => typeof value === "string" && /^0x[0-9a-f]{1,8}$/i.test(value) ? Number(value) : WRONG,
  expected: 'a word like "0x7e000280"',
};

const DEVICE_FIELDS = {
  subgroupSize: integer(1, 128),
  sharedMemoryBytes: integer(0, 2 ** 32 - 1),
  denormFlush32: FLAG,
  denormPreserve32: FLAG,
  signedZeroInfNanPreserve32: FLAG,
  signedZeroInfNanPreserve16: optional(FLAG),
  signedZeroInfNanPreserve64: optional(FLAG),
  roundRte32: FLAG,
  keepsDenormals32: FLAG,
  flushesDenormals32: FLAG,
  roundRteKeepsDenormals32: optional(FLAG),
  fusesFma32: FLAG,
  fusesFma64: optional(FLAG),
  fusesFma16: optional(FLAG),
  exactHalf: optional(FLAG),
  exactHalfPack: optional(FLAG),
  int8: FLAG,
  int16: FLAG,
  float16: FLAG,
  float64: FLAG,
  storage8: FLAG,
  storage16: FLAG,
  bufferInt64Atomics: FLAG,
  sharedInt64Atomics: FLAG,
  requiredSubgroup: optional(object({
    minimum: integer(1, 128),
    maximum: integer(1, 128),
    perWorkgroup: integer(1, 2 ** 32 - 1),
  })),
  laneMode: optional(oneOf("native", "spanned", "packed")),
  graphics: optional(object({
    quads: FLAG,
    subgroups: FLAG,
    sampleRate: FLAG,
    barycentrics: FLAG,
    stencilExport: FLAG,
    layers: FLAG,
    distances: FLAG,
  })),
  endsLoops: optional(FLAG),
} satisfies { readonly [K in keyof Required<RecompilerDevice>]: Field };

/** All but code and image descriptors. */
const REQUEST_FIELDS = {
  codeAddress: ADDRESS,
  target: oneOf(...TARGETS),
  waveSize: oneOf(32, 64),
  workgroupSize: tuple(3, integer(1, 1024)),
  userSgprCount: integer(0, 32),
  workgroupIds: tuple(3, FLAG),
  tgSize: FLAG,
  scratch: FLAG,
  threadIdCount: integer(0, 3),
  ldsBytes: integer(0, 65536),
  floatMode: integer(0, 255),
  ieee: FLAG,
  dx10Clamp: FLAG,
  partialThreads: FLAG,
  windows: optional(integer(1, 65536)),
  unalignedLoads: optional(FLAG),
  resolve: optional(FLAG),
  group: optional(object({
    next: optional(object({ sgpr: integer(0, 107), offset: integer(0, MAX_CODE_WORDS * 4) })),
  })),
  device: object(DEVICE_FIELDS),
} satisfies { readonly [K in keyof Required<Omit<RecompileRequest, "code" | "imageDescriptors" | "graphics">>]: Field };

const INTERPOLANT_FIELDS = {
  source: {
    read: (value) => {
      const [entry, ...more] = typeof value === "object" && value !== null ? Object.entries(value) : [];
      if (entry === undefined || more.length > 0) return WRONG;
      const [name, number] = entry, most = name === "param" ? 31 : name === "constant" ? 3 : -1;
      return Number.isInteger(number) && number >= 0 && number <= most ? { [name]: number } : WRONG;
    },
    expected: '{"param": 0 to 31} or {"constant": 0 to 3}',
  },
  flat: FLAG,
  custom: FLAG,
  packedHalves: FLAG,
  pointSprite: FLAG,
  cylinderWrap: integer(0, 15),
} satisfies { readonly [K in keyof Interpolant]: Field };

const COLOR_FIELDS = {
  format: oneOf(...EXPORT_FORMATS),
  number: oneOf(...TARGET_NUMBERS),
} satisfies { readonly [K in keyof ColorExport]: Field };

const DEPTH_FIELDS = {
  exportsDepth: FLAG,
  exportsStencil: FLAG,
  exportsMask: FLAG,
  order: integer(0, 3),
  beforeShader: FLAG,
  conservative: integer(0, 3),
  alphaToMask: FLAG,
} satisfies { readonly [K in keyof DepthControl]: Field };

/** State of a stage, but for its name, which the file has as `stage`. */
const STATE_FIELDS = {
  pixel: {
    inputAddr: integer(0, 0xffff),
    inputEna: integer(0, 0xffff),
    positionLocation: integer(0, 3),
    positionCorner: FLAG,
    frontFaceAllBits: FLAG,
    barycentricControl: integer(0, 0xffff),
    interpolants: list(63, INTERPOLANT_FIELDS),
    waveCount: FLAG,
    colors: list(8, COLOR_FIELDS, 8),
    targetMask: integer(0, 2 ** 32 - 1),
    depthFormat: oneOf(...EXPORT_FORMATS),
    depth: object(DEPTH_FIELDS),
    perSample: FLAG,
  } satisfies { readonly [K in keyof Omit<PixelState, "stage">]: Field },
  vertex: {
    form: oneOf(...VERTEX_FORMS),
    passthrough: FLAG,
    vertexVgprs: integer(0, 3),
    primitiveVgprs: integer(0, 3),
    positions: integer(1, 4),
    outControl: integer(0, 2 ** 32 - 1),
    params: integer(0, 32),
  } satisfies { readonly [K in keyof Omit<VertexState, "stage">]: Field },
} as const;
const STAGES: readonly unknown[] = ["compute", "pixel", "vertex"] satisfies Stage[];

const IMAGE_FIELDS = { pc: integer(0, MAX_CODE_WORDS * 4), words: { ...tuple(8, WORD), read: readDescriptor } };

/** The hash that names a program in messages: of the words of its code. */
export function shaderHash(code: Uint32Array): string {
  return byteChecksum(new Uint8Array(code.buffer, code.byteOffset, code.byteLength)).toHex();
}

/** A request's file. The code should be cut to the program: see `programWords`. */
export function encodeRequest(request: RecompileRequest): string {
  const { code, imageDescriptors, graphics } = request;
  const fields = Object.keys(REQUEST_FIELDS).map((name) => [name, request[name as keyof RecompileRequest]]);
  const lines: string[] = [];
  for (let at = 0; at < code.length; at += WORDS_PER_LINE) {
    lines.push(Array.from(code.subarray(at, at + WORDS_PER_LINE), (word) => hex(word, 8).slice(2)).join(" "));
  }
  const file = {
    schema: REQUEST_SCHEMA,
    stage: stageOf(request),
    shader: shaderHash(code),
    ...Object.fromEntries(fields),
    ...(graphics === undefined ? {} : { state: { ...graphics, stage: undefined } }),
    ...(imageDescriptors === undefined ? {} : {
      imageDescriptors: Array.from(
        imageDescriptors,
        ([pc, words]) => ({ pc, words: Array.from(words, (word) => hex(word)) }),
      ),
    }),
    code: lines,
  };
  return JSON.stringify(file, (_, value) => typeof value === "bigint" ? hex(value) : value, 1) + "\n";
}

/** What a request's file says. */
export interface RequestFile {
  readonly stage: Stage;
  /** {@linkcode shaderHash} of the code. */
  readonly shader: string;
  readonly request: RecompileRequest;
}

/** Reads a request's file. @param file its name, for errors @throws UsageError that names the field and what it should be */
export function decodeRequest(bytes: Uint8Array, file: string): RequestFile {
  let data: unknown;
  try {
    data = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw wrong(file, `is no JSON (cut off, or damaged?): ${(error as Error).message.slice(0, 200)}`);
  }
  if (typeof data !== "object" || data === null || Array.isArray(data)) throw wrong(file, "is no JSON object");
  const { schema, stage: given, shader, code: lines, imageDescriptors: images, state, ...rest } = data as Record<
    string,
    unknown
  >;
  if (schema !== REQUEST_SCHEMA) throw wrong(file, `schema is not "${REQUEST_SCHEMA}"`);
  if (!STAGES.includes(given)) throw wrong(file, `stage is not ${STAGES.join(" or ")}`);
  const stage = given as Stage;
  const code = readCode(lines, file);
  const hash = shaderHash(code);
  if (shader !== undefined && shader !== hash) {
    throw wrong(file, `shader is not the hash of the code, ${hash}; after a change of the code, leave "shader" out`);
  }
  const fields = readFields(rest, REQUEST_FIELDS, "", file) as unknown as Omit<RecompileRequest, "code">;
  const [x, y, z] = fields.workgroupSize;
  if (x * y * z > 1024) throw wrong(file, `workgroupSize has ${x * y * z} threads; 1024 are possible`);
  const imageDescriptors = images === undefined ? undefined : readImages(images, file);
  if (stage === "compute" && state !== undefined) throw wrong(file, "a compute program has no state");
  const graphics = stage === "compute"
    ? undefined
    : { stage, ...readFields(state, STATE_FIELDS[stage], "state.", file) } as unknown as GraphicsState;
  const request = {
    code,
    ...fields,
    ...(graphics === undefined ? {} : { graphics }),
    ...(imageDescriptors === undefined ? {} : { imageDescriptors }),
  };
  return { stage, shader: hash, request };
}

function readCode(lines: unknown, file: string): Uint32Array {
  if (!Array.isArray(lines)) throw wrong(file, "code is no list of lines of words");
  const words: number[] = [];
  for (const [index, line] of lines.entries()) {
    if (typeof line !== "string" || !/^[0-9a-f]{8}( [0-9a-f]{8})*$/i.test(line)) {
      throw wrong(file, `code, line ${index + 1}, is not words of 8 hexadecimal digits`);
    }
    for (const word of line.split(" ")) words.push(parseInt(word, 16));
    if (words.length > MAX_CODE_WORDS) throw wrong(file, `code has more than ${MAX_CODE_WORDS} words`);
  }
  if (words.length === 0) throw wrong(file, "code has no words");
  return Uint32Array.from(words);
}

function readImages(images: unknown, file: string): Map<number, Uint32Array> {
  if (!Array.isArray(images)) throw wrong(file, "imageDescriptors is no list");
  return new Map(images.map((image, index) => {
    const { pc, words } = readFields(image, IMAGE_FIELDS, `imageDescriptors[${index}].`, file);
    return [pc as number, Uint32Array.from(words as number[])];
  }));
}

/** A T#, and behind it the S# of an instruction that samples. */
function readDescriptor(value: unknown): unknown {
  return [8, 12].map((length) => tuple(length, WORD).read(value)).find((words) => words !== WRONG) ?? WRONG;
}

/** A field that is an object; errors inside of it name the inner field. */
function object(fields: Readonly<Record<string, Field>>): Field {
  return { read: (value) => new Inner(value, fields), expected: "an object" };
}

/** A field that is a list of objects, `least` to `most` of them. */
function list(most: number, fields: Readonly<Record<string, Field>>, least = 0): Field {
  return {
    read: (value) => {
      if (!Array.isArray(value) || value.length > most || value.length < least) return WRONG;
      return value.map((item) => new Inner(item, fields));
    },
    expected: `a list of ${least === most ? most : `at most ${most}`} objects`,
  };
}

/** Fields that are still to be read. */
class Inner {
  constructor(readonly value: unknown, readonly fields: Readonly<Record<string, Field>>) {}
}

function readFields(data: unknown, fields: Readonly<Record<string, Field>>, path: string, file: string) {
  if (typeof data !== "object" || data === null || Array.isArray(data)) {
    throw wrong(file, `${path.slice(0, -1)} is no object`);
  }
  const given = data as Record<string, unknown>, result: Record<string, unknown> = {};
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(fields, name)) throw wrong(file, `there is no field ${path}${name.slice(0, 60)}`);
  }
  for (const [name, { read, expected, optional = false }] of Object.entries(fields)) {
    if (!Object.hasOwn(given, name)) {
      if (optional) continue;
      throw wrong(file, `${path}${name} is missing: ${expected}`);
    }
    const value = read(given[name]);
    if (value === WRONG) throw wrong(file, `${path}${name} is not ${expected}`);
    const inner = (item: unknown, place: string) =>
      item instanceof Inner ? readFields(item.value, item.fields, `${place}.`, file) : item;
    result[name] = Array.isArray(value)
      ? value.map((item, k) => inner(item, `${path}${name}[${k}]`))
      : inner(value, `${path}${name}`);
  }
  return result;
}

function wrong(file: string, what: string): UsageError {
  return new UsageError("request.malformed", `a recompile request that cannot be read: ${what}`, { file });
}
