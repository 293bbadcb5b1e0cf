/**
 * A worker of the prebuild pool: creates pipelines ahead of use until the board is stopped.
 *
 * @module
 */
import { servePipelines } from "../driver/pools/pipeline_worker.ts";

servePipelines();
