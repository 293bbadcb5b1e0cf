/**
 * Runs RADV in a child process. RADV aborts or crashes on modules that it does not understand: that is an outcome of the job here, and the next
 * job gets a new process.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { fileURLToPath } from "node:url";
import { HostError } from "../../../src/errors.ts";
import { type Family, findRadv, noRadv, radvEnvironment } from "./environment.ts";
import {
  type CompileJob,
  type CompileReply,
  type GraphicsJob,
  MESSAGE_PREFIX,
  type Ready,
  type Unusable,
} from "./job.ts";
import { Lines } from "./lines.ts";

/** Outcome of a job. */
export type CompileOutcome =
  | { readonly cacheData: Uint8Array }
  | {
    /** `error`: RADV reported one. `crash`: its process ended. `timeout`: it was ended. */
    readonly failed: "error" | "crash" | "timeout";
    /** Why, as far as RADV tells: its message, else the signal. */
    readonly reason: string;
  };

/** Options of {@linkcode RadvProcess}. */
export interface RadvOptions {
  /** Family of the null device; navi21 when left out. */
  readonly family?: Family;
  /** Longest time for one job, in milliseconds; two minutes when left out. */
  readonly timeout?: number;
  /** RADV's own switches: RADV_DEBUG, RADV_PERFTEST. */
  readonly flags?: Readonly<Record<string, string>>;
}

/** One running child. */
interface Child {
  readonly process: Deno.ChildProcess;
  readonly input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly output: Lines;
  /** The error stream so far. */
  errors: string;
  /** Settles when the error stream ends. */
  errorsEnd: Promise<void>;
}

/** Compiles jobs one after the other. Close it, else its process stays. */
export class RadvProcess {
  readonly #driverFile: string;
  readonly #family: Family;
  readonly #timeout: number;
  readonly #folder: string;
  readonly #flags: Readonly<Record<string, string>>;
  #child: Child | undefined;
  /** Name and version of the driver; known after the first job. */
  driver = "";

  /** @throws {HostError} `host.radv` when RADV is not installed */
  constructor(options: RadvOptions = {}) {
    const driverFile = findRadv();
    if (driverFile === undefined) throw noRadv();
    this.#driverFile = driverFile;
    this.#family = options.family ?? "navi21";
    this.#timeout = options.timeout ?? 120_000;
    this.#flags = options.flags ?? {};
    this.#folder = Deno.makeTempDirSync({ prefix: "anyagc-radv-" });
    Deno.chmodSync(this.#folder, 0o700);
  }

  /**
   * Starts the process, which the first job does otherwise.
   *
   * @throws {HostError} `host.radv` when RADV has no null device of the family, or is of another version
   */
  async start(): Promise<void> {
    await this.#running();
  }

  /** Compiles one module, or the two of a graphics pipeline. Not to be called again before it has settled. */
  async compile(job: CompileJob | GraphicsJob): Promise<CompileOutcome> {
    const child = await this.#running();
    child.errors = "";
    let expired = false;
    const timer = setTimeout(() => {
      expired = true;
      child.process.kill("SIGKILL");
    }, this.#timeout);
    let line: string | undefined;
    try {
      await child.input.write(new TextEncoder().encode(JSON.stringify(job) + "\n"));
      line = await child.output.next();
    } catch (error) {
      if (!(error instanceof Deno.errors.BrokenPipe)) throw error; // it ended before it read the job
    } finally {
      clearTimeout(timer);
    }
    if (line === undefined) return await this.#ended(child, expired);
    const reply: CompileReply = JSON.parse(line);
    if ("failed" in reply) {
      return { failed: "error", reason: [reply.failed.message, ...messagesIn(child.errors)].join("; ") };
    }
    return { cacheData: new Uint8Array(Buffer.from(reply.cacheData, "base64")) };
  }

  /** Ends the process and removes its folder. */
  async close(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child !== undefined) {
      await child.input.close();
      await child.process.status;
      await child.errorsEnd;
    }
    await Deno.remove(this.#folder, { recursive: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #running(): Promise<Child> {
    return this.#child ??= await this.#spawn();
  }

  async #spawn(): Promise<Child> {
    const process = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", fileURLToPath(new URL("worker.ts", import.meta.url))],
      clearEnv: true,
      env: { ...radvEnvironment(this.#driverFile, this.#family, this.#folder), ...this.#flags },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const child: Child = {
      process,
      input: process.stdin.getWriter(),
      output: new Lines(process.stdout),
      errors: "",
      errorsEnd: Promise.resolve(),
    };
    child.errorsEnd = collect(process.stderr, child);
    const line = await child.output.next();
    const first: Ready | Unusable | undefined = line === undefined ? undefined : JSON.parse(line);
    if (first !== undefined && "ready" in first) {
      this.driver = first.driver;
      return child;
    }
    const { signal, code } = await child.process.status;
    await child.errorsEnd;
    const why = first?.unusable.message ?? `its process ended with ${signal ?? `code ${code}`}: ${child.errors.trim()}`;
    throw new HostError("host.radv", `RADV's null device for ${this.#family} does not start: ${why}`);
  }

  async #ended(child: Child, expired: boolean): Promise<CompileOutcome> {
    this.#child = undefined;
    child.input.close().catch(() => {}); // nobody reads it any more
    const { signal, code } = await child.process.status;
    await child.errorsEnd;
    if (expired) return { failed: "timeout", reason: `it took longer than ${this.#timeout} ms` };
    if (signal === null) {
      // A fault of the worker, not of RADV: RADV ends by signals.
      throw new HostError("host.radv", `the RADV process ended with code ${code}: ${child.errors.trim()}`);
    }
    return { failed: "crash", reason: [...messagesIn(child.errors), signal].join("; ") };
  }
}

async function collect(stream: ReadableStream<Uint8Array<ArrayBuffer>>, child: Child): Promise<void> {
  for await (const text of stream.pipeThrough(new TextDecoderStream())) child.errors += text;
}

/** What RADV's compiler said, without the offsets, which differ from module to module. */
function messagesIn(errors: string): string[] {
  return errors.split("\n").filter((line) => line.startsWith(MESSAGE_PREFIX)).map((line) =>
    line.slice(MESSAGE_PREFIX.length).replace(/^SPIR-V offset \d+: /, "").replace(
      / \d+ bytes into the SPIR-V binary.*$/,
      "",
    )
  );
}
