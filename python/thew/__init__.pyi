# SPDX-License-Identifier: MIT OR Apache-2.0
"""Thew: physically based rigging and secondary motion for skinned characters.

Units are SI (metres, kilograms, seconds, pascals); positions are world positions; indices are int32, -1 for
none. Arrays may be anything that numpy can make an array of; those that come back are new and C-contiguous.
A pose is an array [b,4,4]: the world-space map of each bone from rest to posed, columns acting on column
vectors, affine maps allowed. Everything long takes `progress(fraction, stage)`; returning False raises
`Cancelled`, and an exception in it comes out unchanged. The sources in brackets are listed in
docs/references.md.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ._errors import Cancelled as Cancelled
from ._errors import InputError as InputError
from ._errors import InternalError as InternalError
from ._errors import ModalError as ModalError
from ._errors import MotionError as MotionError
from ._errors import MRepError as MRepError
from ._errors import MRepFileError as MRepFileError
from ._errors import OutsideError as OutsideError
from ._errors import RigError as RigError
from ._errors import RigFileError as RigFileError
from ._errors import StorageError as StorageError
from ._errors import TetError as TetError
from ._errors import TetFileError as TetFileError
from ._errors import ThewError as ThewError

__version__: str

__all__ = [
    "Body",
    "BoneGuide",
    "Cancelled",
    "Clip",
    "Collider",
    "Composite",
    "Contact",
    "Contacts",
    "Deformer",
    "Equilibrium",
    "FreeGuide",
    "InputError",
    "InternalError",
    "Lattice",
    "MRep",
    "MRepError",
    "MRepFamily",
    "MRepFileError",
    "MRepFit",
    "MRepReport",
    "Material",
    "ModalError",
    "ModalSimulation",
    "Modes",
    "MotionError",
    "NonlinearSimulation",
    "OutsideError",
    "Rig",
    "RigError",
    "RigFileError",
    "RigFit",
    "Scene",
    "Shell",
    "Shot",
    "Simulation",
    "Skeleton",
    "SkinGuide",
    "Spacetime",
    "StorageError",
    "Surface",
    "SurfaceReport",
    "Template",
    "TetError",
    "TetFileError",
    "TetMesh",
    "ThewError",
    "Volume",
    "WigglySpline",
    "__version__",
    "cast_rays",
    "closest_points",
    "composite",
    "default_damping",
    "equilibrium",
    "equilibrium_forces",
    "extend_scene",
    "fit_gradient",
    "fit_rig",
    "gpu_adapters",
    "load_rigs",
    "modes",
    "nonlinear_equilibrium",
    "save_rigs",
    "simulate",
    "simulate_scene",
    "simulate_shots",
]

_Floats: TypeAlias = NDArray[np.float64]
_Places: TypeAlias = NDArray[np.float32]
_Indices: TypeAlias = NDArray[np.int32]
_Sparse: TypeAlias = tuple[_Floats, _Indices, _Indices]
"""(data, indices, indptr), as for `scipy.sparse.csr_array`; indices sorted."""
_Progress: TypeAlias = Callable[[float, str], object]
_Kind: TypeAlias = Literal["automatic", "human", "animal", "toon", "insect", "robot"]
_Method: TypeAlias = Literal["hyperelastic", "warped", "warped_vertex", "modal", "linear", "nonlinear", "neohookean"]
_Each: TypeAlias = Sequence[ArrayLike] | NDArray[np.float64]
"""One array for each body, or all of them in one."""
_Solver: TypeAlias = Literal["auto", "direct", "cg"]
_Response: TypeAlias = Literal["complementarity", "creases", "released_creases"]
_Model: TypeAlias = Literal["stvk", "neohookean", "yeoh", "linear"]
_Mass: TypeAlias = Literal["consistent", "lumped"]
_Template: TypeAlias = Literal["bump", "radial", "bulge", "torus"]
_Form: TypeAlias = Literal["vertex", "embedded"]
_Precision: TypeAlias = Literal["f32", "f16"]

@final
class Surface:
    """A triangle surface as it comes: kept as given, welded and oriented inside for the physics.

    vertices[n,3] in metres, triangles[t,3] by vertex. Raises InputError naming the first vertex that is not
    finite or the first triangle that names a vertex that does not exist.
    """

    def __new__(cls, vertices: ArrayLike, triangles: ArrayLike) -> Surface: ...
    @property
    def vertices(self) -> _Floats:
        """Vertices as given, [n,3]."""
    @property
    def triangles(self) -> _Indices:
        """Triangles as given, [t,3]."""
    @property
    def volume(self) -> float:
        """Enclosed volume, m³: inside is where the winding number exceeds one half; a thin layer where nothing is
        enclosed."""
    def measure_volume(self, progress: _Progress | None = None) -> float:
        """`volume`, with progress(fraction, stage), which may return False to cancel; measured once, quick from
        then on. Raises Cancelled."""
    @property
    def size(self) -> float:
        """Diagonal of the box along the surface's own horizontal axes, metres: the same however it is turned about z."""
    def filled(self) -> Surface:
        """The same surface without cavities: what its inner walls enclose counts as inside. Their triangles are turned
        outward; one without inner walls is given back as it is."""
    def report(self) -> SurfaceReport:
        """What was found in the surface; `str()` of it is sentences."""
    def winding_number(self, points: ArrayLike) -> _Floats:
        """Generalised winding number at points[p,3] -> [p] [jacobson2013; barill2018]."""
    def closest_point(self, points: ArrayLike) -> tuple[_Floats, _Floats, _Indices]:
        """Nearest points of the surface -> (points[p,3], distances[p], triangles[p])."""
    def cast_rays(self, origins: ArrayLike, directions: ArrayLike) -> tuple[_Floats, _Floats, _Indices]:
        """First places, front or back, where rays meet the surface: rays start at origins[p,3] and go along
        directions[p,3] of any length -> (points[p,3], distances[p], triangles[p]); NaN, infinity and -1 where there is
        none."""
    def __copy__(self) -> Surface: ...
    def __deepcopy__(self, _memo: object) -> Surface: ...

def cast_rays(
    vertices: ArrayLike,
    triangles: ArrayLike,
    origins: ArrayLike,
    directions: ArrayLike,
    min_distance: float = 0.0,
) -> tuple[_Floats, _Floats, _Indices, _Floats]:
    """First places, front or back, where rays meet triangles farther than `min_distance` away, without a hierarchy: for
    a shape that is asked only a few times (`Surface.cast_rays` builds one first).

    vertices[n,3], triangles[t,3], origins[p,3], directions[p,3] of any length -> (points[p,3], distances[p],
    triangles[p], barycentric[p,3]); NaN, infinity, -1 and NaN where there is none. Triangles with a corner that is not
    finite are met by nothing; a ray does not slip through an edge [woop2013]. Raises InputError.
    """

def closest_points(
    vertices: ArrayLike, triangles: ArrayLike, points: ArrayLike
) -> tuple[_Floats, _Floats, _Indices, _Floats]:
    """Nearest points of triangles, without a hierarchy (`Surface.closest_point` builds one first).

    vertices[n,3], triangles[t,3], points[p,3] -> (points[p,3], distances[p], triangles[p], barycentric[p,3]), of what is
    not there as `cast_rays`. Raises InputError.
    """

@final
class SurfaceReport:
    """What was found in a surface, in numbers; `str()` of it is sentences for an artist."""

    @property
    def closed(self) -> bool:
        """No edge belongs to one triangle only."""
    @property
    def manifold(self) -> bool:
        """No edge belongs to more than two triangles."""
    @property
    def oriented(self) -> bool:
        """Neighbouring triangles were all turned the same way."""
    @property
    def components(self) -> int:
        """Number of pieces."""
    @property
    def boundary_edges(self) -> int:
        """Number of edges of one triangle only."""
    @property
    def non_manifold_edges(self) -> int:
        """Number of edges of more than two triangles."""
    @property
    def duplicate_vertices(self) -> int:
        """Number of used vertices that coincide with an earlier one."""
    @property
    def degenerate_triangles(self) -> int:
        """Number of triangles with a repeated corner or without area, left out of the physics."""
    @property
    def duplicate_triangles(self) -> int:
        """Number of triangles over the same vertices as an earlier one, left out of the physics."""
    @property
    def flipped_triangles(self) -> int:
        """Number of triangles that were turned round for the physics."""
    @property
    def unused_vertices(self) -> int:
        """Number of vertices that no triangle uses."""
    @property
    def interior_triangles(self) -> int:
        """Number of triangles inside the flesh, which do not bound it."""
    @property
    def thin_triangles(self) -> int:
        """Number of triangles that enclose nothing and are given a thin layer."""
    @property
    def sentences(self) -> list[str]:
        """One sentence for each thing found."""

@final
class Skeleton:
    """Bones at rest in world space: names, parents[b] (-1 = root), heads[b,3], tails[b,3] in metres.

    Parents need not come before their children; several roots, bones of no length and equal names are
    allowed. elsewhere[o]: for each bone of the character that carries other meshes only, the nearest of these above it
    (-1 = none): it tells what a mesh is a part of. Raises InputError naming the bone.
    """

    def __new__(
        cls,
        names: Sequence[str],
        parents: ArrayLike,
        heads: ArrayLike,
        tails: ArrayLike,
        elsewhere: ArrayLike | None = None,
    ) -> Skeleton: ...
    @property
    def names(self) -> list[str]:
        """Names of the bones."""
    @property
    def parents(self) -> _Indices:
        """Parents, [b]; -1 for a root."""
    @property
    def elsewhere(self) -> _Indices:
        """Nearest of these bones above each bone of the character that carries other meshes only, [o]; -1 for none."""
    @property
    def heads(self) -> _Floats:
        """Rest heads, [b,3]."""
    @property
    def tails(self) -> _Floats:
        """Rest tails, [b,3]."""
    def refit_tails(self, surface: Surface, skin_weights: ArrayLike, progress: _Progress | None = None) -> Skeleton:
        """A skeleton whose arbitrary tails (glTF and FBX know joints only) point where the flesh is: at the child
        with most skin, or, for a leaf that sticks out, towards the middle of its skin. skin_weights: [n,b]."""
    def skin(
        self,
        points: ArrayLike,
        skin_weights: ArrayLike,
        pose: ArrayLike,
        blend: Literal["dual", "linear"] = "dual",
    ) -> _Floats:
        """Where a pose carries rest points[p,3] -> [p,3]; skin_weights[p,b], a row without weight stays in place.

        blend: "dual" (rotations and translations as dual quaternions, stretch linearly: what the flesh is measured
        against) or "linear" (Blender's Armature modifier without Preserve Volume).
        """
    def __len__(self) -> int: ...
    def __copy__(self) -> Skeleton: ...
    def __deepcopy__(self, _memo: object) -> Skeleton: ...

@final
class Lattice:
    """A control lattice: tetrahedra, prisms and hexahedra around a body, bones on its edges [capell2002, §3.1].

    vertices[k,3]; cells as lists of 4, 6 or 8 vertices: tetrahedra positively oriented, prisms bottom triangle
    then top, hexahedra in the order i + 2j + 4k. used_bones, bone_edges, tip_bones,
    bone_of_vertex[k], copies: as the properties of these names. Without bone_of_vertex a vertex on several chains
    follows the bone that it is the head of, before one that it is inside, at the tail or at the tip of. A lattice
    given back with all of them makes the same body.
    """

    def __new__(
        cls,
        vertices: ArrayLike,
        cells: Sequence[Sequence[int]],
        used_bones: Sequence[int] | None = None,
        bone_edges: Sequence[Sequence[int]] | None = None,
        tip_bones: Sequence[int] | None = None,
        bone_of_vertex: Sequence[int] | None = None,
        copies: bytes | None = None,
    ) -> Lattice: ...
    @staticmethod
    def enclose(
        surface: Surface,
        skeleton: Skeleton,
        skin_weights: ArrayLike | None = None,
        cells_across: float = 12.0,
        progress: _Progress | None = None,
    ) -> Lattice:
        """Builds a lattice around a surface and a skeleton.

        skin_weights[n,b] choose the bones, their virtual tips and the parts; as everywhere, each row counts by its shares and
        need not sum to one. cells_across is the number of cells along the diagonal of the body's box, 2 to 64. Deterministic; built
        along the character's own axes, so turned about z it is the same lattice turned. Raises Cancelled, InputError, MotionError.
        """
    def with_bones_of(self, skeleton: Skeleton) -> Lattice:
        """The same lattice with those of a skeleton's bones that are found on its edges: a chain of vertices, each as
        near to the bone as joints are welded, goes from head to tail. Virtual tips are no bones of the skeleton and
        are not found."""
    @property
    def vertices(self) -> _Floats:
        """Lattice vertices at rest, [k,3]."""
    @property
    def cells(self) -> list[list[int]]:
        """Cells as lists of 4, 6 or 8 vertices."""
    @property
    def used_bones(self) -> _Indices:
        """Bones that the lattice follows, [u]."""
    @property
    def bone_edges(self) -> list[_Indices]:
        """Chains of vertices head to tail: one per used bone, then one per virtual tip."""
    @property
    def tip_bones(self) -> _Indices:
        """For each virtual tip chain, the bone that drives it, [v]."""
    @property
    def bone_of_vertex(self) -> _Indices:
        """For each vertex the bone that drives it, -1 where none does, [k]."""
    @property
    def copies(self) -> bytes | None:
        """Whose flesh is whose where parts of the body share the place of a cell, for the construction from arrays;
        None where nobody knows. It belongs to the place, the scale and the cells of this lattice."""
    @property
    def notes(self) -> list[str]:
        """What the construction has to say, one sentence each."""
    def check(self, surface: Surface, skeleton: Skeleton) -> list[str]:
        """Violations of the four conditions [capell2002, §3.1], named; empty when they hold."""
    def embed(self, points: ArrayLike) -> tuple[_Indices, _Floats]:
        """Points[p,3] as weighted means of lattice vertices -> (indices[p,8], weights[p,8]), -1 and 0 where a cell
        has fewer than eight corners: the first containing cell in index order; outside, the nearest cell,
        extrapolated."""
    def embedding_matrix(self, points: Surface | ArrayLike) -> _Sparse:
        """The embedding of a surface's vertices (as `embed_surface`) or of points[p,3] (as `embed`) as a sparse matrix [p,k] ->
        (data, indices, indptr) for scipy.sparse.csr_array: times what the lattice's k vertices have, it is what the points have."""
    def embed_surface(self, surface: Surface) -> tuple[_Indices, _Floats]:
        """Like `embed` for a surface's vertices -> (indices[n,8], weights[n,8]); where virtual copies of a cell overlap, each vertex goes with the
        copy that holds its own flesh."""
    def __copy__(self) -> Lattice: ...
    def __deepcopy__(self, _memo: object) -> Lattice: ...

