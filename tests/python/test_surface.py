# SPDX-License-Identifier: MIT OR Apache-2.0
"""thew.Surface against numpy and analytic values."""

import numpy as np
import pytest
import shapes
import thew


def solid_angle_sum(vertices, triangles, point):
    """Returns the winding number by van Oosterom and Strackee's formula, one triangle at a time."""
    a, b, c = (vertices[triangles[:, i]] - point for i in range(3))
    la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
    det = np.einsum("ij,ij->i", a, np.cross(b, c))
    dots = np.einsum("ij,ij->i", a, b) * lc + np.einsum("ij,ij->i", b, c) * la + np.einsum("ij,ij->i", c, a) * lb
    return (2.0 * np.arctan2(det, la * lb * lc + dots)).sum() / (4.0 * np.pi)


def test_surface_from_arrays():
    """A surface returns its arrays and its size."""
    vertices, triangles = shapes.arm()
    surface = thew.Surface(vertices, triangles)
    assert np.array_equal(surface.vertices, vertices)
    assert np.array_equal(surface.triangles, triangles)
    assert surface.vertices.dtype == np.float64 and surface.vertices.flags.c_contiguous
    assert surface.triangles.dtype == np.int32 and surface.triangles.flags.c_contiguous
    assert surface.size == pytest.approx(np.linalg.norm(np.ptp(vertices, axis=0)))


def test_volume_divergence_theorem():
    """The volume is that of the divergence theorem."""
    for vertices, triangles in (shapes.box((1, 2, 3)), shapes.arm()):
        volume = thew.Surface(vertices, triangles).volume
        assert volume == pytest.approx(shapes.enclosed_volume(vertices, triangles), rel=1e-6)


def test_measure_volume_progress():
    """Measuring a volume reports its progress and can be cancelled."""
    surface = thew.Surface(*shapes.box((1, 2, 3)))
    with pytest.raises(thew.Cancelled):
        surface.measure_volume(lambda fraction, stage: False)
    fractions = []
    assert surface.measure_volume(lambda fraction, stage: fractions.append(fraction)) == surface.volume
    assert fractions == sorted(fractions) and fractions[-1] == 1.0


def test_refit_tails_progress():
    """The test of inside and outside reports its progress and can be cancelled."""
    vertices, triangles = shapes.arm(segments=160, rings=80)
    skeleton = thew.Skeleton(*shapes.arm_bones())
    weights = shapes.arm_weights(vertices)
    with pytest.raises(thew.Cancelled):
        skeleton.refit_tails(thew.Surface(vertices, triangles), weights, lambda fraction, stage: fraction < 0.5)
    fractions = []
    skeleton.refit_tails(thew.Surface(vertices, triangles), weights, lambda fraction, stage: fractions.append(fraction))
    assert fractions == sorted(fractions) and len(fractions) > 5


def test_inside_out_surface():
    """A surface turned inside out encloses the same volume."""
    vertices, triangles = shapes.box()
    surface = thew.Surface(vertices, triangles[:, ::-1])
    assert surface.volume == pytest.approx(8.0)
    assert surface.report().flipped_triangles == 12
    assert surface.winding_number([[0, 0, 0]])[0] == pytest.approx(1.0, abs=0.02)


def test_winding_number_solid_angles():
    """Winding numbers agree with sums of solid angles, also of a surface with holes."""
    vertices, triangles = shapes.arm()
    triangles = triangles[np.arange(len(triangles)) % 7 != 0]  # with holes
    points = np.random.default_rng(1).uniform([-0.3, -0.3, -0.3], [1.3, 0.3, 0.3], (200, 3))
    numbers = thew.Surface(vertices, triangles).winding_number(points)
    exact = [solid_angle_sum(vertices, triangles, p) for p in points]
    np.testing.assert_allclose(numbers, exact, atol=0.02)


def test_closest_point_of_box():
    """Closest points and distances of a box are the analytic ones."""
    surface = thew.Surface(*shapes.box())
    points = np.random.default_rng(2).uniform(-3, 3, (100, 3))
    places, distances, triangles = surface.closest_point(points)
    clipped = np.clip(points, -1, 1)
    outside = np.abs(points).max(axis=1) > 1
    np.testing.assert_allclose(places[outside], clipped[outside], atol=1e-12)
    inside = ~outside
    np.testing.assert_allclose(distances[inside], 1 - np.abs(points[inside]).max(axis=1), atol=1e-12)
    assert triangles.min() >= 0 and triangles.max() < 12


