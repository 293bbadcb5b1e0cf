/**
 * Builds everything in shaders/ from its sources: `deno run -A tools/shaders/build.ts`. The results are checked in; a test compares.
 *
 * @module
 */
import { assemble } from "./assemble.ts";
import { JULIA_PROGRAM } from "./julia.ts";
import { programText, type SampleProgram } from "./sample.ts";

/** One sample program: its folder in shaders/, its source and what is made from it. */
export interface Sample {
  folder: string;
  source: string;
  binary: string;
  program: SampleProgram;
}

/** All sample programs. */
export const SAMPLES: readonly Sample[] = [
  { folder: "julia", source: "julia.s", binary: "julia.bin", program: JULIA_PROGRAM },
];

/** Folder of the samples. */
export const SHADERS = new URL("../../shaders/", import.meta.url);

/** Path of a file of a sample. */
export function samplePath(sample: Sample, name: string): string {
  return decodeURIComponent(new URL(`${sample.folder}/${name}`, SHADERS).pathname);
}

/** Assembles the machine code of a sample. */
export function sampleCode(sample: Sample): Promise<Uint8Array<ArrayBuffer>> {
  return assemble(samplePath(sample, sample.source), { cpu: "gfx1013", waveSize: 32 });
}

if (import.meta.main) {
  for (const sample of SAMPLES) {
    const code = await sampleCode(sample);
    await Deno.writeFile(samplePath(sample, sample.binary), code);
    await Deno.writeTextFile(samplePath(sample, "program.json"), programText(sample.program));
    console.log(`shaders/${sample.folder}: ${code.length} bytes of code, program.json`);
  }
}