@final
class Material:
    """Isotropic flesh: young (Pa), poisson (-), density (kg/m³). Raises InputError for impossible ones."""

    def __new__(cls, young: float = 20e3, poisson: float = 0.4, density: float = 1000.0) -> Material: ...
    @property
    def young(self) -> float:
        """Young's modulus, Pa."""
    @property
    def poisson(self) -> float:
        """Poisson's ratio."""
    @property
    def density(self) -> float:
        """Density, kg/m³."""
    def __copy__(self) -> Material: ...
    def __deepcopy__(self, _memo: object) -> Material: ...

@final
class Shell:
    """A triangle mesh with an elastic energy: discrete shells [grinspun2003; hildebrandt2012, §5].

    vertices[n,3], triangles[t,3]: at rest where its vertices are; any mesh, with borders, fins, loose parts. stretching, area,
    bending: how strongly lengths of edges, areas of triangles and angles between them resist; density: mass per area, kg/m². Each
    is a number or a map on the vertices, [n]. Positions are metres. unit: length in metres that counts as one where the weights are
    meant; None takes a tenth of the diameter of the mesh, so that a body and its enlarged copy move alike; 1 gives the printed energy
    of the coordinates as they are. Raises InputError naming the first vertex or triangle that makes no shell.
    """

    def __new__(
        cls,
        vertices: ArrayLike,
        triangles: ArrayLike,
        stretching: ArrayLike = 1.0,
        area: ArrayLike = 1.0,
        bending: ArrayLike = 1.0,
        density: ArrayLike = 1.0,
        unit: float | None = None,
    ) -> Shell: ...
    @property
    def vertices(self) -> _Floats:
        """Vertices at rest, [n,3]."""
    @property
    def triangles(self) -> _Indices:
        """Triangles as given, [t,3]."""
    @property
    def mass(self) -> _Floats:
        """Mass of each vertex, [n], above zero: density times a third of the area of each triangle around it."""
    @property
    def unit(self) -> float:
        """Length that counts as one in the energy, m: as given, or a tenth of the diameter of the mesh."""
    def energy(self, x: ArrayLike) -> float:
        """Elastic energy where the vertices are at x[n,3]."""
    def gradient(self, x: ArrayLike) -> _Floats:
        """Derivative of `energy` with respect to x, [n,3]."""
    def hessian(self, x: ArrayLike) -> _Sparse:
        """Hessian of `energy`, 3·n square, xyz interleaved; of one structure wherever x is."""
    def relax(
        self, x: ArrayLike, weight: float, fixed: ArrayLike | None = None, progress: _Progress | None = None
    ) -> _Floats:
        """Where the energy plus weight · Σ mass |y − x|² is lowest near x[n,3] -> y[n,3]: a sculpt with less strain in it
        [hildebrandt2012, §6]. The larger the weight, the less it moves; vertices that are fixed[n] (True or False) stay.
        Raises InputError, Cancelled."""
    def report(self) -> list[str]:
        """What was found in the mesh, a sentence each: slivers, edges of more than two triangles, loose parts."""
    def __copy__(self) -> Shell: ...
    def __deepcopy__(self, _memo: object) -> Shell: ...

@final
class MRep:
    """A medial model: atoms with spokes to the skin, which imply a boundary and coordinates of all that lies inside [oguz2005; pizer2003].

    Made by `slab`, `tube`, `join`. What follows is of a single figure; of several take one of `figures`.
    """

    @staticmethod
    def slab(
        hubs: ArrayLike,
        radii: ArrayLike,
        frames: ArrayLike,
        angles: ArrayLike,
        ends: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
    ) -> MRep:
        """A sheet of atoms with a spoke up and one down each. hubs[m,n,3], metres; radii[m,n]; frames[m,n,3,3], rotations with
        columns b, b⊥, n; angles[m,n], between b and the spokes, radians, above 0 and at most π/2; ends[m,n], lengths of the end spokes
        along b over the radius, which count on the border; lengths[m,n,2], of the spokes up and down over the radius. Raises
        MRepError naming the first atom that is none."""
    @staticmethod
    def tube(
        hubs: ArrayLike,
        radii: ArrayLike,
        frames: ArrayLike,
        angles: ArrayLike,
        lengths: ArrayLike | None = None,
        ends: tuple[float, float] = (1.0, 1.0),
        knots: ArrayLike | None = None,
        joints: Iterable[float] = (),
    ) -> MRep:
        """A row of atoms with k spokes around each, closed at both ends. hubs[n,3], metres; radii[n]; frames[n,3,3], rotations with
        columns b (along the tube), b⊥, n (the first spoke's side); angles[n], between b and the spokes, radians, above 0 and below
        π; lengths[n,k], of the spokes over the radius, from n towards b⊥ (None: eight alike); ends: of both end spokes over the
        radius; knots[n]: where the atoms are in u, from 0 to 1 (None: by the distances between hubs); joints: where bones meet in u.
        Raises MRepError naming the first atom that is none."""
    @staticmethod
    def template(name: Literal["limb", "tail", "torso", "head"]) -> MRep:
        """A first figure by its name, one metre long around the origin: "limb" and "tail" are tubes along z from below; "torso" is a
        slab, its columns up z, its rows along x, its sheet facing the front (-y); "head" one with rows along y, between left and right.
        A fit moves and scales it onto its body. Raises MRepError for another name."""
    @staticmethod
    def from_skeleton(
        surface: Surface,
        skeleton: Skeleton,
        skin_weights: ArrayLike,
        bones: Iterable[str],
        atoms_per_bone: int = 3,
        spokes: int = 8,
        template: Literal["limb", "tail", "torso", "head"] = "limb",
    ) -> MRep:
        """A tube along a chain of bones, named in any order, with hubs on them and spokes to the skin that follows them: an arm, a
        leg, a tail. skin_weights[n,b] of the surface's vertices. n of the first atom looks to where the chain bends, of a straight
        one up (z), or to the front (-y) where it stands upright. atoms_per_bone at most: bones that are short for their thickness get fewer. Hubs round
        corners that are too sharp for the thickness; a last bone that ends long before its skin goes on to where that ends. A start:
        fit it with all its hubs `held` and `weights` from `chain_weights`. template: "limb", "tail", or "torso", "head": slabs of 5
        rows and 7 columns in the skin that follows any bones, their hubs not on these. Raises MRepError naming the bones."""
    @staticmethod
    def chain_weights(skeleton: Skeleton, skin_weights: ArrayLike, bones: Iterable[str]) -> _Floats:
        """How much each vertex counts in a fit to the skin of a chain of bones, [n], from 0 where they have half of the say or less
        (that is the trunk's skin) to 1: `weights` of `fit`. skin_weights[n,b]."""
    @staticmethod
    def slab_around(target: Surface | Volume, rows: int = 3, cols: int = 7) -> MRep:
        """A slab around the body in a surface or a volume, as a template: that of the ellipsoid with its moments; columns along its
        longest axis. A body that is bent like a sheet gets the slab of the flat one, bent. Raises MRepError where there is no body."""
    @staticmethod
    def tube_around(surface: Surface, atoms: int = 9, spokes: int = 8) -> MRep:
        """A tube around a body without bones, as a template: along the middles of rings of equal distance from its ends. Raises
        MRepError where there is no such body."""
    @staticmethod
    def suggest_bones(surface: Surface) -> Skeleton:
        """Bones for a mesh that has none: along the middles of rings of equal distance, limbs hanging from the trunk [biasotti2008].
        Raises MRepError."""
    @staticmethod
    def join(mreps: Iterable[MRep], names: Iterable[str] | None = None) -> MRep:
        """Several models as one, each under a name of its own (None: those they have, or numbers)."""
    def save(self, path: str | PathLike[str]) -> None:
        """Writes a file: .mrep.toml, or of a single slab .srep.json (an s-rep as SlicerSALT has them) [liu2021]. It is whole or as it
        was before. Raises StorageError, MRepFileError."""
    @staticmethod
    def load(path: str | PathLike[str], scale: float = 1.0) -> MRep:
        """Reads a file, .mrep.toml or .srep.json; scale: metres per unit of it (s-reps are in millimetres as a rule: 0.001). Raises
        MRepFileError naming line or place, StorageError."""
    @property
    def kind(self) -> str:
        """Either "slab" or "tube"."""
    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a slab; atoms and spokes of a tube."""
    @property
    def hubs(self) -> _Floats:
        """Hubs, [m,n,3] of a slab, [n,3] of a tube, metres."""
    @property
    def radii(self) -> _Floats:
        """Lengths of the spokes before the relative ones, [m,n] or [n], metres. The boundary takes the product of radius and relative
        length alone, and so does what is said in shares of the radius."""
    @property
    def frames(self) -> _Floats:
        """Frames, [m,n,3,3] or [n,3,3]: rotations with columns b, b⊥, n."""
    @property
    def angles(self) -> _Floats:
        """Object angles, [m,n] or [n], radians."""
    @property
    def ends(self) -> _Floats:
        """Lengths of the end spokes over the radius, [m,n] (they count on the border), or [2] at a tube's ends."""
    @property
    def lengths(self) -> _Floats:
        """Lengths of the spokes over the radius, [m,n,2] up and down, or [n,k] around."""
    @property
    def knots(self) -> _Floats:
        """Where a tube's atoms are in u, [n]; empty for a slab."""
    @property
    def joints(self) -> _Floats:
        """Where the joints of the bones are in u that a tube was made along, [j]."""
    @property
    def figures(self) -> list[MRep]:
        """The figures, a model each; of one figure itself alone."""
    @property
    def names(self) -> list[str]:
        """Names of the figures."""
    @property
    def size(self) -> float:
        """Diagonal of the box around hubs and spokes, metres."""
    def boundary(self, level: int = 2, blend: float = 0.5, progress: _Progress | None = None) -> Surface:
        """The boundary that the spokes imply, as a closed surface: each interval between atoms in 2^level parts. Of several figures one
        around all of them, with edges of about the thinnest one's radius over 2^level; where they overlap it is blended over `blend`
        times the thinner one's radius. Raises MRepError, Cancelled."""
    def boundary_coordinates(self, level: int = 2) -> _Floats:
        """Coordinates (u, v, φ, 1) of the vertices of `boundary(level)`, [p,4]."""
    def tolerance(self, level: int = 2, ratio: float = 0.1) -> _Floats:
        """Uncertainty of the boundary at the vertices of `boundary(level)`, [p], metres: `ratio` of the mean length of the spokes
        there [oguz2005, slide 8], however that is shared between radii and lengths."""
    def coordinates(self, points: ArrayLike) -> _Floats:
        """Figural coordinates (u, v, φ, τ) of points[p,3] -> [p,4]; NaN where a point has none: farther out than its spoke is long
        once more, or where spokes cross. Raises InputError where a point is no finite number.

        Slab: u over the rows and v over the columns, from 0 to 1; φ is 1 on the upper side, −1 on the lower, between on the border.
        Tube: u from 0 to 1, from −1 in the first cap and to 2 in the last; v is 0; φ the angle from the first spoke, radians. τ is 0
        at the hub and 1 on the boundary."""
    def points(self, coordinates: ArrayLike) -> _Floats:
        """Points of figural coordinates[p,4] -> [p,3]; NaN of a row of four NaN, as `coordinates` gives it. Raises MRepError naming the
        first row that is none of this model, or NaN in part."""
    def legality(self) -> float:
        """How far the body is from a fold, at most 1; at zero or below it folds [damon2003]."""
    def check(self) -> list[str]:
        """What is wrong with each figure, a sentence each; empty if they are sound."""
    def transformed(
        self, scale: float = 1.0, rotation: ArrayLike | None = None, translation: ArrayLike | None = None
    ) -> MRep:
        """The same model after a similarity: x → scale · rotation · x + translation."""
    def correspond(self, other: MRep, points: ArrayLike, mirrored: bool = False) -> _Floats:
        """Points of another figure at points[p,3] of this one -> [p,3]: along, around (see roll_to) and in depth alike, joints on
        joints; NaN where a point has no coordinates. mirrored: one of both limbs is a left one and the other a right one, φ runs the
        other way, so that what is outside or above stays there. Raises MRepError where figures do not correspond."""
    def roll_to(self, other: MRep, mirrored: bool = False) -> float:
        """By how much φ of a place is larger on another figure, radians: where one tube is straight and the other bent, they begin
        around at what lies alike once the limb is lifted or lowered. 0 of two of a sort. mirrored: what both φ come to together; the
        first is seen in the mirror x = 0. Raises MRepError as correspond does."""
    def lattice(self, skeleton: Skeleton | None = None, layers: int = 2, covers: Surface | None = None) -> Lattice:
        """A lattice of cells in the figure, in `layers` from the hubs outward: prisms and hexahedra along a tube, tetrahedra and
        prisms in its caps; hexahedra on both sides of a slab, prisms and hexahedra around its border. Bones of a skeleton whose heads
        and tails are hubs lie on its edges. Corners move outward along their spokes until all of `covers` lies inside (None: the
        boundary). Raises MRepError."""
    def enclose(
        self,
        surface: Surface,
        skeleton: Skeleton,
        skin_weights: ArrayLike | None = None,
        cells_across: float = 12.0,
        progress: _Progress | None = None,
    ) -> Lattice:
        """A lattice around a whole character: prisms along the limbs of this model, joined in faces to tetrahedra around the rest,
        with every used bone on edges. Arguments as in `Lattice.enclose`; `notes` of the lattice tell which limbs were left to
        tetrahedra, and why. Raises Cancelled, InputError, MotionError."""
    def fit(
        self,
        target: Surface | Volume,
        stages: Iterable[str] = ("similarity", "atoms", "boundary"),
        prior: float = 1.0,
        held: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        family: MRepFamily | None = None,
        progress: _Progress | None = None,
    ) -> MRepFit:
        """The most probable model for a surface or a volume, this one being the template [oguz2005, slides 9 to 14].

        Several figures are fitted to a surface as one model: all as one, each as one, then atoms and boundaries, with ties where they meet
        in the template. stages: some of "similarity", "sections" (of a tube, from joint to joint), "atoms", "boundary". prior: factor on
        what is expected beside what is seen. held: indices of atoms, or a mask of them, whose hubs stay; the whole is not moved then.
        weights[n]: how much each vertex of a surface counts, from 0 to 1; [k,n] for k figures, None: for the one whose boundary is
        nearest. family: what is expected instead of the template's neighbourhoods. held and family are of one figure. Raises MRepError,
        Cancelled."""

