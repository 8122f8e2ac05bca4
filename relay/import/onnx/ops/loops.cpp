// Loop and Scan. Outputs that are collected over the rounds are written into their places where the
// number of rounds is known before the first one, else each round appends. Where only a round knows
// how large its part is, the first one makes room for all.
#include <algorithm>

#include <relay/import/onnx/fold.h>
#include <relay/import/onnx/ops/run_time.h>
#include <relay/import/onnx/ops/slice.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

/// The results of one round.
struct Round {
  GraphValue goes_on;  // a bool of rank 0; nothing: always
  Values carried;
  Values collected;
};

/// A loop of ONNX.
struct Rounds {
  Values first;              // of what is carried
  GraphValue count;          // the most rounds, an int64 of rank 0; nothing for no limit
  GraphValue goes_on;        // whether there is a first round; nothing: yes
  std::vector<bool> append;  // each collected output: whether rounds go from front to back
  size_t items = 0;          // how many of them, the last ones, are items of sequences
  /// Converts the body. `goes_on` is what the last round gave.
  std::function<Round(NodeContext&, const GraphValue& at, const GraphValue& goes_on,
                      const Values& carried)>
      round;
};

std::optional<bool> known_bool(const GraphValue& value) {
  if (!value.elements() || value.elements()->size() != 1 || !value.elements()->front().is_int()) {
    return std::nullopt;
  }
  return !value.elements()->front().is_int(0);
}

GraphValue as_condition(NodeContext& node, const GraphValue& value) {
  node.require(value.is_tensor() && value.dtype().is_bool(), "the condition is no bool");
  if (std::optional<bool> known = known_bool(value)) return node.scalar(kBool, *known ? 1 : 0);
  Dim count = product(value.dims());
  node.require(!count.is_int() || count.is_int(1),
               "the condition has " + count.str() + " elements");
  return node.reshape(value, std::initializer_list<Dim>{});
}

/// The findings of a trial of the body: whether all rounds go on because each does, and the types
/// of what they give.
struct Probe {
  bool unconditional = false;
  std::vector<TypeRef> carried;
  Values collected;
};

Probe probe(NodeContext& node, const Rounds& rounds) {
  Probe result;
  std::optional<bool> begins = rounds.goes_on ? known_bool(rounds.goes_on) : true;
  result.unconditional = begins == true;
  for (const GraphValue& value : rounds.first) {
    node.require(value.is_tensor(), "a loop's state is no tensor");
    result.carried.push_back(value.type());
  }
  TypeRef number = TensorType::make(std::span<const Dim>(), kInt64);
  TypeRef flag = TensorType::make(std::span<const Dim>(), kBool);
  // Each turn of this widens an extent, or finds a condition that does not hold always.
  for (;;) {
    std::vector<TypeRef> types{number, flag};
    types.insert(types.end(), result.carried.begin(), result.carried.end());
    bool holds = true;
    Values next = node.try_round(types, [&](NodeContext& inner, const Values& states) {
      GraphValue given = result.unconditional ? inner.scalar(kBool, 1) : states[1];
      Round round = rounds.round(inner, states[0], given, Values(states.begin() + 2, states.end()));
      holds = !round.goes_on || known_bool(round.goes_on) == true;
      result.collected = std::move(round.collected);
      return std::move(round.carried);
    });
    for (GraphValue& part : result.collected) part = node.importer().outward(part);
    std::vector<TypeRef> wider = node.widened(result.carried, next);
    if (wider == result.carried && (holds || !result.unconditional)) return result;
    result.carried = std::move(wider);
    result.unconditional &= holds;
  }
}

/// The number of rounds as an extent that no run finds negative; nothing if it is not known.
std::optional<Dim> count_dim(const GraphValue& count) {
  if (!count || !count.elements() || count.elements()->front().is_any()) return std::nullopt;
  Dim dim = count.elements()->front();
  if (dim.is_int()) return Dim(std::max<int64_t>(dim.as_int(), 0));
  if (!dim.is_natural()) return std::nullopt;
  return dim;
}

