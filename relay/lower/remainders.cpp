#include <relay/lower/remainders.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <unordered_set>

#include <relay/lower/contraction.h>
#include <relay/lower/scalars.h>
#include <relay/lower/sum_of_products.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::Combiner;
using te::Computation;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

namespace {

constexpr int64_t kMostSteps = 8;     // along an axis
constexpr int64_t kMostElements = 4;  // of a fold that is written out

/// The elements of a fold; 0 if they are not known.
int64_t elements_of(const ScalarNode& fold) {
  Dim points = 1;
  for (const Axis& axis : fold.axes) points = points * axis.extent;
  return points.is_int() ? points.as_int() : 0;
}

/// True if a fold is the greatest, say, of a few elements.
bool chooses_among_few(const ScalarNode& fold) {
  const Combiner::Kind kind = fold.combiner->kind;
  const bool chooses = kind == Combiner::Kind::kMax || kind == Combiner::Kind::kMin ||
                       kind == Combiner::Kind::kAnd || kind == Combiner::Kind::kOr;
  const int64_t elements = elements_of(fold);
  return chooses && fold.args.size() == 1 && elements >= 1 && elements <= kMostElements;
}

/// True if a value has folds, and all of them choose among a few elements.
bool chooses_among_few(const ScalarRef& value) {
  bool folds = false;
  for (const ScalarNode* node : te::post_order({&value, 1})) {
    if (te::can_fail(*node)) return false;
    if (node->kind != ScalarKind::kFold) continue;
    if (!chooses_among_few(*node)) return false;
    folds = true;
  }
  return folds;
}

/// Looks at which stages read each stage, and how.
class Tables {
 public:
  explicit Tables(const Computation& computation) : c_(computation) {}

  std::vector<bool> choices() {
    found_.assign(c_.stages.size(), false);
    for (size_t s = c_.stages.size(); s-- > 0;) {
      const te::Map* map = one_value(s);
      found_[s] = map != nullptr && chooses_among_few(map->values[0]) && read_by_tables(s);
    }
    return std::move(found_);
  }

 private:
  const te::Map* one_value(size_t s) const {
    const auto* map = std::get_if<te::Map>(&c_.stages[s].body);
    return map != nullptr && map->values.size() == 1 && !map->axes.empty() ? map : nullptr;
  }

  bool read_by_tables(size_t s) const {
    const te::TensorId id{static_cast<int32_t>(s), 0};
    for (const te::Output& output : c_.outputs)
      if (output.tensor == id) return false;
    bool read = false;
    for (size_t user = s + 1; user < c_.stages.size(); ++user) {
      const std::vector<te::TensorId> reads = te::stage_reads(c_.stages[user]);
      if (std::find(reads.begin(), reads.end(), id) == reads.end()) continue;
      const te::Map* map = one_value(user);
      if (map == nullptr || !(found_[user] ? reads_at_its_points(*map, id) : is_table(*map, id)))
        return false;
      read = true;
    }
    return read;
  }

  /// True if the map, which is written out itself, reads the element at its own point alone.
  static bool reads_at_its_points(const te::Map& map, te::TensorId id) {
    return all_loads(map, id, [&](const ScalarRef& index) {
      const std::optional<uint32_t> axis = plain_axis(index);
      return axis && std::any_of(map.axes.begin(), map.axes.end(),
                                 [&](const Axis& own) { return own.id == *axis; });
    });
  }

  /// True if the map chooses by remainders, and all results of a quotient read the same element.
  static bool is_table(const te::Map& map, te::TensorId id) {
    for (const ScalarNode* node : te::post_order(map.values))
      if (node->kind == ScalarKind::kFold) return false;
    if (!chooses_by_remainder(map.values[0])) return false;
    const auto divisors = divisors_of(map.values[0], map.axes);
    if (!divisors || !divisors->contains(map.axes.back().id) ||
        !std::has_single_bit(static_cast<uint64_t>(divisors->at(map.axes.back().id))) ||
        phases_of(*divisors) > kMostPhases)
      return false;
    std::unordered_set<uint32_t> axes;
    const bool of_quotients = all_loads(map, id, [&](const ScalarRef& index) {
      const bool divides =
          index->kind == ScalarKind::kBinary && index->binary == te::BinaryOp::kFloorDiv;
      const std::optional<uint32_t> axis = plain_axis(divides ? index->args[0] : index);
      if (axis) axes.insert(*axis);
      return axis && divides == divisors->contains(*axis);
    });
    return of_quotients && std::all_of(map.axes.begin(), map.axes.end(), [&](const Axis& axis) {
             return axes.contains(axis.id) || axis.extent.is_int(1);
           });
  }

