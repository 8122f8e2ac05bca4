// Combiners of folds: whether elements may be joined in any order is declared, and the declarations
// of our operators are true.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include <relay/ir/visit.h>
#include <relay/lower/lower.h>
#include <relay/lower/scalars.h>
#include <relay/op/op.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/evaluate.h>
#include <relay/tensor_expr/walk.h>

#include <tests/unit/kernel_testing.h>
#include <tests/unit/lower_cases.h>

namespace relay::te::te_combiner_test {
namespace {

// The last value of 100 or more, else the greatest: the order counts, but only among large values.
Computation last_large(std::vector<Dim> extents, bool said_to_commute) {
  Builder b({{extents, kInt32}});
  b.output(b.map({}, [&](Indices) {
    return b.fold(
        extents, [&](Indices k) -> std::vector<Scalar> { return {b.input(0)(k)}; },
        [](auto l, auto r) -> std::vector<Scalar> {
          Scalar large = constant(100, kInt32);
          return {select(r[0] >= large, r[0], select(l[0] >= large, l[0], max(l[0], r[0])))};
        },
        {lowest(kInt32)}, {.commutes = said_to_commute})[0];
  }));
  return b.finish();
}

TEST(TeCombiner, TheOrderIsKeptUnlessDeclaredFree) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{5003}, {3, 4099}, {2, 5, 700}}) {
    NDArray x = NDArray::empty(shape, kInt32);
    int64_t last = 0;
    for (int64_t i = 0; i < x.size(); ++i) {
      int64_t value = (i * 7919) % 613;
      x.data<int32_t>()[i] = static_cast<int32_t>(value);
      if (value >= 100) last = value;
    }
    Computation computation = last_large(std::vector<Dim>(shape.begin(), shape.end()), false);
    EXPECT_EQ(evaluate(computation, std::vector<NDArray>{x})[0].element_as_int64(0), last);
    for (const codegen::Target& target : testing::targets_here()) {
      testing::RunnableGroups groups({lower::lower(computation, "last_large", {})}, target);
      std::vector<NDArray> inputs{x};
      for (int workers : {1, 2}) {
        EXPECT_EQ(groups.run(0, inputs, workers)[0].element_as_int64(0), last)
            << target.name() << groups.groups()[0].kernels[0]->str();
      }
    }
  }
}

TEST(TeCombiner, TextSaysWhatIsDeclared) {
  std::string silent = last_large({4}, false).str(), said = last_large({4}, true).str();
  EXPECT_EQ(silent.find("in any order"), std::string::npos) << silent;
  EXPECT_NE(said.find("fold(i0 < 4; in any order: in0[i0]"), std::string::npos) << said;
}

/// Values that a combiner is tried on, beside its identity. (Negative positions stand for nothing,
/// so integers are none.)
std::vector<double> samples(DType dtype) {
  double inf = std::numeric_limits<double>::infinity();
  if (dtype.is_float())
    return {-inf, -2, -0.0, 0, 1.5, 3, inf, std::numeric_limits<double>::quiet_NaN()};
  if (dtype.is_bool()) return {0, 1};
  if (dtype.is_unsigned()) return {0, 1, 2, 7, 100, 120};
  return {0, 1, 2, 7, 5, 100, 120};
}

