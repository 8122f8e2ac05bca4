// ToMixedPrecision: products and convolutions of narrow floats, and what follows them.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <relay/ir/rewrite.h>
#include <relay/ir/type_fields.h>
#include <relay/ir/visit.h>
#include <relay/op/registry/forms.h>
#include <relay/op/registry/precision_rules.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/program/cost.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>
#include <relay/transform/call_map.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_program.h>
#include <relay/transform/pass_report.h>

namespace relay {
namespace {

RELAY_REGISTER_CONFIG({"relay.ToMixedPrecision.keep_orig_output_dtype", false,
                       "Whether results of a program keep their dtype in mixed precision."});
RELAY_REGISTER_CONFIG({"relay.ToMixedPrecision.only_after_products", false,
                       "Whether mixed precision leaves wide what reads parameters and constants "
                       "alone."});

/// The floats of a type: no float32, some, or a tensor in it is not known.
enum class Floats : uint8_t { kNone, kWide, kUnknown };

enum class Missing : int64_t { kError, kWarn, kSilent };

struct MixedOptions {
  DType narrow;
  Missing missing;
  bool keep_results;
  bool after_products;  // what follows no product stays wide
};

// Rewrites one function. Every new node gets its type, since what follows asks for it.
class Narrower final : public Rewriter {
 public:
  Narrower(MixedOptions options, const Program& program, const FunctionRef& function,
           bool keep_result)
      : options_(options), function_(function), keep_result_(keep_result), program_(program) {
    for (const VarRef& param : function->params()) params_.insert(param.get());
  }

  /// True if a call becomes narrow, the first one on operands as they are, or deserves a report.
  bool has_work() {
    bool found = false;
    visit_each(function_.get(), [&](const Expr* expr) {
      if (called_op(expr) == nullptr) return true;
      const auto& call = static_cast<const Call&>(*expr);
      if (!computes_wide_floats(call)) return true;
      const std::optional<PrecisionRule> rule = rule_of(call);
      found = !rule || becomes_narrow(*rule, call.operands());
      return !found;
    });
    return found;
  }

 private:
  ExprRef enter(const Expr* expr) override {
    if (const auto* var = expr->as<Var>()) {
      const VarRef* renewed = vars_.find(var);
      if (renewed != nullptr) return *renewed;
    }
    return {};
  }
  void before(const Expr* expr, uint32_t operand, std::span<const ExprRef> done) override {
    const auto* let = expr->as<Let>();
    if (let == nullptr || operand != 1) return;
    // The variable has the dtype of its value.
    const Type* type = done[0]->type();
    if (type == nullptr || type == let->value()->type() || !let->var()->type()) return;
    if (let->var()->annotation() && !let->var()->annotation()->closed()) return;
    // An annotation that converts, as from a known extent to `?`, goes on doing so.
    const bool converts = let->var()->annotation() && let->var()->type() != let->value()->type();
    TypeRef declared;
    if (converts) {
      const TypeRef narrow = with_floats(TypeRef(let->value()->type()), kFloat32, options_.narrow);
      if (narrow.get() != type) return;
      declared = with_floats(let->var()->annotation(), kFloat32, options_.narrow);
      type = declared.get();
    }
    VarRef renewed = make_var(let->var()->name(), declared, let->var()->span());
    renewed->set_type(TypeRef(type));
    vars_[let->var().get()] = renewed;
  }

  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    switch (expr->kind()) {
      case ExprKind::kCall:
        if (called_op(expr) != nullptr)
          return rewrite_op(static_cast<const Call&>(*expr), operands);
        return with_old_types(expr, operands, 1);
      case ExprKind::kTuple: {
        std::vector<TypeRef> fields;
        for (const ExprRef& operand : operands) {
          if (operand->type() == nullptr) return with_old_types(expr, operands, 0);
          fields.emplace_back(operand->type());
        }
        return typed(rebuild(expr, operands), TupleType::make(std::move(fields)));
      }
      case ExprKind::kTupleGetItem: {
        const auto* tuple =
            operands[0]->type() == nullptr ? nullptr : operands[0]->type()->as<TupleType>();
        if (tuple == nullptr) return with_old_types(expr, operands, 0);
        const uint32_t index = static_cast<const TupleGetItem*>(expr)->index();
        return typed(rebuild(expr, operands), tuple->fields()[index]);
      }
      case ExprKind::kLet:
        return rewrite_let(static_cast<const Let&>(*expr), operands);
      case ExprKind::kFunction:
        if (expr == function_.get() && !keep_result_) {
          const auto& function = static_cast<const Function&>(*expr);
          if (operands[0] == function.body()) return ExprRef(expr);
          return make_function(function.params(), operands[0], {}, function.type_params(),
                               function.constraints(), function.attrs(), function.span());
        }
        return with_old_types(expr, operands, 0);
      default:
        return with_old_types(expr, operands, 0);
    }
  }

