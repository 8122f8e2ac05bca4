// What activations and biases become on quantised numbers.
#pragma once

#include <relay/op/registry/integer_form.h>

namespace relay {

/// max(x, 0): the integers that are at least the zero point.
std::optional<QuantisedResult> relu_on_integers(const QuantisedCall& use);
/// The bounds become integers, too.
std::optional<QuantisedResult> clip_on_integers(const QuantisedCall& use);
/// On sums of 32 bits: the bias gets their scale.
std::optional<QuantisedResult> bias_on_integers(const QuantisedCall& use);

}  // namespace relay
