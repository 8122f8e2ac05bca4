// Valid boxes to the front, and non-maximum suppression among rows of boxes.
#include <relay/runtime/kernels/boxes.h>
#include <relay/runtime/kernels/positions.h>
#include <relay/runtime/kernels/scratch.h>
#include <relay/runtime/kernels/suppress.h>
#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

namespace relay {
namespace {

template <class T>
void fill_row(T* row, int64_t width) {
  std::fill_n(row, width, convert_element<T>(-1.0));
}

/// A column of rows of `width` that a parameter names; -1 where it may be missing.
int64_t column_of(const LibraryCall& call, std::string_view name, int64_t width, int64_t columns,
                  bool optional) {
  int64_t column = call.integer(name);
  if (column < (optional ? -1 : 0) || column > width - columns) {
    throw RuntimeError(std::string(name) + " = " + std::to_string(column) +
                       " is out of range for rows of " + std::to_string(width));
  }
  return column;
}

void get_valid_counts_kernel(LibraryCall& call) {
  NDArray data = call.inputs[0].contiguous();
  RELAY_CHECK(data.rank() == 3, "arguments of get_valid_counts");
  int64_t batch = data.extent(0), n = data.extent(1), width = data.extent(2);
  if (data.size() == 0) {
    for (size_t k : {0, 2}) {
      auto* numbers = call.outputs[k].data<int32_t>();
      std::fill_n(numbers, call.outputs[k].size(), k == 0 ? 0 : -1);
    }
    return;
  }
  int64_t id = column_of(call, "id_index", width, 1, true);
  int64_t score = column_of(call, "score_index", width, 1, false);
  check_positions(n, kInt32);
  auto* counts = call.outputs[0].data<int32_t>();
  auto* indices = call.outputs[2].data<int32_t>();
  dispatch_float(data.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto threshold = static_cast<ComputeType<T>>(call.inputs[1].item_as_double());
    const T* from = data.data<T>();
    T* out = call.outputs[1].data<T>();
    call.parallel(batch, [&](int64_t b) {
      int32_t count = 0;
      for (int64_t i = 0; i < n; ++i) {
        const T* row = from + (b * n + i) * width;
        bool valid = static_cast<ComputeType<T>>(row[score]) > threshold &&
                     (id < 0 || static_cast<ComputeType<T>>(row[id]) >= 0);
        if (!valid) continue;
        std::copy_n(row, width, out + (b * n + count) * width);
        indices[b * n + count++] = static_cast<int32_t>(i);
      }
      counts[b] = count;
      std::fill_n(indices + b * n + count, n - count, -1);
      fill_row(out + (b * n + count) * width, (n - count) * width);
    });
  });
}

/// One run of vision.non_max_suppression.
template <class T>
class RowSuppression {
 public:
  explicit RowSuppression(LibraryCall& call)
      : call_(call),
        data_(call.inputs[0].contiguous()),
        from_(data_.data<T>()),
        n_(data_.extent(1)),
        width_(data_.extent(2)),
        coordinates_(column_of(call, "coord_start", width_, 4, false)),
        score_(column_of(call, "score_index", width_, 1, false)),
        id_(column_of(call, "id_index", width_, 1, true)),
        force_(call.flag("force_suppress")),
        top_k_(call.integer("top_k")),
        threshold_(static_cast<ComputeType<T>>(call.inputs[4].item_as_double())),
        limit_(limit_of(call.inputs[3], n_)) {}

  void run() {
    call_.parallel(data_.extent(0), [&](int64_t b) { run_batch(b); });
  }

 private:
  /// The valid rows of a batch element, in the order of the result; -1 where one is suppressed.
  void run_batch(int64_t b) {
    int64_t count = call_.inputs[1].element_as_int64(b);
    if (count < 0 || count > n_) {
      throw RuntimeError("valid_count of batch " + std::to_string(b) + " must be from 0 to the " +
                         std::to_string(n_) + " boxes, found " + std::to_string(count));
    }
    Scratch<int64_t> room(count);
    std::span<int64_t> rows(room.data(), static_cast<size_t>(count));
    if (threshold_ > 0) {
      std::fill(rows.begin(), rows.end(), int64_t{-1});
      suppress(b, count, rows);
    } else {
      std::iota(rows.begin(), rows.end(), int64_t{0});
    }
    if (call_.flag("return_indices")) {
      write_indices(b, rows);
    } else {
      write_boxes(b, rows);
    }
  }