/// Says of which states a ⊕ b and b ⊕ a differ, of all pairs of some; empty if they never do.
std::string order_counts(const Combiner& combiner) {
  size_t count = combiner.lhs.size();
  std::vector<std::vector<double>> states{{}};
  for (const ScalarRef& lhs : combiner.lhs) {
    std::vector<std::vector<double>> longer;
    for (const std::vector<double>& state : states) {
      for (double value : samples(lhs->dtype)) {
        longer.push_back(state);
        longer.back().push_back(value);
      }
    }
    states = std::move(longer);
  }
  auto n = static_cast<int64_t>(states.size()) + 1;  // and the identity
  std::vector<TensorInfo> infos;
  std::vector<NDArray> inputs;
  for (size_t k = 0; k < count; ++k) {
    infos.push_back({{Dim(n)}, combiner.lhs[k]->dtype});
    inputs.push_back(NDArray::empty({n}, combiner.lhs[k]->dtype));
    Builder identity(std::vector<TensorInfo>{});
    identity.output(identity.map({}, [&](Indices) { return Scalar(combiner.identity[k]); }));
    NDArray first = evaluate(identity.finish(), {})[0];
    dispatch(combiner.lhs[k]->dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      inputs[k].data<T>()[0] = first.data<T>()[0];
      for (size_t s = 0; s < states.size(); ++s)
        inputs[k].data<T>()[s + 1] = convert_element<T>(states[s][k]);
    });
  }
  Builder b(infos);
  for (bool swapped : {false, true}) {
    std::vector<Dim> dims{Dim(n), Dim(n)};
    for (const Tensor& tensor : b.map_n(dims, [&](Indices i) {
           std::vector<ScalarRef> lhs, rhs;
           for (size_t k = 0; k < count; ++k) {
             lhs.push_back(b.input(k)({i[swapped ? 1 : 0]}).ref());
             rhs.push_back(b.input(k)({i[swapped ? 0 : 1]}).ref());
           }
           std::vector<Scalar> results;
           for (ScalarRef& result : lower::combine(combiner, lhs, rhs))
             results.emplace_back(result);
           return results;
         })) {
      b.output(tensor);
    }
  }
  std::vector<NDArray> results = evaluate(b.finish(), inputs);
  for (size_t k = 0; k < count; ++k) {
    for (int64_t i = 0; i < n * n; ++i) {
      double x = results[k].element_as_double(i), y = results[k + count].element_as_double(i);
      if (x != y && !(x != x && y != y)) {
        return "states " + std::to_string(i / n) + " and " + std::to_string(i % n) + " give " +
               std::to_string(x) + " or " + std::to_string(y);
      }
    }
  }
  return {};
}

TEST(TeCombiner, TheTrialFindsWhatDoesNotCommute) {
  Computation false_claim = last_large({4}, true);
  const auto& map = std::get<Map>(false_claim.stages[0].body);
  for (const ScalarNode* node : post_order(map.values)) {
    if (node->kind != ScalarKind::kFold) continue;
    EXPECT_NE(order_counts(*node->combiner), "");
  }
}

// Over all recorded calls of operators that are tensor expressions.
TEST(TeCombiner, ThoseOfOperatorsThatSayTheyCommuteDo) {
  std::set<std::string> operators, tried;
  auto look = [&](const Call& call) {
    const auto* node = call.callee()->as<Op>();
    if (node == nullptr || node->op()->definition() != DefinitionKind::kCompute) return;
    std::vector<TypeRef> types;
    for (const ExprRef& arg : call.args()) types.emplace_back(arg->type());
    Computation computation;
    try {
      computation = build_computation(
          OpCall(node->op(), call.attrs(), std::move(types), TypeRef(call.type())));
    } catch (const Error&) {
      return;  // its extents are values
    }
    for (const Stage& stage : computation.stages) {
      for (const ScalarNode* scalar : post_order(stage_roots(stage))) {
        if (scalar->kind != ScalarKind::kFold || !scalar->combiner->commutes) continue;
        std::string name = node->op()->name().str();
        operators.insert(name);
        // Attributes and dtypes make another combiner, extents do not.
        std::string key = name + (call.attrs() ? std::to_string(call.attrs()->hash()) : "");
        for (const ScalarRef& lhs : scalar->combiner->lhs)
          key += " " + std::string(lhs->dtype.name());
        if (!tried.insert(key).second) continue;
        EXPECT_EQ(order_counts(*scalar->combiner), "") << name;
      }
    }
  };
  auto walk = [&](const FunctionRef& function) {
    relay::post_order(function.get(), [&](const Expr* expr) {
      if (const auto* call = expr->as<Call>()) look(*call);
    });
  };
  for (const std::string& file : testing::lower_case_files()) {
    for (const testing::LowerCase& one : testing::lower_cases(file)) walk(one.function);
  }
  for (const char* name : {"argmax", "argmin"}) EXPECT_EQ(operators.count(name), 1u) << name;
}

}  // namespace
}  // namespace relay::te::te_combiner_test