  ExprRef rewrite_let(const Let& let, std::span<const ExprRef> operands) {
    const VarRef* renewed = vars_.find(let.var().get());
    if (renewed == nullptr) {
      const ExprRef plain[] = {in_type(operands[0], let.value()->type(), place(let, 0)),
                               operands[1]};
      ExprRef result = rebuild(&let, plain);
      return operands[1]->type() == nullptr ? result : typed(result, TypeRef(operands[1]->type()));
    }
    ExprRef result = make_let(*renewed, operands[0], operands[1], let.span());
    return operands[1]->type() == nullptr ? result : typed(result, TypeRef(operands[1]->type()));
  }

  // The node on operands of the types that it had before, from one on.
  ExprRef with_old_types(const Expr* expr, std::span<const ExprRef> operands, size_t from) {
    std::vector<ExprRef> old(operands.begin(), operands.end());
    for (size_t i = from; i < old.size(); ++i)
      old[i] = in_type(old[i], expr->operands()[i]->type(), place(*expr, i));
    ExprRef result = rebuild(expr, old);
    return expr->type() == nullptr ? result : typed(result, TypeRef(expr->type()));
  }
  static ExprRef typed(ExprRef node, TypeRef type) {
    if (node->type() == nullptr) node->publish_type(type);
    return node;
  }

  // ---- Operators -------------------------------------------------------------------------------

  ExprRef rewrite_op(const Call& call, std::span<const ExprRef> operands) {
    if (!computes_wide_floats(call)) return with_old_types(&call, operands, 1);
    std::optional<PrecisionRule> rule = rule_of(call);
    if (!rule) {
      report_missing(call);
      rule = PrecisionRule::kNever;
    }
    if (!becomes_narrow(*rule, operands)) return with_old_types(&call, operands, 1);
    std::vector<ExprRef> args;
    for (size_t i = 1; i < operands.size(); ++i) {
      const TypeRef type(operands[i]->type());
      args.push_back(
          in_type(operands[i], with_floats(type, kFloat32, options_.narrow).get(), place(call, i)));
    }
    ExprRef result =
        make_call(operands[0], args, with_narrow_result(call), call.type_args(), call.span());
    return typed(std::move(result), with_floats(TypeRef(call.type()), kFloat32, options_.narrow));
  }

