"""GradBench's `ht` in Relay: the text, and what it reads.

The function is written for several poses at once. The derivatives for all 26 parameters are then one derivative along directions: of 26
copies of the pose, each along its own parameter.
"""

import numpy as np
from tables import bone_angles, triangle_places


def tensor(*shape, dtype="float64"):
    return f"Tensor[({', '.join(map(str, shape))}), {dtype}]"


def levels(parents):
    """Bones by their distance from the root: for each level its bones, and the places of their parents in the level before."""
    depth, made = [], []
    for bone, parent in enumerate(parents):
        depth.append(0 if parent == -1 else depth[parent] + 1)
        made += [[] for _ in range(depth[bone] + 1 - len(made))]
        made[depth[bone]].append(bone)
    before = [[]] + made
    return [(np.array(here, "int32"), np.array([above.index(parents[b]) for b in here] if i else [], "int32"))
            for i, (above, here) in enumerate(zip(before, made))]  # fmt: skip


class Hand:
    """Arguments of @f behind theta and us: numbers of the model, tables of places. `declared` and `names` say them as text."""

    def __init__(self, given):
        data, model = given["data"], given["data"]["model"]
        places = triangle_places(given).astype("int32")
        steps = levels(model["parents"])
        positions, weights = np.array(model["base_positions"]), np.array(model["weights"])
        self.complicated, self.points, self.bones = len(given["us"]) > 0, len(places), len(model["parents"])
        self.vertices, self.levels = len(positions), len(steps)
        arrays = {
            "angles": bone_angles(self.bones).astype("int32").reshape(-1), "relatives": np.array(model["base_relatives"]),
            "inverses": np.array(model["inverse_base_absolutes"]), "positions": positions, "weights": weights,
            "mirror": np.array([[-1.0 if model["is_mirrored"] else 1.0], [1.0], [1.0]]), "points": np.array(data["points"]),
            "places": places.reshape(-1), "order": np.argsort(np.concatenate([bones for bones, _ in steps])).astype("int32"),
        }  # fmt: skip
        for i, (bones, above) in enumerate(steps):
            arrays[f"bones{i}"] = bones
            if i:
                arrays[f"above{i}"] = above
        self.arrays = list(arrays.values())
        self.names = ", ".join(f"%{name}" for name in arrays)
        self.declared = ", ".join(f"%{name}: {tensor(*a.shape, dtype=a.dtype)}" for name, a in arrays.items())


def product(a, b):
    """Products of matrices, whatever extents lie before the last two; one of them may have fewer."""
    return f"sum(expand_dims({a}, axis=-1) * expand_dims({b}, axis=-3), axis=[-2])"


