// SPDX-License-Identifier: MIT OR Apache-2.0
//! One time step of each mode's oscillator, `q̈ + c q̇ + λ q = f`.
//!
//! All coefficients that depend on a mode and the step are computed once. There are two integrators:
//!
//! - [`Integrator::Exact`]: the exact response to a force that is linear over the step, from the exponential of the oscillator's
//!   matrix. Its only damping is the mode's own, whatever the step.
//! - [`Integrator::SemiImplicit`]: the paper's, backward Euler written out. [choi2003, §4.1, eq. 18]

use super::ModalError;
use nalgebra::Matrix4;

/// Time integrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Integrator {
    /// Exact for a force that is linear over the step.
    #[default]
    Exact,
    /// The paper's, with numerical damping that depends on the step. [choi2003, eq. 18]
    SemiImplicit,
}

impl Integrator {
    /// All integrators.
    pub const ALL: [Self; 2] = [Self::Exact, Self::SemiImplicit];

    /// Returns the name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::SemiImplicit => "semi_implicit",
        }
    }
}

impl std::str::FromStr for Integrator {
    type Err = ModalError;

    fn from_str(name: &str) -> Result<Self, ModalError> {
        let found = Self::ALL.into_iter().find(|i| i.name() == name);
        found.ok_or_else(|| ModalError::Integrator { name: name.into() })
    }
}

/// Damping of modes: coefficients of q̇, 1/s.
#[derive(Debug, Clone, PartialEq)]
pub enum Damping {
    /// `ξ + ζ λ`: ξ (1/s) damps slow modes, ζ (s) fast ones. [choi2003, §3.2]
    Proportional {
        /// ξ, 1/s.
        mass: f64,
        /// ζ, s.
        stiffness: f64,
    },
    /// One coefficient per mode, 1/s: `2 × damping ratio × √λ`.
    PerMode(Vec<f64>),
}

impl Damping {
    /// Returns the coefficient of each mode, 1/s.
    ///
    /// # Errors
    /// A number that is negative or not finite; a number of coefficients that differs from that of modes.
    pub fn coefficients(&self, eigenvalues: &[f64]) -> Result<Vec<f64>, ModalError> {
        let coefficients: Vec<f64> = match self {
            Self::Proportional { mass, stiffness } => {
                for (what, value) in [("mass damping", *mass), ("stiffness damping", *stiffness)] {
                    if !(value >= 0.0 && value.is_finite()) {
                        return Err(ModalError::Setting {
                            what,
                            range: "zero or positive",
                            value,
                        });
                    }
                }
                eigenvalues.iter().map(|l| mass + stiffness * l).collect()
            }
            Self::PerMode(all) => all.clone(),
        };
        if coefficients.len() != eigenvalues.len() {
            return Err(ModalError::Length {
                what: "damping coefficients",
                per: "mode",
                expected: eigenvalues.len(),
                given: coefficients.len(),
            });
        }
        match coefficients.iter().find(|c| !(**c >= 0.0 && c.is_finite())) {
            Some(&value) => Err(ModalError::Setting {
                what: "the damping of a mode",
                range: "zero or positive",
                value,
            }),
            None => Ok(coefficients),
        }
    }
}

/// Limit of amplitudes and velocities, so that their squares and the squares of rotations stay finite.
pub(crate) const MAX_AMPLITUDE: f64 = 1e60;

/// Shortest and longest step, s: those of [frames](crate::dynamics), beyond any sampling of motion.
const MIN_STEP: f64 = 1e-9;
const MAX_STEP: f64 = 1e4;
/// Limit of `h² λ` and `h c`. A mode above it oscillates a thousand times in a step, or is overdamped; rounding hides which.
const STIFF_LIMIT: f64 = 4e7;

/// Coefficients of one step of all modes.
#[derive(Debug, Clone)]
pub(crate) struct Oscillators {
    integrator: Integrator,
    step: f64,
    modes: Vec<StepCoefficients>,
}

