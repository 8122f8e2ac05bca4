// Which stages run together, row by row.
#include <algorithm>
#include <set>

#include <relay/lower/contraction.h>
#include <relay/lower/templates.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;

namespace {

/// Beyond this a row does not stay in the cache between its stages.
constexpr int64_t kMaxRow = 1 << 17;
/// Fewer rows leave workers idle, if the rows are long.
constexpr int64_t kFewRows = 8;

/// A stage of a group: which of its axes is which row.
struct StagePlace {
  size_t stage;
  std::vector<std::optional<size_t>> axis_of_row;  // position among the stage's axes
};

struct Building {
  std::vector<Dim> rows;  // extents
  std::vector<StagePlace> places;
  bool has_folds = false;
  bool alone = false;    // a contraction keeps its kernel; what is no Map has one of its own
  bool streams = false;  // all members read along the points, point by point

  const StagePlace* place(size_t stage) const {
    for (const StagePlace& place : places) {
      if (place.stage == stage) return &place;
    }
    return nullptr;
  }
};

/// True if all that is read follows the points in their order, or is the same for some of them.
bool streams(const te::Map& map) {
  for (const ScalarNode* node : te::post_order(map.values)) {
    if (node->kind == ScalarKind::kFold) return false;
    if (node->kind != ScalarKind::kLoad) continue;
    size_t next = 0;
    for (const ScalarRef& arg : node->args) {
      const ScalarNode* at = arg.get();
      const bool moved = at->kind == ScalarKind::kBinary && at->binary == te::BinaryOp::kAdd &&
                         at->args[1]->kind == ScalarKind::kConst;
      if (moved) at = at->args[0].get();
      if (at->kind == ScalarKind::kConst) continue;
      if (at->kind != ScalarKind::kIndex) return false;
      while (next < map.axes.size() && map.axes[next].id != at->axis) ++next;
      if (next++ == map.axes.size()) return false;
    }
  }
  return true;
}

bool folds(const te::Map& map) {
  for (const ScalarNode* node : te::post_order(map.values)) {
    if (node->kind == ScalarKind::kFold) return true;
  }
  return false;
}

class Grouping {
 public:
  explicit Grouping(const te::Computation& computation) : c_(computation) {}

  std::vector<RowGroup> run() {
    for (size_t s = 0; s < c_.stages.size(); ++s) {
      const auto* map = std::get_if<te::Map>(&c_.stages[s].body);
      if (map == nullptr) {
        buildings_.push_back({{}, {{s, {}}}, false, true});
        continue;
      }
      bool alone = is_contraction(*map, c_.num_axes, c_.num_vars);
      bool joined = alone;
      for (size_t b = buildings_.size(); b-- > 0 && !joined;) joined = join(buildings_[b], s, *map);
      if (joined && !alone) continue;
      Building fresh;
      fresh.alone = alone;
      StagePlace place{s, {}};
      for (size_t a = 0; a < map->axes.size(); ++a) {
        if (map->axes[a].extent.is_int(1)) continue;
        fresh.rows.push_back(map->axes[a].extent);
        place.axis_of_row.push_back(a);
      }
      fresh.places.push_back(std::move(place));
      fresh.has_folds = folds(*map);
      fresh.streams = streams(*map);
      buildings_.push_back(std::move(fresh));
    }
    // Each group runs where its last stage stood.
    std::stable_sort(buildings_.begin(), buildings_.end(),
                     [](const Building& a, const Building& b) {
                       return a.places.back().stage < b.places.back().stage;
                     });
    std::vector<RowGroup> groups;
    for (const Building& building : buildings_) groups.push_back(finish(building));
    return groups;
  }

 private:
  const te::Map* map_of(size_t stage) const { return std::get_if<te::Map>(&c_.stages[stage].body); }

