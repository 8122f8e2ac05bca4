// The demands of library kernels on their host, and the memory that they take.
#include <gtest/gtest.h>

#include <relay/runtime/library_kernel.h>
#include <relay/runtime/memory.h>
#include <relay/support/error.h>

namespace relay::runtime_library_kernel_test {
namespace {

struct Stop {};

/// Counts how often a kernel lets the host look for an interruption; ends the run at the `last`.
class CountingHost final : public LibraryHost {
 public:
  explicit CountingHost(int64_t last = INT64_MAX) : last_(last) {}
  int64_t asked = 0;

  NDArray make(size_t, std::span<const int64_t> counts) override {
    Shape shape(counts.begin(), counts.end());
    shape.push_back(3);
    return NDArray::empty(shape, kInt64);
  }
  void run(int64_t tasks, void (*body)(void* context, int64_t task), void* context) override {
    if (++asked >= last_) throw Stop();
    LibraryHost::run(tasks, body, context);
  }

 private:
  int64_t last_;
};

void run(const char* kernel, std::vector<NDArray> inputs, KernelParams params,
         std::vector<NDArray> outputs, LibraryHost& host) {
  const LibraryEntry* entry = find_library_kernel(kernel);
  ASSERT_NE(entry, nullptr);
  ASSERT_EQ(entry->mismatch(inputs.size(), outputs.size(), params), "");
  LibraryCall call(inputs, params, outputs, host);
  entry->run(call);
}

/// Boxes (batch, n, 4) that have nothing in common.
NDArray boxes_apart(int64_t batch, int64_t n) {
  NDArray boxes = NDArray::empty({batch, n, 4}, kFloat32);
  for (int64_t i = 0; i < batch * n; ++i) {
    for (int64_t k = 0; k < 4; ++k)
      boxes.data<float>()[4 * i + k] = static_cast<float>(10 * (i % n) + (k < 2 ? 0 : 4));
  }
  return boxes;
}

NDArray ones(Shape shape) {
  NDArray array = NDArray::empty(shape, kFloat32);
  std::fill_n(array.data<float>(), array.size(), 1.0f);
  return array;
}

// A kernel asks in its tasks as well, where it is one of several.
template <class F>
void expect_asks(int64_t least, F&& run) {
  CountingHost all;
  run(all);
  EXPECT_GT(all.asked, least);
  CountingHost some(least / 2);
  EXPECT_THROW(run(some), Stop);
  EXPECT_LT(some.asked, least);
}

TEST(LibraryKernel, ProposalAsks) {
  constexpr int64_t kBoxes = 8192;
  expect_asks(200, [](LibraryHost& host) {
    run("proposal", {ones({2, kBoxes}), boxes_apart(2, kBoxes)},
        {{"pre_nms_top_n", 0}, {"threshold", 0.5}}, {NDArray::empty({2 * kBoxes, 5}, kFloat32)},
        host);
  });
}

TEST(LibraryKernel, SuppressionAsks) {
  constexpr int64_t kBoxes = 8192;
  expect_asks(200, [](LibraryHost& host) {
    run("all_class_non_max_suppression",
        {boxes_apart(1, kBoxes), ones({1, 2, kBoxes}), NDArray::scalar<int64_t>(-1),
         NDArray::scalar(0.5f), NDArray::scalar(0.0f)},
        {{"output_format", "onnx"}}, {NDArray(), NDArray::empty({1}, kInt64)}, host);
  });
}

// One tree that is as deep as it has nodes.
TEST(LibraryKernel, TreesAsk) {
  constexpr int32_t kNodes = 1 << 22;
  NDArray nodes = NDArray::empty({kNodes, 4}, kInt32);
  for (int32_t k = 0; k < kNodes; ++k) {
    int32_t next = k + 1 < kNodes ? k + 1 : -1, words[] = {0, next, next, 0};
    std::copy_n(words, 4, nodes.data<int32_t>() + 4 * k);
  }
  NDArray roots = NDArray::from<int32_t>({1}, {0});
  expect_asks(6, [&](LibraryHost& host) {
    run("tree_leaves", {ones({1, 1}), nodes, roots}, {}, {NDArray::empty({1, 1}, kInt32)}, host);
  });
}

NDArray one_region() { return NDArray::from<float>({1, 5}, {0, 0, 0, 3, 3}); }

void align(bool max, int64_t height, int64_t width, LibraryHost& host) {
  run("roi_align", {ones({1, 1, 4, 4}), one_region()},
      {{"spatial_scale", 1.0},
       {"sample_ratio", 1024},
       {"max", max},
       {"channels_last", false},
       {"aligned", false}},
      {NDArray::empty({1, 1, height, width}, kFloat32)}, host);
}

TEST(LibraryKernel, RegionsAsk) {
  expect_asks(6, [](LibraryHost& host) { align(true, 1, 8, host); });
  expect_asks(10, [](LibraryHost& host) { align(false, 8192, 1, host); });
}

TEST(LibraryKernel, MeansKeepNoSamples) {
  CountingHost host;
  // 16 Mi samples, of which no list is kept.
  set_memory_limit(memory_in_use() + (8 << 20));
  EXPECT_NO_THROW(align(false, 16384, 1, host));
  set_memory_limit(0);
}

TEST(LibraryKernel, NoBoxesOfManyClasses) {
  CountingHost host;
  constexpr int64_t kClasses = int64_t{1} << 40;
  std::vector<NDArray> outputs = {NDArray::empty({1, 2, 4}, kFloat32),
                                  NDArray::empty({1, 2}, kFloat32),
                                  NDArray::empty({1, 2}, kFloat32), NDArray::empty({1}, kInt32)};
  run("regular_non_max_suppression",
      {NDArray::empty({1, 0, 4}, kFloat32), NDArray::empty({1, 0, kClasses}, kFloat32)},
      {{"max_detections_per_class", 2},
       {"num_classes", kClasses},
       {"iou_threshold", 0.5},
       {"score_threshold", 0.0}},
      outputs, host);
  EXPECT_EQ(outputs[3].data<int32_t>()[0], 0);
  EXPECT_EQ(outputs[2].data<float>()[1], 0);
}

// The plans of transforms that are kept for the next one.
TEST(LibraryKernel, PlansAreGivenUp) {
  CountingHost host;
  auto transform = [&](int64_t n) {
    run("dft", {ones({n}), ones({n})}, {{"inverse", false}},
        {NDArray::empty({n}, kFloat32), NDArray::empty({n}, kFloat32)}, host);
  };
  constexpr int64_t kMiB = 1 << 20;
  auto in_use = [] { return static_cast<int64_t>(memory_in_use()); };
  int64_t before = in_use();
  transform(int64_t{1} << 20);
  EXPECT_GE(in_use(), before + 6 * kMiB);
  set_memory_limit(memory_in_use() + kMiB);
  EXPECT_TRUE(try_charge_memory(4 * kMiB));
  set_memory_limit(0);
  refund_memory(4 * kMiB);
  EXPECT_LE(in_use(), before + 2 * kMiB);
  // Large ones are not kept at all, nor many of middling size.
  transform(int64_t{1} << 22);
  for (int64_t n = 1; n < 16; n += 2) transform((int64_t{1} << 17) + n);
  EXPECT_LE(in_use(), before + 36 * kMiB);
}

}  // namespace
}  // namespace relay::runtime_library_kernel_test
