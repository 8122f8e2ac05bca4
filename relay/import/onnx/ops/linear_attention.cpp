// Attention as a recurrence over a state of keys and values.
#include <cmath>

#include <relay/import/onnx/ops/attention.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

struct Recurrence {
  bool gated = false;  // the state decays
  bool delta = false;  // what the state already says of a key is taken off
  double scale = 1;
};

// One step, per head of keys: query (heads, group, key extent), key (heads, key extent, 1), value
// (heads, 1, value extent), decay and rate of the same rank. Gives the result and the state.
Values step(NodeContext& node, const Recurrence& rule, const Values& now, GraphValue state) {
  const GraphValue &query = now[0], &key = now[1], &decay = now[3], &rate = now[4];
  GraphValue value = now[2];
  auto product = [&](const GraphValue& a, const GraphValue& b, bool transpose_a) {
    return node.emit("nn.batch_matmul", {a, b}, {{"transpose_a", transpose_a}});
  };
  if (rule.gated) state = node.emit("multiply", {state, node.emit("exp", {decay})});
  if (rule.delta) {
    GraphValue known = product(key, state, true);
    value = node.emit("multiply", {rate, node.emit("subtract", {value, known})});
  }
  state = node.emit("add", {state, node.emit("multiply", {key, value})});
  GraphValue result = product(query, state, false);
  if (rule.scale != 1) {
    result = node.emit("multiply", {result, node.scalar(result.dtype(), rule.scale)});
  }
  return {result, state};
}

Values convert_linear_attention(NodeContext& node) {
  node.ignore({"chunk_size"});  // of an implementation
  std::string name = node.attr_string("update_rule", "gated_delta");
  Recurrence rule;
  rule.gated = name == "gated" || name == "gated_delta";
  rule.delta = name == "delta" || name == "gated_delta";
  node.require(rule.gated || rule.delta || name == "linear", "update_rule is " + quoted(name));
  int64_t query_heads = node.attr_int("q_num_heads"), heads = node.attr_int("kv_num_heads");
  node.require(heads > 0 && query_heads > 0 && query_heads % heads == 0,
               "q_num_heads " + std::to_string(query_heads) + " is no multiple of kv_num_heads " +
                   std::to_string(heads));
  int64_t group = query_heads / heads;
  GraphValue query = node.input(0), key = node.input(1), value = node.input(2);
  node.require(node.has(4) == rule.gated,
               "decay is of the rules gated and gated_delta, update_rule is " + quoted(name));
  node.require(node.has(5) == rule.delta,
               "beta is of the rules delta and gated_delta, update_rule is " + quoted(name));
  DType dtype = query.dtype();
  DType wide = dtype.bits < 32 ? kFloat32 : dtype;
  auto share = [&](const GraphValue& x, int64_t parts, const char* what) {
    node.require(x.rank() == 3, "the " + std::string(what) + " has " + std::to_string(x.rank()) +
                                    " axes; 3 are needed");
    int64_t extent = head_extent(node, x, what);
    node.require(extent % parts == 0, "the last extent of the " + std::string(what) + ", " +
                                          std::to_string(extent) + ", does not divide into " +
                                          std::to_string(parts) + " heads");
    return extent / parts;
  };
  int64_t width = share(query, query_heads, "query");
  Dim batch = query.dim(0), steps = query.dim(1);
  Dim all = batch * heads;
  // (batch, steps, heads · a · b) as (steps, batch · heads, a, b), in the wide type.
  auto by_step = [&](const GraphValue& x, Dim a, Dim b) {
    GraphValue turned = node.transpose(node.cast(x, wide), {1, 0, 2});
    return node.reshape(turned, {steps, all, a, b});
  };
  node.require(share(key, heads, "key") == width, "query and key differ in the extent of a head");
  int64_t out = share(value, heads, "value");
  double scale = node.attr_float("scale", 0);
  rule.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(width));

  Values series{by_step(query, group, width), by_step(key, width, 1), by_step(value, 1, out),
                GraphValue(), GraphValue()};
  if (rule.gated) {
    int64_t each = share(node.input(4), heads, "decay");
    node.require(each == 1 || each == width, "the decay has " + std::to_string(each) +
                                                 " entries for each head, neither 1 nor " +
                                                 std::to_string(width));
    series[3] = by_step(node.input(4), each, 1);
  }
  if (rule.delta) {
    GraphValue rate = node.input(5);
    int64_t each = share(rate, 1, "beta");
    node.require(
        each == 1 || each == heads,
        "beta has " + std::to_string(each) + " entries, neither 1 nor " + std::to_string(heads));
    if (each != heads) {
      Dim dims[] = {batch, steps, Dim(heads)};
      rate = node.broadcast_to(rate, dims);
    }
    series[4] = by_step(rate, 1, 1);
  }
  GraphValue state;
  DType state_dtype = dtype;
  if (node.has(3)) {
    state = node.input(3);
    state_dtype = state.dtype();
    node.require(state.rank() == 4,
                 "past_state has " + std::to_string(state.rank()) + " axes; 4 are needed");
    state = node.reshape(node.cast(state, wide), {all, Dim(width), Dim(out)});
  } else {
    Dim dims[] = {all, Dim(width), Dim(out)};
    state = node.broadcast_to(node.scalar(wide, 0), dims);
  }

  GraphValue result;
  auto at_step = [&](NodeContext& inner, const GraphValue& k) {
    Values now;
    for (const GraphValue& each : series) {
      now.push_back(each ? inner.emit("take", {each, k}, {{"axis", 0}}) : GraphValue());
    }
    return now;
  };
  if (steps.is_int(1)) {
    Values made = step(node, rule, at_step(node, node.scalar(kInt64, 0)), state);
    result = node.unsqueeze(made[0], {0});
    state = made[1];
  } else {
    Dim dims[] = {steps, all, Dim(group), Dim(out)};
    GraphValue results = node.broadcast_to(node.scalar(wide, 0), dims);
    GraphValue first = node.scalar(kInt64, 0);
    first = GraphValue::of(node.importer().expr(first), first.type());  // it does not stay 0
    GraphValue limit = extent_value(node, steps);
    auto test = [&](NodeContext& inner, const Values& s) {
      return inner.emit("less", {s[0], limit});
    };
    auto round = [&](NodeContext& inner, const Values& s) {
      Values made = step(inner, rule, at_step(inner, s[0]), s[2]);
      GraphValue after = inner.emit("add", {s[0], inner.scalar(kInt64, 1)});
      return Values{after, inner.with_part(s[1], s[0], made[0]), made[1]};
    };
    Values last = node.loop({first, results, state}, test, round);
    result = last[1];
    state = last[2];
  }
  result = node.reshape(result, {steps, batch, Dim(query_heads * out)});
  result = node.cast(node.transpose(result, {1, 0, 2}), dtype);
  state = node.reshape(state, {batch, Dim(heads), Dim(width), Dim(out)});
  return {result, node.cast(state, state_dtype)};
}
RELAY_ONNX("LinearAttention", 27, convert_linear_attention)

}  // namespace
}  // namespace relay::onnx
