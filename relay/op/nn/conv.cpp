// Convolutions and transposed convolutions in one, two and three dimensions.
#include <relay/op/nn/combine.h>
#include <relay/op/nn/conv_attrs.h>
#include <relay/op/nn/conv_grad.h>
#include <relay/op/nn/padding.h>
#include <relay/op/nn/weight_layout.h>
#include <relay/op/op.h>
#include <relay/op/qnn/integer_forms.h>
#include <relay/op/registry/layout.h>
#include <relay/op/registry/layout_flow.h>
#include <relay/tensor_expr/precision.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

// The attributes of one call, checked and made uniform.
struct Conv {
  std::string_view space;
  Layout data;
  Layout kernel;
  Layout out;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilation;
  std::vector<int64_t> output_padding;
  Padding padding;
  int64_t groups;

  Conv(const ConvAttrs& attrs, size_t rank)
      : space(spatial_axes(rank)),
        data(Layout::parse(attrs.data_layout, "NC" + std::string(space), "data_layout")),
        kernel(Layout::parse(attrs.kernel_layout, "OI" + std::string(space), "kernel_layout")),
        out(attrs.out_layout.empty()
                ? data
                : Layout::parse(attrs.out_layout, "NC" + std::string(space), "out_layout")),
        strides(spatial_attr(attrs.strides, rank, "strides")),
        dilation(spatial_attr(attrs.dilation, rank, "dilation")),
        output_padding(attrs.output_padding.empty()
                           ? std::vector<int64_t>(rank, 0)
                           : spatial_attr(attrs.output_padding, rank, "output_padding", 0)),
        padding(padding_attr(attrs.padding, rank)),
        groups(attrs.groups) {
    if (groups < 1) throw Error("groups must be at least 1, found " + std::to_string(groups));
  }

  size_t rank() const { return space.size(); }
  size_t dimension(char axis) const { return space.find(axis); }
  bool is_space(char axis) const { return dimension(axis) != std::string_view::npos; }
};

DType result_dtype(const ConvAttrs& attrs, DType data) {
  return attrs.out_dtype.valid() ? attrs.out_dtype : data;
}

void check_dtypes(const RelationCall& call, const ConvAttrs& attrs, DType data, DType weight) {
  std::string found = ", found " + call.input(0)->str() + " and " + call.input(1)->str();
  bool integers = data.is_integer() && weight.is_integer();
  call.require(data == weight || (integers && attrs.out_dtype.valid()),
               integers ? "data and weight of two integer dtypes need an out_dtype" + found
                        : "data and weight must have one dtype" + found);
  DType result = result_dtype(attrs, data);
  call.require(result.is_numeric() && (data.is_integer() || result.is_float()),
               "out_dtype " + std::string(result.name()) + " cannot hold sums of " +
                   std::string(data.name()));
}

