/**
 * One opcode as data: number, mnemonic, signature, traits.
 *
 * The signature is "destinations = sources", each a data type: an optional element count, then f, u, i or b (float, unsigned, signed, plain
 * bits) and the width of an element in bits; `mask` is a lane mask (one SGPR in wave32, a pair in wave64), `addr` a memory address in the form
 * that the encoding gives it. A leading `s` is a scalar destination of a vector instruction; before a source, `v` admits vector registers only,
 * `s` scalar registers and constants, `r` scalar registers. Sources stand in the order of
 * {@linkcode Instruction.src0} and its followers; the data of a memory access follows its address. MIMG rows name the kind of access instead.
 *
 * Traits are words, see `TRAIT_WORDS` in ../table.ts (and `opsel`: op_sel chooses halves in the VOP3 form); a target name restricts the row to that target.
 */
export type Row = readonly [code: number, name: string, signature: string, traits?: string];

/** A FLAT row: the name lacks the segment, and the last column lists the segments (F flat, S scratch, G global) that have it. */
export type FlatRow = readonly [code: number, name: string, signature: string, traits: string, segments: string];
