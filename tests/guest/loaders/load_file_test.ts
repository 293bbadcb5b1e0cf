import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { type AnyAgcError, ExitCode, RefusedError, UsageError } from "../../../src/errors.ts";
import { MalformedFileError } from "../../../src/guest/loaders/file_format.ts";
import { loadFile } from "../../../src/guest/loaders/load_file.ts";
import { withFiles } from "../support/files.ts";
import { buildRecord } from "../support/records.ts";

Deno.test("formats are told apart by content, not by name", () => {
  const { bytes } = buildRecord({ type: 0, sh: [[0x20C, 0], [0x20D, 0]] }, { form: "file-offset" });
  const program = '\n {"schema":"anyagc.program/1","memory":[],"submissions":[{"queue":0,"words":[]}]}';
  withFiles({ "a.json": bytes, "b.sb": program }, (folder) => {
    const [shader, loaded] = ["a.json", "b.sb"].map((name) => loadFile(`${folder}/${name}`));
    assertEquals([shader.kind, shader.format], ["shader", "AGC shader record"]);
    assertEquals([loaded.kind, loaded.format], ["program", "program description"]);
  });
});

Deno.test("what cannot be read gives a typed error with an exit code and a reason", () => {
  const cases: [string, Uint8Array | string | undefined, new (...args: never[]) => AnyAgcError, number, string][] = [
    ["missing", undefined, UsageError, ExitCode.Usage, "there is no such file"],
    ["empty", "", MalformedFileError, ExitCode.Usage, "the file is empty"],
    ["blank", "  \n", UsageError, ExitCode.Usage, "no known format"],
    ["text", "hello", UsageError, ExitCode.Usage, "no known format"],
    ["code.rdna.bin", Uint8Array.of(0, 0, 0x81, 0xBF), UsageError, ExitCode.Usage, "NAME.rdna.bin with NAME.json"],
    ["other.json", '{"a":1}', MalformedFileError, ExitCode.Usage, "JSON of no known format"],
    ["list.json", "[1]", UsageError, ExitCode.Usage, "no known format"],
    [
      "future.json",
      '{"schema":"anyagc.program/7"}',
      MalformedFileError,
      ExitCode.Usage,
      "only anyagc.program/1 is known",
    ],
    ["capture", "OAGCCAP\0rest", MalformedFileError, ExitCode.Usage, "the header has 32 bytes, the file 12"],
    ["zip", "PK\x03\x04rest", MalformedFileError, ExitCode.Usage, "the file is cut short"],
    ["elf", "\x7FELFrest", RefusedError, ExitCode.Guest, "ELF files are not read"],
  ];
  withFiles({}, (folder) => {
    Deno.mkdirSync(`${folder}/directory`);
    for (const [name, content, type, exitCode, message] of cases) {
      if (typeof content === "string") Deno.writeTextFileSync(`${folder}/${name}`, content);
      else if (content !== undefined) Deno.writeFileSync(`${folder}/${name}`, content);
      const error = assertThrows(() => loadFile(`${folder}/${name}`), type as typeof AnyAgcError);
      assertStringIncludes(error.message, message);
      assertEquals([name, error.exitCode, error.place.file], [name, exitCode, `${folder}/${name}`]);
    }
    assertStringIncludes(assertThrows(() => loadFile(`${folder}/directory`), UsageError).message, "not a regular file");
  });
});
