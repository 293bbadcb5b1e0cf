/** The instances of the suite's fixed-seed rounds by what they exercise: the mnemonic, and the IR operations that they become. */
import { RefusedError } from "../../../src/errors.ts";
import { Op, OPS } from "../../../src/recompiler/ir/ops.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import type { RecompilerDevice, RecompileRequest } from "../../../src/recompiler/request.ts";
import { HANDLERS } from "../../../src/recompiler/spirv/emit.ts";
import type { Handler } from "../../../src/recompiler/spirv/emitter.ts";
import { refusedInstances } from "../../../tests/fuzz/batch.ts";
import { type Batch, buildBatch, type Instance, THREADS } from "../../../tests/fuzz/frame.ts";
import { type PlannedBatch, SUITE, suiteBatches } from "../../../tests/fuzz/instructions.ts";
import { Random } from "../../../tests/support/random.ts";

/** A batch of the suite, or what is left of it when only some of its instances are looked at. */
export interface Candidate extends PlannedBatch {
  /** The whole batch. */
  plan: PlannedBatch;
  /** Results of both sides, which are the same as long as nothing is corrupted; undefined until they are needed, null when all is refused. */
  prepared?: { instances: Instance[]; expected: Uint32Array } | null;
}

/** Hands out the instances of the suite. */
export class Candidates {
  readonly #plans = SUITE.flatMap(suiteBatches);
  readonly #byName = new Map<string, Candidate[]>();
  #byOperation: Map<string, Candidate[]> | undefined;

  /** @param device what the recompiler is told of the device */
  constructor(private readonly device: RecompilerDevice) {
    for (const plan of this.#plans) {
      for (const name of new Set(plan.instances.map((each) => each.name))) {
        const instances = plan.instances.filter((each) => each.name === name);
        push(this.#byName, name, { ...plan, plan, instances });
      }
    }
  }

  /** Instances of an opcode, by batch. */
  ofOpcode(name: string): Candidate[] {
    return this.#byName.get(name) ?? [];
  }

  /** Instances that become an IR operation among others, by batch. The first call recompiles the whole suite. */
  ofOperation(name: string): Candidate[] {
    this.#byOperation ??= this.#findOperations();
    return this.#byOperation.get(name) ?? [];
  }

  #findOperations(): Map<string, Candidate[]> {
    const found = new Map<string, Candidate[]>();
    for (const plan of this.#plans) {
      const seen = OPS.map(() => new Set<Instance>());
      observe(plan, this.device, (op, instance) => seen[op].add(instance));
      seen.forEach((instances, op) => {
        if (instances.size > 0) push(found, OPS[op].name, { ...plan, plan, instances: [...instances] });
      });
    }
    return found;
  }
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

/** The recompiler's request for a batch, as the driver makes it. */
export function requestOf(batch: Batch, device: RecompilerDevice): RecompileRequest {
  const { target, waveSize, floatMode, ieee, dx10Clamp, ldsBytes } = batch.settings;
  return {
    code: batch.code,
    codeAddress: batch.codeAddress,
    target,
    waveSize,
    workgroupSize: [THREADS, 1, 1],
    userSgprCount: 4,
    workgroupIds: [true, false, false],
    tgSize: false,
    scratch: false,
    threadIdCount: 1,
    ldsBytes: Math.ceil(ldsBytes / 512) * 512,
    floatMode,
    ieee,
    dx10Clamp,
    partialThreads: false,
    unalignedLoads: true,
    device,
  };
}

/** Recompiles a batch without those instances that are refused. @returns the module's words, or undefined when all is refused */
export function recompileBatch(
  plan: PlannedBatch,
  device: RecompilerDevice,
  use: (batch: Batch) => void,
): Uint32Array | undefined {
  let rest = plan.instances;
  while (rest.length > 0) {
    const batch = buildBatch(rest, plan.settings, new Random(plan.seed));
    use(batch);
    try {
      return recompile(requestOf(batch, device)).spirv;
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      const named = refusedInstances(batch, error);
      if (named.size === 0) throw error;
      rest = rest.filter((instance) => !named.has(instance));
    }
  }
  return undefined;
}

/** Tells which operations are emitted for which instance. */
function observe(plan: PlannedBatch, device: RecompilerDevice, found: (op: number, instance: Instance) => void): void {
  const table = HANDLERS as Handler[], originals = [...table];
  let batch: Batch;
  originals.forEach((handler, op) => {
    if (op === Op.Const) return;
    table[op] = (e, i) => {
      const pc = e.ir.pc[i];
      const k = batch.ranges.findIndex(({ start, end }) => pc >= start && pc < end);
      if (k >= 0) found(op, batch.instances[k]);
      handler(e, i);
    };
  });
  try {
    recompileBatch(plan, device, (next) => batch = next);
  } finally {
    originals.forEach((handler, op) => table[op] = handler);
  }
}
