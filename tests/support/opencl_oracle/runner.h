/*
 * Runs the work-items of a workgroup as coroutines on one thread, in order of their ids between barriers. Written for AnyAGC. The file that includes this
 * defines `static void anyagc_call(unsigned kernel, void **arguments)`.
 */
#include <stdlib.h>
#include <ucontext.h>

enum { ANYAGC_MAX_THREADS = 1024, ANYAGC_STACK = 64 * 1024 };
enum { ANYAGC_RUNNING, ANYAGC_AT_BARRIER, ANYAGC_DONE };

static ucontext_t anyagc_scheduler, anyagc_items[ANYAGC_MAX_THREADS];
static char anyagc_state[ANYAGC_MAX_THREADS];
static unsigned anyagc_item, anyagc_group, anyagc_kernel;
static void **anyagc_arguments;

unsigned host_lid(void) { return anyagc_item; }
unsigned host_grp(void) { return anyagc_group; }

void host_barrier(void) {
  unsigned item = anyagc_item;
  anyagc_state[item] = ANYAGC_AT_BARRIER;
  swapcontext(&anyagc_items[item], &anyagc_scheduler);
}

static void anyagc_enter(void) {
  anyagc_call(anyagc_kernel, anyagc_arguments);
  anyagc_state[anyagc_item] = ANYAGC_DONE;
}

/* 0: done; 1: a barrier that not all work-items of a group reach; 2: no memory, or too many threads. */
__attribute__((visibility("default"))) int anyagc_run(unsigned kernel, unsigned groups, unsigned threads, void **arguments) {
  if (threads == 0 || threads > ANYAGC_MAX_THREADS) return 2;
  char *stacks = malloc((size_t)threads * ANYAGC_STACK);
  if (stacks == NULL) return 2;
  anyagc_kernel = kernel;
  anyagc_arguments = arguments;
  int result = 0;
  for (anyagc_group = 0; anyagc_group < groups && result == 0; anyagc_group++) {
    for (unsigned i = 0; i < threads; i++) {
      getcontext(&anyagc_items[i]);
      anyagc_items[i].uc_stack.ss_sp = stacks + (size_t)i * ANYAGC_STACK;
      anyagc_items[i].uc_stack.ss_size = ANYAGC_STACK;
      anyagc_items[i].uc_link = &anyagc_scheduler;
      makecontext(&anyagc_items[i], anyagc_enter, 0);
    }
    unsigned done = 0;
    while (done < threads && result == 0) {
      for (unsigned i = 0; i < threads; i++) {
        anyagc_item = i;
        anyagc_state[i] = ANYAGC_RUNNING;
        swapcontext(&anyagc_scheduler, &anyagc_items[i]);
        if (anyagc_state[i] == ANYAGC_DONE) done++;
      }
      if (done != 0 && done != threads) result = 1;
    }
  }
  free(stacks);
  return result;
}
