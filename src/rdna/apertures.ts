/**
 * Where LDS and scratch memory lie in the flat address space: high words of their addresses. What the Linux driver sets (SH_MEM_BASES: shared 1, private 2,
 * in units of 2^48; amdgpu, gfx_v10_0.c); the console's are not known. Programs learn them from SRC_SHARED_BASE and its neighbours or SH_MEM_BASES.
 */
export const APERTURES = { shared: 0x1_0000, private: 0x2_0000 } as const;

/** Operand codes of the bases and limits. */
export const ApertureOperand = { SharedBase: 235, SharedLimit: 236, PrivateBase: 237, PrivateLimit: 238 } as const;

/** SH_MEM_BASES as s_getreg_b32 reads it. */
export const SH_MEM_BASES = APERTURES.shared & 0xffff0000 | APERTURES.private >>> 16;
