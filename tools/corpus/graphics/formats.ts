/**
 * Formats of colour attachments, and the export format that RADV chooses for each without blending (Mesa 22.3.6, ac_choose_spi_color_formats; register
 * numbers of SPI_SHADER_COL_FORMAT and CB_COLOR_INFO.NUMBER_TYPE).
 *
 * @module
 */

/** One format. */
interface Format {
  /** VkFormat. */
  readonly vulkan: number;
  /** SPI_SHADER_COL_FORMAT. */
  readonly exported: number;
  /** CB_COLOR_INFO.NUMBER_TYPE: 0 unorm, 1 snorm, 4 uint, 5 sint, 7 float. */
  readonly numbers: number;
}

/** By name. */
export const ATTACHMENT_FORMATS = {
  rgba8: { vulkan: 37, exported: 4, numbers: 0 },
  rgba8ui: { vulkan: 41, exported: 7, numbers: 4 },
  rgba8i: { vulkan: 42, exported: 8, numbers: 5 },
  rgba16: { vulkan: 91, exported: 5, numbers: 0 },
  rgba16s: { vulkan: 92, exported: 6, numbers: 1 },
  rgba16f: { vulkan: 97, exported: 4, numbers: 7 },
  r32i: { vulkan: 99, exported: 1, numbers: 5 },
  r32f: { vulkan: 100, exported: 1, numbers: 7 },
  rg32ui: { vulkan: 101, exported: 2, numbers: 4 },
  rg32i: { vulkan: 102, exported: 2, numbers: 5 },
  rg32f: { vulkan: 103, exported: 2, numbers: 7 },
  rgba32ui: { vulkan: 107, exported: 9, numbers: 4 },
  rgba32f: { vulkan: 109, exported: 9, numbers: 7 },
} as const satisfies Readonly<Record<string, Format>>;

/** Name of a format. */
export type AttachmentFormat = keyof typeof ATTACHMENT_FORMATS;
