// SPDX-License-Identifier: MIT OR Apache-2.0
//! The space in which results leave a kernel: an affine map of the world's metres, applied as each vertex is written.
//!
//! Kernels compute in f32 about an origin near the body. The map is combined with that origin in f64, so that
//! positions keep the precision of the body's size, wherever the body and the other space's origin are. Vectors
//! (offsets, displacements, velocities) take the linear part alone.

use super::KernelError;
use super::limit::MapColumns;
use crate::skeleton::Affine;
use crate::{Mat3, Vec3};

/// Output space: the world's metres, or an affine map of them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OutputSpace {
    /// Map from the world. `None`: the world itself, with results written unscaled.
    from_world: Option<Affine>,
    /// `true`: results are added to the output.
    added: bool,
}

impl OutputSpace {
    /// The world's metres.
    pub const WORLD: Self = Self {
        from_world: None,
        added: false,
    };

    /// Selects another space by the map from the world's metres into it; it may flatten or mirror.
    ///
    /// # Errors
    /// [`KernelError::Target`]: numbers that are not finite, or beyond 1e12.
    pub fn new(from_world: Affine) -> Result<Self, KernelError> {
        if !from_world.is_finite() {
            return Err(KernelError::Target);
        }
        Ok(Self {
            from_world: Some(from_world),
            added: false,
        })
    }

    /// Returns the same space with all results multiplied by a number: a share of an offset, a difference over time.
    #[must_use]
    pub fn with_factor(self, factor: f64) -> Self {
        let map = self.from_world.unwrap_or(Affine::identity());
        Self {
            from_world: Some(Affine {
                linear: map.linear * factor,
                translation: map.translation * factor,
            }),
            ..self
        }
    }

    /// Returns the same space with its origin at a point of the world.
    #[must_use]
    pub fn with_origin(self, origin: [f32; 3]) -> Self {
        let linear = self.from_world.map_or(Mat3::identity(), |map| map.linear);
        let translation = -(linear * Vec3::from(origin.map(f64::from)));
        Self {
            from_world: Some(Affine {
                linear,
                translation,
            }),
            ..self
        }
    }

    /// Returns the same space with results added to the output.
    #[must_use]
    pub fn with_addition(self) -> Self {
        Self {
            added: true,
            ..self
        }
    }

    /// Returns whether results are added to the output.
    pub fn adds_results(&self) -> bool {
        self.added
    }

    /// Returns whether results are in the world's metres, as computed.
    pub fn is_world(&self) -> bool {
        self.from_world.is_none()
    }

    /// Returns the image of a point.
    pub fn map_point(&self, place: Vec3) -> Vec3 {
        self.from_world.map_or(place, |map| map.apply(place))
    }

    /// Returns the image of a vector.
    pub(crate) fn map_vector(&self, vector: Vec3) -> Vec3 {
        self.from_world.map_or(vector, |map| map.linear * vector)
    }

    /// Returns the form in which positions about an origin in the world are written.
    pub(super) fn position_form(&self, origin: [f32; 3]) -> OutputForm {
        let about = |map: &Affine| columns(map, Vec3::from(origin.map(f64::from)));
        match &self.from_world {
            None if !self.added => OutputForm::At(origin),
            None => OutputForm::Sum(about(&Affine::identity())),
            Some(map) if !self.added => OutputForm::from_map(map, about(map)),
            Some(map) => OutputForm::Sum(about(map)),
        }
    }

    /// Returns the form in which vectors are written.
    pub(super) fn vector_form(&self) -> OutputForm {
        let linear = |map: &Affine| {
            let translation = Vec3::zeros();
            columns(
                &Affine {
                    translation,
                    ..*map
                },
                Vec3::zeros(),
            )
        };
        match &self.from_world {
            None if !self.added => OutputForm::Plain,
            None => OutputForm::Sum(linear(&Affine::identity())),
            Some(map) if !self.added => match OutputForm::from_map(map, linear(map)) {
                OutputForm::At(_) => OutputForm::Plain,
                form => form,
            },
            Some(map) => OutputForm::Sum(linear(map)),
        }
    }
}

