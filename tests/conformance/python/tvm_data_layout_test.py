"""Layouts as objects, and numbers that scripts compute from extents."""

import pickle

import pytest

import tvm
from tvm import relay, tir


def test_axes_of_a_layout():
    layout = tir.layout("NCHW16c")
    assert str(layout) == layout.name == "NCHW16c" and layout == tir.layout("NCHW16c") and len({layout, tir.layout("NCHW16c")}) == 1
    assert len(layout) == 5 and [layout[at] for at in range(5)] == ["N", "C", "H", "W", "c"]
    assert "c" in layout and "D" not in layout and layout.index_of("W") == 3 and layout.index_of("D") == -1
    assert layout.factor_of("C") == layout.factor_of("c") == 16 and layout.factor_of("N") == -1
    assert isinstance(layout, tvm.tir.data_layout.Layout) and isinstance(layout, tvm.Object) and layout.same_as(layout)
    assert layout[-1] == "c" and layout[-5] == "N"
    with pytest.raises(IndexError, match="and none at -6"):
        layout[-6]
    assert len(tir.layout("__undef__")) == 0 and tir.layout(layout) is layout
    with pytest.raises(IndexError, match="the layout 'NCHW16c' has 5 axes, and none at 5"):
        layout[5]


@pytest.mark.parametrize("text, said", [
    ("NcHW", "'NcHW' is no layout: at 'cHW' a capital, or a number and a small letter, is expected"), ("NC16x", "has a part x of the axis X, which it lacks"),
    ("NCN", "has the axis N twice"), ("N-C", "at '-C'"), ("NC99999999999c", "at '99999999999c'"), ("C0c", "at '0c'"),
])  # fmt: skip
def test_texts_that_are_no_layouts(text, said):
    with pytest.raises(ValueError) as caught:
        tir.layout(text)
    assert said in str(caught.value)


def test_a_layout_is_a_text():
    with pytest.raises(TypeError, match="a layout is a text such as NCHW16c, not int"):
        tir.layout(4)


@pytest.mark.parametrize("target, shape, moved, index, at", [
    ("NCHW16c", (1, 32, 7, 5), (1, 2, 7, 5, 16), (0, 18, 6, 4), (0, 1, 6, 4, 2)), ("NHWC", (2, 3, 4, 5), (2, 4, 5, 3), (1, 2, 3, 4), (1, 3, 4, 2)),
    ("NCHW", (1, 2, 3, 4), (1, 2, 3, 4), (0, 1, 2, 3), (0, 1, 2, 3)),
])  # fmt: skip
def test_the_way_between_layouts_and_back(target, shape, moved, index, at):
    way = tir.bijective_layout("NCHW", target)
    assert tuple(way.forward_shape(shape)) == moved and tuple(way.backward_shape(moved)) == shape
    assert tuple(way.forward_index(index)) == at and tuple(way.backward_index(at)) == index
    assert all(extent.value == int(extent) for extent in way.forward_shape(shape))


def test_extents_are_rounded_up_to_whole_parts():
    assert tuple(tir.bijective_layout("NCHW", "NCHW16c").forward_shape((1, 30, 7, 7))) == (1, 2, 7, 7, 16)
    n = tvm.te.var("n")
    moved = tir.bijective_layout(tir.layout("NCHW"), "NCHW4c").forward_shape((n, 8, 1, 1))
    assert moved[0].same_as(n) and tuple(moved[1:]) == (2, 1, 1, 4)


def test_layouts_that_have_no_way():
    with pytest.raises(ValueError, match="there is no way from the layout 'NCHW' to 'NHW': their axes differ"):
        tir.bijective_layout("NCHW", "NHW")
    with pytest.raises(ValueError, match="the layout 'NCHW' has 4 axes, and 2 values were given"):
        tir.bijective_layout("NCHW", "NHWC").forward_shape((1, 2))


def test_numbers_computed_from_extents_have_a_value():
    extent = relay.var("x", shape=(relay.Any(), 6)).type_annotation.shape[1]
    for found, wanted in ((extent * 2, 12), (2 * extent, 12), (extent + 1, 7), (1 - extent, -5), (extent // 4, 1), (extent % 4, 2), (-extent, -6)):
        assert found.value == wanted and found == wanted and isinstance(found, tir.IntImm) and found.dtype == "int32"
    assert type(extent / 4) is float and type(extent * 1.5) is float and (extent > 3) is True
    assert pickle.loads(pickle.dumps(extent * 2)) == 12
    assert tvm.arith.Analyzer().simplify(tir.const(3, "int64") * 4).dtype == "int64"
    assert tvm.arith.Analyzer().simplify(12).value == 12
