# SPDX-License-Identifier: MIT OR Apache-2.0
"""Thew: physically based rigging and secondary motion for skinned characters.

Units are SI (metres, kilograms, seconds, pascals); positions are world positions; indices are int32, -1 for
none. Arrays may be anything that numpy can make an array of; those that come back are new and C-contiguous.
A pose is an array [b,4,4]: the world-space map of each bone from rest to posed, columns acting on column
vectors, affine maps allowed. Everything long takes `progress(fraction, stage)`; returning False raises
`Cancelled`, and an exception in it comes out unchanged. The sources in brackets are listed in
docs/references.md. Every name is here; `modal`, `tets`, `mrep`, `spacetime` and `rigging` hold the names of one
subject each.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import modal as modal
from . import mrep as mrep
from . import rigging as rigging
from . import spacetime as spacetime
from . import tets as tets
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
    "ParameterSpec",
    "Rig",
    "RigError",
    "RigFileError",
    "RigFit",
    "RigSpec",
    "Scene",
    "Shell",
    "Shot",
    "Simulation",
    "SimulationSettings",
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
    "guides",
    "load_rigs",
    "modes",
    "nonlinear_equilibrium",
    "save_rigs",
    "simulate",
    "simulate_scene",
    "simulate_shots",
    "templates",
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

class _OtherSettings(TypedDict, total=False):
    rate: float
    gravity: ArrayLike | None
    mass_damping: float | None
    stiffness_damping: float | None
    max_offset: float | None
    solver: _Solver
    elastic_joints: float
    form: _Form
    precision: _Precision
    engine: str
    device: str | None

class _SimulationSettings(_OtherSettings, total=False):
    method: _Method

class _OtherBodySettings(TypedDict, total=False):
    stiffness: ArrayLike | None
    density: ArrayLike | None
    poisson: ArrayLike | None
    twist_stiffness: ArrayLike | None
    twist_radius: ArrayLike | None
    rest_includes_gravity: bool
    level: int
    flesh: ArrayLike | None
    softness: float | None
    kind: _Kind
    hard: ArrayLike | None

class _BodySettings(_OtherBodySettings, total=False):
    region_weights: ArrayLike | None

class _OtherSpacetimeSettings(TypedDict, total=False):
    gravity: ArrayLike
    modes: int
    start_velocity: ArrayLike | None
    end_velocity: ArrayLike | None
    velocities: Mapping[int, ArrayLike | tuple[ArrayLike | None, ArrayLike | None] | None] | None
    fixed: ArrayLike | None
    cyclic: bool
    ghosts: Literal["auto"] | Sequence[tuple[float, ArrayLike]] | None
    rigid: Literal["auto"] | bool
    rest: Literal["body", "keyframes"]
    unit: float | None

class _SpacetimeSettings(_OtherSpacetimeSettings, total=False):
    stiffness: float
    damping: ArrayLike

@final
class Surface:
    """A triangle surface as it comes: kept as given, welded and oriented inside for the physics.

    Surface(vertices, triangles):

    - `vertices[n,3]`: positions, metres.
    - `triangles[t,3]`: indices of vertices.

    Raises InputError naming the first vertex that is not finite, or the first triangle that names a vertex that does not exist.
    """

    def __new__(cls, vertices: ArrayLike, triangles: ArrayLike) -> Surface: ...
    @property
    def vertices(self) -> _Floats:
        """Vertices as given, float64 [n,3], metres."""
    @property
    def triangles(self) -> _Indices:
        """Triangles as given, int32 [t,3]."""
    @property
    def volume(self) -> float:
        """Enclosed volume, m³. Inside is where the winding number exceeds one half; triangles that enclose nothing count as a thin layer."""
    def measure_volume(self, progress: _Progress | None = None) -> float:
        """Returns `volume`, with `progress(fraction, stage)`, which may return False to cancel. The volume is measured once; further calls are
        quick. Raises Cancelled.
        """
    @property
    def size(self) -> float:
        """Diagonal of the bounding box along the surface's own horizontal axes, metres. It is the same however the surface is turned about z."""
    def filled(self) -> Surface:
        """Returns the same surface without cavities: the volume that its inner walls enclose counts as inside. Triangles of inner walls are
        turned outward; a surface without inner walls is returned as it is.
        """
    def report(self) -> SurfaceReport:
        """Returns the findings about the surface as a SurfaceReport; `str()` of it is sentences."""
    def winding_number(self, points: ArrayLike) -> _Floats:
        """Returns the generalised winding number at `points[p,3]` of the surface welded and oriented outward, float64 [p] [jacobson2013;
        barill2018].
        """
    def closest_point(self, points: ArrayLike) -> tuple[_Floats, _Floats, _Indices]:
        """Returns the nearest points of the surface to `points[p,3]`: (points float64 [p,3], distances float64 [p], triangles int32 [p])."""
    def cast_rays(self, origins: ArrayLike, directions: ArrayLike) -> tuple[_Floats, _Floats, _Indices]:
        """Returns the first points, front or back, where rays meet the surface.

        Rays start at `origins[p,3]` and go along `directions[p,3]` of any length. The result is (points float64 [p,3], distances float64
        [p], triangles int32 [p]); a ray that meets nothing has NaN, infinity and -1.
        """
    def __copy__(self) -> Surface: ...
    def __deepcopy__(self, _memo: object) -> Surface: ...

def cast_rays(
    vertices: ArrayLike,
    triangles: ArrayLike,
    origins: ArrayLike,
    directions: ArrayLike,
    min_distance: float = 0.0,
) -> tuple[_Floats, _Floats, _Indices, _Floats]:
    """Returns the first points, front or back, where rays meet triangles farther than `min_distance` away.

    No hierarchy is built, which suits a shape with few queries; `Surface.cast_rays` builds one first. Takes `vertices[n,3]`,
    `triangles[t,3]`, `origins[p,3]`, `directions[p,3]` of any length. The result is (points float64 [p,3], distances float64 [p], triangles
    int32 [p], barycentric float64 [p,3]); a ray that meets nothing has NaN, infinity, -1 and NaN. No ray meets a triangle with a corner
    that is not finite. A ray does not slip through an edge [woop2013]. Raises InputError.
    """

def closest_points(
    vertices: ArrayLike, triangles: ArrayLike, points: ArrayLike
) -> tuple[_Floats, _Floats, _Indices, _Floats]:
    """Returns the nearest points of triangles to `points[p,3]`.

    No hierarchy is built, which suits a shape with few queries; `Surface.closest_point` builds one first. Takes `vertices[n,3]`,
    `triangles[t,3]`. The result is (points float64 [p,3], distances float64 [p], triangles int32 [p], barycentric float64 [p,3]); a point
    without an answer has NaN, infinity, -1 and NaN. Raises InputError.
    """

@final
class SurfaceReport:
    """Findings about a surface, in numbers; `str()` of it is sentences for an artist."""

    @property
    def closed(self) -> bool:
        """True if no edge belongs to one triangle only."""
    @property
    def manifold(self) -> bool:
        """True if no edge belongs to more than two triangles."""
    @property
    def oriented(self) -> bool:
        """True if neighbouring triangles were all turned the same way."""
    @property
    def components(self) -> int:
        """Number of connected pieces."""
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
        """Findings, one sentence each."""

