/**
 * `anyagc run --report`: listens to a run, and writes the page about it.
 *
 * @module
 */
import type { ProgramRun } from "../../driver/device.ts";
import type { ProgramReport } from "../../driver/executor.ts";
import type { RunRecording } from "../run/recording.ts";
import { AnyAgcError } from "../../errors.ts";
import type { Picture } from "../../guest/frame.ts";
import type { Program } from "../../guest/program.ts";
import { openSpirvTools, type SpirvTools } from "../../../ffi/spirv_tools.ts";
import { listCode, listingText } from "../disasm/listing.ts";
import { InitialMemory, namedPrograms } from "../disasm/programs_in_stream.ts";
import { writeOutput } from "../files.ts";
import { encodePng } from "../png.ts";
import { version } from "../version.ts";
import { type ReportContent, reportPage, type ReportProgram } from "./page.ts";

/** What the launcher knows besides the run. */
export interface ReportExtras {
  picture?: Picture;
  /** Validation messages, differences that verification found. */
  problems: readonly string[];
}

/** The report of one run. */
export class RunReport {
  readonly #folder: string;
  readonly #recording: RunRecording;

  /** @param folder exists */
  constructor(folder: string, recording: RunRecording) {
    this.#folder = folder.replace(/\/+$/, "") || "/";
    this.#recording = recording;
  }

  /**
   * Writes the page.
   *
   * @param run not closed yet
   * @param summary names and texts of the facts at the top
   * @returns the page's path
   */
  async write(
    run: ProgramRun,
    program: Program,
    summary: readonly (readonly [string, string])[],
    { picture, problems }: ReportExtras,
  ): Promise<string> {
    const { result } = run;
    const content: ReportContent = {
      title: program.name,
      outcome: result.outcome,
      summary: [
        ["file", program.sourceFile ?? "none"],
        ...summary.filter(([name]) => name !== "" && name !== "program"),
      ],
      error: result.error,
      notes: program.notes,
      problems,
      differences: result.differences,
      pictures: picture === undefined ? [] : [{
        title: program.name,
        width: picture.width,
        height: picture.height,
        png: encodePng(picture.rgba, picture.width, picture.height),
      }],
      spans: this.#recording.timeline.spans,
      programs: this.#programs(run, program),
      version: versionText(),
    };
    const path = `${this.#folder === "/" ? "" : this.#folder}/index.html`;
    await writeOutput(path, new TextEncoder().encode(reportPage(content)));
    return path;
  }

  /** Programs that ran, and those that the streams name besides: the one that was refused is among them. */
  #programs({ result }: ProgramRun, program: Program): ReportProgram[] {
    const named = namedPrograms(program, new InitialMemory(program));
    const spirvTools = openTools();
    const ran = result.programs.map((facts): ReportProgram => {
      const code = named.find(({ address }) => address === facts.address)?.code;
      return {
        address: facts.address,
        facts,
        disassembly: code === undefined
          ? "The code was not in memory before the run."
          : listing(code, program, facts.waveSize === 32 ? 32 : 64),
        spirv: this.#spirv(facts, spirvTools),
      };
    });
    const others = named.filter(({ address }) => !result.programs.some((p) => p.address === address));
    return [
      ...ran,
      ...others.map(({ address, code, waveSize }) => ({
        address,
        disassembly: listing(code, program, waveSize ?? 64),
        spirv: "It did not run.",
      })),
    ];
  }

  #spirv(report: ProgramReport, tools: SpirvTools | string): string {
    const words = this.#recording.kept(report);
    if (words === undefined) return "There is none: the program was interpreted.";
    return typeof tools === "string" ? tools : tools.disassemble(words);
  }
}

function listing(code: Uint32Array, { target }: Program, waveSize: 32 | 64): string {
  return listingText(listCode({ code, target, waveSize })).join("\n");
}

/** SPIRV-Tools, or why they are not there. */
function openTools(): SpirvTools | string {
  try {
    return openSpirvTools();
  } catch (error) {
    if (error instanceof AnyAgcError) return error.message;
    throw error;
  }
}

function versionText(): string {
  const { version: number, commit, kind } = version();
  return [number, commit?.slice(0, 12), kind].filter((part) => part !== undefined).join(", ");
}
