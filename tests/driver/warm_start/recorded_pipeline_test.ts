import { assertEquals } from "@std/assert";
import { decodeRecorded, encodeRecorded, recordedAddress } from "../../../src/driver/warm_start/recorded_pipeline.ts";
import { encodeData } from "../../../src/sync/plain_data.ts";
import { makeRequest } from "../../support/lift.ts";

const REQUEST = makeRequest({ code: Uint32Array.of(0xbf810000, 7) });

Deno.test("a record gives its request back, with the words that decided it and this device", () => {
  const record = encodeRecorded(REQUEST, 1), decoded = decodeRecorded(record, REQUEST.device)!;
  assertEquals(decoded, { ...REQUEST, code: Uint32Array.of(0xbf810000) });
  assertEquals(recordedAddress(record), REQUEST.codeAddress);
});

Deno.test("a record of another version, or of anything else, has no request", () => {
  for (const data of [[2, REQUEST], [1, null], [1, {}], [1, { code: "text" }], [1], [], null, 7, "text"]) {
    const record = encodeData(data);
    assertEquals([decodeRecorded(record, REQUEST.device), recordedAddress(record)], [undefined, undefined]);
  }
  assertEquals(decodeRecorded(new Uint8Array(9), REQUEST.device), undefined);
});
