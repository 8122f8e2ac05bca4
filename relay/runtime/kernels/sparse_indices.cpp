// Indices of sparse tensors, one row for each element.
#include <relay/runtime/failure_text.h>
#include <relay/runtime/kernels/scratch.h>
#include <relay/runtime/library_kernel.h>
#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

namespace relay {
namespace {

std::vector<int64_t> numbers_of(const NDArray& array) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < array.size(); ++i) numbers.push_back(array.element_as_int64(i));
  return numbers;
}

/// Calls `body` with the elements of a tensor of int32 or int64.
template <class F>
void with_indices(const NDArray& array, F&& body) {
  if (array.dtype() == kInt32) return body(array.data<int32_t>());
  body(array.data<int64_t>());
}

int64_t checked_product(int64_t a, int64_t b, const char* what) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product))
    throw RuntimeError(std::string("the number of elements of ") + what + " is too large");
  return product;
}

/// The new shape with its -1 replaced.
std::vector<int64_t> completed(const std::vector<int64_t>& from, std::vector<int64_t> to) {
  int64_t all = 1, known = 1;
  for (int64_t extent : from) {
    if (extent < 0) throw RuntimeError("prev_shape is " + shape_text(from));
    all = checked_product(all, extent, "prev_shape");
  }
  int64_t* open = nullptr;
  for (int64_t& extent : to) {
    if (extent == -1 && open == nullptr) {
      open = &extent;
      continue;
    }
    if (extent < 0) throw RuntimeError("new_shape is " + shape_text(to));
    known = checked_product(known, extent, "new_shape");
  }
  std::string asked = shape_text(to);
  if (open != nullptr) *open = known == 0 ? 0 : all / known;
  if (open != nullptr && known != 0 && all % known == 0) known = all;
  if (known != all) {
    throw RuntimeError("new_shape " + asked + " does not have as many elements as prev_shape " +
                       shape_text(from));
  }
  return to;
}

/// The same elements under another shape.
void sparse_reshape_kernel(LibraryCall& call) {
  NDArray indices = call.inputs[0].contiguous();
  std::vector<int64_t> from = numbers_of(call.inputs[1]);
  std::vector<int64_t> to = completed(from, numbers_of(call.inputs[2]));
  RELAY_CHECK(indices.rank() == 2 && indices.extent(1) == static_cast<int64_t>(from.size()),
              "arguments of sparse_reshape");
  // Only the extent of -1 can be too large: the others are of the dtype.
  for (int64_t extent : to) {
    if (indices.dtype() == kInt32 && extent > std::numeric_limits<int32_t>::max()) {
      throw RuntimeError("new_shape becomes " + shape_text(to) + ", which does not fit int32");
    }
  }
  with_indices(indices, [&](auto* at) {
    using P = std::remove_cvref_t<decltype(*at)>;
    P* out = call.outputs[0].data<P>();
    for (int64_t row = 0; row < indices.extent(0); ++row) {
      int64_t flat = 0;
      for (int64_t extent : from) {
        int64_t index = *at++;
        if (index < 0 || index >= extent)
          throw RuntimeError(with_index(kOutOfRange, index, extent));
        flat = flat * extent + index;
      }
      for (size_t d = to.size(); d-- > 0; flat /= to[d]) out[d] = static_cast<P>(flat % to[d]);
      out += to.size();
    }
    for (size_t d = 0; d < to.size(); ++d) call.outputs[1].data<P>()[d] = static_cast<P>(to[d]);
  });
}

