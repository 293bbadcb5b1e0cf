/** One element of an XML document. Text and child elements are kept in order, since vk.xml writes C declarations as mixed content. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly (XmlElement | string)[];
}

/**
 * Parses the XML subset that the Khronos registry uses: elements, attributes, text, comments, processing instructions, the five named
 * entities. No DTD, no CDATA, no namespaces: those are refused.
 *
 * @returns the root element
 */
export function parseXml(source: string): XmlElement {
  type Open = { name: string; attributes: Record<string, string>; children: (XmlElement | string)[] };
  const document: Open = { name: "", attributes: {}, children: [] };
  const stack: Open[] = [document];
  let at = 0;
  while (at < source.length) {
    const top = stack[stack.length - 1];
    const tag = source.indexOf("<", at);
    if (tag < 0) break;
    if (tag > at) top.children.push(decodeEntities(source.slice(at, tag)));
    if (source.startsWith("<!--", tag)) {
      at = endOf(source, "-->", tag);
    } else if (source.startsWith("<?", tag)) {
      at = endOf(source, "?>", tag);
    } else if (source.startsWith("<!", tag)) {
      throw new Error(`XML declarations are not understood (offset ${tag})`);
    } else if (source.startsWith("</", tag)) {
      at = endOf(source, ">", tag);
      const name = source.slice(tag + 2, at - 1).trim();
      if (stack.length === 1 || top.name !== name) {
        throw new Error(`XML: </${name}> closes <${top.name}> (offset ${tag})`);
      }
      stack.pop();
    } else {
      at = endOf(source, ">", tag);
      const selfClosing = source[at - 2] === "/";
      const element = parseTag(source.slice(tag + 1, at - (selfClosing ? 2 : 1)));
      top.children.push(element);
      if (!selfClosing) stack.push(element);
    }
  }
  if (stack.length !== 1) throw new Error(`XML: <${stack[stack.length - 1].name}> is not closed`);
  const root = document.children.find((child) => typeof child !== "string");
  if (root === undefined || typeof root === "string") throw new Error("XML: no element");
  return root;
}

/** Child elements, optionally only those of one name. */
export function elements(parent: XmlElement, name?: string): XmlElement[] {
  return parent.children.filter((child): child is XmlElement =>
    typeof child !== "string" && (name === undefined || child.name === name)
  );
}

/** First child element of that name. */
export function child(parent: XmlElement, name: string): XmlElement | undefined {
  return elements(parent, name)[0];
}

/** All text inside the element, in order, without the text of `skip` elements (comments). */
export function textOf(element: XmlElement, skip = "comment"): string {
  return element.children.map((one) => typeof one === "string" ? one : one.name === skip ? "" : textOf(one, skip)).join(
    "",
  );
}

function parseTag(tag: string) {
  const name = /^[^\s/]+/.exec(tag)![0];
  const attributes: Record<string, string> = {};
  for (const [, key, doubled, single] of tag.slice(name.length).matchAll(/([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)) {
    attributes[key] = decodeEntities(doubled ?? single);
  }
  return { name, attributes, children: [] as (XmlElement | string)[] };
}

function endOf(source: string, mark: string, from: number): number {
  const at = source.indexOf(mark, from);
  if (at < 0) throw new Error(`XML: ${mark} is missing after offset ${from}`);
  return at + mark.length;
}

const entities: Record<string, string> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function decodeEntities(text: string): string {
  return text.replace(/&(\w+);/g, (whole, name) => entities[name] ?? whole);
}
