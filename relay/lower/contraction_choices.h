// Other sizes than the planner's for the tiles of a contraction, to be measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <relay/lower/loops.h>
#include <relay/lower/processor.h>

namespace relay::lower {

enum class ChosenSizes : uint8_t {
  kTiles /* rows of a tile, vectors of a panel */,
  kBlocks /* how many tiles and panels are near each other in time */
};

/// Choices that change these sizes of a contraction's plan, as its own choice makes it: at most
/// `most`, each with a plan of its own, those with the least work for the processor first. Sums
/// keep their order, so results keep their bits.
std::vector<TileChoice> other_choices(const Contraction& contraction, const Processor& processor,
                                      ChosenSizes sizes, size_t most);

}  // namespace relay::lower