@final
class MRepFit:
    """A fitted model."""

    @property
    def mrep(self) -> MRep:
        """The model."""
    @property
    def figures(self) -> list[MRepFit]:
        """The fits of the figures, each by itself; of one figure itself alone. What is told of stages and of coordinates is told of one."""
    @property
    def surface(self) -> Surface:
        """Its boundary, moved onto the target by the last stage; of several figures all boundaries, as pieces."""
    @property
    def surface_coordinates(self) -> _Floats:
        """Coordinates (u, v, φ, 1) of the vertices of `surface`, [p,4]."""
    @property
    def posterior(self) -> dict[str, _Floats]:
        """Minus the logarithm of the posterior at the beginning of each stage and after each of its steps, [s]; it falls. A volume has stages
        "atoms at blur 3" and "atoms at blur 1.5", in voxels (less where the body is thin), before "atoms". Of several figures "similarity"
        is the sum of all, and "object", each figure as one, comes after it."""
    @property
    def stages(self) -> dict[str, MRepReport]:
        """How good the fit was at the end of each stage, in their order."""
    @property
    def report(self) -> MRepReport | None:
        """How good it is at the end of the last stage; None without stages."""
    @property
    def notes(self) -> list[str]:
        """What is wrong with the model, a sentence each: a target that is neither slab nor tube as the model is. Empty if it is sound."""
    @property
    def levels(self) -> tuple[float, float] | None:
        """Values inside and outside of the boundary, of a volume; None of a surface."""

@final
class MRepReport:
    """How good a fit is; `str()` of it is a sentence."""

    @property
    def mean(self) -> float:
        """Mean distance from the surface to the boundary, weighted by area, metres; of a volume from the boundary to the step."""
    @property
    def percentile_99(self) -> float:
        """99 % of the area are nearer than this, metres."""
    @property
    def largest(self) -> float:
        """Largest distance, metres."""
    @property
    def dice(self) -> float:
        """Twice the volume that both share over the sum of both: 1 where they are the same. Of a volume: with the voxels beyond the
        middle of both levels. NaN where vertices had different weights: a limb is not the whole body."""

@final
class MRepFamily:
    """What models of one kind have in common: their mean, the modes in which they differ, and how typical another is [fletcher2004].

    mreps: two at least, of as many atoms and spokes, usually fitted from one template; where they lie, how they are turned and how
    big they are does not matter. Raises MRepError naming the first of another kind.
    """

    def __new__(cls, mreps: Iterable[MRep]) -> MRepFamily: ...
    @property
    def mean(self) -> MRep:
        """The mean model, as big as the first and where that is."""
    @property
    def deviations(self) -> _Floats:
        """Standard deviation of each mode, [k], the largest first."""
    @property
    def modes(self) -> _Floats:
        """Modes of unit length, [k,u]: for each atom displacement of the hub over r in its axes (3), log r, turn in its axes (3,
        radians), object angle, log of the end factor where the boundary closes, logs of the relative lengths."""
    def sample(self, scores: Iterable[float]) -> MRep:
        """The model at so many deviations along the first modes, scores[≤k]."""
    def typicality(self, mrep: MRep) -> tuple[_Floats, float]:
        """How far a model is from the mean along each mode, in deviations -> [k], and in all that they do not explain, as the root of
        the mean square: 2 or more of either is not typical. Raises MRepError."""

@final
class Volume:
    """A picture in three dimensions: grey values or labels on a grid of voxels.

    values[i,j,k]: numbers of any type; spacing: metres between the centres of voxels along each axis; origin: the centre of the first
    one. Raises MRepError naming the first voxel that is no number.
    """

    def __new__(
        cls, values: ArrayLike, spacing: ArrayLike = (1.0, 1.0, 1.0), origin: ArrayLike = (0.0, 0.0, 0.0)
    ) -> Volume: ...
    @property
    def values(self) -> NDArray[np.float32]:
        """Values, [i,j,k]."""
    @property
    def spacing(self) -> _Floats:
        """Between the centres of voxels, [3], metres."""
    @property
    def origin(self) -> _Floats:
        """Centre of the first voxel, [3], metres."""

@final
class WigglySpline:
    """Splines through values that need the least acting force [kass2008; hildebrandt2012, §4.2].

    times[m+1], values[m+1] or [m+1,d]: the minimiser of ∫ r² with r = ω'' + 2·damping·ω' + stiffness·ω + gravity; numbers or [d]
    each, stiffness may be negative. start_velocity, end_velocity: slopes at the ends, None for the natural end (r = 0). cyclic: the last
    value is the first again. knot_velocities: {index: slope}, {index: (before, behind)} for a cut, None in
    place of one that is free; {index: None} prescribes nothing. Raises InputError naming the knot.
    """

    def __new__(
        cls,
        times: ArrayLike,
        values: ArrayLike,
        stiffness: ArrayLike,
        damping: ArrayLike,
        gravity: ArrayLike = 0.0,
        start_velocity: ArrayLike | None = 0.0,
        end_velocity: ArrayLike | None = 0.0,
        cyclic: bool = False,
        knot_velocities: Mapping[int, ArrayLike | tuple[ArrayLike | None, ArrayLike | None] | None] | None = None,
    ) -> WigglySpline: ...
    def __call__(self, t: ArrayLike, derivative: int = 0) -> _Floats:
        """The spline, or its derivative of order up to 3, at times t -> [t] or [t,d]. Beyond the ends the end values are
        held; cyclic ones repeat. At a cut the side behind counts."""
    @property
    def slopes(self) -> _Floats:
        """Slopes at the knots -> [m] or [m,d]; behind them where they are cut."""
    @property
    def cost(self) -> float | _Floats:
        """∫ r² over the whole spline: a number, or [d] where values are [m+1,d]."""

@final
class Spacetime:
    """A motion through keyframes with the least acting force [hildebrandt2012].

    keyframes[m+1,n,3] in metres of a Shell, a TetMesh or a Body (n: its lattice vertices) at rising times, s. material: that of a
    TetMesh, Material() where None; the others have their own. stiffness: factor of the elastic energy; damping: (alpha, beta), of mass
    and stiffness; gravity: an acceleration, m/s²; modes: lowest modes of each keyframe, beyond the rigid ones. start_velocity,
    end_velocity: None for natural ends (no force acts), or a number, [3] or [n,3]. velocities: {keyframe: velocity}, {keyframe:
    (before, behind)} for a cut, None in place of one that is free. fixed: vertices that stay, a mask [n] or numbers. cyclic: the last
    keyframe is the first again. ghosts: further shapes to linearise around and to be drawn to, "auto" or [(time, shape)]. rigid:
    whether the best rigid motion is taken out first, True or False; "auto": where nothing is fixed. Its rotation is a minimiser about
    one axis alone, and puts no centrifugal and no Coriolis forces on what deforms. rest: where forces vanish, at the "body"'s own rest
    (keyframes are strains) or at the "keyframes" (poses). Raises InputError naming keyframe, vertex or time, MotionError where a
    keyframe is crumpled, Cancelled.
    """

    def __new__(
        cls,
        body: Shell | TetMesh | Body,
        keyframes: ArrayLike,
        times: ArrayLike,
        stiffness: float = 1.0,
        damping: ArrayLike = (0.0, 0.0),
        gravity: ArrayLike = (0.0, 0.0, 0.0),
        modes: int = 10,
        start_velocity: ArrayLike | None = None,
        end_velocity: ArrayLike | None = None,
        velocities: Mapping[int, ArrayLike | tuple[ArrayLike | None, ArrayLike | None] | None] | None = None,
        fixed: ArrayLike | None = None,
        cyclic: bool = False,
        ghosts: Literal["auto"] | Sequence[tuple[float, ArrayLike]] | None = None,
        rigid: Literal["auto"] | bool = "auto",
        rest: Literal["body", "keyframes"] = "body",
        progress: _Progress | None = None,
        material: Material | None = None,
    ) -> Spacetime: ...
    def __call__(self, t: ArrayLike) -> _Places:
        """The motion at times t -> [t,n,3]. Beyond the ends the end keyframes are held; cycles repeat."""
    def plain(self, t: ArrayLike) -> _Places:
        """Cubic splines through the same keyframes with the same prescribed velocities -> [t,n,3]."""
    def curves(self, t: ArrayLike, count: int) -> tuple[_Floats, _Floats]:
        """Coordinates along the leading directions in which the keyframes differ: of the motion, and of plain cubic splines,
        -> [t,k], [t,k], k at most count."""
    @property
    def dimension(self) -> int:
        """Number of coordinates of the reduced space."""
    @property
    def times(self) -> _Floats:
        """Times of the keyframes -> [m], s."""
    @property
    def cost(self) -> float:
        """The squared acting force per mass, integrated: the mean over the linearisations of what deforms the body, and where rigid
        motion is taken out the shares of the centre and of the rotation; kg·m²/s³."""
    @property
    def reach(self) -> float:
        """How far it goes from its keyframes' mean, as a multiple of how far plain cubic splines go; 1 where it stays within. Lengths are
        those of the mass."""
    @property
    def notes(self) -> list[str]:
        """What is worth knowing, a sentence each."""
    def set(self, **changes: Any) -> None:
        """Changes times, stiffness, damping, gravity, start_velocity, end_velocity or velocities; what is not named stays. Costs no
        new preprocess; nothing is changed on an error."""
    def move(self, k: int, shape: ArrayLike) -> float:
        """Takes the shape[n,3], or the nearest that the space has, for keyframe k -> how far the farthest vertex is from it."""
    def insert(self, time: float, shape: ArrayLike, progress: _Progress | None = None) -> int:
        """Adds a keyframe of shape[n,3] at a time between the first and the last one -> its number; later ones count one more. Keeps
        the space and adds to it what the shape lacks, with the shape's own modes: far quicker than a new motion, and the same. Raises
        InputError, MotionError where the shape is crumpled, Cancelled; nothing is changed then."""
    def partial(self, time: float, vertices: ArrayLike, positions: ArrayLike, weight: float | None = None) -> int:
        """Puts vertices at positions[len,3] at a time: exactly, or drawn there by a weight (in the norm of the mass) -> a number to
        drop it by. Raises InputError naming a vertex that is asked to be in two places."""
    def soften(self, k: int, weight: float | None) -> None:
        """Draws towards keyframe k by a weight instead of going through it; None: goes through it again."""
    def drop(self, id: int) -> None:
        """Takes a partial keyframe away."""
    def model(
        self,
        shape: ArrayLike,
        vertices: ArrayLike,
        positions: ArrayLike,
        weight: float | None = None,
        progress: _Progress | None = None,
    ) -> _Floats:
        """The shape of the space with the least energy (rest="keyframes": the least change), begun at shape[n,3], that has vertices at positions[len,3] (as near as the
        space allows), or drawn there by a weight -> [n,3]: a new keyframe. Raises InputError, Cancelled."""

