/**
 * What is running: from source, compiled, or as the single-file executable; of which commit.
 *
 * @module
 */
import project from "../../deno.json" with { type: "json" };
import { BUILD_STAMP } from "../build_stamp.ts";

/** How AnyAGC was started. */
export interface Version {
  name: "anyagc";
  /** Version of deno.json. */
  version: string;
  /** `source`: from a checkout; `deno compile` and `self-made`: an executable of tools/build, made so. */
  kind: "source" | "deno compile" | "self-made";
  /** Git commit, where it is known; with `+` behind it when files differed from it as the executable was built. */
  commit?: string;
  deno: string;
  v8: string;
  typescript: string;
  target: string;
}

/** Describes what is running. */
export function version(): Version {
  const kind = BUILD_STAMP === undefined ? "source" : Deno.build.standalone ? "deno compile" : "self-made";
  const commit = BUILD_STAMP === undefined ? headCommit() : BUILD_STAMP.commit;
  return {
    name: "anyagc",
    version: project.version,
    kind,
    ...(commit === undefined ? {} : { commit }),
    deno: Deno.version.deno,
    v8: Deno.version.v8,
    typescript: Deno.version.typescript,
    target: Deno.build.target,
  };
}

/** One line for people. */
export function versionLine(v: Version): string {
  const what = v.commit === undefined
    ? v.kind
    : `${v.kind}, commit ${v.commit.slice(0, 12)}${v.commit.endsWith("+") ? "+" : ""}`;
  return `anyagc ${v.version} (${what}; Deno ${v.deno}, V8 ${v.v8}, ${v.target})`;
}

/** The commit of the checkout that this file lies in, read from the files of git itself, so that git need not be installed. */
export function headCommit(): string | undefined {
  const read = (path: string) => {
    try {
      return Deno.readTextFileSync(path).trim();
    } catch {
      return undefined;
    }
  };
  const root = new URL("../../", import.meta.url);
  if (root.protocol !== "file:") return undefined;
  const base = decodeURIComponent(root.pathname);
  // In a linked worktree `.git` is a file that names the real folder, and refs lie in the common one.
  const link = read(base + ".git")?.match(/^gitdir: (.*)$/)?.[1];
  const folder = link === undefined ? base + ".git" : link.startsWith("/") ? link : base + link;
  const common = read(folder + "/commondir");
  const shared = common === undefined ? folder : common.startsWith("/") ? common : `${folder}/${common}`;
  const head = read(folder + "/HEAD");
  const ref = head?.match(/^ref: (.*)$/)?.[1];
  if (ref === undefined) return head;
  const packed = () =>
    read(shared + "/packed-refs")?.split("\n").find((line) => line.endsWith(" " + ref))?.split(" ")[0];
  return read(`${folder}/${ref}`) ?? read(`${shared}/${ref}`) ?? packed();
}