@final
class Skeleton:
    """Bones at rest in world space.

    Skeleton(names, parents, heads, tails, elsewhere=None):

    - `names`: names of the bones. Equal names are allowed.
    - `parents[b]`: index of each bone's parent, -1 for a root. Parents need not come before their children; several roots are allowed.
    - `heads[b,3]`, `tails[b,3]`: ends of the bones, metres. Bones of no length are allowed.
    - `elsewhere[o]`: for each bone of the character that carries other meshes only, the nearest of these bones above it (-1: none). It
      tells which part of the character a mesh is.

    Raises InputError naming the bone.
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
        """Parents, int32 [b]; -1 for a root."""
    @property
    def elsewhere(self) -> _Indices:
        """Nearest of these bones above each bone of the character that carries other meshes only, int32 [o]; -1: none."""
    @property
    def heads(self) -> _Floats:
        """Rest heads, float64 [b,3], metres."""
    @property
    def tails(self) -> _Floats:
        """Rest tails, float64 [b,3], metres."""
    def refit_tails(self, surface: Surface, skin_weights: ArrayLike, progress: _Progress | None = None) -> Skeleton:
        """Returns a skeleton whose arbitrary tails point where the flesh is; glTF and FBX know joints only. A tail points at the child with
        most skin, or, for a leaf that sticks out, towards the middle of its skin. `skin_weights[n,b]`: weights of the surface's vertices.
        Raises Cancelled, InputError.
        """
    def skin(
        self,
        points: ArrayLike,
        skin_weights: ArrayLike,
        pose: ArrayLike,
        blend: Literal["dual", "linear"] = "dual",
    ) -> _Floats:
        """Returns the positions to which a pose carries rest points `points[p,3]`, float64 [p,3], metres.

        - `skin_weights[p,b]`: weights of the points; a point whose row has no weight stays in place.
        - `pose[b,4,4]`: maps of the bones from rest to posed.
        - `blend`: "dual" blends rotations and translations as dual quaternions and stretch linearly; the flesh is measured against it.
          "linear" is Blender's Armature modifier without Preserve Volume.
        """
    def __len__(self) -> int: ...
    def __copy__(self) -> Skeleton: ...
    def __deepcopy__(self, _memo: object) -> Skeleton: ...

@final
class Lattice:
    """A control lattice: tetrahedra, prisms and hexahedra around a body, bones on its edges [capell2002, §3.1].

    `Lattice.enclose` builds one. Lattice(vertices, cells, used_bones=None, bone_edges=None, tip_bones=None, bone_of_vertex=None,
    copies=None):

    - `vertices[k,3]`: metres.
    - `cells`: lists of 4, 6 or 8 vertices. Tetrahedra are positively oriented; prisms list the bottom triangle, then the top; hexahedra
      have the order i + 2j + 4k.
    - `used_bones`, `bone_edges`, `tip_bones`, `bone_of_vertex[k]`, `copies`: as the properties of these names. Without `bone_of_vertex` a
      vertex on several chains follows the bone whose head it is, before one that it is inside, at the tail or at the tip of.

    A lattice built from all of another's properties makes the same body. Raises InputError.
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

        - `skin_weights[n,b]`: choose the bones, their virtual tips and the parts. As everywhere, each row counts by its shares and need not
          sum to one.
        - `cells_across`: number of cells along the diagonal of the body's box, 2 to 64.

        The result is deterministic. It is built along the character's own axes, so a character turned about z gets the same lattice turned.
        Raises Cancelled, InputError, MotionError.
        """
    def with_bones_of(self, skeleton: Skeleton) -> Lattice:
        """Returns the same lattice with those bones of `skeleton` that are found on its edges. A bone is found as a chain of vertices from
        head to tail, each as near to the bone as joints are welded. Virtual tips belong to no skeleton and are not found.
        """
    @property
    def vertices(self) -> _Floats:
        """Lattice vertices at rest, float64 [k,3], metres."""
    @property
    def cells(self) -> list[list[int]]:
        """Cells as lists of 4, 6 or 8 vertices."""
    @property
    def used_bones(self) -> _Indices:
        """Indices of the bones that the lattice follows, int32 [u]."""
    @property
    def bone_edges(self) -> list[_Indices]:
        """Chains of vertices from head to tail, int32 arrays: one per used bone, then one per virtual tip."""
    @property
    def tip_bones(self) -> _Indices:
        """Bone that drives each virtual tip chain, int32 [v]."""
    @property
    def bone_of_vertex(self) -> _Indices:
        """Bone that drives each vertex, int32 [k]; -1: none."""
    @property
    def copies(self) -> bytes | None:
        """Record of whose flesh is whose where parts of the body share the place of a cell, for the construction from arrays. It belongs to
        the place, the scale and the cells of this lattice. None: not known.
        """
    @property
    def notes(self) -> list[str]:
        """Remarks of the construction, one sentence each."""
    def check(self, surface: Surface, skeleton: Skeleton) -> list[str]:
        """Returns the violations of the four conditions [capell2002, §3.1], named; empty if they hold."""
    def embed(self, points: ArrayLike) -> tuple[_Indices, _Floats]:
        """Returns `points[p,3]` as weighted means of lattice vertices: (indices int32 [p,8], weights float64 [p,8]).

        Entries are -1 and 0 where a cell has fewer than eight corners. A point belongs to the first containing cell in index order;
        outside, it is extrapolated from the nearest cell.
        """
    def embedding_matrix(self, points: Surface | ArrayLike) -> _Sparse:
        """Returns the embedding of a surface's vertices (as `embed_surface`) or of `points[p,3]` (as `embed`) as a sparse matrix [p,k]: (data,
        indices, indptr) for scipy.sparse.csr_array. Its product with values at the lattice's k vertices gives the values at the points.
        """
    def embed_surface(self, surface: Surface) -> tuple[_Indices, _Floats]:
        """Returns the embedding of a surface's vertices, (indices int32 [n,8], weights float64 [n,8]), as `embed` does. Where virtual copies
        of a cell overlap, each vertex goes with the copy that holds its own flesh.
        """
    def __copy__(self) -> Lattice: ...
    def __deepcopy__(self, _memo: object) -> Lattice: ...

@final
class Material:
    """Isotropic flesh.

    Material(young=20000.0, poisson=0.4, density=1000.0): Young's modulus (Pa), Poisson's ratio, density (kg/m³). Raises InputError for
    impossible values.
    """

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

    Shell(vertices, triangles, stretching=1.0, area=1.0, bending=1.0, density=1.0, unit=None):

    - `vertices[n,3]`, `triangles[t,3]`: the mesh at rest, metres. Any mesh will do, with borders, fins or loose parts.
    - `stretching`, `area`, `bending`: resistance of lengths of edges, areas of triangles and angles between triangles. Each is a number or
      a map on the vertices, [n].
    - `density`: mass per area, kg/m², a number or a map [n].
    - `unit`: length in metres that counts as one for the weights. None takes a tenth of the diameter of the mesh, so that a body and its
      enlarged copy move alike; 1 gives the printed energy of the coordinates as they are.

    Raises InputError naming the first vertex or triangle that makes no shell.
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
        """Vertices at rest, float64 [n,3], metres."""
    @property
    def triangles(self) -> _Indices:
        """Triangles as given, int32 [t,3]."""
    @property
    def mass(self) -> _Floats:
        """Mass of each vertex, kg, float64 [n], above zero: density times a third of the area of each triangle around it."""
    @property
    def unit(self) -> float:
        """Length that counts as one in the energy, metres: as given, or a tenth of the diameter of the mesh."""
    def energy(self, x: ArrayLike) -> float:
        """Returns the elastic energy with the vertices at `x[n,3]`."""
    def gradient(self, x: ArrayLike) -> _Floats:
        """Returns the derivative of `energy` with respect to `x`, float64 [n,3]."""
    def hessian(self, x: ArrayLike) -> _Sparse:
        """Returns the Hessian of `energy`, 3·n square, xyz interleaved: (data, indices, indptr). Its structure is the same for every `x`."""
    def relax(
        self, x: ArrayLike, weight: float, fixed: ArrayLike | None = None, progress: _Progress | None = None
    ) -> _Floats:
        """Returns the positions `y[n,3]` near `x[n,3]` at which the energy plus weight · Σ mass |y − x|² is lowest: a sculpt with less strain
        in it [hildebrandt2012, §6]. The larger `weight`, the less the vertices move; those marked in `fixed[n]` (True or False) stay.
        Raises InputError, Cancelled.
        """
    def report(self) -> list[str]:
        """Returns the findings about the mesh, one sentence each: slivers, edges of more than two triangles, loose parts."""
    def __copy__(self) -> Shell: ...
    def __deepcopy__(self, _memo: object) -> Shell: ...

@final
class MRep:
    """A medial model: atoms with spokes to the skin, which imply a boundary and coordinates of everything inside [oguz2005; pizer2003].

    Models are made by `MRep.slab`, `MRep.tube`, `MRep.join`. Most properties and methods are of a single figure; for several take one of
    `figures`.
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
        """Builds a slab: a sheet of atoms with a spoke up and one down each.

        - `hubs[m,n,3]`: metres. `radii[m,n]`: metres.
        - `frames[m,n,3,3]`: rotations with columns b, b⊥, n.
        - `angles[m,n]`: object angles between b and the spokes, radians, above 0 and at most π/2.
        - `ends[m,n]`: lengths of the end spokes along b over the radius, which count on the border.
        - `lengths[m,n,2]`: lengths of the spokes up and down over the radius.

        Raises MRepError naming the first atom that is not valid.
        """
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
        """Builds a tube: a row of atoms with k spokes around each, closed at both ends.

        - `hubs[n,3]`: metres. `radii[n]`: metres.
        - `frames[n,3,3]`: rotations with columns b (along the tube), b⊥, n (the first spoke's side).
        - `angles[n]`: object angles between b and the spokes, radians, above 0 and below π.
        - `lengths[n,k]`: lengths of the spokes over the radius, from n towards b⊥. None: eight alike.
        - `ends`: lengths of both end spokes over the radius.
        - `knots[n]`: places of the atoms in u, from 0 to 1. None: by the distances between hubs.
        - `joints`: places in u where bones meet.

        Raises MRepError naming the first atom that is not valid.
        """
    @staticmethod
    def template(name: Literal["limb", "tail", "torso", "head"]) -> MRep:
        """Builds a first figure by its name, one metre long around the origin. A fit moves and scales it onto its body.

        "limb" and "tail" are tubes along z from below. "torso" is a slab, its columns up z, its rows along x, its sheet facing the front
        (-y). "head" is one with rows along y, between left and right. Raises MRepError for another name.
        """
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
        """Builds a tube along a chain of bones, named in any order, with hubs on them and spokes to the skin that follows them: an arm, a leg,
        a tail.

        It is a start: fit it with all its hubs `held` and `weights` from `chain_weights`. n of the first atom points to where the chain
        bends, of a straight one up (z), or to the front (-y) where it stands upright. Hubs round corners that are too sharp for the
        thickness. A last bone that ends long before its skin is continued to where that ends.

        - `skin_weights[n,b]`: weights of the surface's vertices.
        - `atoms_per_bone`: largest number; bones that are short for their thickness get fewer.
        - `template`: "limb" or "tail"; or "torso" or "head", slabs of 5 rows and 7 columns in the skin that follows any bones, their hubs
          not on these.

        Raises MRepError naming the bones.
        """
    @staticmethod
    def chain_weights(skeleton: Skeleton, skin_weights: ArrayLike, bones: Iterable[str]) -> _Floats:
        """Returns how much each vertex counts in a fit to the skin of a chain of bones, float64 [n], for `weights` of `fit`. It is 0 where the
        bones have half of the weight or less (the trunk's skin) and rises to 1. `skin_weights[n,b]`: weights of the vertices.
        """
    @staticmethod
    def slab_around(target: Surface | Volume, rows: int = 3, cols: int = 7) -> MRep:
        """Builds a slab around the body in a Surface or a Volume, as a template: that of the ellipsoid with its moments; columns along its
        longest axis. A body that is bent like a sheet gets the slab of the flat one, bent. Raises MRepError where there is no body.
        """
    @staticmethod
    def tube_around(surface: Surface, atoms: int = 9, spokes: int = 8) -> MRep:
        """Builds a tube around a body without bones, as a template: along the middles of rings of equal distance from its ends. Raises
        MRepError where there is no such body.
        """
    @staticmethod
    def suggest_bones(surface: Surface) -> Skeleton:
        """Suggests bones for a mesh without any and returns a Skeleton: along the middles of rings of equal distance, limbs hanging from the
        trunk [biasotti2008]. Raises MRepError.
        """
    @staticmethod
    def join(mreps: Iterable[MRep], names: Iterable[str] | None = None) -> MRep:
        """Joins several models to one, each under a name of its own. None: their own names, or numbers."""
    def save(self, path: str | PathLike[str]) -> None:
        """Writes a file: .mrep.toml, or of a single slab .srep.json (an s-rep as SlicerSALT has them) [liu2021]. It is whole or as it was
        before. Raises StorageError, MRepFileError.
        """
    @staticmethod
    def load(path: str | PathLike[str], scale: float = 1.0) -> MRep:
        """Reads a file, .mrep.toml or .srep.json. `scale`: metres per unit of it; s-reps are mostly in millimetres: 0.001. Raises
        MRepFileError naming line or place, StorageError.
        """
    @property
    def kind(self) -> str:
        """Kind of figure: "slab" or "tube"."""
    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a slab; atoms and spokes of a tube."""
    @property
    def hubs(self) -> _Floats:
        """Hubs, float64 [m,n,3] of a slab, [n,3] of a tube, metres."""
    @property
    def radii(self) -> _Floats:
        """Lengths of the spokes before the relative ones, float64 [m,n] or [n], metres. The boundary depends on the product of radius and
        relative length alone, and so do numbers in shares of the radius.
        """
    @property
    def frames(self) -> _Floats:
        """Frames, float64 [m,n,3,3] or [n,3,3]: rotations with columns b, b⊥, n."""
    @property
    def angles(self) -> _Floats:
        """Object angles, float64 [m,n] or [n], radians."""
    @property
    def ends(self) -> _Floats:
        """Lengths of the end spokes over the radius, float64: [m,n] (they count on the border), or [2] at a tube's ends."""
    @property
    def lengths(self) -> _Floats:
        """Lengths of the spokes over the radius, float64: [m,n,2] up and down, or [n,k] around."""
    @property
    def knots(self) -> _Floats:
        """Places of a tube's atoms in u, float64 [n]; empty for a slab."""
    @property
    def joints(self) -> _Floats:
        """Places in u of the joints of the bones that a tube was made along, float64 [j]."""
    @property
    def figures(self) -> list[MRep]:
        """Figures, a model each; for one figure the model itself alone."""
    @property
    def names(self) -> list[str]:
        """Names of the figures."""
    @property
    def size(self) -> float:
        """Diagonal of the box around hubs and spokes, metres."""
    def boundary(self, level: int = 2, blend: float = 0.5, progress: _Progress | None = None) -> Surface:
        """Returns the boundary that the spokes imply, as a closed surface: each interval between atoms in 2^level parts.

        Of several figures it is one boundary around all of them, with edges of about the thinnest one's radius over 2^level. Where they
        overlap it is blended over `blend` times the thinner one's radius. Raises MRepError, Cancelled.
        """
    def boundary_coordinates(self, level: int = 2) -> _Floats:
        """Returns the coordinates (u, v, φ, 1) of the vertices of `boundary(level)`, float64 [p,4]."""
    def tolerance(self, level: int = 2, ratio: float = 0.1) -> _Floats:
        """Returns the uncertainty of the boundary at the vertices of `boundary(level)`, float64 [p], metres: `ratio` of the mean length of the
        spokes there [oguz2005, slide 8], however that is shared between radii and lengths.
        """
    def coordinates(self, points: ArrayLike) -> _Floats:
        """Returns the figural coordinates (u, v, φ, τ) of `points[p,3]`, float64 [p,4].

        Slab: u runs over the rows and v over the columns, from 0 to 1; φ is 1 on the upper side, −1 on the lower, between on the border.
        Tube: u runs from 0 to 1, from −1 in the first cap and to 2 in the last; v is 0; φ is the angle from the first spoke, radians. τ is
        0 at the hub and 1 on the boundary. Coordinates are NaN farther out than twice the length of a point's spoke, and where spokes
        cross. Raises InputError where a point is not finite.
        """
    def points(self, coordinates: ArrayLike) -> _Floats:
        """Returns the points of figural `coordinates[p,4]`, float64 [p,3]. A row of four NaN, as `coordinates` returns it, gives NaN. Raises
        MRepError naming the first row that is not of this model, or NaN in part.
        """
    def legality(self) -> float:
        """Returns how far the body is from a fold, at most 1; at zero or below it folds [damon2003]."""
    def check(self) -> list[str]:
        """Returns the faults of each figure, one sentence each; empty if they are sound."""
    def transformed(
        self, scale: float = 1.0, rotation: ArrayLike | None = None, translation: ArrayLike | None = None
    ) -> MRep:
        """Returns the same model after a similarity: x → scale · rotation · x + translation."""
    def correspond(self, other: MRep, points: ArrayLike, mirrored: bool = False) -> _Floats:
        """Returns the points of another figure that correspond to `points[p,3]` of this one, float64 [p,3]: along, around (see `roll_to`) and
        in depth alike, joints on joints. Points without coordinates give NaN.

        `mirrored`: True if one of both limbs is a left one and the other a right one. φ then runs the other way, so that outside and above
        stay there. Raises MRepError where figures do not correspond.
        """
    def roll_to(self, other: MRep, mirrored: bool = False) -> float:
        """Returns by how much φ of a place is larger on another figure, radians.

        If one tube is straight and the other bent, φ begins on both at places that lie alike once the limb is lifted or lowered. The result
        is 0 for two figures of a sort. `mirrored`: the sum of both φ; the first figure is seen in the mirror x = 0. Raises MRepError as
        `correspond` does.
        """
    def lattice(self, skeleton: Skeleton | None = None, layers: int = 2, covers: Surface | None = None) -> Lattice:
        """Builds a lattice of cells in the figure, in `layers` from the hubs outward.

        A tube gets prisms and hexahedra, and tetrahedra and prisms in its caps. A slab gets hexahedra on both sides, and prisms and
        hexahedra around its border. Bones of `skeleton` whose heads and tails are hubs lie on its edges. Corners move outward along their
        spokes until all of `covers` lies inside (None: the boundary). Raises MRepError.
        """
    def enclose(
        self,
        surface: Surface,
        skeleton: Skeleton,
        skin_weights: ArrayLike | None = None,
        cells_across: float = 12.0,
        progress: _Progress | None = None,
    ) -> Lattice:
        """Builds a lattice around a whole character: prisms along the limbs of this model, joined in faces to tetrahedra around the rest, with
        every used bone on edges. Arguments are as in `Lattice.enclose`. `notes` of the lattice tell which limbs were left to tetrahedra,
        and why. Raises Cancelled, InputError, MotionError.
        """
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
        """Returns the fit of the most probable model to a Surface or a Volume, this one being the template [oguz2005, slides 9 to 14].

        Several figures are fitted to a surface as one model: all as one, each as one, then atoms and boundaries, with ties where they meet
        in the template.

        - `stages`: some of "similarity", "sections" (of a tube, from joint to joint), "atoms", "boundary". They run in this order however
          they are named.
        - `prior`: factor on the expectation in relation to the observation.
        - `held`: indices of atoms, or a mask of them, whose hubs stay; the whole is not moved then. Only for one figure.
        - `weights[n]`: how much each vertex of a surface counts, from 0 to 1; [k,n] for k figures. None: for the one whose boundary is
          nearest.
        - `family`: an MRepFamily, the expectation in place of the template's neighbourhoods. Only for one figure.

        Raises MRepError, Cancelled.
        """

@final
class MRepFit:
    """A fitted model."""

    @property
    def mrep(self) -> MRep:
        """Fitted model."""
    @property
    def figures(self) -> list[MRepFit]:
        """Fits of the figures, each by itself; for one figure the fit alone. Stages and coordinates are properties of a single one."""
    @property
    def surface(self) -> Surface:
        """Boundary of the model, moved onto the target by the last stage; of several figures all boundaries, as pieces."""
    @property
    def surface_coordinates(self) -> _Floats:
        """Coordinates (u, v, φ, 1) of the vertices of `surface`, float64 [p,4]."""
    @property
    def posterior(self) -> dict[str, _Floats]:
        """Minus the logarithm of the posterior at the beginning of each stage and after each of its steps, {stage: float64 [s]}; it falls.

        A volume has stages "atoms at blur 3" and "atoms at blur 1.5", in voxels (less where the body is thin), before "atoms". Of several
        figures "similarity" is the sum of all, and "object", each figure as one, comes after it.
        """
    @property
    def stages(self) -> dict[str, MRepReport]:
        """Reports at the end of each stage, {stage: MRepReport}, in their order."""
    @property
    def report(self) -> MRepReport | None:
        """Report at the end of the last stage; None without stages."""
    @property
    def notes(self) -> list[str]:
        """Faults of the model, one sentence each: a target that is neither slab nor tube as the model is. Empty if it is sound."""
    @property
    def levels(self) -> tuple[float, float] | None:
        """Values inside and outside of the boundary, for a volume; None for a surface."""

