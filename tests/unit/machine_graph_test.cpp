// Graphs: sizes, memory, workers, library kernels, failures.
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include <relay/runtime/library_kernel.h>
#include <relay/support/error.h>

#include <tests/unit/machine_testing.h>

namespace relay::vm::machine_graph_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

// out[i] = a[i] + b[i]; dims: n
int32_t add_kernel(const KernelArgs* args) {
  auto* a = static_cast<const float*>(args->buffers[0]);
  auto* b = static_cast<const float*>(args->buffers[1]);
  auto* out = static_cast<float*>(args->buffers[2]);
  return for_pieces(args, args->dims[0], [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = a[i] + b[i];
    return 0;
  });
}

// out[i] = a[n-1-i] through scratch; dims: n
int32_t reverse_kernel(const KernelArgs* args) {
  auto* a = static_cast<const float*>(args->buffers[0]);
  auto* out = static_cast<float*>(args->buffers[1]);
  auto* scratch = static_cast<float*>(args->scratch);
  int64_t n = args->dims[0];
  for (int64_t i = 0; i < n; ++i) scratch[i] = a[i];
  return for_pieces(args, n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = scratch[n - 1 - i];
    return 0;
  });
}

// out = sum of a, a number; dims: n
int32_t sum_kernel(const KernelArgs* args) {
  auto* a = static_cast<const float*>(args->buffers[0]);
  float sum = 0;
  for (int64_t i = 0; i < args->dims[0]; ++i) sum += a[i];
  *static_cast<float*>(args->buffers[1]) = sum;
  return 0;
}

// out[i] = a[at[i]]; dims: extent of a, n. Fails with the first index outside.
int32_t gather_kernel(const KernelArgs* args) {
  auto* a = static_cast<const float*>(args->buffers[0]);
  auto* at = static_cast<const int32_t*>(args->buffers[1]);
  auto* out = static_cast<float*>(args->buffers[2]);
  return for_pieces(args, args->dims[1], [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (at[i] < 0 || at[i] >= args->dims[0]) {
        args->detail->index = at[i];
        args->detail->extent = args->dims[0];
        return 1;
      }
      out[i] = a[at[i]];
    }
    return 0;
  });
}

void positive_kernel(LibraryCall& call) {
  const float* from = call.inputs[0].data<float>();
  auto least = static_cast<float>(call.number("least"));
  std::vector<float> found;
  for (int64_t i = 0; i < call.inputs[0].size(); ++i) {
    if (from[i] > least) found.push_back(from[i]);
  }
  float* to = call.make(0, {static_cast<int64_t>(found.size())}).data<float>();
  std::copy(found.begin(), found.end(), to);
}
[[maybe_unused]] const bool registered = register_library_kernel(
    "machine_test.greater", positive_kernel, {1, 1, {{"least", ParamKind::kNumber}}});

// y = reverse(x + x) + x, with temporaries; sum(y) as a number; both results.
std::shared_ptr<Executable> two_results() {
  auto e = std::make_shared<Executable>();
  uint32_t add = kernel(*e, "add", add_kernel, true);
  uint32_t reverse = kernel(*e, "reverse", reverse_kernel, true);
  uint32_t sum = kernel(*e, "sum", sum_kernel);
  GraphAssembler g("region");
  uint32_t n = g.extent(0, 0), four = g.size(4);
  uint32_t bytes = g.dim({DimCode::kMul, n, four, 0});
  uint32_t x = g.input(kFloat32, {n});
  uint32_t twice = g.place(kFloat32, {n});
  uint32_t reversed = g.place(kFloat32, {n});
  uint32_t y = g.place(kFloat32, {n});
  uint32_t total = g.place(kFloat32, {});
  g.launch(add, {{x, false}, {x, false}, {twice, true}}, {n});
  g.launch(reverse, {{twice, false}, {reversed, true}}, {n}).scratch = bytes;
  g.launch(add, {{reversed, false}, {x, false}, {y, true}}, {n}).in_place = {{2, 0, false}};
  g.launch(sum, {{y, false}, {total, true}}, {n});
  g.g.outputs = {y, total};
  graph_entry(*e, "main", g.add_to(*e));
  return e;
}

