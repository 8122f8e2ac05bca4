// Computations made ready for loops.
#pragma once

#include <cstdint>
#include <optional>

#include <relay/lower/processor.h>
#include <relay/tensor_expr/computation.h>

namespace relay::lower {

/// The same results by stages that each deserve a kernel: Maps that are cheap to repeat or read
/// once stand in their users, elementwise work stands behind the folds it follows, views are index
/// arithmetic unless they are free, stages that nothing needs are gone.
te::Computation prepare(const te::Computation& computation);

/// Elementwise stages that read a fold's stage in another shape (the same elements in the same
/// order), written over the axes of that stage, so that they can follow the fold directly.
te::Computation along_folds(const te::Computation& computation);

/// Sums of products that stand in a stage beside other folds, as stages of their own: each is a
/// contraction then.
te::Computation isolate_products(const te::Computation& computation);

/// Sums of products at quotients and remainders of an axis that ends within a step, as those of a
/// transposed convolution may, in two stages: the sums up to the end of the step, and what reads
/// those that there are.
te::Computation in_whole_steps(const te::Computation& computation);

/// Sums of products over windows whose taps read padding for many of the results (those of large
/// dilations, say) in several stages: groups of taps are summed up for the results for which they
/// read data. Nothing if no stage is clearly cheaper so, with vectors of so many bytes; tests ask
/// for all stages that can be cut.
enum class CutIf : uint8_t { kCheaper, kPossible };
std::optional<te::Computation> cut_windows(const te::Computation& computation,
                                           const Processor& processor,
                                           CutIf cut_if = CutIf::kCheaper);

/// Sums of products at quotients and remainders of axes in several stages, one for each remainder,
/// if some taps are there for some remainders only (those of a transposed convolution of 3×3 with
/// steps of 2: nine products for four results, not sixteen). Another stage puts the results side by
/// side. Nothing if no stage is clearly cheaper so; tests ask for all that can be cut.
std::optional<te::Computation> cut_phases(const te::Computation& computation,
                                          const Processor& processor,
                                          CutIf cut_if = CutIf::kCheaper);

/// Long folds of few results in two stages: blocks of a size that follows from the shape alone,
/// then the blocks' results.
te::Computation split_long_folds(const te::Computation& computation);

/// The computation with a stage for values that a fold over a row and a later stage both compute.
/// Worth it only if the three stages run together, row by row.
struct SharedRow {
  te::Computation computation;
  size_t row, fold, user;  // stages
};
std::optional<SharedRow> share_row(const te::Computation& computation);

}  // namespace relay::lower
