// Stages that run block by block: products whose factor is computed from other products' results.
#pragma once

#include <optional>
#include <vector>

#include <relay/lower/lower.h>

namespace relay::lower {

/// The stages between two products, the second of which reads what was computed from the results of
/// the first, row by row (as attention does: scores, softmax, values). All have the same rows; what
/// a block of rows needs of a stage before is that block.
struct BlockChain {
  std::vector<size_t> stages;  // in order: the first product … the last
  /// For each of them, by its axes: the row that an axis is; nothing for others.
  std::vector<std::vector<std::optional<size_t>>> row_of;
  std::vector<Dim> rows;    // extents
  size_t cut = 0;           // the row that is cut into blocks,
  std::vector<bool> whole;  // rows that are in each block; each index of the others is a block
  Dim size;                 // indices of the cut in a block, at most as many as there are,
  Dim count;                // and the number of such pieces. The last ends where the rows end
};

/// The first such stages of a prepared computation if no other stage or result needs the tensors
/// between the products, and running in blocks pays.
std::optional<BlockChain> find_blocks(const te::Computation& computation,
                                      const Processor& processor,
                                      BlocksIf blocks_if = BlocksIf::kPays);

/// True if `lower` runs stages of a computation in blocks.
bool runs_in_blocks(const te::Computation& computation, const Processor& processor);

/// The computation with the factors that all blocks read stored as tiles read them (packing.h), by
/// stages in front.
te::Computation with_packed_factors(const te::Computation& computation, const BlockChain& chain,
                                    const Processor& processor);

/// Columns of the first product that no row of a block sees, as behind a causal mask: leaving out
/// those after row + `offset` (of the cut) changes nothing.
struct SeenColumns {
  Dim offset;
  Dim extent;                  // of all columns
  std::vector<uint32_t> axes;  // that go through them, in all stages
};
std::optional<SeenColumns> seen_columns(const te::Computation& computation,
                                        const BlockChain& chain);

/// The work of one block as a computation: inputs are those of the whole, then `tensors` of stages
/// outside. Its counters are symbols.
struct OneBlock {
  te::Computation computation;
  std::vector<te::TensorId> tensors;
  std::vector<Blocks::Counter> counters;
  /// Of the block in the result, by its axes; empty if nests store each element at its place there.
  std::vector<Dim> begin;
  Dim taken = 1;  // 1 in runs that have blocks, 0 in others, which want no scratch for them
};
OneBlock one_block(const te::Computation& computation, const BlockChain& chain);

/// The kernels of a lowered block as one kernel that writes `result` (of the whole). `places` gives
/// the place of each buffer that is not scratch, as of `lowered`. Nothing if the block needs more
/// than kernels, or its result is not a product's.
struct JoinedBlock {
  std::shared_ptr<Kernel> kernel;
  std::vector<int32_t> places;
};
std::optional<JoinedBlock> join_block(const Lowered& lowered, const OneBlock& block,
                                      const te::TensorInfo& result, const std::string& name);

}  // namespace relay::lower
