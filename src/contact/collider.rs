// SPDX-License-Identifier: MIT OR Apache-2.0
//! Things that flesh collides with: planes and meshes, still, moving or deforming.
//!
//! The orientation of a mesh does not matter: its triangles are oriented as those of any surface ([`crate::surface`]). A mesh that encloses
//! something, with holes or not, is solid. Triangles that bound nothing are sheets, which flesh touches on the side where it is.

use super::ContactError;
use crate::geometry::aabb;
use crate::geometry::groups::Groups;
use crate::range::{MAX_COORDINATE, is_position, is_sound};
use crate::skeleton::Affine;
use crate::surface::{Surface, TriangleRole};
use crate::{Mat3, Vec3};
use nalgebra::{Isometry3, Rotation3, Translation3, UnitQuaternion};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Something that flesh collides with.
#[derive(Debug, Clone)]
pub struct Collider {
    pub(super) shape: ColliderShape,
    pub(super) motion: PreparedMotion,
    friction: Option<f64>,
    thickness: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ColliderShape {
    /// A half-space: everything below the plane is solid.
    Plane {
        point: Vec3,
        normal: Vec3,
    },
    Mesh(Arc<MeshShape>),
}

#[derive(Debug)]
pub(super) struct MeshShape {
    pub surface: Arc<Surface>,
    /// Triangles that can be touched, over the given vertices; outward where solid.
    pub triangles: Vec<[u32; 3]>,
    /// Whether each triangle belongs to a sheet.
    pub sheet: Vec<bool>,
    /// Triangles around each vertex, by index.
    pub around: Groups,
    /// Centre of the bounding box, metres: the point about which the mesh turns.
    pub centre: Vec3,
    pub size: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum PreparedMotion {
    Still,
    Rigid(Arc<[Isometry3<f64>]>),
    Deforming(Arc<[Vec<Vec3>]>),
}

/// Motion of a mesh: one entry per pose of the body, from the first pose. After the last entry it stays.
#[derive(Debug, Clone)]
pub enum ColliderMotion {
    /// No motion.
    Still,
    /// Affine maps that carry its vertices, one per entry.
    Carried(Vec<Affine>),
    /// Positions of its vertices, `[entries][n]`, metres.
    Deforming(Vec<Vec<Vec3>>),
}

impl Collider {
    /// Builds a plane through a point, metres. It is solid on the side that its normal, of any length, points away from.
    ///
    /// # Errors
    /// A point or a normal that is not finite; a normal of length zero.
    pub fn plane(point: Vec3, normal: Vec3) -> Result<Self, ContactError> {
        let normal = normal.try_normalize(0.0).filter(|n| n.norm() > 0.5);
        match normal {
            Some(normal) if is_position(&point) => Ok(Self {
                shape: ColliderShape::Plane { point, normal },
                motion: PreparedMotion::Still,
                friction: None,
                thickness: 0.0,
            }),
            _ => Err(ContactError::Plane),
        }
    }

    /// Builds a mesh, still or in motion.
    ///
    /// # Errors
    /// A motion without entries, one for another number of vertices, numbers that are not finite.
    pub fn mesh(surface: Arc<Surface>, motion: ColliderMotion) -> Result<Self, ContactError> {
        let shape = Arc::new(MeshShape::new(surface));
        let vertices = shape.surface.vertices();
        let motion = match motion {
            ColliderMotion::Still => PreparedMotion::Still,
            ColliderMotion::Carried(maps) => {
                check_entries(maps.len())?;
                let wrong = |map: &Affine| {
                    let corners = [vertices[0], shape.centre];
                    !map.is_finite() || corners.iter().any(|&x| !is_position(&map.apply(x)))
                };
                if let Some(entry) = maps.iter().position(wrong) {
                    return Err(ContactError::ColliderEntry { entry });
                }
                let rigid: Option<Arc<[_]>> = maps.iter().map(isometry).collect();
                match rigid {
                    Some(rigid) => PreparedMotion::Rigid(rigid),
                    None => {
                        let posed = |map: &Affine| vertices.iter().map(|&x| map.apply(x)).collect();
                        PreparedMotion::Deforming(maps.iter().map(posed).collect())
                    }
                }
            }
            ColliderMotion::Deforming(entries) => {
                check_entries(entries.len())?;
                for (entry, places) in entries.iter().enumerate() {
                    if places.len() != vertices.len() {
                        return Err(ContactError::ColliderVertices {
                            entry,
                            expected: vertices.len(),
                            given: places.len(),
                        });
                    }
                    if !places.iter().all(is_position) {
                        return Err(ContactError::ColliderEntry { entry });
                    }
                }
                PreparedMotion::Deforming(entries.into())
            }
        };
        Ok(Self {
            shape: ColliderShape::Mesh(shape),
            motion,
            friction: None,
            thickness: 0.0,
        })
    }