@final
class MRepReport:
    """Measures of how good a fit is; `str()` of it is a sentence."""

    @property
    def mean(self) -> float:
        """Mean distance from the surface to the boundary, weighted by area, metres; for a volume, from the boundary to the step."""
    @property
    def percentile_99(self) -> float:
        """Distance within which 99 % of the area lie, metres."""
    @property
    def largest(self) -> float:
        """Largest distance, metres."""
    @property
    def dice(self) -> float:
        """Dice coefficient: twice the volume that both share over the sum of both; 1 where they are the same. For a volume it is with the
        voxels beyond the middle of both levels. NaN where vertices had different weights, as a limb is not the whole body.
        """

@final
class MRepFamily:
    """Statistics of models of one kind: their mean, the modes in which they differ, and how typical another model is [fletcher2004].

    MRepFamily(mreps): two models at least, with equal numbers of atoms and spokes, usually fitted from one template. Their places,
    rotations and sizes do not matter. Raises MRepError naming the first of another kind.
    """

    def __new__(cls, mreps: Iterable[MRep]) -> MRepFamily: ...
    @property
    def mean(self) -> MRep:
        """Mean model, of the size and at the place of the first one."""
    @property
    def deviations(self) -> _Floats:
        """Standard deviation of each mode, float64 [k], the largest first."""
    @property
    def modes(self) -> _Floats:
        """Modes of unit length, float64 [k,u].

        For each atom they hold: displacement of the hub over r in its axes (3), log r, turn in its axes (3, radians), object angle, log of
        the end factor where the boundary closes, and logs of the relative lengths.
        """
    def sample(self, scores: Iterable[float]) -> MRep:
        """Returns the model at `scores[≤k]`, numbers of deviations along the first modes."""
    def typicality(self, mrep: MRep) -> tuple[_Floats, float]:
        """Returns how far a model is from the mean: along each mode, in deviations, float64 [k], and in everything that they do not explain,
        as the root of the mean square. 2 or more of either is not typical. Raises MRepError.
        """

@final
class Volume:
    """A picture in three dimensions: grey values or labels on a grid of voxels.

    Volume(values, spacing=(1.0, 1.0, 1.0), origin=(0.0, 0.0, 0.0)):

    - `values[i,j,k]`: numbers of any type.
    - `spacing[3]`: distances between the centres of voxels along each axis, metres.
    - `origin[3]`: centre of the first voxel, metres.

    Raises MRepError naming the first voxel that is not a number.
    """

    def __new__(
        cls, values: ArrayLike, spacing: ArrayLike = (1.0, 1.0, 1.0), origin: ArrayLike = (0.0, 0.0, 0.0)
    ) -> Volume: ...
    @property
    def values(self) -> NDArray[np.float32]:
        """Values, float32 [i,j,k]."""
    @property
    def spacing(self) -> _Floats:
        """Distances between the centres of voxels along each axis, float64 [3], metres."""
    @property
    def origin(self) -> _Floats:
        """Centre of the first voxel, float64 [3], metres."""

@final
class WigglySpline:
    """Splines through values that need the least acting force [kass2008; hildebrandt2012, §4.2].

    The spline minimises ∫ r² with r = ω'' + 2·damping·ω' + stiffness·ω + gravity. WigglySpline(times, values, stiffness, damping,
    gravity=0.0, ...):

    - `times[m+1]`, `values[m+1]` or `values[m+1,d]`: the knots.
    - `stiffness`, `damping`, `gravity`: numbers or [d] each; `stiffness` may be negative.
    - `start_velocity`, `end_velocity`: slopes at the ends. None: the natural end (r = 0).
    - `cyclic`: True if the last value is the first again.
    - `knot_velocities`: {index: slope}, or {index: (before, behind)} for a cut, None in place of one that is free. {index: None} prescribes
      nothing.

    Raises InputError naming the knot.
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
        """Slopes at the knots, float64 [m+1] or [m+1,d]; at a cut those behind it."""
    @property
    def cost(self) -> float | _Floats:
        """Cost ∫ r² over the whole spline: a number, or float64 [d] for values [m+1,d]."""

@final
class SpacetimeSettings:
    """Settings of a motion through keyframes, which never change: SpacetimeSettings(stiffness=40.0, cyclic=True, ...). Each is a keyword here
    and a property.

    `Spacetime` takes them as `settings`, or as keywords of its own. A keyword beside `settings` replaces that setting. Settings are equal
    by their values. The numbers of vertices are checked with the body. Raises InputError, TypeError for an unknown name.
    """

    def __new__(cls, **keywords: Unpack[_SpacetimeSettings]) -> SpacetimeSettings: ...
    @property
    def stiffness(self) -> float:
        """Factor of the elastic energy."""
    @property
    def damping(self) -> tuple[float, float]:
        """Damping (alpha 1/s, beta s), of mass and stiffness."""
    @property
    def gravity(self) -> tuple[float, float, float]:
        """A constant acceleration, m/s²."""
    @property
    def modes(self) -> int:
        """Number of lowest modes of each keyframe, beyond the rigid ones."""
    @property
    def start_velocity(self) -> _Floats | None:
        """Velocity at the first keyframe, float64 [3] or [n,3], given as a number too. None: a natural end, at which no force acts."""
    @property
    def end_velocity(self) -> _Floats | None:
        """Velocity at the last keyframe, float64 [3] or [n,3], as `start_velocity`."""
    @property
    def velocities(self) -> dict[int, _Floats | tuple[_Floats | None, _Floats | None] | None] | None:
        """Velocities at keyframes, {keyframe: velocity}, each float64 [3] or [n,3] or given as a number; or {keyframe: (before, behind)} for a
        cut, None in place of one that is free.
        """
    @property
    def fixed(self) -> NDArray[np.bool_] | NDArray[np.int64] | None:
        """Vertices that stay, a mask [n] or numbers [k]."""
    @property
    def cyclic(self) -> bool:
        """True if the last keyframe is the first again."""
    @property
    def ghosts(self) -> Literal["auto"] | list[tuple[float, _Floats]] | None:
        """Further shapes to linearise around and to be drawn to, "auto" or [(time, shape)]."""
    @property
    def rigid(self) -> Literal["auto"] | bool:
        """True if the best rigid motion is taken out first, else False. "auto": if nothing is fixed. Its rotation is a minimiser about one
        axis alone, and puts no centrifugal and no Coriolis forces on what deforms.
        """
    @property
    def rest(self) -> Literal["body", "keyframes"]:
        """Rest, where forces vanish: the "body"'s own (keyframes are strains) or the "keyframes" (poses)."""
    @property
    def unit(self) -> float | None:
        """Length of the unit of a TetMesh or Body, of keyframes, velocities and gravity, m. A Shell has a `unit` of its own. None: 1."""
    def replace(self, **changes: Unpack[_SpacetimeSettings]) -> SpacetimeSettings:
        """Returns other settings with some changed. `copy.replace` does the same from Python 3.13 on. Raises as the class does."""
    def as_dict(self) -> dict[str, Any]:
        """Returns all settings by name, as the keywords that make them."""
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[object, ...], dict[str, object]]: ...
    def __replace__(self, **changes: Unpack[_SpacetimeSettings]) -> SpacetimeSettings: ...
    def __copy__(self) -> SpacetimeSettings: ...
    def __deepcopy__(self, _memo: object) -> SpacetimeSettings: ...

@final
class Spacetime:
    """A motion through keyframes with the least acting force [hildebrandt2012].

    Spacetime(body, keyframes, times, stiffness=1.0, damping=(0.0, 0.0), ...):

    - `body`: a Shell, a TetMesh or a Body (n: its lattice vertices).
    - `keyframes[m+1,n,3]`: positions, metres. `times[m+1]`: rising, seconds.
    - `material`: that of a TetMesh, Material() by default; a Shell and a Body have their own.
    - `stiffness`, `damping`, `settings` and further keywords: a `SpacetimeSettings`, and settings by name that replace its own.

    Raises InputError naming keyframe, vertex or time, MotionError where a keyframe is crumpled, Cancelled.
    """

    def __new__(
        cls,
        body: Shell | TetMesh | Body,
        keyframes: ArrayLike,
        times: ArrayLike,
        stiffness: float | None = None,
        damping: ArrayLike | None = None,
        *,
        material: Material | None = None,
        progress: _Progress | None = None,
        settings: SpacetimeSettings | None = None,
        **keywords: Unpack[_OtherSpacetimeSettings],
    ) -> Spacetime: ...
    def __call__(self, t: ArrayLike) -> _Places:
        """The motion at times t -> [t,n,3]. Beyond the ends the end keyframes are held; cycles repeat."""
    def plain(self, t: ArrayLike) -> _Places:
        """Returns cubic splines through the same keyframes with the same prescribed velocities at times `t`, float32 [t,n,3]."""
    def curves(self, t: ArrayLike, count: int) -> tuple[_Floats, _Floats]:
        """Returns coordinates along the leading directions in which the keyframes differ, of the motion and of plain cubic splines: float64
        [t,k] and [t,k]. k is at most `count`, and smaller if there are fewer directions.
        """
    @property
    def dimension(self) -> int:
        """Number of coordinates of the reduced space."""
    @property
    def times(self) -> _Floats:
        """Times of the keyframes, float64 [m+1], s."""
    @property
    def cost(self) -> float:
        """Squared acting force per mass, integrated, kg·m²/s³ (with a `unit`, its square in place of m²). It is the mean over the
        linearisations of what deforms the body; where rigid motion is taken out, the shares of the centre and of the rotation are added.
        """
    @property
    def reach(self) -> float:
        """Largest distance of the motion from its keyframes' mean, as a multiple of that of plain cubic splines; 1 where it stays within.
        Lengths are those of the mass.
        """
    @property
    def notes(self) -> list[str]:
        """Remarks about the motion, one sentence each."""
    def set(self, **changes: Any) -> None:
        """Changes times, stiffness, damping, gravity, start_velocity, end_velocity or velocities; settings that are not named stay. The
        preprocess is not repeated. An error changes nothing.
        """
    def move(self, k: int, shape: ArrayLike) -> float:
        """Moves keyframe `k` to `shape[n,3]`, or to the nearest shape of the space, and returns the distance of the farthest vertex from it."""
    def insert(self, time: float, shape: ArrayLike, progress: _Progress | None = None) -> int:
        """Adds a keyframe of `shape[n,3]` at a time between the first and the last one and returns its number; later ones count one more.

        The space is kept, and the part of the shape that it lacks is added, with the shape's own modes. This is far quicker than a new
        motion, and the result is the same. Raises InputError, MotionError where the shape is crumpled, Cancelled; nothing is changed then.
        """
    def partial(self, time: float, vertices: ArrayLike, positions: ArrayLike, weight: float | None = None) -> int:
        """Puts vertices at `positions[len,3]` at a time, exactly, or draws them there by a weight (in the norm of the mass). Returns a number
        by which to `drop` this partial keyframe. Raises InputError naming a vertex that would be in two places.
        """
    def soften(self, k: int, weight: float | None) -> None:
        """Draws the motion towards keyframe `k` by `weight` instead of through it. None: it goes through it again."""
    def drop(self, id: int) -> None:
        """Removes a partial keyframe."""
    def model(
        self,
        shape: ArrayLike,
        vertices: ArrayLike,
        positions: ArrayLike,
        weight: float | None = None,
        progress: _Progress | None = None,
    ) -> _Floats:
        """Returns the shape of the space with the least energy, begun at `shape[n,3]`, that has vertices at `positions[len,3]`: float64 [n,3],
        a new keyframe. With `rest="keyframes"` it has the least change. The positions are met as nearly as the space allows, or drawn to by
        a weight. Raises InputError, Cancelled.
        """

@final
class Composite:
    """Motions one after another, as `composite` joins them."""

    def __call__(self, t: ArrayLike) -> _Places:
        """The motion at times t -> [t,n,3]; where two segments meet the later one shows."""
    def plain(self, t: ArrayLike) -> _Places:
        """Returns cubic splines through the same keyframes at times `t`, float32 [t,n,3]."""
    @property
    def times(self) -> _Floats:
        """Times at which segments begin, and the end of the last one, float64 [s+1], s."""

def composite(motions: Iterable[Spacetime]) -> Composite:
    """Joins motions of one body, each beginning when the one before ends, with other fixed parts and velocities in each. Later changes of a
    motion show in the composite. Raises InputError naming the segment that does not follow in time or in shape.
    """

