#include <relay/import/onnx/ops/activation.h>

#include <algorithm>
#include <cctype>

namespace relay::onnx {

GraphValue activated(NodeContext& node, const Activation& f, const GraphValue& x) {
  auto number = [&](double value) { return node.scalar(x.dtype(), value); };
  auto linear = [&](const GraphValue& v) {
    return node.emit("add", {node.emit("multiply", {v, number(f.alpha)}), number(f.beta)});
  };
  if (f.name == "sigmoid") return node.emit("sigmoid", {x});
  if (f.name == "tanh") return node.emit("tanh", {x});
  if (f.name == "relu") return node.emit("nn.relu", {x});
  if (f.name == "softplus") return node.emit("nn.softplus", {x});
  if (f.name == "affine") return linear(x);
  if (f.name == "leakyrelu") return node.emit("nn.leaky_relu", {x}, {{"alpha", f.alpha}});
  if (f.name == "hardsigmoid") {
    return node.emit("clip", {linear(x)}, {{"a_min", 0.0}, {"a_max", 1.0}});
  }
  if (f.name == "scaledtanh") {
    GraphValue inner = node.emit("tanh", {node.emit("multiply", {x, number(f.beta)})});
    return node.emit("multiply", {inner, number(f.alpha)});
  }
  GraphValue size = node.emit("abs", {x});
  if (f.name == "softsign") {
    return node.emit("divide", {x, node.emit("add", {size, number(1)})});
  }
  if (f.name == "elu" || f.name == "selu") {
    GraphValue below = node.emit("subtract", {node.emit("exp", {x}), number(1)});
    below = node.emit("multiply", {below, number(f.alpha)});
    GraphValue result = node.emit("where", {node.emit("less", {x, number(0)}), below, x});
    return f.name == "elu" ? result : node.emit("multiply", {result, number(f.beta)});
  }
  if (f.name == "celu") {
    GraphValue scaled =
        node.emit("divide", {node.emit("minimum", {x, number(0)}), number(f.alpha)});
    GraphValue below = node.emit("subtract", {node.emit("exp", {scaled}), number(1)});
    below = node.emit("multiply", {below, number(f.alpha)});
    return node.emit("add", {node.emit("nn.relu", {x}), below});
  }
  if (f.name == "parametricsoftplus") {
    GraphValue inner = node.emit("multiply", {x, number(f.beta)});
    return node.emit("multiply", {node.emit("nn.softplus", {inner}), number(f.alpha)});
  }
  if (f.name == "thresholdedrelu") {
    return node.emit("where", {node.emit("greater", {x, number(f.alpha)}), x, number(0)});
  }
  node.fail("the activation " + quoted(f.name) + " is not known");
}

std::string small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace relay::onnx
