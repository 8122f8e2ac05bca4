// Passes over convolutions and products with constant weights, on random networks: the result is
// the network's within what the pass may change, and each pass finds something to do.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/print/print.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_result.h>

#include <tests/support/random_network.h>
#include <tests/support/round_trip.h>
#include <tests/support/setting.h>

namespace relay::network_passes_property_test {
namespace {

struct NetworkPass {
  const char* passes;
  double error;  // the greatest, as a share of the greatest magnitude of the result
};

// float32 rounds other sums otherwise; float16 has 11 bits; operands of 8 bits have 7 of magnitude,
// which a number near to the greatest scale may need, and errors add up over the layers.
const NetworkPass kPasses[] = {
    {"DenseToSparse2([1, 1], 0.3)", 1e-5},
    {"Conv2dToSparse2(NCHW, 1, [1, 1], 0.3)", 1e-5},
    {"Conv2dToSparse2(NCHW, 3, [1, 1], 0.3)", 1e-5},
    {"ConvertLayout({\"nn.conv2d\": [\"NHWC\", \"default\"]})", 1e-5},
    {"FoldScaleAxis", 1e-5},
    {"ToMixedPrecision", 0.005},
    {"Quantize(skip_conv_layers=[])", 0.3},
};

Module transformed(const Module& module, const std::string& passes) {
  PassContext context;
  context.opt_level = 5;
  context.config["relay.verify_passes"] = true;
  Module after = (*make_sequential(parse_passes(passes)))(module, context);
  infer_types_or_throw(after);
  return after;
}

NDArray result(const Module& module, const NDArray& argument) {
  const Value value(argument);
  const TypeRef type = value_type(value);
  const Name entry = module.entry()->name;
  return evaluate_function(specialize(module, entry, std::span(&type, 1)), entry,
                           std::span(&value, 1))
      .array()
      .cast(kFloat64);
}

double greatest(const NDArray& array) {
  double found = 0;
  for (int64_t i = 0; i < array.size(); ++i)
    found = std::max(found, std::abs(array.data<double>()[i]));
  return found;
}

uint32_t networks() { return testing::setting("RELAY_PROPERTY_NETWORKS", 40); }

TEST(NetworkPasses, TheResultIsTheNetworks) {
  for (const NetworkPass& pass : kPasses) {
    uint32_t changed = 0;
    for (uint32_t seed = 0; seed < networks(); ++seed) {
      const testing::RandomNetwork network(seed);
      Module module = network.module();
      infer_types_or_throw(module);
      const std::string where = std::string(pass.passes) + ", seed " + std::to_string(seed);
      const Module after = transformed(module, pass.passes);
      if (same_functions(module, after)) continue;
      ++changed;
      const NDArray wanted = result(module, network.argument());
      const NDArray found = result(after, network.argument());
      ASSERT_TRUE(std::ranges::equal(found.shape(), wanted.shape())) << where;
      const double range = greatest(wanted);
      for (int64_t i = 0; i < wanted.size(); ++i) {
        const double error = std::abs(found.data<double>()[i] - wanted.data<double>()[i]);
        ASSERT_LE(error, pass.error * range) << where << "\n" << print_module(module);
      }
      ASSERT_EQ(testing::round_trip_problem(after), "") << where;
    }
    EXPECT_GE(changed, networks() / 8) << pass.passes << " finds too little to do";
  }
}

// A batch of copies has copies of the result.
TEST(NetworkPasses, AnotherBatch) {
  for (uint32_t seed = 0; seed < networks(); ++seed) {
    const testing::RandomNetwork network(seed);
    Module module = network.module();
    infer_types_or_throw(module);
    const int64_t copies = 2 + seed % 3;
    const Module after = transformed(
        module, "ChangeBatch({x: 0}, " + std::to_string(copies * network.batch()) + ")");
    const NDArray& one = network.argument();
    std::vector<int64_t> shape(one.shape().begin(), one.shape().end());
    shape[0] *= copies;
    NDArray many = NDArray::empty(shape, kFloat32);
    for (int64_t i = 0; i < many.size(); ++i)
      many.data<float>()[i] = one.data<float>()[i % one.size()];
    const NDArray wanted = result(module, one);
    const NDArray found = result(after, many);
    ASSERT_EQ(found.size(), wanted.size() * copies) << seed;
    for (int64_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found.data<double>()[i], wanted.data<double>()[i % wanted.size()]) << seed;
    ASSERT_EQ(testing::round_trip_problem(after), "") << seed;
  }
}

}  // namespace
}  // namespace relay::network_passes_property_test
