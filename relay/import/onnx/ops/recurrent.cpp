// LSTM, GRU and RNN: the products with the inputs for all steps at once, then a loop over the steps
// that writes each result into its place.
#include <algorithm>

#include <relay/import/onnx/ops/activation.h>
#include <relay/import/onnx/ops/quantised.h>
#include <relay/import/onnx/ops/run_time.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

/// The computation of a layer, as far as all directions share it.
struct Layer {
  size_t gates = 1;   // rows of the weights, in hidden sizes
  size_t states = 1;  // h, and c of an LSTM
  int64_t hidden = 0;
  std::optional<double> clip;
  bool input_forget = false;
  bool reset_after = false;  // linear_before_reset
};

GraphValue clipped(NodeContext& node, const Layer& layer, const GraphValue& x) {
  if (!layer.clip) return x;
  return node.emit("clip", {x}, {{"a_min", -*layer.clip}, {"a_max", *layer.clip}});
}

/// The weights of one direction.
struct Direction {
  GraphValue weight;     // (gates · hidden, input)
  GraphValue recurrent;  // (gates · hidden, hidden)
  /// In their place, transposed, where the numbers that meet them are quantised on the way.
  std::optional<QuantisedMatrix> weight_integers, recurrent_integers;
  GraphValue bias;       // (gates · hidden), what the inputs' products get
  GraphValue late_bias;  // GRU that resets after: of the last gate's recurrent product
  Values peepholes;      // i, o, f
  std::vector<Activation> activations;
};

// Gate k of (batch, gates · hidden).
GraphValue gate(NodeContext& node, const Layer& layer, const GraphValue& all, size_t k) {
  auto at = static_cast<int64_t>(k);
  return node.slice(all, 1, at * layer.hidden, (at + 1) * layer.hidden);
}

GraphValue rows(NodeContext& node, const Layer& layer, const GraphValue& weight, size_t from,
                size_t to) {
  return node.slice(weight, 0, static_cast<int64_t>(from) * layer.hidden,
                    static_cast<int64_t>(to) * layer.hidden);
}

Values lstm_step(NodeContext& node, const Layer& layer, const Direction& d, const GraphValue& x,
                 const Values& states) {
  const GraphValue &h = states[0], &c = states[1];
  GraphValue product = d.recurrent_integers ? dynamic_matmul(node, h, *d.recurrent_integers)
                                            : node.emit("nn.dense", {h, d.recurrent});
  GraphValue all = node.emit("add", {x, product});
  auto with = [&](size_t k, size_t peephole, const GraphValue& cell) {
    GraphValue g = gate(node, layer, all, k);
    if (!d.peepholes.empty()) {
      g = node.emit("add", {g, node.emit("multiply", {d.peepholes[peephole], cell})});
    }
    return clipped(node, layer, g);
  };
  GraphValue i = activated(node, d.activations[0], with(0, 0, c));
  GraphValue f = layer.input_forget ? node.emit("subtract", {node.scalar(i.dtype(), 1), i})
                                    : activated(node, d.activations[0], with(2, 2, c));
  GraphValue fresh =
      activated(node, d.activations[1], clipped(node, layer, gate(node, layer, all, 3)));
  GraphValue cell =
      node.emit("add", {node.emit("multiply", {f, c}), node.emit("multiply", {i, fresh})});
  GraphValue o = activated(node, d.activations[0], with(1, 1, cell));
  return {node.emit("multiply", {o, activated(node, d.activations[2], cell)}), cell};
}

// (1 - z) · fresh + z · h, where `held` is what the last gate takes of the state.
Values gru_state(NodeContext& node, const Layer& layer, const Direction& d, const GraphValue& x,
                 const GraphValue& h, const GraphValue& z, const GraphValue& held) {
  GraphValue sum = node.emit("add", {gate(node, layer, x, 2), held});
  GraphValue fresh = activated(node, d.activations[1], clipped(node, layer, sum));
  GraphValue away = node.emit("subtract", {h, fresh});
  return {node.emit("add", {fresh, node.emit("multiply", {z, away})})};
}