/// Returns the map about an origin: its linear part, and the image of the origin.
fn columns(map: &Affine, origin: Vec3) -> MapColumns {
    let wide = |v: Vec3| [v.x as f32, v.y as f32, v.z as f32, 0.0];
    let column = |k: usize| wide(map.linear.column(k).into_owned());
    [column(0), column(1), column(2), wide(map.apply(origin))]
}

/// Form in which a kernel writes its results about its origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum OutputForm {
    /// Unchanged.
    Plain,
    /// A position in the world, about this origin.
    At([f32; 3]),
    /// A position in the world in other units: a scale, and the origin's image.
    Scaled(f32, [f32; 3]),
    /// A position or vector in another space.
    Mapped(MapColumns),
    /// A position or vector in another space, added to the output.
    Sum(MapColumns),
}

impl OutputForm {
    /// Returns the cheapest form of a map: most objects only move or scale.
    fn from_map(map: &Affine, columns: MapColumns) -> Self {
        let (scale, origin) = (map.linear[(0, 0)], first_three(columns[3]));
        match map.linear == scale * Mat3::identity() {
            true if scale == 1.0 => Self::At(origin),
            true => Self::Scaled(scale as f32, origin),
            false => Self::Mapped(columns),
        }
    }

    /// Returns the form as one map, for kernels of graphics devices, which have only that form.
    #[cfg(feature = "gpu")]
    pub(super) fn columns(&self) -> MapColumns {
        let by = |scale: f32, [x, y, z]: [f32; 3]| -> MapColumns {
            let axis = |k: usize| std::array::from_fn(|i| if i == k { scale } else { 0.0 });
            [axis(0), axis(1), axis(2), [x, y, z, 0.0]]
        };
        match *self {
            Self::Plain => by(1.0, [0.0; 3]),
            Self::At(origin) => by(1.0, origin),
            Self::Scaled(scale, origin) => by(scale, origin),
            Self::Mapped(columns) | Self::Sum(columns) => columns,
        }
    }
}

/// A [`OutputForm`] known at compile time.
pub(super) trait OutputWriter: Copy + Sync {
    /// Writes one position or vector.
    fn put(&self, out: &mut [f32], local: [f32; 3]);
}

/// Runs a loop with the form known at compile time.
macro_rules! with_form {
    ($form:expr, $put:ident => $work:expr) => {
        match $form {
            $crate::kernel::target::OutputForm::Plain => {
                let $put = $crate::kernel::target::PlainOutput;
                $work
            }
            $crate::kernel::target::OutputForm::At(origin) => {
                let $put = $crate::kernel::target::OffsetOutput(origin);
                $work
            }
            $crate::kernel::target::OutputForm::Scaled(scale, origin) => {
                let $put = $crate::kernel::target::ScaledOutput(scale, origin);
                $work
            }
            $crate::kernel::target::OutputForm::Mapped(columns) => {
                let $put = $crate::kernel::target::MappedOutput(columns);
                $work
            }
            $crate::kernel::target::OutputForm::Sum(columns) => {
                let $put = $crate::kernel::target::SummedOutput(columns);
                $work
            }
        }
    };
}
pub(super) use with_form;

/// See [`OutputForm::Plain`].
#[derive(Clone, Copy)]
pub(super) struct PlainOutput;
/// See [`OutputForm::At`].
#[derive(Clone, Copy)]
pub(super) struct OffsetOutput(pub [f32; 3]);
/// See [`OutputForm::Scaled`].
#[derive(Clone, Copy)]
pub(super) struct ScaledOutput(pub f32, pub [f32; 3]);
/// See [`OutputForm::Mapped`].
#[derive(Clone, Copy)]
pub(super) struct MappedOutput(pub MapColumns);
/// See [`OutputForm::Sum`].
#[derive(Clone, Copy)]
pub(super) struct SummedOutput(pub MapColumns);

