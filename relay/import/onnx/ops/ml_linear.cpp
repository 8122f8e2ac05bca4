// LinearClassifier, LinearRegressor and the support vector machines of ai.onnx.ml.
#include <algorithm>
#include <numeric>

#include <relay/import/onnx/ops/ml.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

/// Rows of numbers, `rows` of them, as a matrix: an error if they are not equally long.
GraphValue matrix_of(NodeContext& node, const std::vector<double>& numbers, size_t rows,
                     const std::string& what) {
  node.require(rows > 0 && !numbers.empty() && numbers.size() % rows == 0,
               what + " has " + std::to_string(numbers.size()) + " entries for " +
                   std::to_string(rows) + " rows");
  return float_array(node, numbers,
                     {static_cast<int64_t>(rows), static_cast<int64_t>(numbers.size() / rows)});
}

/// x · weightsᵀ + bias, which may be empty.
GraphValue linear(NodeContext& node, const GraphValue& x, const GraphValue& weights,
                  const std::vector<double>& bias) {
  node.demand(x.dim(1), weights.dim(1),
              "there are " + x.dim(1).str() + " features and weights for " + weights.dim(1).str());
  GraphValue product = node.emit("nn.dense", {x, weights});
  if (bias.empty()) return product;
  auto count = static_cast<int64_t>(bias.size());
  node.require(weights.dim(0).is_int(count), "there are " + std::to_string(count) +
                                                 " intercepts for " + weights.dim(0).str() +
                                                 " rows of weights");
  return node.emit("nn.bias_add", {product, float_array(node, bias, {count})}, {{"axis", 1}});
}

// ---- Linear models ------------------------------------------------------------------------------

Values convert_linear_regressor(NodeContext& node) {
  GraphValue x = float_rows(node);
  std::vector<double> weights = node.attr_floats("coefficients");
  std::vector<double> bias = node.attr_floats("intercepts", std::vector<double>());
  int64_t targets = node.attr_int("targets", 1);
  node.require(targets > 0, "there are " + std::to_string(targets) + " targets");
  PostTransform transform = post_transform(node);
  GraphValue matrix = matrix_of(node, weights, static_cast<size_t>(targets), "coefficients");
  return {transformed(node, linear(node, x, matrix, bias), transform)};
}
RELAY_ONNX_ML("LinearRegressor", 1, convert_linear_regressor)

Values convert_linear_classifier(NodeContext& node) {
  GraphValue x = float_rows(node);
  std::vector<double> weights = node.attr_floats("coefficients");
  std::vector<double> bias = node.attr_floats("intercepts", std::vector<double>());
  Labels labels = class_labels(node, "classlabels_ints");
  node.ignore({"multi_class"});  // post_transform says what it comes to
  PostTransform transform = post_transform(node);
  size_t rows = bias.empty() ? std::max<size_t>(labels.size(), 1) : bias.size();
  GraphValue scores = linear(node, x, matrix_of(node, weights, rows, "coefficients"), bias);
  if (rows == 1) {
    if (labels.size() == 0) labels.numbers = {0, 1};
    node.require(labels.size() == 2,
                 "one score is not enough for " + std::to_string(labels.size()) + " classes");
    return two_classes(node, labels, scores, transform);
  }
  if (labels.size() == 0) {
    labels.numbers.resize(rows);
    std::iota(labels.numbers.begin(), labels.numbers.end(), 0);
  }
  node.require(labels.size() == rows, "there are " + std::to_string(labels.size()) +
                                          " labels for " + std::to_string(rows) + " classes");
  return greatest_class(node, labels, scores, transform);
}
RELAY_ONNX_ML("LinearClassifier", 1, convert_linear_classifier)

// ---- Support vectors ----------------------------------------------------------------------------

/// How near two rows are to each other.
struct Kernel {
  std::string type;
  double gamma = 0, coef0 = 0, degree = 0;
};

Kernel kernel_of(NodeContext& node) {
  Kernel kernel{node.attr_string("kernel_type", "LINEAR")};
  std::vector<double> params = node.attr_floats("kernel_params", std::vector<double>());
  node.require(params.empty() || params.size() == 3,
               "kernel_params has " + std::to_string(params.size()) + " entries, not 3");
  if (!params.empty()) kernel = {kernel.type, params[0], params[1], params[2]};
  return kernel;
}