@final
class TetMesh:
    """A tetrahedral body without a skeleton.

    TetMesh(vertices, tets, orient=False, drop_unused=False):

    - `vertices[k,3]`: metres, each in at least one tetrahedron.
    - `tets[e,4]`: tetrahedra, positively oriented, each with volume.
    - `orient`: True turns inverted tetrahedra round.
    - `drop_unused`: True leaves out vertices of no element.

    Raises TetError naming the first tetrahedron or vertex that makes no body.
    """

    def __new__(
        cls, vertices: ArrayLike, tets: ArrayLike, orient: bool = False, drop_unused: bool = False
    ) -> TetMesh: ...
    @staticmethod
    def from_cubes(vertices: ArrayLike, cubes: ArrayLike) -> TetMesh:
        """Builds a mesh from `vertices[k,3]` (m) and `cubes[c,8]` with corners in the order i + 2j + 4k. Each cube is split into six
        tetrahedra so that neighbours agree.
        """
    @staticmethod
    def grid(counts: Sequence[int], lengths: Sequence[float]) -> TetMesh:
        """Builds a bar from the origin: `counts` (nx, ny, nz) cubes over `lengths` (x, y, z) metres, six tetrahedra each. Vertex (i, j, k) has
        the number (i·(ny + 1) + j)·(nz + 1) + k.
        """
    @staticmethod
    def fill(
        surface: Surface,
        cells_across: float | None = None,
        nodes: int | None = None,
        progress: _Progress | None = None,
    ) -> TetMesh:
        """Fills a surface with tetrahedra, the boundary on the surface, its volume kept [labelle2007].

        - `cells_across`: cells along the diagonal of the body's box, 2 to 200. None: 12, or as many as fill nearly all of the surface, up
          to 40.
        - `nodes`: wanted number of nodes, in place of `cells_across`.

        `notes` reports separate pieces and parts that are too thin. Raises TetError where nothing is enclosed, Cancelled.
        """
    @staticmethod
    def read(path: str | PathLike[str], orient: bool = False, drop_unused: bool = False) -> TetMesh:
        """Reads .node/.ele (TetGen), .mesh (Medit, ASCII) or .veg (Vega, tetrahedra or cubes). A TetGen mesh is named by either file, or by a
        path without ending.

        A mesh whose tetrahedra are all inverted follows the other convention and is turned round. `orient` and `drop_unused` are as for
        TetMesh. Raises TetFileError naming the line, StorageError where the disk refuses.
        """
    def write(
        self,
        path: str | PathLike[str],
        elements: Literal["tet", "cubic"] = "tet",
        material: Material | None = None,
    ) -> None:
        """Writes the mesh in the format of the path's ending (.node or .ele: both files), whole or not at all.

        - `elements`: "tet", or "cubic" for the cubes of a mesh made of them (.veg only).
        - `material`: the material named in a .veg file.

        Raises TetError, StorageError.
        """
    @property
    def vertices(self) -> _Floats:
        """Vertices, float64 [k,3], metres."""
    @property
    def tets(self) -> _Indices:
        """Tetrahedra, int32 [e,4]."""
    @property
    def cubes(self) -> _Indices:
        """Cubes that the tetrahedra were split from, int32 [c,8], six tetrahedra of each in order; empty for other meshes."""
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
        """Remarks of the construction, one sentence each."""
    @property
    def surface_triangles(self) -> _Indices:
        """Faces of one tetrahedron only, counter-clockwise seen from outside, int32 [t,3]."""
    def lattice(self) -> Lattice:
        """Returns the same cells as a lattice without bones, to embed points and surfaces."""
    def mass(self, material: Material | None = None, kind: Literal["consistent", "lumped"] = "consistent") -> _Sparse:
        """Returns the mass matrix, kg, 3·k square, xyz interleaved: (data, indices, indptr) for scipy.sparse.csr_array. `kind` is "consistent"
        or "lumped" (diagonal).
        """
    def stiffness(self, material: Material | None = None) -> _Sparse:
        """Returns the linear stiffness matrix, N/m, 3·k square, xyz interleaved: (data, indices, indptr) for scipy.sparse.csr_array."""
    def energy(self, q: ArrayLike, material: Material | None = None, model: _Model = "stvk") -> float:
        """Returns the elastic energy (J) at displacements `q[k,3]` (m) from rest. Models are as in `Body.energy`: "linear", "stvk" (St.
        Venant-Kirchhoff), "neohookean" (stable), "yeoh". Raises InputError for others.
        """
    def gradient(self, q: ArrayLike, material: Material | None = None, model: _Model = "stvk") -> _Floats:
        """Returns the derivative of `energy` with respect to `q`, N, float64 [k,3]."""
    def hessian(self, q: ArrayLike, material: Material | None = None, model: _Model = "stvk") -> _Sparse:
        """Returns the Hessian of `energy`, N/m, 3·k square, xyz interleaved: (data, indices, indptr)."""
    def __copy__(self) -> TetMesh: ...
    def __deepcopy__(self, _memo: object) -> TetMesh: ...

@final
class BodySettings:
    """Settings of a body, which never change: BodySettings(softness=0.5, kind="toon", ...). Each is a keyword here and a property.

    `Body` takes them as `settings`, or as keywords of its own. A keyword beside `settings` replaces that setting. Settings are equal by
    their values. The lengths of arrays are checked with the body. Raises InputError, TypeError for an unknown name.
    """

    def __new__(cls, **keywords: Unpack[_BodySettings]) -> BodySettings: ...
    @property
    def region_weights(self) -> _Floats | None:
        """Bones whose frames each piece of flesh follows, painted on the surface, float64 [n,b]. None: by distance."""
    @property
    def stiffness(self) -> _Floats | None:
        """Factors on Young's modulus painted on surface vertices, float64 [n]. None: 1."""
    @property
    def density(self) -> _Floats | None:
        """Factors on the density painted on surface vertices, float64 [n]. None: 1."""
    @property
    def poisson(self) -> _Floats | None:
        """Factors on Poisson's ratio painted on surface vertices, float64 [n]. None: 1."""
    @property
    def twist_stiffness(self) -> _Floats | None:
        """Twist stiffness of each bone, N/m⁴, float64 [b]. None: E/r² of the flesh around the bone, paint included."""
    @property
    def twist_radius(self) -> _Floats | None:
        """Twist radius of each bone, m, float64 [b]. None: half its distance to the skin."""
    @property
    def rest_includes_gravity(self) -> bool:
        """True if the modelled shape already sags."""
    @property
    def level(self) -> int:
        """Subdivisions for the integrals, 0 to 3."""
    @property
    def flesh(self) -> _Floats | None:
        """Flesh painted on surface vertices, float64 [n], from 0, the skin as it is, to 1, as soft as it gets. None: by the body's anatomy if
        there are `region_weights`; without them flesh is the same everywhere.
        """
    @property
    def softness(self) -> float | None:
        """A dial, 0 to 1, that overrules the material's `young`. It acts as `with_softness` of the same body unpainted, so that paint on one
        place leaves all others as they are. None: the material's own.
        """
    @property
    def kind(self) -> _Kind:
        """Kind of character, "automatic", "human", "animal", "toon", "insect" or "robot". It decides which parts the anatomy lets be soft."""
    @property
    def hard(self) -> _Floats | None:
        """Share of the skin at each vertex that is of something hard, float64 [n], 0 to 1, by its materials. The anatomy leaves such skin
        correspondingly less flesh. None: 0.
        """
    def replace(self, **changes: Unpack[_BodySettings]) -> BodySettings:
        """Returns other settings with some changed. `copy.replace` does the same from Python 3.13 on. Raises as the class does."""
    def as_dict(self) -> dict[str, Any]:
        """Returns all settings by name, as the keywords that make them."""
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[object, ...], dict[str, object]]: ...
    def __replace__(self, **changes: Unpack[_BodySettings]) -> BodySettings: ...
    def __copy__(self) -> BodySettings: ...
    def __deepcopy__(self, _memo: object) -> BodySettings: ...

@final
class Body:
    """Everything precomputed for one character [capell2002, §3.3, §4.3, §4.6]; immutable.

    Body(surface, skeleton, lattice, material, region_weights=None, ...):

    - `region_weights[n,b]`, `settings` and further keywords: a `BodySettings`, and settings by name that replace its own.

    Raises InputError, Cancelled.
    """

    def __new__(
        cls,
        surface: Surface,
        skeleton: Skeleton,
        lattice: Lattice,
        material: Material,
        region_weights: ArrayLike | None = None,
        *,
        progress: _Progress | None = None,
        settings: BodySettings | None = None,
        **keywords: Unpack[_OtherBodySettings],
    ) -> Body: ...
    def with_softness(self, softness: float) -> Body:
        """Returns the same body, as soft as a dial says, 0 (firm) to 1 (soft), whatever its size. In the middle one g sideways moves its
        softest flesh by 1.8 % of its size, at the ends by a seventeenth and seventeen times of that. The motion stays below half of the
        thickness of its trunk. Raises InputError.
        """
    def young_of_softness(self, softness: float) -> float:
        """Returns the `young` of `with_softness`, Pa. `with_young` gives it to a painted body, whose unpainted places are then as soft as in
        `with_softness` of the same body without paint. Raises InputError.
        """
    @property
    def flesh(self) -> _Floats:
        """Map of flesh at the surface's vertices, float64 [n]: 0 is the skin as it is, 1 as soft as it gets."""
    def parts(self) -> dict[str, tuple[_Floats, _Floats]]:
        """Returns the parts of the body found by shape and rig alone: name -> (patches float64 [k,4], share float64 [n]).

        A patch is a centre and a radius, metres; a paired part has two. `share` is how much each vertex of the surface belongs to the part,
        0 to 1. Names are "belly", "chest" (breasts), "buttocks", "tail", "cheeks", "jowls", "ears"; parts that cannot be recognised are
        missing.
        """
    @property
    def thickness(self) -> _Floats:
        """Thickness of the flesh at the surface's vertices, float64 [n], metres: the distance at rest to the bones that carry the vertex, past
        the ends of last bones too, smoothed over the skin. It is infinite where no bone carries the vertex, and everywhere on a body that
        was made without `region_weights`.
        """

    @property
    def node_count(self) -> int:
        """Number of nodes: the lattice's vertices, which have three degrees of freedom each."""
    @property
    def dofs(self) -> int:
        """Number of nodes, as `node_count`: displacements and forces have one row of three for each."""
    @property
    def bone_vertices(self) -> _Indices:
        """Lattice vertices held by bones, int32 [j], ascending."""
    @property
    def held_vertices(self) -> _Indices:
        """Lattice vertices whose motion the pose prescribes, int32 [h]: `bone_vertices`, and those of loose parts that follow their skin
        weights. All others are free.
        """
    @property
    def bone_of_vertex(self) -> _Indices:
        """Bone that drives each of `bone_vertices`, int32 [j]."""
    @property
    def region_weights(self) -> _Floats:
        """Weights of the bones that each lattice vertex follows, float64 [k,b]; rows sum to one."""
    @property
    def volume(self) -> float:
        """Volume of the flesh, m³."""
    @property
    def loose_parts(self) -> list[str]:
        """Parts with flesh that no bone holds, one sentence each. They follow one bone rigidly, or their skin weights."""
    def mass(self) -> _Sparse:
        """Returns the mass matrix, kg, 3·nodes square, xyz interleaved: (data, indices, indptr) for scipy.sparse.csr_array. Floor and bone
        rows are included [capell2002, §3.3].
        """
    def stiffness(self, twist: bool = False) -> _Sparse:
        """Returns the stiffness matrix at rest, N/m, 3·nodes square, xyz interleaved: (data, indices, indptr). `twist` adds the Hessian of the
        twist energy.
        """
    def energy(self, q: ArrayLike, model: _Model = "stvk") -> float:
        """Returns the elastic energy (J) at displacements `q[nodes,3]` (m) from rest, without twist and gravity.

        Models are "linear", "stvk" (St. Venant-Kirchhoff), "neohookean" (stable: flat and inverted flesh is driven back) and "yeoh" (the
        same, stiffening with stretch). Raises InputError for others.
        """
    def gradient(self, q: ArrayLike, model: _Model = "stvk") -> _Floats:
        """Returns the derivative of `energy` with respect to `q`, N, float64 [nodes,3]."""
    def hessian(self, q: ArrayLike, model: _Model = "stvk") -> _Sparse:
        """Returns the Hessian of `energy`, N/m, 3·nodes square, xyz interleaved: (data, indices, indptr)."""
    def softness(self) -> float:
        """Returns the farthest that one g sideways moves a vertex of the surface at rest, as a part of the body's size. Beyond a few
        hundredths lively clips need stiffer flesh.
        """
    def with_young(self, young: float) -> Body:
        """Returns the same body with another Young's modulus of its material, Pa. Raises InputError."""
    def stiffened(self, factor: float) -> Body:
        """Returns the same body with flesh that is stiffer by `factor`."""
    @property
    def surface(self) -> Surface:
        """Surface of the body itself."""
    @property
    def skeleton(self) -> Skeleton:
        """Skeleton that moves the body."""
    @property
    def lattice(self) -> Lattice:
        """Lattice around surface and skeleton."""
    @property
    def material(self) -> Material:
        """Material before paint."""
    def embed_surface(self, surface: Surface) -> int:
        """Makes the body carry another surface (clothes, eyes) and returns its id for `positions`. A `max_offset` limits its motion around a
        skin blended with the weights of the lattice around it.
        """
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
        """Returns a surface (None: the body's own) at displacements `q[nodes,3]` (m), float32 [n,3], metres.

        With a `pose[b,4,4]` it is shown as `Simulation` and `simulate` show the default method there: in proportion to the flesh, and
        within `max_offset`, a part of the body's size. `elastic_joints` is as in `simulate`, `to` and `onto` as in `Clip.offsets`.
        """
    def inverted_cells(self, positions: ArrayLike) -> int:
        """Returns the number of inverted cells with the lattice vertices at `positions[nodes,3]`."""
    def save(self, path: str | PathLike[str]) -> None:
        """Writes the body to a file: versioned, checksummed, whole or not at all. Raises StorageError."""
    @staticmethod
    def load(path: str | PathLike[str]) -> Body:
        """Reads a body that `save` wrote. Raises StorageError for a file that is not Thew's, of another version, damaged or refused by the
        disk.
        """
    def __copy__(self) -> Body: ...
    def __deepcopy__(self, _memo: object) -> Body: ...

@final
class Contact:
    """Settings of the contact of flesh with itself and with others.

    Contact(self_contact=True, thickness=0.0, friction=0.3, regions=None, compliance=0.03, response="complementarity"):

    - `self_contact`: True if a body touches itself.
    - `thickness`: distance kept between skins, metres.
    - `friction`: Coulomb's coefficient.
    - `regions[n]`: one number per vertex of the mesh, of which 0 touches nothing, or a mask, True where skin may touch. None: all may
      touch.
    - `compliance`: how far contacts give, as a part of what the flesh itself gives there.
    - `response`: "complementarity" (contacts push and never pull). For comparison also "creases" [capell2006, §3.4] as printed, and
      "released_creases" without its pulling forces; both begin at `Simulation.find_crease_seeds` and ignore thickness, friction and
      compliance.

    With the method "modal" overlaps are parted on the shown surface, frame by frame, without forces; friction and compliance mean nothing
    then. Raises InputError.
    """

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
        """True if a body touches itself."""
    @property
    def thickness(self) -> float:
        """Distance kept between skins, metres."""
    @property
    def friction(self) -> float:
        """Coulomb's coefficient of friction."""
    @property
    def compliance(self) -> float:
        """Give of contacts, as a part of what the flesh itself gives there."""
    @property
    def response(self) -> _Response:
        """Method that keeps flesh from passing through itself: "complementarity", "creases" or "released_creases"."""
    def __copy__(self) -> Contact: ...
    def __deepcopy__(self, _memo: object) -> Contact: ...