TEST(MachineGraph, TemporariesNumbersAndSizes) {
  auto e = two_results();
  for (int threads : {1, 2, 3}) {
    MachineOptions options;
    options.threads = threads;
    Machine machine(e, options);
    // Small ones and, for the workers, large ones; more sizes than plans are kept.
    for (int64_t n : {3, 0, 1, 3, 100000, 7, 100000, 11, 12, 13, 14, 15, 16, 17, 3}) {
      std::vector<float> x(static_cast<size_t>(n));
      std::iota(x.begin(), x.end(), 1.0f);
      Value result = machine.run("main", std::vector<Value>{tensor(x)});
      std::vector<float> y = elements(result.field(0));
      ASSERT_EQ(y.size(), x.size());
      float sum = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(y[i], 2 * x[x.size() - 1 - i] + x[i]);
        sum += y[i];
      }
      ASSERT_EQ(result.field(1).as<float>(), sum);
    }
  }
}

TEST(MachineGraph, ResultsOutliveTheNextRun) {
  auto e = two_results();
  Machine machine(e);
  Value first = machine.run("main", std::vector<Value>{tensor({1, 2})});
  Value second = machine.run("main", std::vector<Value>{tensor({3, 4})});
  EXPECT_EQ(elements(first.field(0)), (std::vector<float>{5, 4}));
  EXPECT_EQ(elements(second.field(0)), (std::vector<float>{11, 10}));
}

TEST(MachineGraph, StridedAndForeignInputs) {
  auto e = two_results();
  Machine machine(e);
  std::vector<float> memory{9, 1, 9, 2, 9, 3};
  int64_t shape[] = {3}, strides[] = {2};
  Value strided(NDArray::wrap(memory.data() + 1, shape, strides, kFloat32, nullptr, nullptr));
  Value result = machine.run("main", std::vector<Value>{strided});
  EXPECT_EQ(elements(result.field(0)), (std::vector<float>{7, 6, 5}));
}

TEST(MachineGraph, ResultsThatAreInputsConstantsAndViews) {
  auto e = std::make_shared<Executable>();
  uint32_t add = kernel(*e, "add", add_kernel);
  GraphAssembler g("region");
  uint32_t n = g.extent(0, 0), one = g.size(1), two = g.size(2);
  uint32_t x = g.input(kFloat32, {n});
  uint32_t s = g.input(kFloat32, {});
  uint32_t c = g.place(kFloat32, {two});
  g.g.places[c].constant = constant(*e, tensor({5, 6}));
  uint32_t view = g.place(kFloat32, {one, n}, x);
  uint32_t y = g.place(kFloat32, {n});
  uint32_t column = g.place(kFloat32, {n, one}, y);
  uint32_t number = g.place(kFloat32, {});
  uint32_t number_view = g.place(kFloat32, {one}, number);
  g.launch(add, {{x, false}, {c, false}, {column, true}}, {n});
  g.launch(add, {{s, false}, {s, false}, {number, true}}, {one});
  g.g.outputs = {x, c, view, y, column, y, s, number, number_view};
  graph_entry(*e, "main", g.add_to(*e));
  Value in = tensor({1, 2});
  Value result = run(e, "main", {in, Value::scalar(4.0f)});
  EXPECT_TRUE(result.field(0).same(in));
  EXPECT_EQ(elements(result.field(1)), (std::vector<float>{5, 6}));
  EXPECT_EQ(shape_text(result.field(2).shape()), "(1, 2)");
  EXPECT_EQ(elements(result.field(2)), (std::vector<float>{1, 2}));
  EXPECT_EQ(elements(result.field(3)), (std::vector<float>{6, 8}));
  EXPECT_EQ(shape_text(result.field(4).shape()), "(2, 1)");
  EXPECT_EQ(elements(result.field(4)), (std::vector<float>{6, 8}));
  EXPECT_EQ(elements(result.field(5)), (std::vector<float>{6, 8}));
  EXPECT_EQ(result.field(6).as<float>(), 4.0f);
  EXPECT_EQ(result.field(7).as<float>(), 8.0f);
  EXPECT_EQ(elements(result.field(8)), (std::vector<float>{8}));
}

