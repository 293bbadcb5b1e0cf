/**
 * Whether the operations whose words bench/recompile.ts counts give what the interpreter gives.
 *
 * @module
 */
import { SoftwareDevice } from "../src/driver/software/software_device.ts";
import { openVulkanDevice } from "../src/driver/open_vulkan_device.ts";
import type { Device } from "../src/driver/device.ts";
import { HostError } from "../src/errors.ts";
import { Random } from "../tests/support/random.ts";
import { loadedChain } from "./programs/chains.ts";
import { type ChainProgram, chainProgram } from "./programs/guest.ts";

/** Numbers that each thread loads, threads of a workgroup, workgroups: more than 10^5 numbers. */
const NUMBERS = 8, THREADS = 1024, GROUPS = 13;
const MODES = [0x00, 0xc0, 0xf0];
/** Short chains keep numbers numbers; long ones are what is counted. */
const LENGTHS = [8, 64, 512];

/** What was found. */
export interface Verified {
  readonly device: string;
  readonly inputs: number;
  readonly denormals: number;
  /** Outputs in all, and how many differ. Two NaN are equal. */
  readonly outputs: number;
  readonly different: number;
  readonly lines: readonly string[];
}

/** Bits of f32 numbers: a quarter denormals, an eighth zeros, infinities, NaN and powers of two, the others of all magnitudes. */
export function floatInputs(count: number, seed: number): Uint32Array<ArrayBuffer> {
  const random = new Random(seed);
  const special = [0, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x0080_0000, 0x3f80_0000, 0x7f7f_ffff];
  return Uint32Array.from({ length: count }, () => {
    const kind = random.below(8), bits = random.u32();
    if (kind < 2) return (bits & 0x807f_ffff) >>> 0;
    if (kind === 2) return special[random.below(special.length)];
    // Around 1, and around the smallest normal numbers, whose products and differences become denormal.
    const exponent = kind < 6 ? 96 + random.below(64) : 1 + random.below(30);
    return ((bits & 0x807f_ffff) | exponent << 23) >>> 0;
  });
}

/**
 * Runs program A's operations on loaded numbers, in every mode and length, on the Vulkan device and in the interpreter.
 *
 * @param name part of the device's name
 * @throws HostError without a Vulkan device
 */
export function verifyChains(name?: string, lengths: readonly number[] = LENGTHS): Verified {
  const { device, note } = openVulkanDevice({ name });
  if (device === undefined) throw new HostError("host.no-vulkan-device", note ?? "a Vulkan device is needed");
  using vulkan = device;
  using software = new SoftwareDevice();
  const input = floatInputs(NUMBERS * THREADS * GROUPS, 5);
  const denormals = input.filter((bits) => (bits & 0x7f80_0000) === 0 && (bits & 0x7f_ffff) !== 0).length;
  let outputs = 0, different = 0;
  const lines = [
    `${vulkan.name} against the interpreter, ${input.length} numbers, ${denormals} of them denormal; NaN equals NaN:`,
  ];
  for (const floatMode of MODES) {
    for (const length of lengths) {
      const chain = chainProgram({
        name: `chain of ${length}`,
        code: loadedChain(length),
        floatMode,
        threads: THREADS,
        dispatches: GROUPS,
        input,
        outputBytes: NUMBERS * 4,
      });
      const expected = results(software, chain), actual = results(vulkan, chain);
      let here = 0;
      for (let i = 0; i < expected.length; i++) if (!isSame(expected[i], actual[i])) here++;
      outputs += expected.length;
      different += here;
      lines.push(
        `FLOAT_MODE 0x${
          floatMode.toString(16).padStart(2, "0")
        }, ${length} operations: ${here} of ${expected.length} differ`,
      );
    }
  }
  return { device: vulkan.name, inputs: input.length, denormals, outputs, different, lines };
}

function results(device: Device, { program, output }: ChainProgram): Uint32Array {
  const run = device.run(program);
  try {
    if (run.result.error !== undefined) throw run.result.error;
    return new Uint32Array(run.memory.read(output.address, output.bytes).slice().buffer);
  } finally {
    run.close();
  }
}

function isSame(a: number, b: number): boolean {
  return a === b || isNan(a) && isNan(b);
}

function isNan(bits: number): boolean {
  return (bits & 0x7fff_ffff) > 0x7f80_0000;
}
