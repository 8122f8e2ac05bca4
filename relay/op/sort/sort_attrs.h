// Attributes of sorting operators.
#pragma once

#include <cstdint>
#include <optional>

#include <relay/ir/attrs.h>

namespace relay {

struct ArgsortAttrs {
  attr::Axis axis = -1;
  bool is_ascend = true;
  DType dtype;
  RELAY_ATTRS(ArgsortAttrs, (axis, "Axis to sort along."),
              (is_ascend, "True if the least comes first."),
              (dtype,
               "Dtype of positions, int32 or int64; int32 by default. Without meaning for sort."))
};
RELAY_WORDS(TopkResults, (kBoth, "both", "A tuple of elements and positions."),
            (kValues, "values", "The elements alone."),
            (kIndices, "indices", "The positions alone."))
struct TopkAttrs {
  Required<std::optional<int64_t>> k;
  attr::Axis axis = -1;
  TopkResults ret_type = TopkResults::kBoth;
  bool is_ascend = false;
  DType dtype;
  RELAY_ATTRS(TopkAttrs, (k, "Number of elements; all if None or less than 1."),
              (axis, "Axis to choose along."), (ret_type, "Result: values, positions or both."),
              (is_ascend, "True if the least are chosen instead of the greatest."),
              (dtype, "Dtype of positions, int32 or int64; int32 by default."))
};
struct ArgwhereAttrs {
  DType dtype;
  RELAY_ATTRS(ArgwhereAttrs, (dtype, "Dtype of positions, int32 or int64; int32 by default."))
};
struct UniqueAttrs {
  bool sorted = true;
  bool return_counts = false;
  DType dtype;
  RELAY_ATTRS(UniqueAttrs, (sorted, "True for rising order, False for the order of appearance."),
              (return_counts, "True for a fifth result: the number of times that each occurs."),
              (dtype, "Dtype of all results but the first, int32 or int64; int32 by default."))
};
struct SearchSortedAttrs {
  bool right = false;
  DType dtype;
  RELAY_ATTRS(SearchSortedAttrs, (right, "True if equal elements lie before the place."),
              (dtype, "Dtype of positions, int32 or int64; int32 by default."))
};

}  // namespace relay
