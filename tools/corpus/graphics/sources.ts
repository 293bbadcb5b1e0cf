/**
 * Small vertex and fragment shaders, one pair for each thing that a pixel or vertex program can do. They are compiled when the tool runs.
 *
 * @module
 */
import type { AttachmentFormat } from "./formats.ts";

/** A pipeline's shaders and what of its state decides the code. */
export interface ShaderPair {
  readonly name: string;
  /** GLSL without its version line. */
  readonly vertex: string;
  readonly fragment: string;
  /** Formats of the colour attachments. */
  readonly targets: readonly AttachmentFormat[];
  /** Samples of a pixel; 1 when left out. */
  readonly samples?: number;
  /** Topology of points instead of triangles. */
  readonly points?: boolean;
}

const POSITION = "layout(location = 0) in vec4 position;\n";
/** A vertex shader that passes a position and one more attribute, four components of each. */
const PASS = `${POSITION}layout(location = 1) in vec4 value;
layout(location = 0) out vec4 passed;
void main() { gl_Position = position; passed = value; }`;
/** The same with three, in two ways. */
const PASS3 = `${POSITION}layout(location = 1) in vec4 value;
layout(location = 0) out vec4 a;
layout(location = 1) out vec2 b;
layout(location = 2) flat out ivec2 c;
void main() { gl_Position = position; a = value; b = value.zw * position.xy; c = ivec2(value.xy) + gl_VertexIndex; }`;
const UNIFORMS =
  `layout(set = 0, binding = 0) uniform Block { mat4 matrix; vec4 color; ivec4 numbers; float limit; } block;
`;

const fragment = (body: string, declarations = ""): string =>
  `layout(location = 0) in vec4 passed;
layout(location = 0) out vec4 color;
${declarations}void main() { ${body} }`;
const pair = (
  name: string,
  fragmentSource: string,
  targets: readonly AttachmentFormat[] = ["rgba8"],
  more: Partial<ShaderPair> = {},
): ShaderPair => ({ name, vertex: PASS, fragment: fragmentSource, targets, ...more });

/** A fragment shader of integers. */
const integers = (type: string, count: number, body: string) =>
  `layout(location = 0) in vec4 passed;
layout(location = 0) out ${count === 1 ? type : `${type[0] === "u" ? "u" : "i"}vec${count}`} color;
void main() { ${body} }`;