/// Zeros for all rounds' parts.
GraphValue room(NodeContext& node, const GraphValue& part, const GraphValue& count) {
  GraphValue zero = node.scalar(part.dtype(), 0);
  std::vector<Dim> dims(part.dims().begin(), part.dims().end());
  std::optional<Dim> known = count_dim(count);
  if (known && !any_unknown(dims)) {
    dims.insert(dims.begin(), *known);
    return node.broadcast_to(node.reshape(zero, std::vector<Dim>(dims.size(), Dim(1))), dims);
  }
  GraphValue rows = node.emit("maximum", {count, number_value(node, 0)});
  GraphValue shape = node.concat({node.reshape(rows, {Dim(1)}), shape_value(node, part)}, 0);
  return node.emit("dyn.broadcast_to", {zero, shape});
}

/// Room for all rounds' parts in the first round, then `all`: a loop of one round, or none.
GraphValue room_at_first(NodeContext& node, const GraphValue& at, const GraphValue& all,
                         const GraphValue& part, const GraphValue& count) {
  auto test = [](NodeContext& inner, const Values& now) {
    return inner.emit("less", {now[0], number_value(inner, 1)});
  };
  auto step = [&](NodeContext& inner, const Values& now) {
    return Values{inner.emit("add", {now[0], number_value(inner, 1)}), room(inner, part, count)};
  };
  return node.loop({at, all}, test, step)[1];
}

/// No part yet. Extents that only a round knows are 0.
GraphValue nothing_yet(NodeContext& node, const GraphValue& part) {
  std::vector<Dim> dims{Dim(0)}, shown{Dim::any()};
  for (Dim dim : part.dims()) {
    dims.push_back(dim.is_any() ? Dim(0) : dim);
    shown.push_back(dim);
  }
  GraphValue zero = node.reshape(node.scalar(part.dtype(), 0), std::vector<Dim>(dims.size(), 1));
  GraphValue none = node.broadcast_to(zero, dims);
  Importer& importer = node.importer();
  return importer.made(importer.expr(none), TensorType::make(shown, part.dtype()));
}

/// The last values of what is carried, then what was collected, rounds along axis 0.
Values repeat(NodeContext& node, const Rounds& rounds) {
  Probe known = probe(node, rounds);
  bool conditional = !known.unconditional;
  Values states{number_value(node, 0)};
  if (conditional) {
    states.push_back(rounds.goes_on ? rounds.goes_on : node.scalar(kBool, 1));
  }
  size_t begin = states.size(), middle = begin + rounds.first.size();
  states.insert(states.end(), rounds.first.begin(), rounds.first.end());
  bool in_place = !conditional && rounds.count;
  std::vector<bool> late;
  for (const GraphValue& part : known.collected) {
    late.push_back(any_unknown(part.dims()));
    bool at_once = in_place && !late.back();
    states.push_back(at_once ? room(node, part, rounds.count) : nothing_yet(node, part));
  }
  auto test = [&](NodeContext& inner, const Values& now) {
    if (!rounds.count) return conditional ? now[1] : inner.scalar(kBool, 1);
    GraphValue less = inner.emit("less", {now[0], rounds.count});
    return conditional ? inner.emit("logical_and", {less, now[1]}) : less;
  };
  auto step = [&](NodeContext& inner, const Values& now) {
    auto at = [&](size_t k) { return now.begin() + static_cast<std::ptrdiff_t>(k); };
    GraphValue goes_on = conditional ? now[1] : inner.scalar(kBool, 1);
    Round round = rounds.round(inner, now[0], goes_on, Values(at(begin), at(middle)));
    Values next{inner.emit("add", {now[0], number_value(inner, 1)})};
    if (conditional) next.push_back(round.goes_on ? round.goes_on : inner.scalar(kBool, 1));
    next.insert(next.end(), round.carried.begin(), round.carried.end());
    for (size_t k = 0; k < late.size(); ++k) {
      GraphValue all = now[middle + k];
      GraphValue part = round.collected[k];
      const char* message = k + rounds.items < late.size()
                                ? "the parts of a scan output have one shape"
                                : kItemsOfOneShape;
      if (!in_place) {
        next.push_back(with_row(inner, all, part, rounds.append[k], message));
        continue;
      }
      GraphValue place = now[0];
      if (late[k]) {
        all = room_at_first(inner, now[0], all, part, rounds.count);
        // The shape is compared before the part is written.
        GraphValue shape = inner.slice(shape_value(inner, all), 0, 1, kMostExtent);
        shape = inner.emit("add", {shape, rows_like(inner, all, part, message)});
        part = inner.emit("dyn.reshape", {part, shape}, {{"allowzero", true}});
      }
      if (!rounds.append[k]) {
        GraphValue last = inner.emit("subtract", {rounds.count, number_value(inner, 1)});
        place = inner.emit("subtract", {last, place});
      }
      next.push_back(inner.with_part(all, place, part));
    }
    return next;
  };
  Values last = node.loop(states, test, step);
  return {last.begin() + static_cast<std::ptrdiff_t>(begin), last.end()};
}

