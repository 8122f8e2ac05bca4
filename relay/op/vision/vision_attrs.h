// Attributes of operators of object detection.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <relay/ir/attrs.h>

namespace relay {

RELAY_WORDS(RoiMode, (kMean, "avg", "Their mean."), (kMax, "max", "The greatest."))

struct ROIAlignAttrs {
  Required<attr::Sizes> pooled_size;
  Required<double> spatial_scale;
  int64_t sample_ratio = -1;
  attr::Layout layout = "NCHW";
  RoiMode mode = RoiMode::kMean;
  bool aligned = false;
  RELAY_ATTRS(
      ROIAlignAttrs, (pooled_size, "Height and width of the result."),
      (spatial_scale, "Elements of the data for each unit of the regions."),
      (sample_ratio,
       "Samples of each bin in either dimension; not above 0: as many as it has "
       "elements, rounded up."),
      (layout, "Layout of data and result: NCHW or NHWC."),
      (mode, "Combination of the samples of a bin."),
      (aligned,
       "True if coordinates are those of the edges of elements, not of their middles: regions "
       "are moved by half an element, and may be smaller than one."))
};
struct ROIPoolAttrs {
  Required<attr::Sizes> pooled_size;
  Required<double> spatial_scale;
  attr::Layout layout = "NCHW";
  RELAY_ATTRS(ROIPoolAttrs, (pooled_size, "Height and width of the result."),
              (spatial_scale, "Elements of the data for each unit of the regions."),
              (layout, "Layout of data and result: NCHW or NHWC."))
};
struct ProposalAttrs {
  std::vector<double> scales{4.0, 8.0, 16.0, 32.0};
  std::vector<double> ratios{0.5, 1.0, 2.0};
  int64_t feature_stride = 16;
  double threshold = 0.7;
  int64_t rpn_pre_nms_top_n = 6000;
  int64_t rpn_post_nms_top_n = 300;
  int64_t rpn_min_size = 16;
  bool iou_loss = false;
  RELAY_ATTRS(ProposalAttrs, (scales, "Sizes of the anchors, in steps of the features."),
              (ratios, "Heights by widths of the anchors."),
              (feature_stride, "Pixels of the image for each place of the features."),
              (threshold, "A box that has more in common with a better one goes."),
              (rpn_pre_nms_top_n, "Number of the best boxes to look at; not above 0: all."),
              (rpn_post_nms_top_n, "Number of boxes for each image."),
              (rpn_min_size, "Least height and width of a box, in pixels before scaling."),
              (iou_loss, "Predictions are added to the anchor's edges."))
};
struct MultiBoxPriorAttrs {
  std::vector<double> sizes{1.0};
  std::vector<double> ratios{1.0};
  std::vector<double> steps{-1.0, -1.0};
  std::vector<double> offsets{0.5, 0.5};
  bool clip = false;
  RELAY_ATTRS(MultiBoxPriorAttrs,
              (sizes, "Heights of boxes, as shares of the image's: each with the first ratio."),
              (ratios, "Widths by heights: each after the first with the first size."),
              (steps,
               "Distance of the boxes in y and x, as shares of the image; not above 0: one by "
               "the extent."),
              (offsets, "Place of a box's middle in its step, in y and x."),
              (clip, "Boxes end where the image does."))
};
struct MultiBoxTransformLocAttrs {
  bool clip = true;
  double threshold = 0.01;
  std::vector<double> variances{0.1, 0.1, 0.2, 0.2};
  bool keep_background = false;
  RELAY_ATTRS(MultiBoxTransformLocAttrs, (clip, "Boxes end where the image does."),
              (threshold, "Boxes of a lower probability are background."),
              (variances, "Factors of the predictions of x, y, width and height."),
              (keep_background,
               "Background is a class like the others and stays; otherwise classes count from "
               "the one after it."))
};
struct YoloReorgAttrs {
  int64_t stride = 1;
  RELAY_ATTRS(YoloReorgAttrs, (stride, "Height and width of a block."))
};

}  // namespace relay
