#include <gtest/gtest.h>
#include <relay/runtime/dlpack.h>
#include <relay/runtime/memory.h>
#include <relay/runtime/ndarray.h>
#include <relay/support/error.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace relay::runtime_ndarray_test {
namespace {

NDArray iota(std::initializer_list<int64_t> shape) {
  NDArray array = NDArray::empty(shape, kInt32);
  std::iota(array.data<int32_t>(), array.data<int32_t>() + array.size(), 0);
  return array;
}

std::vector<int64_t> elements(const NDArray& array) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < array.size(); ++i) result.push_back(array.element_as_int64(i));
  return result;
}

std::string error_of(auto f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(RuntimeNDArray, FreshArrays) {
  NDArray a = NDArray::empty({2, 3, 4}, kFloat32);
  EXPECT_EQ(a.rank(), 3u);
  EXPECT_EQ(a.size(), 24);
  EXPECT_EQ(a.byte_size(), 96u);
  EXPECT_EQ(a.stride(0), 12);
  EXPECT_EQ(a.stride(2), 1);
  EXPECT_TRUE(a.is_contiguous());
  EXPECT_TRUE(a.unique());
  EXPECT_EQ(a.byte_offset(), 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.raw()) % NDArray::kAlignment, 0u);
  NDArray b = a;
  EXPECT_FALSE(a.unique());
  EXPECT_EQ(a, b);
  EXPECT_EQ(NDArray::zeros(Shape{5}, kInt8).element_as_int64(4), 0);
  EXPECT_EQ(NDArray::scalar(2.5f).item_as_double(), 2.5);
  EXPECT_EQ(NDArray::scalar(kFloat16, 2.5).item_as_double(), 2.5);
  EXPECT_EQ(NDArray::scalar_int(kUInt8, 300).item_as_int64(), 300 & 255);
  EXPECT_EQ(NDArray::empty({3, 0, 2}, kInt8).size(), 0);
  EXPECT_THROW(a.data<int32_t>(), InternalError);
  EXPECT_THROW(a.item_as_double(), Error);
  EXPECT_EQ(shape_text(Shape{}), "()");
  EXPECT_EQ(shape_text(Shape{2}), "(2,)");
  EXPECT_EQ(shape_text(Shape{2, 3}), "(2, 3)");
}

