// Boxes of single-shot detectors, and the reordering of YOLO.
#include <cmath>

#include <relay/op/op.h>
#include <relay/op/vision/vision_attrs.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

// ---- multibox_prior -----------------------------------------------------------------------------

TypeRef infer_multibox_prior(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<MultiBoxPriorAttrs>();
  call.require(!attrs.sizes.empty() && !attrs.ratios.empty(),
               "sizes and ratios must have at least one entry");
  for (double ratio : attrs.ratios) {
    call.require(ratio > 0, "ratios must be positive, found " + AttrValue(ratio).str());
  }
  for (auto [list, what] :
       {std::pair(&attrs.steps, "steps"), std::pair(&attrs.offsets, "offsets")}) {
    call.require(list->size() == 2, std::string(what) + " must have 2 numbers, y and x, found " +
                                        std::to_string(list->size()));
  }
  auto boxes = static_cast<int64_t>(attrs.sizes.size() + attrs.ratios.size() - 1);
  std::vector<Dim> dims{1, data.dims[2] * data.dims[3] * boxes, 4};
  return TensorType::make(dims, data.dtype);
}

// Entry k of a short list.
Scalar entry(const std::vector<double>& list, const Scalar& k, DType dtype) {
  std::vector<Dim> ones(list.size(), Dim(1));
  return te::piecewise(k, ones,
                       [&](size_t i, const Scalar&) { return te::constant(list[i], dtype); });
}

Scalar clipped(Scalar x, bool clip) {
  if (!clip) return x;
  DType dtype = x.dtype();
  return te::max(te::min(std::move(x), te::constant(1.0, dtype)), te::constant(0.0, dtype));
}

void compute_multibox_prior(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  const auto& attrs = call.attrs<MultiBoxPriorAttrs>();
  te::TensorInfo result = call.result();
  DType dtype = result.dtype == kFloat64 ? kFloat64 : kFloat32;
  Dim height = data.dim(2);
  Dim width = data.dim(3);
  // Half of the widths (but for the image's shape) and heights of the boxes at one place.
  std::vector<double> wide, high;
  for (double size : attrs.sizes) {
    wide.push_back(size / 2);
    high.push_back(size / 2);
  }
  for (size_t k = 1; k < attrs.ratios.size(); ++k) {
    wide.push_back(attrs.sizes[0] * std::sqrt(attrs.ratios[k]) / 2);
    high.push_back(attrs.sizes[0] / std::sqrt(attrs.ratios[k]) / 2);
  }
  auto middles = [&](size_t d, Dim extent) {
    return b.map({extent}, [&](Indices i) {
      Scalar at = te::cast(i[0], dtype) + attrs.offsets[d];
      if (attrs.steps[d] > 0) return at * attrs.steps[d];
      return at / te::cast(te::from_dim(extent), dtype);
    });
  };
  te::Tensor y = middles(0, height);
  te::Tensor x = middles(1, width);
  Dim dims[] = {height, width, static_cast<int64_t>(wide.size()), 4};
  te::Tensor boxes = b.map(dims, [&](Indices i) {
    Scalar shape = te::cast(te::from_dim(height), dtype) / te::cast(te::from_dim(width), dtype);
    Scalar half_width = entry(wide, i[2], dtype) * shape;
    Scalar half_height = entry(high, i[2], dtype);
    Scalar value = te::piecewise(i[3], {1, 1, 1, 1}, [&](size_t k, const Scalar&) {
      Scalar middle = k % 2 == 0 ? x({i[1]}) : y({i[0]});
      Scalar half = k % 2 == 0 ? half_width : half_height;
      return k < 2 ? middle - half : middle + half;
    });
    return te::cast(clipped(value, attrs.clip), result.dtype);
  });
  b.output(b.reshape(boxes, result.dims));
}

RELAY_OP("vision.multibox_prior")
    .doc(
        "Boxes at every place of a grid, as shares of the image: left, top, right, bottom. First "
        "those of each size, then those of the first size with each further ratio; of the first "
        "ratio, which counts as 1, and of the data nothing but its height and width matters.")
    .input("data", "Tensor of height and width as its axes 2 and 3.", tensor('T', kFloats).rank(4))
    .output("result", "(1, boxes, 4).", tensor('T').rank(3))
    .attrs<MultiBoxPriorAttrs>()
    .relation(infer_multibox_prior)
    .example(
        "fn (%x: Tensor[(1, 1, 1, 2), float32]) { vision.multibox_prior(%x, sizes=[0.5f, 0.25f]) }",
        "[[[[0, 0]]]]")
    .level(5)
    .compute(compute_multibox_prior);

// ---- multibox_transform_loc ---------------------------------------------------------------------