  // Nothing for an operator without one.
  std::optional<PrecisionRule> rule_of(const Call& call) {
    if (names_wide_result(call)) return PrecisionRule::kNever;
    auto [known, added] = rules_.insert(call);
    if (added) {
      std::vector<TypeRef> types;
      for (const ExprRef& arg : call.args()) types.emplace_back(arg->type());
      const PrecisionFn* attached = attached_precision().find(called_op(&call));
      if (attached != nullptr && *attached) *known = (*attached)(ExprRef(&call), options_.narrow);
      if (!*known)
        *known = precision_rule(
            OpCall(called_op(&call), call.attrs(), std::move(types), TypeRef(call.type())));
      if (*known && !takes_narrow(call)) *known = PrecisionRule::kNever;
    }
    return *known;
  }
  // False if the operator's signature asks for the wide dtype somewhere, as quantisation does.
  bool takes_narrow(const Call& call) const {
    auto narrow = [&](const Type* type) {
      return with_floats(TypeRef(type), kFloat32, options_.narrow);
    };
    std::vector<TypeRef> types;
    for (const ExprRef& arg : call.args()) types.push_back(narrow(arg->type()));
    try {
      check_signature(*called_op(&call), types);
    } catch (const Error&) {
      return false;
    }
    const std::vector<OpOutput>& outputs = called_op(&call)->outputs();
    return std::all_of(outputs.begin(), outputs.end(), [&](const OpOutput& output) {
      return output.spec.variable() != 0 || !output.spec.is_tensor() ||
             output.spec.dtypes().contains(options_.narrow);
    });
  }
  // The attribute that says what sums are kept in.
  static Name sum_dtype() { return Name("out_dtype"); }
  // True if an attribute says that the result is wide, whatever the operands are. That of sums,
  // `out_dtype`, is another: it is written anew.
  static bool names_wide_result(const Call& call) {
    const AttrsSchema* schema = called_op(&call)->attrs_schema();
    if (schema == nullptr || !call.attrs()) return false;
    const Name out = sum_dtype();
    const bool has =
        std::any_of(schema->fields.begin(), schema->fields.end(), [&](const AttrField& field) {
          return field.kind == AttrKind::kDType && field.name != out;
        });
    if (!has) return false;
    const std::vector<NamedAttr> given = call.attrs()->fields(true);
    return std::any_of(given.begin(), given.end(), [&](const NamedAttr& attr) {
      const auto* dtype = attr.value.get<DType>();
      return attr.name != out && dtype != nullptr && *dtype == kFloat32;
    });
  }
  bool becomes_narrow(PrecisionRule rule, std::span<const ExprRef> operands) const {
    return rule == PrecisionRule::kAlways ||
           (rule == PrecisionRule::kFollows && all_may_be_narrow(operands) &&
            (!options_.after_products || any_is_narrow(operands)));
  }
  // True if an operand was computed narrow, or a field of a tuple was.
  bool any_is_narrow(std::span<const ExprRef> operands) const {
    auto is_narrow = [&](const ExprRef& operand) {
      const auto* tensor = operand->type() == nullptr ? nullptr : operand->type()->as<TensorType>();
      return tensor != nullptr && tensor->has_dtype() && tensor->dtype() == options_.narrow;
    };
    return std::any_of(operands.begin() + 1, operands.end(), [&](const ExprRef& operand) {
      const auto* tuple = operand->as<Tuple>();
      return tuple == nullptr
                 ? is_narrow(operand)
                 : std::any_of(tuple->fields().begin(), tuple->fields().end(), is_narrow);
    });
  }

  // True if floats go in and come out.
  bool computes_wide_floats(const Call& call) {
    if (floats_in(call.type()) != Floats::kWide) return false;
    bool wide = false;
    for (const ExprRef& arg : call.args()) {
      const Floats floats = floats_in(arg->type());
      if (floats == Floats::kUnknown) return false;
      wide = wide || floats == Floats::kWide;
    }
    return wide;
  }
  // Types repeat and are one object each: each is looked into once.
  Floats floats_in(const Type* type) {
    if (type == nullptr) return Floats::kUnknown;
    auto [floats, fresh] = floats_.insert(type);
    if (!fresh) return *floats;
    if (!has_known_tensors(type)) return *floats = Floats::kUnknown;
    const bool wide = with_floats(TypeRef(type), kFloat32, kFloat16).get() != type;
    return *floats = wide ? Floats::kWide : Floats::kNone;
  }

