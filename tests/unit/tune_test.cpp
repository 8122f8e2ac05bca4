// Sizes of tiles that are chosen instead of the planner's: results, what is kept of them, the
// search.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include <relay/codegen/tuned.h>
#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/lower/contraction_choices.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/parse/parse.h>
#include <relay/support/error.h>
#include <relay/vm/machine/machine.h>
#include <relay/vm/tune/tune.h>

#include <tests/support/temporary_folder.h>
#include <tests/unit/contraction_run.h>

namespace relay::tune_test {
namespace {

using codegen::Target;
using codegen::TunedKernels;
using lower::ChosenSizes;
using lower::TileChoice;

NDArray random_numbers(const NDArray& like, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  NDArray result = NDArray::empty(like.shape(), like.dtype());
  for (int64_t i = 0; i < result.size(); ++i) static_cast<float*>(result.raw())[i] = normal(random);
  return result;
}

contraction_run::Case product(Dim m, Dim k, Dim n) {
  return {computation_of("nn.matmul", Attrs::make(MatmulAttrs()),
                         {TensorType::make(std::vector<Dim>{m, k}, kFloat32),
                          TensorType::make(std::vector<Dim>{k, n}, kFloat32)}),
          {},
          {}};
}

TEST(Tune, ChosenSizesKeepTheBits) {
  struct Extents {
    int64_t m, k, n;
  };
  size_t tried = 0;
  for (const Extents& e : {Extents{64, 96, 80}, {33, 50, 130}, {100, 700, 70}}) {
    const contraction_run::Case c = product(e.m, e.k, e.n);
    std::vector<NDArray> inputs = contraction_run::inputs_of(c);
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = random_numbers(inputs[i], static_cast<uint32_t>(i + 1));
    const NDArray like = contraction_run::evaluated(c, inputs);
    for (const Target& target : contraction_run::targets()) {
      SCOPED_TRACE(target.name());
      const NDArray planned = contraction_run::run_kernel(c, inputs, like, target);
      const auto contraction = contraction_of(c.computation);
      for (const ChosenSizes sizes : {ChosenSizes::kTiles, ChosenSizes::kBlocks}) {
        for (const TileChoice& choice :
             lower::other_choices(*contraction, target.processor, sizes, 5)) {
          SCOPED_TRACE(choice.str());
          const NDArray chosen = contraction_run::run_kernel(c, inputs, like, target, choice);
          EXPECT_EQ(std::memcmp(planned.raw(), chosen.raw(), contraction_run::bytes_of(planned)),
                    0);
          ++tried;
        }
      }
    }
  }
  EXPECT_GE(tried, 20u);
}

TEST(Tune, ChoicesOfAnySizeAreHarmless) {
  const contraction_run::Case c = product(37, 41, 90);
  const std::vector<NDArray> inputs = contraction_run::inputs_of(c);
  const NDArray expected = contraction_run::evaluated(c, inputs);
  for (const TileChoice& choice :
       {TileChoice{1, 1, 1, 1}, TileChoice{1 << 20, 1 << 20, 1 << 20, 1 << 20},
        TileChoice{31, 1, 3, 7}, TileChoice{3, 4, 1 << 20, 1}, TileChoice{-1, -1, -1, -1}}) {
    for (const Target& target : contraction_run::targets()) {
      SCOPED_TRACE(choice.str());
      contraction_run::expect_equal(
          contraction_run::run_kernel(c, inputs, expected, target, choice), expected);
    }
  }
}

std::string key_of(char digit) { return std::string(32, digit); }

TEST(Tune, ChoicesComeBackFromDisk) {
  relay::testing::TemporaryFolder folder;
  const std::filesystem::path cache = folder.path() / "made" / "on demand";
  EXPECT_TRUE(TunedKernels::read(cache).empty());
  EXPECT_TRUE(TunedKernels::read({}).empty());
  TunedKernels tuned;
  tuned.set(key_of('a'), {6, 0, 8, 0});
  tuned.set(key_of('b'), {0, 2, 0, 3});
  tuned.write(cache, {});
  TunedKernels more;
  more.set(key_of('b'), {1, 1, 1, 1});
  more.set(key_of('c'), {2, 2, 2, 2});
  more.write(cache, {key_of('a'), key_of('b'), key_of('c')});  // `a` is best as it is planned
  const TunedKernels known = TunedKernels::read(cache);
  EXPECT_EQ(known.size(), 2u);
  EXPECT_FALSE(known.find(key_of('a')).has_value());
  EXPECT_EQ(known.find(key_of('b')), (TileChoice{1, 1, 1, 1}));
  EXPECT_EQ(known.find(key_of('c')), (TileChoice{2, 2, 2, 2}));
  tuned.set(key_of('a'), {});
  EXPECT_EQ(tuned.size(), 1u);
  EXPECT_THROW(tuned.write({}, {}), Error);
  std::ofstream(folder.path() / "file") << "x";
  EXPECT_THROW(tuned.write(folder.path() / "file", {}), Error);
}

TEST(Tune, DamagedFilesLoseWhatIsInDoubt) {
  relay::testing::TemporaryFolder folder;
  TunedKernels tuned;
  for (char digit : std::string("0123456789")) tuned.set(key_of(digit), {digit, 1, 2, 3});
  tuned.write(folder.path(), {});
  const std::filesystem::path file = folder.path() / "tuned";
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  const std::string whole = text.str();
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::string damaged = whole;
    if (round % 3 == 0) damaged.resize(random() % damaged.size());
    for (int i = 0; i < round % 4 && !damaged.empty(); ++i)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    std::ofstream(file, std::ios::binary) << damaged;
    // What is left says what was written, but where digits became others.
    const TunedKernels left = TunedKernels::read(folder.path());
    if (round % 4 != 0) continue;
    for (char digit : std::string("0123456789")) {
      const auto choice = left.find(key_of(digit));
      EXPECT_TRUE(!choice || *choice == (TileChoice{digit, 1, 2, 3})) << damaged;
    }
  }
  std::ofstream(file, std::ios::binary) << "relay tuned kernels of another version\n" << whole;
  EXPECT_TRUE(TunedKernels::read(folder.path()).empty());
  std::ofstream(file, std::ios::binary) << whole;
  EXPECT_EQ(TunedKernels::read(folder.path()).size(), 10u);
}

constexpr const char* kProgram =
    "def @main(%x: Tensor[(64, 96), float32], %w: Tensor[(96, 80), float32]) {\n"
    "  nn.relu(nn.matmul(%x, %w))\n}\n";

struct Compiled {
  Module module;
  std::vector<Value> arguments;

