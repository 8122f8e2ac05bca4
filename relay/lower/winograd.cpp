#include <relay/lower/winograd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <vector>

#include <relay/lower/contraction.h>
#include <relay/lower/packing.h>
#include <relay/lower/prepare.h>
#include <relay/lower/scalars.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {
namespace {

using te::Affine;
using te::Axis;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;
using Scalars = std::vector<Scalar>;

constexpr int64_t kTaps = 3;
constexpr size_t kMostPoints = 6;

// ---- The transforms of a line -------------------------------------------------------------------

/// As many neighbouring weights as are transformed together.
struct Run {
  static constexpr int64_t kSize = 16;
  float values[kSize];
};
template <class F>
Run each(const Run& a, const Run& b, F&& of) {
  Run result;
  for (int64_t i = 0; i < Run::kSize; ++i) result.values[i] = of(a.values[i], b.values[i]);
  return result;
}
Run operator+(const Run& a, const Run& b) {
  return each(a, b, [](float x, float y) { return x + y; });
}
Run operator-(const Run& a, const Run& b) {
  return each(a, b, [](float x, float y) { return x - y; });
}
Run operator*(const Run& a, double factor) {
  const auto by = static_cast<float>(factor);
  return each(a, a, [by](float x, float) { return x * by; });
}

/// Transforms between a line of `tile` results, the `points` = tile + 2 elements that they are
/// computed from, and three weights: a product of polynomials, by their values at 0, ±a, (±b,) ∞.
class Filtering {
 public:
  virtual ~Filtering() = default;
  int64_t tile() const { return tile_; }
  int64_t points() const { return tile_ + kTaps - 1; }
  virtual Scalars data(std::span<const Scalar> d) const = 0;
  virtual Scalars weights(std::span<const Scalar> w) const = 0;
  /// Into `to`, one for each point.
  virtual void weights(std::span<const Run> w, std::span<Run> to) const = 0;
  virtual Scalars results(std::span<const Scalar> m) const = 0;

 protected:
  explicit Filtering(int64_t tile) : tile_(tile) {}

 private:
  int64_t tile_;
};

/// F(2, 3) at 0, ±1, ∞.
class TwoResults : public Filtering {
 public:
  TwoResults() : Filtering(2) {}
  Scalars data(std::span<const Scalar> d) const override {
    return {d[2] - d[0], d[2] + d[1], d[2] - d[1], d[3] - d[1]};
  }
  Scalars weights(std::span<const Scalar> w) const override {
    auto made = transformed(w);
    return {made.begin(), made.end()};
  }
  void weights(std::span<const Run> w, std::span<Run> to) const override {
    std::ranges::copy(transformed(w), to.begin());
  }
  Scalars results(std::span<const Scalar> m) const override {
    return {m[0] + (m[1] + m[2]), (m[1] - m[2]) + m[3]};
  }

 private:
  template <class T>
  static std::array<T, 4> transformed(std::span<const T> w) {
    T even = w[0] + w[2];
    return {w[0] * -1.0, (even + w[1]) * 0.5, (even - w[1]) * 0.5, w[2]};
  }
};

/// F(4, 3) at 0, ±a, ±b, ∞. Of points whose squares have few bits these lose least: the error is
/// less than half of that at ±1, ±2.
class FourResults : public Filtering {
 public:
  FourResults() : Filtering(4) {}
  Scalars data(std::span<const Scalar> d) const override {
    Scalar even_a = d[4] - d[2] * kB2, odd_a = (d[3] - d[1] * kB2) * kA;
    Scalar even_b = d[4] - d[2] * kA2, odd_b = (d[3] - d[1] * kA2) * kB;
    return {d[0] * (kA2 * kB2) + (d[4] - d[2] * (kA2 + kB2)),
            even_a + odd_a,
            even_a - odd_a,
            even_b + odd_b,
            even_b - odd_b,
            d[1] * (kA2 * kB2) + (d[5] - d[3] * (kA2 + kB2))};
  }
  Scalars weights(std::span<const Scalar> w) const override {
    auto made = transformed(w);
    return {made.begin(), made.end()};
  }
  void weights(std::span<const Run> w, std::span<Run> to) const override {
    std::ranges::copy(transformed(w), to.begin());
  }
  Scalars results(std::span<const Scalar> m) const override {
    Scalar even_a = m[1] + m[2], odd_a = m[1] - m[2];
    Scalar even_b = m[3] + m[4], odd_b = m[3] - m[4];
    return {m[0] + (even_a + even_b), odd_a * kA + odd_b * kB, even_a * kA2 + even_b * kB2,
            m[5] + (odd_a * (kA * kA2) + odd_b * (kB * kB2))};
  }

