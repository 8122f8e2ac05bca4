// The rules of operators for factors: what is derived holds on numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/op/registry/scaling.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/op_samples.h>

namespace relay::op_scaling_test {
namespace {

/// Factors along a dimension: powers of 2, so that products are exact.
double factor(int64_t i, bool positive) {
  const double kFactors[] = {2, 0.5, -4, 8, -0.25};
  double value = kFactors[i % 5];
  return positive ? std::abs(value) : value;
}

NDArray scaled(const NDArray& array, size_t dim, bool positive) {
  NDArray result = array.cast(kFloat64).copy().contiguous();
  int64_t inner = 1;
  for (size_t d = dim + 1; d < array.rank(); ++d) inner *= array.extent(d);
  for (int64_t i = 0; i < result.size(); ++i) {
    result.data<double>()[i] *= factor(i / inner % array.extent(dim), positive);
  }
  return result.cast(array.dtype());
}

std::string difference(const NDArray& found, const NDArray& wanted) {
  for (int64_t i = 0; i < wanted.size(); ++i) {
    double a = found.element_as_double(i), b = wanted.element_as_double(i);
    bool same =
        std::isnan(a) ? std::isnan(b) : a == b || std::abs(a - b) <= 1e-5 * (1 + std::abs(b));
    if (!same) {
      return "element " + std::to_string(i) + " is " + std::to_string(a) + " for " +
             std::to_string(b);
    }
  }
  return "";
}

struct Derived {
  const Sample& sample;
  OpCall call;
  CallScaling scaling;
};

/// The samples with tensors of 4-byte floats alone, and what is derived of them.
void each_derived(const std::function<void(const Derived&)>& visit) {
  each_sample([&](const Sample& sample) {
    if (sample.op->definition() != DefinitionKind::kCompute) return;
    std::vector<TypeRef> types;
    for (const Value& value : sample.arguments) {
      if (!value.is_tensor()) return;
      types.push_back(value_type(value));
    }
    AttrsRef attrs = sample.attrs;
    if (!attrs && sample.op->attrs_schema() != nullptr) {
      attrs = Attrs::make(*sample.op->attrs_schema(), {}, {});
    }
    try {
      TypeRef type = infer_call_type(
          sample.op, types, attrs, nullptr,
          [&](size_t i) -> std::optional<NDArray> { return sample.arguments[i].array(); });
      if (!type || !type->is<TensorType>()) return;
      OpCall call(sample.op, attrs, types, type);
      visit({sample, call, CallScaling(call)});
    } catch (const Error&) {
      return;  // sizes that values decide
    }
  });
}

std::vector<NDArray> arrays(const Sample& sample) {
  std::vector<NDArray> result;
  for (const Value& value : sample.arguments) result.push_back(value.array());
  return result;
}

TEST(OpScaling, Along) {
  std::set<std::string> names;
  each_derived([&](const Derived& derived) {
    size_t rank = derived.call.result().rank();
    for (size_t axis = 0; axis < rank; ++axis) {
      for (const Scaling& option : derived.scaling.along(axis)) {
        std::vector<NDArray> inputs = arrays(derived.sample);
        te::Computation computation = build_computation(derived.call);
        NDArray wanted = scaled(te::evaluate(computation, inputs)[0], axis, option.positive);
        for (const InputAxis& at : option.inputs) {
          inputs[at.input] = scaled(inputs[at.input], at.dim, option.positive);
        }
        EXPECT_EQ(difference(te::evaluate(computation, inputs)[0], wanted), "")
            << derived.sample.op->name().str() << " along axis " << axis;
        names.insert(derived.sample.op->name().str());
      }
    }
  });
  // Those that the passes were made for, and many more that nobody listed.
  for (const char* name :
       {"nn.relu", "nn.leaky_relu", "multiply", "divide", "nn.bias_add", "nn.conv1d", "nn.conv2d",
        "nn.conv3d", "nn.dense", "nn.batch_matmul", "nn.max_pool2d", "nn.avg_pool2d", "abs"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  for (const char* name : {"exp", "sigmoid", "tanh", "nn.softmax", "sqrt", "power"}) {
    EXPECT_FALSE(names.contains(name)) << name;
  }
}

TEST(OpScaling, Exchange) {
  std::set<std::string> names;
  each_derived([&](const Derived& derived) {
    std::vector<NDArray> inputs = arrays(derived.sample);
    te::Computation computation = build_computation(derived.call);
    for (size_t input = 0; input < inputs.size(); ++input) {
      for (size_t dim = 0; dim < inputs[input].rank(); ++dim) {
        std::optional<InputAxis> to = derived.scaling.exchange({input, dim});
        if (!to) continue;
        std::vector<NDArray> here = inputs, there = inputs;
        here[input] = scaled(inputs[input], dim, false);
        there[to->input] = scaled(inputs[to->input], to->dim, false);
        EXPECT_EQ(
            difference(te::evaluate(computation, there)[0], te::evaluate(computation, here)[0]), "")
            << derived.sample.op->name().str();
        names.insert(derived.sample.op->name().str());
      }
    }
  });
  for (const char* name : {"nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.dense", "nn.matmul"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace relay::op_scaling_test
