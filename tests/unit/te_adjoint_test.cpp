// Derivations of gradients: of every recorded operator case against differences, at fixed and at
// symbolic extents, evaluated and lowered.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include <relay/graph/compose.h>
#include <relay/lower/contraction.h>
#include <relay/lower/lower.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/adjoint.h>
#include <relay/tensor_expr/evaluate.h>
#include <relay/tensor_expr/walk.h>

#include <tests/unit/contraction_testing.h>
#include <tests/unit/lower_cases.h>
#include <tests/unit/nest_interpreter.h>

namespace relay::te::te_adjoint_test {
namespace {

using testing::LowerCase;

bool has_floats(const std::vector<TensorInfo>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const TensorInfo& info) { return info.dtype == kFloat64; });
}
bool gives_floats(const Computation& computation) {
  return std::any_of(
      computation.outputs.begin(), computation.outputs.end(),
      [&](const Output& output) { return computation.info(output.tensor).dtype == kFloat64; });
}

double dot(const NDArray& a, const NDArray& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.size(); ++i) sum += a.data<double>()[i] * b.data<double>()[i];
  return sum;
}

/// x + scale · direction, for floats.
NDArray moved(const NDArray& x, const NDArray& direction, double scale) {
  NDArray result = NDArray::empty(x.shape(), kFloat64);
  for (int64_t i = 0; i < x.size(); ++i) {
    result.data<double>()[i] = x.data<double>()[i] + scale * direction.data<double>()[i];
  }
  return result;
}

/// The inputs a little aside, so that none is at a kink; what the sum of gradient · result changes
/// by in a random direction, by differences and by the derived gradients.
struct Slopes {
  double by_difference = 0, by_gradient = 0, size = 0;
};

Slopes slopes(const Computation& forward, const Computation& backward,
              std::vector<NDArray> inputs) {
  std::vector<NDArray> directions(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = inputs[i].contiguous();
    if (inputs[i].dtype() != kFloat64) continue;
    auto seed = static_cast<uint32_t>(i);
    inputs[i] =
        moved(inputs[i], testing::random_array(inputs[i].shape(), kFloat64, seed + 7), 1e-3);
    directions[i] = testing::random_array(inputs[i].shape(), kFloat64, seed + 99);
  }
  auto run = [&](double scale) {
    std::vector<NDArray> at = inputs;
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i].dtype() == kFloat64) at[i] = moved(at[i], directions[i], scale);
    }
    return evaluate(forward, at);
  };
  constexpr double kStep = 1e-6;
  std::vector<NDArray> before = run(-kStep), after = run(kStep);
  std::vector<NDArray> all = inputs;
  Slopes result;
  for (size_t k = 0; k < before.size(); ++k) {
    if (before[k].dtype() != kFloat64) continue;
    NDArray a = before[k].contiguous(), b = after[k].contiguous();
    NDArray gradient = testing::random_array(a.shape(), kFloat64, static_cast<uint32_t>(k) + 1234);
    result.by_difference += (dot(gradient, b) - dot(gradient, a)) / (2 * kStep);
    result.size += std::sqrt(dot(gradient, gradient)) * std::sqrt(dot(b, b));
    all.push_back(gradient);
  }
  std::vector<NDArray> gradients = evaluate(backward, all);
  size_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != kFloat64) continue;
    result.by_gradient += dot(gradients[next++].contiguous(), directions[i]);
  }
  return result;
}

bool agree(const Slopes& s) {
  double scale = std::max({1.0, std::abs(s.by_difference), s.size});
  return std::abs(s.by_difference - s.by_gradient) <= 1e-6 * scale;
}

template <class Check>
void for_each_case(const Check& check) {
  for (const std::string& file : testing::lower_case_files()) {
    for (const LowerCase& one : testing::lower_cases_in_double(file)) check(file, one);
  }
}

TEST(Adjoint, OfEveryRecordedCase) {
  std::map<std::string, int> derived;
  std::map<std::string, std::string> refused;
  for_each_case([&](const std::string& file, const LowerCase& one) {
    Computation forward;
    try {
      forward = graph::compose(*one.function, one.types).computation;
    } catch (const Error&) {
      return;  // cannot be composed
    }
    if (!has_floats(forward.inputs) || !gives_floats(forward)) return;
    SCOPED_TRACE(file + ": " + one.name);
    std::string op = one.name.substr(0, one.name.find('/'));
    // Its recorded boxes end at borders of the image, where it has kinks; and what is only asked
    // for its dtype keeps its own.
    if (op == "image.crop_and_resize" || op == "cast_like") return;
    try {
      Computation backward = adjoint(forward);
      Slopes s = slopes(forward, backward, one.inputs);
      if (!std::isfinite(s.by_difference)) return;  // outside of what the operator is for
      EXPECT_TRUE(agree(s)) << s.by_gradient << " instead of " << s.by_difference << "\n"
                            << forward.str() << "\n"
                            << backward.str();
      ++derived[op];
    } catch (const NoAdjoint& error) {
      refused.emplace(op, error.what());
    } catch (const InternalError& error) {
      ADD_FAILURE() << error.what() << "\n" << forward.str();
    }
  });
  for (const auto& [op, why] : refused) {
    // Everything that is an index expression has one.
    bool kernel = why.find("library kernel") != std::string::npos ||
                  why.find("counts its results") != std::string::npos;
    EXPECT_TRUE(kernel || op.starts_with("grad.")) << op << ": " << why;
  }
  EXPECT_GT(derived.size(), 110u);
  for (const auto& [op, count] : derived) {
    // Bits read as floats, and tensors of one number: few cases say all.
    if (op == "reinterpret" || op == "full") continue;
    EXPECT_GE(count, 3) << op;
  }
}

