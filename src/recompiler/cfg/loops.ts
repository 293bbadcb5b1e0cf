/**
 * The nest of loops of a flow graph, found as strongly connected components within strongly connected components: the components of the whole
 * graph are the outermost loops; without the edges back to its header, a loop's components are the loops within it. Work is proportional to
 * edges * nesting depth.
 *
 * A component with several entries (an irreducible one) gets a **dispatch node**: every edge into one of the entries is redirected to the new
 * node, which has one edge to each entry. Then the dispatch node is the only header, and the graph is reducible.
 */
import { RefusedError } from "../../errors.ts";
import type { FlowGraph } from "./graph.ts";

/** Loops of a graph. Loop 0 is not a loop but the whole graph. Parents come before their children. */
export interface LoopForest {
  readonly loopCount: number;
  /** Header node by loop; the root node for loop 0. */
  readonly header: readonly number[];
  /** Enclosing loop by loop; -1 for loop 0. */
  readonly parent: readonly number[];
  /** Nesting depth by loop; 0 for loop 0. */
  readonly depth: readonly number[];
  /** Innermost loop by node (a header belongs to its own loop); -1 for unreachable nodes. */
  readonly loopOf: readonly number[];
  /** Number of dispatch nodes that were added behind the original nodes. 0 means that the graph is reducible. */
  readonly dispatchCount: number;
}

/**
 * Which nodes outside of a loop may be made part of it, so that it is left towards one place only (`if (found) { small; break; }`: compilers
 * place `small` after the loop, and then the loop's end would have to tell two exits apart).
 */
export interface PullLimits {
  /** Size by node; negative: must stay outside. */
  readonly weight: ArrayLike<number>;
  /** At most so many nodes per loop. */
  readonly nodes: number;
  /** At most so much size per loop. */
  readonly total: number;
}

/** Loops nested deeper than this are refused: SPIR-V allows 1,023 levels of nesting for loops and selections together (section 2.17). */
export const MAX_LOOP_DEPTH = 256;

/**
 * Finds the loops of what is reachable from `root` (which no edge may lead to). Adds dispatch nodes to `graph` and redirects its edges where it
 * is irreducible.
 */
export function findLoops(graph: FlowGraph, root: number, pull: PullLimits | null = null): LoopForest {
  return new LoopFinder(graph, root, pull).run();
}

class LoopFinder {
  private readonly header: number[];
  private readonly parent: number[] = [-1];
  private readonly depth: number[] = [0];
  private readonly loopOf: number[] = [];
  private dispatchCount = 0;

  /** Tarjan's numbers, by node: 0 = not visited in the current region's search. */
  private readonly index: number[] = [];
  private readonly low: number[] = [];
  private readonly nextEdge: number[] = [];
  private readonly component: number[] = [];
  private readonly onStack: number[] = [];
  private readonly inDegree: number[] = [];
  private componentCount = 0;

  constructor(private readonly graph: FlowGraph, root: number, private readonly pull: PullLimits | null) {
    this.header = [root];
    for (let n = 0; n < graph.nodeCount; n++) this.addNodeState(-1);
  }

  run(): LoopForest {
    this.markReachable();
    const work = [0];
    while (work.length > 0) this.splitRegion(work.pop()!, work);
    return {
      loopCount: this.header.length,
      header: this.header,
      parent: this.parent,
      depth: this.depth,
      loopOf: this.loopOf,
      dispatchCount: this.dispatchCount,
    };
  }

  private addNodeState(loop: number): void {
    this.loopOf.push(loop);
    this.index.push(0);
    this.low.push(0);
    this.nextEdge.push(0);
    this.component.push(-1);
    this.onStack.push(0);
    this.inDegree.push(0);
  }

  private markReachable(): void {
    const { firstEdge, edgeTo } = this.graph;
    const stack = [this.header[0]];
    this.loopOf[this.header[0]] = 0;
    while (stack.length > 0) {
      const node = stack.pop()!;
      for (let e = firstEdge[node]; e < firstEdge[node + 1]; e++) {
        const target = edgeTo[e];
        this.inDegree[target]++;
        if (this.loopOf[target] < 0) {
          this.loopOf[target] = 0;
          stack.push(target);
        }
      }
    }
  }

  /** Finds the loops directly within `region` and queues them. */
  private splitRegion(region: number, work: number[]): void {
    const { nodes, cycles } = this.components(region);
    if (cycles.length === 0) return;
    if (this.depth[region] === MAX_LOOP_DEPTH) {
      throw new RefusedError("recompiler.loop-nesting", `loops nested deeper than ${MAX_LOOP_DEPTH}`);
    }
    const { graph, loopOf, component } = this;
    const entries = new Map<number, number[]>();
    for (const members of cycles) entries.set(component[members[0]], []);
    const isEntry = new Set<number>();
    const header = this.header[region];
    for (const u of nodes) {
      for (let e = graph.firstEdge[u]; e < graph.firstEdge[u + 1]; e++) {
        const v = graph.edgeTo[e];
        if (loopOf[v] !== region || v === header || component[u] === component[v]) continue;
        const list = entries.get(component[v]);
        if (list === undefined || isEntry.has(v)) continue;
        isEntry.add(v);
        list.push(v);
      }
    }
    const dispatchOf = new Map<number, number>();
    for (const members of cycles) {
      const loop = this.header.length;
      const heads = entries.get(component[members[0]])!;
      this.parent.push(region);
      this.depth.push(this.depth[region] + 1);
      for (const node of members) loopOf[node] = loop;
      if (heads.length === 1) {
        this.header.push(heads[0]);
      } else {
        const dispatch = graph.addNode(heads.sort((a, b) => a - b));
        this.addNodeState(loop);
        this.component[dispatch] = component[members[0]];
        for (const head of heads) dispatchOf.set(head, dispatch);
        this.header.push(dispatch);
        this.dispatchCount++;
        members.push(dispatch);
      }
      work.push(loop);
    }
    if (dispatchOf.size > 0) this.redirect(nodes, dispatchOf);
    if (this.pull !== null) {
      const first = this.header.length - cycles.length;
      cycles.forEach((members, i) => this.pullExits(region, first + i, members, this.pull!));
    }
  }