/// The rounds one after the other, as if their nodes stood in the place of this one: for values
/// that are sequences or optional, of which the lengths have to be known.
Values unroll(NodeContext& node, const Rounds& rounds) {
  const char* message =
      "carries a sequence or an optional value, so the number of rounds has to be known";
  node.require(rounds.count && rounds.count.elements() && rounds.count.elements()->front().is_int(),
               message);
  int64_t count = rounds.count.elements()->front().as_int();
  Values carried = rounds.first;
  std::vector<Values> collected(rounds.append.size());
  GraphValue goes_on = rounds.goes_on ? rounds.goes_on : node.scalar(kBool, 1);
  for (int64_t k = 0; k < count; ++k) {
    std::optional<bool> known = known_bool(goes_on);
    node.require(known.has_value(), message);
    if (!*known) break;
    Round round = rounds.round(node, number_value(node, k), goes_on, carried);
    goes_on = round.goes_on;
    carried = std::move(round.carried);
    for (size_t i = 0; i < collected.size(); ++i) collected[i].push_back(round.collected[i]);
  }
  for (const Values& parts : collected) {
    node.require(!parts.empty(), "has no rounds, so the type of a scan output is not known");
    carried.push_back(node.emit("stack", {node.tuple(parts)}, {{"axis", 0}}));
  }
  return carried;
}

/// True if a round may append to what is carried: to sequences, of tensors, whose lengths are known
/// before the loop.
bool may_append(const Values& first) {
  return std::all_of(first.begin(), first.end(), [](const GraphValue& value) {
    if (!value.is_sequence()) return value.is_tensor();
    return value.before() == nullptr &&
           std::all_of(value.items().begin(), value.items().end(),
                       [](const GraphValue& item) { return item.is_tensor(); });
  });
}

/// The rounds of a loop that carries sequences, when only a run knows their number. A round sees a
/// sequence without the items before, and may append one: it is collected, so that the items become
/// rows of a tensor.
class Appending {
 public:
  Appending(NodeContext& node, const Rounds& rounds) : node_(node), rounds_(rounds) {
    for (const GraphValue& value : rounds.first) {
      (value.is_sequence() ? sequences_ : tensors_).push_back(value);
    }
  }

  Values run() {
    Rounds plain = rounds_;
    plain.first = tensors_;
    appends_.assign(sequences_.size(), false);
    plain.round = [this](NodeContext& inner, const GraphValue& at, const GraphValue& goes_on,
                         const Values& carried) { return round(inner, at, goes_on, carried); };
    find_growing();
    plain.items = static_cast<size_t>(std::count(appends_.begin(), appends_.end(), true));
    plain.append.insert(plain.append.end(), plain.items, true);
    return with_sequences(repeat(node_, plain));
  }

