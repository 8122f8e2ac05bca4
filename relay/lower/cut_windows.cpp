// Windows in parts: taps that read padding for many of the results are summed up where they read
// data.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include <relay/lower/contraction.h>
#include <relay/lower/index_math.h>
#include <relay/lower/prepare.h>
#include <relay/lower/stage_copier.h>
#include <relay/lower/sum_of_products.h>
#include <relay/lower/tap_ranges.h>
#include <relay/lower/window_fill.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Affine;
using te::Axis;
using te::Computation;
using te::Map;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;

namespace {

using Names = std::unordered_map<uint32_t, ScalarRef>;

/// A window along an axis of the results whose taps fall into several groups.
struct CutAxis {
  Axis result, tap;
  std::vector<TapGroup> groups;

  /// True if the first group is about all results.
  bool based() const { return result.extent.is_int(groups[0].members[0].length); }
};

/// One group of each cut axis, by its number.
using Choice = std::vector<size_t>;

/// All choices; the first is that of the first groups.
std::vector<Choice> choices(std::span<const CutAxis> cuts) {
  std::vector<Choice> result{Choice(cuts.size(), 0)};
  for (size_t k = 0; k < cuts.size(); ++k) {
    const size_t count = result.size();
    for (size_t group = 1; group < cuts[k].groups.size(); ++group) {
      for (size_t i = 0; i < count; ++i) {
        result.push_back(result[i]);
        result.back()[k] = group;
      }
    }
  }
  return result;
}

bool all_based(std::span<const CutAxis> cuts) {
  return std::all_of(cuts.begin(), cuts.end(), [](const CutAxis& cut) { return cut.based(); });
}

const Axis* find_axis(std::span<const Axis> axes, uint32_t id) {
  auto found = std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.id == id; });
  return found == axes.end() ? nullptr : &*found;
}

/// The window along one dimension of padded data; nothing if it does not slide along an axis of the
/// results, or if some extent is not known.
std::optional<CutAxis> sliding(const ScalarRef& at, Dim extent, const Map& map,
                               const ScalarNode& fold) {
  Affine index = te::affine(at);
  if (!index.others.empty() || !index.constant.is_int() || !extent.is_int()) return std::nullopt;
  if (index.terms.size() != 2) return std::nullopt;
  SlidingAxis window;
  window.offset = index.constant.as_int();
  window.extent = extent.as_int();
  const Axis *result = nullptr, *tap = nullptr;
  for (const Affine::Term& term : index.terms) {
    const Axis* of_result = find_axis(map.axes, term.axis);
    const Axis* axis = of_result != nullptr ? of_result : find_axis(fold.axes, term.axis);
    if (axis == nullptr || !axis->extent.is_int() || !term.coefficient.is_int())
      return std::nullopt;
    (of_result != nullptr ? result : tap) = axis;
    (of_result != nullptr ? window.stride : window.step) = term.coefficient.as_int();
    (of_result != nullptr ? window.results : window.taps) = axis->extent.as_int();
  }
  if (result == nullptr || tap == nullptr || window.stride < 1) return std::nullopt;
  std::vector<TapRange> ranges = tap_ranges(window);
  if (ranges.empty()) return std::nullopt;
  CutAxis cut{*result, *tap, tap_groups(ranges, window.results)};
  const TapRange& first = cut.groups[0].members[0];
  if (cut.groups.size() == 1 && first.taps == window.taps && cut.based()) return std::nullopt;
  return cut;
}

/// The windows along padded data of a sum of products that may be cut.
std::vector<CutAxis> sliding_axes(const Computation& c, const Map& map, const ScalarNode& fold) {
  std::vector<CutAxis> cuts;
  for (const ScalarNode* load : te::post_order(fold.args)) {
    if (load->kind != ScalarKind::kLoad || load->bounds != te::Bounds::kFill) continue;
    if (!fill_is_identity(fold, load)) continue;
    for (size_t d = 0; d < load->args.size(); ++d) {
      std::optional<CutAxis> cut = sliding(load->args[d], c.info(load->tensor).dims[d], map, fold);
      if (!cut) continue;
      auto meets = [&](const CutAxis& other) {
        return other.result.id == cut->result.id || other.tap.id == cut->tap.id;
      };
      if (std::none_of(cuts.begin(), cuts.end(), meets)) cuts.push_back(std::move(*cut));
    }
  }
  return cuts;
}

