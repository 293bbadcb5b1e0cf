/**
 * The launcher as the first module of a bundle: `import.meta.main` is not set when the bootstrap imports it.
 *
 * @module
 */
import { main } from "../main.ts";

await main();
