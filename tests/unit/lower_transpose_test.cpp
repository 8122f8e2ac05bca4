// Transposes on every instruction set: all sizes of elements, extents around those of vectors and
// tiles, known and symbolic.
#include <gtest/gtest.h>

#include <cstring>

#include <relay/graph/compose.h>
#include <relay/lower/lower.h>
#include <relay/runtime/value.h>

#include <tests/unit/kernel_testing.h>
#include <tests/unit/lower_cases.h>

namespace relay::lower::lower_transpose_test {
namespace {

using graph::compose;
using graph::Group;

/// All bytes differ from their neighbours; bools are 0 or 1.
NDArray pattern(const std::vector<int64_t>& shape, DType dtype) {
  NDArray array = NDArray::empty(shape, dtype);
  auto* bytes = static_cast<uint8_t*>(array.raw());
  const auto size = static_cast<size_t>(array.size()) * dtype.size();
  for (size_t i = 0; i < size; ++i) {
    auto value = static_cast<uint8_t>((i * 2654435761u) >> 13);
    bytes[i] = dtype.is_bool() ? value & 1 : value;
  }
  return array;
}

/// (a, b, c) with the last two exchanged, by definition.
NDArray transposed(const NDArray& array) {
  const int64_t a = array.extent(0), b = array.extent(1), c = array.extent(2);
  NDArray result = NDArray::empty({a, c, b}, array.dtype());
  const size_t size = array.dtype().size();
  const auto* from = static_cast<const uint8_t*>(array.raw());
  auto* to = static_cast<uint8_t*>(result.raw());
  for (int64_t i = 0; i < a * b * c; ++i) {
    int64_t k = i % c, j = i / c % b, row = i / c / b;
    std::memcpy(to + static_cast<size_t>((row * c + k) * b + j) * size,
                from + static_cast<size_t>(i) * size, size);
  }
  return result;
}

void check(const Group& group, const NDArray& input, const codegen::Target& target,
           const std::function<int64_t(const TypeVar*)>& symbols = {}) {
  Lowered lowered = lower(group.computation, "k", {.processor = target.processor});
  relay::testing::RunnableGroups native({std::move(lowered)}, target);
  for (int workers : {1, 3}) {
    EXPECT_TRUE(bit_equal(native.run(0, std::vector<NDArray>{input}, workers, symbols)[0],
                          transposed(input)))
        << shape_text(input.shape()) << " " << input.dtype().name() << " on " << target.name()
        << " with " << workers << " workers";
  }
}

const char* kProgram = "def @main(%x) { transpose(%x, axes=[0, 2, 1]) }";

TEST(LowerTranspose, SizesOfElements) {
  for (DType dtype : {kBool, kInt8, kFloat16, kInt32, kFloat32, kFloat64}) {
    for (const codegen::Target& target : relay::testing::targets_here()) {
      for (const std::vector<int64_t>& shape :
           {std::vector<int64_t>{1, 8, 9}, {2, 15, 33}, {1, 300, 40}, {3, 64, 56}}) {
        NDArray input = pattern(shape, dtype);
        std::vector<TypeRef> types{relay::testing::array_type(input)};
        FunctionRef function = relay::testing::main_function(kProgram, types);
        Group group = compose(*function, types);
        EXPECT_EQ(lower(group.computation, "k", {}).kernels.at(0)->implementation, "transpose");
        check(group, input, target);
      }
    }
  }
}

TEST(LowerTranspose, OpenExtents) {
  std::vector<TypeVarRef> vars;
  std::vector<Dim> dims;
  for (const char* name : {"a", "b", "c"}) {
    vars.push_back(TypeVar::make(name, Kind::kShapeVar));
    dims.push_back(Dim::symbol(vars.back().get()));
  }
  std::vector<TypeRef> types{TensorType::make(dims, kFloat32)};
  FunctionRef function = relay::testing::main_function(kProgram, types);
  Group group = compose(*function, types);
  for (const codegen::Target& target : relay::testing::targets_here()) {
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{0, 3, 4},
                                              {2, 0, 5},
                                              {1, 1, 1},
                                              {2, 3, 50},
                                              {1, 50, 3},
                                              {1, 16, 17},
                                              {2, 257, 31},
                                              {1, 520, 70}}) {
      check(group, pattern(shape, kFloat32), target, [&](const TypeVar* symbol) {
        for (size_t k = 0; k < vars.size(); ++k) {
          if (vars[k].get() == symbol) return shape[k];
        }
        return int64_t{0};
      });
    }
  }
}

}  // namespace
}  // namespace relay::lower::lower_transpose_test
