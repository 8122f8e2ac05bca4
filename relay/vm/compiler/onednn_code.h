// The code generator "dnnl": functions whose products and convolutions oneDNN computes.
#pragma once

#include <relay/ir/expr.h>

namespace relay::vm {

/// True for the primitive functions that the code generator "dnnl" makes: their sums of products of
/// float32 become calls of oneDNN.
bool is_for_onednn(const relay::Function& primitive);

}  // namespace relay::vm