@final
class Composite:
    """Motions one after another, as `composite` joins them."""

    def __call__(self, t: ArrayLike) -> _Places:
        """The motion at times t -> [t,n,3]; where two segments meet the later one shows."""
    def plain(self, t: ArrayLike) -> _Places:
        """Cubic splines through the same keyframes -> [t,n,3]."""
    @property
    def times(self) -> _Floats:
        """When segments begin, and when the last ends -> [s]."""

def composite(motions: Iterable[Spacetime]) -> Composite:
    """Motions of one body one after another, each beginning when the one before ends: other fixed parts and velocities in each.
    What is changed in a motion later shows. Raises InputError naming the segment that does not follow in time or in shape."""

@final
class TetMesh:
    """A tetrahedral body without a skeleton.

    vertices[k,3] in metres; tets[e,4] positively oriented, each with volume, every vertex in one of them.
    orient=True turns inverted ones round, drop_unused=True leaves out vertices of no element. Raises TetError
    naming the first tetrahedron or vertex that makes no body.
    """

    def __new__(
        cls, vertices: ArrayLike, tets: ArrayLike, orient: bool = False, drop_unused: bool = False
    ) -> TetMesh: ...
    @staticmethod
    def from_cubes(vertices: ArrayLike, cubes: ArrayLike) -> TetMesh:
        """Cubes[c,8] (corners in the order i + 2j + 4k), each split into six tetrahedra so that neighbours agree."""
    @staticmethod
    def grid(counts: Sequence[int], lengths: Sequence[float]) -> TetMesh:
        """A bar from the origin: counts (nx, ny, nz) cubes over lengths (x, y, z) metres, six tetrahedra each. Vertex
        (i, j, k) has the number (i·(ny + 1) + j)·(nz + 1) + k."""
    @staticmethod
    def fill(
        surface: Surface,
        cells_across: float | None = None,
        nodes: int | None = None,
        progress: _Progress | None = None,
    ) -> TetMesh:
        """Fills a surface with tetrahedra, the boundary on the surface, its volume kept [labelle2007].

        cells_across: cells along the diagonal of the body's box, 2 to 200 (None: 12, or as many as fill nearly all of the
        surface, up to 40); nodes: in its place a wanted number of nodes. `notes` tells of separate pieces and parts too thin. Raises TetError where nothing is enclosed,
        Cancelled.
        """
    @staticmethod
    def read(path: str | PathLike[str], orient: bool = False, drop_unused: bool = False) -> TetMesh:
        """Reads .node/.ele (TetGen; either, or both by a path without ending), .mesh (Medit, ASCII) or .veg (Vega,
        tetrahedra or cubes).

        A mesh whose tetrahedra are all inverted follows the other convention and is turned round; orient and
        drop_unused as for TetMesh. Raises TetFileError naming the line, StorageError where the disk refuses.
        """
    def write(
        self,
        path: str | PathLike[str],
        elements: Literal["tet", "cubic"] = "tet",
        material: Material | None = None,
    ) -> None:
        """Writes the mesh in the format of the path's ending (.node or .ele: both files), whole or not at all.
        elements="cubic" writes the cubes of a mesh made of them (.veg only); material: what a .veg file names."""
    @property
    def vertices(self) -> _Floats:
        """Vertices, [k,3], metres."""
    @property
    def tets(self) -> _Indices:
        """Tetrahedra, [e,4]."""
    @property
    def cubes(self) -> _Indices:
        """Cubes that the tetrahedra were split from, six of each in order, [c,8]; empty for other meshes."""
    @property
    def volume(self) -> float:
        """Volume, m³."""
    @property
    def size(self) -> float:
        """Diagonal of the bounding box, metres."""
    @property
    def components(self) -> int:
        """Number of pieces that share no vertex."""
    @property
    def notes(self) -> list[str]:
        """What the making of the mesh has to say, one sentence each."""
    @property
    def surface_triangles(self) -> _Indices:
        """Faces of one tetrahedron only, counter-clockwise seen from outside, [t,3]."""
    def lattice(self) -> Lattice:
        """The same cells as a lattice without bones, to embed points and surfaces."""
    def mass(self, material: Material | None = None, kind: Literal["consistent", "lumped"] = "consistent") -> _Sparse:
        """Mass matrix, kg, 3·k square, xyz interleaved; kind "consistent" or "lumped" (diagonal)."""
    def stiffness(self, material: Material | None = None) -> _Sparse:
        """Linear stiffness matrix, N/m, 3·k square, xyz interleaved."""
    def energy(self, q: ArrayLike, material: Material | None = None, model: _Model = "stvk") -> float:
        """Elastic energy (J) at displacements q[k,3] from rest."""
    def gradient(self, q: ArrayLike, material: Material | None = None, model: _Model = "stvk") -> _Floats:
        """Derivative of `energy` with respect to q, N, [k,3]."""
    def hessian(self, q: ArrayLike, material: Material | None = None, model: _Model = "stvk") -> _Sparse:
        """Hessian of `energy`, N/m, 3·k square, xyz interleaved."""
    def __copy__(self) -> TetMesh: ...
    def __deepcopy__(self, _memo: object) -> TetMesh: ...

@final
class Body:
    """Everything precomputed for one character [capell2002, §3.3, §4.3, §4.6]; immutable.

    region_weights[n,b]: which bone's frame a piece of flesh follows, painted on the surface (None: by distance);
    flesh[n]: painted on surface vertices, 0 the skin as it is to 1 as soft as it gets (None: by the body's anatomy, where there are
    region_weights; without them flesh is the same everywhere); kind: of character, which parts the anatomy lets be soft; hard[n]: which
    part of the skin at each vertex is of something hard, 0 to 1, as materials tell it: the anatomy leaves it so much less flesh;
    softness: a dial, 0 to 1, that overrules young: `with_softness` of the same body unpainted, so that paint on one place leaves all
    others as they are; stiffness, density, poisson: factors [n] painted on surface vertices; twist_stiffness (N/m⁴), twist_radius
    (m): [b], by default E/r² of the flesh around each bone, paint included, and half its distance to the skin; rest_includes_gravity: the modelled shape already sags; level: subdivisions for the integrals, 0 to
    3; basis_levels: only 0 is built. Raises InputError, NotBuilt, Cancelled.
    """

    def __new__(
        cls,
        surface: Surface,
        skeleton: Skeleton,
        lattice: Lattice,
        material: Material,
        region_weights: ArrayLike | None = None,
        stiffness: ArrayLike | None = None,
        density: ArrayLike | None = None,
        poisson: ArrayLike | None = None,
        twist_stiffness: ArrayLike | None = None,
        twist_radius: ArrayLike | None = None,
        rest_includes_gravity: bool = True,
        level: int = 1,
        progress: _Progress | None = None,
        flesh: ArrayLike | None = None,
        softness: float | None = None,
        kind: _Kind = "automatic",
        hard: ArrayLike | None = None,
    ) -> Body: ...
    def with_softness(self, softness: float) -> Body:
        """The same body, as soft as a dial between 0 (firm) and 1 (soft) says, whatever its size: in the middle one g
        sideways moves its softest flesh by 1.8 % of its size, at the ends by a seventeenth and seventeen times of that, but by
        less than half of how thick its trunk is.
        Raises InputError."""
    @property
    def flesh(self) -> _Floats:
        """The map of flesh at the surface's vertices, [n]: 0 the skin as it is, 1 as soft as it gets."""
    def parts(self) -> dict[str, tuple[_Floats, _Floats]]:
        """Where parts of the body are, found by shape and rig alone: name -> (patches [k,4], share [n]). A patch is a centre and a
        radius, metres, two of them where there are two; share is how much each vertex of the surface belongs to the part, 0 to 1.
        Names: "belly", "chest" (breasts), "buttocks", "tail", "cheeks", "jowls", "ears"; what cannot be told is missing."""
    @property
    def thickness(self) -> _Floats:
        """Thickness of the flesh at the surface's vertices, [n], metres: the distance at rest to the bones that carry the
        vertex, past the ends of last bones too, smoothed over the
        skin. Infinite where no bone does, and everywhere on a body that was made without region_weights."""

    @property
    def dofs(self) -> int:
        """Number of degrees of freedom, three numbers each: the lattice vertices."""
    @property
    def bone_vertices(self) -> _Indices:
        """Lattice vertices held by bones, [j], ascending."""
    @property
    def held_vertices(self) -> _Indices:
        """Lattice vertices whose motion the pose prescribes, [h]: `bone_vertices`, and those of loose parts that
        follow their skin weights. All others are free."""
    @property
    def bone_of_vertex(self) -> _Indices:
        """The one bone that drives each of `bone_vertices`, [j]."""
    @property
    def region_weights(self) -> _Floats:
        """Which bones each lattice vertex follows, [k,b], rows summing to one."""
    @property
    def volume(self) -> float:
        """Volume of the flesh, m³."""
    @property
    def loose_parts(self) -> list[str]:
        """Parts with flesh that no bone holds, one sentence each: they follow one bone rigidly, or their skin weights."""
    def mass(self) -> _Sparse:
        """Mass matrix, kg, 3·dofs square, xyz interleaved; floor and bone rows included [capell2002, §3.3]."""
    def stiffness(self, twist: bool = False) -> _Sparse:
        """Stiffness matrix at rest, N/m, 3·dofs square, xyz interleaved; with the twist's Hessian when asked for."""
    def energy(self, q: ArrayLike, model: _Model = "stvk") -> float:
        """Elastic energy (J) at displacements q[dofs,3] from rest, without twist and gravity. Models: "linear", "stvk" (St.
        Venant-Kirchhoff), "neohookean" (stable: flat and inverted flesh is driven back), "yeoh" (the same, stiffening with stretch). Raises NotBuilt for others."""
    def gradient(self, q: ArrayLike, model: _Model = "stvk") -> _Floats:
        """Derivative of `energy` with respect to q, N, [dofs,3]."""
    def hessian(self, q: ArrayLike, model: _Model = "stvk") -> _Sparse:
        """Hessian of `energy`, N/m, 3·dofs square, xyz interleaved."""
    def softness(self) -> float:
        """How far one g sideways moves the farthest vertex of the surface at rest, as a part of the body's size:
        beyond a few hundredths lively clips need stiffer flesh."""
    def stiffened(self, factor: float) -> Body:
        """The same body of flesh that is stiffer by a factor."""
    @property
    def surface(self) -> Surface:
        """The body's own surface."""
    @property
    def skeleton(self) -> Skeleton:
        """The skeleton that moves it."""
    @property
    def lattice(self) -> Lattice:
        """The lattice around both."""
    @property
    def material(self) -> Material:
        """The material before paint."""
    def embed_surface(self, surface: Surface) -> int:
        """Makes the body carry another surface (clothes, eyes) -> its id for `positions`. A `max_offset` limits it around a skin
        blended with the weights of the lattice around it."""
    def shown(
        self,
        q: ArrayLike,
        pose: ArrayLike | None = None,
        max_offset: float | None = None,
        surface: int | None = None,
        elastic_joints: float = 1.0,
        to: ArrayLike | None = None,
        onto: _Places | None = None,
    ) -> _Places:
        """A surface (None: the body's own) at displacements q[dofs,3] -> [n,3]. With a pose[b,4,4] it is as `Simulation`
        and `simulate` show the default method there: by how much flesh there is, and within max_offset, a part of the body's size.
        elastic_joints: as of `simulate`; to, onto: as of `Clip.offsets`; reach: former name of max_offset."""
    def inverted_cells(self, positions: ArrayLike) -> int:
        """Number of inverted cells with the lattice vertices at positions[dofs,3]."""
    def save(self, path: str | PathLike[str]) -> None:
        """Writes the body to a file: versioned, checksummed, whole or not at all. Raises StorageError."""
    @staticmethod
    def load(path: str | PathLike[str]) -> Body:
        """Reads a body that `save` wrote. Raises StorageError: no Thew file, another version, damaged, refused."""
    def __copy__(self) -> Body: ...
    def __deepcopy__(self, _memo: object) -> Body: ...