 private:
  template <class T>
  static std::array<T, 6> transformed(std::span<const T> w) {
    auto at = [&](double point, double scale) {
      T even = w[0] + w[2] * (point * point), odd = w[1] * point;
      return std::pair((even + odd) * (1 / scale), (even - odd) * (1 / scale));
    };
    auto [a, minus_a] = at(kA, 2 * kA2 * (kA2 - kB2));
    auto [b, minus_b] = at(kB, 2 * kB2 * (kB2 - kA2));
    return {w[0] * (1 / (kA2 * kB2)), a, minus_a, b, minus_b, w[2]};
  }

  static constexpr double kA = 0.625, kB = 1.5, kA2 = kA * kA, kB2 = kB * kB;
};

using Transform = Scalars (Filtering::*)(std::span<const Scalar>) const;

/// A square of `size` values by rows transformed along both sides: by rows again.
std::vector<Scalars> both_ways(const Filtering& filtering, Transform transform, size_t size,
                               const std::function<Scalar(size_t row, size_t column)>& value) {
  std::vector<Scalars> columns;  // transformed
  for (size_t column = 0; column < size; ++column) {
    Scalars line;
    for (size_t row = 0; row < size; ++row) line.push_back(value(row, column));
    columns.push_back((filtering.*transform)(line));
  }
  std::vector<Scalars> result;
  for (size_t row = 0; row < columns[0].size(); ++row) {
    Scalars line;
    for (const Scalars& column : columns) line.push_back(column[row]);
    result.push_back((filtering.*transform)(line));
  }
  return result;
}

/// One of the values, by an index.
Scalar choose(const Scalar& index, std::span<const Scalar> values) {
  std::vector<Dim> ones(values.size(), Dim(1));
  return te::piecewise(index, ones, [&](size_t k, const Scalar&) { return values[k]; });
}

Scalar choose(const Scalar& row, const Scalar& column, const std::vector<Scalars>& values) {
  Scalars rows;
  for (const Scalars& line : values) rows.push_back(choose(column, line));
  return choose(row, rows);
}

/// How weights lie in memory: elements from one to the next.
struct WeightSteps {
  int64_t out = 0, in = 0, row = 0, column = 0;
};

/// The weights of `outs` × `ins` channels, transformed[point, point, out, in].
NDArray transformed_weights(const Filtering& filtering, const NDArray& weights,
                            const WeightSteps& steps, int64_t outs, int64_t ins) {
  const NDArray dense = weights.contiguous();
  const auto* from = dense.data<float>();
  const int64_t points = filtering.points();
  NDArray result = NDArray::empty({points, points, outs, ins}, kFloat32);
  auto* to = result.data<float>();
  for (int64_t out = 0; out < outs; ++out) {
    for (int64_t in = 0; in < ins; in += Run::kSize) {
      const int64_t count = std::min(Run::kSize, ins - in);
      std::array<std::array<Run, kMostPoints>, kTaps> columns;  // transformed
      for (int64_t column = 0; column < kTaps; ++column) {
        std::array<Run, kTaps> line{};
        for (int64_t row = 0; row < kTaps; ++row) {
          const float* first =
              from + out * steps.out + in * steps.in + row * steps.row + column * steps.column;
          Run& run = line[static_cast<size_t>(row)];
          for (int64_t i = 0; i < count; ++i) run.values[i] = first[i * steps.in];
        }
        filtering.weights(line, columns[static_cast<size_t>(column)]);
      }
      float* place = to + out * ins + in;
      for (size_t row = 0; row < static_cast<size_t>(points); ++row) {
        const std::array<Run, kTaps> line{columns[0][row], columns[1][row], columns[2][row]};
        std::array<Run, kMostPoints> made;
        filtering.weights(line, made);
        for (size_t column = 0; column < static_cast<size_t>(points); ++column) {
          std::copy_n(made[column].values, count, place);
          place += outs * ins;
        }
      }
    }
  }
  return result;
}

// ---- What is computed in tiles ------------------------------------------------------------------

/// A dimension of the data along which the window slides: element result + tap − before.
struct SlidingDim {
  size_t dim = 0;     // of the data
  size_t result = 0;  // of the results
  uint32_t tap = 0;   // axis of the sum
  int64_t before = 0;
};

/// A sum over a 3×3 window and channels, and what is computed from it, stage `stage`.
struct Convolution {
  size_t stage = 0;
  const ScalarNode* fold = nullptr;
  const ScalarNode* data = nullptr;     // loads
  const ScalarNode* weights = nullptr;  // of an input, along axes of the result and the sum
  Axis channel;                         // of the sum
  size_t out_channel = 0;               // dimension of the results
  SlidingDim down, along;               // the last dimension of data and results
  std::vector<Axis> axes;               // of the results

