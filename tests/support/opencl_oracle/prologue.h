/* OpenCL C on the host, as far as the kernels of the tests need it: names that a C compiler does not have. Written for AnyAGC. */
#define __kernel
#define __global
#define __constant const
#define __local static
#define half _Float16
#define __MEMORY_SCOPE_DEVICE 0
/* clang's scoped atomics: work-items run one after the other, so that plain ones will do. */
#define __scoped_atomic_fetch_add(pointer, value, order, scope) __atomic_fetch_add(pointer, value, order)
#define __scoped_atomic_fetch_max(pointer, value, order, scope) \
  ({                                                            \
    __typeof__(*(pointer)) before = *(pointer), other = (value); \
    if (other > before) *(pointer) = other;                     \
    before;                                                     \
  })
