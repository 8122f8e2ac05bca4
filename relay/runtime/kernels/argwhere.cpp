// Positions of the elements other than 0: counted first, so that the result is just as large as it
// has to be.
#include <relay/runtime/kernels/positions.h>
#include <relay/runtime/library_kernel.h>
#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>

#include <algorithm>

namespace relay {
namespace {

constexpr int64_t kChunk = 1 << 16;  // elements in a task

template <class T>
bool is_set(T value) {
  if constexpr (std::is_same_v<T, Bool>) {
    return static_cast<bool>(value);
  } else {
    return static_cast<ComputeType<T>>(value) != 0;  // not-a-number is not 0
  }
}

template <class T>
int64_t count_set(const T* data, int64_t n) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += is_set(data[i]) ? 1 : 0;
  return count;
}

/// Writes the positions of the set elements among [begin, end) of a row-major tensor.
template <class T, class P>
void write_positions(const T* data, ShapeView shape, int64_t begin, int64_t end, P* out) {
  size_t rank = shape.size();
  if (rank == 1) {
    for (int64_t i = begin; i < end; ++i) {
      if (is_set(data[i])) *out++ = static_cast<P>(i);
    }
    return;
  }
  int64_t width = shape[rank - 1];
  std::vector<P> at(rank);
  int64_t rest = begin / width;
  for (size_t d = rank - 1; d-- > 0; rest /= shape[d]) at[d] = static_cast<P>(rest % shape[d]);
  int64_t column = begin % width;
  for (int64_t i = begin; i < end; column = 0) {
    int64_t stop = std::min(width, column + end - i);
    for (; column < stop; ++column, ++i) {
      if (!is_set(data[i])) continue;
      for (size_t d = 0; d + 1 < rank; ++d) *out++ = at[d];
      *out++ = static_cast<P>(column);
    }
    for (size_t d = rank - 1; d-- > 0;) {
      if (static_cast<int64_t>(++at[d]) < shape[d]) break;
      at[d] = 0;
    }
  }
}

void argwhere_kernel(LibraryCall& call) {
  NDArray input = call.inputs[0].contiguous();
  auto rank = static_cast<int64_t>(input.rank());
  int64_t size = input.size();
  int64_t chunks = (size + kChunk - 1) / kChunk;
  std::vector<int64_t> first(static_cast<size_t>(chunks) + 1);
  dispatch(input.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = input.data<T>();
    call.parallel(chunks, [&](int64_t chunk) {
      int64_t begin = chunk * kChunk;
      first[static_cast<size_t>(chunk) + 1] =
          count_set(data + begin, std::min(kChunk, size - begin));
    });
    for (size_t chunk = 1; chunk < first.size(); ++chunk) first[chunk] += first[chunk - 1];
    const NDArray& out = call.make(0, {first.back()});
    for (int64_t extent : input.shape()) check_positions(extent, out.dtype());
    auto write = [&](auto* positions) {
      call.parallel(chunks, [&](int64_t chunk) {
        int64_t begin = chunk * kChunk;
        write_positions(data, input.shape(), begin, std::min(size, begin + kChunk),
                        positions + first[static_cast<size_t>(chunk)] * rank);
      });
    };
    if (rank == 0) return;
    if (out.dtype() == kInt32) {
      write(out.data<int32_t>());
    } else {
      write(out.data<int64_t>());
    }
  });
}

void argwhere_rule(const LibraryOperands& of) {
  const LibraryOperand& out = of.outputs[0];
  of.dtype(out, {kInt32, kInt64});
  of.shape(out, {LibraryOperands::kCounted, static_cast<int64_t>(of.inputs[0].shape.size())});
}

RELAY_LIBRARY_RULE("argwhere", argwhere_rule);
RELAY_LIBRARY_KERNEL("argwhere", argwhere_kernel, {1, 1, {}});

}  // namespace
}  // namespace relay