Values gru_step(NodeContext& node, const Layer& layer, const Direction& d, const GraphValue& x,
                const Values& states) {
  const GraphValue& h = states[0];
  // If the last gate is reset after its product, one product of all gates does: what follows it is
  // one kernel then, which reads the gates where they lie.
  GraphValue early = node.emit(
      "nn.dense", {h, layer.reset_after ? d.recurrent : rows(node, layer, d.recurrent, 0, 2)});
  auto opened = [&](size_t k) {
    GraphValue sum = node.emit("add", {gate(node, layer, x, k), gate(node, layer, early, k)});
    return activated(node, d.activations[0], clipped(node, layer, sum));
  };
  GraphValue z = opened(0), r = opened(1);
  if (layer.reset_after) {
    GraphValue product = gate(node, layer, early, 2);
    if (d.late_bias) product = node.emit("add", {product, d.late_bias});
    return gru_state(node, layer, d, x, h, z, node.emit("multiply", {r, product}));
  }
  GraphValue last = rows(node, layer, d.recurrent, 2, 3);
  GraphValue held = node.emit("nn.dense", {node.emit("multiply", {r, h}), last});
  return gru_state(node, layer, d, x, h, z, held);
}

Values rnn_step(NodeContext& node, const Layer& layer, const Direction& d, const GraphValue& x,
                const Values& states) {
  GraphValue sum = node.emit("add", {x, node.emit("nn.dense", {states[0], d.recurrent})});
  return {activated(node, d.activations[0], clipped(node, layer, sum))};
}

using Step = Values (*)(NodeContext&, const Layer&, const Direction&, const GraphValue& x,
                        const Values& states);

// Zeros in the steps (steps, batch, hidden) at which a sequence has ended: the loop goes on with
// the last state there, so that a step has one result.
GraphValue only_active(NodeContext& node, const GraphValue& y, const GraphValue& lengths) {
  Dim column[] = {y.dim(0), Dim(1)}, row[] = {Dim(1), y.dim(1)};
  GraphValue place =
      node.cast(counted_along(node, extent_value(node, y, 0), 0, 3), lengths.dtype());
  GraphValue active = node.emit("less", {node.reshape(place, column), node.reshape(lengths, row)});
  return node.emit("where", {node.unsqueeze(active, {2}), y, node.scalar(y.dtype(), 0)});
}

// Zeros after the last step of the longest sequence.
GraphValue used_steps(NodeContext& node, const GraphValue& x, const GraphValue& lengths) {
  Dim steps[] = {x.dim(0), Dim(1), Dim(1)};
  GraphValue place = counted_along(node, extent_value(node, x, 0), 0, 3);
  GraphValue longest = node.cast(node.emit("max", {lengths}), kInt64);
  GraphValue used = node.reshape(node.emit("less", {place, longest}), steps);
  return node.emit("where", {used, x, node.scalar(x.dtype(), 0)});
}

/// One direction on its way through the loop.
struct Running {
  Direction weights;
  bool backward = false;
  GraphValue projected;  // (steps, batch, gates · hidden): the products with the inputs
  Values first;          // the states that it begins with
};

GraphValue turned(NodeContext& node, const GraphValue& v, const GraphValue& lengths) {
  if (!lengths) return node.emit("reverse", {v}, {{"axis", 0}});
  return node.emit("reverse_sequence", {v, lengths}, {{"seq_axis", 0}, {"batch_axis", 1}});
}

GraphValue projections(NodeContext& node, const Layer& layer, const Running& direction,
                       GraphValue x, const GraphValue& lengths) {
  const Direction& d = direction.weights;
  Dim steps = x.dim(0), batch = x.dim(1);
  if (direction.backward) x = turned(node, x, lengths);
  auto width = static_cast<int64_t>(layer.gates) * layer.hidden;
  auto flat = [&](const GraphValue& all) { return node.reshape(all, {steps * batch, x.dim(2)}); };
  GraphValue projected;
  if (d.weight_integers) {
    GraphValue range = lengths ? flat(used_steps(node, x, lengths)) : GraphValue();
    projected = dynamic_matmul(node, flat(x), *d.weight_integers, range);
  } else {
    projected = node.emit("nn.dense", {flat(x), d.weight});
  }
  if (d.bias) projected = node.emit("nn.bias_add", {projected, d.bias}, {{"axis", 1}});
  return node.reshape(projected, {steps, batch, width});
}

/// The states of a direction after one more step, at the place `at`.
Values next_states(NodeContext& node, const Layer& layer, const Running& direction, Step step,
                   const GraphValue& at, const Values& own, const GraphValue& lengths) {
  GraphValue now = node.emit("take", {direction.projected, at}, {{"axis", 0}});
  if (!lengths) return step(node, layer, direction.weights, now, own);
  Values before = own;
  GraphValue position = node.cast(at, lengths.dtype());
  GraphValue active = node.unsqueeze(node.emit("less", {position, lengths}), {1});
  // A row that has ended counts in the range of what is quantised once more, then as zeros.
  if (direction.weights.recurrent_integers) {
    GraphValue counts = node.unsqueeze(node.emit("less_equal", {position, lengths}), {1});
    before[0] = node.emit("where", {counts, own[0], node.scalar(now.dtype(), 0)});
  }
  Values next = step(node, layer, direction.weights, now, before);
  for (size_t k = 0; k < next.size(); ++k) {
    next[k] = node.emit("where", {active, next[k], own[k]});
  }
  return next;
}

