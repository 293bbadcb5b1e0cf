/** A capture that uses everything that the format has, and ways to damage one part of a capture and keep the rest right. */
import { readAgcap } from "../../../src/guest/agcap/read_agcap.ts";
import { writeAgcap } from "../../../src/guest/agcap/write_agcap.ts";
import { readAgcRecord } from "../../../src/guest/loaders/agc_record.ts";
import { loadCodeDescription } from "../../../src/guest/loaders/code_json.ts";
import { parseJson } from "../../../src/guest/loaders/json_parser.ts";
import { agcShaderSource, loadSb } from "../../../src/guest/loaders/sb.ts";
import { Permission } from "../../../src/guest/memory/window.ts";
import type { LoadedProgram } from "../../../src/guest/program.ts";
import { ZipArchive } from "../../../src/guest/zip/read_zip.ts";
import { writeZip } from "../../../src/guest/zip/write_zip.ts";
import { buildRecord } from "../support/records.ts";

/** Path that errors of the tests name. */
export const FILE = "folder/x.agcap";

const RECORD_AT = 0x2_0000_0100n;
const COMPUTE = {
  type: 0,
  sh: [[0x20C, 0x0200_0002], [0x20D, 0], [0x212, 0x602C_0000], [0x213, 0x88]] as [number, number][],
};

/** Bytes that are not all alike. */
export function pattern(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).map((_, i) => (i * 31 + seed * 7) ^ (i >> 5));
}

/** A program with every feature, recorded results included. It need not run. */
export function everything(): LoadedProgram {
  const inMemory = buildRecord({ ...COMPUTE, shaderBytes: 8, code: [0xBF800000, 0xBF810000] }, {
    form: "absolute",
    base: RECORD_AT,
  });
  const beside = buildRecord(COMPUTE, { form: "file-offset" });
  const words = new Uint32Array([0xC0001000, 7, 0xC0001000, 8]);
  const view = new DataView(inMemory.bytes.buffer);
  return {
    name: "everything",
    sourceFile: "some/where/everything.json",
    target: "gfx1013",
    memory: [
      {
        name: "code",
        base: 0x2_0000_0000n,
        bytes: 0x2000,
        permissions: Permission.Read | Permission.Execute,
        contents: [{ offset: 0x100, data: inMemory.bytes }, { offset: 0x1000, data: new Uint8Array(words.buffer) }],
      },
      { name: "zeros", base: 0xFFFF_8000_0000_0000n, bytes: 0x1000, permissions: Permission.ReadWrite, contents: [] },
      {
        name: "",
        base: 0x3_0000_0000n,
        bytes: 0x3000,
        permissions: Permission.All,
        contents: [{ offset: 1, data: pattern(5000) }],
      },
    ],
    submissions: [
      { queue: 0x21, words: Uint32Array.of(0xC0001000, 1), label: "first" },
      { queue: 0, words, address: 0x2_0000_1000n },
      { queue: 0x21, words: new Uint32Array(0) },
    ],
    expectations: [
      { address: 0x3_0000_0003n, data: Uint8Array.of(1, 2, 3), bytes: 9, reason: "said so" },
      { address: 0x3_0000_1000n, data: pattern(600), bytes: 1200, reason: "long" },
    ],
    untouched: [{ address: 0x3_0000_2000n, bytes: 0x800, reason: "a border" }],
    frame: { address: 0x3_0000_0000n, width: 5, height: 3, pitchBytes: 32, format: "bgra8", tiling: "linear" },
    shaders: [
      {
        name: "in memory",
        address: RECORD_AT + BigInt(inMemory.codeOffset),
        source: agcShaderSource(
          readAgcRecord(
            {
              bytes: (address, length) =>
                inMemory.bytes.slice(Number(address - RECORD_AT), Number(address - RECORD_AT) + length),
              fail: (_, reason) => {
                throw new Error(reason);
              },
            },
            RECORD_AT,
            "absolute",
          ),
          Uint32Array.of(view.getUint32(inMemory.codeOffset, true), view.getUint32(inMemory.codeOffset + 4, true)),
          "in memory",
          "everything.json",
        ),
      },
      { name: "beside", source: { ...loadSb("beside.sb", beside.bytes), name: "beside" } },
      { name: "compiled", address: 0x2_0000_0400n, source: compiled() },
    ],
    notes: ["a note", "another"],
    recorded: {
      device: { name: "some device", type: "discrete", apiVersion: "1.3.0", driver: "a driver" },
      outcome: "differs",
      dispatches: 3,
      labels: [
        { queue: 0, address: 0x3_0000_0010n, value: 0xFFFF_FFFF_FFFF_FFFFn, kind: "u64" },
        { queue: 0x21, address: 0x3_0000_0018n, value: 0n, kind: "clock" },
      ],
      memory: [
        { address: 0x3_0000_0000n, data: pattern(16, 3) },
        { address: 0x3_0000_0020n, data: pattern(2, 4) },
      ],
      volatile: [{ address: 0x3_0000_0018n, bytes: 8, reason: "the clock was written here" }],
    },
  };
}

