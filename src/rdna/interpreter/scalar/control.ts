/** Program flow, EXEC, immediates, waits, hints and messages (AMD RDNA2 ISA, sections 12.2, 12.3, 12.5). */
import { type Instruction, Operand } from "../../instruction.ts";
import { NO_EFFECT } from "../../no_effect.ts";
import type { Define } from "../handler.ts";
import { guestFault, refuse } from "../machine/refuse.ts";
import { type Wave, WaveState } from "../machine/wave.ts";
import { scalar32, scalar64, setScalar32, setScalar64 } from "../operands/scalar.ts";
import { readField, writeField } from "./hwregs.ts";
import { CONDITIONS } from "./sop.ts";

/** What else has no effect in the interpreter: the debugger's flags are never set. */
const HERE = [
  "s_cbranch_cdbgsys",
  "s_cbranch_cdbguser",
  "s_cbranch_cdbgsys_or_user",
  "s_cbranch_cdbgsys_and_user",
];

/** What needs a trap handler, or belongs to stages other than compute. */
const REFUSED: Readonly<Record<string, string>> = {
  s_trap: "traps need a trap handler",
  s_rfe_b64: "returns from a trap handler",
  s_endpgm_saved: "belongs to context save by a trap handler",
  s_endpgm_ordered_ps_done: "ends a pixel shader",
  s_setkill: "kills the wave",
  s_sendmsghalt: "halts the wave for a debugger",
};

/** Adds the handlers of this class. */
export function defineControl(define: Define): void {
  for (const name of [...NO_EFFECT, ...HERE]) define(name, () => {});
  for (const [name, why] of Object.entries(REFUSED)) define(name, (w, i) => refuse(w, i, why));
  define("s_endpgm", (w) => {
    w.state = WaveState.Ended;
  });
  define("s_barrier", (w) => {
    w.state = WaveState.AtBarrier;
  });
  define("s_code_end", (w, i) => guestFault(w, i, "the program runs past its end"));
  define("s_sethalt", (w, i) => {
    if (i.imm & 1) refuse(w, i, "halts the wave for a debugger");
  });
  define("s_sendmsg", (w, i) => {
    // MSG_INTERRUPT is the only message of a compute shader; an NGG wave asks for space with MSG_GS_ALLOC_REQ.
    if ((i.imm & 15) !== 1 && !(w.stage !== undefined && (i.imm & 15) === 9)) {
      refuse(w, i, `message ${i.imm & 15} belongs to another shader stage or to the driver`);
    }
    w.group.context.messages.push({ id: i.imm & 0xffff, m0: w.sgpr[Operand.M0], pc: i.pc });
  });
  defineBranches(define);
  defineExec(define);
  defineImmediates(define);
  defineHardwareRegisters(define);
}

/** Goes to a guest address: 48 bits, sign-extended. */
function jump(w: Wave, address: bigint): void {
  w.pc = Number(BigInt.asIntN(48, address)) - w.group.code.entry;
}

/** Guest address of the next instruction. */
function nextAddress(w: Wave): bigint {
  return BigInt.asUintN(64, BigInt(w.group.code.entry + w.pc));
}

function branch(w: Wave, i: Instruction, taken = true): void {
  if (taken) w.pc += i.imm * 4;
}

function defineBranches(define: Define): void {
  define("s_branch", (w, i) => branch(w, i));
  define("s_cbranch_scc0", (w, i) => branch(w, i, w.scc === 0));
  define("s_cbranch_scc1", (w, i) => branch(w, i, w.scc !== 0));
  define("s_cbranch_vccz", (w, i) => branch(w, i, w.isMaskZero(Operand.Vcc)));
  define("s_cbranch_vccnz", (w, i) => branch(w, i, !w.isMaskZero(Operand.Vcc)));
  define("s_cbranch_execz", (w, i) => branch(w, i, w.isMaskZero(Operand.Exec)));
  define("s_cbranch_execnz", (w, i) => branch(w, i, !w.isMaskZero(Operand.Exec)));
  define("s_getpc_b64", (w, i) => setScalar64(w, i, i.dst, nextAddress(w)));
  define("s_setpc_b64", (w, i) => jump(w, scalar64(w, i, i.src0)));
  define("s_swappc_b64", (w, i) => {
    const target = scalar64(w, i, i.src0);
    setScalar64(w, i, i.dst, nextAddress(w));
    jump(w, target);
  });
  define("s_call_b64", (w, i) => {
    setScalar64(w, i, i.dst, nextAddress(w));
    branch(w, i);
  });
  defineSubvectorLoop(define);
}

