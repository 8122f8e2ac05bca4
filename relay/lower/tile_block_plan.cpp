#include <relay/lower/tile_block_plan.h>

#include <algorithm>

#include <relay/ir/numbered_symbol.h>
#include <relay/lower/sum_of_products.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::Computation;
using te::Map;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;

namespace {

const std::vector<Dim>& extents_of(const Computation& c, size_t stage) {
  return c.stages[stage].outputs[0].dims;
}

}  // namespace

TensorId tensor_of(size_t stage) { return {static_cast<int32_t>(stage), 0}; }

const Map* one_value_map(const Computation& c, size_t stage) {
  const auto* map = std::get_if<Map>(&c.stages[stage].body);
  return map != nullptr && map->values.size() == 1 ? map : nullptr;
}

bool mentions_any(const ScalarRef& value, const std::vector<Axis>& axes) {
  for (const ScalarNode* node : te::post_order({&value, 1})) {
    if (node->kind != ScalarKind::kIndex) continue;
    if (std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.id == node->axis; }))
      return true;
  }
  return false;
}

BlockPlan::BlockPlan(Computation c, const TiledSum& sum, int64_t channels, Dim taken,
                     const LowerOptions& options)
    : c_(std::move(c)), sum_(sum), together_(channels), taken_(taken), options_(options) {}

bool BlockPlan::prepare_block() {
  const Map *data = one_value_map(c_, sum_.data), *products = one_value_map(c_, sum_.products);
  if (data == nullptr || products == nullptr) return false;
  const std::vector<Dim> read = extents_of(c_, sum_.data), made = extents_of(c_, sum_.products);
  if (read.size() < kImages + 2 || made.size() < read.size() || made.size() > read.size() + 1)
    return false;
  images_ = read.size() - kImages - 2;
  channels_ = made.size() - images_ - 4;
  outs_ = 1;
  for (size_t d = 0; d < 2 + channels_; ++d) {
    if (!made[d].is_int()) return false;
    if (d >= 2) outs_ *= made[d].as_int();
  }
  if (!read[2].is_int()) return false;
  most_ = tiles_in_block(made[0].as_int() * made[1].as_int(), read[2].as_int() + outs_,
                         options_.processor);
  if (most_ == 0) return false;
  down_ = read[read.size() - 2];
  along_ = read.back();
  count_blocks(read);
  if (together_ > 0 && !take_part()) return false;
  return write_products();
}

void BlockPlan::count_blocks(const std::vector<Dim>& dims) {
  constexpr int64_t kShared = 8;  // so many blocks for workers to share, if there are tiles
  const int64_t lanes = options_.processor.lanes(sizeof(float));
  Dim images = 1;
  for (size_t k = 0; k < images_; ++k) {
    const Dim count = dims[kImages + k];
    at_image_.push_back(count.is_int(1) ? Dim(0) : numbered_symbol("c", k));
    if (!count.is_int(1)) counters_.push_back({at_image_.back(), count});
    images = images * count;
  }
  const Dim vectors = max(Dim(1), ceil_div(down_ * along_, lanes));
  Dim blocks = ceil_div(vectors, most_ / lanes);
  // Workers that share parts of the channels have enough.
  if (together_ == 0)
    blocks = max(blocks, min(vectors, ceil_div(Dim(kShared), max(images, Dim(1)))));
  size_ = Dim(lanes) * ceil_div(vectors, blocks);
  const Dim symbol = numbered_symbol("c", images_);
  counters_.push_back({symbol, ceil_div(down_ * along_, size_) * taken_});
  first_ = symbol * size_;
}

bool BlockPlan::take_part() {
  auto& map = std::get<Map>(c_.stages[sum_.products].body);
  if (channels_ != 1 || outs_ % together_ != 0) return false;
  Axis& out = map.axes[2];
  part_ = numbered_symbol("c", images_ + 1);
  // All blocks read the weights of a part in turn.
  counters_.insert(counters_.begin(), {part_, Dim(outs_ / together_)});
  bool right = true;
  ScalarRewriter place([&](const ScalarRef& node, const std::vector<ScalarRef>&) -> ScalarRef {
    if (node->kind != ScalarKind::kLoad || node->tensor == tensor_of(sum_.data)) return {};
    if (!node->tensor.is_input() || node->bounds != te::Bounds::kProven) {
      right = false;
      return {};
    }
    Ref<ScalarNode> load = copy_node(*node);
    load->args.clear();
    std::vector<Dim> dims;
    const std::vector<Dim>& old = c_.info(node->tensor).dims;
    for (size_t d = 0; d < old.size(); ++d) {
      const std::optional<int64_t> counted = part_of(*node->args[d], out);
      right = right && (counted || !mentions_any(node->args[d], {out}));
      if (counted && *counted > 0) {
        right = right && old[d].is_int(*counted * (outs_ / together_));
        load->args.push_back(te::from_dim(part_).ref());
        dims.emplace_back(outs_ / together_);
        dims.emplace_back(*counted);
      } else {
        dims.push_back(old[d]);
      }
      load->args.push_back(node->args[d]);
    }
    if (right) c_.inputs[static_cast<size_t>(node->tensor.index)].dims = std::move(dims);
    return load;
  });
  map.values[0] = place(map.values[0]);
  out.extent = together_;
  return right;
}