  bool join(Building& group, size_t s, const te::Map& map) {
    if (group.alone) return false;
    bool has_folds = folds(map);
    IndexMath math(map.axes);
    math.add_folds(map.values);
    std::vector<const ScalarNode*> loads;
    for (const ScalarNode* node : te::post_order(map.values)) {
      if (node->kind != ScalarKind::kLoad || node->tensor.is_input()) continue;
      if (group.place(static_cast<size_t>(node->tensor.stage)) == nullptr) continue;
      if (node->bounds != te::Bounds::kProven) return false;
      loads.push_back(node);
    }
    if (!may_move(group, s)) return false;
    if (loads.empty()) return join_beside(group, s, map);

    // The axis of this stage that each row is read at; rows that it goes through become points.
    std::vector<std::optional<size_t>> axis_of_row(group.rows.size());
    std::vector<bool> through(group.rows.size());
    for (const ScalarNode* load : loads) {
      const StagePlace& place = *group.place(static_cast<size_t>(load->tensor.stage));
      for (size_t r = 0; r < group.rows.size(); ++r) {
        if (!place.axis_of_row[r]) return false;
        Dim index = math.poly(load->args[*place.axis_of_row[r]]);
        std::optional<size_t> axis;
        for (size_t a = 0; a < map.axes.size(); ++a) {
          if (index == IndexMath::axis(map.axes[a].id)) axis = a;
        }
        if (axis && map.axes[*axis].extent != group.rows[r]) axis.reset();
        if (!axis) {
          through[r] = true;
        } else if (axis_of_row[r] && *axis_of_row[r] != *axis) {
          return false;
        } else {
          axis_of_row[r] = axis;
        }
      }
    }
    // A row axis is one axis of the stage.
    std::vector<bool> taken(map.axes.size());
    size_t rows_left = 0;
    for (size_t r = 0; r < group.rows.size(); ++r) {
      if (through[r]) continue;
      ++rows_left;
      if (taken[*axis_of_row[r]]) return false;
      taken[*axis_of_row[r]] = true;
    }
    bool splits = rows_left < group.rows.size();
    // Only what was point by point so far can be cut into rows and points, and only for a fold.
    if (splits && (!has_folds || group.has_folds || rows_left == 0)) return false;
    bool extras = false;
    for (size_t a = 0; a < map.axes.size(); ++a) {
      extras |= !taken[a] && !map.axes[a].extent.is_int(1);
    }
    bool row_wise = group.has_folds || has_folds;
    if (!row_wise) {
      // Point by point: the same points in the same order.
      if (extras) return false;
      for (size_t r = 1; r < group.rows.size(); ++r) {
        if (*axis_of_row[r] < *axis_of_row[r - 1]) return false;
      }
    }
    if (!worth_it(group, through, map, taken, has_folds)) return false;

    if (splits) {
      auto keep = [&](auto& list) {
        size_t out = 0;
        for (size_t r = 0; r < through.size(); ++r) {
          if (!through[r]) list[out++] = list[r];
        }
        list.resize(out);
      };
      keep(group.rows);
      keep(axis_of_row);
      for (StagePlace& place : group.places) keep(place.axis_of_row);
    }
    group.places.push_back({s, std::move(axis_of_row)});
    group.has_folds |= has_folds;
    group.streams = group.streams && streams(map);
    return true;
  }

  /// Results that do not read each other, over the same points: their kernel reads what they share
  /// once.
  static bool join_beside(Building& group, size_t s, const te::Map& map) {
    constexpr size_t kMostBeside = 8;
    if (!group.streams || group.places.size() >= kMostBeside || !streams(map)) return false;
    std::vector<Dim> rows;
    std::vector<std::optional<size_t>> axis_of_row;
    for (size_t a = 0; a < map.axes.size(); ++a) {
      if (map.axes[a].extent.is_int(1)) continue;
      rows.push_back(map.axes[a].extent);
      axis_of_row.emplace_back(a);
    }
    if (rows != group.rows) return false;
    group.places.push_back({s, std::move(axis_of_row)});
    return true;
  }

  /// True if no stage in between that is not of the group waits for one that is.
  bool may_move(const Building& group, size_t s) const {
    std::set<size_t> waiting;
    for (size_t t = group.places[0].stage + 1; t < s; ++t) {
      if (group.place(t) != nullptr) continue;
      for (TensorId id : te::stage_reads(c_.stages[t])) {
        if (id.is_input()) continue;
        auto from = static_cast<size_t>(id.stage);
        if (group.place(from) != nullptr || waiting.contains(from)) waiting.insert(t);
      }
    }
    for (TensorId id : te::stage_reads(c_.stages[s])) {
      if (!id.is_input() && waiting.contains(static_cast<size_t>(id.stage))) return false;
    }
    // Nor may the group, running later than its first stages stood, come after one that waits.
    return waiting.empty();
  }

