"""Tables of places that all tools share: which minors a minor is made of, which parameter turns which bone, which vertices a point has."""

import itertools

import numpy as np


def minors(size):
    """Expansion by minors from the last row up, each minor once. For each row above the last: of each set of columns, in order, the
    columns (sets, r), the places of the sets without that column among those of the row below (sets, r), and the signs (sets, r)."""
    below = {(c,): i for i, c in enumerate(range(size))}
    levels = []
    for r in range(2, size + 1):
        sets = list(itertools.combinations(range(size), r))
        columns = np.array(sets, dtype=np.int64)
        places = np.array([[below[s[:j] + s[j + 1 :]] for j in range(r)] for s in sets], dtype=np.int64)
        levels.append((columns, places, np.tile((-1.0) ** np.arange(r), (len(sets), 1))))
        below = {s: i for i, s in enumerate(sets)}
    return levels


def bone_angles(bones):
    """For each bone the places of its turns around x, y, z among the 26 parameters; 26 stands for no turn."""
    places = np.full((bones, 3), 26, dtype=np.int64)
    for finger in range(5):
        first, at = 4 * finger + 2, 6 + 4 * finger
        places[first, 0], places[first, 2], places[first + 1, 0], places[first + 2, 0] = at, at + 1, at + 2, at + 3
    return places


def triangle_places(given):
    """The vertex of each point, or the three of its triangle (n, 3)."""
    data = given["data"]
    places = np.array(data["correspondences"], dtype=np.int64)
    return np.array(data["model"]["triangles"], dtype=np.int64)[places] if len(given["us"]) else places