// ---- What it costs ------------------------------------------------------------------------------

/// Operations of a contraction, and of its parts.
class Estimate {
 public:
  Estimate(const Contraction& contraction, const Processor& processor)
      : contraction_(contraction),
        lanes_(static_cast<double>(processor.vector_bytes) /
               static_cast<double>(contraction.accumulator.size())) {}

  double uncut() const { return operations({}, {}); }

  /// With all that parts bring with them; nothing if they are too many.
  std::optional<double> cut(std::span<const CutAxis> cuts) const {
    constexpr size_t kMostParts = 9;
    constexpr double kKernel = 1e6;  // starting a kernel takes as long as so many operations,
    constexpr double kMove = 16;     // adding a number to its result
    const std::vector<Choice> all = choices(cuts);
    if (all.size() > kMostParts) return std::nullopt;
    const bool based = all_based(cuts);
    double cost = kKernel * static_cast<double>(all.size());
    for (const Choice& choice : all) {
      cost += operations(cuts, choice);
      if (based && &choice == all.data()) continue;
      double members = 1;
      for (size_t k = 0; k < cuts.size(); ++k)
        members *= static_cast<double>(cuts[k].groups[choice[k]].members.size());
      cost += kMove * members * results();
    }
    return cost;
  }

 private:
  static double extent(const Axis& axis) {
    return axis.extent.is_int() ? static_cast<double>(axis.extent.as_int()) : 1;
  }

  double size(const std::vector<Axis>& axes, std::span<const CutAxis> cuts,
              const Choice& choice) const {
    double count = 1;
    for (const Axis& axis : axes) {
      double here = extent(axis);
      for (size_t k = 0; k < cuts.size(); ++k) {
        const TapGroup& group = cuts[k].groups[choice[k]];
        if (cuts[k].result.id == axis.id) {
          here = static_cast<double>(group.members[0].length);
        } else if (cuts[k].tap.id == axis.id) {
          here = static_cast<double>(group.members[0].taps) *
                 static_cast<double>(group.members.size());
        }
      }
      count *= here;
    }
    return count;
  }

  /// Columns in whole vectors.
  double operations(std::span<const CutAxis> cuts, const Choice& choice) const {
    double columns = std::ceil(size(contraction_.columns, cuts, choice) / lanes_) * lanes_;
    return 2 * size(contraction_.batch, cuts, choice) * size(contraction_.rows, cuts, choice) *
           columns * size(contraction_.folded, cuts, choice);
  }

  double results() const {
    return size(contraction_.batch, {}, {}) * size(contraction_.rows, {}, {}) *
           size(contraction_.columns, {}, {});
  }

  const Contraction& contraction_;
  const double lanes_;
};

/// Those of the axes that are worth cutting; none if the sum is as good as it is.
std::vector<CutAxis> worth_cutting(const Computation& c, const Map& map, const Processor& processor,
                                   CutIf cut_if) {
  if (map.values.size() != 1) return {};
  const ScalarNode* fold = only_fold(map.values[0]);
  if (fold == nullptr || !sums_products(*fold)) return {};
  std::vector<CutAxis> found = sliding_axes(c, map, *fold);
  constexpr size_t kMostAxes = 3;
  if (found.empty() || found.size() > kMostAxes) return {};
  std::optional<Contraction> contraction =
      match_contraction({}, 0, map.axes, map.values[0], c.num_axes, c.num_vars);
  if (!contraction || contraction->rows.empty() || contraction->columns.empty()) return {};
  constexpr double kClearly = 0.85;
  Estimate estimate(*contraction, processor);
  double least = cut_if == CutIf::kCheaper ? kClearly * estimate.uncut()
                                           : std::numeric_limits<double>::infinity();
  std::vector<CutAxis> best;
  for (size_t some = 1; some < size_t{1} << found.size(); ++some) {
    std::vector<CutAxis> cuts;
    for (size_t k = 0; k < found.size(); ++k) {
      if ((some >> k & 1) != 0) cuts.push_back(found[k]);
    }
    std::optional<double> cost = estimate.cut(cuts);
    if (!cost || *cost >= least) continue;
    least = *cost;
    best = std::move(cuts);
  }
  return best;
}

