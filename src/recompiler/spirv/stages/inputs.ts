import { InputKind, Op } from "../../ir/ops.ts";
import { type PixelState, PS_INPUTS, PsInput } from "../../stages/state.ts";
import { VALUE_OPERANDS } from "../usage.ts";
import { BARYCENTRICS } from "./barycentrics.ts";
import { BuiltIn, Capability, Code, Decoration, Glsl } from "../codes.ts";
import { Inputs } from "../inputs.ts";
import { PUSH_MEMBERS, T } from "../module.ts";
import { demandedBits } from "./demanded_bits.ts";
import { INPUT, StageVariables } from "./variables.ts";

/** Bits of the ancillary register: the sample's number, the target's layer (AMD register headers and Mesa, nir_load_sample_id and nir_load_layer_id). */
const SAMPLE_SHIFT = 8, SAMPLE_MASK = 0xf00, LAYER_SHIFT = 16, LAYER_MASK = 0x1fff_0000;

/** What reads an attribute; interpolation.ts looks at the operands. */
const ATTRIBUTES: ReadonlySet<number> = new Set([Op.Interpolate, Op.InterpolateP1, Op.Parameter]);

/** What the entry block of a graphics stage reads. */
export class StageInputs extends Inputs {
  readonly variables = new StageVariables(this.e.module);
  /** The module reads the sample's number, so that it runs once a sample. */
  readsSample = false;