  int64_t extent(size_t dim) const { return axes[dim].extent.as_int(); }
};

/// The axis that an index is; nothing if it is anything else.
std::optional<uint32_t> plain_axis(const ScalarRef& index) {
  if (index->kind != ScalarKind::kIndex) return std::nullopt;
  return index->axis;
}

class Matcher {
 public:
  Matcher(const te::Computation& c, const std::function<bool(size_t input)>& constant)
      : c_(c), constant_(constant) {}

  std::optional<Convolution> run() {
    for (size_t s = 0; s < c_.stages.size(); ++s) {
      found_ = {};
      found_.stage = s;
      if (matches()) return found_;
    }
    return std::nullopt;
  }

 private:
  bool matches() {
    const auto* map = std::get_if<te::Map>(&c_.stages[found_.stage].body);
    if (map == nullptr || map->values.size() != 1 || read_by_stages()) return false;
    found_.axes = map->axes;
    if (!std::all_of(map->axes.begin(), map->axes.end(), [](const Axis& axis) {
          return axis.extent.is_int() && axis.extent.as_int() > 0;
        }))
      return false;
    for (const ScalarNode* node : te::post_order(map->values)) {
      if (node->kind != ScalarKind::kFold) continue;
      if (found_.fold != nullptr) return false;
      found_.fold = node;
    }
    return found_.fold != nullptr && is_sum_of_loads() && read_weights() && read_data();
  }

  bool read_by_stages() const {
    const TensorId id{static_cast<int32_t>(found_.stage), 0};
    return std::any_of(c_.stages.begin(), c_.stages.end(), [&](const te::Stage& stage) {
      std::vector<TensorId> reads = te::stage_reads(stage);
      return std::find(reads.begin(), reads.end(), id) != reads.end();
    });
  }

  bool is_sum_of_loads() {
    const ScalarNode& fold = *found_.fold;
    if (fold.dtype != kFloat32 || fold.args.size() != 1 || fold.axes.size() != 3 ||
        fold.combiner->kind != te::Combiner::Kind::kSum || fold.combiner->needs_element)
      return false;
    const ScalarNode& product = *fold.args[0];
    if (product.kind != ScalarKind::kBinary || product.binary != te::BinaryOp::kMul) return false;
    for (const ScalarRef& factor : product.args) {
      if (factor->kind != ScalarKind::kLoad || factor->dtype != kFloat32 ||
          !factor->tensor.is_input())
        return false;
      const bool is_weights = constant_(static_cast<size_t>(factor->tensor.index)) &&
                              found_.weights == nullptr && is_plain(*factor);
      (is_weights ? found_.weights : found_.data) = factor.get();
    }
    return found_.weights != nullptr && found_.data != nullptr &&
           found_.weights->tensor != found_.data->tensor;
  }

