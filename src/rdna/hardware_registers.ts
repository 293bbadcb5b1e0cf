/**
 * Hardware registers of s_getreg_b32 and s_setreg_b32 by number (AMD RDNA2 ISA, section 5.7; AMD RDNA1 ISA for XNACK_MASK, which gfx10.1 alone has, as
 * gfx10.3 alone has SHADER_CYCLES).
 */
export const HARDWARE_REGISTERS: Readonly<Record<number, string>> = {
  1: "MODE",
  2: "STATUS",
  3: "TRAPSTS",
  5: "GPR_ALLOC",
  6: "LDS_ALLOC",
  7: "IB_STS",
  15: "SH_MEM_BASES",
  16: "TBA_LO",
  17: "TBA_HI",
  18: "TMA_LO",
  19: "TMA_HI",
  20: "FLAT_SCR_LO",
  21: "FLAT_SCR_HI",
  22: "XNACK_MASK",
  23: "HW_ID1",
  24: "HW_ID2",
  25: "POPS_PACKER",
  29: "SHADER_CYCLES",
};
