import { hex } from "../../../errors.ts";
import { type CaptureRecord, OBJECT_TYPES, ObjectType, type OpenAgcCapture, RecordType } from "./capture_file.ts";

/** A line for the file and one for each record: offset, number, what it says. Command words are left to the disassembler. */
export function listRecords({ runtimeVersion, flags, records }: OpenAgcCapture): string[] {
  const names = new Map<bigint, string>();
  for (const record of records) {
    if (record.type === RecordType.ObjectName) names.set(record.u64(0), record.text(12, 64));
  }
  const object = (type: number, id: bigint) => {
    const name = names.get(id);
    return `${OBJECT_TYPES[type] ?? `object of type ${type},`} ${id}${name === undefined ? "" : ` "${name}"`}`;
  };
  return [
    `OpenAGC capture 1, runtime ${runtimeVersion}, shader bytes ${flags & 1 ? "included" : "left out"}`,
    ...records.map((record) => {
      const [what, text] = DESCRIBE[record.type]?.(record, object) ??
        [`type ${record.type}`, `not known, ${record.payload.length} bytes`];
      return `${hex(record.offset, 6)} ${String(record.sequence).padStart(3)}  ${what.padEnd(12)} ${text}`.trimEnd();
    }),
  ];
}

const QUEUES = ["graphics", "compute"];
const queue = (type: number) => QUEUES[type] ?? `queue type ${type}`;
const result = (word: number) => word === 0 ? "done" : `result ${hex(word, 8)}`;
const COMMAND_BUFFER = 9, FENCE = 10, LABEL = 11, SHADER = 6;

type Describe = (record: CaptureRecord, object: (type: number, id: bigint) => string) => [what: string, text: string];

const words: Describe = (r, object) => [
  r.type === RecordType.CommandEnd ? "recorded" : "stream",
  `${object(COMMAND_BUFFER, r.u64(0))}, ${queue(r.u32(8))}, ${r.u32(12)} words`,
];

