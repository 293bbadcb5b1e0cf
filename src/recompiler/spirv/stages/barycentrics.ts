import { PsInput } from "../../stages/state.ts";

/** Where in the pixel an attribute is looked at. */
export type Place = "sample" | "center" | "centroid";

/** Kind of barycentrics by the number of the input that they are. */
export const BARYCENTRICS: Readonly<Record<number, { place: Place; linear: boolean }>> = {
  [PsInput.PerspSample]: { place: "sample", linear: false },
  [PsInput.PerspCenter]: { place: "center", linear: false },
  [PsInput.PerspCentroid]: { place: "centroid", linear: false },
  [PsInput.LinearSample]: { place: "sample", linear: true },
  [PsInput.LinearCenter]: { place: "center", linear: true },
  [PsInput.LinearCentroid]: { place: "centroid", linear: true },
};
