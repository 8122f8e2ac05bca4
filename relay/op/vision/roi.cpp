// Regions of images at one size, and proposals of regions. The kernels are in
// relay/runtime/kernels/roi.cpp and proposal.cpp: only the data tell the number of a region's
// samples, and the remaining boxes.
#include <cmath>

#include <relay/op/registry/facts.h>
#include <relay/op/registry/layout.h>
#include <relay/op/vision/vision_attrs.h>
#include <relay/runtime/kernels/positions.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

bool channels_last(const std::string& layout) {
  if (layout != "NCHW" && layout != "NHWC") {
    throw Error("layout must be \"NCHW\" or \"NHWC\", found \"" + layout + "\"");
  }
  return layout == "NHWC";
}

TypeRef infer_roi(const RelationCall& call, const std::vector<int64_t>& pooled, double scale,
                  const std::string& layout) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo rois = call.tensor(1);
  bool last = channels_last(layout);
  call.require_equal(rois.dims[1], 5, "rois must have shape (n, 5), found " + shape_str(rois.dims));
  call.require(pooled.size() == 2,
               "pooled_size must have 2 extents, found " + std::to_string(pooled.size()));
  for (int64_t extent : pooled) {
    call.require(
        extent >= 1 && extent <= (int64_t{1} << 20),
        "an extent of pooled_size must be from 1 to 2^20, found " + std::to_string(extent));
  }
  call.require(scale > 0 && scale < 1e9,
               "spatial_scale must be positive, found " + AttrValue(scale).str());
  std::vector<Dim> dims{rois.dims[0]};
  if (!last) dims.push_back(data.dims[1]);
  dims.insert(dims.end(), pooled.begin(), pooled.end());
  if (last) dims.push_back(data.dims[3]);
  size_t h = last ? 1 : 2;
  Dim space[] = {data.dims[h], data.dims[h + 1]};
  call.require_some(space, dims, "data " + shape_str(data.dims) + " has no elements to sample");
  return TensorType::make(dims, data.dtype);
}

TypeRef infer_roi_align(const RelationCall& call) {
  const auto& attrs = call.attrs<ROIAlignAttrs>();
  call.require(attrs.sample_ratio <= 1024,
               "sample_ratio must not exceed 1024, found " + std::to_string(attrs.sample_ratio));
  return infer_roi(call, *attrs.pooled_size, *attrs.spatial_scale, attrs.layout);
}

TypeRef infer_roi_pool(const RelationCall& call) {
  const auto& attrs = call.attrs<ROIPoolAttrs>();
  return infer_roi(call, *attrs.pooled_size, *attrs.spatial_scale, attrs.layout);
}

/// Elements of regions as large as their images.
Dim elements_in_regions(const OpCall& call) {
  std::vector<Dim> dims = call.tensor(0).dims;
  dims[0] = call.tensor(1).dims[0];
  return product(dims);
}

Cost cost_of_roi_align(const OpCall& call) {
  int64_t ratio = call.attrs<ROIAlignAttrs>().sample_ratio;
  Dim samples =
      ratio > 0 ? product(call.result().dims) * Dim(ratio * ratio) : elements_in_regions(call);
  return kernel_cost(call, samples * 8);  // four products and their sum
}

RELAY_OP("vision.roi_align")
    .doc(
        "Regions of images, cut into bins, each the mean (or greatest) of samples that are "
        "interpolated between four elements. Samples more than one element off the data are 0. A "
        "region whose size is not finite is not-a-number.")
    .input("data", "Images in the layout.", tensor('T', kFloats).rank(4))
    .input("rois", "Image (a whole number), left, top, right and bottom of each region: (n, 5).",
           tensor(kFloats).rank(2))
    .output("result", "The regions in the layout.", tensor('T').rank(4))
    .attrs<ROIAlignAttrs>()
    .relation(infer_roi_align)
    .level(5)
    .example(
        "fn (%x: Tensor[(1, 1, 2, 4), float32], %r: Tensor[(1, 5), float32]) { "
        "vision.roi_align(%x, %r, pooled_size=[1, 2], spatial_scale=1, sample_ratio=2) }",
        "[[[[0, 1, 2, 3], [4, 5, 6, 7]]]]", "[[0, 0, 0, 3, 1]]")
    .column(costs(), cost_of_roi_align)
    .kernel("roi_align",
            [](const OpCall& call) -> KernelParams {
              const auto& attrs = call.attrs<ROIAlignAttrs>();
              return {{"spatial_scale", *attrs.spatial_scale},
                      {"sample_ratio", attrs.sample_ratio},
                      {"max", attrs.mode == RoiMode::kMax},
                      {"channels_last", channels_last(attrs.layout)},
                      {"aligned", attrs.aligned}};
            })
    .no_gradient("its kernel does not say what it read; image.crop_and_resize has one");

