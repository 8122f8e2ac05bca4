// Attributes of operators that choose among boxes.
#pragma once

#include <cstdint>
#include <optional>

#include <relay/ir/attrs.h>

namespace relay {

struct GetValidCountsAttrs {
  std::optional<double> score_threshold;
  int64_t id_index = 0;
  int64_t score_index = 1;
  RELAY_ATTRS(GetValidCountsAttrs, (score_threshold, "Without meaning: the threshold is an input."),
              (id_index, "Column of the class; -1: none."), (score_index, "Column of the score."))
};

struct NonMaximumSuppressionAttrs {
  bool force_suppress = false;
  int64_t top_k = -1;
  int64_t coord_start = 2;
  int64_t score_index = 1;
  int64_t id_index = 0;
  bool return_indices = true;
  bool invalid_to_bottom = false;
  RELAY_ATTRS(NonMaximumSuppressionAttrs,
              (force_suppress, "True if boxes of other classes are suppressed too."),
              (top_k, "Number of the best boxes to look at; below 1: all."),
              (coord_start, "The first of four columns of coordinates."),
              (score_index, "Column of the score."), (id_index, "Column of the class; -1: none."),
              (return_indices, "True if the results are indices and their numbers, not boxes."),
              (invalid_to_bottom, "True if the remaining boxes are moved to the front."))
};

RELAY_WORDS(SuppressionFormat, (kOnnx, "onnx", "Rows of batch, class and box; their number."),
            (kTensorflow, "tensorflow",
             "For each batch element pairs of class and box, their scores, how many they are."))
struct AllClassNonMaximumSuppressionAttrs {
  SuppressionFormat output_format = SuppressionFormat::kOnnx;
  RELAY_ATTRS(AllClassNonMaximumSuppressionAttrs, (output_format, "Form of the results."))
};

struct RegularNonMaximumSuppressionAttrs {
  int64_t max_detections_per_class = 100;
  int64_t max_detections = 100;
  Required<int64_t> num_classes;
  double iou_threshold = 0.5;
  double score_threshold = 0.0;
  RELAY_ATTRS(RegularNonMaximumSuppressionAttrs,
              (max_detections_per_class, "Largest number of kept boxes of a class."),
              (max_detections, "Number of resulting boxes of all classes."),
              (num_classes,
               "Number of the last columns of scores that are classes; those before are "
               "background."),
              (iou_threshold, "The overlap that suppresses."),
              (score_threshold, "The least score of a candidate."))
};

}  // namespace relay