GraphValue kernel_values(NodeContext& node, const Kernel& kernel, const GraphValue& x,
                         const GraphValue& vectors) {
  GraphValue product = linear(node, x, vectors, {});
  auto number = [&](double value) { return node.scalar(kFloat32, value); };
  auto affine = [&] {
    return node.emit(
        "add", {node.emit("multiply", {product, number(kernel.gamma)}), number(kernel.coef0)});
  };
  if (kernel.type == "LINEAR") return product;
  if (kernel.type == "POLY") return node.emit("power", {affine(), number(kernel.degree)});
  if (kernel.type == "SIGMOID") return node.emit("tanh", {affine()});
  node.require(kernel.type == "RBF", "kernel_type is " + quoted(kernel.type));
  // The difference itself: the sum of squares and products would lose its digits.
  GraphValue difference =
      node.emit("subtract", {node.unsqueeze(x, {1}), node.unsqueeze(vectors, {0})});
  GraphValue distance = node.emit("sum", {node.emit("multiply", {difference, difference})},
                                  {{"axis", std::vector<int64_t>{2}}});
  return node.emit("exp", {node.emit("multiply", {distance, number(-kernel.gamma)})});
}

Values convert_svm_regressor(NodeContext& node) {
  GraphValue x = float_rows(node);
  Kernel kernel = kernel_of(node);
  std::vector<double> weights = node.attr_floats("coefficients");
  std::vector<double> rho = node.attr_floats("rho", std::vector<double>{0});
  std::vector<double> vectors = node.attr_floats("support_vectors", std::vector<double>());
  int64_t count = node.attr_int("n_supports", 0);
  bool one_class = node.attr_bool("one_class", false);
  PostTransform transform = post_transform(node);
  node.require(count >= 0, "n_supports is " + std::to_string(count));
  node.require(rho.size() == 1, "rho has " + std::to_string(rho.size()) + " entries, not 1");
  if (count > 0) {
    x = kernel_values(node, kernel, x,
                      matrix_of(node, vectors, static_cast<size_t>(count), "support_vectors"));
  }
  GraphValue score = linear(node, x, matrix_of(node, weights, 1, "coefficients"), rho);
  if (!one_class) return {transformed(node, score, transform)};
  GraphValue inside = node.emit("greater", {score, node.scalar(kFloat32, 0)});
  return {node.emit("where", {inside, node.scalar(kFloat32, 1), node.scalar(kFloat32, -1)})};
}
RELAY_ONNX_ML("SVMRegressor", 1, convert_svm_regressor)

/// The most classes whose probabilities are coupled: a round has some operations for each.
constexpr size_t kMostCoupled = 64;

