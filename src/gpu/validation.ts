/**
 * Messages of the Khronos validation layer, through a log file. A messenger in TypeScript would be called on the isolate that made it: a
 * worker whose Vulkan call reports something would then wait for an isolate that may itself be blocked. The file has no such coupling.
 */
import { HostError } from "../errors.ts";
import { setNativeEnvironment } from "../../ffi/libc.ts";

/** Name of the layer. */
export const validationLayer = "VK_LAYER_KHRONOS_validation";

let folder: string | undefined;
let offset = 0;
const pending: string[] = [];

/**
 * Makes the next vkCreateInstance with {@linkcode validationLayer} log to this process's file. Called for every such instance, since the
 * layer empties the file then: what was logged before is kept here.
 */
export function prepareValidationLog(): void {
  if (folder === undefined) {
    folder = `${temporaryFolder()}/anyagc-validation-${Deno.pid}`;
    Deno.mkdirSync(folder, { recursive: true });
    const settings = `${folder}/vk_layer_settings.txt`;
    Deno.writeTextFileSync(
      settings,
      [
        "khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG",
        "khronos_validation.report_flags = error,warn",
        "khronos_validation.enable_message_limit = false",
        `khronos_validation.log_filename = ${folder}/validation.log`,
        "",
      ].join("\n"),
    );
    setNativeEnvironment("VK_LAYER_SETTINGS_PATH", settings);
  } else {
    pending.push(...readNew());
  }
  offset = 0;
}

/**
 * Messages of the validation layer since the last call, one string each (errors and warnings; the text begins with the VUID or the
 * warning's name). Messages of all instances of the process are in one file.
 */
export function collectValidationMessages(): string[] {
  pending.push(...readNew());
  return pending.splice(0);
}

/** Removes the log file; for tests, when no validated instance is left. */
export function removeValidationLog(): void {
  if (folder !== undefined) Deno.removeSync(folder, { recursive: true });
  folder = undefined;
  offset = 0;
}

/** The error for a layer that is not installed. */
export function validationMissing(): HostError {
  return new HostError(
    "host.validation-layer-missing",
    `the Vulkan layer ${validationLayer} is not installed. Install it (Debian: apt install vulkan-validationlayers) or run without validation.`,
  );
}

function readNew(): string[] {
  if (folder === undefined) return [];
  let bytes: Uint8Array;
  try {
    bytes = Deno.readFileSync(`${folder}/validation.log`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return []; // nothing was ever logged
    throw error;
  }
  if (bytes.length < offset) offset = 0;
  const text = new TextDecoder().decode(bytes.subarray(offset)).replaceAll("\0", "");
  offset = bytes.length;
  // A message is a line that is not indented, and the indented lines after it.
  const messages: string[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    if (/^\s/.test(line) && messages.length > 0) messages[messages.length - 1] += "\n" + line;
    else messages.push(line);
  }
  return messages;
}

function temporaryFolder(): string {
  return (Deno.env.get("TMPDIR") ?? "/tmp").replace(/\/$/, "");
}
