/**
 * Which device journals are for: the one that a run would use.
 *
 * @module
 */
import { chooseDevice } from "../../gpu/choose_device.ts";
import { describeDevices } from "../../gpu/device.ts";
import { deviceIdentity } from "../../gpu/pipeline_cache_file.ts";

/** The identity of a device, as journals have it. @param name a part of its name; that of a run when left out @throws HostError when there is none */
export function deviceText(name: string | undefined): string {
  const devices = describeDevices();
  const handles = devices.map(({ capabilities }, index) => ({ handle: BigInt(index), capabilities }));
  const { capabilities } = chooseDevice(handles, name);
  return new TextDecoder().decode(deviceIdentity(capabilities).bytes);
}
