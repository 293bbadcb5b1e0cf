import { assert, assertEquals } from "@std/assert";
import { switchFlag } from "../../../src/switches.ts";
import { missingDevice } from "../../support/vulkan.ts";
import { crash } from "./crash.ts";

const ignore = missingDevice !== undefined && !switchFlag("ANYPS5_REQUIRE_VULKAN");

Deno.test({
  name: `runs that are killed lose no record, and nothing that was recorded is built again${
    ignore ? ` [ignored: ${missingDevice}]` : ""
  }`,
  ignore,
  async fn() {
    const { kills, recorded, replayed } = await crash(14, 6);
    assertEquals(kills, 14);
    assert(recorded > 0 && replayed > recorded, `${recorded} recorded, ${replayed} replayed`);
  },
});
