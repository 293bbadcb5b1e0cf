import { assert, assertEquals } from "@std/assert";
import { buildCfg } from "../../../src/recompiler/cfg/cfg.ts";
import { structurize } from "../../../src/recompiler/structurize/structurize.ts";
import { corpusFile, corpusNames, corpusTest } from "../../support/corpus.ts";
import { checkTree, walkCfg, walkTree } from "./walk.ts";

/** Programs of the corpus that have branches of every kind that compilers make. */
const MUST_EXIST = [
  "aco/loop.w32.comp.rdna.bin",
  "aco/loop.w64.comp.rdna.bin",
  "aco/lds.w64.comp.rdna.bin",
  "aco/buf.w64.comp.rdna.bin",
  "llvm/k.w64.collatz.rdna.bin",
  "llvm/k.w64.reduce.rdna.bin",
  "llvm/k.w64.switchy.rdna.bin",
  "llvm/k.w64.priv.rdna.bin",
  "llvm/k.w64.i64.rdna.bin",
];

for (const folder of ["aco", "llvm"]) {
  corpusTest(`compiler output in corpus/${folder} is structured without any guard`, folder, () => {
    const names = corpusNames(folder, /\.rdna\.bin$/);
    for (const name of MUST_EXIST) {
      if (name.startsWith(folder)) assert(names.includes(name.slice(folder.length + 1)), name);
    }
    for (const name of names) {
      const bytes = Deno.readFileSync(corpusFile(folder, name));
      const code = new Uint32Array(bytes.buffer, 0, bytes.length >> 2);
      const cfg = buildCfg(code, { target: "gfx1030", codeAddress: 0xffff_8000_0000_0000n });
      const tree = structurize(cfg);
      checkTree(cfg, tree);
      for (let seed = 0; seed < 50; seed++) assertEquals(walkTree(cfg, tree, seed, 500), walkCfg(cfg, seed, 500));
      console.log(`    ${name}: ${cfg.blockCount} blocks, ${tree.guardCount} guards, depth ${tree.maxDepth}`);
      assertEquals(tree.guardCount, 0);
    }
  });
}
