// Convolutions in tiles whose planes a run measures: block by block of tiles, with scratch of a
// size that no plane changes.
#pragma once

#include <optional>

#include <relay/lower/draft.h>
#include <relay/lower/lower.h>

namespace relay::lower {

/// How many tiles a block has, at most: whole vectors. 0 if tensors between the stages of a block
/// of one vector would take too much scratch. `points`: of a tile; `channels`: of the data and the
/// results.
int64_t tiles_in_block(int64_t points, int64_t channels, const Processor& processor);

/// True if tensors of so many bytes between the stages may be whole in memory; of one image if a
/// run counts the images.
bool may_be_whole(double bytes, bool open_images);

/// A sum in tiles that runs block by block: large planes, and those that a run measures. `results`
/// is then a map with a choice between values of tiles and a plain sum.
struct TiledSum {
  size_t data = 0, products = 0, results = 0;  // stages
  const te::ScalarNode* choice = nullptr;      // null: tiles pay in every run
  Dim pays = 1;                                // 1 if a run computes it in tiles, else 0

  /// True for its stages.
  bool has(size_t stage) const { return stage == data || stage == products || stage == results; }
};

/// All such sums of a prepared computation.
std::vector<TiledSum> find_tiled_sums(const te::Computation& computation);

/// The value of the results with one arm of the choice, if there is one, in its place: 1, of tiles;
/// 2, the plain sum.
te::ScalarRef with_arm(const te::ScalarRef& value, const TiledSum& sum, size_t arm);

/// The computation with the plain sum alone; the stages of its tiles stay, without a reader.
te::Computation without_tiles(const te::Computation& computation, const TiledSum& sum);

/// Both ways as kernels, of which each run uses one: others have nothing to do in it.
struct BothWays {
  std::optional<DraftKernel> plain;
  std::vector<DraftKernel> tiles;  // for few tiles and for many
};
/// Nothing if the stages are other than `winograd_of` writes them, or if somebody else reads what
/// is between them.
std::optional<BothWays> lower_both_ways(const te::Computation& computation, const TiledSum& sum,
                                        const std::string& name, const LowerOptions& options);

}  // namespace relay::lower
