// Operators that take parts of a tensor by position.
#include <algorithm>

#include <relay/op/op.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/layout_flow.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

struct AxisSlice {
  Dim begin;
  int64_t stride = 1;
  Dim extent;
};

// The canonical slice of every axis. Bounds clamp as in Python.
std::vector<AxisSlice> canonical_slices(const RelationCall& call, const std::vector<Dim>& dims) {
  const auto& attrs = call.attrs<StridedSliceAttrs>();
  bool size_mode = attrs.slice_mode == SliceMode::kSize;
  std::vector<AxisSlice> slices;
  for (Dim dim : dims) slices.push_back({0, 1, dim});

  std::vector<size_t> axes;
  if (attrs.axes) {
    for (int64_t axis : *attrs.axes) {
      auto position = static_cast<size_t>(normalize_axis(call, axis, dims.size(), "axes entry"));
      call.require(std::find(axes.begin(), axes.end(), position) == axes.end(),
                   "axes names axis " + std::to_string(axis) + " twice");
      axes.push_back(position);
    }
    call.require(attrs.begin->size() == axes.size() && attrs.end->size() == axes.size(),
                 "begin, end and axes differ in length");
  } else {
    size_t count = std::max(attrs.begin->size(), attrs.end->size());
    call.require(count <= dims.size(),
                 "begin and end have more entries than the rank of " + shape_str(dims));
    for (size_t i = 0; i < count; ++i) axes.push_back(i);
  }
  size_t given = attrs.strides ? attrs.strides->size() : 0;
  call.require(given <= axes.size() || !attrs.axes, "strides has more entries than axes");

  for (size_t k = 0; k < axes.size(); ++k) {
    Dim dim = dims[axes[k]];
    AxisSlice& slice = slices[axes[k]];
    slice.stride = !size_mode && k < given ? (*attrs.strides)[k] : 1;
    call.require(slice.stride != 0, "a stride must not be 0");
    slice.stride =
        std::clamp(slice.stride, -kLargestExtent, kLargestExtent);  // one element all the same
    bool forwards = slice.stride > 0;
    // Positions a slice may start or stop at: 0…dim forwards, -1…dim-1 backwards.
    Dim lowest = forwards ? Dim(0) : Dim(-1);
    Dim highest = forwards ? dim : dim - 1;
    auto position = [&](int64_t value) {
      constexpr int64_t kFar = int64_t{1} << 40;
      if (value >= kFar) return highest;
      if (value <= -kFar) return lowest;
      return min(max(value < 0 ? dim + value : Dim(value), lowest), highest);
    };
    slice.begin = k < attrs.begin->size() ? position((*attrs.begin)[k])
                  : forwards              ? Dim(0)
                                          : dim - 1;
    if (size_mode) {
      int64_t size = k < attrs.end->size() ? (*attrs.end)[k] : -1;
      call.require(size >= -1 && size <= kLargestExtent, "a size is " + std::to_string(size));
      slice.extent = size == -1 ? dim - slice.begin : min(Dim(size), dim - slice.begin);
      continue;
    }
    Dim end = k < attrs.end->size() ? position((*attrs.end)[k]) : forwards ? dim : Dim(-1);
    Dim distance = forwards ? end - slice.begin : slice.begin - end;
    if (!dim.is_any()) {
      call.require_at_most(0, distance,
                           "begin " + slice.begin.str() + " lies " +
                               (forwards ? "after" : "before") + " end " + end.str() + " on axis " +
                               std::to_string(axes[k]) + " although the stride is " +
                               (forwards ? "positive" : "negative"));
    }
    Dim step = forwards ? slice.stride : -slice.stride;
    slice.extent = ceil_div(max(distance, Dim(0)), step);
    if (dim.is_any()) slice.extent = Dim::any();
  }
  return slices;
}

TypeRef infer_strided_slice(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  std::vector<Dim> dims;
  for (const AxisSlice& slice : canonical_slices(call, data.dims)) dims.push_back(slice.extent);
  return TensorType::make(dims, data.dtype);
}

