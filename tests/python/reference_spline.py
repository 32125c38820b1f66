# SPDX-License-Identifier: MIT OR Apache-2.0
"""Wiggly splines in as many digits as it takes, another way: as a boundary value problem for (ω, ω', r, r').

The minimiser of ∫ r² obeys `ω'' = r − 2δω' − λω − g` and `r'' = 2δr' − λr`. Matrix exponentials carry that state over each interval;
what is unknown (slopes and r, r' at the knots) follows from one linear system. Nothing here is shared with the closed forms under test.
"""

import itertools
import math

import mpmath as mp


def spline(times, values, stiffness, damping, gravity, start, end, at, digits=40):
    """Returns values of the spline at times `at`; ends are natural where start or end is None."""
    # Exponentials of δT have as many digits before the point; where stiffness outweighs damping the rest swings and does not grow.
    # Squared from a short time on, they lose a digit in three squarings, of which there are as many as the stiffness has bits.
    span = max(b - a for a, b in itertools.pairwise(times))
    growth = (abs(damping) + max(damping * damping - stiffness, 0.0) ** 0.5) * span
    mp.mp.dps = int(digits + 1.8 * growth + 3.0 * math.log10(1.0 + abs(stiffness)))
    lam, delta, g = mp.mpf(stiffness), mp.mpf(damping), mp.mpf(gravity)
    t = [mp.mpf(x) for x in times]
    system = mp.matrix(
        [[0, 1, 0, 0, 0], [-lam, -2 * delta, 1, 0, -g], [0, 0, 0, 1, 0], [0, 0, -lam, 2 * delta, 0], [0] * 5]
    )
    count = len(t) - 1

    def propagator(length):
        return mp.expm(system * length, method="taylor") if growth < 400 else mp.expm(system * length)

    maps = [propagator(b - a) for a, b in itertools.pairwise(t)]
    # Unknown per interval: slope, r and r' at its beginning.
    n = 3 * count
    a, b = mp.zeros(n), mp.zeros(n, 1)
    row = 0
    for k in range(count):
        m = maps[k]
        known = [m[i, 0] * mp.mpf(values[k]) + m[i, 4] for i in range(3)]
        own = [3 * k, 3 * k + 1, 3 * k + 2]
        for j in range(3):
            a[row, own[j]] = m[0, j + 1]
        b[row] = mp.mpf(values[k + 1]) - known[0]
        row += 1
        if k + 1 < count:
            for i in (1, 2):  # slope and r are continuous
                for j in range(3):
                    a[row, own[j]] = m[i, j + 1]
                a[row, 3 * (k + 1) + i - 1] = -1
                b[row] = -known[i]
                row += 1
        else:
            i, wanted = (2, 0) if end is None else (1, mp.mpf(end))
            for j in range(3):
                a[row, own[j]] = m[i, j + 1]
            b[row] = wanted - known[i]
            row += 1
    a[row, 1 if start is None else 0] = 1
    b[row] = 0 if start is None else mp.mpf(start)
    x = mp.lu_solve(a, b)
    result = []
    for time in at:
        k = max(i for i in range(count) if t[i] <= mp.mpf(time))
        m = mp.expm(system * (mp.mpf(time) - t[k]))
        state = [mp.mpf(values[k]), x[3 * k], x[3 * k + 1], x[3 * k + 2], 1]
        result.append(float(mp.fsum(m[0, j] * state[j] for j in range(5))))
    return result