template <class A>
TypeRef infer_conv(const RelationCall& call, size_t rank, bool transposed) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo weight = call.tensor(1);
  const ConvAttrs& attrs = call.attrs<A>();
  Conv conv(attrs, rank);
  conv.data.check(data.dims, "the data");
  conv.kernel.check(weight.dims, "the weight");
  check_dtypes(call, attrs, data.dtype, weight.dtype);

  std::string groups_str = std::to_string(conv.groups);
  std::string shapes = "data " + shape_str(data.dims) + " in layout " + conv.data.text() +
                       ", weight " + shape_str(weight.dims) + " in layout " + conv.kernel.text() +
                       (conv.groups == 1 ? "" : ", groups = " + groups_str);
  Dim in = conv.data.extent(data.dims, 'C');
  Dim weight_in = conv.kernel.extent(weight.dims, 'I');
  Dim weight_out = conv.kernel.extent(weight.dims, 'O');
  call.require_multiple(in, conv.groups,
                        groups_str + " groups do not divide the " + in.str() +
                            " channels of data " + shape_str(data.dims));
  Dim wanted_in = transposed ? in : floor_div(in, conv.groups);
  call.require_equal(weight_in, wanted_in,
                     "the weight must have " + wanted_in.str() + " input channels" +
                         (transposed || conv.groups == 1 ? "" : " for each group") + ", it has " +
                         weight_in.str() + ": " + shapes);
  Dim channels = transposed ? weight_out * conv.groups : weight_out;
  if (attrs.channels) {
    call.require_equal(channels, *attrs.channels,
                       "channels = " + std::to_string(*attrs.channels) + ", but the weight makes " +
                           channels.str() + ": " + shapes);
    channels = *attrs.channels;
  }
  call.require_multiple(channels, conv.groups,
                        groups_str + " groups do not divide the " + channels.str() +
                            " channels of the result: " + shapes);

  std::vector<Dim> space;
  std::vector<int64_t> sizes;
  if (attrs.kernel_size) sizes = spatial_attr(*attrs.kernel_size, rank, "kernel_size");
  for (size_t d = 0; d < rank; ++d) {
    char axis = conv.space[d];
    Dim extent = conv.data.extent(data.dims, axis);
    Dim taps = conv.kernel.extent(weight.dims, axis);
    if (attrs.kernel_size) {
      call.require_equal(taps, sizes[d],
                         "kernel_size is " + std::to_string(sizes[d]) + " on axis " + axis +
                             ", but the weight has " + taps.str() + ": " + shapes);
      taps = sizes[d];
    }
    call.require_at_most(1, taps, "the kernel is empty: " + shapes);
    Dim window = (taps - 1) * conv.dilation[d] + 1;
    Dim around = conv.padding.before[d] + conv.padding.after[d];
    if (transposed) {
      Dim result = (extent - 1) * conv.strides[d] + window - around + conv.output_padding[d];
      call.require_at_most(0, result,
                           "the padding cuts off more than there is on axis " +
                               std::string(1, axis) + ": " + shapes);
      space.push_back(result);
    } else {
      Dim room = extent + around - window;
      call.require_at_most(0, room,
                           "the kernel spans " + window.str() + " on axis " + axis +
                               ", more than the padded data's " + (extent + around).str() + ": " +
                               shapes);
      space.push_back(floor_div(room, conv.strides[d]) + 1);
    }
  }
  Dim batch = conv.data.extent(data.dims, 'N');
  std::vector<Dim> dims = conv.out.dims([&](char axis) {
    return axis == 'N' ? batch : axis == 'C' ? channels : space[conv.dimension(axis)];
  });
  return TensorType::make(dims, result_dtype(attrs, data.dtype));
}

// The weight's type, if channels and kernel_size say all about it.
template <class A>
TypeRef expect_weight(const RelationCall& call, size_t i, size_t rank, bool transposed) {
  const ConvAttrs& attrs = call.attrs<A>();
  if (i != 1 || !call.input(0) || !attrs.channels || !attrs.kernel_size) return {};
  te::TensorInfo data = call.tensor(0);
  if (data.dtype.is_integer() && attrs.out_dtype.valid()) return {};  // any integers will do
  Conv conv(attrs, rank);
  conv.data.check(data.dims, "the data");
  std::vector<int64_t> sizes = spatial_attr(*attrs.kernel_size, rank, "kernel_size");
  Dim in = conv.data.extent(data.dims, 'C');
  std::vector<Dim> dims = conv.kernel.dims([&](char axis) -> Dim {
    if (axis == 'O') return transposed ? *attrs.channels / conv.groups : *attrs.channels;
    if (axis == 'I') return transposed ? in : floor_div(in, conv.groups);
    return sizes[conv.dimension(axis)];
  });
  return TensorType::make(dims, data.dtype);
}

// The sum over input channels: `extents` of the folded indices, and their meanings.
struct Channels {
  std::vector<Dim> extents;
  std::function<Coordinate(Indices folded)> in_data;    // channel of the data
  std::function<Coordinate(Indices folded)> in_weight;  // input channel of the weight
  Coordinate out_weight;                                // output channel of the weight
};

Channels channels_of(const Conv& conv, const te::Tensor& data, const te::Tensor& weight,
                     const Coordinate& out_channel, bool transposed) {
  Channels result;
  result.out_weight = out_channel;
  if (conv.groups == 1) {
    // The data's own blocks are folded over, so that equal blocks of the weight are indexed
    // directly.
    for (size_t position : conv.data.positions('C')) result.extents.push_back(data.dim(position));
    result.in_data = [&conv](Indices k) { return conv.data.join('C', k); };
    result.in_weight = result.in_data;
    return result;
  }
  Dim in = floor_div(conv.data.extent(data.dims(), 'C'), conv.groups);
  Dim weight_out = conv.kernel.extent(weight.dims(), 'O');
  Dim out = transposed ? weight_out : floor_div(weight_out, conv.groups);
  Scalar group = te::floor_div(out_channel.whole, te::from_dim(out));
  if (transposed) result.out_weight = te::floor_mod(out_channel.whole, te::from_dim(out));
  if (!in.is_int(1)) result.extents.push_back(in);
  Coordinate depthwise = out.is_int(1) ? out_channel : Coordinate(group);
  result.in_data = [=](Indices k) {
    return k.empty() ? depthwise : Coordinate(group * te::from_dim(in) + k[0]);
  };
  if (transposed) {
    result.in_weight = result.in_data;
  } else {
    result.in_weight = [](Indices k) { return k.empty() ? te::index_constant(0) : k[0]; };
  }
  return result;
}