@final
class Contact:
    """How flesh touches: itself (self_contact), with thickness (m) kept between skins, Coulomb's friction, and compliance: how far
    contacts give as a part of what the flesh itself gives there. regions[n]: one number per vertex of the mesh, of which 0
    touches nothing, or a mask, True where skin may touch (None: all may). response: "complementarity" (contacts push and never pull), or for comparison "creases"
    [capell2006, §3.4] as printed and "released_creases" without what pulls; these begin at `Simulation.find_crease_seeds` and know
    neither thickness, friction nor compliance. With the method 'modal' what overlaps is parted on the surface that is shown, frame by
    frame, without forces: friction and compliance mean nothing then. Raises InputError."""

    def __new__(
        cls,
        self_contact: bool = True,
        thickness: float = 0.0,
        friction: float = 0.3,
        regions: ArrayLike | None = None,
        compliance: float = 0.03,
        response: _Response = "complementarity",
    ) -> Contact: ...
    @property
    def self_contact(self) -> bool:
        """Whether a body touches itself."""
    @property
    def thickness(self) -> float:
        """What is kept between skins, metres."""
    @property
    def friction(self) -> float:
        """Coulomb's coefficient."""
    @property
    def compliance(self) -> float:
        """How far contacts give."""
    @property
    def response(self) -> _Response:
        """What keeps flesh from passing through itself."""
    def __copy__(self) -> Contact: ...
    def __deepcopy__(self, _memo: object) -> Contact: ...

@final
class Collider:
    """Something that flesh collides with: a mesh, still, carried by motion[f,4,4] (maps of its vertices) or deforming, motion[f,n,3]
    (m), one entry per pose, the last for good. Which way its triangles face does not matter: what encloses something is solid,
    other triangles are sheets, which flesh touches on the side where it is. friction: Coulomb's coefficient, of which and
    the flesh's the geometric mean counts (None: the flesh's); thickness (m): kept besides the flesh's own. Raises InputError."""

    def __new__(
        cls, surface: Surface, motion: ArrayLike | None = None, friction: float | None = None, thickness: float = 0.0
    ) -> Collider: ...
    @staticmethod
    def plane(point: ArrayLike, normal: ArrayLike, friction: float | None = None, thickness: float = 0.0) -> Collider:
        """A plane through point[3] (m), solid on the side that normal[3], of any length, points away from."""
    @property
    def surface(self) -> Surface | None:
        """The mesh; None of a plane."""
    @property
    def friction(self) -> float | None:
        """Coulomb's coefficient; None: that of the flesh."""
    @property
    def thickness(self) -> float:
        """What is kept besides the thickness of the flesh, metres."""
    @property
    def entries(self) -> int | None:
        """Entries of its motion; None: it is still."""
    def __copy__(self) -> Collider: ...
    def __deepcopy__(self, _memo: object) -> Collider: ...

@final
class Contacts:
    """What touches at one instant; as long as there are contacts."""

    def __len__(self) -> int: ...
    @property
    def points(self) -> _Floats:
        """Where, [c,3], metres, world axes."""
    @property
    def normals(self) -> _Floats:
        """Outward normals of what is touched, [c,3]."""
    @property
    def gaps(self) -> _Floats:
        """Metres, [c]; negative: overlap."""
    @property
    def forces(self) -> _Floats:
        """N, on the vertices, [c,3]."""
    @property
    def bodies(self) -> _Indices:
        """Bodies whose vertices touch, [c]."""
    @property
    def vertices(self) -> _Indices:
        """Vertices that touch, [c]."""
    @property
    def others(self) -> _Indices:
        """Bodies that are touched, [c]."""
    @property
    def partners(self) -> _Indices:
        """Vertices near which they are touched, [c]."""
    @property
    def held(self) -> NDArray[np.bool_]:
        """Whether bones alone hold both sides, or what touches a collider, so that no force parts them, [c]."""

@final
class Simulation:
    """A body in motion.

    Methods: "hyperelastic" (Yeoh's flesh carried by the skeleton: the warped method for small motion, and sound for any),
    "warped" [capell2006, §3.3, cell form], "warped_vertex" (vertex form, as printed), "linear", "modal" [choi2003] with modes (a Modes of this body, which
    say how stiff it is, or how many; None: 32) shown by engine, device, form and precision as in `Deformer`, and by Newton's method "nonlinear" (St.
    Venant-Kirchhoff), "neohookean" (stable for inverted flesh); these raise MotionError when a step does not
    converge, and keep the state before it. rate: steps per second at least, within 1 %, a frame holds a
    whole number of them; gravity[3] (m/s², None: earth's along -z); mass_damping (1/s) and stiffness_damping (s)
    act relative to the skinned motion (None: those of `default_damping`); max_offset: the farthest that `positions` shows flesh from its skin,
    as a part of the body's size (None: no limit); solver: how hyperelastic and warped steps are solved, by factoring ("direct"), by
    conjugate gradients ("cg") or by what is quicker for the body ("auto"); elastic_joints (0 to 1): which part of
    the joints' own shape is shown in place of the plain skin (0: the skin as it is, plus sway; 1: with hyperelastic joints that are
    round and keep their volume, with others the flesh that bones bend); contact: how the
    flesh touches itself, with the methods hyperelastic, warped, warped_vertex and linear; with modal its surface alone is parted (None: it passes through itself). Raises InputError, NotBuilt.
    """

    def __new__(
        cls,
        body: Body,
        method: _Method = "hyperelastic",
        rate: float = 240.0,
        gravity: ArrayLike | None = None,
        mass_damping: float | None = None,
        stiffness_damping: float | None = None,
        max_offset: float | None = None,
        modes: Modes | int | None = None,
        engine: str = "auto",
        device: str | None = None,
        form: _Form = "embedded",
        precision: _Precision = "f32",
        solver: _Solver = "auto",
        elastic_joints: float = 1.0,
        contact: Contact | None = None,
        colliders: Sequence[Collider] | None = None,
    ) -> Simulation: ...
    @property
    def amplitudes(self) -> _Floats | None:
        """Amplitudes of the method "modal", [m]; None with other methods."""
    def reset(self, pose: ArrayLike, settled: bool = True, rest_forces: ArrayLike | None = None) -> None:
        """Starts at pose[b,4,4]: in static equilibrium, or (settled=False) in the skinned shape. The flesh has the
        velocity that its bones turn out to have when the first advance tells it. rest_forces[dofs,3]: generalised
        forces, N, in rest axes, that turn with the flesh."""
    def advance(
        self,
        pose: ArrayLike,
        dt: float,
        forces: ArrayLike | None = None,
        rest_forces: ArrayLike | None = None,
    ) -> None:
        """Advances to pose[b,4,4] over dt seconds in ceil(dt·rate) equal steps; forces[dofs,3]: generalised, N,
        world axes, constant over dt; rest_forces[dofs,3]: in rest axes at the end of dt, where they go linearly from
        those of the call before (None: none), and turned with the flesh. Raises MotionError when the motion is no
        longer finite; the state before that step is kept."""
    def positions(
        self, surface: int | None = None, to: ArrayLike | None = None, onto: _Places | None = None
    ) -> _Places:
        """Positions of the vertices of a carried surface (None: the body's own), [n,3], metres, world axes; to, onto: as of
        `Clip.offsets`."""
    def offsets(self, surface: int | None = None, to: ArrayLike | None = None, onto: _Places | None = None) -> _Places:
        """What the flesh adds to the artist's own skin, [n,3], metres, world axes: `positions` less the skin. to, onto: as
        of `Clip.offsets`."""
    def lattice_positions(self) -> _Floats:
        """Positions of the lattice vertices, [dofs,3]."""
    def lattice_velocities(self) -> _Floats:
        """Velocities of the lattice vertices, [dofs,3], m/s."""
    def contacts(self) -> Contacts:
        """What touches at present, and with which forces; of the method 'modal' what was parted on the surface, without forces."""
    def find_crease_seeds(self, poses: ArrayLike, seconds: float = 4.0) -> _Indices:
        """Finds where creases begin, in slow motion from rest to each of poses[p,b,4,4], seconds each, and looks there from
        now on, in place of where it did: pairs of vertices [s,2]. The present state stays. For contacts of a crease response
        [capell2006, §3.4.1]. Raises InputError, MotionError."""
    def set_crease_seeds(self, pairs: ArrayLike) -> None:
        """Looks for creases at pairs[s,2] of vertices from now on, in place of where it did. Raises InputError."""
    @property
    def crease_seeds(self) -> _Indices:
        """Pairs of vertices at which creases are looked for, [s,2]: no part of a state."""
    def inverted_cells(self) -> int:
        """Number of inverted cells at present."""
    @property
    def unconverged_steps(self) -> int:
        """Steps so far, of the hyperelastic method, whose minimisation stopped short of its tolerance: the flesh goes on from the best
        point that was found.
        """
    def state(self) -> bytes:
        """The state, exactly, in a few kilobytes: to be given back to `restore`."""
    def restore(self, state: bytes) -> None:
        """Takes back a state of the same body. Raises InputError for bytes that are none; the present state then
        stays."""

@final
class Clip:
    """A simulated clip: the kept states of a run of frames; any frame can be asked for in any order, from any
    thread. `numpy.asarray(clip)` is float32 [f,n,3]."""

    def positions(
        self, frame: int, surface: int | None = None, to: ArrayLike | None = None, onto: _Places | None = None
    ) -> _Places:
        """Positions of the vertices of a carried surface (None: the body's own) at a frame, [n,3], metres, world axes; before
        the first and after the last frame those frames hold. to, onto: as of `offsets`."""
    def offsets(
        self, frame: int, surface: int | None = None, to: ArrayLike | None = None, onto: _Places | None = None
    ) -> _Places:
        """What the flesh adds to the artist's own skin at a frame, [n,3], metres, world axes: the skin, however it was made,
        plus this is what is shown.

        to[4,4]: into another space, an affine map of the world's metres that may flatten or mirror; positions take all of it,
        vectors its linear part (None: the world's metres). onto[n,3]: an array to which the result is added, and which is given
        back (None: a new one). Raises InputError: a map that is not finite, or beyond 1e12, or not affine; an array that is not
        float32, C-contiguous and of that shape."""
    def velocities(
        self, frame: int, surface: int | None = None, to: ArrayLike | None = None, onto: _Places | None = None
    ) -> _Places:
        """How fast what `positions` shows moves at a frame, [n,3], m/s, world axes: from the frame before to the one after, at the
        ends from or to the end itself. to, onto: as of `offsets`."""
    def lattice_positions(self, frame: int) -> _Floats:
        """Positions of the lattice vertices at a frame, [dofs,3]."""
    def extend(
        self,
        poses: ArrayLike,
        controls: ArrayLike | None = None,
        progress: _Progress | None = None,
        restart: bool = False,
    ) -> None:
        """Goes on for poses[f,b,4,4] after the last frame, which is made again now that it is known where the bones
        go from there: a clip made in parts is the clip made at once. controls[f,r]: of the clip's rigs at those poses
        (None: each at its last sample). restart: the flesh begins anew there, as a clip of its own, after a cut; nothing is made again
        then. Cyclic clips cannot be extended, those of a scene by `extend_scene`."""
    def save(self, path: str | PathLike[str]) -> None:
        """Writes the clip with its body and its rigs to a file: versioned, checksummed, whole or not at all. About 24 bytes per
        lattice vertex and 64 per bone of every frame, besides the body. Raises StorageError."""
    @staticmethod
    def load(path: str | PathLike[str]) -> Clip:
        """Reads a clip that `save` wrote: it shows every frame and goes on with the same bits as that one did, without being
        simulated again. Raises StorageError: no Thew file, another version or kind, damaged, refused."""
    @property
    def body(self) -> Body:
        """The body that moves."""
    @property
    def body_names(self) -> list[str]:
        """What the bodies are called that `contacts` count, by their numbers; those of its scene, or its own alone. Empty where
        nobody named them."""
    @property
    def body_index(self) -> int:
        """Which of them it is of."""
    @property
    def notes(self) -> dict[str, str]:
        """Texts that travel with the clip, by name: those of its `Shot`."""
    def contacts(self, frame: int) -> Contacts:
        """What touches at a frame; nothing in clips without contact. Of the method 'modal' what was parted on the surface, without
        forces."""
    def contact_notes(self) -> list[str]:
        """What contact cannot part in the clip, a sentence each for a person to read: which bones lie in what, or fold what they
        alone hold, and in which frames, counted from 0. Nothing in clips without contact."""
    def buried_bones(self, frame: int) -> list[tuple[int, int, int, float]]:
        """Bones that lie in other flesh or in colliders at a frame, which contact moves out of nothing: a bone, what it lies in (as
        `Contacts.others`), the bone there (0 of colliders), how deep (m)."""
    def folds(self, frame: int) -> _Places:
        """How much more of the joints' elastic shape is shown at a frame where the skin lies in itself, of each lattice vertex, 0 to 1,
        float32 [dofs]."""
    @property
    def held_cells(self) -> _Indices:
        """Cells near inversion in each frame whose vertices all hang on bones, which contact cannot help, int32 [f]."""
    @property
    def inverted_cells(self) -> _Indices:
        """Number of inverted cells in each frame, [f]."""
    @property
    def folded_cells(self) -> _Indices | None:
        """Number of cells that the bones alone invert in each frame, [f], which nothing that the flesh does undoes; None with
        methods that do not part sway from what the bones do."""
    @property
    def unconverged_steps(self) -> _Indices:
        """Number of steps in each frame, of the method "hyperelastic", that ended short of their tolerance, int32 [f]: the flesh went
        on from the best point that was found."""
    @property
    def max_skin_deviations(self) -> _Places:
        """How far the flesh is from its skin before `max_offset` limits it: the largest distance in each frame as a part of
        the body's size, [f]."""
    @property
    def amplitudes(self) -> _Floats | None:
        """Amplitudes of the method "modal", [f,m]; None with other methods."""
    @property
    def engine(self) -> str | None:
        """Where the method "modal" shows the body's own surface: "CPU, 2 threads", "GPU NAME"; None with other
        methods."""
    @property
    def engine_report(self) -> list[str]:
        """What each engine that was tried was measured to cost, line by line."""
    @property
    def warnings(self) -> list[str]:
        """What a person should know: rigs that push nothing, requests about the engine that could not be met."""
    @property
    def loop_gap(self) -> float | None:
        """Of a cycle: the largest distance (m) of a lattice vertex between its end and its beginning; else None."""
    @property
    def nbytes(self) -> int:
        """Memory of the kept states, bytes."""
    @property
    def fps(self) -> float:
        """Frames per second."""
    def __len__(self) -> int: ...
    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[np.generic]: ...

