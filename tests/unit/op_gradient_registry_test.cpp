// The gradients of all operators: each call of floats has one, or the operator says why not; and
// the gradient that the pass Gradient writes, with the operators' rules, is the derivation's.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include <relay/eval/eval.h>
#include <relay/graph/compose.h>
#include <relay/infer/infer.h>
#include <relay/op/registry/gradient.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/adjoint.h>
#include <relay/tensor_expr/evaluate.h>
#include <relay/tensor_expr/walk.h>
#include <relay/transform/gradient/gradient.h>

#include <tests/unit/lower_cases.h>
#include <tests/unit/op_samples.h>

namespace relay::op_gradient_registry_test {
namespace {

using testing::LowerCase;

bool has_floats(const Type* type) {
  const TypeRef ref(type);
  return gradient_type({&ref, 1}) != nullptr;
}

bool takes_floats(const FunctionRef& function) {
  for (const VarRef& param : function->params()) {
    if (has_floats(param->type())) return true;
  }
  return false;
}

/// The gradient of the only function of a module, by a gradient of its result.
Module with_gradient(const FunctionRef& function) {
  Module module;
  module.add_function("main", function);
  infer_types_or_throw(module);
  GradientForm form;
  form.from_result = true;
  form.with_value = false;
  Module made;
  const FunctionRef typed(module.function("main"));
  made.add_function("main", gradient(typed, module, GradientMode::kHigherOrder, form));
  infer_types_or_throw(made);
  return made;
}

// Examples of all operators: a reason is declared for those that are refused, and for no others.
TEST(OpGradientRegistry, EachOperatorHasOneOrSaysWhyNot) {
  std::map<std::string, int> seen;
  each_sample([&](const Sample& sample) {
    const SampleProgram program = program_of(sample);
    Module module;
    module.add_function("main", program.function);
    infer_types_or_throw(module);
    const FunctionRef typed(module.function("main"));
    if (!takes_floats(typed) || !has_floats(typed->body()->type())) return;
    const std::string name = sample.op->name().str();
    const std::string reason = no_gradient_reason(*sample.op);
    SCOPED_TRACE(name);
    try {
      with_gradient(program.function);
      EXPECT_EQ(reason, "") << "has a gradient all the same";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(reason, "") << "declares no reason for: " << text;
      EXPECT_NE(text.find(reason), std::string::npos) << text;
    }
    ++seen[name];
  });
  EXPECT_GT(seen.size(), 150u);
}

double tolerance(DType) { return 1e-9; }

std::vector<NDArray> floats_of(const Value& value) {
  std::vector<NDArray> found;
  for (const NDArray& array : tensors_of(value)) {
    if (array.dtype().is_float()) found.push_back(array.contiguous());
  }
  return found;
}

// The recorded cases of all operators, four of each: extents, attributes and broadcasting differ.
TEST(OpGradientRegistry, RulesGiveWhatIsDerived) {
  std::map<std::string, int> seen;
  for (const std::string& file : testing::lower_case_files()) {
    for (const LowerCase& one : testing::lower_cases_in_double(file)) {
      const std::string op = one.name.substr(0, one.name.find('/'));
      if (op.starts_with("grad.") || seen[op] == 4) continue;
      SCOPED_TRACE(file + ": " + one.name);
      te::Computation forward, backward;
      Module rules;
      try {
        forward = graph::compose(*one.function, one.types).computation;
        const bool floats = std::any_of(
            forward.outputs.begin(), forward.outputs.end(),
            [&](const te::Output& output) { return forward.info(output.tensor).dtype.is_float(); });
        if (!floats || !takes_floats(one.function)) continue;
        backward = te::adjoint(forward);
        rules = with_gradient(one.function);
      } catch (const InternalError& error) {
        ADD_FAILURE() << error.what();
        continue;
      } catch (const Error&) {
        continue;  // cannot be composed; has none
      }
      std::vector<NDArray> inputs = one.inputs;
      std::vector<Value> values(inputs.begin(), inputs.end());
      std::vector<Value> given;
      for (const NDArray& result : te::evaluate(forward, one.inputs)) {
        NDArray gradient = result.dtype().is_float()
                               ? testing::random_array(result.shape(), result.dtype(), 5)
                               : NDArray::zeros(result.shape(), result.dtype());
        given.emplace_back(gradient);
        if (result.dtype().is_float()) inputs.push_back(gradient);
      }
      const Type* result = rules.function("main")->params().back()->type();
      values.push_back(result->is<TupleType>() ? Value::tuple(given) : given[0]);
      const std::vector<NDArray> wanted = te::evaluate(backward, inputs);
      const Value found = evaluate_function(rules, "main", values);
      EXPECT_EQ(testing::difference(floats_of(found), wanted, tolerance), "")
          << print_module(rules);
      ++seen[op];
    }
  }
  EXPECT_GT(seen.size(), 120u);
}

double dot(const std::vector<NDArray>& a, const std::vector<NDArray>& b) {
  double total = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k].dtype() != kFloat64) continue;
    for (int64_t i = 0; i < a[k].size(); ++i)
      total += a[k].data<double>()[i] * b[k].data<double>()[i];
  }
  return total;
}

