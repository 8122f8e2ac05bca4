"""Detection: boxes, suppression, regions."""
import numpy as np

import tvm
import tvm.testing
import tvm.topi.testing
from tvm import relay, te
from tvm.relay.testing import run_infer_type


def verify(func, args, wanted):
    for target, dev in tvm.testing.enabled_targets():
        for kind in ("graph", "vm"):
            out = relay.create_executor(kind, device=dev, target=target).evaluate(func)(*args)
            tvm.testing.assert_allclose(out.numpy(), wanted, rtol=1e-3, atol=1e-4)


@tvm.testing.uses_gpu
def test_valid_counts():
    data = np.random.uniform(low=-2, high=2, size=(1, 20, 6)).astype("float32")
    keep = data[0][(data[0, :, 1] > 0.5) & (data[0, :, 0] >= 0)]
    x = relay.var("x", shape=data.shape)
    z = relay.vision.get_valid_counts(x, 0.5, id_index=0, score_index=1)
    count, boxes, _ = relay.create_executor("debug").evaluate(relay.Function([x], z.astuple()))(data)
    assert count.numpy().tolist() == [len(keep)]
    tvm.testing.assert_allclose(boxes.numpy()[0, : len(keep)], keep)
    assert (boxes.numpy()[0, len(keep) :] == -1).all()


@tvm.testing.uses_gpu
def test_non_max_suppression():
    n = te.size_var("n")
    x0 = relay.var("x0", relay.ty.TensorType((n, 5, 6), "float32"))
    x1, x2, x3 = relay.var("x1", shape=(n,), dtype="int32"), relay.var("x2", shape=(n, 5), dtype="int32"), relay.var("x3", shape=(), dtype="int32")
    z = relay.vision.non_max_suppression(x0, x1, x2, x3, iou_threshold=0.7, force_suppress=True, top_k=2, return_indices=False)
    assert run_infer_type(z).checked_type == relay.TensorType((n, 5, 6), "float32")
    boxes = np.array([[[0, 0.9, 0, 0, 10, 10], [0, 0.8, 1, 1, 10, 10], [1, 0.7, 50, 50, 60, 60], [1, 0.1, 80, 80, 90, 90], [-1, -1, 0, 0, 0, 0]]], "float32")
    params = [relay.var("b", shape=(1, 5, 6)), relay.var("c", shape=(1,), dtype="int32"), relay.var("i", shape=(1, 5), dtype="int32"), relay.var("m", shape=(), dtype="int32")]
    func = relay.Function(params, relay.vision.non_max_suppression(*params, iou_threshold=0.5, force_suppress=False, return_indices=False))
    out = relay.create_executor("graph").evaluate(func)(boxes, np.array([4], "int32"), np.arange(5, dtype="int32")[None], np.array(-1, "int32")).numpy()
    kept = out[0][out[0, :, 1] > 0]
    assert np.allclose(sorted(kept[:, 1]), [0.1, 0.7, 0.9])


@tvm.testing.uses_gpu
def test_roi_align():
    def one(mode, ratio):
        data = np.random.rand(2, 3, 12, 12).astype("float32")
        rois = np.random.uniform(0, 11, size=(4, 5)).astype("float32")
        rois[:, 0] = np.random.randint(0, 2, 4)
        rois[:, 3:] = np.maximum(rois[:, 3:], rois[:, 1:3])
        x, r = relay.var("x", shape=data.shape), relay.var("r", shape=rois.shape)
        z = relay.vision.roi_align(x, r, pooled_size=(3, 3), spatial_scale=1.0, sample_ratio=ratio, layout="NCHW", mode=mode)
        verify(relay.Function([x, r], z), (data, rois), tvm.topi.testing.roi_align_nchw_python(data, rois, pooled_size=3, spatial_scale=1.0, sample_ratio=ratio, mode=mode.encode()))

    one("avg", 2)
    one("avg", -1)
    one("max", 2)


@tvm.testing.uses_gpu
def test_multibox_prior():
    x = relay.var("x", shape=(1, 3, 4, 4))
    z = relay.vision.multibox_prior(x, sizes=(0.3, 0.5), ratios=(1, 2), clip=True)
    zz = run_infer_type(z)
    assert zz.checked_type == relay.TensorType((1, 4 * 4 * 3, 4), "float32") and "sizes=" in z.astext()
    boxes = relay.create_executor("graph").evaluate(relay.Function([x], z))(np.zeros((1, 3, 4, 4), "float32")).numpy()
    assert (boxes >= 0).all() and (boxes <= 1).all() and (boxes[..., 2] >= boxes[..., 0]).all()


@tvm.testing.uses_gpu
def test_deformable_conv2d():
    data, offset = np.random.rand(1, 4, 7, 7).astype("float32"), np.random.uniform(-0.3, 0.3, (1, 18, 5, 5)).astype("float32")
    weight = np.random.rand(2, 4, 3, 3).astype("float32")
    x, o, w = relay.var("x", shape=data.shape), relay.var("o", shape=offset.shape), relay.var("w", shape=weight.shape)
    y = relay.nn.deformable_conv2d(x, o, w, channels=2, kernel_size=(3, 3), deformable_groups=1, groups=1)
    wanted = tvm.topi.testing.deformable_conv2d_nchw_python(data, offset, weight, stride=1, padding=0, dilation=1, deformable_groups=1, groups=1)
    # Taps that leave the image are weighed in another way there.
    inner = (slice(None), slice(None), slice(1, 4), slice(1, 4))
    out = relay.create_executor("graph").evaluate(relay.Function([x, o, w], y))(data, offset, weight).numpy()
    tvm.testing.assert_allclose(out[inner], wanted[inner], rtol=1e-4)


if __name__ == "__main__":
    tvm.testing.main()
