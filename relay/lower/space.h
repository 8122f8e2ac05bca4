// The points of a Map stage and how its loads move through memory: what loops are chosen by.
#pragma once

#include <functional>
#include <vector>

#include <relay/lower/index_math.h>
#include <relay/lower/lower.h>

namespace relay::lower {

/// One stage of a group: values for each row, or for each row and each point of `extras`.
struct Member {
  size_t stage = 0;
  std::vector<te::Axis> extras;
  std::vector<te::ScalarRef> values;  // over the group's rows, `extras`, folds and registers
  /// Indices of the results, over the rows and `extras`; which of them are extras' and their
  /// extents.
  std::vector<te::ScalarRef> point;
  std::vector<size_t> extra_dims;
  /// True for each result that is wanted as a tensor; another is kept only as long as the row is.
  std::vector<bool> stored;
};

/// Map stages that run together row by row: all points of one, what follows from them of the next.
/// A single Map is a group whose rows are its points.
struct RowGroup {
  std::vector<te::Axis> rows;
  std::vector<Member> members;
  /// Registers that hold members' values of one row, numbered from the computation's `num_vars` on.
  std::vector<te::TensorId> registers;
};

/// A load, or the store of a result.
struct Access {
  const te::ScalarNode* load = nullptr;  // null: the store
  size_t member = 0;
  DType dtype;
  std::optional<Dim> flat;  // position in memory; nothing for loads that are not in range for sure
  std::vector<Dim> index;
  // The same for estimates, where no extent that only a run knows makes a broadcast.
  std::optional<Dim> usual_flat;
  std::vector<Dim> usual_index;
  double times = 1;                      // evaluations for one row
  const te::ScalarNode* fold = nullptr;  // the innermost fold around it
};

/// A group with neighbouring axes joined where all accesses allow it, axes of extent 1 left out.
class Space {
 public:
  Space(const te::Computation& computation, RowGroup group);

  RowGroup group;
  std::vector<Access> accesses;
  std::vector<const te::ScalarNode*> folds;
  bool has_folds() const { return !folds.empty(); }
  IndexMath& math() { return math_; }

  /// How many elements an access moves by when the axis moves by one; nothing if that is no term.
  std::optional<Dim> stride(const Access& access, uint32_t axis) const;
  /// The same for estimates.
  std::optional<Dim> usual_stride(const Access& access, uint32_t axis) const;
  std::optional<Dim> coefficient(Dim index, uint32_t axis) const {
    return math_.coefficient(index, axis);
  }
  /// The cost of the accesses for each row when lanes run along this axis of the rows.
  double lane_cost(const te::Axis& axis, int lanes) const;
  /// The same with lanes along the axes of folds and of points in a row; nothing if some fold does
  /// not allow that. The position of the axis for each fold and each member (-1: none).
  struct InnerLanes {
    double cost = 0;
    std::vector<int> of_fold, of_member;
  };
  std::optional<InnerLanes> inner_lanes(int lanes) const;
  /// Operations for each row.
  double work() const;

 private:
  void drop_single();
  void collect();
  bool join_axes();
  bool joinable(const te::Axis& a, const te::Axis& b) const;
  void for_each_root(const std::function<void(te::ScalarRef&)>& change);

  const te::Computation& computation_;
  IndexMath math_, usual_math_;
  std::vector<uint32_t> bare_;  // axes that count other than in the positions of loads
};

/// An extent for estimates.
double guess(Dim extent);

}  // namespace relay::lower