def default_damping(body: Body) -> tuple[float, float]:
    """(mass_damping 1/s, stiffness_damping s) at which the slowest swing of the body's flesh falls to a twentieth within about a
    second and a quarter, or within five of its own periods where these are shorter, at any size and softness. What simulations take where
    none is given. Raises MotionError.
    """

def simulate(
    body: Body,
    poses: ArrayLike,
    fps: float,
    rigs: Sequence[Rig] | None = None,
    controls: ArrayLike | None = None,
    preroll: int = 0,
    cyclic: bool = False,
    progress: _Progress | None = None,
    method: _Method = "hyperelastic",
    rate: float = 240.0,
    gravity: ArrayLike | None = None,
    mass_damping: float | None = None,
    stiffness_damping: float | None = None,
    max_offset: float | None = None,
    modes: Modes | int | None = None,
    engine: str = "auto",
    device: str | None = None,
    form: _Form = "embedded",
    precision: _Precision = "f32",
    solver: _Solver = "auto",
    elastic_joints: float = 1.0,
    contact: Contact | None = None,
    colliders: Sequence[Collider] | None = None,
    *,
    restarts: Sequence[int] | None = None,
) -> Clip:
    """Simulates poses[f,b,4,4] at fps frames per second -> Clip. Frame 0 is the settled first pose, moving as its
    bones move.

    rigs: `Rig`s that push the flesh, controls[f,r]: where the control of each stands at every frame, linear between
    (None: every rig at its last sample throughout); preroll: frames of run-in before frame 0, in which the
    joints come from a standstill; cyclic: the poses are a cycle (which may travel), run until its state repeats; restarts:
    frames above 0, ascending, in which the flesh begins anew as in frame 0: cuts, after which the character is elsewhere. Further
    settings: those of `Simulation`. Raises Cancelled, InputError (poses by frame), MotionError (naming the frame).
    """

@final
class Shot:
    """All that `simulate` needs, to be written to one file and simulated elsewhere, with the same bits: a body, poses[f,b,4,4]
    at fps frames per second, rigs with controls[f,r], and settings as there.

    notes: texts by name for whoever made the shot; its clip has them too ("rigs" and "warnings" are taken). name: of the body, for
    `Clip.body_names`. Raises InputError, NotBuilt.
    """

    def __new__(
        cls,
        body: Body,
        poses: ArrayLike,
        fps: float,
        rigs: Sequence[Rig] | None = None,
        controls: ArrayLike | None = None,
        preroll: int = 0,
        cyclic: bool = False,
        notes: dict[str, str] | None = None,
        method: _Method = "hyperelastic",
        rate: float = 240.0,
        gravity: ArrayLike | None = None,
        mass_damping: float | None = None,
        stiffness_damping: float | None = None,
        max_offset: float | None = None,
        modes: Modes | int | None = None,
        engine: str = "auto",
        device: str | None = None,
        form: _Form = "embedded",
        precision: _Precision = "f32",
        solver: _Solver = "auto",
        elastic_joints: float = 1.0,
        contact: Contact | None = None,
        colliders: Sequence[Collider] | None = None,
        name: str = "",
        *,
        restarts: Sequence[int] | None = None,
    ) -> Shot: ...
    def simulate(self, progress: _Progress | None = None) -> Clip:
        """The clip, as `simulate` makes it. Raises Cancelled, InputError (poses and rigs by name), MotionError."""
    def save(self, path: str | PathLike[str]) -> None:
        """Writes the shot with its body to a file: versioned, checksummed, whole or not at all; 96 bytes per bone of every
        pose, besides the body. Raises StorageError."""
    @staticmethod
    def load(path: str | PathLike[str]) -> Shot:
        """Reads a shot that `save` wrote. Raises StorageError: no Thew file, another version or kind, damaged, refused."""
    @property
    def body(self) -> Body:
        """The body that is to move."""
    @property
    def name(self) -> str:
        """What the body is called."""
    @property
    def fps(self) -> float:
        """Frames per second."""
    @property
    def method(self) -> _Method:
        """The method of motion."""
    @property
    def restarts(self) -> list[int]:
        """Frames in which the flesh begins anew, ascending."""
    @property
    def poses(self) -> _Floats:
        """Poses, [f,b,4,4]."""
    @property
    def rigs(self) -> list[Rig]:
        """The rigs that push it."""
    @property
    def controls(self) -> _Floats | None:
        """Controls of the rigs, [f,r]; None: each at its last sample."""
    @property
    def preroll(self) -> int:
        """Frames simulated before the first one, or rounds of a cycle."""
    @property
    def cyclic(self) -> bool:
        """Tells whether the poses repeat."""
    @property
    def rate(self) -> float:
        """Steps per second, at least."""
    @property
    def gravity(self) -> _Floats:
        """Gravity [3], m/s²."""
    @property
    def mass_damping(self) -> float:
        """Damping by mass, 1/s."""
    @property
    def stiffness_damping(self) -> float:
        """Damping by stiffness, s."""
    @property
    def max_offset(self) -> float | None:
        """The farthest that flesh is shown from its skin, as a part of the body's size; None: no limit."""
    @property
    def elastic_joints(self) -> float:
        """Part of the joints' own shape that is shown, 0 to 1."""
    @property
    def solver(self) -> _Solver:
        """Solver of the steps."""
    @property
    def modes(self) -> Modes | int | None:
        """Modes of the method "modal", or how many of the lowest; None: the usual number."""
    @property
    def engine(self) -> str:
        """Engine that shows the method "modal": "auto", "cpu", "gpu" or "gpu:NAME"."""
    @property
    def form(self) -> _Form:
        """Form in which modes are warped."""
    @property
    def precision(self) -> _Precision:
        """Precision in which modes are stored."""
    @property
    def contact(self) -> Contact | None:
        """Contact of the flesh; None: it passes through itself."""
    @property
    def colliders(self) -> list[Collider]:
        """Things that it touches besides flesh."""
    def replace(self, **changes: Any) -> Shot:
        """Another shot with some arguments of `Shot` changed: shot.replace(poses=poses, rate=480.0). The others are as read back
        here: damping stays what it came to, also for another body. `copy.replace` does the same from Python 3.13 on. Raises as `Shot`
        does."""
    @property
    def rig_names(self) -> list[str]:
        """Names of the rigs that push it."""
    @property
    def notes(self) -> dict[str, str]:
        """Texts that travel with it, by name."""
    def __len__(self) -> int: ...
    def __replace__(self, **changes: Any) -> Shot: ...
    def __copy__(self) -> Shot: ...
    def __deepcopy__(self, _memo: object) -> Shot: ...

@final
class Scene:
    """Bodies in motion that touch each other.

    contact: how each touches, itself included, one `Contact` for all or a list of one (or None) for each (None: the others, not
    itself); colliders: `Collider`s that all of them touch, at their first entry after a reset and on by one with every advance.
    Between two bodies friction is the geometric mean, thickness the mean of both sides', compliance the largest of all. Settings:
    those of `Simulation`. A body alone moves by the same bits as its `Simulation`. Raises InputError, naming the body.
    """

    def __new__(
        cls,
        bodies: Sequence[Body],
        contact: Contact | Sequence[Contact | None] | None = None,
        colliders: Sequence[Collider] | None = None,
        method: _Method = "hyperelastic",
        rate: float = 240.0,
        gravity: ArrayLike | None = None,
        mass_damping: float | None = None,
        stiffness_damping: float | None = None,
        max_offset: float | None = None,
        solver: _Solver = "auto",
        elastic_joints: float = 1.0,
    ) -> Scene: ...
    def reset(self, poses: _Each, settled: bool = True, rest_forces: Sequence[ArrayLike | None] | None = None) -> None:
        """Starts at poses, pose[b,4,4] of each body: each in balance by itself, then with the others, without friction, or
        (settled=False) in the skinned shape. rest_forces: of each body (or None), [dofs,3], N, as of `Simulation.reset`."""
    def advance(
        self,
        poses: _Each,
        dt: float,
        forces: Sequence[ArrayLike | None] | None = None,
        rest_forces: Sequence[ArrayLike | None] | None = None,
    ) -> None:
        """Advances to poses, pose[b,4,4] of each body, over dt seconds in ceil(dt·rate) equal steps; forces and rest_forces: of
        each body (or None), [dofs,3], N, as of `Simulation.advance`. Raises InputError, MotionError, naming the body; the state
        before the call is kept."""
    def positions(
        self, body: int, surface: int | None = None, to: ArrayLike | None = None, onto: _Places | None = None
    ) -> _Places:
        """Positions of the vertices of a body's surface (None: its own), [n,3], metres, world axes; to, onto: as of
        `Clip.offsets`."""
    def offsets(
        self, body: int, surface: int | None = None, to: ArrayLike | None = None, onto: _Places | None = None
    ) -> _Places:
        """What the flesh of a body adds to the artist's own skin, [n,3], metres, world axes. to, onto: as of `Clip.offsets`."""
    def lattice_positions(self, body: int) -> _Floats:
        """Positions of a body's lattice vertices, [dofs,3]."""
    def lattice_velocities(self, body: int) -> _Floats:
        """Velocities of a body's lattice vertices, [dofs,3], m/s."""
    def contacts(self) -> Contacts:
        """What touches at present: what two bodies do to each other for both of them, equal and opposite."""
    def contact_forces(self, body: int) -> _Floats:
        """What pushed a body's lattice vertices in the last step, contacts and cells near inversion, [dofs,3], N, world axes; 0 at
        those that hang on bones."""
    def inverted_cells(self, body: int) -> int:
        """Number of a body's cells that are inverted at present."""
    def state(self) -> bytes:
        """The state of all bodies, exactly: to be given back to `restore`."""
    def restore(self, state: bytes) -> None:
        """Takes back a state of the same bodies. Raises InputError for bytes that are none; the present state then stays."""
    def __len__(self) -> int: ...

def simulate_scene(
    bodies: Sequence[Body],
    poses: _Each,
    fps: float,
    contact: Contact | Sequence[Contact | None] | None = None,
    colliders: Sequence[Collider] | None = None,
    rigs: Sequence[Sequence[Rig] | None] | None = None,
    controls: Sequence[ArrayLike | None] | None = None,
    preroll: int = 0,
    progress: _Progress | None = None,
    method: _Method = "hyperelastic",
    rate: float = 240.0,
    gravity: ArrayLike | None = None,
    mass_damping: float | None = None,
    stiffness_damping: float | None = None,
    max_offset: float | None = None,
    solver: _Solver = "auto",
    elastic_joints: float = 1.0,
    cyclic: bool = False,
    names: Sequence[str] | None = None,
    *,
    restarts: Sequence[int] | None = None,
) -> list[Clip]:
    """Simulates bodies that touch each other, poses[k] = poses[f,b,4,4] of each at fps frames per second -> a Clip of each.
    Contacts of a clip count the bodies of the scene, and after them colliders.

    contact: how each touches, itself included, one `Contact` for all or a list of one (or None) for each (None: the others, not
    itself); colliders: `Collider`s that all of them touch. rigs, controls: of each body a list of `Rig`s and controls[f,r], or None;
    preroll, cyclic, restarts and further settings: those of `simulate`. In a loop all bodies end in their first poses, moved alike, or none does.
    names: of each body, for `Clip.body_names`. Clips of a scene go on together: `extend_scene`. Raises Cancelled, InputError (naming
    the body), MotionError (naming frame and body)."""

def simulate_shots(shots: Sequence[Shot], progress: _Progress | None = None) -> list[Clip]:
    """Simulates shots together: their bodies touch each other, and the colliders of all of them -> a Clip of each. A shot without
    contact touches the others, but not itself. All have the same number of poses, frames and steps per second; the longest run-in
    is that of all; all are cyclic, or none, and begin anew in the same frames. Colliders that several have alike are one. Raises as `simulate_scene`."""

