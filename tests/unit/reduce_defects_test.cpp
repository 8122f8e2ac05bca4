// Planted defects: passes that are wrong about one thing, in random programs of a hundred lines and
// more. Each program is reduced to at most 15 lines.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/ir/equal.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/reduce/predicates.h>
#include <relay/support/error.h>
#include <relay/transform/pass.h>

#include <tests/support/random_dataflow.h>
#include <tests/support/typed_program.h>

namespace relay::reduce_defects_test {
namespace {

using Kind = reduce::Outcome::Kind;
using RewriteFn = std::function<ExprRef(const Expr*, std::span<const ExprRef>)>;
using Plant = std::function<ExprRef(const ExprRef&)>;

bool calls(const Expr* expr, std::string_view op) {
  const auto* call = expr->as<Call>();
  const auto* callee = call == nullptr ? nullptr : call->callee()->as<Op>();
  return callee != nullptr && callee->op()->name().view() == op;
}

PassRef pass_of(const char* name, RewriteFn rewrite) {
  PassInfo info;
  info.name = name;
  info.requires_ = {ProgramState::kTyped};
  return make_function_pass(
      info, [rewrite](const FunctionRef& function, const Module&, const PassContext&) {
        ExprRef result = rewrite_post_order(function, rewrite);
        return FunctionRef(result->as<Function>());
      });
}

ExprRef number(int64_t value, DType dtype = kInt32) {
  return make_constant(NDArray::scalar_int(dtype, value));
}

ExprRef cast_to(const ExprRef& expr, DType dtype) {
  CastAttrs attrs;
  attrs.dtype.value = dtype;
  return call_op("cast", {expr}, Attrs::make(attrs));
}

// A random program with something planted in the middle: what `plant` makes of a number that it
// computes stands in that number's place.
Module planted(uint32_t seed, const Plant& plant, bool references = false) {
  for (;; ++seed) {
    Module module = testing::TypedProgram(seed, references).module();
    if (reduce::program_lines(module) < 100) continue;
    infer_types_or_throw(module);
    std::vector<const Expr*> numbers;
    const Function* main = module.function("main");
    post_order(main, [&](const Expr* expr) {
      if (expr->is<Call>() && expr->type() == TypeRef(TensorType::scalar(kInt32)).get())
        numbers.push_back(expr);
    });
    if (numbers.size() < 8) continue;
    const Expr* chosen = numbers[numbers.size() / 2];
    ExprRef changed = rewrite_post_order(
        FunctionRef(main), [&](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
          if (expr != chosen) return {};
          return plant(rebuild(expr, operands));
        });
    module.update_function("main", FunctionRef(changed->as<Function>()));
    if (!verify(module).empty()) continue;
    std::vector<Diagnostic> problems = infer_types(module);
    EXPECT_TRUE(problems.empty()) << render(problems);
    return module;
  }
}

reduce::Arguments arguments() {
  reduce::Arguments result;
  result.entry = "main";
  result.given = {{"x", Value::scalar<int32_t>(3)},
                  {"y", Value::scalar<int32_t>(5)},
                  {"v", Value(NDArray::from<int32_t>({3}, {2, 4, -1}))},
                  {"c", Value::scalar(Bool(true))}};
  return result;
}

reduce::Outcome outcome(const Module& module, const reduce::PassCheck& check,
                        const reduce::Arguments& arguments, const reduce::Limits& limits) {
  return reduce::run_isolated([&] { return reduce::check_passes(module, check, arguments); },
                              limits);
}

void expect_reduced(const Module& module, const reduce::PassCheck& check,
                    const reduce::Arguments& arguments, const reduce::Limits& limits, Kind kind,
                    const std::string& name) {
  reduce::Outcome found = outcome(module, check, arguments, limits);
  ASSERT_EQ(found.kind, kind) << reduce::outcome_text(found.kind) << " " << found.text;
  size_t before = reduce::program_lines(module);
  ASSERT_GE(before, 100u);
  auto predicate = reduce::fails_like(
      [&](const Module& m) { return reduce::check_passes(m, check, arguments); }, found, limits);
  auto begin = std::chrono::steady_clock::now();
  reduce::Result result = reduce::reduce(module, predicate);
  double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::string text = print_module(result.module);
  size_t after = reduce::program_lines(result.module);
  std::cout << "  " << name << ": " << before << " lines to " << after << ", "
            << reduce::program_size(module) << " nodes to " << reduce::program_size(result.module)
            << ", " << result.tries << " tries, " << result.refused << " refused, " << took
            << " s\n";
  if (std::getenv("RELAY_SHOW_REDUCED") != nullptr) std::cout << text << "\n";
  EXPECT_EQ(result.end, reduce::Result::End::kSmallest);
  EXPECT_LE(after, 15u) << text;
  // The printed program fails in the same way.
  ParseResult again = parse_text("printed", text);
  ASSERT_TRUE(again.ok()) << text << render(again.diagnostics);
  infer_types_or_throw(again.module);
  EXPECT_TRUE(predicate(again.module)) << text;
}

// Reduces the first random program for which the pass fails as said.
void expect_small(const PassRef& pass, const Plant& plant, Kind kind, bool references = false,
                  double seconds = 20) {
  reduce::PassCheck check;
  check.passes = {pass};
  check.run = kind == Kind::kDiffers || kind == Kind::kFails;
  reduce::Limits limits;
  limits.seconds = seconds;
  for (uint32_t seed = 1; seed < 2000; seed += 7) {
    Module module = planted(seed, plant, references);
    // The planted defect need not matter for the result.
    if (outcome(module, check, arguments(), limits).kind != kind) continue;
    expect_reduced(module, check, arguments(), limits, kind, pass->info().name.str());
    return;
  }
  FAIL() << "no program shows the defect";
}

ExprRef sum_of_constants(const ExprRef& x) {
  return call_op("add",
                 {x, cast_to(call_op("add", {number(2, kInt64), number(3, kInt64)}), kInt32)});
}

TEST(ReduceDefects, FoldsOneDTypeWrong) {
  PassRef pass =
      pass_of("FoldInt64", [](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
        if (!calls(expr, "add") || operands.size() != 3) return {};
        const auto* a = operands[1]->as<Constant>();
        const auto* b = operands[2]->as<Constant>();
        if (a == nullptr || b == nullptr || a->data().dtype() != kInt64) return {};
        return number(a->data().item_as_int64() + b->data().item_as_int64() + 1, kInt64);
      });
  expect_small(pass, sum_of_constants, Kind::kDiffers);
}

TEST(ReduceDefects, DropsALet) {
  PassRef pass =
      pass_of("DropLet", [](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
        const auto* let = expr->as<Let>();
        return let != nullptr && let->value()->is<RefWrite>() ? operands[1] : ExprRef();
      });
  auto plant = [](const ExprRef& x) -> ExprRef {
    VarRef cell = make_var("cell"), none = make_var("_");
    ExprRef body = make_let(none, make_ref_write(cell, number(77)), make_ref_read(cell));
    return make_let(cell, make_ref_create(x), body);
  };
  expect_small(pass, plant, Kind::kDiffers, true);
}

TEST(ReduceDefects, CrashesOnNestedMatch) {
  PassRef pass = pass_of("Crash", [](const Expr* expr, std::span<const ExprRef>) -> ExprRef {
    const auto* match = expr->as<Match>();
    if (match == nullptr) return {};
    for (const ExprRef& body : match->clause_bodies()) {
      bool inner = false;
      post_order(body.get(), [&](const Expr* e) { inner |= e->is<Match>(); });
      if (inner) std::raise(SIGSEGV);
    }
    return {};
  });
  auto plant = [](const ExprRef& x) -> ExprRef {
    // Tuples are matched as data types are.
    VarRef a = make_var("a"), b = make_var("b"), c = make_var("c");
    std::vector<ExprRef> pair{x, number(4)};
    std::vector<ExprRef> inner_pair{b, number(5)};
    ExprRef inner_body = call_op("add", {c, a});
    ExprRef inner =
        make_match(make_tuple(inner_pair), {Pattern::tuple({Pattern::var(c), Pattern::wildcard()})},
                   std::span(&inner_body, 1));
    return make_match(make_tuple(pair), {Pattern::tuple({Pattern::var(a), Pattern::var(b)})},
                      std::span(&inner, 1));
  };
  expect_small(pass, plant, Kind::kCrashes);
}

TEST(ReduceDefects, Hangs) {
  PassRef pass = pass_of("Hang", [](const Expr* expr, std::span<const ExprRef>) -> ExprRef {
    const auto* choice = expr->as<If>();
    if (choice == nullptr || !calls(choice->condition().get(), "not_equal")) return {};
    if (!calls(choice->then_branch().get(), "floor_mod")) return {};
    for (volatile bool forever = true; forever;) {
    }
    return {};
  });
  auto plant = [](const ExprRef& x) -> ExprRef {
    return make_if(call_op("not_equal", {x, number(9)}), call_op("floor_mod", {x, number(6)}),
                   call_op("add", {x, number(6)}));
  };
  expect_small(pass, plant, Kind::kHangs, false, 1.5);
}

TEST(ReduceDefects, LeavesIllTypedProgram) {
  PassRef pass =
      pass_of("IllTyped", [](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
        if (!calls(expr, "right_shift")) return {};
        return call_op("divide", {operands[1], cast_to(operands[2], kFloat32)});
      });
  auto plant = [](const ExprRef& x) { return call_op("right_shift", {x, number(1)}); };
  expect_small(pass, plant, Kind::kIllTyped);
}

TEST(ReduceDefects, LeavesUnboundVariable) {
  // Forgets to put the argument in the parameter's place.
  PassRef pass =
      pass_of("Unbound", [](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
        const auto* call = expr->as<Call>();
        const auto* callee = call == nullptr ? nullptr : operands[0]->as<Function>();
        if (callee == nullptr || !calls(callee->body().get(), "bitwise_xor")) return {};
        return callee->body();
      });
  auto plant = [](const ExprRef& x) -> ExprRef {
    VarRef p = make_var("p", TensorType::scalar(kInt32));
    std::vector<ExprRef> args{x};
    return make_call(make_function({p}, call_op("bitwise_xor", {p, number(3)})), args);
  };
  expect_small(pass, plant, Kind::kIllFormed);
}

TEST(ReduceDefects, ThrowsOnATuple) {
  PassRef pass = pass_of("Throws", [](const Expr* expr, std::span<const ExprRef>) -> ExprRef {
    const auto* projection = expr->as<TupleGetItem>();
    const auto* tuple = projection == nullptr ? nullptr : projection->tuple()->as<Tuple>();
    RELAY_CHECK(tuple == nullptr || tuple->fields().size() < 3 || projection->index() != 2,
                "the third field of a tuple");
    return {};
  });
  auto plant = [](const ExprRef& x) -> ExprRef {
    std::vector<ExprRef> fields{number(1), x, call_op("negative", {x}), number(2)};
    return make_projection(make_tuple(fields), 2);
  };
  expect_small(pass, plant, Kind::kThrows);
}

TEST(ReduceDefects, SwapsOperandsInClosures) {
  PassRef pass = pass_of("Swap", [](const Expr* expr, std::span<const ExprRef>) -> ExprRef {
    const auto* function = expr->as<Function>();
    if (function == nullptr || !calls(function->body().get(), "power")) return {};
    const auto* call = function->body()->as<Call>();
    std::vector<ExprRef> args{call->args()[1], call->args()[0]};
    return make_function(function->params(), make_call(call->callee(), args, call->attrs()),
                         function->ret_type());
  });
  auto plant = [](const ExprRef& x) -> ExprRef {
    VarRef p = make_var("p", TensorType::scalar(kFloat32)), f = make_var("f");
    ExprRef body = call_op("power", {p, make_constant(NDArray::scalar(kFloat32, 3.0))});
    std::vector<ExprRef> args{make_constant(NDArray::scalar(kFloat32, 2.0))};
    ExprRef result = cast_to(make_call(f, args), kInt32);
    return make_let(f, make_function({p}, body), call_op("add", {x, result}));
  };
  expect_small(pass, plant, Kind::kDiffers);
}

TEST(ReduceDefects, MergesWhatIsNotEqual) {
  // Two calls of one operator on one first argument become one, whatever the second argument.
  PassRef pass =
      pass_of("Merge", [](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
        if (!calls(expr, "add") || operands.size() != 3) return {};
        if (!calls(operands[1].get(), "left_shift") || !calls(operands[2].get(), "left_shift"))
          return {};
        if (operands[1]->operands()[1] != operands[2]->operands()[1]) return {};
        return call_op("add", {operands[1], operands[1]});
      });
  auto plant = [](const ExprRef& x) -> ExprRef {
    return call_op("add",
                   {call_op("left_shift", {x, number(1)}), call_op("left_shift", {x, number(3)})});
  };
  expect_small(pass, plant, Kind::kDiffers);
}

// Tensors: a product and an activation that are fused together change their sign.
TEST(ReduceDefects, MiscompilesAFusedPattern) {
  PassRef fuse = create_pass("FuseOps");
  PassRef broken = pass_of("BreakFused", [](const Expr* expr, std::span<const ExprRef>) -> ExprRef {
    const auto* function = expr->as<Function>();
    if (function == nullptr || dict_attr(function->attrs(), "Primitive").is_none()) return {};
    bool product = false, activation = false;
    post_order(function->body().get(), [&](const Expr* e) {
      product |= calls(e, "nn.dense");
      activation |= calls(e, "tanh");
    });
    if (!product || !activation) return {};
    return make_function(function->params(), call_op("negative", {function->body()}), {}, {}, {},
                         function->attrs());
  });
  reduce::PassCheck check;
  check.passes = {fuse, broken};
  reduce::Limits limits;
  limits.seconds = 20;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    // Several random programs side by side are one of a hundred lines.
    std::vector<VarRef> params;
    std::vector<ExprRef> fields;
    reduce::Arguments arguments;
    arguments.entry = "main";
    for (uint32_t k = 0; k < 8; ++k) {
      testing::RandomDataflow part(8 * seed + k);
      FunctionRef function(copy_with_fresh_vars(part.function())->as<Function>());
      std::unordered_map<const Var*, ExprRef> renamed;
      for (size_t i = 0; i < function->params().size(); ++i) {
        const VarRef& old = function->params()[i];
        VarRef param =
            make_var("x" + std::to_string(k) + "_" + std::to_string(i), old->annotation());
        arguments.given[param->name().str()] = part.arguments()[i];
        params.push_back(param);
        renamed[old.get()] = param;
      }
      fields.push_back(substitute(function->body(), renamed));
    }
    const Dim four[] = {Dim(4), Dim(6)};
    VarRef a = make_var("a", TensorType::make(four, kFloat32));
    VarRef b = make_var("b", TensorType::make(four, kFloat32));
    params.insert(params.end(), {a, b});
    fields.push_back(call_op("exp", {call_op("tanh", {call_op("nn.dense", {a, b})})}));
    Module module;
    module.add_function("main", make_function(params, make_tuple(fields)));
    if (reduce::program_lines(module) < 100) continue;
    infer_types_or_throw(module);
    expect_reduced(module, check, arguments, limits, Kind::kDiffers, "BreakFused");
    return;
  }
  FAIL() << "no program is long enough";
}

}  // namespace
}  // namespace relay::reduce_defects_test
