/** Real compilers' programs, lifted and evaluated, against what their sources say (../shared/corpus: aco/*.comp, llvm/k.cl, openagc, golden). */
import { assert, assertEquals } from "@std/assert";
import type { Ir } from "../../../src/recompiler/ir/ir.ts";
import type { RecompileRequest } from "../../../src/recompiler/request.ts";
import { corpusFile, corpusTest } from "../../support/corpus.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { cleaned, liftCode, makeRequest } from "../../support/lift.ts";
import { Random } from "../../support/random.ts";

const WORDS_A = 0x2_0000_0000n, WORDS_B = 0x2_0010_0000n, TABLE = 0xffff8000_00002000n;

function codeOf(file: string, offset = 0): Uint32Array {
  const bytes = Deno.readFileSync(corpusFile(file));
  return new Uint32Array(bytes.slice(offset, offset + ((bytes.length - offset) & ~3)).buffer);
}

/** A map function that gives random words. */
function random32(seed: number): () => number {
  const random = new Random(seed);
  return () => random.u32();
}

/** Raw V# of ACO's storage buffers. */
function rawBuffer(address: bigint, bytes: number): number[] {
  return [Number(address & 0xffffffffn), Number((address >> 32n) & 0xffffn), bytes, 0x31016fac];
}

interface Run {
  request: RecompileRequest;
  userData: number[];
  a: Uint32Array;
  bWords: number;
  groups: number;
  table: number[];
}

/** Runs all workgroups on the IR as lifted and on the cleaned one; returns B, which must be the same for both. */
function runBoth({ request, userData, a, bWords, groups, table }: Run): number[] {
  const lifted = liftCode(request);
  const results = [lifted, cleaned(lifted)].map((ir: Ir) => {
    const memory = new EvalMemory();
    memory.mapWords(WORDS_A, a);
    memory.mapWords(TABLE, table);
    memory.mapWords(request.codeAddress, request.code);
    const b = memory.mapWords(WORDS_B, new Uint32Array(bWords));
    for (let group = 0; group < groups; group++) {
      const { waveSize, workgroupSize, ldsBytes } = request;
      const { faults } = evaluateWorkgroup(ir, {
        waveSize,
        workgroupSize,
        ldsBytes,
        userData,
        memory,
        workgroupId: [group, 0, 0],
      });
      assertEquals(faults, []);
    }
    return [...b];
  });
  assertEquals(results[1], results[0], "the simplified program gives other results");
  return results[0];
}

function acoRequest(name: string, wave: 32 | 64, changes: Partial<RecompileRequest>): RecompileRequest {
  return makeRequest({
    code: codeOf(`aco/${name}.w${wave}.comp.rdna.bin`),
    waveSize: wave,
    floatMode: 0xc0,
    workgroupIds: [true, false, false],
    workgroupSize: [64, 1, 1],
    ...changes,
  });
}

