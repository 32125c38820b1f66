// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shapes and points for the module's tests.
use crate::Vec3;

/// A triangle mesh made by code.
#[derive(Clone)]
pub struct TestMesh {
    pub vertices: Vec<Vec3>,
    pub triangles: Vec<[u32; 3]>,
}

impl TestMesh {
    /// Maps all vertices.
    pub fn map_vertices(mut self, mut f: impl FnMut(Vec3) -> Vec3) -> Self {
        self.vertices.iter_mut().for_each(|v| *v = f(*v));
        self
    }
    /// Appends another shape to the mesh.
    pub fn merge(mut self, other: &TestMesh) -> Self {
        let base = self.vertices.len() as u32;
        self.vertices.extend(&other.vertices);
        self.triangles
            .extend(other.triangles.iter().map(|t| t.map(|v| v + base)));
        self
    }
    /// Reverses the orientation of all triangles.
    pub fn flip_triangles(mut self) -> Self {
        self.triangles.iter_mut().for_each(|t| t.swap(1, 2));
        self
    }
    /// Returns the signed volume, by tetrahedra from the origin.
    pub fn signed_volume(&self) -> f64 {
        let corner = |v: u32| self.vertices[v as usize];
        self.triangles
            .iter()
            .map(|&[a, b, c]| corner(a).dot(&corner(b).cross(&corner(c))) / 6.0)
            .sum()
    }
}

/// Builds a grid of `n` by `m` quads, each cut in two. It is closed along `m`, and along `n` if `wrap` is set.
fn lathe(n: u32, m: u32, point: impl Fn(f64, f64) -> Vec3, wrap: bool) -> TestMesh {
    let rows = if wrap { n } else { n + 1 };
    let vertices = (0..rows)
        .flat_map(|i| (0..m).map(move |j| (i, j)))
        .map(|(i, j)| point(i as f64 / n as f64, j as f64 / m as f64))
        .collect();
    let mut triangles = Vec::new();
    for i in 0..n {
        for j in 0..m {
            let at = |i: u32, j: u32| (i % rows) * m + j % m;
            let (a, b, c, d) = (at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
            triangles.push([a, b, c]);
            triangles.push([a, c, d]);
        }
    }
    TestMesh {
        vertices,
        triangles,
    }
}

/// A sphere by latitude and longitude, poles included once.
pub fn sphere(radius: f64, n: u32) -> TestMesh {
    use std::f64::consts::PI;
    let m = 2 * n;
    let mut vertices = vec![Vec3::new(0.0, 0.0, radius)];
    for i in 1..n {
        for j in 0..m {
            let (theta, phi) = (PI * i as f64 / n as f64, 2.0 * PI * j as f64 / m as f64);
            vertices.push(
                Vec3::new(
                    theta.sin() * phi.cos(),
                    theta.sin() * phi.sin(),
                    theta.cos(),
                ) * radius,
            );
        }
    }
    vertices.push(Vec3::new(0.0, 0.0, -radius));
    let south = vertices.len() as u32 - 1;
    let at = |i: u32, j: u32| 1 + (i - 1) * m + j % m;
    let mut triangles = Vec::new();
    for j in 0..m {
        triangles.push([0, at(1, j), at(1, j + 1)]);
    }
    for i in 1..n - 1 {
        for j in 0..m {
            let (a, b, c, d) = (at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
            triangles.push([a, b, c]);
            triangles.push([a, c, d]);
        }
    }
    for j in 0..m {
        triangles.push([south, at(n - 1, j + 1), at(n - 1, j)]);
    }
    TestMesh {
        vertices,
        triangles,
    }
}

/// A torus about the z axis.
pub fn torus(ring: f64, tube: f64, n: u32) -> TestMesh {
    use std::f64::consts::TAU;
    lathe(
        n,
        n / 2,
        |u, v| {
            let (u, v) = (u * TAU, v * TAU);
            let r = ring + tube * v.cos();
            Vec3::new(r * u.cos(), r * u.sin(), tube * v.sin())
        },
        true,
    )
}

/// An axis-aligned box from −half to half.
pub fn cuboid(half: Vec3) -> TestMesh {
    let vertices = (0..8u32)
        .map(|c| {
            let sign = |bit: u32| if c >> bit & 1 == 1 { 1.0 } else { -1.0 };
            Vec3::new(sign(0), sign(1), sign(2)).component_mul(&half)
        })
        .collect();
    let quads = [
        [0, 2, 3, 1],
        [4, 5, 7, 6],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 4, 6, 2],
        [1, 3, 7, 5],
    ];
    let triangles = quads
        .iter()
        .flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]])
        .collect();
    TestMesh {
        vertices,
        triangles,
    }
}