  // False if a number of a constant becomes infinite in the narrow type, as the -1e9 of a mask
  // does, or a single number zero, as an epsilon of 1e-9 does.
  bool fits(const NDArray& data) const {
    const NDArray narrow = data.cast(options_.narrow);
    for (int64_t i = 0; i < data.size(); ++i) {
      const double wide = data.element_as_double(i), now = narrow.element_as_double(i);
      const bool lost = data.size() == 1 && now == 0 && wide != 0;
      if (std::isfinite(wide) && (!std::isfinite(now) || lost)) return false;
    }
    return true;
  }

  // Parameters and constants may; what was computed only if it is narrow.
  bool may_be_narrow(const ExprRef& operand) const {
    if (!is_wide_tensor(operand->type())) return !has_wide_fields(operand->type());
    const auto* var = operand->as<Var>();
    if (const auto* constant = operand->as<Constant>()) return fits(constant->data());
    return var != nullptr && params_.contains(var);
  }
  bool all_may_be_narrow(std::span<const ExprRef> operands) const {
    return std::all_of(operands.begin() + 1, operands.end(), [&](const ExprRef& operand) {
      const auto* tuple = operand->as<Tuple>();
      return tuple == nullptr
                 ? may_be_narrow(operand)
                 : std::all_of(tuple->fields().begin(), tuple->fields().end(),
                               [&](const ExprRef& field) { return may_be_narrow(field); });
    });
  }
  AttrsRef with_narrow_result(const Call& call) const {
    const AttrsSchema* schema = called_op(&call)->attrs_schema();
    if (schema == nullptr) return call.attrs();
    const Name out = sum_dtype();
    bool has = false;
    for (const AttrField& field : schema->fields) has = has || field.name == out;
    if (!has) return call.attrs();
    std::vector<NamedAttr> fields;
    if (call.attrs()) fields = call.attrs()->fields(true);
    std::erase_if(fields, [&](const NamedAttr& field) { return field.name == out; });
    fields.push_back({out, AttrValue(std::string(options_.narrow.name())), call.span()});
    return Attrs::make(*schema, fields, call.span());
  }

  void report_missing(const Call& call) const {
    if (options_.missing == Missing::kSilent) return;
    const std::string text = called_op(&call)->name().str() + " has no rule for mixed precision";
    if (options_.missing == Missing::kError) throw Error(text, call.span());
    report_in_pass(Diagnostic::warning(text + "; it is computed on float32", call.span()));
  }

  // ---- Conversions -----------------------------------------------------------------------------

  // The value in another dtype: tensors, and tuples of them.
  ExprRef in_type(const ExprRef& value, const Type* type, uint32_t scope) {
    if (type == nullptr || value->type() == nullptr || value->type() == type) return value;
    if (type->is<TensorType>()) return in_dtype(value, TypeRef(type), scope);
    const auto* wanted = type->as<TupleType>();
    const auto* found = value->type()->as<TupleType>();
    if (wanted == nullptr || found == nullptr) return value;
    // A tuple whose making has an effect is used once: a let binds it.
    const auto* tuple = value->as<Tuple>();
    VarRef bound;
    if (tuple == nullptr) {
      bound = make_var("t", {}, value->span());
      bound->set_type(TypeRef(value->type()));
    }
    std::vector<ExprRef> fields;
    for (uint32_t i = 0; i < wanted->fields().size(); ++i) {
      ExprRef field = tuple != nullptr ? tuple->fields()[i]
                                       : typed(make_projection(bound, i), found->fields()[i]);
      fields.push_back(in_type(field, wanted->fields()[i].get(), scope));
    }
    ExprRef result = typed(make_tuple(fields, value->span()), TypeRef(type));
    return bound ? typed(make_let(bound, value, result, value->span()), TypeRef(type)) : result;
  }
  // Where operand i of a node is used.
  uint32_t place(const Expr& expr, size_t i) {
    if (view_ == nullptr) view_ = &program_.view(function_);
    return view_->scopes().place(view_->id(&expr), i);
  }
  // One cast for all in a scope who want it; the way back from one is what was cast. A cast for
  // several scopes would run around them, whether one of them runs or not.
  ExprRef in_dtype(const ExprRef& value, const TypeRef& type, uint32_t scope) {
    const DType dtype = type->as<TensorType>()->dtype();
    if (const ExprRef* wide = wide_.find(value.get()); wide != nullptr && dtype == kFloat32)
      return *wide;
    auto [entry, fresh] = casts_.try_emplace({value.get(), std::string(dtype.name()), scope});
    if (fresh) {
      ExprRef cast = typed(make_cast(value, dtype, value->span()), type);
      entry->second = cast;
      const std::string back(value->type()->as<TensorType>()->dtype().name());
      if (back == "float32") wide_[cast.get()] = value;
    }
    return entry->second;
  }