RELAY_OP("vision.roi_pool")
    .doc(
        "Regions of images, rounded to elements (halves away from zero) and cut into bins, each "
        "its greatest element; 0 where there is none. A region whose size is not finite is "
        "not-a-number.")
    .input("data", "Images in the layout.", tensor('T', kFloats).rank(4))
    .input("rois",
           "Image (a whole number), left, top, right and bottom of each region, the last included: "
           "(n, 5).",
           tensor(kFloats).rank(2))
    .output("result", "The regions in the layout.", tensor('T').rank(4))
    .attrs<ROIPoolAttrs>()
    .relation(infer_roi_pool)
    .level(5)
    .example(
        "fn (%x: Tensor[(1, 1, 2, 4), float32], %r: Tensor[(1, 5), float32]) { "
        "vision.roi_pool(%x, %r, pooled_size=[1, 2], spatial_scale=1) }",
        "[[[[0, 1, 2, 3], [4, 5, 6, 7]]]]", "[[0, 0, 0, 3, 1]]")
    .column(costs(),
            [](const OpCall& call) { return kernel_cost(call, elements_in_regions(call)); })
    .column(quantised_rules(), QuantisedRule::kConstants)
    .kernel("roi_pool",
            [](const OpCall& call) -> KernelParams {
              const auto& attrs = call.attrs<ROIPoolAttrs>();
              return {{"spatial_scale", *attrs.spatial_scale},
                      {"channels_last", channels_last(attrs.layout)}};
            })
    .no_gradient("its kernel does not say what it read; image.crop_and_resize has one");

// ---- proposal -----------------------------------------------------------------------------------

TypeRef infer_proposal(const RelationCall& call) {
  te::TensorInfo scores = call.tensor(0);
  te::TensorInfo boxes = call.tensor(1);
  te::TensorInfo info = call.tensor(2);
  const auto& attrs = call.attrs<ProposalAttrs>();
  std::string shapes = ": cls_prob " + shape_str(scores.dims) + ", bbox_pred " +
                       shape_str(boxes.dims) + ", im_info " + shape_str(info.dims);
  call.require(!attrs.scales.empty() && !attrs.ratios.empty(),
               "scales and ratios must have at least one entry");
  for (auto [list, what] :
       {std::pair(&attrs.scales, "scales"), std::pair(&attrs.ratios, "ratios")}) {
    for (double one : *list) {
      call.require(one > 0, std::string(what) + " must be positive, found " + AttrValue(one).str());
    }
  }
  call.require(
      attrs.feature_stride >= 1 && attrs.feature_stride <= (int64_t{1} << 20),
      "feature_stride must be from 1 to 2^20, found " + std::to_string(attrs.feature_stride));
  call.require(attrs.rpn_post_nms_top_n >= 1 && attrs.rpn_post_nms_top_n <= (int64_t{1} << 30),
               "the count rpn_post_nms_top_n must be from 1 to 2^30, found " +
                   std::to_string(attrs.rpn_post_nms_top_n));
  auto anchors = static_cast<int64_t>(attrs.scales.size() * attrs.ratios.size());
  call.require_equal(scores.dims[1], 2 * anchors,
                     "cls_prob must have 2 channels for each of the " + std::to_string(anchors) +
                         " anchors" + shapes);
  call.require_equal(boxes.dims[1], 4 * anchors,
                     "bbox_pred must have 4 channels for each of the " + std::to_string(anchors) +
                         " anchors" + shapes);
  for (size_t d : {size_t{0}, size_t{2}, size_t{3}}) {
    call.require_equal(scores.dims[d], boxes.dims[d],
                       "cls_prob and bbox_pred differ on axis " + std::to_string(d) + shapes);
  }
  call.require_equal(info.dims[0], scores.dims[0],
                     "im_info must have as many rows as there are images" + shapes);
  call.require_equal(info.dims[1], 3, "im_info must have 3 columns" + shapes);
  int64_t most = most_positions(scores.dtype);
  call.require_at_most(scores.dims[0], most,
                       std::string(scores.dtype.name()) + " holds the numbers of " +
                           std::to_string(most) + " images at most" + shapes);
  Dim space[] = {scores.dims[2], scores.dims[3]};
  std::vector<Dim> dims{scores.dims[0] * attrs.rpn_post_nms_top_n, 5};
  call.require_some(space, dims, "there are no anchors to propose boxes from" + shapes);
  return TensorType::make(dims, scores.dtype);
}

