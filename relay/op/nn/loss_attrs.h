// Attributes of losses.
#pragma once

#include <cstdint>

#include <relay/ir/attrs.h>

namespace relay {

RELAY_WORDS(Reduction, (kMean, "mean", "Divide by the sum of the weights that count."),
            (kSum, "sum", "Add up."), (kNone, "none", "Give the loss of each target."))

struct NLLLossAttrs {
  Reduction reduction = Reduction::kMean;
  int64_t ignore_index = -100;
  RELAY_ATTRS(NLLLossAttrs, (reduction, "Result: the losses, their sum or their mean."),
              (ignore_index, "Targets of this class count for nothing; it may be no class at all."))
};

}  // namespace relay
