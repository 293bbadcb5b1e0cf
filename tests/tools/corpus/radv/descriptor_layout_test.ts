import { assertEquals } from "@std/assert";
import { placeBindings } from "../../../../tools/corpus/radv/descriptor_layout.ts";
import type { Binding, DescriptorType } from "../../../../tools/corpus/spirv/reflect.ts";

Deno.test("descriptors lie behind each other by binding number, images on multiples of 32", () => {
  const binding = (set: number, number: number, type: DescriptorType, count = 1): Binding => ({
    set,
    binding: number,
    type,
    count,
    blockBytes: 0,
    name: "",
  });
  const placed = placeBindings([
    binding(0, 0, "storage_buffer"),
    binding(0, 1, "storage_image", 2),
    binding(0, 4, "sampler"),
    binding(0, 5, "combined_image_sampler"),
    binding(0, 9, "uniform_buffer"),
    binding(3, 0, "sampled_image"),
    binding(3, 1, "uniform_texel_buffer", 3),
    binding(3, 2, "storage_texel_buffer"),
  ]);
  assertEquals(placed.map(({ set, offset, stride }) => [set, offset, stride]), [
    [0, 0, 16],
    [0, 32, 32],
    [0, 96, 16],
    [0, 128, 96],
    [0, 224, 16],
    [3, 0, 64],
    [3, 64, 16],
    [3, 112, 16],
  ]);
});
