import * as vk from "../../../ffi/vulkan/mod.ts";
import { Arena } from "../../../ffi/arena.ts";
import { HostBuffer } from "../../../src/gpu/buffer.ts";
import type { CommandQueue } from "../../../src/gpu/command_queue.ts";
import type { GpuDevice } from "../../../src/gpu/device.ts";

/** A 2D image of one level, in layout GENERAL, with a buffer for its contents. */
export class OracleImage {
  /** VkImageView. */
  readonly view: bigint;
  readonly #device: GpuDevice;
  readonly #image: bigint;
  readonly #memory: bigint;
  readonly #staging: HostBuffer;
  readonly #arena = new Arena();
  readonly #region: bigint;

  /** `data`: rows without padding; zeros when left out. */
  constructor(
    device: GpuDevice,
    { width, height, format, texelBytes, data }: {
      width: number;
      height: number;
      format: number;
      texelBytes: number;
      data?: ArrayBufferView;
    },
  ) {
    const bytes = width * height * texelBytes;
    if (data !== undefined && data.byteLength !== bytes) {
      throw new Error(`an image of ${bytes} bytes gets ${data.byteLength} bytes`);
    }
    const drawing = vk.openVulkanDrawing(), arena = this.#arena, out = arena.allocate(8);
    this.#device = device;
    this.#staging = new HostBuffer(
      device,
      bytes,
      data === undefined ? undefined : new Uint8Array(data.buffer, data.byteOffset, bytes),
    );
    const info = vk.VkImageCreateInfo.make(arena, {
      imageType: vk.VK_IMAGE_TYPE_2D,
      format,
      extent: { width, height, depth: 1 },
      mipLevels: 1,
      arrayLayers: 1,
      samples: 1,
      tiling: vk.VK_IMAGE_TILING_OPTIMAL,
      usage: vk.VK_IMAGE_USAGE_TRANSFER_SRC_BIT | vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT | vk.VK_IMAGE_USAGE_SAMPLED_BIT |
        vk.VK_IMAGE_USAGE_STORAGE_BIT,
      sharingMode: vk.VK_SHARING_MODE_EXCLUSIVE,
      initialLayout: vk.VK_IMAGE_LAYOUT_UNDEFINED,
    });
    drawing.vkCreateImage(device.handle, info, 0n, arena.address(out));
    this.#image = arena.getU64(out);
    const requirements = vk.VkMemoryRequirements2.allocate(arena);
    drawing.vkGetImageMemoryRequirements2(
      device.handle,
      vk.VkImageMemoryRequirementsInfo2.make(arena, { image: this.#image }),
      arena.address(requirements),
    );
    const { size, memoryTypeBits } = vk.VkMemoryRequirements2.read(arena, requirements).memoryRequirements;
    const allocation = vk.VkMemoryAllocateInfo.make(arena, {
      allocationSize: size,
      memoryTypeIndex: device.memoryTypes.require(memoryTypeBits, 0, vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT),
    });
    device.vulkan.vkAllocateMemory(device.handle, allocation, 0n, arena.address(out));
    this.#memory = arena.getU64(out);
    drawing.vkBindImageMemory2(
      device.handle,
      1,
      vk.VkBindImageMemoryInfo.make(arena, { image: this.#image, memory: this.#memory, memoryOffset: 0n }),
    );
    const viewInfo = vk.VkImageViewCreateInfo.make(arena, {
      image: this.#image,
      viewType: vk.VK_IMAGE_VIEW_TYPE_2D,
      format,
      components: { r: 0, g: 0, b: 0, a: 0 },
      subresourceRange: wholeImage,
    });
    drawing.vkCreateImageView(device.handle, viewInfo, 0n, arena.address(out));
    this.view = arena.getU64(out);
    this.#region = vk.VkBufferImageCopy2.make(arena, {
      bufferOffset: 0n,
      bufferRowLength: 0,
      bufferImageHeight: 0,
      imageSubresource: { aspectMask: vk.VK_IMAGE_ASPECT_COLOR_BIT, mipLevel: 0, baseArrayLayer: 0, layerCount: 1 },
      imageOffset: { x: 0, y: 0, z: 0 },
      imageExtent: { width, height, depth: 1 },
    });
  }

  /** Records the way into layout GENERAL and the copy of the contents. */
  upload(queue: CommandQueue): void {
    const arena = this.#arena, stages = vk.VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    const barrier = vk.VkImageMemoryBarrier2.make(arena, {
      srcStageMask: stages,
      srcAccessMask: 0n,
      dstStageMask: stages,
      dstAccessMask: vk.VK_ACCESS_2_MEMORY_READ_BIT | vk.VK_ACCESS_2_MEMORY_WRITE_BIT,
      oldLayout: vk.VK_IMAGE_LAYOUT_UNDEFINED,
      newLayout: vk.VK_IMAGE_LAYOUT_GENERAL,
      srcQueueFamilyIndex: vk.VK_QUEUE_FAMILY_IGNORED,
      dstQueueFamilyIndex: vk.VK_QUEUE_FAMILY_IGNORED,
      image: this.#image,
      subresourceRange: wholeImage,
    });
    this.#device.vulkan.vkCmdPipelineBarrier2(
      queue.recording,
      vk.VkDependencyInfo.make(arena, { imageMemoryBarrierCount: 1, pImageMemoryBarriers: barrier }),
    );
    const copy = vk.VkCopyBufferToImageInfo2.make(arena, {
      srcBuffer: this.#staging.handle,
      dstImage: this.#image,
      dstImageLayout: vk.VK_IMAGE_LAYOUT_GENERAL,
      regionCount: 1,
      pRegions: this.#region,
    });
    vk.openVulkanDrawing().vkCmdCopyBufferToImage2(queue.recording, copy);
  }

  /** Records the copy back. */
  download(queue: CommandQueue): void {
    const copy = vk.VkCopyImageToBufferInfo2.make(this.#arena, {
      srcImage: this.#image,
      srcImageLayout: vk.VK_IMAGE_LAYOUT_GENERAL,
      dstBuffer: this.#staging.handle,
      regionCount: 1,
      pRegions: this.#region,
    });
    vk.openVulkanDrawing().vkCmdCopyImageToBuffer2(queue.recording, copy);
  }

  /** Rows without padding, after the download has finished. */
  contents(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#staging.buffer.slice(0));
  }

  destroy(): void {
    const drawing = vk.openVulkanDrawing(), { handle, vulkan } = this.#device;
    drawing.vkDestroyImageView(handle, this.view, 0n);
    drawing.vkDestroyImage(handle, this.#image, 0n);
    vulkan.vkFreeMemory(handle, this.#memory, 0n);
    this.#staging.destroy();
  }
}

const wholeImage = {
  aspectMask: vk.VK_IMAGE_ASPECT_COLOR_BIT,
  baseMipLevel: 0,
  levelCount: 1,
  baseArrayLayer: 0,
  layerCount: 1,
};