@final
class Collider:
    """An object that flesh collides with: a mesh, or a `plane`.

    Collider(surface, motion=None, friction=None, thickness=0.0):

    - `surface`: the mesh. The facing of its triangles does not matter: what encloses a volume is solid; other triangles are sheets, which
      flesh touches on the side where it is.
    - `motion`: `[f,4,4]`, maps that carry its vertices, or `[f,n,3]` (m), positions of a deforming mesh. There is one entry per pose; the
      last one stays for good. None: the mesh is still.
    - `friction`: Coulomb's coefficient; the geometric mean with the flesh's counts. None: the flesh's.
    - `thickness`: distance kept in addition to the flesh's own, metres.

    Raises InputError.
    """

    def __new__(
        cls, surface: Surface, motion: ArrayLike | None = None, friction: float | None = None, thickness: float = 0.0
    ) -> Collider: ...
    @staticmethod
    def plane(point: ArrayLike, normal: ArrayLike, friction: float | None = None, thickness: float = 0.0) -> Collider:
        """Builds a plane through `point[3]` (m), solid on the side that `normal[3]`, of any length, points away from. Raises InputError."""
    @property
    def surface(self) -> Surface | None:
        """Mesh of the collider; None for a plane."""
    @property
    def friction(self) -> float | None:
        """Coulomb's coefficient of friction; None: that of the flesh."""
    @property
    def thickness(self) -> float:
        """Distance kept in addition to the thickness of the flesh, metres."""
    @property
    def entries(self) -> int | None:
        """Number of entries of its motion; None: it is still."""
    def __copy__(self) -> Collider: ...
    def __deepcopy__(self, _memo: object) -> Collider: ...

@final
class Contacts:
    """Contacts at one instant; `len()` is their number c.

    Each contact is a vertex of the skin, `vertices[c]` of the body `bodies[c]`, at the skin or collider `other_bodies[c]` near its vertex
    `other_vertices[c]`.
    """

    def __len__(self) -> int: ...
    @property
    def points(self) -> _Floats:
        """Points of contact, float64 [c,3], metres, world axes."""
    @property
    def normals(self) -> _Floats:
        """Outward normals of the touched skins and colliders, float64 [c,3]."""
    @property
    def gaps(self) -> _Floats:
        """Gaps, float64 [c], metres; negative: overlap."""
    @property
    def forces(self) -> _Floats:
        """Forces on the vertices that touch, float64 [c,3], N."""
    @property
    def bodies(self) -> _Indices:
        """Bodies whose vertices touch, int32 [c]."""
    @property
    def vertices(self) -> _Indices:
        """Vertices that touch, int32 [c]."""
    @property
    def other_bodies(self) -> _Indices:
        """Bodies that are touched, int32 [c]; colliders are counted after them."""
    @property
    def other_vertices(self) -> _Indices:
        """Vertices of `other_bodies` nearest to the contacts, int32 [c]."""
    @property
    def kinematic(self) -> NDArray[np.bool_]:
        """True for contacts that no force parts, bool [c]: bones alone move both sides, or the side that touches a collider."""

@final
class SimulationSettings:
    """Settings of a simulation, which never change: SimulationSettings(method="warped", rate=480.0, ...). Each is a keyword here and a
    property.

    `Simulation`, `simulate`, `Scene`, `simulate_scene` and `Shot` take them as `settings`, or as keywords of their own. A keyword beside
    `settings` replaces that setting. `engine="gpu", device="NAME"` is `engine="gpu:NAME"`. Settings are equal, and hashed, by their values.
    Raises InputError for a value out of range, TypeError for an unknown name.
    """

    def __new__(cls, **keywords: Unpack[_SimulationSettings]) -> SimulationSettings: ...
    @property
    def method(self) -> _Method:
        """Method of motion: "hyperelastic" (Yeoh's flesh carried by the skeleton: the warped method for small motion, and sound for any),
        "warped" [capell2006, §3.3, cell form], "warped_vertex" (vertex form, as printed), "linear", "modal" [choi2003, §4], and by Newton's
        method "nonlinear" (St. Venant-Kirchhoff) and "neohookean" (stable for inverted flesh).
        """
    @property
    def rate(self) -> float:
        """Steps per second at least, within 1 %. A frame holds a whole number of steps."""
    @property
    def gravity(self) -> tuple[float, float, float]:
        """Acceleration of gravity, m/s²."""
    @property
    def mass_damping(self) -> float | None:
        """Damping by mass of all motion relative to the skinned motion, 1/s. None: the body's own, of `default_damping`."""
    @property
    def stiffness_damping(self) -> float | None:
        """Damping by stiffness of all deformation, s, the numerical damping of the steps included. None: the body's own, of `default_damping`."""
    @property
    def max_offset(self) -> float | None:
        """Largest distance from its skin at which flesh is shown, as a part of the body's size. None: no limit."""
    @property
    def solver(self) -> _Solver:
        """Solver of hyperelastic and warped steps: "direct" (factoring), "cg" (conjugate gradients), or "auto" for the quicker one."""
    @property
    def elastic_joints(self) -> float:
        """Part of the joints' own shape that is shown in place of the plain skin, 0 to 1. At 0 it is the skin as it is, plus sway. At 1
        hyperelastic joints are round and keep their volume; other methods show the flesh that bones bend. Sway is always shown in full.
        """
    @property
    def form(self) -> _Form:
        """Form in which the method "modal" warps modes: "vertex" or "embedded" (at the body's nodes)."""
    @property
    def precision(self) -> _Precision:
        """Precision in which the method "modal" stores modes: "f32" or "f16"."""
    @property
    def engine(self) -> str:
        """Engine that shows the method "modal": "auto" (the quickest), "cpu", "gpu", or "gpu:NAME" for a device by its number or a part of its
        name.
        """
    def replace(self, **changes: Unpack[_SimulationSettings]) -> SimulationSettings:
        """Returns other settings with some changed: `settings.replace(rate=480.0)`. `copy.replace` does the same from Python 3.13 on. Raises
        as `SimulationSettings` does.
        """
    def as_dict(self) -> dict[str, Any]:
        """Returns all settings by name, as the keywords that make them: `SimulationSettings(**settings.as_dict())` is equal."""
    def digest(self) -> bytes:
        """Returns a hash of all settings, 16 bytes, for keys of caches: equal in every session and on every machine, unlike `hash`. A setting
        that later versions add changes it only where it differs from its default.
        """
    def __hash__(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[object, ...], dict[str, object]]: ...
    def __replace__(self, **changes: Unpack[_SimulationSettings]) -> SimulationSettings: ...
    def __copy__(self) -> SimulationSettings: ...
    def __deepcopy__(self, _memo: object) -> SimulationSettings: ...

@final
class Simulation:
    """A body in motion.

    Simulation(body, method="hyperelastic", ...):

    - `method`, `settings` and further keywords: a `SimulationSettings`, and settings by name that replace its own. Damping that is None is
      that of `default_damping`.
    - `modes`: for "modal", a Modes of this body, which sets the stiffness, or a number of modes (None: 32).
    - `contact`: contact of the flesh with itself, for the methods "hyperelastic", "warped", "warped_vertex" and "linear"; with "modal" the
      surface alone is parted. None: flesh passes through itself.
    - `colliders`: `Collider`s that it also touches. They are at their first entry after a reset, and one entry on with every advance.

    Methods by Newton raise MotionError if a step does not converge, and keep the state before it. Raises InputError.
    """

    def __new__(
        cls,
        body: Body,
        method: _Method | None = None,
        *,
        modes: Modes | int | None = None,
        contact: Contact | None = None,
        colliders: Sequence[Collider] | None = None,
        settings: SimulationSettings | None = None,
        **keywords: Unpack[_OtherSettings],
    ) -> Simulation: ...
    @property
    def settings(self) -> SimulationSettings:
        """Settings, damping included."""
    @property
    def amplitudes(self) -> _Floats | None:
        """Amplitudes of the method "modal", float64 [m]; None with other methods."""
    def reset(self, pose: ArrayLike, settled: bool = True, rest_forces: ArrayLike | None = None) -> None:
        """Starts at `pose[b,4,4]`: in static equilibrium, or (`settled=False`) in the skinned shape. The velocity of the flesh is that of its
        bones, known at the first advance. `rest_forces[nodes,3]`: generalised forces, N, in rest axes, turned with the flesh. Raises
        InputError, MotionError.
        """
    def advance(
        self,
        pose: ArrayLike,
        dt: float,
        forces: ArrayLike | None = None,
        rest_forces: ArrayLike | None = None,
    ) -> None:
        """Advances to `pose[b,4,4]` over `dt` seconds in ceil(dt·rate) equal steps.

        - `forces[nodes,3]`: generalised forces, N, world axes, constant over `dt`.
        - `rest_forces[nodes,3]`: generalised forces, N, in rest axes at the end of `dt`, turned with the flesh. They go there linearly from
          those of the call before. None: zero.

        Raises MotionError when the motion is no longer finite or a step fails; the state before that step is kept.
        """
    def positions(
        self, surface: int | None = None, to: ArrayLike | None = None, onto: _Places | None = None
    ) -> _Places:
        """Returns the positions of the vertices of a carried surface (None: the body's own), float32 [n,3], metres, world axes. `to` and
        `onto` are as in `Clip.offsets`.
        """
    def offsets(self, surface: int | None = None, to: ArrayLike | None = None, onto: _Places | None = None) -> _Places:
        """Returns the offsets that the flesh adds to the artist's own skin, float32 [n,3], metres, world axes: `positions` less the skin. `to`
        and `onto` are as in `Clip.offsets`.
        """
    def lattice_positions(self) -> _Floats:
        """Returns the positions of the lattice vertices, float64 [nodes,3], metres."""
    def lattice_velocities(self) -> _Floats:
        """Returns the velocities of the lattice vertices, float64 [nodes,3], m/s."""
    def contacts(self) -> Contacts:
        """Returns the present contacts and their forces. With the method "modal" these are the overlaps parted on the surface, without forces."""
    def find_crease_seeds(self, poses: ArrayLike, seconds: float = 4.0) -> _Indices:
        """Finds where creases begin, in slow motion from rest to each of `poses[p,b,4,4]` in `seconds` each, and returns these pairs of
        vertices, int32 [s,2].

        From now on creases are looked for at them, in place of the former pairs; the present state stays. It is for contacts of a crease
        response [capell2006, §3.4.1]. Raises InputError, MotionError.
        """
    def set_crease_seeds(self, pairs: ArrayLike) -> None:
        """Looks for creases at `pairs[s,2]` of vertices from now on, in place of the former pairs. Raises InputError."""
    @property
    def crease_seeds(self) -> _Indices:
        """Pairs of vertices at which creases are looked for, int32 [s,2]; they do not belong to a state."""
    def inverted_cells(self) -> int:
        """Returns the present number of inverted cells."""
    @property
    def unconverged_steps(self) -> int:
        """Number of steps of the hyperelastic method whose minimisation stopped short of its tolerance; the flesh went on from the best point
        found.
        """
    def state(self) -> bytes:
        """Returns the state, exactly, in a few kilobytes, for `restore`."""
    def restore(self, state: bytes) -> None:
        """Restores a state of the same body. Raises InputError for other bytes; the present state stays then."""