def text(hand, poses):
    b, n, v, rows = hand.bones, hand.points, hand.vertices, []
    for i in range(hand.levels):
        rows.append(f"  %r{i} = take(%relative, %bones{i}, axis=1)")
        rows.append(f"  %a{i} = {product(f'take(%a{i - 1}, %above{i}, axis=1)', f'%r{i}') if i else '%r0'}")
    absolute = ", ".join(f"%a{i}" for i in range(hand.levels))
    corners = "take(%posed, %places, axis=2)"
    if hand.complicated:
        corners = f"""sum(reshape({corners}, newshape=[{poses}, 3, {n}, 3]) *
    concatenate((%us, 1f64 - sum(%us, axis=[1], keepdims=True)), axis=1), axis=[3])"""
    entries = {"cx": "cos(%x)", "sx": "sin(%x)", "cy": "cos(%y)", "sy": "sin(%y)", "cz": "cos(%z)", "sz": "sin(%z)"}
    trigonometry = "\n".join(f"  %{name} = {value}" for name, value in entries.items())
    rotation = ["%cz * %cy", "%cz * %sy * %sx - %sz * %cx", "%cz * %sy * %cx + %sz * %sx", "%zero",
                "%sz * %cy", "%sz * %sy * %sx + %cz * %cx", "%sz * %sy * %cx - %cz * %sx", "%zero",
                "negative(%sy)", "%cy * %sx", "%cy * %cx", "%zero", "%zero", "%zero", "%zero", "%zero + 1f64"]  # fmt: skip
    bones = ", ".join(f"expand_dims({entry}, axis=2)" for entry in rotation)

    def cut(array, begin, end):
        return f"strided_slice({array}, begin=[0, {begin}], end=[{poses}, {end}])"

    around = ["%nothing", "negative(%w2)", "%w1", "%w2", "%nothing", "negative(%w0)", "negative(%w1)", "%w0", "%nothing"]
    return f"""
def @f(%theta: {tensor(poses, 26)}, %us: {tensor(n if hand.complicated else 0, 2)}, {hand.declared}) -> {tensor(poses, n, 3)} {{
  %padded = concatenate((%theta, zeros(shape=[{poses}, 1], dtype="float64")), axis=1)
  %turns = reshape(take(%padded, %angles, axis=1), newshape=[{poses}, {b}, 3])
  %x = take(%turns, 0, axis=2)
  %y = take(%turns, 1, axis=2)
  %z = take(%turns, 2, axis=2)
{trigonometry}
  %zero = zeros(shape=[{poses}, {b}], dtype="float64")
  %turned = reshape(concatenate(({bones}), axis=2), newshape=[{poses}, {b}, 4, 4])
  %relative = {product("%relatives", "%turned")}
{chr(10).join(rows)}
  %absolute = take(concatenate(({absolute}), axis=1), %order, axis=1)
  %moves = strided_slice({product("%absolute", "%inverses")}, begin=[0, 0, 0, 0], end=[{poses}, {b}, 3, 4])
  // A vertex is a sum over bones and the four numbers of its place: one product of matrices.
  %skin = reshape(expand_dims(%weights, axis=2) * expand_dims(%positions, axis=1), newshape=[{v}, {4 * b}])
  %flat = reshape(transpose(%moves, axes=[0, 2, 1, 3]), newshape=[{3 * poses}, {4 * b}])
  %placed = reshape(nn.dense(%flat, %skin, units={v}), newshape=[{poses}, 3, {v}]) * %mirror
  // The turn of the whole hand around an axis.
  %axis = {cut("%theta", 0, 3)}
  %angle = sqrt(sum(%axis * %axis, axis=[1], keepdims=True))
  %unit = %axis / %angle
  %w0 = {cut("%unit", 0, 1)}
  %w1 = {cut("%unit", 1, 2)}
  %w2 = {cut("%unit", 2, 3)}
  %nothing = zeros_like(%w0)
  %cross = reshape(concatenate(({", ".join(around)}), axis=1), newshape=[{poses}, 3, 3])
  %s = reshape(sin(%angle), newshape=[{poses}, 1, 1])
  %c = reshape(cos(%angle), newshape=[{poses}, 1, 1])
  %one = expand_dims(one_hot(arange(0, 3, 1, dtype="int32"), 1f64, 0f64, depth=3, axis=-1, dtype="float64"), axis=0)
  %rotation = %one + %s * %cross + (1f64 - %c) * {product("%cross", "%cross")}
  %posed = nn.batch_matmul(%rotation, %placed) + expand_dims({cut("%theta", 3, 6)}, axis=2)
  expand_dims(%points, axis=0) - transpose({corners}, axes=[0, 2, 1])
}}
"""


def sides(hand):
    """@side0 to @side2: the sums of the errors along one axis. Each depends on the point's own two places alone."""
    return "\n".join(f"""
def @side{i}(%us: {tensor(hand.points, 2)}, %theta: {tensor(1, 26)}, {hand.declared}) -> float64 {{
  sum(take(@f(%theta, %us, {hand.names}), {i}, axis=2))
}}""" for i in range(3))
