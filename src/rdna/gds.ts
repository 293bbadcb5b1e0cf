/** Bytes of GDS on the console (AMD RDNA2 ISA, "Global Data Share": 64 kB). */
export const GDS_BYTES = 65536;
