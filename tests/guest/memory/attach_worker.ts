/** Worker of mmap_allocator_test.ts: attaches the windows it is sent, changes one word, lets go, and reports. */
import { GuestMemoryError } from "../../../src/guest/memory/fault.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../src/guest/memory/mmap_allocator.ts";
import { permissionText, type WindowDescription } from "../../../src/guest/memory/window.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<WindowDescription[]>) => void;
  postMessage(data: unknown): void;
};

scope.onmessage = ({ data }) => {
  const memory = new GuestMemory(new MmapAllocator());
  for (const description of data) memory.attach(description);
  const address = 0xFFFF_8000_0001_1000n;
  const read = memory.readU32(address);
  memory.writeU32(address, read + 1);
  let refused: string | undefined;
  try {
    memory.writeU32(0x2_0000_0000n, 1);
  } catch (error) {
    refused = error instanceof GuestMemoryError ? error.reason : String(error);
  }
  const windows = memory.windows.map((window) => `${window.name} ${permissionText(window.permissions)}`);
  const deviceAddress = memory.windows[1].deviceAddress;
  memory.clear();
  scope.postMessage({ windows, read, refused, deviceAddress });
};