/// All steps of the directions, side by side in one loop: for each Y (steps, batch, hidden) and the
/// last states.
std::vector<Values> run_directions(NodeContext& node, const Layer& layer,
                                   std::vector<Running>& directions, Step step, const GraphValue& x,
                                   const GraphValue& lengths) {
  Dim steps = x.dim(0), batch = x.dim(1);
  GraphValue at = node.constant_value(NDArray::scalar<int64_t>(0));
  at = GraphValue::of(node.importer().expr(at), at.type());  // changes: its element is not known
  Values states{at};
  for (Running& each : directions) {
    each.projected = projections(node, layer, each, x, lengths);
    states.push_back(
        node.broadcast_to(node.reshape(node.scalar(x.dtype(), 0), {Dim(1), Dim(1), Dim(1)}),
                          std::vector<Dim>{steps, batch, layer.hidden}));
    states.insert(states.end(), each.first.begin(), each.first.end());
  }
  GraphValue limit = node.known_value({steps}, {}, kInt64);
  if (steps.is_any()) {
    GraphValue shape = node.emit("shape_of", {x}, {{"dtype", kInt64}});
    limit =
        node.emit("take", {shape, node.constant_value(NDArray::scalar<int64_t>(0))}, {{"axis", 0}});
  }
  auto part_of = [&](const Values& s, size_t d) {  // Y and the states of a direction
    auto begin = s.begin() + 1 + static_cast<std::ptrdiff_t>(d * (1 + layer.states));
    return Values(begin, begin + 1 + static_cast<std::ptrdiff_t>(layer.states));
  };
  auto test = [&](NodeContext& inner, const Values& s) {
    return inner.emit("less", {s[0], limit});
  };
  auto round = [&](NodeContext& inner, const Values& s) {
    Values result{inner.emit("add", {s[0], inner.scalar(kInt64, 1)})};
    for (size_t d = 0; d < directions.size(); ++d) {
      Values own = part_of(s, d);
      const GraphValue y = own[0];
      own.erase(own.begin());
      Values next = next_states(inner, layer, directions[d], step, s[0], own, lengths);
      result.push_back(inner.with_part(y, s[0], next[0]));
      result.insert(result.end(), next.begin(), next.end());
    }
    return result;
  };
  const Values last = node.loop(states, test, round);
  std::vector<Values> results;
  for (size_t d = 0; d < directions.size(); ++d) {
    Values own = part_of(last, d);
    if (lengths) own[0] = only_active(node, own[0], lengths);
    if (directions[d].backward) own[0] = turned(node, own[0], lengths);
    results.push_back(std::move(own));
  }
  return results;
}

std::vector<Activation> activations_of(NodeContext& node, size_t directions,
                                       const std::vector<std::string>& defaults) {
  std::vector<std::string> names;
  for (size_t d = 0; d < directions; ++d) {
    names.insert(names.end(), defaults.begin(), defaults.end());
  }
  names = node.attr_strings("activations", names);
  node.require(names.size() == directions * defaults.size(),
               "activations has " + std::to_string(names.size()) + " entries, not " +
                   std::to_string(directions * defaults.size()));
  std::vector<double> alphas = node.attr_floats("activation_alpha", std::vector<double>());
  std::vector<double> betas = node.attr_floats("activation_beta", std::vector<double>());
  // The lists have entries for the activations that take a parameter, in order.
  struct Defaults {
    const char* name;
    std::optional<double> alpha, beta;
  };
  static const Defaults kDefaults[] = {{"affine", 1.0, 0.0},         {"leakyrelu", 0.01, {}},
                                       {"thresholdedrelu", 1.0, {}}, {"scaledtanh", 1.0, 1.0},
                                       {"hardsigmoid", 0.2, 0.5},    {"elu", 1.0, {}}};
  std::vector<Activation> result;
  size_t alpha = 0, beta = 0;
  for (const std::string& name : names) {
    Activation f{small_letters(name), 0, 0};
    for (const Defaults& known : kDefaults) {
      if (f.name != known.name) continue;
      if (known.alpha) f.alpha = alpha < alphas.size() ? alphas[alpha++] : *known.alpha;
      if (known.beta) f.beta = beta < betas.size() ? betas[beta++] : *known.beta;
    }
    result.push_back(std::move(f));
  }
  return result;
}

