/**
 * A worker of the replay pool: creates the pipelines that earlier runs recorded, at the start of a run.
 *
 * @module
 */
import { servePipelines } from "../driver/pools/pipeline_worker.ts";

servePipelines();
