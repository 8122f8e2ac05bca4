// Attributes of Fourier transforms.
#pragma once

#include <cstdint>

#include <relay/ir/attrs.h>

namespace relay {

struct DFTAttrs {
  bool inverse = false;
  RELAY_ATTRS(DFTAttrs, (inverse, "True for the inverse, divided by the extent."))
};
struct StftAttrs {
  Required<int64_t> n_fft;
  int64_t hop_length = 0;
  int64_t win_length = 0;
  bool normalized = false;
  bool onesided = true;
  RELAY_ATTRS(
      StftAttrs, (n_fft, "Samples of a transform."),
      (hop_length,
       "Samples from one transform to the next; 0: a quarter of n_fft, which must then be 4 "
       "or more."),
      (win_length, "Samples of the window; n_fft if 0."),
      (normalized, "True if results are divided by the root of n_fft."),
      (onesided,
       "True if only the first half of the frequencies are results: the others "
       "are their conjugates."))
};

}  // namespace relay