  void suppress(int64_t b, int64_t count, std::span<int64_t> rows) {
    const T* boxes = from_ + b * n_ * width_;
    Scratch<WideItem> items(2 * count);
    const WideItem* order =
        order_scores(call_, data_.dtype(), boxes + score_, width_, count, items.data());
    if (top_k_ > 0) count = std::min(count, top_k_);
    using R = ComputeType<T>;
    Suppression<R> suppression(count);
    int64_t i = 0;
    for (; i < count; ++i) {
      const T* row = boxes + item_position(order[i]) * width_;
      if (!(static_cast<R>(row[score_]) > 0)) break;
      const T* at = row + coordinates_;
      R id = id_ < 0 ? R{0} : static_cast<R>(row[id_]);
      bool quiet = id_ >= 0 && !(id >= 0);
      suppression.add(i, static_cast<R>(at[0]), static_cast<R>(at[1]), static_cast<R>(at[2]),
                      static_cast<R>(at[3]), force_ ? R{0} : id, quiet);
    }
    Scratch<int64_t> kept(count);
    int64_t found = suppression.run(call_, threshold_, limit_, kept.data());
    for (int64_t k = 0; k < found; ++k)
      rows[static_cast<size_t>(kept[k])] = item_position(order[kept[k]]);
    // Without a score above 0 a box neither suppresses nor is suppressed.
    for (; i < count && found < limit_; ++i) rows[static_cast<size_t>(i)] = item_position(order[i]);
  }

  void write_boxes(int64_t b, std::span<const int64_t> rows) {
    T* out = call_.outputs[0].data<T>() + b * n_ * width_;
    T* end = out + n_ * width_;
    bool pack = call_.flag("invalid_to_bottom");
    for (int64_t row : rows) {
      if (row >= 0) {
        std::copy_n(from_ + (b * n_ + row) * width_, width_, out);
      } else if (pack) {
        continue;
      } else {
        fill_row(out, width_);
      }
      out += width_;
    }
    fill_row(out, end - out);
  }

  void write_indices(int64_t b, std::span<const int64_t> rows) {
    int32_t* out = call_.outputs[0].data<int32_t>() + b * n_;
    int32_t count = 0;
    for (int64_t row : rows) {
      if (row < 0) continue;
      int64_t name = call_.inputs[2].element_as_int64(b * n_ + row);
      if (name < 0) continue;
      if (name > std::numeric_limits<int32_t>::max()) {
        throw RuntimeError("the index of box " + std::to_string(row) + " of batch " +
                           std::to_string(b) + " is " + std::to_string(name) +
                           ", which does not fit int32");
      }
      out[count++] = static_cast<int32_t>(name);
    }
    std::fill_n(out + count, n_ - count, -1);
    call_.outputs[1].data<int32_t>()[b] = count;
  }

  LibraryCall& call_;
  NDArray data_;
  const T* from_;
  int64_t n_, width_;
  int64_t coordinates_, score_, id_;
  bool force_;
  int64_t top_k_;
  ComputeType<T> threshold_;
  int64_t limit_;
};

void non_max_suppression_kernel(LibraryCall& call) {
  size_t outputs = call.flag("return_indices") ? 2 : 1;
  RELAY_CHECK(call.inputs[0].rank() == 3 && call.outputs.size() == outputs,
              "arguments of non_max_suppression");
  dispatch_float(call.inputs[0].dtype(),
                 [&](auto zero) { RowSuppression<decltype(zero)>(call).run(); });
}

void get_valid_counts_rule(const LibraryOperands& of) {
  const LibraryOperand& data = of.inputs[0];
  of.rank(data, 3);
  of.floating(data);
  of.elements(of.inputs[1], 1);
  of.dtype(of.outputs[0], {kInt32});
  of.elements(of.outputs[0], data.extent(0));
  of.same(of.outputs[1], data);
  of.dtype(of.outputs[2], {kInt32});
  of.shape(of.outputs[2], {data.extent(0), data.extent(1)});
}

void non_max_suppression_rule(const LibraryOperands& of) {
  const LibraryOperand& data = of.inputs[0];
  of.rank(data, 3);
  of.floating(data);
  const int64_t batch = data.extent(0), boxes = data.extent(1);
  of.elements(of.inputs[1], batch);
  of.elements(of.inputs[2], batch * boxes);
  of.elements(of.inputs[3], 1);
  of.elements(of.inputs[4], 1);
  const bool indices = of.param<bool>("return_indices");
  of.want(of.outputs.size() == (indices ? 2 : 1), "outputs for its results");
  if (!indices) return of.same(of.outputs[0], data);
  for (const LibraryOperand& output : of.outputs) of.dtype(output, {kInt32});
  of.elements(of.outputs[0], batch * boxes);
  of.elements(of.outputs[1], batch);
}

RELAY_LIBRARY_RULE("get_valid_counts", get_valid_counts_rule);
RELAY_LIBRARY_RULE("non_max_suppression", non_max_suppression_rule);
RELAY_LIBRARY_KERNEL("get_valid_counts", get_valid_counts_kernel,
                     {2,
                      3,
                      {{"id_index", ParamKind::kInteger}, {"score_index", ParamKind::kInteger}}});
RELAY_LIBRARY_KERNEL("non_max_suppression", non_max_suppression_kernel,
                     {5,
                      LibrarySignature::kAny,
                      {{"force_suppress", ParamKind::kFlag},
                       {"top_k", ParamKind::kInteger},
                       {"coord_start", ParamKind::kInteger},
                       {"score_index", ParamKind::kInteger},
                       {"id_index", ParamKind::kInteger},
                       {"return_indices", ParamKind::kFlag},
                       {"invalid_to_bottom", ParamKind::kFlag}}});

}  // namespace
}  // namespace relay
