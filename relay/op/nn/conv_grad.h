// Gradients of convolutions.
#pragma once

#include <vector>

#include <relay/op/registry/gradient.h>

namespace relay {

/// The gradients of nn.conv2d: the data's is a transposed convolution, the weight's a convolution
/// of the data with the gradient, with channels and samples exchanged.
std::vector<ExprRef> conv2d_gradient(const GradientCall& call);

}  // namespace relay
