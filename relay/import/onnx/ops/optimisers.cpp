// Steps of optimisers, of the domain ai.onnx.preview.training: models of training graphs have them.
#include <relay/import/onnx/context.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

// What a step reads: the rate, the number of steps before, and tensors in groups of one for each
// parameter (parameters, gradients, then one or two kinds of state).
class Step {
 public:
  Step(NodeContext& node, size_t groups) : node_(node), groups_(groups) {
    size_t given = node.num_inputs();
    node.require(given >= 2 + groups && (given - 2) % groups == 0,
                 "has " + std::to_string(given) + " inputs, not the rate, the count and " +
                     std::to_string(groups) + " for each parameter");
    count_ = (given - 2) / groups;
    norm_ = node.attr_float("norm_coefficient", 0);
    for (size_t group = 1; group < groups; ++group) {
      for (size_t k = 0; k < count_; ++k) require_shape(of(0, k), of(group, k), group, k);
    }
  }

  size_t count() const { return count_; }
  /// Entry k of a group.
  GraphValue of(size_t group, size_t k) {
    GraphValue value = node_.input(2 + group * count_ + k);
    node_.require(value.dtype().is_float(), "a tensor is of " + std::string(value.dtype().name()));
    return value;
  }
  /// The rate, or the number of steps before, as one number of `dtype`.
  GraphValue rate(DType dtype) { return number(0, "the rate", dtype); }
  GraphValue steps(DType dtype) { return number(1, "the number of steps", dtype); }
  /// The gradient of parameter k and of the penalty on its square.
  GraphValue gradient(size_t k) { return sum(product(of(0, k), norm_), of(1, k)); }

  GraphValue sum(const GraphValue& a, const GraphValue& b) {
    if (!a || !b) return a ? a : b;
    return node_.emit("add", {a, b});
  }
  /// Nothing for a factor of 0, which sum() passes over.
  GraphValue product(const GraphValue& a, double by) {
    if (by == 0) return {};
    return by == 1 ? a : node_.emit("multiply", {a, node_.scalar(a.dtype(), by)});
  }
  GraphValue less(const GraphValue& a, const GraphValue& b) {
    return node_.emit("subtract", {a, b});
  }
  GraphValue times(const GraphValue& a, const GraphValue& b) {
    return node_.emit("multiply", {a, b});
  }
  GraphValue root_and(const GraphValue& square, double epsilon) {
    return sum(node_.emit("sqrt", {square}), node_.scalar(square.dtype(), epsilon));
  }
  /// Zeros where a product was left out.
  GraphValue some(const GraphValue& value, const GraphValue& like) {
    return value ? value : node_.emit("zeros_like", {like});
  }

 private:
  /// Arithmetic would repeat a gradient or a state of fewer elements.
  void require_shape(const GraphValue& parameter, const GraphValue& value, size_t group, size_t k) {
    std::string message = std::string(group == 1 ? "the gradient" : "a state") + " of parameter " +
                          std::to_string(k) + " has the shape " + shape_str(value.dims()) +
                          ", the parameter " + shape_str(parameter.dims());
    node_.require(value.rank() == parameter.rank(), message);
    for (size_t axis = 0; axis < value.rank(); ++axis) {
      node_.demand(value.dim(axis), parameter.dim(axis), message);
    }
  }
  GraphValue number(size_t input, const char* what, DType dtype) {
    GraphValue value = node_.input(input);
    Dim size = relay::product(value.dims());
    node_.require(!size.is_int() || size.is_int(1),
                  std::string(what) + " has " + size.str() + " elements");
    return node_.cast(node_.reshape(value, std::initializer_list<Dim>{}), dtype);
  }

  NodeContext& node_;
  size_t groups_, count_;
  double norm_;
};

// Each entry of `rows` has the results for one parameter; the node lists them kind by kind.
Values by_kind(const std::vector<Values>& rows) {
  Values results;
  for (size_t kind = 0; kind < rows.front().size(); ++kind) {
    for (const Values& row : rows) results.push_back(row[kind]);
  }
  return results;
}