/** All pairs. */
export const PAIRS: readonly ShaderPair[] = [
  pair("copy", fragment("color = passed;")),
  pair("copy_float16", fragment("color = passed;"), ["rgba16f"]),
  pair("copy_float32", fragment("color = passed;"), ["rgba32f"]),
  pair("copy_r32", fragment("color = passed;"), ["r32f"]),
  pair("copy_rg32", fragment("color = passed;"), ["rg32f"]),
  pair("copy_unorm16", fragment("color = passed;"), ["rgba16"]),
  pair("copy_snorm16", fragment("color = passed * 2.0 - 1.0;"), ["rgba16s"]),
  pair("unsigned8", integers("uint", 4, "color = uvec4(passed * 200.0);"), ["rgba8ui"]),
  pair("signed8", integers("int", 4, "color = ivec4(passed * 100.0) - 50;"), ["rgba8i"]),
  pair("unsigned32", integers("uint", 4, "color = uvec4(floatBitsToUint(passed));"), ["rgba32ui"]),
  pair("signed32_one", integers("int", 1, "color = int(passed.x) / 3;"), ["r32i"]),
  pair("unsigned32_two", integers("uint", 2, "color = uvec2(passed.xy) % 7u;"), ["rg32ui"]),
  pair(
    "targets",
    `layout(location = 0) in vec4 passed;
layout(location = 0) out vec4 a; layout(location = 1) out uvec4 b; layout(location = 2) out vec4 c; layout(location = 3) out ivec2 d;
void main() { a = passed; b = uvec4(passed); c = passed.wzyx; d = ivec2(passed.xy); }`,
    ["rgba8", "rgba32ui", "rgba16f", "rg32i"],
  ),
  {
    name: "three_ways",
    vertex: PASS3,
    fragment: `layout(location = 0) in vec4 a; layout(location = 1) in vec2 b; layout(location = 2) flat in ivec2 c;
layout(location = 0) out vec4 color;
void main() { color = a + vec4(b, vec2(c)); }`,
    targets: ["rgba16f"],
  },
  {
    name: "linear",
    vertex: `${POSITION}layout(location = 0) noperspective out vec3 v;
void main() { gl_Position = position; v = position.yzw * 0.5; }`,
    fragment: `layout(location = 0) noperspective in vec3 v; layout(location = 0) out vec4 color;
void main() { color = vec4(v, 1.0); }`,
    targets: ["rgba16f"],
  },
  {
    name: "centroid",
    vertex: `${POSITION}layout(location = 0) centroid out vec4 v; layout(location = 1) out vec2 w;
void main() { gl_Position = position; v = position.wzyx; w = position.xy; }`,
    fragment:
      `layout(location = 0) centroid in vec4 v; layout(location = 1) in vec2 w; layout(location = 0) out vec4 color;
void main() { color = v + vec4(w, w); }`,
    targets: ["rgba16f"],
    samples: 4,
  },
  {
    name: "sample",
    vertex: `${POSITION}layout(location = 0) sample out vec4 v;
void main() { gl_Position = position; v = position * 2.0; }`,
    fragment: `layout(location = 0) sample in vec4 v; layout(location = 0) out vec4 color;
void main() { color = v; }`,
    targets: ["rgba8"],
    samples: 4,
  },
  pair("interpolate_centroid", fragment("color = interpolateAtCentroid(passed) - passed;"), ["rgba16f"], {
    samples: 4,
  }),
  pair("interpolate_sample", fragment("color = interpolateAtSample(passed, 0);"), ["rgba16f"], { samples: 4 }),
  pair("discard", fragment("if (passed.x < 0.5) discard; color = passed;")),
  pair("discard_late", fragment("color = passed * passed; if (color.x > color.y) discard;")),
  pair("discard_quads", fragment("if (passed.x < 0.5) discard; color = vec4(dFdx(passed.xy), dFdy(passed.zw));")),
  pair("demote", fragment("if (passed.y > passed.z) demote; color = dFdx(passed);"), ["rgba16f"]),
  pair(
    "derivatives",
    fragment("color = vec4(dFdxFine(passed.x), dFdyFine(passed.y), dFdxCoarse(passed.z), dFdyCoarse(passed.w));"),
    ["rgba16f"],
  ),
  pair("widths", fragment("color = fwidth(passed);"), ["rgba16f"]),
  pair("depth", fragment("color = passed; gl_FragDepth = passed.z * 0.5;")),
  pair(
    "depth_less",
    fragment(
      "color = passed; gl_FragDepth = gl_FragCoord.z * passed.x;",
      "layout(depth_less) out float gl_FragDepth;\n",
    ),
  ),
  pair("sample_mask", fragment("color = passed; gl_SampleMask[0] = int(passed.x * 15.0);"), ["rgba8"], { samples: 4 }),
  pair("sample_mask_in", fragment("color = vec4(gl_SampleMaskIn[0] & 3, passed.xyz);"), ["rgba16f"], { samples: 4 }),
  pair("sample_id", fragment("color = vec4(gl_SampleID, passed.xyz);"), ["rgba16f"], { samples: 4 }),
  pair("position", fragment("color = gl_FragCoord + passed;"), ["rgba32f"]),
  pair("front_face", fragment("color = gl_FrontFacing ? passed : passed.wzyx;")),
  pair(
    "early_tests",
    fragment(
      "color = passed; atomicAdd(counters.count[0], 1u);",
      `layout(early_fragment_tests) in;
layout(set = 0, binding = 1) buffer Counters { uint count[]; } counters;
`,
    ),
  ),
  pair(
    "store",
    fragment(
      "color = passed; data.values[int(gl_FragCoord.x)] = passed.x;",
      `layout(set = 0, binding = 1) buffer Data { float values[]; } data;
`,
    ),
  ),
  pair(
    "load",
    fragment(
      "color = passed * data.values[int(gl_FragCoord.x) & 63];",
      `layout(set = 0, binding = 1) readonly buffer Data { vec4 values[]; } data;
`,
    ),
  ),
  pair("uniforms", fragment("color = passed * block.color + float(block.numbers.y);", UNIFORMS)),
  pair(
    "uniform_branch",
    fragment("if (block.numbers.x > 3) color = passed * 2.0; else color = dFdx(passed);", UNIFORMS),
  ),
  pair(
    "push",
    fragment(
      "color = passed * constants.scale.x + constants.scale.w;",
      `layout(push_constant) uniform Constants { vec4 scale; } constants;
`,
    ),
  ),
  pair(
    "branch",
    fragment("color = passed.x > passed.y ? sqrt(passed) : passed.yxwz * 3.0; if (color.x > 2.0) color.y += 1.0;"),
  ),
  pair("loop", fragment("color = vec4(0.0); for (int i = 0; i < int(passed.x); i++) color += passed * float(i);")),
  pair(
    "uniform_loop",
    fragment(
      "color = vec4(0.0); for (int i = 0; i < block.numbers.x; i++) color = color * passed + block.color;",
      UNIFORMS,
    ),
  ),
  pair(
    "integers",
    fragment(
      "ivec4 i = ivec4(passed * 255.0); i = (i << 2) ^ (i >> 1); color = vec4(bitfieldReverse(i) & 0xffff) / 65535.0;",
    ),
  ),
  pair("halves", fragment("vec2 h = unpackHalf2x16(packHalf2x16(passed.xy)); color = vec4(h, passed.zw);")),
  pair(
    "texture",
    fragment("color = texture(image, passed.xy);", "layout(set = 0, binding = 1) uniform sampler2D image;\n"),
  ),
  pair(
    "texture_lod",
    fragment("color = textureLod(image, passed.xy, 0.0);", "layout(set = 0, binding = 1) uniform sampler2D image;\n"),
  ),
  pair(
    "texture_fetch",
    fragment(
      "color = texelFetch(image, ivec2(passed.xy), 0);",
      "layout(set = 0, binding = 1) uniform sampler2D image;\n",
    ),
  ),
  pair(
    "texture_shadow",
    fragment(
      "color = vec4(texture(image, passed.xyz));",
      "layout(set = 0, binding = 1) uniform sampler2DShadow image;\n",
    ),
  ),
  pair(
    "lighting",
    fragment(
      "vec3 n = normalize(passed.xyz); float d = max(dot(n, block.color.xyz), 0.0); color = vec4(vec3(d) + pow(d, 8.0), 1.0);",
      UNIFORMS,
    ),
  ),
  {
    name: "transform",
    vertex: `${POSITION}${UNIFORMS}layout(location = 1) in vec3 normal; layout(location = 0) out vec4 passed;
void main() { gl_Position = block.matrix * position; passed = vec4(mat3(block.matrix) * normal, block.limit); }`,
    fragment: fragment("color = passed;"),
    targets: ["rgba8"],
  },
  {
    name: "instances",
    vertex: `${POSITION}layout(location = 0) flat out vec4 passed;
void main() { gl_Position = position + vec4(gl_InstanceIndex, gl_VertexIndex, 0, 0); passed = vec4(gl_InstanceIndex & 3); }`,
    fragment: `layout(location = 0) flat in vec4 passed; layout(location = 0) out vec4 color;
void main() { color = passed; }`,
    targets: ["rgba8"],
  },
  {
    name: "vertex_integers",
    vertex: `${POSITION}layout(location = 1) in uvec4 value; layout(location = 0) flat out uvec4 v;
void main() { gl_Position = position; v = value * 3u + uint(gl_VertexIndex); }`,
    fragment: `layout(location = 0) flat in uvec4 v; layout(location = 0) out uvec4 color;
void main() { color = v ^ 0x55u; }`,
    targets: ["rgba32ui"],
  },
  {
    name: "vertex_branch",
    vertex: `${POSITION}${UNIFORMS}layout(location = 0) out vec4 passed;
void main() {
  gl_Position = position;
  passed = vec4(0.0);
  if (position.x > block.limit) { for (int i = 0; i < block.numbers.z; i++) passed += position * float(i); }
  else passed = position.yxwz;
}`,
    fragment: fragment("color = passed;"),
    targets: ["rgba8"],
  },
  {
    name: "vertex_buffer",
    vertex:
      `layout(set = 0, binding = 2) readonly buffer Data { vec4 values[]; } data; layout(location = 0) out vec4 passed;
void main() { gl_Position = data.values[gl_VertexIndex]; passed = data.values[gl_VertexIndex + 1]; }`,
    fragment: fragment("color = passed;"),
    targets: ["rgba8"],
  },
  {
    name: "clip",
    vertex:
      `${POSITION}layout(location = 0) out vec4 passed; out float gl_ClipDistance[3]; out float gl_CullDistance[1];
void main() {
  gl_Position = position; passed = position;
  gl_ClipDistance[0] = position.x; gl_ClipDistance[1] = position.y; gl_ClipDistance[2] = 1.0 - position.z; gl_CullDistance[0] = position.w;
}`,
    fragment: fragment("color = passed;"),
    targets: ["rgba8"],
  },
  {
    name: "points",
    vertex: `${POSITION}layout(location = 0) out vec4 passed;
void main() { gl_Position = position; passed = position; gl_PointSize = 1.0 + abs(position.z); }`,
    fragment: fragment("color = passed;"),
    targets: ["rgba8"],
    points: true,
  },
  {
    name: "many",
    vertex: `${POSITION}${
      Array.from({ length: 12 }, (_, i) => `layout(location = ${i}) out vec4 v${i};\n`).join("")
    }void main() { gl_Position = position; ${
      Array.from({ length: 12 }, (_, i) => `v${i} = position * ${i}.5 + ${i}.0;`).join(" ")
    } }`,
    fragment: `${
      Array.from({ length: 12 }, (_, i) => `layout(location = ${i}) in vec4 v${i};\n`).join("")
    }layout(location = 0) out vec4 color;
void main() { color = ${Array.from({ length: 12 }, (_, i) => `v${i}`).join(" * ")}; }`,
    targets: ["rgba16f"],
  },
  {
    name: "depth_only",
    vertex: PASS,
    fragment: "void main() {}",
    targets: [],
  },
];
