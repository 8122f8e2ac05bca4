// Sums over neighbourhoods other than convolutions, and a buffer that moves.
#include <relay/op/nn/space_attrs.h>
#include <relay/op/op.h>
#include <relay/op/registry/layout.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

// ---- lrn ----------------------------------------------------------------------------------------

TypeRef infer_lrn(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<LRNAttrs>();
  normalize_axis(call, attrs.axis, data.rank());
  call.require(attrs.size >= 1 && attrs.size <= (int64_t{1} << 40),
               "size must be from 1 to 2^40, found " + std::to_string(attrs.size));
  return call.input(0);
}

void compute_lrn(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  const auto& attrs = call.attrs<LRNAttrs>();
  size_t axis = axis_position(attrs.axis, data.rank());
  DType sum = data.dtype().bits < 32 ? kFloat32 : data.dtype();
  b.output(b.map(data.dims(), [&](Indices i) {
    Scalar squares = b.sum({Dim(attrs.size)}, [&](Indices k) {
      Scalar at = i[axis] + k[0] - (attrs.size - 1) / 2;
      Scalar x =
          te::cast(data.load_or(te::replace(i, axis, at), te::constant(0.0, data.dtype())), sum);
      return x * x;
    });
    Scalar below = squares * (attrs.alpha / static_cast<double>(attrs.size)) + attrs.bias;
    Scalar divisor = te::pow(below, te::constant(attrs.beta, sum));
    return te::cast(te::cast(data(i), sum) / divisor, data.dtype());
  }));
}

RELAY_OP("nn.lrn")
    .doc(
        "Each element by (bias + alpha · mean of its neighbours' squares)^beta; neighbours that "
        "there are not count as 0, of an even number one more comes after.")
    .input("data", "Tensor.", tensor('T', kFloats).rank(1, kAnyRank))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<LRNAttrs>()
    .example("fn (%x: Tensor[(1, 3), float32]) { nn.lrn(%x, size=3, alpha=1, bias=1, beta=1) }",
             "[[1, 2, 3]]")
    .relation(infer_lrn)
    .level(2)
    .compute(compute_lrn);

// ---- correlation --------------------------------------------------------------------------------

struct Correlation {
  Layout layout;
  Padding padding;
  int64_t radius;  // displacements on either side, in steps
  int64_t border;  // of the padded data that patches do not begin in
  explicit Correlation(const CorrelationAttrs& attrs)
      : layout(Layout::parse(attrs.layout, "NCHW", "layout")),
        padding(padding_attr(attrs.padding, 2)) {
    auto check = [](int64_t value, int64_t least, const char* what) {
      if (value >= least && value <= (int64_t{1} << 20)) return;
      throw Error(std::string(what) + " must be from " + std::to_string(least) +
                  " to 2^20, found " + std::to_string(value));
    };
    check(attrs.kernel_size, 1, "kernel_size");
    check(attrs.max_displacement, 0, "max_displacement");
    check(attrs.stride1, 1, "stride1");
    check(attrs.stride2, 1, "stride2");
    if (attrs.kernel_size % 2 == 0) {
      throw Error("kernel_size must be odd, found " + std::to_string(attrs.kernel_size));
    }
    radius = attrs.max_displacement / attrs.stride2;
    border = attrs.max_displacement + attrs.kernel_size / 2;
  }
  int64_t width() const { return 2 * radius + 1; }
};

TypeRef infer_correlation(const RelationCall& call) {
  te::TensorInfo first = call.tensor(0);
  te::TensorInfo second = call.tensor(1);
  const auto& attrs = call.attrs<CorrelationAttrs>();
  Correlation c(attrs);
  c.layout.check(first.dims, "data1");
  c.layout.check(second.dims, "data2");
  std::string shapes = "data1 " + shape_str(first.dims) + ", data2 " + shape_str(second.dims);
  for (size_t d = 0; d < first.rank(); ++d) {
    call.require_equal(first.dims[d], second.dims[d], "both must have one shape: " + shapes);
  }
  std::vector<Dim> dims = c.layout.dims([&](char axis) -> Dim {
    Dim extent = c.layout.extent(first.dims, axis);
    if (axis == 'N') return extent;
    if (axis == 'C') return c.width() * c.width();
    size_t d = axis == 'H' ? 0 : 1;
    Dim padded = extent + c.padding.before[d] + c.padding.after[d];
    call.require_at_most(2 * c.border + 1, padded,
                         "displaced patches span " + std::to_string(2 * c.border + 1) +
                             " on axis " + axis + ", more than the padded data's " + padded.str() +
                             ": " + shapes);
    return ceil_div(padded - 2 * c.border, attrs.stride1);
  });
  return TensorType::make(dims, first.dtype);
}

