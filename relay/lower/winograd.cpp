#include <relay/lower/winograd.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include <relay/lower/packing.h>
#include <relay/lower/prepare.h>
#include <relay/lower/scalars.h>
#include <relay/lower/sum_of_products.h>
#include <relay/lower/tiled_sums.h>
#include <relay/lower/winograd_filtering.h>
#include <relay/lower/winograd_match.h>
#include <relay/tensor_expr/builder.h>

namespace relay::lower {
namespace {

using te::Scalar;
using te::ScalarKind;
using te::ScalarRef;
using te::TensorId;
using Scalars = Filtering::Scalars;

// ---- What it costs ------------------------------------------------------------------------------

constexpr double kClearly = 0.85;  // of the plain sum's cost
// A transform of a tile does few operations for each element that it moves.
constexpr double kTransform = 20;

Dim tile_count(const Convolution& conv, int64_t tile, size_t dim) {
  return ceil_div(conv.axes[dim].extent, tile);
}
int64_t tiles_of(const Convolution& conv, int64_t tile, size_t dim) {
  return tile_count(conv, tile, dim).as_int();
}

/// How many images there are; one of those that only a run counts.
double images(const Convolution& conv) {
  double count = 1;
  for (size_t d = 0; d < conv.axes.size(); ++d) {
    if (conv.is_image(d) && conv.axes[d].extent.is_int())
      count *= static_cast<double>(conv.extent(d));
  }
  return count;
}

/// True if only a run counts the images.
bool has_open_images(const Convolution& conv) {
  return std::any_of(conv.axes.begin(), conv.axes.end(),
                     [](const te::Axis& axis) { return !axis.extent.is_int(); });
}

double memory_cost(double elements, size_t element_bytes = sizeof(float)) {
  constexpr double kCached = 2 << 20;  // what is larger comes from memory each time,
  constexpr double kFlopsOfByte = 4;   // which takes as long as so many operations
  const double bytes = elements * static_cast<double>(element_bytes);
  return bytes > kCached ? bytes * kFlopsOfByte : 0;
}

/// How many products of float32 take as long as one of the sum's. Pairs of bfloat16 take an
/// instruction together; a matrix unit is faster by far.
double product_cost(const Convolution& conv, const Processor& processor) {
  if (conv.data->dtype != kBFloat16 || conv.weights->dtype != kBFloat16) return 1;
  return processor.matrix_tiles ? 0.125 : processor.bfloat16_pairs ? 0.5 : 1;
}

/// In operations of a product of float32.
double direct_cost(const Convolution& conv, const Processor& processor) {
  const auto channels = static_cast<double>(conv.channel.extent.as_int());
  double results = images(conv);
  for (size_t d : {conv.out_channel, conv.down.result, conv.along.result})
    results *= static_cast<double>(conv.extent(d));
  const auto window = static_cast<double>(conv.taps * conv.taps);
  const double weights = window * channels * static_cast<double>(conv.extent(conv.out_channel));
  return product_cost(conv, processor) * 2 * window * channels * results +
         memory_cost(weights, conv.weights->dtype.size());
}

std::optional<double> cost(const Convolution& conv, const Filtering& filtering,
                           const Processor& processor) {
  const auto channels = static_cast<double>(conv.channel.extent.as_int());
  const auto out_channels = static_cast<double>(conv.extent(conv.out_channel));
  const double groups =
      conv.outs_of_group == 0 ? 1 : out_channels / static_cast<double>(conv.outs_of_group);
  const auto points = static_cast<double>(filtering.points() * filtering.points());
  // Lanes run along the tiles of a line.
  if (tiles_of(conv, filtering.tile(), conv.down.result) < 2 ||
      tiles_of(conv, filtering.tile(), conv.along.result) < 2)
    return std::nullopt;
  const double tiles =
      images(conv) * static_cast<double>(tiles_of(conv, filtering.tile(), conv.down.result) *
                                         tiles_of(conv, filtering.tile(), conv.along.result));
  const double lanes = static_cast<double>(processor.vector_bytes) / 4;
  const double columns = std::ceil(tiles / lanes) * lanes;
  const double between = points * tiles * (channels * groups + out_channels);
  const double transforms = kTransform * between;
  const double weights = memory_cost(points * channels * out_channels);
  const double products = 2 * points * channels * out_channels * columns;
  if (may_be_whole(between * sizeof(float), has_open_images(conv)))
    return products + transforms + weights + 2 * memory_cost(between);
  const int64_t block =
      tiles_in_block(filtering.points() * filtering.points(),
                     static_cast<int64_t>(channels * groups + out_channels), processor);
  if (block == 0) return std::nullopt;
  return products + transforms + weights * std::ceil(tiles / static_cast<double>(block));
}

/// The cheapest way; null if none is clearly cheaper than the plain sums.
const Filtering* cheapest(const Convolution& conv, const Processor& processor) {
  const Filtering* best = nullptr;
  double least = kClearly * direct_cost(conv, processor);
  for (const Filtering* filtering : all_filterings()) {
    if (filtering->taps() != conv.taps) continue;
    std::optional<double> here = cost(conv, *filtering, processor);
    if (!here || *here >= least) continue;
    least = *here;
    best = filtering;
  }
  return best;
}

// Where a run decides how large planes are, it also decides if tiles pay. Costs are in units of an
// operation for each pair of channels, 1/64.

/// True if a program may keep both forms of the weights. Networks have most of their weights in the
/// convolutions of many channels, whose planes are small, so they gain least.
bool may_keep_both(const Convolution& conv, const Filtering& filtering) {
  constexpr double kMost = 12 << 20;
  const auto window = static_cast<double>(conv.taps * conv.taps);
  const auto points = static_cast<double>(filtering.points() * filtering.points());
  const double bytes = window * static_cast<double>(conv.weights->dtype.size()) +
                       points * static_cast<double>(sizeof(float));
  return bytes * static_cast<double>(conv.channel.extent.as_int()) *
             static_cast<double>(conv.extent(conv.out_channel)) <=
         kMost;
}

struct OpenCosts {
  int64_t of_pixel = 0, of_sum = 0;                  // of the plain sum; once
  int64_t of_column = 0, of_tile = 0, of_block = 0;  // of tiles: products, transforms, weights
  int64_t lanes = 1, block = 1;                      // columns of a vector, tiles of a block

