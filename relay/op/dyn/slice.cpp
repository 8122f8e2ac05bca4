// Operators that take or add parts of a tensor, by an argument.
#include <algorithm>

#include <relay/op/dyn/dyn.h>
#include <relay/op/dyn/dyn_attrs.h>
#include <relay/op/registry/facts.h>
#include <relay/op/sort/positions.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

struct AxisSlice {
  Dim begin;
  Dim stride;
  Dim extent;
};

// The inputs that give the elements: `begin` and the two after it.
struct SliceInputs {
  size_t begin = 1;
  bool sizes = false;
  std::optional<attr::Axes> axes;
};

// The slice of every axis; bounds clamp as in Python. Nothing if a list's length is still open.
std::optional<std::vector<AxisSlice>> slices_of(const RelationCall& call,
                                                const SliceInputs& inputs) {
  std::vector<Dim> dims = call.tensor(0).dims;
  size_t begin = inputs.begin, end = begin + 1, stride = begin + 2;
  std::optional<size_t> begins = entries(call, begin, "begin"), ends = entries(call, end, "end"),
                        strides = entries(call, stride, "strides");
  if (!begins || !ends || !strides) return std::nullopt;
  std::vector<size_t> axes;
  if (inputs.axes) {
    for (int64_t axis : *inputs.axes) {
      auto at = static_cast<size_t>(normalize_axis(call, axis, dims.size(), "axes entry"));
      call.require(std::find(axes.begin(), axes.end(), at) == axes.end(),
                   "axes names axis " + std::to_string(axis) + " twice");
      axes.push_back(at);
    }
    call.require(*begins == axes.size() && *ends == axes.size(),
                 "begin, end and axes differ in length");
  } else {
    size_t count = std::max(*begins, *ends);
    call.require(count <= dims.size(),
                 "begin and end have more entries than the rank of " + shape_str(dims));
    for (size_t k = 0; k < count; ++k) axes.push_back(k);
  }
  call.require(*strides <= axes.size(), "strides has more entries than there are axes to cut");

  std::vector<AxisSlice> slices;
  for (Dim dim : dims) slices.push_back({0, 1, dim});
  for (size_t k = 0; k < axes.size(); ++k) {
    Dim dim = dims[axes[k]];
    AxisSlice& slice = slices[axes[k]];
    std::string on_axis = " on axis " + std::to_string(axes[k]);
    Dim first = k < *begins ? call.value_dim(begin, k) : Dim(0);
    Dim stop_at = k < *ends ? call.value_dim(end, k) : Dim(-1);
    if (!inputs.sizes && k < *strides) slice.stride = call.value_dim(stride, k);
    call.require_at_most(same(slice.stride, 0), 0, "the stride" + on_axis + " is 0");
    if (dim.is_any()) {
      slice.extent = dim;
      continue;
    }
    // Positions a slice may start or stop at: 0…dim forwards, -1…dim-1 backwards.
    Dim forwards = at_least(slice.stride, 1);
    Dim lowest = forwards - 1, highest = dim + forwards - 1;
    auto position = [&](Dim value) {
      Dim from_front = value + (Dim(1) - at_least(value, 0)) * dim;
      return min(max(from_front, lowest), highest);
    };
    slice.begin = k < *begins ? position(first) : choose(forwards, 0, dim - 1);
    if (inputs.sizes) {
      Dim room = dim - slice.begin;
      call.require_at_most(-1, stop_at, "a size is " + stop_at.str() + on_axis);
      slice.extent = min(max(stop_at, max(Dim(0) - stop_at, Dim(0)) * room), room);
      continue;
    }
    Dim stop = k < *ends ? position(stop_at) : choose(forwards, dim, -1);
    Dim distance = choose(forwards, stop - slice.begin, slice.begin - stop);
    call.require_at_most(0, distance,
                         "begin " + slice.begin.str() + " lies beyond end " + stop.str() + on_axis +
                             ", the stride is " + slice.stride.str());
    Dim step = max(max(slice.stride, Dim(0) - slice.stride), Dim(1));
    slice.extent = ceil_div(max(distance, Dim(0)), step);
  }
  return slices;
}

SliceInputs slice_inputs(const DynStridedSliceAttrs& attrs) {
  return {1, attrs.slice_mode == SliceMode::kSize, attrs.axes};
}

