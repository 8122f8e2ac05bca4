// Attributes of operators of object detection.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <relay/ir/attrs.h>

namespace relay {

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
              (offsets, "Where in its step the middle of a box is, in y and x."),
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
