/** An AGC shader record. Filled in by the next commit of this file. */
export interface AgcShaderRecord {
  /** Record type 0..8. */
  type: number;
}