TEST(MachineGraph, LibraryKernelsCount) {
  auto e = std::make_shared<Executable>();
  uint32_t add = kernel(*e, "add", add_kernel, true);
  Kernel library;
  library.name = "greater";
  library.implementation = "library";
  library.library = "machine_test.greater";
  e->kernels.push_back(library);
  GraphAssembler g("region");
  uint32_t n = g.extent(0, 0);
  uint32_t x = g.input(kFloat32, {n});
  uint32_t twice = g.place(kFloat32, {n});
  uint32_t found = g.place(kFloat32, {kNone});
  g.launch(add, {{x, false}, {x, false}, {twice, true}}, {n});
  g.launch(1, {{twice, false}, {found, true}}).params = {{"least", 3.0}};
  g.g.outputs = {found};
  graph_entry(*e, "main", g.add_to(*e));
  EXPECT_EQ(elements(run(e, "main", {tensor({1, 2, 0, 3})})), (std::vector<float>{4, 6}));
  EXPECT_EQ(elements(run(e, "main", {tensor({0, 1})})), (std::vector<float>{}));
}

std::string failure(const std::shared_ptr<Executable>& e, std::vector<Value> args,
                    int threads = 1) {
  try {
    run(e, "main", std::move(args), threads);
  } catch (const RuntimeError& error) {
    return render(error.diagnostics());
  }
  return "no failure";
}

// whole = [x + x, x + x + x], each half written where it lies; the result and its second half.
std::shared_ptr<Executable> two_halves(bool too_far) {
  auto e = std::make_shared<Executable>();
  uint32_t add = kernel(*e, "add", add_kernel, true);
  GraphAssembler g("region");
  uint32_t n = g.extent(0, 0), two = g.size(2);
  uint32_t both = g.dim({DimCode::kMul, n, two, 0});
  uint32_t x = g.input(kFloat32, {n});
  uint32_t whole = g.place(kFloat32, {both});
  uint32_t first = g.place(kFloat32, {n}, whole);
  uint32_t inner = g.place(kFloat32, {n}, whole);
  uint32_t second = g.place(kFloat32, {n}, inner);
  g.g.places[inner].offset = n;
  g.g.places[second].offset = too_far ? n : g.size(0);
  g.launch(add, {{x, false}, {x, false}, {first, true}}, {n});
  g.launch(add, {{first, false}, {x, false}, {second, true}}, {n}).in_place = {{2, 0, false}};
  g.g.outputs = {whole, second};
  graph_entry(*e, "main", g.add_to(*e));
  return e;
}

TEST(MachineGraph, PartsOfATensor) {
  for (int threads : {1, 3}) {
    for (int64_t n : {2, 0, 50000}) {
      std::vector<float> x(static_cast<size_t>(n), 1.0f);
      Value half;
      {
        MachineOptions options;
        options.threads = threads;
        Machine machine(two_halves(false), options);
        Value result = machine.run("main", std::vector<Value>{tensor(x)});
        std::vector<float> wanted(x.size(), 2.0f);
        wanted.resize(2 * x.size(), 3.0f);
        EXPECT_EQ(elements(result.field(0)), wanted);
        half = result.field(1);
      }
      // It keeps the memory.
      EXPECT_EQ(elements(half), std::vector<float>(x.size(), 3.0f));
    }
  }
  EXPECT_EQ(failure(two_halves(true), {tensor({1, 2})}),
            "error: the sizes of two views of a tensor do not agree\n");
}

// Native code is told that what it writes begins at a line.
TEST(MachineGraph, NativeCodeWritesWholeLines) {
  std::shared_ptr<Executable> e = two_halves(false);
  auto blob = std::make_shared<KernelBlob>();
  for (int byte : {0x31, 0xc0, 0xc3}) blob->bytes.push_back(static_cast<std::byte>(byte));
  e->blobs.push_back(blob);  // returns 0
  Kernel& native = e->kernels[0];
  native.function = nullptr;
  native.blob = 0;
  native.writes = {0, 0, 1};
  native.num_dims = 1;
  EXPECT_EQ(failure(e, {tensor(std::vector<float>(16))}), "no failure");
  EXPECT_EQ(failure(e, {tensor(std::vector<float>(15))}),
            "error: kernel add would write to a part of a tensor that begins within a line of 64 "
            "bytes\n");
}