 private:
  // A trial says which sequences grow.
  void find_growing() {
    TypeRef number = TensorType::make(std::span<const Dim>(), kInt64);
    TypeRef flag = TensorType::make(std::span<const Dim>(), kBool);
    std::vector<TypeRef> types{number, flag};
    for (const GraphValue& value : tensors_) types.push_back(value.type());
    node_.try_round(types, [&](NodeContext& inner, const Values& states) {
      Values carried = rounds_carried(Values(states.begin() + 2, states.end()));
      Round made = rounds_.round(inner, states[0], states[1], carried);
      for (size_t i = 0, k = 0; i < made.carried.size(); ++i) {
        if (!rounds_.first[i].is_sequence()) continue;
        appends_[k++] = appended(inner, carried[i], made.carried[i]);
      }
      return Values{};
    });
  }

  // What a round gets: sequences that begin with items of which it knows nothing.
  Values rounds_carried(const Values& tensors) const {
    Values carried;
    size_t next = 0;
    for (const GraphValue& value : rounds_.first) {
      carried.push_back(value.is_sequence() ? GraphValue::sequence_behind(GraphValue::mark(), {})
                                            : tensors[next++]);
    }
    return carried;
  }

  static bool appended(NodeContext& node, const GraphValue& given, const GraphValue& value) {
    // It may be another one of this loop, or of one around it.
    bool same = value.before() != nullptr && value.before()->same_as(*given.before());
    node.require(same || !value.is_sequence(),
                 "a round carries on another sequence than the one it got, so the number of rounds "
                 "has to be known");
    node.require(same && value.items().size() <= 1,
                 "a round does not append one item to a sequence, so the number of rounds has to "
                 "be known");
    return !value.items().empty();
  }

  Round round(NodeContext& inner, const GraphValue& at, const GraphValue& goes_on,
              const Values& tensors) {
    Values given = rounds_carried(tensors);
    Round made = rounds_.round(inner, at, goes_on, given);
    Values carried;
    size_t k = 0;
    for (size_t i = 0; i < made.carried.size(); ++i) {
      const GraphValue& value = made.carried[i];
      if (!rounds_.first[i].is_sequence()) {
        carried.push_back(value);
        continue;
      }
      inner.require(appended(inner, given[i], value) == appends_[k++], "rounds of a loop differ");
      if (!value.items().empty()) made.collected.push_back(value.items()[0]);
    }
    made.carried = std::move(carried);
    return made;
  }

  // The results of the loop of tensors in the order of the model's loop.
  Values with_sequences(const Values& last) {
    Values results;
    size_t tensor = 0, sequence = 0, rows = last.size();
    rows -= static_cast<size_t>(std::count(appends_.begin(), appends_.end(), true));
    const size_t collected = rows;
    for (const GraphValue& value : rounds_.first) {
      if (!value.is_sequence()) {
        results.push_back(last[tensor++]);
      } else if (!appends_[sequence++]) {
        results.push_back(value);
      } else {
        GraphValue all = last[rows++];
        for (auto item = value.items().rbegin(); item != value.items().rend(); ++item) {
          all = with_row(node_, all, *item, false, kItemsOfOneShape);
        }
        results.push_back(GraphValue::sequence_behind(all, {}));
      }
    }
    while (tensor < collected) results.push_back(last[tensor++]);
    return results;
  }

  NodeContext& node_;
  const Rounds& rounds_;
  Values tensors_, sequences_;
  std::vector<bool> appends_;  // of each sequence: a round appends an item
};

// ---- Loop ---------------------------------------------------------------------------------------

