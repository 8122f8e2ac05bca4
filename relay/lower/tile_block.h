// The kernels of one block of tiles (tiled_sums.h): transformed data, products, results.
#pragma once

#include <optional>
#include <vector>

#include <relay/lower/draft.h>
#include <relay/lower/lower.h>
#include <relay/lower/tiled_sums.h>

namespace relay::lower {

/// The first output of a stage.
te::TensorId tensor_of(size_t stage);
/// The map of one value that a stage is, or null.
const te::Map* one_value_map(const te::Computation& computation, size_t stage);

struct TileBlock {
  std::vector<DraftKernel> parts;  // tensors of `data` and `products` are those of one block
  std::vector<Blocks::Counter> counters;
  Dim taken = 1;    // 1 in runs that have such blocks, 0 in others
  size_t down = 0;  // dimension of the results that goes down planes
};

/// A block has tiles of one image, counted through line by line, and so many output channels of
/// them (0: all). `taken`: 1 in runs that have such blocks, 0 in others. Nothing if the stages are
/// other than `winograd_of` writes them.
std::optional<TileBlock> block_of_tiles(const te::Computation& computation, const TiledSum& sum,
                                        int64_t channels, Dim taken, const std::string& name,
                                        const LowerOptions& options);

/// A number of output channels for blocks where there are few tiles: a part of all, so that workers
/// have something to share. 0: there is no such part.
int64_t channels_of_few(const te::Computation& computation, const TiledSum& sum);
/// 1 in runs with enough tiles for blocks with all channels, 0 in others.
Dim has_many_tiles(const te::Computation& computation, const TiledSum& sum,
                   const Processor& processor);

}  // namespace relay::lower
