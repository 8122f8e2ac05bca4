#include <relay/lower/lower.h>

#include <algorithm>

#include <relay/lower/blocks.h>
#include <relay/lower/contraction.h>
#include <relay/lower/onednn.h>
#include <relay/lower/prepare.h>
#include <relay/lower/templates.h>
#include <relay/lower/tiled_sums.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {
namespace {

using te::Computation;
using te::TensorId;

/// A sum that each run computes in one of two ways, and the kernels for these.
struct SumInTiles {
  TiledSum sum;
  BothWays kernels;
};

class Lowering {
 public:
  Lowering(Computation computation, const std::string& name, const LowerOptions& options,
           std::vector<SumInTiles> tiled = {})
      : c_(std::move(computation)), name_(name), options_(options), tiled_(std::move(tiled)) {}

  Lowered run() {
    assign_places();
    std::vector<RowGroup> groups = find_groups(c_);
    find_chain(groups);
    for (RowGroup& group : groups) {
      if (SumInTiles* tiled = in_tiles(group)) {
        if (group.members[0].stage != tiled->sum.results) continue;
        if (tiled->kernels.plain) launch(std::move(*tiled->kernels.plain));
        for (DraftKernel& kernel : tiled->kernels.tiles) launch(std::move(kernel));
      } else if (!in_chain(group)) {
        lower_group(std::move(group));
      } else if (group.members.back().stage == chain_.stages.back()) {
        launch(std::move(*block_));
      }
    }
    drop_unused_places();
    return std::move(result_);
  }

 private:
  int32_t add_place(const te::TensorInfo& info) {
    result_.places.push_back({info, -1});
    return static_cast<int32_t>(result_.places.size()) - 1;
  }

  int32_t& place(TensorId id) {
    return places_[id.is_input() ? 0 : static_cast<size_t>(id.stage) + 1]
                  [static_cast<size_t>(id.index)];
  }

  void assign_places() {
    places_.resize(c_.stages.size() + 1);
    for (const te::TensorInfo& info : c_.inputs) places_[0].push_back(add_place(info));
    result_.num_inputs = c_.inputs.size();
    for (size_t s = 0; s < c_.stages.size(); ++s) {
      places_[s + 1].resize(c_.stages[s].outputs.size(), -1);
    }
    for (const te::Output& output : c_.outputs) {
      int32_t& at = place(output.tensor);
      if (at < 0) at = add_place(c_.info(output.tensor));
      result_.outputs.push_back(at);
    }
    for (size_t s = 0; s < c_.stages.size(); ++s) {
      for (size_t k = 0; k < c_.stages[s].outputs.size(); ++k) {
        int32_t& at = places_[s + 1][k];
        if (at < 0) at = add_place(c_.stages[s].outputs[k]);
      }
    }
    // Views share memory; an update of what nobody else reads works in place.
    for (size_t s = 0; s < c_.stages.size(); ++s) {
      const te::Stage& stage = c_.stages[s];
      TensorId source;
      if (const auto* view = std::get_if<te::View>(&stage.body)) {
        source = view->source;
      } else if (const auto* update = std::get_if<te::Update>(&stage.body)) {
        if (!in_place(s)) continue;
        source = update->base;
      } else {
        continue;
      }
      share(place({static_cast<int32_t>(s), 0}), place(source));
    }
  }

  int32_t root(int32_t at) const {
    while (result_.places[static_cast<size_t>(at)].alias >= 0) {
      at = result_.places[static_cast<size_t>(at)].alias;
    }
    return at;
  }

  bool is_temporary(int32_t at) const {
    return at >= static_cast<int32_t>(c_.inputs.size()) &&
           std::find(result_.outputs.begin(), result_.outputs.end(), at) == result_.outputs.end();
  }

  /// The place that outlives the group keeps the memory.
  void share(int32_t user, int32_t source) {
    int32_t a = root(user), b = root(source);
    if (a == b) return;
    if (is_temporary(b) && !is_temporary(a)) std::swap(a, b);
    result_.places[static_cast<size_t>(a)].alias = b;
  }

  bool in_place(size_t s) {
    TensorId base = std::get<te::Update>(c_.stages[s].body).base;
    if (base.is_input()) return false;
    const te::Stage& source = c_.stages[static_cast<size_t>(base.stage)];
    if (std::holds_alternative<te::View>(source.body)) return false;
    for (const te::Output& output : c_.outputs) {
      if (output.tensor == base) return false;
    }
    for (size_t other = 0; other < c_.stages.size(); ++other) {
      std::vector<TensorId> reads = te::stage_reads(c_.stages[other]);
      if (other != s && std::find(reads.begin(), reads.end(), base) != reads.end()) return false;
    }
    for (const te::ScalarNode* node : te::post_order(te::stage_roots(c_.stages[s]))) {
      if (node->kind == te::ScalarKind::kLoad && node->tensor == base) return false;
    }
    return true;
  }

