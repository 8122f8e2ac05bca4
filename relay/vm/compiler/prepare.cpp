#include <relay/vm/compiler/prepare.h>

#include <relay/ir/effects.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/transform/lets.h>
#include <relay/transform/pass.h>

namespace relay::vm {
namespace {

// Operators and constructors as values become functions that call them, one for each use, since
// their types may differ.
class Wrapper final : public Rewriter {
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    std::vector<ExprRef> wrapped(operands.begin(), operands.end());
    for (size_t i = 0; i < wrapped.size(); ++i) {
      if (i == 0 && expr->is<Call>()) continue;
      if (wrapped[i]->is<relay::Op>() || wrapped[i]->is<Constructor>())
        wrapped[i] = wrap(wrapped[i], expr->span());
    }
    return rebuild(expr, wrapped);
  }

  static ExprRef wrap(const ExprRef& callable, Span span) {
    size_t arity = callable->is<relay::Op>() ? callable->as<relay::Op>()->op()->num_inputs()
                                             : callable->as<Constructor>()->inputs().size();
    std::vector<VarRef> params;
    std::vector<ExprRef> args;
    for (size_t i = 0; i < arity; ++i) {
      params.push_back(make_var("x" + std::to_string(i)));
      args.push_back(params.back());
    }
    return make_function(std::move(params), make_call(callable, args, {}, {}, span), {}, {}, {}, {},
                         span);
  }
};

// Lets of tensors become nodes of the graph, so that operators can be fused across them. Lets of
// everything else keep their places and names.
FunctionRef graph_lets(const FunctionRef& function, const Effects& effects) {
  Lets lets(function.get());
  if (lets.all().empty()) return function;
  std::unordered_set<const Expr*> effectful;
  if (effects.any()) effectful = effects.effectful_nodes(function.get());
  PointerSet<Var> kept;
  if (lets.closures()) kept = used_in_closures_only(function.get());
  PointerSet<Let> removed;
  for (const Let* let : lets.all()) {
    const Expr* value = let->value().get();
    const auto* call = value->as<Call>();
    bool dataflow = value->is<Constant>() || value->is<Tuple>() || value->is<TupleGetItem>() ||
                    (call != nullptr && call->callee()->is<relay::Op>());
    if (!dataflow || effectful.count(value) != 0 || !keeps_type(let)) continue;
    const Var* var = let->var().get();
    if (lets.uses(var) == 0 || is_polymorphic(var) || kept.contains(var)) continue;
    removed.insert(let);
  }
  return without_lets(function, removed);
}

// How many numbers a range of floats has is no term over integers: it is computed as a number, and
// the range counts.
ExprRef float_range(const Call* call, std::span<const ExprRef> operands) {
  const auto* op = call->callee()->as<relay::Op>();
  static const Operator* const arange = get_op("arange");
  if (op == nullptr || op->op() != arange || call->args().size() != 3) return {};
  const auto* type =
      call->args()[0]->type() == nullptr ? nullptr : call->args()[0]->type()->as<TensorType>();
  if (type == nullptr || !type->has_dtype() || !type->dtype().is_float()) return {};
  bool constant = true;
  for (const ExprRef& arg : call->args()) constant &= arg->is<Constant>();
  if (constant) return {};
  Span span = call->span();
  auto cast = [&](const ExprRef& expr, DType dtype) {
    NamedAttr attr{"dtype", AttrValue(dtype), {}};
    const auto& schema = *get_op("cast")->attrs_schema();
    return call_op("cast", {expr}, Attrs::make(schema, std::span(&attr, 1), span), span);
  };
  ExprRef start = cast(operands[1], kFloat64), stop = cast(operands[2], kFloat64),
          step = cast(operands[3], kFloat64);
  ExprRef distance = call_op("subtract", {stop, start}, {}, span);
  ExprRef count = call_op("ceil", {call_op("divide", {distance, step}, {}, span)}, {}, span);
  auto number = [](int64_t value) { return make_constant(NDArray::scalar_int(kInt64, value)); };
  ExprRef index = call_op("arange", {number(0), cast(count, kInt64), number(1)}, {}, span);
  ExprRef scaled = call_op("multiply", {operands[3], cast(index, type->dtype())}, {}, span);
  ExprRef result = call_op("add", {operands[1], scaled}, {}, span);
  const auto* wanted = call->type() == nullptr ? nullptr : call->type()->as<TensorType>();
  return wanted != nullptr && wanted->has_dtype() ? cast(result, wanted->dtype()) : result;
}

PassRef float_ranges_pass() {
  PassInfo info;
  info.name = "vm.FloatRanges";
  info.requires_ = {ProgramState::kTyped};
  return make_function_pass(
      info, [](const FunctionRef& function, const Module&, const PassContext&) {
        ExprRef result = rewrite_post_order(
            function, [](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
              const auto* call = expr->as<Call>();
              return call == nullptr ? ExprRef() : float_range(call, operands);
            });
        return FunctionRef(result->as<relay::Function>());
      });
}

PassRef graph_lets_pass() {
  PassInfo info;
  info.name = "vm.GraphLets";
  info.requires_ = {ProgramState::kTyped};
  return make_prepared_function_pass(info, [](const Module& module, const PassContext&) {
    return [effects = std::make_shared<Effects>(module)](const FunctionRef& function) {
      return graph_lets(function, *effects);
    };
  });
}

Module optimize(const Module& module, int level) {
  PassContext context;
  context.opt_level = level;
  std::vector<PassRef> passes;
  passes.push_back(create_pass("InferType"));
  passes.push_back(float_ranges_pass());
  passes.push_back(create_pass("ExpandOps"));
  // Norms stay whole: they are row programs.
  for (const char* name : {"InferType", "Inline", "EliminateCommonSubexpr", "FoldConstant",
                           "CanonicalizeOps", "FoldConstant", "DeadCodeElimination"}) {
    PassRef pass = create_pass(name);
    if (context.enabled(pass->info())) passes.push_back(std::move(pass));
  }
  if (level > 0) passes.push_back(graph_lets_pass());
  passes.push_back(create_pass("InferType"));
  passes.push_back(create_pass("FuseOps", {{"fuse_opt_level", int64_t{level}}}));
  passes.push_back(create_pass("InferType"));
  context.opt_level = std::max(level, 1);  // fusion, even if it leaves each operator alone
  return (*make_sequential(std::move(passes), "vm"))(module, context);
}

uint64_t place_of(const relay::Function* function) {
  Span span = function->span();
  return span.known() ? (static_cast<uint64_t>(span.begin()) << 32) + span.end() : 0;
}

}  // namespace

std::string Prepared::name_of(const relay::Function* function) const {
  auto found = names.find(place_of(function));
  return found == names.end() ? "fn" : found->second;
}

Prepared prepare(const Module& module, int level) {
  Prepared result;
  Module wrapped = module;
  for (const auto& entry : module.functions()) {
    post_order(entry.function.get(), [&](const Expr* expr) {
      const auto* let = expr->as<Let>();
      const auto* function = let == nullptr ? nullptr : let->value()->as<relay::Function>();
      if (function != nullptr && function->span().known())
        result.names[place_of(function)] = "%" + let->var()->name().str();
    });
    ExprRef rewritten = Wrapper().run(entry.function);
    if (!(rewritten == entry.function))
      wrapped.update_function(entry.name, relay::FunctionRef(rewritten->as<relay::Function>()));
  }
  result.module = optimize(wrapped, level);
  return result;
}

}  // namespace relay::vm