  static bool all_loads(const te::Map& map, te::TensorId id,
                        const std::function<bool(const ScalarRef& index)>& fits) {
    for (const ScalarNode* node : te::post_order(map.values)) {
      if (node->kind != ScalarKind::kLoad || node->tensor != id) continue;
      for (const ScalarRef& index : node->args)
        if (!fits(index) && index->kind != ScalarKind::kConst) return false;
    }
    return true;
  }

  const Computation& c_;
  std::vector<bool> found_;
};

}  // namespace

bool is_division(const ScalarNode& node) {
  return node.kind == ScalarKind::kBinary && node.dtype == kInt64 &&
         (node.binary == te::BinaryOp::kFloorDiv || node.binary == te::BinaryOp::kFloorMod);
}

std::optional<std::map<uint32_t, int64_t>> divisors_of(const ScalarRef& value,
                                                       std::span<const Axis> rows) {
  std::map<uint32_t, int64_t> divisors;
  for (const ScalarNode* node : te::post_order({&value, 1})) {
    if (!is_division(*node)) continue;
    const te::Affine sum = te::affine(node->args[0]);
    for (const te::Affine::Term& term : sum.terms) {
      auto row = std::find_if(rows.begin(), rows.end(),
                              [&](const Axis& axis) { return axis.id == term.axis; });
      if (row == rows.end()) continue;
      const Dim by = te::divisor(*node);
      const bool fits = sum.terms.size() == 1 && sum.others.empty() && sum.constant.is_int() &&
                        term.coefficient.is_int(1) && by.is_int() && by.as_int() >= 2 &&
                        by.as_int() <= kMostSteps;
      if (!fits || floor_div(row->extent, by) * by != row->extent) return std::nullopt;
      auto [known, fresh] = divisors.emplace(term.axis, by.as_int());
      if (!fresh && known->second != by.as_int()) return std::nullopt;
    }
  }
  return divisors;
}

bool chooses_by_remainder(const ScalarRef& value) {
  std::vector<const ScalarNode*> waiting;
  for (const ScalarNode* node : te::post_order({&value, 1})) {
    if (node->kind == ScalarKind::kSelect) waiting.push_back(node->args[0].get());
  }
  std::unordered_set<const ScalarNode*> seen;
  while (!waiting.empty()) {
    const ScalarNode* node = waiting.back();
    waiting.pop_back();
    if (node->kind == ScalarKind::kLoad || !seen.insert(node).second) continue;
    if (is_division(*node)) return true;
    for (const ScalarRef& arg : node->args) waiting.push_back(arg.get());
  }
  return false;
}

bool interleaves(const ScalarRef& value, const Axis& axis) {
  bool found = false;
  for (const ScalarNode* node : te::post_order({&value, 1})) {
    if (node->kind != ScalarKind::kLoad || axes_of(ScalarRef(node), {&axis, 1}).empty()) continue;
    const ScalarNode& last = *node->args.back();
    const bool is_quotient = last.kind == ScalarKind::kBinary &&
                             last.binary == te::BinaryOp::kFloorDiv &&
                             plain_axis(last.args[0]) == axis.id;
    if (!is_quotient) return false;
    found = true;
  }
  return found;
}

std::vector<bool> choices_of_tables(const Computation& computation) {
  return Tables(computation).choices();
}

int64_t phases_of(const std::map<uint32_t, int64_t>& divisors) {
  int64_t phases = 1;
  for (const auto& [axis, by] : divisors) phases *= by;
  return phases;
}

ScalarRef written_out(const ScalarRef& value) {
  if (!chooses_among_few(value)) return {};
  ScalarRewriter rewrite(
      [](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
        if (node->kind != ScalarKind::kFold) return {};
        ScalarRef all;
        for (int64_t k = 0; k < elements_of(*node); ++k) {
          std::unordered_map<uint32_t, ScalarRef> place;
          int64_t rest = k;
          for (size_t a = node->axes.size(); a-- > 0;) {
            const int64_t extent = node->axes[a].extent.as_int();
            place.emplace(node->axes[a].id, te::index_constant(rest % extent).ref());
            rest /= extent;
          }
          const ScalarRef element = substitute(args[0], place);
          all = k == 0 ? element : combine(*node->combiner, {{all}}, {{element}})[0];
        }
        return all;
      });
  return rewrite(value);
}

}  // namespace relay::lower
