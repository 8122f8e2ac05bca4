// Attributes of sorting operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <relay/ir/attrs.h>

namespace relay {

struct ArgsortAttrs {
  int64_t axis = -1;
  bool is_ascend = true;
  DType dtype;
  RELAY_ATTRS(ArgsortAttrs, (axis, "Axis to sort along."),
              (is_ascend, "Whether the least comes first."),
              (dtype, "Dtype of positions; int32 by default. Without meaning for sort."))
};
struct TopkAttrs {
  Required<std::optional<int64_t>> k;
  int64_t axis = -1;
  std::string ret_type = "both";
  bool is_ascend = false;
  DType dtype;
  RELAY_ATTRS(TopkAttrs, (k, "How many; all if None or less than 1."),
              (axis, "Axis to choose along."), (ret_type, "\"both\", \"values\" or \"indices\"."),
              (is_ascend, "Whether the least are chosen instead of the greatest."),
              (dtype, "Dtype of positions; int32 by default."))
};

}  // namespace relay
