#include <relay/analysis/regions.h>

#include <algorithm>

#include <relay/op/registry/forms.h>
#include <relay/pattern/pattern.h>
#include <relay/support/error.h>

namespace relay {

AnnotatedRegions::AnnotatedRegions(const View& view, const NodeEffects* effects,
                                   const Options& options)
    : view_(view),
      effects_(effects),
      groups_(view, effects),
      kinds_(view.size(), Kind::kOther),
      targets_of_(view.size(), kNone),
      plain_(view.size()),
      labels_(view.size()) {
  classify(options);
  find();
}

void AnnotatedRegions::classify(const Options& options) {
  const Operator* begin = options.begin == nullptr ? compiler_begin_op() : options.begin;
  const Operator* end = options.end == nullptr ? compiler_end_op() : options.end;
  for (uint32_t id = 0; id < view_.size(); ++id) {
    plain_[id] = id;
    const auto* call = view_.expr(id)->as<Call>();
    const auto* callee = call == nullptr ? nullptr : call->callee()->as<Op>();
    if (callee == nullptr || (callee->op() != begin && callee->op() != end) ||
        call->args().size() != 1) {
      continue;
    }
    kinds_[id] = callee->op() == begin ? Kind::kBegin : Kind::kEnd;
    plain_[id] = plain_[view_.operands(id)[1]];
    std::optional<AttrValue> value = attribute_of(call, "compiler");
    const auto* text = value ? value->get<std::string>() : nullptr;
    const std::string target = text == nullptr ? std::string() : *text;
    if (target == options.left_out && !target.empty()) continue;
    auto known = std::find(targets_.begin(), targets_.end(), target);
    targets_of_[id] = static_cast<uint32_t>(known - targets_.begin());
    if (known == targets_.end()) targets_.push_back(target);
  }
}

void AnnotatedRegions::find() {
  for (uint32_t id = 0; id < view_.size(); ++id) {
    switch (kinds_[id]) {
      case Kind::kBegin:
        if (targets_of_[id] != kNone) labels_[id] = {next_++, targets_of_[id]};
        break;
      case Kind::kEnd:
        if (targets_of_[id] != kNone) find_end(id);
        break;
      case Kind::kOther:
        if (can_be_inside(id)) find_inner(id);
        break;
    }
  }
}

// True if others may compute a node: nothing that is evaluated for it has an effect, since a call
// of several results is used at several places, and it needs nothing but its arguments.
bool AnnotatedRegions::can_be_inside(uint32_t node) const {
  const Expr* expr = view_.expr(node);
  if (effects_ != nullptr && effects_->effectful(node)) return false;
  if (expr->is<Tuple>() || expr->is<TupleGetItem>()) return true;
  if (!expr->is<Call>()) return false;
  const uint32_t callee = view_.operands(node)[0];
  if (view_.kind(callee) == ExprKind::kFunction) return view_.free_variables(callee).empty();
  return view_.is_name(callee);
}

bool AnnotatedRegions::join(uint32_t from, uint32_t into) {
  const Scopes& scopes = view_.scopes();
  if (scopes.home(from) != scopes.home(into)) return false;
  const Label kept = label(into).id == kNone ? label(from) : label(into);
  if (!groups_.join(from, into)) return false;
  label(into) = kept;
  return true;
}

void AnnotatedRegions::refuse(uint32_t node, uint32_t one, uint32_t other) const {
  throw Error(Diagnostic::error("annotations give this to two code generators, \"" + targets_[one] +
                                    "\" and \"" + targets_[other] + '"',
                                view_.expr(node)->span()));
}

void AnnotatedRegions::find_end(uint32_t node) {
  const uint32_t argument = view_.operands(node)[1];
  if (kinds_[argument] == Kind::kEnd) {  // nothing between the two
    labels_[node] = {next_++, targets_of_[node]};
    return;
  }
  Label& found = label(argument);
  if (found.id == kNone && kinds_[argument] == Kind::kOther && can_be_inside(argument))
    found = {next_++, targets_of_[node]};  // what takes no arguments, such as zeros
  if (found.id == kNone) return;
  if (found.target != targets_of_[node]) refuse(node, found.target, targets_of_[node]);
  join(argument, node);
}

void AnnotatedRegions::find_inner(uint32_t node) {
  auto operands = view_.operands(node);
  const size_t first = view_.kind(node) == ExprKind::kCall ? 1 : 0;
  uint32_t target = kNone;
  for (size_t i = first; i < operands.size(); ++i) {
    const uint32_t operand = operands[i];
    if (kinds_[operand] == Kind::kEnd) continue;  // a region that is closed
    const Label found = label(operand);
    if (found.id == kNone) continue;
    if (target == kNone) target = found.target;
    if (found.target != target) refuse(node, target, found.target);
    join(operand, node);
  }
  if (target == kNone || label(node).id != kNone) return;
  label(node) = {next_++, target};  // of another scope than its arguments
}

bool AnnotatedRegions::merge() {
  for (uint32_t id = 0; id < view_.size(); ++id) {
    if (kinds_[id] != Kind::kBegin) continue;
    const uint32_t argument = view_.operands(id)[1];
    if (kinds_[argument] != Kind::kEnd) continue;
    const Label one = label(argument), other = label(id);
    if (one.id != kNone && other.id != kNone && one.target == other.target) join(argument, id);
  }
  return !groups_.gave_up();
}

uint32_t AnnotatedRegions::region_of(uint32_t node) const {
  const uint32_t group = groups_.find(node);
  return labels_[group].id == kNone ? kNone : group;
}

const std::string& AnnotatedRegions::target_of(uint32_t node) const {
  return targets_[labels_[groups_.find(node)].target];
}

std::vector<AnnotatedRegion> AnnotatedRegions::list() const {
  std::vector<AnnotatedRegion> result;
  std::vector<uint32_t> place(view_.size(), kNone);
  for (uint32_t id = 0; id < view_.size(); ++id) {
    const uint32_t group = region_of(id);
    if (group == kNone) continue;
    if (place[group] == kNone) {
      place[group] = static_cast<uint32_t>(result.size());
      result.push_back({labels_[group].id, target_of(group), {}, {}, {}});
    }
    AnnotatedRegion& region = result[place[group]];
    region.nodes.push_back(id);
    if (is_begin(id)) region.begins.push_back(id);
    if (is_end(id)) region.ends.push_back(id);
  }
  std::sort(result.begin(), result.end(),
            [](const AnnotatedRegion& a, const AnnotatedRegion& b) { return a.id < b.id; });
  return result;
}

}  // namespace relay
