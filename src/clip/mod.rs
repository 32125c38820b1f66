// SPDX-License-Identifier: MIT OR Apache-2.0
//! A simulated clip: the kept states of a run of frames, the unit of preview and bake.
//!
//! Only lattice positions are kept, so a clip is small (250 frames of 350 vertices: 2 MB) and every frame can
//! be shown in any order: a frame is looked up, never raced to. A clip is shared between threads: one may
//! extend it while others read.
//!
//! Frames are steps of one fixed-step path: preview, bake and command line run [`Clip::simulate`].

use crate::Vec3;
use crate::body::Body;
use crate::dynamics::{Method, Settings, Simulation, SimulationError};
use crate::kernel::{CpuEmbedding, Engine, KernelError, LocalPositions};
use crate::progress::{Cancelled, Progress, step};
use crate::skeleton::{FrameMotion, Pose, SkeletonError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How a clip is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClipSettings {
    /// Frames per second, `fps / fps_base` of the scene.
    pub fps: f64,
    /// Frames simulated before the first that is kept: the end of the loop when `cyclic`, else the first
    /// pose held.
    pub preroll: usize,
    /// The poses are a loop: it is run until it repeats itself, and the last round is kept.
    pub cyclic: bool,
    /// The method of motion.
    pub method: Method,
    /// Steps, gravity, damping.
    pub simulation: Settings,
}

/// Why a clip could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum ClipError {
    /// The caller stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The simulation stopped.
    #[error("frame {frame}: {source}")]
    Simulation {
        /// Frame of the clip, from 0.
        frame: usize,
        /// Why.
        source: SimulationError,
    },
    /// The simulation could not start.
    #[error(transparent)]
    Start(#[from] SimulationError),
    /// A pose that does not fit.
    #[error(transparent)]
    Pose(#[from] SkeletonError),
    /// Arrays that do not fit.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// No poses.
    #[error("a clip needs at least one pose")]
    Empty,
    /// Frames per second out of range.
    #[error("frames per second must lie between 0.1 and 1000, not {0}")]
    Fps(f64),
    /// A surface that the body does not carry.
    #[error("the body carries no surface {0}")]
    Surface(usize),
}

/// One kept frame.
#[derive(Debug, Clone, PartialEq)]
struct Frame {
    positions: Vec<Vec3>,
    inverted: u32,
}

/// A simulated clip.
pub struct Clip {
    body: Arc<Body>,
    fps: f64,
    frames: RwLock<Vec<Frame>>,
    runner: Mutex<Runner>,
}

/// What is needed to go on after the last frame.
struct Runner {
    simulation: Simulation,
    /// The last two poses: the interval between them is simulated once its successor is known.
    previous: Option<Pose>,
    last: Pose,
}

/// A loop has settled when no lattice vertex moves further than this part of the body's size from one
/// round to the next; it is given up after so many rounds.
const SETTLED: f64 = 1e-4;
const ROUNDS: usize = 12;

impl Clip {
    /// Simulates poses at equal distances in time. Frame 0 is the settled first pose, moving as its bones
    /// move (after the pre-roll, if any).
    ///
    /// # Errors
    /// No poses, poses of another skeleton, settings out of range, a stop, motion that is no longer finite.
    pub fn simulate(
        body: Arc<Body>,
        poses: &[Pose],
        settings: ClipSettings,
        progress: &dyn Progress,
    ) -> Result<Self, ClipError> {
        let first = poses.first().ok_or(ClipError::Empty)?;
        if !(0.1..=1000.0).contains(&settings.fps) {
            return Err(ClipError::Fps(settings.fps));
        }
        for pose in poses {
            pose.check(body.skeleton())?;
        }
        step(progress, 0.0, "settling")?;
        let mut simulation = Simulation::new(body.clone(), settings.method, settings.simulation)?;
        simulation.reset(first, true)?;
        let run = Run {
            poses,
            dt: 1.0 / settings.fps,
            progress,
        };
        let frames = if settings.cyclic {
            run.cyclic(&mut simulation, settings.preroll)?
        } else {
            run.once(&mut simulation, settings.preroll)?
        };
        let previous = (poses.len() > 1).then(|| poses[poses.len() - 2].clone());
        let last = poses[poses.len() - 1].clone();
        step(progress, 1.0, "done")?;
        Ok(Self {
            body,
            fps: settings.fps,
            frames: RwLock::new(frames),
            runner: Mutex::new(Runner {
                simulation,
                previous,
                last,
            }),
        })
    }

    /// Goes on for more poses after the last frame, as if they had been there from the start but for the
    /// bones' velocity at the seam, which is the former end's.
    ///
    /// # Errors
    /// As [`simulate`](Self::simulate); frames done before an error or a stop are kept.
    pub fn extend(&self, poses: &[Pose], progress: &dyn Progress) -> Result<(), ClipError> {
        let skeleton = self.body.skeleton();
        for pose in poses {
            pose.check(skeleton)?;
        }
        let mut runner = self.runner();
        for (i, to) in poses.iter().enumerate() {
            step(progress, i as f64 / poses.len() as f64, "simulating")?;
            let motion = FrameMotion::new(
                skeleton,
                runner.previous.as_ref(),
                &runner.last,
                to,
                poses.get(i + 1),
            )?;
            let frame = self.len();
            runner
                .simulation
                .advance_motion(&motion, 1.0 / self.fps, None)
                .map_err(|source| ClipError::Simulation { frame, source })?;
            let kept = Frame::of(&runner.simulation);
            self.write().push(kept);
            let last = std::mem::replace(&mut runner.last, to.clone());
            runner.previous = Some(last);
        }
        Ok(())
    }

    /// The body.
    pub fn body(&self) -> &Arc<Body> {
        &self.body
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// Whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// Frames per second.
    pub fn fps(&self) -> f64 {
        self.fps
    }

    /// Memory of the kept states, bytes.
    pub fn bytes(&self) -> usize {
        self.read()
            .iter()
            .map(|f| std::mem::size_of::<Frame>() + f.positions.len() * 24)
            .sum()
    }

    /// Lattice positions of a frame; before the first and after the last frame those frames hold.
    pub fn lattice_positions(&self, frame: i64) -> Vec<Vec3> {
        let frames = self.read();
        frames[clamp(frame, frames.len())].positions.clone()
    }

    /// Number of cells turned over in each frame.
    pub fn inverted_cells(&self) -> Vec<u32> {
        self.read().iter().map(|f| f.inverted).collect()
    }

    /// Number of vertices of a surface that the body carries; 0 is its own.
    ///
    /// # Errors
    /// A surface that the body does not carry.
    pub fn vertices(&self, surface: usize) -> Result<usize, ClipError> {
        Ok(self.engine(surface)?.vertices())
    }

    /// Positions of a surface's vertices at a frame, x y z after one another.
    ///
    /// # Errors
    /// A surface that the body does not carry.
    pub fn positions(&self, frame: i64, surface: usize) -> Result<Vec<f32>, ClipError> {
        let engine = self.engine(surface)?;
        let local = {
            let frames = self.read();
            LocalPositions::new(&frames[clamp(frame, frames.len())].positions)
        };
        Ok(engine.embed(&local)?)
    }

    fn engine(&self, surface: usize) -> Result<Arc<CpuEmbedding>, ClipError> {
        self.body.engine(surface).ok_or(ClipError::Surface(surface))
    }

    // A panic elsewhere leaves whole frames behind: a poisoned lock is as good as a sound one.
    fn read(&self) -> RwLockReadGuard<'_, Vec<Frame>> {
        self.frames.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<Frame>> {
        self.frames.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn runner(&self) -> MutexGuard<'_, Runner> {
        self.runner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn clamp(frame: i64, frames: usize) -> usize {
    (frame.max(0) as usize).min(frames - 1)
}

impl Frame {
    fn of(simulation: &Simulation) -> Self {
        Self {
            positions: simulation.lattice_positions().to_vec(),
            inverted: simulation.inverted_cells() as u32,
        }
    }
}

/// One way through the poses.
struct Run<'a> {
    poses: &'a [Pose],
    dt: f64,
    progress: &'a dyn Progress,
}

impl Run<'_> {
    /// From the first pose to the last.
    fn once(&self, simulation: &mut Simulation, preroll: usize) -> Result<Vec<Frame>, ClipError> {
        let skeleton = simulation.body().skeleton().clone();
        let n = self.poses.len();
        let motion = |i: usize| {
            let at = |i: usize| self.poses.get(i);
            let previous = i.checked_sub(1).and_then(at);
            FrameMotion::new(
                &skeleton,
                previous,
                &self.poses[i],
                &self.poses[i + 1],
                at(i + 2),
            )
        };
        let held = FrameMotion::between(&skeleton, &self.poses[0], &self.poses[0])?;
        for _ in 0..preroll {
            step(self.progress, 0.0, "pre-rolling")?;
            simulation.advance_motion(&held, self.dt, None)?;
        }
        if n > 1 && preroll == 0 {
            simulation.move_with(&motion(0)?, self.dt)?;
        }
        let mut frames = vec![Frame::of(simulation)];
        for i in 0..n - 1 {
            step(self.progress, i as f64 / (n - 1) as f64, "simulating")?;
            simulation
                .advance_motion(&motion(i)?, self.dt, None)
                .map_err(|source| ClipError::Simulation {
                    frame: i + 1,
                    source,
                })?;
            frames.push(Frame::of(simulation));
        }
        Ok(frames)
    }

    /// Round and round, until a round repeats the one before.
    fn cyclic(&self, simulation: &mut Simulation, preroll: usize) -> Result<Vec<Frame>, ClipError> {
        let skeleton = simulation.body().skeleton().clone();
        // A loop whose last pose is its first again has one interval less.
        let n = self.poses.len();
        let doubled = n > 1 && same(&self.poses[0], &self.poses[n - 1]);
        let period = if doubled { n - 1 } else { n };
        if period < 2 {
            return self.once(simulation, preroll);
        }
        let pose = |i: usize| &self.poses[i % period];
        let motion = |i: usize| {
            let before = pose(i + period - 1);
            FrameMotion::new(
                &skeleton,
                Some(before),
                pose(i),
                pose(i + 1),
                Some(pose(i + 2)),
            )
        };
        let start = period - preroll % period;
        simulation.reset(pose(start), true)?;
        simulation.move_with(&motion(start)?, self.dt)?;
        for i in 0..preroll {
            step(self.progress, 0.0, "pre-rolling")?;
            simulation.advance_motion(&motion(start + i)?, self.dt, None)?;
        }
        let size = size(simulation.body().lattice().vertices());
        let mut frames: Vec<Frame> = Vec::new();
        for round in 0..ROUNDS {
            let mut moved: f64 = 0.0;
            for i in 0..period {
                let done = (round * period + i) as f64 / (ROUNDS * period) as f64;
                step(self.progress, done, "looping")?;
                let frame = Frame::of(simulation);
                if round == 0 {
                    frames.push(frame);
                } else {
                    let old = frames[i].positions.iter().zip(&frame.positions);
                    moved = old.map(|(a, b)| (a - b).norm()).fold(moved, f64::max);
                    frames[i] = frame;
                }
                simulation
                    .advance_motion(&motion(i)?, self.dt, None)
                    .map_err(|source| ClipError::Simulation { frame: i, source })?;
            }
            if round > 0 && moved < SETTLED * size {
                break;
            }
        }
        if doubled {
            frames.push(frames[0].clone());
        }
        Ok(frames)
    }
}

/// Whether two poses are one up to what f32 scenes keep.
fn same(a: &Pose, b: &Pose) -> bool {
    a.maps().iter().zip(b.maps()).all(|(a, b)| {
        let reach = 1.0 + a.translation.norm();
        (a.linear - b.linear).norm() < 1e-5 && (a.translation - b.translation).norm() < 1e-5 * reach
    })
}

fn size(points: &[Vec3]) -> f64 {
    let far = Vec3::repeat(f64::INFINITY);
    let (lo, hi) = points
        .iter()
        .fold((far, -far), |(l, h), p| (l.inf(p), h.sup(p)));
    (hi - lo).norm()
}