/// The place of element i of a slice in the whole: the arguments are read like elements.
class SlicePlaces {
 public:
  SlicePlaces(te::Builder& b, const SliceInputs& inputs) : data_(b.input(0)) {
    te::Tensor begins = b.input(inputs.begin), strides = b.input(inputs.begin + 2);
    auto count = [](const te::Tensor& list) { return static_cast<size_t>(list.dim(0).as_int()); };
    auto entry = [](const te::Tensor& list, size_t k) {
      return te::cast(list({te::index_constant(static_cast<int64_t>(k))}), kInt64);
    };
    size_t cut = std::max(count(begins), count(b.input(inputs.begin + 1)));
    for (size_t k = 0; k < data_.rank(); ++k) {
      places_.push_back({te::index_constant(0), te::index_constant(1)});
    }
    for (size_t k = 0; k < cut; ++k) {
      size_t axis = inputs.axes ? axis_position((*inputs.axes)[k], data_.rank()) : k;
      Scalar extent = te::from_dim(data_.dim(axis)), zero = te::index_constant(0);
      Place& place = places_[axis];
      if (!inputs.sizes && k < count(strides)) place.stride = entry(strides, k);
      Scalar forwards = place.stride > 0;
      Scalar last = te::select(forwards, extent, extent - 1);
      if (k >= count(begins)) {
        place.begin = te::select(forwards, zero, extent - 1);
        continue;
      }
      Scalar given = entry(begins, k);
      Scalar from_front = te::select(given < 0, given + extent, given);
      Scalar first = te::select(forwards, zero, te::index_constant(-1));
      place.begin = te::min(te::max(from_front, first), last);
    }
  }

  std::vector<Scalar> at(Indices i) const {
    std::vector<Scalar> index;
    for (size_t k = 0; k < places_.size(); ++k)
      index.push_back(places_[k].begin + i[k] * places_[k].stride);
    return index;
  }

 private:
  struct Place {
    Scalar begin, stride;
  };
  te::Tensor data_;
  std::vector<Place> places_;
};

TypeRef infer_strided_slice(const RelationCall& call) {
  auto slices = slices_of(call, slice_inputs(call.attrs<DynStridedSliceAttrs>()));
  if (!slices) return {};
  std::vector<Dim> dims;
  for (const AxisSlice& slice : *slices) dims.push_back(slice.extent);
  return TensorType::make(dims, call.tensor(0).dtype);
}

void compute_strided_slice(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  SlicePlaces places(b, slice_inputs(call.attrs<DynStridedSliceAttrs>()));
  b.output(b.map(call.result().dims, [&](Indices i) { return data(places.at(i)); }));
}

// The slice is named by the inputs after the values that are written.
SliceInputs set_inputs() { return {2, false, std::nullopt}; }

TypeRef infer_strided_set(const RelationCall& call) {
  te::TensorInfo values = call.tensor(1);
  auto slices = slices_of(call, set_inputs());
  if (!slices) return {};
  std::vector<Dim> dims;
  for (const AxisSlice& slice : *slices) dims.push_back(slice.extent);
  std::string message =
      "v of shape " + shape_str(values.dims) + " does not fit the slice " + shape_str(dims);
  call.require(values.rank() == dims.size(), message);
  for (size_t k = 0; k < dims.size(); ++k) call.require_equal(values.dims[k], dims[k], message);
  return call.input(0);
}

void compute_strided_set(const OpCall&, te::Builder& b) {
  te::Tensor data = b.input(0), values = b.input(1);
  SlicePlaces places(b, set_inputs());
  b.output(b.update(
      data, values.dims(), [&](Indices i) { return places.at(i); },
      [&](Indices i) { return values(i); }, te::Builder::UpdateOp::kAssign));
}

// ---- Padding ------------------------------------------------------------------------------------

struct Widths {
  Dim before, after;
};

std::vector<Widths> widths_of(const RelationCall& call, size_t rank) {
  std::vector<Widths> widths;
  for (size_t k = 0; k < rank; ++k)
    widths.push_back({call.value_dim(1, 2 * k), call.value_dim(1, 2 * k + 1)});
  return widths;
}