  bool in_chain(const RowGroup& group) const {
    return std::find(chain_.stages.begin(), chain_.stages.end(), group.members[0].stage) !=
           chain_.stages.end();
  }

  /// The sum in tiles that a stage is of.
  SumInTiles* in_tiles(const RowGroup& group) {
    for (SumInTiles& one : tiled_) {
      if (one.sum.has(group.members[0].stage)) return &one;
    }
    return nullptr;
  }

  /// Stages that run block by block. They stay as they are if a group has others, too.
  void find_chain(const std::vector<RowGroup>& groups) {
    std::optional<BlockChain> chain = find_blocks(c_, options_.processor, options_.blocks);
    if (!chain) return;
    for (const RowGroup& group : groups) {
      size_t members = 0;
      for (const Member& member : group.members) {
        members += static_cast<size_t>(
            std::count(chain->stages.begin(), chain->stages.end(), member.stage));
      }
      if (members != 0 && members != group.members.size()) return;
    }
    const OneBlock block = one_block(c_, *chain);
    LowerOptions of_block = options_;
    of_block.blocks = BlocksIf::kNever;
    const Lowered lowered = Lowering(block.computation, name_, of_block).run();
    const TensorId result{static_cast<int32_t>(chain->stages.back()), 0};
    std::optional<JoinedBlock> joined = join_block(lowered, block, c_.info(result), name_);
    if (!joined) return;
    block_.emplace();
    block_->kernel = std::move(joined->kernel);
    for (int32_t at : joined->places) {
      const auto inputs = static_cast<int32_t>(c_.inputs.size());
      block_->tensors.push_back(at < inputs ? TensorId{-1, at}
                                : at < static_cast<int32_t>(lowered.num_inputs)
                                    ? block.tensors[static_cast<size_t>(at - inputs)]
                                    : result);
    }
    chain_ = std::move(*chain);
  }

  void lower_group(RowGroup group) {
    size_t s = group.members[0].stage;
    const te::Stage& stage = c_.stages[s];
    Job job{c_, s, name_, options_};
    if (std::holds_alternative<te::Map>(stage.body)) {
      std::optional<DraftKernel> kernel;
      if (group.members.size() == 1) kernel = lower_contraction(job);
      if (!kernel && group.members.size() == 1) kernel = lower_tiles(job);
      if (!kernel) {
        size_t products = count_products(group);
        kernel = lower_rows(job, std::move(group));
        kernel->kernel->products_in_loops = products;
      }
      launch(std::move(*kernel));
    } else if (std::holds_alternative<te::Scan>(stage.body)) {
      launch(lower_scan(job));
    } else if (const auto* update = std::get_if<te::Update>(&stage.body)) {
      if (root(place({static_cast<int32_t>(s), 0})) != root(place(update->base))) {
        launch(lower_copy(job, update->base));
      }
      launch(lower_update(job));
    } else if (const auto* library = std::get_if<te::Library>(&stage.body)) {
      LibraryLaunch run;
      run.name = library->kernel;
      run.params = library->params;
      for (TensorId input : library->inputs) run.inputs.push_back(place(input));
      run.op = library->op;
      run.origin = library->origin;
      for (size_t k = 0; k < stage.outputs.size(); ++k)
        run.outputs.push_back(place({static_cast<int32_t>(s), static_cast<int32_t>(k)}));
      result_.launches.push_back(std::move(run));
    }
  }

  /// The number of products of a group that is no contraction.
  size_t count_products(const RowGroup& group) const {
    size_t count = 0;
    for (const Member& member : group.members) {
      std::vector<te::Axis> axes = group.rows;
      axes.insert(axes.end(), member.extras.begin(), member.extras.end());
      for (const te::ScalarNode* node : te::post_order(member.values)) {
        if (node->kind == te::ScalarKind::kFold && is_accumulator(node->dtype) &&
            is_product(te::ScalarRef(node), axes, c_.num_axes, c_.num_vars)) {
          ++count;
        }
      }
    }
    return count;
  }

  void launch(DraftKernel draft) {
    Launch launch;
    launch.kernel = static_cast<uint32_t>(result_.kernels.size());
    for (TensorId id : draft.tensors) launch.buffers.push_back(place(id));
    result_.kernels.push_back(std::move(draft.kernel));
    result_.launches.push_back(std::move(launch));
  }