  /// Costs of a large plane for each of its pixels, relative to those of the plain sum.
  double ratio(int64_t tile) const {
    const double tiles = static_cast<double>(of_column + of_tile) +
                         static_cast<double>(of_block) / static_cast<double>(block);
    return tiles / static_cast<double>(tile * tile * of_pixel);
  }

  /// 1 where so many tiles cost less than so many pixels of the plain sum, else 0.
  Dim pays(Dim tiles, Dim pixels) const {
    // Planes of no images may have more pixels than costs can count.
    constexpr int64_t kMost = int64_t{1} << 32;
    tiles = min(tiles, kMost);
    pixels = min(pixels, kMost);
    const Dim in_tiles = ceil_div(tiles, lanes) * Dim(lanes * of_column) + tiles * Dim(of_tile) +
                         ceil_div(tiles, block) * Dim(of_block);
    return min(Dim(1), floor_div(pixels * Dim(of_pixel) + Dim(of_sum), max(Dim(1), in_tiles)));
  }
};

std::optional<OpenCosts> open_costs(const Convolution& conv, const Filtering& filtering,
                                    const Processor& processor) {
  constexpr double kUnit = 64;
  if (!may_keep_both(conv, filtering)) return std::nullopt;
  for (size_t d : {conv.down.result, conv.along.result}) {
    const Dim tiles = tile_count(conv, filtering.tile(), d);
    if (tiles.is_int() && tiles.as_int() < 2) return std::nullopt;
  }
  const auto ins = static_cast<double>(conv.channel.extent.as_int());
  const auto outs = static_cast<double>(conv.extent(conv.out_channel));
  const int64_t groups =
      conv.outs_of_group == 0 ? 1 : conv.extent(conv.out_channel) / conv.outs_of_group;
  const auto points = static_cast<double>(filtering.points() * filtering.points());
  const auto window = static_cast<double>(conv.taps * conv.taps);
  const int64_t channels = conv.channel.extent.as_int() * groups + conv.extent(conv.out_channel);
  OpenCosts costs;
  costs.lanes = processor.lanes(sizeof(float));
  costs.block = tiles_in_block(filtering.points() * filtering.points(), channels, processor);
  if (costs.block == 0) return std::nullopt;
  auto in_units = [&](double operations) {
    return static_cast<int64_t>(std::ceil(operations / (ins * outs) * kUnit));
  };
  costs.of_pixel = in_units(kClearly * product_cost(conv, processor) * 2 * window * ins * outs);
  costs.of_sum = in_units(kClearly * memory_cost(window * ins * outs, conv.weights->dtype.size()));
  costs.of_column = in_units(2 * points * ins * outs);
  costs.of_tile = in_units(kTransform * points * static_cast<double>(channels));
  costs.of_block = in_units(memory_cost(points * ins * outs));
  return costs;
}

struct Chosen {
  const Filtering* filtering = nullptr;  // null: plain sums
  Dim pays = 1;                          // 1 where tiles pay, 0 elsewhere
};

Chosen chosen_for_open_plane(const Convolution& conv, const Processor& processor) {
  Chosen best;
  double least = 1;
  for (const Filtering* filtering : all_filterings()) {
    if (filtering->taps() != conv.taps) continue;
    const std::optional<OpenCosts> costs = open_costs(conv, *filtering, processor);
    if (!costs || costs->ratio(filtering->tile()) >= least) continue;
    least = costs->ratio(filtering->tile());
    const Dim tiles = tile_count(conv, filtering->tile(), conv.down.result) *
                      tile_count(conv, filtering->tile(), conv.along.result);
    const Dim pixels = conv.axes[conv.down.result].extent * conv.axes[conv.along.result].extent;
    best = {filtering, costs->pays(tiles, pixels)};
  }
  return best;
}

// ---- The computation in tiles -------------------------------------------------------------------

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

class Tiled {
 public:
  Tiled(te::Computation c, const Convolution& conv, const Chosen& chosen)
      : c_(std::move(c)), conv_(conv), filtering_(*chosen.filtering), pays_(chosen.pays) {
    for (size_t stage : conv.views)
      views_.emplace_back(stage, std::get<te::View>(c_.stages[stage].body));
  }

