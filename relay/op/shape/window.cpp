// Windows of a tensor as axes, and tensors in another layout.
#include <algorithm>

#include <relay/op/op.h>
#include <relay/op/registry/layout.h>
#include <relay/op/shape/window_attrs.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

// ---- sliding_window -----------------------------------------------------------------------------

TypeRef infer_sliding_window(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<SlidingWindowAttrs>();
  auto axis = static_cast<size_t>(normalize_axis(call, *attrs.axis, data.rank()));
  const auto& window = *attrs.window_shape;
  const auto& strides = *attrs.strides;
  call.require(window.size() == data.rank() - axis && strides.size() == window.size(),
               "window_shape and strides need an entry for each axis of data " +
                   shape_str(data.dims) + " from " + std::to_string(axis) + " on, found " +
                   std::to_string(window.size()) + " and " + std::to_string(strides.size()));
  std::vector<Dim> dims(data.dims.begin(), data.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  for (size_t d = 0; d < window.size(); ++d) {
    call.require(
        window[d] >= 1 && window[d] <= (int64_t{1} << 40),
        "entries of window_shape must be from 1 to 2^40, found " + std::to_string(window[d]));
    call.require(strides[d] >= 1 && strides[d] <= (int64_t{1} << 40),
                 "strides must be from 1 to 2^40, found " + std::to_string(strides[d]));
    Dim extent = data.dims[axis + d];
    call.require_at_most(window[d], extent,
                         "the window has extent " + std::to_string(window[d]) + " on axis " +
                             std::to_string(axis + d) + ", more than data " + shape_str(data.dims));
    dims.push_back(floor_div(extent - window[d], strides[d]) + 1);
  }
  dims.insert(dims.end(), window.begin(), window.end());
  return TensorType::make(dims, data.dtype);
}

void compute_sliding_window(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  const auto& attrs = call.attrs<SlidingWindowAttrs>();
  size_t axis = axis_position(*attrs.axis, data.rank());
  b.output(b.map(call.result().dims, [&](Indices i) {
    std::vector<Scalar> index(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(axis));
    for (size_t d = axis; d < data.rank(); ++d) {
      index.push_back(i[d] * (*attrs.strides)[d - axis] + i[d + data.rank() - axis]);
    }
    return data(index);
  }));
}

RELAY_OP("sliding_window")
    .doc("Every position of a window that slides along the last axes, then the window's elements.")
    .input("data", "Tensor.", tensor('T').rank(1, kAnyRank))
    .output("result", "Positions of the window, then its elements.", tensor('T'))
    .attrs<SlidingWindowAttrs>()
    .example(
        "fn (%x: Tensor[(5), float32]) { sliding_window(%x, axis=0, window_shape=[3], strides=[1]) "
        "}",
        "[1, 2, 3, 4, 5]")
    .relation(infer_sliding_window)
    .level(10)
    .compute(compute_sliding_window);

// ---- layout_transform ---------------------------------------------------------------------------

struct Layouts {
  Layout from;
  Layout to;
  std::string axes;

  explicit Layouts(const LayoutTransformAttrs& attrs)
      : from(Layout::parse(*attrs.src_layout, axes_of(*attrs.src_layout), "src_layout")),
        to(Layout::parse(*attrs.dst_layout, axes_of(*attrs.src_layout), "dst_layout")),
        axes(axes_of(*attrs.src_layout)) {}

  static std::string axes_of(const std::string& layout) {
    std::string axes;
    for (char c : layout) {
      if (c >= 'A' && c <= 'Z' && axes.find(c) == std::string::npos) axes += c;
    }
    return axes;
  }
};

TypeRef infer_layout_transform(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  Layouts layouts(call.attrs<LayoutTransformAttrs>());
  layouts.from.check(data.dims, "the data");
  // The extents of blocks are the layout's.
  for (char axis : layouts.axes) {
    std::vector<size_t> positions = layouts.from.positions(axis);
    std::vector<int64_t> blocks = layouts.from.blocks(axis);
    for (size_t k = 0; k < blocks.size(); ++k) {
      call.require_equal(data.dims[positions[k + 1]], blocks[k],
                         "layout " + layouts.from.text() + " has a block of " +
                             std::to_string(blocks[k]) + " on axis " +
                             std::to_string(positions[k + 1]) + " of data " + shape_str(data.dims));
    }
  }
  std::vector<Dim> dims = layouts.to.dims([&](char axis) {
    Dim extent = layouts.from.extent(data.dims, axis);
    int64_t block = 1;
    for (int64_t factor : layouts.to.blocks(axis)) block *= factor;
    if (block > 1) {
      call.require_multiple(extent, block,
                            "layout " + layouts.to.text() + " stores axis " + axis +
                                " in blocks of " + std::to_string(block) +
                                ", which do not divide its extent " + extent.str());
    }
    return extent;
  });
  return TensorType::make(dims, data.dtype);
}

void compute_layout_transform(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  Layouts layouts(call.attrs<LayoutTransformAttrs>());
  b.output(b.map(call.result().dims, [&](Indices i) {
    return data(layouts.from.index([&](char axis) { return layouts.to.coordinate(i, axis); }));
  }));
}

RELAY_OP("layout_transform")
    .doc("The same elements in another layout: axes in another order, cut into blocks and joined.")
    .input("data", "Tensor in src_layout.", tensor('T'))
    .output("result", "Tensor in dst_layout.", tensor('T'))
    .example(
        "fn (%x: Tensor[(1, 4, 1, 2), float32]) { layout_transform(%x, src_layout=\"NCHW\", "
        "dst_layout=\"NCHW2c\") }",
        "[[[[1, 2]], [[3, 4]], [[5, 6]], [[7, 8]]]]")
    .attrs<LayoutTransformAttrs>()
    .relation(infer_layout_transform)
    .level(5)
    .compute(compute_layout_transform);

}  // namespace
}  // namespace relay
