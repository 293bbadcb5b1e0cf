import { Condition, inverted } from "../cfg/types.ts";
import { TokenList } from "./emit.ts";
import type { Guards } from "./guards.ts";
import { Token, type Tree } from "./tree.ts";

/**
 * Makes a tree of emitted tokens: drops Continues where the iteration ends anyway, SetGuards that nothing tests, and Ifs without content, turns an
 * If with an empty then arm around, and moves what follows an arm that ends with Break or Continue out of the Else.
 */
export function tidy(list: TokenList, guards: Guards): Tree {
  const drop = new Uint8Array(list.token.length);
  markUntested(list, guards, drop);
  markContinues(list, drop);
  return finish(simplify(list, drop), guards.count);
}

/**
 * Marks the SetGuards behind the last test of their variable. In a loop an earlier test may come next, but only after the variable was cleared;
 * except for selectors, which this leaves alone.
 */
function markUntested(list: TokenList, guards: Guards, drop: Uint8Array): void {
  const { token, a, b } = list;
  const tested = new Uint8Array(guards.count);
  tested.fill(1, guards.firstSelector);
  for (let i = token.length - 1; i >= 0; i--) {
    if (token[i] === Token.If && b[i] >= Condition.GuardClear) tested[a[i]] = 1;
    else if (token[i] === Token.SetGuard && tested[a[i]] === 0) drop[i] = 1;
  }
}

/** Marks the Continues with nothing behind them in the loop's body. */
function markContinues(list: TokenList, drop: Uint8Array): void {
  const { token } = list;
  const outer: boolean[] = [];
  let last = false;
  for (let i = token.length - 1; i >= 0; i--) {
    if (drop[i] === 1) continue;
    switch (token[i]) {
      case Token.EndLoop:
        outer.push(last);
        last = true;
        break;
      case Token.EndIf:
        outer.push(last);
        break;
      case Token.Else:
        last = outer[outer.length - 1];
        break;
      case Token.If:
      case Token.Loop:
        outer.pop();
        last = false;
        break;
      case Token.Continue:
        if (last) drop[i] = 1;
        break;
      default:
        last = false;
    }
  }
}

/** State of an open If: in its then arm, in its else arm, or closed early with the else arm's content following it. */
const IN_THEN = 0;
const IN_ELSE = 1;
const CLOSED = 2;

function simplify(list: TokenList, drop: Uint8Array): TokenList {
  const out = new TokenList();
  /** Of the open Ifs: state, and where the current arm's content starts in `out`. */
  const state: number[] = [];
  const start: number[] = [];
  for (let i = 0; i < list.token.length; i++) {
    if (drop[i] === 1) continue;
    const token = list.token[i];
    const top = state.length - 1;
    const length = out.token.length;
    if (token === Token.If) {
      out.push(token, list.a[i], list.b[i]);
      state.push(IN_THEN);
      start.push(length + 1);
    } else if (token === Token.Else) {
      const before = out.token[length - 1];
      if (start[top] === length) {
        out.b[length - 1] = inverted(out.b[length - 1] as Condition);
      } else if (before === Token.Break || before === Token.Continue) {
        out.push(Token.EndIf, 0, 0);
        state[top] = CLOSED;
      } else {
        out.push(token, 0, 0);
        state[top] = IN_ELSE;
        start[top] = length + 1;
      }
    } else if (token === Token.EndIf) {
      if (state[top] !== CLOSED) {
        const empty = start[top] === length;
        if (empty) out.truncate(length - 1);
        if (!empty || state[top] === IN_ELSE) out.push(Token.EndIf, 0, 0);
      }
      state.pop();
      start.pop();
    } else {
      out.push(token, list.a[i], list.b[i]);
    }
  }
  return out;
}

/** Matches the brackets and packs the tokens. */
function finish(list: TokenList, guardCount: number): Tree {
  const length = list.token.length;
  const token = Uint8Array.from(list.token);
  const a = Int32Array.from(list.a);
  const b = Int32Array.from(list.b);
  const match = new Int32Array(length).fill(-1);
  const open: number[] = [];
  const opener: number[] = [];
  const loops: number[] = [];
  let maxDepth = 0;
  for (let i = 0; i < length; i++) {
    switch (token[i]) {
      case Token.If:
      case Token.Loop:
        open.push(i);
        opener.push(i);
        maxDepth = Math.max(maxDepth, open.length);
        if (token[i] === Token.Loop) {
          a[i] = 0;
          loops.push(i);
        }
        break;
      case Token.Else:
        match[open[open.length - 1]] = i;
        open[open.length - 1] = i;
        break;
      case Token.EndIf:
      case Token.EndLoop:
        match[open.pop()!] = i;
        match[i] = opener.pop()!;
        if (token[i] === Token.EndLoop) loops.pop();
        break;
      case Token.Break:
      case Token.Continue:
        match[i] = loops[loops.length - 1];
        if (token[i] === Token.Break) a[match[i]] = 1;
        break;
    }
  }
  return { length, token, a, b, match, guardCount, maxDepth };
}