  /// Each index another axis.
  static bool is_plain(const ScalarNode& load) {
    std::vector<uint32_t> seen;
    for (const ScalarRef& index : load.args) {
      std::optional<uint32_t> axis = plain_axis(index);
      if (!axis || std::find(seen.begin(), seen.end(), *axis) != seen.end()) return false;
      seen.push_back(*axis);
    }
    return load.args.size() == 4 && load.bounds == te::Bounds::kProven;
  }

  std::optional<size_t> result_dim(uint32_t axis) const {
    for (size_t d = 0; d < found_.axes.size(); ++d) {
      if (found_.axes[d].id == axis) return d;
    }
    return std::nullopt;
  }
  const Axis* folded(uint32_t axis) const {
    for (const Axis& one : found_.fold->axes) {
      if (one.id == axis) return &one;
    }
    return nullptr;
  }

  /// One axis of the results, three of the sum.
  bool read_weights() {
    size_t results = 0;
    for (size_t d = 0; d < 4; ++d) {
      uint32_t axis = found_.weights->args[d]->axis;
      std::optional<size_t> dim = result_dim(axis);
      Dim extent = c_.info(found_.weights->tensor).dims[d];
      Dim count = dim ? found_.axes[*dim].extent : folded(axis)->extent;
      if (extent != count) return false;
      if (!dim) continue;
      found_.out_channel = *dim;
      ++results;
    }
    return results == 1;
  }

  bool read_data() {
    const std::vector<Dim>& dims = c_.info(found_.data->tensor).dims;
    te::Bounds bounds = found_.data->bounds;
    if (bounds != te::Bounds::kProven && bounds != te::Bounds::kFill) return false;
    if (bounds == te::Bounds::kFill &&
        (found_.data->fill->kind != ScalarKind::kConst || found_.data->fill->value.f != 0))
      return false;
    std::vector<SlidingDim> windows;
    std::vector<size_t> seen{found_.out_channel};
    bool has_channel = false;
    for (size_t d = 0; d < dims.size(); ++d) {
      Affine index = te::affine(found_.data->args[d]);
      if (!dims[d].is_int() || !index.others.empty() || !index.constant.is_int()) return false;
      if (index.terms.empty()) {
        if (!index.constant.is_int(0)) return false;
        continue;
      }
      if (index.terms.size() == 1) {
        if (!index.constant.is_int(0) || !index.terms[0].coefficient.is_int(1)) return false;
        if (const Axis* axis = folded(index.terms[0].axis)) {
          if (has_channel) return false;
          found_.channel = *axis;
          has_channel = true;
        } else if (!take(index.terms[0].axis, seen)) {
          return false;
        }
        continue;
      }
      std::optional<SlidingDim> window = window_of(index, d);
      if (!window || !take(found_.axes[window->result].id, seen)) return false;
      windows.push_back(*window);
    }
    if (!has_channel || windows.size() != 2) return false;
    // Along other axes it would be the same sum again and again.
    for (size_t d = 0; d < found_.axes.size(); ++d) {
      if (!found_.axes[d].extent.is_int(1) && std::find(seen.begin(), seen.end(), d) == seen.end())
        return false;
    }
    found_.down = windows[0];
    found_.along = windows[1];
    return found_.along.dim + 1 == dims.size() && found_.along.result + 1 == found_.axes.size();
  }

  bool take(uint32_t axis, std::vector<size_t>& seen) const {
    std::optional<size_t> dim = result_dim(axis);
    if (!dim || std::find(seen.begin(), seen.end(), *dim) != seen.end()) return false;
    seen.push_back(*dim);
    return true;
  }

  std::optional<SlidingDim> window_of(const Affine& index, size_t dim) const {
    if (index.terms.size() != 2) return std::nullopt;
    SlidingDim window;
    window.dim = dim;
    window.before = -index.constant.as_int();
    bool has_tap = false, has_result = false;
    for (const Affine::Term& term : index.terms) {
      if (!term.coefficient.is_int(1)) return std::nullopt;
      if (const Axis* axis = folded(term.axis)) {
        if (!axis->extent.is_int(kTaps)) return std::nullopt;
        window.tap = axis->id;
        has_tap = true;
      } else if (std::optional<size_t> result = result_dim(term.axis)) {
        window.result = *result;
        has_result = true;
      }
    }
    if (!has_tap || !has_result || window.before < 0) return std::nullopt;
    return window;
  }