void compute_strided_slice(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  std::vector<TypeRef> inputs{call.input(0)};
  std::vector<AxisSlice> slices =
      canonical_slices(RelationCall(inputs, call.attrs_ref()), data.dims());
  b.output(b.map(call.result().dims, [&](Indices i) {
    std::vector<Scalar> index;
    for (size_t k = 0; k < slices.size(); ++k) {
      index.push_back(te::from_dim(slices[k].begin) + i[k] * slices[k].stride);
    }
    return data(index);
  }));
}

TypeRef infer_slice_like(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo like = call.tensor(1);
  const auto& attrs = call.attrs<SliceLikeAttrs>();
  auto cut = [&](size_t axis) {
    Dim from = data.dims[axis];
    Dim to = like.dims[axis];
    call.require_at_most(to, from,
                         "axis " + std::to_string(axis) + " of " + shape_str(data.dims) +
                             " is shorter than that of " + shape_str(like.dims));
    data.dims[axis] = to;
  };
  if (attrs.axes && !attrs.axes->empty()) {
    for (int64_t axis : *attrs.axes) {
      auto position = static_cast<size_t>(normalize_axis(call, axis, data.rank(), "axes entry"));
      call.require(position < like.rank(), "shape_like has no axis " + std::to_string(axis));
      cut(position);
    }
  } else {
    call.require(data.rank() == like.rank(), "data and shape_like must have one rank, found " +
                                                 std::to_string(data.rank()) + " and " +
                                                 std::to_string(like.rank()));
    for (size_t i = 0; i < data.rank(); ++i) cut(i);
  }
  return TensorType::make(data.dims, data.dtype);
}

// The beginning and the length of each part of a split.
std::vector<std::pair<Dim, Dim>> split_parts(const RelationCall& call, Dim dim) {
  const auto& attrs = call.attrs<SplitAttrs>();
  std::vector<std::pair<Dim, Dim>> parts;
  if (const auto* sections = attrs.indices_or_sections.get<int64_t>()) {
    call.require(*sections > 0 && *sections <= 100000,
                 "cannot split into " + std::to_string(*sections) + " parts");
    call.require_multiple(dim, *sections,
                          "an extent of " + dim.str() + " does not split into " +
                              std::to_string(*sections) + " equal parts");
    Dim extent = floor_div(dim, *sections);
    for (int64_t i = 0; i < *sections; ++i) parts.emplace_back(extent * i, extent);
    return parts;
  }
  const auto* list = attrs.indices_or_sections.get<AttrValue::List>();
  call.require(list != nullptr, "indices_or_sections must be an integer or a list of integers");
  int64_t previous = 0;
  Dim begin = 0;
  // Made once: it has all indices.
  const std::string message = "the indices to split at must rise and stay within the extent " +
                              dim.str() + ", found " + attrs.indices_or_sections.str();
  for (const AttrValue& item : *list) {
    const auto* index = item.get<int64_t>();
    call.require(index != nullptr, "indices_or_sections must be an integer or a list of integers");
    call.require(*index >= previous, message);
    call.require_at_most(*index, dim, message);
    parts.emplace_back(begin, Dim(*index) - begin);
    begin = *index;
    previous = *index;
  }
  parts.emplace_back(begin, dim - begin);
  return parts;
}

TypeRef infer_split(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  auto axis = static_cast<size_t>(normalize_axis(call, call.attrs<SplitAttrs>().axis, data.rank()));
  std::vector<TypeRef> fields;
  for (const auto& [begin, extent] : split_parts(call, data.dims[axis])) {
    std::vector<Dim> dims = data.dims;
    dims[axis] = extent;
    fields.push_back(TensorType::make(dims, data.dtype));
  }
  return TupleType::make(std::move(fields));
}

void compute_split(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  std::vector<TypeRef> inputs{call.input(0)};
  RelationCall relation(inputs, call.attrs_ref());
  auto axis =
      static_cast<size_t>(normalize_axis(relation, call.attrs<SplitAttrs>().axis, data.rank()));
  size_t k = 0;
  for (const auto& part : split_parts(relation, data.dim(axis))) {
    Dim begin = part.first;
    b.output(b.map(call.result(k++).dims, [&](Indices i) {
      return data(te::replace(i, axis, i[axis] + te::from_dim(begin)));
    }));
  }
}