  explicit Compiled(const std::string& text) : module(parse_module("test", text)) {
    infer_types_or_throw(module);
    arguments = {Value(random_numbers(NDArray::empty({64, 96}, kFloat32), 1)),
                 Value(random_numbers(NDArray::empty({96, 80}, kFloat32), 2))};
    std::vector<TypeRef> types;
    for (const Value& argument : arguments) types.push_back(value_type(argument));
    module = specialize(module, "main", types);
  }
  NDArray run(const vm::CompileOptions& options) const {
    return vm::Machine(vm::compile(module, Name("main"), options)).run("main", arguments).array();
  }
};

TEST(Tune, CompilingTakesWhatIsKept) {
  const Compiled program(kProgram);
  relay::testing::TemporaryFolder folder;
  vm::CompileOptions options;
  options.cache = folder.path();
  std::vector<std::shared_ptr<const lower::Kernel>> kernels;
  options.kernels = &kernels;
  const NDArray planned = program.run(options);
  ASSERT_EQ(kernels.size(), 1u);
  const std::string before = kernels[0]->str();
  const std::string key = codegen::tuning_key(*kernels[0], options.target);
  TunedKernels tuned;
  tuned.set(key, {3, 1, 2, 0});
  tuned.write(options.cache, {});
  kernels.clear();
  const NDArray chosen = program.run(options);
  EXPECT_EQ(kernels[0]->str(),
            before + "chosen: 3 rows in a tile, 1 vectors in a panel, 2 tiles in a block\n");
  EXPECT_EQ(codegen::tuning_key(*kernels[0], options.target), key);
  EXPECT_NE(codegen::tuning_key(*kernels[0], Target::parse("baseline")), key);
  EXPECT_EQ(std::memcmp(planned.raw(), chosen.raw(), contraction_run::bytes_of(planned)), 0);
  // What is given counts, not what is kept.
  const TunedKernels none;
  options.tuned = &none;
  kernels.clear();
  program.run(options);
  EXPECT_EQ(kernels[0]->str(), before);
}

TEST(Tune, SearchMeasuresTheKernelsAndKeepsTheResult) {
  const Compiled program(kProgram);
  vm::TuneOptions options;
  options.threads = 1;
  std::vector<vm::TuneProgress> steps;
  options.on_progress = [&](const vm::TuneProgress& progress) { steps.push_back(progress); };
  const vm::TuneResult result = vm::tune(program.module, Name("main"), program.arguments, options);
  EXPECT_TRUE(result.complete);
  ASSERT_EQ(result.kernels.size(), 1u);
  EXPECT_EQ(result.kernels[0].name, "nn_matmul_nn_relu");
  EXPECT_GT(result.kernels[0].before_ns, 0);
  EXPECT_EQ(result.found.find(result.kernels[0].key).has_value(),
            result.kernels[0].choice != TileChoice());
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.back().step, steps.back().steps);
  EXPECT_EQ(steps.back().kernels, 1u);
  vm::CompileOptions tuned;
  tuned.tuned = &result.found;
  const NDArray planned = program.run({}), chosen = program.run(tuned);
  EXPECT_EQ(std::memcmp(planned.raw(), chosen.raw(), contraction_run::bytes_of(planned)), 0);
}

