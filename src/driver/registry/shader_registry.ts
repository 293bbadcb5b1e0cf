/**
 * The shader registry: what the guest registered, and its shaders' variants, made in the background before they are used.
 *
 * - {@linkcode ShaderRegistry.registerShader} and {@linkcode ShaderRegistry.resolveShaderAbi} are called by the guest's loader. They check, plan, queue and
 *   return; what the recompiler says later never reaches them.
 * - {@linkcode ShaderRegistry.use} is called by who draws or dispatches. A variant that was used here before costs a look-up and a comparison of the code: no
 *   lock, no wait, no job board. Else it waits for exactly the job that makes it, or makes it itself.
 * - {@linkcode ShaderRegistry.unregisterShader} takes out what the guest has freed, for submissions that come later.
 * - {@linkcode ShaderRegistry.read} and {@linkcode ShaderRegistry.edit} finish a shader's jobs, then take the registry's lock.
 *
 * Each isolate has a registry of its own over the same log and tables.
 *
 * @module
 */
import { type ErrorPlace, hex, InvalidInputError, RefusedError } from "../../errors.ts";
import { createShader } from "../../guest/agc_shader.ts";
import type { AgcShaderRecord } from "../../guest/loaders/agc_record.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { RecompileRequest } from "../../recompiler/request.ts";
import { type MutexHandle, SharedMutex } from "../../sync/futex_mutex.ts";
import { assertNoLocksHeld, LockBit } from "../../sync/held_locks.ts";
import { KeyedTable, type KeyedTableHandle } from "../../sync/keyed_table.ts";
import { SyncError } from "../../sync/sync_error.ts";
import { switchFlag } from "../../switches.ts";
import type { LogLine } from "../pools/failures.ts";
import type { PreparationServices } from "../pools/preparation.ts";
import type { Room } from "../pools/room.ts";
import type { RequestDump } from "../request_dump.ts";
import type { ShaderCache } from "../shader_cache/shader_cache.ts";
import { type Abi, recordAbi } from "./abi.ts";
import { type Program, RawPrograms, RegisteredShader, type Variant } from "./programs.ts";
import { CodeStore, decodeRegistration, encodeRegistration, type HashCode, sameRecord } from "./registry_data.ts";
import { LogKind, RegistryLog, type RegistryLogHandle } from "./registry_log.ts";
import { readProgram } from "./shader_code.ts";
import { validateRecord } from "./validate_record.ts";
import { type RegistryHost, type Resolution, VariantMaker } from "./variant_maker.ts";

/** How a registry is set up. */
export interface RegistryOptions {
  /** What requests have in common. */
  readonly host: RegistryHost;
  /** Guest memory, as this isolate has it. */
  readonly memory: GuestMemory;
  /** Artifacts of earlier runs. */
  readonly cache?: ShaderCache;
  /** What who recompiles has beside the room, where somebody else has it already (`DriverRoom.services`); instead of `cache`. */
  readonly services?: PreparationServices;
  /** Told when a variant was queued for the preparation pool, whose workers may not have been started. */
  readonly queued?: () => void;
  /** Gets every request that this isolate plans. */
  readonly dump?: RequestDump;
  /** Told what went wrong in the background; console.error when left out. */
  readonly log?: LogLine;
  /** Most registrations and variants; default 65,536. */
  readonly capacity?: number;
  /** Hash of code; for tests. */
  readonly hash?: HashCode;
  /** Prepare on the calling thread; the switch APS5_SYNC_SHADER_PREPARE when left out. */
  readonly synchronous?: boolean;
}

/** The shared part, for postMessage. */
export interface RegistryHandle extends RegistryLogHandle {
  /** What requests have in common. */
  readonly host: RegistryHost;
  /** The lock of registrations and transactions. */
  readonly lock: MutexHandle;
  /** Code by content. */
  readonly codes: KeyedTableHandle;
}

/** What an edit changes. */
export interface ShaderEdit {
  /** New code, written over the old from its first word on. */
  readonly code?: Uint32Array;
  /** New record. */
  readonly record?: AgcShaderRecord;
}