def extend_scene(
    clips: Sequence[Clip],
    poses: _Each,
    controls: Sequence[ArrayLike | None] | None = None,
    progress: _Progress | None = None,
    restart: bool = False,
) -> None:
    """Goes on with all clips of a scene, in its order, for poses[k] = poses[f,b,4,4] of each after the last frame, as `Clip.extend`
    does with one alone: clips made in parts are those made at once. controls: of each clip controls[f,r] of its rigs at those poses,
    or None. Clips of cycles cannot be extended. restart: they begin anew there, each as a clip of its own. Raises Cancelled, InputError, MotionError; all clips then stay as they were."""

@final
class Equilibrium:
    """The balances of a body at one pose after another, at first its rest pose; what a pose needs is factored once for
    all forces [capell2006, §3.3, eq. 10].

    method: "hyperelastic", "warped", "warped_vertex", "linear", "nonlinear" or "neohookean"; contact: how the flesh touches itself
    (None: it passes through itself), without friction; `adjoint` and `forces` know nothing of it. Raises InputError, NotBuilt.
    """

    def __new__(
        cls,
        body: Body,
        method: _Method = "warped",
        contact: Contact | None = None,
        colliders: Sequence[Collider] | None = None,
    ) -> Equilibrium: ...
    def set_pose(self, pose: ArrayLike) -> None:
        """Takes pose[b,4,4]. Raises InputError; the pose before then stays."""
    def solve(
        self,
        forces: ArrayLike | None = None,
        rest_forces: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
    ) -> _Floats:
        """Displacements q[dofs,3] (m) at which the flesh is in balance under gravity[3] (m/s², None: earth's along -z),
        forces[dofs,3] (N, world axes) and rest_forces[dofs,3] (N, rest axes, turned by `turns`)."""
    def contacts(self) -> Contacts:
        """What touched in the last balance."""
    def adjoint(self, g: ArrayLike) -> _Floats:
        """A⁻ᵀ g[dofs,3], zero rows at held vertices: the derivative by `forces` of a function of the balance whose
        derivative by q is g; by `rest_forces` it is R_iᵀ times that. Raises InputError for nonlinear methods."""
    def forces(self, q: ArrayLike, gravity: ArrayLike | None = None) -> _Floats:
        """The generalised forces [dofs,3] (N, world axes; zero rows at held vertices) that hold the flesh at q[dofs,3]:
        the inverse of `solve`."""
    @property
    def turns(self) -> _Floats:
        """R_i, how the skeleton turns the flesh and rest-axes forces at each lattice vertex, [dofs,3,3]."""
    def positions(
        self, surface: int | None = None, to: ArrayLike | None = None, onto: _Places | None = None
    ) -> _Places:
        """Positions of the vertices of a carried surface (None: the body's own) in the balance of the last solve, [n,3],
        metres, world axes, as the lattice has them (`Body.shown` draws them as a clip does); to, onto: as of `Clip.offsets`.
        Raises InputError before the first solve at a pose."""

def equilibrium(
    body: Body,
    pose: ArrayLike,
    forces: ArrayLike | None = None,
    gravity: ArrayLike | None = None,
    method: _Method = "warped",
    rest_forces: ArrayLike | None = None,
) -> _Floats:
    """Displacements q[dofs,3] (m) at which the flesh is in balance at pose[b,4,4] under gravity, forces[dofs,3]
    (N, world axes) and rest_forces[dofs,3] (N, rest axes, turned with the flesh) [capell2006, §3.3, eq. 10].

    method: "warped" unless said, the paper's and linear in forces, as fits of rigs and adjoints need it. `simulate` moves flesh by
    "hyperelastic" unless said: method="hyperelastic" is where that comes to rest. "nonlinear" and "neohookean" warn (RuntimeWarning) of
    cells that are inverted in the balance."""

def equilibrium_forces(
    body: Body,
    pose: ArrayLike,
    q: ArrayLike,
    gravity: ArrayLike | None = None,
    method: _Method = "warped",
) -> _Floats:
    """The generalised forces [dofs,3] (N, world axes; zero rows at bones) that hold the flesh at displacements
    q[dofs,3]: the inverse of `equilibrium`."""

@final
class RigFit:
    """Fits one rig of a body at a pose, again and again: what the pose and the points need is solved once
    [capell2006, §4.2, eqs 17 to 20].

    gravity[3] (m/s², None: earth's along -z); method: "warped", "warped_vertex" or "linear"; rest_forces[dofs,3] (N, rest
    axes): of other rigs. Raises InputError, NotBuilt.
    """

    def __new__(
        cls,
        body: Body,
        rig: Rig,
        pose: ArrayLike,
        gravity: ArrayLike | None = None,
        method: _Method = "warped",
        rest_forces: ArrayLike | None = None,
    ) -> RigFit: ...
    def fit(
        self,
        points: Iterable[tuple[int, ArrayLike]],
        start: dict[str, float] | None = None,
        preferred: dict[str, float] | None = None,
        weights: dict[str, float] | None = None,
        bounds: dict[str, tuple[float | None, float | None]] | None = None,
        evaluations: int | None = None,
        progress: _Progress | None = None,
    ) -> dict[str, float]:
        """All parameters of the rig that bring points [(vertex of the body's own surface, world target[3]), ...] nearest
        to their targets in equilibrium; what cannot be reached is approached, and no flesh is pressed flatter than 0.3 of
        its volume: `reached` and `folding` tell how far that came. start and preferred: {parameter: value} (None: the rig's
        last sample); weights: {parameter: ξ} (m² per unit², None: none, but a gentle one for those
        preferred); bounds: {parameter: (lower, upper)}, None for no bound, where they shall not be the usual ones.
        evaluations: at most so many, for an update while the mouse moves: the best so far, from which the next update
        goes on (None: as many as it takes, within some seconds of work: then the best so far). Raises InputError, RigError,
        OutsideError, Cancelled."""
    @property
    def reached(self) -> float | None:
        """Of the last `fit`: how much of the way from where its start has the points to their targets it came, 0 to 1, by
        the root of the sum of squares; None before one."""
    @property
    def folding(self) -> bool | None:
        """Of the last `fit`: whether more strength would fold flesh there; None before one."""
    @property
    def evaluations(self) -> int | None:
        """Number of times that the last `fit` integrated the rig's forces; None before one."""
    def gradient(
        self,
        points: Iterable[tuple[int, ArrayLike]],
        parameters: dict[str, float] | None = None,
        preferred: dict[str, float] | None = None,
        weights: dict[str, float] | None = None,
    ) -> tuple[float, dict[str, float]]:
        """The cost (m²) that `fit` minimises and its derivative by every parameter, at parameters (None, or those not
        named: the rig's last sample)."""
    def positions(
        self,
        parameters: dict[str, float] | None = None,
        to: ArrayLike | None = None,
        onto: _Places | None = None,
    ) -> _Places:
        """Positions of the vertices of the body's own surface in equilibrium with the rig at parameters (None, or those
        not named: the rig's last sample), as the lattice has them, [n,3], metres, world axes; to, onto: as of
        `Clip.offsets`."""

def fit_rig(
    body: Body,
    rig: Rig,
    pose: ArrayLike,
    points: Iterable[tuple[int, ArrayLike]],
    preferred: dict[str, float] | None = None,
    weights: dict[str, float] | None = None,
    start: dict[str, float] | None = None,
    bounds: dict[str, tuple[float | None, float | None]] | None = None,
    gravity: ArrayLike | None = None,
    method: _Method = "warped",
    rest_forces: ArrayLike | None = None,
    progress: _Progress | None = None,
) -> dict[str, float]:
    """`RigFit(...).fit(...)` for once: all parameters of the rig that bring points [(vertex of the body's own surface,
    world target[3]), ...] nearest to their targets in equilibrium at pose[b,4,4] [capell2006, §4.2]."""

def fit_gradient(
    body: Body,
    rig: Rig,
    pose: ArrayLike,
    points: Iterable[tuple[int, ArrayLike]],
    parameters: dict[str, float] | None = None,
    preferred: dict[str, float] | None = None,
    weights: dict[str, float] | None = None,
    gravity: ArrayLike | None = None,
    method: _Method = "warped",
    rest_forces: ArrayLike | None = None,
) -> tuple[float, dict[str, float]]:
    """`RigFit(...).gradient(...)` for once: the cost (m²) of points [(vertex, world target[3]), ...] at parameters (None:
    the rig's last sample), and its derivative by every parameter [capell2006, §4.2, eq. 20]."""

@final
class Modes:
    """Vibration modes of a body, mass-orthonormal, by ascending frequency [choi2003, §3.2]; immutable."""

    @property
    def eigenvalues(self) -> _Floats:
        """Λ, 1/s², ascending, [m]."""
    @property
    def frequencies(self) -> _Floats:
        """Undamped frequencies, Hz, [m]."""
    @property
    def shapes(self) -> _Floats:
        """Φ, 1/√kg, [m,k,3]; zero at fixed nodes."""
    @property
    def rotations(self) -> _Floats:
        """Ψ, rotation vectors of the nodes, 1/(m √kg), [m,k,3]."""
    @property
    def fixed(self) -> NDArray[np.bool_]:
        """Which nodes are fixed, [k]."""
    @property
    def verified(self) -> bool:
        """Whether a count of the eigenvalues below a bound agrees with those found: no mode is missing."""
    def displacements(self, amplitudes: ArrayLike, warp: bool = True) -> _Floats:
        """Displacements of the nodes at amplitudes[m], [k,3], metres: `R̃(Ψq) Φq`, or `Φq` with warp=False."""
    def scaled(self, factor: float) -> Modes:
        """The modes of the same flesh made stiffer by a factor: eigenvalues grow by it, shapes stay. Raises
        ModalError for a factor that is not positive, or with which an eigenvalue exceeds 1e100."""
    def first(self, count: int) -> Modes:
        """The first `count` of these modes."""
    def __len__(self) -> int: ...
    def __copy__(self) -> Modes: ...
    def __deepcopy__(self, _memo: object) -> Modes: ...

def modes(
    body: TetMesh | Body,
    count: int,
    material: Material | None = None,
    fixed: ArrayLike | None = None,
    mass: _Mass = "consistent",
    tolerance: float | None = None,
    progress: _Progress | None = None,
) -> Modes:
    """The `count` lowest modes of a TetMesh or of a Body: `K Φ = M Φ Λ`, `ΦᵀMΦ = 1`, `Ψ = W Φ` [choi2003, §3.2].

    fixed: nodes that stand still, indices or a mask [k]; of a body the vertices that bones hold are always fixed.
    material: that of a TetMesh (a Body has its own). tolerance: largest residual relative to λ ‖M φ‖ (None: 1e-9, or what
    rounding allows). Raises ModalError, Cancelled.
    """

@final
class ModalSimulation:
    """Modes in motion on a support that stands still [choi2003, §4, §5].

    step: seconds; integrator: "exact" (for forces that are linear over the step) or "semi_implicit" (the paper's eq. 18);
    warp=False: linear modal analysis; gravity[3] (m/s², None: none); damping: a tuple (ξ 1/s, ζ s) for
    `ξ + ζ λ`, or one coefficient (1/s) per mode, [m]. Raises ModalError.
    """

    def __new__(
        cls,
        modes: Modes,
        step: float,
        integrator: Literal["exact", "semi_implicit"] = "exact",
        warp: bool = True,
        gravity: ArrayLike | None = None,
        damping: ArrayLike | None = None,
    ) -> ModalSimulation: ...
    def advance(self, forces: ArrayLike | None = None) -> None:
        """One step; forces[k,3]: N at the nodes, world axes, constant over the step, besides gravity. When it fails the
        state before it is kept. Constraints that cannot hold together are held in least squares, with a warning."""
    def settle(self, forces: ArrayLike | None = None) -> None:
        """Sets the state to the balance of elasticity with gravity and constant forces[k,3], at rest; constraints are
        not asked."""
    def reset(self) -> None:
        """Back to rest; constraints stay."""
    @property
    def amplitudes(self) -> _Floats:
        """q, [m]; can be set."""
    @amplitudes.setter
    def amplitudes(self, amplitudes: ArrayLike) -> None: ...
    @property
    def velocities(self) -> _Floats:
        """q̇, 1/s, [m]; can be set."""
    @velocities.setter
    def velocities(self, velocities: ArrayLike) -> None: ...
    def displacements(self) -> _Floats:
        """Displacements of the nodes, [k,3], metres."""
    def rotations(self) -> _Floats:
        """Rotation vectors Ψq of the nodes, [k,3]."""
    def constrain(
        self,
        positions: dict[int, ArrayLike] | None = None,
        orientations: dict[int, ArrayLike] | None = None,
        exercised: ArrayLike | None = None,
    ) -> None:
        """Replaces all constraints: positions {node: displacement from rest[3]}, orientations {node: rotation vector[3]},
        either or both; without any, nothing is held. exercised: nodes at which the forces act; by default the constrained
        ones and, for orientations, their neighbours."""
    @property
    def constraints_held(self) -> dict[str, object]:
        """How the constraints held in the last step: {"distance": m, "angle": rad, "passes", "overdetermined", "slowed" (motion
        was, or the constraints would have pumped energy in), "stopped" (the body was brought to rest: no forces within the step
        could hold them but by hurling it about), "forces": {node: N[3] in the node's own frame}}."""
    @property
    def modes(self) -> Modes:
        """The modes."""
    @property
    def step(self) -> float:
        """Seconds."""