TypeRef infer_multibox_transform(const RelationCall& call) {
  te::TensorInfo probability = call.tensor(0);
  te::TensorInfo location = call.tensor(1);
  te::TensorInfo anchor = call.tensor(2);
  const auto& attrs = call.attrs<MultiBoxTransformLocAttrs>();
  std::string shapes = ": cls_prob " + shape_str(probability.dims) + ", loc_pred " +
                       shape_str(location.dims) + ", anchor " + shape_str(anchor.dims);
  Dim batch = probability.dims[0];
  Dim anchors = probability.dims[2];
  std::string message = "loc_pred must have shape (batch, 4 · anchors)" + shapes;
  call.require_equal(location.dims[0], batch, message);
  call.require_equal(location.dims[1], anchors * 4, message);
  message = "anchor must have shape (1, anchors, 4)" + shapes;
  call.require_equal(anchor.dims[0], 1, message);
  call.require_equal(anchor.dims[1], anchors, message);
  call.require_equal(anchor.dims[2], 4, message);
  call.require(attrs.variances.size() == 4,
               "variances must have 4 numbers, found " + std::to_string(attrs.variances.size()));
  std::vector<Dim> dims{batch, anchors, 6};
  return TupleType::make({TensorType::make(dims, probability.dtype),
                          TensorType::make(std::span<const Dim>(&batch, 1), kInt32)});
}

void compute_multibox_transform(const OpCall& call, te::Builder& b) {
  te::Tensor probability = b.input(0);
  te::Tensor location = b.input(1);
  te::Tensor anchor = b.input(2);
  const auto& attrs = call.attrs<MultiBoxTransformLocAttrs>();
  te::TensorInfo result = call.result(0);
  DType dtype = result.dtype.bits < 32 ? kFloat32 : result.dtype;
  Dim places[] = {result.dims[0], result.dims[1]};
  int64_t first = attrs.keep_background ? 0 : 1;
  Dim classes = max(probability.dim(1) - first, Dim(0));

  // The likeliest class of each anchor, the first of equal ones, and its probability.
  std::vector<te::Tensor> best = b.map_n(places, [&](Indices i) {
    Scalar none = te::constant(-1.0, dtype);
    std::vector<Scalar> found = b.fold(
        {classes},
        [&](Indices k) -> std::vector<Scalar> {
          Scalar id = k[0] + first;
          Scalar p = te::cast(probability({i[0], id, i[1]}), dtype);
          return {te::select(p == p, p, none), id};
        },
        [](auto lhs, auto rhs) -> std::vector<Scalar> {
          Scalar take = rhs[0] > lhs[0] || (rhs[0] == lhs[0] && rhs[1] < lhs[1]);
          return {te::select(take, rhs[0], lhs[0]), te::select(take, rhs[1], lhs[1])};
        },
        {none, te::index_constant(0)});
    Scalar id = te::select(found[0] < attrs.threshold, te::index_constant(0), found[1]);
    return std::vector<Scalar>{id, found[0]};
  });
  auto is_kept = [&](Indices i) {
    return attrs.keep_background ? te::constant(1, kBool) : best[0](i) > 0;
  };
  te::Tensor before = b.scan(
      places, 1, [](Indices) { return std::vector<Scalar>{te::index_constant(0)}; },
      [&](Indices i, std::span<const Scalar> carry) {
        return std::vector<Scalar>{carry[0] + te::cast(is_kept(i), kInt64)};
      },
      false, true)[0];

  te::Tensor rows = b.map(result.dims, [&](Indices i) {
    Indices place = i.first(2);
    Scalar value = te::piecewise(i[2], {1, 1, 4}, [&](size_t part, const Scalar& k) {
      if (part == 0) {
        Scalar id = best[0](place);
        return te::cast(attrs.keep_background ? id : id - 1, dtype);
      }
      if (part == 1) return best[1](place);
      // Entries 0 and 2 are x, 1 and 3 are y; first the lower ends.
      Scalar d = te::floor_mod(k, te::index_constant(2));
      auto of_anchor = [&](int64_t at) {
        return te::cast(anchor({te::index_constant(0), i[1], d + at}), dtype);
      };
      auto predicted = [&](int64_t at) {
        return te::cast(location({i[0], i[1] * 4 + d + at}), dtype) *
               entry(attrs.variances, d + at, dtype);
      };
      Scalar low = of_anchor(0);
      Scalar high = of_anchor(2);
      Scalar extent = high - low;
      Scalar middle = predicted(0) * extent + (low + high) / 2.0;
      Scalar half = te::exp(predicted(2)) * extent / 2.0;
      return clipped(te::select(k < 2, middle - half, middle + half), attrs.clip);
    });
    return te::cast(value, result.dtype);
  });
  te::Tensor empty = b.map(result.dims, [&](Indices) { return te::constant(-1.0, result.dtype); });
  b.output(b.update(
      empty, result.dims,
      [&](Indices i) {
        Indices place = i.first(2);
        return std::vector<Scalar>{
            i[0], te::select(is_kept(place), before(place), te::index_constant(-1)), i[2]};
      },
      [&](Indices i) { return rows(i); }, te::Builder::UpdateOp::kAssign, te::Bounds::kFill));
  b.output(b.map({result.dims[0]}, [&](Indices i) {
    return b.sum({result.dims[1]}, [&](Indices k) {
      return te::cast(is_kept(std::vector<Scalar>{i[0], k[0]}), kInt32);
    });
  }));
}

