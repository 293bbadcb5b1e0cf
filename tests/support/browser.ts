/**
 * A headless Chromium for tests of pages, driven through the Chrome DevTools Protocol (https://chromedevtools.github.io/devtools-protocol).
 *
 * @module
 */
import { switchFlag } from "../../src/switches.ts";

const PROGRAMS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

/** The browser's program, where there is one. */
export const browserProgram = PROGRAMS.find((path) => {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
});

/** Registers a test that needs a browser; ignored without one, unless ANYPS5_REQUIRE_VULKAN says that nothing may be missing. */
export function browserTest(name: string, body: () => Promise<void>): void {
  const ignore = browserProgram === undefined && !switchFlag("ANYPS5_REQUIRE_VULKAN");
  Deno.test({ name: ignore ? `${name} [ignored: no Chromium]` : name, ignore, fn: body });
}

/** A page that a browser has loaded. */
export class Page {
  /** Errors and messages of the page's console, what was refused by its policy too. */
  readonly messages: string[] = [];
  /** Addresses of everything that was asked for. */
  readonly requests: string[] = [];
  #next = 1;
  readonly #replies = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();

  private constructor(private readonly socket: WebSocket) {
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
    socket.onclose = () => {
      const gone = new Error("the browser closed the connection");
      for (const reply of this.#replies.values()) reply.reject(gone);
    };
  }

  /** Loads a file, hands the page to `body`, and ends the browser. */
  static async with(file: string, body: (page: Page) => Promise<void>): Promise<void> {
    if (browserProgram === undefined) throw new Error(`no Chromium: looked for ${PROGRAMS.join(", ")}`);
    const profile = await Deno.makeTempDir({ prefix: "anyagc-browser-" });
    const process = new Deno.Command(browserProgram, {
      args: ["--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"],
      env: { HOME: profile },
      stdout: "null",
      stderr: "piped",
    }).spawn();
    let socket: WebSocket | undefined;
    const output = readAll(process.stderr);
    try {
      const address = await output.line(/DevTools listening on (ws:\S+)/);
      const { host } = new URL(address);
      const targets = await (await fetch(`http://${host}/json/list`)).json();
      socket = new WebSocket(targets.find((t: { type: string }) => t.type === "page").webSocketDebuggerUrl);
      const page = new Page(socket);
      const opened = Promise.withResolvers<void>();
      socket.onopen = () => opened.resolve();
      socket.onerror = () => opened.reject(new Error("no connection to the browser"));
      await opened.promise;
      for (const domain of ["Page", "Runtime", "Network", "Log"]) await page.command(`${domain}.enable`);
      const { errorText } = await page.command("Page.navigate", { url: `file://${file}` });
      if (errorText !== undefined) throw new Error(`the browser cannot load ${file}: ${errorText}`);
      // The blank page that the browser starts with has load events of its own, so the document is asked.
      while (await page.evaluate("document.readyState + location.protocol") !== "completefile:") {
        await new Promise((done) => setTimeout(done, 10));
      }
      await body(page);
    } finally {
      if (socket?.readyState === WebSocket.OPEN) {
        const closed = new Promise((done) => socket!.addEventListener("close", done));
        // A kill would leave the browser's helpers, and with them its standard error, open.
        socket.send(JSON.stringify({ id: 0, method: "Browser.close" }));
        await closed;
      } else process.kill("SIGTERM");
      await process.status;
      await output.ended;
      await Deno.remove(profile, { recursive: true });
    }
  }

  /** The value of an expression in the page. It must be plain data. */
  async evaluate(expression: string): Promise<unknown> {
    const { result, exceptionDetails } = await this.command("Runtime.evaluate", { expression, returnByValue: true });
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return (result as { value: unknown }).value;
  }

  /** A command of the protocol. */
  command(method: string, params: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    const id = this.#next++;
    const reply = Promise.withResolvers<Record<string, unknown>>();
    this.#replies.set(id, reply);
    this.socket.send(JSON.stringify({ id, method, params }));
    return reply.promise;
  }

  // deno-lint-ignore no-explicit-any -- events of the protocol, of many shapes
  #receive(message: any): void {
    if (message.id !== undefined) {
      const reply = this.#replies.get(message.id);
      this.#replies.delete(message.id);
      if (message.error) reply?.reject(new Error(JSON.stringify(message.error)));
      else reply?.resolve(message.result);
      return;
    }
    const { method, params } = message;
    if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
    else if (method === "Log.entryAdded") this.messages.push(params.entry.text);
    else if (method === "Runtime.consoleAPICalled") this.messages.push(JSON.stringify(params.args));
    else if (method === "Runtime.exceptionThrown") this.messages.push(JSON.stringify(params.exceptionDetails));
  }
}

/** Reads a stream to its end, and lets somebody wait for a line meanwhile. */
function readAll(stream: ReadableStream<Uint8Array>) {
  let text = "";
  let wanted: { pattern: RegExp; found: PromiseWithResolvers<string> } | undefined;
  const look = () => {
    const match = wanted?.pattern.exec(text);
    if (match) wanted!.found.resolve(match[1]);
  };
  const ended = (async () => {
    for await (const chunk of stream.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)) {
      text += chunk;
      look();
    }
    wanted?.found.reject(new Error(`the browser ended: ${text}`));
  })();
  return {
    ended,
    line(pattern: RegExp): Promise<string> {
      wanted = { pattern, found: Promise.withResolvers() };
      look();
      return wanted.found.promise;
    },
  };
}