/// `q' = a q + b q̇ + g₀ f₀ + g₁ f₁`, `q̇' = c q + d q̇ + k₀ f₀ + k₁ f₁`, f₀ and f₁ the force at the step's ends.
#[derive(Debug, Clone, Copy)]
struct StepCoefficients {
    position: [f64; 4],
    velocity: [f64; 4],
}

impl Oscillators {
    pub fn new(
        integrator: Integrator,
        step: f64,
        eigenvalues: &[f64],
        damping: &[f64],
    ) -> Result<Self, ModalError> {
        if !(MIN_STEP..=MAX_STEP).contains(&step) {
            return Err(ModalError::Setting {
                what: "the time step",
                range: "between 1e-9 and 10000 seconds",
                value: step,
            });
        }
        let modes = eigenvalues.iter().zip(damping);
        let modes = modes.map(|(&l, &c)| match integrator {
            Integrator::Exact => StepCoefficients::exact(step, l, c),
            Integrator::SemiImplicit => StepCoefficients::semi_implicit(step, l, c),
        });
        Ok(Self {
            integrator,
            step,
            modes: modes.collect(),
        })
    }

    /// Returns the step, s.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// Returns whether a mode without damping of its own keeps its energy.
    pub fn keeps_energy(&self) -> bool {
        self.integrator == Integrator::Exact
    }

    /// Advances amplitudes and velocities under forces at the start and at the end of the step.
    pub fn advance(&self, from: &ModalState, forces: (&[f64], &[f64]), to: &mut ModalState) {
        for (i, c) in self.modes.iter().enumerate() {
            let x = [from.q[i], from.v[i], forces.0[i], forces.1[i]];
            let dot = |row: &[f64; 4]| row.iter().zip(&x).map(|(a, b)| a * b).sum::<f64>();
            (to.q[i], to.v[i]) = (dot(&c.position), dot(&c.velocity));
        }
    }

    /// Returns γ, the change of a mode's amplitude by a constant unit force over the step.
    pub fn gain(&self, mode: usize) -> f64 {
        let c = &self.modes[mode].position;
        c[2] + c[3]
    }

    /// Returns the change of a mode's velocity by a constant unit force over the step.
    pub fn velocity_gain(&self, mode: usize) -> f64 {
        let c = &self.modes[mode].velocity;
        c[2] + c[3]
    }
}

/// Amplitudes and their velocities.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ModalState {
    pub q: Vec<f64>,
    pub v: Vec<f64>,
}

impl ModalState {
    pub fn zero(modes: usize) -> Self {
        Self {
            q: vec![0.0; modes],
            v: vec![0.0; modes],
        }
    }

    /// Returns whether all numbers are within [`MAX_AMPLITUDE`].
    pub fn is_finite(&self) -> bool {
        self.q
            .iter()
            .chain(&self.v)
            .all(|x| x.abs() < MAX_AMPLITUDE)
    }
}

impl StepCoefficients {
    /// Computes them from the exponential of the matrix of (q, h q̇, h² f, h² Δf), in units of the step.
    fn exact(h: f64, eigenvalue: f64, damping: f64) -> Self {
        if eigenvalue * h * h > STIFF_LIMIT || damping * h > STIFF_LIMIT {
            return Self::overdamped(h, eigenvalue, damping);
        }
        #[rustfmt::skip]
        let matrix = Matrix4::new(
            0.0, 1.0, 0.0, 0.0,
            -eigenvalue * h * h, -damping * h, 1.0, 0.0,
            0.0, 0.0, 0.0, 1.0,
            0.0, 0.0, 0.0, 0.0,
        );
        let e = matrix.exp();
        // f₀ (1 − s) + f₁ s: the constant part less the ramp, and the ramp.
        let row = |r: usize, by: f64| {
            let ramp = e[(r, 3)] * h * h;
            [
                e[(r, 0)] * by,
                e[(r, 1)] * h * by,
                (e[(r, 2)] * h * h - ramp) * by,
                ramp * by,
            ]
        };
        Self {
            position: row(0, 1.0),
            velocity: row(1, 1.0 / h),
        }
    }