/// A flat n by n patch of the plane z = 0 with side 2.
pub fn plane(n: u32) -> TestMesh {
    let at = |i: u32, j: u32| i * (n + 1) + j;
    let place = |i: u32| 2.0 * i as f64 / n as f64 - 1.0;
    let vertices = (0..=n)
        .flat_map(|i| (0..=n).map(move |j| (i, j)))
        .map(|(i, j)| Vec3::new(place(i), place(j), 0.0))
        .collect();
    let triangles = (0..n)
        .flat_map(|i| (0..n).map(move |j| (i, j)))
        .flat_map(|(i, j)| {
            let (a, b, c, d) = (at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
            [[a, b, c], [a, c, d]]
        })
        .collect();
    TestMesh {
        vertices,
        triangles,
    }
}

/// A Moebius band of unit radius and half width 0.3.
pub fn moebius(n: u32) -> TestMesh {
    use std::f64::consts::TAU;
    let vertices = (0..n)
        .flat_map(|i| [-0.3, 0.3].map(|s| (i, s)))
        .map(|(i, s)| {
            let u = TAU * i as f64 / n as f64;
            let r = 1.0 + s * (u / 2.0).cos();
            Vec3::new(r * u.cos(), r * u.sin(), s * (u / 2.0).sin())
        })
        .collect();
    let triangles = (0..n)
        .flat_map(|i| {
            let (a, b) = (2 * i, 2 * i + 1);
            let (c, d) = if i + 1 < n {
                (2 * i + 2, 2 * i + 3)
            } else {
                (1, 0)
            };
            [[a, b, d], [a, d, c]]
        })
        .collect();
    TestMesh {
        vertices,
        triangles,
    }
}

/// Generator of pseudorandom numbers in [0, 1), from a seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let mut x = self.0;
        x ^= x >> 33;
        x = x.wrapping_mul(0xff51afd7ed558ccd);
        x ^= x >> 33;
        (x >> 11) as f64 / (1u64 << 53) as f64
    }
    /// Returns the numbers 0 to n − 1 in a random order.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, (self.next() * (i + 1) as f64) as usize);
        }
        order
    }
}

/// Points in a cube of half width `half`.
pub fn random_points(n: usize, half: f64, seed: u64) -> Vec<Vec3> {
    let mut random = Random(seed);
    (0..n)
        .map(|_| Vec3::from_fn(|_, _| (2.0 * random.next() - 1.0) * half))
        .collect()
}

/// Two cones on one rim, made of needles from the rim to both tips.
pub fn spindle(n: u32) -> TestMesh {
    let angle = |i: u32| f64::from(i) * 2.0 * std::f64::consts::PI / f64::from(n);
    let rim = (0..n).map(|i| Vec3::new(angle(i).cos(), angle(i).sin(), 0.0));
    let sides = (0..n).flat_map(|i| {
        let k = (i + 1) % n;
        [[i, k, n], [k, i, n + 1]]
    });
    TestMesh {
        vertices: rim.chain([Vec3::z(), -Vec3::z()]).collect(),
        triangles: sides.collect(),
    }
}
