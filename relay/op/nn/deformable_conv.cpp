// Convolution at places that the data decides, and a convolution's gradient by its weight.
#include <relay/op/nn/conv_attrs.h>
#include <relay/op/nn/weight_layout.h>
#include <relay/op/op.h>
#include <relay/op/registry/layout.h>
#include <relay/op/registry/layout_flow.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

constexpr std::string_view kSpace = "HW";

DType sum_dtype(DType result) { return result.is_float() && result.bits < 32 ? kFloat32 : result; }

DType result_dtype(const RelationCall& call, DType wanted, DType data) {
  DType dtype = wanted.valid() ? wanted : data;
  call.require(dtype.is_numeric() && (data.is_integer() || dtype.is_float()),
               "out_dtype " + std::string(dtype.name()) + " cannot hold sums of " +
                   std::string(data.name()));
  return dtype;
}

// ---- deformable_conv2d --------------------------------------------------------------------------

struct Deformable {
  Layout data;
  Layout kernel;
  Layout out;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilation;
  Padding padding;

  explicit Deformable(const DeformableConv2DAttrs& attrs)
      : data(Layout::parse(attrs.data_layout, "NCHW", "data_layout")),
        kernel(Layout::parse(attrs.kernel_layout, "OIHW", "kernel_layout")),
        out(attrs.out_layout.empty() ? data
                                     : Layout::parse(attrs.out_layout, "NCHW", "out_layout")),
        strides(spatial_attr(attrs.strides, 2, "strides")),
        dilation(spatial_attr(attrs.dilation, 2, "dilation")),
        padding(padding_attr(attrs.padding, 2)) {
    if (attrs.groups < 1) {
      throw Error("groups must be at least 1, found " + std::to_string(attrs.groups));
    }
    if (attrs.deformable_groups < 1) {
      throw Error("deformable_groups must be at least 1, found " +
                  std::to_string(attrs.deformable_groups));
    }
  }
};

TypeRef infer_deformable(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo offset = call.tensor(1);
  te::TensorInfo weight = call.tensor(2);
  const auto& attrs = call.attrs<DeformableConv2DAttrs>();
  Deformable conv(attrs);
  conv.data.check(data.dims, "the data");
  conv.data.check(offset.dims, "the offsets");
  conv.kernel.check(weight.dims, "the weight");
  std::string shapes = "data " + shape_str(data.dims) + ", offsets " + shape_str(offset.dims) +
                       " in layout " + conv.data.text() + ", weight " + shape_str(weight.dims) +
                       " in layout " + conv.kernel.text();
  Dim in = conv.data.extent(data.dims, 'C');
  for (auto [count, what] : {std::pair(attrs.groups, "groups"),
                             std::pair(attrs.deformable_groups, "deformable_groups")}) {
    call.require_multiple(in, count,
                          std::to_string(count) + " " + what + " do not divide the " + in.str() +
                              " channels of the data: " + shapes);
  }
  Dim wanted_in = floor_div(in, attrs.groups);
  call.require_equal(
      conv.kernel.extent(weight.dims, 'I'), wanted_in,
      "the weight must have " + wanted_in.str() + " input channels for each group: " + shapes);
  Dim channels = conv.kernel.extent(weight.dims, 'O');
  if (attrs.channels) {
    call.require_equal(channels, *attrs.channels,
                       "channels = " + std::to_string(*attrs.channels) + ", but the weight makes " +
                           channels.str() + ": " + shapes);
    channels = *attrs.channels;
  }
  call.require_multiple(channels, attrs.groups,
                        std::to_string(attrs.groups) + " groups do not divide the " +
                            channels.str() + " channels of the result: " + shapes);
  std::vector<int64_t> sizes;
  if (attrs.kernel_size) sizes = spatial_attr(*attrs.kernel_size, 2, "kernel_size");
  Dim taps = 1;
  std::vector<Dim> space;
  for (size_t d = 0; d < 2; ++d) {
    Dim size = conv.kernel.extent(weight.dims, kSpace[d]);
    if (attrs.kernel_size) {
      call.require_equal(size, sizes[d],
                         "kernel_size is " + std::to_string(sizes[d]) + " on axis " + kSpace[d] +
                             ", but the weight has " + size.str() + ": " + shapes);
      size = sizes[d];
    }
    call.require_at_most(1, size, "the kernel is empty: " + shapes);
    taps = taps * size;
    Dim window = (size - 1) * conv.dilation[d] + 1;
    Dim padded =
        conv.data.extent(data.dims, kSpace[d]) + conv.padding.before[d] + conv.padding.after[d];
    call.require_at_most(window, padded,
                         "the kernel spans " + window.str() + " on axis " + kSpace[d] +
                             ", more than the padded data's " + padded.str() + ": " + shapes);
    space.push_back(floor_div(padded - window, conv.strides[d]) + 1);
  }
  Dim offsets = taps * (2 * attrs.deformable_groups);
  std::vector<Dim> wanted = conv.data.dims([&](char axis) {
    size_t d = kSpace.find(axis);
    if (axis == 'C') return offsets;
    return d == std::string_view::npos ? conv.data.extent(data.dims, axis) : space[d];
  });
  for (size_t i = 0; i < wanted.size(); ++i) {
    call.require_equal(offset.dims[i], wanted[i],
                       "the offsets, two for each tap and place, must have shape " +
                           shape_str(wanted) + ": " + shapes);
  }
  std::vector<Dim> dims = conv.out.dims([&](char axis) {
    size_t d = kSpace.find(axis);
    if (axis == 'C') return channels;
    return d == std::string_view::npos ? conv.data.extent(data.dims, axis) : space[d];
  });
  return TensorType::make(dims, result_dtype(call, attrs.out_dtype, data.dtype));
}

