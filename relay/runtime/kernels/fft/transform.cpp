// Runs the plans: rows side by side in tiles, long ones in two rounds, others as convolutions.
#include <relay/runtime/kernels/fft/plan.h>

#include <algorithm>

namespace relay::fft {
namespace {

constexpr int64_t kPointsOfTask = 1 << 14;

template <class F>
void share(LibraryCall* call, int64_t tasks, F&& body) {
  if (call != nullptr) return call->parallel(tasks, body);
  for (int64_t task = 0; task < tasks; ++task) body(task);
}

/// A tile and a second one to work in.
template <class T>
struct Tiles {
  explicit Tiles(int64_t points) : numbers(4 * points) {
    for (int k = 0; k < 2; ++k) {
      T* at = numbers.data() + 2 * k * points;
      tile[k] = {at, at + points};
    }
  }
  Scratch<T> numbers;
  Parts<T> tile[2];
};

/// Runs groups of rows that fill the lanes: `body(first, rows, tiles)`. `points` is the work of a
/// row.
template <class T, class F>
void for_tiles(LibraryCall* call, int64_t rows, int64_t points, int64_t width, F&& body) {
  int64_t groups = (rows + width - 1) / width;
  int64_t together = std::max<int64_t>(1, kPointsOfTask / (points * width));
  share(call, (groups + together - 1) / together, [&](int64_t task) {
    Tiles<T> tiles(points * width);
    int64_t end = std::min(groups, (task + 1) * together);
    for (int64_t group = task * together; group < end; ++group)
      body(group * width, std::min(width, rows - group * width), tiles);
  });
}

/// The most lanes of all kinds of vectors.
constexpr int64_t kMostLanes = 16;

/// Rows `n` apart as the code wants them; lanes without a row of their own read the last one.
template <class T>
struct Rows {
  Rows(Parts<T> all, int64_t first, int64_t count, int64_t n, int64_t width) {
    for (int64_t v = 0; v < width; ++v) {
      int64_t row = first + std::min(v, count - 1);
      r[v] = all.r + row * n;
      i[v] = all.i + row * n;
    }
  }
  /// The same for writing: lanes without a row write to `waste`.
  Rows(Parts<T> all, int64_t first, int64_t count, int64_t n, int64_t width, T* waste)
      : Rows(all, first, count, n, width) {
    for (int64_t v = count; v < width; ++v) r[v] = i[v] = waste;
  }
  T* r[kMostLanes];
  T* i[kMostLanes];
};

template <class T>
void transform_tiles(LibraryCall* call, const TilePlan<T>& plan, Parts<const T> from, Parts<T> to,
                     int64_t rows, T factor) {
  const Code<T>& loops = code<T>();
  int64_t n = plan.length(), width = loops.lanes;
  for_tiles<T>(call, rows, n, width, [&](int64_t first, int64_t count, Tiles<T>& tiles) {
    Rows<const T> in(from, first, count, n, width);
    loops.gather(in.r, n, tiles.tile[0].r, width);
    loops.gather(in.i, n, tiles.tile[0].i, width);
    Parts<T> found = plan.run(tiles.tile[0], tiles.tile[1], width);
    // The tile that is not the result.
    T* waste = found.r == tiles.tile[0].r ? tiles.tile[1].r : tiles.tile[0].r;
    Rows<T> out(to, first, count, n, width, waste);
    loops.scatter(found.r, n, width, factor, out.r);
    loops.scatter(found.i, n, width, factor, out.i);
  });
}

/// One row in two rounds: columns of `inner` rows, then rows.
template <class T>
void transform_split(LibraryCall* call, const SplitPlan<T>& plan, Parts<const T> from, Parts<T> to,
                     T factor) {
  const Code<T>& loops = code<T>();
  int64_t outer = plan.outer.length(), inner = plan.inner.length();
  // Whole cache lines, since what lies side by side is far from the next row.
  int64_t width = std::max<int64_t>(loops.lanes, 64 / static_cast<int64_t>(sizeof(T)));
  Numbers<T> between(outer * inner);
  Parts<T> middle = between.parts();
  for_tiles<T>(call, inner, outer, width, [&](int64_t first, int64_t count, Tiles<T>& tiles) {
    Parts<T> tile = tiles.tile[0];
    loops.read_columns(from.r + first, inner, outer, count, tile.r, width);
    loops.read_columns(from.i + first, inner, outer, count, tile.i, width);
    tile = plan.outer.run(tile, tiles.tile[1], width);
    loops.write_products(tile.r, tile.i, outer, width, count, plan.twiddles.r.data() + first,
                         plan.twiddles.i.data() + first, middle.r + first, middle.i + first, inner);
  });
  for_tiles<T>(call, outer, inner, width, [&](int64_t first, int64_t count, Tiles<T>& tiles) {
    Parts<T> tile = tiles.tile[0];
    Rows<T> in(middle, first, count, inner, width);
    loops.gather(in.r, inner, tile.r, width);
    loops.gather(in.i, inner, tile.i, width);
    tile = plan.inner.run(tile, tiles.tile[1], width);
    loops.write_columns(tile.r, inner, width, count, factor, to.r + first, outer);
    loops.write_columns(tile.i, inner, width, count, factor, to.i + first, outer);
  });
}

/// Rows of a length with a large prime factor, by convolutions of a length that fits a tile.
template <class T>
void transform_chirp_tiles(LibraryCall* call, const ChirpPlan<T>& plan, int64_t n,
                           Parts<const T> from, Parts<T> to, int64_t rows, T factor) {
  const Code<T>& loops = code<T>();
  const TilePlan<T>& padded = *plan.padded->tile;
  int64_t length = padded.length(), width = loops.lanes;
  for_tiles<T>(call, rows, length, width, [&](int64_t first, int64_t count, Tiles<T>& tiles) {
    Parts<T> tile = tiles.tile[0];
    Rows<const T> in(from, first, count, n, width);
    loops.gather(in.r, n, tile.r, width);
    loops.gather(in.i, n, tile.i, width);
    loops.multiply_rows(tile.r, tile.i, plan.chirp.r.data(), plan.chirp.i.data(), n, width);
    std::fill_n(tile.r + n * width, (length - n) * width, T{});
    std::fill_n(tile.i + n * width, (length - n) * width, T{});
    auto other = [&](Parts<T> found) {
      return found.r == tiles.tile[0].r ? tiles.tile[1] : tiles.tile[0];
    };
    Parts<T> found = padded.run(tile, tiles.tile[1], width);
    loops.multiply_rows(found.r, found.i, plan.spectrum.r.data(), plan.spectrum.i.data(), length,
                        width);
    // Backwards.
    Parts<T> back = other(found);
    found = padded.run(found.swapped(), back.swapped(), width).swapped();
    loops.multiply_rows(found.r, found.i, plan.chirp.r.data(), plan.chirp.i.data(), n, width);
    Rows<T> out(to, first, count, n, width, other(found).r);
    loops.scatter(found.r, n, width, factor, out.r);
    loops.scatter(found.i, n, width, factor, out.i);
  });
}

/// The same for one row of any length.
template <class T>
void transform_chirp(LibraryCall* call, const ChirpPlan<T>& plan, int64_t n, Parts<const T> from,
                     Parts<T> to, T factor) {
  const Code<T>& loops = code<T>();
  int64_t length = plan.padded->n;
  Numbers<T> first(length), second(length);
  Parts<T> x = first.parts(), y = second.parts();
  std::copy_n(from.r, n, x.r);
  std::copy_n(from.i, n, x.i);
  loops.multiply(x.r, x.i, plan.chirp.r.data(), plan.chirp.i.data(), n);
  std::fill_n(x.r + n, length - n, T{});
  std::fill_n(x.i + n, length - n, T{});
  transform<T>(call, *plan.padded, {x.r, x.i}, y, 1, T{1});
  loops.multiply(y.r, y.i, plan.spectrum.r.data(), plan.spectrum.i.data(), length);
  transform<T>(call, *plan.padded, {y.i, y.r}, x.swapped(), 1, T{1});
  loops.multiply(x.r, x.i, plan.chirp.r.data(), plan.chirp.i.data(), n);
  for (int64_t k = 0; k < n; ++k) {
    to.r[k] = x.r[k] * factor;
    to.i[k] = x.i[k] * factor;
  }
}

}  // namespace

template <class T>
void transform(LibraryCall* call, const Plan<T>& plan, Parts<const T> from, Parts<T> to,
               int64_t rows, T factor) {
  if (plan.chirp != nullptr && plan.chirp->padded->tile != nullptr)
    return transform_chirp_tiles(call, *plan.chirp, plan.n, from, to, rows, factor);
  // Few rows leave lanes empty.
  bool tiles = plan.tile != nullptr && (plan.split == nullptr || 2 * rows > code<T>().lanes);
  if (tiles) return transform_tiles(call, *plan.tile, from, to, rows, factor);
  auto one = [&](LibraryCall* lent, int64_t row) {
    Parts<const T> in = from.at(row * plan.n);
    Parts<T> out = to.at(row * plan.n);
    if (plan.chirp != nullptr) {
      transform_chirp(lent, *plan.chirp, plan.n, in, out, factor);
    } else {
      transform_split(lent, *plan.split, in, out, factor);
    }
  };
  constexpr int64_t kManyRows = 8;
  if (rows >= kManyRows) {
    share(call, rows, [&](int64_t row) { one(nullptr, row); });
  } else {
    for (int64_t row = 0; row < rows; ++row) one(call, row);
  }
}

template void transform<float>(LibraryCall* call, const Plan<float>& plan, Parts<const float> from,
                               Parts<float> to, int64_t rows, float factor);
template void transform<double>(LibraryCall* call, const Plan<double>& plan,
                                Parts<const double> from, Parts<double> to, int64_t rows,
                                double factor);

}  // namespace relay::fft