TypeRef infer_pad(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0), width = call.tensor(1);
  PadMode mode = call.attrs<DynPadAttrs>().pad_mode;
  auto rank = static_cast<int64_t>(data.rank());
  std::string message = "pad_width must have a pair for each of the " + std::to_string(rank) +
                        " axes of " + call.input(0)->str() + ", found " + call.input(1)->str();
  call.require_equal(width.dims[0], rank, message);
  call.require_equal(width.dims[1], 2, message);
  std::vector<Dim> dims;
  std::vector<Widths> widths = widths_of(call, data.rank());
  for (size_t k = 0; k < data.rank(); ++k) {
    Dim extent = data.dims[k];
    for (Dim each : {widths[k].before, widths[k].after}) {
      std::string where = "pad_width of axis " + std::to_string(k) + " has " + each.str();
      constexpr int64_t kLargest = int64_t{1} << 40;
      call.require_at_most(-kLargest, each, where + ", less than -2^40");
      call.require_at_most(each, kLargest, where + ", more than 2^40");
      if (mode == PadMode::kConstant || extent.is_any()) continue;
      // A border to repeat is 1 element, mirror images want an element beside the border for each.
      Dim least = mode == PadMode::kEdge ? min(each, 1) : each + min(each, 1);
      call.require_at_most(least, extent,
                           where + ", which mode \"" + std::string(word_text(mode)) +
                               "\" cannot take from the " + extent.str() + " elements of data " +
                               shape_str(data.dims));
    }
    Dim before = widths[k].before, after = widths[k].after;
    call.require_at_most(Dim(0) - before - after, extent,
                         "pad_width of axis " + std::to_string(k) + " is [" + before.str() + ", " +
                             after.str() + "], which takes more than the " + extent.str() +
                             " elements of data " + shape_str(data.dims) + " away");
    dims.push_back(extent + before + after);
  }
  return TensorType::make(dims, data.dtype);
}

void compute_pad(const OpCall& call, te::Builder& b) {
  PadMode mode = call.attrs<DynPadAttrs>().pad_mode;
  te::Tensor data = b.input(0), widths = b.input(1);
  Scalar value = te::cast(b.input(2)({}), data.dtype());
  b.output(b.map(call.result().dims, [&](Indices i) {
    std::vector<Scalar> index;
    Scalar inside;
    for (size_t k = 0; k < i.size(); ++k) {
      Scalar before = te::cast(
          widths({te::index_constant(static_cast<int64_t>(k)), te::index_constant(0)}), kInt64);
      Scalar at = i[k] - before, extent = te::from_dim(data.dim(k));
      if (mode == PadMode::kReflect) {
        Scalar last = extent - 1;
        at = last - te::abs(last - te::abs(at));
      }
      Scalar within = at >= 0 && at < extent;
      inside = k == 0 ? within : inside && within;
      index.push_back(std::move(at));
    }
    if (mode != PadMode::kConstant) return data.load(index, te::Bounds::kClamp);
    return i.empty() ? data(index) : te::select(inside, data(index), value);
  }));
}

// ---- Choice -------------------------------------------------------------------------------------

TypeRef infer_topk(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<DynTopkAttrs>();
  auto axis = static_cast<size_t>(normalize_axis(call, attrs.axis, data.rank()));
  DType positions = position_dtype(call, attrs.dtype);
  Dim k = call.value_dim(1, 0), extent = data.dims[axis];
  call.require_at_most(k, extent,
                       "k = " + k.str() + " is more than the extent of the axis, " + extent.str() +
                           ": data " + shape_str(data.dims));
  if (!extent.is_any()) data.dims[axis] = max(k, (Dim(1) - at_least(k, 1)) * extent);
  TypeRef values = TensorType::make(data.dims, data.dtype);
  TypeRef indices = TensorType::make(data.dims, positions);
  if (attrs.ret_type == TopkResults::kValues) return values;
  if (attrs.ret_type == TopkResults::kIndices) return indices;
  return TupleType::make({values, indices});
}

