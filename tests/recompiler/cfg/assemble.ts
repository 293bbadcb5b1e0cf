/**
 * A tiny assembler for control flow, so that tests carry readable programs. Encodings: AMD RDNA2 ISA, sections 12.1 to 12.5; the numbers below were
 * checked with llvm-mc (gfx1030).
 */

/** SOPP opcodes. */
const SOPP: Readonly<Record<string, number>> = {
  s_nop: 0x00,
  s_endpgm: 0x01,
  s_branch: 0x02,
  s_cbranch_scc0: 0x04,
  s_cbranch_scc1: 0x05,
  s_cbranch_vccz: 0x06,
  s_cbranch_vccnz: 0x07,
  s_cbranch_execz: 0x08,
  s_cbranch_execnz: 0x09,
  s_barrier: 0x0a,
  s_trap: 0x12,
  s_cbranch_cdbgsys: 0x17,
  s_cbranch_cdbguser: 0x18,
  s_cbranch_cdbgsys_or_user: 0x19,
  s_cbranch_cdbgsys_and_user: 0x1a,
  s_endpgm_saved: 0x1b,
  s_code_end: 0x1f,
};

const SOP1: Readonly<Record<string, number>> = {
  s_mov_b32: 0x03,
  s_mov_b64: 0x04,
  s_getpc_b64: 0x1f,
  s_setpc_b64: 0x20,
  s_swappc_b64: 0x21,
  s_rfe_b64: 0x22,
  s_and_saveexec_b64: 0x24,
};

const SOP2: Readonly<Record<string, number>> = {
  s_add_u32: 0x00,
  s_sub_u32: 0x01,
  s_addc_u32: 0x04,
  s_subb_u32: 0x05,
  s_and_b32: 0x0e,
};

const SOPK: Readonly<Record<string, number>> = {
  s_movk_i32: 0x00,
  s_call_b64: 0x16,
  s_subvector_loop_begin: 0x1b,
  s_subvector_loop_end: 0x1c,
};

/**
 * Assembles one instruction per line. `label:` names the next word. Operands: `sN` (the first register of a pair too), `exec`, small integers
 * (0..64), `0x...` (a literal constant), `@label` in a literal's place: label minus the address that the latest s_getpc_b64 gives (`@-label`:
 * the negative); branches and s_call_b64 take a label or a word distance. `word 0x...` is data.
 */
export function assemble(text: string): Uint32Array {
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("//"));
  const labels = new Map<string, number>();
  let words: number[] = [];
  for (let pass = 0; pass < 2; pass++) {
    words = [];
    let base = 0;
    for (const line of lines) {
      if (line.endsWith(":")) {
        labels.set(line.slice(0, -1), words.length);
        continue;
      }
      const [name, ...operands] = line.replaceAll(",", " ").split(/\s+/);
      const literals: number[] = [];
      const here = words.length;
      const distance = (operand: string) =>
        (/^-?\d+$/.test(operand) ? Number(operand) : (labels.get(operand) ?? here) - here - 1) & 0xffff;
      const source = (operand: string): number => {
        if (operand === "exec") return 126;
        if (operand.startsWith("s")) return Number(operand.slice(1));
        if (/^\d+$/.test(operand)) return 128 + Number(operand);
        if (operand.startsWith("@-")) literals.push((base - (labels.get(operand.slice(2)) ?? 0)) * 4 >>> 0);
        else if (operand.startsWith("@")) literals.push(((labels.get(operand.slice(1)) ?? 0) - base) * 4 >>> 0);
        else literals.push(Number(operand) >>> 0);
        return 255;
      };
      if (name === "word") {
        words.push(Number(operands[0]) >>> 0);
      } else if (name in SOPP) {
        words.push((0xbf800000 | SOPP[name] << 16 | (operands.length > 0 ? distance(operands[0]) : 0)) >>> 0);
      } else if (name in SOPK) {
        words.push((0xb0000000 | SOPK[name] << 23 | source(operands[0]) << 16 | distance(operands[1])) >>> 0);
      } else if (name in SOP1) {
        const alone = operands.length === 1;
        const reads = name === "s_setpc_b64" || name === "s_rfe_b64";
        const dst = alone && reads ? 0 : source(operands[0]);
        const src = alone ? (reads ? source(operands[0]) : 0) : source(operands[1]);
        words.push((0xbe800000 | dst << 16 | SOP1[name] << 8 | src) >>> 0);
        if (name === "s_getpc_b64") base = words.length;
      } else if (name in SOP2) {
        const [dst, a, b] = operands.map(source);
        words.push((0x80000000 | SOP2[name] << 23 | dst << 16 | b << 8 | a) >>> 0);
      } else {
        throw new Error(`assemble: ${line}`);
      }
      words.push(...literals);
    }
  }
  return Uint32Array.from(words);
}
