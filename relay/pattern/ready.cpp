// Rules of text made ready: what they write, from what fits.
#include <algorithm>

#include <relay/op/registry/formula.h>
#include <relay/pattern/conditions.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>

namespace relay::pattern {

namespace {

/// Writes what a template says at a place; null where it cannot.
class Writer {
 public:
  explicit Writer(const Place& place) : place_(place) {
    const Type* type = place.root->type();
    const auto* tensor = type == nullptr ? nullptr : type->as<TensorType>();
    if (tensor != nullptr && tensor->has_dtype()) dtype_ = tensor->dtype();
  }

  ExprRef write(const RuleTemplate& written) {
    using Kind = RuleTemplate::Kind;
    if (written.kind == Kind::kPart) return ExprRef(place_.part(written.part));
    if (written.kind == Kind::kNumber)
      return dtype_ ? Formula::real(written.number, *dtype_).expr : ExprRef();
    // A pattern that is written twice is one node.
    for (const auto& [other, made] : made_) {
      if (*other == written) return made;
    }
    std::vector<ExprRef> children;
    for (const RuleTemplate& child : written.children) {
      children.push_back(write(child));
      if (!children.back()) return {};
    }
    ExprRef result;
    if (written.kind == Kind::kTuple) result = make_tuple(children);
    if (written.kind == Kind::kProjection) result = make_projection(children[0], written.index);
    if (written.kind == Kind::kCall) {
      std::optional<AttrsRef> attrs = attributes(written);
      if (!attrs) return {};
      result = make_call(make_op(written.op), children, std::move(*attrs));
    }
    made_.emplace_back(&written, result);
    return result;
  }

 private:
  // Null for an operator without attributes; nothing where one cannot be had.
  std::optional<AttrsRef> attributes(const RuleTemplate& written) const {
    const AttrsSchema* schema = written.op->attrs_schema();
    if (schema == nullptr) return AttrsRef();
    std::vector<NamedAttr> given;
    for (const RuleTemplate::Attribute& attribute : written.attributes) {
      if (attribute.part.empty()) {
        given.push_back({attribute.name, attribute.value, {}});
        continue;
      }
      const Expr* part = place_.part(attribute.part);
      std::optional<AttrValue> value =
          part == nullptr ? std::nullopt : attribute_of(part, attribute.of_part);
      if (!value) return std::nullopt;
      given.push_back({attribute.name, std::move(*value), {}});
    }
    if (!written.spread.empty()) {
      const Expr* part = place_.part(written.spread);
      const auto* call = part == nullptr ? nullptr : part->as<Call>();
      if (call == nullptr) return std::nullopt;
      for (const AttrField& field : schema->fields) {
        bool known = false;
        for (const NamedAttr& attr : given) known |= attr.name == field.name;
        std::optional<AttrValue> value = known ? std::nullopt : attribute_of(call, field.name);
        if (value) given.push_back({field.name, std::move(*value), {}});
      }
    }
    if (given.empty() && written.attributes.empty() && written.spread.empty()) return AttrsRef();
    return Attrs::make(*schema, given, place_.root->span());
  }

  const Place& place_;
  std::optional<DType> dtype_;
  std::vector<std::pair<const RuleTemplate*, ExprRef>> made_;
};

}  // namespace

const Expr* Place::part(const Name& name) const {
  for (const Binding& binding : matcher.bindings()) {
    if (binding.pattern->name() == name) return binding.expr;
  }
  return nullptr;
}

ReadyRule ready(const Rule& rule) {
  auto shared = std::make_shared<const Rule>(rule);
  auto apply = [shared](const Place& place) -> ExprRef {
    if (!numbers_broadcast(place)) return {};
    for (const RuleCondition& condition : shared->where) {
      if (!holds(condition, place)) return {};
    }
    return Writer(place).write(shared->to);
  };
  auto why_not = [shared](const Place& place) -> std::string {
    if (!numbers_broadcast(place)) return "the number might be broadcast along an unknown extent";
    for (const RuleCondition& condition : shared->where) {
      if (!holds(condition, place)) return "`" + condition_text(condition) + "` does not hold";
    }
    return "a part or attribute that it writes is not there";
  };
  return {rule.name, rule.from, std::move(apply), rule.inexact, rule.span, std::move(why_not)};
}

namespace {

std::vector<ReadyRule> all_ready(const Rules& rules) {
  std::vector<ReadyRule> result;
  for (const Rule& rule : rules.rules) result.push_back(ready(rule));
  return result;
}

std::vector<DFPatternRef> patterns_of(const std::vector<ReadyRule>& rules) {
  std::vector<DFPatternRef> result;
  for (const ReadyRule& rule : rules) result.push_back(rule.from);
  return result;
}

// The operators that every match of a pattern has in it.
std::vector<const Operator*> needed_operators(const DFPattern* root) {
  std::vector<const Operator*> found;
  std::vector<const DFPattern*> stack{root};
  PointerSet<DFPattern> seen;
  while (!stack.empty()) {
    const DFPattern* pattern = stack.back();
    stack.pop_back();
    if (!seen.insert(pattern)) continue;
    if (const Operator* op = pattern->as_op()) found.push_back(op);
    switch (pattern->kind()) {
      case DFPatternKind::kAlt:  // one of the two is enough
        break;
      case DFPatternKind::kDominator:  // the path may be empty
        stack.push_back(pattern->child(0).get());
        stack.push_back(pattern->child(2).get());
        break;
      default:
        for (const DFPatternRef& child : pattern->children()) stack.push_back(child.get());
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

RuleSet::RuleSet(std::vector<ReadyRule> rules)
    : rules_(std::move(rules)), automaton_(patterns_of(rules_)) {
  patterns_.reserve(rules_.size());
  for (const ReadyRule& rule : rules_) {
    patterns_.emplace_back(rule.from);
    needs_.push_back(needed_operators(rule.from.get()));
  }
}

RuleSet::RuleSet(const Rules& rules) : RuleSet(all_ready(rules)) { source_ = rules.source; }

}  // namespace relay::pattern
