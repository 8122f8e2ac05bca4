// Choosing among boxes. The kernels are in relay/runtime/kernels/nms*.cpp.
#include <relay/op/op.h>
#include <relay/op/registry/facts.h>
#include <relay/op/vision/nms_attrs.h>
#include <relay/runtime/kernels/positions.h>

namespace relay {
namespace {

/// `count` columns from `first` on have to be there.
void require_columns(const RelationCall& call, const char* name, int64_t first, int64_t count,
                     Dim width, bool optional) {
  call.require(first >= (optional ? -1 : 0),
               std::string(name) + " = " + std::to_string(first) + " is not a column");
  call.require_at_most(
      Dim(first) + count, width,
      std::string(name) + " = " + std::to_string(first) + " needs " +
          (count > 1 ? std::to_string(count) + " columns from there" : "a column") +
          " in rows of " + width.str() + ": data " + call.input(0)->str());
}

/// Limits are numbers, or tensors of one.
void require_number(const RelationCall& call, size_t i, const char* name) {
  te::TensorInfo info = call.tensor(i);
  for (Dim dim : info.dims) {
    call.require_equal(dim, 1,
                       std::string(name) + " must be one number, found " + call.input(i)->str());
  }
}

TypeRef infer_get_valid_counts(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<GetValidCountsAttrs>();
  require_number(call, 1, "score_threshold");
  require_columns(call, "id_index", attrs.id_index, 1, data.dims[2], true);
  require_columns(call, "score_index", attrs.score_index, 1, data.dims[2], false);
  Dim counts[] = {data.dims[0]}, indices[] = {data.dims[0], data.dims[1]};
  return TupleType::make(
      {TensorType::make(counts, kInt32), call.input(0), TensorType::make(indices, kInt32)});
}

TypeRef infer_non_max_suppression(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo counts = call.tensor(1), indices = call.tensor(2);
  const auto& attrs = call.attrs<NonMaximumSuppressionAttrs>();
  require_columns(call, "coord_start", attrs.coord_start, 4, data.dims[2], false);
  require_columns(call, "score_index", attrs.score_index, 1, data.dims[2], false);
  require_columns(call, "id_index", attrs.id_index, 1, data.dims[2], true);
  call.require_equal(counts.dims[0], data.dims[0],
                     "valid_count must have an element for each batch element, found " +
                         call.input(1)->str() + " for data " + call.input(0)->str());
  for (size_t d = 0; d < 2; ++d) {
    call.require_equal(indices.dims[d], data.dims[d],
                       "indices must have an element for each box, found " + call.input(2)->str() +
                           " for data " + call.input(0)->str());
  }
  require_number(call, 3, "max_output_size");
  require_number(call, 4, "iou_threshold");
  if (!attrs.return_indices) return call.input(0);
  Dim number[] = {data.dims[0], 1};
  return TupleType::make(
      {TensorType::make(indices.dims, kInt32), TensorType::make(number, kInt32)});
}

/// Boxes (batch, boxes, 4) and scores, of as many batch elements and boxes.
void require_boxes(const RelationCall& call, size_t boxes_axis) {
  te::TensorInfo boxes = call.tensor(0), scores = call.tensor(1);
  std::string found =
      ", found boxes " + call.input(0)->str() + " and scores " + call.input(1)->str();
  call.require_equal(boxes.dims[2], 4, "a box must have 4 coordinates" + found);
  call.require_equal(boxes.dims[0], scores.dims[0], "batches differ" + found);
  call.require_equal(boxes.dims[1], scores.dims[boxes_axis], "each box must have scores" + found);
}

TypeRef infer_all_class(const RelationCall& call) {
  require_boxes(call, 2);
  require_number(call, 2, "max_output_boxes_per_class");
  require_number(call, 3, "iou_threshold");
  require_number(call, 4, "score_threshold");
  const auto& attrs = call.attrs<AllClassNonMaximumSuppressionAttrs>();
  if (attrs.output_format == SuppressionFormat::kOnnx) {
    Dim triples[] = {Dim::any(), 3}, one[] = {1};
    return TupleType::make({TensorType::make(triples, kInt64), TensorType::make(one, kInt64)});
  }
  te::TensorInfo scores = call.tensor(1);
  Dim pairs[] = {scores.dims[0], Dim::any(), 2};
  Dim each[] = {scores.dims[0], Dim::any()};
  Dim batch[] = {scores.dims[0]};
  return TupleType::make({TensorType::make(pairs, kInt64), TensorType::make(each, scores.dtype),
                          TensorType::make(batch, kInt64)});
}

TypeRef infer_regular(const RelationCall& call) {
  require_boxes(call, 1);
  te::TensorInfo boxes = call.tensor(0), scores = call.tensor(1);
  const auto& attrs = call.attrs<RegularNonMaximumSuppressionAttrs>();
  call.require(
      attrs.num_classes >= 0 && attrs.max_detections >= 0 && attrs.max_detections_per_class >= 0,
      "num_classes, max_detections and max_detections_per_class must not be negative");
  call.require_at_most(*attrs.num_classes, scores.dims[2],
                       "num_classes = " + std::to_string(*attrs.num_classes) +
                           " is more than the " + scores.dims[2].str() + " columns of scores");
  call.require(*attrs.num_classes <= most_positions(boxes.dtype),
               "num_classes = " + std::to_string(*attrs.num_classes) + ", but " +
                   std::string(boxes.dtype.name()) + " holds the numbers of " +
                   std::to_string(most_positions(boxes.dtype)) + " classes at most");
  Dim count = attrs.max_detections;
  Dim corners[] = {boxes.dims[0], count, 4}, each[] = {boxes.dims[0], count};
  Dim batch[] = {boxes.dims[0]};
  TypeRef numbers = TensorType::make(each, boxes.dtype);
  return TupleType::make(
      {TensorType::make(corners, boxes.dtype), numbers, numbers, TensorType::make(batch, kInt32)});
}

/// Operations that find what share of two boxes they have in common.
constexpr int64_t kOperationsOfOverlap = 16;

/// At most every box is compared with every better one, in each of `groups`.
Cost cost_of_suppression(const OpCall& call, Dim groups, Dim boxes) {
  return kernel_cost(call, kOperationsOfOverlap * groups * floor_div(boxes * boxes, 2));
}

RELAY_OP("vision.get_valid_counts")
    .doc(
        "Moves the boxes whose score exceeds the threshold, and whose class is 0 or more, to the "
        "front of each batch element: how many they are, the boxes, their indices. Behind them "
        "everything is -1. A score that is not-a-number exceeds nothing, and a class that is "
        "not-a-number drops its box.")
    .input("data", "Boxes: (batch, boxes, columns).", tensor('T', kFloats).rank(3))
    .input("score_threshold", "Number that a score must exceed.", tensor(kFloats).rank(0, 1))
    .output("valid_count", "Number of valid boxes of each batch element.", tensor(kInt32).rank(1))
    .output("boxes", "The boxes, valid ones first.", tensor('T').rank(3))
    .output("indices", "Their earlier places.", tensor(kInt32).rank(2))
    .example("fn (%x: Tensor[(1, 3, 6), float32]) { vision.get_valid_counts(%x, 0.3f) }",
             "[[[0, 0.1, 0, 0, 1, 1], [0, 0.9, 0, 0, 2, 2], [1, 0.5, 1, 1, 2, 2]]]")
    .attrs<GetValidCountsAttrs>()
    .relation(infer_get_valid_counts)
    .no_gradient("it chooses among boxes by comparisons")
    .level(5)
    .column(costs(),
            [](const OpCall& call) {
              const std::vector<Dim>& dims = call.tensor(0).dims;
              return kernel_cost(call, dims[0] * dims[1]);
            })
    .kernel("get_valid_counts", [](const OpCall& call) -> KernelParams {
      const auto& attrs = call.attrs<GetValidCountsAttrs>();
      return {{"id_index", attrs.id_index}, {"score_index", attrs.score_index}};
    });

RELAY_OP("vision.non_max_suppression")
    .doc(
        "Non-maximum suppression of the first valid_count boxes of each batch element. In order of "
        "their scores, of equal ones the first, a box is dropped if it overlaps with a better one "
        "that is kept, of its class, by iou_threshold or more of what the two cover. The boxes "
        "that remain stand in order, a dropped one is a row of -1; or the indices of those that "
        "remain and how many they are. Boxes with scores that are not above 0 (not-a-number is "
        "not) neither suppress nor are suppressed: they remain behind the others, in order of "
        "their scores, and do not count in max_output_size, but are dropped once that is reached. "
        "Boxes of a negative class or not-a-number suppress none, and coordinates that are "
        "not-a-number overlap with nothing. Overlaps are computed in float32, of float64 in "
        "float64: boxes whose areas leave its range overlap with nothing either. With a threshold "
        "of 0 or less, or not-a-number, the "
        "boxes stay as they are.")
    .input("data", "Boxes: (batch, boxes, columns).", tensor('T', kFloats).rank(3))
    .input("valid_count", "Number of boxes of each batch element to look at.",
           tensor(kIndices).rank(1))
    .input("indices",
           "Identifiers of the boxes in the result; a box with a negative one is left out.",
           tensor(kIndices).rank(2))
    .input("max_output_size", "Largest number of kept boxes with scores above 0; negative: all.",
           tensor(kIndices).rank(0, 1))
    .input("iou_threshold", "The overlap that suppresses.", tensor(kFloats).rank(0, 1))
    .output("result", "Boxes; with return_indices the indices of those that remain.", tensor())
    .output("number", "With return_indices how many remain: (batch, 1).", tensor(kInt32).rank(2))
    .example(
        "fn (%x: Tensor[(1, 3, 6), float32], %n: Tensor[(1), int32], %i: Tensor[(1, 3), "
        "int32]) { vision.non_max_suppression(%x, %n, %i, -1, 0.5f, return_indices=False) }",
        "[[[0, 0.5, 0, 0, 2, 2], [0, 0.9, 0, 0, 2, 2.5], [0, 0.4, 3, 3, 4, 4]]]", "[3]",
        "[[0, 1, 2]]")
    .attrs<NonMaximumSuppressionAttrs>()
    .relation(infer_non_max_suppression)
    .no_gradient("it chooses among boxes by comparisons")
    .level(5)
    .column(costs(),
            [](const OpCall& call) {
              const std::vector<Dim>& dims = call.tensor(0).dims;
              return cost_of_suppression(call, dims[0], dims[1]);
            })
    .kernel("non_max_suppression", [](const OpCall& call) -> KernelParams {
      const auto& attrs = call.attrs<NonMaximumSuppressionAttrs>();
      return {{"force_suppress", attrs.force_suppress},
              {"top_k", attrs.top_k},
              {"coord_start", attrs.coord_start},
              {"score_index", attrs.score_index},
              {"id_index", attrs.id_index},
              {"return_indices", attrs.return_indices},
              {"invalid_to_bottom", attrs.invalid_to_bottom}};
    });

RELAY_OP("vision.all_class_non_max_suppression")
    .doc(
        "Non-maximum suppression of the boxes of each class by itself: among boxes whose score "
        "exceeds score_threshold (not-a-number exceeds nothing), in order of their scores, one is "
        "dropped if it overlaps with a "
        "better one that is kept, by iou_threshold or more of what the two cover. Overlaps are "
        "computed in float32, of float64 in float64: boxes whose areas leave its range overlap "
        "with "
        "nothing. Those that are "
        "kept come by batch element, class and score; how many they are is known only when it has "
        "run.")
    .input("boxes", "(batch, boxes, 4): two opposite corners each.", tensor('T', kFloats).rank(3))
    .input("scores", "(batch, classes, boxes).", tensor('T').rank(3))
    .input("max_output_boxes_per_class", "Largest number of kept boxes; negative: all.",
           tensor(kIndices).rank(0, 1))
    .input("iou_threshold", "The overlap that suppresses.", tensor(kFloats).rank(0, 1))
    .input("score_threshold", "Number that a score must exceed.", tensor(kFloats).rank(0, 1))
    .output("indices",
            "Batch element, class and box of each; or class and box for each batch "
            "element, -1 behind the last.",
            tensor(kInt64))
    .output("number", "Number of boxes; or their scores, 0 behind the last.", tensor())
    .output("numbers", "In the second form how many each batch element has.",
            tensor(kInt64).rank(1))
    .example(
        "fn (%b: Tensor[(1, 3, 4), float32], %s: Tensor[(1, 1, 3), float32]) { "
        "vision.all_class_non_max_suppression(%b, %s, -1i64, 0.5f, 0.1f) }",
        "[[[0, 0, 2, 2], [0, 0, 2, 2.5], [3, 3, 4, 4]]]", "[[[0.5, 0.9, 0.4]]]")
    .attrs<AllClassNonMaximumSuppressionAttrs>()
    .relation(infer_all_class)
    .no_gradient("it chooses among boxes by comparisons")
    .level(5)
    .column(costs(),
            [](const OpCall& call) {
              const std::vector<Dim>& dims = call.tensor(1).dims;
              return cost_of_suppression(call, dims[0] * dims[1], dims[2]);
            })
    .kernel("all_class_non_max_suppression", [](const OpCall& call) -> KernelParams {
      const auto& attrs = call.attrs<AllClassNonMaximumSuppressionAttrs>();
      return {{"output_format", std::string(word_text(attrs.output_format))}};
    });

RELAY_OP("vision.regular_non_max_suppression")
    .doc(
        "Non-maximum suppression of the boxes of each class by itself, among those whose score is "
        "score_threshold or more (not-a-number is not), as in all_class_non_max_suppression; then "
        "the best of all classes together, of "
        "equal scores those of "
        "the first class: boxes, classes, scores and how many they are, with zeros behind them.")
    .input("boxes", "(batch, boxes, 4): two opposite corners each.", tensor('T', kFloats).rank(3))
    .input("scores", "(batch, boxes, classes), background before the classes.", tensor('T').rank(3))
    .output("boxes", "The best boxes: (batch, max_detections, 4).", tensor('T').rank(3))
    .output("classes", "Their classes, as numbers.", tensor('T').rank(2))
    .output("scores", "Their scores.", tensor('T').rank(2))
    .output("number", "Number of boxes of each batch element.", tensor(kInt32).rank(1))
    .example(
        "fn (%b: Tensor[(1, 2, 4), float32], %s: Tensor[(1, 2, 2), float32]) { "
        "vision.regular_non_max_suppression(%b, %s, max_detections=3, num_classes=1) }",
        "[[[0, 0, 2, 2], [3, 3, 4, 4]]]", "[[[0.1, 0.5], [0.2, 0.8]]]")
    .attrs<RegularNonMaximumSuppressionAttrs>()
    .relation(infer_regular)
    .no_gradient("it chooses among boxes by comparisons")
    .level(5)
    .column(costs(),
            [](const OpCall& call) {
              const std::vector<Dim>& dims = call.tensor(1).dims;
              return cost_of_suppression(call, dims[0] * dims[2], dims[1]);
            })
    .kernel("regular_non_max_suppression", [](const OpCall& call) -> KernelParams {
      const auto& attrs = call.attrs<RegularNonMaximumSuppressionAttrs>();
      return {{"max_detections_per_class", attrs.max_detections_per_class},
              {"num_classes", *attrs.num_classes},
              {"iou_threshold", attrs.iou_threshold},
              {"score_threshold", attrs.score_threshold}};
    });

}  // namespace
}  // namespace relay