TEST(MachineGraph, KernelFailuresDoNotDependOnWorkers) {
  auto e = std::make_shared<Executable>();
  uint32_t gather = kernel(*e, "gather", gather_kernel, true, {"index out of range"});
  GraphAssembler g("region");
  uint32_t n = g.extent(0, 0), m = g.extent(1, 0);
  uint32_t a = g.input(kFloat32, {n});
  uint32_t at = g.input(kInt32, {m});
  uint32_t first = g.place(kFloat32, {m});
  uint32_t second = g.place(kFloat32, {m});
  uint32_t flops = g.size(10'000'000'000);
  g.launch(gather, {{a, false}, {at, false}, {first, true}}, {n, m}).flops = flops;
  g.launch(gather, {{a, false}, {at, false}, {second, true}}, {n, m}).flops = flops;
  g.g.outputs = {first, second};
  graph_entry(*e, "main", g.add_to(*e));
  Value data = tensor({1, 2, 3});
  Value good(NDArray::from<int32_t>({4}, {2, 1, 0, 0}));
  Value bad(NDArray::from<int32_t>({4}, {2, 1, 0, 7}));
  for (int threads : {1, 2, 4}) {
    EXPECT_EQ(failure(e, {data, good}, threads), "no failure");
    EXPECT_EQ(failure(e, {data, bad}, threads), "error: index 7 is out of range for extent 3\n");
  }
}

// The first of many wrong indices is named, and the first of launches that fail at the same time,
// whoever took which tasks.
TEST(MachineGraph, TheFirstOfManyFailuresIsSaid) {
  auto e = std::make_shared<Executable>();
  uint32_t gather = kernel(*e, "gather", gather_kernel, true, {"index out of range"});
  GraphAssembler g("region");
  uint32_t n = g.extent(0, 0), m = g.extent(1, 0);
  uint32_t a = g.input(kFloat32, {n});
  uint32_t at = g.input(kInt32, {m}), late = g.input(kInt32, {m});
  uint32_t flops = g.size(10'000'000'000);
  for (uint32_t from : {at, late, at, late}) {
    uint32_t to = g.place(kFloat32, {m});
    g.launch(gather, {{a, false}, {from, false}, {to, true}}, {n, m}).flops = flops;
    g.g.outputs.push_back(to);
  }
  graph_entry(*e, "main", g.add_to(*e));
  Value data = tensor({1, 2, 3});
  const int64_t count = 3000;
  NDArray indices = NDArray::zeros(Shape{count}, kInt32);
  NDArray others = NDArray::zeros(Shape{count}, kInt32);
  for (int64_t i = 0; i < count; i += 7) others.data<int32_t>()[i] = 5000;
  for (int64_t i = count - 1; i >= 0; i -= 371) {
    for (int64_t k = i; k < count; k += 3) {
      indices.data<int32_t>()[k] = static_cast<int32_t>(100 + k);
    }
    const std::string expected =
        "error: index " + std::to_string(100 + i) + " is out of range for extent 3\n";
    for (int threads : {1, 2, 3, 5, 16, 64}) {
      EXPECT_EQ(failure(e, {data, Value(indices), Value(others)}, threads), expected) << threads;
    }
  }
}

// Many phases, launches that run at the same time, numbers; at every number of workers the same.
TEST(MachineGraph, ResultsDoNotDependOnWorkers) {
  auto e = std::make_shared<Executable>();
  uint32_t add = kernel(*e, "add", add_kernel, true);
  uint32_t reverse = kernel(*e, "reverse", reverse_kernel, true);
  uint32_t sum = kernel(*e, "sum", sum_kernel);
  GraphAssembler g("region");
  uint32_t n = g.extent(0, 0), four = g.size(4);
  uint32_t bytes = g.dim({DimCode::kMul, n, four, 0});
  uint32_t x = g.input(kFloat32, {n});
  uint32_t flops = g.size(5'000'000);
  std::vector<uint32_t> row{x};
  for (int level = 0; level < 12; ++level) {
    // More at the same time than a phase has lists of tasks.
    std::vector<uint32_t> next;
    for (int i = 0; i < 10; ++i) {
      uint32_t to = g.place(kFloat32, {n});
      uint32_t from = row[static_cast<size_t>(i) % row.size()];
      if (i % 2 == 0) {
        Launch& launch = g.launch(reverse, {{from, false}, {to, true}}, {n});
        launch.scratch = bytes;
        launch.flops = flops;
      } else {
        g.launch(add, {{from, false}, {row[0], false}, {to, true}}, {n}).flops = flops;
      }
      next.push_back(to);
    }
    row = next;
    uint32_t total = g.place(kFloat32, {});
    g.launch(sum, {{row[3], false}, {total, true}}, {n});
    g.g.outputs.push_back(total);
  }
  for (uint32_t each : row) g.g.outputs.push_back(each);
  graph_entry(*e, "main", g.add_to(*e));
  std::vector<float> in(3000);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 97) * 0x1p-40f;
  auto bits = [&](int threads) {
    MachineOptions options;
    options.threads = threads;
    Machine machine(e, options);
    std::vector<float> all;
    for (int turn = 0; turn < 3; ++turn) {
      Value result = machine.run("main", std::vector<Value>{tensor(in)});
      for (size_t i = 0; i < 12; ++i) all.push_back(result.field(i).as<float>());
      for (size_t i = 12; i < 22; ++i) {
        std::vector<float> part = elements(result.field(i));
        all.insert(all.end(), part.begin(), part.end());
      }
    }
    return all;
  };
  const std::vector<float> expected = bits(1);
  for (int threads = 2; threads <= 64; threads += threads < 6 ? 1 : 7) {
    EXPECT_EQ(bits(threads), expected) << threads << " workers";
  }
}

TEST(MachineGraph, SizesThatCannotBe) {
  auto e = std::make_shared<Executable>();
  e->messages = {};
  uint32_t add = kernel(*e, "add", add_kernel);
  GraphAssembler g("region");
  uint32_t n = g.extent(0, 0), m = g.extent(1, 0);
  uint32_t x = g.input(kFloat32, {n});
  uint32_t y = g.input(kFloat32, {m});
  uint32_t joined = g.dim({DimCode::kBroadcast, n, m, 0});
  uint32_t k = g.dim({DimCode::kElement, 2, 1, 0});
  uint32_t v = g.input(kInt64, {g.size(2)});
  (void)v;
  uint32_t out = g.place(kFloat32, {joined});
  uint32_t other = g.place(kFloat32, {k});
  g.g.checks.push_back({n, k, "n must be k", 0});
  g.launch(add, {{x, false}, {y, false}, {out, true}}, {joined});
  g.g.outputs = {out, other};
  graph_entry(*e, "main", g.add_to(*e));
  auto ints = [](int64_t a, int64_t b) { return Value(NDArray::from<int64_t>({2}, {a, b})); };
  EXPECT_EQ(failure(e, {tensor({1, 2}), tensor({1, 2}), ints(0, 2)}), "no failure");
  EXPECT_EQ(failure(e, {tensor({1, 2}), tensor({1, 2, 3}), ints(0, 2)}),
            "error: dimensions 2 and 3 do not broadcast\n");
  EXPECT_EQ(failure(e, {tensor({1, 2}), tensor({1, 2}), ints(0, 5)}), "error: n must be k\n");
  EXPECT_EQ(failure(e, {tensor({1, 2}), tensor({1, 2}), Value(NDArray::from<int64_t>({1}, {1}))}),
            "error: a dimension is element 1 of shape (1,)\n");
  EXPECT_NE(failure(e, {tensor({1, 2}), Value::scalar(1.0f), ints(0, 2)}), "no failure");
  EXPECT_NE(failure(e, {tensor({1, 2}), Value::unit(), ints(0, 2)}), "no failure");
}

TEST(MachineGraph, ManyTemporariesShareLittleMemory) {
  // A chain of 300 additions over 4 KiB each; in place or not, results are right.
  auto e = std::make_shared<Executable>();
  uint32_t add = kernel(*e, "add", add_kernel, true);
  GraphAssembler g("region");
  uint32_t n = g.extent(0, 0);
  uint32_t x = g.input(kFloat32, {n});
  uint32_t before = x;
  for (int i = 0; i < 300; ++i) {
    uint32_t next = g.place(kFloat32, {n});
    Launch& launch = g.launch(add, {{before, false}, {x, false}, {next, true}}, {n});
    if (i % 3 != 0) launch.in_place = {{2, 0, false}};
    before = next;
  }
  g.g.outputs = {before};
  graph_entry(*e, "main", g.add_to(*e));
  std::vector<float> in(50000);
  std::iota(in.begin(), in.end(), 0.0f);
  for (int threads : {1, 2}) {
    std::vector<float> out = elements(run(e, "main", {tensor(in)}, threads));
    for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], 301 * in[i]);
  }
}