@final
class Clip:
    """A simulated clip: the kept states of a run of frames, any of which can be shown in any order, from any thread. `numpy.asarray(clip)` is
    float32 [f,n,3].
    """

    def positions(
        self, frame: int, surface: int | None = None, to: ArrayLike | None = None, onto: _Places | None = None
    ) -> _Places:
        """Returns the positions of the vertices of a carried surface (None: the body's own) at a frame, float32 [n,3], metres, world axes.
        Frames before the first and after the last show these. `to` and `onto` are as in `offsets`.
        """
    def offsets(
        self, frame: int, surface: int | None = None, to: ArrayLike | None = None, onto: _Places | None = None
    ) -> _Places:
        """Returns the offsets that the flesh adds to the artist's own skin at a frame, float32 [n,3], metres, world axes. The skin, however it
        was made, plus the offsets is the shown surface.

        - `to[4,4]`: map into another space, an affine map of the world's metres that may flatten or mirror. Positions take all of it,
          vectors its linear part. None: the world's metres.
        - `onto[n,3]`: array to which the result is added, and which is returned. None: a new one.

        Raises InputError for a map that is not affine, not finite or beyond 1e12, and for an array that is not float32, C-contiguous and of
        that shape.
        """
    def velocities(
        self, frame: int, surface: int | None = None, to: ArrayLike | None = None, onto: _Places | None = None
    ) -> _Places:
        """Returns the velocities of the positions that `positions` shows at a frame, float32 [n,3], m/s, world axes. They are differences
        between the frame before and the one after, at the ends to or from the end itself. `to` and `onto` are as in `offsets`.
        """
    def lattice_positions(self, frame: int) -> _Floats:
        """Returns the positions of the lattice vertices at a frame, float64 [nodes,3], metres."""
    def extend(
        self,
        poses: ArrayLike,
        controls: ArrayLike | None = None,
        progress: _Progress | None = None,
        restart: bool = False,
    ) -> None:
        """Extends the clip by `poses[f,b,4,4]` after the last frame. That frame is made again, as the bones' way from there is now known: a
        clip made in parts equals the clip made at once.

        - `controls[f,r]`: controls of the clip's rigs at those poses. None: each at its last sample.
        - `restart`: True begins the flesh anew there, as a clip of its own, after a cut; nothing is made again then.

        Cyclic clips cannot be extended, those of a scene by `extend_scene`.
        """
    def save(self, path: str | PathLike[str]) -> None:
        """Writes the clip with its body and its rigs to a file: versioned, checksummed, whole or not at all. It takes about 24 bytes per
        lattice vertex and 64 per bone of every frame, in addition to the body. Raises StorageError.
        """
    @staticmethod
    def load(path: str | PathLike[str]) -> Clip:
        """Reads a clip that `save` wrote. It shows every frame and goes on with the same bits as the saved one, without being simulated again.
        Raises StorageError for a file that is not Thew's, of another version or kind, damaged or refused by the disk.
        """
    @property
    def settings(self) -> SimulationSettings:
        """Settings of the simulation, damping included."""
    @property
    def body(self) -> Body:
        """Body that moves."""
    @property
    def body_names(self) -> list[str]:
        """Names of the bodies that `contacts` count, by their numbers: those of its scene, or its own alone. Empty if they have no names."""
    @property
    def body_index(self) -> int:
        """Index of the clip's own body in `body_names`."""
    @property
    def notes(self) -> dict[str, str]:
        """Texts that travel with the clip, by name: those of its `Shot`."""
    def contacts(self, frame: int) -> Contacts:
        """Returns the contacts at a frame; empty in clips without contact. With the method "modal" these are the overlaps parted on the
        surface, without forces.
        """
    def contact_notes(self) -> list[str]:
        """Returns what contact cannot part in the clip, one sentence each, to be read: which bones lie in what, or fold flesh that they alone
        hold, and in which frames, counted from 0. Empty in clips without contact.
        """
    def buried_bones(self, frame: int) -> list[tuple[int, int, int, float]]:
        """Returns the bones that lie in other flesh or in colliders at a frame, from which contact cannot move them. Each is (bone, index of
        the other as in `Contacts.other_bodies`, bone there (0 of colliders), depth in metres).
        """
    def folds(self, frame: int) -> _Places:
        """Returns the additional part of the joints' elastic shape that is shown at a frame where the skin lies in itself, float32 [nodes]. It
        has one number from 0 to 1 per lattice vertex.
        """
    @property
    def held_cells(self) -> _Indices:
        """Number of cells near inversion in each frame whose vertices all hang on bones, int32 [f]. Contact cannot help them."""
    @property
    def inverted_cells(self) -> _Indices:
        """Number of inverted cells in each frame, int32 [f]."""
    @property
    def folded_cells(self) -> _Indices | None:
        """Number of cells that the bones alone invert in each frame, int32 [f]. No motion of the flesh undoes them. None with methods that do
        not part sway from the motion of the bones.
        """
    @property
    def unconverged_steps(self) -> _Indices:
        """Number of steps of the method "hyperelastic" in each frame that ended short of their tolerance, int32 [f]. The flesh went on from
        the best point found.
        """
    @property
    def max_skin_deviations(self) -> _Places:
        """Largest distance of the flesh from its skin in each frame before `max_offset` limits it, as a part of the body's size, float32 [f]."""
    @property
    def amplitudes(self) -> _Floats | None:
        """Amplitudes of the method "modal", float64 [f,m]; None with other methods."""
    @property
    def engine(self) -> str | None:
        """Engine on which the method "modal" shows the body's own surface: "CPU, 2 threads", "GPU NAME"; None with other methods."""
    @property
    def engine_report(self) -> list[str]:
        """Measured cost of each engine that was tried, line by line."""
    @property
    def warnings(self) -> list[str]:
        """Warnings: rigs that push nothing, requests about the engine that could not be met."""
    @property
    def loop_gap(self) -> float | None:
        """Largest distance of a lattice vertex between the end of a cycle and its beginning, metres; None for other clips."""
    @property
    def nbytes(self) -> int:
        """Memory of the kept states, bytes."""
    @property
    def fps(self) -> float:
        """Frames per second."""
    def __len__(self) -> int: ...
    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[np.generic]: ...

def default_damping(body: Body) -> tuple[float, float]:
    """Returns (mass_damping 1/s, stiffness_damping s), the damping that simulations take by default. With it the slowest swing of the body's
    flesh falls to a twentieth within about a second and a quarter. Where five of its own periods are shorter, it falls within these. This
    holds at any size and softness. Raises MotionError.
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
    *,
    modes: Modes | int | None = None,
    contact: Contact | None = None,
    colliders: Sequence[Collider] | None = None,
    restarts: Sequence[int] | None = None,
    settings: SimulationSettings | None = None,
    **keywords: Unpack[_SimulationSettings],
) -> Clip:
    """Simulates `poses[f,b,4,4]` at `fps` frames per second and returns a Clip. Frame 0 is the settled first pose, moving as its bones move.

    - `rigs`: `Rig`s that push the flesh. `controls[f,r]`: value of each rig's control at every frame, linear between frames. None: every
      rig at its last sample throughout.
    - `preroll`: frames of run-in before frame 0, in which the joints come from a standstill.
    - `cyclic`: True if the poses are a cycle, which may travel; it is run until its state repeats.
    - `restarts`: frames above 0, ascending, in which the flesh begins anew as in frame 0. They are cuts, after which the character is
      elsewhere.
    - `modes`, `contact`, `colliders`: as in `Simulation`.
    - `settings` and further keywords: a `SimulationSettings`, and settings by name that replace its own.

    Raises Cancelled, InputError (poses by frame), MotionError (naming the frame).
    """

@final
class Shot:
    """Everything that `simulate` needs, to be written to one file and simulated elsewhere, with the same bits.

    Shot(body, poses, fps, ...): a body, `poses[f,b,4,4]` at `fps` frames per second, `rigs` with `controls[f,r]`, and further arguments as
    in `simulate`. In addition:

    - `notes`: texts by name, for the maker of the shot; its clip has them too. The names "rigs" and "warnings" are taken.
    - `name`: name of the body, for `Clip.body_names`.

    Each setting of the simulation is a property as well. Raises InputError.
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
        *,
        modes: Modes | int | None = None,
        contact: Contact | None = None,
        colliders: Sequence[Collider] | None = None,
        name: str = "",
        restarts: Sequence[int] | None = None,
        settings: SimulationSettings | None = None,
        **keywords: Unpack[_SimulationSettings],
    ) -> Shot: ...
    def simulate(self, progress: _Progress | None = None) -> Clip:
        """Simulates the shot as `simulate` does and returns the clip. Raises Cancelled, InputError (poses and rigs by name), MotionError."""
    def save(self, path: str | PathLike[str]) -> None:
        """Writes the shot with its body to a file: versioned, checksummed, whole or not at all. It takes 96 bytes per bone of every pose, in
        addition to the body. Raises StorageError.
        """
    @staticmethod
    def load(path: str | PathLike[str]) -> Shot:
        """Reads a shot that `save` wrote. Raises StorageError for a file that is not Thew's, of another version or kind, damaged or refused by
        the disk.
        """
    @property
    def body(self) -> Body:
        """Body that is to move."""
    @property
    def name(self) -> str:
        """Name of the body."""
    @property
    def fps(self) -> float:
        """Frames per second."""
    @property
    def method(self) -> _Method:
        """Method of motion: "hyperelastic" (Yeoh's flesh carried by the skeleton: the warped method for small motion, and sound for any),
        "warped" [capell2006, §3.3, cell form], "warped_vertex" (vertex form, as printed), "linear", "modal" [choi2003, §4], and by Newton's
        method "nonlinear" (St. Venant-Kirchhoff) and "neohookean" (stable for inverted flesh).
        """
    @property
    def settings(self) -> SimulationSettings:
        """Settings of the simulation, damping included. Each is a property of the shot too."""
    @property
    def restarts(self) -> list[int]:
        """Frames in which the flesh begins anew, ascending."""
    @property
    def poses(self) -> _Floats:
        """Poses, float64 [f,b,4,4]."""
    @property
    def rigs(self) -> list[Rig]:
        """Rigs that push the flesh."""
    @property
    def controls(self) -> _Floats | None:
        """Controls of the rigs, float64 [f,r]. None: each at its last sample."""
    @property
    def preroll(self) -> int:
        """Frames simulated before the first one, or rounds of a cycle."""
    @property
    def cyclic(self) -> bool:
        """True if the poses repeat."""
    @property
    def rate(self) -> float:
        """Steps per second at least, within 1 %. A frame holds a whole number of steps."""
    @property
    def gravity(self) -> tuple[float, float, float]:
        """Acceleration of gravity, m/s²."""
    @property
    def mass_damping(self) -> float:
        """Damping by mass of all motion relative to the skinned motion, 1/s. None: the body's own, of `default_damping`."""
    @property
    def stiffness_damping(self) -> float:
        """Damping by stiffness of all deformation, s, the numerical damping of the steps included. None: the body's own, of `default_damping`."""
    @property
    def max_offset(self) -> float | None:
        """Largest distance from its skin at which flesh is shown, as a part of the body's size. None: no limit."""
    @property
    def elastic_joints(self) -> float:
        """Part of the joints' own shape that is shown in place of the plain skin, 0 to 1. At 0 it is the skin as it is, plus sway. At 1
        hyperelastic joints are round and keep their volume; other methods show the flesh that bones bend. Sway is always shown in full.
        """
    @property
    def solver(self) -> _Solver:
        """Solver of hyperelastic and warped steps: "direct" (factoring), "cg" (conjugate gradients), or "auto" for the quicker one."""
    @property
    def modes(self) -> Modes | int | None:
        """Modes of the method "modal", or the number of lowest ones. None: the usual number."""
    @property
    def engine(self) -> str:
        """Engine that shows the method "modal": "auto" (the quickest), "cpu", "gpu", or "gpu:NAME" for a device by its number or a part of its
        name.
        """
    @property
    def form(self) -> _Form:
        """Form in which the method "modal" warps modes: "vertex" or "embedded" (at the body's nodes)."""
    @property
    def precision(self) -> _Precision:
        """Precision in which the method "modal" stores modes: "f32" or "f16"."""
    @property
    def contact(self) -> Contact | None:
        """Contact of the flesh. None: it passes through itself."""
    @property
    def colliders(self) -> list[Collider]:
        """Colliders that the flesh also touches."""
    def replace(self, **changes: Any) -> Shot:
        """Returns another shot with some arguments of `Shot` changed: `shot.replace(poses=poses, rate=480.0)`. All others are as their
        properties here: damping stays the number that it had become, also for another body. `copy.replace` does the same from Python 3.13
        on. Raises as `Shot` does.
        """
    @property
    def rig_names(self) -> list[str]:
        """Names of the rigs that push the flesh."""
    @property
    def notes(self) -> dict[str, str]:
        """Texts that travel with the shot, by name."""
    def __len__(self) -> int: ...
    def __replace__(self, **changes: Any) -> Shot: ...
    def __copy__(self) -> Shot: ...
    def __deepcopy__(self, _memo: object) -> Shot: ...

@final
class Scene:
    """Bodies in motion that touch each other.

    Scene(bodies, contact=None, colliders=None, ...):

    - `contact`: contact of each body, itself included: one `Contact` for all, or a list of one (or None) for each. None: with the others,
      not with itself.
    - `colliders`: `Collider`s that all bodies touch. They are at their first entry after a reset, and one entry on with every advance.
    - `settings` and further keywords: a `SimulationSettings`, and settings by name that replace its own. Damping that is None is that of
      each body.

    Between two bodies friction is the geometric mean, thickness the mean of both sides', and compliance the largest of all. A body alone
    moves by the same bits as its `Simulation`. Raises InputError naming the body.
    """

    def __new__(
        cls,
        bodies: Sequence[Body],
        contact: Contact | Sequence[Contact | None] | None = None,
        colliders: Sequence[Collider] | None = None,
        *,
        settings: SimulationSettings | None = None,
        **keywords: Unpack[_SimulationSettings],
    ) -> Scene: ...
    def reset(self, poses: _Each, settled: bool = True, rest_forces: Sequence[ArrayLike | None] | None = None) -> None:
        """Starts at `poses`, a `pose[b,4,4]` of each body. Each is balanced by itself, then with the others, without friction, or
        (`settled=False`) starts in the skinned shape. `rest_forces`: of each body (or None), `[nodes,3]`, N, as in `Simulation.reset`.
        Raises InputError, MotionError naming the body.
        """
    def advance(
        self,
        poses: _Each,
        dt: float,
        forces: Sequence[ArrayLike | None] | None = None,
        rest_forces: Sequence[ArrayLike | None] | None = None,
    ) -> None:
        """Advances to `poses`, a `pose[b,4,4]` of each body, over `dt` seconds in ceil(dt·rate) equal steps. `forces` and `rest_forces`: of
        each body (or None), `[nodes,3]`, N, as in `Simulation.advance`. Raises InputError, MotionError naming the body; the state before
        the call is kept.
        """
    def positions(
        self, body: int, surface: int | None = None, to: ArrayLike | None = None, onto: _Places | None = None
    ) -> _Places:
        """Returns the positions of the vertices of a body's surface (None: its own), float32 [n,3], metres, world axes. `to` and `onto` are as
        in `Clip.offsets`.
        """
    def offsets(
        self, body: int, surface: int | None = None, to: ArrayLike | None = None, onto: _Places | None = None
    ) -> _Places:
        """Returns the offsets that the flesh of a body adds to the artist's own skin, float32 [n,3], metres, world axes. `to` and `onto` are
        as in `Clip.offsets`.
        """
    def lattice_positions(self, body: int) -> _Floats:
        """Returns the positions of a body's lattice vertices, float64 [nodes,3], metres."""
    def lattice_velocities(self, body: int) -> _Floats:
        """Returns the velocities of a body's lattice vertices, float64 [nodes,3], m/s."""
    def contacts(self) -> Contacts:
        """Returns the present contacts. Those between two bodies are listed for both, with equal and opposite forces."""
    def contact_forces(self, body: int) -> _Floats:
        """Returns the forces on a body's lattice vertices in the last step, by contacts and by cells near inversion, float64 [nodes,3], N,
        world axes; 0 at vertices that hang on bones.
        """
    def inverted_cells(self, body: int) -> int:
        """Returns the present number of inverted cells of a body."""
    def state(self) -> bytes:
        """Returns the state of all bodies, exactly, for `restore`."""
    def restore(self, state: bytes) -> None:
        """Restores a state of the same bodies. Raises InputError for other bytes; the present state stays then."""
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
    *,
    cyclic: bool = False,
    names: Sequence[str] | None = None,
    restarts: Sequence[int] | None = None,
    settings: SimulationSettings | None = None,
    **keywords: Unpack[_SimulationSettings],
) -> list[Clip]:
    """Simulates bodies that touch each other, at `fps` frames per second, and returns a Clip of each.

    - `poses`: of each body `poses[f,b,4,4]`.
    - `contact`: contact of each body, itself included: one `Contact` for all, or a list of one (or None) for each. None: with the others,
      not with itself.
    - `colliders`: `Collider`s that all bodies touch.
    - `rigs`, `controls`: of each body a list of `Rig`s and `controls[f,r]`, or None.
    - `preroll`, `cyclic`, `restarts`, `settings` and further keywords: as in `simulate`. In a loop all bodies end in their first poses,
      moved alike, or none does.
    - `names`: name of each body, for `Clip.body_names`.

    Contacts of a clip count the bodies of the scene, and after them colliders. Clips of a scene are extended together, by `extend_scene`.
    Raises Cancelled, InputError (naming the body), MotionError (naming frame and body).
    """