// ---- The parts ----------------------------------------------------------------------------------

class Parts {
 public:
  Parts(const Map& map, std::span<const CutAxis> cuts, StageCopier& out)
      : map_(map), fold_(only_fold(map.values[0])), cuts_(cuts), out_(out) {}

  /// The value of the stage, with stages for the other parts placed before it.
  ScalarRef run() {
    const bool based = all_based(cuts_);
    Scalar rest;
    for (const Choice& choice : choices(cuts_)) {
      if (based && std::all_of(choice.begin(), choice.end(), [](size_t k) { return k == 0; })) {
        continue;
      }
      Scalar part = loads_of(choice, out_.add(part_of(choice)));
      rest = rest.node() == nullptr ? part : rest + part;
    }
    ScalarRef sum = rest.ref();
    if (based) {
      Names names;
      IndexMath math(map_.axes);
      std::vector<std::optional<Axis>> members(cuts_.size());
      ScalarRef base = fold_of(Choice(cuts_.size(), 0), members, names, math);
      // The others first, in a stage of their own: kernels of products read one tensor of the
      // results' shape faster than several with borders.
      const bool alone = sum == nullptr;
      sum = alone ? base : (Scalar(base) + Scalar(sum_of_others(sum))).ref();
    }
    ScalarRewriter replace([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
      return node.get() == fold_ ? sum : ScalarRef();
    });
    return replace(map_.values[0]);
  }

 private:
  const TapGroup& group(const Choice& choice, size_t k) const { return cuts_[k].groups[choice[k]]; }
  const CutAxis* cut_of(uint32_t result, size_t& k) const {
    for (k = 0; k < cuts_.size(); ++k) {
      if (cuts_[k].result.id == result) return &cuts_[k];
    }
    return nullptr;
  }

  /// Number of a group's first tap or result: `first` or, for the second member, `second`.
  static Scalar begin_of(const std::optional<Axis>& member, int64_t first, int64_t second) {
    if (!member) return te::index_constant(first);
    return te::index_of(*member) * (second - first) + first;
  }

  /// The sum over the taps of a choice. `names` says what the stage's axes are; taps are added.
  ScalarRef fold_of(const Choice& choice, const std::vector<std::optional<Axis>>& members,
                    Names& names, IndexMath& math) {
    Ref<ScalarNode> fold = te::copy_node(*fold_);
    fold->axes.clear();
    for (const Axis& old : fold_->axes) {
      Axis axis = out_.new_axis(old.extent);
      Scalar first = te::index_constant(0);
      for (size_t k = 0; k < cuts_.size(); ++k) {
        if (cuts_[k].tap.id != old.id) continue;
        const std::vector<TapRange>& ranges = group(choice, k).members;
        axis.extent = ranges[0].taps;
        first = begin_of(members[k], ranges.front().tap, ranges.back().tap);
      }
      const bool last = &old == &fold_->axes.back();
      const bool single = axis.extent.is_int(1) && !(last && fold->axes.empty());
      if (!single) fold->axes.push_back(axis);
      names[old.id] = (single ? first : te::index_of(axis) + first).ref();
    }
    math.add_axes(fold->axes);
    ScalarRewriter tidy([&](const ScalarRef& node, const std::vector<ScalarRef>& args) {
      return node->kind == ScalarKind::kLoad
                 ? load_at(*node, args, out_.info(node->tensor).dims, math)
                 : ScalarRef();
    });
    fold->args[0] = tidy(substitute(fold_->args[0], names));
    return fold;
  }

