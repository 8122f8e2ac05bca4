#include <relay/ir/expr.h>

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include <relay/ir/equal.h>
#include <relay/ir/module.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/op/registry/relation.h>
#include <relay/support/error.h>

#include <tests/unit/ir_testing.h>

namespace relay::ir_expr_test {
namespace {

using ir_testing::call;
using ir_testing::number;
using ir_testing::tuple;
using ir_testing::with_small_stack;

ConstructorRef cons() {
  static const ConstructorRef constructor = [] {
    GlobalTypeVarRef list = GlobalTypeVar::make("List");
    return make_constructor("Cons", list, 0, {TensorType::scalar(kInt32)});
  }();
  return constructor;
}

// One program with every kind of node, made afresh at each call.
FunctionRef everything() {
  static const Operator op;
  TypeRef i32 = TensorType::scalar(kInt32);
  TypeVarRef a = TypeVar::make("a", Kind::kType);
  VarRef x = make_var("x", i32);
  VarRef y = make_var("y", a);
  VarRef z = make_var("z");
  VarRef r = make_var("r");
  LiteralValue literal;
  literal.magnitude = 7;
  literal.text = "7";
  ExprRef shared = call(make_op(&op), x, number(3));
  std::vector<ExprRef> bodies{ExprRef(z), shared};
  ExprRef match = make_match(call(cons(), shared),
                             {Pattern::constructor(cons(), {Pattern::var(z)}), Pattern::wildcard()},
                             bodies, false);
  ExprRef refs = make_let(r, make_ref_create(match),
                          tuple(make_ref_write(r, make_literal(literal)), make_ref_read(r),
                                make_projection(tuple(x, y), 1)));
  ExprRef body = make_if(make_constant(NDArray::scalar(true)), refs,
                         make_temp(call(make_global_var("f"), shared), nullptr));
  return make_function({x, y}, body, IncompleteType::hole(), {a},
                       {RelationType::make(broadcast_relation(), {a, a, a}, 2)},
                       make_dict_attrs({{"Primitive", 1}}));
}

TEST(IrExpr, EveryKindThroughRebuildEqualHash) {
  FunctionRef f = everything();
  FunctionRef g = everything();
  std::string why;
  EXPECT_TRUE(structural_equal(f.get(), g.get(), {}, &why)) << why;
  EXPECT_EQ(structural_hash(f.get()), structural_hash(g.get()));
  std::set<ExprKind> kinds;
  post_order(f.get(), [&](const Expr* expr) {
    kinds.insert(expr->kind());
    std::vector<ExprRef> same(expr->operands().begin(), expr->operands().end());
    EXPECT_EQ(rebuild(expr, same).get(), expr);
    ExprRef copy = clone_node(expr);
    EXPECT_EQ(copy->kind(), expr->kind());
    if (!expr->is<Var>()) {
      EXPECT_TRUE(structural_equal(copy.get(), expr, {}, &why)) << why;
      EXPECT_EQ(structural_hash(copy.get()), structural_hash(expr));
    }
  });
  EXPECT_EQ(kinds.size(), static_cast<size_t>(ExprKind::kTempExpr) + 1);
  // A change anywhere is found.
  post_order(f.get(), [&](const Expr* target) {
    if (target->is<TempExpr>() || target == f.get()) return;
    ExprRef changed = rewrite_post_order(ExprRef(f.get()), [&](const Expr* expr, auto) -> ExprRef {
      return expr == target ? make_global_var("changed") : nullptr;
    });
    EXPECT_FALSE(structural_equal(changed.get(), f.get(), {}, &why));
    EXPECT_NE(structural_hash(changed.get()), structural_hash(f.get()));
    EXPECT_FALSE(why.empty());
  });
}

TEST(IrExpr, RebuildKeepsTypes) {
  TypeRef i32 = TensorType::scalar(kInt32);
  ExprRef x = make_var("x", i32);
  ExprRef y = make_var("y", i32);
  ExprRef z = make_var("z", i32);
  x->set_type(i32);
  y->set_type(i32);
  ExprRef f = make_global_var("f");
  ExprRef node = make_call(f, std::vector{x}, {}, {}, Span(9, 1));
  node->set_type(i32);
  ExprRef with_y = rebuild(node.get(), std::vector{f, y});
  EXPECT_EQ(with_y->type(), i32.get());
  EXPECT_TRUE(with_y->span() == Span(9, 1));
  EXPECT_EQ(rebuild(node.get(), std::vector{f, z})->type(), nullptr);
  EXPECT_EQ(rebuild(node.get(), std::vector{make_global_var("g"), x})->type(), nullptr);
  EXPECT_THROW(rebuild(make_ref_read(x).get(), std::vector{x, y}), InternalError);
  EXPECT_FALSE(node->publish_type(TensorType::scalar(kBool)));
  EXPECT_TRUE(node->publish_type(i32));
  EXPECT_EQ(node->type(), i32.get());
  node->set_type(TensorType::scalar(kBool));
  EXPECT_EQ(node->type(), TensorType::scalar(kBool).get());
}

TEST(IrExpr, RewriterChangesNothing) {
  FunctionRef f = everything();
  struct Nothing : Rewriter {};
  EXPECT_EQ(Nothing().run(f).get(), f.get());
  EXPECT_EQ(substitute(ExprRef(f), {{make_var("q").get(), number(1)}}).get(), f.get());
}

TEST(IrExpr, RewriterKeepsSharing) {
  ExprRef x = make_var("x");
  ExprRef shared = call(make_global_var("f"), x);
  ExprRef root = tuple(shared, shared);
  ExprRef result = substitute(root, {{x->as<Var>(), number(1)}});
  EXPECT_EQ(result->operands()[0], result->operands()[1]);
  EXPECT_NE(result->operands()[0], shared);
  EXPECT_EQ(count_nodes(result.get()), 4u);
}

TEST(IrExpr, RewriterHooksInOrder) {
  struct Tracer : Rewriter {
    std::string trace;
    ExprRef enter(const Expr* expr) override {
      trace += '<' + std::string(expr_kind_name(expr->kind()));
      return {};
    }
    void before(const Expr*, uint32_t operand, std::span<const ExprRef> done) override {
      EXPECT_EQ(done.size(), operand);
      trace += std::to_string(operand);
    }
    ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
      trace += '>';
      return rebuild(expr, operands);
    }
  } tracer;
  VarRef x = make_var("x");
  tracer.run(make_let(x, number(1), tuple(x, number(2))));
  EXPECT_EQ(tracer.trace, "<Let0<Constant>1<Tuple0<Var>1<Constant>>>");
}

TEST(IrExpr, SubstituteLeavesBoundVariables) {
  VarRef x = make_var("x");
  ExprRef f = make_function({x}, x);
  EXPECT_EQ(substitute(f, {{x.get(), number(1)}}), f);
}

TEST(IrExpr, CopyWithFreshVars) {
  FunctionRef f = everything();
  ExprRef copy = copy_with_fresh_vars(f);
  std::string why;
  EXPECT_TRUE(structural_equal(copy.get(), f.get(), {}, &why)) << why;
  auto old = bound_vars(f.get());
  auto fresh = bound_vars(copy.get());
  ASSERT_EQ(old.size(), fresh.size());
  for (size_t i = 0; i < old.size(); ++i) EXPECT_NE(old[i], fresh[i]);
  EXPECT_TRUE(free_vars(copy.get()).empty());
  // With types, the parameter is replaced everywhere.
  const TypeVar* a = f->type_params()[0].get();
  ExprRef typed = copy_with_fresh_vars(f, [&](const TypeRef& type) {
    return substitute(type, [&](const TypeVar* var) {
      return var == a ? TensorType::scalar(kInt32) : TypeRef();
    });
  });
  EXPECT_TRUE(typed->as<Function>()->type_params().empty());
  EXPECT_EQ(typed->as<Function>()->params()[1]->annotation(), TensorType::scalar(kInt32));
}

std::vector<std::string> names(const std::vector<VarRef>& vars) {
  std::vector<std::string> result;
  for (const VarRef& var : vars) result.push_back(var->name().str());
  return result;
}

TEST(IrExpr, FreeAndBoundVariables) {
  using Names = std::vector<std::string>;
  VarRef x = make_var("x"), y = make_var("y"), a = make_var("a"), b = make_var("b"),
         f = make_var("f");
  ExprRef add = make_global_var("add");
  ExprRef inner = make_function({b}, call(add, b, a));
  ExprRef body = make_let(a, call(add, x, y), make_let(f, inner, call(f, x)));
  FunctionRef whole = make_function({x, y}, body);
  EXPECT_EQ(names(free_vars(whole.get())), Names{});
  EXPECT_EQ(names(free_vars(body.get())), (Names{"x", "y"}));
  EXPECT_EQ(names(free_vars(inner.get())), (Names{"a"}));
  EXPECT_EQ(names(free_vars(call(add, y, call(add, x, y)).get())), (Names{"y", "x"}));
  EXPECT_EQ(names(bound_vars(whole.get())), (Names{"x", "y", "a", "f", "b"}));
}

TEST(IrExpr, Module) {
  Module module;
  VarRef x = make_var("x");
  FunctionRef f = make_function({x}, x);
  module.add_function("f", f);
  EXPECT_EQ(module.entry()->name, Name("f"));
  module.add_function("g", f);
  EXPECT_EQ(module.entry(), nullptr);
  module.add_function("main", f);
  EXPECT_EQ(module.entry()->name, Name("main"));
  EXPECT_THROW(module.add_function("f", f), Error);
  FunctionRef g = make_function({}, number(1));
  module.update_function("f", g);
  EXPECT_EQ(module.function("f"), g.get());
  EXPECT_EQ(module.functions()[0].name, Name("f"));
  module.remove_function("f");
  EXPECT_EQ(module.function("f"), nullptr);
  EXPECT_EQ(module.function("main"), f.get());
  EXPECT_EQ(module.fresh_name("g"), Name("g_1"));
  EXPECT_EQ(module.fresh_name("h"), Name("h"));
}

TEST(IrExpr, FreshNamesAreNew) {
  Module module;
  FunctionRef f = make_function({}, number(1));
  auto add = [&](const char* name) { module.add_function(name, f); };
  auto fresh = [&](const char* name) { return module.fresh_name(name).str(); };
  for (const char* name : {"g", "g_7", "g_05", "g_", "_3", "_", "h", "h_999999999999999999",
                           "h_1_2", "h_1", "k", "k_99999999999999999999999", "l_2"})
    add(name);
  EXPECT_EQ(fresh("g"), "g_8");
  EXPECT_EQ(fresh("h"), "h_1000000000000000000");
  EXPECT_EQ(fresh("h_1"), "h_1_3");
  EXPECT_EQ(fresh("k"), "k_1");
  EXPECT_EQ(fresh("l"), "l");
  EXPECT_EQ(fresh("_"), "__1");
  add("h_1000000000000000000");  // beyond what is counted
  EXPECT_EQ(fresh("h"), "h_1000000000000000001");
  module.remove_function("g_7");
  EXPECT_EQ(fresh("g"), "g_8");
}

TEST(IrExpr, ManyFunctionsAreRemovedAndNamed) {
  // Quadratic work would take minutes.
  constexpr size_t kMany = 200'000;
  Module module;
  FunctionRef f = make_function({}, number(1));
  for (size_t i = 0; i < kMany; ++i) module.add_function(module.fresh_name("f"), f);
  EXPECT_EQ(module.functions().back().name, Name("f_" + std::to_string(kMany - 1)));
  for (size_t i = 0; i + 2 < kMany; ++i) {
    Name name(i == 0 ? "f" : "f_" + std::to_string(i));
    ASSERT_NE(module.function(name), nullptr);
    module.remove_function(name);
    ASSERT_EQ(module.function(name), nullptr);
  }
  const Module copy = module;
  module.add_function("last", f);
  module.update_function("f_" + std::to_string(kMany - 1), make_function({}, number(2)));
  std::vector<std::string> names;
  for (const auto& entry : module.functions()) names.push_back(entry.name.str());
  EXPECT_EQ(names, (std::vector<std::string>{"f_199998", "f_199999", "last"}));
  EXPECT_NE(module.functions()[1].function, f);
  EXPECT_EQ(copy.functions().size(), 2u);
  EXPECT_EQ(copy.functions()[1].function, f);
  EXPECT_EQ(copy.entry(), nullptr);
}

TEST(IrExpr, ThreadsLookAtAModuleWithGaps) {
  FunctionRef f = make_function({}, number(1));
  for (int round = 0; round < 20; ++round) {
    Module module;
    for (int i = 0; i < 100; ++i) module.add_function("f" + std::to_string(i), f);
    module.add_function("main", f);
    for (int i = 0; i < 100; i += 2) module.remove_function("f" + std::to_string(i));
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        const Module& seen = module;
        if (t == 0 && seen.functions().size() != 51) ++wrong;
        if (t == 1 && seen.entry()->name != Name("main")) ++wrong;
        if (t == 2 && Module(seen).functions()[50].name != Name("main")) ++wrong;
        if (seen.function("f1") != f.get() || seen.function("f2") != nullptr) ++wrong;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(IrExpr, AnotherBodyKeepsTheRest) {
  TypeVarRef t = TypeVar::make("t", Kind::kType);
  VarRef x = make_var("x", t), y = make_var("y", t);
  const Relation* identity = find_relation("Identity");
  ASSERT_NE(identity, nullptr);
  AttrsRef attrs = make_dict_attrs({{"Inline", AttrValue(int64_t{1})}});
  FunctionRef f = make_function({x, y}, x, t, {t}, {RelationType::make(identity, {}, 0, {})}, attrs,
                                Span(3, 4));
  FunctionRef g = with_body(f, y);
  EXPECT_EQ(g->body(), y);
  EXPECT_EQ(g->params(), f->params());
  EXPECT_EQ(g->ret_type(), f->ret_type());
  EXPECT_EQ(g->type_params(), f->type_params());
  EXPECT_EQ(g->constraints(), f->constraints());
  EXPECT_EQ(g->attrs(), f->attrs());
  EXPECT_TRUE(g->span() == f->span());
  EXPECT_EQ(with_body(f, x), f);
  EXPECT_EQ(with_body(f, {x, y}, x), f);
  // With other parameters, a relation of all of them is still about those that there were.
  FunctionRef h = with_body(f, {y}, y);
  EXPECT_EQ(h->params().size(), 1u);
  ASSERT_EQ(h->constraints().size(), 1u);
  EXPECT_EQ(h->constraints()[0]->str(), "Identity(t, t, t)");
  EXPECT_TRUE(h->span() == f->span());
  FunctionRef open = make_function({make_var("z"), y}, y, t, {t}, f->constraints());
  try {
    with_body(open, {y}, y);
    FAIL() << "a relation lost its arguments";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "relation Identity is of all parameters and the result, which must be annotated "
                 "before parameters can change");
  }
}

constexpr int kDeep = 1000000;

void exercise(ExprRef (*build)()) {
  with_small_stack([build] {
    ExprRef root = build();
    ExprRef other = build();
    EXPECT_GE(count_nodes(root.get()), static_cast<size_t>(kDeep));
    struct Nothing : Rewriter {};
    EXPECT_EQ(Nothing().run(root), root);
    EqualOptions mapped{.map_free_vars = true, .respect_sharing = true};
    std::string why;
    EXPECT_TRUE(structural_equal(root.get(), other.get(), mapped, &why)) << why;
    EXPECT_EQ(structural_hash(root.get(), mapped), structural_hash(other.get(), mapped));
    ExprRef copy = copy_with_fresh_vars(root);
    EXPECT_TRUE(structural_equal(root.get(), copy.get(), {}, &why)) << why;
    std::unordered_map<const Var*, ExprRef> map{{free_vars(root.get())[0].get(), number(1)}};
    EXPECT_FALSE(structural_equal(substitute(root, map).get(), root.get()));
  });
}

TEST(IrDeep, CallChain) {
  exercise([]() -> ExprRef {
    ExprRef f = make_global_var("f");
    ExprRef expr = make_var("x");
    for (int i = 0; i < kDeep; ++i) expr = make_call(f, {&expr, 1});
    return expr;
  });
}

TEST(IrDeep, LetChain) {
  exercise([]() -> ExprRef {
    ExprRef f = make_global_var("f");
    std::vector<VarRef> vars{make_var("x")};
    for (int i = 0; i < kDeep; ++i) vars.push_back(make_var("v"));
    ExprRef expr = vars.back();
    for (size_t i = kDeep; i >= 1; --i) expr = make_let(vars[i], call(f, vars[i - 1]), expr);
    return expr;
  });
}

TEST(IrDeep, FunctionsAndPatterns) {
  with_small_stack([] {
    ExprRef expr = number(1);
    for (int i = 0; i < kDeep; ++i) expr = make_function({make_var("x")}, expr);
    expr = {};
    PatternRef pattern = Pattern::var(make_var("x"));
    for (uint32_t i = 1; i < Pattern::kMaxDepth; ++i) {
      pattern = Pattern::constructor(cons(), {pattern});
    }
    EXPECT_THROW(Pattern::constructor(cons(), {pattern}), Error);
    ExprRef match = make_match(number(1), {pattern}, std::vector{number(2)});
    EXPECT_TRUE(structural_equal(copy_with_fresh_vars(match).get(), match.get()));
    structural_hash(match.get());
    pattern = {};
  });
}

TEST(IrExpr, ThreadsShareNodes) {
  FunctionRef f = everything();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  std::atomic<const Type*> first{nullptr};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong, &first, f, t] {
      for (int i = 0; i < 300; ++i) {
        ExprRef copy = copy_with_fresh_vars(f);
        if (!structural_equal(copy.get(), f.get())) ++wrong;
        // The first type stays.
        TypeRef mine = TensorType::make(std::vector<Dim>{i % 3, t}, kInt32);
        bool published = f->body()->publish_type(mine);
        const Type* type = f->body()->type();
        if (published != (type == mine.get())) ++wrong;
        const Type* expected = nullptr;
        if (!first.compare_exchange_strong(expected, type) && expected != type) ++wrong;
        if (type->str().empty()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace relay::ir_expr_test