function compiled() {
  const description = JSON.stringify({
    family: "gfx1013",
    stage: "comp",
    code_size: 8,
    exec_size: 4,
    wave_size: 64,
    local_size: [8, 8, 1],
    num_user_sgprs: 3,
    user_sgprs: [{ name: "descriptor_set_ptr", sgpr: 2, count: 1, set: 0 }],
    system_sgprs: [{ name: "workgroup_id_x", sgpr: 3 }],
    compute_pgm_rsrc1: 0x602C0000,
    compute_pgm_rsrc2: 6,
    lds_bytes: 512,
    bindings: [
      {
        set: 0,
        binding: 1,
        type: "combined_image_sampler",
        count: 1,
        offset: 0,
        stride: 48,
        name: "t",
        sampler_offset: 32,
      },
    ],
    inline_push_constant_mask: 5,
    push_constant_size: 16,
    address32_hi: 2,
    scratch_bytes_per_wave: 0,
  });
  const root = parseJson("compiled.json", new TextEncoder().encode(description));
  const bytes = Uint8Array.of(0, 0, 0x81, 0xBF, 1, 2, 3, 4);
  return { ...loadCodeDescription(root, { file: "compiled.rdna.bin", bytes }), name: "compiled" };
}

/** A program without what depends on where it was read from, and without keys that are undefined. */
export function comparable(program: LoadedProgram): unknown {
  const { sourceFile: _, listing: _listing, ...rest } = program;
  return drop({
    ...rest,
    submissions: rest.submissions.map(({ fileOffset: _, ...submission }) => submission),
    shaders: rest.shaders.map(({ source: { file: _, ...source }, ...shader }) => ({ ...shader, source })),
  });
}

function drop(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(drop);
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([, each]) => each !== undefined).map(([k, v]) => [k, drop(v)]),
  );
}

// deno-lint-ignore no-explicit-any
export type Manifest = any;

/** The capture with its manifest and its entries changed, as a right archive. */
export function changed(
  capture: Uint8Array,
  edit: (manifest: Manifest, entries: Map<string, Uint8Array>) => void,
): Uint8Array<ArrayBuffer> {
  const archive = new ZipArchive(FILE, capture), entries = new Map<string, Uint8Array>();
  for (const name of archive.entries.keys()) entries.set(name, archive.read(name));
  const manifest = JSON.parse(new TextDecoder().decode(entries.get("manifest.json")));
  edit(manifest, entries);
  if (entries.has("manifest.json")) entries.set("manifest.json", new TextEncoder().encode(JSON.stringify(manifest)));
  return writeZip([...entries].map(([name, data]) => ({ name, data, stored: name.startsWith("streams/") })));
}

/** Writes and reads. */
export function roundTrip(program: LoadedProgram): LoadedProgram {
  return readAgcap(FILE, writeAgcap(program));
}
