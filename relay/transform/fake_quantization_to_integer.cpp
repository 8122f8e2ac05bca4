// FakeQuantizationToInteger: floats between dequantize and quantize become integers.
#include <algorithm>

#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/op/qnn/qnn_attrs.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/integer_form.h>
#include <relay/program/cost.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>
#include <relay/transform/fake_quantization.h>
#include <relay/transform/fusion.h>
#include <relay/transform/literals.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

struct IntegerOptions {
  bool hard_fail;
  std::set<std::string> optional_ops;
};

bool is_dequantize(const Expr* expr) {
  if (!call_attrs<DequantizeAttrs>(expr) || !has_known_tensors(expr->type())) return false;
  const std::span<const ExprRef> args = static_cast<const Call*>(expr)->args();
  return args.size() == 3 && has_known_tensors(args[0]->type());
}
bool is_quantize(const Expr* expr) {
  return call_attrs<QuantizeAttrs>(expr) && static_cast<const Call*>(expr)->args().size() == 3 &&
         has_known_tensors(expr->type());
}

bool is_vector(const ExprRef& expr) {
  const auto* tensor = expr->type() == nullptr ? nullptr : expr->type()->as<TensorType>();
  return tensor != nullptr && tensor->has_rank() && tensor->dims().size() == 1;
}

bool has_floats(const Type* type) {
  if (type == nullptr) return true;
  if (const auto* tuple = type->as<TupleType>())
    return std::any_of(tuple->fields().begin(), tuple->fields().end(),
                       [](const TypeRef& field) { return has_floats(field.get()); });
  const auto* tensor = type->as<TensorType>();
  return tensor == nullptr || !tensor->has_dtype() || tensor->dtype().is_float();
}

/// The nodes of dataflow between the value that is quantised and what it is dequantised from,
/// operands first; `fits` says if nothing else gives floats to them.
struct Region {
  std::vector<const Expr*> nodes;
  bool fits = true;
  size_t dequantised = 0;
};

Region region_of(const Expr* root, size_t& budget) {
  Region region;
  PointerMap<Expr, char> seen;
  std::vector<std::pair<const Expr*, bool>> todo{{root, false}};
  while (!todo.empty()) {
    auto [expr, done] = todo.back();
    todo.pop_back();
    if (done) {
      region.nodes.push_back(expr);
      continue;
    }
    if (!seen.insert(expr).second) continue;
    if (budget == 0) {
      region.fits = false;
      return region;
    }
    --budget;
    if (is_dequantize(expr)) {
      ++region.dequantised;
      continue;
    }
    if (expr->is<Constant>() || !has_floats(expr->type())) continue;
    const bool inner = expr->is<Tuple>() || expr->is<TupleGetItem>() || called_op(expr) != nullptr;
    if (!inner || !has_known_tensors(expr->type())) {
      region.fits = false;
      continue;
    }
    todo.emplace_back(expr, true);
    const auto operands = expr->operands();
    for (size_t i = operands.size(); i-- > (expr->is<Call>() ? 1 : 0);)
      todo.emplace_back(operands[i].get(), false);
  }
  return region;
}

class IntegerRewriter final : public Rewriter {
 public:
  IntegerRewriter(const IntegerOptions& options, size_t budget)
      : options_(options), budget_(budget) {}

 private:
  struct Known {
    QuantisedValue value;
    bool chosen = false;
  };

  ExprRef enter(const Expr* expr) override {
    const auto* function = expr->as<Function>();
    return function != nullptr && is_primitive(function) ? ExprRef(expr) : ExprRef();
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    ExprRef result = is_quantize(expr) ? rewrite_quantize(static_cast<const Call&>(*expr), operands)
                                       : rebuild(expr, operands);
    done_[expr] = result;
    return result;
  }
  ExprRef renewed(const Expr* expr) const {
    const ExprRef* found = done_.find(expr);
    return found == nullptr ? ExprRef(expr) : *found;
  }

  ExprRef rewrite_quantize(const Call& call, std::span<const ExprRef> operands) {
    const Expr* inner = call.args()[0].get();
    Region region = region_of(inner, budget_);
    if (!region.fits || region.nodes.empty() || region.dequantised == 0)
      return rebuild(&call, operands);
    const QuantizeAttrs attrs = *call_attrs<QuantizeAttrs>(&call);
    const Affine result{operands[2], operands[3], *attrs.out_dtype, attrs.axis,
                        is_vector(call.args()[1]) || is_vector(call.args()[2])};
    PointerMap<Expr, Known> known;
    for (const Expr* node : region.nodes) {
      std::optional<Known> form = form_of(node, result, known);
      if (!form) {
        if (options_.hard_fail) {
          const Operator* op = called_op(node);
          throw Error(Diagnostic::error((op == nullptr ? "an expression" : op->name().str()) +
                                            " between quantised numbers has no form on integers",
                                        node->span()));
        }
        return rebuild(&call, operands);
      }
      known[node] = std::move(*form);
    }
    const Known& value = known.at(inner);
    if (value.value.tensors.size() != 1 || !value.value.tensors[0]) return rebuild(&call, operands);
    return requantized(value.value.expr, *value.value.tensors[0], result, call.span());
  }

