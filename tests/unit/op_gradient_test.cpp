// Gradients of operators: the rules against what is derived, PyTorch's results and differences.
#include <gtest/gtest.h>

#include <cmath>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/op/registry/gradient.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

#include <tests/unit/lower_cases.h>

namespace relay::op_gradient_test {
namespace {

using testing::LowerCase;

std::vector<NDArray> flatten(const Value& value) {
  if (value.is_tensor()) return {value.array()};
  std::vector<NDArray> arrays;
  for (size_t i = 0; i < value.fields().size(); ++i) {
    for (const NDArray& array : flatten(value.field(i))) arrays.push_back(array);
  }
  return arrays;
}

Module module_of(FunctionRef function) {
  Module module;
  module.add_function("main", std::move(function));
  infer_types_or_throw(module);
  return module;
}

std::vector<Value> values_of(std::span<const NDArray> inputs) {
  return {inputs.begin(), inputs.end()};
}

std::vector<NDArray> evaluated(const Module& module, std::span<const NDArray> inputs) {
  return flatten(evaluate_function(module, "main", values_of(inputs)));
}

std::vector<NDArray> compiled(const Module& module, std::span<const NDArray> inputs) {
  auto executable = vm::compile(module, Name("main"));
  return flatten(vm::Machine(executable).run("main", values_of(inputs)));
}

/// A case of tests/op/data/gradient.jsonl: a call of `grad.NAME` on the function's parameters.
struct GradientCase {
  const LowerCase& recorded;
  const Call* call;
  const Operator* op;  // NAME
  std::vector<TypeRef> types;
  AttrsRef attrs;

  explicit GradientCase(const LowerCase& one) : recorded(one) {
    call = one.function->body()->as<Call>();
    std::string name = call->callee()->as<Op>()->op()->name().str();
    op = get_op(name.substr(kGradientPrefix.size()));
    types.assign(one.types.begin(), one.types.end() - 1);
    attrs = call->attrs();
  }

  TypeRef result() const { return infer_call_type(op, types, attrs); }