TEST(MachineGraph, Profile) {
  auto e = two_results();
  for (int threads : {1, 2}) {
    MachineOptions options;
    options.threads = threads;
    Machine machine(e, options);
    Profile profile;
    profile.trace = true;
    machine.set_profile(&profile);
    std::vector<float> x(100000, 1.0f);
    machine.run("main", std::vector<Value>{tensor(x)});
    machine.set_profile(nullptr);
    machine.run("main", std::vector<Value>{tensor(x)});
    ASSERT_EQ(profile.kernels.size(), 3u);
    EXPECT_EQ(profile.kernels[0].calls, 2u);
    EXPECT_EQ(profile.kernels[1].calls, 1u);
    EXPECT_GT(profile.kernels[2].nanoseconds, 0u);
    EXPECT_EQ(profile.events.size(), 4u);
    EXPECT_GT(profile.total_nanoseconds, profile.kernels[2].nanoseconds);
  }
}

// A launch whose work is known is predicted, by where its memory stands; others are not.
TEST(MachineGraph, ProfilePredicts) {
  auto e = std::make_shared<Executable>();
  uint32_t add = kernel(*e, "add", add_kernel);
  GraphAssembler g("region");
  uint32_t n = g.extent(0, 0), none = g.size(0), steps = g.size(1'000'000);
  uint32_t x = g.input(kFloat32, {n});
  uint32_t sum = g.place(kFloat32, {n}), twice = g.place(kFloat32, {n});
  Launch& known = g.launch(add, {{x, false}, {x, false}, {sum, true}}, {n});
  known.products = known.functions = none;
  known.steps = steps;
  g.g.outputs = {twice};
  g.launch(add, {{sum, false}, {sum, false}, {twice, true}}, {n});
  graph_entry(*e, "main", g.add_to(*e));
  Machine machine(e, {.threads = 1});
  MachineModel model;
  model.one = model.all = {1, 1000, 1, {1, 1, 0.5}};
  model.launch_ns = 7;
  Profile profile;
  profile.model = &model;
  profile.trace = true;
  machine.set_profile(&profile);
  const std::vector<Value> arguments{tensor(std::vector<float>(10000, 1.0f))};
  machine.run("main", arguments);
  EXPECT_EQ(profile.kernels[0].calls, 2u);
  EXPECT_EQ(profile.kernels[0].predicted_calls, 1u);
  // Memory that is touched for the first time: 80,000 bytes, half of one in a nanosecond.
  EXPECT_EQ(profile.events[0].predicted_ns, 7 + 160'000);
  EXPECT_EQ(profile.events[1].predicted_ns, 0);
  profile.restart();
  EXPECT_TRUE(profile.events.empty());
  machine.run("main", arguments);
  EXPECT_LE(profile.events[0].predicted_ns, 7 + 80'000);
  EXPECT_GE(profile.events[0].predicted_ns, 7 + 1000);
}

TEST(MachineGraph, ThreadsShareAnExecutable) {
  auto e = two_results();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      MachineOptions options;
      options.threads = 1;
      Machine machine(e, options);
      for (int i = 1; i < 50; ++i) {
        std::vector<float> x(static_cast<size_t>(i + t), 1.0f);
        Value result = machine.run("main", std::vector<Value>{tensor(x)});
        if (result.field(1).as<float>() == 3.0f * static_cast<float>(i + t)) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4 * 49);
}

}  // namespace
}  // namespace relay::vm::machine_graph_test