TEST(Tune, InterruptedSearchSaysSo) {
  const Compiled program(kProgram);
  vm::TuneOptions options;
  std::atomic<bool> interrupt = false;
  options.interrupt = &interrupt;
  options.on_progress = [&](const vm::TuneProgress&) { interrupt = true; };
  const vm::TuneResult result = vm::tune(program.module, Name("main"), program.arguments, options);
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.kernels.size(), 1u);
  EXPECT_TRUE(result.found.empty());
  options.interrupt = nullptr;
  options.seconds = 0;
  EXPECT_FALSE(vm::tune(program.module, Name("main"), program.arguments, options).complete);
}

TEST(Target, FileDescribesAMachine) {
  relay::testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "machine.json").string();
  const auto load = [&](const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
    return Target::parse(path);
  };
  const auto message = [&](const std::string& text) -> std::string {
    try {
      load(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const Target target = load(
      R"({"target": "avx2", "line_bytes": 64, "first_cache_bytes": 49152, "first_cache_ways": 12,
          "second_cache_bytes": 2097152, "last_cache_bytes": 4194304, "float32_gflops": 97.5})");
  EXPECT_EQ(target.name(), "avx2");
  EXPECT_EQ(target.processor.first_sets, 64);
  EXPECT_EQ(target.processor.first_ways, 12);
  EXPECT_EQ(target.processor.second_bytes, 2 << 20);
  EXPECT_EQ(target.processor.last_bytes, 4 << 20);
  EXPECT_NE(target.key(), Target::parse("avx2").key());
  EXPECT_EQ(load(R"({"target": "avx512"})").key(), Target::parse("avx512").key());
  const std::string of = "'" + path + "' describes no machine: ";
  EXPECT_EQ(message("[]"), of + "it is no JSON object");
  EXPECT_EQ(message("{"), of + "it is no JSON object");
  EXPECT_EQ(message(std::string(100000, ' ')), of + "it is larger than 65536 bytes");
  EXPECT_EQ(message(R"({"target": 3})"),
            of + "it names no target: \"target\": \"avx2\" and the like");
  EXPECT_EQ(message(R"({"target": "toaster"})"), "unknown target 'toaster'");
  EXPECT_EQ(message("{\"target\": \"" + path + "\"}"), "unknown target '" + path + "'");
  EXPECT_EQ(message(R"({"target": "host"})"),
            of + "\"target\" is \"host\", which is another one on each machine");
  EXPECT_EQ(message(R"({"target": "avx2", "second_cache_byte": 3})"),
            of + "there is no fact 'second_cache_byte'; did you mean second_cache_bytes?");
  EXPECT_EQ(message(R"({"target": "avx2", "line_bytes": 1e30})"),
            of + "\"line_bytes\" is no whole number from 16 to 1024");
  EXPECT_EQ(message(R"({"target": "avx2", "last_cache_bytes": -1})"),
            of + "\"last_cache_bytes\" is no whole number from 4096 to 1099511627776");
  EXPECT_EQ(
      message(R"({"target": "avx2", "first_cache_bytes": 5000})"),
      of + "the first cache has no whole number of sets: 5000 bytes, 8 lines of 64 bytes in each");
  EXPECT_THROW(Target::parse((folder.path() / "absent.json").string()), Error);
  EXPECT_THROW(Target::parse(folder.path().string() + "/.json"), Error);
}

}  // namespace
}  // namespace relay::tune_test
