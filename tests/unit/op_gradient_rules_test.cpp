// The gradient rules of operators on a table of calls: rule, derivation and central differences
// agree, in both executors, and so do the rule's own gradients.
#include <gtest/gtest.h>

#include <cmath>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/op/registry/gradient.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

#include <tests/unit/lower_cases.h>

namespace relay::op_gradient_rules_test {
namespace {

std::vector<NDArray> flatten(const Value& value) {
  if (value.is_tensor()) return {value.array().contiguous()};
  std::vector<NDArray> arrays;
  for (size_t i = 0; i < value.fields().size(); ++i) {
    for (const NDArray& array : flatten(value.field(i))) arrays.push_back(array);
  }
  return arrays;
}

/// A call in a function of its operands, as program text.
struct Case {
  Module module;
  FunctionRef function;
  const Call* call;
  const Operator* op;
  TypeRef result;
  std::vector<Value> inputs;
  std::vector<NDArray> given;  // the gradient of each float in the result

  explicit Case(const std::string& text) {
    module = parse_module("case", "def @main(" + text + " }");
    infer_types_or_throw(module);
    function = FunctionRef(module.function("main"));
    const Expr* body = function->body().get();
    call = body->as<Call>();
    op = call->callee()->as<Op>()->op();
    result = TypeRef(call->type());
    uint32_t seed = 1;
    for (const VarRef& param : function->params()) inputs.emplace_back(random(param->type(), seed++));
    for (const NDArray& array : values()) {
      std::vector<int64_t> shape(array.shape().begin(), array.shape().end());
      given.push_back(testing::random_array(shape, array.dtype(), seed++));
    }
  }

  static NDArray random(const Type* type, uint32_t seed) {
    const auto& tensor = *type->as<TensorType>();
    std::vector<int64_t> shape;
    for (Dim dim : tensor.dims()) shape.push_back(dim.as_int());
    return testing::random_array(shape, tensor.dtype(), seed);
  }

  std::vector<NDArray> values() const {
    return flatten(evaluate_function(module, "main", inputs));
  }

  /// The gradients of all floats among the operands, as a function of these and `given`.
  Module with(const std::function<std::vector<ExprRef>(const GradientCall&)>& make) const {
    std::vector<VarRef> params(function->params().begin(), function->params().end());
    std::vector<ExprRef> args(call->args().begin(), call->args().end()), gradients;
    std::vector<TypeRef> types;
    for (const ExprRef& arg : args) types.emplace_back(arg->type());
    for (const NDArray& array : given) {
      std::vector<Dim> dims(array.shape().begin(), array.shape().end());
      params.push_back(make_var("g", TensorType::make(dims, array.dtype())));
      gradients.emplace_back(params.back());
    }
    OpCall op_call(op, call->attrs(), types, result);
    std::vector<ExprRef> found;
    const std::vector<ExprRef> all = make({op_call, args, function->body(), gradients});
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] || gradient_type({&types[i], 1}))
        found.push_back(all[i] ? all[i] : call_op("zeros_like", {args[i]}));
    }
    Module made;
    made.add_function("main", make_function(params, relay::make_tuple(found)));
    infer_types_or_throw(made);
    return made;
  }

  std::vector<Value> all() const {
    std::vector<Value> values = inputs;
    values.insert(values.end(), given.begin(), given.end());
    return values;
  }

  double total() const {
    double sum = 0;
    const std::vector<NDArray> found = values();
    for (size_t k = 0; k < found.size(); ++k) {
      const NDArray weight = given[k].contiguous();
      for (int64_t i = 0; i < found[k].size(); ++i)
        sum += found[k].data<double>()[i] * weight.data<double>()[i];
    }
    return sum;
  }

  void check_differences(const std::vector<NDArray>& found) {
    size_t next = 0;
    for (Value& input : inputs) {
      if (input.array().dtype() != kFloat64) continue;
      ASSERT_LT(next, found.size());
      const NDArray gradient = found[next++];
      NDArray moved = input.array().copy();
      input = Value(moved);
      for (int64_t i = 0; i < moved.size(); i += 1 + moved.size() / 20) {
        double& x = moved.data<double>()[i];
        const double there = x, step = 1e-5;
        x = there + step;
        const double after = total();
        x = there - step;
        const double before = total();
        x = there;
        const double wanted = (after - before) / (2 * step);
        EXPECT_NEAR(gradient.data<double>()[i], wanted, 1e-6 * std::max(1.0, std::abs(wanted)))
            << "element " << i << " of operand " << next - 1;
      }
    }
  }
};

