// Construction of patterns, equality, and the end of deep ones.
#include <relay/pattern/pattern.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include <relay/ir/equal.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>

namespace relay {

Ref<DFPattern> DFPattern::make(DFPatternKind kind, std::vector<DFPatternRef> children) {
  for (const DFPatternRef& child : children)
    RELAY_CHECK(static_cast<bool>(child), "a pattern without one of its parts");
  Ref<DFPattern> made = Ref<DFPattern>::adopt(new DFPattern(kind));
  made->children_ = std::move(children);
  return made;
}

void DFPattern::free(const DFPattern* pattern) noexcept {
  thread_local std::vector<DFPatternRef>* waiting = nullptr;
  auto take_parts = [](const DFPattern* dead, std::vector<DFPatternRef>& into) {
    auto& parts = const_cast<DFPattern*>(dead)->children_;
    for (DFPatternRef& part : parts) into.push_back(std::move(part));
    if (dead->target_) into.push_back(std::move(dead->target_));
  };
  if (waiting != nullptr) {  // called below: its parts go when the caller gets to them
    take_parts(pattern, *waiting);
    delete pattern;
    return;
  }
  std::vector<DFPatternRef> parts;
  waiting = &parts;
  take_parts(pattern, parts);
  delete pattern;
  while (!parts.empty()) {
    DFPatternRef part = std::move(parts.back());
    parts.pop_back();
    part = nullptr;
  }
  waiting = nullptr;
}

DFPatternRef DFPattern::wildcard() { return make(DFPatternKind::kWildcard); }

DFPatternRef DFPattern::expr(ExprRef expr) {
  auto made = make(DFPatternKind::kExpr);
  made->expr_ = std::move(expr);
  return made;
}

DFPatternRef DFPattern::var(Name name) {
  auto made = make(DFPatternKind::kVar);
  made->var_name_ = std::move(name);
  return made;
}

DFPatternRef DFPattern::constant() { return make(DFPatternKind::kConstant); }

DFPatternRef DFPattern::constructor(Name name) {
  auto made = make(DFPatternKind::kName);
  made->var_name_ = std::move(name);
  made->index_ = static_cast<int64_t>(ExprKind::kConstructor);
  return made;
}

DFPatternRef DFPattern::global(Name name) {
  auto made = make(DFPatternKind::kName);
  made->var_name_ = std::move(name);
  made->index_ = static_cast<int64_t>(ExprKind::kGlobalVar);
  return made;
}

DFPatternRef DFPattern::node(ExprKind kind, std::vector<DFPatternRef> operands) {
  auto made = make(DFPatternKind::kNode, std::move(operands));
  made->index_ = static_cast<int64_t>(kind);
  return made;
}

Dim DFPattern::any_extent() {
  static const TypeVarRef& extent = *new TypeVarRef(TypeVar::make("_", Kind::kShapeVar));
  return Dim::symbol(extent.get());
}

DFPatternRef DFPattern::number(double value) {
  auto made = make(DFPatternKind::kNumber);
  made->number_ = value;
  return made;
}

DFPatternRef DFPattern::call(DFPatternRef callee, std::vector<DFPatternRef> args) {
  args.insert(args.begin(), std::move(callee));
  return make(DFPatternKind::kCall, std::move(args));
}

DFPatternRef DFPattern::call_any(DFPatternRef callee) {
  auto made = make(DFPatternKind::kCall, {std::move(callee)});
  made->any_ = true;
  return made;
}

DFPatternRef DFPattern::function(std::vector<DFPatternRef> params, DFPatternRef body) {
  params.insert(params.begin(), std::move(body));
  return make(DFPatternKind::kFunction, std::move(params));
}

DFPatternRef DFPattern::function_any(DFPatternRef body) {
  auto made = make(DFPatternKind::kFunction, {std::move(body)});
  made->any_ = true;
  return made;
}

DFPatternRef DFPattern::tuple(std::vector<DFPatternRef> fields) {
  return make(DFPatternKind::kTuple, std::move(fields));
}

DFPatternRef DFPattern::tuple_any() {
  auto made = make(DFPatternKind::kTuple);
  made->any_ = true;
  return made;
}

DFPatternRef DFPattern::projection(DFPatternRef tuple, int64_t index) {
  auto made = make(DFPatternKind::kTupleGetItem, {std::move(tuple)});
  made->index_ = index;
  return made;
}

DFPatternRef DFPattern::let(DFPatternRef var, DFPatternRef value, DFPatternRef body) {
  return make(DFPatternKind::kLet, {std::move(var), std::move(value), std::move(body)});
}

DFPatternRef DFPattern::if_then_else(DFPatternRef condition, DFPatternRef then_branch,
                                     DFPatternRef else_branch) {
  return make(DFPatternKind::kIf,
              {std::move(condition), std::move(then_branch), std::move(else_branch)});
}

DFPatternRef DFPattern::alt(DFPatternRef first, DFPatternRef second) {
  return make(DFPatternKind::kAlt, {std::move(first), std::move(second)});
}

DFPatternRef DFPattern::attrs(DFPatternRef pattern, std::vector<NamedAttr> attrs) {
  auto made = make(DFPatternKind::kAttr, {std::move(pattern)});
  made->attributes_ = std::move(attrs);
  return made;
}

DFPatternRef DFPattern::type(DFPatternRef pattern, TypeRef type) {
  auto made = make(DFPatternKind::kType, {std::move(pattern)});
  made->type_ = std::move(type);
  return made;
}

DFPatternRef DFPattern::dtype(DFPatternRef pattern, DType dtype) {
  auto made = make(DFPatternKind::kDType, {std::move(pattern)});
  made->dtype_ = dtype;
  return made;
}

DFPatternRef DFPattern::shape(DFPatternRef pattern, std::vector<Dim> shape) {
  auto made = make(DFPatternKind::kShape, {std::move(pattern)});
  made->dims_ = std::move(shape);
  return made;
}

DFPatternRef DFPattern::dominator(DFPatternRef parent, DFPatternRef path, DFPatternRef child) {
  return make(DFPatternKind::kDominator, {std::move(parent), std::move(path), std::move(child)});
}

DFPatternRef DFPattern::named(const DFPatternRef& pattern, Name name) {
  auto made = make(pattern->kind_, pattern->children_);
  made->any_ = pattern->any_;
  made->name_ = std::move(name);
  made->var_name_ = pattern->var_name_;
  made->expr_ = pattern->expr_;
  made->number_ = pattern->number_;
  made->index_ = pattern->index_;
  made->attributes_ = pattern->attributes_;
  made->type_ = pattern->type_;
  made->dtype_ = pattern->dtype_;
  made->dims_ = pattern->dims_;
  made->target_ = pattern->target_;
  return made;
}

namespace {

// A pattern that contains itself holds itself. Here it is found, so that it counts as no leak.
void keep_recursive(DFPatternRef pattern) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<DFPatternRef>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(pattern));
}

