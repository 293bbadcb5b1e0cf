/** Classes of instructions of their own: recompiled code on the device against the interpreter, bit for bit. */
import { cardTest } from "./cards.ts";

cardTest({
  name: "SCRATCH instructions, FLAT ones in the private aperture, and private V#: as the interpreter",
  group: "memory",
  accepts: ({ form }) => ["scratch", "aperture", "private"].includes(form),
  batches: 6,
  mnemonics: 50,
});

cardTest({
  name: "formatted buffer loads and stores, with formats known and unknown before the program runs: as the interpreter",
  group: "memory",
  accepts: ({ opcode }) => opcode.formatCount > 0,
  batches: 10,
  mnemonics: 30,
  refusals: ["from a swizzled buffer", "is reserved", "the fourth component of a format that has three"],
});