  const te::Computation& c_;
  const std::function<bool(size_t input)>& constant_;
  Convolution found_;
};

// ---- What it costs ------------------------------------------------------------------------------

int64_t tiles_of(const Convolution& conv, int64_t tile, size_t dim) {
  return (conv.extent(dim) + tile - 1) / tile;
}

/// Results beside rows and columns of the plane and output channels: images.
double images(const Convolution& conv) {
  double count = 1;
  for (size_t d = 0; d < conv.axes.size(); ++d) {
    if (d != conv.out_channel && d != conv.down.result && d != conv.along.result)
      count *= static_cast<double>(conv.extent(d));
  }
  return count;
}

double memory_cost(double elements) {
  constexpr double kCached = 2 << 20;  // what is larger comes from memory each time,
  constexpr double kFlopsOfByte = 4;   // which takes as long as so many operations
  const double bytes = elements * 4;
  return bytes > kCached ? bytes * kFlopsOfByte : 0;
}

/// In operations of a product.
double direct_cost(const Convolution& conv) {
  const auto channels = static_cast<double>(conv.channel.extent.as_int());
  double results = 1;
  for (size_t d = 0; d < conv.axes.size(); ++d) results *= static_cast<double>(conv.extent(d));
  const double weights = 9 * channels * static_cast<double>(conv.extent(conv.out_channel));
  return 2 * 9 * channels * results + memory_cost(weights);
}

std::optional<double> cost(const Convolution& conv, const Filtering& filtering,
                           int64_t vector_bytes) {
  // A transform of a tile does few operations for each element that it moves.
  constexpr double kTransform = 20;
  constexpr double kMostBytes = 64 << 20;  // of what lies between the steps
  const auto channels = static_cast<double>(conv.channel.extent.as_int());
  const auto out_channels = static_cast<double>(conv.extent(conv.out_channel));
  const auto points = static_cast<double>(filtering.points() * filtering.points());
  // Lanes run along the tiles of a line.
  if (tiles_of(conv, filtering.tile(), conv.down.result) < 2 ||
      tiles_of(conv, filtering.tile(), conv.along.result) < 2)
    return std::nullopt;
  const double tiles =
      images(conv) * static_cast<double>(tiles_of(conv, filtering.tile(), conv.down.result) *
                                         tiles_of(conv, filtering.tile(), conv.along.result));
  const double lanes = static_cast<double>(vector_bytes) / 4;
  const double columns = std::ceil(tiles / lanes) * lanes;
  const double between = points * tiles * (channels + out_channels);
  if (between * 4 > kMostBytes) return std::nullopt;
  return 2 * points * channels * out_channels * columns + kTransform * between +
         memory_cost(points * channels * out_channels) + 2 * memory_cost(between);
}

/// The cheapest way; null if none is clearly cheaper than the sums as they are.
const Filtering* cheapest(const Convolution& conv, int64_t vector_bytes) {
  static const TwoResults two;
  static const FourResults four;
  constexpr double kClearly = 0.85;
  const Filtering* best = nullptr;
  double least = kClearly * direct_cost(conv);
  for (const Filtering* filtering :
       {static_cast<const Filtering*>(&four), static_cast<const Filtering*>(&two)}) {
    std::optional<double> here = cost(conv, *filtering, vector_bytes);
    if (!here || *here >= least) continue;
    least = *here;
    best = filtering;
  }
  return best;
}

// ---- The computation in tiles -------------------------------------------------------------------

class Tiled {
 public:
  Tiled(te::Computation c, const Convolution& conv, const Filtering& filtering)
      : c_(std::move(c)), conv_(conv), filtering_(filtering) {}

