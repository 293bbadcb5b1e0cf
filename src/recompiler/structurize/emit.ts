import type { Cfg } from "../cfg/types.ts";
import { Condition, inverted } from "../cfg/types.ts";
import { exitItems, type Guards, LoopExit, selectorBits } from "./guards.ts";
import type { Items } from "./items.ts";
import { isMerge, isPlace, Leaves, type Segments } from "./segments.ts";
import { Token } from "./tree.ts";

/** Tokens as three parallel lists. */
export class TokenList {
  readonly token: number[] = [];
  readonly a: number[] = [];
  readonly b: number[] = [];

  push(token: number, a = 0, b = 0): void {
    this.token.push(token);
    this.a.push(a);
    this.b.push(b);
  }

  /** Drops all tokens from index `length` on. */
  truncate(length: number): void {
    this.token.length = this.a.length = this.b.length = length;
  }
}

/** What the emitter has yet to do: an item, an edge, or a token (kinds from `FIRST_TOKEN` on). */
const DO_ITEM = 0;
const DO_EDGE = 1;
const FIRST_TOKEN = 2;

/** Writes the tokens of a program: correct, but with empty arms and needless Continues (see tidy.ts). */
export function emitTokens(cfg: Cfg, items: Items, segments: Segments, guards: Guards): TokenList {
  return new Emitter(cfg, items, segments, guards).run();
}

class Emitter {
  private readonly out = new TokenList();
  /** Stack of (kind, a, b). */
  private readonly work: number[] = [];
  /** What the item at hand needs done, in order; moved to `work` in reverse. */
  private readonly plan: number[] = [];

  constructor(
    private readonly cfg: Cfg,
    private readonly items: Items,
    private readonly segments: Segments,
    private readonly guards: Guards,
  ) {}

  run(): TokenList {
    const { work, plan, out } = this;
    work.push(DO_ITEM, this.items.order[0], 0);
    while (work.length > 0) {
      const b = work.pop()!;
      const a = work.pop()!;
      const kind = work.pop()!;
      if (kind >= FIRST_TOKEN) {
        out.push(kind - FIRST_TOKEN, a, b);
        continue;
      }
      plan.length = 0;
      if (kind === DO_ITEM) this.planItem(a);
      else this.planEdge(a);
      for (let i = plan.length - 3; i >= 0; i -= 3) work.push(plan[i], plan[i + 1], plan[i + 2]);
    }
    out.push(Token.Return);
    return out;
  }

  private token(token: number, a = 0, b = 0): void {
    this.plan.push(FIRST_TOKEN + token, a, b);
  }

  private item(item: number): void {
    this.plan.push(DO_ITEM, item, 0);
  }

  private edge(edge: number): void {
    this.plan.push(DO_EDGE, edge, 0);
  }

  private ifGuard(variable: number, kind: number = Condition.GuardSet): void {
    this.token(Token.If, variable, kind);
  }

  private clear(variables: readonly number[] | undefined): void {
    if (variables === undefined) return;
    for (const variable of variables) this.token(Token.SetGuard, variable, 0);
  }

  private planItem(item: number): void {
    const { items, guards } = this;
    const { nodeCount, exit, graph } = items;
    if (item === exit) return;
    if (item >= nodeCount) {
      this.planLoop(item);
    } else if (item < exit) {
      this.token(Token.Block, item);
      this.clear(guards.clearedAt.get(item));
      this.planTerminator(item);
    } else {
      this.clear(guards.clearedAt.get(item));
      if (item === exit + 1) this.edge(graph.firstEdge[item]);
      else this.planDispatch(item);
    }
    this.planMerges(item);
  }

  private planTerminator(block: number): void {
    const { graph } = this.items;
    const taken = graph.firstEdge[block];
    if (graph.firstEdge[block + 1] - taken === 1) {
      this.edge(taken);
      return;
    }
    const other = taken + 1;
    const condition = this.cfg.condition[block] as Condition;
    // An arm that control does not fall out of comes first: what follows the other arm then needs no nesting (tidy.ts). Else program order.
    if (this.rank(taken) < this.rank(other)) {
      this.token(Token.If, block, condition);
      this.edge(taken);
      this.token(Token.Else);
      this.edge(other);
    } else {
      this.token(Token.If, block, inverted(condition));
      this.edge(other);
      this.token(Token.Else);
      this.edge(taken);
    }
    this.token(Token.EndIf);
  }

  /** Order of the arms of an If: those that control does not fall out of first, Continue behind Break (it may turn out needless). */
  private rank(edge: number): number {
    const { edgeLoop, edgeTarget, forest, graph, position } = this.items;
    const target = edgeTarget[edge];
    if (edgeLoop[edge] !== forest.loopOf[graph.edgeFrom[edge]]) return -4;
    if (target < 0) return -2;
    if (isPlace(this.items, target)) return position[target];
    const leaves = this.segments.leaves[target];
    return leaves === Leaves.Fall ? position[target] : leaves === Leaves.Continue ? -1 : -3;
  }