// Left, top, right and bottom of the anchors around the first place: widths and heights of the
// ratios are whole numbers before they are scaled, as in Faster R-CNN.
std::vector<std::vector<double>> anchors_of(const ProposalAttrs& attrs) {
  std::vector<std::vector<double>> edges(4);
  auto base = static_cast<double>(attrs.feature_stride);
  double middle = 0.5 * (base - 1);
  for (double ratio : attrs.ratios) {
    double narrow = std::floor(std::sqrt(std::floor(base * base / ratio)) + 0.5);
    double high = std::floor(narrow * ratio + 0.5);
    for (double scale : attrs.scales) {
      double half_width = 0.5 * (narrow * scale - 1);
      double half_height = 0.5 * (high * scale - 1);
      edges[0].push_back(middle - half_width);
      edges[1].push_back(middle - half_height);
      edges[2].push_back(middle + half_width);
      edges[3].push_back(middle + half_height);
    }
  }
  return edges;
}

void compute_proposal(const OpCall& call, te::Builder& b) {
  te::Tensor scores = b.input(0);
  te::Tensor deltas = b.input(1);
  te::Tensor info = b.input(2);
  const auto& attrs = call.attrs<ProposalAttrs>();
  DType dtype = scores.dtype() == kFloat64 ? kFloat64 : kFloat32;
  std::vector<std::vector<double>> edges = anchors_of(attrs);
  auto anchors = static_cast<int64_t>(edges[0].size());
  auto stride = static_cast<double>(attrs.feature_stride);
  std::vector<Dim> ones(edges[0].size(), Dim(1));
  auto image = [&](const Scalar& n, int64_t k) {
    return te::cast(info({n, te::index_constant(k)}), dtype);
  };

  // Boxes in the order of places, then anchors. Axes: image, y, x, anchor.
  Dim dims[] = {scores.dim(0), scores.dim(2), scores.dim(3), anchors};
  std::vector<te::Tensor> parts = b.map_n(dims, [&](Indices i) {
    auto edge = [&](size_t k) {
      Scalar of_anchor = te::piecewise(
          i[3], ones, [&](size_t a, const Scalar&) { return te::constant(edges[k][a], dtype); });
      return of_anchor + te::cast(i[k % 2 == 0 ? 2 : 1], dtype) * stride;
    };
    auto delta = [&](int64_t k) {
      return te::cast(deltas({i[0], i[3] * 4 + k, i[1], i[2]}), dtype);
    };
    Scalar box[4];
    for (size_t d = 0; d < 2; ++d) {
      auto k = static_cast<int64_t>(d);
      Scalar low = edge(d);
      Scalar high = edge(d + 2);
      if (attrs.iou_loss) {
        box[d] = low + delta(k);
        box[d + 2] = high + delta(k + 2);
      } else {
        Scalar size = high - low + 1.0;
        Scalar middle = low + (size - 1.0) * 0.5 + delta(k) * size;
        Scalar half = (te::exp(delta(k + 2)) * size - 1.0) * 0.5;
        box[d] = middle - half;
        box[d + 2] = middle + half;
      }
      Scalar most = image(i[0], d == 0 ? 1 : 0) - 1.0;
      for (size_t e : {d, d + 2}) {
        box[e] = te::max(te::min(box[e], most), te::constant(0.0, dtype));
      }
    }
    Scalar least = image(i[0], 2) * static_cast<double>(attrs.rpn_min_size);
    Scalar is_small = box[2] - box[0] + 1.0 < least || box[3] - box[1] + 1.0 < least;
    // Places beyond the image, in whole steps, are of padding.
    auto beyond = [&](const Scalar& at, int64_t k) {
      return te::cast(at, dtype) >= te::unary(te::UnaryOp::kTrunc, image(i[0], k) / stride);
    };
    Scalar score = te::cast(scores({i[0], i[3] + anchors, i[1], i[2]}), dtype);
    Scalar is_out = is_small || beyond(i[1], 0) || beyond(i[2], 1);
    std::vector<Scalar> values{te::select(is_out, te::constant(-1.0, dtype), score)};
    for (size_t e = 0; e < 4; ++e) {
      Scalar wider = e < 2 ? box[e] - least * 0.5 : box[e] + least * 0.5;
      values.push_back(te::select(is_small, wider, box[e]));
    }
    return values;
  });
  Dim count = product(std::span<const Dim>(dims).subspan(1));
  Dim flat[] = {scores.dim(0), count};
  Dim quads[] = {scores.dim(0), scores.dim(2), scores.dim(3), anchors, 4};
  te::Tensor boxes = b.map(quads, [&](Indices i) {
    Indices at = i.first(4);
    return te::piecewise(i[4], {1, 1, 1, 1},
                         [&](size_t k, const Scalar&) { return parts[k + 1](at); });
  });
  te::Tensor scored = b.map(dims, [&](Indices i) { return parts[0](i); });
  Dim rows[] = {scores.dim(0), count, 4};
  te::Tensor inputs[] = {b.reshape(scored, flat), b.reshape(boxes, rows)};
  te::TensorInfo result = call.result();
  te::Tensor chosen =
      b.library("proposal", inputs, {{result.dims, dtype}},
                {{"pre_nms_top_n", attrs.rpn_pre_nms_top_n}, {"threshold", attrs.threshold}})[0];
  if (dtype == result.dtype) {
    b.output(chosen);
    return;
  }
  b.output(b.map(result.dims, [&](Indices i) { return te::cast(chosen(i), result.dtype); }));
}

