// The templates: each turns stages of one structure into a kernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <relay/lower/draft.h>
#include <relay/lower/space.h>

namespace relay::lower {

/// What a template works on.
struct Job {
  const te::Computation& computation;
  size_t stage;
  std::string name;
  const LowerOptions& options;
};

/// Any Map: loops over the points, lanes along the axis that suits the accesses, or along folds.
DraftKernel lower_map(const Job& job);
DraftKernel lower_scan(const Job& job);
DraftKernel lower_update(const Job& job);
/// The base of an update.
DraftKernel lower_copy(const Job& job, te::TensorId source);

/// Loops over `axes` around `body`, outermost first; the outer ones are joined into one parallel
/// loop if the work is worth it. `work` is what one point of all axes costs.
class OuterLoops {
 public:
  OuterLoops(Draft& draft, std::vector<te::Axis> axes, double work_inside);
  /// What the axes are called in the body: themselves, or registers.
  std::unordered_map<uint32_t, te::ScalarRef> names;
  bool parallel() const { return joined_ > 0; }
  /// Puts the loops into the draft.
  void close(Block body);

 private:
  Draft& draft_;
  std::vector<te::Axis> axes_;
  size_t joined_ = 0;  // axes of the parallel loop
  te::Axis shared_;
  Block lets_;
};

/// Work, in operations, from which on a kernel is cut for several workers, and of a piece at least.
inline constexpr double kWorthSharing = 32768;

}  // namespace relay::lower
