/**
 * Runs modules in a worker process that is started again when it crashes or hangs.
 *
 * @module
 */
import type { CompareRow } from "./compare_module.ts";

/** How to run. */
export interface RunnerOptions {
  readonly wave: 32 | 64;
  readonly oracle: "original" | "interpreter";
  /** Longest time for one module, in milliseconds. */
  readonly timeout: number;
  /** Another worker of this folder, with its arguments; its rows have the shape that it gives them. */
  readonly worker?: { readonly file: string; readonly args: readonly string[] };
}

/** Runs modules one after the other in a process of its own. */
export class Runner implements AsyncDisposable {
  readonly #options: RunnerOptions;
  #child: Deno.ChildProcess | undefined;
  #lines: ReadableStreamDefaultReader<string> | undefined;
  #input: WritableStreamDefaultWriter<Uint8Array> | undefined;
  #pending = "";

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** What came of a module; undefined where there is no machine code of it. */
  async run(module: string): Promise<CompareRow | undefined> {
    this.#start();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeout = new Promise<"timeout">((resolve) => {
      timer = setTimeout(resolve, this.#options.timeout, "timeout");
    });
    try {
      await this.#input!.write(new TextEncoder().encode(`${module}\n`));
      const line = await Promise.race([this.#line(), timeout]);
      if (line === "timeout") {
        await this.#stop("SIGKILL");
        return { module, outcome: "slow", reason: `it took longer than ${this.#options.timeout} ms` };
      }
      if (line !== undefined) {
        const row = (JSON.parse(line) as CompareRow | null) ?? undefined;
        if (row !== undefined && "stuck" in row) await this.#stop("SIGKILL");
        return row;
      }
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof Deno.errors.BrokenPipe)) throw error;
    } finally {
      clearTimeout(timer);
    }
    const { code, signal } = await this.#child!.status;
    this.#child = undefined;
    return { module, outcome: "failed", reason: `the process ended with ${signal ?? `code ${code}`}` };
  }

  /** Ends the process. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop("SIGTERM");
  }

  #start(): void {
    if (this.#child !== undefined) return;
    const { wave, oracle, worker: other } = this.#options;
    const { file, args } = other ?? { file: "worker.ts", args: [String(wave), oracle] };
    const worker = decodeURIComponent(new URL(file, import.meta.url).pathname);
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "--quiet", "-A", worker, ...args],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    this.#child = child;
    this.#input = child.stdin.getWriter();
    this.#lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#pending = "";
  }

  /** The next line, undefined at the end. */
  async #line(): Promise<string | undefined> {
    for (;;) {
      const end = this.#pending.indexOf("\n");
      if (end >= 0) {
        const line = this.#pending.slice(0, end);
        this.#pending = this.#pending.slice(end + 1);
        return line;
      }
      const { done, value } = await this.#lines!.read();
      if (done) return undefined;
      this.#pending += value;
    }
  }

  async #stop(signal: Deno.Signal): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    child.kill(signal);
    await child.status;
  }
}
