#include <relay/pattern/simplify.h>

#include <algorithm>

#include <relay/op/registry/simplify.h>

namespace relay::pattern {

namespace {

ReadyRule ready_rule(const OperatorRule& entry) {
  SimplifyFn write = entry.rule.apply;
  auto apply = [write](const Place& place) -> ExprRef {
    std::optional<OpCall> call = tensor_call(place.root.get());
    if (!call) return {};
    return write(*call, place.root->as<Call>()->args());
  };
  return {Name(entry.rule.name),
          DFPattern::call_any(DFPattern::op(get_op(entry.op))),
          std::move(apply),
          entry.rule.keeps != Keeps::kBits,
          {}};
}

// Those of text are about tensors of known dtypes and ranks, wherever a call stands.
ReadyRule ready_rule(const Rule& rule) {
  ReadyRule result = ready(rule);
  auto apply = [inner = result.apply](const Place& place) -> ExprRef {
    std::span<const Binding> bindings = place.matcher.bindings();
    bool known = std::all_of(bindings.begin(), bindings.end(), [](const Binding& binding) {
      bool call = binding.pattern->kind() == DFPatternKind::kCall;
      return !call || tensor_call(binding.expr).has_value();
    });
    return known ? inner(place) : ExprRef();
  };
  result.apply = std::move(apply);
  return result;
}

std::vector<ReadyRule> collect() {
  std::vector<ReadyRule> rules;
  for (auto table : {creation_rules(), movement_rules(), conversion_rules(), window_rules()}) {
    for (const OperatorRule& entry : table) rules.push_back(ready_rule(entry));
  }
  Rules arithmetic = parse_rules("arithmetic.rly", std::string(arithmetic_rules()));
  for (const Rule& rule : arithmetic.rules) rules.push_back(ready_rule(rule));
  return rules;
}

}  // namespace

const RuleSet& simplify_rules() {
  static const auto* rules = new RuleSet(collect());
  return *rules;
}

}  // namespace relay::pattern