impl OutputWriter for PlainOutput {
    #[inline(always)]
    fn put(&self, out: &mut [f32], local: [f32; 3]) {
        out.copy_from_slice(&local);
    }
}

impl OutputWriter for OffsetOutput {
    #[inline(always)]
    fn put(&self, out: &mut [f32], local: [f32; 3]) {
        let [x, y, z] = self.0;
        out.copy_from_slice(&[x + local[0], y + local[1], z + local[2]]);
    }
}

impl OutputWriter for ScaledOutput {
    #[inline(always)]
    fn put(&self, out: &mut [f32], local: [f32; 3]) {
        let Self(scale, [x, y, z]) = *self;
        let [a, b, c] = local.map(|l| scale * l);
        out.copy_from_slice(&[x + a, y + b, z + c]);
    }
}

impl OutputWriter for MappedOutput {
    #[inline(always)]
    fn put(&self, out: &mut [f32], local: [f32; 3]) {
        out.copy_from_slice(&first_three(wide_image(&self.0, local)));
    }
}

impl OutputWriter for SummedOutput {
    #[inline(always)]
    fn put(&self, out: &mut [f32], local: [f32; 3]) {
        let image = first_three(wide_image(&self.0, local));
        for (out, x) in out.iter_mut().zip(image) {
            *out += x;
        }
    }
}

/// Returns the image under a map, as wide as a register.
#[inline(always)]
fn wide_image([a, b, c, d]: &MapColumns, [x, y, z]: [f32; 3]) -> [f32; 4] {
    std::array::from_fn(|k| a[k] * x + b[k] * y + c[k] * z + d[k])
}

#[inline(always)]
fn first_three([x, y, z, _]: [f32; 4]) -> [f32; 3] {
    [x, y, z]
}

#[cfg(test)]
mod tests {
    use super::*;

    impl OutputForm {
        fn written_result(&self, local: [f32; 3]) -> [f32; 3] {
            let mut out = [0.0; 3];
            self.write(&mut out, local);
            out
        }

        fn write(&self, out: &mut [f32], local: [f32; 3]) {
            with_form!(*self, put => put.put(out, local));
        }
    }

    /// Returns a turn, a shear and a mirror, far away from both origins.
    fn map() -> Affine {
        Affine {
            linear: Mat3::new(0.0, -2.5, 0.3, 1.0, 0.1, 0.0, 0.0, 0.7, -4.0),
            translation: Vec3::new(2.4e5, -1.0e5, 3.9e5),
        }
    }

    /// Positions far from the origin keep the precision of the body.
    #[test]
    fn far_positions_keep_precision() {
        // The object stands where the body does, 1e5 m away, so that in its own space the body is near the origin.
        let there = Vec3::new(1e5, -3e4, 7e4);
        let linear = map().linear;
        let map = Affine {
            linear,
            translation: -(linear * there),
        };
        let origin = [1e5f32 + 0.5, -3e4, 7e4 - 0.25];
        let out = OutputSpace::new(map).unwrap().position_form(origin);
        for local in [[0.125f32, -0.75, 0.3], [1.0, 1.0, -1.0]] {
            let world = Vec3::from(origin.map(f64::from)) + Vec3::from(local.map(f64::from));
            let expected = map.apply(world);
            let got = Vec3::from(out.written_result(local).map(f64::from));
            assert!((got - expected).norm() < 2e-6, "{got} {expected}");
        }
    }

