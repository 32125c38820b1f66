# SPDX-License-Identifier: GPL-3.0-or-later
"""Modal flesh that is held at points and dragged by them: constraints, steps of real time, and the status line.

The modes move from the shape at rest in the present pose. A point of the skin is dragged by one node of the flesh around it, whose
target is corrected until the skin itself is at the wanted place. All lengths are in metres, in the axes of the flesh at rest.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import Refusal

#: Seconds of a step, and the most steps between two updates: a slow machine plays slower, and does not fall behind for ever.
TIME_STEP, MAX_STEPS = 1.0 / 240.0, 12
#: Largest step of a target, as a part of the body's size: faster drags lag behind. At 240 steps a second it crosses the body in a
#: fifth of a second.
MAX_TARGET_STEP = 0.02
#: Part of its way that a target goes in a step: all but 2 % of it within a fifth of a second.
APPROACH_RATE = 1.0 - math.exp(-TIME_STEP / 0.05)
#: Largest displacement of a dragged point, as a part of the body's size: modes do not describe torn flesh.
MAX_DISPLACEMENT = 0.75
#: Part of a missing distance by which a target is corrected between two updates. Half: skin lags behind its node, and whole
#: corrections could be added twice.
CORRECTION_RATE = 0.5
#: Largest ratio of the displacement of other flesh to that of the dragged point, which otherwise stays behind: bones hold it.
MAX_LEVERAGE = 4.0
#: Swings, as a part of the body's size, that are not held back. As much as a target goes in a step.
FREE_SWING = 0.02
#: Least part of its displacement that a point is dragged, or it would never return.
MIN_DRAGGED_SHARE = 0.02
#: Part by which that share approaches its goal between two updates. All but a third in a twelfth of a second, at 60 updates a
#: second.
SHARE_RATE = 0.2
#: Swing, as a part of the body's size, below which flesh is at rest. A fifth of a pixel of a body that fills 2,160 lines.
REST_TOLERANCE = 1e-4
#: Least seconds for which a sentence stays readable. Three words at 240 a minute; it stays on while flesh is slowed.
MIN_READING_TIME = 0.7


class StepClock:
    """Real time in whole steps."""

    def __init__(self, step: float = TIME_STEP, most: int = MAX_STEPS):
        self.step, self.most, self._left = step, most, 0.0

    def steps(self, elapsed: float) -> int:
        """Returns the number of steps due after `elapsed` more seconds; steps beyond the most are dropped for good."""
        self._left += max(elapsed, 0.0)
        due = int(self._left / self.step + 1e-9)
        self._left = 0.0 if due > self.most else max(self._left - due * self.step, 0.0)
        return min(due, self.most)


@dataclass
class HeldPoint:
    """A point of the skin that is held."""

    vertex: int
    node: int
    wanted: np.ndarray  # [3] wanted displacement of the vertex
    prescribed: np.ndarray  # [3] displacement of the node prescribed to the simulation
    start: np.ndarray  # [3] displacement of the vertex when it was gripped
    bends: np.ndarray  # [3, k, 3] displacement of the flesh for a unit displacement of the node along each axis
    more: np.ndarray  # [3] displacement of the node beyond that of the vertex
    most: float  # largest drag, metres
    part: float = 1.0  # part of the way that flesh elsewhere allows

    def displacement(self) -> np.ndarray:
        """Returns the vector from the gripped place of the vertex to the wanted one, at most `most` long, [3]."""
        way = self.wanted - self.start
        return min(1.0, self.most / max(float(np.linalg.norm(way)), 1e-30)) * way

    def goal(self) -> np.ndarray:
        """Returns the target displacement of the vertex, [3]."""
        return self.start + self.part * self.displacement()

    def allowed_share(self) -> float:
        """Returns the part of the way that bones allow, valid while rotations are small."""
        way = self.displacement()
        bent = np.linalg.norm(np.tensordot(way, self.bends, axes=1), axis=1).max()
        return min(1.0, MAX_LEVERAGE * float(np.linalg.norm(way)) / bent) if bent > 0.0 else 1.0


class ModalDrag:
    """The motion while points of the skin are held, and after they were let go."""

    def __init__(
        self, thew: Any, modes: Any, deformer: Any, nodes: tuple, rest: np.ndarray, size: float, damping
    ) -> None:
        """Starts at rest. `nodes`: (indices [n, 8], shares [n, 8]) of the vertices in the lattice; `rest` [m]: the modal amplitudes.

        `deformer`: a `thew.Deformer` of the surface; `damping`: (1/s, s) as in `thew.ModalSimulation`.
        """
        self.modes, self.deformer, self.size = modes, deformer, size
        self.simulation = thew.ModalSimulation(modes, TIME_STEP, damping=damping)
        self.rest = np.asarray(rest, dtype=np.float64)
        self.grips: list[HeldPoint] = []
        self.slowed = self.stopped = 0.0  # seconds for which that note stays on
        self._nodes, self._fixed = nodes, np.asarray(modes.fixed)
        shapes = np.asarray(modes.shapes)
        self._peaks = np.linalg.norm(shapes, axis=2).max(axis=1)
        self._shapes, self._eigenvalues = shapes, np.maximum(np.asarray(modes.eigenvalues), 1e-9)
        self._moved: np.ndarray | None = None
        self._still = np.asarray(deformer.displacements(self.rest))
        self._swing = 0.0  # its swing when a point was gripped

    # display

    @property
    def amplitudes(self) -> np.ndarray:
        """Returns the amplitudes of all modes, [m]."""
        return self.rest + np.asarray(self.simulation.amplitudes)

    @property
    def displacements(self) -> np.ndarray:
        """Returns the displacements of the skin from the body at rest, [n, 3], float32."""
        if self._moved is None:
            self._moved = self.deformer.displacements(self.amplitudes)
        return self._moved

    @property
    def is_at_rest(self) -> bool:
        """Returns whether nothing is held and the flesh is at rest again."""
        swing = np.abs(self.simulation.amplitudes) + np.abs(self.simulation.velocities) / np.sqrt(self._eigenvalues)
        return not self.grips and float((swing * self._peaks).sum()) < REST_TOLERANCE * self.size

    def remaining_distance(self) -> float:
        """Returns the largest distance of a held point from its wanted place, metres."""
        skin = self.displacements
        return max((float(np.linalg.norm(grip.wanted - skin[grip.vertex])) for grip in self.grips), default=0.0)

    # held points

    def grip(self, vertex: int) -> HeldPoint:
        """Holds a vertex at its present place; raises a `Refusal` where bones hold it already."""
        found = next((grip for grip in self.grips if grip.vertex == vertex), None)
        if found is None:
            node = self.node_of(vertex)
            place = np.asarray(self.simulation.displacements())[node]
            skin = np.asarray(self.displacements[vertex], dtype=np.float64)
            found = HeldPoint(
                vertex, node, skin, place, skin, self.bends(node), place - skin, MAX_DISPLACEMENT * self.size
            )
            self.grips.append(found)
            away = float(np.linalg.norm(self.displacements - self._still, axis=1).max())
            self._swing = MAX_LEVERAGE * max(away, FREE_SWING * self.size)
        return found

    def node_of(self, vertex: int) -> int:
        """Returns the node around a vertex that drags it best: near it, and soft."""
        indices, shares = (each[vertex] for each in self._nodes)
        held = {grip.node for grip in self.grips}
        soft = [
            (float(share * np.sqrt(np.trace(self.compliance(node)))), int(node))
            for node, share in zip(indices, shares, strict=True)
            if node >= 0 and share > 0.0 and not self._fixed[node]
        ]
        best = max((pair for pair in soft if pair[1] not in held), default=(0.0, -1))
        if best[1] < 0 and soft:
            raise Refusal("That point is already held by one beside it: choose one farther away")
        if not best[0] > 0.0:
            raise Refusal("Bones hold the skin there: drag a softer place, farther from them")
        return best[1]

    def compliance(self, node: int) -> np.ndarray:
        """Returns the displacement of a node per force at it, m/N, [3, 3]."""
        shapes = self._shapes[:, node]
        return (shapes / self._eigenvalues[:, None]).T @ shapes

    def bends(self, node: int) -> np.ndarray:
        """Returns the least bent flesh with a node displaced along each axis, per metre, [3, k, 3]."""
        amplitudes = (self._shapes[:, node] / self._eigenvalues[:, None]) @ np.linalg.pinv(self.compliance(node))
        return np.einsum("ma,mkc->akc", amplitudes, self._shapes)

    def let_go(self) -> None:
        """Releases all points: the flesh rings out."""
        self.grips.clear()
        self.simulation.constrain()

    # time

    def advance(self, steps: int) -> None:
        """Advances `steps` steps, with the nodes' targets moving smoothly to those of the points: a sudden stop of the mouse does
        not jerk flesh.
        """
        if not steps:
            return
        for grip in self.grips:
            grip.part = min(grip.part, grip.allowed_share())
        for _ in range(steps):
            for grip in self.grips:
                way = grip.goal() + grip.more - grip.prescribed
                far = float(np.linalg.norm(way))
                part = min(APPROACH_RATE, MAX_TARGET_STEP * self.size / far) if far > 0.0 else 0.0
                grip.prescribed = grip.prescribed + part * way
            if self.grips:
                self.simulation.constrain({grip.node: grip.prescribed for grip in self.grips})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the remaining distance reports the same
                self.simulation.advance()
            self._note(self.simulation.constraints_held if self.grips else {})
        self._moved = None
        self._correct()

    def _correct(self) -> None:
        """Drags the nodes so that the skin itself comes to its targets, within the limits of the other flesh."""
        if not self.grips:
            return
        places, skin = np.asarray(self.simulation.displacements()), self.displacements
        farthest = float(np.linalg.norm(skin - self._still, axis=1).max())
        allowed = MAX_LEVERAGE * max(float(np.linalg.norm(grip.displacement())) for grip in self.grips)
        allowed = max(allowed, self._swing)
        for grip in self.grips:
            missed = places[grip.node] - skin[grip.vertex] - grip.more
            grip.more = grip.more + CORRECTION_RATE * missed
            part = min(1.0, grip.part * allowed / max(farthest, 1e-30), grip.allowed_share())
            grip.part = max(grip.part + SHARE_RATE * (part - grip.part), MIN_DRAGGED_SHARE)

    def _note(self, held: dict) -> None:
        self.slowed = MIN_READING_TIME if held.get("slowed") else max(self.slowed - TIME_STEP, 0.0)
        self.stopped = MIN_READING_TIME if held.get("stopped") else max(self.stopped - TIME_STEP, 0.0)


def wanted_displacement(
    turn: np.ndarray, displacement: np.ndarray, displayed: np.ndarray, there: np.ndarray
) -> np.ndarray:
    """Returns the displacement [3] in rest axes with which a vertex appears at `there`.

    At present it is displaced by `displacement` and appears at `displayed`; `turn` [3, 3]: the
    rotation and stretch of displacements by its pose.
    """
    return np.asarray(displacement, dtype=np.float64) + np.linalg.pinv(turn) @ (
        np.asarray(there) - np.asarray(displayed)
    )


KEYS_HELP = "drag the skin, Shift+click first holds a point, release lets go, Esc or right button puts everything back"


def status_line(drag: ModalDrag | None, dragging: bool, distance: str) -> str:
    """Returns the text of the status bar; `distance`: from the point to the mouse, "" where the point is there."""
    parts = []
    if drag is not None and drag.stopped:
        parts.append("the flesh was stopped, because it could follow only by being thrown about")
    elif drag is not None and drag.slowed:
        parts.append("the flesh is slowed, because it cannot follow so fast")
    if dragging and distance:
        parts.append(f"{distance} short of the mouse")
    if drag is not None and drag.grips and not dragging:
        count = len(drag.grips)
        parts.append(f"{count} point{'s' if count > 1 else ''} held")
    return f"Thew: {'; '.join([*parts, KEYS_HELP])}"
