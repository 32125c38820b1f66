// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rigs in a moving clip: their forces at every frame, at the values of their controls. [capell2006, §4.1, eqs 14 and 15]

use super::tension::{add_scaled, clamp_factors};
use super::{Rig, RigError};
use crate::Vec3;
use crate::body::Body;
use crate::clip::FrameForces;
use crate::dynamics::Adaptation;
use crate::progress::Progress;
use std::sync::{Arc, Mutex, PoisonError};

/// Rigs driven by controls, γ_r at frame f. The forces of a clip in rest axes are `Q(f) = Σ_r Q_r(γ_r(f))`.
///
/// Rigs must not fold flesh: strengths that by themselves would press some of it flat at rest are lowered
/// ([`Rig::with_clamped_strengths`]).
///
/// A rig is not evaluated again while its control is constant.
#[derive(Debug)]
pub struct RigForces {
    body: Arc<Body>,
    rigs: Vec<Arc<Rig>>,
    /// Flags of the functions that the rigs need, where the motion has these alone.
    among: Option<Vec<bool>>,
    /// Controls `[f * r]`, frame by frame.
    controls: Vec<f64>,
    /// Last control of each rig and the forces there; a cache only.
    last: Mutex<Vec<Option<CachedForces>>>,
    /// Last control of each rig and its tension there; a cache only.
    last_tension: Mutex<Vec<Option<CachedTension>>>,
    warnings: Vec<String>,
}

type CachedForces = (f64, Arc<[Vec3]>);
type CachedTension = (f64, Option<Arc<[f64]>>);

impl RigForces {
    /// Builds the forces of rigs with controls `[f * r]`, frame by frame. `None`: every rig stays at its last sample.
    ///
    /// # Errors
    /// Controls for another number of rigs. Errors that name the rig: a control that is not finite, a bone or face
    /// that the body does not have.
    pub fn new(
        body: Arc<Body>,
        rigs: Vec<Arc<Rig>>,
        frames: usize,
        controls: Option<Vec<f64>>,
        progress: &dyn Progress,
    ) -> Result<Self, RigError> {
        Self::for_motion((body, Adaptation::None), rigs, frames, controls, progress)
    }

    /// Builds the forces of [`new`](Self::new) for a motion of a body that adapts. Where it has the functions that rigs need alone, each rig acts
    /// on those of all.
    ///
    /// # Errors
    /// Errors of [`new`](Self::new).
    pub fn for_motion(
        (body, adaptation): (Arc<Body>, Adaptation),
        rigs: Vec<Arc<Rig>>,
        frames: usize,
        controls: Option<Vec<f64>>,
        progress: &dyn Progress,
    ) -> Result<Self, RigError> {
        let end = |rig: &Arc<Rig>| rig.samples().last().map_or(0.0, |s| s.control);
        let controls = controls.unwrap_or_else(|| {
            let row: Vec<f64> = rigs.iter().map(end).collect();
            row.repeat(frames)
        });
        if controls.len() != frames * rigs.len() {
            return Err(RigError::Controls {
                rigs: rigs.len(),
                given: controls.len() / frames.max(1),
            });
        }
        if let Some(at) = controls.iter().position(|c| !c.is_finite()) {
            let value = controls[at];
            return Err(RigError::Control { value }.in_rig(rigs[at % rigs.len()].name()));
        }
        let mut among = None;
        if adaptation == Adaptation::Rigs && body.basis().levels() > 0 {
            among = Some(united_functions(&rigs, &body)?);
        }
        let mut warnings = Vec::new();
        let mut pushing = Vec::new();
        for rig in rigs {
            let named = |error: RigError| error.in_rig(rig.name());
            if !reaches_flesh(&rig, &body, among.as_deref()).map_err(named)? {
                warnings.push(named(RigError::Outside).to_string());
            }
            let (kept, lowered) = rig.with_clamped_strengths(&body, progress).map_err(named)?;
            warnings.extend(lowered.iter().map(|l| l.sentence(rig.name())));
            pushing.push(if lowered.is_empty() {
                rig
            } else {
                Arc::new(kept)
            });
        }
        let rigs = pushing;
        let last = Mutex::new(vec![None; rigs.len()]);
        let last_tension = Mutex::new(vec![None; rigs.len()]);
        Ok(Self {
            body,
            rigs,
            among,
            controls,
            last,
            last_tension,
            warnings,
        })
    }

    /// Returns one sentence for each rig whose field lies outside the flesh at every sample, and for each sample with
    /// a lowered strength.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the forces of rig `r` at a control, `[nodes]`, N.
    fn forces(&self, r: usize, control: f64) -> Result<Arc<[Vec3]>, RigError> {
        let lock = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((then, forces)) = &lock()[r]
            && *then == control
        {
            return Ok(forces.clone());
        }
        let mut forces = vec![Vec3::zeros(); self.body.node_count()];
        let among = self.among.as_deref();
        self.rigs[r].add_forces_among(&self.body, control, among, &mut forces)?;
        let forces: Arc<[Vec3]> = forces.into();
        lock()[r] = Some((control, forces.clone()));
        Ok(forces)
    }

