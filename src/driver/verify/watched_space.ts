import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { Access, FaultReason } from "../../rdna/interpreter/mod.ts";
import { GuestSpace } from "../software/guest_space.ts";

/** Guest memory for the interpreter that notices writes to one byte. */
export class WatchedSpace extends GuestSpace {
  /** Set by an access that writes the byte; whoever looks at it clears it. */
  hit = false;
  /** The byte's address, signed 64-bit. */
  readonly #watched: number;

  constructor(memory: GuestMemory, address: bigint) {
    super(memory);
    this.#watched = Number(BigInt.asIntN(64, address));
  }

  override locate(address: number, bytes: number, access: number): number {
    const reason = super.locate(address, bytes, access);
    const distance = this.#watched - address;
    if (reason === FaultReason.None && (access & Access.Write) !== 0 && distance >= 0 && distance < bytes) {
      this.hit = true;
    }
    return reason;
  }
}
