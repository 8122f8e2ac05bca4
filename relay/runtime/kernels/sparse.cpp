// Products with sparse matrices: compressed rows, of numbers or of blocks.
#include <relay/runtime/failure_text.h>
#include <relay/runtime/kernels/floats.h>
#include <relay/runtime/kernels/interruption.h>
#include <relay/runtime/kernels/scratch.h>
#include <relay/runtime/library_kernel.h>
#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace relay {
namespace {

[[noreturn]] void out_of_range(int64_t index, int64_t extent) {
  throw RuntimeError(with_index(kOutOfRange, index, extent));
}

/// Rows of blocks: row r has blocks begin(r) … begin(r + 1) - 1, in block columns `column`. Numbers
/// are blocks of 1 × 1. Checked against its own extents: every block is in one row.
class Rows {
 public:
  Rows(const NDArray& data, const NDArray& indices, const NDArray& indptr, int64_t block_columns)
      : begins_(indptr.size()), columns_(indices.size()) {
    rows = indptr.size() - 1;
    blocks = indices.size();
    block_rows = data.rank() > 1 ? data.extent(1) : 1;
    block_width = data.rank() > 2 ? data.extent(2) : 1;
    if (rows < 0) throw RuntimeError("the row pointers of a sparse matrix are empty");
    RELAY_CHECK(data.extent(0) == blocks, "arguments of a sparse product");
    const char* things = data.rank() > 1 ? "blocks" : "elements";
    for (int64_t r = 0; r <= rows; ++r) begins_[r] = indptr.element_as_int64(r);
    if (begins_[0] != 0) {
      throw RuntimeError("row pointers must begin at 0, found " + std::to_string(begins_[0]));
    }
    for (int64_t r = 1; r <= rows; ++r) {
      if (begins_[r] >= begins_[r - 1]) continue;
      throw RuntimeError("row pointers fall from " + std::to_string(begins_[r - 1]) + " to " +
                         std::to_string(begins_[r]) + " at " + std::to_string(r));
    }
    if (begins_[rows] != blocks) {
      throw RuntimeError("row pointers must end at the number of " + std::string(things) + ", " +
                         std::to_string(blocks) + ", found " + std::to_string(begins_[rows]));
    }
    for (int64_t k = 0; k < blocks; ++k) {
      columns_[k] = indices.element_as_int64(k);
      if (columns_[k] < 0 || columns_[k] >= block_columns) out_of_range(columns_[k], block_columns);
    }
  }
  int64_t begin(int64_t row) const { return begins_[row]; }
  int64_t column(int64_t block) const { return columns_[block]; }

  int64_t rows, blocks;
  int64_t block_rows, block_width;