@final
class Deformer:
    """A surface under amplitudes, in real time: `u = R̃(Ψq) Φq` for each vertex [choi2003, §4.2].

    Deformer(modes, surface | points[n,3]): the vertices are embedded in the body's nodes. form: "vertex" warps each vertex
    (six numbers a mode are read for it), "embedded" the nodes that carry it. engine: "auto" (the one that was measured to be
    quickest), "cpu", "gpu" (device: a part of its name or its number in `gpu_adapters`); a device that cannot be used is
    replaced by the processor with one warning. precision: of the stored modes. On a Body: skin_weights[n,b] (None: the
    body's own), max_offset: the farthest that `positions` shows flesh from its skin, as a part of the body's size.
    """

    def __new__(
        cls,
        modes: Modes,
        surface: Surface | ArrayLike,
        form: _Form = "vertex",
        engine: str = "auto",
        precision: _Precision = "f32",
        device: str | None = None,
        skin_weights: ArrayLike | None = None,
        max_offset: float | None = None,
    ) -> Deformer: ...
    def displacements(self, amplitudes: ArrayLike, to: ArrayLike | None = None, onto: _Places | None = None) -> _Places:
        """Displacements at amplitudes[m], [n,3], metres, in rest axes; to, onto: as of `Clip.offsets`."""
    def positions(
        self,
        amplitudes: ArrayLike,
        pose: ArrayLike | None = None,
        to: ArrayLike | None = None,
        onto: _Places | None = None,
    ) -> _Places:
        """Positions at amplitudes[m], [n,3], metres, world axes: at rest, or on a Body under pose[b,4,4]; to, onto: as of
        `Clip.offsets`."""
    def offsets(
        self,
        amplitudes: ArrayLike,
        pose: ArrayLike | None = None,
        to: ArrayLike | None = None,
        onto: _Places | None = None,
    ) -> _Places:
        """What amplitudes[m] add to the skin, [n,3], metres, world axes: `positions` less those at no amplitude, at rest or on
        a Body under pose[b,4,4]; to, onto: as of `Clip.offsets`."""
    @property
    def engine(self) -> str:
        """Where it runs now: "CPU, 2 threads", "GPU NAME"."""
    @property
    def measured(self) -> dict[str, float]:
        """What a frame was measured to cost on each engine that was tried, {engine: seconds}."""
    @property
    def report(self) -> str:
        """What was measured and chosen, in one line."""
    @property
    def warnings(self) -> list[str]:
        """What a person should know: requests that could not be met."""
    def __len__(self) -> int: ...

def gpu_adapters() -> list[str]:
    """Names of the graphics devices that could be used, the best first; software ones say so."""

def nonlinear_equilibrium(
    tets: TetMesh,
    material: Material,
    fixed: ArrayLike,
    forces: ArrayLike,
    model: _Model = "stvk",
    prescribed: ArrayLike | None = None,
    progress: _Progress | None = None,
) -> _Floats:
    """Displacements [k,3] (m) at which elastic forces balance forces[k,3] (N at the nodes, world axes, constant), by
    Newton's method with line search. fixed: nodes that stay, indices or a mask [k]; prescribed[k,3]: where the fixed ones
    are moved to. Warns (RuntimeWarning) where tetrahedra are inverted in the balance. Raises InputError, MotionError,
    Cancelled."""

@final
class NonlinearSimulation:
    """A tetrahedral body in fully nonlinear motion, every step a minimisation by Newton's method.

    step: seconds; integrator: "backward_euler" or "midpoint" (second order, undamped); gravity[3] (m/s², None: none);
    damping: (α 1/s, β s), None: none. Raises InputError, MotionError.
    """

    def __new__(
        cls,
        tets: TetMesh,
        material: Material,
        fixed: ArrayLike,
        step: float,
        integrator: Literal["backward_euler", "midpoint"] = "backward_euler",
        gravity: ArrayLike | None = None,
        damping: Sequence[float] | None = None,
        model: _Model = "stvk",
        mass: _Mass = "consistent",
    ) -> NonlinearSimulation: ...
    def advance(self, forces: ArrayLike | None = None) -> None:
        """One step; forces[k,3]: N at the nodes, besides gravity. When it fails the state before it is kept."""
    def displacements(self) -> _Floats:
        """Displacements of the nodes, [k,3], metres."""
    def velocities(self) -> _Floats:
        """Velocities of the nodes, [k,3], m/s."""
    def set_state(self, displacements: ArrayLike, velocities: ArrayLike) -> None:
        """Takes another state: displacements[k,3] (m) and velocities[k,3] (m/s)."""

@final
class Template:
    """A force field in a frame of its own; the largest force equals strength (N/m³, negative turns it around).

    Template("bump", radius, strength) pushes along the frame's Z; "radial" away from its origin; "bulge" squeezes along Z
    and widens across; Template("torus", ring_radius, tube_radius, strength) pushes away from a circle about Z. Lengths in
    metres. Compact, once continuously differentiable. Raises RigError.
    """

    def __new__(cls, kind: _Template, **parameters: float) -> Template: ...
    @property
    def kind(self) -> _Template:
        """ "bump", "radial", "bulge" or "torus"."""
    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by name."""
    @property
    def units(self) -> dict[str, str]:
        """The unit of each parameter."""
    @property
    def support_radius(self) -> float:
        """Distance from the frame's origin beyond which there is no force, metres."""
    def force(self, points: ArrayLike, frame: ArrayLike) -> _Floats:
        """The force at points[p,3] with the template in frame[4,4] -> [p,3], N/m³."""
    def __eq__(self, other: object, /) -> bool: ...
    def __copy__(self) -> Template: ...
    def __deepcopy__(self, _memo: object) -> Template: ...
    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, float]]: ...

@final
class BoneGuide:
    """A frame beside a bone: its name (or number), along it (0 head, 1 tail), angle around it (radians; 0 towards world
    -Y, or +Z for bones along Y), distance from it (m), tilt of the template's Z from outward (0) to head-tail (pi/2).
    """

    def __new__(
        cls, bone: str | int, along: float = 0.5, angle: float = 0.0, distance: float = 0.0, tilt: float = 0.0
    ) -> BoneGuide: ...
    @property
    def bone(self) -> str | int:
        """The bone's name, or its number."""
    @property
    def parameters(self) -> dict[str, float]:
        """The continuous parameters by name."""
    def __eq__(self, other: object, /) -> bool: ...
    def __copy__(self) -> BoneGuide: ...
    def __deepcopy__(self, _memo: object) -> BoneGuide: ...
    def __getnewargs_ex__(self) -> tuple[tuple[str | int], dict[str, float]]: ...

@final
class SkinGuide:
    """A frame under the body's own surface as given: a face, the weights of its corners (None: its middle), depth below
    it (m), roll about its normal (radians; 0: X along the face's first edge), tilt of Z from outward (0) to X (pi/2).
    """

    def __new__(
        cls,
        face: int,
        barycentric: ArrayLike | None = None,
        depth: float = 0.0,
        roll: float = 0.0,
        tilt: float = 0.0,
    ) -> SkinGuide: ...
    @property
    def face(self) -> int:
        """The face."""
    @property
    def barycentric(self) -> tuple[float, float, float]:
        """The weights of the face's corners."""
    @property
    def parameters(self) -> dict[str, float]:
        """The continuous parameters by name."""
    def __eq__(self, other: object, /) -> bool: ...
    def __copy__(self) -> SkinGuide: ...
    def __deepcopy__(self, _memo: object) -> SkinGuide: ...
    def __getnewargs_ex__(self) -> tuple[tuple[int, tuple[float, float, float]], dict[str, float]]: ...

@final
class FreeGuide:
    """A frame anywhere: matrix[4,4] in rest space, a position and a rotation (a uniform scale is taken out); its parameters
    x, y, z (m) and the rotation vector rx, ry, rz (radians) act after it and are zero unless given.
    """

    def __new__(
        cls,
        matrix: ArrayLike,
        x: float = 0.0,
        y: float = 0.0,
        z: float = 0.0,
        rx: float = 0.0,
        ry: float = 0.0,
        rz: float = 0.0,
    ) -> FreeGuide: ...
    @property
    def matrix(self) -> _Floats:
        """The frame where all parameters are zero, [4,4]."""
    @property
    def parameters(self) -> dict[str, float]:
        """The continuous parameters by name."""
    def __eq__(self, other: object, /) -> bool: ...
    def __copy__(self) -> FreeGuide: ...
    def __deepcopy__(self, _memo: object) -> FreeGuide: ...
    def __getnewargs_ex__(self) -> tuple[tuple[_Floats], dict[str, float]]: ...

@final
class Rig:
    """A template on a guide, driven by one control [capell2006, §4]:
    Rig(template, guide, samples=[(gamma, {parameter: value})]).

    Parameters are those of the template and of the guide; a sample holds all of them, those that it does not name as in
    the template and the guide. Samples may come in any order. Between them parameters are linear in gamma, outside
    constant; without samples the rig is the same at every gamma. Raises RigError naming the sample or the parameter.
    """

    def __new__(
        cls,
        template: Template,
        guide: BoneGuide | SkinGuide | FreeGuide,
        samples: Iterable[tuple[float, dict[str, float]]] | None = None,
        name: str = "Rig",
    ) -> Rig: ...
    @property
    def name(self) -> str:
        """What the artist calls it."""
    @property
    def template(self) -> Template:
        """The template with its own parameters."""
    @property
    def guide(self) -> BoneGuide | SkinGuide | FreeGuide:
        """The guide with its own parameters."""
    @property
    def samples(self) -> list[tuple[float, dict[str, float]]]:
        """What was recorded: (gamma, {parameter: value}) by ascending gamma."""
    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of all parameters in order: the template's, then the guide's."""
    @property
    def units(self) -> dict[str, str]:
        """The unit of each parameter."""
    def parameters(self, gamma: float | None = None) -> dict[str, float]:
        """All parameters at gamma -> {name: value}; None: the last sample's."""
    def forces(self, body: Body, gamma: float | None = None, parameters: dict[str, float] | None = None) -> _Floats:
        """Generalised forces on a body -> [dofs,3], N, rest axes, before the turn with the flesh. gamma None: the last
        sample; parameters: some of them replaced by name. Raises OutsideError where the template lies wholly outside the
        flesh, RigError where the guide's bone or face is missing."""
    def pull_back(
        self,
        body: Body,
        field: ArrayLike,
        gamma: float | None = None,
        parameters: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Derivatives of the sum of field[dofs,3] times `forces` by every parameter -> {name: derivative}."""
    def frame(self, body: Body, gamma: float | None = None, parameters: dict[str, float] | None = None) -> _Floats:
        """The template's frame in rest space, columns X Y Z origin -> [4,4]."""
    def compliance(self, body: Body, gamma: float | None = None, parameters: dict[str, float] | None = None) -> float:
        """How far flesh yields to the rig: metres that the skin of a body at rest moves at most, per N/m³ of strength, to
        first order; zero where bones hold all the flesh in reach. gamma, parameters: as in `forces`. Raises OutsideError,
        RigError."""
    def strength_range(
        self, body: Body, gamma: float | None = None, parameters: dict[str, float] | None = None
    ) -> tuple[float, float]:
        """The strengths (N/m³) between which the rig by itself presses no flesh of a body at rest flatter than 0.3 of its
        volume; infinite without end. gamma, parameters: as in `forces`. Raises OutsideError, RigError."""
    def yields(self, body: Body) -> _Floats:
        """How far the skin of a body at rest yields to each sample at most -> [s], metres, negative where the strength is;
        of a rig without samples [1]. Samples outside the flesh go by the nearest one within. Raises OutsideError, RigError."""
    def with_yields(self, body: Body, yields: Iterable[float | None]) -> Rig:
        """The rig with the strengths at which the skin of a body yields to its samples by `yields` [s], metres (None in it:
        that strength stays): rig.with_yields(other, rig.yields(body)) does to another body what the rig does to this one.
        Raises OutsideError, RigError where bones hold all the flesh in reach."""
    def unfolding(self, body: Body) -> Rig:
        """The rig with strengths lowered to where, by itself, it presses no flesh of a body at rest flatter than 0.3 of its
        volume: what `simulate` pushes with. Raises RigError."""
    def check(self, body: Body) -> list[str]:
        """What keeps the rig from pushing this body, one sentence each; empty when nothing does."""
    def __eq__(self, other: object, /) -> bool: ...
    def __copy__(self) -> Rig: ...
    def __deepcopy__(self, _memo: object) -> Rig: ...

def save_rigs(path: str | PathLike[str], rigs: Sequence[Rig], body: Body | None = None) -> None:
    """Writes rigs to a small text file (TOML); it is whole or as it was before. body: beside strengths also how far its
    flesh yields to them, so that another body may be read for. Raises StorageError."""

def load_rigs(path: str | PathLike[str], body: Body | None = None) -> list[Rig]:
    """Reads rigs that `save_rigs` or a person wrote. body: with the strengths at which its flesh yields as far as the file
    says; None: with the strengths in the file. Raises RigFileError naming line and key, StorageError."""