std::optional<int64_t> BlockPlan::part_of(const ScalarNode& index, const Axis& out) const {
  if (index.kind == ScalarKind::kIndex)
    return index.axis == out.id ? std::optional(together_) : std::nullopt;
  if (index.kind != ScalarKind::kBinary || plain_axis(index.args[0]) != out.id) return std::nullopt;
  const bool quotient = index.binary == te::BinaryOp::kFloorDiv;
  if (!quotient && index.binary != te::BinaryOp::kFloorMod) return std::nullopt;
  const Dim by = te::divisor(index);
  if (!by.is_int() || together_ % by.as_int() != 0) return std::nullopt;
  return quotient ? together_ / by.as_int() : 0;
}

bool BlockPlan::write_products() {
  auto& map = std::get<Map>(c_.stages[sum_.products].body);
  const size_t kept = 2 + channels_;
  if (map.axes.size() != kept + images_ + 2) return false;
  const std::vector<Axis> dropped(map.axes.begin() + static_cast<ptrdiff_t>(kept), map.axes.end());
  const Axis tile{c_.num_axes++, size_};
  bool right = true;
  ScalarRewriter place([&](const ScalarRef& node, const std::vector<ScalarRef>&) -> ScalarRef {
    if (node->kind != ScalarKind::kLoad || node->tensor != tensor_of(sum_.data)) return {};
    Ref<ScalarNode> load = copy_node(*node);
    for (size_t k = 0; k < dropped.size(); ++k) {
      const ScalarRef& index = node->args[kImages + k];
      const bool single = dropped[k].extent.is_int(1) && te::affine(index).is_constant();
      right = right && (single || plain_axis(index) == dropped[k].id);
    }
    load->args.resize(kImages);
    load->args.push_back(te::index_of(tile).ref());
    return load;
  });
  map.values[0] = place(map.values[0]);
  if (!right || mentions_any(map.values[0], dropped)) return false;
  map.axes.resize(kept);
  map.axes.push_back(tile);
  std::vector<Dim>& read = c_.stages[sum_.data].outputs[0].dims;
  read.resize(kImages);
  read.emplace_back(most_);
  std::vector<Dim>& made = c_.stages[sum_.products].outputs[0].dims;
  made.clear();
  for (size_t k = 0; k < kept; ++k) made.push_back(map.axes[k].extent);
  made.emplace_back(most_);
  return true;
}

Dim has_many_tiles(const Computation& computation, const TiledSum& sum,
                   const Processor& processor) {
  // Each block reads all weights: if these leave the second cache, rather few blocks.
  constexpr int64_t kFew = 3, kFewOfLargeWeights = 9;  // vectors of tiles
  const std::vector<Dim>&data = extents_of(computation, sum.data),
        &products = extents_of(computation, sum.products);
  if (channels_of_few(computation, sum) == 0) return 1;
  const Dim weights = data[0] * data[1] * data[2] * products[2] * Dim(int64_t{sizeof(float)});
  const bool large = weights.is_int() && weights.as_int() > processor.second_bytes;
  const int64_t few = (large ? kFewOfLargeWeights : kFew) * processor.lanes(sizeof(float));
  const Dim tiles = product(std::span<const Dim>(data).subspan(kImages));
  return min(Dim(1), floor_div(tiles, Dim(few + 1)));
}

int64_t channels_of_few(const Computation& computation, const TiledSum& sum) {
  constexpr int64_t kMost = 48, kLeast = 24;  // fewer do not pay for transforming the data again
  constexpr int64_t kStep = 8;
  const std::vector<Dim>& data = extents_of(computation, sum.data);
  const std::vector<Dim>& products = extents_of(computation, sum.products);
  if (products.size() != data.size() || data.size() < kImages || !products[2].is_int()) return 0;
  const int64_t outs = products[2].as_int();
  if (outs <= kMost) return 0;
  for (int64_t part = kMost; part >= kLeast; part -= kStep) {
    if (outs % part == 0) return part;
  }
  return 0;
}

}  // namespace relay::lower