  const MixedOptions options_;
  const FunctionRef function_;
  const bool keep_result_;
  const Program& program_;
  const View* view_ = nullptr;
  PointerSet<Var> params_;
  PointerMap<Var, VarRef> vars_;
  // By value, dtype and scope; and what was cast.
  std::map<std::tuple<const Expr*, std::string, uint32_t>, ExprRef> casts_;
  PointerMap<Expr, ExprRef> wide_;
  CallMap<std::optional<PrecisionRule>> rules_;
  PointerMap<Type, Floats> floats_;
};

Module narrow(const Module& module, MixedOptions options) {
  Module result = module;
  const Program program = program_of(module);
  const CallGraph& graph = program.call_graph();
  for (const auto& entry : module.functions()) {
    // A function that others call gives them what they know.
    const bool keep = options.keep_results || graph.ref_count(entry.name) > 0;
    Narrower narrower(options, program, entry.function, keep);
    if (!narrower.has_work()) continue;
    ExprRef rewritten = narrower.run(entry.function);
    if (!(rewritten == entry.function))
      result.update_function(entry.name, FunctionRef(copy_nodes(rewritten)->as<Function>()));
  }
  return result;
}

RELAY_REGISTER_PASS({
    {"ToMixedPrecision",
     0,
     {ProgramState::kTyped},
     "Computes products and convolutions of float32 on narrow floats, and what follows them as "
     "long "
     "as it moves elements or takes few steps for each; sums and functions such as exp stay wide. "
     "Which is which follows from what an operator computes. Results of the entry functions become "
     "narrow, unless `relay.ToMixedPrecision.keep_orig_output_dtype` is set. With "
     "`relay.ToMixedPrecision.only_after_products` what reads parameters and constants alone stays "
     "wide.",
     {},
     false,
     PassInfo::Signature::kNarrowFloats},
    {{"mixed_precision_type", "The narrow dtype: float16 or bfloat16.", std::string("float16")},
     {"missing_op_mode",
      "What happens at an operator without a rule, which stays wide: 0 is an error, 1 a warning, 2 "
      "nothing.",
      int64_t{1}}},
    [](const PassInfo& info, const PassOptions& options) {
      const auto& name = option<std::string>(options, "mixed_precision_type");
      const auto mode = option<int64_t>(options, "missing_op_mode");
      if (name != "float16" && name != "bfloat16")
        throw Error("mixed_precision_type is float16 or bfloat16, not " + name);
      if (mode < 0 || mode > 2)
        throw Error("missing_op_mode is 0, 1 or 2, not " + std::to_string(mode));
      return make_module_pass(info, [name, mode](const Module& module, const PassContext& context) {
        const bool keep =
            context.config_value<bool>("relay.ToMixedPrecision.keep_orig_output_dtype");
        const bool after_products =
            context.config_value<bool>("relay.ToMixedPrecision.only_after_products");
        return narrow(module, {name == "float16" ? kFloat16 : kBFloat16, static_cast<Missing>(mode),
                               keep, after_products});
      });
    },
});

}  // namespace
}  // namespace relay