def simulate_shots(shots: Sequence[Shot], progress: _Progress | None = None) -> list[Clip]:
    """Simulates shots together and returns a Clip of each. Their bodies touch each other, and the colliders of all of them.

    A shot without contact touches the others, but not itself. All shots have the same number of poses, frames and steps per second. The
    longest run-in is that of all. All are cyclic or none, and all begin anew in the same frames. Equal colliders of several shots are one.
    Raises as `simulate_scene`.
    """

def extend_scene(
    clips: Sequence[Clip],
    poses: _Each,
    controls: Sequence[ArrayLike | None] | None = None,
    progress: _Progress | None = None,
    restart: bool = False,
) -> None:
    """Extends all clips of a scene, in its order, by `poses[f,b,4,4]` of each after the last frame, as `Clip.extend` does with one alone.
    Clips made in parts equal those made at once.

    - `controls`: of each clip `controls[f,r]` of its rigs at those poses, or None.
    - `restart`: True begins all clips anew there, each as a clip of its own.

    Clips of cycles cannot be extended. Raises Cancelled, InputError, MotionError; all clips then stay as they were.
    """

@final
class Equilibrium:
    """Balances of a body at one pose after another, at first its rest pose. The system of a pose is factored once for all forces [capell2006,
    §4, eq. 13].

    Equilibrium(body, method="warped", contact=None, colliders=None):

    - `method`: "hyperelastic", "warped", "warped_vertex", "linear", "nonlinear" or "neohookean".
    - `contact`: contact of the flesh with itself, without friction. None: it passes through itself. `adjoint` and `forces` ignore it.
    - `colliders`: `Collider`s that it also touches.

    Raises InputError.
    """

    def __new__(
        cls,
        body: Body,
        method: _Method = "warped",
        contact: Contact | None = None,
        colliders: Sequence[Collider] | None = None,
    ) -> Equilibrium: ...
    def set_pose(self, pose: ArrayLike) -> None:
        """Sets the pose to `pose[b,4,4]`. Raises InputError; the pose before then stays."""
    def solve(
        self,
        forces: ArrayLike | None = None,
        rest_forces: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
    ) -> _Floats:
        """Returns the displacements `q[nodes,3]` (m), float64, at which the flesh is in balance.

        - `forces[nodes,3]`: N, world axes.
        - `rest_forces[nodes,3]`: N, rest axes, turned by `turns`.
        - `gravity[3]`: m/s². None: earth's, along -z.

        Methods "nonlinear" and "neohookean" warn (RuntimeWarning) of cells that are inverted in the balance.
        """
    def contacts(self) -> Contacts:
        """Returns the contacts in the last balance."""
    def adjoint(self, g: ArrayLike) -> _Floats:
        """Returns A⁻ᵀ g, float64 [nodes,3], with zero rows at held vertices. It is the derivative by `forces` of a function of the balance
        whose derivative by q is `g[nodes,3]`; the derivative by `rest_forces` is R_iᵀ times that. Raises InputError for nonlinear methods.
        """
    def forces(self, q: ArrayLike, gravity: ArrayLike | None = None) -> _Floats:
        """Returns the generalised forces that hold the flesh at `q[nodes,3]`, float64 [nodes,3], N, world axes, with zero rows at held
        vertices. It is the inverse of `solve`.
        """
    @property
    def turns(self) -> _Floats:
        """Rotations R_i by which the skeleton turns the flesh and rest-axes forces at each lattice vertex, float64 [nodes,3,3]."""
    def positions(
        self, surface: int | None = None, to: ArrayLike | None = None, onto: _Places | None = None
    ) -> _Places:
        """Returns the positions of the vertices of a carried surface (None: the body's own) in the balance of the last solve, float32 [n,3],
        metres, world axes. They are as the lattice has them; `Body.shown` draws them as a clip does. `to` and `onto` are as in
        `Clip.offsets`. Raises InputError before the first solve at a pose.
        """

def equilibrium(
    body: Body,
    pose: ArrayLike,
    forces: ArrayLike | None = None,
    gravity: ArrayLike | None = None,
    method: _Method = "warped",
    rest_forces: ArrayLike | None = None,
) -> _Floats:
    """Returns the displacements `q[nodes,3]` (m), float64, at which the flesh is in balance at `pose[b,4,4]` [capell2006, §4, eq. 13].

    - `forces[nodes,3]`: N, world axes. `rest_forces[nodes,3]`: N, rest axes, turned with the flesh.
    - `gravity[3]`: m/s². None: earth's, along -z.
    - `method`: by default "warped", the paper's; it is linear in forces, as fits of rigs and adjoints need it. `simulate` moves flesh by
      "hyperelastic" by default; `method="hyperelastic"` gives the balance at which that comes to rest.

    Methods "nonlinear" and "neohookean" warn (RuntimeWarning) of cells that are inverted in the balance.
    """

def equilibrium_forces(
    body: Body,
    pose: ArrayLike,
    q: ArrayLike,
    gravity: ArrayLike | None = None,
    method: _Method = "warped",
) -> _Floats:
    """Returns the generalised forces that hold the flesh at displacements `q[nodes,3]`, float64 [nodes,3], N, world axes, with zero rows at
    bones. It is the inverse of `equilibrium`.
    """

