// The templates: each turns stages of one structure into a kernel.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <relay/lower/draft.h>
#include <relay/lower/space.h>

namespace relay::lower {

/// The stages of a computation in groups that run row by row, in an order in which they can run.
/// Stages that are not Maps are groups of their own, with one member without values.
std::vector<RowGroup> find_groups(const te::Computation& computation);

/// The task of a template.
struct Job {
  const te::Computation& computation;
  size_t stage;
  std::string name;
  const LowerOptions& options;
};

/// Any group of Maps: loops over the rows, lanes along the axis of the rows that suits the
/// accesses, or along the folds and the points within a row.
DraftKernel lower_rows(const Job& job, RowGroup group);
/// A single Map without folds whose loads and store want lanes along different axes.
std::optional<DraftKernel> lower_transpose(const Job& job, Space& space, Dim flops);
/// A single Map with folds over padded windows, lanes along row axis `along`.
std::optional<DraftKernel> lower_window(const Job& job, Space& space, size_t along, Dim flops);
/// The same if elements are read several times: over a copy of the plane, its padding included.
std::optional<DraftKernel> lower_padded(const Job& job, Space& space, const te::Axis& lane,
                                        Dim flops);
/// A single Map with one fold over rows that lie apart, lanes along row axis `along`.
std::optional<DraftKernel> lower_columns(const Job& job, Space& space, size_t along, Dim flops);
/// A Map that is a sum of products.
std::optional<DraftKernel> lower_contraction(const Job& job);
/// A Map whose values come from tables that are computed as a whole.
std::optional<DraftKernel> lower_tiles(const Job& job);
DraftKernel lower_scan(const Job& job);
DraftKernel lower_update(const Job& job);
/// The base of an update.
DraftKernel lower_copy(const Job& job, te::TensorId source);

/// The value with its indices, comparisons and casts of them as simple as the ranges of axes allow.
te::ScalarRef simplify_indices(const te::ScalarRef& value, IndexMath& math);
/// A single Map with folds at quotients and remainders of its axes, or a choice by them.
std::optional<DraftKernel> lower_phases(const Job& job, const Space& space, Dim flops);
/// The one Map of a group without folds, cut along `axis` where comparisons of it choose the value;
/// nothing if there are none, or pieces are known to be shorter than `lanes`. Axes of pieces are
/// new.
std::vector<RowGroup> cut_at_choices(Draft& draft, const Space& space, const te::Axis& axis,
                                     int64_t lanes);

/// Stores into the results of a Map, one value each, all bound; `names` are the axes at its point.
std::vector<Stmt> store_results(Draft& draft, IndexMath& math, const Member& member,
                                std::span<const te::ScalarRef> values,
                                const std::unordered_map<uint32_t, te::ScalarRef>& names);

/// Lanes of vectors of the widest elements that a group reads or writes.
int lanes_of(const Space& space, const LowerOptions& options);

/// Gives names in `block` to values that several roots share and that are worth a register.
void name_shared(Draft& draft, std::vector<te::ScalarRef>& roots, Block& block);

/// Loops over `axes` around `body`, outermost first; the outer ones are joined into one parallel
/// loop if the work is worth it. `work` is the cost of one point of all axes.
class OuterLoops {
 public:
  OuterLoops(Draft& draft, std::vector<te::Axis> axes, double work_inside);
  /// The names of the axes in the body: themselves, or registers.
  std::unordered_map<uint32_t, te::ScalarRef> names;
  bool parallel() const { return joined_ > 0; }
  te::ScalarRef name(const te::Axis& axis) const;
  /// Puts the loops into the draft.
  void close(Block body);

 private:
  Draft& draft_;
  std::vector<te::Axis> axes_;
  size_t joined_ = 0;  // axes of the parallel loop
  te::Axis shared_;
  Block lets_;
};

/// The work, in operations, from which on a kernel is cut for several workers, and the least of a
/// piece.
inline constexpr double kWorthSharing = 32768;

}  // namespace relay::lower