void compute_sum(const OpCall& call, te::Builder& b, const Conv& conv, bool transposed) {
  te::Tensor data = b.input(0);
  te::Tensor weight = b.input(1);
  DType result = call.result().dtype;
  DType sum = te::wide_float(result);
  size_t rank = conv.rank();

  // Indices stay inside the data if nothing is padded, inside the weight if strides divide the
  // kernel.
  bool data_inside = !transposed;
  bool weight_inside = true;
  std::vector<bool> split(rank, false);  // taps are split into residue classes of the stride
  std::vector<Dim> taps;
  for (size_t d = 0; d < rank; ++d) {
    Dim size = conv.kernel.extent(weight.dims(), conv.space[d]);
    if (conv.padding.before[d] > 0 || conv.padding.after[d] > 0) data_inside = false;
    split[d] = transposed && conv.strides[d] > 1 && conv.dilation[d] == 1;
    if (split[d]) {
      if (!floor_mod(size, conv.strides[d]).is_int(0)) weight_inside = false;
      size = ceil_div(size, conv.strides[d]);
    }
    taps.push_back(size);
  }

  // Row of the data and tap of the kernel for output position `at` and folded index `k`.
  auto meet = [&](size_t d, const Scalar& at, const Scalar& k) -> std::pair<Scalar, Scalar> {
    int64_t stride = conv.strides[d];
    int64_t before = conv.padding.before[d];
    if (!transposed) return {at * stride + k * conv.dilation[d] - before, k};
    Scalar full = at + before;
    Scalar step = te::index_constant(stride);
    if (split[d]) return {te::floor_div(full, step) - k, te::floor_mod(full, step) + k * stride};
    Scalar from = full - k * conv.dilation[d];
    if (stride == 1) return {from, k};
    return {te::select(te::floor_mod(from, step) == 0, te::floor_div(from, step),
                       te::index_constant(-1)),
            k};
  };

  Scalar zero_data = te::constant(0, data.dtype());
  Scalar zero_weight = te::constant(0, weight.dtype());
  b.output(b.map(call.result().dims, [&](Indices i) {
    Channels channels = channels_of(conv, data, weight, conv.out.coordinate(i, 'C'), transposed);
    std::vector<Dim> extents = channels.extents;
    extents.insert(extents.end(), taps.begin(), taps.end());
    Scalar total = b.sum(extents, [&](Indices folded) {
      Indices channel = folded.first(channels.extents.size());
      std::vector<Scalar> rows, at_taps;
      for (size_t d = 0; d < rank; ++d) {
        auto [row, tap] =
            meet(d, conv.out.coordinate(i, conv.space[d]).whole, folded[channel.size() + d]);
        rows.push_back(row);
        at_taps.push_back(tap);
      }
      std::vector<Scalar> data_index = conv.data.index([&](char axis) -> Coordinate {
        if (axis == 'N') return conv.out.coordinate(i, 'N');
        return axis == 'C' ? channels.in_data(channel) : rows[conv.dimension(axis)];
      });
      std::vector<Scalar> weight_index = conv.kernel.index([&](char axis) -> Coordinate {
        if (axis == 'O') return channels.out_weight;
        return axis == 'I' ? channels.in_weight(channel) : at_taps[conv.dimension(axis)];
      });
      Scalar x = data_inside ? data(data_index) : data.load_or(data_index, zero_data);
      Scalar w = weight_inside ? weight(weight_index) : weight.load_or(weight_index, zero_weight);
      return te::cast(x, sum) * te::cast(w, sum);
    });
    return te::cast(total, result);
  }));
}

template <class A>
AttrsRef take_padding(const OpCall& call, const PaddingWidths& widths, double value, size_t rank) {
  A attrs = call.attrs<A>();
  Conv conv(attrs, rank);
  std::vector<int64_t> padding =
      joined_padding(conv.data.text(), conv.space, widths, conv.padding.before, conv.padding.after);
  if (value != 0 || padding.empty()) return {};
  attrs.padding = std::move(padding);
  return Attrs::make(attrs);
}

