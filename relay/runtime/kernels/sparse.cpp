// Products with sparse matrices: compressed rows, of numbers or of blocks.
#include <relay/runtime/kernel.h>
#include <relay/runtime/kernels/boxes.h>
#include <relay/runtime/kernels/scratch.h>
#include <relay/runtime/library_kernel.h>
#include <relay/support/error.h>

#include <algorithm>
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

/// A vector of numbers as they are computed with.
template <class T>
Scratch<Real<T>> widened(const NDArray& array) {
  Scratch<Real<T>> out(array.size());
  const T* from = array.data<T>();
  for (int64_t i = 0; i < array.size(); ++i) out[i] = static_cast<Real<T>>(from[i]);
  return out;
}

/// out[n] = Σ_k x[k] · w[n, k] for one vector x.
template <class R, class F>
void multiply_vector(const Rows& matrix, const R* data, const R* x, F&& write) {
  int64_t height = matrix.block_rows, width = matrix.block_width;
  for (int64_t r = 0; r < matrix.rows; ++r) {
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
    using R = Real<T>;
    Scratch<R> x = widened<T>(dense), w = widened<T>(data);
    T* out = call.outputs[0].data<T>();
    int64_t each = std::max<int64_t>(1, kWorthSharing / std::max<int64_t>(1, data.size()));
    call.parallel((m + each - 1) / each, [&](int64_t task) {
      for (int64_t i = task * each; i < std::min(m, (task + 1) * each); ++i) {
        multiply_vector(matrix, w.data(), x.data() + i * k, [&](int64_t j, R sum) {
          out[lhs ? j * m + i : i * n + j] = convert_element<T>(sum);
        });
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

/// A convolution of stride 1 whose result is as large as the data: weights are a sparse matrix of
/// output channels times (kernel row, kernel column, input channel).
void sparse_conv2d_kernel(LibraryCall& call) {
  NDArray dense = call.inputs[0].contiguous(), data = call.inputs[1].contiguous();
  bool last = call.word("layout") == "NHWC";
  int64_t kh = call.integers("kernel_size").at(0), kw = call.integers("kernel_size").at(1);
  RELAY_CHECK(dense.rank() == 4 && kh % 2 == 1 && kw % 2 == 1, "arguments of sparse_conv2d");
  int64_t batch = dense.extent(0), height = dense.extent(last ? 1 : 2),
          width = dense.extent(last ? 2 : 3), channels = dense.extent(last ? 3 : 1);
  int64_t columns = kh * kw * channels;
  Rows matrix(data, call.inputs[2], call.inputs[3], block_columns(columns, data));
  int64_t outputs = matrix.rows * matrix.block_rows;
  // Of an element of the data: channels, columns and rows lie this far apart.
  int64_t dc = last ? 1 : height * width, dx = last ? channels : 1, dy = width * dx;
  int64_t oc = last ? 1 : height * width, ox = last ? outputs : 1, oy = width * ox;
  dispatch_float(dense.dtype(), [&](auto zero) {
    using T = decltype(zero);
    using R = Real<T>;
    const T* x = dense.data<T>();
    Scratch<R> w = widened<T>(data);
    T* out = call.outputs[0].data<T>();
    call.parallel(batch * height, [&](int64_t task) {
      Scratch<R> window(columns);
      int64_t b = task / height, row = task % height;
      const T* from = x + b * height * width * channels;
      T* to = out + b * height * width * outputs + row * oy;
      for (int64_t column = 0; column < width; ++column) {
        R* at = window.data();
        for (int64_t i = 0; i < kh; ++i) {
          for (int64_t j = 0; j < kw; ++j) {
            int64_t sy = row + i - kh / 2, sx = column + j - kw / 2;
            bool inside = sy >= 0 && sy < height && sx >= 0 && sx < width;
            for (int64_t c = 0; c < channels; ++c)
              *at++ = inside ? static_cast<R>(from[sy * dy + sx * dx + c * dc]) : R{0};
          }
        }
        multiply_vector(matrix, w.data(), window.data(), [&](int64_t o, R sum) {
          to[column * ox + o * oc] = convert_element<T>(sum);
        });
      }
    });
  });
}

RELAY_LIBRARY_KERNEL("sparse_dense", sparse_dense_kernel,
                     {4, 1, {{"sparse_lhs", ParamKind::kFlag}}});
RELAY_LIBRARY_KERNEL("sparse_add", sparse_add_kernel, {4, 1, {}});
RELAY_LIBRARY_KERNEL("sparse_transpose", sparse_transpose_kernel, {3, 3, {}});
RELAY_LIBRARY_KERNEL("sparse_conv2d", sparse_conv2d_kernel,
                     {4, 1, {{"layout", ParamKind::kWord}, {"kernel_size", ParamKind::kIntegers}}});

}  // namespace
}  // namespace relay
