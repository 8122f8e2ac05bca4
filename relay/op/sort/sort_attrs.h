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
              (is_ascend, "Whether the least comes first."),
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
  RELAY_ATTRS(TopkAttrs, (k, "How many; all if None or less than 1."),
              (axis, "Axis to choose along."), (ret_type, "What the result is."),
              (is_ascend, "Whether the least are chosen instead of the greatest."),
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
  RELAY_ATTRS(UniqueAttrs, (sorted, "Whether they come in rising order, or as they appear."),
              (return_counts, "Whether there is a fifth result: how often each occurs."),
              (dtype, "Dtype of all results but the first, int32 or int64; int32 by default."))
};
struct SearchSortedAttrs {
  bool right = false;
  DType dtype;
  RELAY_ATTRS(SearchSortedAttrs, (right, "Whether equal elements lie before the place."),
              (dtype, "Dtype of positions, int32 or int64; int32 by default."))
};

}  // namespace relay
