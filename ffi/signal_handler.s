# Signal handler in machine code (x86-64, System V ABI; system calls: <asm/unistd_64.h>). TypeScript cannot run while it computes or is inside a
# native call, so the handler either ends the process or leaves the signal's number for TypeScript to see. ffi/signals.ts holds the
# bytes, puts `state` into the page behind them, and explains it; tests/ffi/signals_test.ts compares the bytes.
.intel_syntax noprefix
.text
handler:
  lea rsi, [rip + 4096 - 7]     # state: deferred, pending
  xor eax, eax
  lock cmpxchg [rsi + 4], edi   # the first signal becomes pending
  jne exit                      # a second one, or the alarm
  cmp dword ptr [rsi], 0
  je exit
  mov edi, 2                    # seconds that TypeScript gets
  mov eax, 37                   # alarm
  syscall
  ret
exit:
  mov edi, [rsi + 4]
  add edi, 128
  mov eax, 231                  # exit_group
  syscall
