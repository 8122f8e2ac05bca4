#include <relay/lower/contraction_choices.h>

#include <algorithm>
#include <array>
#include <map>

#include <relay/lower/contraction_parts.h>

namespace relay::lower {
namespace {

// The sizes of a plan that a choice may change.
using Sizes = std::array<int64_t, 4>;

Sizes sizes_of(const ContractionPlan& plan) {
  return {plan.row_tiles.size, plan.panels.size, plan.tiles_in_block, plan.panels_in_block};
}

double count_of(Dim pieces, double unknown) {
  return pieces.is_int() ? static_cast<double>(pieces.as_int()) : unknown;
}

// Cycles of all tiles for one step of k, and of what is copied for them, about.
double cost_of(const ContractionPlan& plan, const Processor& processor) {
  constexpr double kRows = 1024, kColumns = 1024;  // where they are not known
  const auto rows = static_cast<double>(plan.row_tiles.size);
  const auto vectors = static_cast<double>(plan.panels.size);
  const double tiles = count_of(plan.row_tiles.pieces, kRows / rows);
  const double panels =
      count_of(plan.panels.pieces, kColumns / (vectors * static_cast<double>(plan.lanes)));
  double cost = tiles * panels * tile_cost(processor, plan.row_tiles.size, plan.panels.size);
  const double panel_blocks =
      panels / static_cast<double>(std::max<int64_t>(1, plan.panels_in_block));
  const double tile_blocks = tiles / static_cast<double>(std::max<int64_t>(1, plan.tiles_in_block));
  if (plan.copies_rhs()) cost += 2 * vectors * panels * std::max(1.0, tile_blocks);
  if (plan.copies_lhs()) cost += rows / 4 * tiles * std::max(1.0, panel_blocks);
  return cost;
}

std::vector<TileChoice> tile_sizes(const ContractionPlan& plan, TileChoice from) {
  std::vector<TileChoice> result;
  for (int32_t vectors = 1; vectors <= kWidestPanel; ++vectors) {
    const auto most = static_cast<int32_t>(plan.row_tiles.size * plan.panels.size / vectors);
    for (int32_t rows : {most + 2, most + 1, most, most - 1, most - 2, most / 2}) {
      if (rows <= 0) continue;
      from.tile_rows = rows;
      from.panel_vectors = vectors;
      result.push_back(from);
    }
  }
  return result;
}

std::vector<TileChoice> block_sizes(const ContractionPlan& plan, const TileChoice& from) {
  std::vector<TileChoice> result;
  auto vary = [&](int32_t TileChoice::*size, int64_t now) {
    constexpr int64_t kMost = 1 << 16;
    for (int64_t other : {now / 4, now / 2, now * 2, now * 4, now * 16}) {
      if (other <= 0 || other > kMost) continue;
      TileChoice choice = from;
      choice.*size = static_cast<int32_t>(other);
      result.push_back(choice);
    }
  };
  vary(&TileChoice::tiles_in_block, plan.tiles_in_block);
  vary(&TileChoice::panels_in_block, plan.panels_in_block);
  return result;
}

}  // namespace

std::vector<TileChoice> other_choices(const Contraction& contraction, const Processor& processor,
                                      ChosenSizes sizes, size_t most) {
  const ContractionPlan now = plan_contraction(contraction, processor);
  if (now.dots || now.matrix) return {};
  std::vector<std::pair<double, TileChoice>> found;
  std::map<Sizes, bool> seen{{sizes_of(now), true}};
  Contraction changed = contraction;
  const std::vector<TileChoice> tried = sizes == ChosenSizes::kTiles
                                            ? tile_sizes(now, contraction.chosen)
                                            : block_sizes(now, contraction.chosen);
  for (const TileChoice& choice : tried) {
    changed.chosen = choice;
    const ContractionPlan plan = plan_contraction(changed, processor);
    if (!seen.try_emplace(sizes_of(plan), true).second) continue;
    found.emplace_back(cost_of(plan, processor), choice);
  }
  std::ranges::stable_sort(found, {}, &std::pair<double, TileChoice>::first);
  std::vector<TileChoice> result;
  for (size_t i = 0; i < std::min(most, found.size()); ++i) result.push_back(found[i].second);
  return result;
}

}  // namespace relay::lower
