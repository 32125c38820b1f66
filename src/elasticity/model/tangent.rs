// SPDX-License-Identifier: MIT OR Apache-2.0
//! Derivatives of stresses, and the blocks of stiffness matrices that they yield.

use crate::{Mat3, Vec3};

/// Derivative of the stress, prepared for the 3x3 block of two corners with gradients a and b:
/// `K_ik = Σ_jl a_j ∂P_ij/∂H_kl b_l`.
#[derive(Debug, Clone)]
pub(in crate::elasticity) enum StressTangent {
    Linear {
        lame: f64,
        shear: f64,
    },
    Kirchhoff {
        lame: f64,
        shear: f64,
        /// Second Piola-Kirchhoff stress.
        stress: Mat3,
        /// F Fᵀ.
        square: Mat3,
        f: Mat3,
    },
    NeoHookean {
        spring: f64,
        slope: f64,
        bulk: f64,
        pressure: f64,
        cofactor: Mat3,
        f: Mat3,
    },
    /// Derivative in the frame of the singular vectors.
    Principal {
        u: Mat3,
        v: Mat3,
        block: Mat3,
        own: Mat3,
        crossed: Mat3,
    },
}

/// Gradient g of a corner's function with its products with the tangent, shared by all pairs of the corner.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::elasticity) struct TangentProducts {
    gradient: Vec3,
    /// F g; in the frame of the singular vectors Vᵀ g.
    carried: Vec3,
    /// cof F g of the neo-Hookean form, σ g of St. Venant-Kirchhoff's.
    other: Vec3,
}

impl StressTangent {
    /// Prepares the gradient of a corner's function for [`add_blocks`](Self::add_blocks).
    #[inline]
    fn prepare_gradient(&self, gradient: &Vec3) -> TangentProducts {
        let (carried, other) = match self {
            Self::Linear { .. } => (*gradient, *gradient),
            Self::Kirchhoff { stress, f, .. } => (f * gradient, stress * gradient),
            Self::NeoHookean { cofactor, f, .. } => (f * gradient, cofactor * gradient),
            Self::Principal { v, .. } => (v.tr_mul(gradient), *gradient),
        };
        TangentProducts {
            gradient: *gradient,
            carried,
            other,
        }
    }

    /// Adds `volume` times the blocks of all pairs of corners a ≤ b to `blocks`; `turned` is scratch space for the
    /// corners.
    #[inline]
    pub fn add_blocks(
        &self,
        gradients: &[Vec3],
        volume: f64,
        turned: &mut [TangentProducts],
        blocks: &mut [Mat3],
    ) {
        for (turned, g) in turned.iter_mut().zip(gradients) {
            *turned = self.prepare_gradient(g);
        }
        // Branch on the kind once for all pairs.
        match self {
            Self::Linear { lame, shear } => add_pair_blocks(turned, blocks, |a, b| {
                let dot = a.gradient.dot(&b.gradient);
                (a.gradient * (b.gradient * *lame).transpose()
                    + b.gradient * (a.gradient * *shear).transpose()
                    + Mat3::from_diagonal_element(shear * dot))
                    * volume
            }),
            Self::Kirchhoff {
                lame,
                shear,
                square,
                ..
            } => add_pair_blocks(turned, blocks, |a, b| {
                let dot = a.gradient.dot(&b.gradient);
                (a.carried * (b.carried * *lame).transpose()
                    + b.carried * (a.carried * *shear).transpose()
                    + square * (shear * dot)
                    + Mat3::from_diagonal_element(a.gradient.dot(&b.other)))
                    * volume
            }),
            Self::NeoHookean {
                spring,
                slope,
                bulk,
                pressure,
                f,
                ..
            } => {
                let (slope, bulk) = (slope * volume, bulk * volume);
                let (spring, pressed) = (spring * volume, f * (-pressure * volume));
                add_pair_blocks(turned, blocks, |a, b| {
                    let (carried, other) = (b.carried * slope, b.other * bulk);
                    let [x, y, z] = (pressed * a.gradient.cross(&b.gradient)).into();
                    let straight = spring * a.gradient.dot(&b.gradient);
                    let column =
                        |c: usize, own: Vec3| a.carried * carried[c] + a.other * other[c] + own;
                    Mat3::from_columns(&[
                        column(0, Vec3::new(straight, z, -y)),
                        column(1, Vec3::new(-z, straight, x)),
                        column(2, Vec3::new(y, -x, straight)),
                    ])
                });
            }
            Self::Principal {
                u,
                block,
                own,
                crossed,
                ..
            } => add_pair_blocks(turned, blocks, |a, b| {
                let k = principal_block((block, own, crossed), a.carried, b.carried);
                u * k * u.transpose() * volume
            }),
        }
    }
}

/// Returns the block of two gradients in the frame of the singular vectors.
#[inline]
fn principal_block((block, own, crossed): (&Mat3, &Mat3, &Mat3), a: Vec3, b: Vec3) -> Mat3 {
    Mat3::from_fn(|i, k| {
        let straight = block[(i, k)] * a[i] * b[k];
        if i == k {
            let across = |j: usize| own[(i, j)] * a[j] * b[j];
            straight + across((i + 1) % 3) + across((i + 2) % 3)
        } else {
            straight + crossed[(i, k)] * a[k] * b[i]
        }
    })
}

/// Adds the blocks of all pairs of corners a ≤ b.
#[inline]
fn add_pair_blocks(
    turned: &[TangentProducts],
    blocks: &mut [Mat3],
    block: impl Fn(&TangentProducts, &TangentProducts) -> Mat3,
) {
    let mut blocks = blocks.iter_mut();
    for (i, a) in turned.iter().enumerate() {
        for (b, sum) in turned[i..].iter().zip(&mut blocks) {
            *sum += block(a, b);
        }
    }
}