/// The probabilities of classes (rows, n) that fit those of pairs best, `pairs[i][j]` (rows, 1)
/// being that of class i among i and j: the second method of Wu, Lin and Weng (2004), with the
/// bounds that libsvm and ONNX Runtime have.
GraphValue coupled(NodeContext& node, const std::vector<std::vector<GraphValue>>& pairs) {
  size_t n = pairs.size();
  auto number = [](NodeContext& in, double value) { return in.scalar(kFloat32, value); };
  std::vector<Values> q(n, Values(n));
  Values rows;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      if (i == j) continue;
      q[i][j] = node.emit("negative", {node.emit("multiply", {pairs[j][i], pairs[i][j]})});
      GraphValue square = node.emit("multiply", {pairs[j][i], pairs[j][i]});
      q[i][i] = q[i][i] ? node.emit("add", {q[i][i], square}) : square;
    }
    rows.push_back(node.unsqueeze(node.concat(q[i], 1), {1}));
  }
  GraphValue matrix = node.concat(rows, 1);  // (rows, n, n)
  Dim count(static_cast<int64_t>(n));
  GraphValue like = node.reshape(node.slice(matrix, 1, 0, 1), {matrix.dim(0), count});
  GraphValue first = node.emit("full_like", {like, number(node, 1.0 / static_cast<double>(n))});
  GraphValue round = node.constant_value(NDArray::scalar<int64_t>(0));
  round = GraphValue::of(node.importer().expr(round), round.type());  // changes
  constexpr int64_t kRounds = 100;
  AttrList along{{"axis", std::vector<int64_t>{1}}, {"keepdims", true}};
  // The products of probabilities p with the matrix, with p again, which rows fit well enough, and
  // if there are others: {p, qp, pqp, done, left}.
  auto measured = [&](NodeContext& in, const GraphValue& p) {
    GraphValue qp = in.emit("sum", {in.emit("multiply", {matrix, in.unsqueeze(p, {1})})},
                            {{"axis", std::vector<int64_t>{2}}});
    GraphValue pqp = in.emit("sum", {in.emit("multiply", {p, qp})}, along);
    GraphValue error = in.emit("max", {in.emit("abs", {in.emit("subtract", {qp, pqp})})}, along);
    GraphValue done = in.emit("less", {error, number(in, 0.005 / static_cast<double>(n))});
    GraphValue left = in.emit("any", {in.emit("logical_not", {done})});
    return Values{p, qp, pqp, done, left};
  };
  auto test = [&](NodeContext& in, const Values& states) {
    GraphValue more =
        in.emit("less", {states[0], in.constant_value(NDArray::scalar<int64_t>(kRounds))});
    return in.emit("logical_and", {more, states[5]});
  };
  auto step = [&](NodeContext& in, const Values& states) {
    GraphValue p = states[1], qp = states[2], pqp = states[3];
    for (size_t i = 0; i < n; ++i) {
      auto at = static_cast<int64_t>(i);
      GraphValue own = q[i][i], there = in.slice(qp, 1, at, at + 1);
      GraphValue diff = in.emit("divide", {in.emit("subtract", {pqp, there}), own});
      GraphValue more = in.emit("add", {diff, number(in, 1)});
      GraphValue gain = in.emit(
          "add", {in.emit("multiply", {diff, own}), in.emit("multiply", {there, number(in, 2)})});
      pqp = in.emit("divide", {in.emit("add", {pqp, in.emit("multiply", {diff, gain})}),
                               in.emit("multiply", {more, more})});
      GraphValue row = in.reshape(in.slice(matrix, 1, at, at + 1), {matrix.dim(0), count});
      qp = in.emit("divide", {in.emit("add", {qp, in.emit("multiply", {row, diff})}), more});
      std::vector<double> place(n, 0);
      place[i] = 1;
      GraphValue unit = float_array(in, place, {1, static_cast<int64_t>(n)});
      p = in.emit("divide", {in.emit("add", {p, in.emit("multiply", {unit, diff})}), more});
    }
    Values next = measured(in, in.emit("where", {states[4], states[1], p}));
    next.insert(next.begin(), in.emit("add", {states[0], in.scalar(kInt64, 1)}));
    return next;
  };
  Values states = measured(node, first);
  states.insert(states.begin(), round);
  return node.loop(states, test, step)[1];
}

/// A classifier of support vectors: a decision for each pair of classes.
struct Machine {
  size_t classes = 0;
  Values decisions;  // (rows, 1), pairs in order; above 0: the first class of the pair
  GraphValue all;    // (rows, pairs)
};

Machine machine_of(NodeContext& node, const GraphValue& x,
                   const std::vector<int64_t>& vectors_per_class) {
  std::vector<double> weights = node.attr_floats("coefficients");
  std::vector<double> rho = node.attr_floats("rho");
  std::vector<double> vectors = node.attr_floats("support_vectors");
  Machine machine{vectors_per_class.size(), {}, {}};
  size_t n = machine.classes, total = 0;
  std::vector<size_t> begins;
  for (int64_t count : vectors_per_class) {
    bool fits = count >= 0 && static_cast<size_t>(count) <= vectors.size();
    node.require(fits, "vectors_per_class has " + std::to_string(count));
    begins.push_back(total);
    total += static_cast<size_t>(count);
  }
  begins.push_back(total);
  size_t pairs = n * (n - 1) / 2;
  node.require(n >= 2 && weights.size() / (n - 1) == total && weights.size() % (n - 1) == 0,
               "coefficients has " + std::to_string(weights.size()) + " entries for " +
                   std::to_string(n) + " classes and " + std::to_string(total) + " vectors");
  node.require(rho.size() >= pairs, "rho has " + std::to_string(rho.size()) + " entries for " +
                                        std::to_string(pairs) + " pairs of classes");
  rho.resize(pairs);
  // A row of weights for each pair: of the vectors of its classes.
  constexpr size_t kMostPairs = 100'000, kMostFactors = size_t{1} << 26;
  node.require(pairs <= kMostPairs && pairs * std::max<size_t>(total, 1) <= kMostFactors,
               std::to_string(pairs) + " pairs of classes and " + std::to_string(total) +
                   " support vectors are more than there may be");
  std::vector<double> rows(pairs * total, 0);
  size_t pair = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j, ++pair) {
      for (size_t k = begins[i]; k < begins[i + 1]; ++k)
        rows[pair * total + k] = weights[(j - 1) * total + k];
      for (size_t k = begins[j]; k < begins[j + 1]; ++k)
        rows[pair * total + k] = weights[i * total + k];
    }
  }
  GraphValue seen =
      kernel_values(node, kernel_of(node), x, matrix_of(node, vectors, total, "support_vectors"));
  machine.all = linear(node, seen, matrix_of(node, rows, pairs, "coefficients"), rho);
  for (size_t k = 0; k < pairs; ++k) {
    auto at = static_cast<int64_t>(k);
    machine.decisions.push_back(pairs == 1 ? machine.all : node.slice(machine.all, 1, at, at + 1));
  }
  return machine;
}

