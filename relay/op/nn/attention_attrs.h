// Attributes of attention and of positions in sequences.
#pragma once

#include <cstdint>
#include <optional>

#include <relay/ir/attrs.h>

namespace relay {

RELAY_WORDS(CausalAlign,
            (kTopLeft, "top_left", "The first query and the first key belong to one place."),
            (kBottomRight, "bottom_right",
             "The last ones do, as where keys of earlier steps come before them."))

struct MaskedSoftmaxAttrs {
  bool causal = false;
  CausalAlign align = CausalAlign::kTopLeft;
  int64_t window = 0;
  RELAY_ATTRS(
      MaskedSoftmaxAttrs, (causal, "A row sees no columns of later places."),
      (align, "With causal: which row (query) and column (key) belong to one place."),
      (window,
       "With causal: how many columns a row sees, its own place and those before it; 0: all "
       "of them."))
};
struct AttentionAttrs {
  bool causal = false;
  CausalAlign align = CausalAlign::kTopLeft;
  int64_t window = 0;
  std::optional<double> scale;
  double softcap = 0;
  RELAY_ATTRS(AttentionAttrs, (causal, "A query sees no keys of later places."),
              (align, "With causal: which query and key belong to one place."),
              (window,
               "With causal: how many keys a query sees, its own and those before it; 0: all of "
               "them."),
              (scale, "Factor of the products; by default 1 / √(extent of a query)."),
              (softcap, "Bounds the scores: softcap * tanh(score / softcap); 0 leaves them."))
};
struct RotaryEmbeddingAttrs {
  bool interleaved = false;
  RELAY_ATTRS(RotaryEmbeddingAttrs,
              (interleaved,
               "Neighbours are rotated together, instead of elements of the first half with those "
               "of the second."))
};

}  // namespace relay
