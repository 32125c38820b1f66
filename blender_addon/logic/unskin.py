# SPDX-License-Identifier: GPL-3.0-or-later
"""Offsets of a posed skin carried back to before the armature acts: the content of a shape key.

Where the armature stretches a vertex by B, the key's offset d is to become `B d = o` on the posed skin. Where B flattens (a joint
folded over under linear blending, a bone scaled to nothing) d is kept finite by damped least squares: in the singular directions of
B, `argmin |B d - o|^2 + e(s)^2 |d|^2`, with s in multiples of the usual stretch. The damping e is zero from `MIN_SINGULAR_SHARE` upwards
and grows to half of it share
where the direction is lost, so that d never exceeds about twelve times o and changes smoothly.
"""

from __future__ import annotations

import numpy as np

#: Singular values below this share of the character's usual ones are damped.
MIN_SINGULAR_SHARE = 0.1


def unskin(blended: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns `(d[n, 3], miss[n])` for the blended matrices B `blended` [n, 3, 3] and the wanted `offsets` o [n, 3].

    `miss` is |B d - o|, in the units of the offsets; zero except where B flattens.
    """
    blended = np.asarray(blended, dtype=np.float64)
    offsets = np.asarray(offsets, dtype=np.float64)
    stretch = np.sqrt((blended**2).sum(axis=(1, 2)) / 3.0)
    usual = float(np.median(stretch)) if len(stretch) else 0.0
    flat = MIN_SINGULAR_SHARE * usual
    determinant = np.linalg.det(blended)
    # The smallest singular value is at least |det| over the product of the other two, which is at most 1.5 stretch^2.
    regular = (np.abs(determinant) > flat * 1.5 * stretch**2) & (determinant != 0.0)
    deltas = np.zeros_like(offsets)
    deltas[regular] = np.linalg.solve(blended[regular], offsets[regular, :, None])[:, :, 0]
    doubtful = np.flatnonzero(~regular)
    if len(doubtful) and flat > 0.0:
        left, singular, right = np.linalg.svd(blended[doubtful])
        damping = np.where(singular < flat, (0.5 * flat) ** 2 * (1.0 - (singular / flat) ** 2), 0.0)
        share = singular / (singular**2 + damping)
        along = np.einsum("nji,nj->ni", left, offsets[doubtful])
        deltas[doubtful] = np.einsum("nji,nj->ni", right, share * along)
    miss = np.zeros(len(offsets))
    if len(doubtful):
        reached = np.einsum("nij,nj->ni", blended[doubtful], deltas[doubtful])
        miss[doubtful] = np.linalg.norm(reached - offsets[doubtful], axis=1)
    return deltas, miss
