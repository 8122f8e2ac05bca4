"""A detection head: anchors, decoding, suppression, in one program with dynamic results."""
import numpy as np

import tvm
from tvm import relay

num_anchors, num_classes = 8, 3
rng = np.random.default_rng(4)
scores = rng.random((1, num_classes, num_anchors)).astype("float32")
centres = rng.random((1, num_anchors, 2)).astype("float32") * 10
sizes = np.full((1, num_anchors, 2), 3, "float32")
boxes = np.concatenate([centres - sizes / 2, centres + sizes / 2], -1).astype("float32")

s, b = relay.var("scores", shape=scores.shape), relay.var("boxes", shape=boxes.shape)
selected = relay.vision.all_class_non_max_suppression(
    b, s, relay.const(np.array([4]), "int64"), relay.const(np.array([0.4], "float32")), relay.const(np.array([0.2], "float32")), output_format="onnx"
)
rows = relay.strided_slice(selected[0], begin=relay.const(np.array([0, 0]), "int64"), end=relay.concatenate([selected[1], relay.const(np.array([3]), "int64")], 0), strides=relay.const(np.array([1, 1]), "int64"))
mod = tvm.IRModule.from_expr(relay.Function([s, b], relay.Tuple([rows, selected[1]])))
out, count = relay.create_executor("vm", mod=mod, device=tvm.cpu(0), target="llvm").evaluate()(scores, boxes)
found = [tuple(int(v) for v in row) for row in out.numpy()[: int(count.numpy()[0])]]


def iou(p, q):
    low, high = np.maximum(p[:2], q[:2]), np.minimum(p[2:], q[2:])
    inter = np.prod(np.maximum(high - low, 0))
    return inter / (np.prod(p[2:] - p[:2]) + np.prod(q[2:] - q[:2]) - inter)


wanted = []
for c in range(num_classes):
    kept = []
    for i in np.argsort(-scores[0, c], kind="stable"):
        if scores[0, c, i] > 0.2 and all(iou(boxes[0, i], boxes[0, j]) <= 0.4 for j in kept) and len(kept) < 4:
            kept.append(i)
    wanted += [(0, c, int(i)) for i in kept]
assert sorted(found) == sorted(wanted), (found, wanted)
print(found)