double tolerance(DType) { return 1e-9; }

/// Checks calls, written `%x: type, …) { call`; the rule must differ from the derivation, or else
/// the case tests nothing.
void check(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    SCOPED_TRACE(text);
    Case one(text);
    Module rule = one.with(gradients_of), derived = one.with(derived_gradients);
    EXPECT_NE(print_module(rule), print_module(derived));
    const std::vector<NDArray> wanted = flatten(evaluate_function(derived, "main", one.all()));
    const std::vector<NDArray> found = flatten(evaluate_function(rule, "main", one.all()));
    EXPECT_EQ(testing::difference(found, wanted, tolerance), "") << print_module(rule);
    auto executable = vm::compile(rule, Name("main"));
    const std::vector<NDArray> ran = flatten(vm::Machine(executable).run("main", one.all()));
    EXPECT_EQ(testing::difference(ran, wanted, tolerance), "") << print_module(rule);
    one.check_differences(found);
  }
}

std::string conv(const std::string& name, const std::string& data, const std::string& weight,
                 const std::string& attributes) {
  return "%x: Tensor[(" + data + "), float64], %w: Tensor[(" + weight + "), float64]) { nn." +
         name + "(%x, %w" + (attributes.empty() ? "" : ", " + attributes) + ")";
}

TEST(OpGradientRules, Convolutions) {
  check({
      conv("conv2d", "2, 3, 6, 5", "4, 3, 3, 3", "padding=[1, 1]"),
      conv("conv2d", "2, 3, 6, 5", "4, 3, 3, 2", ""),
      conv("conv2d", "1, 1, 1, 1", "1, 1, 1, 1", ""),
      conv("conv2d", "2, 3, 6, 7", "4, 3, 2, 3", "padding=[0, 1, 2, 0], dilation=[2, 1]"),
      conv("conv2d", "2, 3, 4, 4", "4, 3, 1, 1", "padding=[1, 1]"),
      conv("conv2d", "2, 6, 6, 3", "3, 3, 3, 4",
           "padding=[1, 1], data_layout=\"NHWC\", kernel_layout=\"HWIO\""),
      conv("conv2d", "2, 6, 6, 3", "4, 3, 3, 3",
           "strides=[2, 2], padding=[1, 1], data_layout=\"NHWC\", kernel_layout=\"OIHW\", "
           "out_layout=\"NCHW\""),
      conv("conv2d", "3, 6, 5, 2", "3, 3, 3, 4",
           "data_layout=\"CHWN\", kernel_layout=\"IHWO\""),
      conv("conv1d", "2, 3, 7", "4, 3, 3", "padding=[1]"),
      conv("conv1d", "2, 3, 7", "4, 3, 4", "padding=[2], strides=[2]"),
      conv("conv3d", "1, 2, 4, 3, 5", "2, 2, 2, 3, 1", "padding=[1, 1, 0]"),
  });
}

