import { type Cfg, CONDITION_NAMES } from "../cfg/types.ts";
import { hex } from "../../errors.ts";
import { Token, type Tree } from "./tree.ts";

/** The tree as indented text. With the cfg, blocks carry their pc. */
export function dumpTree(tree: Tree, cfg?: Cfg): string {
  const lines = [`tree: ${tree.length} tokens, ${tree.guardCount} guards, depth ${tree.maxDepth}`];
  let depth = 0;
  for (let i = 0; i < tree.length; i++) {
    const token = tree.token[i];
    if (token === Token.Else || token === Token.EndIf || token === Token.EndLoop) depth--;
    // Deep nesting would make the dump quadratic.
    lines.push("  ".repeat(Math.min(depth, 100)) + text(tree, i, cfg));
    if (token === Token.If || token === Token.Else || token === Token.Loop) depth++;
  }
  return lines.join("\n") + "\n";
}

function text(tree: Tree, index: number, cfg: Cfg | undefined): string {
  const a = tree.a[index];
  const b = tree.b[index];
  switch (tree.token[index] as Token) {
    case Token.Block:
      return `b${a}` +
        (cfg === undefined ? "" : ` (pc ${hex(cfg.blockPc[a])}, ${cfg.blockEnd[a] - cfg.blockStart[a]})`);
    case Token.If:
      return b >= 6 ? `if ${CONDITION_NAMES[b].replace("guard", `g${a}`)}` : `if ${CONDITION_NAMES[b]} of b${a}`;
    case Token.Else:
      return "else";
    case Token.EndIf:
      return "end";
    case Token.Loop:
      return a === 1 ? "loop" : "loop forever";
    case Token.EndLoop:
      return "end loop";
    case Token.Break:
      return "break";
    case Token.Continue:
      return "continue";
    case Token.SetGuard:
      return `g${a} = ${b}`;
    case Token.Return:
      return "return";
  }
}