    /// Computes them for a mode that comes to rest in a tiny part of the step: `c q̇ + λ q = f` without inertia, with the mean force.
    /// Nearly without damping the mode is in balance.
    fn overdamped(h: f64, eigenvalue: f64, damping: f64) -> Self {
        let rate = eigenvalue / damping; // infinite without damping
        let stays = if rate.is_nan() {
            1.0
        } else {
            (-rate * h).exp()
        };
        let gain = match eigenvalue > 0.0 && rate * h > 1e-8 {
            true => (1.0 - stays) / eigenvalue,
            false => h / damping,
        };
        Self {
            position: [stays, 0.0, 0.5 * gain, 0.5 * gain],
            velocity: [(stays - 1.0) / h, 0.0, 0.5 * gain / h, 0.5 * gain / h],
        }
    }

    /// Computes them by `d = 1 + h c + h² λ`, `α = 1 − h²λ/d`, `β = h/d`, `γ = h²/d`; the force is that of the step's start.
    fn semi_implicit(h: f64, eigenvalue: f64, damping: f64) -> Self {
        let d = 1.0 + h * damping + h * h * eigenvalue;
        let (less, beta, gamma) = (h * h * eigenvalue / d, h / d, h * h / d);
        Self {
            position: [1.0 - less, beta, gamma, 0.0],
            velocity: [-less / h, beta / h, gamma / h, 0.0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single_oscillator(integrator: Integrator, h: f64, l: f64, c: f64) -> Oscillators {
        Oscillators::new(integrator, h, &[l], &[c]).unwrap()
    }

    fn state(q: f64, v: f64) -> ModalState {
        ModalState {
            q: vec![q],
            v: vec![v],
        }
    }

    /// Solves the oscillator by many small classical Runge-Kutta steps.
    fn reference_state(h: f64, l: f64, c: f64, start: (f64, f64), f: (f64, f64)) -> (f64, f64) {
        let n = 20_000;
        let d = h / f64::from(n);
        let rate = |t: f64, q: f64, v: f64| {
            let force = f.0 + (f.1 - f.0) * t / h;
            (v, force - c * v - l * q)
        };
        let (mut q, mut v) = start;
        for i in 0..n {
            let t = f64::from(i) * d;
            let a = rate(t, q, v);
            let b = rate(t + d / 2.0, q + d / 2.0 * a.0, v + d / 2.0 * a.1);
            let e = rate(t + d / 2.0, q + d / 2.0 * b.0, v + d / 2.0 * b.1);
            let g = rate(t + d, q + d * e.0, v + d * e.1);
            q += d / 6.0 * (a.0 + 2.0 * b.0 + 2.0 * e.0 + g.0);
            v += d / 6.0 * (a.1 + 2.0 * b.1 + 2.0 * e.1 + g.1);
        }
        (q, v)
    }

    /// Modes that are too quick for the step reach their equilibrium within it.
    #[test]
    fn quick_modes_rest_in_step() {
        // Modes in balance, with and without damping; modes held by damping alone; absurdly large stiffness and damping.
        for (h, l, c, q) in [
            (1.0, 1e10, 0.0, 2e-10),
            (1.0, 1e10, 30.0, 2e-10),
            (1.0, 0.0, 1e9, 1.0 + 2e-9),
            (1.0, 1e3, 1e9, 1.0 - 1e-6 + 2e-9),
            (1e4, 1e94, 1.0, 2e-94),
            (1e4, 1e100, 1e100, 2e-100),
        ] {
            let mut to = ModalState::zero(1);
            let found = single_oscillator(Integrator::Exact, h, l, c);
            found.advance(&state(1.0, 0.0), (&[2.0], &[2.0]), &mut to);
            assert!(
                (to.q[0] - q).abs() < 1e-6 * q.abs().max(1e-9),
                "{l} {c}: {}",
                to.q[0]
            );
            assert!(to.v[0].is_finite());
        }
        // The bound is met from below: damped motion that has come to rest is the same on both sides.
        let (mut below, mut above) = (ModalState::zero(1), ModalState::zero(1));
        for (l, to) in [
            (0.999 * STIFF_LIMIT, &mut below),
            (1.001 * STIFF_LIMIT, &mut above),
        ] {
            single_oscillator(Integrator::Exact, 1.0, l, 600.0).advance(
                &state(0.0, 0.0),
                (&[1.0], &[1.0]),
                to,
            );
        }
        assert!((below.q[0] / above.q[0] - 1.0).abs() < 0.01);
        for step in [0.0, -1.0, 1e-10, 1e5, 1e38, f64::NAN, f64::INFINITY] {
            assert!(Oscillators::new(Integrator::Exact, step, &[1.0], &[0.0]).is_err());
        }
    }

    /// The exact step solves the oscillator for any stiffness and damping.
    #[test]
    fn exact_step_solves_oscillator() {
        // Free, soft, stiff, critically damped, overdamped.
        for (l, c) in [
            (0.0, 0.0),
            (0.0, 3.0),
            (40.0, 0.5),
            (9e4, 2.0),
            (100.0, 20.0),
            (4.0, 300.0),
        ] {
            let h = 1.0 / 24.0;
            let (start, f) = ((0.3, -1.2), (5.0, -8.0));
            let mut to = state(0.0, 0.0);
            single_oscillator(Integrator::Exact, h, l, c).advance(
                &state(start.0, start.1),
                (&[f.0], &[f.1]),
                &mut to,
            );
            let (q, v) = reference_state(h, l, c, start, f);
            let scale = 1.0 + l.sqrt();
            assert!((to.q[0] - q).abs() < 1e-10, "{l} {c}: {} {q}", to.q[0]);
            assert!(
                (to.v[0] - v).abs() < 1e-10 * scale,
                "{l} {c}: {} {v}",
                to.v[0]
            );
        }
    }

    /// The exact step conserves energy, and the published semi-implicit step loses it.
    #[test]
    fn exact_step_conserves_energy() {
        let energy = |integrator, steps: usize| {
            let o = single_oscillator(integrator, 1.0 / 24.0, 400.0, 0.0);
            let (mut a, mut b) = (state(1.0, 0.0), state(0.0, 0.0));
            for _ in 0..steps {
                o.advance(&a, (&[0.0], &[0.0]), &mut b);
                std::mem::swap(&mut a, &mut b);
            }
            0.5 * a.v[0].powi(2) + 200.0 * a.q[0].powi(2)
        };
        assert!((energy(Integrator::Exact, 10_000) / 200.0 - 1.0).abs() < 1e-9);
        assert!(energy(Integrator::SemiImplicit, 240) < 0.2);
    }

    /// The published semi-implicit step is backward Euler.
    #[test]
    fn semi_implicit_step_is_backward_euler() {
        let (h, l, c, f) = (0.1, 30.0, 2.0, 7.0);
        let mut to = state(0.0, 0.0);
        single_oscillator(Integrator::SemiImplicit, h, l, c).advance(
            &state(0.4, -1.0),
            (&[f], &[99.0]),
            &mut to,
        );
        let (q, v) = (to.q[0], to.v[0]);
        assert!((q - (0.4 + h * v)).abs() < 1e-14);
        assert!((v - (-1.0 + h * (f - c * v - l * q))).abs() < 1e-13);
    }

    /// Bad steps, dampings and names are refused, and the error names them.
    #[test]
    fn oscillator_refuses_bad_settings() {
        assert!(Oscillators::new(Integrator::Exact, 0.0, &[], &[]).is_err());
        assert!(Oscillators::new(Integrator::Exact, f64::NAN, &[], &[]).is_err());
        let negative = Damping::Proportional {
            mass: 0.0,
            stiffness: -1.0,
        };
        let message = negative.coefficients(&[1.0]).unwrap_err().to_string();
        assert!(message.contains("stiffness damping"));
        let short = Damping::PerMode(vec![1.0]).coefficients(&[1.0, 2.0]);
        assert!(short.is_err());
        assert!(
            "nothing"
                .parse::<Integrator>()
                .unwrap_err()
                .to_string()
                .contains("'exact'")
        );
    }
}
