"""nn.upsampling beyond what norm.py has, and nn.upsampling3d; the references are in resize.py."""

import itertools

from .core import Type, draw


def build(book):
    x = draw("upsampling", (1, 2, 3, 4), "float32")
    for method, corners in itertools.product(("nearest_neighbor", "bilinear", "bicubic"), (False, True)):
        for scale in ((2.0, 2.0), (1.5, 2.5), (1.0, 3.0), (0.5, 0.75)):
            book.add(
                "nn.upsampling",
                f"{method} {scale} {'corners' if corners else 'asymmetric'}",
                [x],
                exact=method == "nearest_neighbor",
                scale_h=scale[0],
                scale_w=scale[1],
                method=method,
                align_corners=corners,
            )
        book.records[-1]["source"] = "numpy"
    for layout, shape in (("NHWC", (2, 3, 4, 2)), ("HWCN", (2, 3, 2, 2))):
        for method in ("nearest_neighbor", "bilinear", "bicubic"):
            y = draw((layout, method), shape, "float32")
            book.add("nn.upsampling", f"{layout} {method}", [y], scale_h=2.0, scale_w=3.0, method=method, layout=layout)
    for dtype in ("float64", "float16", "uint8", "int32", "int64"):
        y = draw(("upsampling", dtype), (1, 1, 2, 4), dtype)
        for method in ("nearest_neighbor", "bilinear"):
            book.add("nn.upsampling", f"{dtype} {method}", [y], scale_h=2.0, scale_w=2.0, method=method)
    book.add("nn.upsampling", "no channels", [draw("none", (1, 0, 2, 2), "float32")], scale_h=2.0, scale_w=2.0, method="bicubic")
    book.add("nn.upsampling", "one element", [draw("single", (1, 1, 1, 1), "float32")], scale_h=3.0, scale_w=2.0, method="bicubic")
    y = draw("upsampling3d", (1, 2, 2, 3, 2), "float32")
    for method, mode in itertools.product(("nearest_neighbor", "trilinear"), ("half_pixel", "align_corners", "asymmetric")):
        for scale in ((2.0, 2.0, 2.0), (1.0, 1.5, 3.0)):
            book.add(
                "nn.upsampling3d",
                f"{method} {mode} {scale}",
                [y],
                exact=method == "nearest_neighbor",
                scale_d=scale[0],
                scale_h=scale[1],
                scale_w=scale[2],
                method=method,
                coordinate_transformation_mode=mode,
            )
    book.add("nn.upsampling3d", "NDHWC", [draw("ndhwc", (1, 2, 2, 3, 2), "float32")], scale_d=2.0, scale_h=1.0, scale_w=2.0, layout="NDHWC", method="trilinear")
    t = Type("float32", 1, 2, 3, 4)
    book.fail("nn.upsampling", "negative scale", "scales are positive", [t], scale_h=-2.0, scale_w=2.0)
    book.fail("nn.upsampling", "bicubic of bool", "the dtype is a number's", [Type("bool", 1, 1, 2, 2)], scale_h=2.0, scale_w=2.0, method="bicubic")
