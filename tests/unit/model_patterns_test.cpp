// Products keep their kernels, and what surrounds them in real models computes what it should.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

#include <tests/unit/lower_cases.h>
#include <tests/unit/model_products.h>
#include <tests/unit/test_paths.h>

namespace relay::model_patterns_test {
namespace {

Module read_module(const std::string& name, const std::string& text) {
  Module module = parse_module(name, text);
  infer_types_or_throw(module);
  return module;
}

std::vector<NDArray> tensors_of(const Value& value) {
  if (value.is_tensor()) return {value.array()};
  std::vector<NDArray> result;
  for (const Value& field : value.fields()) result.push_back(field.array());
  return result;
}

class ModelPattern : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(ModelPattern, SameInBothExecutors) {
  Module module = read_module(GetParam().string(), testing::read_text(GetParam()));
  std::vector<Value> arguments;
  uint32_t seed = 3;
  for (const VarRef& param : module.function("main")->params()) {
    const auto* type = param->type()->as<TensorType>();
    std::vector<int64_t> shape;
    for (Dim dim : type->dims()) shape.push_back(dim.as_int());
    // Variances among them: above 0.
    NDArray array = testing::random_array(shape, kFloat32, seed++);
    for (int64_t i = 0; i < array.size(); ++i) {
      array.data<float>()[i] = 0.1f + std::abs(array.data<float>()[i]);
    }
    arguments.emplace_back(array);
  }
  std::vector<NDArray> wanted = tensors_of(evaluate_function(module, "main", arguments));
  for (int level : {0, 3}) {
    vm::CompileOptions options;
    options.level = level;
    vm::Machine machine(vm::compile(module, Name("main"), options));
    std::vector<NDArray> found = tensors_of(machine.run("main", arguments));
    EXPECT_EQ(testing::difference(found, wanted, [](DType) { return 1e-4; }), "")
        << "at level " << level;
  }
}

TEST_P(ModelPattern, ProductsAreContractions) {
  testing::Products found =
      testing::products_of(read_module(GetParam().string(), testing::read_text(GetParam())));
  EXPECT_GT(found.contractions, 0u);
  EXPECT_EQ(found.in_loops, 0u) << found.where;
}

INSTANTIATE_TEST_SUITE_P(Files, ModelPattern,
                         ::testing::ValuesIn(testing::program_files({"tests/models"})),
                         [](const auto& info) {
                           std::string name = info.param.stem().string();
                           for (char& c : name) {
                             if (c == '-') c = '_';
                           }
                           return name;
                         });

TEST(ModelPatterns, NoProductOfARecordedProgramInLoops) {
  std::string folder = testing::source_dir() + "/tests/conformance/oracle/";
  size_t contractions = 0;
  for (const char* file : {"ops-core.jsonl", "ops-special.jsonl", "passes.jsonl"}) {
    std::ifstream in(folder + file);
    for (std::string line; std::getline(in, line);) {
      auto json = nlohmann::json::parse(line);
      testing::Products found;
      try {
        found = testing::products_of(read_module("case", json["program"].get<std::string>()));
      } catch (const Error&) {
        continue;  // one that shows an error, or is polymorphic
      }
      contractions += found.contractions;
      EXPECT_EQ(found.in_loops, 0u) << json.value("name", "?") << "\n" << found.where;
    }
  }
  EXPECT_GT(contractions, 100u);
}

}  // namespace
}  // namespace relay::model_patterns_test
