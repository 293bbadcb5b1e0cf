import type { Handler, HandlerTable } from "./emitter.ts";

const pending: Handler = (e, i) => {
  throw e.refuse(i, "unsupported-operation", "not implemented yet");
};

/** Handlers of this file. */
export const DOUBLE: HandlerTable = Object.fromEntries(
  ("FAddOdd FFmaScaled HAdd HMul HFma BitInsert FAdd64 FMul64 FFma64 FFmaScaled64 FMin64 FMax64 FNeg64 FAbs64 FFloor64 FCeil64 FTrunc64 " +
    "FRndne64 FRcp64 FRsq64 FSqrt64 CvtF2D CvtD2F CvtU2D CvtS2D CvtD2U CvtD2S").split(" ").map((name) => [name, pending]),
);