/// The sizes of a call.
struct Sizes {
  Dim batch, in;
  Dim taps[2], space[2];
};

/// For each deformable group, tap and place: the element before on either axis, and how far it is
/// from there. Axes: n, group, tap y, tap x, y, x.
struct Sampled {
  std::vector<te::Tensor> low, part;
};

Sampled sampled_places(te::Builder& b, const DeformableConv2DAttrs& attrs, const Deformable& conv,
                       const Sizes& sizes, DType place) {
  te::Tensor data = b.input(0);
  te::Tensor offset = b.input(1);
  Dim dims[] = {sizes.batch,   attrs.deformable_groups, sizes.taps[0],
                sizes.taps[1], sizes.space[0],          sizes.space[1]};
  Sampled sampled;
  for (size_t d = 0; d < 2; ++d) {
    std::vector<te::Tensor> two = b.map_n(dims, [&](Indices i) {
      Scalar channel =
          ((i[1] * te::from_dim(sizes.taps[0]) + i[2]) * te::from_dim(sizes.taps[1]) + i[3]) * 2 +
          static_cast<int64_t>(d);
      Scalar by = te::cast(offset(conv.data.index([&](char axis) -> Coordinate {
                             if (axis == 'N') return Coordinate(i[0]);
                             if (axis == 'C') return Coordinate(channel);
                             return Coordinate(axis == 'H' ? i[4] : i[5]);
                           })),
                           place);
      Scalar whole =
          i[4 + d] * conv.strides[d] + i[2 + d] * conv.dilation[d] - conv.padding.before[d];
      Scalar at = te::cast(whole, place) + by;
      // Far outside is as good as outside, and infinity would leave no part of an element.
      Dim far = conv.data.extent(data.dims(), kSpace[d]) + 2;
      at = te::max(te::min(at, te::cast(te::from_dim(far), place)), te::constant(-2.0, place));
      Scalar floor = te::floor(at);
      return std::vector<Scalar>{te::cast(floor, kInt64), at - floor};
    });
    sampled.low.push_back(two[0]);
    sampled.part.push_back(two[1]);
  }
  return sampled;
}

