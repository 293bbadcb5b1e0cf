/** The global scope of a worker, which the types of the main program do not know. */
export const workerScope = globalThis as unknown as {
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage(message: unknown): void;
  close(): void;
};
