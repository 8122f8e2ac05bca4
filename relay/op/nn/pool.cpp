// Pools: maxima and averages of windows.
#include <limits>

#include <relay/op/nn/padding.h>
#include <relay/op/nn/pool_window.h>
#include <relay/op/qnn/integer_forms.h>
#include <relay/op/registry/gradient.h>
#include <relay/op/registry/integer_form.h>
#include <relay/tensor_expr/precision.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

// Averages: narrow integers add up in int32 (they divide truncating).
DType pooled_sum_dtype(DType dtype) {
  return dtype.is_float() || dtype.bits >= 32 ? te::wide_float(dtype) : kInt32;
}

template <class A>
TypeRef infer_window(const RelationCall& call, size_t rank) {
  te::TensorInfo data = call.tensor(0);
  PoolWindow window(call.attrs<A>(), rank);
  std::vector<Dim> dims = window.result_dims(call, data.dims);
  return TensorType::make(dims, data.dtype);
}

void compute_window(const OpCall& call, te::Builder& b, const PoolWindow& window, bool is_max) {
  te::Tensor data = b.input(0);
  DType dtype = data.dtype();
  DType sum = pooled_sum_dtype(dtype);
  std::vector<Dim> size(window.size.begin(), window.size.end());
  Scalar fill = is_max ? te::lowest(dtype) : te::constant(0, dtype);
  b.output(b.map(call.result().dims, [&](Indices i) {
    auto element = [&](Indices k) {
      std::vector<Scalar> rows;
      for (size_t d = 0; d < window.rank(); ++d) {
        rows.push_back(window.row(d, window.out.coordinate(i, window.space[d]).whole, k[d]));
      }
      std::vector<Scalar> index = window.data_index(i, rows);
      return window.inside() ? data(index) : data.load_or(index, fill);
    };
    if (is_max) return b.max(size, element);
    Scalar total = b.sum(size, [&](Indices k) { return te::cast(element(k), sum); });
    return te::cast(total / te::cast(window.count(i, data), sum), dtype);
  }));
}

// ---- Adaptive and global pools ------------------------------------------------------------------

struct Parts {
  std::string_view space;
  Layout data;
  Layout out;
  std::vector<int64_t> output_size;  // empty: the extents of the data

  Parts(const AdaptivePoolAttrs& attrs, size_t rank)
      : space(spatial_axes(rank)),
        data(Layout::parse(attrs.layout, "NC" + std::string(space), "layout")),
        out(attrs.out_layout.empty()
                ? data
                : Layout::parse(attrs.out_layout, "NC" + std::string(space), "out_layout")) {
    if (!attrs.output_size.empty())
      output_size = spatial_attr(attrs.output_size, rank, "output_size");
  }
  size_t dimension(char axis) const { return space.find(axis); }
  bool is_space(char axis) const { return dimension(axis) != std::string_view::npos; }
  Dim result_extent(size_t d, Dim extent) const {
    return output_size.empty() ? extent : Dim(output_size[d]);
  }
};

template <class A>
TypeRef infer_parts(const RelationCall& call, size_t rank) {
  te::TensorInfo data = call.tensor(0);
  Parts parts(call.attrs<A>(), rank);
  parts.data.check(data.dims, "the data");
  std::vector<Dim> dims = parts.out.dims([&](char axis) -> Dim {
    Dim extent = parts.data.extent(data.dims, axis);
    if (!parts.is_space(axis)) return extent;
    Dim result = parts.result_extent(parts.dimension(axis), extent);
    call.require(
        !extent.is_int(0) || result.is_int(0),
        std::string("nothing to pool on axis ") + axis + " of data " + shape_str(data.dims));
    if (!extent.is_int() && !result.is_int(0) && result != extent) {
      call.require_at_most(
          1, extent,
          std::string("nothing to pool on axis ") + axis + " of data " + shape_str(data.dims));
    }
    return result;
  });
  return TensorType::make(dims, data.dtype);
}

// One dimension of a part: elements begin … begin + length - 1, of at most `most`.
struct Range {
  Scalar begin;
  Scalar length;
  Dim most;
  bool exact;  // length is always `most`
};