/// The data at every tap of every place: what remains is a product.
te::Tensor sampled_data(te::Builder& b, const DeformableConv2DAttrs& attrs, const Deformable& conv,
                        const Sizes& sizes, const Sampled& places, DType sum) {
  te::Tensor data = b.input(0);
  Dim group_in = floor_div(sizes.in, attrs.deformable_groups);
  Dim dims[] = {sizes.batch,   sizes.in,       sizes.taps[0],
                sizes.taps[1], sizes.space[0], sizes.space[1]};
  return b.map(dims, [&](Indices i) {
    std::vector<Scalar> at(i.begin(), i.end());
    at[1] = te::floor_div(i[1], te::from_dim(group_in));
    auto element = [&](int64_t y, int64_t x) {
      std::vector<Scalar> index = conv.data.index([&](char axis) -> Coordinate {
        if (axis == 'N') return Coordinate(i[0]);
        if (axis == 'C') return Coordinate(i[1]);
        return Coordinate(axis == 'H' ? places.low[0](at) + y : places.low[1](at) + x);
      });
      return te::cast(data.load_or(index, te::constant(0, data.dtype())), sum);
    };
    Scalar wy = te::cast(places.part[0](at), sum);
    Scalar wx = te::cast(places.part[1](at), sum);
    Scalar above = element(0, 0) * (1.0 - wx) + element(0, 1) * wx;
    Scalar below = element(1, 0) * (1.0 - wx) + element(1, 1) * wx;
    return above * (1.0 - wy) + below * wy;
  });
}

void compute_deformable(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  te::Tensor weight = b.input(2);
  const auto& attrs = call.attrs<DeformableConv2DAttrs>();
  Deformable conv(attrs);
  te::TensorInfo result = call.result();
  DType sum = sum_dtype(result.dtype);
  Sizes sizes{conv.data.extent(data.dims(), 'N'), conv.data.extent(data.dims(), 'C'), {}, {}};
  for (size_t d = 0; d < 2; ++d) {
    sizes.taps[d] = conv.kernel.extent(weight.dims(), kSpace[d]);
    sizes.space[d] = conv.out.extent(result.dims, kSpace[d]);
  }
  const DType place = sum == kFloat64 ? kFloat64 : kFloat32;
  const Sampled places = sampled_places(b, attrs, conv, sizes, place);
  te::Tensor sampled = sampled_data(b, attrs, conv, sizes, places, sum);

  Dim group_channels = floor_div(sizes.in, attrs.groups);
  Dim group_out = floor_div(conv.out.extent(result.dims, 'C'), attrs.groups);
  b.output(b.map(result.dims, [&](Indices i) {
    Scalar n = conv.out.coordinate(i, 'N').whole;
    Coordinate channel = conv.out.coordinate(i, 'C');
    Scalar y = conv.out.coordinate(i, 'H').whole;
    Scalar x = conv.out.coordinate(i, 'W').whole;
    Dim extents[] = {group_channels, sizes.taps[0], sizes.taps[1]};
    Scalar total = b.sum(extents, [&](Indices k) {
      Scalar from = k[0];
      if (attrs.groups > 1) {
        Scalar group = te::floor_div(channel.whole, te::from_dim(group_out));
        from = group * te::from_dim(group_channels) + k[0];
      }
      Scalar w = weight(conv.kernel.index([&](char axis) -> Coordinate {
        if (axis == 'O') return channel;
        return Coordinate(axis == 'I' ? k[0] : axis == 'H' ? k[1] : k[2]);
      }));
      return sampled({n, from, k[1], k[2], y, x}) * te::cast(w, sum);
    });
    return te::cast(total, result.dtype);
  }));
}