  bool worth_it(const Building& group, const std::vector<bool>& through, const te::Map& map,
                const std::vector<bool>& taken, bool has_folds) const {
    if (!group.has_folds && !has_folds) return true;
    Dim rows = 1, row = 1;
    for (size_t r = 0; r < group.rows.size(); ++r) {
      (through[r] ? row : rows) = (through[r] ? row : rows) * group.rows[r];
    }
    for (size_t a = 0; a < map.axes.size(); ++a) {
      if (!taken[a]) row = row * map.axes[a].extent;
    }
    for (const ScalarNode* node : te::post_order(map.values)) {
      if (node->kind != ScalarKind::kFold) continue;
      Dim points = 1;
      for (const Axis& axis : node->axes) points = points * axis.extent;
      if (points.is_int() && (!row.is_int() || points.as_int() > row.as_int())) row = points;
    }
    if (row.is_int() && row.as_int() > kMaxRow) return false;
    bool few = rows.is_int() && rows.as_int() < kFewRows;
    bool is_long = !row.is_int() || row.as_int() > (1 << 14);
    return !(few && is_long);
  }

  RowGroup finish(const Building& building) const {
    RowGroup group;
    const te::Map* first = map_of(building.places[0].stage);
    if (first == nullptr) {
      group.members.push_back({});
      group.members.back().stage = building.places[0].stage;
      return group;
    }
    for (size_t r = 0; r < building.rows.size(); ++r) {
      const Axis& axis = first->axes[*building.places[0].axis_of_row[r]];
      group.rows.push_back(axis);
    }
    for (const StagePlace& place : building.places) {
      const te::Map& map = *map_of(place.stage);
      Member member;
      member.stage = place.stage;
      std::unordered_map<uint32_t, ScalarRef> names;
      std::vector<bool> is_row(map.axes.size());
      for (size_t r = 0; r < building.rows.size(); ++r) {
        size_t a = *place.axis_of_row[r];
        is_row[a] = true;
        names.emplace(map.axes[a].id, te::index_of(group.rows[r]).ref());
      }
      for (size_t a = 0; a < map.axes.size(); ++a) {
        const Axis& axis = map.axes[a];
        if (is_row[a]) {
          member.point.push_back(names.at(axis.id));
        } else if (axis.extent.is_int(1)) {
          names.emplace(axis.id, te::index_constant(0).ref());
          member.point.push_back(te::index_constant(0).ref());
        } else {
          member.point.push_back(te::index_of(axis).ref());
          member.extras.push_back(axis);
          member.extra_dims.push_back(a);
        }
      }
      for (const ScalarRef& value : map.values) member.values.push_back(substitute(value, names));
      for (size_t k = 0; k < map.values.size(); ++k) {
        TensorId id{static_cast<int32_t>(place.stage), static_cast<int32_t>(k)};
        member.stored.push_back(is_wanted(building, id));
      }
      group.members.push_back(std::move(member));
    }
    name_registers(group);
    return group;
  }

  /// True if anything outside of the group wants the tensor.
  bool is_wanted(const Building& building, TensorId id) const {
    for (const te::Output& output : c_.outputs) {
      if (output.tensor == id) return true;
    }
    for (size_t t = 0; t < c_.stages.size(); ++t) {
      if (building.place(t) != nullptr) continue;
      std::vector<TensorId> reads = te::stage_reads(c_.stages[t]);
      if (std::find(reads.begin(), reads.end(), id) != reads.end()) return true;
    }
    return false;
  }

  /// Loads of members that have one value for each row become registers.
  void name_registers(RowGroup& group) const {
    ScalarRewriter rewrite([&](const ScalarRef& node, const std::vector<ScalarRef>&) -> ScalarRef {
      if (node->kind != ScalarKind::kLoad || node->tensor.is_input()) return {};
      for (const Member& member : group.members) {
        if (static_cast<int32_t>(member.stage) != node->tensor.stage) continue;
        if (!member.extras.empty()) return {};
        auto found = std::find(group.registers.begin(), group.registers.end(), node->tensor);
        auto number = static_cast<uint32_t>(found - group.registers.begin());
        if (found == group.registers.end()) group.registers.push_back(node->tensor);
        return te::placeholder(c_.num_vars + number, node->dtype).ref();
      }
      return {};
    });
    for (Member& member : group.members) {
      for (ScalarRef& value : member.values) value = rewrite(value);
    }
  }

  const te::Computation& c_;
  std::vector<Building> buildings_;
};

}  // namespace

std::vector<RowGroup> find_groups(const te::Computation& computation) {
  return Grouping(computation).run();
}

}  // namespace relay::lower
