// compose(): a group as one computation means what its operators mean one after the other.
#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/graph/compose.h>
#include <relay/lower/lower.h>
#include <relay/op/op.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/lower_cases.h>

namespace relay::lower::lower_compose_test {
namespace {

using graph::compose;
using graph::Group;

using relay::testing::LowerCase;

void flatten(const Value& value, std::vector<NDArray>& out) {
  if (value.is_tuple()) {
    for (const Value& field : value.fields()) flatten(field, out);
  } else {
    out.push_back(value.array());
  }
}

std::vector<NDArray> reference(const FunctionRef& function, const std::vector<NDArray>& inputs) {
  std::vector<Value> arguments(inputs.begin(), inputs.end());
  Module module;
  module.add_function("main", function);
  std::vector<NDArray> results;
  flatten(evaluate_function(module, "main", arguments), results);
  return results;
}

void expect_same(const std::vector<NDArray>& found, const std::vector<NDArray>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t k = 0; k < found.size(); ++k) {
    ASSERT_EQ(testing::array_type(found[k])->str(), testing::array_type(wanted[k])->str());
    for (int64_t i = 0; i < found[k].size(); ++i) {
      double a = found[k].element_as_double(i), b = wanted[k].element_as_double(i);
      ASSERT_TRUE(a == b || (a != a && b != b)) << a << " instead of " << b << " at " << i;
    }
  }
}

TEST(LowerCompose, RecordedCases) {
  int count = 0;
  std::vector<std::string> without_extents;
  for (const std::string& file : relay::testing::lower_case_files()) {
    for (const LowerCase& one : relay::testing::lower_cases(file)) {
      SCOPED_TRACE(file + ": " + one.name);
      Group group;
      try {
        group = compose(*one.function, one.types);
      } catch (const Error& error) {
        without_extents.push_back(one.name);
        continue;
      }
      // How long a range between inputs is, and extents that are arguments, a run has to look at.
      auto begins = [&](std::string_view with) { return one.name.starts_with(with); };
      EXPECT_TRUE(group.checks.empty() || begins("arange/inputs") || begins("dyn.") ||
                  begins("strided_set/") || begins("collapse_sum_to/") ||
                  begins("sparse_fill_empty_rows/"));
      expect_same(te::evaluate(group.computation, one.inputs), reference(one.function, one.inputs));
      ++count;
    }
  }
  EXPECT_GT(count, 300);
  // A range of floats: how many there are is no term over integers. Nor are extents that a kernel
  // counts; and what expands to other operators is none itself.
  for (const std::string& name : without_extents) {
    const Operator* op = find_op(name.substr(0, name.find('/')));
    bool expands = op != nullptr && op->definition() != DefinitionKind::kCompute;
    bool counted = op != nullptr && !op->outputs().empty() &&
                   (name.starts_with("unique") || name.starts_with("argwhere"));
    EXPECT_TRUE(expands || counted || name.starts_with("arange/") || name.starts_with("dyn."))
        << name;
  }
}

TypeRef type(std::vector<Dim> dims) { return TensorType::make(dims, kFloat32); }

TEST(LowerCompose, SymbolicExtentsAndChecks) {
  TypeVarRef n = TypeVar::make("n", Kind::kShapeVar), m = TypeVar::make("m", Kind::kShapeVar);
  FunctionRef function = relay::testing::main_function(
      "def @main(%x: Tensor[(4, 3), float32], %w: Tensor[(5, 3), float32], %y: Tensor[(5), "
      "float32]) { nn.relu(add(nn.dense(%x, %w, units=None), %y)) }",
      {type({4, 3}), type({5, 3}), type({5})});
  std::vector<TypeRef> types = {type({Dim::symbol(n.get()), 3}), type({5, Dim::symbol(m.get())}),
                                type({Dim::symbol(m.get())})};
  Group group = compose(*function, types);
  ASSERT_EQ(group.checks.size(), 2u);  // the second: that y broadcasts
  EXPECT_EQ(group.checks[0].a.str() + " = " + group.checks[0].b.str(), "3 = m");
  EXPECT_EQ(group.computation.outputs[0].dims[0].str(), "n");
}

}  // namespace
}  // namespace relay::lower::lower_compose_test
