// QnnCanonicalize in both forms: what they write computes what the operators do.
#include <gtest/gtest.h>

#include <random>

#include <fmt/core.h>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/ir/visit.h>
#include <relay/op/qnn/quantised.h>
#include <relay/op/registry/columns.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay::transform_quantised_test {
namespace {

struct Case {
  const char* program;  // {s}, {t}, {u} are scales, {a}, {b}, {c} zero points
  int64_t tolerance;    // in steps: a function that is computed in float32 may meet a half
};

const Case kCases[] = {
    {"(%x: Tensor[(16, 16), int8], %y: Tensor[(16, 16), int8]) {{ qnn.add(%x, %y, {s}f, {a}, {t}f, "
     "{b}, {u}f, {c}) }}",
     0},
    {"(%x: Tensor[(16, 16), uint8], %y: Tensor[(16, 16), uint8]) {{ qnn.subtract(%x, %y, {s}f, "
     "{a}, {t}f, {b}, {u}f, {c}) }}",
     0},
    {"(%x: Tensor[(16, 16), int8], %y: Tensor[(16, 16), int8]) {{ qnn.mul(%x, %y, {s}f, {a}, {t}f, "
     "{b}, {u}f, {c}) }}",
     0},
    {"(%x: Tensor[(16, 16), int8], %y: Tensor[(16, 16), int8]) {{ qnn.add(%x, %y, {s}f, {a}, {s}f, "
     "{a}, {s}f, {a}) }}",
     0},
    {"(%x: Tensor[(16, 16), int8], %y: Tensor[(16, 16), int8]) {{ qnn.concatenate((%x, %y), ({s}f, "
     "{t}f), ({a}, {b}), {t}f, {b}, axis=1) }}",
     0},
    {"(%x: Tensor[(16, 16), uint8], %y: Tensor[(16, 16), int8]) {{ qnn.dense(%x, %y, {a}, {b}, "
     "{s}f, {t}f, units=16) }}",
     0},
    {"(%x: Tensor[(16, 16), uint8], %y: Tensor[(16, 16), int8]) {{ qnn.dense(%x, %y, 0, {b}, {s}f, "
     "{t}f, units=16) }}",
     0},
    {"(%x: Tensor[(16, 16), uint8], %y: Tensor[(16, 16), int8]) {{ qnn.dense(%x, %y, {a}, 0, {s}f, "
     "{t}f, units=16) }}",
     0},
    {"(%x: Tensor[(16, 16), int16], %y: Tensor[(16, 16), int8]) {{ (qnn.requantize(%x, {s}f, {a}, "
     "{t}f, {b}, out_dtype=\"uint8\"), qnn.requantize(cast(%y, dtype=\"int32\"), {s}f, {a}, {t}f, "
     "{b}, rounding=\"TONEAREST\")) }}",
     0},
    {"(%x: Tensor[(2, 16), int16], %y: Tensor[(16, 16), int8]) {{ (qnn.requantize(%x, stack(({s}f, "
     "{t}f)), {a}, {u}f, {b}, axis=0), %y) }}",
     0},
    {"(%x: Tensor[(16, 16), int16], %y: Tensor[(16, 16), int8]) {{ "
     "(qnn.quantize(qnn.dequantize(%x, {s}f, {a}), {t}f, {b}, out_dtype=\"uint8\"), %y) }}",
     0},
    {"(%x: Tensor[(16, 16), int8], %y: Tensor[(16, 16), int8]) {{ (qnn.sigmoid(%x, {s}f, {a}, "
     "0.01f, "
     "{b}), qnn.tanh(%x, {s}f, {a}, 0.01f, {b}), qnn.abs(%y, {s}f, {a}, {t}f, {b}), qnn.erf(%y, "
     "{s}f, {a}, 0.01f, {b}), qnn.hardswish(%y, {s}f, {a}, {t}f, {b}), qnn.exp(%y, 0.01f, {a}, "
     "{t}f, {b})) }}",
     1},
};

NDArray random_array(const Type* type, std::mt19937& random) {
  const auto* tensor = type->as<TensorType>();
  Shape shape;
  for (const Dim& dim : tensor->dims()) shape.push_back(dim.as_int());
  NDArray wide = NDArray::empty(shape, kInt64);
  const auto [low, high] = integer_range(tensor->dtype());
  for (int64_t i = 0; i < wide.size(); ++i)
    wide.data<int64_t>()[i] = std::uniform_int_distribution<int64_t>(low, high)(random);
  return wide.cast(tensor->dtype());
}

void flatten(const Value& value, std::vector<NDArray>& into) {
  if (value.is_tensor()) return into.push_back(value.array());
  for (size_t i = 0; i < value.fields().size(); ++i) flatten(value.field(i), into);
}

std::vector<NDArray> results(const Module& module, std::span<const Value> arguments) {
  std::vector<NDArray> arrays;
  flatten(evaluate_function(module, "main", arguments), arrays);
  return arrays;
}

// Typed; a vector of numbers is a constant.
Module program(const std::string& text) {
  return (*make_sequential(parse_passes("FoldConstant,InferType")))(
      parse_module("quantised", text));
}

bool any_left(const Module& module) { return calls_any(module.function("main"), quantised()); }

std::string random_program(const Case& each, std::mt19937& random) {
  auto scale = [&] { return std::uniform_real_distribution<float>(0.02F, 1.F)(random); };
  auto zero_point = [&] { return std::uniform_int_distribution<int>(-3, 3)(random); };
  return "def @main" + fmt::format(fmt::runtime(each.program), fmt::arg("s", scale()),
                                   fmt::arg("t", scale()), fmt::arg("u", scale()),
                                   fmt::arg("a", zero_point()), fmt::arg("b", zero_point()),
                                   fmt::arg("c", zero_point()));
}

TEST(QuantisedForms, ComputeTheSame) {
  std::mt19937 random(29);
  for (const Case& each : kCases) {
    for (int turn = 0; turn < 20; ++turn) {
      const std::string text = random_program(each, random);
      Module module = program(text);
      std::vector<Value> arguments;
      for (const VarRef& param : module.function("main")->params())
        arguments.emplace_back(random_array(param->annotation().get(), random));
      const std::vector<NDArray> wanted = results(module, arguments);
      for (const char* passes : {"QnnCanonicalize", "QnnCanonicalize(exact=False)"}) {
        Module written = (*make_sequential(parse_passes(passes)))(module);
        EXPECT_FALSE(any_left(written)) << print_module(written);
        infer_types_or_throw(written);
        const std::vector<NDArray> found = results(written, arguments);
        ASSERT_EQ(found.size(), wanted.size());
        for (size_t k = 0; k < found.size(); ++k) {
          for (int64_t i = 0; i < found[k].size(); ++i) {
            const int64_t apart = found[k].element_as_int64(i) - wanted[k].element_as_int64(i);
            ASSERT_LE(std::abs(apart), each.tolerance)
                << passes << ", result " << k << ", element " << i << "\n"
                << text << "\n"
                << print_module(written);
          }
        }
      }
    }
  }
}

// Each form is written for calls that it can say, and none of the definitions in its place.
TEST(QuantisedForms, AreInt32) {
  for (const Case& each : kCases) {
    std::mt19937 random(7);
    Module module = program(random_program(each, random));
    Module written =
        (*make_sequential(parse_passes("QnnCanonicalize(exact=False),InferType")))(module);
    bool wide = false;
    post_order(written.function("main"), [&](const Expr* expr) {
      const TensorType* type = called_op(expr) == nullptr ? nullptr : tensor_of(expr);
      wide |= type != nullptr && type->dtype() == kInt64;
    });
    // Rounding halves away from zero takes 64 bits in TVM's form, too.
    const bool to_nearest = std::string_view(each.program).find("TONEAREST") != std::string::npos;
    EXPECT_TRUE(!wide || to_nearest) << print_module(written);
  }
}

}  // namespace
}  // namespace relay::transform_quantised_test
