/**
 * What `anyagc replay --compare NAME=VALUE` can change of a request.
 *
 * @module
 */
import { UsageError } from "../../errors.ts";
import { laneModeOf } from "../../gpu/recompiler_device.ts";
import type { RecompilerDevice, RecompileRequest } from "../../recompiler/request.ts";
import { didYouMean } from "../nearest.ts";

type Change = (request: RecompileRequest, value: string) => RecompileRequest;

const withMode = (request: RecompileRequest, laneMode: RecompilerDevice["laneMode"]): RecompileRequest => ({
  ...request,
  device: { ...request.device, laneMode },
});

/** The settings: switches that reach the recompiler, and fields of the request that the driver chooses. */
const SETTINGS: Readonly<Record<string, Change>> = {
  ANYAGC_WAVE_MODE: (request, value) => withMode(request, laneModeOf(false, value || undefined)),
  APS5_SPANNED_WAVE: (request, value) => withMode(request, laneModeOf(flag("APS5_SPANNED_WAVE", value), undefined)),
  resolve: (request, value) => ({ ...request, resolve: flag("resolve", value) }),
  unalignedLoads: (request, value) => ({ ...request, unalignedLoads: flag("unalignedLoads", value) }),
  windows: (request, value) => {
    if (!/^[1-9]\d{0,4}$/.test(value)) throw wrong(`windows is a number from 1 on, not "${value}"`);
    return { ...request, windows: Number(value) };
  },
};

/** The request with settings changed. @param text `NAME=VALUE`, several with commas between @throws UsageError */
export function withSettings(request: RecompileRequest, text: string): RecompileRequest {
  for (const setting of text.split(",")) {
    const at = setting.indexOf("="), name = setting.slice(0, at);
    if (!Object.hasOwn(SETTINGS, name)) {
      const names = Object.keys(SETTINGS);
      throw wrong(`there is no setting ${name}${didYouMean(name, names)}; there is ${names.join(", ")}`);
    }
    request = SETTINGS[name](request, setting.slice(at + 1));
  }
  return request;
}

function flag(name: string, value: string): boolean {
  if (value !== "0" && value !== "1") throw wrong(`${name} is 0 or 1, not "${value}"`);
  return value === "1";
}

function wrong(what: string): UsageError {
  return new UsageError("cli.bad-value", `--compare: ${what}`);
}
