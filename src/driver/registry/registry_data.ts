/**
 * A registration as bytes in the arena: the record, and the code, which equal shaders share.
 *
 * @module
 */
import type { AgcShaderRecord } from "../../guest/loaders/agc_record.ts";
import { decodeData, encodeData } from "../../sync/plain_data.ts";
import type { KeyedTable } from "../../sync/keyed_table.ts";
import { keyOfBytes, type Room } from "../pools/room.ts";

/** Hashes code to eight words. */
export type HashCode = (words: Uint32Array) => Uint32Array<ArrayBuffer>;

/** SHA-256 of the words. */
export const hashCode: HashCode = (words) =>
  keyOfBytes(new Uint8Array(words.buffer, words.byteOffset, words.byteLength));

/** What the log's blob of a registration has. */
interface RegistrationData {
  readonly address: bigint;
  readonly record: AgcShaderRecord;
  /** Blob of the code's words. */
  readonly code: number;
}

/** Code by its content, once for all shaders and isolates. Hashes are trusted to find, never to decide. */
export class CodeStore {
  readonly #room: Room;
  readonly #table: KeyedTable;
  readonly #hash: HashCode;

  /** @param table hash -> blob of the words */
  constructor(room: Room, table: KeyedTable, hash: HashCode = hashCode) {
    this.#room = room;
    this.#table = table;
    this.#hash = hash;
  }

  /** Keeps code. @returns its blob and hash; of other code with the same hash the next free one */
  keep(words: Uint32Array): { blob: number; key: Uint32Array<ArrayBuffer> } {
    const key = this.#hash(words);
    for (;;) {
      const { state, value, reference, pin } = this.#table.begin(key);
      this.#table.unpin(pin);
      if (state === "ready") {
        if (sameWords(this.words(Number(value)), words)) return { blob: Number(value), key };
        key[7]++;
        continue;
      }
      const blob = this.#room.arena.append(words);
      this.#room.arena.share(blob);
      // While another isolate is putting the same in, it may as well be there twice.
      if (state === "create") this.#table.publish(reference, BigInt(blob));
      return { blob, key };
    }
  }

  /** The words of a blob, in place: they stay as long as the room. */
  words(blob: number): Uint32Array {
    const bytes = this.#room.arena.view(blob);
    return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  }
}

/** The blob of a registration. */
export function encodeRegistration(data: RegistrationData): Uint8Array<ArrayBuffer> {
  return encodeData(data);
}

/** Reads one. */
export function decodeRegistration(bytes: Uint8Array): RegistrationData {
  return decodeData(bytes) as RegistrationData;
}

/** Whether two records say the same. */
export function sameRecord(a: AgcShaderRecord, b: AgcShaderRecord): boolean {
  const [left, right] = [encodeData(a), encodeData(b)];
  return left.length === right.length && left.every((byte, i) => byte === right[i]);
}

function sameWords(a: Uint32Array, b: Uint32Array): boolean {
  return a.length === b.length && a.every((word, i) => word === b[i]);
}