RELAY_OP("nn.deformable_conv2d")
    .column(layout_operands(), {{0, 1}, {2}, {}})
    .column(weight_layouts(), conv_weight_layout<DeformableConv2DAttrs>)
    .doc(
        "A convolution whose taps are moved by offsets, interpolated between four elements; those "
        "off the data are 0.")
    .input("data", "Tensor in data_layout.", tensor('T', kFloats))
    .input("offset",
           "Shift of each tap, in data_layout: channels are deformable groups, taps row by "
           "row, then y and x.",
           tensor(kFloats))
    .input("weight", "Tensor in kernel_layout: I counts the input channels of one group.",
           tensor('T'))
    .output("result", "Tensor in out_layout.", tensor(kFloats))
    .attrs<DeformableConv2DAttrs>()
    .relation(infer_deformable)
    .example(
        "fn (%x: Tensor[(1, 1, 1, 3), float32], %offset: Tensor[(1, 2, 1, 3), float32]) { "
        "nn.deformable_conv2d(%x, %offset, ones(shape=[1, 1, 1, 1], dtype=\"float32\")) }",
        "[[[[1, 2, 4]]]]", "[[[[0, 0, 0]], [[0, 0.5, -1]]]]")
    .level(5)
    .compute(compute_deformable);

// ---- conv2d_backward_weight ---------------------------------------------------------------------

// The attributes are those of nn.conv2d, with the layouts of gradient, data and weight in their
// order.
struct Backward {
  Layout grad;
  Layout data;
  Layout weight;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilation;
  Padding padding;

  explicit Backward(const Conv2DAttrs& attrs)
      : grad(Layout::parse(attrs.data_layout, "NCHW", "data_layout (of the gradient)")),
        data(Layout::parse(of_data(attrs.kernel_layout), "NCHW", "kernel_layout (of the data)")),
        weight(Layout::parse(attrs.out_layout.empty() ? "OIHW" : attrs.out_layout, "OIHW",
                             "out_layout (of the weight)")),
        strides(spatial_attr(attrs.strides, 2, "strides")),
        dilation(spatial_attr(attrs.dilation, 2, "dilation")),
        padding(padding_attr(attrs.padding, 2)) {
    if (attrs.groups < 1) {
      throw Error("groups must be at least 1, found " + std::to_string(attrs.groups));
    }
  }
  // O and I stand for N and C: so the attribute's default is the layout of images.
  static std::string of_data(std::string text) {
    for (char& c : text) {
      c = c == 'O' ? 'N' : c == 'I' ? 'C' : c == 'o' ? 'n' : c == 'i' ? 'c' : c;
    }
    return text;
  }
};

TypeRef infer_backward(const RelationCall& call) {
  te::TensorInfo grad = call.tensor(0);
  te::TensorInfo data = call.tensor(1);
  const auto& attrs = call.attrs<Conv2DAttrs>();
  Backward conv(attrs);
  conv.grad.check(grad.dims, "the gradient");
  conv.data.check(data.dims, "the data");
  std::string shapes = "gradient " + shape_str(grad.dims) + " in layout " + conv.grad.text() +
                       ", data " + shape_str(data.dims) + " in layout " + conv.data.text();
  Dim in = conv.data.extent(data.dims, 'C');
  Dim out = conv.grad.extent(grad.dims, 'C');
  for (Dim channels : {in, out}) {
    call.require_multiple(channels, attrs.groups,
                          std::to_string(attrs.groups) + " groups do not divide the " +
                              channels.str() + " channels: " + shapes);
  }
  if (attrs.channels) {
    call.require_equal(out, *attrs.channels,
                       "channels = " + std::to_string(*attrs.channels) + ", but the gradient has " +
                           out.str() + ": " + shapes);
    out = *attrs.channels;
  }
  Dim batch = conv.data.extent(data.dims, 'N');
  call.require_equal(conv.grad.extent(grad.dims, 'N'), batch,
                     "gradient and data differ in the batch: " + shapes);
  call.require(attrs.kernel_size.has_value(),
               "kernel_size is missing: several kernels give one extent of the gradient");
  std::vector<int64_t> sizes = spatial_attr(*attrs.kernel_size, 2, "kernel_size");
  for (size_t d = 0; d < 2; ++d) {
    Dim window = (Dim(sizes[d]) - 1) * conv.dilation[d] + 1;
    Dim padded =
        conv.data.extent(data.dims, kSpace[d]) + conv.padding.before[d] + conv.padding.after[d];
    call.require_at_most(window, padded,
                         "the kernel spans " + window.str() + " on axis " + kSpace[d] +
                             ", more than the padded data's " + padded.str() + ": " + shapes);
    Dim wanted = floor_div(padded - window, conv.strides[d]) + 1;
    call.require_equal(
        conv.grad.extent(grad.dims, kSpace[d]), wanted,
        "the gradient must have extent " + wanted.str() + " on axis " + kSpace[d] + ": " + shapes);
  }
  std::vector<Dim> dims = conv.weight.dims([&](char axis) -> Dim {
    if (axis == 'O') return out;
    return axis == 'I' ? floor_div(in, attrs.groups) : Dim(sizes[kSpace.find(axis)]);
  });
  return TensorType::make(dims, result_dtype(call, attrs.out_dtype, data.dtype));
}

