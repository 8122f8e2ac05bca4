#include <relay/lower/tiled_sums.h>

#include <algorithm>

#include <relay/lower/blocks.h>
#include <relay/lower/contraction.h>
#include <relay/lower/sum_of_products.h>
#include <relay/lower/tables.h>
#include <relay/lower/templates.h>
#include <relay/lower/tile_block.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {
namespace {

using te::Axis;
using te::Computation;
using te::Map;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;

/// The stages whose tensors a value loads.
std::vector<size_t> stages_read(const ScalarRef& value) {
  std::vector<size_t> stages;
  for (const ScalarNode* node : te::post_order({&value, 1})) {
    if (node->kind != ScalarKind::kLoad || node->tensor.is_input()) continue;
    const auto stage = static_cast<size_t>(node->tensor.stage);
    if (std::find(stages.begin(), stages.end(), stage) == stages.end()) stages.push_back(stage);
  }
  return stages;
}

/// 1 where a condition "extent > 0" is true, 0 elsewhere.
std::optional<Dim> asked_of_run(const ScalarNode& condition) {
  if (condition.kind != ScalarKind::kBinary || condition.binary != te::BinaryOp::kGt)
    return std::nullopt;
  const te::Affine extent = te::affine(condition.args[0]), least = te::affine(condition.args[1]);
  if (!least.is_constant() || !least.constant.is_int(0) || !extent.is_constant() ||
      !extent.constant.is_term())
    return std::nullopt;
  return min(Dim(1), max(Dim(0), extent.constant));
}

void add_symbols(Dim dim, std::vector<Dim>& symbols) {
  if (!dim.is_term()) return;
  for_each_atom(dim, [&](Dim atom) {
    if (std::find(symbols.begin(), symbols.end(), atom) == symbols.end()) symbols.push_back(atom);
  });
}

/// Leaves nothing to do along a dimension of the results where a run computes them in tiles.
bool guard_plain(DraftKernel& plain, size_t dim, Dim pays) {
  auto* contraction = std::get_if<Contraction>(&plain.kernel->body);
  if (contraction == nullptr) return false;
  const std::optional<uint32_t> axis = plain_axis(contraction->out_index[dim]);
  const Dim taken = max(Dim(0), Dim(1) - pays);
  for (auto* list : {&contraction->batch, &contraction->rows, &contraction->columns}) {
    for (Axis& one : *list) {
      if (axis != one.id) continue;
      one.extent = one.extent * taken;
      add_symbols(one.extent, plain.kernel->dim_args);
      plain.kernel->flops = plain.kernel->flops * taken;
      add_symbols(plain.kernel->flops, plain.kernel->dim_args);
      return true;
    }
  }
  return false;
}

/// True if a stage alone reads another, which is no result.
bool is_private(const Computation& c, size_t stage, size_t reader) {
  for (size_t s = 0; s < c.stages.size(); ++s) {
    const std::vector<TensorId> reads = te::stage_reads(c.stages[s]);
    if (s != reader && std::find(reads.begin(), reads.end(), tensor_of(stage)) != reads.end())
      return false;
  }
  return std::none_of(c.outputs.begin(), c.outputs.end(),
                      [&](const te::Output& output) { return output.tensor == tensor_of(stage); });
}

/// The kernels of a block as one, on tensors of the whole.
std::optional<DraftKernel> join_kernels(const Computation& c, const TiledSum& sum, TileBlock tiles,
                                        const std::string& name) {
  std::vector<TensorId> outside;
  auto is_inside = [&](TensorId id) {
    return !id.is_input() && sum.has(static_cast<size_t>(id.stage));
  };
  for (const DraftKernel& part : tiles.parts) {
    for (TensorId id : part.tensors) {
      if (!is_inside(id) && std::find(outside.begin(), outside.end(), id) == outside.end())
        outside.push_back(id);
    }
  }
  std::vector<TensorId> tensors = outside;
  for (size_t stage : {sum.results, sum.data, sum.products}) tensors.push_back(tensor_of(stage));
  Lowered lowered;
  lowered.num_inputs = outside.size();
  lowered.outputs = {static_cast<int32_t>(outside.size())};
  for (DraftKernel& part : tiles.parts) {
    Launch launch;
    launch.kernel = static_cast<uint32_t>(lowered.kernels.size());
    for (TensorId id : part.tensors) {
      const auto at = std::find(tensors.begin(), tensors.end(), id) - tensors.begin();
      launch.buffers.push_back(static_cast<int32_t>(at));
    }
    lowered.kernels.push_back(std::move(part.kernel));
    lowered.launches.emplace_back(std::move(launch));
  }
  OneBlock block;
  block.counters = std::move(tiles.counters);
  block.taken = tiles.taken;
  std::optional<JoinedBlock> joined =
      join_block(lowered, block, c.info(tensor_of(sum.results)), name);
  if (!joined) return std::nullopt;
  DraftKernel result;
  result.kernel = std::move(joined->kernel);
  for (int32_t at : joined->places) result.tensors.push_back(tensors[static_cast<size_t>(at)]);
  return result;
}

}  // namespace

ScalarRef with_arm(const ScalarRef& value, const TiledSum& sum, size_t arm) {
  if (sum.choice == nullptr) return value;
  const ScalarRef taken = sum.choice->args[arm];
  ScalarRewriter replace([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
    return node.get() == sum.choice ? taken : ScalarRef();
  });
  return replace(value);
}