Values convert_loop(NodeContext& node) {
  const Graph& body = node.attr_graph("body");
  Rounds rounds;
  if (node.has(0)) {
    GraphValue count = node.input(0);
    node.require(count.dtype().is_integer(), "the trip count is no integer");
    rounds.count = as_number(node, count, "the trip count");
  }
  if (node.has(1)) rounds.goes_on = as_condition(node, node.input(1));
  for (size_t i = 2; i < node.num_inputs(); ++i) {
    rounds.first.push_back(node.optional_input(i));
  }
  size_t carried = rounds.first.size();
  node.require(body.inputs.size() == carried + 2,
               "its body has " + std::to_string(body.inputs.size()) + " inputs, not " +
                   std::to_string(carried + 2));
  node.require(body.outputs.size() > carried, "its body has " +
                                                  std::to_string(body.outputs.size()) +
                                                  " outputs, too few for the condition and " +
                                                  std::to_string(carried) + " carried values");
  size_t collected = body.outputs.size() - carried - 1;
  rounds.append.assign(collected, true);
  rounds.round = [&](NodeContext& inner, const GraphValue& at, const GraphValue& goes_on,
                     const Values& now) {
    Values inputs{at, goes_on};
    inputs.insert(inputs.end(), now.begin(), now.end());
    inner.importer().count_repeated(node.node(), body.nodes.size());
    Values outputs = inner.inline_graph(body, inputs);
    auto from = outputs.begin() + 1, to = from + static_cast<std::ptrdiff_t>(carried);
    Round round{as_condition(inner, outputs[0]), Values(from, to), Values(to, outputs.end())};
    for (const GraphValue& part : round.collected) {
      inner.require(part.is_tensor(), "a scan output is no tensor");
    }
    return round;
  };
  bool tensors = std::all_of(rounds.first.begin(), rounds.first.end(),
                             [](const GraphValue& value) { return value.is_tensor(); });
  if (tensors) return repeat(node, rounds);
  bool counted =
      rounds.count && rounds.count.elements() && rounds.count.elements()->front().is_int();
  return counted || !may_append(rounds.first) ? unroll(node, rounds)
                                              : Appending(node, rounds).run();
}
RELAY_ONNX("Loop", 1, convert_loop)

// ---- Scan ---------------------------------------------------------------------------------------

std::vector<int64_t> one_for_each(NodeContext& node, std::string_view name, size_t count) {
  std::vector<int64_t> values = node.attr_ints(name, std::vector<int64_t>(count, 0));
  node.require(values.size() == count, std::string(name) + " has " + std::to_string(values.size()) +
                                           " entries, not " + std::to_string(count));
  return values;
}

std::vector<int64_t> directions(NodeContext& node, std::string_view name, size_t count) {
  std::vector<int64_t> values = one_for_each(node, name, count);
  for (int64_t value : values) {
    node.require(value == 0 || value == 1, std::string(name) + " has " + std::to_string(value));
  }
  return values;
}

/// What the forms of Scan have in common.
struct Scan {
  const Graph& body;
  size_t carried;                                     // states
  size_t collected;                                   // scan outputs
  std::vector<int64_t> axes, backward;                // for each scanned input
  std::vector<int64_t> output_axes, output_backward;  // for each scan output
};

/// The body, and the numbers of what it carries and collects. `offset` inputs come before the
/// states.
Scan read_scan(NodeContext& node, size_t offset) {
  const Graph& body = node.attr_graph("body");
  size_t given = node.num_inputs() - std::min(offset, node.num_inputs());
  int64_t scanned = node.attr_int("num_scan_inputs");
  node.require(scanned >= 1 && scanned <= static_cast<int64_t>(given),
               "num_scan_inputs is " + std::to_string(scanned) + " for " + std::to_string(given) +
                   " inputs");
  size_t carried = given - static_cast<size_t>(scanned);
  node.require(body.outputs.size() >= carried,
               "its body has " + std::to_string(body.outputs.size()) + " outputs, too few for " +
                   std::to_string(carried) + " carried values");
  size_t collected = body.outputs.size() - carried;
  std::vector<int64_t> inputs(static_cast<size_t>(scanned), 0), outputs(collected, 0);
  return {body, carried, collected, inputs, inputs, outputs, outputs};
}

