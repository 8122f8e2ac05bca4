// Attention as a recurrence over a state of keys and values.
#include <cmath>
#include <tuple>
#include <utility>

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

Recurrence recurrence_of(NodeContext& node) {
  std::string name = node.attr_string("update_rule", "gated_delta");
  Recurrence rule;
  rule.gated = name == "gated" || name == "gated_delta";
  rule.delta = name == "delta" || name == "gated_delta";
  node.require(rule.gated || rule.delta || name == "linear", "update_rule is " + quoted(name));
  return rule;
}

class LinearAttention {
 public:
  explicit LinearAttention(NodeContext& node)
      : node_(node),
        rule_(recurrence_of(node)),
        query_heads_(node.attr_int("q_num_heads")),
        heads_(node.attr_int("kv_num_heads")) {
    node.require(heads_ > 0 && query_heads_ > 0 && query_heads_ % heads_ == 0,
                 "q_num_heads " + std::to_string(query_heads_) +
                     " is no multiple of kv_num_heads " + std::to_string(heads_));
    const std::string name = node.attr_string("update_rule", "gated_delta");
    node.require(node.has(4) == rule_.gated,
                 "decay is of the rules gated and gated_delta, update_rule is " + quoted(name));
    node.require(node.has(5) == rule_.delta,
                 "beta is of the rules delta and gated_delta, update_rule is " + quoted(name));
    const GraphValue query = node.input(0);
    dtype_ = query.dtype();
    wide_ = dtype_.bits < 32 ? kFloat32 : dtype_;
    width_ = share(query, query_heads_, "query");
    batch_ = query.dim(0);
    steps_ = query.dim(1);
  }

  Values run() {
    node_.require(share(node_.input(1), heads_, "key") == width_,
                  "query and key differ in the extent of a head");
    out_ = share(node_.input(2), heads_, "value");
    const double scale = node_.attr_float("scale", 0);
    rule_.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(width_));
    const Values series = all_series();
    GraphValue result, state = first_state();
    const DType state_dtype = node_.has(3) ? node_.input(3).dtype() : dtype_;
    if (steps_.is_int(1)) {
      Values made = step(node_, rule_, at_step(node_, series, node_.scalar(kInt64, 0)), state);
      result = node_.unsqueeze(made[0], {0});
      state = made[1];
    } else {
      std::tie(result, state) = all_steps(series, state);
    }
    result = node_.reshape(result, {steps_, batch_, Dim(query_heads_ * out_)});
    result = node_.cast(node_.transpose(result, {1, 0, 2}), dtype_);
    state = node_.reshape(state, {batch_, Dim(heads_), Dim(width_), Dim(out_)});
    return {result, node_.cast(state, state_dtype)};
  }

 private:
  // The extent of each of the heads in the last axis.
  int64_t share(const GraphValue& x, int64_t heads, const char* what) {
    node_.require(x.rank() == 3, "the " + std::string(what) + " has " + std::to_string(x.rank()) +
                                     " axes; 3 are needed");
    int64_t extent = head_extent(node_, x, what);
    node_.require(extent % heads == 0, "the last extent of the " + std::string(what) + ", " +
                                           std::to_string(extent) + ", does not divide into " +
                                           std::to_string(heads) + " heads");
    return extent / heads;
  }

  Dim all_heads() const { return batch_ * heads_; }

  // (batch, steps, heads · a · b) as (steps, batch · heads, a, b), in the wide type.
  GraphValue by_step(const GraphValue& x, Dim a, Dim b) {
    GraphValue turned = node_.transpose(node_.cast(x, wide_), {1, 0, 2});
    return node_.reshape(turned, {steps_, all_heads(), a, b});
  }

  // The part of each that a step takes, in the order of `step`.
  Values all_series() {
    Values series{by_step(node_.input(0), query_heads_ / heads_, width_),
                  by_step(node_.input(1), width_, 1), by_step(node_.input(2), 1, out_),
                  GraphValue(), GraphValue()};
    if (rule_.gated) {
      int64_t each = share(node_.input(4), heads_, "decay");
      node_.require(each == 1 || each == width_, "the decay has " + std::to_string(each) +
                                                     " entries for each head, neither 1 nor " +
                                                     std::to_string(width_));
      series[3] = by_step(node_.input(4), each, 1);
    }
    if (rule_.delta) series[4] = by_step(rate(), 1, 1);
    return series;
  }

  GraphValue rate() {
    GraphValue rate = node_.input(5);
    int64_t each = share(rate, 1, "beta");
    node_.require(
        each == 1 || each == heads_,
        "beta has " + std::to_string(each) + " entries, neither 1 nor " + std::to_string(heads_));
    if (each == heads_) return rate;
    Dim dims[] = {batch_, steps_, Dim(heads_)};
    return node_.broadcast_to(rate, dims);
  }

  GraphValue first_state() {
    if (!node_.has(3)) {
      Dim dims[] = {all_heads(), Dim(width_), Dim(out_)};
      return node_.broadcast_to(node_.scalar(wide_, 0), dims);
    }
    GraphValue state = node_.input(3);
    node_.require(state.rank() == 4,
                  "past_state has " + std::to_string(state.rank()) + " axes; 4 are needed");
    return node_.reshape(node_.cast(state, wide_), {all_heads(), Dim(width_), Dim(out_)});
  }

  static Values at_step(NodeContext& inner, const Values& series, const GraphValue& k) {
    Values now;
    for (const GraphValue& each : series) {
      now.push_back(each ? inner.emit("take", {each, k}, {{"axis", 0}}) : GraphValue());
    }
    return now;
  }

  // The results of all steps, and the last state.
  std::pair<GraphValue, GraphValue> all_steps(const Values& series, const GraphValue& state) {
    Dim dims[] = {steps_, all_heads(), Dim(query_heads_ / heads_), Dim(out_)};
    GraphValue results = node_.broadcast_to(node_.scalar(wide_, 0), dims);
    GraphValue first = node_.scalar(kInt64, 0);
    first = GraphValue::of(node_.importer().expr(first), first.type());  // it does not stay 0
    GraphValue limit = extent_value(node_, steps_);
    auto test = [&](NodeContext& inner, const Values& s) {
      return inner.emit("less", {s[0], limit});
    };
    auto round = [&](NodeContext& inner, const Values& s) {
      Values made = step(inner, rule_, at_step(inner, series, s[0]), s[2]);
      GraphValue after = inner.emit("add", {s[0], inner.scalar(kInt64, 1)});
      return Values{after, inner.with_part(s[1], s[0], made[0]), made[1]};
    };
    Values last = node_.loop({first, results, state}, test, round);
    return {last[1], last[2]};
  }

  NodeContext& node_;
  Recurrence rule_;
  const int64_t query_heads_, heads_;
  DType dtype_, wide_;  // of the query; of the state on the way
  Dim batch_, steps_;
  int64_t width_ = 0, out_ = 0;  // of a head: of a key, of a value
};

Values convert_linear_attention(NodeContext& node) {
  node.ignore({"chunk_size"});  // of an implementation
  return LinearAttention(node).run();
}
RELAY_ONNX("LinearAttention", 27, convert_linear_attention)

}  // namespace
}  // namespace relay::onnx