  Known value_of(const Expr* expr, const PointerMap<Expr, Known>& known) const {
    if (const Known* found = known.find(expr)) return *found;
    if (is_dequantize(expr)) {
      const auto& call = static_cast<const Call&>(*expr);
      const auto* tensor = call.args()[0]->type()->as<TensorType>();
      return {{renewed(call.args()[0].get()),
               {Affine{renewed(call.args()[1].get()), renewed(call.args()[2].get()),
                       tensor->dtype(), call_attrs<DequantizeAttrs>(expr)->axis,
                       is_vector(call.args()[1]) || is_vector(call.args()[2])}}}};
    }
    const auto* tuple = expr->type()->as<TupleType>();
    const size_t count = tuple == nullptr ? 1 : tuple->fields().size();
    return {{renewed(expr), std::vector<std::optional<Affine>>(count)}};
  }

  std::optional<Known> form_of(const Expr* node, const Affine& result,
                               const PointerMap<Expr, Known>& known) const {
    if (const auto* tuple = node->as<Tuple>()) {
      Known value;
      std::vector<ExprRef> fields;
      for (const ExprRef& field : tuple->fields()) {
        Known one = value_of(field.get(), known);
        if (one.value.tensors.size() != 1 || !field->type()->is<TensorType>()) return std::nullopt;
        fields.push_back(one.value.expr);
        value.value.tensors.push_back(one.value.tensors[0]);
        value.chosen |= one.chosen;
      }
      value.value.expr = make_tuple(fields, node->span());
      return value;
    }
    if (const auto* item = node->as<TupleGetItem>()) {
      Known tuple = value_of(item->tuple().get(), known);
      return Known{{make_projection(tuple.value.expr, item->index(), node->span()),
                    {tuple.value.tensors.at(item->index())}},
                   tuple.chosen};
    }
    const auto& call = static_cast<const Call&>(*node);
    std::vector<TypeRef> types;
    std::vector<QuantisedValue> inputs;
    bool chosen = false;
    bool any = false;
    for (const ExprRef& arg : call.args()) {
      if (!has_known_tensors(arg->type())) return std::nullopt;
      types.emplace_back(arg->type());
      Known one = value_of(arg.get(), known);
      chosen |= one.chosen;
      for (const auto& tensor : one.value.tensors) any |= tensor.has_value();
      inputs.push_back(std::move(one.value));
    }
    OpCall typed(called_op(node), call.attrs(), std::move(types), TypeRef(call.type()));
    if (!any || (chosen && !keeps_scale(typed) && !attached_integer_form(typed.op(), false)))
      return std::nullopt;
    std::optional<QuantisedResult> form = form_of_call(typed, inputs, result, call.span());
    if (!form) return std::nullopt;
    return Known{std::move(form->value), form->chosen || chosen};
  }

  std::optional<QuantisedResult> form_of_call(const OpCall& typed,
                                              const std::vector<QuantisedValue>& inputs,
                                              const Affine& result, Span span) const {
    const QuantisedCall use{typed, inputs, &result, span};
    const std::string name = typed.op()->name().str();
    const bool asked = options_.optional_ops.contains(name);
    if (asked) {
      if (IntegerFormFn attached = attached_integer_form(typed.op(), true))
        return with_narrow_inputs(use, attached);
    }
    if (optional_integer_forms().find(typed.op()) != nullptr && !asked) return std::nullopt;
    return integer_form(use);
  }

  const IntegerOptions& options_;
  size_t budget_;
  PointerMap<Expr, ExprRef> done_;
};