  Winograd run() {
    Winograd result;
    result.input = static_cast<size_t>(conv_.weights->tensor.index);
    result.weights = weights();
    result.transform = [&filtering = filtering_, steps = weight_steps(),
                        outs = conv_.extent(conv_.out_channel),
                        ins = conv_.channel.extent.as_int()](const NDArray& weights, void* to,
                                                             const Places& places) {
      transform_weights(filtering, weights, steps, outs, ins, static_cast<float*>(to), places);
    };
    c_.inputs.push_back(result.weights.info(result.weights.outputs[0].tensor));
    te::Builder builder(std::move(c_));
    te::Tensor transformed = builder.input(builder.num_inputs() - 1);
    te::Tensor data = transformed_data(builder);
    te::Tensor products = multiplied(builder, transformed, data);
    te::Tensor tensor = results(builder, products);
    std::vector<std::pair<size_t, TensorId>> replaced{{conv_.stage, tensor.id()}};
    for (const auto& [stage, view] : views_) {
      replaced.emplace_back(stage,
                            builder.view(tensor, view.offset, view.extents, view.strides).id());
    }
    result.computation = builder.finish();
    for (te::Output& output : result.computation.outputs) {
      for (const auto& [stage, now] : replaced) {
        if (output.tensor != TensorId{static_cast<int32_t>(stage), 0}) continue;
        output.tensor = now;
        break;
      }
    }
    result.computation = prepare(result.computation);
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
      return te::cast(from(index), kFloat32);
    };
    Dim channels = conv_.channel.extent, outs = conv_.axes[conv_.out_channel].extent;
    // One side first: half of the operations.
    te::Tensor half = builder.map({side(), Dim(conv_.taps), outs, channels}, [&](te::Indices at) {
      std::vector<Scalars> lines;
      for (int64_t column = 0; column < conv_.taps; ++column) {
        Scalars line;
        for (int64_t row = 0; row < conv_.taps; ++row)
          line.push_back(load(at[2], at[3], row, column));
        lines.push_back(filtering_.weights(line));
      }
      Scalars by_row;
      for (size_t row = 0; row < points(); ++row) {
        Scalars of_columns;
        for (const Scalars& column : lines) of_columns.push_back(column[row]);
        by_row.push_back(choose(at[1], of_columns));
      }
      return choose(at[0], by_row);
    });
    builder.output(builder.map({side(), side(), outs, channels}, [&](te::Indices at) {
      Scalars line;
      for (int64_t column = 0; column < conv_.taps; ++column)
        line.push_back(half({at[0], te::index_constant(column), at[2], at[3]}));
      return choose(at[1], filtering_.weights(line));
    }));
    return builder.finish();
  }