    /// Sets a friction coefficient of its own (`None`: that of the flesh) and a thickness, metres, which adds to that of the flesh.
    ///
    /// # Errors
    /// Numbers that are negative or not finite.
    pub fn with_properties(
        self,
        friction: Option<f64>,
        thickness: f64,
    ) -> Result<Self, ContactError> {
        let range = "zero or positive";
        for (what, value) in [
            ("a collider's friction", friction.unwrap_or(0.0)),
            ("a collider's thickness", thickness),
        ] {
            let good = value >= 0.0 && is_sound(value) && value <= MAX_COORDINATE;
            if !good {
                return Err(ContactError::Setting { what, range, value });
            }
        }
        Ok(Self {
            friction,
            thickness,
            ..self
        })
    }

    /// Returns Coulomb's friction coefficient; `None`: that of the flesh.
    pub fn friction(&self) -> Option<f64> {
        self.friction
    }

    /// Returns the distance kept in addition to the thickness of the flesh, metres.
    pub fn thickness(&self) -> f64 {
        self.thickness
    }

    /// Returns the mesh; `None` for a plane.
    pub fn surface(&self) -> Option<&Arc<Surface>> {
        match &self.shape {
            ColliderShape::Plane { .. } => None,
            ColliderShape::Mesh(mesh) => Some(&mesh.surface),
        }
    }

    /// Returns the number of entries of its motion; `None`: it is still.
    pub fn entries(&self) -> Option<usize> {
        match &self.motion {
            PreparedMotion::Still => None,
            PreparedMotion::Rigid(all) => Some(all.len()),
            PreparedMotion::Deforming(all) => Some(all.len()),
        }
    }

    /// Returns the same collider with the part of its motion in a range of poses; a motion that ends before goes on as it would.
    pub fn part(&self, poses: &Range<usize>) -> Self {
        let at = |count: usize| poses.clone().map(move |i| i.min(count.saturating_sub(1)));
        let motion = match &self.motion {
            PreparedMotion::Still => PreparedMotion::Still,
            PreparedMotion::Rigid(all) => {
                PreparedMotion::Rigid(at(all.len()).map(|i| all[i]).collect())
            }
            PreparedMotion::Deforming(all) => {
                PreparedMotion::Deforming(at(all.len()).map(|i| all[i].clone()).collect())
            }
        };
        Self {
            motion,
            ..self.clone()
        }
    }

    /// Returns whether another collider is equal: the same surface, motion, friction and thickness.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
            || self.friction == other.friction
                && self.thickness == other.thickness
                && self.shape == other.shape
                && self.motion == other.motion
    }

    /// Returns the number of triangles that can be touched; 1 for a plane.
    pub(crate) fn triangles(&self) -> usize {
        match &self.shape {
            ColliderShape::Plane { .. } => 1,
            ColliderShape::Mesh(mesh) => mesh.triangles.len(),
        }
    }
}

/// Compares vertices and triangles, from which all else is computed.
impl PartialEq for MeshShape {
    fn eq(&self, other: &Self) -> bool {
        let (own, others) = (&self.surface, &other.surface);
        Arc::ptr_eq(own, others)
            || own.vertices() == others.vertices() && own.triangles() == others.triangles()
    }
}

impl MeshShape {
    fn new(surface: Arc<Surface>) -> Self {
        let welded = surface.welded();
        let given = welded.first_input_vertices();
        let roles = surface.triangle_roles();
        let touched = welded.triangles.iter().zip(roles);
        let touched = touched.filter(|(_, role)| **role != TriangleRole::Interior);
        let (triangles, sheet): (Vec<[u32; 3]>, Vec<bool>) = touched
            .map(|(t, role)| {
                let t = t.map(|w| given[w as usize]);
                (t, *role == TriangleRole::Thin)
            })
            .unzip();
        let around = Groups::from_elements(surface.vertices().len(), &triangles);
        let (lo, hi) = surface.bounds();
        Self {
            centre: (lo + hi) / 2.0,
            size: aabb::diagonal([lo, hi]),
            surface,
            triangles,
            sheet,
            around,
        }
    }
}

fn check_entries(entries: usize) -> Result<(), ContactError> {
    match entries {
        0 => Err(ContactError::NoEntries),
        _ => Ok(()),
    }
}

/// Returns a map as a rigid motion; `None` if it is not rigid.
fn isometry(map: &Affine) -> Option<Isometry3<f64>> {
    let turn = map.linear;
    let rigid = (turn.transpose() * turn - Mat3::identity()).norm() < 1e-6;
    (rigid && turn.determinant() > 0.0).then(|| {
        let turn = Rotation3::from_matrix(&turn);
        let rotation = UnitQuaternion::from_rotation_matrix(&turn);
        Isometry3::from_parts(Translation3::from(map.translation), rotation)
    })
}

/// File format of a collider.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct StoredCollider<'a> {
    shape: StoredShape<'a>,
    friction: Option<f64>,
    thickness: f64,
}

#[derive(serde::Serialize, serde::Deserialize)]
enum StoredShape<'a> {
    Plane([Vec3; 2]),
    Mesh {
        vertices: Cow<'a, [Vec3]>,
        triangles: Cow<'a, [[u32; 3]]>,
        motion: StoredMotion<'a>,
    },
}

