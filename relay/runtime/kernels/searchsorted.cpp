// Finds the places of values in ordered sequences. The order is that of sorting: not-a-number last.
#include <relay/runtime/kernels/order.h>
#include <relay/runtime/kernels/positions.h>
#include <relay/runtime/library_kernel.h>
#include <relay/runtime/library_operands.h>

#include <algorithm>

namespace relay {
namespace {

constexpr int64_t kChunk = 1 << 12;  // values of a task

/// The first place whose element is not before `key`; with `right`, the first whose is behind it.
template <bool right, class T>
int64_t find_place(const T* sequence, int64_t n, KeyOf<T> key) {
  const T* from = sequence;
  for (; n > 0;) {
    int64_t half = n / 2;
    KeyOf<T> middle = order_key<false>(from[half]);
    bool before = right ? !(key < middle) : middle < key;
    from = before ? from + half + 1 : from;
    n = before ? n - half - 1 : half;
  }
  return from - sequence;
}

template <bool right, class T, class P>
void search(LibraryCall& call, const NDArray& sequences, const NDArray& values, P* out) {
  const T* sequence = sequences.data<T>();
  const T* value = values.data<T>();
  int64_t n = sequences.extent(sequences.rank() - 1);
  // Values of one sequence, side by side.
  int64_t width = sequences.rank() == 1 ? values.size() : values.extent(values.rank() - 1);
  int64_t size = values.size();
  call.parallel((size + kChunk - 1) / kChunk, [&](int64_t task) {
    int64_t end = std::min(size, (task + 1) * kChunk);
    for (int64_t i = task * kChunk; i < end; ++i) {
      const T* from = sequence + i / width * n;
      out[i] = static_cast<P>(find_place<right>(from, n, order_key<false>(value[i])));
    }
  });
}

void searchsorted_kernel(LibraryCall& call) {
  NDArray sequences = call.inputs[0].contiguous(), values = call.inputs[1].contiguous();
  const NDArray& out = call.outputs[0];
  RELAY_CHECK(sequences.rank() > 0 && sequences.dtype() == values.dtype(),
              "arguments of searchsorted");
  int64_t n = sequences.extent(sequences.rank() - 1);
  // The place behind the last one is a result too.
  if (n >= most_positions(out.dtype())) throw RuntimeError(positions_text(n, out.dtype()));
  if (values.size() == 0) return;
  bool right = call.flag("right");
  dispatch(values.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto run = [&](auto* to) {
      if (right) {
        search<true, T>(call, sequences, values, to);
      } else {
        search<false, T>(call, sequences, values, to);
      }
    };
    if (out.dtype() == kInt32) {
      run(out.data<int32_t>());
    } else {
      run(out.data<int64_t>());
    }
  });
}

void searchsorted_rule(const LibraryOperands& of) {
  const LibraryOperand &sequences = of.inputs[0], &values = of.inputs[1];
  of.want(!sequences.shape.empty(), "a sequence");
  of.same_dtype(values, sequences);
  if (sequences.shape.size() > 1) {
    of.rank(values, sequences.shape.size());
    Shape shape(sequences.shape.begin(), sequences.shape.end());
    shape.back() = values.shape.back();
    of.shape(values, shape);
  }
  of.dtype(of.outputs[0], {kInt32, kInt64});
  of.shape(of.outputs[0], values.shape);
}

RELAY_LIBRARY_RULE("searchsorted", searchsorted_rule);
RELAY_LIBRARY_KERNEL("searchsorted", searchsorted_kernel, {2, 1, {{"right", ParamKind::kFlag}}});

}  // namespace
}  // namespace relay