Cost cost_of_proposal(const OpCall& call) {
  const auto& attrs = call.attrs<ProposalAttrs>();
  std::vector<Dim> dims = call.tensor(0).dims;
  dims[1] = floor_div(dims[1], 2);
  Dim boxes = product(std::span<const Dim>(dims).subspan(1));
  Dim best = attrs.rpn_pre_nms_top_n > 0 ? min(boxes, attrs.rpn_pre_nms_top_n) : boxes;
  Dim kept = min(best, attrs.rpn_post_nms_top_n);
  Cost cost = cost_of_stages(call);
  // Boxes are sorted, and each is compared with those that stay.
  Dim each = boxes * log2_of(boxes) + best * kept * 16;
  cost.operations = cost.operations + dims[0] * each;
  return cost;
}

RELAY_OP("vision.proposal")
    .doc(
        "Boxes that a region proposal network has found: image, left, top, right, bottom. The best "
        "ones come first, those whose score is not-a-number last, without those that overlap a "
        "better one; if they are too few, once more "
        "from the first. Boxes that are too small are widened and come last.")
    .input("cls_prob",
           "Probabilities of background, then of objects, at each place: (images, 2 · anchors, "
           "height, width).",
           tensor('T', kFloats).rank(4))
    .input("bbox_pred",
           "x, y, width and height relative to each anchor: (images, 4 · anchors, height, width).",
           tensor('T').rank(4))
    .input("im_info", "Height, width and scale of each image: (images, 3).", tensor('T').rank(2))
    .output("boxes", "(images · rpn_post_nms_top_n, 5).", tensor('T').rank(2))
    .attrs<ProposalAttrs>()
    .relation(infer_proposal)
    .level(5)
    .example(
        "fn (%p: Tensor[(1, 2, 1, 2), float32], %b: Tensor[(1, 4, 1, 2), float32], %i: Tensor[(1, "
        "3), float32]) { vision.proposal(%p, %b, %i, scales=[1f], ratios=[1f], feature_stride=4, "
        "rpn_min_size=1, rpn_post_nms_top_n=2) }",
        "[[[[0.1, 0.2]], [[0.9, 0.8]]]]", "[[[[0, 0]], [[0, 0]], [[0, 0]], [[0, 0]]]]",
        "[[8, 8, 1]]")
    .column(costs(), cost_of_proposal)
    .compute(compute_proposal)
    .no_gradient("it chooses among boxes by comparisons");

}  // namespace
}  // namespace relay
