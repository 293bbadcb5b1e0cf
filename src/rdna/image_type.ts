/** Types of resources in the descriptors of images (AMD RDNA2 ISA, "Image resource definition", TYPE). */
export const ImageType = {
  D1: 8,
  D2: 9,
  D3: 10,
  Cube: 11,
  D1Array: 12,
  D2Array: 13,
  D2Msaa: 14,
  D2MsaaArray: 15,
} as const;
