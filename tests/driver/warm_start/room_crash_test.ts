import { assert, assertEquals } from "@std/assert";
import { switchFlag } from "../../../src/switches.ts";
import { missingDevice } from "../../support/vulkan.ts";
import { roomCrash } from "./room_crash.ts";

const ignore = missingDevice !== undefined && !switchFlag("ANYPS5_REQUIRE_VULKAN");

Deno.test({
  name: `isolates that are killed with their process lose no record, and nothing that was recorded is built again${
    ignore ? ` [ignored: ${missingDevice}]` : ""
  }`,
  ignore,
  async fn() {
    const { kills, late, recorded, replayed } = await roomCrash(6, 11);
    assertEquals(kills, 6);
    assert(late < kills, "no run was killed in the middle");
    assert(recorded > 0 && replayed > 0, `${recorded} recorded, ${replayed} replayed`);
  },
});