RELAY_OP("vision.multibox_transform_loc")
    .doc(
        "The box of each anchor that is not background, one after another: class, probability, "
        "left, top, right, bottom; and how many there are. What comes after them is -1. A "
        "probability that is not-a-number counts as none.")
    .input(
        "cls_prob",
        "Probability of each class, background first, at each anchor: (batch, classes, anchors).",
        tensor('T', kFloats).rank(3))
    .input("loc_pred", "x, y, width and height relative to each anchor: (batch, 4 · anchors).",
           tensor('T').rank(2))
    .input("anchor", "Left, top, right and bottom of each anchor: (1, anchors, 4).",
           tensor('T').rank(3))
    .output("boxes", "(batch, anchors, 6).", tensor('T').rank(3))
    .output("count", "Number of boxes of each batch element.", tensor(kInt32).rank(1))
    .attrs<MultiBoxTransformLocAttrs>()
    .relation(infer_multibox_transform)
    .example(
        "fn (%p: Tensor[(1, 2, 2), float32], %l: Tensor[(1, 8), float32], %a: Tensor[(1, 2, 4), "
        "float32]) { vision.multibox_transform_loc(%p, %l, %a) }",
        "[[[0.995, 0.2], [0.005, 0.8]]]", "[[0, 0, 0, 0, 1, 0, 0, 0]]",
        "[[[0, 0, 0.5, 0.5], [0.5, 0, 0.75, 1]]]")
    .level(5)
    .compute(compute_multibox_transform);

// ---- yolo_reorg ---------------------------------------------------------------------------------

TypeRef infer_yolo_reorg(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  int64_t stride = call.attrs<YoloReorgAttrs>().stride;
  call.require(stride >= 1 && stride <= (int64_t{1} << 20),
               "stride must be from 1 to 2^20, found " + std::to_string(stride));
  std::string blocks = "blocks of " + std::to_string(stride) + " by " + std::to_string(stride);
  call.require_multiple(data.dims[1], stride * stride,
                        blocks + " do not divide the " + data.dims[1].str() + " channels of data " +
                            shape_str(data.dims));
  for (size_t d = 2; d < 4; ++d) {
    call.require_multiple(
        data.dims[d], stride,
        blocks + " do not divide axis " + std::to_string(d) + " of data " + shape_str(data.dims));
  }
  std::vector<Dim> dims{data.dims[0], data.dims[1] * (stride * stride),
                        floor_div(data.dims[2], stride), floor_div(data.dims[3], stride)};
  return TensorType::make(dims, data.dtype);
}

void compute_yolo_reorg(const OpCall& call, te::Builder& b) {
  int64_t stride = call.attrs<YoloReorgAttrs>().stride;
  te::Tensor data = b.input(0);
  Dim channels = floor_div(data.dim(1), stride * stride);
  // As Darknet does: the data is taken for an image of fewer channels and greater extents.
  Dim wide[] = {data.dim(0), channels, data.dim(2) * stride, data.dim(3) * stride};
  te::Tensor image = b.reshape(data, wide);
  Dim dims[] = {data.dim(0), stride, stride, channels, data.dim(2), data.dim(3)};
  te::Tensor copy = b.map(dims, [&](Indices i) {
    return image({i[0], i[3], i[4] * stride + i[1], i[5] * stride + i[2]});
  });
  b.output(b.reshape(copy, call.result().dims));
}

RELAY_OP("vision.yolo_reorg")
    .doc(
        "Darknet's reorg: the data, taken for images of 1 / stride² of the channels and stride "
        "times the extents, with the elements of each block as channels.")
    .input("data", "Tensor in layout NCHW.", tensor('T').rank(4))
    .output("result", "Tensor in layout NCHW.", tensor('T').rank(4))
    .attrs<YoloReorgAttrs>()
    .relation(infer_yolo_reorg)
    .example("fn (%x: Tensor[(1, 4, 2, 2), float32]) { vision.yolo_reorg(%x, stride=2) }",
             "random(1, 4, 2, 2)")
    .level(5)
    .compute(compute_yolo_reorg);

}  // namespace
}  // namespace relay