#[derive(serde::Serialize, serde::Deserialize)]
enum StoredMotion<'a> {
    Still,
    Rigid(Cow<'a, [Isometry3<f64>]>),
    Deforming(Cow<'a, [Vec<Vec3>]>),
}

impl Collider {
    pub(super) fn to_stored(&self) -> StoredCollider<'_> {
        StoredCollider {
            shape: match &self.shape {
                ColliderShape::Plane { point, normal } => StoredShape::Plane([*point, *normal]),
                ColliderShape::Mesh(mesh) => StoredShape::Mesh {
                    vertices: Cow::Borrowed(mesh.surface.vertices()),
                    triangles: Cow::Borrowed(mesh.surface.triangles()),
                    motion: match &self.motion {
                        PreparedMotion::Still => StoredMotion::Still,
                        PreparedMotion::Rigid(all) => StoredMotion::Rigid(Cow::Borrowed(all)),
                        PreparedMotion::Deforming(all) => {
                            StoredMotion::Deforming(Cow::Borrowed(all))
                        }
                    },
                },
            },
            friction: self.friction,
            thickness: self.thickness,
        }
    }
}

impl StoredCollider<'_> {
    pub(super) fn into_collider(self) -> Result<Collider, ContactError> {
        let made = match self.shape {
            StoredShape::Plane([point, normal]) => Collider::plane(point, normal)?,
            StoredShape::Mesh {
                vertices,
                triangles,
                motion,
            } => {
                let surface = Surface::new(vertices.into_owned(), triangles.into_owned());
                let surface = Arc::new(surface.map_err(|_| ContactError::ColliderMesh)?);
                let motion = match motion {
                    StoredMotion::Still => ColliderMotion::Still,
                    StoredMotion::Rigid(all) => {
                        // The constructor checks them again as affine maps.
                        let map = |at: &Isometry3<f64>| Affine {
                            linear: at.rotation.to_rotation_matrix().into_inner(),
                            translation: at.translation.vector,
                        };
                        let maps: Vec<Affine> = all.iter().map(map).collect();
                        let made = Collider::mesh(surface, ColliderMotion::Carried(maps))?;
                        let motion = match made.motion {
                            PreparedMotion::Rigid(_) => {
                                PreparedMotion::Rigid(all.into_owned().into())
                            }
                            other => other,
                        };
                        return Collider { motion, ..made }
                            .with_properties(self.friction, self.thickness);
                    }
                    StoredMotion::Deforming(all) => ColliderMotion::Deforming(all.into_owned()),
                };
                Collider::mesh(surface, motion)?
            }
        };
        made.with_properties(self.friction, self.thickness)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes::cuboid;

    fn block(half: Vec3) -> Collider {
        let shape = cuboid(half);
        let surface = Arc::new(Surface::new(shape.vertices, shape.triangles).unwrap());
        Collider::mesh(surface, ColliderMotion::Still).unwrap()
    }

    /// A plane is refused if its point is out of range or its normal has no direction.
    #[test]
    fn plane_refuses_bad_point_or_normal() {
        let plane = |point, normal| Collider::plane(point, normal).is_ok();
        assert!(plane(Vec3::x(), Vec3::y() * 1e-3));
        for bad in [f64::NAN, f64::INFINITY, 1e30] {
            assert!(!plane(Vec3::new(0.0, bad, 0.0), Vec3::y()), "{bad}");
        }
        assert!(!plane(Vec3::zeros(), Vec3::zeros()));
        assert!(!plane(Vec3::zeros(), Vec3::new(0.0, f64::NAN, 1.0)));
    }

    /// A collider keeps its friction and thickness, and refuses numbers that are negative or not finite.
    #[test]
    fn collider_keeps_friction_and_thickness() {
        let plain = block(Vec3::repeat(1.0));
        assert_eq!((plain.friction(), plain.thickness()), (None, 0.0));
        let other = plain.with_properties(Some(0.3), 0.02).unwrap();
        assert_eq!((other.friction(), other.thickness()), (Some(0.3), 0.02));
        for (friction, thickness) in [(Some(-0.1), 0.0), (None, -0.1), (None, f64::NAN)] {
            assert!(
                block(Vec3::repeat(1.0))
                    .with_properties(friction, thickness)
                    .is_err()
            );
        }
    }

    /// Two colliders are the same only if their shape, friction and thickness agree.
    #[test]
    fn is_same_compares_all_properties() {
        let make = || block(Vec3::new(1.0, 0.5, 0.25));
        let same = |a: &Collider, b: &Collider| a.is_same(b) && b.is_same(a);
        assert!(same(&make(), &make()));
        assert!(!same(&make(), &block(Vec3::new(1.0, 0.5, 0.3))));
        assert!(!same(
            &make(),
            &make().with_properties(Some(0.5), 0.0).unwrap()
        ));
        assert!(!same(&make(), &make().with_properties(None, 0.1).unwrap()));
        let plane = |height: f64| Collider::plane(Vec3::z() * height, Vec3::z()).unwrap();
        assert!(same(&plane(0.0), &plane(0.0)) && !same(&plane(0.0), &plane(0.1)));
        assert!(!same(&make(), &plane(0.0)));
    }
}
