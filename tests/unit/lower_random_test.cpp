// Random groups of operators: their kernels, interpreted, against direct evaluation.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include <relay/graph/compose.h>
#include <relay/lower/lower.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/lower_cases.h>
#include <tests/unit/nest_interpreter.h>

namespace relay::lower::lower_random_test {
namespace {

using graph::compose;
using graph::Group;

using Shape = std::vector<int64_t>;

/// Text of a random chain over `%a` and `%b`, with the shape as it goes.
class Chain {
 public:
  explicit Chain(uint32_t seed) : random_(seed) {}

  std::string program() {
    size_t rank = 1 + pick(3);
    for (size_t d = 0; d < rank; ++d) shape.push_back(pick(10) == 0 ? 1 : 2 + pick(9));
    Shape start = shape;
    std::string lets, value = "%a";
    int steps = 2 + pick(5);
    std::string kept;
    for (int i = 0; i < steps; ++i) {
      std::string name = "%v" + std::to_string(i);
      lets += "let " + name + " = " + step(value, start) + "; ";
      if (pick(6) == 0 && kept.empty()) kept = name;
      value = name;
    }
    std::string type = "Tensor[(" + list(start) + (start.size() == 1 ? ",)" : ")") + ", float32]";
    inputs = {start, start};
    std::string result = kept.empty() || kept == value ? value : "(" + value + ", " + kept + ")";
    return "def @main(%a: " + type + ", %b: " + type + ") { " + lets + result + " }";
  }

  Shape shape;
  std::vector<Shape> inputs;

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  static std::string list(const Shape& values) {
    std::string text;
    for (int64_t v : values) text += (text.empty() ? "" : ", ") + std::to_string(v);
    return text;
  }

  std::string step(const std::string& x, const Shape& start) {
    auto axis = shape.empty() ? 0 : static_cast<size_t>(pick(static_cast<int>(shape.size())));
    std::string at = std::to_string(axis);
    switch (shape.empty() ? pick(3) : pick(16)) {
      case 0:
        return "nn.relu(" + x + ")";
      case 1:
        return "tanh(" + x + ")";
      case 2:
        return "multiply(add(" + x + ", 0.5f), " + x + ")";
      case 3:
      case 4:
        if (shape != start) return "sigmoid(" + x + ")";
        return std::string(pick(2) == 0 ? "add(" : "maximum(") + x +
               (pick(2) == 0 ? ", %b)" : ", %a)");
      case 5: {
        bool keep = pick(2) == 0;
        std::string text = std::string(pick(2) == 0 ? "sum(" : "max(") + x + ", axis=[" + at +
                           "], keepdims=" + (keep ? "True" : "False") + ")";
        if (keep) {
          shape[axis] = 1;
        } else {
          shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
        }
        return text;
      }
      case 6:
        return "nn.softmax(" + x + ", axis=" + at + ")";
      case 7:
        return "subtract(" + x + ", mean(" + x + ", axis=[" + at + "], keepdims=True))";
      case 8: {
        if (shape.size() < 2) return "abs(" + x + ")";
        std::swap(shape[0], shape[shape.size() - 1]);
        Shape order;
        for (size_t d = 0; d < shape.size(); ++d) order.push_back(static_cast<int64_t>(d));
        std::swap(order[0], order[shape.size() - 1]);
        return "transpose(" + x + ", axes=[" + list(order) + "])";
      }
      case 9: {
        int64_t total = 1;
        for (int64_t extent : shape) total *= extent;
        int64_t first = shape[0];
        shape = pick(2) == 0 ? Shape{total} : Shape{total / first, first};
        return "reshape(" + x + ", newshape=[" + list(shape) + "])";
      }
      case 10: {
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
        return "expand_dims(" + x + ", axis=" + at + ")";
      }
      case 11:
        return "reverse(" + x + ", axis=" + at + ")";
      case 12: {
        shape[axis] *= 2;
        return "concatenate((" + x + ", exp(" + x + ")), axis=" + at + ")";
      }
      case 13:
        return "cumsum(" + x + ", axis=" + at + ")";
      case 14: {
        std::string widths;
        for (size_t d = 0; d < shape.size(); ++d) {
          int before = pick(2), after = pick(2);
          widths +=
              (d > 0 ? ", [" : "[") + std::to_string(before) + ", " + std::to_string(after) + "]";
          shape[d] += before + after;
        }
        return "nn.pad(" + x + ", 1f, pad_width=[" + widths + "])";
      }
      default: {
        if (shape[axis] < 3) return "negative(" + x + ")";
        Shape begin(shape.size(), 0), end = shape;
        begin[axis] = 1;
        end[axis] -= 1;
        shape[axis] -= 2;
        return "strided_slice(" + x + ", begin=[" + list(begin) + "], end=[" + list(end) + "])";
      }
    }
  }

  std::mt19937 random_;
};

TEST(LowerRandom, Chains) {
  const char* wanted_cases = std::getenv("RELAY_RANDOM_CASES");
  uint32_t cases = wanted_cases != nullptr ? static_cast<uint32_t>(std::atoi(wanted_cases)) : 300;
  for (uint32_t seed = 0; seed < cases; ++seed) {
    Chain chain(seed);
    std::string program = chain.program();
    SCOPED_TRACE(program);
    std::vector<NDArray> inputs;
    std::vector<TypeRef> types;
    for (const Shape& shape : chain.inputs) {
      inputs.push_back(relay::testing::random_array(shape, kFloat32, seed + 7));
      types.push_back(relay::testing::array_type(inputs.back()));
    }
    FunctionRef function = relay::testing::main_function(program, types);
    Group group = compose(*function, types);
    SCOPED_TRACE(group.computation.str());
    std::vector<NDArray> wanted = te::evaluate(group.computation, inputs);
    try {
      Lowered lowered = lower(group.computation, "k", {});
      std::string text;
      for (const auto& kernel : lowered.kernels) text += kernel->str() + "\n";
      SCOPED_TRACE(text);
      ASSERT_EQ(relay::testing::difference(relay::testing::interpret(lowered, inputs), wanted,
                                           [](DType) { return 2e-4; }),
                "");
    } catch (const std::exception& error) {
      FAIL() << error.what();
    }
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace relay::lower::lower_random_test
