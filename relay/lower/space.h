// The points of a Map stage and how its loads move through memory: what loops are chosen by.
#pragma once

#include <vector>

#include <relay/lower/index_math.h>
#include <relay/lower/lower.h>

namespace relay::lower {

/// A load, or the store of a result.
struct Access {
  const te::ScalarNode* load = nullptr;  // null: the store
  DType dtype;
  std::optional<Dim> flat;  // position in memory; nothing for loads that are not in range for sure
  std::vector<Dim> index;
  double times = 1;                      // evaluations for a point of the domain
  const te::ScalarNode* fold = nullptr;  // the innermost fold around it
};

/// A Map with neighbouring axes joined where all accesses allow it, axes of extent 1 left out.
class Space {
 public:
  Space(const te::Computation& computation, const te::Map& map);

  std::vector<te::Axis> axes;
  std::vector<te::ScalarRef> roots;
  std::vector<Access> accesses;
  std::vector<const te::ScalarNode*> folds;
  bool has_folds() const { return !folds.empty(); }
  IndexMath& math() { return math_; }

  /// How many elements an access moves by when the axis moves by one; nothing if that is no term.
  std::optional<Dim> stride(const Access& access, uint32_t axis) const;
  /// What the accesses cost for each point when lanes run along this axis of the domain.
  double lane_cost(const te::Axis& axis, int lanes) const;
  /// The same with lanes along fold axes; nothing if some fold does not allow that. `choice` gets
  /// the position of the axis for each of `folds` (-1 for folds without loads).
  std::optional<double> fold_lane_cost(int lanes, std::vector<int>& choice) const;
  /// Operations for each point.
  double work() const;

 private:
  void collect(const te::Computation& computation);
  bool join_axes(const te::Computation& computation);
  bool joinable(const te::Axis& a, const te::Axis& b) const;

  IndexMath math_;
  std::vector<std::vector<Dim>> outputs_;
  std::vector<uint32_t> bare_;  // axes that count other than in the positions of loads
};

/// An extent for estimates.
double guess(Dim extent);

}  // namespace relay::lower