TEST(RuntimeNDArray, Views) {
  NDArray a = iota({2, 3});
  NDArray t = a.transpose();
  EXPECT_EQ(elements(t), (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_FALSE(a.unique());
  EXPECT_EQ(elements(t.contiguous()), elements(t));
  EXPECT_EQ(elements(t.reshape(Shape{6})), elements(t));
  EXPECT_EQ(a.reshape(Shape{3, 2}).raw(), a.raw());
  EXPECT_EQ(elements(a.slice(1, 2, 3, -1)), (std::vector<int64_t>{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(a.slice(1, 2, 1).byte_offset(), 8u);
  EXPECT_EQ(elements(a.slice(0, 0, 0)), std::vector<int64_t>{});
  EXPECT_EQ(elements(iota({3}).broadcast_to(Shape{2, 3})),
            (std::vector<int64_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(elements(iota({2, 1}).broadcast_to(Shape{2, 2})), (std::vector<int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(elements(iota({1}).broadcast_to(Shape{0})), std::vector<int64_t>{});
  EXPECT_EQ(elements(a.view(Shape{2, 2}, Shape{3, 2})), (std::vector<int64_t>{0, 2, 3, 5}));
  EXPECT_EQ(elements(a.view(Shape{3}, Shape{-2}, 5)), (std::vector<int64_t>{5, 3, 1}));
  EXPECT_THROW(a.view(Shape{7}, Shape{1}), Error);
  EXPECT_THROW(a.view(Shape{2}, Shape{-1}), Error);
  EXPECT_THROW(a.view(Shape{2}, Shape{INT64_MAX}), Error);
  EXPECT_THROW(a.view(Shape{1}, Shape{1}, INT64_MAX), Error);
  EXPECT_THROW(a.slice(0, 1, 2), Error);
  EXPECT_THROW(a.slice(0, 0, 2, INT64_MAX), Error);
  EXPECT_THROW(a.reshape(Shape{4}), Error);
  EXPECT_THROW(iota({2}).broadcast_to(Shape{3}), Error);
  // The memory outlives the array it came with.
  NDArray tail = iota({4}).slice(0, 2, 2);
  EXPECT_EQ(elements(tail), (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(tail.unique());
}

TEST(RuntimeNDArray, CopiesOfTransposedArrays) {
  for (const Shape& shape : {Shape{70, 33}, {3, 40, 50}, {9, 2, 70, 10}, {8, 8}, {1, 300, 1, 9}}) {
    for (DType dtype : {kUInt8, kFloat16, kInt32, kFloat64}) {
      NDArray array = NDArray::empty(shape, dtype);
      auto* bytes = static_cast<uint8_t*>(array.raw());
      for (size_t i = 0; i < array.byte_size(); ++i)
        bytes[i] = static_cast<uint8_t>(i * 37 + i / 251);
      std::vector<size_t> axes(shape.size());
      std::iota(axes.begin(), axes.end(), size_t{0});
      do {
        NDArray turned = array.transpose(axes);
        std::vector<NDArray> views{turned,
                                   turned.slice(0, turned.extent(0) - 1, turned.extent(0), -1)};
        views.push_back(
            turned.slice(turned.rank() - 1, 0, (turned.extent(turned.rank() - 1) + 1) / 2, 2));
        for (const NDArray& view : views) {
          NDArray copy = view.copy();
          ASSERT_TRUE(copy.is_contiguous());
          for (int64_t i = 0; i < view.size(); ++i)
            ASSERT_EQ(std::memcmp(copy.element(i), view.element(i), dtype.size()), 0) << i;
        }
      } while (std::next_permutation(axes.begin(), axes.end()));
    }
  }
}

TEST(RuntimeNDArray, Assign) {
  NDArray a = NDArray::zeros(Shape{2, 2, 3}, kInt32);
  NDArray b = iota({3, 2, 2});
  a.transpose().assign(b);
  EXPECT_TRUE(bit_equal(a.transpose(), b));
  NDArray row = NDArray::zeros(Shape{6}, kInt32);
  row.slice(0, 0, 3, 2).assign(iota({3}));
  EXPECT_EQ(elements(row), (std::vector<int64_t>{0, 0, 1, 0, 2, 0}));
  EXPECT_THROW(row.assign(iota({3})), InternalError);
}

TEST(RuntimeNDArray, EqualityAndHashIgnoreStrides) {
  NDArray a = NDArray::empty({70, 80}, kFloat64);
  for (int64_t i = 0; i < a.size(); ++i) a.data<double>()[i] = static_cast<double>(i * 7 % 101);
  NDArray same = a.transpose().copy().transpose();
  EXPECT_FALSE(same.is_contiguous());
  EXPECT_TRUE(bit_equal(a, same));
  EXPECT_EQ(content_hash(a), content_hash(same));
  NDArray other = a.copy();
  other.data<double>()[5599] += 1;
  EXPECT_FALSE(bit_equal(a, other));
  EXPECT_FALSE(bit_equal(same, other));
  EXPECT_NE(content_hash(a), content_hash(other));
  EXPECT_FALSE(bit_equal(NDArray::scalar(0.0), NDArray::scalar(-0.0)));
  EXPECT_FALSE(bit_equal(NDArray::scalar(0), NDArray::scalar(0.0f)));
  EXPECT_NE(content_hash(iota({2, 3})), content_hash(iota({3, 2})));
}

TEST(RuntimeNDArray, UniformIsOneElementUntilItIsCopied) {
  NDArray seven = NDArray::scalar<int32_t>(7);
  NDArray uniform = NDArray::uniform(seven, Shape{2, 3});
  NDArray dense = NDArray::from<int32_t>({2, 3}, {7, 7, 7, 7, 7, 7});
  EXPECT_TRUE(uniform.is_uniform());
  EXPECT_FALSE(uniform.is_contiguous());
  EXPECT_FALSE(dense.is_uniform());
  EXPECT_EQ(elements(uniform), elements(dense));
  EXPECT_TRUE(bit_equal(uniform, dense) && bit_equal(dense, uniform));
  EXPECT_FALSE(bit_equal(uniform, NDArray::uniform(NDArray::scalar<int32_t>(8), Shape{2, 3})));
  EXPECT_FALSE(bit_equal(uniform, NDArray::from<int32_t>({2, 3}, {7, 7, 7, 7, 7, 8})));
  // However equal elements are stored, one hash.
  NDArray row = NDArray::from<int32_t>({1, 3}, {7, 7, 7}).broadcast_to(Shape{2, 3});
  NDArray turned = NDArray::from<int32_t>({3, 2}, {7, 7, 7, 7, 7, 7}).transpose();
  for (const NDArray& other : {dense, row, turned}) {
    EXPECT_TRUE(bit_equal(uniform, other));
    EXPECT_EQ(content_hash(uniform), content_hash(other));
    EXPECT_TRUE(other.compact().is_uniform());
  }
  EXPECT_NE(content_hash(uniform),
            content_hash(NDArray::from<int32_t>({2, 3}, {7, 7, 7, 7, 7, 8})));
  EXPECT_FALSE(iota({2, 3}).compact().is_uniform());
  // Nobody may overwrite an element that is several.
  uniform = NDArray::uniform(NDArray::scalar<int32_t>(7), Shape{2, 3});
  EXPECT_FALSE(uniform.unique());
  EXPECT_TRUE(uniform.copy().unique() && uniform.contiguous().unique());
  // Views stay what they are.
  EXPECT_TRUE(uniform.reshape(Shape{6}).is_uniform());
  EXPECT_TRUE(uniform.transpose().is_uniform());
  EXPECT_TRUE(uniform.slice(1, 0, 2, 2).is_uniform());
  EXPECT_TRUE(uniform.cast(kFloat16).is_uniform());
  EXPECT_EQ(uniform.cast(kFloat16).element_as_double(5), 7);
  // One element or none is an ordinary tensor.
  for (const Shape& shape : {Shape{}, Shape{1, 1}, Shape{0, 5}}) {
    NDArray plain = NDArray::uniform(seven, shape);
    EXPECT_TRUE(plain.is_contiguous() && !plain.is_uniform());
    EXPECT_TRUE(bit_equal(plain, NDArray::empty(shape, kInt32)) || plain.size() == 1);
  }
  // An array that leaves is dense, since it may be written to.
  dlpack::ManagedTensor* exported = dlpack::export_array(uniform);
  EXPECT_NE(exported->tensor.strides[1], 0);
  exported->deleter(exported);
}

TEST(RuntimeNDArray, UniformTakesNoMemory) {
  size_t before = memory_in_use();
  NDArray huge = NDArray::uniform(NDArray::scalar(1.5f), Shape{1000000, 1000000});
  EXPECT_TRUE(bit_equal(huge, NDArray::uniform(NDArray::scalar(1.5f), huge.shape())));
  EXPECT_EQ(content_hash(huge.reshape(Shape{1000000000000})),
            content_hash(NDArray::uniform(NDArray::scalar(1.5f), Shape{1000000000000})));
  EXPECT_LT(memory_in_use(), before + (size_t{2} << 20));
  EXPECT_EQ(error_of([&] { (void)huge.copy(); }).substr(0, 80),
            "tensor of shape (1000000, 1000000) and dtype float32 needs 4000000000000 bytes, ");
  EXPECT_EQ(
      error_of([&] {
        NDArray::uniform(NDArray::scalar(1.5f), Shape{1L << 40, 1L << 20});
      }),
      "tensor of shape (1099511627776, 1048576) and dtype float32 needs more bytes than can be "
      "addressed");
}

TEST(RuntimeNDArray, Cast) {
  EXPECT_EQ(elements(iota({2, 2}).transpose().cast(kFloat16)), (std::vector<int64_t>{0, 2, 1, 3}));
  EXPECT_EQ(elements(iota({3}).cast(kBool)), (std::vector<int64_t>{0, 1, 1}));
}

TEST(RuntimeNDArray, BadShapesAndSizes) {
  EXPECT_NE(error_of([] {
              NDArray::empty({2000000000, 2000000000}, kFloat32);
            }).find("tensor of shape (2000000000, 2000000000) and dtype float32 needs "),
            std::string::npos);
  EXPECT_NE(error_of([] {
              NDArray::empty({2000000000, 2000000000}, kInt8);
            }).find("needs more bytes than can be addressed"),
            std::string::npos);
  EXPECT_THROW(NDArray::empty({INT64_MAX, INT64_MAX, INT64_MAX}, kInt8), Error);
  EXPECT_THROW(NDArray::empty({INT64_MAX}, kInt8), Error);
  EXPECT_THROW(NDArray::empty({-1, 0}, kInt8), Error);
  EXPECT_EQ(NDArray::empty({INT64_MAX, INT64_MAX, 0}, kInt8).size(), 0);
  EXPECT_EQ(NDArray::empty({INT64_MAX, INT64_MAX, 0}, kInt8).transpose().copy().size(), 0);
  EXPECT_THROW(NDArray::empty(Shape(65, 1), kInt8), Error);
  EXPECT_THROW(NDArray::empty({1}, DType()), Error);
  EXPECT_THROW(NDArray::from_bytes(Shape{2}, kInt32, {}), Error);
}

TEST(RuntimeMemory, Limit) {
  size_t before = memory_in_use();
  set_memory_limit(before + (64 << 20));
  {
    NDArray a = NDArray::empty({40 << 20}, kInt8);
    EXPECT_NE(error_of([] { NDArray::empty({40 << 20}, kInt8); }).find("of the memory limit of"),
              std::string::npos);
    EXPECT_NE(error_of([] {
                NDArray::empty({80 << 20, 100}, kInt8);
              })
                  .find("tensor of shape (83886080, 100) and dtype int8 needs 8388608000 bytes, "
                        "more than the memory limit of "),
              std::string::npos);
    NDArray view = a.slice(0, 5, 10);
  }
  { NDArray again = NDArray::empty({40 << 20}, kInt8); }
  // Many small ones count too.
  std::vector<NDArray> small;
  EXPECT_THROW(
      {
        for (int i = 0; i < 1000000; ++i) small.push_back(NDArray::empty({100}, kFloat32));
      },
      Error);
  small.clear();
  set_memory_limit(0);
  EXPECT_LE(memory_in_use(), before + (2 << 20));
  EXPECT_GT(memory_limit(), size_t{1} << 20);
}

TEST(RuntimeMemory, ThreadsBalance) {
  size_t before = memory_in_use();
  for (int i = 0; i < 20; ++i) {
    std::vector<NDArray> arrays;
    std::thread([&] {
      for (int k = 0; k < 1000; ++k) arrays.push_back(NDArray::empty({64}, kFloat32));
    }).join();
  }
  size_t after = memory_in_use();
  EXPECT_LE(after > before ? after - before : before - after, size_t{64} << 10);
}

struct Foreign {
  alignas(64) float data[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  int released = 0;
};

void release_foreign(void* context) { ++static_cast<Foreign*>(context)->released; }

TEST(RuntimeNDArray, ForeignMemory) {
  Foreign foreign;
  {
    int64_t strides[] = {-4, 2};
    NDArray a =
        NDArray::wrap(foreign.data + 8, Shape{3, 2}, strides, kFloat32, release_foreign, &foreign);
    EXPECT_EQ(elements(a), (std::vector<int64_t>{8, 10, 4, 6, 0, 2}));
    EXPECT_EQ(a.byte_offset(), 32u);
    EXPECT_FALSE(a.unique());
    NDArray view = a.slice(1, 1, 1);
    a = NDArray();
    EXPECT_EQ(foreign.released, 0);
    EXPECT_EQ(elements(view), (std::vector<int64_t>{10, 6, 2}));
    EXPECT_FALSE(view.unique());
    EXPECT_THROW(view.view(Shape{2}, Shape{3}, 0), Error);
  }
  EXPECT_EQ(foreign.released, 1);
  // Misaligned memory is copied at once.
  NDArray odd = NDArray::wrap(reinterpret_cast<char*>(foreign.data) + 1, Shape{2}, nullptr, kInt32,
                              release_foreign, &foreign);
  EXPECT_EQ(foreign.released, 2);
  EXPECT_EQ(odd.size(), 2);
  EXPECT_THROW(NDArray::wrap(foreign.data, Shape{-2}, nullptr, kInt32, release_foreign, &foreign),
               Error);
  EXPECT_EQ(foreign.released, 3);
  int64_t far[] = {INT64_MAX};
  EXPECT_THROW(NDArray::wrap(foreign.data, Shape{1000}, far, kInt32, release_foreign, &foreign),
               Error);
  EXPECT_EQ(foreign.released, 4);
}

TEST(RuntimeNDArray, DLPack) {
  NDArray a = iota({2, 3}).transpose();
  NDArray b = dlpack::import_array(dlpack::export_array(a));
  EXPECT_TRUE(bit_equal(a, b));
  EXPECT_EQ(a.raw(), b.raw());
  NDArray c = dlpack::import_array(dlpack::export_array_versioned(b));
  b = NDArray();
  a = NDArray();
  EXPECT_EQ(elements(c), (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
  for (DType t : kAllDTypes) EXPECT_EQ(dlpack::from_dlpack(dlpack::to_dlpack(t)), t);
  EXPECT_FALSE(dlpack::from_dlpack({0, 32, 4}));
  EXPECT_FALSE(dlpack::from_dlpack({5, 64, 1}));

  auto* gpu = dlpack::export_array(c);
  gpu->tensor.device.type = static_cast<DeviceType>(2);
  EXPECT_THROW(dlpack::import_array(gpu), Error);
  auto* odd = dlpack::export_array(c);
  odd->tensor.dtype = {5, 64, 1};
  EXPECT_THROW(dlpack::import_array(odd), Error);
  auto* newer = dlpack::export_array_versioned(c);
  newer->version = {2, 0};
  EXPECT_THROW(dlpack::import_array(newer), Error);
}

// Whoever takes a DLPack tensor may write to it: what somebody else relies on is a copy, or marked.
TEST(RuntimeNDArray, DLPackOfSharedElements) {
  auto write = [](const dlpack::Tensor& tensor) { *static_cast<int32_t*>(tensor.data) = 99; };
  NDArray a = iota({2, 3});
  NDArray other = a.reshape(Shape{6});
  auto* copied = dlpack::export_array(a);
  write(copied->tensor);
  copied->deleter(copied);
  auto* marked = dlpack::export_array_versioned(a);
  EXPECT_EQ(marked->flags, dlpack::kReadOnly);
  EXPECT_EQ(marked->tensor.data, a.raw());
  marked->deleter(marked);
  auto* asked = dlpack::export_array_versioned(a, true);
  EXPECT_EQ(asked->flags, dlpack::kIsCopied);
  write(asked->tensor);
  asked->deleter(asked);
  auto* dense = dlpack::export_array_versioned(NDArray::uniform(NDArray::scalar(7), Shape{2, 3}));
  EXPECT_EQ(dense->flags, dlpack::kIsCopied);
  dense->deleter(dense);
  EXPECT_EQ(elements(other), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  // Foreign memory is somebody else's.
  NDArray foreign = dlpack::import_array(dlpack::export_array(iota({2})));
  marked = dlpack::export_array_versioned(foreign);
  EXPECT_EQ(marked->flags, dlpack::kReadOnly);
  marked->deleter(marked);
  // One's own is not copied.
  other = NDArray();
  auto* shared = dlpack::export_array(a);
  EXPECT_EQ(shared->tensor.data, a.raw());
  shared->deleter(shared);
  marked = dlpack::export_array_versioned(a);
  EXPECT_EQ(marked->flags, 0u);
  EXPECT_EQ(marked->tensor.data, a.raw());
  marked->deleter(marked);
}

TEST(Memory, SaysWhoRefused) {
  size_t left = memory_limit() - memory_in_use();
  EXPECT_EQ(error_of([] { throw_out_of_memory("this", 8); }),
            "this needs 8 bytes, more than the system gives");
  EXPECT_NE(error_of([&] { throw_out_of_memory("this", left + 1); }).find("the memory limit of"),
            std::string::npos);
}

}  // namespace
}  // namespace relay::runtime_ndarray_test