    /// Returns the tension of rig `r` at a control, `[cells]`.
    fn tension(&self, r: usize, control: f64) -> Result<Option<Arc<[f64]>>, RigError> {
        let cache = &self.last_tension;
        let lock = || cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((then, tension)) = &lock()[r]
            && *then == control
        {
            return Ok(tension.clone());
        }
        let tension = self.rigs[r].tension(&self.body, control)?;
        let tension: Option<Arc<[f64]>> = tension.map(Arc::from);
        lock()[r] = Some((control, tension.clone()));
        Ok(tension)
    }

    /// Returns the controls of a frame.
    fn row(&self, frame: usize) -> Result<&[f64], String> {
        let count = self.rigs.len();
        let row = self.controls.get(frame * count..(frame + 1) * count);
        row.ok_or_else(|| {
            let frames = self.controls.len() / count.max(1);
            format!("there are controls for {frames} frames only")
        })
    }
}

/// Returns whether a rig reaches the flesh at one sample at least. All samples of a sculpted rig are computed here, so that none fails in a
/// frame.
fn reaches_flesh(rig: &Rig, body: &Body, among: Option<&[bool]>) -> Result<bool, RigError> {
    let mut reaches = false;
    for (control, eta) in rig.states() {
        match rig.forces_in_flesh(body, control, &eta, among)? {
            Some(_) if rig.template().is_some() => return Ok(true),
            Some(_) => reaches = true,
            None => {}
        }
    }
    Ok(reaches)
}

/// Returns the flags of the functions that any of some rigs needs.
fn united_functions(rigs: &[Arc<Rig>], body: &Body) -> Result<Vec<bool>, RigError> {
    let mut all = vec![false; body.node_count()];
    for rig in rigs {
        let own = rig.functions(body).map_err(|e| e.in_rig(rig.name()))?;
        all.iter_mut().zip(own).for_each(|(flag, own)| *flag |= own);
    }
    Ok(all)
}

impl FrameForces for RigForces {
    fn write(&self, frame: usize, out: &mut [Vec3]) -> Result<(), String> {
        for (r, &control) in self.row(frame)?.iter().enumerate() {
            let forces = self.forces(r, control).map_err(|error| {
                let name = self.rigs[r].name();
                error.in_rig(name).to_string()
            })?;
            out.iter_mut().zip(forces.iter()).for_each(|(o, f)| *o += f);
        }
        Ok(())
    }

    fn leads_stiffness(&self) -> bool {
        self.rigs.iter().any(|rig| rig.firmness() != 0.0)
    }

