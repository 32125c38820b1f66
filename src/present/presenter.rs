// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversion of states to vertices: any surface of a body, by lattice or by modes, in any space.

use super::lifts::LiftCache;
use super::{CarriedSurfaces, Instant, PresentError, SurfaceId, WarpPresenter};
use crate::Vec3;
use crate::kernel::{Engine, KernelError, OutputKind, OutputSpace};
use crate::modal::{DeformSettings, Modes};
use crate::progress::{Progress, Silent, report_progress};
use std::sync::Arc;

/// Converter of lattices and amplitudes to the vertices of a body and its carried surfaces.
#[derive(Debug)]
pub struct Presenter {
    surfaces: CarriedSurfaces,
    warp: Option<WarpPresenter>,
    lifts: LiftCache,
}

impl Presenter {
    /// Creates a presenter of lattices.
    pub fn new(surfaces: impl Into<CarriedSurfaces>) -> Self {
        Self {
            surfaces: surfaces.into(),
            warp: None,
            lifts: LiftCache::default(),
        }
    }

    /// Creates a presenter of lattices and, if `modes` are supplied, of their amplitudes.
    pub fn with_modes(
        surfaces: impl Into<CarriedSurfaces>,
        modes: Option<Arc<Modes>>,
        settings: DeformSettings,
    ) -> Self {
        let surfaces = surfaces.into();
        let warp = modes.map(|modes| WarpPresenter::new(surfaces.clone(), modes, settings));
        Self {
            surfaces,
            warp,
            lifts: LiftCache::default(),
        }
    }

    /// Returns the body and its surfaces.
    pub fn surfaces(&self) -> &CarriedSurfaces {
        &self.surfaces
    }

    /// Returns the presenter of amplitudes; `None` without modes.
    pub fn warp(&self) -> Option<&WarpPresenter> {
        self.warp.as_ref()
    }

    /// Returns the number of vertices of a surface.
    ///
    /// # Errors
    /// The body does not carry the surface.
    pub fn vertices(&self, id: SurfaceId) -> Result<usize, PresentError> {
        Ok(self.surfaces.get(id)?.vertices())
    }

    /// Computes the positions `[n · 3]` of a surface at an instant, mapped by `target` from metres in world axes.
    ///
    /// # Errors
    /// The body does not carry the surface; the lattice is of another body; the output has another length.
    pub fn positions(
        &self,
        id: SurfaceId,
        at: Instant<'_>,
        target: &OutputSpace,
        out: &mut [f32],
    ) -> Result<(), PresentError> {
        let (lattice, how) = match at {
            Instant::Modal(posed, max_offset) => {
                let warp = self.warp_presenter()?;
                return warp.positions(id, &[posed], max_offset, target, &Silent, out);
            }
            Instant::Parted(..) => {
                let (at, moves) = at.split_parting();
                self.positions(id, at, target, out)?;
                add_moves(id, moves, target, out);
                return Ok(());
            }
            Instant::Lattice(lattice, how) => (lattice, how),
        };
        match how.filter(|how| !how.is_unchanged()) {
            Some(_) => self
                .draw(id, at, OutputKind::Positions, target, out)
                .map(|_| ()),
            None => {
                let surface = self.surfaces.get(id)?;
                let engine = surface.engine(self.surfaces.body())?;
                Ok(engine.embed_to(lattice, target, out)?)
            }
        }
    }

