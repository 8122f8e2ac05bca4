#include <relay/vm/compiler/prepare.h>

#include <algorithm>

#include <relay/infer/devices/devices.h>
#include <relay/ir/effects.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/forms.h>
#include <relay/support/pointer_map.h>
#include <relay/transform/external_code.h>
#include <relay/transform/fusion.h>
#include <relay/transform/lets.h>
#include <relay/transform/name_literals.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>
#include <relay/vm/compiler/accumulate.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/compiler/inline_once.h>

namespace relay::vm {
namespace {

// Lets of tensors become nodes of the graph, so that operators can be fused across them. Lets of
// everything else keep their places and names.
FunctionRef graph_lets(const FunctionRef& function, const Effects& effects, bool tuples) {
  const View view(function);
  const Lets lets(view);
  if (lets.all().empty()) return function;
  const NodeEffects acts(view, effects);
  PointerSet<Let> removed;
  for (const Lets::Entry& entry : lets.all()) {
    const Let* let = entry.let;
    const Expr* value = let->value().get();
    const auto* call = value->as<Call>();
    bool dataflow = value->is<Constant>() || (tuples && value->is<Tuple>()) ||
                    value->is<TupleGetItem>() ||
                    (call != nullptr && call->callee()->is<relay::Op>());
    if (!dataflow || acts.effectful(entry.value) || !keeps_type(let)) continue;
    if (lets.uses(entry) == 0 || is_polymorphic(let->var().get())) continue;
    if (lets.used_in_closures_only(entry)) continue;
    removed.insert(let);
  }
  return without_lets(function, removed);
}

PassInfo own_step(const char* name) {
  PassInfo info;
  info.name = name;
  info.requires_ = {ProgramState::kTyped};
  info.own_step = true;
  return info;
}

// Counts results first if their extents are no terms over integers.
PassRef count_extents_pass() {
  PassInfo info = own_step("vm.CountExtents");
  auto rewrite = [](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
    const auto* call = expr->as<Call>();
    return call == nullptr ? ExprRef() : expand_call(counted_form(), *call, operands.subspan(1));
  };
  return make_function_pass(
      info, [rewrite](const FunctionRef& function, const Module&, const PassContext&) {
        if (!calls_any(function.get(), counted_form())) return function;
        return FunctionRef(rewrite_post_order(function, rewrite)->as<relay::Function>());
      });
}

// Writes out the device of every value for the passes that follow; refuses unusable devices.
PassRef devices_pass() {
  PassInfo info = own_step("vm.PlanDevices");
  return make_module_pass(info, [](const Module& module, const PassContext&) {
    return plan_devices(module, DeviceNeed::kUsable);
  });
}

// Cuts out each field of a tuple that an operator cuts a tensor into by itself, so that it can be
// fused with its reader.
PassRef fields_apart_pass() {
  PassInfo info = own_step("vm.FieldsApart");
  return make_function_pass(
      info, [](const FunctionRef& function, const Module&, const PassContext&) -> FunctionRef {
        PointerMap<Expr, uint32_t> others;  // uses of tuples apart from projections
        bool any = false;
        post_order(function.get(), [&](const Expr* expr) {
          any |= expr->is<TupleGetItem>();
          for (const ExprRef& operand : expr->operands()) {
            if (operand->is<Call>() && !expr->is<TupleGetItem>()) ++others[operand.get()];
          }
        });
        if (!any) return function;
        FusionKinds kinds;
        auto rewrite = [&](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
          const auto* projection = expr->as<TupleGetItem>();
          const auto* call = projection == nullptr ? nullptr : projection->tuple()->as<Call>();
          if (call == nullptr || others.contains(call) || !operands[0]->is<Call>()) return {};
          const std::optional<CallFusion>& fusion = kinds.find(*call);
          if (!fusion || fusion->kind > te::FusionKind::kInjective) return {};
          const auto* made = operands[0]->as<Call>();
          ExprRef copy = make_call(made->callee(), made->args(), made->attrs(), made->type_args(),
                                   made->span());
          return make_projection(copy, projection->index(), projection->span());
        };
        return FunctionRef(rewrite_post_order(function, rewrite)->as<relay::Function>());
      });
}

PassRef inline_once_pass(std::span<const Name> entries) {
  PassInfo info = own_step("vm.InlineOnce");
  return make_module_pass(
      info, [names = std::vector<Name>(entries.begin(), entries.end())](
                const Module& module, const PassContext&) { return inline_once(module, names); });
}

PassRef graph_lets_pass(bool tuples = true) {
  PassInfo info = own_step("vm.GraphLets");
  return make_prepared_function_pass(info, [tuples](const Module& module, const PassContext&) {
    return [effects = std::make_shared<Effects>(module), tuples](const FunctionRef& function) {
      return graph_lets(function, *effects, tuples);
    };
  });
}

PassRef accumulations_pass() {
  PassInfo info = own_step("vm.Accumulations");
  return make_prepared_function_pass(info, [](const Module& module, const PassContext&) {
    return [effects = std::make_shared<Effects>(module)](const FunctionRef& function) {
      return with_accumulations(function, *effects);
    };
  });
}

// True if operators are computed together at a level, in the current context.
bool fuses(int level) {
  const std::vector<std::string>& disabled = PassContext::current().disabled_passes;
  return level > 0 && std::find(disabled.begin(), disabled.end(), "FuseOps") == disabled.end();
}

// The current context for a compilation. Passes that the machine needs run even if the context
// disables them; without FuseOps each operator stays alone, as at level 0.
PassContext context_for(int level) {
  PassContext context = PassContext::current_at(std::max(level, 1));
  context.collect_errors = false;  // none of these passes can go on after one that failed
  std::erase_if(context.disabled_passes, [](const std::string& name) {
    return name == "FuseOps" || name == "InferType" || name == "ExpandOps";
  });
  return context;
}

// Products on narrow floats. Constants become narrow here and now.
void add_narrowing(DType precision, std::vector<PassRef>& passes, PassContext& context) {
  if (!precision.valid() || precision == kFloat32) return;
  constexpr int64_t kSilent = 2;
  context.set_config("relay.ToMixedPrecision.keep_orig_output_dtype", true);
  context.set_config("relay.ToMixedPrecision.only_after_products", true);
  passes.push_back(create_pass("InferType"));
  passes.push_back(create_pass(
      "ToMixedPrecision",
      {{"mixed_precision_type", std::string(precision.name())}, {"missing_op_mode", kSilent}}));
  passes.push_back(create_pass("InferType"));
  passes.push_back(create_pass("FoldConstant"));
}

Module optimize(const Module& module, std::span<const Name> entries, int level, DType precision) {
  const bool fuse = fuses(level);
  PassContext context = context_for(level);
  std::vector<PassRef> passes;
  // Expansions make constants and tensors that equal ones on other devices must not be merged with.
  bool devices = uses_devices(module);
  auto plan_all = [&] {
    if (!devices) return;
    passes.push_back(create_pass("InferType"));
    passes.push_back(devices_pass());
  };
  plan_all();
  passes.push_back(create_pass("InferType"));
  passes.push_back(count_extents_pass());
  passes.push_back(create_pass("ExpandOps"));
  plan_all();
  passes.push_back(create_pass("InferType"));
  if (level > 0 && !devices) {
    passes.push_back(inline_once_pass(entries));
    passes.push_back(create_pass("InferType"));
  }
  // Standard passes do not see through lets; inlining makes new ones. A tuple stays bound, so that
  // a field that fails does so although nobody asks for it.
  if (level > 0) passes.push_back(graph_lets_pass(false));
  passes.push_back(create_pass("InferType"));
  for (PassRef& pass : standard_passes(PassGoal::kMachine, level, context.required_passes))
    passes.push_back(pass);
  add_narrowing(precision, passes, context);
  plan_all();
  passes.push_back(create_pass("InferType"));
  if (level > 0) passes.push_back(graph_lets_pass());
  if (fuse && !devices) {
    passes.push_back(create_pass("InferType"));
    passes.push_back(accumulations_pass());
  }
  if (level > 0) passes.push_back(fields_apart_pass());
  passes.push_back(create_pass("InferType"));
  passes.push_back(create_pass("FuseOps", {{"fuse_opt_level", int64_t{fuse ? level : 0}},
                                           {"through_reshapes", true},
                                           {"around_folds", true}}));
  passes.push_back(create_pass("InferType"));
  return (*make_sequential(std::move(passes), "vm"))(module, context);
}

}  // namespace

Module narrowed(const Module& module, DType precision) {
  if (!precision.valid()) return module;
  PassContext context = PassContext::current_at(1);
  context.collect_errors = false;
  std::vector<PassRef> passes{create_pass("InferType"), create_pass("ExpandOps")};
  add_narrowing(precision, passes, context);
  passes.push_back(create_pass("InferType"));
  return (*make_sequential(std::move(passes), "vm.narrowed"))(module, context);
}

namespace {

uint64_t place_of(const relay::Function* function) {
  Span span = function->span();
  return span.known() ? (static_cast<uint64_t>(span.begin()) << 32) + span.end() : 0;
}

}  // namespace

std::string Prepared::name_of(const relay::Function* function) const {
  auto found = names.find(place_of(function));
  return found == names.end() ? "fn" : found->second;
}

Prepared prepare(const Module& module, std::span<const Name> entries, int level,
                 std::vector<Diagnostic>* warnings, DType precision) {
  Prepared result;
  PassContext context = PassContext::current_at(level);
  DiagnosticSink sink;
  context.diagnostics = &sink;
  const Module ours = generate_external_code(module, context);
  if (warnings != nullptr) *warnings = sink.take();
  Module wrapped = ours;
  for (const auto& entry : ours.functions()) {
    post_order(entry.function.get(), [&](const Expr* expr) {
      result.stops_fusion = result.stops_fusion || is_stop_fusion(expr);
      const auto* let = expr->as<Let>();
      const auto* function = let == nullptr ? nullptr : let->value()->as<relay::Function>();
      if (function != nullptr && function->span().known())
        result.names[place_of(function)] = "%" + let->var()->name().str();
    });
    ExprRef rewritten = with_name_literals(entry.function);
    if (!(rewritten == entry.function))
      wrapped.update_function(entry.name, relay::FunctionRef(rewritten->as<relay::Function>()));
  }
  const auto depth = context.config_value<int64_t>("relay.FuseOps.max_depth");
  result.most_operators = fuses(level) && !result.stops_fusion ? static_cast<size_t>(depth) : 1;
  result.module = optimize(wrapped, entries, level, precision);
  return result;
}

}  // namespace relay::vm