for (const wave of [32, 64] as const) {
  corpusTest(`ACO's buf program gives its source's results, wave ${wave}`, "aco", () => {
    const a = Uint32Array.from({ length: 128 }, random32(1));
    a[3] = 0;
    const count = 100, factor = 0x1234567, scale = new Float32Array([1.5]);
    const b = runBoth({
      request: acoRequest("buf", wave, { userSgprCount: 6 }),
      userData: [0, 0, Number(TABLE & 0xffffffffn), count, factor, new Uint32Array(scale.buffer)[0]],
      a,
      bWords: 128,
      groups: 2,
      table: [...rawBuffer(WORDS_A, 512), ...rawBuffer(WORDS_B, 512)],
    });
    const bits = (x: number) => new Uint32Array(new Float32Array([x]).buffer)[0];
    const expected = [...a].map((v, i) =>
      i < count ? (Math.imul(v, factor) + bits(Math.fround(Math.fround(v) * 1.5))) >>> 0 : 0
    );
    assertEquals(b, expected);
  });

  corpusTest(`ACO's lds program sums a workgroup, wave ${wave}`, "aco", () => {
    const a = Uint32Array.from({ length: 256 }, random32(2));
    const b = runBoth({
      request: acoRequest("lds", wave, { userSgprCount: 3, workgroupSize: [128, 1, 1], ldsBytes: 512 }),
      userData: [0, 0, Number(TABLE & 0xffffffffn)],
      a,
      bWords: 64 + 256,
      groups: 2,
      table: [...rawBuffer(WORDS_A, 1024), ...rawBuffer(WORDS_B, (64 + 256) * 4)],
    });
    const expected = new Array(64 + 256).fill(0);
    for (let group = 0; group < 2; group++) {
      const s = [...a.subarray(group * 128, group * 128 + 128)];
      for (let d = 64; d > 0; d >>= 1) for (let l = 0; l < d; l++) s[l] = (s[l] + s[l + d]) >>> 0;
      expected[group] = s[0];
      for (let l = 0; l < 128; l++) expected[64 + group * 128 + l] = s[127 - l];
    }
    assertEquals(b, expected);
  });

  for (const codeAddress of [0x1_0000_0000n, 0xffff8000_00100000n]) {
    const where = codeAddress < 0x10_0000_0000n ? "low" : "sign-extended";
    corpusTest(`ACO's loop program with continue and break, wave ${wave}, code at a ${where} address`, "aco", () => {
      const a = Uint32Array.from({ length: 64 }, (_, i) => i * 7 + 1);
      const b = runBoth({
        request: acoRequest("loop", wave, { userSgprCount: 3, codeAddress }),
        userData: [0, 0, Number(TABLE & 0xffffffffn)],
        a,
        bWords: 64,
        groups: 1,
        table: [...rawBuffer(WORDS_A, 256), ...rawBuffer(WORDS_B, 256)],
      });
      const T = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3];
      const expected = [...a].map((value) => {
        let v = (value | 1) >>> 0, n = 0, acc = 0;
        while (v !== 1 && n < 300) {
          if ((v & 1) === 0) v >>>= 1;
          else {
            v = (Math.imul(v, 3) + 1) >>> 0;
            if ((n & 7) === 3) {
              acc ^= T[v & 15];
              continue;
            }
          }
          n++;
          if (v === 16) break;
        }
        return (n * 65536 + (acc & 65535)) >>> 0;
      });
      assertEquals(b, expected);
    });
  }

  const llvmRequest = (kernel: string, changes: Partial<RecompileRequest>) =>
    makeRequest({
      code: codeOf(`llvm/k.w${wave}.${kernel}.rdna.bin`),
      waveSize: wave,
      ieee: true,
      userSgprCount: 6,
      workgroupIds: [true, false, false],
      workgroupSize: [64, 1, 1],
      ...changes,
    });
  const kernelArguments = [WORDS_A, WORDS_B].flatMap((p) => [Number(p & 0xffffffffn), Number(p >> 32n)]);
  const llvmUserData = [0, 0, 0, 0, Number(TABLE & 0xffffffffn), 0xffff8000];

  corpusTest(`LLVM's collatz kernel, wave ${wave}`, "llvm", () => {
    const a = Uint32Array.from({ length: 128 }, (_, i) => i * i + 5);
    const b = runBoth({
      request: llvmRequest("collatz", {}),
      userData: llvmUserData,
      a,
      bWords: 128,
      groups: 2,
      table: kernelArguments,
    });
    const expected = [...a].map((value) => {
      let v = (value | 1) >>> 0, n = 0;
      while (v !== 1 && n < 300) {
        v = v & 1 ? (Math.imul(v, 3) + 1) >>> 0 : v >>> 1;
        n++;
      }
      return n;
    });
    assertEquals(b, expected);
  });

  corpusTest(`LLVM's reduce kernel in wave ${wave}: barriers in wave 32 only, lockstep in wave 64`, "llvm", () => {
    const a = Uint32Array.from({ length: 128 }, random32(3));
    const b = runBoth({
      request: llvmRequest("reduce", { ldsBytes: 256 }),
      userData: llvmUserData,
      a,
      bWords: 4,
      groups: 2,
      table: kernelArguments,
    });
    const sum = (from: number) => a.subarray(from, from + 64).reduce((x, y) => (x + y) >>> 0, 0);
    assertEquals(b, [sum(0), sum(64), 0, 0]);
  });
}

/** OpenAGC's records hold compiled code at this offset; arguments come in user data behind two ring registers. */
function agcRequest(file: string, offset: number, userSgprCount: number): RecompileRequest {
  return makeRequest({
    code: codeOf(`openagc/${file}.sb`, offset),
    target: "gfx1013",
    floatMode: 0xc0,
    userSgprCount,
    workgroupIds: [true, false, false],
    workgroupSize: [64, 1, 1],
  });
}

const halves = (address: bigint) => [Number(address & 0xffffffffn), Number(address >> 32n)];

corpusTest("OpenAGC's fill_color stores one value through a pointer", "openagc", () => {
  const b = runBoth({
    request: agcRequest("fill_color", 0x88, 6),
    userData: [0, 0, ...halves(WORDS_B), 100, 0xff00aa55],
    a: new Uint32Array(4),
    bWords: 128,
    groups: 2,
    table: [],
  });
  assertEquals(b, Array.from({ length: 128 }, (_, i) => i < 100 ? 0xff00aa55 : 0));
});

