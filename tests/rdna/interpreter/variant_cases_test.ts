/** Small cases in which implementations of this instruction set have differed, on the interpreter. On the device: tests/recompiler/variants. */
import { execute } from "./asm.ts";
import { runWords } from "./machine.ts";
import { variantCases, type VariantMachine } from "./variant_cases.ts";
import { variantMemoryCases } from "./variant_memory.ts";

const machine: VariantMachine = { test: (name, body) => Deno.test(name, body), execute, runWords };
variantCases(machine);
variantMemoryCases(machine);