TEST(OpGradientRules, ConvolutionsWithSteps) {
  check({
      conv("conv2d", "2, 3, 8, 8", "4, 3, 3, 3", "strides=[2, 2], padding=[1, 1]"),
      conv("conv2d", "2, 3, 7, 9", "4, 3, 3, 3", "strides=[2, 3], padding=[1, 1]"),
      conv("conv2d", "2, 3, 8, 7", "4, 3, 1, 1", "strides=[2, 2]"),
      conv("conv2d", "2, 3, 8, 7", "4, 3, 1, 1", "strides=[3, 2], padding=[1, 1]"),
      conv("conv2d", "2, 3, 8, 7", "4, 3, 1, 3", "strides=[2, 2], padding=[0, 1]"),
      conv("conv2d", "2, 3, 9, 9", "4, 3, 7, 7", "strides=[2, 2], padding=[3, 3]"),
      conv("conv2d", "2, 3, 8, 8", "4, 3, 2, 2", "strides=[2, 2]"),
      conv("conv2d", "2, 3, 9, 9", "4, 3, 2, 2", "strides=[2, 2]"),
      conv("conv2d", "2, 3, 8, 8", "4, 3, 4, 4", "strides=[2, 2], padding=[1, 1]"),
      conv("conv2d", "2, 3, 9, 8", "4, 3, 4, 6", "strides=[2, 3], padding=[1, 0, 2, 1]"),
      conv("conv2d", "2, 3, 8, 8", "4, 3, 4, 3", "strides=[2, 1], padding=[1, 1]"),
      conv("conv2d", "1, 8, 8, 2", "3, 4, 4, 2",
           "strides=[4, 4], data_layout=\"NHWC\", kernel_layout=\"OHWI\""),
      conv("conv2d", "2, 3, 8, 8", "4, 3, 2, 2", "strides=[2, 2], padding=[3, 3]"),
      conv("conv2d", "2, 3, 9, 9", "4, 3, 2, 2", "strides=[5, 5], padding=[1, 1]"),
      conv("conv2d", "2, 3, 9, 9", "4, 3, 3, 3", "strides=[2, 2], dilation=[2, 2]"),
      conv("conv3d", "1, 2, 4, 5, 6", "2, 2, 3, 2, 1", "strides=[2, 2, 2], padding=[1, 0, 0]"),
  });
}

TEST(OpGradientRules, TransposedConvolutions) {
  check({
      conv("conv2d_transpose", "2, 3, 4, 4", "3, 2, 3, 3", ""),
      conv("conv2d_transpose", "2, 3, 4, 5", "3, 2, 4, 4", "strides=[2, 2], padding=[1, 1]"),
      conv("conv2d_transpose", "2, 3, 4, 5", "3, 2, 3, 3",
           "strides=[2, 3], padding=[1, 0], output_padding=[1, 2]"),
      conv("conv2d_transpose", "1, 2, 3, 3", "2, 2, 1, 1", "strides=[2, 2]"),
      conv("conv2d_transpose", "2, 3, 4, 4", "3, 2, 3, 2", "dilation=[2, 1]"),
      conv("conv2d_transpose", "2, 4, 4, 3", "3, 2, 3, 3",
           "strides=[2, 2], data_layout=\"NHWC\", kernel_layout=\"IOHW\""),
      conv("conv2d_transpose", "2, 4, 3, 3", "4, 2, 3, 3", "groups=2, strides=[2, 2]"),
      conv("conv1d_transpose", "2, 3, 5", "3, 2, 4", "strides=[2], padding=[1]"),
      conv("conv3d_transpose", "1, 2, 2, 3, 2", "2, 2, 2, 2, 3", "strides=[2, 1, 2]"),
  });
}

TEST(OpGradientRules, ConvolutionsInGroups) {
  check({
      conv("conv2d", "2, 4, 6, 6", "4, 1, 3, 3", "groups=4, padding=[1, 1]"),
      conv("conv2d", "2, 4, 6, 6", "8, 1, 3, 3", "groups=4, padding=[1, 1], strides=[2, 2]"),
      conv("conv2d", "2, 4, 5, 5", "6, 2, 3, 3", "groups=2"),
      conv("conv1d", "2, 4, 9", "4, 1, 3", "groups=4, padding=[1], strides=[2]"),
  });
}

}  // namespace
}  // namespace relay::op_gradient_rules_test
