// Attributes of losses.
#pragma once

#include <cstdint>
#include <string>

#include <relay/ir/attrs.h>

namespace relay {

struct NLLLossAttrs {
  std::string reduction = "mean";
  int64_t ignore_index = -100;
  RELAY_ATTRS(NLLLossAttrs,
              (reduction,
               "\"mean\" divides by the sum of the weights that count, \"sum\" adds up, "
               "\"none\" gives the loss of each target."),
              (ignore_index, "Targets of this class count for nothing; it may be no class at all."))
};

}  // namespace relay