def test_queries_without_hierarchy():
    """Queries without a hierarchy equal those with one, even where the welded copy names corners in another order."""
    random = np.random.default_rng(3)
    vertices, triangles = shapes.arm()
    surface = thew.Surface(vertices, triangles[:, ::-1])
    points = random.uniform(-2, 2, (300, 3))
    directions = vertices.mean(axis=0) + random.normal(scale=0.3, size=(300, 3)) - points
    for mine, theirs in (
        (thew.closest_points(vertices, triangles, points), surface.closest_point(points)),
        (thew.cast_rays(vertices, triangles, points, directions), surface.cast_rays(points, directions)),
    ):
        found, distance, faces, barycentric = mine
        met = faces >= 0
        assert met.sum() > 50
        np.testing.assert_array_equal(theirs[2] >= 0, met)
        np.testing.assert_allclose(theirs[0], found, atol=1e-9)
        np.testing.assert_allclose(theirs[1], distance, atol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(found - points, axis=1)[met], distance[met], atol=1e-12)
        corners = vertices[triangles[faces[met]]]
        np.testing.assert_allclose(np.einsum("pk,pkj->pj", barycentric[met], corners), found[met], atol=1e-12)
        assert np.isnan(found[~met]).all() and np.isinf(distance[~met]).all() and np.isnan(barycentric[~met]).all()


def test_cast_rays_min_distance():
    """Rays begin at the given distance."""
    vertices, triangles = shapes.box()
    ray = [[-3.0, 0.2, 0.1]], [[2.0, 0.0, 0.0]]
    distances = [thew.cast_rays(vertices, triangles, *ray, least)[1][0] for least in (0.0, 2.5, 4.5)]
    assert distances == pytest.approx([2.0, 4.0, np.inf])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"triangles": [[0, 1, 8]]}, r"triangles\[0\] names a vertex that does not exist: there are 8"),
        ({"triangles": [[0, 1]]}, "triangles: expected an array of shape"),
        ({"origins": np.zeros((2, 3))}, "directions: expected one for each of 2 origins, got 1"),
        ({"origins": [[np.nan, 0, 0]]}, r"origins\[0\] has a value that is not a finite number"),
        ({"min_distance": np.nan}, "min_distance is negative or not a number"),
        ({"min_distance": -1.0}, "min_distance is negative or not a number"),
    ],
)
def test_cast_rays_refuses_bad_input(change, said):
    """Bad rays are refused with a sentence."""
    vertices, triangles = shapes.box()
    sound = {"vertices": vertices, "triangles": triangles, "origins": np.zeros((1, 3)), "directions": np.ones((1, 3))}
    with pytest.raises(thew.InputError, match=said):
        thew.cast_rays(**{**sound, **change})


def test_closest_points_skip_nan():
    """Triangles with corners that are not finite are never met."""
    vertices, triangles = shapes.box()
    vertices = vertices.copy()
    vertices[0] = np.nan
    distance, faces = thew.closest_points(vertices, triangles, np.zeros((1, 3)))[1:3]
    assert np.isfinite(distance[0]) and 0 not in triangles[faces[0]]
    assert thew.closest_points(vertices, triangles[:0], np.zeros((1, 3)))[2][0] == -1


def test_report_counts_defects():
    """The report counts the defects of a mesh."""
    vertices, triangles = shapes.box()
    messy = np.concatenate([vertices, vertices[:1], [[9.0, 9, 9]]])
    faces = triangles.copy()
    faces[0][faces[0] == 0] = 8  # a seam
    faces = np.concatenate([faces[:-1], [[1, 1, 2]]])  # a hole and a triangle without area
    report = thew.Surface(messy, faces).report()
    assert not report.closed
    assert report.boundary_edges == 3
    assert report.duplicate_vertices == 1
    assert report.degenerate_triangles == 1
    assert report.unused_vertices == 1
    assert report.components == 1
    assert len(report.sentences) >= 4
    assert all(sentence in str(report) for sentence in report.sentences)


@pytest.mark.parametrize(
    ("vertices", "triangles", "word"),
    [
        ([[0, 0, 0], [1, np.nan, 0], [0, 1, 0]], [[0, 1, 2]], "vertex 1"),
        ([[0, 0, 0], [1, 0, 0], [0, np.inf, 0]], [[0, 1, 2]], "vertex 2"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 1, 3]], "triangle 1"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, -1]], "negative"),
        ([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]], "area"),
        (np.zeros((0, 3)), np.zeros((0, 3), int), "no vertices"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [], "no faces"),
        ([[0, 0], [1, 0]], [[0, 1, 2]], "(2, 2)"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0.0, 1.0, 2.0]], "whole numbers"),
    ],
)
def test_surface_refuses_bad_meshes(vertices, triangles, word):
    """Bad meshes are refused with a sentence."""
    with pytest.raises(thew.InputError, match=word.replace("(", r"\(").replace(")", r"\)")):
        thew.Surface(vertices, triangles)