void compute_backward(const OpCall& call, te::Builder& b) {
  te::Tensor grad = b.input(0);
  te::Tensor data = b.input(1);
  const auto& attrs = call.attrs<Conv2DAttrs>();
  Backward conv(attrs);
  te::TensorInfo result = call.result();
  DType sum = sum_dtype(result.dtype);
  bool inside = true;
  for (size_t d = 0; d < 2; ++d) {
    inside = inside && conv.padding.before[d] <= 0 && conv.padding.after[d] <= 0;
  }
  Dim group_in = floor_div(conv.data.extent(data.dims(), 'C'), attrs.groups);
  Dim group_out = floor_div(conv.grad.extent(grad.dims(), 'C'), attrs.groups);
  b.output(b.map(result.dims, [&](Indices i) {
    Coordinate out = conv.weight.coordinate(i, 'O');
    Coordinate in = conv.weight.coordinate(i, 'I');
    if (attrs.groups > 1) {
      in = Coordinate(te::floor_div(out.whole, te::from_dim(group_out)) * te::from_dim(group_in) +
                      in.whole);
    }
    Dim extents[] = {conv.grad.extent(grad.dims(), 'N'), conv.grad.extent(grad.dims(), 'H'),
                     conv.grad.extent(grad.dims(), 'W')};
    Scalar total = b.sum(extents, [&](Indices k) {
      Scalar g = grad(conv.grad.index([&](char axis) -> Coordinate {
        if (axis == 'C') return out;
        return Coordinate(axis == 'N' ? k[0] : axis == 'H' ? k[1] : k[2]);
      }));
      std::vector<Scalar> index = conv.data.index([&](char axis) -> Coordinate {
        if (axis == 'C') return in;
        if (axis == 'N') return Coordinate(k[0]);
        size_t d = kSpace.find(axis);
        Scalar tap = conv.weight.coordinate(i, axis).whole;
        return Coordinate(k[d + 1] * conv.strides[d] + tap * conv.dilation[d] -
                          conv.padding.before[d]);
      });
      Scalar x = inside ? data(index) : data.load_or(index, te::constant(0, data.dtype()));
      return te::cast(g, sum) * te::cast(x, sum);
    });
    return te::cast(total, result.dtype);
  }));
}

RELAY_OP("nn.conv2d_backward_weight")
    .doc(
        "The gradient of nn.conv2d by its weight. Of the attributes, data_layout is the gradient's "
        "layout, kernel_layout the data's (O and I stand for N and C), out_layout the weight's "
        "(OIHW by default).")
    .input("grad", "Gradient of the convolution's result.", tensor('T', kNumbers))
    .input("data", "Data of the convolution.", tensor('T'))
    .output("result", "Gradient of the weight.", tensor(kNumbers))
    .attrs<Conv2DAttrs>()
    .relation(infer_backward)
    .example(
        "fn (%g: Tensor[(1, 1, 1, 3), float32], %x: Tensor[(1, 1, 1, 4), float32]) { "
        "nn.conv2d_backward_weight(%g, %x, kernel_size=[1, 2]) }",
        "[[[[1, 0, 2]]]]", "[[[[1, 2, 3, 4]]]]")
    .level(2)
    .compute(compute_backward);

}  // namespace
}  // namespace relay