/// The last states, then the scan outputs, of the states and the scanned inputs.
Values run_scan(NodeContext& node, Scan scan, const Values& inputs) {
  Rounds rounds;
  Values sources;
  for (size_t i = 0; i < inputs.size(); ++i) {
    (i < scan.carried ? rounds.first : sources).push_back(inputs[i]);
  }
  for (size_t k = 0; k < sources.size(); ++k) {
    node.require(sources[k].rank() > 0, "a scanned input has no axes");
    scan.axes[k] = node.axis(scan.axes[k], sources[k].rank(), "scan_input_axes");
    Dim length = sources[k].dim(static_cast<size_t>(scan.axes[k]));
    Dim first = sources[0].dim(static_cast<size_t>(scan.axes[0]));
    node.require(surely_equal(length, first) != Truth::kNo,
                 "the scanned inputs have " + first.str() + " and " + length.str() + " parts");
  }
  rounds.count = extent_value(node, sources[0], static_cast<size_t>(scan.axes[0]));
  for (int64_t direction : scan.output_backward) rounds.append.push_back(direction == 0);
  rounds.round = [&](NodeContext& inner, const GraphValue& at, const GraphValue&,
                     const Values& now) {
    Values given = now;
    for (size_t k = 0; k < sources.size(); ++k) {
      GraphValue place = at;
      if (scan.backward[k] != 0) {
        GraphValue last = inner.emit("subtract", {rounds.count, number_value(inner, 1)});
        place = inner.emit("subtract", {last, at});
      }
      given.push_back(inner.emit("take", {sources[k], place}, {{"axis", scan.axes[k]}}));
    }
    inner.importer().count_repeated(node.node(), scan.body.nodes.size());
    Values outputs = inner.inline_graph(scan.body, given);
    auto middle = outputs.begin() + static_cast<std::ptrdiff_t>(scan.carried);
    Round round{{}, Values(outputs.begin(), middle), Values(middle, outputs.end())};
    for (const GraphValue& part : round.collected) {
      inner.require(part.is_tensor(), "a scan output is no tensor");
    }
    return round;
  };
  Values results = repeat(node, rounds);
  for (size_t k = 0; k < scan.collected; ++k) {
    GraphValue& result = results[scan.carried + k];
    int64_t axis = node.axis(scan.output_axes[k], result.rank(), "scan_output_axes");
    std::vector<int64_t> order;
    for (int64_t i = 1; i < static_cast<int64_t>(result.rank()); ++i) order.push_back(i);
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(axis), 0);
    result = node.transpose(result, order);
  }
  return results;
}

Values convert_scan(NodeContext& node) {
  Scan scan = read_scan(node, 0);
  scan.axes = one_for_each(node, "scan_input_axes", scan.axes.size());
  scan.backward = directions(node, "scan_input_directions", scan.axes.size());
  scan.output_axes = one_for_each(node, "scan_output_axes", scan.collected);
  scan.output_backward = directions(node, "scan_output_directions", scan.collected);
  return run_scan(node, scan, node.inputs());
}

/// The form of operator set 8: axis 0 of everything is a batch, and each entry is a scan of its
/// own.
Values convert_batched_scan(NodeContext& node) {
  node.require(!node.has(0), "sequence_lens is not supported");
  Scan scan = read_scan(node, 1);
  scan.backward = directions(node, "directions", scan.axes.size());
  Values inputs;
  for (size_t i = 1; i < node.num_inputs(); ++i) {
    inputs.push_back(node.input(i));
    node.require(inputs.back().rank() > 0, "input " + std::to_string(i) + " has no batch axis");
    const Dim batch = inputs.front().dim(0), other = inputs.back().dim(0);
    node.require(!batch.is_int() || !other.is_int() || batch == other,
                 "inputs 1 and " + std::to_string(i) + " have batches of " + batch.str() + " and " +
                     other.str());
  }
  Rounds rows;
  rows.count = extent_value(node, inputs.back(), 0);
  rows.append.assign(scan.carried + scan.collected, true);
  rows.round = [&](NodeContext& inner, const GraphValue& at, const GraphValue&, const Values&) {
    Values row;
    for (const GraphValue& input : inputs) {
      row.push_back(inner.emit("take", {input, at}, {{"axis", 0}}));
    }
    return Round{{}, {}, run_scan(inner, scan, row)};
  };
  return repeat(node, rows);
}
RELAY_ONNX("Scan", 8, convert_batched_scan)
RELAY_ONNX("Scan", 9, convert_scan)

}  // namespace
}  // namespace relay::onnx