    /// Vectors are mapped by the linear part alone, times a factor.
    #[test]
    fn vectors_use_linear_part() {
        let v = [0.5f32, -0.25, 2.0];
        let expected = map().linear * Vec3::new(0.5, -0.25, 2.0) * 24.0;
        let got = OutputSpace::new(map())
            .unwrap()
            .with_factor(24.0)
            .vector_form()
            .written_result(v);
        assert!((Vec3::from(got.map(f64::from)) - expected).norm() < 1e-4);
        assert_eq!(OutputSpace::WORLD.vector_form().written_result(v), v);
        let only_moved = Affine {
            linear: Mat3::identity(),
            ..map()
        };
        assert_eq!(
            OutputSpace::new(only_moved).unwrap().vector_form(),
            OutputForm::Plain
        );
        assert_eq!(
            OutputSpace::WORLD
                .with_factor(2.0)
                .vector_form()
                .written_result(v),
            v.map(|x| 2.0 * x)
        );
    }

    /// A map to other units scales positions and vectors.
    #[test]
    fn units_scale_positions_and_vectors() {
        let units = Affine {
            linear: 100.0 * Mat3::identity(),
            translation: Vec3::new(-5e6, 1.0, 2.0),
        };
        let target = OutputSpace::new(units).unwrap();
        let (origin, local) = ([5e4f32, 0.5, -1.0], [0.25f32, -0.5, 1.5]);
        assert!(matches!(
            target.position_form(origin),
            OutputForm::Scaled(..)
        ));
        assert_eq!(
            target.position_form(origin).written_result(local),
            [25.0, 1.0, 52.0]
        );
        assert_eq!(
            target.vector_form().written_result(local),
            [25.0, -50.0, 150.0]
        );
        let mirrored = target.with_factor(-0.5);
        assert_eq!(
            mirrored.vector_form().written_result(local),
            [-12.5, 25.0, -75.0]
        );
    }

    /// In world space a position is the plain sum of origin and local part.
    #[test]
    fn world_target_skips_product() {
        let (origin, local) = ([300.1f32, -7.7, 1e4], [0.1f32, 0.2, -0.3]);
        let sum = std::array::from_fn(|k| origin[k] + local[k]);
        assert_eq!(
            OutputSpace::WORLD
                .position_form(origin)
                .written_result(local),
            sum
        );
    }

    /// A target that adds keeps the values that were there.
    #[test]
    fn added_keeps_existing_values() {
        let target = OutputSpace::new(map()).unwrap();
        let (v, mut out) = ([0.5f32, -0.25, 2.0], [1.0f32, 2.0, 3.0]);
        target.with_addition().vector_form().write(&mut out, v);
        let alone = target.vector_form().written_result(v);
        assert_eq!(out, [1.0 + alone[0], 2.0 + alone[1], 3.0 + alone[2]]);
        OutputSpace::WORLD
            .with_addition()
            .position_form([8.0; 3])
            .write(&mut out, [0.0; 3]);
        assert_eq!(out, [9.0 + alone[0], 10.0 + alone[1], 11.0 + alone[2]]);
    }

    /// Maps that are not finite or too large are refused, and a flat map is accepted.
    #[test]
    fn target_refuses_bad_maps() {
        for bad in [f64::NAN, f64::INFINITY, 1e13] {
            let mut map = map();
            map.linear[(1, 2)] = bad;
            assert_eq!(OutputSpace::new(map), Err(KernelError::Target));
        }
        // Flat is good enough to be looked at.
        let flat = Affine {
            linear: Mat3::zeros(),
            translation: Vec3::zeros(),
        };
        assert_eq!(
            OutputSpace::new(flat)
                .unwrap()
                .position_form([1.0; 3])
                .written_result([2.0; 3]),
            [0.0; 3]
        );
    }

    /// Only `OutputSpace::WORLD` counts as the world, and an identity map does not.
    #[test]
    fn only_world_target_is_world() {
        assert!(OutputSpace::WORLD.is_world() && OutputSpace::WORLD.with_addition().is_world());
        let identity = OutputSpace::new(Affine::identity()).unwrap();
        assert!(!identity.is_world());
        let place = Vec3::new(1.0, -2.0, 3.0);
        assert_eq!(OutputSpace::WORLD.map_point(place), place);
        assert_eq!(identity.map_point(place), place);
    }
}
