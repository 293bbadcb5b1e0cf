/**
 * The forms of instructions that the lift refuses: the texts of its `refuse` calls, read from its sources.
 *
 * @module
 */
const LIFT = new URL("../../src/recompiler/lift/", import.meta.url);

/** What a file refuses. */
export interface RefusedForms {
  /** Path below src/recompiler/lift. */
  readonly file: string;
  readonly texts: readonly string[];
}

/** All files of the lift that refuse something, in the order of their names. */
export function refusedForms(): RefusedForms[] {
  return sources("").sort().flatMap((file) => {
    const texts = refusals(Deno.readTextFileSync(new URL(file, LIFT)));
    return texts.length === 0 ? [] : [{ file, texts }];
  });
}

function sources(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, LIFT))].flatMap(({ name, isDirectory }) =>
    isDirectory ? sources(`${folder}${name}/`) : name.endsWith(".ts") ? [folder + name] : []
  );
}

/** Texts that a source gives to `refuse`: string and template literals, whose expressions become …. */
export function refusals(source: string): string[] {
  const found = new Set<string>();
  for (const [, quoted, template] of source.matchAll(/\brefuse\(\s*(?:"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g)) {
    const text = quoted ?? template.replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, "…");
    found.add(text.replaceAll("\\", "").replaceAll("*", "\\*").replaceAll("_", "\\_"));
  }
  return [...found];
}