Values convert_adagrad(NodeContext& node) {
  Step step(node, 3);
  double decay = node.attr_float("decay_factor", 0), epsilon = node.attr_float("epsilon", 1e-6F);
  std::vector<Values> rows;
  for (size_t k = 0; k < step.count(); ++k) {
    GraphValue x = step.of(0, k), g = step.gradient(k);
    GraphValue rate = step.rate(x.dtype());
    if (decay != 0) {
      GraphValue slower = step.product(step.steps(x.dtype()), decay);
      rate = node.emit("divide", {rate, step.sum(slower, node.scalar(x.dtype(), 1))});
    }
    GraphValue squares = step.sum(step.of(2, k), step.times(g, g));
    GraphValue move = node.emit("divide", {step.times(rate, g), step.root_and(squares, epsilon)});
    rows.push_back({step.less(x, move), squares});
  }
  return by_kind(rows);
}
RELAY_ONNX_DOMAIN("ai.onnx.preview.training", "Adagrad", 1, convert_adagrad)

Values convert_adam(NodeContext& node) {
  Step step(node, 4);
  double alpha = node.attr_float("alpha", 0.9F), beta = node.attr_float("beta", 0.999F);
  double epsilon = node.attr_float("epsilon", 1e-6F);
  double shrink = node.attr_float("norm_coefficient_post", 0);
  std::vector<Values> rows;
  for (size_t k = 0; k < step.count(); ++k) {
    GraphValue x = step.of(0, k), g = step.gradient(k);
    DType dtype = x.dtype();
    GraphValue mean = step.sum(step.product(step.of(2, k), alpha), step.product(g, 1 - alpha));
    GraphValue squares =
        step.sum(step.product(step.of(3, k), beta), step.product(step.times(g, g), 1 - beta));
    mean = step.some(mean, x);
    squares = step.some(squares, x);
    // The first step has no mean to correct.
    GraphValue rate = step.rate(dtype), steps = step.steps(dtype), one = node.scalar(dtype, 1);
    auto left = [&](double factor) {
      return step.less(one, node.emit("power", {node.scalar(dtype, factor), steps}));
    };
    GraphValue corrected = node.emit("divide", {node.emit("sqrt", {left(beta)}), left(alpha)});
    GraphValue later = node.emit("greater", {steps, node.scalar(dtype, 0)});
    rate = node.emit("where", {later, step.times(rate, corrected), rate});
    GraphValue move =
        node.emit("divide", {step.times(rate, mean), step.root_and(squares, epsilon)});
    GraphValue result = step.less(x, move);
    if (shrink != 0) result = step.some(step.product(result, 1 - shrink), x);
    rows.push_back({result, mean, squares});
  }
  return by_kind(rows);
}
RELAY_ONNX_DOMAIN("ai.onnx.preview.training", "Adam", 1, convert_adam)

Values convert_momentum(NodeContext& node) {
  Step step(node, 3);
  double alpha = node.attr_float("alpha"), beta = node.attr_float("beta");
  node.require(node.has_attr("norm_coefficient"), "has no attribute norm_coefficient");
  std::string mode = node.attr_string("mode");
  node.require(mode == "standard" || mode == "nesterov", "mode is " + quoted(mode));
  std::vector<Values> rows;
  for (size_t k = 0; k < step.count(); ++k) {
    GraphValue x = step.of(0, k), g = step.gradient(k);
    DType dtype = x.dtype();
    GraphValue first = node.emit("equal", {step.steps(dtype), node.scalar(dtype, 0)});
    GraphValue share = node.emit("where", {first, node.scalar(dtype, 1), node.scalar(dtype, beta)});
    GraphValue speed = step.sum(step.product(step.of(2, k), alpha), step.times(share, g));
    GraphValue way = mode == "standard" ? speed : step.sum(g, step.product(speed, alpha));
    rows.push_back({step.less(x, step.times(step.rate(dtype), way)), speed});
  }
  return by_kind(rows);
}
RELAY_ONNX_DOMAIN("ai.onnx.preview.training", "Momentum", 1, convert_momentum)

}  // namespace
}  // namespace relay::onnx
