# SPDX-License-Identifier: MIT OR Apache-2.0
"""Modal warping in plain numpy and scipy, written from the paper: a check of the crate, and its peer in benches.

[choi2003]: linear tetrahedra, ARPACK's shift-invert Lanczos, modal rotation (eqs 7, 8), both integrators (eq. 18
and the exact oscillator), warping (eq. 19, appendix A), constraints by pseudo-inverse, iterated (eqs 20 to 25).
Vectorised, and otherwise as straight as can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm
from scipy.sparse import coo_array, csr_array, eye_array, kron
from scipy.sparse.linalg import eigsh, spsolve
from scipy.spatial.transform import Rotation


def lame(young: float, poisson: float) -> tuple[float, float]:
    """Returns Lamé's λ and the shear modulus G."""
    return young * poisson / ((1 + poisson) * (1 - 2 * poisson)), young / (2 * (1 + poisson))


def gradients(vertices: np.ndarray, tets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns gradients [e,4,3] of the linear shape functions, and volumes [e]."""
    x = vertices[tets]
    edges = np.swapaxes(x[:, 1:] - x[:, :1], 1, 2)
    inner = np.linalg.inv(edges)
    return np.concatenate([-inner.sum(axis=1, keepdims=True), inner], axis=1), np.linalg.det(edges) / 6.0


def _scatter(blocks: np.ndarray, tets: np.ndarray, nodes: int) -> csr_array:
    """Sums element blocks [e,4,3,4,3] into a square matrix of 3·nodes."""
    rows = 3 * tets[:, :, None] + np.arange(3)
    i = np.broadcast_to(rows[:, :, :, None, None], blocks.shape)
    j = np.broadcast_to(rows[:, None, None, :, :], blocks.shape)
    return coo_array((blocks.ravel(), (i.ravel(), j.ravel())), shape=(3 * nodes, 3 * nodes)).tocsr()


def stiffness(vertices: np.ndarray, tets: np.ndarray, young: float, poisson: float) -> csr_array:
    """Returns K of linear elasticity."""
    g, volume = gradients(vertices, tets)
    lam, shear = lame(young, poisson)
    outer = np.einsum("eai,ebj->eaibj", g, g)
    blocks = lam * outer + shear * np.einsum("eaibj->eajbi", outer)
    blocks += shear * np.einsum("eak,ebk,ij->eaibj", g, g, np.eye(3))
    return _scatter(blocks * volume[:, None, None, None, None], tets, len(vertices))


def nodal_mass(vertices: np.ndarray, tets: np.ndarray, density: float) -> np.ndarray:
    """Returns the lumped mass [k]: a quarter of each element at each of its corners."""
    _, volume = gradients(vertices, tets)
    return np.bincount(tets.ravel(), np.repeat(density * volume / 4.0, 4), minlength=len(vertices))


def mass(vertices: np.ndarray, tets: np.ndarray, density: float, kind: str = "consistent") -> csr_array:
    """Returns M, consistent or lumped."""
    if kind == "lumped":
        return csr_array(kron(_diagonal(nodal_mass(vertices, tets, density)), eye_array(3)))
    _, volume = gradients(vertices, tets)
    local = (np.ones((4, 4)) + np.eye(4)) / 20.0
    blocks = np.einsum("e,ab->eab", density * volume, local)
    i = np.broadcast_to(tets[:, :, None], blocks.shape)
    j = np.broadcast_to(tets[:, None, :], blocks.shape)
    scalar = coo_array((blocks.ravel(), (i.ravel(), j.ravel())), shape=(len(vertices), len(vertices)))
    return csr_array(kron(scalar, eye_array(3)))


def _diagonal(values: np.ndarray) -> coo_array:
    index = np.arange(len(values))
    return coo_array((values, (index, index)))


def rotations_of(u: np.ndarray, vertices: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """Returns W u: half the curl of each element, then the mean over the elements around each node; u[..., k,3]. (7)"""
    g, _ = gradients(vertices, tets)
    curl = 0.5 * np.cross(g, u[..., tets, :]).sum(axis=-2)
    count = np.bincount(tets.ravel(), minlength=len(vertices))
    total = np.zeros_like(u)
    for corner in range(4):
        np.add.at(total, (..., tets[:, corner], slice(None)), curl)
    return total / np.maximum(count, 1)[:, None]


@dataclass
class Modes:
    """Holds Λ[m], Φ[m,k,3], Ψ[m,k,3] and the mass of each node [k], on which gravity acts."""

    eigenvalues: np.ndarray
    shapes: np.ndarray
    rotations: np.ndarray
    masses: np.ndarray


def free_rows(nodes: int, fixed: np.ndarray) -> np.ndarray:
    """Returns the rows of nodes that are not held."""
    held = np.zeros(nodes, bool)
    held[fixed] = True
    return (3 * np.flatnonzero(~held)[:, None] + np.arange(3)).ravel()


def modes(
    vertices: np.ndarray,
    tets: np.ndarray,
    count: int,
    young: float,
    poisson: float,
    density: float,
    fixed: np.ndarray,
    kind: str = "consistent",
) -> Modes:
    """Returns the lowest modes with `fixed` nodes held."""
    k = stiffness(vertices, tets, young, poisson)
    m = mass(vertices, tets, density, kind)
    return modes_of(k, m, vertices, tets, count, fixed)


def modes_of(
    k: csr_array,
    m: csr_array,
    vertices: np.ndarray,
    tets: np.ndarray,
    count: int,
    fixed: np.ndarray,
) -> Modes:
    """Returns the lowest modes of assembled matrices."""
    free = free_rows(len(vertices), fixed)
    start = np.random.default_rng(0).normal(size=len(free))
    values, vectors = eigsh(k[free][:, free].tocsc(), k=count, M=m[free][:, free].tocsc(), sigma=0.0, v0=start)
    order = np.argsort(values)
    shapes = np.zeros((count, 3 * len(vertices)))
    shapes[:, free] = vectors[:, order].T
    masses = (m @ np.ones(m.shape[0]))[::3]
    shapes = shapes.reshape(count, -1, 3)
    return Modes(values[order], shapes, rotations_of(shapes, vertices, tets), masses)


def rotation(w: np.ndarray) -> np.ndarray:
    """Returns exp [w]ₓ [k,3,3]."""
    return Rotation.from_rotvec(w).as_matrix()


def warp_rotation(w: np.ndarray) -> np.ndarray:
    """Returns R̃(w), the mean of exp [τw]ₓ over τ from 0 to 1, [k,3,3]. (Appendix A)"""
    angle = np.linalg.norm(w, axis=1)
    small = angle < 1e-3
    a = np.where(small, 1.0, angle)
    # (1 − cos θ)/θ² and (1 − sin θ/θ)/θ², by series near zero.
    first = np.where(small, 0.5 - angle**2 / 24.0, (1.0 - np.cos(a)) / a**2)
    second = np.where(small, 1.0 / 6.0 - angle**2 / 120.0, (1.0 - np.sin(a) / a) / a**2)
    cross = np.cross(np.eye(3), w[:, None, :])  # row j of [w]ₓ is e_j × w
    return np.eye(3) + first[:, None, None] * cross + second[:, None, None] * cross @ cross


class Simulation:
    """Simulates one body. `integrator`: 'semi_implicit' is eq. 18, 'exact' the oscillator's own solution."""

    def __init__(
        self,
        of: Modes,
        step: float,
        integrator: str = "exact",
        warp: bool = True,
        gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
        damping: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self.modes, self.step, self.warp = of, step, warp
        count, self.nodes, _ = of.shapes.shape
        self.phi = of.shapes.reshape(count, -1).T
        self.psi = of.rotations.reshape(count, -1).T
        self.weights = of.masses[:, None] * np.asarray(gravity, float)
        self.amplitudes, self.velocities = np.zeros(count), np.zeros(count)
        self.positions: dict[int, np.ndarray] = {}
        self.orientations: dict[int, np.ndarray] = {}
        self.exercised: list[int] = []
        self.iterations = 0
        damp = damping[0] + damping[1] * of.eigenvalues
        d = 1.0 + step * damp + step**2 * of.eigenvalues
        self.alpha, self.beta, self.gamma = 1.0 - step**2 * of.eigenvalues / d, step / d, step**2 / d
        self.exact = None
        if integrator == "exact":
            # y' = A y + f e with f linear: the exponential of the matrix that carries f and its slope along.
            rate = np.zeros((count, 4, 4))
            rate[:, 0, 1] = rate[:, 1, 2] = rate[:, 2, 3] = 1.0
            rate[:, 1, 0], rate[:, 1, 1] = -of.eigenvalues, -damp
            self.exact = np.stack([expm(r * step) for r in rate])

    def constrain(self, positions=None, orientations=None, exercised=None) -> None:
        """Holds displacements and rotation vectors of nodes by forces at the exercised ones."""
        self.positions = {n: np.asarray(u, float) for n, u in (positions or {}).items()}
        self.orientations = {n: np.asarray(w, float) for n, w in (orientations or {}).items()}
        self.exercised = sorted({*self.positions, *self.orientations} if exercised is None else exercised)

    def rotations(self, q: np.ndarray) -> np.ndarray:
        """Returns exp [Ψq]ₓ per node."""
        if not self.warp:
            return np.broadcast_to(np.eye(3), (self.nodes, 3, 3))
        return rotation((self.psi @ q).reshape(-1, 3))

    def modal_force(self, forces: np.ndarray | None, q: np.ndarray) -> np.ndarray:
        """Returns Φᵀ R_wᵀ F, gravity's M g among the forces."""
        all_ = self.weights if forces is None else self.weights + forces
        return self.phi.T @ np.einsum("nji,nj->ni", self.rotations(q), all_).ravel()

    def advance(self, forces: np.ndarray | None = None) -> None:
        """Takes one step under gravity and nodal forces [k,3]."""
        q, v = self.amplitudes, self.velocities
        old = self.modal_force(forces, q)
        if self.exact is not None:
            if self.positions or self.orientations:
                raise NotImplementedError("Constraints are eq. 18's here.")
            # Predict with the turn of the step's start, correct with the force going to that of the predicted end.
            predicted, _ = self._exact(q, v, old, old)
            self.amplitudes, self.velocities = self._exact(q, v, old, self.modal_force(forces, predicted))
            return
        free = self.alpha * q + self.beta * v + self.gamma * old
        if self.positions or self.orientations:
            free = self._constrained(free)
        self.amplitudes, self.velocities = free, (free - q) / self.step

    def _exact(self, q: np.ndarray, v: np.ndarray, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        state = np.einsum("mij,jm->im", self.exact, np.stack([q, v, start, (end - start) / self.step]))
        return state[0], state[1]

    def _constrained(self, free: np.ndarray) -> np.ndarray:
        """Repeats the printed pseudo-inverse solution with R̃ of the corrected amplitudes until it holds."""
        rows = lambda nodes: (3 * np.array(sorted(nodes), int)[:, None] + np.arange(3)).ravel()  # noqa: E731
        c, o, x = rows(self.positions), rows(self.orientations), rows(self.exercised)
        u = np.array([self.positions[n] for n in sorted(self.positions)]).reshape(-1, 3)
        w = np.array([self.orientations[n] for n in sorted(self.orientations)]).ravel()
        response = self.gamma[:, None] * self.phi[x].T
        q = free
        for self.iterations in range(1, 200):
            turned = self.phi[c].reshape(-1, 3, len(q))
            if self.warp and len(c):
                turned = warp_rotation((self.psi[c] @ q).reshape(-1, 3)) @ turned
            rate = np.concatenate([turned.reshape(-1, len(q)), self.psi[o]])
            wanted = np.concatenate([u.ravel(), w])
            # Forces are counted in the exercised nodes' frames, which changes no solution.
            after = free + response @ (np.linalg.pinv(rate @ response, rcond=1e-10) @ (wanted - rate @ free))
            done = np.abs(after - q).max() <= 1e-13 * max(np.abs(after).max(), 1e-300)
            q = after
            if done:
                break
        return q

    def displacements(self) -> np.ndarray:
        """Returns R̃(Ψq) Φq, or Φq without warping, [k,3]."""
        u = (self.phi @ self.amplitudes).reshape(-1, 3)
        if not self.warp:
            return u
        return np.einsum("nij,nj->ni", warp_rotation((self.psi @ self.amplitudes).reshape(-1, 3)), u)


def nonlinear_forces(
    u: np.ndarray, vertices: np.ndarray, tets: np.ndarray, young: float, poisson: float
) -> tuple[float, np.ndarray, csr_array]:
    """Returns St. Venant-Kirchhoff energy, gradient [k,3] and Hessian at displacements u."""
    g, volume = gradients(vertices, tets)
    lam, shear = lame(young, poisson)
    f = np.eye(3) + np.einsum("eai,eaj->eij", u[tets], g)
    strain = 0.5 * (np.swapaxes(f, 1, 2) @ f - np.eye(3))
    trace = np.trace(strain, axis1=1, axis2=2)
    energy = volume @ (0.5 * lam * trace**2 + shear * (strain**2).sum(axis=(1, 2)))
    stress = lam * trace[:, None, None] * np.eye(3) + 2.0 * shear * strain
    local = np.einsum("e,eij,ejk,eak->eai", volume, f, stress, g)
    gradient = np.zeros_like(u)
    np.add.at(gradient, tets, local)
    fg = np.einsum("eij,eaj->eai", f, g)
    outer = np.einsum("eai,ebj->eaibj", fg, fg)
    blocks = lam * outer + shear * np.einsum("eaibj->eajbi", outer)
    blocks += shear * np.einsum("eak,ebk,eij->eaibj", g, g, f @ np.swapaxes(f, 1, 2))
    blocks += np.einsum("eak,ekl,ebl,ij->eaibj", g, stress, g, np.eye(3))
    return float(energy), gradient, _scatter(blocks * volume[:, None, None, None, None], tets, len(u))


def nonlinear_equilibrium(
    vertices: np.ndarray,
    tets: np.ndarray,
    young: float,
    poisson: float,
    fixed: np.ndarray,
    forces: np.ndarray,
    load_steps: int = 10,
) -> np.ndarray:
    """Returns displacements [k,3] at which elastic forces balance dead loads: Newton, the load raised in steps."""
    free = free_rows(len(vertices), fixed)
    u = np.zeros_like(vertices)
    scale = np.abs(forces).max()
    for part in np.arange(1, load_steps + 1) / load_steps:
        for _ in range(100):
            energy, gradient, hessian = nonlinear_forces(u, vertices, tets, young, poisson)
            residual = (gradient - part * forces).ravel()[free]
            if np.abs(residual).max() <= 1e-10 * scale:
                break
            move = np.zeros(u.size)
            move[free] = -spsolve(hessian[free][:, free].tocsc(), residual)
            move, slope = move.reshape(u.shape), residual @ move[free]
            reach, start = 1.0, energy - part * (forces * u).sum()
            # Backtrack where the energy is too large to be rounding; an uphill direction is taken as it is.
            while slope < -1e-12 * abs(start) and reach > 1e-4:
                tried = u + reach * move
                there = nonlinear_forces(tried, vertices, tets, young, poisson)[0] - part * (forces * tried).sum()
                if there <= start + 1e-4 * reach * slope:
                    break
                reach *= 0.5
            u = u + reach * move
        else:
            raise RuntimeError("Newton's method did not converge.")
    return u
