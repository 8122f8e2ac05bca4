#include <relay/vm/compiler/compile.h>

#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/op/op.h>
#include <relay/support/error.h>
#include <relay/transform/pass.h>
#include <relay/vm/compiler/program.h>

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
    return make_function(std::move(params), make_call(callable, args, {}, {}, span), {}, {}, {},
                         {}, span);
  }
};

Module wrap_callables(const Module& module) {
  Module result = module;
  for (const auto& entry : module.functions()) {
    ExprRef rewritten = Wrapper().run(entry.function);
    if (!(rewritten == entry.function))
      result.update_function(entry.name, relay::FunctionRef(rewritten->as<relay::Function>()));
  }
  return result;
}

Module optimize(const Module& module, int level) {
  PassContext context;
  context.opt_level = level;
  std::vector<PassRef> passes;
  for (const char* name : {"InferType", "Inline", "SimplifyInference", "EliminateCommonSubexpr",
                           "FoldConstant", "CanonicalizeOps", "FoldConstant",
                           "DeadCodeElimination", "ToGraphNormalForm", "InferType"}) {
    PassRef pass = create_pass(name);
    if (context.enabled(pass->info())) passes.push_back(std::move(pass));
  }
  passes.push_back(create_pass("FuseOps", {{"fuse_opt_level", int64_t{level}}}));
  passes.push_back(create_pass("InferType"));
  context.opt_level = std::max(level, 1);  // fusion, even if it leaves each operator alone
  return (*make_sequential(std::move(passes), "vm"))(module, context);
}

}  // namespace

std::shared_ptr<const Executable> compile(const Module& module, std::span<const Name> entries,
                                          const CompileOptions& options) {
  Module optimized = optimize(wrap_callables(module), options.level);
  auto executable = std::make_shared<Executable>();
  ProgramBuilder(optimized, *executable, options).run(entries);
  verify(*executable);
  return executable;
}

std::shared_ptr<const Executable> compile(const Module& module, Name entry,
                                          const CompileOptions& options) {
  return compile(module, std::span(&entry, 1), options);
}

}  // namespace relay::vm
