/** Classes of instructions of their own: recompiled code on the device against the interpreter, bit for bit. */
import { cardTest } from "./cards.ts";

cardTest({
  name: "SCRATCH instructions, FLAT ones in the private aperture, and private V#: as the interpreter",
  group: "memory",
  accepts: ({ form }) => ["scratch", "aperture", "private"].includes(form),
  batches: 4,
  mnemonics: 40,
});

cardTest({
  name: "formatted buffer loads and stores, with formats known and unknown before the program runs: as the interpreter",
  group: "memory",
  accepts: ({ opcode }) => opcode.formatCount > 0,
  batches: 5,
  mnemonics: 30,
  refusals: ["from a swizzled buffer", "is reserved", "the fourth component of a format that has three"],
});

cardTest({
  name: "image loads, stores, atomics and size queries, linear and tiled, of all types and formats: as the interpreter",
  group: "memory",
  accepts: ({ opcode: { image } }) =>
    image === "load" || image === "store" || image === "atomic" || image === "resinfo",
  batches: 5,
  size: 8,
  mnemonics: 20,
});

cardTest({
  name: "image samples and gathers with random samplers: as the interpreter",
  group: "memory",
  accepts: ({ opcode: { image } }) => image === "sample" || image === "gather",
  batches: 15,
  size: 4,
  mnemonics: 45,
});