corpusTest("OpenAGC's htile_rmw replaces the bits of a mask", "openagc", () => {
  const request = agcRequest("htile_rmw", 0x88, 7);
  const lifted = liftCode(request);
  const old = Uint32Array.from({ length: 128 }, random32(4));
  for (const ir of [lifted, cleaned(lifted)]) {
    const memory = new EvalMemory();
    const b = memory.mapWords(WORDS_B, old);
    for (let group = 0; group < 2; group++) {
      const userData = [0, 0, ...halves(WORDS_B), 100, 0x12345678, 0x00ffff00];
      evaluateWorkgroup(ir, { waveSize: 32, workgroupSize: [64, 1, 1], userData, memory, workgroupId: [group, 0, 0] });
    }
    assertEquals([...b], [...old].map((v, i) => i < 100 ? ((v & 0xff0000ff) | 0x00345600) >>> 0 : v));
  }
});

/** The console's high half of 32-bit pointers is 2. */
const CONSOLE_TABLE = 0x2_0020_0000n;

corpusTest("OpenAGC's fill_color_native and copy_consume_native go through descriptors", "openagc", () => {
  const run = (file: string, userData: number[], userSgprCount: number, table: number[], a: Uint32Array) => {
    const lifted = liftCode(agcRequest(file, 0x100, userSgprCount));
    return [lifted, cleaned(lifted)].map((ir) => {
      const memory = new EvalMemory();
      memory.mapWords(WORDS_A, a);
      memory.mapWords(CONSOLE_TABLE, table);
      const b = memory.mapWords(WORDS_B, new Uint32Array(128));
      for (let group = 0; group < 2; group++) {
        const { faults } = evaluateWorkgroup(ir, {
          waveSize: 32,
          workgroupSize: [64, 1, 1],
          userData,
          memory,
          workgroupId: [group, 0, 0],
        });
        assertEquals(faults, []);
      }
      return [...b];
    });
  };
  const pointer = Number(CONSOLE_TABLE & 0xffffffffn);
  const target = rawBuffer(WORDS_B, 90 * 4);
  const filled = Array.from({ length: 128 }, (_, i) => i < 90 ? 0xa5a5a5a5 : 0);
  for (const b of run("fill_color_native", [0, 0, pointer, 100, 0xa5a5a5a5], 5, target, new Uint32Array(4))) {
    assertEquals(b, filled);
  }
  const a = Uint32Array.from({ length: 128 }, random32(5));
  const copied = [...a].map((v, i) => i < 90 ? (i < 80 ? v : 0) : 0);
  const table = [...rawBuffer(WORDS_A, 80 * 4), ...target];
  for (const b of run("copy_consume_native", [0, 0, pointer, 100], 4, table, a)) assertEquals(b, copied);
});

corpusTest("the golden stream's compute program stores its one word", "golden", () => {
  const capture = JSON.parse(Deno.readTextFileSync(corpusFile("golden/c0__c0-dispatch-1.json")));
  const chunk: string = capture.regions.stage.workspace?.chunks?.["0xc000"] ?? findChunk(capture, "0xc000");
  const code = Uint32Array.from(chunk.match(/.{8}/g)!.map((word) => parseInt(word, 16)));
  assertEquals(code[0], 0xbe830382);
  const request = makeRequest({ code, target: "gfx1013", userSgprCount: 4, workgroupSize: [1, 1, 1], floatMode: 0xc0 });
  const lifted = liftCode(request);
  for (const ir of [lifted, cleaned(lifted)]) {
    const memory = new EvalMemory();
    memory.mapWords(CONSOLE_TABLE, [0x0002a000, 2, 0x1000, 0x31016fac]);
    const buffer = memory.mapWords(0x2_0002_a000n, new Uint32Array(1024));
    const userData = [0, 0, Number(CONSOLE_TABLE & 0xffffffffn), 0];
    const { faults } = evaluateWorkgroup(ir, { waveSize: 32, workgroupSize: [1, 1, 1], userData, memory });
    assertEquals(faults, []);
    assertEquals(buffer[0], 0xa5a5a5a5);
    assert(buffer.subarray(1).every((word) => word === 0));
  }
});

/** The text of a workspace chunk, wherever the capture's layout puts it. */
function findChunk(node: unknown, name: string): string {
  if (typeof node !== "object" || node === null) return "";
  for (const [key, value] of Object.entries(node)) {
    if (key === name && typeof value === "string") return value;
    const found = findChunk(value, name);
    if (found !== "") return found;
  }
  return "";
}