/// True if numbers become narrower on the way, as places in images do: then gradients are rounded,
/// too.
bool rounds(const te::Computation& computation) {
  for (const te::Stage& stage : computation.stages) {
    for (const te::ScalarNode* node : te::post_order(te::stage_roots(stage))) {
      if (node->kind == te::ScalarKind::kCast && node->dtype == kFloat32 &&
          node->args[0]->dtype == kFloat64)
        return true;
    }
  }
  return false;
}

// Forward mode on the recorded cases: with J the derivative, g · (J d) is (Jᵀ g) · d.
TEST(OpGradientRegistry, ForwardModeIsTheTranspose) {
  std::map<std::string, int> seen;
  std::set<std::string> failing;
  for (const std::string& file : testing::lower_case_files()) {
    for (const LowerCase& one : testing::lower_cases_in_double(file)) {
      const std::string op = one.name.substr(0, one.name.find('/'));
      if (op.starts_with("grad.") || op == "cast_like" || seen[op] == 4) continue;
      SCOPED_TRACE(file + ": " + one.name);
      te::Computation forward_work, backward;
      Module module;
      try {
        forward_work = graph::compose(*one.function, one.types).computation;
        backward = te::adjoint(forward_work);
        module.add_function("f", one.function);
        infer_types_or_throw(module);
      } catch (const InternalError& error) {
        ADD_FAILURE() << error.what();
        continue;
      } catch (const Error&) {
        continue;  // cannot be composed; has none
      }
      try {
        std::vector<size_t> places;
        for (size_t i = 0; i < one.inputs.size(); ++i) {
          if (one.inputs[i].dtype() == kFloat64) places.push_back(i);
        }
        const FunctionRef along = gradient_along(FunctionRef(module.function("f")), module, places);
        if (!along) continue;
        module.add_function("main", along);
        infer_types_or_throw(module);
      } catch (const InternalError& error) {
        ADD_FAILURE() << error.what();
        continue;
      } catch (const Error& error) {
        // Results that are no floats, and operators that are written with others.
        const std::string reason = error.what();
        EXPECT_NE(reason.find("has no gradient"), std::string::npos) << reason;
        continue;
      }
      std::vector<Value> values(one.inputs.begin(), one.inputs.end());
      std::vector<NDArray> directions, inputs = one.inputs, given;
      for (const NDArray& input : one.inputs) {
        if (input.dtype() != kFloat64) continue;
        directions.push_back(testing::random_array(input.shape(), kFloat64, 11));
        values.emplace_back(directions.back());
      }
      Value found;
      try {
        found = evaluate_function(module, "main", values);
      } catch (const RuntimeError&) {
        failing.insert(op);
        continue;
      }
      const std::vector<NDArray> derivative = floats_of(found.field(1));
      const bool wide = std::all_of(derivative.begin(), derivative.end(),
                                    [](const NDArray& part) { return part.dtype() == kFloat64; });
      if (!wide) continue;  // rounds
      for (const NDArray& part : derivative) {
        given.push_back(testing::random_array(part.shape(), part.dtype(), 5).contiguous());
        inputs.push_back(given.back());
      }
      const double forward = dot(derivative, given);
      std::vector<NDArray> back;
      for (const NDArray& gradient : te::evaluate(backward, inputs))
        back.push_back(gradient.contiguous());
      for (NDArray& direction : directions) direction = direction.contiguous();
      const double reverse = dot(back, directions);
      if (std::isfinite(reverse)) {
        const double tolerance = rounds(forward_work) ? 1e-5 : 1e-9;
        EXPECT_NEAR(forward, reverse, tolerance * std::max(1.0, std::abs(reverse)))
            << print_module(module);
      }
      ++seen[op];
    }
  }
  size_t covered = 0;
  for (const auto& [op, count] : seen) covered += count > 0 ? 1 : 0;
  EXPECT_GT(covered, 120u);
  EXPECT_EQ(failing, std::set<std::string>());
}

}  // namespace
}  // namespace relay::op_gradient_registry_test