  /// Values that stay within a kernel need no place.
  void drop_unused_places() {
    std::vector<bool> used(result_.places.size());
    auto use = [&](int32_t at) { used[static_cast<size_t>(at)] = true; };
    for (size_t k = 0; k < result_.num_inputs; ++k) used[k] = true;
    for (int32_t at : result_.outputs) use(at);
    for (const auto& launch : result_.launches) {
      if (const auto* run = std::get_if<Launch>(&launch)) {
        for (int32_t at : run->buffers) use(at);
      } else {
        for (int32_t at : std::get<LibraryLaunch>(launch).inputs) use(at);
        for (int32_t at : std::get<LibraryLaunch>(launch).outputs) use(at);
      }
    }
    for (size_t k = 0; k < used.size(); ++k) {
      if (used[k]) {
        for (int32_t at = result_.places[k].alias; at >= 0;
             at = result_.places[static_cast<size_t>(at)].alias) {
          use(at);
        }
      }
    }
    std::vector<int32_t> moved(used.size(), -1);
    std::vector<Place> kept;
    for (size_t k = 0; k < used.size(); ++k) {
      if (!used[k]) continue;
      moved[k] = static_cast<int32_t>(kept.size());
      kept.push_back(std::move(result_.places[k]));
    }
    auto move = [&](int32_t& at) { at = moved[static_cast<size_t>(at)]; };
    for (Place& place : kept) {
      if (place.alias >= 0) move(place.alias);
    }
    for (int32_t& at : result_.outputs) move(at);
    for (auto& launch : result_.launches) {
      if (auto* run = std::get_if<Launch>(&launch)) {
        for (int32_t& at : run->buffers) move(at);
      } else {
        auto& library = std::get<LibraryLaunch>(launch);
        for (int32_t& at : library.inputs) move(at);
        for (int32_t& at : library.outputs) move(at);
      }
    }
    result_.places = std::move(kept);
  }

  Computation c_;
  std::string name_;
  LowerOptions options_;
  Lowered result_;
  std::vector<std::vector<int32_t>> places_;  // of the inputs, then of each stage
  std::vector<SumInTiles> tiled_;
  BlockChain chain_;                  // stages that are one kernel,
  std::optional<DraftKernel> block_;  // and the kernel
};

/// True if no other stage runs together with those of a sum.
bool runs_alone(const std::vector<RowGroup>& groups, const TiledSum& sum) {
  return std::all_of(groups.begin(), groups.end(), [&](const RowGroup& group) {
    return group.members.size() == 1 ||
           std::none_of(group.members.begin(), group.members.end(),
                        [&](const Member& member) { return sum.has(member.stage); });
  });
}

/// The sums that are computed in one of two ways. Those that cannot be become plain sums.
std::vector<SumInTiles> sums_in_tiles(Computation& c, const std::string& name,
                                      const LowerOptions& options) {
  std::vector<SumInTiles> result;
  const std::vector<TiledSum> sums = find_tiled_sums(c);
  if (sums.empty()) return result;
  const std::vector<RowGroup> groups = find_groups(c);
  for (const TiledSum& sum : sums) {
    std::optional<BothWays> kernels;
    if (runs_alone(groups, sum)) kernels = lower_both_ways(c, sum, name, options);
    if (!kernels && sum.choice == nullptr) continue;
    if (!kernels) {
      c = prepare(without_tiles(c, sum));
      return sums_in_tiles(c, name, options);  // one fewer
    }
    result.push_back({sum, std::move(*kernels)});
  }
  return result;
}

}  // namespace

Lowered lower(const Computation& computation, const std::string& name,
              const LowerOptions& options) {
  Computation c = options.prepared ? computation : prepare(computation);
  if (options.onednn) {
    c = with_onednn(c);
  } else if (!options.prepared) {
    if (std::optional<Computation> cut = cut_phases(c, options.processor)) c = std::move(*cut);
    if (std::optional<Computation> cut = cut_windows(c, options.processor)) c = std::move(*cut);
  }
  c = split_long_folds(c);
  if (std::optional<SharedRow> shared = share_row(c)) {
    for (const RowGroup& group : find_groups(shared->computation)) {
      auto has = [&](size_t stage) {
        return std::any_of(group.members.begin(), group.members.end(),
                           [&](const Member& member) { return member.stage == stage; });
      };
      if (has(shared->row) && has(shared->fold) && has(shared->user)) {
        c = std::move(shared->computation);
        break;
      }
    }
  }
  // Several blocks read the same factors. With open extents there may be one row, which reads them
  // once, as they are.
  constexpr int64_t kSeveral = 4;
  LowerOptions chosen = options;
  if (options.onednn) chosen.blocks = BlocksIf::kNever;
  std::optional<BlockChain> chain = find_blocks(c, options.processor, chosen.blocks);
  if (!chain) {
    chosen.blocks = BlocksIf::kNever;
  } else if (chain->count.is_int() && chain->count.as_int() >= kSeveral) {
    c = with_packed_factors(c, *chain, options.processor);
  }
  std::vector<SumInTiles> tiled = sums_in_tiles(c, name, options);
  return Lowering(std::move(c), name, chosen, std::move(tiled)).run();
}

}  // namespace relay::lower