 private:
  Scratch<int64_t> begins_, columns_;
};

/// A vector of numbers in the dtype of the computation.
template <class T>
Scratch<ComputeType<T>> widened(const NDArray& array) {
  Scratch<ComputeType<T>> out(array.size());
  const T* from = array.data<T>();
  for (int64_t i = 0; i < array.size(); ++i) out[i] = static_cast<ComputeType<T>>(from[i]);
  return out;
}

/// out[n] = Σ_k x[k] · w[n, k] for one vector x and the rows of blocks from … to - 1.
template <class R, class F>
void multiply_vector(const Rows& matrix, int64_t from, int64_t to, const R* data, const R* x,
                     F&& write) {
  int64_t height = matrix.block_rows, width = matrix.block_width;
  for (int64_t r = from; r < to; ++r) {
    for (int64_t y = 0; y < height; ++y) {
      R sum = 0;
      for (int64_t k = matrix.begin(r); k < matrix.begin(r + 1); ++k) {
        const R* block = data + (k * height + y) * width;
        const R* at = x + matrix.column(k) * width;
        for (int64_t c = 0; c < width; ++c) sum += at[c] * block[c];
      }
      write(r * height + y, sum);
    }
  }
}

int64_t block_columns(int64_t columns, const NDArray& data) {
  int64_t width = data.rank() > 2 ? data.extent(2) : 1;
  return width == 0 ? 0 : columns / width;
}

constexpr int64_t kWorthSharing = 1 << 15;  // multiplications

/// dense (M, K) times a sparse (N, K) turned round: (M, N). With sparse_lhs the other way round:
/// (N, M).
void sparse_dense_kernel(LibraryCall& call) {
  NDArray dense = call.inputs[0].contiguous(), data = call.inputs[1].contiguous();
  RELAY_CHECK(dense.rank() == 2 && (data.rank() == 1 || data.rank() == 3),
              "arguments of sparse_dense");
  int64_t m = dense.extent(0), k = dense.extent(1);
  Rows matrix(data, call.inputs[2], call.inputs[3], block_columns(k, data));
  bool lhs = call.flag("sparse_lhs");
  int64_t n = matrix.rows * matrix.block_rows;
  dispatch_float(dense.dtype(), [&](auto zero) {
    using T = decltype(zero);
    using R = ComputeType<T>;
    Scratch<R> x = widened<T>(dense), w = widened<T>(data);
    T* out = call.outputs[0].data<T>();
    // Several rows of the dense matrix together, or one in several pieces.
    int64_t size = std::max<int64_t>(1, data.size());
    int64_t each = std::max<int64_t>(1, kWorthSharing / size);
    int64_t pieces =
        std::clamp<int64_t>(size / kWorthSharing, 1, std::max<int64_t>(1, matrix.rows));
    call.parallel((m + each - 1) / each * pieces, [&](int64_t task) {
      int64_t first = task / pieces * each, piece = task % pieces;
      auto begin = [&](int64_t at) {
        return matrix.rows / pieces * at + std::min(at, matrix.rows % pieces);
      };
      for (int64_t i = first; i < std::min(m, first + each); ++i) {
        multiply_vector(
            matrix, begin(piece), begin(piece + 1), w.data(), x.data() + i * k,
            [&](int64_t j, R sum) { out[lhs ? j * m + i : i * n + j] = convert_element<T>(sum); });
      }
    });
  });
}

/// dense (M, N) plus a sparse one.
void sparse_add_kernel(LibraryCall& call) {
  const NDArray& dense = call.inputs[0];
  NDArray data = call.inputs[1].contiguous();
  RELAY_CHECK(dense.rank() == 2 && data.rank() == 1, "arguments of sparse_add");
  Rows matrix(data, call.inputs[2], call.inputs[3], dense.extent(1));
  RELAY_CHECK(matrix.rows == dense.extent(0), "rows of sparse_add");
  call.outputs[0].assign(dense);
  dispatch(dense.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = data.data<T>();
    T* out = call.outputs[0].data<T>();
    for (int64_t r = 0; r < matrix.rows; ++r) {
      for (int64_t i = matrix.begin(r); i < matrix.begin(r + 1); ++i) {
        T& to = out[r * dense.extent(1) + matrix.column(i)];
        if constexpr (std::is_same_v<T, Bool>) {
          RELAY_UNREACHABLE("a sum of bools");
        } else if constexpr (std::is_integral_v<T>) {
          to = static_cast<T>(static_cast<uint64_t>(to) + static_cast<uint64_t>(from[i]));
        } else {
          to = convert_element<T>(static_cast<ComputeType<T>>(to) +
                                  static_cast<ComputeType<T>>(from[i]));
        }
      }
    }
  });
}

/// A square matrix of numbers turned round: data, columns, row pointers.
void sparse_transpose_kernel(LibraryCall& call) {
  NDArray data = call.inputs[0].contiguous();
  Rows matrix(data, call.inputs[1], call.inputs[2], call.inputs[2].size() - 1);
  Scratch<int64_t> next(matrix.rows + 1);
  std::fill_n(next.data(), matrix.rows + 1, int64_t{0});
  for (int64_t i = 0; i < matrix.blocks; ++i) ++next[matrix.column(i) + 1];
  for (int64_t r = 0; r < matrix.rows; ++r) next[r + 1] += next[r];
  auto copy_element = [&](int64_t to, int64_t from) {
    size_t size = data.dtype().size();
    std::memcpy(static_cast<std::byte*>(call.outputs[0].raw()) + static_cast<size_t>(to) * size,
                static_cast<const std::byte*>(data.raw()) + static_cast<size_t>(from) * size, size);
  };
  auto write = [&](const NDArray& array, int64_t at, int64_t value) {
    if (array.dtype() == kInt32) {
      array.data<int32_t>()[at] = static_cast<int32_t>(value);
    } else {
      array.data<int64_t>()[at] = value;
    }
  };
  for (int64_t r = 0; r <= matrix.rows; ++r) write(call.outputs[2], r, next[r]);
  for (int64_t r = 0; r < matrix.rows; ++r) {
    for (int64_t i = matrix.begin(r); i < matrix.begin(r + 1); ++i) {
      int64_t to = next[matrix.column(i)]++;
      copy_element(to, i);
      write(call.outputs[1], to, r);
    }
  }
}

