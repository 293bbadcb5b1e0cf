import type { JsonNode } from "../loaders/json_node.ts";

/**
 * The part of JSON Schema (draft 2020-12) that our schemas use. Numbers are whole; objects have no keys but those in `properties`; `oneOf` tells its
 * branches apart by a property with `const`.
 */
export interface JsonSchema {
  $schema?: string;
  $id?: string;
  title?: string;
  description?: string;
  $defs?: Readonly<Record<string, JsonSchema>>;
  $ref?: string;
  type?: "object" | "array" | "string" | "integer";
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  additionalProperties?: false;
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  const?: string;
  enum?: readonly string[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  oneOf?: readonly JsonSchema[];
}

/**
 * Checks a value against a schema whose `$ref`s lead to `root.$defs`. The first violation is a MalformedFileError with path, offset and reason
 * (`file.value`, `file.missing-key`, `file.unknown-key`).
 */
export function checkSchema(node: JsonNode, schema: JsonSchema, root: JsonSchema = schema): void {
  if (schema.$ref !== undefined) return checkSchema(node, definition(schema.$ref, root), root);
  if (schema.oneOf !== undefined) return checkSchema(node, branchOf(node, schema.oneOf, root), root);
  switch (schema.type) {
    case "object":
      return checkObject(node, schema, root);
    case "array":
      return checkArray(node, schema, root);
    case "string":
      return checkString(node, schema);
    case "integer":
      return checkInteger(node, schema);
    default:
      throw new TypeError(`schema without a type at ${node.path}`);
  }
}

/** The schema that a `$ref` names. */
export function definition(ref: string, root: JsonSchema): JsonSchema {
  const found = root.$defs?.[ref.replace("#/$defs/", "")];
  if (found === undefined) throw new TypeError(`the schema has no ${ref}`);
  return found;
}

function checkObject(node: JsonNode, { properties = {}, required = [] }: JsonSchema, root: JsonSchema): void {
  node.onlyKeys(Object.keys(properties));
  for (const key of required) node.get(key);
  for (const [key, value] of node.members()) checkSchema(value, properties[key], root);
}

function checkArray(node: JsonNode, { items, minItems = 0, maxItems = Infinity }: JsonSchema, root: JsonSchema): void {
  const list = node.items(minItems);
  if (list.length > maxItems) node.fail(`at most ${maxItems} items are expected, not ${list.length}`);
  if (items !== undefined) { for (const item of list) checkSchema(item, items, root); }
}

function checkString(node: JsonNode, schema: JsonSchema): void {
  const text = node.text();
  if (schema.const !== undefined && text !== schema.const) {
    node.fail(`${JSON.stringify(text.slice(0, 40))}: only ${schema.const} is known`);
  }
  if (schema.enum !== undefined) node.oneOf(...schema.enum);
  const { minLength = 0, maxLength = Infinity, pattern } = schema;
  if (text.length < minLength) node.fail("the text is empty");
  if (text.length > maxLength) node.fail(`a text of ${text.length} letters; at most ${maxLength} are read`);
  if (pattern !== undefined && !new RegExp(pattern, "u").test(text)) {
    node.fail(`${JSON.stringify(text.slice(0, 40))} does not have the form ${pattern}`);
  }
}

function checkInteger(node: JsonNode, { minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: JsonSchema): void {
  if (node.isText) node.fail("a number is expected, not a text");
  node.unsigned(BigInt(maximum), BigInt(minimum));
}

/** The branch whose property with `const` fits the value. */
function branchOf(node: JsonNode, branches: readonly JsonSchema[], root: JsonSchema): JsonSchema {
  const resolved = branches.map((branch) => branch.$ref === undefined ? branch : definition(branch.$ref, root));
  const tag = Object.entries(resolved[0].properties ?? {}).find(([, { const: value }]) => value !== undefined)?.[0];
  if (tag === undefined) throw new TypeError("the branches of oneOf have no property with const");
  const found = resolved.find((branch) => branch.properties?.[tag].const === node.get(tag).value);
  return found ??
    node.get(tag).fail(`one of ${resolved.map((branch) => branch.properties?.[tag].const).join(", ")} is expected`);
}