  Winograd run() {
    Winograd result;
    result.input = static_cast<size_t>(conv_.weights->tensor.index);
    result.tile = filtering_.tile();
    result.weights = weights();
    result.transform = [&filtering = filtering_, steps = weight_steps(),
                        outs = conv_.extent(conv_.out_channel),
                        ins = conv_.channel.extent.as_int()](const NDArray& weights) {
      return transformed_weights(filtering, weights, steps, outs, ins);
    };
    c_.inputs.push_back(result.weights.info(result.weights.outputs[0].tensor));
    te::Builder builder(std::move(c_));
    te::Tensor transformed = builder.input(builder.num_inputs() - 1);
    te::Tensor data = transformed_data(builder);
    te::Tensor products = multiplied(builder, transformed, data);
    te::Tensor tensor = results(builder, products);
    result.computation = builder.finish();
    for (te::Output& output : result.computation.outputs) {
      if (output.tensor == TensorId{static_cast<int32_t>(conv_.stage), 0})
        output.tensor = tensor.id();
    }
    return result;
  }

 private:
  size_t points() const { return static_cast<size_t>(filtering_.points()); }
  Dim side() const { return Dim(filtering_.points()); }

  WeightSteps weight_steps() const {
    WeightSteps steps;
    int64_t step = 1;
    for (size_t d = conv_.weights->args.size(); d-- > 0;) {
      const uint32_t axis = conv_.weights->args[d]->axis;
      (axis == conv_.channel.id  ? steps.in
       : axis == conv_.down.tap  ? steps.row
       : axis == conv_.along.tap ? steps.column
                                 : steps.out) = step;
      step *= c_.info(conv_.weights->tensor).dims[d].as_int();
    }
    return steps;
  }

  /// transformed[point, point, out channel, channel]
  te::Computation weights() const {
    te::Builder builder({c_.info(conv_.weights->tensor)});
    te::Tensor from = builder.input(0);
    auto load = [&](const Scalar& out, const Scalar& in, int64_t row, int64_t column) {
      Scalars index;
      for (const ScalarRef& at : conv_.weights->args) {
        if (at->axis == conv_.channel.id) {
          index.push_back(in);
        } else if (at->axis == conv_.down.tap) {
          index.push_back(te::index_constant(row));
        } else if (at->axis == conv_.along.tap) {
          index.push_back(te::index_constant(column));
        } else {
          index.push_back(out);
        }
      }
      return from(index);
    };
    Dim channels = conv_.channel.extent, outs = conv_.axes[conv_.out_channel].extent;
    // One side first: half of the operations.
    te::Tensor half = builder.map({side(), Dim(kTaps), outs, channels}, [&](te::Indices at) {
      std::vector<Scalars> lines;
      for (int64_t column = 0; column < kTaps; ++column) {
        Scalars line;
        for (int64_t row = 0; row < kTaps; ++row) line.push_back(load(at[2], at[3], row, column));
        lines.push_back(filtering_.weights(line));
      }
      Scalars by_row;
      for (size_t row = 0; row < points(); ++row) {
        by_row.push_back(choose(at[1], Scalars{lines[0][row], lines[1][row], lines[2][row]}));
      }
      return choose(at[0], by_row);
    });
    builder.output(builder.map({side(), side(), outs, channels}, [&](te::Indices at) {
      Scalars line;
      for (int64_t column = 0; column < kTaps; ++column)
        line.push_back(half({at[0], te::index_constant(column), at[2], at[3]}));
      return choose(at[1], filtering_.weights(line));
    }));
    return builder.finish();
  }

  /// Dimensions of the results that are neither channels nor the plane.
  std::vector<size_t> image_dims() const {
    std::vector<size_t> dims;
    for (size_t d = 0; d < conv_.axes.size(); ++d) {
      if (d != conv_.out_channel && d != conv_.down.result && d != conv_.along.result)
        dims.push_back(d);
    }
    return dims;
  }

  /// [point, point, channels, images…, tiles down, tiles along]
  std::vector<Dim> dims_of(Dim channels) const {
    std::vector<Dim> dims{side(), side(), channels};
    for (size_t d : image_dims()) dims.push_back(conv_.axes[d].extent);
    dims.push_back(Dim(tiles_of(conv_, filtering_.tile(), conv_.down.result)));
    dims.push_back(Dim(tiles_of(conv_, filtering_.tile(), conv_.along.result)));
    return dims;
  }

