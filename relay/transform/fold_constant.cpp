// FoldConstant: what can be computed now.
#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_set>

#include <relay/eval/eval.h>
#include <relay/infer/devices/devices.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/tensor_types.h>
#include <relay/ir/visit.h>
#include <relay/op/registry/training.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>
#include <relay/tensor_expr/evaluate.h>
#include <relay/transform/fusion.h>
#include <relay/transform/known_extents.h>
#include <relay/transform/lazy_effects.h>
#include <relay/transform/literals.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

struct FoldOptions {
  bool fold_qnn;
  int64_t max_growth;  // bytes
  int64_t max_work;    // elements
};

// Bytes of a type of known extents: tensors and tuples of them.
std::optional<int64_t> byte_size(const Type* type) {
  if (type == nullptr) return std::nullopt;
  if (const auto* tuple = type->as<TupleType>()) {
    int64_t total = 0;
    for (const TypeRef& field : tuple->fields()) {
      std::optional<int64_t> size = byte_size(field.get());
      if (!size || *size > INT64_MAX - total) return std::nullopt;
      total += *size;
    }
    return total;
  }
  const auto* tensor = type->as<TensorType>();
  std::optional<int64_t> count = num_elements(type);
  if (tensor == nullptr || !tensor->has_dtype() || !count) return std::nullopt;
  auto size = static_cast<int64_t>(tensor->dtype().size());
  if (*count > INT64_MAX / size) return std::nullopt;
  return *count * size;
}

// The device that a call gives both its operand and itself. It copies nothing.
std::optional<Device> stays_on(const Expr* expr) {
  std::optional<DeviceUse> use = device_use(expr);
  if (!use || use->copies || !use->input || use->input != use->result) return std::nullopt;
  return use->input;
}

// A constant, one that is said to be on a device, or a tuple of such. They nest as deep as the
// type, which is bounded.
bool is_constant(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::kConstant:
      return true;
    case ExprKind::kCall:  // of one argument
      return expr->operands().size() == 2 && stays_on(expr) &&
             is_constant(expr->operands()[1].get());
    case ExprKind::kTuple:
      return std::all_of(expr->operands().begin(), expr->operands().end(),
                         [](const ExprRef& field) { return is_constant(field.get()); });
    default:
      return false;
  }
}

// Notes the devices that tensors in it are said to be on; numbers are on none.
void find_devices(const Expr* expr, std::optional<Device> said, std::vector<Device>& found) {
  if (const auto* constant = expr->as<Constant>()) {
    if (said && constant->data().rank() != 0 &&
        std::find(found.begin(), found.end(), *said) == found.end()) {
      found.push_back(*said);
    }
  } else if (expr->is<Call>()) {
    find_devices(expr->operands()[1].get(), stays_on(expr), found);
  } else {
    for (const ExprRef& field : expr->operands()) find_devices(field.get(), said, found);
  }
}

// Bytes that constants take, each counted once: `concatenate((%c, %c))` has but one to replace.
void add_stored(const Expr* expr, std::unordered_set<const Expr*>& seen, double& total) {
  if (const auto* constant = expr->as<Constant>()) {
    if (!seen.insert(expr).second) return;
    const NDArray& data = constant->data();
    total += static_cast<double>(data.is_uniform() ? data.dtype().size() : data.byte_size());
  } else if (expr->is<Call>()) {
    add_stored(expr->operands()[1].get(), seen, total);
  } else {
    for (const ExprRef& field : expr->operands()) add_stored(field.get(), seen, total);
  }
}

Value constant_value(const Expr* expr) {
  if (const auto* constant = expr->as<Constant>()) return Value(constant->data());
  if (expr->is<Call>()) return constant_value(expr->operands()[1].get());
  std::vector<Value> fields;
  for (const ExprRef& field : expr->operands()) fields.push_back(constant_value(field.get()));
  return Value::tuple(std::move(fields));
}

// Places a constant on a device, unless it is a number.
ExprRef placed(ExprRef constant, const Type* type, std::optional<Device> device) {
  if (!device || is_number_type(type)) return constant;
  ExprRef result = make_on_device(constant, *device);
  result->set_type(TypeRef(type));
  return result;
}

