// Activations that attributes name.
#pragma once

#include <string>

#include <relay/import/onnx/context.h>

namespace relay::onnx {

/// An activation with its parameters.
struct Activation {
  std::string name;  // in small letters
  double alpha = 0;
  double beta = 0;
};

/// f of x. An error where nothing of that name is known.
GraphValue activated(NodeContext& node, const Activation& f, const GraphValue& x);

std::string small_letters(std::string text);

}  // namespace relay::onnx
