/** The lines of a byte stream, one at a time. */
export class Lines {
  readonly #reader: ReadableStreamDefaultReader<string>;
  #rest = "";
  #ended = false;

  /** Takes the stream for itself. */
  constructor(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.#reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** The next line without its end; undefined behind the last one. What follows the last line end is no line. */
  async next(): Promise<string | undefined> {
    const parts: string[] = [];
    for (;;) {
      const end = this.#rest.indexOf("\n");
      if (end >= 0) {
        parts.push(this.#rest.slice(0, end));
        this.#rest = this.#rest.slice(end + 1);
        return parts.join("");
      }
      parts.push(this.#rest);
      this.#rest = "";
      if (this.#ended) return undefined;
      const { done, value } = await this.#reader.read();
      if (done) this.#ended = true;
      else this.#rest = value;
    }
  }
}