  /// Dimensions of the results that are neither channels nor the plane.
  std::vector<size_t> image_dims() const {
    std::vector<size_t> dims;
    for (size_t d = 0; d < conv_.axes.size(); ++d) {
      if (conv_.is_image(d)) dims.push_back(d);
    }
    return dims;
  }

  /// [point, point, channels, images…, tiles down, tiles along]
  std::vector<Dim> dims_of(Dim channels) const {
    std::vector<Dim> dims{side(), side(), channels};
    for (size_t d : image_dims()) dims.push_back(conv_.axes[d].extent);
    dims.push_back(tile_count(conv_, filtering_.tile(), conv_.down.result));
    dims.push_back(tile_count(conv_, filtering_.tile(), conv_.along.result));
    return dims;
  }

  te::Tensor transformed_data(te::Builder& builder) const {
    te::Tensor from = builder.tensor(conv_.data->tensor);
    const Scalar zero = te::constant(0, from.dtype());
    // Activations of float16 overflow where those of float32 would not. One infinity would make the
    // results of its tiles not-a-number, so it counts as the greatest number.
    constexpr double kGreatest = 65504;
    const Scalar least = te::constant(-kGreatest, kFloat32);
    const Scalar greatest = te::constant(kGreatest, kFloat32);
    return builder.map(dims_of(from.dims()[conv_.channel_dim]), [&](te::Indices at) {
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
          if (d == conv_.channel_dim) {
            index.push_back(at[2]);
            continue;
          }
          std::optional<uint32_t> axis = plain_axis(conv_.data->args[d]);
          Scalar image = te::index_constant(0);
          for (size_t k = 0; k < images.size(); ++k) {
            if (axis == conv_.axes[images[k]].id) image = at[3 + k];
          }
          index.push_back(image);
        }
        const Scalar element = te::cast(from.load_or(index, zero), kFloat32);
        return from.dtype() == kFloat16 ? te::min(te::max(element, least), greatest) : element;
      };
      return choose(at[0], at[1], both_ways(filtering_, &Filtering::data, points(), load));
    });
  }

  /// Output channels of a group, and groups; nothing if there is one.
  std::optional<std::pair<Dim, Dim>> groups() const {
    if (conv_.outs_of_group == 0) return std::nullopt;
    return std::pair(Dim(conv_.outs_of_group),
                     Dim(conv_.extent(conv_.out_channel) / conv_.outs_of_group));
  }

  /// [point, point, (group,) output channel, images…, tiles down, tiles along]. A group is an axis
  /// of its own, so that each element of the data is seen to be read again and again.
  te::Tensor multiplied(te::Builder& builder, const te::Tensor& weights,
                        const te::Tensor& data) const {
    const Dim channels = conv_.channel.extent;
    const auto groups = this->groups();
    std::vector<Dim> dims = dims_of(groups ? groups->first : conv_.axes[conv_.out_channel].extent);
    if (groups) dims.insert(dims.begin() + 2, groups->second);
    return builder.map(dims, [&](te::Indices at) {
      return builder.sum({channels}, [&](te::Indices k) {
        Scalars index(at.begin(), at.end());
        if (groups) index.erase(index.begin() + 2);
        index[2] = groups ? at[2] * te::from_dim(channels) + k[0] : k[0];
        Scalar out = groups ? at[2] * te::from_dim(groups->first) + at[3] : at[2];
        return weights({at[0], at[1], out, k[0]}) * data(index);
      });
    });
  }

  /// The old stage, with results of tiles in place of the sum.
  te::Tensor results(te::Builder& builder, const te::Tensor& products) const {
    const te::Tensor old = builder.tensor({static_cast<int32_t>(conv_.stage), 0});
    const ScalarRef value = old_value_;
    const auto groups = this->groups();
    return builder.map(old.dims(), [&](te::Indices at) {
      const Scalar& row = at[conv_.down.result];
      const Scalar& column = at[conv_.along.result];
      const Scalar tile = te::index_constant(filtering_.tile());
      auto load = [&](size_t i, size_t j) {
        Scalars index{te::index_constant(static_cast<int64_t>(i)),
                      te::index_constant(static_cast<int64_t>(j))};
        const Scalar& out = at[conv_.out_channel];
        if (groups) {
          index.push_back(te::floor_div(out, te::from_dim(groups->first)));
          index.push_back(te::floor_mod(out, te::from_dim(groups->first)));
        } else {
          index.push_back(out);
        }
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
      if (!pays_.is_int(1))
        sum = te::select(te::from_dim(pays_) > 0, Scalar(sum), plain_sum(builder, names)).ref();
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

  /// The old sum at the point that the names of the old axes give.
  Scalar plain_sum(te::Builder& builder, std::unordered_map<uint32_t, ScalarRef> names) const {
    std::vector<Dim> extents;
    for (const te::Axis& axis : conv_.fold->axes) extents.push_back(axis.extent);
    return builder.sum(extents, [&](te::Indices k) {
      for (size_t d = 0; d < k.size(); ++d) names.emplace(conv_.fold->axes[d].id, k[d].ref());
      return Scalar(substitute(conv_.fold->args[0], names));
    });
  }

  te::Computation c_;
  const Convolution& conv_;
  const Filtering& filtering_;
  const Dim pays_;                                  // 1, or 0 where a run computes the plain sum
  std::vector<std::pair<size_t, te::View>> views_;  // of the old stage
  const ScalarRef old_value_ = std::get<te::Map>(c_.stages[conv_.stage].body).values[0];
};

}  // namespace

std::optional<Winograd> winograd_of(const te::Computation& computation,
                                    const std::function<bool(size_t input)>& constant,
                                    const Processor& processor, bool prepared) {
  if (!folds_read(computation, constant)) return std::nullopt;
  te::Computation c = prepared ? computation : prepare(computation);
  std::optional<Convolution> conv = match_convolution(c, constant);
  if (!conv) return std::nullopt;
  const Chosen chosen = conv->has_open_plane() ? chosen_for_open_plane(*conv, processor)
                                               : Chosen{cheapest(*conv, processor)};
  if (chosen.filtering == nullptr) return std::nullopt;
  return Tiled(std::move(c), *conv, chosen).run();
}

}  // namespace relay::lower