Range part_range(const Scalar& at, Dim extent, Dim parts) {
  if (parts == extent) return {at, te::index_constant(1), Dim(1), true};
  if (parts.is_int(1)) return {te::index_constant(0), te::from_dim(extent), extent, true};
  Scalar whole = te::from_dim(extent);
  Scalar count = te::from_dim(parts);
  Scalar begin = te::floor_div(at * whole, count);
  if (floor_mod(extent, parts).is_int(0)) {
    Dim length = floor_div(extent, parts);
    return {at * te::from_dim(length), te::from_dim(length), length, true};
  }
  Scalar end = te::floor_div((at + 1) * whole + (count - 1), count);
  return {begin, end - begin, ceil_div(extent, parts) + 1, false};
}

void compute_parts(const OpCall& call, te::Builder& b, const Parts& parts, bool is_max) {
  te::Tensor data = b.input(0);
  DType dtype = data.dtype();
  DType sum = pooled_sum_dtype(dtype);
  Scalar fill = is_max ? te::lowest(dtype) : te::constant(0, dtype);
  b.output(b.map(call.result().dims, [&](Indices i) {
    std::vector<Range> ranges;
    std::vector<Dim> most;
    bool exact = true;
    Scalar count = te::index_constant(1);
    for (size_t d = 0; d < parts.space.size(); ++d) {
      Dim extent = parts.data.extent(data.dims(), parts.space[d]);
      ranges.push_back(part_range(parts.out.coordinate(i, parts.space[d]).whole, extent,
                                  parts.result_extent(d, extent)));
      most.push_back(ranges[d].most);
      exact = exact && ranges[d].exact;
      count = count * ranges[d].length;
    }
    auto element = [&](Indices k) {
      std::vector<Scalar> index = parts.data.index([&](char axis) -> Coordinate {
        if (!parts.is_space(axis)) return parts.out.coordinate(i, axis);
        const Range& range = ranges[parts.dimension(axis)];
        const Scalar& step = k[parts.dimension(axis)];
        Scalar row = range.begin + step;
        // Beyond the part: outside of the data, so that Fill applies.
        return range.exact ? row : te::select(step < range.length, row, te::index_constant(-1));
      });
      return exact ? data(index) : data.load_or(index, fill);
    };
    if (is_max) return b.max(most, element);
    Scalar total = b.sum(most, [&](Indices k) { return te::cast(element(k), sum); });
    return te::cast(total / te::cast(count, sum), dtype);
  }));
}

// ---- Declarations -------------------------------------------------------------------------------

// One channel of six elements along the last axis.
constexpr const char* kExampleRow[] = {"", "[[[1, 5, 2, 4, 3, 6]]]", "[[[[1, 5, 2, 4, 3, 6]]]]",
                                       "[[[[[1, 5, 2, 4, 3, 6]]]]]"};
std::string example(const std::string& name, size_t rank, const std::string& attrs) {
  std::string ones;
  for (size_t i = 0; i < rank + 1; ++i) ones += "1, ";
  return "fn (%x: Tensor[(" + ones + "6), float32]) { " + name + "(%x" + attrs + ") }";
}
// "[1, 1, 2]".
std::string last_of(size_t rank, int last) {
  std::string text = "[";
  for (size_t i = 1; i < rank; ++i) text += "1, ";
  return text + std::to_string(last) + "]";
}
std::string window_example(const std::string& name, size_t rank) {
  return example(name, rank, ", pool_size=" + last_of(rank, 2) + ", strides=" + last_of(rank, 2));
}
std::string parts_example(const std::string& name, size_t rank, bool global) {
  return example(name, rank, global ? "" : ", output_size=" + last_of(rank, 3));
}

// An average that counts padding also counts earlier padding; a maximum never counts any.
template <class A>
AttrsRef take_padding(const OpCall& call, const PaddingWidths& widths, double value, size_t rank,
                      bool is_max) {
  A attrs = call.attrs<A>();
  PoolWindow window(attrs, rank);
  std::vector<int64_t> padding = joined_padding(window.data.text(), window.space, widths,
                                                window.padding.before, window.padding.after);
  if (padding.empty() || window.ceil_mode) return {};
  if (is_max ? value != -std::numeric_limits<double>::infinity() : value != 0) return {};
  if (!is_max) {
    if (!attrs.count_include_pad && !window.inside()) return {};
    attrs.count_include_pad = true;
  }
  attrs.padding = std::move(padding);
  return Attrs::make(attrs);
}