/// Elements by rows; a row without any gets one of the default value in column 0.
void sparse_fill_empty_rows_kernel(LibraryCall& call) {
  NDArray indices = call.inputs[0].contiguous(), values = call.inputs[1].contiguous();
  int64_t n = indices.extent(0), rank = indices.extent(1);
  std::vector<int64_t> shape = numbers_of(call.inputs[2]);
  RELAY_CHECK(indices.rank() == 2 && values.size() == n && rank > 0 &&
                  static_cast<int64_t>(shape.size()) == rank,
              "arguments of sparse_fill_empty_rows");
  for (int64_t extent : shape) {
    if (extent < 0) throw RuntimeError("dense_shape has a negative extent");
  }
  int64_t rows = shape[0];
  auto* empty = static_cast<uint8_t*>(call.outputs[2].raw());
  if (call.outputs[2].size() != rows) {
    throw RuntimeError("dense_shape has " + std::to_string(rows) + " rows, and there is room for " +
                       std::to_string(call.outputs[2].size()));
  }
  Scratch<int64_t> next(rows + 1);
  std::fill_n(next.data(), rows + 1, int64_t{0});
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t d = 0; d < rank; ++d) {
      int64_t index = indices.element_as_int64(i * rank + d),
              extent = shape[static_cast<size_t>(d)];
      if (index < 0 || index >= extent) throw RuntimeError(with_index(kOutOfRange, index, extent));
      if (d == 0) ++next[index + 1];
    }
  }
  bool flat = std::find(shape.begin() + 1, shape.end(), 0) != shape.end();
  for (int64_t row = 0; row < rows; ++row) {
    empty[row] = next[row + 1] == 0 ? 1 : 0;
    if (flat && empty[row] != 0) {
      throw RuntimeError("row " + std::to_string(row) + " is empty, and dense_shape " +
                         shape_text(shape) + " has no place in it to fill");
    }
    next[row + 1] = next[row] + std::max<int64_t>(1, next[row + 1]);
  }
  int64_t total = next[rows];
  const NDArray& new_indices = call.make(0, {total});
  const NDArray& new_values = call.make(1, {total});
  size_t size = values.dtype().size();
  auto* to_values = static_cast<std::byte*>(new_values.raw());
  const NDArray filler = call.inputs[3].contiguous();
  with_indices(indices, [&](const auto* at) {
    using P = std::remove_cvref_t<decltype(*at)>;
    P* out = new_indices.data<P>();
    for (int64_t row = 0; row < rows; ++row) {
      if (empty[row] == 0) continue;
      P* to = out + next[row] * rank;
      std::fill_n(to, rank, P{0});
      to[0] = static_cast<P>(row);
      std::memcpy(to_values + static_cast<size_t>(next[row]) * size, filler.raw(), size);
    }
    for (int64_t i = 0; i < n; ++i) {
      int64_t place = next[at[i * rank]]++;
      std::copy_n(at + i * rank, rank, out + place * rank);
      std::memcpy(to_values + static_cast<size_t>(place) * size,
                  static_cast<const std::byte*>(values.raw()) + static_cast<size_t>(i) * size,
                  size);
    }
  });
}

void sparse_reshape_rule(const LibraryOperands& of) {
  const LibraryOperand& indices = of.inputs[0];
  of.rank(indices, 2);
  of.dtype(indices, {kInt32, kInt64});
  of.shape(of.inputs[1], {indices.extent(1)});
  of.rank(of.inputs[2], 1);
  for (const LibraryOperand& output : of.outputs) of.same_dtype(output, indices);
  of.shape(of.outputs[0], {indices.extent(0), of.inputs[2].extent(0)});
  of.shape(of.outputs[1], of.inputs[2].shape);
}

void sparse_fill_empty_rows_rule(const LibraryOperands& of) {
  constexpr int64_t kCounted = LibraryOperands::kCounted;
  const LibraryOperand &indices = of.inputs[0], &values = of.inputs[1];
  of.rank(indices, 2);
  of.dtype(indices, {kInt32, kInt64});
  of.want(indices.extent(1) > 0, "indices of tensors that have rows");
  of.shape(values, {indices.extent(0)});
  of.shape(of.inputs[2], {indices.extent(1)});
  of.same_dtype(of.inputs[3], values);
  of.elements(of.inputs[3], 1);
  of.same_dtype(of.outputs[0], indices);
  of.shape(of.outputs[0], {kCounted, indices.extent(1)});
  of.same_dtype(of.outputs[1], values);
  of.shape(of.outputs[1], {kCounted});
  of.dtype(of.outputs[2], {kBool});
  of.rank(of.outputs[2], 1);
  of.want(of.outputs[2].extent(0) >= 0, "a flag for each row");
}

RELAY_LIBRARY_RULE("sparse_reshape", sparse_reshape_rule);
RELAY_LIBRARY_RULE("sparse_fill_empty_rows", sparse_fill_empty_rows_rule);
RELAY_LIBRARY_KERNEL("sparse_reshape", sparse_reshape_kernel, {3, 2, {}});
RELAY_LIBRARY_KERNEL("sparse_fill_empty_rows", sparse_fill_empty_rows_kernel, {4, 3, {}});

}  // namespace
}  // namespace relay