const DESCRIBE: Readonly<Record<number, Describe>> = {
  [RecordType.RuntimeInfo]: (r) => [
    "runtime",
    `profile ${r.text(28, 48)}, firmware ${hex(r.u32(0), 8)}, family ${r.u16(6)}, AGC ${r.u32(8)}, capabilities ${
      hex(r.u64(12))
    }`,
  ],
  [RecordType.ObjectCreate]: (r, object) => [
    "create",
    `${object(r.u32(8), r.u64(0))}, details ${r.u32(16)}, ${r.u32(20)}`,
  ],
  [RecordType.ObjectName]: (r, object) => ["name", object(r.u32(8), r.u64(0))],
  [RecordType.ObjectDestroy]: (r, object) => ["destroy", object(r.u32(8), r.u64(0))],
  [RecordType.CommandBegin]: (r, object) => [
    "begin",
    `${object(COMMAND_BUFFER, r.u64(0))}, ${queue(r.u32(8))}, room for ${r.u32(12)} words`,
  ],
  [RecordType.CommandEnd]: words,
  [RecordType.CommandStream]: words,
  [RecordType.Submission]: (r, object) => {
    const commands = r.u32(12), waits = r.u32(16), signals = r.u32(20), points: string[] = [];
    for (let i = 0; i < waits + signals; i++) {
      const at = 40 + 8 * commands + 16 * i;
      points.push(`${i < waits ? "waits for" : "signals"} ${object(LABEL, r.u64(at))} = ${r.u32(at + 8)}`);
    }
    const buffers = Array.from({ length: commands }, (_, i) => object(COMMAND_BUFFER, r.u64(40 + 8 * i)));
    const fence = r.u64(32) === 0n ? [] : [object(FENCE, r.u64(32))];
    return [
      "submission",
      [`${r.u64(0)}, ${queue(r.u32(8))}: ${buffers.join(", ")}`, ...fence, ...points, result(r.u32(24))].join("; "),
    ];
  },
  [RecordType.FenceResult]: (r, object) => [
    "fence",
    `${object(FENCE, r.u64(0))} of submission ${r.u64(8)}: ${result(r.u32(16))}, up to ${r.u64(24)} ns`,
  ],
  [RecordType.ValidationMessage]: (r) => [
    "message",
    `${r.text(24, 48)}: ${r.text(136, 192)} (${r.text(72, 64)}, ${result(r.u32(16))})`,
  ],
  [RecordType.ReadbackHash]: (r, object) => [
    "readback",
    `${object(r.u32(8), r.u64(0))}, ${r.u64(24)} bytes at ${hex(r.u64(16))}: ${
      r.u32(12) === 1 ? "FNV-1a" : `hash of kind ${r.u32(12)}`
    } ${hex(r.u64(32), 16)}`,
  ],
  [RecordType.End]: (r) => ["end", `${result(r.u32(0))}, ${r.u64(8)} records, ${r.u64(16)} bytes`],
  [RecordType.ResourceDesc]: describeResource,
  [RecordType.ShaderDesc]: (r, object) => [
    "shader",
    `${object(SHADER, r.u64(0))}, stage ${r.u32(12)}, record version ${r.u32(20)}, ${r.u64(32)} bytes, FNV-1a ${
      hex(r.u64(40), 16)
    }` + (r.u64(48) === 0n ? "" : `; front half ${r.u64(48)} bytes, FNV-1a ${hex(r.u64(56), 16)}`),
  ],
  [RecordType.ShaderBytes]: (r, object) => [
    "bytes",
    `${object(SHADER, r.u64(0))}, ${r.u32(8) === 0 ? "whole" : "front half"}, ${r.u32(12)} bytes`,
  ],
  [RecordType.PipelineDesc]: (r, object) => [
    "pipeline",
    r.u32(8) === ObjectType.ComputePipeline
      ? `${object(r.u32(8), r.u64(0))}: ${object(SHADER, r.u64(16))}, ${r.u32(24)} x ${r.u32(28)} x ${
        r.u32(32)
      } threads, ${r.u32(36)} descriptors, ${r.u32(40)} push-constant ranges`
      : `${object(r.u32(8), r.u64(0))}: hull ${r.u64(16)}, primitive ${r.u64(24)}, pixel ${r.u64(32)}, ${
        r.u32(40)
      } vertex inputs, ${r.u32(44)} descriptors, ${r.u32(52)} colour targets`,
  ],
  [RecordType.ResourceTransition]: (r, object) => [
    "transition",
    `${object(r.u32(24) === 0 ? ObjectType.Buffer : ObjectType.Image, r.u64(8))} in ${
      object(COMMAND_BUFFER, r.u64(0))
    }: state ${r.u32(32)} of owner ${r.u32(36)} to state ${r.u32(40)} of owner ${r.u32(44)}`,
  ],
};

function describeResource(r: CaptureRecord, object: (type: number, id: bigint) => string): [string, string] {
  const type = r.u32(8), name = object(type, r.u64(0));
  const text = type === ObjectType.Buffer
    ? `${r.u64(16)} bytes, usage ${hex(r.u32(24))}, flags ${hex(r.u32(28))}`
    : type === ObjectType.Image
    ? `${r.u32(16)} x ${r.u32(20)} x ${r.u32(24)}, ${r.u32(28)} levels, ${r.u32(32)} layers, format ${r.u32(36)}, ${
      r.u32(40)
    } samples, usage ${hex(r.u32(44))}`
    : type === ObjectType.ImageView
    ? `${object(ObjectType.Image, r.u64(16))}, format ${r.u32(24)}, levels ${r.u32(28)} + ${r.u32(32)}, layers ${
      r.u32(36)
    } + ${r.u32(40)}`
    : `filters ${r.u32(16)}, ${r.u32(20)}, addressing ${r.u32(24)}, ${r.u32(28)}, ${r.u32(32)}, flags ${
      hex(r.u32(36))
    }`;
  return ["resource", `${name}: ${text}`];
}