  /** Strongly connected components of the region's nodes without edges to its header: Tarjan's algorithm, components in reverse topological order. */
  private components(region: number): { nodes: number[]; cycles: number[][] } {
    const { graph, loopOf, index, low, nextEdge, component, onStack } = this;
    const { firstEdge, edgeTo } = graph;
    const header = this.header[region];
    const nodes: number[] = [];
    const cycles: number[][] = [];
    const pending: number[] = [];
    const path: number[] = [];
    const base = 1;
    const visit = (node: number) => {
      nodes.push(node);
      index[node] = low[node] = nodes.length - 1 + base;
      nextEdge[node] = firstEdge[node];
      onStack[node] = 1;
      pending.push(node);
      path.push(node);
    };
    visit(header);
    while (path.length > 0) {
      const node = path[path.length - 1];
      if (nextEdge[node] < firstEdge[node + 1]) {
        const target = edgeTo[nextEdge[node]++];
        if (loopOf[target] !== region || target === header) continue;
        if (index[target] === 0) visit(target);
        else if (onStack[target] === 1 && index[target] < low[node]) low[node] = index[target];
        continue;
      }
      path.pop();
      if (path.length > 0) {
        const up = path[path.length - 1];
        if (low[node] < low[up]) low[up] = low[node];
      }
      if (low[node] !== index[node]) continue;
      const id = this.componentCount++;
      const members: number[] = [];
      let member: number;
      do {
        member = pending.pop()!;
        onStack[member] = 0;
        component[member] = id;
        members.push(member);
      } while (member !== node);
      if (members.length > 1 || (node !== header && this.hasSelfEdge(node))) cycles.push(members);
    }
    for (const node of nodes) index[node] = 0;
    return { nodes, cycles };
  }

  private hasSelfEdge(node: number): boolean {
    const { firstEdge, edgeTo } = this.graph;
    for (let e = firstEdge[node]; e < firstEdge[node + 1]; e++) if (edgeTo[e] === node) return true;
    return false;
  }

  private redirect(nodes: readonly number[], dispatchOf: ReadonlyMap<number, number>): void {
    const { firstEdge, edgeTo, edgeSelector } = this.graph;
    const selector = new Map<number, number>();
    for (const dispatch of new Set(dispatchOf.values())) {
      for (let e = firstEdge[dispatch]; e < firstEdge[dispatch + 1]; e++) selector.set(edgeTo[e], e);
    }
    for (const u of nodes) {
      for (let e = firstEdge[u]; e < firstEdge[u + 1]; e++) {
        const target = edgeTo[e];
        const dispatch = dispatchOf.get(target);
        if (dispatch === undefined) continue;
        edgeTo[e] = dispatch;
        edgeSelector[e] = selector.get(target)!;
        this.inDegree[target]--;
        this.inDegree[dispatch]++;
      }
    }
    for (const target of selector.keys()) this.inDegree[target]++;
  }

  /**
   * Makes the loop's exits lead to one place, if that takes only few and small nodes. Targets are taken in topological order: a target that can
   * not be pulled in stays a target for ever, and no later one leads back to it.
   */
  private pullExits(region: number, loop: number, members: number[], limits: PullLimits): void {
    const { graph, loopOf, component } = this;
    const outer = -1;
    const again = -2;
    const seen = new Map<number, number>();
    const addTargets = (node: number, inside: (v: number) => boolean) => {
      for (let e = graph.firstEdge[node]; e < graph.firstEdge[node + 1]; e++) {
        const v = graph.edgeTo[e];
        if (inside(v)) continue;
        // All that leaves the region too counts as one target: the enclosing loop's end tells those apart.
        const key = v === this.header[region] ? again : this.isDirectlyIn(v, region) ? v : outer;
        seen.set(key, (seen.get(key) ?? 0) + 1);
      }
    };
    for (const node of members) addTargets(node, (v) => loopOf[v] === loop);
    if (seen.size < 2 || seen.size > limits.nodes + 1) return;
    const pulled: number[] = [];
    let total = 0;
    while (seen.size > 1) {
      let first = -1;
      for (const v of seen.keys()) if (v >= 0 && (first < 0 || component[v] > component[first])) first = v;
      if (first < 0 || loopOf[first] !== region || seen.get(first) !== this.inDegree[first]) return;
      if (first >= limits.weight.length || limits.weight[first] < 0) return;
      total += limits.weight[first];
      if (pulled.length === limits.nodes || total > limits.total) return;
      seen.delete(first);
      pulled.push(first);
      addTargets(first, () => false);
    }
    for (const node of pulled) loopOf[node] = loop;
    members.push(...pulled);
  }

  /** Whether `node` is a node of the region itself or the header of a loop directly in it. */
  private isDirectlyIn(node: number, region: number): boolean {
    const loop = this.loopOf[node];
    return loop === region || (loop >= 0 && this.parent[loop] === region);
  }
}