@final
class RigFit:
    """Repeated fits of one rig of a body at a pose. The systems of the pose and the points are solved once [capell2006, §4.2.2, eqs 17 to 20].

    RigFit(body, rig, pose, gravity=None, method="warped", rest_forces=None):

    - `pose[b,4,4]`: the pose.
    - `gravity[3]`: m/s². None: earth's, along -z.
    - `method`: "warped", "warped_vertex" or "linear".
    - `rest_forces[nodes,3]`: forces of other rigs, N, rest axes.

    Raises InputError.
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
        """Fits the rig to `points` [(vertex of the body's own surface, world target[3]), ...] and returns all its parameters, {name: value}.

        They bring the points nearest to their targets in equilibrium. A target out of reach is approached, and no flesh is pressed flatter
        than 0.3 of its volume; `reached` and `folding` report how far that came.

        - `start`, `preferred`: {parameter: value}. None: the rig's last sample.
        - `weights`: {parameter: ξ}, m² per unit². None: zero, but a gentle one for preferred parameters.
        - `bounds`: {parameter: (lower, upper)}, None for no bound, in place of the usual ones.
        - `evaluations`: largest number of evaluations, for an update while the mouse moves. The result is the best so far, from which the
          next update goes on. None: as many as needed, within some seconds of work, and then the best so far.

        Raises InputError, RigError, OutsideError, Cancelled.
        """
    @property
    def reached(self) -> float | None:
        """Share of the way from the points at the start to their targets that the last `fit` came, 0 to 1, by the root of the sum of squares;
        None before one.
        """
    @property
    def folding(self) -> bool | None:
        """True if more strength would fold flesh at the result of the last `fit`; None before one."""
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
        """Returns the cost (m²) that `fit` minimises, and its derivative by every parameter, {name: derivative}. `parameters` that are not
        named are those of the rig's last sample. None: all.
        """
    def positions(
        self,
        parameters: dict[str, float] | None = None,
        to: ArrayLike | None = None,
        onto: _Places | None = None,
    ) -> _Places:
        """Returns the positions of the vertices of the body's own surface in equilibrium with the rig, as the lattice has them, float32 [n,3],
        metres, world axes. `parameters` that are not named are those of the rig's last sample. None: all. `to` and `onto` are as in
        `Clip.offsets`.
        """

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
    """Calls `RigFit(...).fit(...)` once and returns all parameters of the rig. They bring `points` [(vertex of the body's own surface, world
    target[3]), ...] nearest to their targets in equilibrium at `pose[b,4,4]` [capell2006, §4.2.2].
    """

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
    """Calls `RigFit(...).gradient(...)` once and returns the cost (m²) of `points` [(vertex, world target[3]), ...] at `parameters` (None: the
    rig's last sample), and its derivative by every parameter [capell2006, §4.2.2, eq. 20].
    """

@final
class Modes:
    """Vibration modes of a body, mass-orthonormal, by ascending frequency [choi2003, §3.2]; immutable."""

    @property
    def eigenvalues(self) -> _Floats:
        """Eigenvalues Λ, 1/s², ascending, float64 [m]."""
    @property
    def frequencies(self) -> _Floats:
        """Undamped frequencies, Hz, float64 [m]."""
    @property
    def shapes(self) -> _Floats:
        """Mode shapes Φ, 1/√kg, float64 [m,k,3]; zero at fixed nodes."""
    @property
    def rotations(self) -> _Floats:
        """Modal rotations Ψ, rotation vectors of the nodes, 1/(m √kg), float64 [m,k,3]."""
    @property
    def fixed(self) -> NDArray[np.bool_]:
        """Mask of the fixed nodes, bool [k]."""
    @property
    def verified(self) -> bool:
        """True if a count of the eigenvalues below a bound agrees with those found, so that no mode is missing."""
    def displacements(self, amplitudes: ArrayLike, warp: bool = True) -> _Floats:
        """Returns the displacements of the nodes at `amplitudes[m]`, float64 [k,3], metres: `R̃(Ψq) Φq`, or `Φq` with `warp=False`."""
    def scaled(self, factor: float) -> Modes:
        """Returns the modes of the same flesh made stiffer by `factor`: eigenvalues grow by it, shapes stay. Raises ModalError for a factor
        that is not positive, or with which an eigenvalue exceeds 1e100.
        """
    def first(self, count: int) -> Modes:
        """Returns the first `count` of these modes."""
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
    """Computes the `count` lowest modes of a TetMesh or of a Body: `K Φ = M Φ Λ`, `ΦᵀMΦ = 1`, `Ψ = W Φ` [choi2003, §3.2].

    - `material`: that of a TetMesh; a Body has its own.
    - `fixed`: nodes that stand still, indices or a mask [k]. Vertices of a Body that bones hold are always fixed.
    - `mass`: "consistent" or "lumped".
    - `tolerance`: largest residual relative to λ ‖M φ‖. None: 1e-9, or what rounding allows.

    Raises ModalError, Cancelled.
    """

@final
class ModalSimulation:
    """Modes in motion on a support that stands still [choi2003, §4, §5].

    ModalSimulation(modes, step, integrator="exact", warp=True, gravity=None, damping=None):

    - `step`: seconds.
    - `integrator`: "exact" (for forces that are linear over the step) or "semi_implicit" (the paper's eq. 18).
    - `warp`: False is linear modal analysis.
    - `gravity[3]`: m/s². None: zero.
    - `damping`: a tuple (ξ 1/s, ζ s) for `ξ + ζ λ`, or one coefficient (1/s) per mode, [m]. None: zero.

    Raises ModalError.
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
        """Advances by one step. `forces[k,3]`: N at the nodes, world axes, constant over the step, in addition to gravity. If it fails the
        state before it is kept. Constraints that cannot hold together are held in least squares, with a warning.
        """
    def settle(self, forces: ArrayLike | None = None) -> None:
        """Sets the state to the balance of elasticity with gravity and constant `forces[k,3]`, at rest; constraints are ignored."""
    def reset(self) -> None:
        """Resets the state to rest; constraints stay."""
    @property
    def amplitudes(self) -> _Floats:
        """Amplitudes q, float64 [m]; can be set."""
    @amplitudes.setter
    def amplitudes(self, amplitudes: ArrayLike) -> None: ...
    @property
    def velocities(self) -> _Floats:
        """Velocities q̇, 1/s, float64 [m]; can be set."""
    @velocities.setter
    def velocities(self, velocities: ArrayLike) -> None: ...
    def displacements(self) -> _Floats:
        """Returns the displacements of the nodes, float64 [k,3], metres."""
    def rotations(self) -> _Floats:
        """Returns the rotation vectors Ψq of the nodes, float64 [k,3]."""
    def constrain(
        self,
        positions: dict[int, ArrayLike] | None = None,
        orientations: dict[int, ArrayLike] | None = None,
        exercised: ArrayLike | None = None,
    ) -> None:
        """Replaces all constraints.

        - `positions`: {node: displacement from rest[3]}. `orientations`: {node: rotation vector[3]}. Without either, no node is held.
        - `exercised`: nodes at which the forces act. By default these are the constrained ones and, for orientations, their neighbours.
        """
    @property
    def constraints_held(self) -> dict[str, object]:
        """Report of how the constraints held in the last step, a dict:

        - "distance": m. "angle": rad. "passes". "overdetermined".
        - "slowed": the motion was slowed, or the constraints would have pumped energy in.
        - "stopped": the body was brought to rest, as no forces within the step could hold them without hurling it about.
        - "forces": {node: N[3] in the node's own frame}.
        """
    @property
    def modes(self) -> Modes:
        """Modes that move."""
    @property
    def step(self) -> float:
        """Length of a step, seconds."""

@final
class Deformer:
    """A surface under amplitudes, in real time: `u = R̃(Ψq) Φq` for each vertex [choi2003, §4.2].

    Deformer(modes, surface | points, form="vertex", engine="auto", precision="f32", device=None, skin_weights=None, max_offset=None):

    - `surface` or `points[n,3]`: the vertices, embedded in the body's nodes.
    - `form`: "vertex" warps each vertex, reading six numbers a mode for it; "embedded" warps the nodes that carry it.
    - `engine`: "auto" (the one measured to be quickest), "cpu" or "gpu". A device that cannot be used is replaced by the processor with one
      warning.
    - `precision`: of the stored modes, "f32" or "f16".
    - `device`: a part of the graphics device's name, or its number in `gpu_adapters`.
    - `skin_weights[n,b]`: weights of the vertices, on a Body only. None: the body's own.
    - `max_offset`: largest distance from its skin at which `positions` shows flesh, as a part of the body's size, on a Body only.
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
        """Returns the displacements at `amplitudes[m]`, float32 [n,3], metres, in rest axes. `to` and `onto` are as in `Clip.offsets`."""
    def positions(
        self,
        amplitudes: ArrayLike,
        pose: ArrayLike | None = None,
        to: ArrayLike | None = None,
        onto: _Places | None = None,
    ) -> _Places:
        """Returns the positions at `amplitudes[m]`, float32 [n,3], metres, world axes: at rest, or on a Body under `pose[b,4,4]`. `to` and
        `onto` are as in `Clip.offsets`.
        """
    def offsets(
        self,
        amplitudes: ArrayLike,
        pose: ArrayLike | None = None,
        to: ArrayLike | None = None,
        onto: _Places | None = None,
    ) -> _Places:
        """Returns the offsets that `amplitudes[m]` add to the skin, float32 [n,3], metres, world axes: `positions` less those at no amplitude,
        at rest or on a Body under `pose[b,4,4]`. `to` and `onto` are as in `Clip.offsets`.
        """
    @property
    def engine(self) -> str:
        """Engine that runs it now: "CPU, 2 threads", "GPU NAME"."""
    @property
    def measured(self) -> dict[str, float]:
        """Measured cost of a frame on each engine that was tried, {engine: seconds}."""
    @property
    def report(self) -> str:
        """Measurement and choice of the engine, in one line."""
    @property
    def warnings(self) -> list[str]:
        """Warnings: requests that could not be met."""
    def __len__(self) -> int: ...

def gpu_adapters() -> list[str]:
    """Returns the names of the graphics devices that could be used, the best first; names of software ones say so."""

def nonlinear_equilibrium(
    tets: TetMesh,
    material: Material,
    fixed: ArrayLike,
    forces: ArrayLike,
    model: _Model = "stvk",
    prescribed: ArrayLike | None = None,
    progress: _Progress | None = None,
) -> _Floats:
    """Returns the displacements, float64 [k,3] (m), at which elastic forces balance `forces[k,3]` (N at the nodes, world axes, constant).

    The solver is Newton's method with line search.

    - `fixed`: nodes that stay, indices or a mask [k].
    - `model`: "stvk" (St. Venant-Kirchhoff), "neohookean", "yeoh" or "linear".
    - `prescribed[k,3]`: displacements to which the fixed nodes are moved.

    Warns (RuntimeWarning) of tetrahedra that are inverted in the balance. Raises InputError, MotionError, Cancelled.
    """

@final
class NonlinearSimulation:
    """A tetrahedral body in fully nonlinear motion. Every step is a minimisation by Newton's method.

    NonlinearSimulation(tets, material, fixed, step, integrator="backward_euler", gravity=None, damping=None, model="stvk",
    mass="consistent"):

    - `fixed`: nodes that stay, indices or a mask [k].
    - `step`: seconds.
    - `integrator`: "backward_euler" or "midpoint" (second order, undamped).
    - `gravity[3]`: m/s². None: zero.
    - `damping`: (α 1/s, β s). None: zero.
    - `model`: as in `nonlinear_equilibrium`. `mass`: "consistent" or "lumped".

    Raises InputError, MotionError.
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
        """Advances by one step. `forces[k,3]`: N at the nodes, in addition to gravity. If it fails the state before it is kept."""
    def displacements(self) -> _Floats:
        """Returns the displacements of the nodes, float64 [k,3], metres."""
    def velocities(self) -> _Floats:
        """Returns the velocities of the nodes, float64 [k,3], m/s."""
    def set_state(self, displacements: ArrayLike, velocities: ArrayLike) -> None:
        """Sets another state: `displacements[k,3]` (m) and `velocities[k,3]` (m/s)."""

@final
class Template:
    """A force field in a frame of its own. The largest force equals `strength` (N/m³); a negative one turns it around.

    Template(kind, **parameters): `templates()` lists the kinds and their parameters; `Template("bump", radius=0.1, strength=2e4)` pushes
    along the frame's Z.

    Parameters are given by name; lengths are metres. Fields are compact and once continuously differentiable. Raises RigError.
    """

    def __new__(cls, kind: _Template, **parameters: float) -> Template: ...
    @staticmethod
    def sized(kind: _Template, reach: float, strength: float) -> Template:
        """Builds a template of usual proportions that reaches as far as `reach`, metres; strength in N/m³. Raises RigError."""
    @property
    def kind(self) -> _Template:
        """Kind of field, one of `templates()`."""
    @property
    def parameters(self) -> dict[str, float]:
        """Parameters by name."""
    @property
    def units(self) -> dict[str, str]:
        """Unit of each parameter, {name: unit}."""
    @property
    def support_radius(self) -> float:
        """Distance from the frame's origin beyond which there is no force, metres."""
    @property
    def depth(self) -> float:
        """Depth of flesh that the template fills below a skin, metres."""
    def outline(self) -> _Floats:
        """Returns lines that show where the field ends and which way it pushes, in its frame, float64 [m,2,3], metres."""
    def force(self, points: ArrayLike, frame: ArrayLike) -> _Floats:
        """Returns the force at `points[p,3]` with the template in `frame[4,4]`, float64 [p,3], N/m³."""
    def __eq__(self, other: object, /) -> bool: ...
    def __copy__(self) -> Template: ...
    def __deepcopy__(self, _memo: object) -> Template: ...
    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, float]]: ...

@final
class ParameterSpec:
    """One parameter of a template or a guide, as an interface shows it."""

    @property
    def name(self) -> str:
        """Name in code and files."""
    @property
    def kind(self) -> Literal["radius", "distance", "offset", "share", "angle", "strength"]:
        """Kind: "radius" (a positive length), "distance" (a length, zero or more), "offset" (a signed length), "share" (of a bone's length),
        "angle" or "strength".
        """
    @property
    def unit(self) -> str:
        """SI unit; empty for a share."""
    @property
    def label(self) -> str:
        """Name on a slider."""
    @property
    def doc(self) -> str:
        """Meaning."""
    @property
    def default(self) -> float:
        """Value of a new rig."""
    @property
    def range(self) -> tuple[float, float]:
        """Ends of a slider; values beyond are valid."""

@final
class RigSpec:
    """One kind of template or guide, as an interface shows it."""

    @property
    def name(self) -> str:
        """Name in code and files."""
    @property
    def label(self) -> str:
        """Name in a menu."""
    @property
    def doc(self) -> str:
        """Effect and use."""
    @property
    def icon(self) -> str:
        """Blender's name of an icon."""
    @property
    def parameters(self) -> list[ParameterSpec]:
        """Parameters in order."""
    @property
    def tilt(self) -> float:
        """Usual tilt of a template at a bone, radians; zero for a guide."""

def templates() -> list[RigSpec]:
    """Returns the kinds of templates with their parameters."""

def guides() -> list[RigSpec]:
    """Returns the kinds of guides with their parameters."""

@final
class BoneGuide:
    """A frame beside a bone.

    BoneGuide(bone, along=0.5, angle=0.0, distance=0.0, tilt=0.0):

    - `bone`: the bone's name, or its number.
    - `along`: place along the bone, 0 head, 1 tail.
    - `angle`: around the bone, radians; 0 towards world −Y, or +Z for bones along Y.
    - `distance`: from the bone, metres.
    - `tilt`: of the template's Z from outward (0) to head→tail (π/2), radians.

    Raises RigError.
    """

    def __new__(
        cls, bone: str | int, along: float = 0.5, angle: float = 0.0, distance: float = 0.0, tilt: float = 0.0
    ) -> BoneGuide: ...
    @property
    def bone(self) -> str | int:
        """Name of the bone, or its number."""
    @property
    def parameters(self) -> dict[str, float]:
        """Continuous parameters by name."""
    def __eq__(self, other: object, /) -> bool: ...
    def __copy__(self) -> BoneGuide: ...
    def __deepcopy__(self, _memo: object) -> BoneGuide: ...
    def __getnewargs_ex__(self) -> tuple[tuple[str | int], dict[str, float]]: ...

@final
class SkinGuide:
    """A frame under the body's own surface as given.

    SkinGuide(face, barycentric=None, depth=0.0, roll=0.0, tilt=0.0):

    - `face`: index of a face. `barycentric[3]`: weights of its corners. None: its middle.
    - `depth`: below the face, metres.
    - `roll`: about the face's normal, radians; 0: X along the face's first edge.
    - `tilt`: of Z from outward (0) to X (π/2), radians.

    Raises RigError.
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
        """Index of the face."""
    @property
    def barycentric(self) -> tuple[float, float, float]:
        """Weights of the face's corners."""
    @property
    def parameters(self) -> dict[str, float]:
        """Continuous parameters by name."""
    def __eq__(self, other: object, /) -> bool: ...
    def __copy__(self) -> SkinGuide: ...
    def __deepcopy__(self, _memo: object) -> SkinGuide: ...
    def __getnewargs_ex__(self) -> tuple[tuple[int, tuple[float, float, float]], dict[str, float]]: ...

@final
class FreeGuide:
    """A frame anywhere.

    FreeGuide(matrix, x=0.0, y=0.0, z=0.0, rx=0.0, ry=0.0, rz=0.0): `matrix[4,4]` in rest space is a position and a rotation; a uniform
    scale is taken out. The parameters x, y, z (m) and the rotation vector rx, ry, rz (radians) act after it and are zero by default. Raises
    RigError.
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
        """Frame with all parameters zero, float64 [4,4]."""
    @property
    def parameters(self) -> dict[str, float]:
        """Continuous parameters by name."""
    def __eq__(self, other: object, /) -> bool: ...
    def __copy__(self) -> FreeGuide: ...
    def __deepcopy__(self, _memo: object) -> FreeGuide: ...
    def __getnewargs_ex__(self) -> tuple[tuple[_Floats], dict[str, float]]: ...

@final
class Rig:
    """A template on a guide, driven by one control [capell2006, §4].

    Rig(template, guide, samples=[(gamma, {parameter: value})], name="Rig"):

    - Parameters are those of the template and of the guide. A sample holds all of them; those that it does not name are as in the template
      and the guide.
    - `samples` may come in any order. Between them parameters are linear in gamma, outside constant. Without samples the rig is the same at
      every gamma.

    Raises RigError naming the sample or the parameter.
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
        """Name that the artist gave it."""
    @property
    def template(self) -> Template:
        """Template with its own parameters."""
    @property
    def guide(self) -> BoneGuide | SkinGuide | FreeGuide:
        """Guide with its own parameters."""
    @property
    def samples(self) -> list[tuple[float, dict[str, float]]]:
        """Recorded samples, [(gamma, {parameter: value})], by ascending gamma."""
    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of all parameters in order: the template's, then the guide's."""
    @property
    def units(self) -> dict[str, str]:
        """Unit of each parameter, {name: unit}."""
    def parameters(self, gamma: float | None = None) -> dict[str, float]:
        """Returns all parameters at `gamma`, {name: value}. None: the last sample's."""
    def forces(self, body: Body, gamma: float | None = None, parameters: dict[str, float] | None = None) -> _Floats:
        """Returns the generalised forces on a body, float64 [nodes,3], N, rest axes, before the turn with the flesh.

        - `gamma`: value of the control. None: the last sample.
        - `parameters`: some of them replaced by name.

        Raises OutsideError where the template lies wholly outside the flesh, RigError where the guide's bone or face is missing.
        """
    def forces_vjp(
        self,
        body: Body,
        field: ArrayLike,
        gamma: float | None = None,
        parameters: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Returns the vector-Jacobian product of `forces` with `field[nodes,3]`: the derivatives of the sum of `field` times `forces` by every
        parameter, {name: derivative}.
        """
    def frame(self, body: Body, gamma: float | None = None, parameters: dict[str, float] | None = None) -> _Floats:
        """Returns the template's frame in rest space, columns X Y Z origin, float64 [4,4]."""
    def compliance(self, body: Body, gamma: float | None = None, parameters: dict[str, float] | None = None) -> float:
        """Returns how far flesh yields to the rig: the most that the skin of a body at rest moves, metres per N/m³ of strength, to first
        order. It is zero where bones hold all the flesh in reach. `gamma` and `parameters` are as in `forces`. Raises OutsideError,
        RigError.
        """
    def strength_range(
        self, body: Body, gamma: float | None = None, parameters: dict[str, float] | None = None
    ) -> tuple[float, float]:
        """Returns the strengths (N/m³) between which the rig by itself presses no flesh of a body at rest flatter than 0.3 of its volume;
        infinite without a limit. `gamma` and `parameters` are as in `forces`. Raises OutsideError, RigError.
        """
    def peak_displacements(self, body: Body) -> _Floats:
        """Returns the largest displacement of the skin of a body at rest under each sample, float64 [s], metres, negative where the strength
        is; [1] for a rig without samples. Samples outside the flesh go by the nearest one within. Raises OutsideError, RigError.
        """
    def with_peak_displacements(self, body: Body, displacements: Iterable[float | None]) -> Rig:
        """Returns the rig with the strengths at which its `peak_displacements` on a body are `displacements[s]`, metres. None in it: that
        strength stays. `rig.with_peak_displacements(other, rig.peak_displacements(body))` does to another body what the rig does to this
        one. Raises OutsideError, and RigError where bones hold all the flesh in reach.
        """
    def clamped(self, body: Body) -> Rig:
        """Returns the rig with strengths clamped to where, by itself, it presses no flesh of a body at rest flatter than 0.3 of its volume.
        `simulate` pushes with these. Raises RigError.
        """
    def check(self, body: Body) -> list[str]:
        """Returns what keeps the rig from pushing this body, one sentence each; empty if nothing does."""
    def __eq__(self, other: object, /) -> bool: ...
    def __copy__(self) -> Rig: ...
    def __deepcopy__(self, _memo: object) -> Rig: ...

def save_rigs(path: str | PathLike[str], rigs: Sequence[Rig], body: Body | None = None) -> None:
    """Writes rigs to a small text file (TOML); it is whole or as it was before. `body`: its flesh's `peak_displacements` are written beside
    the strengths, so that the file may be read for another body. Raises StorageError.
    """

def load_rigs(path: str | PathLike[str], body: Body | None = None) -> list[Rig]:
    """Reads rigs that `save_rigs` or a person wrote. `body`: strengths are those at which its flesh moves as far as the file says. None:
    strengths are those in the file. Raises RigFileError naming line and key, StorageError.
    """
