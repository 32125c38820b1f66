// SPDX-License-Identifier: MIT OR Apache-2.0
// The modal warp, with the formulas of `turn.rs`, `cpu.rs` and `model.rs`.
//
// `vertices_f32` and `vertices_f16` read modes [block][mode][6][16] and write the output, or the displacements of
// nodes four wide; `embedded` moves a surface with those. Sine and cosine are polynomials: the built-in ones may
// be off by 5e-4.

struct Chunk {
    // Vertices or nodes of this chunk, modes, weights per row, and floats from one result to the next. A stride of
    // 4 stands for nodes, whose displacements are written whatever `shown` is.
    points: u32,
    modes: u32,
    corners: u32,
    stride: u32,
}

struct WarpInput {
    // Map from metres about the result's origin to the output: the axes, and the image of the origin.
    axes: mat3x3<f32>,
    origin: vec3<f32>,
    // The soft limit, metres; negative: no limit.
    limit: f32,
    // 0: displacements, 1: positions at rest, 2: posed positions, 3: offsets from the skin.
    shown: u32,
    // For shape and rotation of each mode; at an offset of 72 bytes.
    amplitudes: array<vec2<f32>>,
}

struct Pair {
    bone: u32,
    weight: f32,
}

@group(0) @binding(0) var<uniform> chunk: Chunk;
@group(0) @binding(1) var<storage, read> frame: WarpInput;
@group(0) @binding(2) var<storage, read> singles: array<f32>;
@group(0) @binding(2) var<storage, read> halves: array<u32>;
@group(0) @binding(2) var<storage, read> nodes: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> rows: array<u32>;
@group(0) @binding(4) var<storage, read> rest: array<f32>;
@group(0) @binding(5) var<storage, read> offsets: array<u32>;
@group(0) @binding(6) var<storage, read> pairs: array<Pair>;
@group(0) @binding(7) var<storage, read> bones: array<mat4x4<f32>>;
@group(0) @binding(8) var<storage, read_write> results: array<f32>;

fn sine_and_cosine(unbounded: f32) -> vec2<f32> {
    let angle = min(unbounded, 1048576.0);
    let turns = round(angle * 0.636619772);
    let quarter = u32(turns);
    let r = ((angle - turns * 1.5703125) - turns * 4.837513e-4) - turns * 7.54979e-8;
    let z = r * r;
    let s = r + r * z * (-0.16666655 + z * (8.332161e-3 + z * -1.9515296e-4));
    let c = 1.0 - 0.5 * z + z * z * (4.1666646e-2 + z * (-1.3887316e-3 + z * 2.4433157e-5));
    var both = select(vec2(s, c), vec2(c, s), (quarter & 1u) == 1u);
    both.x = select(both.x, -both.x, (quarter & 2u) == 2u);
    both.y = select(both.y, -both.y, ((quarter + 1u) & 2u) == 2u);
    return both;
}

fn turn(a: vec3<f32>, w: vec3<f32>) -> vec3<f32> {
    let x = dot(w, w);
    var first = 0.5 + x * (-1.0 / 24.0 + x * (1.0 / 720.0 + x * (-1.0 / 40320.0 + x * (1.0 / 3628800.0))));
    var second = 1.0 / 6.0
        + x * (-1.0 / 120.0 + x * (1.0 / 5040.0 + x * (-1.0 / 362880.0 + x * (1.0 / 39916800.0))));
    if x >= 1.0 {
        let angle = sqrt(x);
        let both = sine_and_cosine(angle);
        first = (1.0 - both.y) / x;
        second = (angle - both.x) / (angle * x);
    }
    let once = cross(w, a);
    return a + first * once + second * cross(w, once);
}

// Limits a distance from the skin softly.
fn limited(away: vec3<f32>) -> vec3<f32> {
    let free = frame.limit * (2.0 / 3.0);
    let d = length(away);
    if frame.limit <= 0.0 || !(d > free) {
        return away;
    }
    let left = frame.limit - free;
    let tanh = 1.0 - 2.0 / (exp(min(2.0 * (d - free) / left, 40.0)) + 1.0);
    return away * ((free + left * tanh) / d);
}

fn finish(vertex: u32, u: vec3<f32>) {
    var p = u;
    if frame.shown != 0u && chunk.stride == 3u {
        let x = vec3(rest[3u * vertex], rest[3u * vertex + 1u], rest[3u * vertex + 2u]);
        if frame.shown == 1u {
            p = x + u;
        } else {
            var map = mat4x4<f32>();
            for (var i = offsets[vertex]; i < offsets[vertex + 1u]; i += 1u) {
                map += bones[pairs[i].bone] * pairs[i].weight;
            }
            p = limited((map * vec4(u, 0.0)).xyz);
            if frame.shown == 2u {
                p += (map * vec4(x, 1.0)).xyz;
            }
        }
    }
    if chunk.stride == 3u {
        p = frame.origin + frame.axes * p;
    }
    let at = chunk.stride * vertex;
    results[at] = p.x;
    results[at + 1u] = p.y;
    results[at + 2u] = p.z;
}

@compute @workgroup_size(64)
fn vertices_f32(@builtin(global_invocation_id) id: vec3<u32>) {
    let vertex = id.x;
    if vertex >= chunk.points {
        return;
    }
    var at = (vertex / 16u) * chunk.modes * 96u + vertex % 16u;
    var a = vec3<f32>();
    var w = vec3<f32>();
    for (var mode = 0u; mode < chunk.modes; mode += 1u) {
        let q = frame.amplitudes[mode];
        a += q.x * vec3(singles[at], singles[at + 16u], singles[at + 32u]);
        w += q.y * vec3(singles[at + 48u], singles[at + 64u], singles[at + 80u]);
        at += 96u;
    }
    finish(vertex, turn(a, w));
}

// Two vertices an invocation, since a word holds two numbers.
@compute @workgroup_size(64)
fn vertices_f16(@builtin(global_invocation_id) id: vec3<u32>) {
    let vertex = 2u * id.x;
    if vertex >= chunk.points {
        return;
    }
    var at = (id.x / 8u) * chunk.modes * 48u + id.x % 8u;
    var a = mat3x2<f32>();
    var w = mat3x2<f32>();
    for (var mode = 0u; mode < chunk.modes; mode += 1u) {
        let q = frame.amplitudes[mode];
        a += q.x * mat3x2(
            unpack2x16float(halves[at]),
            unpack2x16float(halves[at + 8u]),
            unpack2x16float(halves[at + 16u]),
        );
        w += q.y * mat3x2(
            unpack2x16float(halves[at + 24u]),
            unpack2x16float(halves[at + 32u]),
            unpack2x16float(halves[at + 40u]),
        );
        at += 48u;
    }
    finish(vertex, turn(vec3(a[0].x, a[1].x, a[2].x), vec3(w[0].x, w[1].x, w[2].x)));
    if vertex + 1u < chunk.points {
        finish(vertex + 1u, turn(vec3(a[0].y, a[1].y, a[2].y), vec3(w[0].y, w[1].y, w[2].y)));
    }
}

@compute @workgroup_size(64)
fn embedded(@builtin(global_invocation_id) id: vec3<u32>) {
    let vertex = id.x;
    if vertex >= chunk.points {
        return;
    }
    let at = 2u * chunk.corners * vertex;
    var u = vec3<f32>();
    for (var k = 0u; k < chunk.corners; k += 1u) {
        u += bitcast<f32>(rows[at + chunk.corners + k]) * nodes[rows[at + k]].xyz;
    }
    finish(vertex, u);
}