/** See the module. */
export class ShaderRegistry {
  /** What another isolate needs to attach. */
  readonly handle: RegistryHandle;
  readonly #room: Room;
  readonly #host: RegistryHost;
  readonly #memory: GuestMemory;
  readonly #say: LogLine;
  readonly #variants: VariantMaker;
  readonly #log: RegistryLog;
  readonly #lock: SharedMutex;
  readonly #codes: CodeStore;
  readonly #raw: RawPrograms;
  /** Log entries that this isolate has read. */
  #read = 0;
  readonly #shaders = new Map<number, RegisteredShader>();
  /** Registrations of each address, oldest first. */
  readonly #byAddress = new Map<bigint, RegisteredShader[]>();
  #closed = false;

  private constructor(
    room: Room,
    options: RegistryOptions,
    entries: RegistryLog,
    lock: SharedMutex,
    codes: KeyedTable,
  ) {
    const { host, memory, cache, services, queued, dump, log = services?.log ?? console.error } = options;
    this.#room = room;
    this.#host = host;
    this.#memory = memory;
    this.#say = log;
    const synchronous = options.synchronous ?? switchFlag("APS5_SYNC_SHADER_PREPARE");
    const kept = services ?? (cache === undefined ? {} : servicesOf(cache));
    this.#variants = new VariantMaker(room, host, { ...kept, log }, synchronous, queued, dump);
    this.#log = entries;
    this.#lock = lock;
    this.#codes = new CodeStore(room, codes, options.hash);
    this.#raw = new RawPrograms(memory, host.target);
    this.handle = { ...entries.handle, host, lock: lock.handle, codes: codes.handle };
  }

  /** A new registry; to be made by the isolate that made the room. */
  static create(room: Room, options: RegistryOptions): ShaderRegistry {
    const { capacity = CAPACITY } = options;
    const log = RegistryLog.create(capacity);
    const codes = KeyedTable.create(room.self, room.arena, { name: "shader code", capacity });
    return new ShaderRegistry(room, options, log, new SharedMutex(room.self, LOCK), codes);
  }

  /** The same registry in another isolate. */
  static attach(
    room: Room,
    handle: RegistryHandle,
    options: Omit<RegistryOptions, "host" | "capacity">,
  ): ShaderRegistry {
    const codes = KeyedTable.attach(room.self, room.arena, "shader code", handle.codes);
    const lock = new SharedMutex(room.self, LOCK, handle.lock);
    return new ShaderRegistry(room, { ...options, host: handle.host }, RegistryLog.attach(handle), lock, codes);
  }

  /** The registry as it is now, for a submission: what is registered later is not in it. */
  snapshot(): number {
    return this.#log.epoch;
  }

