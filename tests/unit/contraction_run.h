// Running contraction kernels in tests: all instruction sets that run here, any number of workers.
// The numbers are small integers, so sums are exact in any order.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include <relay/codegen/codegen.h>
#include <relay/runtime/kernel.h>
#include <relay/runtime/target_names.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/contraction_testing.h>

namespace relay::contraction_run {

inline std::vector<codegen::Target> targets() {
  std::vector<codegen::Target> all;
  for (std::string_view name : kTargetNames) {
    codegen::Target target = codegen::Target::parse(name);
    if (target.runs_here()) all.push_back(target);
  }
  return all;
}

inline NDArray numbers(std::vector<int64_t> shape, DType dtype, uint32_t seed) {
  NDArray floats = NDArray::empty(shape, dtype);
  for (int64_t i = 0; i < floats.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    auto value = static_cast<int32_t>(seed >> 28) - 8;
    if (dtype.is_unsigned()) value += 8;
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      static_cast<T*>(floats.raw())[i] = convert_element<T>(int64_t{value});
    });
  }
  return floats;
}

inline size_t bytes_of(const NDArray& array) {
  return static_cast<size_t>(array.size()) * array.dtype().size();
}

struct Case {
  te::Computation computation;
  std::vector<Dim> symbols;
  std::vector<int64_t> values;  // of the symbols
};

inline int64_t value_of(const Case& c, Dim dim) {
  return te::evaluate_dim(dim, {}, [&](const TypeVar* symbol) {
    for (size_t i = 0; i < c.symbols.size(); ++i) {
      if (c.symbols[i].as_symbol() == symbol) return c.values[i];
    }
    ADD_FAILURE() << "unknown symbol";
    return int64_t{0};
  });
}

inline NDArray run(const codegen::CompiledKernel& compiled, const std::vector<NDArray>& inputs,
                   const NDArray& like, const std::vector<int64_t>& dims, int workers,
                   int64_t scratch) {
  NDArray out = NDArray::empty(like.shape(), like.dtype());
  std::memset(out.raw(), 0xA5, bytes_of(out));
  const KernelBlob* blobs[] = {compiled.blob.get()};
  auto code = CodeMemory::map(blobs);
  std::vector<void*> buffers;
  for (const NDArray& input : inputs) buffers.push_back(const_cast<void*>(input.raw()));
  buffers.push_back(out.raw());
  for (int worker = 0; worker < (compiled.parallel ? workers : 1); ++worker) {
    NDArray memory = NDArray::empty({scratch + 64}, kUInt8);
    std::memset(memory.raw(), 0xFF, bytes_of(memory));
    FailureDetail detail;
    ShareOfTasks tasks(worker, workers);
    KernelArgs args{buffers.data(), dims.data(),        &tasks, memory.raw(), kernel_functions(),
                    &detail,        worker == 0 ? 1 : 0};
    EXPECT_EQ(code->kernel(0)(&args), 0);
  }
  return out;
}

/// Inputs of a case.
inline std::vector<NDArray> inputs_of(const Case& c) {
  std::vector<NDArray> inputs;
  for (const te::TensorInfo& info : c.computation.inputs) {
    std::vector<int64_t> shape;
    for (Dim dim : info.dims) shape.push_back(value_of(c, dim));
    inputs.push_back(numbers(shape, info.dtype, static_cast<uint32_t>(inputs.size() + 1)));
  }
  return inputs;
}

inline NDArray evaluated(const Case& c, const std::vector<NDArray>& inputs) {
  return te::evaluate(c.computation, inputs, [&](const TypeVar* symbol) {
    for (size_t i = 0; i < c.symbols.size(); ++i) {
      if (c.symbols[i].as_symbol() == symbol) return c.values[i];
    }
    return int64_t{0};
  })[0];
}

/// The result of a case's one stage as a contraction kernel, the same for any number of workers.
inline NDArray run_kernel(const Case& c, const std::vector<NDArray>& inputs, const NDArray& like,
                          const codegen::Target& target, const lower::TileChoice& chosen = {}) {
  auto contraction = contraction_of(c.computation);
  EXPECT_TRUE(contraction.has_value());
  if (!contraction) return like;
  contraction->chosen = chosen;
  auto kernel = std::make_shared<lower::Kernel>();
  kernel->name = "test";
  kernel->implementation = "contraction";
  kernel->body = *contraction;
  kernel->dim_args = c.symbols;
  std::shared_ptr<const lower::Kernel> kernels[] = {kernel};
  auto compiled = codegen::compile(kernels, target)[0];
  int64_t scratch = value_of(c, compiled.scratch_bytes);
  NDArray one = run(compiled, inputs, like, c.values, 1, scratch);
  for (int workers : {2, 5}) {
    NDArray several = run(compiled, inputs, like, c.values, workers, scratch);
    EXPECT_EQ(std::memcmp(one.raw(), several.raw(), bytes_of(one)), 0) << workers << " workers";
  }
  return one;
}

inline void expect_equal(const NDArray& actual, const NDArray& expected) {
  for (int64_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual.element_as_double(i), expected.element_as_double(i)) << "element " << i;
  }
}

/// A case's kernels against direct evaluation, on all targets that run here.
inline void check(const Case& c, const std::vector<NDArray>& inputs) {
  NDArray expected = evaluated(c, inputs);
  for (const codegen::Target& target : targets()) {
    SCOPED_TRACE(target.name());
    expect_equal(run_kernel(c, inputs, expected, target), expected);
  }
}
inline void check(const Case& c) { check(c, inputs_of(c)); }

}  // namespace relay::contraction_run