    fn write_stiffness(&self, frame: usize, out: &mut [f64]) -> Result<(), String> {
        for (r, &control) in self.row(frame)?.iter().enumerate() {
            let rig = &self.rigs[r];
            if rig.firmness() == 0.0 {
                continue;
            }
            let tension = self.tension(r, control);
            let tension = tension.map_err(|error| error.in_rig(rig.name()).to_string())?;
            if let Some(tension) = tension {
                add_scaled(rig.firmness(), &tension, out);
            }
        }
        clamp_factors(out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::fixture::BarOptions;
    use crate::progress::Silent;
    use crate::rig::{BoneRef, Guide, Sample, Template, TemplateKind, sum_forces};

    fn rig(name: &str, along: f64) -> Arc<Rig> {
        let template = Template::new(TemplateKind::Bulge, &[0.12, 500.0]).unwrap();
        let guide = Guide::bone(BoneRef::Index(1), [along, 0.0, 0.05, 0.0]).unwrap();
        let sample = |control: f64| Sample {
            control,
            parameters: vec![0.12, 500.0 * control, along, 0.0, 0.05, 0.0],
        };
        let samples = vec![sample(0.0), sample(1.0)];
        Arc::new(Rig::new(name, template, guide, samples).unwrap())
    }

    /// The forces of a frame are the sum of the rigs' at its controls, in any order of frames.
    #[test]
    fn forces_sum_at_controls() {
        let body = BarOptions::default().build();
        let rigs = vec![rig("one", 0.3), rig("two", 0.7)];
        let controls = vec![0.0, 0.5, 1.0, 0.5, 1.0, 0.25];
        let rig_forces = RigForces::new(
            body.clone(),
            rigs.clone(),
            3,
            Some(controls.clone()),
            &Silent,
        )
        .unwrap();
        let plain: Vec<Rig> = rigs.iter().map(|r| Rig::clone(r)).collect();
        for frame in [2, 0, 1, 1, 0] {
            let mut out = vec![Vec3::zeros(); body.node_count()];
            rig_forces.write(frame, &mut out).unwrap();
            let row = &controls[2 * frame..2 * frame + 2];
            assert_eq!(out, sum_forces(&plain, &body, row).unwrap());
        }
        let still = RigForces::new(body.clone(), rigs, 4, None, &Silent).unwrap();
        let mut out = vec![Vec3::zeros(); body.node_count()];
        still.write(3, &mut out).unwrap();
        assert_eq!(out, sum_forces(&plain, &body, &[1.0, 1.0]).unwrap());
    }

    /// A warning names a rig that lies outside the flesh; a missing bone is an error.
    #[test]
    fn warnings_name_idle_rigs() {
        let body = BarOptions::default().build();
        let lost = |bone, along| {
            let template = Template::new(TemplateKind::Bulge, &[0.12, 500.0]).unwrap();
            let guide = Guide::bone(BoneRef::Index(bone), [along, 0.0, 0.05, 0.0]).unwrap();
            let rig = Rig::new("lost", template, guide, vec![]).unwrap();
            RigForces::new(body.clone(), vec![Arc::new(rig)], 2, None, &Silent)
        };
        let names = |sentence: &str, what| sentence.contains("lost") && sentence.contains(what);
        assert!(names(&lost(7, 0.5).unwrap_err().to_string(), "bone"));
        let outside = lost(1, 40.0).unwrap();
        assert_eq!(outside.warnings().len(), 1);
        assert!(names(&outside.warnings()[0], "outside"));
        let mut out = vec![Vec3::zeros(); body.node_count()];
        outside.write(0, &mut out).unwrap();
        assert!(out.iter().all(|f| *f == Vec3::zeros()));
        // One sample in the flesh is enough: it may swim away.
        let sample = |control: f64, along: f64| Sample {
            control,
            parameters: vec![0.12, 500.0, along, 0.0, 0.05, 0.0],
        };
        let samples = vec![sample(0.0, 40.0), sample(1.0, 0.5)];
        let rig = rig("swimmer", 0.5).with_samples(samples).unwrap();
        let rig_forces = RigForces::new(
            body.clone(),
            vec![Arc::new(rig)],
            2,
            Some(vec![0.0, 1.0]),
            &Silent,
        )
        .unwrap();
        assert!(rig_forces.warnings().is_empty());
        rig_forces.write(0, &mut out).unwrap();
        assert!(out.iter().all(|f| *f == Vec3::zeros()));
        rig_forces.write(1, &mut out).unwrap();
        assert!(out.iter().any(|f| *f != Vec3::zeros()));
    }

    /// A rig that would fold flesh is limited, and a warning names it.
    #[test]
    fn folding_rigs_are_limited() {
        let body = BarOptions::default().build();
        let strong = |by: f64| {
            let rig = rig("strong", 0.5);
            let times = |s: &Sample| {
                let mut parameters = s.parameters.clone();
                parameters[1] *= by;
                Sample { parameters, ..*s }
            };
            let samples = rig.samples().iter().map(times).collect();
            rig.with_samples(samples).unwrap()
        };
        let rig_forces =
            |rig: Rig| RigForces::new(body.clone(), vec![Arc::new(rig)], 1, None, &Silent).unwrap();
        let forces = |rig_forces: &RigForces| {
            let mut out = vec![Vec3::zeros(); body.node_count()];
            rig_forces.write(0, &mut out).unwrap();
            out
        };
        assert!(rig_forces(strong(1.0)).warnings().is_empty());
        let (far, farther) = (rig_forces(strong(1e5)), rig_forces(strong(1e9)));
        for rig_forces in [&far, &farther] {
            let [warning] = rig_forces.warnings() else {
                panic!("{:?}", rig_forces.warnings())
            };
            assert!(
                warning.contains("'strong'") && warning.contains("control 1"),
                "{warning}"
            );
        }
        assert_eq!(forces(&far), forces(&farther));
        let q = body.static_displacements(&forces(&far)).unwrap();
        let x = body.rest_shape();
        let p: Vec<Vec3> = x.iter().zip(&q).map(|(x, q)| x + q).collect();
        assert_eq!(body.inverted_cell_count(&p), 0);
    }

    /// Controls of the wrong number or that are not finite are refused.
    #[test]
    fn forces_refuse_bad_controls() {
        let body = BarOptions::default().build();
        let rig_forces = |controls| {
            RigForces::new(
                body.clone(),
                vec![rig("one", 0.5)],
                2,
                Some(controls),
                &Silent,
            )
        };
        assert!(matches!(
            rig_forces(vec![0.0; 4]),
            Err(RigError::Controls { rigs: 1, given: 2 })
        ));
        let error = rig_forces(vec![0.0, f64::NAN]).unwrap_err().to_string();
        assert!(error.contains("one") && error.contains("finite"), "{error}");
        let mut out = vec![Vec3::zeros(); body.node_count()];
        let rig_forces = rig_forces(vec![0.0, 1.0]).unwrap();
        assert!(
            rig_forces
                .write(2, &mut out)
                .unwrap_err()
                .contains("2 frames")
        );
    }
}
