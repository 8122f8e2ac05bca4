"""The kernels that look for something, and those that interpolate: against PyTorch, torchvision and SciPy.

Inputs are made by NumPy with a fixed seed, so that both sides get the same numbers; their outputs are compared.
"""

import numpy as np

from case import Case, tensor

RESIZED = (((1, 3, 224, 224), (448, 448)), ((8, 64, 56, 56), (112, 112)), ((1, 3, 1080, 1920), (540, 960)))
POOLED = (((1, 256, 50, 50), 1000, 7, 1 / 16), ((1, 256, 200, 272), 512, 7, 1 / 4), ((2, 64, 100, 100), 128, 14, 1 / 8))
BOXES = (1000, 5000, 20000)
CHOSEN = (((1, 32000), 50), ((64, 1000), 5), ((1, 1 << 20), 100))
SORTED = ((4096, 1024), (64, 32000), (1, 1 << 20))
REPEATED = ((10_000, 1000), (1 << 20, 1 << 16), (1 << 22, 1 << 22))
TRANSFORMED = ((4096, 256), (64, 16384), (128, 1000))


def make(name, shapes, body, prepare, peer, **more):
    """A case whose parameters %x, %y … have the given shapes and dtypes, made by `prepare(rng)`."""
    params = ", ".join(f"%{letter}: {tensor(s, dtype)}" for letter, (s, dtype) in zip("xyzw", shapes))
    return Case(name, f"def @main({params}) {{\n{body}\n}}\n", tuple(s for s, _ in shapes), peer, prepare=prepare, **more)


def resizes():
    for method, mode, options in (
        ("nearest_neighbor", "nearest", 'coordinate_transformation_mode="asymmetric", rounding_method="floor"'),
        ("linear", "bilinear", ""),
        ("cubic", "bicubic", "cubic_alpha=-0.75"),
    ):
        for shape, size in RESIZED:
            body = f'  image.resize2d(%x, size={list(size)}, method="{method}"{", " if options else ""}{options})'
            yield make(
                f"resize2d {method} {shape} to {size}", [(shape, "float32")], body, None,
                lambda t, size=size, mode=mode: lambda x: t.nn.functional.interpolate(x, size=size, mode=mode),
            )


def regions():
    def prepare(shape, count, scale):
        def inputs(rng):
            height, width = shape[2] / scale, shape[3] / scale
            corner = rng.random((count, 2)) * [width, height] * 0.8
            size = rng.random((count, 2)) * [width, height] * 0.3 + 8
            image = rng.integers(0, shape[0], (count, 1))
            rois = np.concatenate([image, corner, corner + size], 1).astype(np.float32)
            return [rng.random(shape, dtype=np.float32), rois]

        return inputs

    def peer(size, scale):
        def bind(t):
            from torchvision.ops import roi_align

            return lambda x, rois: roi_align(x, rois, size, scale, sampling_ratio=2)

        return bind

    for shape, count, size, scale in POOLED:
        body = f"  vision.roi_align(%x, %y, pooled_size=[{size}, {size}], spatial_scale={scale!r}, sample_ratio=2)"
        yield make(
            f"roi_align {shape}, {count} regions to {size}", [(shape, "float32"), ((count, 5), "float32")], body,
            prepare(shape, count, scale), peer(size, scale), tolerance=1e-4,
        )


def suppressions():
    def prepare(count):
        def inputs(rng):
            corner = rng.random((count, 2)) * 600
            size = rng.random((count, 2)) * 100 + 10
            boxes = np.concatenate([corner, corner + size], 1).astype(np.float32)
            return [boxes[None], rng.permutation(count).astype(np.float32)[None, None] / count]

        return inputs

    def bind(t):
        from torchvision.ops import nms

        return lambda boxes, scores: nms(boxes[0], scores[0, 0], 0.5)

    for count in BOXES:
        shapes = [((1, count, 4), "float32"), ((1, 1, count), "float32")]
        body = "  %0 = vision.all_class_non_max_suppression(%x, %y, -1i64, 0.5f, -1f);\n  %0.0"
        yield make(
            f"suppression of {count} boxes", shapes, body, prepare(count), bind, ours=lambda outputs: [outputs[0][:, 2]]
        )


def choices():
    for shape, k in CHOSEN:
        yield make(
            f"topk {shape} {k}", [(shape, "float32")], f'  topk(%x, k={k}, ret_type="both", dtype="int64")',
            lambda rng, shape=shape: [distinct(rng, shape)], lambda t, k=k: lambda x: t.topk(x, k),
        )
    for shape in SORTED:
        yield make(
            f"sort {shape}", [(shape, "float32")], "  sort(%x)", lambda rng, shape=shape: [distinct(rng, shape)],
            lambda t: lambda x: t.sort(x)[0],
        )
        yield make(
            f"argsort {shape}", [(shape, "float32")], '  argsort(%x, dtype="int64")',
            lambda rng, shape=shape: [distinct(rng, shape)], lambda t: lambda x: t.argsort(x, stable=True),
        )
    for count, kinds in REPEATED:
        yield make(
            f"unique of {count} elements, {kinds} different", [((count,), "int64")],
            '  %0 = unique(%x, return_counts=True, dtype="int64");\n  (%0.0, %0.2, %0.4)',
            lambda rng, count=count, kinds=kinds: [rng.integers(0, kinds, count)],
            lambda t: lambda x: t.unique(x, return_inverse=True, return_counts=True),
        )


def distinct(rng, shape):
    """Numbers of which no two in a row are equal, so that there is one right order."""
    rows, columns = shape
    return np.stack([rng.permutation(columns) for _ in range(rows)]).astype(np.float32) / columns


def transforms():
    def bind(t):
        from scipy import fft

        return lambda x: fft.fft(x, workers=t.get_num_threads())

    for shape in TRANSFORMED:
        options = dict(theirs=lambda outputs: [outputs[0].real, outputs[0].imag], tolerance=1e-4)
        shapes = [(shape, "float32"), (shape, "float32")]
        yield make(
            f"dft {shape}, SciPy", shapes, "  dft(%x, %y)", None, bind, **options,
            adapt=lambda t, inputs: [t.complex(*inputs).numpy()],
        )
        yield make(
            f"dft {shape}, PyTorch", shapes, "  dft(%x, %y)", None, lambda t: t.fft.fft, **options,
            adapt=lambda t, inputs: [t.complex(*inputs)],
        )


def cases():
    yield from resizes()
    yield from regions()
    yield from suppressions()
    yield from choices()
    yield from transforms()