  private planDispatch(dispatch: number): void {
    const { firstEdge } = this.items.graph;
    const count = firstEdge[dispatch + 1] - firstEdge[dispatch];
    this.select(dispatch, 0, count, selectorBits(count));
  }

  /** Takes one of `count` out-edges from number `first` on, told apart by the lowest `bits` selector variables (as deep as that: at most 18). */
  private select(dispatch: number, first: number, count: number, bits: number): void {
    if (bits === 0) {
      this.edge(this.items.graph.firstEdge[dispatch] + first);
      return;
    }
    const half = 1 << (bits - 1);
    if (count <= half) {
      this.select(dispatch, first, count, bits - 1);
      return;
    }
    this.ifGuard(this.guards.selectorVar[dispatch] + bits - 1, Condition.GuardClear);
    this.select(dispatch, first, half, bits - 1);
    this.token(Token.Else);
    this.select(dispatch, first + half, count - half, bits - 1);
    this.token(Token.EndIf);
  }

  private planLoop(item: number): void {
    const { items, guards } = this;
    const loop = item - items.nodeCount;
    this.clear(guards.clearedAt.get(item));
    this.token(Token.Loop);
    this.clear(guards.clearedIn.get(loop));
    this.item(items.forest.header[loop]);
    this.token(Token.EndLoop);
    const exits = guards.loopExits[loop];
    const breakVar = guards.breakVar[loop];
    const continueVar = guards.continueVar[loop];
    if (breakVar >= 0) this.leaveIf(breakVar, Token.Break);
    if (continueVar >= 0) this.leaveIf(continueVar, Token.Continue);
    const singles = exitItems(items, item);
    let open = 0;
    for (const single of singles) {
      if (guards.exitVar[single] < 0) continue;
      this.ifGuard(guards.exitVar[single]);
      this.item(single);
      this.token(Token.Else);
      open++;
    }
    for (const single of singles) if (guards.exitVar[single] < 0) this.item(single);
    for (; open > 0; open--) this.token(Token.EndIf);
    if ((exits & LoopExit.Break) !== 0 && breakVar < 0) this.token(Token.Break);
    else if ((exits & LoopExit.Continue) !== 0 && continueVar < 0) this.token(Token.Continue);
  }

  private leaveIf(variable: number, token: number): void {
    this.ifGuard(variable);
    this.token(token);
    this.token(Token.EndIf);
  }

  private planMerges(owner: number): void {
    const { items, guards } = this;
    const { children } = items;
    let open = 0;
    let left = 0;
    for (let c = children.offsets[owner]; c < children.offsets[owner + 1]; c++) {
      const merge = children.targets[c];
      if (!isMerge(items, merge)) continue;
      if (left === 0) left = guards.chain[merge];
      left--;
      if (guards.testVar[merge] >= 0) {
        this.ifGuard(guards.testVar[merge], guards.testKind[merge]);
        open++;
      }
      this.item(merge);
      if (left > 0) this.token(Token.Else);
      else for (; open > 0; open--) this.token(Token.EndIf);
    }
  }

  private planEdge(edge: number): void {
    const { items, guards } = this;
    const { edgeLoop, edgeTarget, forest, graph } = items;
    const target = edgeTarget[edge];
    const home = edgeLoop[edge];
    const selector = graph.edgeSelector[edge];
    if (selector >= 0) this.setSelector(selector);
    const variables = new Set<number>();
    const start = forest.loopOf[graph.edgeFrom[edge]];
    for (let loop = start; loop !== home; loop = forest.parent[loop]) {
      if (forest.parent[loop] !== home) variables.add(guards.breakVar[loop]);
      else if (target < 0) variables.add(guards.continueVar[loop]);
      else if (!isPlace(items, target)) variables.add(guards.exitVar[target]);
    }
    if (target >= 0) variables.add(guards.setVar[target]);
    for (const variable of variables) if (variable >= 0) this.token(Token.SetGuard, variable, 1);
    if (start !== home) this.token(Token.Break);
    else if (target < 0) this.token(Token.Continue);
    else if (!isPlace(items, target)) this.item(target);
  }

  /** Makes the dispatch node take its out-edge `selector`. */
  private setSelector(selector: number): void {
    const { firstEdge, edgeFrom } = this.items.graph;
    const dispatch = edgeFrom[selector];
    const choice = selector - firstEdge[dispatch];
    const bits = selectorBits(firstEdge[dispatch + 1] - firstEdge[dispatch]);
    for (let bit = 0; bit < bits; bit++) {
      this.token(Token.SetGuard, this.guards.selectorVar[dispatch] + bit, (choice >> bit) & 1);
    }
  }
}
