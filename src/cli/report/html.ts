/**
 * Text as HTML.
 *
 * @module
 */

/** A piece of HTML that is known to be well made. */
export class Html {
  constructor(readonly text: string) {}
}

/** What a template may hold: text is escaped, HTML stays, lists are joined, undefined is nothing. */
export type HtmlPart = string | number | Html | undefined | readonly HtmlPart[];

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/**
 * Makes HTML of a template (not named after it, because formatters rewrite templates of that name); everything that is put in is escaped, unless it is HTML itself.
 *
 * @example
 * ```ts
 * markup`<b>${"1 < 2"}</b>`.text; // <b>1 &lt; 2</b>
 * ```
 */
export function markup(strings: TemplateStringsArray, ...parts: HtmlPart[]): Html {
  return new Html(strings.reduce((text, string, i) => text + partText(parts[i - 1]) + string));
}

function partText(part: HtmlPart): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return part.map(partText).join("");
  return escapeText(String(part));
}

/** Text that shows as itself, in an element or an attribute. Characters that HTML does not allow show as U+FFFD. */
export function escapeText(text: string): string {
  // deno-lint-ignore no-control-regex -- these are the ones to replace
  return text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, "\ufffd").replace(/[&<>"']/g, (c) => ENTITIES[c]);
}