void compute_topk(const OpCall& call, te::Builder& b) {
  const auto& attrs = call.attrs<DynTopkAttrs>();
  size_t axis = axis_position(attrs.axis, call.tensor(0).rank());
  std::vector<te::TensorInfo> results;
  for (size_t k = 0; k < call.num_results(); ++k) results.push_back(call.result(k));
  te::Tensor inputs[] = {b.input(0)};
  for (const te::Tensor& result : b.library("topk", inputs, std::move(results),
                                            {{"axis", axis},
                                             {"ascending", attrs.is_ascend},
                                             {"results", std::string(word_text(attrs.ret_type))}}))
    b.output(result);
}

RELAY_OP("dyn.strided_slice")
    .doc(
        "Every stride-th element between begin and end, which are arguments, on each axis. "
        "Negative positions count from the end; those outside are moved to the border.")
    .input("data", "Tensor.", tensor('T'))
    .input("begin", "First position on each axis.", list_spec())
    .input("end", "End on each axis, or its size: see slice_mode.", list_spec())
    .input("strides", "Step on each axis; 1 where there is none.", list_spec())
    .output("result", "The elements.", tensor('T'))
    .attrs<DynStridedSliceAttrs>()
    .relation(infer_strided_slice)
    .example(
        "fn (%x: Tensor[(6), int8], %b: Tensor[(1), int64], %e: Tensor[(1), int64], %s: "
        "Tensor[(1), int64]) { dyn.strided_slice(%x, %b, %e, %s) }",
        "[0, 1, 2, 3, 4, 5]", "[-2]", "[0]", "[-2]")
    .level(4)
    .compute(compute_strided_slice);

RELAY_OP("strided_set")
    .doc("The data with every stride-th element between begin and end replaced, on each axis.")
    .input("data", "Tensor.", tensor('T'))
    .input("v", "New elements, in the shape of the slice.", tensor('T'))
    .input("begin", "First position on each axis; negative ones count from the end.", list_spec())
    .input("end", "Position to stop before on each axis.", list_spec())
    .input("strides", "Step on each axis; 1 where there is none.", list_spec())
    .output("result", "The data with the slice written.", tensor('T'))
    .relation(infer_strided_set)
    .example(
        "fn (%x: Tensor[(5), int8], %v: Tensor[(2), int8], %b: Tensor[(1), int64], %e: "
        "Tensor[(1), int64], %s: Tensor[(1), int64]) { strided_set(%x, %v, %b, %e, %s) }",
        "[0, 1, 2, 3, 4]", "[9, 8]", "[-1]", "[1]", "[-2]")
    .level(4)
    .compute(compute_strided_set);

RELAY_OP("dyn.nn.pad")
    .doc(
        "The tensor with as many elements added around it as an argument says, or taken away where "
        "that is negative.")
    .input("data", "Tensor.", tensor('T'))
    .input("pad_width", "Elements before and after the data, a pair for each axis.",
           tensor(kIndices).rank(2))
    .input("pad_val", "Scalar for mode \"constant\", converted to the data's dtype.",
           tensor().rank(0))
    .output("result", "Tensor of the data's extents and the amounts.", tensor('T'))
    .attrs<DynPadAttrs>()
    .relation(infer_pad)
    .example("fn (%x: Tensor[(3), int8], %w: Tensor[(1, 2), int64]) { dyn.nn.pad(%x, %w, 9i8) }",
             "[1, 2, 3]", "[[1, 2]]")
    .level(2)
    .compute(compute_pad);

RELAY_OP("dyn.topk")
    .doc(
        "The k greatest (or least) elements along an axis in order, and their positions; of equal "
        "ones the first. Not-a-number comes last either way. How many is an argument.")
    .input("data", "Tensor.", tensor('T'))
    .input("k", "Number of elements: a scalar; all if it is less than 1.", tensor(kIndices).rank(0))
    .output("result", "The elements, their positions or both, as ret_type says.", any_value())
    .attrs<DynTopkAttrs>()
    .relation(infer_topk)
    .example("fn (%x: Tensor[(5), float32], %k: int64) { dyn.topk(%x, %k) }", "[3, 1, 4, 1, 5]",
             "2")
    .level(6)
    .column(costs(),
            [](const OpCall& call) { return sort_cost(call, call.attrs<DynTopkAttrs>().axis); })
    .column(quantised_rules(), QuantisedRule::kKeeps)
    .compute(compute_topk);

}  // namespace
}  // namespace relay