// True if `part` may have to fit the very node that `whole` is to fit: only alternatives,
// constraints and redirected wildcards are between them.
bool fits_same_node(const DFPattern* whole, const DFPattern* part) {
  PointerSet<DFPattern> seen;
  std::vector<const DFPattern*> stack{whole};
  while (!stack.empty()) {
    const DFPattern* at = stack.back();
    stack.pop_back();
    if (at == nullptr || !seen.insert(at)) continue;
    if (at == part) return true;
    switch (at->kind()) {
      case DFPatternKind::kWildcard:
        stack.push_back(at->target().get());
        break;
      case DFPatternKind::kAlt:
        stack.push_back(at->children()[1].get());
        [[fallthrough]];
      case DFPatternKind::kAttr:
      case DFPatternKind::kType:
      case DFPatternKind::kDType:
      case DFPatternKind::kShape:
        stack.push_back(at->children()[0].get());
        break;
      case DFPatternKind::kDominator:
        stack.push_back(at->children()[2].get());
        break;
      default:
        break;
    }
  }
  return false;
}

}  // namespace

void DFPattern::redirect(DFPatternRef target) const {
  if (kind_ != DFPatternKind::kWildcard) throw Error("only a wildcard can be redirected");
  if (target_) throw Error("this wildcard is redirected already");
  // A wildcard that stands for itself, perhaps as an alternative, has no end.
  if (fits_same_node(target.get(), this))
    throw Error("a wildcard cannot be redirected to itself, or to an alternative to itself");
  bool recursive = false;
  if (target) {
    const std::vector<const DFPattern*> inside = patterns_in(target.get());
    recursive = std::find(inside.begin(), inside.end(), this) != inside.end();
  }
  target_ = std::move(target);
  if (recursive) keep_recursive(DFPatternRef(this));
}

