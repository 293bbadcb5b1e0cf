/** Registers tests of cases: expectation by hand, IR evaluator, interpreter, device. */
import { assert, assertEquals } from "@std/assert";
import { deviceTest } from "../../support/vulkan.ts";
import {
  assertWordsEqual,
  evaluated,
  interpreted,
  onDevice,
  onHost,
  randomInput,
  validated,
  type WaveCase,
} from "./frame.ts";
import { expectedOutput, type ModelWave } from "./model.ts";

/** Widths of subgroups; 16 and 64 first, because no device here has them. */
const HOST_WIDTHS = [16, 64, 8, 32] as const;

/** A case with what it should do. */
export interface Check extends WaveCase {
  name: string;
  model: (w: ModelWave) => void;
  /** The interpreter disagrees by intent: says why. */
  notInterpreted?: string;
  /** Expected lane mode on the device; spanned when left out. */
  laneMode?: "laneless" | "spanned";
  /** Lanes pass data through guest memory without a barrier: packed can be asked for though the program is laneless. */
  memory?: boolean;
}

/** A case that a file of tests has, with the seed of its input. */
export interface CollectedCase {
  readonly check: Check;
  readonly seed: number;
}

/** Where cases go instead of becoming tests; undefined while tests are registered. */
let collected: CollectedCase[] | undefined;

/** Imports the files of cases without registering their tests, and gives the cases that run on devices. */
export async function collectCases(files: readonly URL[]): Promise<readonly CollectedCase[]> {
  const list: CollectedCase[] = collected = [];
  for (const file of files) await import(file.href);
  collected = undefined;
  return list;
}

/** `Deno.test`, in files whose cases are collected by others. */
export function test(name: string, body: () => void): void {
  if (collected === undefined) Deno.test(name, body);
}

/** Compares evaluator and interpreter with the expectation. */
export function checkOnHost(c: Check, seed = 1): void {
  const input = c.input ?? randomInput(c, seed);
  const expected = expectedOutput(c, input, c.model);
  const label = `${c.name}, wave${c.waveSize}, exec ${(c.exec ?? -1n).toString(16)}`;
  assertWordsEqual(c, evaluated(c, input.slice()), expected, `${label}: IR evaluator`);
  assertEquals(validated(c).laneMode, c.laneMode ?? "spanned", label);
  if (c.notInterpreted === undefined) {
    assertWordsEqual(c, interpreted(c, input.slice()), expected, `${label}: interpreter`);
  }
}

/** Registers one test for the host, one for hosts of all subgroup widths (each case on one of them), and one for the device. Each check on the host is a step of its own seed. */
export function testChecks(name: string, checks: readonly Check[], deviceChecks: readonly Check[] = checks): void {
  if (collected !== undefined) {
    deviceChecks.forEach((check, k) => collected!.push({ check, seed: k + 300 }));
    return;
  }
  Deno.test(`${name} (${checks.length} cases): evaluator and interpreter do what the ISA says`, () => {
    checks.forEach((c, k) => checkOnHost(c, k + 1));
  });
  Deno.test(`${name} (${deviceChecks.length} cases): hosts of 8, 16, 32 and 64 lanes do what the ISA says`, () => {
    deviceChecks.forEach((c, k) => {
      const input = c.input ?? randomInput(c, k + 200);
      const expected = expectedOutput(c, input, c.model);
      const width = [...HOST_WIDTHS, c.waveSize][k % (HOST_WIDTHS.length + 1)];
      const { output, laneMode } = onHost(width, c, input, k);
      assertWordsEqual(c, output, expected, `${c.name}, wave${c.waveSize}: host of ${width} lanes`);
      assertMode(c, laneMode, width);
    });
  });
  deviceTest(`${name} (${deviceChecks.length} cases): the device does what the ISA says`, (device) => {
    deviceChecks.forEach((c, k) => {
      const input = c.input ?? randomInput(c, k + 100);
      const expected = expectedOutput(c, input, c.model);
      const { output, laneMode } = onDevice(device, c, input);
      assertWordsEqual(c, output, expected, `${c.name}, wave${c.waveSize}: device`);
      const { canRequireSize, minimumSize, maximumSize } = device.capabilities.subgroup;
      assertMode(c, laneMode, canRequireSize && minimumSize === maximumSize ? minimumSize : 0);
    });
  });
}

/** Looks at the mode of a case on a host all of whose subgroups have so many lanes, where nobody has asked for one. */
function assertMode(c: Check, laneMode: string, width: number): void {
  const place = `${c.name}, wave${c.waveSize}, host of ${width} lanes`;
  if (c.laneMode === "laneless") return assertEquals(laneMode, "laneless", place);
  // Where the last wave has lanes that are no invocations, a subgroup cannot be a wave; spanned or packed is chosen by what they cost.
  const mayBeOther = width !== c.waveSize || (c.threads ?? c.waveSize) % c.waveSize !== 0;
  const modes = mayBeOther ? ["native", "spanned", "packed"] : ["native"];
  assert(modes.includes(laneMode) && (laneMode !== "native" || width === c.waveSize), `${place}: ${laneMode}`);
}

/** EXEC masks that tests use: all lanes, a random mixture, one lane only, the upper half only, none. */
export function masks(waveSize: 32 | 64): bigint[] {
  const all = (1n << BigInt(waveSize)) - 1n;
  return [all, 0xb5a3_0f71_96c4_e02dn & all, 1n << BigInt(waveSize - 3), all << BigInt(waveSize / 2) & all, 0n];
}

/** Every k-th element. */
export function every<T>(list: readonly T[], k: number, from = 0): T[] {
  return list.filter((_, n) => n % k === from);
}

/** Both wave sizes. */
export const WAVES = [32, 64] as const;