// A constant or a tuple of constants; null if the value is something else or not of `type`.
ExprRef constant_of(const Value& value, const Type* type, Span span, std::optional<Device> device) {
  if (value.is_tensor()) {
    NDArray array = value.array();
    if (type_of_array(array) != type) return {};
    ExprRef constant = make_constant(std::move(array), span);
    constant->set_type(TypeRef(type));
    return placed(std::move(constant), type, device);
  }
  const auto* tuple_type = type->as<TupleType>();
  if (!value.is_tuple() || tuple_type == nullptr) return {};
  std::vector<ExprRef> fields;
  for (size_t i = 0; i < value.fields().size(); ++i) {
    fields.push_back(constant_of(value.field(i), tuple_type->fields()[i].get(), span, device));
    if (!fields.back()) return {};
  }
  ExprRef tuple = make_tuple(fields, span);
  tuple->set_type(TypeRef(type));
  return tuple;
}

class Folder final : public Rewriter {
 public:
  Folder(const LazyEffects& effects, FoldOptions options, const Function* root)
      : effects_(effects), options_(options), root_(root) {}

 private:
  ExprRef enter(const Expr* expr) override {
    if (const auto* var = expr->as<Var>()) {
      const ExprRef* value = values_.find(var);
      return value == nullptr ? ExprRef() : *value;
    }
    const auto* function = expr->as<Function>();
    return function != nullptr && is_primitive(function) ? ExprRef(expr) : ExprRef();
  }

  void before(const Expr* expr, uint32_t operand, std::span<const ExprRef> done) override {
    const auto* let = expr->as<Let>();
    if (let != nullptr && operand == 1 && substitutes(let, done[0].get())) {
      values_[let->var().get()] = done[0];
    }
  }

  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    switch (expr->kind()) {
      case ExprKind::kCall: {
        ExprRef folded = fold_call(static_cast<const Call&>(*expr), operands);
        return folded ? folded : rebuild(expr, operands);
      }
      case ExprKind::kTupleGetItem: {
        const auto* tuple = operands[0]->as<Tuple>();
        uint32_t index = static_cast<const TupleGetItem*>(expr)->index();
        if (tuple == nullptr || index >= tuple->fields().size()) break;
        if (acts(static_cast<const TupleGetItem*>(expr)->tuple().get())) break;
        return tuple->fields()[index];
      }
      case ExprKind::kLet:
        if (values_.contains(static_cast<const Let*>(expr)->var().get())) return operands[1];
        break;
      case ExprKind::kIf: {
        const auto* condition = operands[0]->as<Constant>();
        if (condition == nullptr || condition->data().rank() != 0) break;
        const ExprRef& taken = operands[condition->data().item_as_int64() != 0 ? 1 : 2];
        if (taken->type() == nullptr || taken->type() != expr->type()) break;
        return taken;
      }
      default:
        break;
    }
    return rebuild(expr, operands);
  }

  // An annotation may convert; then the variable stays.
  static bool substitutes(const Let* let, const Expr* value) {
    return is_constant(value) && value->type() != nullptr && value->type() == let->var()->type();
  }

  bool acts(const Expr* old) {
    if (!effects_.get().any()) return false;
    if (!effectful_) effectful_ = effects_.get().effectful_nodes(root_);
    return effectful_->count(old) != 0;
  }

  ExprRef fold_call(const Call& call, std::span<const ExprRef> operands) {
    const auto* node = call.callee()->as<Op>();
    const Type* type = call.type();
    if (node == nullptr || type == nullptr) return {};
    const Operator* op = node->op();
    if (!op->pure() || devices().find(op) != nullptr) return {};
    if (quantised().find(op) != nullptr && !options_.fold_qnn) return {};
    if (random_in_training().find(op) != nullptr) return {};
    for (const ExprRef& argument : operands.subspan(1)) {
      if (!is_constant(argument.get())) return extents(call);
    }
    if (op->definition() != DefinitionKind::kCompute &&
        op->definition() != DefinitionKind::kExpand) {
      return {};
    }
    std::optional<int64_t> result_bytes = byte_size(type);
    if (!result_bytes) return {};
    double budget = static_cast<double>(options_.max_growth);
    std::vector<Value> arguments;
    std::vector<Device> places;
    std::unordered_set<const Expr*> seen;
    for (const ExprRef& argument : operands.subspan(1)) {
      find_devices(argument.get(), std::nullopt, places);
      add_stored(argument.get(), seen, budget);
      arguments.push_back(constant_value(argument.get()));
    }
    if (places.size() > 1) return {};  // refused elsewhere
    std::optional<Device> device = places.empty() ? std::nullopt : std::optional(places[0]);
    // A larger result may still be equal numbers: elements are made only if they differ.
    if (static_cast<double>(*result_bytes) <= budget) budget = kNoLimit;
    try {
      te::EvaluationLimit limit(budget, static_cast<double>(options_.max_work));
      return constant_of(apply_op(op, call.attrs(), arguments, call.span()), type, call.span(),
                         device);
    } catch (const Error&) {
      return {};  // it fails when the program gets there, if it does
    }
  }

  // Extents of something that a run computes. What has an effect stays, and so do places.
  ExprRef extents(const Call& call) {
    ExprRef known = known_extents(call);
    if (!known) return {};
    for (const ExprRef& argument : call.args()) {
      if (acts(argument.get()) || device_use(argument.get())) return {};
    }
    known->set_type(TypeRef(call.type()));
    return known;
  }

  const LazyEffects& effects_;
  FoldOptions options_;
  const Function* root_;
  PointerMap<Var, ExprRef> values_;
  std::optional<std::unordered_set<const Expr*>> effectful_;
};