  /// The same function with the gradients that `make` gives.
  Module with(const std::function<std::vector<ExprRef>(const GradientCall&)>& make) const {
    std::vector<VarRef> params;
    for (size_t i = 0; i < recorded.types.size(); ++i) {
      params.push_back(make_var("p" + std::to_string(i), recorded.types[i]));
    }
    std::vector<ExprRef> args(params.begin(), params.end() - 1);
    OpCall op_call(op, attrs, types, result());
    ExprRef value = make_call(make_op(op), args, attrs);
    std::vector<ExprRef> given{params.back()};
    std::vector<ExprRef> found;
    const std::vector<ExprRef> all = make({op_call, args, value, given});
    for (size_t i = 0; i < all.size(); ++i) {
      // A gradient of zeros is left out.
      if (all[i] || gradient_type({&types[i], 1}))
        found.push_back(all[i] ? all[i] : call_op("zeros_like", {args[i]}));
    }
    return module_of(make_function(params, relay::make_tuple(found)));
  }
};

double tolerance(DType dtype) { return dtype == kFloat64 ? 1e-6 : dtype == kFloat32 ? 1e-4 : 1e-2; }

TEST(OpGradient, RulesGiveWhatIsDerived) {
  std::map<std::string, int> rules;
  for (const LowerCase& one : testing::lower_cases("gradient")) {
    GradientCase gradient(one);
    SCOPED_TRACE(one.name);
    std::vector<NDArray> derived = evaluated(module_of(one.function), one.inputs);
    Module rule = gradient.with(gradients_of);
    EXPECT_EQ(testing::difference(evaluated(rule, one.inputs), derived, tolerance), "")
        << print_module(rule);
    EXPECT_EQ(testing::difference(compiled(rule, one.inputs), derived, tolerance), "");
    Module call = gradient.with(derived_gradients);
    EXPECT_EQ(testing::difference(compiled(call, one.inputs), derived, tolerance), "");
    rules[gradient.op->name().str()] += print_module(rule) != print_module(call);
  }
  EXPECT_EQ(rules.size(), 7u);
  for (const auto& [op, count] : rules) EXPECT_GE(count, 5) << op << " has rules for these";
}

// Away from kinks: central differences of the sum of gradient · result, element by element.
TEST(OpGradient, DifferencesGiveWhatIsDerived) {
  std::map<std::string, int> checked;
  for (const LowerCase& one : testing::lower_cases("gradient")) {
    if (one.inputs.back().dtype() != kFloat64 || one.name.find("ties") != std::string::npos)
      continue;
    GradientCase gradient(one);
    SCOPED_TRACE(one.name);
    std::vector<NDArray> derived = evaluated(module_of(one.function), one.inputs);
    NDArray given = one.inputs.back();
    std::vector<NDArray> inputs(one.inputs.begin(), one.inputs.end() - 1);
    auto total = [&] {
      std::vector<Value> arguments = values_of(inputs);
      NDArray result = apply_op(gradient.op, gradient.attrs, arguments).array().contiguous();
      double sum = 0;
      for (int64_t i = 0; i < result.size(); ++i) {
        sum += result.data<double>()[i] * given.data<double>()[i];
      }
      return sum;
    };
    size_t next = 0;
    for (NDArray& input : inputs) {
      if (input.dtype() != kFloat64) continue;
      const NDArray found = derived[next++].contiguous();
      ASSERT_EQ(found.size(), input.size());
      input = input.copy();
      for (int64_t i = 0; i < input.size(); i += 1 + input.size() / 50) {
        double& x = input.data<double>()[i];
        double there = x, step = 1e-5;
        x = there + step;
        double after = total();
        x = there - step;
        double before = total();
        x = there;
        double wanted = (after - before) / (2 * step);
        EXPECT_NEAR(found.data<double>()[i], wanted, 1e-6 * std::max(1.0, std::abs(wanted)))
            << "element " << i;
      }
    }
    ++checked[gradient.op->name().str()];
  }
  EXPECT_EQ(checked.size(), 7u);
}

TEST(OpGradient, DerivedOperatorsAreFoundByName) {
  const Operator* op = find_op("grad.nn.softmax");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op, find_op("grad.nn.softmax"));
  EXPECT_EQ(op->name(), Name("grad.nn.softmax"));
  EXPECT_EQ(find_op("grad.mul"), find_op("grad.multiply"));
  EXPECT_EQ(find_relation("grad.nn.softmax"), op->relation());
  EXPECT_EQ(find_op("grad."), nullptr);
  EXPECT_EQ(find_op("grad.none"), nullptr);
  EXPECT_NE(find_op("grad.grad.grad.tanh"), nullptr);
  EXPECT_EQ(find_op("grad.grad.grad.grad.tanh"), nullptr);
  for (const Operator* declared : all_ops()) {
    EXPECT_FALSE(is_gradient_name(declared->name())) << declared->name().str();
  }
}

// The derivative of the derivative, against differences of the first.
TEST(OpGradient, OfSecondOrder) {
  TypeRef type = TensorType::make(std::vector<Dim>{5}, kFloat64);
  for (const char* name : {"tanh", "sigmoid", "exp", "nn.softmax", "sin"}) {
    auto run = [&](const std::string& op, std::vector<NDArray> inputs) {
      return flatten(apply_op(get_op(op), {}, values_of(inputs)));
    };
    std::string first = std::string("grad.") + name;
    std::vector<int64_t> shape{5};
    NDArray x = testing::random_array(shape, kFloat64, 1),
            g = testing::random_array(shape, kFloat64, 2);
    NDArray h = testing::random_array(shape, kFloat64, 3);
    std::vector<NDArray> second = run("grad." + first, {x, g, h});
    ASSERT_EQ(second.size(), 2u);
    for (int64_t i = 0; i < 5; ++i) {
      auto total = [&](double step) {
        NDArray at = x.copy();
        at.data<double>()[i] += step;
        NDArray value = run(first, {at, g})[0].contiguous();
        double sum = 0;
        for (int64_t k = 0; k < 5; ++k) sum += value.data<double>()[k] * h.data<double>()[k];
        return sum;
      };
      double wanted = (total(1e-5) - total(-1e-5)) / 2e-5;
      EXPECT_NEAR(second[0].contiguous().data<double>()[i], wanted,
                  1e-6 * std::max(1.0, std::abs(wanted)))
          << name;
    }
  }
}

TEST(OpGradient, NoneForAReason) {
  const Operator* op = get_op("argmax");
  std::string reason = no_gradient_reason(*op);
  EXPECT_NE(reason, "");
  TypeRef type = TensorType::make(std::vector<Dim>{5}, kFloat32);
  OpCall call(op, {}, {type}, TensorType::make({}, kInt32));
  VarRef x = make_var("x", type);
  std::vector<ExprRef> args{x}, gradients{ExprRef()};
  ExprRef result = call_op("argmax", args);
  try {
    gradients_of({call, args, result, gradients});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace relay::op_gradient_test
