/* Kernels of opencl_oracle_test.ts. */
#define LID host_lid()
#define GRP host_grp()
unsigned host_lid(void); unsigned host_grp(void); void host_barrier(void);
typedef unsigned int u32;
__kernel void reverse(__global const u32 *a, __global u32 *b, u32 add) {
  __local u32 s[8];
  s[LID] = a[GRP * 8 + LID] + add;
  host_barrier();
  b[GRP * 8 + LID] = s[7 - LID];
}
__kernel void skewed(__global u32 *b) {
  if (LID < 3) host_barrier();
  b[LID] = 1;
}