template <class A, size_t kRank, bool kMax>
OpBuilder& declare_window(std::string name) {
  return declare_op(name)
      .doc(kMax ? "Maximum of each window, not-a-number if there is one; padding never wins."
                : "Average of each window; of integers, truncated toward zero.")
      .input("data", "Tensor of numbers in the layout.", tensor('T', kNumbers))
      .output("result", "Tensor in the layout.", tensor('T'))
      .example(window_example(name, kRank), kExampleRow[kRank])
      .attrs<A>()
      .relation([](const RelationCall& call) { return infer_window<A>(call, kRank); })
      .level(2)
      .compute([](const OpCall& call, te::Builder& b) {
        compute_window(call, b, PoolWindow(call.attrs<A>(), kRank), kMax);
      })
      .column(takes_padding(), [](const OpCall& call, const PaddingWidths& widths, double value) {
        return take_padding<A>(call, widths, value, kRank, kMax);
      });
}

template <class A, size_t kRank, bool kMax>
void declare_parts(std::string name, int level) {
  bool global = std::is_same_v<A, GlobalPool2DAttrs>;
  std::string what = kMax ? "Maximum" : "Average";
  OpBuilder& op = declare_op(name);
  if (!kMax) op.column(averages(), true);
  op.doc(global ? what + " of each channel" + (kMax ? ", not-a-number if there is one." : ".")
                : what +
                      " of each part when every dimension is cut into output_size parts of "
                      "nearly one "
                      "length, which may overlap by an element" +
                      (kMax ? "; not-a-number if there is one." : "."))
      .input("data", "Tensor of numbers in the layout.", tensor('T', kNumbers))
      .output("result", "Tensor in the layout.", tensor('T'))
      .example(parts_example(name, kRank, global), kExampleRow[kRank])
      .attrs<A>()
      .relation([](const RelationCall& call) { return infer_parts<A>(call, kRank); })
      .level(level)
      .compute([](const OpCall& call, te::Builder& b) {
        compute_parts(call, b, Parts(call.attrs<A>(), kRank), kMax);
      });
}

[[maybe_unused]] const bool pools_declared = [] {
  declare_window<MaxPool1DAttrs, 1, true>("nn.max_pool1d");
  declare_window<MaxPool2DAttrs, 2, true>("nn.max_pool2d")
      .gradient([](const GradientCall& call) -> std::vector<ExprRef> {
        return {
            call_op("nn.max_pool2d_grad", {call.gradient(), call.args[0]}, call.call.attrs_ref())};
      });
  declare_window<MaxPool3DAttrs, 3, true>("nn.max_pool3d");
  declare_window<AvgPool1DAttrs, 1, false>("nn.avg_pool1d")
      .column(integer_forms(), interpolated_on_integers);
  declare_window<AvgPool2DAttrs, 2, false>("nn.avg_pool2d");
  declare_window<AvgPool3DAttrs, 3, false>("nn.avg_pool3d")
      .column(integer_forms(), interpolated_on_integers);
  declare_parts<AdaptivePool1DAttrs, 1, true>("nn.adaptive_max_pool1d", 10);
  declare_parts<AdaptivePool2DAttrs, 2, true>("nn.adaptive_max_pool2d", 10);
  declare_parts<AdaptivePool3DAttrs, 3, true>("nn.adaptive_max_pool3d", 10);
  declare_parts<AdaptivePool1DAttrs, 1, false>("nn.adaptive_avg_pool1d", 10);
  declare_parts<AdaptivePool2DAttrs, 2, false>("nn.adaptive_avg_pool2d", 10);
  declare_parts<AdaptivePool3DAttrs, 3, false>("nn.adaptive_avg_pool3d", 10);
  declare_parts<GlobalPool2DAttrs, 2, true>("nn.global_max_pool2d", 2);
  declare_parts<GlobalPool2DAttrs, 2, false>("nn.global_avg_pool2d", 2);
  return true;
}();

}  // namespace
}  // namespace relay