/** The halves of a wave64 one after the other: the first lane half runs with EXEC_HI put away in a register, then the other way round. */
function defineSubvectorLoop(define: Define): void {
  define("s_subvector_loop_begin", (w, i) => {
    needWave64(w, i);
    const { sgpr } = w;
    if (w.isMaskZero(Operand.Exec)) branch(w, i);
    else if (sgpr[Operand.Exec] === 0) setScalar32(w, i, i.dst, 0);
    else {
      setScalar32(w, i, i.dst, sgpr[Operand.ExecHi]);
      sgpr[Operand.ExecHi] = 0;
    }
  });
  define("s_subvector_loop_end", (w, i) => {
    needWave64(w, i);
    const { sgpr } = w;
    const kept = scalar32(w, i, i.dst);
    if (sgpr[Operand.ExecHi] !== 0) sgpr[Operand.Exec] = kept;
    else if (kept !== 0) {
      sgpr[Operand.ExecHi] = kept;
      setScalar32(w, i, i.dst, sgpr[Operand.Exec]);
      sgpr[Operand.Exec] = 0;
      branch(w, i);
    }
  });
}

function needWave64(w: Wave, i: Instruction): void {
  if (w.size === 32) refuse(w, i, "in a wave of 32 lanes");
}

type Combine = (source: bigint, exec: bigint) => bigint;

/** EXEC from a source and the old EXEC. */
const COMBINE: Readonly<Record<string, Combine>> = {
  and: (s, e) => s & e,
  or: (s, e) => s | e,
  xor: (s, e) => s ^ e,
  andn1: (s, e) => ~s & e,
  andn2: (s, e) => s & ~e,
  orn1: (s, e) => ~s | e,
  orn2: (s, e) => s | ~e,
  nand: (s, e) => ~(s & e),
  nor: (s, e) => ~(s | e),
  xnor: (s, e) => ~(s ^ e),
};

function defineExec(define: Define): void {
  for (const [name, combine] of Object.entries(COMBINE)) {
    for (const bits of [32, 64] as const) {
      define(`s_${name}_saveexec_b${bits}`, (w, i) => {
        const old = readExec(w, i, bits);
        const fresh = BigInt.asUintN(bits, combine(readSource(w, i, bits), old));
        write(w, i, i.dst, old, bits);
        write(w, i, Operand.Exec, fresh, bits);
        w.scc = fresh !== 0n ? 1 : 0;
      });
      if (name !== "andn1" && name !== "andn2") continue;
      define(`s_${name}_wrexec_b${bits}`, (w, i) => {
        const fresh = BigInt.asUintN(bits, combine(readSource(w, i, bits), readExec(w, i, bits)));
        write(w, i, Operand.Exec, fresh, bits);
        write(w, i, i.dst, fresh, bits);
        w.scc = fresh !== 0n ? 1 : 0;
      });
    }
  }
}

function readExec(w: Wave, i: Instruction, bits: 32 | 64): bigint {
  return bits === 64 ? scalar64(w, i, Operand.Exec) : BigInt(w.sgpr[Operand.Exec]);
}

function readSource(w: Wave, i: Instruction, bits: 32 | 64): bigint {
  return bits === 64 ? scalar64(w, i, i.src0) : BigInt(scalar32(w, i, i.src0) >>> 0);
}

function write(w: Wave, i: Instruction, register: number, value: bigint, bits: 32 | 64): void {
  if (bits === 64) setScalar64(w, i, register, value);
  else setScalar32(w, i, register, Number(value));
}

function defineImmediates(define: Define): void {
  define("s_movk_i32", (w, i) => setScalar32(w, i, i.dst, i.imm));
  define("s_cmovk_i32", (w, i) => {
    if (w.scc) setScalar32(w, i, i.dst, i.imm);
  });
  define("s_addk_i32", (w, i) => {
    const exact = scalar32(w, i, i.dst) + i.imm;
    setScalar32(w, i, i.dst, exact | 0);
    w.scc = exact !== (exact | 0) ? 1 : 0;
  });
  define("s_mulk_i32", (w, i) => setScalar32(w, i, i.dst, Math.imul(scalar32(w, i, i.dst), i.imm)));
  for (const [name, test] of Object.entries(CONDITIONS)) {
    define(`s_cmpk_${name}_i32`, (w, i) => {
      w.scc = test(scalar32(w, i, i.src0), i.imm) ? 1 : 0;
    });
    define(`s_cmpk_${name}_u32`, (w, i) => {
      w.scc = test(scalar32(w, i, i.src0) >>> 0, i.imm & 0xffff) ? 1 : 0;
    });
  }
}

function defineHardwareRegisters(define: Define): void {
  define("s_getreg_b32", (w, i) => setScalar32(w, i, i.dst, readField(w, i)));
  define("s_setreg_b32", (w, i) => writeField(w, i, scalar32(w, i, i.src0)));
  define("s_setreg_imm32_b32", (w, i) => writeField(w, i, i.literal));
  define("s_round_mode", (w, i) => w.mode.set(w.mode.bits & ~0xf | i.imm & 0xf));
  define("s_denorm_mode", (w, i) => w.mode.set(w.mode.bits & ~0xf0 | (i.imm & 0xf) << 4));
}
