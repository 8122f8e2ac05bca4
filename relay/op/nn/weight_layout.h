// The layout of a convolution's weights that goes with one of its data.
#pragma once

#include <string>

#include <relay/op/nn/conv_attrs.h>
#include <relay/op/op.h>

namespace relay {

/// With channels before the dimensions of space: outputs (or inputs, where it is transposed) and
/// inputs first, as by default. With channels behind them: these last, `HWIO`, and `HWOI` if each
/// group has one channel. `standard` is the default for the operator. Throws `Error` for others.
std::string weight_layout_for(const OpCall& call, const ConvAttrs& attrs,
                              const std::string& standard, const std::string& data_layout);

/// An entry of `weight_layouts()`.
template <class A>
std::string conv_weight_layout(const OpCall& call, const std::string& data_layout) {
  return weight_layout_for(call, call.attrs<A>(), A().kernel_layout, data_layout);
}

}  // namespace relay
