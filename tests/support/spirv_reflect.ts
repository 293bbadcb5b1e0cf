/**
 * Which descriptors a SPIR-V module uses: enough to run any compute module with the resources that a test names. Numbers are from the SPIR-V
 * specification, "Enumerants" and "Instructions".
 */

/** Kind of a descriptor, in the words of the Vulkan specification ("Descriptor Types"). */
export type DescriptorKind =
  | "storage_buffer"
  | "uniform_buffer"
  | "storage_image"
  | "sampled_image"
  | "combined_image_sampler"
  | "sampler";

/** A descriptor (or an array of them) that a module names. */
export interface ReflectedBinding {
  set: number;
  binding: number;
  kind: DescriptorKind;
  /** Elements; 1 for what is no array. */
  count: number;
}

const Op = {
  EntryPoint: 15,
  TypeImage: 25,
  TypeSampler: 26,
  TypeSampledImage: 27,
  TypeArray: 28,
  TypeRuntimeArray: 29,
  TypePointer: 32,
  Constant: 43,
  Variable: 59,
  Decorate: 71,
} as const;
const Decoration = { Block: 2, BufferBlock: 3, Binding: 33, DescriptorSet: 34 } as const;
const StorageClass = { UniformConstant: 0, Uniform: 2, StorageBuffer: 12 } as const;
const DIM_BUFFER = 5, DIM_SUBPASS = 6;
const GL_COMPUTE = 5;

/** The bindings of a module, by set and binding number. Refuses kinds that {@linkcode DescriptorKind} does not know. */
export function reflectBindings(spirv: Uint32Array): ReflectedBinding[] {
  const decorations = new Map<number, Map<number, number>>();
  const definitions = new Map<number, Uint32Array>();
  const variables: Uint32Array[] = [];
  for (const words of instructions(spirv)) {
    switch (words[0] & 0xffff) {
      case Op.Decorate: {
        const own = decorations.get(words[1]) ?? new Map<number, number>();
        decorations.set(words[1], own.set(words[2], words[3] ?? 1));
        break;
      }
      case Op.Variable:
        variables.push(words);
        break;
      case Op.Constant:
        definitions.set(words[2], words);
        break;
      case Op.TypeImage:
      case Op.TypeSampler:
      case Op.TypeSampledImage:
      case Op.TypeArray:
      case Op.TypeRuntimeArray:
      case Op.TypePointer:
        definitions.set(words[1], words);
        break;
    }
  }
  const bindings = variables.flatMap((words): ReflectedBinding[] => {
    const [, pointer, id, storage] = words;
    const set = decorations.get(id)?.get(Decoration.DescriptorSet);
    const binding = decorations.get(id)?.get(Decoration.Binding);
    if (set === undefined || binding === undefined) return [];
    let type = definitions.get(pointer)![3], count = 1;
    const array = definitions.get(type);
    if (array !== undefined && (array[0] & 0xffff) === Op.TypeRuntimeArray) {
      throw new Error(`binding ${set}.${binding} is an array without a size`);
    }
    if (array !== undefined && (array[0] & 0xffff) === Op.TypeArray) {
      type = array[2];
      count = definitions.get(array[3])![3];
    }
    const kind = kindOf(storage, definitions.get(type), decorations.get(type));
    if (kind === undefined) throw new Error(`binding ${set}.${binding}: a resource of unknown kind`);
    return [{ set, binding, kind, count }];
  });
  return bindings.sort((a, b) => a.set - b.set || a.binding - b.binding);
}

/** Names of the module's compute entry points. */
export function computeEntryPoints(spirv: Uint32Array): string[] {
  return [...instructions(spirv)].filter((words) => (words[0] & 0xffff) === Op.EntryPoint && words[1] === GL_COMPUTE)
    .map((words) => {
      const bytes = new Uint8Array(words.buffer, words.byteOffset + 12, words.byteLength - 12);
      return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
    });
}

function kindOf(
  storage: number,
  type: Uint32Array | undefined,
  decorations: ReadonlyMap<number, number> | undefined,
): DescriptorKind | undefined {
  if (storage === StorageClass.StorageBuffer) return "storage_buffer";
  if (storage === StorageClass.Uniform) {
    return decorations?.has(Decoration.BufferBlock) ? "storage_buffer" : "uniform_buffer";
  }
  if (storage !== StorageClass.UniformConstant || type === undefined) return undefined;
  switch (type[0] & 0xffff) {
    case Op.TypeSampler:
      return "sampler";
    case Op.TypeSampledImage:
      return "combined_image_sampler";
    case Op.TypeImage: {
      // Operands: sampled type, dim, depth, arrayed, multisampled, sampled (1 with a sampler, 2 storage), format.
      const dim = type[3], sampled = type[7];
      if (dim === DIM_BUFFER || dim === DIM_SUBPASS) return undefined;
      return sampled === 2 ? "storage_image" : "sampled_image";
    }
  }
  return undefined;
}

/** The instructions behind the header of five words. */
function* instructions(spirv: Uint32Array): Generator<Uint32Array> {
  if (spirv[0] !== 0x07230203) throw new Error("no SPIR-V module");
  for (let at = 5; at < spirv.length; at += spirv[at] >>> 16) {
    if (spirv[at] >>> 16 === 0) throw new Error(`a SPIR-V instruction without words at word ${at}`);
    yield spirv.subarray(at, at + (spirv[at] >>> 16));
  }
}
