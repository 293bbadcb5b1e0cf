/** A queue's isolate that ends before it is anybody: it closes itself as soon as its module is loaded, or when it gets its first message (`?later`). */
if (import.meta.url.endsWith("?later")) globalThis.addEventListener("message", () => globalThis.close());
else globalThis.close();