  /**
   * Registers a shader: checks its record and code here, and has its own variant prepared in the background, where the record says all of its ABI.
   * The same record with the same code is the same registration; other code at the address is a new one, for submissions that come later.
   *
   * @param record as `readShaderRecord` gives it after `createShader`
   * @throws InvalidInputError `registry.record` and what decoding finds, GuestFaultError `driver.no-code`; with APS5_SYNC_SHADER_PREPARE also what the recompiler
   * throws. SyncError if a capacity is used up.
   */
  registerShader(record: AgcShaderRecord): RegisteredShader {
    this.#assertOpen();
    const address = validateRecord(record);
    const own = ownAbi(record);
    const words = readProgram(this.#memory, address, this.#host.target, record.shaderBytes || undefined);
    const shader = this.#register(record, address, words);
    if (own !== undefined) this.#resolve(shader, own);
    return shader;
  }

  /** What sceAgcCreateShader does: rewrites the record in memory, and registers it. @throws as `createShader` and {@linkcode registerShader} */
  createShader(header: bigint, code: bigint): RegisteredShader {
    this.#assertOpen();
    return this.registerShader(createShader(this.#memory, header, code));
  }

  /**
   * Has a variant of a shader prepared. Returns at once if it is there, in the making, or failed; an artifact of an earlier run is taken over here.
   *
   * @throws what planning finds wrong with the state; InvalidInputError `registry.foreign-shader`, `registry.unregistered`; with APS5_SYNC_SHADER_PREPARE also what the recompiler throws.
   */
  resolveShaderAbi(shader: RegisteredShader, state: Abi): Resolution {
    this.#assertOpen();
    this.#assertRegistered(shader);
    return this.#resolve(shader, state);
  }

  /**
   * Takes a shader out, whose record the guest has freed: submissions that are made from now on do not see it, nor what the same record was registered as
   * before. Those that have been made still do, so what is queued for it is made, and its blobs stay as long as the room.
   *
   * @throws InvalidInputError `registry.unregistered` if it was taken out before; SyncError if a capacity is used up
   */
  unregisterShader(shader: RegisteredShader): void {
    this.#assertOpen();
    this.#lock.lock();
    try {
      this.#assertRegistered(shader);
      this.#log.append({ kind: LogKind.Removal, number: shader.index, blob: 0, key: NO_KEY });
    } finally {
      this.#lock.unlock();
    }
    this.#catchUp();
  }

  /** The registration of an address that a submission sees, the newest of several; undefined if there is none. */
  find(address: bigint, snapshot: number): RegisteredShader | undefined {
    if (snapshot > this.#read) this.#catchUp();
    const all = this.#byAddress.get(address);
    if (all === undefined) return undefined;
    for (let i = all.length - 1; i >= 0; i--) if (all[i].index < snapshot && all[i].until >= snapshot) return all[i];
    return undefined;
  }

  /** Says that a submission will draw or dispatch with a program: what is queued for it becomes more urgent. */
  name(address: bigint, state: Abi, snapshot: number): void {
    const shader = this.find(address, snapshot);
    if (shader === undefined || shader.variants.has(state.key)) return;
    this.#variants.raise(shader, state);
  }

  /**
   * The variant that a draw or dispatch needs, now. Nothing is waited for and nothing is shared where this isolate has used it before.
   *
   * Code that the guest has changed since it was registered: compute programs are what is in memory, as if never registered. Other stages are refused.
   *
   * @param address of the program, sign-extended
   * @param snapshot the submission's
   * @throws what the recompiler throws; InvalidInputError `registry.not-registered`, `registry.code-changed`; GuestFaultError `driver.no-code`
   */
  use(address: bigint, state: Abi, snapshot: number, place?: ErrorPlace): Variant {
    const program = this.program(address, state, snapshot, place);
    return program.variants.get(state.key) ??
      this.#variants.prepare(program, state.key, this.#variants.request(program, state));
  }

  /**
   * The variant of a request, waited for or made here, and kept under a key of the caller's: for requests that have more than {@linkcode use} gives them, as
   * the descriptors of images.
   *
   * @throws what the recompiler throws
   */
  prepare(program: Program, variantKey: string, request: RecompileRequest): Variant {
    return program.variants.get(variantKey) ?? this.#variants.prepare(program, variantKey, request);
  }

  /** Like {@linkcode prepare}, for who keeps the variant: the driver's cache of programs. @throws what the recompiler throws */
  make(program: Program, request: RecompileRequest): Variant {
    return this.#variants.make(program, request);
  }

  /** Says, once, that a compute shader's code was changed in memory: what is there now is used. */
  sayChanged(shader: RegisteredShader): void {
    if (shader.changeSaid) return;
    shader.changeSaid = true;
    this.#say(`the ${shader.label} was changed in memory since it was registered: what is there now is used`);
  }

  /** The program of a draw or dispatch, its code equal to memory: see {@linkcode use}. */
  program(address: bigint, state: Abi, snapshot: number, place?: ErrorPlace): Program {
    const shader = this.find(address, snapshot);
    const change = shader === undefined ? 0 : shader.code.firstChange(this.#memory);
    if (change === -1) return shader!;
    if (state.state.stage === "compute") {
      if (shader !== undefined) this.sayChanged(shader);
      return this.#raw.at(address, place);
    }
    if (shader === undefined) {
      throw new InvalidInputError(
        "registry.not-registered",
        `no ${state.state.stage} shader was registered at ${hex(address)}`,
        { ...place, guestAddress: address },
      );
    }
    throw new InvalidInputError(
      "registry.code-changed",
      `the ${shader.label} was changed in memory since it was registered: it must be registered again`,
      { ...place, guestAddress: address + 4n * BigInt(change), pc: 4 * change },
    );
  }

  /** What the recompiler is asked for a variant. @throws RefusedError, InvalidInputError for a state that is none */
  request(program: Program, state: Abi): RecompileRequest {
    return this.#variants.request(program, state);
  }

  /**
   * Reads a shader while nobody registers or edits. Its jobs are ended before the lock is taken.
   *
   * @param body must not wait for anything
   */
  read<T>(shader: RegisteredShader, body: (shader: RegisteredShader) => T): T {
    this.finish(shader);
    this.#lock.lock();
    try {
      return body(shader);
    } finally {
      this.#lock.unlock();
    }
  }

  /**
   * Changes a shader while nobody else registers or edits. Its jobs are ended before the lock is taken. Submissions that were made before keep seeing the old
   * registration (and notice that its code has changed); later ones see the new.
   *
   * @param body gives the change, if any; must not wait for anything
   * @throws as {@linkcode registerShader} for what comes of the change, which then is not made
   */
  edit(shader: RegisteredShader, body: (shader: RegisteredShader) => ShaderEdit | undefined): RegisteredShader {
    this.#assertOpen();
    this.finish(shader);
    this.#lock.lock();
    let edited: RegisteredShader;
    try {
      this.#assertRegistered(shader);
      const change = body(shader);
      if (change === undefined) return shader;
      edited = this.#replace(shader, change);
    } finally {
      this.#lock.unlock();
    }
    const own = ownAbi(edited.record);
    if (own !== undefined) this.#resolve(edited, own);
    return edited;
  }

  /** Ends all jobs of a shader: runs here what is queued, and waits for what runs. */
  finish(shader: RegisteredShader): void {
    this.assertOwn(shader);
    assertNoLocksHeld(`finish the jobs of a shader`);
    this.#catchUp();
    this.#variants.finish(shader.asked);
  }

  /** No more registrations from this isolate. What is queued is finished by the pool: see `closePreparation`. */
  close(): void {
    this.#closed = true;
  }

  #assertOpen(): void {
    if (this.#closed) throw new SyncError("registry.closed", "the shader registry is closed: the device goes away");
  }

  /**
   * Throws if a shader is not of this registry, as this isolate has it: its number would be another shader's.
   *
   * @throws InvalidInputError `registry.foreign-shader`
   */
  assertOwn(shader: RegisteredShader): void {
    if (shader instanceof RegisteredShader && this.#shaders.get(shader.index) === shader) return;
    const what = shader instanceof RegisteredShader ? `the ${shader.label}` : "what was given as a shader";
    throw new InvalidInputError("registry.foreign-shader", `${what} was not registered here`, {
      guestAddress: shader instanceof RegisteredShader ? shader.code.address : undefined,
    });
  }

  #assertRegistered(shader: RegisteredShader): void {
    this.assertOwn(shader);
    this.#catchUp();
    if (shader.until === Infinity) return;
    throw new InvalidInputError("registry.unregistered", `the ${shader.label} is not registered any more`, {
      guestAddress: shader.code.address,
    });
  }

  #register(record: AgcShaderRecord, address: bigint, words: Uint32Array): RegisteredShader {
    this.#log.assertRoom();
    const { blob: code, key } = this.#codes.keep(words);
    const before = this.find(address, this.#log.epoch);
    if (before !== undefined && this.#isSame(before, record, words)) return before;
    const blob = this.#room.arena.append(encodeRegistration({ address, record, code }));
    let index: number;
    this.#lock.lock();
    try {
      // Another loader may have been faster.
      const now = this.find(address, this.#log.epoch);
      if (now !== undefined && now !== before && this.#isSame(now, record, words)) {
        this.#room.arena.retire(blob);
        return now;
      }
      this.#room.arena.share(blob);
      index = this.#log.append({ kind: LogKind.Registration, number: this.#log.epoch, blob, key });
    } catch (error) {
      this.#room.arena.retire(blob);
      throw error;
    } finally {
      this.#lock.unlock();
    }
    this.#catchUp();
    return this.#shaders.get(index)!;
  }

  #isSame(shader: RegisteredShader, record: AgcShaderRecord, words: Uint32Array): boolean {
    const old = shader.code.words;
    return old.length === words.length && old.every((word, i) => word === words[i]) &&
      sameRecord(shader.record, record);
  }

  /** Under the lock. */
  #replace(shader: RegisteredShader, { code, record = shader.record }: ShaderEdit): RegisteredShader {
    this.#log.assertRoom();
    const address = validateRecord(record), there = this.#memory;
    if (address !== shader.code.address) {
      throw new InvalidInputError("registry.record", "an edit cannot move a shader", { guestAddress: address });
    }
    const old = code === undefined ? undefined : there.read(address, code.byteLength);
    if (code !== undefined) there.write(address, new Uint8Array(code.buffer, code.byteOffset, code.byteLength));
    try {
      ownAbi(record);
      const words = readProgram(there, address, this.#host.target, record.shaderBytes || undefined);
      const kept = this.#codes.keep(words);
      const blob = this.#room.arena.append(encodeRegistration({ address, record, code: kept.blob }));
      this.#room.arena.share(blob);
      const index = this.#log.append({ kind: LogKind.Registration, number: this.#log.epoch, blob, key: kept.key });
      this.#catchUp();
      return this.#shaders.get(index)!;
    } catch (error) {
      if (old !== undefined) there.write(address, old);
      throw error;
    }
  }

  /**
   * Notes, for transactions, that a variant will be in the making, once.
   *
   * @throws SyncError `registry.full`
   */
  #ask(shader: RegisteredShader, key: Uint32Array): void {
    this.#lock.lock();
    try {
      this.#catchUp();
      if (shader.asked.some((asked) => asked.every((word, i) => word === key[i]))) return;
      this.#log.append({ kind: LogKind.Variant, number: shader.index, blob: 0, key });
    } finally {
      this.#lock.unlock();
    }
  }

  #resolve(shader: RegisteredShader, state: Abi): Resolution {
    return this.#variants.resolve(shader, state, (key) => this.#ask(shader, key));
  }

  /** Reads the log to its present end. */
  #catchUp(): void {
    for (const end = this.#log.epoch; this.#read < end; this.#read++) {
      const { kind, number, blob, key } = this.#log.entry(this.#read);
      if (kind === LogKind.Variant) {
        this.#shaders.get(number)!.asked.push(key);
        continue;
      }
      if (kind === LogKind.Removal) {
        this.#remove(this.#shaders.get(number)!, this.#read);
        continue;
      }
      const { address, record, code } = decodeRegistration(this.#room.arena.view(blob));
      const hash = new Uint8Array(key.buffer).toHex();
      const shader = new RegisteredShader(this.#read, address, record, this.#codes.words(code), hash);
      this.#shaders.set(this.#read, shader);
      const all = this.#byAddress.get(shader.code.address);
      if (all === undefined) this.#byAddress.set(shader.code.address, [shader]);
      else all.push(shader);
    }
  }

  /** The record's earlier registrations go with it; another record with the same code stays. */
  #remove({ index, code: { address }, record }: RegisteredShader, at: number): void {
    for (const each of this.#byAddress.get(address)!) {
      if (each.index <= index && each.until === Infinity && each.record.address === record.address) each.until = at;
    }
  }
}

function servicesOf(cache: ShaderCache): PreparationServices {
  return {
    find: (request) => cache.find(request),
    keep: (request, artifact) => cache.add(request, artifact),
  };
}

const NO_KEY = new Uint32Array(8);

const CAPACITY = 65536;
/** No wait and no compile with it held; it comes before all others. */
const LOCK = { bit: LockBit.Preparation, name: "shader registry" };

/** {@linkcode recordAbi}; of what is not supported nothing is prepared. */
function ownAbi(record: AgcShaderRecord): Abi | undefined {
  try {
    return recordAbi(record);
  } catch (error) {
    if (error instanceof RefusedError) return undefined;
    throw error;
  }
}