    /// Computes the positions `[frames · n · 3]` at many instants. A graphics device transfers one frame while it computes the
    /// next.
    ///
    /// # Errors
    /// As [`positions`](Self::positions); a cancellation.
    pub fn all_positions(
        &self,
        id: SurfaceId,
        at: &[Instant<'_>],
        target: &OutputSpace,
        progress: &dyn Progress,
        out: &mut [f32],
    ) -> Result<(), PresentError> {
        let modal = at.iter().map(|at| match at {
            Instant::Modal(posed, max_offset) | Instant::Parted(posed, max_offset, _) => {
                Some((*posed, *max_offset))
            }
            Instant::Lattice(..) => None,
        });
        if let Some(all) = modal.collect::<Option<Vec<_>>>()
            && let Some((_, max_offset)) = all.first().copied()
            && all.iter().all(|(_, other)| *other == max_offset)
        {
            let posed: Vec<_> = all.into_iter().map(|(posed, _)| posed).collect();
            self.warp_presenter()?
                .positions(id, &posed, max_offset, target, progress, out)?;
            let n = 3 * self.vertices(id)?;
            for (at, out) in at.iter().zip(out.chunks_exact_mut(n.max(1))) {
                add_moves(id, at.split_parting().1, target, out);
            }
            return Ok(());
        }
        let n = 3 * self.vertices(id)?;
        let (expected, given) = (n * at.len(), out.len());
        if expected != given {
            return Err(KernelError::Output { expected, given }.into());
        }
        let frames = at.len() as f64;
        for (i, at) in at.iter().enumerate() {
            report_progress(progress, i as f64 / frames, "Showing frames")?;
            self.positions(id, *at, target, &mut out[i * n..(i + 1) * n])?;
        }
        Ok(())
    }

    /// Computes the offsets from the artist's skin `[n · 3]`, mapped by `target` from metres in world axes: [`positions`](Self::positions)
    /// less the skin, without the rounding of positions far from the world's origin. Zero if the lattice is shown without a
    /// presentation.
    ///
    /// # Errors
    /// As [`positions`](Self::positions).
    pub fn offsets(
        &self,
        id: SurfaceId,
        at: Instant<'_>,
        target: &OutputSpace,
        out: &mut [f32],
    ) -> Result<(), PresentError> {
        match at {
            Instant::Modal(posed, max_offset) => self
                .warp_presenter()?
                .offsets(id, posed, max_offset, target, out),
            Instant::Parted(..) => {
                let (at, moves) = at.split_parting();
                self.offsets(id, at, target, out)?;
                add_moves(id, moves, target, out);
                Ok(())
            }
            Instant::Lattice(_, Some(_)) => self
                .draw(id, at, OutputKind::Offsets, target, out)
                .map(|_| ()),
            Instant::Lattice(_, None) => {
                let (expected, given) = (3 * self.vertices(id)?, out.len());
                if expected != given {
                    return Err(KernelError::Output { expected, given }.into());
                }
                if !target.adds_results() {
                    out.fill(0.0);
                }
                Ok(())
            }
        }
    }

    /// Computes the velocities of the shown surface `[n · 3]`, mapped by `target` from m/s in world axes: the difference of two
    /// instants, `seconds` apart.
    ///
    /// # Errors
    /// As [`positions`](Self::positions).
    pub fn velocities(
        &self,
        id: SurfaceId,
        (from, to): (Instant<'_>, Instant<'_>),
        seconds: f64,
        target: &OutputSpace,
        out: &mut [f32],
    ) -> Result<(), PresentError> {
        // Relative to an origin near the body, so that differences of positions far from the world's keep their digits.
        let share = target
            .with_origin(self.nearby_point(id, from)?)
            .with_factor(seconds.recip());
        self.positions(id, to, &share, out)?;
        self.positions(id, from, &share.with_factor(-1.0).with_addition(), out)
    }

    /// Computes the plain skin and the displayed skin of a surface, `[n · 3]` each, metres in world axes, from an origin near it.
    ///
    /// # Errors
    /// As [`positions`](Self::positions).
    pub fn skins(
        &self,
        id: SurfaceId,
        at: Instant<'_>,
        [plain, shown]: [&mut [f32]; 2],
    ) -> Result<(), PresentError> {
        let world = OutputSpace::WORLD;
        self.positions(
            id,
            at,
            &world.with_origin(self.nearby_point(id, at)?),
            shown,
        )?;
        plain.copy_from_slice(shown);
        self.offsets(id, at, &world.with_factor(-1.0).with_addition(), plain)
    }

    /// Returns a point near a surface.
    pub(super) fn nearby_point(
        &self,
        id: SurfaceId,
        at: Instant<'_>,
    ) -> Result<[f32; 3], PresentError> {
        Ok(match at {
            Instant::Lattice(lattice, _) => lattice.origin,
            Instant::Modal((_, pose), _) | Instant::Parted((_, pose), ..) => {
                let deformer = self.warp_presenter()?.surface(id)?;
                deformer.model().pose(pose, None)?.origin()
            }
        })
    }

    /// Returns the largest distance of a surface's vertex from its skin, metres, before `max_offset` limits it.
    ///
    /// # Errors
    /// As [`positions`](Self::positions), for `scratch` `[n · 3]`, which is overwritten.
    pub fn max_deviation(
        &self,
        id: SurfaceId,
        at: Instant<'_>,
        scratch: &mut [f32],
    ) -> Result<f32, PresentError> {
        match at {
            Instant::Modal(posed, _) | Instant::Parted(posed, ..) => {
                self.warp_presenter()?.max_deviation(id, posed)
            }
            Instant::Lattice(_, None) => Ok(0.0),
            Instant::Lattice(..) => {
                self.draw(id, at, OutputKind::Offsets, &OutputSpace::WORLD, scratch)
            }
        }
    }

    fn draw(
        &self,
        id: SurfaceId,
        at: Instant<'_>,
        wanted: OutputKind,
        target: &OutputSpace,
        out: &mut [f32],
    ) -> Result<f32, PresentError> {
        let Instant::Lattice(lattice, Some(how)) = at else {
            return Ok(0.0);
        };
        let surface = self.surfaces.get(id)?;
        let body = self.surfaces.body();
        let (engine, skinned) = (surface.engine(body)?, surface.skinned_surface(body));
        let lifts = how.joints().map(|(maps, u)| {
            let own = self.lifts.lifts_at(body.joints(), maps, u);
            surface.vertex_lifts(body, &own)
        });
        let present = how.present(lattice, lifts.as_ref().map(|lifts| lifts.as_slice()));
        Ok(skinned.show(engine, &present, wanted, target, out)?)
    }

    fn warp_presenter(&self) -> Result<&WarpPresenter, PresentError> {
        self.warp.as_ref().ok_or(PresentError::NoModes)
    }
}

/// Adds displacements of vertices to the shown positions of the body's own surface.
fn add_moves(id: SurfaceId, moves: &[(u32, Vec3)], target: &OutputSpace, out: &mut [f32]) {
    if id != SurfaceId::OWN {
        return;
    }
    for (v, d) in moves {
        let at = 3 * *v as usize;
        let d = target.map_vector(*d);
        if let Some(out) = out.get_mut(at..at + 3) {
            (0..3).for_each(|k| out[k] += d[k] as f32);
        }
    }
}
