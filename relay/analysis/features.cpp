#include <relay/analysis/features.h>

#include <relay/ir/visit.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>

namespace relay {
namespace {

Feature feature_of(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::kVar:
      return Feature::kVar;
    case ExprKind::kGlobalVar:
      return Feature::kGlobalVar;
    case ExprKind::kConstant:
    case ExprKind::kLiteral:
      return Feature::kConstant;
    case ExprKind::kTuple:
      return Feature::kTuple;
    case ExprKind::kTupleGetItem:
      return Feature::kTupleGetItem;
    case ExprKind::kFunction:
      return Feature::kFunction;
    case ExprKind::kOp:
      return Feature::kOp;
    case ExprKind::kCall:
      return Feature::kCall;
    case ExprKind::kLet:
      return Feature::kLet;
    case ExprKind::kIf:
      return Feature::kIf;
    case ExprKind::kRefCreate:
      return Feature::kRefCreate;
    case ExprKind::kRefRead:
      return Feature::kRefRead;
    case ExprKind::kRefWrite:
      return Feature::kRefWrite;
    case ExprKind::kConstructor:
      return Feature::kConstructor;
    case ExprKind::kMatch:
      return Feature::kMatch;
    case ExprKind::kTempExpr:
      break;
  }
  return Feature::kCount;
}

/// Finds lets whose variable occurs before their value is complete.
class RecursionFinder final : public Walker {
 public:
  bool found = false;

 private:
  void before(const Expr* expr, uint32_t operand) override {
    const Let* let = expr->as<Let>();
    if (let != nullptr) open_[let->var().get()] = operand == 0;
  }
  bool enter(const Expr* expr) override {
    if (const Var* var = expr->as<Var>()) {
      const bool* open = open_.find(var);
      found |= open != nullptr && *open;
    }
    return true;
  }
  PointerMap<Var, bool> open_;
};

}  // namespace

std::string_view feature_name(Feature feature) {
  static constexpr std::string_view kNames[] = {
      "fVar",      "fGlobalVar",   "fConstant", "fTuple", "fTupleGetItem", "fFunction",
      "fOp",       "fCall",        "fLet",      "fIf",    "fRefCreate",    "fRefRead",
      "fRefWrite", "fConstructor", "fMatch",    "fGraph", "fLetRec"};
  RELAY_CHECK(feature < Feature::kCount, "no feature");
  return kNames[static_cast<size_t>(feature)];
}

std::vector<Feature> FeatureSet::list() const {
  std::vector<Feature> features;
  for (int i = 0; i < static_cast<int>(Feature::kCount); ++i) {
    if (has(static_cast<Feature>(i))) features.push_back(static_cast<Feature>(i));
  }
  return features;
}

FeatureSet detect_features(const Expr* root) {
  FeatureSet features;
  PointerMap<Expr, uint8_t> used;
  post_order(root, [&](const Expr* expr) {
    if (Feature feature = feature_of(expr); feature != Feature::kCount) features.add(feature);
    // Binders count, used or not.
    const Function* function = expr->as<Function>();
    if (expr->is<Let>() || (function != nullptr && !function->params().empty())) {
      features.add(Feature::kVar);
    }
    for (const ExprRef& operand : expr->operands()) {
      if (operand->operands().empty() || operand->has_one_owner()) continue;
      if (!used.insert(operand.get()).second) features.add(Feature::kGraph);
    }
  });
  if (features.has(Feature::kLet)) {
    RecursionFinder finder;
    finder.walk(root);
    if (finder.found) features.add(Feature::kLetRec);
  }
  return features;
}

FeatureSet detect_features(const Module& module) {
  FeatureSet features;
  for (const auto& entry : module.functions()) {
    features = features | detect_features(entry.function.get());
  }
  return features;
}

}  // namespace relay