/// The place in the data that a column of the weights of a convolution reads, relative to the
/// element of the result.
struct Place {
  int64_t rows, columns;  // so far away
  int64_t channel;
};

/// A convolution of stride 1 whose result is as large as the data: weights are a sparse matrix of
/// output channels times (kernel row, kernel column, input channel).
void sparse_conv2d_kernel(LibraryCall& call) {
  NDArray dense = call.inputs[0].contiguous(), data = call.inputs[1].contiguous();
  bool last = call.word("layout") == "NHWC";
  const std::vector<int64_t>& kernel = call.integers("kernel_size");
  RELAY_CHECK(dense.rank() == 4 && kernel.size() == 2 && kernel[0] > 0 && kernel[0] % 2 == 1 &&
                  kernel[1] > 0 && kernel[1] % 2 == 1,
              "arguments of sparse_conv2d");
  int64_t kh = kernel[0], kw = kernel[1];
  int64_t batch = dense.extent(0), height = dense.extent(last ? 1 : 2),
          width = dense.extent(last ? 2 : 3), channels = dense.extent(last ? 3 : 1);
  int64_t columns;
  if (__builtin_mul_overflow(kh, kw, &columns) ||
      __builtin_mul_overflow(columns, channels, &columns)) {
    throw RuntimeError("the weights have too many columns: " + std::to_string(kh) + " times " +
                       std::to_string(kw) + " times " + std::to_string(channels));
  }
  Rows matrix(data, call.inputs[2], call.inputs[3], block_columns(columns, data));
  int64_t block_height = matrix.block_rows, block_width = matrix.block_width;
  int64_t outputs = matrix.rows * block_height;
  const NDArray& result = call.outputs[0];
  RELAY_CHECK(result.rank() == 4 && result.extent(last ? 3 : 1) == outputs,
              "result of sparse_conv2d");
  if (result.size() == 0) return;
  Scratch<Place> places(matrix.blocks * block_width);
  for (int64_t k = 0; k < matrix.blocks; ++k) {
    for (int64_t c = 0; c < block_width; ++c) {
      int64_t column = matrix.column(k) * block_width + c, window = column / channels;
      places[k * block_width + c] = {window / kw - kh / 2, window % kw - kw / 2, column % channels};
    }
  }
  // Distances of channels, columns and rows in the data.
  int64_t dc = last ? 1 : height * width, dx = last ? channels : 1, dy = width * dx;
  int64_t oc = last ? 1 : height * width, ox = last ? outputs : 1, oy = width * ox;
  dispatch_float(dense.dtype(), [&](auto zero) {
    using T = decltype(zero);
    using R = ComputeType<T>;
    const T* x = dense.data<T>();
    Scratch<R> w = widened<T>(data);
    T* out = result.data<T>();
    // A row of the image for each output channel: the products of a weight run along it.
    call.parallel(batch * height, [&](int64_t task) {
      Scratch<R> sums(width);
      Interruption interruption(call);
      int64_t b = task / height, row = task % height;
      const T* image = x + b * height * width * channels;
      T* to = out + b * height * width * outputs + row * oy;
      for (int64_t o = 0; o < outputs; ++o, to += oc) {
        R* sum = sums.data();
        std::fill_n(sum, width, R{0});
        int64_t r = o / block_height, y = o % block_height;
        for (int64_t k = matrix.begin(r); k < matrix.begin(r + 1); ++k) {
          const R* weights = w.data() + (k * block_height + y) * block_width;
          for (int64_t c = 0; c < block_width; ++c) {
            const Place& place = places[k * block_width + c];
            int64_t source = row + place.rows;
            R weight = weights[c];
            int64_t first = width, end = width;  // of what lies inside
            if (source >= 0 && source < height) {
              first = std::clamp<int64_t>(-place.columns, 0, width);
              end = std::clamp<int64_t>(width - place.columns, first, width);
            }
            if (first < end) {
              const T* from =
                  image + source * dy + (first + place.columns) * dx + place.channel * dc;
              R* at = sum + first;
              for (int64_t i = 0; i < end - first; ++i)
                at[i] += static_cast<R>(from[i * dx]) * weight;
            }
            // Beyond the image are zeros: of a weight that is not finite they make not-a-number.
            if (std::isfinite(weight)) continue;
            for (int64_t i = 0; i < width; ++i) {
              if (i < first || i >= end) sum[i] += R{0} * weight;
            }
          }
        }
        interruption.after((1 + (matrix.begin(r + 1) - matrix.begin(r)) * block_width) * width);
        for (int64_t i = 0; i < width; ++i) to[i * ox] = convert_element<T>(sum[i]);
      }
    });
  });
}

