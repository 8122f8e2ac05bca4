"""Resizing, cropping and sampling of images against topi.testing."""
import numpy as np

import tvm
import tvm.testing
import tvm.topi.testing as ref
from tvm import relay


class TestResize2d:
    interpolate_method = tvm.testing.parameter("nearest_neighbor", "linear", "cubic")
    coord_trans = tvm.testing.parameter("asymmetric", "align_corners", "half_pixel")
    layout = tvm.testing.parameter("NHWC", "NCHW")
    dshape, scale = tvm.testing.parameters(((1, 4, 4, 2), 2), ((1, 6, 5, 3), 3))

    def test_resize(self, target, dev, dshape, scale, interpolate_method, layout, coord_trans):
        if interpolate_method == "nearest_neighbor" and coord_trans == "half_pixel":
            return
        if layout == "NCHW":
            dshape = (dshape[0], dshape[3], dshape[1], dshape[2])
        size = tuple(dshape[layout.index(a)] * scale for a in "HW")
        x_data = np.random.uniform(size=dshape).astype("float32")
        wanted = ref.resize2d_python(x_data, (scale, scale), layout, interpolate_method, coord_trans)
        x = relay.var("x", relay.TensorType(dshape, "float32"))
        rounding = {"nearest_neighbor": "round" if coord_trans == "align_corners" else "floor"}.get(interpolate_method, "")
        z = relay.image.resize2d(x, size, None, layout, interpolate_method, coordinate_transformation_mode=coord_trans, rounding_method=rounding)
        assert tuple(int(d) for d in relay.testing.run_infer_type(z).checked_type.shape) == wanted.shape
        out = relay.create_executor("graph", device=dev, target=target).evaluate(relay.Function([x], z))(x_data)
        tvm.testing.assert_allclose(out.numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_crop_and_resize():
    image = np.random.rand(2, 9, 8, 3).astype("float32")
    boxes = np.array([[0.0, 0.1, 0.6, 0.9], [0.3, 0.2, 1.0, 0.8]], "float32")
    indices = np.array([1, 0], "int32")
    img, bx, bi = relay.var("img", shape=image.shape), relay.var("bx", shape=boxes.shape), relay.var("bi", shape=(2,), dtype="int32")
    z = relay.image.crop_and_resize(img, bx, bi, crop_size=(5, 4), layout="NHWC", method="bilinear")
    out = relay.create_executor("debug").evaluate(relay.Function([img, bx, bi], z))(image, boxes, indices)
    tvm.testing.assert_allclose(out.numpy(), ref.crop_and_resize_python(image, boxes, indices, (5, 4), "NHWC"), rtol=1e-4, atol=1e-5)


def test_grid_sample():
    data, theta = np.random.rand(2, 3, 6, 6).astype("float32"), np.random.uniform(-0.7, 0.7, (2, 2, 3)).astype("float32")
    x, t = relay.var("x", shape=data.shape), relay.var("t", shape=theta.shape)
    z = relay.image.grid_sample(x, relay.image.affine_grid(t, (4, 5)))
    out = relay.create_executor("graph").evaluate(relay.Function([x, t], z))(data, theta)
    tvm.testing.assert_allclose(out.numpy(), ref.grid_sample_python(data, ref.affine_grid_python(theta, (4, 5))), rtol=1e-3, atol=1e-4)


def test_upsampling_and_depth_to_space():
    data = np.random.rand(1, 8, 3, 3).astype("float32")
    x = relay.var("x", shape=data.shape)
    up = relay.nn.upsampling(x, scale_h=2, scale_w=2, layout="NCHW", method="nearest_neighbor")
    out = relay.create_executor("graph").evaluate(relay.Function([x], up))(data)
    tvm.testing.assert_allclose(out.numpy(), data.repeat(2, 2).repeat(2, 3))
    for mode in ("DCR", "CRD"):
        out = relay.create_executor("graph").evaluate(relay.Function([x], relay.nn.depth_to_space(x, 2, "NCHW", mode)))(data)
        tvm.testing.assert_allclose(out.numpy(), ref.depth_to_space_python(data, 2, mode=mode))


if __name__ == "__main__":
    tvm.testing.main()