int64_t tiles_in_block(int64_t points, int64_t channels, const Processor& processor) {
  constexpr int64_t kMost = 96;            // more read the weights no more seldom than it matters
  constexpr int64_t kMostBytes = 4 << 20;  // of a worker's scratch: 64 MiB for 16 workers
  const int64_t lanes = processor.lanes(sizeof(float));
  // As wide as a panel of the products.
  const int64_t panel = lanes * (processor.vector_bytes == 64 ? 3 : 2);
  const int64_t bytes = points * channels * static_cast<int64_t>(sizeof(float));
  const int64_t near = processor.second_bytes / 2 / std::max<int64_t>(bytes * panel, 1);
  const int64_t tiles = panel * std::clamp<int64_t>(near, 1, std::max<int64_t>(kMost / panel, 1));
  return std::min(tiles, kMostBytes / bytes / lanes * lanes);
}

bool may_be_whole(double bytes, bool open_images) {
  constexpr double kMost = 64 << 20;
  constexpr double kMostOfImage = 10 << 20;  // of one image among as many as a run has
  return bytes <= (open_images ? kMostOfImage : kMost);
}

namespace {

/// The same for the tensors of these stages; planes are the last two dimensions.
bool stays_whole(const Computation& c, const TiledSum& sum) {
  double bytes = 0;
  bool open = false;
  for (size_t stage : {sum.data, sum.products}) {
    const std::vector<Dim>& dims = c.stages[stage].outputs[0].dims;
    double elements = sizeof(float);
    for (size_t d = 0; d < dims.size(); ++d) {
      open = open || !dims[d].is_int();
      if (dims[d].is_int()) {
        elements *= static_cast<double>(dims[d].as_int());
      } else if (d + 2 >= dims.size()) {
        return false;
      }
    }
    bytes += elements;
  }
  return may_be_whole(bytes, open);
}

/// The stages behind values of tiles in results; nothing if these are read from other stages.
std::optional<TiledSum> behind(const Computation& c, size_t results, const ScalarRef& tiles) {
  const std::vector<size_t> products = stages_read(tiles);
  if (products.size() != 1 || one_value_map(c, products[0]) == nullptr) return std::nullopt;
  const std::vector<size_t> data = stages_read(one_value_map(c, products[0])->values[0]);
  if (data.size() != 1 || one_value_map(c, data[0]) == nullptr) return std::nullopt;
  return TiledSum{data[0], products[0], results};
}

std::optional<TiledSum> find_choice(const Computation& c, size_t results, const Map& map) {
  for (const ScalarNode* node : te::post_order(map.values)) {
    if (node->kind != ScalarKind::kSelect || node->args[2]->kind != ScalarKind::kFold) continue;
    const std::optional<Dim> pays = asked_of_run(*node->args[0]);
    if (!pays) continue;
    std::optional<TiledSum> sum = behind(c, results, node->args[1]);
    if (!sum) continue;
    sum->choice = node;
    sum->pays = *pays;
    return sum;
  }
  return std::nullopt;
}

/// Results of tiles alone, between whose stages is much.
std::optional<TiledSum> find_large(const Computation& c, size_t results, const Map& map) {
  const std::optional<Table> table = find_table(map);
  if (!table || table->row.whole || table->column.whole) return std::nullopt;
  std::optional<TiledSum> sum = behind(c, results, ScalarRef(table->root));
  if (!sum || !is_contraction(*one_value_map(c, sum->products), c.num_axes, c.num_vars))
    return std::nullopt;
  return stays_whole(c, *sum) ? std::nullopt : sum;
}

}  // namespace

std::vector<TiledSum> find_tiled_sums(const Computation& c) {
  std::vector<TiledSum> found;
  for (size_t s = 0; s < c.stages.size(); ++s) {
    const Map* map = one_value_map(c, s);
    if (map == nullptr || stages_read(map->values[0]).empty()) continue;
    std::optional<TiledSum> sum = find_choice(c, s, *map);
    if (!sum) sum = find_large(c, s, *map);
    if (sum) found.push_back(*sum);
  }
  return found;
}

Computation without_tiles(const Computation& computation, const TiledSum& sum) {
  Computation result = computation;
  ScalarRef& value = std::get<Map>(result.stages[sum.results].body).values[0];
  value = with_arm(value, sum, 2);
  return result;
}

std::optional<BothWays> lower_both_ways(const Computation& computation, const TiledSum& sum,
                                        const std::string& name, const LowerOptions& options) {
  if (!is_private(computation, sum.data, sum.products) ||
      !is_private(computation, sum.products, sum.results))
    return std::nullopt;
  BothWays result;
  if (sum.choice != nullptr) {
    const Computation sums = without_tiles(computation, sum);
    result.plain = lower_contraction({sums, sum.results, name, options});
    if (!result.plain) return std::nullopt;
  }
  // Few tiles are a block or two for each of a few parts of the output channels.
  const int64_t few = channels_of_few(computation, sum);
  const Dim has_many = has_many_tiles(computation, sum, options.processor);
  for (const auto& [channels, taken] :
       {std::pair(int64_t{0}, has_many), std::pair(few, max(Dim(0), Dim(1) - has_many))}) {
    if (taken.is_int(0)) continue;
    std::optional<TileBlock> block =
        block_of_tiles(computation, sum, channels, taken * sum.pays, name, options);
    if (!block) return std::nullopt;
    const bool first = result.tiles.empty();
    if (result.plain && first && !guard_plain(*result.plain, block->down, sum.pays))
      return std::nullopt;
    std::optional<DraftKernel> tiles = join_kernels(computation, sum, std::move(*block), name);
    if (!tiles) return std::nullopt;
    result.tiles.push_back(std::move(*tiles));
  }
  return result;
}

}  // namespace relay::lower
