import { assertEquals, assertMatch } from "@std/assert";
import { withLock } from "../../src/storage/file_lock.ts";

function inFolder(body: (folder: string) => void): void {
  const folder = Deno.makeTempDirSync({ prefix: "anyagc-lock-" });
  try {
    body(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

Deno.test("who gets a lock that its holder has removed takes the one that is there then, alone", () =>
  inFolder((folder) => {
    const path = `${folder}/lock`, { tryLockSync } = Deno.FsFile.prototype, inside: string[] = [];
    let opened = 0;
    // Between the opening of the file and its lock: others remove it, the second time after they have made it anew.
    Deno.FsFile.prototype.tryLockSync = function (exclusive) {
      if (++opened <= 2) Deno.removeSync(path);
      if (opened === 2) Deno.writeTextFileSync(path, "");
      return tryLockSync.call(this, exclusive);
    };
    try {
      withLock(path, () => {
        inside.push("one");
        assertEquals(opened, 3);
        withLock(path, () => inside.push("two"), 0, (reason) => inside.push(reason));
      });
    } finally {
      Deno.FsFile.prototype.tryLockSync = tryLockSync;
    }
    assertEquals(inside, ["one", `${path} is locked all the time, or cannot be`]);
  }));

Deno.test("why a lock is not to be had is told", () =>
  inFolder((folder) => {
    Deno.mkdirSync(`${folder}/lock`);
    const reasons: string[] = [];
    assertEquals(withLock(`${folder}/lock`, () => 1, 0, (reason) => reasons.push(reason)), undefined);
    assertEquals(reasons.length, 1);
    assertMatch(reasons[0], /directory.*lock/);
  }));