template <class A, size_t kRank, bool kTransposed>
OpBuilder& declare(OpBuilder& op) {
  op.gradient([](const GradientCall& call) {
    return kTransposed ? conv_transpose_gradient(call, call.attrs<A>(), kRank)
                       : conv_gradient(call, call.attrs<A>(), kRank);
  });
  if (!kTransposed) {
    op.column(takes_padding(), [](const OpCall& call, const PaddingWidths& widths, double value) {
      return take_padding<A>(call, widths, value, kRank);
    });
  }
  // Two dimensions have operators on quantised numbers of their own.
  if constexpr (kRank != 2) op.column(integer_forms(), convolution_on_integers<A>);
  return op.column(weight_layouts(), conv_weight_layout<A>)
      .input("data", "Tensor in data_layout.", tensor(kNumbers))
      .input("weight",
             kTransposed ? "Tensor in kernel_layout: O counts the output channels of one group."
                         : "Tensor in kernel_layout: I counts the input channels of one group.",
             tensor(kNumbers))
      .output("result", "Tensor in out_layout, of out_dtype or the data's dtype.", tensor(kNumbers))
      .template attrs<A>()
      .relation([](const RelationCall& call) { return infer_conv<A>(call, kRank, kTransposed); },
                [](const RelationCall& call, size_t i) {
                  return expect_weight<A>(call, i, kRank, kTransposed);
                })
      .level(2)
      .compute([](const OpCall& call, te::Builder& b) {
        compute_sum(call, b, Conv(call.attrs<A>(), kRank), kTransposed);
      });
}

[[maybe_unused]] const bool convolutions_declared = [] {
  const char* sums = "Sums of products of a sliding window of the data with the weight, ";
  declare<Conv1DAttrs, 1, false>(declare_op("nn.conv1d")
                                     .doc(sums + std::string("in one dimension."))
                                     .example("fn (%x: Tensor[(1, 1, 4), float32], %w: Tensor[(1, "
                                              "1, 2), float32]) { nn.conv1d(%x, %w) }",
                                              "[[[1, 2, 3, 4]]]", "[[[1, -1]]]"));
  declare<Conv2DAttrs, 2, false>(
      declare_op("nn.conv2d")
          .doc(sums + std::string("in two dimensions."))
          .example("fn (%x: Tensor[(1, 1, 1, 4), float32], %w: Tensor[(1, 1, 1, 2), float32]) { "
                   "nn.conv2d(%x, %w) }",
                   "[[[[1, 2, 3, 4]]]]", "[[[[1, -1]]]]"))
      .column(parallel_products(), parallel_conv2d);
  declare<Conv3DAttrs, 3, false>(
      declare_op("nn.conv3d")
          .doc(sums + std::string("in three dimensions."))
          .example("fn (%x: Tensor[(1, 1, 1, 1, 4), float32], %w: Tensor[(1, 1, 1, 1, 2), "
                   "float32]) { nn.conv3d(%x, %w) }",
                   "[[[[[1, 2, 3, 4]]]]]", "[[[[[1, -1]]]]]"));
  const char* spreads =
      "Every element of the data spreads the weight over the result, stride by stride, ";
  declare<Conv1DTransposeAttrs, 1, true>(
      declare_op("nn.conv1d_transpose")
          .doc(spreads + std::string("in one dimension."))
          .example("fn (%x: Tensor[(1, 1, 4), float32], %w: Tensor[(1, 1, 2), float32]) { "
                   "nn.conv1d_transpose(%x, %w) }",
                   "[[[1, 2, 3, 4]]]", "[[[1, -1]]]"));
  declare<Conv2DTransposeAttrs, 2, true>(
      declare_op("nn.conv2d_transpose")
          .doc(spreads + std::string("in two dimensions."))
          .example("fn (%x: Tensor[(1, 1, 1, 4), float32], %w: Tensor[(1, 1, 1, 2), float32]) { "
                   "nn.conv2d_transpose(%x, %w) }",
                   "[[[[1, 2, 3, 4]]]]", "[[[[1, -1]]]]"));
  declare<Conv3DTransposeAttrs, 3, true>(
      declare_op("nn.conv3d_transpose")
          .doc(spreads + std::string("in three dimensions."))
          .example("fn (%x: Tensor[(1, 1, 1, 1, 4), float32], %w: Tensor[(1, 1, 1, 1, 2), "
                   "float32]) { nn.conv3d_transpose(%x, %w) }",
                   "[[[[[1, 2, 3, 4]]]]]", "[[[[[1, -1]]]]]"));
  return true;
}();

}  // namespace
}  // namespace relay