GraphValue part(NodeContext& node, const GraphValue& value, size_t direction) {
  auto at = static_cast<int64_t>(direction);
  if (value.dim(0).is_int(1))
    return node.emit("squeeze", {value}, {{"axis", std::vector<int64_t>{0}}});
  return node.emit("squeeze", {node.slice(value, 0, at, at + 1)},
                   {{"axis", std::vector<int64_t>{0}}});
}

/// The axis of X that has the batch.
size_t batch_axis(NodeContext& node) { return node.attr_int("layout", 0) != 0 ? 0 : 1; }

/// Input 5 + k of the node, the states that one direction begins with: one row for each of the
/// batch. Others are refused, by the run where only that knows: one row would be taken for all.
GraphValue for_each_row(NodeContext& node, const GraphValue& states, Dim batch, size_t k) {
  if (dims_equal(states.dim(0), batch) == Truth::kYes) return states;
  std::string what = k == 0 ? "initial_h" : "initial_c";
  GraphValue rows = extent_value(node, states, 0);
  GraphValue fits = node.emit("equal", {rows, extent_value(node, node.input(0), batch_axis(node))});
  std::string message = what + " must have a row for each sequence of the batch";
  return node.emit("assert_op", {fits, states}, {{"message", message}});
}

Values recurrent(NodeContext& node, Layer layer, Step step,
                 const std::vector<std::string>& default_activations, bool quantised = false) {
  GraphValue x = node.input(0), weight = node.input(1), recurrence = node.input(2);
  node.require(x.rank() == 3 && weight.rank() == 3 && recurrence.rank() == 3,
               "X, W and R must have three axes");
  bool batch_first = batch_axis(node) == 0;
  std::string direction = node.attr_string("direction", "forward");
  size_t directions = direction == "bidirectional" ? 2 : 1;
  node.require(direction == "forward" || direction == "reverse" || directions == 2,
               "direction is " + quoted(direction));
  if (node.has_attr("hidden_size")) {
    layer.hidden = node.attr_int("hidden_size");
  } else {
    Dim hidden = recurrence.dim(quantised ? 1 : 2);
    node.require(hidden.is_int(), "the hidden size is not known");
    layer.hidden = hidden.as_int();
  }
  node.require(layer.hidden > 0 && layer.hidden < int64_t{1} << 31,
               "the hidden size is " + std::to_string(layer.hidden));
  auto width = static_cast<int64_t>(layer.gates) * layer.hidden;
  auto fit = [&](size_t input, const char* what, std::vector<Dim> dims, const char* also = "") {
    if (!node.has(input)) return;
    GraphValue value = node.input(input);
    std::string message = std::string(what) + " is " + value.type()->str() + ", " + also +
                          "hidden_size and direction make it " + shape_str(dims);
    node.require(value.rank() == dims.size(), message);
    for (size_t k = 0; k < dims.size(); ++k) node.demand(value.dim(k), dims[k], message);
  };
  auto both = static_cast<int64_t>(directions);
  if (quantised) {
    fit(1, "W", {both, x.dim(2), width});
    fit(2, "R", {both, layer.hidden, width});
    for (size_t input = 8; input < 12; ++input) {
      const char* names[] = {"W_scale", "W_zero_point", "R_scale", "R_zero_point"};
      bool vectors = node.input(input).rank() > 1;
      fit(input, names[input - 8],
          vectors ? std::vector<Dim>{both, width} : std::vector<Dim>{both});
    }
  } else {
    fit(1, "W", {both, width, x.dim(2)});
    fit(2, "R", {both, width, layer.hidden});
  }
  fit(3, "B", {both, 2 * width});
  Dim given_batch = x.dim(batch_axis(node));
  for (size_t k = 0; k < layer.states; ++k) {
    fit(5 + k, k == 0 ? "initial_h" : "initial_c",
        batch_first ? std::vector<Dim>{given_batch, both, layer.hidden}
                    : std::vector<Dim>{both, given_batch, layer.hidden},
        "X, ");
  }
  if (layer.states == 2) fit(7, "P", {both, 3 * layer.hidden});
  if (node.has_attr("clip")) layer.clip = node.attr_float("clip");
  std::vector<Activation> activations = activations_of(node, directions, default_activations);
  GraphValue lengths = node.optional_input(4);
  if (batch_first) x = node.transpose(x, {1, 0, 2});
  Dim batch = x.dim(1);
  if (lengths) {
    std::string message = "sequence_lens is " + lengths.type()->str() + ", a list of " +
                          batch.str() + " lengths is needed";
    node.require(lengths.rank() == 1 && lengths.dtype().is_integer(), message);
    node.demand(lengths.dim(0), batch, message);
  }
  std::vector<Running> running(directions);
  for (size_t d = 0; d < directions; ++d) {
    Direction& own = running[d].weights;
    own.weight = part(node, weight, d);
    own.recurrent = part(node, recurrence, d);
    if (quantised) {
      auto integers = [&](const GraphValue& matrix, size_t scale) {
        return quantised_matrix(node, matrix, part(node, node.input(scale), d),
                                part(node, node.input(scale + 1), d));
      };
      own.weight_integers = integers(own.weight, 8);
      own.recurrent_integers = integers(own.recurrent, 10);
    }
    if (node.has(3)) {
      GraphValue both = part(node, node.input(3), d);
      GraphValue of_x = node.slice(both, 0, 0, width), of_h = node.slice(both, 0, width, 2 * width);
      if (layer.reset_after) {
        // The recurrent bias of the last gate is reset, too.
        own.late_bias = node.slice(of_h, 0, 2 * layer.hidden, width);
        GraphValue none = node.broadcast_to(node.reshape(node.scalar(x.dtype(), 0), {Dim(1)}),
                                            std::vector<Dim>{layer.hidden});
        of_h = node.concat({node.slice(of_h, 0, 0, 2 * layer.hidden), none}, 0);
      }
      own.bias = node.emit("add", {of_x, of_h});
    }
    if (layer.states == 2 && node.has(7)) {
      GraphValue all = part(node, node.input(7), d);
      for (int64_t k = 0; k < 3; ++k) {
        own.peepholes.push_back(node.slice(all, 0, k * layer.hidden, (k + 1) * layer.hidden));
      }
    }
    size_t count = default_activations.size();
    own.activations.assign(activations.begin() + static_cast<std::ptrdiff_t>(d * count),
                           activations.begin() + static_cast<std::ptrdiff_t>((d + 1) * count));
    Values& first = running[d].first;
    for (size_t k = 0; k < layer.states; ++k) {
      if (node.has(5 + k)) {
        GraphValue given = node.input(5 + k);
        if (batch_first) given = node.transpose(given, {1, 0, 2});
        first.push_back(for_each_row(node, part(node, given, d), batch, k));
      } else {
        first.push_back(node.broadcast_to(node.reshape(node.scalar(x.dtype(), 0), {Dim(1), Dim(1)}),
                                          std::vector<Dim>{batch, layer.hidden}));
      }
    }
    running[d].backward = direction == "reverse" || d == 1;
  }
  const std::vector<Values> results = run_directions(node, layer, running, step, x, lengths);
  Values outputs;
  for (size_t k = 0; k <= layer.states; ++k) {
    // Y is (steps, directions, batch, hidden), states are (directions, batch, hidden).
    int64_t axis = k == 0 ? 1 : 0;
    Values parts;
    for (const Values& result : results) parts.push_back(node.unsqueeze(result[k], {axis}));
    GraphValue all = node.concat(parts, axis);
    if (batch_first) {
      all = k == 0 ? node.transpose(all, {2, 0, 1, 3}) : node.transpose(all, {1, 0, 2});
    }
    outputs.push_back(all);
  }
  return outputs;
}

Values lstm(NodeContext& node, bool quantised) {
  Layer layer;
  layer.gates = 4;
  layer.states = 2;
  layer.input_forget = node.attr_bool("input_forget", false);
  return recurrent(node, layer, lstm_step, {"Sigmoid", "Tanh", "Tanh"}, quantised);
}
Values convert_lstm(NodeContext& node) { return lstm(node, false); }
// Inputs and states are quantised on the way, each time by their own range.
Values convert_dynamic_lstm(NodeContext& node) { return lstm(node, true); }
Values convert_gru(NodeContext& node) {
  Layer layer;
  layer.gates = 3;
  layer.reset_after = node.attr_bool("linear_before_reset", false);
  return recurrent(node, layer, gru_step, {"Sigmoid", "Tanh"});
}
Values convert_rnn(NodeContext& node) { return recurrent(node, Layer(), rnn_step, {"Tanh"}); }
RELAY_ONNX("LSTM", 1, convert_lstm)
RELAY_ONNX_DOMAIN("com.microsoft", "DynamicQuantizeLSTM", 1, convert_dynamic_lstm)
RELAY_ONNX("GRU", 3, convert_gru)
RELAY_ONNX("RNN", 1, convert_rnn)

}  // namespace
}  // namespace relay::onnx