// Extents that only the run knows: the same gradients.
TEST(Adjoint, OfSymbolicExtents) {
  int count = 0;
  for_each_case([&](const std::string& file, const LowerCase& one) {
    testing::Symbols symbols;
    std::vector<TypeRef> types = testing::symbolic_types(one.inputs, symbols);
    if (symbols.empty()) return;
    auto value = [&](const TypeVar* symbol) { return testing::value_of(symbols, symbol); };
    SCOPED_TRACE(file + ": " + one.name);
    try {
      Computation fixed = graph::compose(*one.function, one.types).computation;
      Computation open = graph::compose(*one.function, types).computation;
      if (!has_floats(fixed.inputs) || !gives_floats(fixed)) return;
      std::vector<NDArray> inputs = one.inputs;
      for (const NDArray& result : evaluate(fixed, one.inputs)) {
        if (result.dtype() == kFloat64) {
          inputs.push_back(testing::random_array(result.shape(), kFloat64, 5));
        }
      }
      std::vector<NDArray> wanted = evaluate(adjoint(fixed), inputs);
      std::vector<NDArray> found = evaluate(adjoint(open), inputs, value);
      EXPECT_EQ(testing::difference(found, wanted, [](DType) { return 1e-9; }), "")
          << open.str() << adjoint(open).str();
      ++count;
    } catch (const InternalError& error) {
      ADD_FAILURE() << error.what();
    } catch (const Error&) {
      return;  // attributes that speak of extents; no adjoint
    }
  });
  EXPECT_GT(count, 500);
}

// Derived gradients, as lowering makes them.
TEST(Adjoint, Lowered) {
  std::map<std::string, int> seen;
  for_each_case([&](const std::string& file, const LowerCase& one) {
    std::string op = one.name.substr(0, one.name.find('/'));
    if (op.starts_with("grad.") || ++seen[op] % 4 != 1) return;
    SCOPED_TRACE(file + ": " + one.name);
    try {
      Computation forward = graph::compose(*one.function, one.types).computation;
      if (!has_floats(forward.inputs) || !gives_floats(forward)) return;
      std::vector<NDArray> inputs = one.inputs;
      for (const NDArray& result : evaluate(forward, one.inputs)) {
        if (result.dtype() == kFloat64) {
          inputs.push_back(testing::random_array(result.shape(), kFloat64, 5));
        }
      }
      Computation backward = adjoint(forward);
      std::vector<NDArray> wanted = evaluate(backward, inputs);
      lower::Lowered lowered = lower::lower(backward, "k", {});
      EXPECT_EQ(testing::difference(testing::interpret(lowered, inputs), wanted,
                                    [](DType) { return 1e-9; }),
                "")
          << backward.str();
    } catch (const InternalError& error) {
      ADD_FAILURE() << error.what();
    } catch (const Error&) {
      return;
    }
  });
}

// ---- Structure --------------------------------------------------------------------------------

Computation conv(std::vector<Dim> data, std::vector<Dim> weight, const std::string& attributes) {
  std::string text = "def @main(%x: Tensor[(" +
                     [&] {
                       std::string dims;
                       for (Dim dim : data) dims += (dims.empty() ? "" : ", ") + dim.str();
                       return dims;
                     }() +
                     "), float32], %w: Tensor[(" +
                     [&] {
                       std::string dims;
                       for (Dim dim : weight) dims += (dims.empty() ? "" : ", ") + dim.str();
                       return dims;
                     }() +
                     "), float32]) { nn.conv2d(%x, %w" + attributes + ") }";
  std::vector<TypeRef> types{TensorType::make(data, kFloat32), TensorType::make(weight, kFloat32)};
  return graph::compose(*testing::main_function(text, types), types).computation;
}

/// How many stages of a computation are contractions.
size_t contractions(const Computation& c) {
  size_t count = 0;
  for (const Stage& stage : c.stages) {
    const auto* map = std::get_if<Map>(&stage.body);
    if (map == nullptr || map->values.size() != 1) continue;
    Computation one;
    one.inputs = c.inputs;
    one.num_axes = c.num_axes;
    one.num_vars = c.num_vars;
    one.stages.push_back(stage);
    if (contraction_of(one)) ++count;
  }
  return count;
}

TEST(Adjoint, GradientsOfConvolutionsAreContractions) {
  for (const char* attributes : {"", ", padding=[1, 1]", ", strides=[2, 2], padding=[1, 1]",
                                 ", dilation=[2, 2]", ", groups=4, padding=[1, 1]"}) {
    bool groups = std::string(attributes).find("groups") != std::string::npos;
    Computation backward = adjoint(conv({2, 16, 14, 14}, {32, groups ? 4 : 16, 3, 3}, attributes));
    EXPECT_EQ(backward.stages.size(), 2u) << attributes << "\n" << backward.str();
    EXPECT_EQ(contractions(backward), 2u) << attributes << "\n" << backward.str();
  }
}

TEST(Adjoint, SomeLibraryKernelsHaveNone) {
  std::vector<TypeRef> types{TensorType::make(std::vector<Dim>{1, 1, 4, 4}, kFloat32),
                             TensorType::make(std::vector<Dim>{1, 5}, kFloat32)};
  const std::string program =
      "def @main(%x: Tensor[(1, 1, 4, 4), float32], %r: Tensor[(1, 5), float32]) { "
      "vision.roi_pool(%x, %r, pooled_size=[2, 2], spatial_scale=1) }";
  Computation c = graph::compose(*testing::main_function(program, types), types).computation;
  EXPECT_THROW(adjoint(c), NoAdjoint);
}

}  // namespace
}  // namespace relay::te::te_adjoint_test