  te::Tensor transformed_data(te::Builder& builder) const {
    te::Tensor from = builder.tensor(conv_.data->tensor);
    const Scalar zero = te::constant(0, kFloat32);
    return builder.map(dims_of(conv_.channel.extent), [&](te::Indices at) {
      const std::vector<size_t> images = image_dims();
      auto load = [&](size_t row, size_t column) {
        Scalars index;
        for (size_t d = 0; d < from.rank(); ++d) {
          if (d == conv_.down.dim || d == conv_.along.dim) {
            const bool down = d == conv_.down.dim;
            const SlidingDim& window = down ? conv_.down : conv_.along;
            index.push_back(at[at.size() - (down ? 2 : 1)] * filtering_.tile() +
                            (static_cast<int64_t>(down ? row : column) - window.before));
            continue;
          }
          std::optional<uint32_t> axis = plain_axis(conv_.data->args[d]);
          if (axis == conv_.channel.id) {
            index.push_back(at[2]);
            continue;
          }
          Scalar image = te::index_constant(0);
          for (size_t k = 0; k < images.size(); ++k) {
            if (axis == conv_.axes[images[k]].id) image = at[3 + k];
          }
          index.push_back(image);
        }
        return from.load_or(index, zero);
      };
      return choose(at[0], at[1], both_ways(filtering_, &Filtering::data, points(), load));
    });
  }

  te::Tensor multiplied(te::Builder& builder, const te::Tensor& weights,
                        const te::Tensor& data) const {
    return builder.map(dims_of(conv_.axes[conv_.out_channel].extent), [&](te::Indices at) {
      return builder.sum({conv_.channel.extent}, [&](te::Indices k) {
        Scalars index(at.begin(), at.end());
        index[2] = k[0];
        return weights({at[0], at[1], at[2], k[0]}) * data(index);
      });
    });
  }

  /// The old stage, with results of tiles in place of the sum.
  te::Tensor results(te::Builder& builder, const te::Tensor& products) const {
    const te::Tensor old = builder.tensor({static_cast<int32_t>(conv_.stage), 0});
    const ScalarRef value = old_value_;
    return builder.map(old.dims(), [&](te::Indices at) {
      const Scalar& row = at[conv_.down.result];
      const Scalar& column = at[conv_.along.result];
      const Scalar tile = te::index_constant(filtering_.tile());
      auto load = [&](size_t i, size_t j) {
        Scalars index{te::index_constant(static_cast<int64_t>(i)),
                      te::index_constant(static_cast<int64_t>(j)), at[conv_.out_channel]};
        for (size_t d : image_dims()) index.push_back(at[d]);
        index.push_back(te::floor_div(row, tile));
        index.push_back(te::floor_div(column, tile));
        return products(index);
      };
      ScalarRef sum = choose(te::floor_mod(row, tile), te::floor_mod(column, tile),
                             both_ways(filtering_, &Filtering::results, points(), load))
                          .ref();
      std::unordered_map<uint32_t, ScalarRef> names;
      for (size_t d = 0; d < at.size(); ++d) names.emplace(conv_.axes[d].id, at[d].ref());
      ScalarRewriter replace(
          [&](const ScalarRef& node, const std::vector<ScalarRef>&) -> ScalarRef {
            if (node.get() == conv_.fold) return sum;
            if (node->kind != ScalarKind::kIndex) return {};
            auto found = names.find(node->axis);
            return found == names.end() ? ScalarRef() : found->second;
          });
      return Scalar(replace(value));
    });
  }

  te::Computation c_;
  const Convolution& conv_;
  const Filtering& filtering_;
  const ScalarRef old_value_ = std::get<te::Map>(c_.stages[conv_.stage].body).values[0];
};

}  // namespace

std::optional<Winograd> winograd_of(const te::Computation& computation,
                                    const std::function<bool(size_t input)>& constant,
                                    int64_t vector_bytes) {
  if (!folds_read(computation, constant)) return std::nullopt;
  te::Computation c = prepare(computation);
  std::optional<Convolution> conv = Matcher(c, constant).run();
  if (!conv) return std::nullopt;
  const Filtering* filtering = cheapest(*conv, vector_bytes);
  if (filtering == nullptr) return std::nullopt;
  return Tiled(std::move(c), *conv, *filtering).run();
}

}  // namespace relay::lower
