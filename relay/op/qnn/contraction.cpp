// Convolutions and matrix products of quantised tensors: sums of products of the integers, each
// less its zero point. Scales are left to the requantize that follows.
#include <relay/op/nn/conv_attrs.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/op/nn/pad_attrs.h>
#include <relay/op/nn/weight_layout.h>
#include <relay/op/qnn/canonical.h>
#include <relay/op/qnn/integer_forms.h>
#include <relay/op/qnn/quantised.h>
#include <relay/op/reduce/reduce_attrs.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/integer_form.h>
#include <relay/op/registry/layout.h>
#include <relay/op/registry/layout_flow.h>

namespace relay {
namespace {

constexpr DTypes kSums = DTypes(kInt16) | kInt32 | kInt64;

// Order of the inputs.
enum Input : size_t { kData, kWeight, kDataZero, kWeightZero, kDataScale, kWeightScale };

void require_sums(const RelationCall& call, DType dtype) {
  call.require(kSums.contains(dtype),
               "out_dtype must be " + kSums.described() + ", found " + std::string(dtype.name()));
}

// The weight's parameters may be vectors along its outputs.
void require_factors(const RelationCall& call, std::optional<size_t> weight_axis) {
  std::vector<Dim> weight = call.tensor(kWeight).dims;
  if (weight_axis) {
    return require_parameters(call, kWeightScale, kWeightZero, weight,
                              static_cast<int64_t>(*weight_axis), " of the weight");
  }
  for (size_t input : {kWeightZero, kWeightScale})
    call.require(call.tensor(input).rank() == 0,
                 "kernel_layout cuts the outputs into blocks: scale and zero point of the weight "
                 "must be scalars, found " +
                     call.input(input)->str());
}

// An operand less its zero point, in a dtype in which sums of products of `sums` stay the same.
ExprRef centred(const Formula& data, const Formula& zero_point, DType sums) {
  if (zero_point.is_all(0)) return data.expr;
  BoundedInt exact = difference(data, zero_point);
  DType dtype = exact.bits <= 15 ? kInt16 : sums;
  return (cast(data, dtype) - cast(zero_point, dtype)).expr;
}

// The attributes with a dtype of the sums: int32 unless another one is given.
template <class A>
AttrsRef with_out_dtype(const AttrsRef& given) {
  A attrs = given->as<A>();
  if constexpr (std::is_same_v<decltype(attrs.out_dtype), DType>) {
    if (!attrs.out_dtype.valid()) attrs.out_dtype = kInt32;
  } else {
    attrs.out_dtype = attrs.out_dtype.value_or(kInt32);
  }
  return Attrs::make(attrs);
}

// The axis of the weight's outputs: nothing in a layout that cuts them into blocks.
std::optional<size_t> output_axis(const ConvAttrs& attrs) {
  Layout layout = Layout::parse(attrs.kernel_layout, "OIHW", "kernel_layout");
  std::vector<size_t> positions = layout.positions('O');
  return positions.size() == 1 ? std::optional(positions[0]) : std::nullopt;
}
std::optional<size_t> output_axis(const DenseAttrs&) { return 0; }
std::optional<size_t> output_axis(const BatchMatmulAttrs&) { return std::nullopt; }

// True if the weight's parameters may be vectors.
template <class A>
constexpr bool kVectors = !std::is_same_v<A, BatchMatmulAttrs>;

// `plain` is the operator on integers that it becomes.
template <class A>
TypeRef infer_sums(const RelationCall& call, const char* plain) {
  const A& attrs = call.attrs<A>();
  AttrsRef complete = with_out_dtype<A>(call.attrs_ref());
  TypeRef result = get_op(plain)->relation()->infer(call.with(complete));
  if (!result) return result;
  require_sums(call, result->as<TensorType>()->dtype());
  if (kVectors<A>) require_factors(call, output_axis(attrs));
  return result;
}

template <class A>
ExprRef centred_sums(const OpCall& call, std::span<const ExprRef> args, const char* plain) {
  DType sums = call.result().dtype;
  te::TensorInfo data = call.tensor(kData), weight = call.tensor(kWeight);
  auto axis = static_cast<int64_t>(output_axis(call.attrs<A>()).value_or(0));
  QuantParams of_data = quant_params(call, args, kDataScale, kDataZero, 0, 0);
  QuantParams of_weight = quant_params(call, args, kWeightScale, kWeightZero, weight.rank(), axis);
  ExprRef x = centred({args[kData], data.dtype}, of_data.zero_point, sums);
  ExprRef w = centred({args[kWeight], weight.dtype}, of_weight.zero_point, sums);
  return call_op(plain, {x, w}, with_out_dtype<A>(call.attrs_ref()));
}

// For a call of the operator on floats, which has the same attributes.
template <class A>
std::optional<ChannelAxes> axes_of_channels(const OpCall& call) {
  std::optional<size_t> weight = output_axis(call.attrs<A>());
  if (!weight) return std::nullopt;
  int64_t result = static_cast<int64_t>(call.result().rank()) - 1;
  if constexpr (std::is_base_of_v<ConvAttrs, A>) {
    const ConvAttrs& attrs = call.attrs<A>();
    const std::string& out = attrs.out_layout.empty() ? attrs.data_layout : attrs.out_layout;
    std::vector<size_t> positions = Layout::parse(out, "NCHW", "out_layout").positions('C');
    if (positions.size() != 1) return std::nullopt;
    result = static_cast<int64_t>(positions[0]);
  }
  return ChannelAxes{static_cast<int64_t>(*weight), result};
}

bool is_byte(DType dtype) { return dtype == kInt8 || dtype == kUInt8; }

/// The axes of sums of bytes: those of the weight that are summed up, and that of the weight's
/// outputs in the result.
struct SumAxes {
  std::vector<int64_t> summed;
  size_t result;
};

/// The most rows that are multiplied sooner as bytes with a sign, if nothing is left to subtract.
constexpr int64_t kFewRows = 7;

/// Nothing for few rows without a zero point.
std::optional<SumAxes> sum_axes(const OpCall& call, const DenseAttrs&, bool zero_point) {
  const std::vector<Dim> dims = call.result().dims;
  int64_t rows = 1;
  for (size_t k = 0; k + 1 < dims.size() && rows <= kFewRows; ++k)
    rows =
        dims[k].is_int() && dims[k].as_int() <= kFewRows ? rows * dims[k].as_int() : kFewRows + 1;
  if (!zero_point && rows <= kFewRows) return std::nullopt;
  return SumAxes{{1}, dims.size() - 1};
}

/// The fewest channels of a group that are multiplied as bytes: these go in fours, and without a
/// zero point, of which nothing is left to subtract, other ways are quicker for more channels.
constexpr int64_t kFewestChannels = 4, kFewestWithoutZero = 8;

/// Nothing for channels by themselves, of which processors have no products of bytes, and for small
/// groups of them.
std::optional<SumAxes> sum_axes(const OpCall& call, const Conv2DAttrs& attrs, bool zero_point) {
  const std::optional<ChannelAxes> channels = axes_of_channels<Conv2DAttrs>(call);
  if (!channels) return std::nullopt;
  const te::TensorInfo weight = call.tensor(kWeight);
  const std::vector<size_t> inputs =
      Layout::parse(attrs.kernel_layout, "OIHW", "kernel_layout").positions('I');
  if (inputs.size() != 1 || weight.dims[inputs[0]].is_int(1)) return std::nullopt;
  const Dim channels_of_group = weight.dims[inputs[0]];
  if (attrs.groups > 1 && channels_of_group.is_int() &&
      channels_of_group.as_int() < (zero_point ? kFewestChannels : kFewestWithoutZero))
    return std::nullopt;
  SumAxes axes{{}, static_cast<size_t>(channels->result)};
  for (size_t k = 0; k < weight.rank(); ++k) {
    if (static_cast<int64_t>(k) != channels->weight) axes.summed.push_back(static_cast<int64_t>(k));
  }
  return axes;
}

// A product has no padding.
std::optional<Formula> with_padding(const Formula& data, const Formula&, DenseAttrs&) {
  return data;
}

/// The data with elements around them that are the zero point, which the attributes then leave out.
/// Nothing for a zero point that is perhaps no number of the data's dtype.
std::optional<Formula> with_padding(const Formula& data, const Formula& zero, Conv2DAttrs& attrs) {
  const Padding around = padding_attr(attrs.padding, 2);
  const std::vector<int64_t> none{0, 0};
  if (around.before == none && around.after == none) return data;
  const NDArray known = zero.constant();
  if (!known || known.size() != 1) return std::nullopt;
  const auto [low, high] = integer_range(data.dtype);
  const int64_t value = known.element_as_int64(0);
  if (value < low || value > high) return std::nullopt;
  const Layout layout = Layout::parse(attrs.data_layout, "NCHW", "data_layout");
  std::vector<std::vector<int64_t>> widths(layout.rank(), {0, 0});
  for (size_t k = 0; k < 2; ++k) {
    const std::vector<size_t> at = layout.positions(spatial_axes(2)[k]);
    if (at.size() != 1) return std::nullopt;
    widths[at[0]] = {around.before[k], around.after[k]};
  }
  attrs.padding = none;
  PadAttrs pad;
  pad.pad_width.value.assign(widths.begin(), widths.end());
  const Formula element = Formula::number(value, data.dtype);
  return Formula{call_op("nn.pad", {data.expr, element.expr}, Attrs::make(pad)), data.dtype};
}

/// Bytes with a sign as those without that are 128 more.
Formula without_sign(const Formula& data) {
  return reinterpret(apply("bitwise_xor", data, Formula::number(-128, kInt8)), kUInt8);
}

/// A zero point as that of bytes that are 128 more; in int64, which holds all of them.
Formula zero_without_sign(const Formula& zero) {
  const NDArray known = zero.constant();
  if (known && known.size() == 1) return Formula::number(known.element_as_int64(0) + 128, kInt64);
  return cast(zero, kInt64) + 128;
}

/// Σ (x - z) w as Σ x w - z Σ w, where processors multiply the bytes x and w as they are, and the
/// second sum is a constant for constant weights. Of two factors with a sign, which they do not
/// multiply, the data are moved by 128 with the zero point, if `moves` says so. Nothing for other
/// calls.
template <class A>
ExprRef sums_of_bytes(const OpCall& call, std::span<const ExprRef> args, const char* plain,
                      bool moves) {
  const te::TensorInfo weight = call.tensor(kWeight);
  Formula data{args[kData], call.tensor(kData).dtype};
  Formula zero{args[kDataZero], kInt32};
  const Formula weight_zero{args[kWeightZero], kInt32};
  const bool signs = moves && data.dtype == kInt8 && weight.dtype == kInt8;
  if (!is_byte(data.dtype) || !is_byte(weight.dtype) || (zero.is_all(0) && !signs) ||
      !weight_zero.is_all(0))
    return {};
  AttrsRef given = with_out_dtype<A>(call.attrs_ref());
  A attrs = given->as<A>();
  const std::optional<SumAxes> axes = sum_axes(call, attrs, !zero.is_all(0));
  if (!axes) return {};
  if (signs) {
    data = without_sign(data);
    zero = zero_without_sign(zero);
  }
  const std::optional<Formula> padded = with_padding(data, zero, attrs);
  if (!padded) return {};
  const DType dtype = call.result().dtype;
  const Formula sums{call_op(plain, {padded->expr, args[kWeight]}, Attrs::make(attrs)), dtype};
  if (zero.is_all(0)) return sums.expr;
  ReduceAttrs reduce;
  reduce.axis = axes->summed;
  const Formula wide = cast({args[kWeight], weight.dtype}, dtype);
  const Formula of_weight{call_op("sum", {wide.expr}, Attrs::make(reduce)), dtype};
  const Formula moved = along(of_weight * cast(zero, dtype), axes->result, call.result().rank());
  return (sums - moved).expr;
}

template <class A>
ExprRef expand_sums(const OpCall& call, std::span<const ExprRef> args, const char* plain,
                    bool moves = true) {
  if constexpr (std::is_same_v<A, Conv2DAttrs> || std::is_same_v<A, DenseAttrs>) {
    if (ExprRef of_bytes = sums_of_bytes<A>(call, args, plain, moves)) return of_bytes;
  }
  return centred_sums<A>(call, args, plain);
}

/// The axis of output channels in the weights and in the result, for scales of each channel.
template <class A>
std::optional<ChannelAxes> channels_of(const A& attrs) {
  const A standard;
  const std::string& out = attrs.out_layout.empty() ? attrs.data_layout : attrs.out_layout;
  auto weight = Layout::parse(attrs.kernel_layout, standard.kernel_layout, "kernel_layout");
  auto result = Layout::parse(out, standard.data_layout, "out_layout");
  const std::vector<size_t> from = weight.positions('O'), to = result.positions('C');
  if (from.size() != 1 || to.size() != 1) return std::nullopt;
  return ChannelAxes{static_cast<int64_t>(from[0]), static_cast<int64_t>(to[0])};
}

template <class A>
OpBuilder& declare(std::string_view name, const char* plain, const char* x, const char* y,
                   const char* x_doc, const char* y_doc) {
  std::string data(x), weight(y), first = data == "data" ? "input" : data;
  std::string also = kVectors<A> ? ", or a vector along its outputs." : ".";
  return declare_op(name)
      .column(quantised(), true)
      .column(channel_axes(), [](const OpCall& call) { return axes_of_channels<A>(call); })
      .input(data, x_doc, tensor(kQuantisedFactors))
      .input(weight, y_doc, tensor(kQuantisedFactors))
      .input(first + "_zero_point", "Zero point of " + data + ": a scalar.", zero_point_spec())
      .input(weight + "_zero_point", "Zero point of " + weight + ": a scalar" + also,
             kVectors<A> ? zero_points_spec() : zero_point_spec())
      .input(first + "_scale", "Scale of " + data + ": a scalar. The sums do not depend on it.",
             scale_spec())
      .input(weight + "_scale", "Scale of " + weight + ": a scalar" + also,
             kVectors<A> ? scales_spec() : scale_spec())
      .output(
          "result",
          "Sums in out_dtype, int32 by default; they wrap. Their scale is the product of the two.",
          tensor(kSums))
      .template attrs<A>()
      .relation([plain](const RelationCall& call) { return infer_sums<A>(call, plain); })
      .level(11)
      .expand([plain](const OpCall& call, std::span<const ExprRef> args) {
        return expand_sums<A>(call, args, plain);
      });
}

[[maybe_unused]] const bool contractions_declared = [] {
  declare<Conv2DAttrs>("qnn.conv2d", "nn.conv2d", "data", "weight", "Integers in data_layout.",
                       "Integers in kernel_layout.")
      .column(weight_layouts(), conv_weight_layout<Conv2DAttrs>)
      .column(plain_products(),
              [](const OpCall& call, std::span<const ExprRef> args) {
                return centred_sums<Conv2DAttrs>(call, args, "nn.conv2d");
              })
      .column(narrow_forms(),
              [](const OpCall& call, std::span<const ExprRef> args) {
                return expand_sums<Conv2DAttrs>(call, args, "nn.conv2d", false);
              })
      .doc(
          "nn.conv2d of integers less their zero points: padding counts as the data's zero point, "
          "which stands for 0.")
      .example(
          "fn (%x: Tensor[(1, 1, 3, 3), int8], %w: Tensor[(1, 1, 2, 2), int8]) { qnn.conv2d(%x, "
          "%w, 1, 0, 0.5f, 0.25f, kernel_size=[2, 2]) }",
          "[[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]]", "[[[[1, 0], [0, -1]]]]");
  declare<Conv2DTransposeAttrs>("qnn.conv2d_transpose", "nn.conv2d_transpose", "data", "weight",
                                "Integers in data_layout.", "Integers in kernel_layout.")
      .column(weight_layouts(), conv_weight_layout<Conv2DTransposeAttrs>)
      .doc("nn.conv2d_transpose of integers less their zero points.")
      .example(
          "fn (%x: Tensor[(1, 1, 2, 2), int8], %w: Tensor[(1, 1, 2, 2), int8]) { "
          "qnn.conv2d_transpose(%x, %w, 1, 0, 0.5f, 0.25f, strides=[2, 2]) }",
          "[[[[1, 2], [3, 4]]]]", "[[[[1, 0], [0, -1]]]]");
  declare<DenseAttrs>("qnn.dense", "nn.dense", "data", "weight", "Integers (…, inner).",
                      "Integers (units, inner).")
      .column(plain_products(),
              [](const OpCall& call, std::span<const ExprRef> args) {
                return centred_sums<DenseAttrs>(call, args, "nn.dense");
              })
      .column(narrow_forms(), narrow_dense)
      .doc("data · weightᵀ of integers less their zero points.")
      .example(
          "fn (%x: Tensor[(1, 3), uint8], %w: Tensor[(2, 3), int8]) { qnn.dense(%x, %w, 128, 0, "
          "0.5f, 0.25f, units=2) }",
          "[[127, 128, 130]]", "[[1, 2, 3], [-4, 5, 6]]");
  declare<BatchMatmulAttrs>("qnn.batch_matmul", "nn.batch_matmul", "x", "y",
                            "Integers (batch, rows, inner).", "Integers (batch, inner, columns).")
      .doc("nn.batch_matmul of integers less their zero points.")
      .example(
          "fn (%x: Tensor[(1, 1, 3), int8], %y: Tensor[(1, 2, 3), int8]) { qnn.batch_matmul(%x, "
          "%y, 3, -7, 0.5f, 0.25f, transpose_b=True) }",
          "[[[1, 2, 3]]]", "[[[4, 5, 6], [-7, -7, -7]]]");
  return true;
}();

}  // namespace

template <class A>
std::optional<QuantisedResult> convolution_on_integers(const QuantisedCall& use) {
  if (use.inputs.size() != 2 || use.inputs[0].tensors.size() != 1 ||
      use.inputs[1].tensors.size() != 1 || !use.inputs[0].tensors[0] || !use.inputs[1].tensors[0])
    return std::nullopt;
  const Affine& data = *use.inputs[0].tensors[0];
  const Affine& weight = *use.inputs[1].tensors[0];
  if (data.vector || !kQuantisedFactors.contains(data.dtype) ||
      !kQuantisedFactors.contains(weight.dtype))
    return std::nullopt;
  A attrs = use.call.attrs<A>();
  const Formula data_zero{data.zero_point, kInt32}, weight_zero{weight.zero_point, kInt32};
  const std::optional<ChannelAxes> axes = channels_of(attrs);
  if (weight.vector) {
    const auto rank = static_cast<int64_t>(use.call.tensor(1).rank());
    if (!axes || (weight.axis + rank) % rank != axes->weight || !weight_zero.is_all(0))
      return std::nullopt;
    // In groups of a transposed one, an output channel of the weights is one of each group.
    if (use.call.tensor(1).dims[static_cast<size_t>(axes->weight)] !=
        use.call.result().dims[static_cast<size_t>(axes->result)])
      return std::nullopt;
  }
  const ExprRef args[] = {centred({use.inputs[0].expr, data.dtype}, data_zero, kInt32),
                          centred({use.inputs[1].expr, weight.dtype}, weight_zero, kInt32)};
  attrs.out_dtype = kInt32;
  ExprRef sums = make_call(make_op(use.call.op()), args, Attrs::make(attrs), {}, use.span);
  const Affine affine{product_of_scales(data.scale, weight.scale),
                      make_constant(NDArray::scalar<int32_t>(0)), kInt32, axes ? axes->result : -1,
                      weight.vector};
  return QuantisedResult{{sums, {affine}}, false};
}

template std::optional<QuantisedResult> convolution_on_integers<Conv1DAttrs>(const QuantisedCall&);
template std::optional<QuantisedResult> convolution_on_integers<Conv3DAttrs>(const QuantisedCall&);
template std::optional<QuantisedResult> convolution_on_integers<Conv1DTransposeAttrs>(
    const QuantisedCall&);
template std::optional<QuantisedResult> convolution_on_integers<Conv3DTransposeAttrs>(
    const QuantisedCall&);

}  // namespace relay