/// How many pairs each class has won, (rows, classes).
GraphValue votes_of(NodeContext& node, const Machine& machine) {
  Values votes(machine.classes);
  size_t pair = 0;
  auto give = [&](size_t to, const GraphValue& won) {
    GraphValue vote = node.cast(won, kInt64);
    votes[to] = votes[to] ? node.emit("add", {votes[to], vote}) : vote;
  };
  for (size_t i = 0; i < machine.classes; ++i) {
    for (size_t j = i + 1; j < machine.classes; ++j, ++pair) {
      GraphValue first = node.emit("greater", {machine.decisions[pair], node.scalar(kFloat32, 0)});
      give(i, first);
      give(j, node.emit("logical_not", {first}));
    }
  }
  return node.concat(votes, 1);
}

GraphValue probabilities(NodeContext& node, const Machine& machine, const std::vector<double>& a,
                         const std::vector<double>& b) {
  size_t n = machine.classes, pairs = machine.decisions.size();
  node.require(a.size() == pairs && b.size() == pairs,
               "prob_a and prob_b have " + std::to_string(a.size()) + " and " +
                   std::to_string(b.size()) + " entries for " + std::to_string(pairs) +
                   " pairs of classes");
  node.require(n <= kMostCoupled, "probabilities of " + std::to_string(n) + " classes, more than " +
                                      std::to_string(kMostCoupled));
  auto number = [&](double value) { return node.scalar(kFloat32, value); };
  std::vector<Values> of_pairs(n, Values(n));
  size_t pair = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j, ++pair) {
      GraphValue steep = node.emit("multiply", {machine.decisions[pair], number(-a[pair])});
      GraphValue p = node.emit("sigmoid", {node.emit("subtract", {steep, number(b[pair])})});
      constexpr double kLeast = 1e-7;
      p = node.emit("clip", {p}, {{"a_min", kLeast}, {"a_max", 1 - kLeast}});
      of_pairs[i][j] = p;
      of_pairs[j][i] = node.emit("subtract", {number(1), p});
    }
  }
  return coupled(node, of_pairs);
}

Values convert_svm_classifier(NodeContext& node) {
  GraphValue x = float_rows(node);
  Labels labels = class_labels(node, "classlabels_ints");
  PostTransform transform = post_transform(node);
  std::vector<int64_t> per_class = node.attr_ints("vectors_per_class", std::vector<int64_t>());
  std::vector<double> a = node.attr_floats("prob_a", std::vector<double>());
  std::vector<double> b = node.attr_floats("prob_b", std::vector<double>());
  if (per_class.empty()) {
    // Weights of the classes themselves.
    node.ignore({"kernel_type", "kernel_params", "support_vectors"});
    std::vector<double> rho = node.attr_floats("rho", std::vector<double>{0});
    GraphValue matrix =
        matrix_of(node, node.attr_floats("coefficients"), labels.size(), "coefficients");
    rho.resize(labels.size(), rho.empty() ? 0 : rho[0]);
    return greatest_class(node, labels, linear(node, x, matrix, rho), transform);
  }
  node.require(labels.size() == per_class.size(),
               "there are " + std::to_string(labels.size()) + " labels for " +
                   std::to_string(per_class.size()) + " classes");
  Machine machine = machine_of(node, x, per_class);
  // The winner of most pairs, also where there are probabilities: those may disagree.
  AttrList along{{"axis", std::vector<int64_t>{1}}, {"keepdims", false}};
  GraphValue winner = node.emit("argmax", {votes_of(node, machine)}, along);
  GraphValue scores = machine.all;
  if (!a.empty()) {
    scores = probabilities(node, machine, a, b);
  } else if (machine.classes == 2) {
    // As ONNX Runtime has them: the second column is above 0 for the first class.
    scores = node.concat({node.emit("negative", {scores}), scores}, 1);
  }
  return {label_of(node, labels, winner), transformed(node, scores, transform)};
}
RELAY_ONNX_ML("SVMClassifier", 1, convert_svm_classifier)

}  // namespace
}  // namespace relay::onnx
