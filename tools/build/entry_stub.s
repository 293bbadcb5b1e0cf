# Entry point of the self-made executable (x86-64 Linux, Intel syntax). The dynamic loader jumps here instead of to Deno's entry.
# Builds a new argument block below the one of the kernel, with more arguments behind argv[0] and more variables in front of the
# environment, points libc's `environ` at it, and jumps to Deno's entry. Block: "System V ABI, AMD64 supplement", section 3.4.1.
# entry_stub.ts holds the assembled bytes; tests/tools/build/entry_stub_test.ts compares them.
.intel_syntax noprefix
.text
stub:
  mov rsi, rsp                # the block: argc, argv, 0, envp, 0, auxiliary vector
  mov rax, [rsi]              # argc
  lea rdi, [rsi + rax*8 + 16] # envp
find_environment_end:
  cmp qword ptr [rdi], 0
  lea rdi, [rdi + 8]
  jne find_environment_end
find_vector_end:
  cmp qword ptr [rdi], 0
  lea rdi, [rdi + 16]
  jne find_vector_end
  mov r13, rdi                # end of the block
  mov rcx, rdi
  sub rcx, rsi
  mov r9d, [rip + argument_count]
  mov r12d, [rip + variable_count]
  lea rbx, [r9 + r12]
  lea rbx, [rcx + rbx*8]      # size of the new block
  mov r10, rsi
  sub r10, rbx
  and r10, -16
  mov rsp, r10
  lea rbx, [rax + r9]
  mov [r10], rbx              # argc
  mov rbx, [rsi + 8]
  mov [r10 + 8], rbx          # argv[0]
  lea rdi, [r10 + 16]
  lea r11, [rip + offsets]
  lea r14, [rip + stub]
  mov ecx, r9d
add_arguments:
  sub ecx, 1
  jb copy_arguments
  mov ebx, [r11]
  add r11, 4
  add rbx, r14
  mov [rdi], rbx
  add rdi, 8
  jmp add_arguments
copy_arguments:
  add rsi, 16                 # argv[1]; argc - 1 pointers and the 0
  mov rcx, rax
  rep movsq
  mov rbx, [rip + environ_slot]
  mov rbx, [r14 + rbx]        # the loader has put the address of environ there
  mov [rbx], rdi
  mov ecx, r12d
add_variables:
  sub ecx, 1
  jb copy_rest
  mov ebx, [r11]
  add r11, 4
  add rbx, r14
  mov [rdi], rbx
  add rdi, 8
  jmp add_variables
copy_rest:
  mov rcx, r13
  sub rcx, rsi
  shr rcx, 3
  rep movsq
  add r14, [rip + entry]
  jmp r14                     # rdx still is what the loader wants to be called at exit
.balign 8
entry: .quad 0                # Deno's entry, from stub
environ_slot: .quad 0         # the slot with the address of environ, from stub
argument_count: .long 0
variable_count: .long 0
offsets:                      # one word per string: where it lies, from stub
