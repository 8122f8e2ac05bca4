// Activations and biases on quantised numbers.
#pragma once

#include <relay/op/registry/integer_form.h>

namespace relay {

/// max(x, 0): the integers that are at least the zero point.
std::optional<QuantisedResult> relu_on_integers(const QuantisedCall& use);
/// The bounds become integers, too.
std::optional<QuantisedResult> clip_on_integers(const QuantisedCall& use);
/// On sums of 32 bits the bias gets their scale; else it is a sum of two quantised numbers.
std::optional<QuantisedResult> bias_on_integers(const QuantisedCall& use);
/// For averages of windows and interpolation, which work on numbers less their zero point: outside
/// of the data is 0. Computed in int32 with some bits behind the point.
std::optional<QuantisedResult> interpolated_on_integers(const QuantisedCall& use);
/// For convolutions without an operator on quantised numbers of their own: products of the numbers
/// less their zero points, summed up in int32.
template <class A>
std::optional<QuantisedResult> convolution_on_integers(const QuantisedCall& use);

}  // namespace relay
