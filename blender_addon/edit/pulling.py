# SPDX-License-Identifier: GPL-3.0-or-later
"""Pulling the skin: fits the active rig's sliders so that points of the surface reach their targets.

The other rigs push as they stand. The flesh is at rest in the present pose.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..live import driving, rig_actions
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.native import core
from ..logic.sentences import join_words
from ..logic.sliders import SLIDERS_BY_NAME, USUAL_RANGES, is_length, size_names, slider_parameters
from ..rigs import pushers, rigging
from ..saved.rigs import ThewRig, active_rig, are_in_force
from ..saved.samples import record, set_sliders, sliders_of
from ..saved.units import length
from ..scene import rig_controls
from . import posed_character

#: A pulled point: (vertex of the mesh, target [3] in Blender's world).
PulledPoint = tuple[int, np.ndarray]

#: Usual range of the strength, as a multiple of its present or preferred value. That of lengths is the rig's largest
#: size, others by kind.
STRENGTH_RANGE_FACTOR = 4.0
#: Cost of moving a slider by its usual range at weight 1, as a distance from a target in parts of the body's size.
PREFERENCE_COST = 0.003
#: Part of the distance from which points count as at their targets.
MIN_REACHED_SHARE = 0.98
#: Largest motion of the skin in an update at which it has arrived, as a part of the body's size. That is a fifth of a
#: pixel of a body that fills 2,160 lines.
ARRIVAL_TOLERANCE = 1e-4


class SkinPull:
    """One pull of the active rig of a character, from the first press to the release."""

    def __init__(self, stand: posed_character.PosedCharacter, view_layer: bpy.types.ViewLayer):
        obj, flesh = stand.obj, stand.flesh
        rig = active_rig(obj)
        if rig is None:
            raise Refusal(f"{describe(obj)} has no active rig to pull with: place one on it, or choose one in the list")
        index = obj.thew.active_rig
        rigging.require_template(rig)
        if not are_in_force(obj)[index]:
            raise Refusal(f"The rig “{rig.name}” is switched off: switch it on to pull with it")
        self.stand, self.index = stand, index
        self.controls = rig_controls.evaluated_controls(obj, view_layer.depsgraph)
        self.unit = flesh.place.metres_per_unit
        self.names = sliders_of(rig)
        found = rigging.resolve_rig(obj, flesh.character, flesh.bind_pose, flesh.place, rig, index)
        if found.problem:
            raise Refusal(found.problem)
        whole, at = found.native(core(), self.unit, flesh.body), float(self.controls[index])
        self.first = pushers.displayed_parameters(rig, whole, at, flesh.body, self.unit)
        self.native = found.attachment.native(core(), self.first, name=rig.name)
        self.fit = core().RigFit(
            flesh.body,
            self.native,
            stand.pose,
            gravity=driving.gravity_at(flesh, stand.place),
            method=flesh.build_settings.static_method,
            rest_forces=rig_actions.forces(flesh, obj, self.controls, without=index),
        )
        self.found = dict(self.first)
        self.offsets = self.balance(self.first)
        # Targets are points of the displayed skin. The fit moves the flesh, which need not lie on it.
        self.away = stand.skin + self.offsets - np.asarray(self.fit.positions(self.first))
        self.began = self.fitted_skin.copy()
        self.arrived = True

    @property
    def rig(self) -> ThewRig:
        """The rig. Looked up each time, because undo and edits of the list move it."""
        return self.stand.obj.thew.rigs[self.index]

    @property
    def fitted_skin(self) -> np.ndarray:
        """The skin with the fitted rig, metres [n, 3]."""
        return self.stand.skin + self.offsets

    def balance(self, parameters: dict[str, float]) -> np.ndarray:
        """Returns the offsets of the flesh at rest with the rig at some parameters, metres [n, 3], world axes."""
        return self.stand.flesh.rest_offsets(
            np.asarray(self.fit.positions(parameters)), self.stand.maps, self.stand.mesh
        )

    def pull(self, points: list[PulledPoint], evaluations: int | None = None) -> np.ndarray:
        """Fits the sliders to these points and sets them. Returns the offsets of the flesh at rest with them, metres [n, 3].

        `evaluations`: their maximum number, for an intermediate step. `arrived` then tells whether a further step would change anything.
        """
        place, rig = self.stand.place, self.rig
        targets = [(vertex, place.points(np.asarray(target)) - self.away[vertex]) for vertex, target in points]
        preferred, weights, bounds = self.fit_options(rig)
        found = self.fit.fit(
            targets, start=self.found, preferred=preferred, weights=weights, bounds=bounds, evaluations=evaluations
        )
        self.found = {name: float(found[name]) for name in self.names}
        before, self.offsets = self.offsets, self.balance(self.found)
        still = np.abs(self.offsets - before).max() <= ARRIVAL_TOLERANCE * self.stand.size
        # An update that used all evaluations has not arrived, even if its best point is its start.
        self.arrived = evaluations is None or bool(still and self.fit.evaluations < evaluations)
        self.set_sliders()
        return self.offsets

    def set_sliders(self) -> None:
        """Sets the rig's sliders to the fit, with the strength as the rig measures it."""
        rig, body = self.rig, self.stand.flesh.body
        found = {**self.found, "strength": pushers.amount(rig, self.native, self.found, body)}
        set_sliders(rig, slider_parameters(found, self.unit, rig.strength_by == "YIELD"))

    def outcome_text(self, points: list[PulledPoint]) -> str:
        """Returns how near the points came, in words."""
        place = self.stand.place
        wanted = np.array([place.points(np.asarray(target)) for _, target in points])
        vertices = [vertex for vertex, _ in points]
        left = np.linalg.norm(self.fitted_skin[vertices] - wanted, axis=1)
        way = float(np.linalg.norm(self.began[vertices] - wanted))
        reached = max(1.0 - float(np.linalg.norm(left)) / way, 0.0) if way > 0.0 else 1.0
        if reached >= MIN_REACHED_SHARE:
            return f"its points miss their targets by {length(left.max() / place.metres_per_unit)} at most"
        return f"it reaches {pushers.percent(reached)} of the way: {self.obstacle_text(points)}"

    def obstacle_text(self, points: list[PulledPoint]) -> str:
        """Returns what keeps the points from their targets, in words: the likeliest cause."""
        if not self.arrived:
            return "it is still on its way"
        if self.fit.folding:
            return "flesh would fold beyond"
        limit = self.stand.flesh.build_settings.simulation.max_offset
        vertices = [vertex for vertex, _ in points]
        if limit and np.linalg.norm(self.offsets[vertices], axis=1).max() > limit * self.stand.size:
            return "the Swing Limit of the flesh holds it"
        fixed = [SLIDERS_BY_NAME[name].label for name in self.names if getattr(self.rig.pull.fixed, name)]
        if fixed:
            return f"{join_words(fixed)} {'is' if len(fixed) == 1 else 'are'} fixed under While Pulling"
        if len(points) > 1:
            return "the points that are held pull against it"
        return "the rig does not push that way there: place it nearer to the point, or choose another template"

    def settle(self, points: list[PulledPoint]) -> None:
        """Completes the fit, so that the best reachable result is kept. Quick if the updates of the drag have arrived."""
        if not self.arrived:
            self.pull(points)

    def fit_options(self, rig: ThewRig) -> tuple[dict, dict, dict]:
        """Returns preferred values, weights and bounds for the fit, in native units.

        A slider without the artist's weight is kept lightly at its value from the beginning of the pull. Of all
        solutions the fit then finds the one that changes least, and the strength cannot grow without bound where a
        point hardly feels it.
        """
        preferred, weights, bounds = {}, {}, {}
        reach = max(self.first[name] for name in size_names(rig.template))
        liked = self.preferred_strength(rig)
        usual = STRENGTH_RANGE_FACTOR * max(abs(self.first["strength"]), abs(liked), 1.0)
        for name in self.names:
            if getattr(rig.pull.fixed, name):
                bounds[name] = (self.first[name], self.first[name])
                continue
            weight = getattr(rig.pull.weights, name)
            preference = getattr(rig.pull.preferred, name) * (self.unit if is_length(name) else 1.0)
            preference = liked if name == "strength" else preference
            if weight <= 0.0:
                weight, preference = 1.0, self.first[name]
            full = usual if name == "strength" else USUAL_RANGES.get(SLIDERS_BY_NAME[name].kind, reach)
            preferred[name], weights[name] = preference, weight * (PREFERENCE_COST * self.stand.size / full) ** 2
        return preferred, weights, bounds

    def preferred_strength(self, rig: ThewRig) -> float:
        """Returns the strength that the artist prefers, N/m³."""
        liked = rig.pull.preferred.strength
        if rig.strength_by == "FORCE" or not liked:
            return liked
        per_strength = self.native.compliance(self.stand.flesh.body)
        return liked * self.unit / per_strength if per_strength > 0.0 else 0.0

    def keep(self) -> None:
        """Records the fit as a sample at the control's present value."""
        rig = self.rig
        rig.control = float(self.controls[self.index])
        self.set_sliders()
        record(rig)

    def world(self, vertex: int) -> np.ndarray:
        """Returns the displayed position of a vertex, Blender's world."""
        return self.stand.world(self.fitted_skin[vertex])


def checked_points(stand: posed_character.PosedCharacter, points) -> list[PulledPoint]:
    """Returns the points of a script, [[vertex, [x, y, z]], …], checked. Raises a `Refusal` that names the bad one."""
    count, name = len(stand.rest.vertices), describe(stand.obj)
    if not isinstance(points, list) or not points:
        raise Refusal("There is no point to pull: give [[vertex, [x, y, z]], …] in the world")
    found = []
    for i, entry in enumerate(points):
        try:
            vertex, target = entry
            vertex, target = int(vertex), np.array(target, dtype=np.float64)
        except (TypeError, ValueError):
            raise Refusal(f"Point {i} is not a vertex and its target: give [vertex, [x, y, z]]") from None
        if not 0 <= vertex < count:
            raise Refusal(f"Point {i} pulls vertex {vertex}, and {name} has vertices 0 to {count - 1}")
        if target.shape != (3,) or not np.isfinite(target).all():
            raise Refusal(f"The target of point {i} is not three numbers")
        found.append((vertex, target))
    return found