/// Data, columns and row pointers of a sparse matrix, from input `first` on; rank 1 are numbers,
/// rank 3 blocks.
void rows_rule(const LibraryOperands& of, size_t first, bool blocks) {
  const LibraryOperand &data = of.inputs[first], &indices = of.inputs[first + 1];
  of.want(data.shape.size() == 1 || (blocks && data.shape.size() == 3),
          blocks ? "numbers or blocks of a sparse matrix" : "numbers of a sparse matrix");
  of.shape(indices, {data.extent(0)});
  of.rank(of.inputs[first + 2], 1);
}

/// Rows of numbers of that matrix. Without row pointers the kernel reports the mistake.
int64_t rows_of(const LibraryOperands& of, size_t first) {
  const LibraryOperand& data = of.inputs[first];
  const int64_t rows = std::max<int64_t>(of.inputs[first + 2].extent(0) - 1, 0);
  return data.shape.size() > 1 ? of.product(rows, data.extent(1)) : rows;
}

void sparse_dense_rule(const LibraryOperands& of) {
  const LibraryOperand &dense = of.inputs[0], &out = of.outputs[0];
  of.rank(dense, 2);
  of.floating(dense);
  rows_rule(of, 1, true);
  of.same_dtype(of.inputs[1], dense);
  of.same_dtype(out, dense);
  if (of.inputs[3].extent(0) == 0) return;
  const int64_t n = rows_of(of, 1), m = dense.extent(0);
  const bool lhs = of.param<bool>("sparse_lhs");
  of.shape(out, {lhs ? n : m, lhs ? m : n});
}

void sparse_add_rule(const LibraryOperands& of) {
  const LibraryOperand& dense = of.inputs[0];
  of.rank(dense, 2);
  of.want(!dense.dtype.is_bool(), "numbers");
  rows_rule(of, 1, false);
  of.same_dtype(of.inputs[1], dense);
  of.same(of.outputs[0], dense);
  of.shape(of.inputs[3], {dense.extent(0) + 1});
}

void sparse_transpose_rule(const LibraryOperands& of) {
  rows_rule(of, 0, false);
  of.same(of.outputs[0], of.inputs[0]);
  for (size_t k : {1, 2}) {
    of.dtype(of.outputs[k], {kInt32, kInt64});
    of.shape(of.outputs[k], of.inputs[k].shape);
  }
}

void sparse_conv2d_rule(const LibraryOperands& of) {
  const LibraryOperand &dense = of.inputs[0], &out = of.outputs[0];
  const auto& layout = of.param<std::string>("layout");
  const auto& kernel = of.param<std::vector<int64_t>>("kernel_size");
  of.want(layout == "NHWC" || layout == "NCHW", "layout NHWC or NCHW");
  of.want(kernel.size() == 2 && kernel[0] > 0 && kernel[0] % 2 == 1 && kernel[1] > 0 &&
              kernel[1] % 2 == 1,
          "two odd extents of its window");
  of.rank(dense, 4);
  of.floating(dense);
  rows_rule(of, 1, true);
  of.same_dtype(of.inputs[1], dense);
  of.same_dtype(out, dense);
  Shape shape(dense.shape.begin(), dense.shape.end());
  shape[layout == "NHWC" ? 3 : 1] = rows_of(of, 1);
  if (of.inputs[3].extent(0) > 0) of.shape(out, shape);
}

RELAY_LIBRARY_RULE("sparse_dense", sparse_dense_rule);
RELAY_LIBRARY_RULE("sparse_add", sparse_add_rule);
RELAY_LIBRARY_RULE("sparse_transpose", sparse_transpose_rule);
RELAY_LIBRARY_RULE("sparse_conv2d", sparse_conv2d_rule);
RELAY_LIBRARY_KERNEL("sparse_dense", sparse_dense_kernel,
                     {4, 1, {{"sparse_lhs", ParamKind::kFlag}}});
RELAY_LIBRARY_KERNEL("sparse_add", sparse_add_kernel, {4, 1, {}});
RELAY_LIBRARY_KERNEL("sparse_transpose", sparse_transpose_kernel, {3, 3, {}});
RELAY_LIBRARY_KERNEL("sparse_conv2d", sparse_conv2d_kernel,
                     {4, 1, {{"layout", ParamKind::kWord}, {"kernel_size", ParamKind::kIntegers}}});

}  // namespace
}  // namespace relay