TypeRef infer_reverse(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<ReverseAttrs>();
  if (attrs.axis) normalize_axis(call, *attrs.axis, data.rank());
  return call.input(0);
}

void compute_reverse(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  const auto& attrs = call.attrs<ReverseAttrs>();
  b.output(b.map(call.result().dims, [&](Indices i) {
    std::vector<Scalar> index(i.begin(), i.end());
    for (size_t k = 0; k < data.rank(); ++k) {
      if (attrs.axis && axis_position(*attrs.axis, data.rank()) != k) continue;
      index[k] = te::from_dim(data.dim(k) - 1) - index[k];
    }
    return data(index);
  }));
}

AttrsRef spell_slice(const OpCall& call) {
  StridedSliceAttrs attrs = call.attrs<StridedSliceAttrs>();
  if (!attrs.axes) {
    attrs.axes.emplace();
    const size_t count = std::max(attrs.begin->size(), attrs.end->size());
    for (size_t i = 0; i < count; ++i) attrs.axes->push_back(static_cast<int64_t>(i));
  }
  return Attrs::make(attrs);
}

// Bounds of all axes in the order of these.
AttrsRef order_slice(const AttrsRef& given, size_t rank) {
  const auto& attrs = given->as<StridedSliceAttrs>();
  if (!attrs.axes || attrs.axes->size() != rank) return given;
  StridedSliceAttrs result = attrs;
  result.axes.reset();
  for (size_t k = 0; k < rank; ++k) {
    const auto place = static_cast<size_t>((*attrs.axes)[k]);
    if (place >= rank) return given;
    result.begin.value[place] = (*attrs.begin)[k];
    result.end.value[place] = (*attrs.end)[k];
  }
  if (attrs.strides) {
    result.strides.emplace(rank, 1);
    for (size_t k = 0; k < attrs.strides->size(); ++k)
      (*result.strides)[static_cast<size_t>((*attrs.axes)[k])] = (*attrs.strides)[k];
  }
  return Attrs::make(result);
}

RELAY_OP("strided_slice")
    .doc("Every stride-th element between begin and end, on each axis.")
    .column(ordered_axes(), order_slice)
    .column(spelled_axes(), spell_slice)
    .input("data", "Tensor.", tensor('T'))
    .output("result", "Tensor of the data's rank.", tensor('T'))
    .attrs<StridedSliceAttrs>()
    .example(
        "fn (%x: Tensor[(3), float32]) { strided_slice(%x, begin=[2], end=[-4], strides=[-1]) }",
        "[1, 2, 3]")
    .relation(infer_strided_slice)
    .level(4)
    .compute(compute_strided_slice);

RELAY_OP("slice_like")
    .doc("The leading part of data with the extents of another tensor.")
    .input("data", "Tensor.", tensor('T'))
    .input("shape_like", "Tensor whose shape counts.", tensor())
    .output("result", "Tensor of the data's rank.", tensor('T'))
    .attrs<SliceLikeAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32]) { slice_like(%x, Constant(0, (1, 2), float32)) }",
             "[[1, 2, 3], [4, 5, 6]]")
    .relation(infer_slice_like)
    .level(10)
    .compute([](const OpCall& call, te::Builder& b) {
      te::Tensor data = b.input(0);
      b.output(b.map(call.result().dims, [&](Indices i) { return data(i); }));
    });

RELAY_OP("split")
    .doc("A tuple of consecutive parts along an axis.")
    .input("data", "Tensor.", tensor('T').rank(1, kAnyRank))
    .output("parts", "The parts.", tuple_of(tensor('T')))
    .attrs<SplitAttrs>()
    .example("fn (%x: Tensor[(4), float32]) { split(%x, indices_or_sections=2) }", "[1, 2, 3, 4]")
    .relation(infer_split)
    .level(3)
    .compute(compute_split);

RELAY_OP("reverse")
    .doc("Elements in the opposite order along an axis.")
    .input("data", "Tensor.", tensor('T'))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<ReverseAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { reverse(%x, axis=0) }", "[1, 2, 3]")
    .relation(infer_reverse)
    .level(3)
    .compute(compute_reverse);

}  // namespace
}  // namespace relay