/// Calls on dequantised numbers, without a scale for the result: the numbers are dequantised after
/// the call.
class TrainedRewriter final : public Rewriter {
 private:
  ExprRef enter(const Expr* expr) override {
    const auto* function = expr->as<Function>();
    return function != nullptr && is_primitive(function) ? ExprRef(expr) : ExprRef();
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    ExprRef same = rebuild(expr, operands);
    if (is_dequantize(expr)) {
      const auto& call = static_cast<const Call&>(*expr);
      const auto* tensor = call.args()[0]->type()->as<TensorType>();
      known_[expr] = {operands[1],
                      {Affine{operands[2], operands[3], tensor->dtype(),
                              call_attrs<DequantizeAttrs>(expr)->axis,
                              is_vector(call.args()[1]) || is_vector(call.args()[2])}}};
      return same;
    }
    const Operator* op = called_op(expr);
    if (op == nullptr || !is_float32(expr->type())) return same;
    const auto& call = static_cast<const Call&>(*expr);
    std::vector<TypeRef> types;
    std::vector<QuantisedValue> inputs;
    bool any = false;
    for (size_t i = 0; i < call.args().size(); ++i) {
      const Expr* arg = call.args()[i].get();
      if (!has_known_tensors(arg->type())) return same;
      types.emplace_back(arg->type());
      if (const QuantisedValue* found = known_.find(arg)) {
        inputs.push_back(*found);
        any = true;
      } else if (arg->is<Constant>() || !has_floats(arg->type())) {
        const auto* tuple = arg->type()->as<TupleType>();
        inputs.push_back({operands[i + 1], std::vector<std::optional<Affine>>(
                                               tuple == nullptr ? 1 : tuple->fields().size())});
      } else {
        return same;
      }
    }
    if (!any) return same;
    OpCall typed(op, call.attrs(), std::move(types), TypeRef(call.type()));
    std::optional<QuantisedResult> form = integer_form({typed, inputs, nullptr, call.span()});
    if (!form || form->value.tensors.size() != 1 || !form->value.tensors[0]) return same;
    known_[expr] = form->value;
    return dequantized_from(form->value.expr, *form->value.tensors[0], call.span());
  }
  static bool is_float32(const Type* type) {
    const auto* tensor = type == nullptr ? nullptr : type->as<TensorType>();
    return tensor != nullptr && tensor->has_rank() && tensor->has_dtype() &&
           tensor->dtype() == kFloat32;
  }

  PointerMap<Expr, QuantisedValue> known_;
};

size_t steps_for(const Function* function) {
  size_t count = 0;
  post_order(function, [&](const Expr*) { ++count; });
  return 64 * count + 1000;
}

Module to_integers(const Module& module, const IntegerOptions& options, bool use_qat) {
  Module result = module;
  auto each = [&](const std::function<FunctionRef(const FunctionRef&)>& change) {
    const Module before = result;
    for (const auto& entry : before.functions()) {
      const FunctionRef& function = entry.function;
      if (!dict_attr(function->attrs(), "Compiler").is_none() ||
          !dict_attr(function->attrs(), "SkipOptimization").is_none() ||
          !calls_any(function.get(), quantised()))
        continue;
      FunctionRef changed = change(function);
      if (changed != function) result.update_function(entry.name, changed);
    }
  };
  each([&](const FunctionRef& function) {
    return FunctionRef(
        IntegerRewriter(options, steps_for(function.get())).run(function)->as<Function>());
  });
  if (!use_qat) return result;
  infer_types_or_throw(result);
  result = resolve_literals(result);
  each([](const FunctionRef& function) {
    return FunctionRef(TrainedRewriter().run(function)->as<Function>());
  });
  return result;
}

RELAY_REGISTER_PASS({
    {"FakeQuantizationToInteger",
     0,
     {ProgramState::kTyped},
     "Computes on integers what a network that was quantised elsewhere computes on floats: the "
     "operators between qnn.dequantize and qnn.quantize. What each becomes follows from what it "
     "computes and from the operators on quantised numbers. Where one has no such form, or would "
     "see numbers that were cut off for the result's sake, all of them stay. DivToMul runs before "
     "it.",
     {"DivToMul"}},
    {{"hard_fail", "An operator without such a form is an error.", false},
     {"use_qat",
      "Also operators on dequantised numbers that no qnn.quantize follows, where the scale of the "
      "result follows from theirs: the numbers are dequantised after them.",
      false},
     {"optional_qnn_ops",
      "Operators that become less exact, and are only rewritten if they are named: nn.softmax.",
      std::vector<std::string>()}},
    [](const PassInfo& info, const PassOptions& options) {
      IntegerOptions chosen{option<bool>(options, "hard_fail"), {}};
      for (const Operator* op : operators_of(
               "optional_qnn_ops", option<std::vector<std::string>>(options, "optional_qnn_ops")))
        chosen.optional_ops.insert(op->name().str());
      const bool use_qat = option<bool>(options, "use_qat");
      return make_module_pass(info, [chosen, use_qat](const Module& module, const PassContext&) {
        return to_integers(module, chosen, use_qat);
      });
    },
});

}  // namespace

std::map<std::string, int64_t> fake_quantised_operators(const Module& module) {
  std::map<std::string, int64_t> counts;
  for (const auto& entry : module.functions()) {
    size_t budget = steps_for(entry.function.get());
    PointerMap<Expr, char> counted;
    post_order(entry.function.get(), [&](const Expr* expr) {
      if (!is_quantize(expr)) return;
      Region region = region_of(static_cast<const Call*>(expr)->args()[0].get(), budget);
      if (!region.fits || region.dequantised == 0) return;
      for (const Expr* node : region.nodes) {
        const Operator* op = called_op(node);
        if (op != nullptr && counted.insert(node).second) ++counts[op->name().str()];
      }
    });
  }
  return counts;
}

}  // namespace relay