void compute_correlation(const OpCall& call, te::Builder& b) {
  te::Tensor first = b.input(0);
  te::Tensor second = b.input(1);
  const auto& attrs = call.attrs<CorrelationAttrs>();
  Correlation c(attrs);
  const Layout& layout = c.layout;
  Dim channels = layout.extent(first.dims(), 'C');
  DType sum = first.dtype().bits < 32 ? kFloat32 : first.dtype();
  b.output(b.map(call.result().dims, [&](Indices i) {
    Scalar displacement = layout.coordinate(i, 'C').whole;
    Scalar width = te::index_constant(c.width());
    Scalar moved[2] = {te::floor_div(displacement, width), te::floor_mod(displacement, width)};
    Dim extents[] = {channels, attrs.kernel_size, attrs.kernel_size};
    Scalar total = b.sum(extents, [&](Indices k) {
      auto element = [&](const te::Tensor& data, bool displaced) {
        std::vector<Scalar> index = layout.index([&](char axis) -> Coordinate {
          if (axis == 'N') return layout.coordinate(i, 'N');
          if (axis == 'C') return Coordinate(k[0]);
          size_t d = axis == 'H' ? 0 : 1;
          Scalar at = layout.coordinate(i, axis).whole * attrs.stride1 + k[d + 1] +
                      (attrs.max_displacement - c.padding.before[d]);
          if (displaced) at = at + moved[d] * attrs.stride2 - c.radius * attrs.stride2;
          return Coordinate(at);
        });
        return te::cast(data.load_or(index, te::constant(0.0, data.dtype())), sum);
      };
      Scalar x = element(first, false);
      Scalar y = element(second, true);
      return attrs.is_multiply ? x * y : te::abs(x - y);
    });
    Scalar count = te::cast(te::from_dim(channels * (attrs.kernel_size * attrs.kernel_size)), sum);
    return te::cast(total / count, first.dtype());
  }));
}

RELAY_OP("nn.correlation")
    .doc(
        "Correlation of patches of two images: for each place, and each displacement within reach "
        "(row by row, as channels of the result), the mean product or absolute difference.")
    .input("data1", "The first image in the layout.", tensor('T', kFloats))
    .input("data2", "The second, whose patches are displaced.", tensor('T'))
    .output("result", "A channel for each displacement, in the layout.", tensor('T'))
    .attrs<CorrelationAttrs>()
    .relation(infer_correlation)
    .example(
        "fn (%x: Tensor[(1, 1, 1, 3), float32], %y: Tensor[(1, 1, 1, 3), float32]) { "
        "nn.correlation(%x, %y, padding=[1, 1]) }",
        "[[[[1, 2, 3]]]]", "[[[[2, 3, 0]]]]")
    .level(2)
    .compute(compute_correlation);

// ---- fifo_buffer --------------------------------------------------------------------------------

TypeRef infer_fifo_buffer(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo buffer = call.tensor(1);
  std::string shapes = "data " + shape_str(data.dims) + ", buffer " + shape_str(buffer.dims);
  call.require(data.rank() == buffer.rank(), "data and buffer must have one rank: " + shapes);
  auto axis =
      static_cast<size_t>(normalize_axis(call, call.attrs<FIFOBufferAttrs>().axis, buffer.rank()));
  for (size_t d = 0; d < buffer.rank(); ++d) {
    if (d == axis) {
      call.require_at_most(
          data.dims[d], buffer.dims[d],
          "the data is longer than the buffer on axis " + std::to_string(d) + ": " + shapes);
    } else {
      call.require_equal(data.dims[d], buffer.dims[d],
                         "data and buffer differ on axis " + std::to_string(d) + ": " + shapes);
    }
  }
  return call.input(1);
}

void compute_fifo_buffer(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  te::Tensor buffer = b.input(1);
  size_t axis = axis_position(call.attrs<FIFOBufferAttrs>().axis, buffer.rank());
  Scalar added = te::from_dim(data.dim(axis));
  Dim kept = buffer.dim(axis) - data.dim(axis);
  b.output(b.map(buffer.dims(), [&](Indices i) {
    return te::piecewise(i[axis], {kept, data.dim(axis)}, [&](size_t part, Scalar at) {
      return part == 0 ? buffer(te::replace(i, axis, at + added)) : data(te::replace(i, axis, at));
    });
  }));
}

RELAY_OP("nn.fifo_buffer")
    .doc("The buffer with the data put in at its end; what comes first falls out.")
    .input("data", "New elements.", tensor('T').rank(1, kAnyRank))
    .input("buffer", "Earlier elements.", tensor('T').rank(1, kAnyRank))
    .output("result", "The buffer after it.", tensor('T'))
    .attrs<FIFOBufferAttrs>()
    .relation(infer_fifo_buffer)
    .example("fn (%x: Tensor[(2), float32], %b: Tensor[(5), float32]) { nn.fifo_buffer(%x, %b) }",
             "[6, 7]", "[1, 2, 3, 4, 5]")
    .level(3)
    .compute(compute_fifo_buffer);

}  // namespace
}  // namespace relay
