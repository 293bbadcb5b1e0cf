/** Runs the launcher in this process and collects what it prints. */
import { launch } from "../../src/cli/launcher.ts";
import type { Sink } from "../../src/cli/output.ts";
import { switchFlag } from "../../src/switches.ts";
import { missingDevice } from "../support/vulkan.ts";

/** A sink that keeps the lines. */
export class TestSink implements Sink {
  readonly outLines: string[] = [];
  readonly errLines: string[] = [];
  out = (line: string): void => void this.outLines.push(line);
  err = (line: string): void => void this.errLines.push(line);
  get text(): string {
    return this.outLines.join("\n");
  }
  get errors(): string {
    return this.errLines.join("\n");
  }
}

/** Runs `anyagc` with these arguments. */
export async function anyagc(
  ...args: string[]
): Promise<{ code: number; text: string; errors: string; lines: string[] }> {
  const sink = new TestSink();
  const code = await launch(args, sink);
  return { code, text: sink.text, errors: sink.errors, lines: sink.outLines };
}

/** Absolute path of a file of the project. */
export function projectFile(path: string): string {
  return decodeURIComponent(new URL(`../../${path}`, import.meta.url).pathname);
}

/** Registers a test whose command opens a Vulkan device itself; ignored without one, unless ANYPS5_REQUIRE_VULKAN is set. */
export function vulkanTest(name: string, body: () => void | Promise<void>): void {
  const ignore = missingDevice !== undefined && !switchFlag("ANYPS5_REQUIRE_VULKAN");
  Deno.test({ name: ignore ? `${name} [ignored: ${missingDevice}]` : name, ignore, fn: body });
}