const Operator* DFPattern::as_op() const {
  const auto* node = expr_ ? expr_->as<Op>() : nullptr;
  return node == nullptr ? nullptr : node->op();
}

std::vector<const DFPattern*> patterns_in(const DFPattern* root) {
  struct Frame {
    const DFPattern* pattern;
    size_t next;
  };
  std::vector<const DFPattern*> order;
  PointerSet<DFPattern> seen;
  std::vector<const DFPattern*> targets;  // of wildcards, walked when all else is done
  std::vector<Frame> stack;
  auto walk = [&](const DFPattern* from) {
    if (seen.insert(from)) stack.push_back({from, 0});
    while (!stack.empty()) {
      auto [pattern, next] = stack.back();
      size_t count = pattern->children().size();
      if (next < count) {
        ++stack.back().next;
        // The child of a dominator comes first, as it is matched first.
        bool backwards = pattern->kind() == DFPatternKind::kDominator;
        const DFPattern* child = pattern->child(backwards ? count - 1 - next : next).get();
        if (seen.insert(child)) stack.push_back({child, 0});
        continue;
      }
      stack.pop_back();
      order.push_back(pattern);
      if (pattern->target()) targets.push_back(pattern->target().get());
    }
  };
  walk(root);
  for (size_t i = 0; i < targets.size(); ++i) walk(targets[i]);
  return order;
}

namespace {

bool same_fields(const DFPattern& a, const DFPattern& b) {
  if (a.kind() != b.kind() || a.any() != b.any() || a.name() != b.name()) return false;
  if (a.children().size() != b.children().size()) return false;
  if (static_cast<bool>(a.target()) != static_cast<bool>(b.target())) return false;
  if (a.var_name() != b.var_name() || a.index() != b.index()) return false;
  if (a.type() != b.type() || a.dtype() != b.dtype()) return false;
  auto same_text = [](const Dim& x, const Dim& y) { return x == y || x.str() == y.str(); };
  if (!std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(), b.dims().end(), same_text))
    return false;
  uint64_t x = 0, y = 0;  // the numbers to the bit: 0 and -0 differ
  double first = a.number(), second = b.number();
  static_assert(sizeof(x) == sizeof(first));
  std::memcpy(&x, &first, sizeof(x));
  std::memcpy(&y, &second, sizeof(y));
  if (x != y) return false;
  if (a.attributes().size() != b.attributes().size()) return false;
  for (size_t i = 0; i < a.attributes().size(); ++i) {
    if (a.attributes()[i].name != b.attributes()[i].name) return false;
    if (!(a.attributes()[i].value == b.attributes()[i].value)) return false;
  }
  if (a.kind() != DFPatternKind::kExpr) return true;
  return structural_equal(a.expr().get(), b.expr().get());
}

}  // namespace

bool patterns_equal(const DFPattern* a, const DFPattern* b) {
  // Both orders are the same walk, so equal patterns stand at equal places of it, and sharing and
  // recursion are equal if each child does.
  std::vector<const DFPattern*> left = patterns_in(a), right = patterns_in(b);
  if (left.size() != right.size()) return false;
  PointerMap<DFPattern, uint32_t> place, other;
  for (uint32_t i = 0; i < left.size(); ++i) {
    place[left[i]] = i;
    other[right[i]] = i;
  }
  for (size_t i = 0; i < left.size(); ++i) {
    if (!same_fields(*left[i], *right[i])) return false;
    for (size_t k = 0; k < left[i]->children().size(); ++k) {
      if (place.at(left[i]->child(k).get()) != other.at(right[i]->child(k).get())) return false;
    }
    if (left[i]->target() &&
        place.at(left[i]->target().get()) != other.at(right[i]->target().get())) {
      return false;
    }
  }
  return place.at(a) == other.at(b);
}

}  // namespace relay