// True if anything can be folded at first. Later folds only follow from others.
bool may_fold(const Function* function) {
  bool found = false;
  post_order(function, [&](const Expr* expr) {
    if (found) return;
    switch (expr->kind()) {
      case ExprKind::kCall: {
        const auto* call = static_cast<const Call*>(expr);
        const auto* node = call->callee()->as<Op>();
        if (node == nullptr) return;
        found = std::all_of(call->args().begin(), call->args().end(),
                            [](const ExprRef& arg) { return is_constant(arg.get()); }) ||
                known_extents(*call);
        return;
      }
      case ExprKind::kTupleGetItem:
        found = expr->operands()[0]->is<Tuple>();
        return;
      case ExprKind::kLet:
        found = is_constant(expr->operands()[0].get());
        return;
      case ExprKind::kIf:
        found = expr->operands()[0]->is<Constant>();
        return;
      default:
        return;
    }
  });
  return found;
}

FunctionRef fold(const FunctionRef& function, const LazyEffects& effects, FoldOptions options) {
  if (is_primitive(function.get()) || !may_fold(function.get())) return function;
  if (has_open_literals(function.get())) return function;
  ExprRef result = Folder(effects, options, function.get()).run(function);
  return FunctionRef(result->as<Function>());
}

RELAY_REGISTER_PASS({
    {"FoldConstant",
     2,
     {ProgramState::kTyped},
     "Computes calls of pure operators on constants and extents that types say (shape_of), takes "
     "fields out of tuples, decides ifs and "
     "puts constants in the place of let variables. A call that fails stays. A value that an "
     "on_device "
     "puts on a device stays there. Functions marked Primitive are left as they are, and so "
     "is a function with literals whose dtype depends on its callers."},
    {{"fold_qnn", "Also compute operators of quantised networks.", false},
     {"max_growth",
      "Bytes by which a constant may be larger than those it is computed from. Equal numbers count "
      "as one.",
      int64_t{2} << 20, OptionEntries::kTexts, 0},
     {"max_work", "Largest number of elements to visit for a constant.", int64_t{1} << 28,
      OptionEntries::kTexts, 0}},
    [](const PassInfo& info, const PassOptions& options) {
      FoldOptions chosen{option<bool>(options, "fold_qnn"), option<int64_t>(options, "max_growth"),
                         option<int64_t>(options, "max_work")};
      return make_prepared_function_pass(info, [chosen](const Module& module, const PassContext&) {
        return [effects = LazyEffects(module), chosen](const FunctionRef& function) {
          return fold(function, effects, chosen);
        };
      });
    },
});

}  // namespace
}  // namespace relay