  override write(): void {
    const { ir, usage, ids, module } = this.e;
    const wanted: number[] = [];
    for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Input && usage.uses[i] > 0) wanted.push(i);
    const registers = wanted.filter((i) => ir.a[i] === InputKind.UserData).map((i) => ir.b[i]);
    if (registers.length > 0) {
      module.pushMember(PUSH_MEMBERS.userDataAddress.offset, PUSH_MEMBERS.userDataAddress.type);
      this.readUserData(new Set(registers));
    }
    for (const i of wanted) if (ids[i] === 0) ids[i] = this.stageInput(i);
  }

  /** A U32 zero that no driver knows to be one: the sign of a device address, copied. */
  override zeroBits(): number {
    return this.once("zeroBits", () => {
      const { body, module } = this.e;
      module.pushMember(PUSH_MEMBERS.context.offset, PUSH_MEMBERS.context.type);
      const address = body.push(PUSH_MEMBERS.context);
      const high = body.op1(Code.UConvert, T.U32, body.op2(Code.ShiftRightLogical, T.U64, address, module.u32(32)));
      return body.op2(Code.ShiftRightArithmetic, T.U32, high, module.u32(31));
    });
  }

  override laneId(): number {
    return this.once("laneId", () => {
      const { body, module, request } = this.e;
      module.capability(Capability.GroupNonUniform);
      const flat = request.graphics?.stage === "pixel";
      return body.load(
        T.U32,
        this.variables.builtIn(INPUT, BuiltIn.SubgroupLocalInvocationId, T.U32, flat),
      );
    });
  }

  override localIndex(): number {
    return this.laneId();
  }

  override waveId(): number {
    return this.e.module.u32(0);
  }

  private get pixel(): PixelState {
    return this.e.request.graphics as PixelState;
  }

  private readUserData(registers: ReadonlySet<number>): void {
    const { body, module } = this.e;
    const address = body.push(PUSH_MEMBERS.userDataAddress);
    for (const quad of new Set([...registers].map((register) => register >> 2).sort((a, b) => a - b))) {
      const at = quad === 0 ? address : body.op2(Code.IAdd, T.U64, address, module.u64(quad * 16));
      const vector = body.loadAt(T.V4, at, 16);
      for (const register of registers) {
        if (register >> 2 === quad) this.known.set(`userData${register}`, body.extract(T.U32, vector, register & 3));
      }
    }
  }

  private stageInput(i: number): number {
    const { e } = this, { ir, body } = e, index = ir.b[i];
    switch (ir.a[i]) {
      case InputKind.UserData:
        return this.known.get(`userData${index}`)!;
      case InputKind.LaneId:
        return this.laneId();
      case InputKind.Live:
        return this.once("live", () => {
          const helper = this.variables.builtIn(INPUT, BuiltIn.HelperInvocation, T.Bool);
          return body.op1(Code.LogicalNot, T.Bool, body.load(T.Bool, helper));
        });
      case InputKind.VertexInput:
        return this.once(`vertex${index}`, () => {
          const builtIn = index === 0 ? BuiltIn.VertexIndex : BuiltIn.InstanceIndex;
          return body.load(T.U32, this.variables.builtIn(INPUT, builtIn, T.U32));
        });
      case InputKind.PixelInput:
        return this.once(`pixel${index}`, () => this.pixelInput(i, index >> 2));
      case InputKind.PrimitiveMask: {
        // Attributes name it as their M0 and read nothing of it: see interpolation.ts.
        const user = this.numberUser(i);
        if (user < 0) return -1;
        throw e.refuseAt(user, "stage-input", "the program reads the primitive mask as a number");
      }
      case InputKind.NotLoaded: {
        const register = index < 256 ? `s${index}` : `v${index - 256}`;
        throw this.refuseUse(i, `${register}, which the hardware does not load for this stage`);
      }
      default:
        throw this.refuseUse(i, `input ${ir.a[i]} of compute programs`);
    }
  }

  private pixelInput(i: number, input: number): number {
    const { e } = this, { body, module } = e;
    switch (input) {
      case PsInput.PositionX:
      case PsInput.PositionY:
        return this.position(i, input - PsInput.PositionX);
      case PsInput.PositionZ:
        return body.extract(T.F32, this.fragCoord(), 2);
      case PsInput.PositionW: {
        const inverse = body.extract(T.F32, this.fragCoord(), 3);
        return body.op2(Code.FDiv, T.F32, module.constant(T.F32, 0x3f80_0000), inverse);
      }
      case PsInput.FrontFace: {
        if (!this.pixel.frontFaceAllBits) throw this.refuseUse(i, "the front face without FRONT_FACE_ALL_BITS");
        const front = body.load(T.Bool, this.variables.builtIn(INPUT, BuiltIn.FrontFacing, T.Bool));
        return body.select(T.U32, front, module.u32(-1), module.u32(0));
      }
      case PsInput.Ancillary:
        return this.ancillary(i);
      case PsInput.SampleCoverage: {
        if (this.pixel.perSample) {
          throw this.refuseUse(i, "the coverage of all samples in a program that runs once a sample");
        }
        return this.coverage();
      }
      case PsInput.FixedPosition: {
        const [x, y] = [0, 1].map((axis) =>
          body.op1(Code.ConvertFToU, T.U32, body.extract(T.F32, this.fragCoord(), axis))
        );
        return body.op2(Code.BitwiseOr, T.U32, x, body.op2(Code.ShiftLeftLogical, T.U32, y, module.u32(16)));
      }
      case PsInput.LineStipple:
      case PsInput.PullModel:
        throw this.refuseUse(i, PS_INPUTS[input].name);
      default:
        return this.numberUser(i) >= 0 ? this.barycentric(i, input) : -1; // attributes only name them, see interpolation.ts
    }
  }

  /** The first user for which an input is more than what an attribute is interpolated with; -1 if there is none. */
  private numberUser(i: number): number {
    const { ir } = this.e;
    for (let user = i + 1; user < ir.length; user++) {
      const operands = VALUE_OPERANDS[ir.op[user]], columns = [ir.a[user], ir.b[user], ir.c[user], ir.d[user]];
      if (operands & 16 && ir.pool.slice(ir.a[user], ir.a[user] + ir.b[user]).includes(i)) return user;
      if (ATTRIBUTES.has(ir.op[user])) continue;
      if (columns.some((each, k) => (operands >> k & 1) !== 0 && each === i)) return user;
    }
    return -1;
  }

  /** I or J as a number: the weight of the primitive's second or third vertex (Mesa, radv_nir_lower_fs_barycentric.c, goes the other way). */
  private barycentric(i: number, input: number): number {
    const { body, module, request: { device } } = this.e;
    const { place, linear } = BARYCENTRICS[input];
    if (device.graphics?.barycentrics !== true) {
      throw this.refuseUse(i, `${PS_INPUTS[input].name} as numbers, which this device does not tell`);
    }
    const weights = this.once(`barycentrics${input}`, () => {
      module.extension("SPV_KHR_fragment_shader_barycentric");
      module.capability(Capability.FragmentBarycentric);
      const builtIn = linear ? BuiltIn.BaryCoordNoPersp : BuiltIn.BaryCoord;
      const variable = module.variable(INPUT, module.type(T.F32x3));
      module.decorate(variable, Decoration.BuiltIn, builtIn);
      if (place === "centroid") module.decorate(variable, Decoration.Centroid);
      if (place === "sample") {
        if (device.graphics?.sampleRate !== true) throw this.refuseUse(i, `${PS_INPUTS[input].name} on this device`);
        module.capability(Capability.SampleRateShading);
        module.decorate(variable, Decoration.Sample);
      }
      return body.load(T.F32x3, variable);
    });
    return body.extract(T.F32, weights, 1 + (this.e.ir.b[i] & 3));
  }

  /** Id of the pixel's position, a vector of four. */
  fragCoord(): number {
    return this.once(
      "fragCoord",
      () => this.e.body.load(T.F32x4, this.variables.builtIn(INPUT, BuiltIn.FragCoord, T.F32x4)),
    );
  }

  /** Where the console says that the pixel is: its centre, its corner, or the sample. */
  private position(i: number, axis: number): number {
    const { body, module } = this.e, { positionLocation, positionCorner, perSample } = this.pixel;
    const value = body.extract(T.F32, this.fragCoord(), axis);
    if (positionLocation === 1) throw this.refuseUse(i, "the position at the centroid");
    if (positionLocation > 1 && !perSample) {
      throw this.refuseUse(i, "the sample's position in a program of whole pixels");
    }
    if (positionLocation > 1 && !positionCorner) return value;
    const corner = body.glsl1(Glsl.Floor, T.F32, value);
    if (positionCorner) return corner;
    // A host gives a program of samples the sample's position.
    return perSample ? body.op2(Code.FAdd, T.F32, corner, module.constant(T.F32, 0x3f00_0000)) : value;
  }

  private coverage(): number {
    const { body, module } = this.e;
    const array = this.variables.builtInArray(INPUT, BuiltIn.SampleMask, T.U32, 1, true);
    return body.load(T.U32, body.element(INPUT, T.U32, array, module.u32(0)));
  }

  private ancillary(i: number): number {
    const { e } = this, { body, module, request: { device } } = e;
    const bits = demandedBits(e.ir, i);
    if ((bits & ~(SAMPLE_MASK | LAYER_MASK)) !== 0) {
      throw this.refuseUse(i, "other ancillary bits than the sample's and the layer's number");
    }
    const parts: number[] = [];
    if ((bits & SAMPLE_MASK) !== 0 && this.pixel.perSample) {
      parts.push(body.op2(Code.ShiftLeftLogical, T.U32, this.sampleId(i), module.u32(SAMPLE_SHIFT)));
    }
    if ((bits & LAYER_MASK) !== 0) {
      if (device.graphics?.layers !== true) {
        throw this.refuseUse(i, "the layer's number, which this device does not tell");
      }
      module.capability(Capability.ShaderLayer);
      const layer = body.load(T.U32, this.variables.builtIn(INPUT, BuiltIn.Layer, T.U32, true));
      parts.push(body.op2(Code.ShiftLeftLogical, T.U32, layer, module.u32(LAYER_SHIFT)));
    }
    // A program of whole pixels has sample 0.
    if (parts.length === 0) return module.u32(0);
    return parts.reduce((all, part) => body.op2(Code.BitwiseOr, T.U32, all, part));
  }

  /** Number of the sample that the invocation is for; it makes the program run once a sample. */
  sampleId(i: number): number {
    const { body, module, request: { device } } = this.e;
    if (device.graphics?.sampleRate !== true) {
      throw this.refuseUse(i, "the sample's number, which this device does not tell");
    }
    return this.once("sampleId", () => {
      module.capability(Capability.SampleRateShading);
      this.readsSample = true;
      return body.load(T.U32, this.variables.builtIn(INPUT, BuiltIn.SampleId, T.U32, true));
    });
  }

  /** Refuses an input at the place of its first user. */
  private refuseUse(i: number, what: string) {
    const { e } = this, { ir } = e;
    let user = i + 1;
    while (user < ir.length && ![ir.a[user], ir.b[user], ir.c[user], ir.d[user]].includes(i)) user++;
    return e.refuseAt(Math.min(user, ir.length - 1), "stage-input", `the program reads ${what}`);
  }
}
