/** Names that the builder of the executable and the executable share. */

/** Name of the bundle's first module. */
export const ENTRY_FILE = "entry.js";
