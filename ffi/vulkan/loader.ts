import { Arena } from "../arena.ts";
import { openLibrary } from "../library.ts";
import { openThunks } from "../thunks.ts";
import {
  bindCoreCommands,
  bindDrawingCommands,
  type CoreCommands,
  coreSymbols,
  type DrawingCommands,
  drawingSymbols,
} from "./generated/mod.ts";

let core: CoreCommands | undefined;
let drawing: DrawingCommands | undefined;

/**
 * The Vulkan loader's commands for devices, memory, compute pipelines, command buffers and submission. Opened once per isolate; handles are
 * plain numbers that every isolate of the process may use.
 *
 * @throws {HostError} `host.library-missing` when libvulkan.so.1 is missing or older than 1.3
 */
export function openVulkan(): CoreCommands {
  return core ??= bindCoreCommands(openLoader(coreSymbols));
}

/** The Vulkan loader's commands for images, descriptors, draws and presentation; see {@linkcode openVulkan}. */
export function openVulkanDrawing(): DrawingCommands {
  return drawing ??= bindDrawingCommands(openLoader(drawingSymbols));
}

function openLoader<S extends Deno.ForeignLibraryInterface>(symbols: S): Deno.StaticForeignLibraryInterface<S> {
  return openLibrary(
    "libvulkan.so.1",
    symbols,
    "Install the Vulkan loader, 1.3 or newer (Debian: apt install libvulkan1).",
  ).symbols;
}

/** Commands of an extension, callable as fast as the core ones. */
export interface ExtensionCommands<C> {
  /** The commands. */
  readonly commands: C;
  /** Unloads them; they must not be called afterwards. */
  close(): void;
}

/**
 * Loads the commands of an extension that was enabled for a device. For example
 * `loadDeviceExtension(vulkan, device, vkExtExternalMemoryHostSymbols, bindVkExtExternalMemoryHost)`.
 *
 * @throws {HostError} `host.thunk-address` when the device does not know a command
 */
export function loadDeviceExtension<S extends Deno.ForeignLibraryInterface, C>(
  vulkan: CoreCommands,
  device: bigint,
  symbols: S,
  bind: (symbols: Deno.StaticForeignLibraryInterface<S>) => C,
): ExtensionCommands<C> {
  return load(symbols, (name) => vulkan.vkGetDeviceProcAddr(device, name), bind);
}

/**
 * Loads the commands of an extension that was enabled for an instance, like {@linkcode loadDeviceExtension}.
 *
 * @throws {HostError} `host.thunk-address` when the instance does not know a command
 */
export function loadInstanceExtension<S extends Deno.ForeignLibraryInterface, C>(
  vulkan: CoreCommands,
  instance: bigint,
  symbols: S,
  bind: (symbols: Deno.StaticForeignLibraryInterface<S>) => C,
): ExtensionCommands<C> {
  return load(symbols, (name) => vulkan.vkGetInstanceProcAddr(instance, name), bind);
}

function load<S extends Deno.ForeignLibraryInterface, C>(
  symbols: S,
  addressOf: (name: bigint) => bigint,
  bind: (symbols: Deno.StaticForeignLibraryInterface<S>) => C,
): ExtensionCommands<C> {
  const arena = new Arena(4096);
  const addresses: Record<string, bigint> = {};
  for (const name of Object.keys(symbols)) {
    addresses[name] = arena.scope(() => addressOf(arena.string(name)));
  }
  const thunks = openThunks(symbols, addresses as { [K in keyof S]: bigint });
  return { commands: bind(thunks.symbols), close: () => thunks.close() };
}