  /// A stage [members…, results…] for one group of each cut axis.
  te::Stage part_of(const Choice& choice) {
    Map part;
    std::vector<std::optional<Axis>> members(cuts_.size());
    for (size_t k = 0; k < cuts_.size(); ++k) {
      if (group(choice, k).members.size() < 2) continue;
      members[k] = out_.new_axis(2);
      part.axes.push_back(*members[k]);
    }
    Names names;
    for (const Axis& old : map_.axes) {
      part.axes.push_back(out_.new_axis(old.extent));
      Axis& axis = part.axes.back();
      Scalar at = te::index_of(axis);
      size_t k = 0;
      if (cut_of(old.id, k) != nullptr) {
        const std::vector<TapRange>& ranges = group(choice, k).members;
        axis.extent = ranges[0].length;
        at = te::index_of(axis) + begin_of(members[k], ranges.front().begin, ranges.back().begin);
      }
      names[old.id] = at.ref();
    }
    IndexMath math(part.axes);
    part.values.push_back(fold_of(choice, members, names, math));
    return stage_of(std::move(part));
  }

  static te::Stage stage_of(Map map) {
    te::Stage stage;
    te::TensorInfo info{{}, map.values[0]->dtype};
    for (const Axis& axis : map.axes) info.dims.push_back(axis.extent);
    stage.outputs.push_back(std::move(info));
    stage.body = std::move(map);
    return stage;
  }

  /// The sum that all members of a part add to a result.
  Scalar loads_of(const Choice& choice, TensorId part) {
    Scalar sum;
    std::vector<size_t> member(cuts_.size(), 0);
    while (true) {
      Scalar load(load_of(choice, member, part));
      sum = sum.node() == nullptr ? load : sum + load;
      size_t k = cuts_.size();
      while (k > 0 && ++member[k - 1] == group(choice, k - 1).members.size()) member[--k] = 0;
      if (k == 0) return sum;
    }
  }

  ScalarRef load_of(const Choice& choice, const std::vector<size_t>& member, TensorId part) {
    auto load = new_node(ScalarKind::kLoad, fold_->dtype);
    load->tensor = part;
    load->bounds = te::Bounds::kProven;
    for (size_t k = 0; k < cuts_.size(); ++k) {
      if (group(choice, k).members.size() > 1)
        load->args.push_back(te::index_constant(static_cast<int64_t>(member[k])).ref());
    }
    for (const Axis& axis : map_.axes) {
      Scalar at = te::index_of(axis);
      size_t k = 0;
      if (cut_of(axis.id, k) != nullptr) {
        const TapRange& range = group(choice, k).members[member[k]];
        if (!axis.extent.is_int(range.length)) load->bounds = te::Bounds::kFill;
        if (range.begin != 0) at = at - range.begin;
      }
      load->args.push_back(at.ref());
    }
    if (load->bounds == te::Bounds::kFill) load->fill = te::constant(0, fold_->dtype).ref();
    return load;
  }

  /// A sum over the stage's axes in a stage of its own, read at the point.
  ScalarRef sum_of_others(const ScalarRef& value) {
    Map others;
    Names names;
    auto load = new_node(ScalarKind::kLoad, fold_->dtype);
    load->bounds = te::Bounds::kProven;
    for (const Axis& axis : map_.axes) {
      others.axes.push_back(out_.new_axis(axis.extent));
      names[axis.id] = te::index_of(others.axes.back()).ref();
      load->args.push_back(te::index_of(axis).ref());
    }
    others.values.push_back(substitute(value, names));
    load->tensor = out_.add(stage_of(std::move(others)));
    return load;
  }

  const Map& map_;
  const ScalarNode* fold_;
  std::span<const CutAxis> cuts_;
  StageCopier& out_;
};

}  // namespace

std::optional<Computation> cut_windows(const Computation& computation, const Processor& processor,
                                       CutIf cut_if) {
  std::vector<std::vector<CutAxis>> cuts;
  bool any = false;
  for (const te::Stage& stage : computation.stages) {
    const auto* map = std::get_if<Map>(&stage.body);
    cuts.push_back(map == nullptr ? std::vector<CutAxis>()
                                  : worth_cutting(computation, *map, processor, cut_if));
    any = any || !cuts.back().empty();
  }
  if (!any) return std::nullopt;
  StageCopier out(computation);
  for (size_t s = 0; s < computation.stages.size(); ++s) {
    te::Stage stage = out.renamed(computation.stages[s]);
    if (!cuts[s].empty()) {
      auto& map = std::get<Map>(stage.body);
      map.values[0] = Parts(map, cuts[s], out).run();
    }
    out.place(std::move(stage));
  }
  return out.finish();
}

}  // namespace relay::lower
