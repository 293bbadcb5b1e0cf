import type { Define } from "./dispatch.ts";

/** Adds the handlers of this class. */
export function defineImage(_define: Define): void {}
