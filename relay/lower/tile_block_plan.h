// Which tiles a block has (tile_block.h), and the products of these.
#pragma once

#include <optional>
#include <vector>

#include <relay/lower/tile_block.h>

namespace relay::lower {

/// Dimensions of the transformed data in front of the images: point, point, channel.
inline constexpr size_t kImages = 3;

/// True if a value depends on one of the axes.
bool mentions_any(const te::ScalarRef& value, const std::vector<te::Axis>& axes);

/// Counts the tiles of a plane in blocks, and writes the stages between data and results as those
/// of one block: its nests are written from that.
class BlockPlan {
 protected:
  BlockPlan(te::Computation c, const TiledSum& sum, int64_t channels, Dim taken,
            const LowerOptions& options);

  /// False if the stages are other than `winograd_of` writes them.
  bool prepare_block();

  te::Computation c_;  // stages that are of one block
  const TiledSum& sum_;
  const int64_t together_;  // output channels of a block; 0: all
  const Dim taken_;
  const LowerOptions& options_;
  size_t images_ = 0, channels_ = 0;  // dimensions of images, and of output channels
  int64_t most_ = 0;                  // tiles of a block
  int64_t outs_ = 1;                  // output channels
  Dim down_, along_;                  // tiles of a plane
  Dim size_, first_;                  // of a block: how many tiles, the first one
  Dim part_;                          // of the output channels
  std::vector<Blocks::Counter> counters_;
  std::vector<Dim> at_image_;  // of the block, for each dimension of images

 private:
  /// Images are counted one by one, their tiles in blocks of equal size.
  void count_blocks(const std::vector<Dim>& dims);
  /// Takes the output channels in parts: a dimension of the weights that counts them becomes two,
  /// the part and what is in it.
  bool take_part();
  /// How many values an index has among the output channels of a part, if it is the channel or its
  /// quotient; 0 for its remainder; nothing for others, or if parts begin within a line.
  std::optional<int64_t> part_of(const te::ScalarNode& index, const te::Axis& out) const;
  /// The products of a block, and the sizes of what is between the stages.
  bool write_products();
};

}  // namespace relay::lower
