// Sums of products at quotients and remainders of the results' axes, as those of transposed
// convolutions: each remainder has taps of its own, which are products of a stage of its own.
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

namespace {

constexpr int64_t kMostParts = 16;
constexpr int64_t kMostTaps = 64;  // along an axis that is looked at

/// Taps that are there: `begin` … `end - 1`.
struct TapsOfPart {
  int64_t begin = 0, end = 0;
};

/// The stages that a map becomes. None of them is placed before `join`.
class PhaseParts {
 public:
  PhaseParts(const Map& map, StageCopier& out)
      : map_(map), fold_(only_fold(map.values[0])), steps_(common_steps(map)), out_(out) {}

  /// False if no axis is divided in whole steps, or there would be too many parts.
  bool find() {
    int64_t count = 1;
    for (auto step = steps_.begin(); step != steps_.end();) {
      const bool whole = floor_mod(extent_of(step->first), Dim(step->second)).is_int(0);
      step = whole ? std::next(step) : steps_.erase(step);
    }
    for (const auto& [axis, step] : steps_) {
      if (step > kMostParts) return false;
      count *= step;
      if (count > kMostParts) return false;
    }
    if (steps_.empty()) return false;
    std::vector<int64_t> rest(map_.axes.size(), 0);
    do {
      parts_.push_back(part_of(rest));
    } while (next(rest));
    return true;
  }

  /// Those at which there are products, in the order of their remainders.
  std::vector<const Map*> maps() const {
    std::vector<const Map*> found;
    for (const std::optional<Map>& part : parts_)
      if (part) found.push_back(&*part);
    return found;
  }

  /// The value of the stage, with stages for the parts placed before it.
  ScalarRef join() {
    std::vector<Scalar> loads;
    for (std::optional<Map>& part : parts_)
      loads.push_back(part ? load_of(std::move(*part)) : te::constant(0, fold_->dtype));
    const ScalarRef chosen = choice(loads, 0).ref();
    ScalarRewriter replace([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
      return node.get() == fold_ ? chosen : ScalarRef();
    });
    return replace(map_.values[0]);
  }

 private:
  using Names = std::unordered_map<uint32_t, ScalarRef>;

  Dim extent_of(uint32_t axis) const {
    for (const Axis& each : map_.axes)
      if (each.id == axis) return each.extent;
    return 1;
  }
  int64_t step_of(size_t axis) const {
    auto step = steps_.find(map_.axes[axis].id);
    return step == steps_.end() ? 1 : step->second;
  }

  bool next(std::vector<int64_t>& rest) const {
    for (size_t k = rest.size(); k-- > 0;) {
      if (++rest[k] < step_of(k)) return true;
      rest[k] = 0;
    }
    return false;
  }

  /// The product of the fold with its axes renamed, loads with simple indices.
  ScalarRef product(const ScalarRef& from, const Names& names, IndexMath& math) const {
    ScalarRewriter tidy([&](const ScalarRef& node, const std::vector<ScalarRef>& args) {
      if (node->kind != ScalarKind::kLoad) return ScalarRef();
      return load_at(*node, args, out_.info(node->tensor).dims, math);
    });
    return tidy(substitute(from, names));
  }

  /// The sums at these remainders; nothing if all their products are of fill.
  std::optional<Map> part_of(const std::vector<int64_t>& rest) {
    Map part;
    Names names;
    for (size_t k = 0; k < map_.axes.size(); ++k) {
      const int64_t step = step_of(k);
      const Axis axis = out_.new_axis(floor_div(map_.axes[k].extent, Dim(step)));
      part.axes.push_back(axis);
      const Scalar at = te::index_of(axis);
      names[map_.axes[k].id] = (step == 1 ? at : at * step + rest[k]).ref();
    }
    IndexMath math(part.axes);
    math.add_axes(fold_->axes);
    const ScalarRef all = product(fold_->args[0], names, math);
    Names taps;
    Ref<ScalarNode> fold = te::copy_node(*fold_);
    fold->args[0] = all;
    const std::vector<TapsOfPart> ranges = taps_of(*fold);
    fold->axes.clear();
    for (size_t k = 0; k < fold_->axes.size(); ++k) {
      const Axis& old = fold_->axes[k];
      if (ranges[k].begin < 0) {
        fold->axes.push_back(out_.new_axis(old.extent));
        taps[old.id] = te::index_of(fold->axes.back()).ref();
        continue;
      }
      const int64_t count = ranges[k].end - ranges[k].begin;
      if (count == 0) return std::nullopt;
      const bool last = k + 1 == fold_->axes.size();
      const bool single = count == 1 && !(last && fold->axes.empty());
      Scalar at = te::index_constant(ranges[k].begin);
      if (!single) {
        fold->axes.push_back(out_.new_axis(count));
        at = te::index_of(fold->axes.back()) + ranges[k].begin;
      }
      taps[old.id] = at.ref();
    }
    math.add_axes(fold->axes);
    fold->args[0] = product(all, taps, math);
    part.values.push_back(fold);
    return part;
  }

  /// For each axis of a fold the taps that are not fill whatever the other axes are; -1 for those
  /// of axes that are not looked at.
  std::vector<TapsOfPart> taps_of(const ScalarNode& fold) const {
    std::vector<TapsOfPart> ranges;
    for (const Axis& axis : fold.axes) {
      const bool few = axis.extent.is_int() && axis.extent.as_int() <= kMostTaps;
      ranges.push_back(few ? TapsOfPart{0, axis.extent.as_int()} : TapsOfPart{-1, -1});
    }
    for (const ScalarNode* load : te::post_order(fold.args)) {
      if (load->kind != ScalarKind::kLoad || load->bounds != te::Bounds::kFill) continue;
      if (!fill_is_identity(fold, load)) continue;
      const std::vector<Dim>& dims = out_.info(load->tensor).dims;
      for (size_t d = 0; d < dims.size(); ++d) clip(load->args[d], dims[d], fold, ranges);
    }
    return ranges;
  }

  static void clip(const ScalarRef& at, Dim extent, const ScalarNode& fold,
                   std::vector<TapsOfPart>& ranges) {
    const Affine index = te::affine(at);
    if (!index.others.empty() || index.terms.size() != 1 || !index.constant.is_int() ||
        !extent.is_int() || !index.terms[0].coefficient.is_int())
      return;
    for (size_t k = 0; k < fold.axes.size(); ++k) {
      if (fold.axes[k].id != index.terms[0].axis) continue;
      auto reads_data = [&](int64_t tap) {
        const Dim place = index.constant + index.terms[0].coefficient * Dim(tap);
        return place.is_int() && place.as_int() >= 0 && place.as_int() < extent.as_int();
      };
      TapsOfPart& taps = ranges[k];
      while (taps.begin < taps.end && !reads_data(taps.begin)) ++taps.begin;
      while (taps.begin < taps.end && !reads_data(taps.end - 1)) --taps.end;
    }
  }

  /// Places a part; its result at the quotients of the stage's axes.
  Scalar load_of(Map part) {
    te::Stage stage;
    te::TensorInfo info{{}, fold_->dtype};
    for (const Axis& axis : part.axes) info.dims.push_back(axis.extent);
    stage.outputs.push_back(std::move(info));
    stage.body = std::move(part);
    auto load = new_node(ScalarKind::kLoad, fold_->dtype);
    load->tensor = out_.add(std::move(stage));
    load->bounds = te::Bounds::kProven;
    for (size_t k = 0; k < map_.axes.size(); ++k) {
      const Scalar at = te::index_of(map_.axes[k]);
      const int64_t step = step_of(k);
      load->args.push_back((step == 1 ? at : te::floor_div(at, te::index_constant(step))).ref());
    }
    return Scalar(ScalarRef(load));
  }

  /// The one of `parts`, those of the axes from `axis` on, that the remainders choose.
  Scalar choice(std::span<const Scalar> parts, size_t axis) const {
    while (axis < map_.axes.size() && step_of(axis) == 1) ++axis;
    if (axis == map_.axes.size()) return parts[0];
    const int64_t step = step_of(axis);
    const size_t each = parts.size() / static_cast<size_t>(step);
    auto of_rest = [&](int64_t rest) {
      return choice(parts.subspan(static_cast<size_t>(rest) * each, each), axis + 1);
    };
    Scalar chosen = of_rest(step - 1);
    const Scalar remainder = te::floor_mod(te::index_of(map_.axes[axis]), te::index_constant(step));
    for (int64_t rest = step - 1; rest-- > 0;)
      chosen = te::select(remainder == rest, of_rest(rest), chosen);
    return chosen;
  }

  const Map& map_;
  const ScalarNode* fold_;
  std::unordered_map<uint32_t, int64_t> steps_;
  StageCopier& out_;
  std::vector<std::optional<Map>> parts_;  // of the last axis' remainders first
};

// ---- What it costs ------------------------------------------------------------------------------

double known(const std::vector<Axis>& axes) {
  double points = 1;
  for (const Axis& axis : axes)
    points *= axis.extent.is_int() ? static_cast<double>(axis.extent.as_int()) : 1;
  return points;
}

/// Operations of a contraction, in whole vectors of columns or, turned, of rows; nothing if the map
/// is none.
std::optional<double> operations(const Map& map, const Processor& processor, uint32_t num_axes,
                                 uint32_t num_vars) {
  const std::optional<Contraction> found =
      match_contraction({}, 0, map.axes, map.values[0], num_axes, num_vars);
  if (!found || found->rows.empty() || found->columns.empty()) return std::nullopt;
  const auto lanes =
      static_cast<double>(processor.vector_bytes) / static_cast<double>(found->accumulator.size());
  auto whole = [&](double lines) { return std::ceil(lines / lanes) * lanes; };
  const double rows = known(found->rows), columns = known(found->columns);
  const double tiles = std::min(rows * whole(columns), columns * whole(rows));
  return 2 * known(found->batch) * tiles * known(found->folded);
}

/// True if the parts, and putting them together, take clearly fewer operations than the map.
bool is_cheaper(const Map& map, const PhaseParts& parts, const Processor& processor,
                uint32_t num_axes, uint32_t num_vars) {
  constexpr double kClearly = 0.85;
  constexpr double kKernel = 1e6;  // starting a kernel takes as long as so many operations,
  constexpr double kMove = 16;     // putting a number at its place
  const std::optional<double> whole = operations(map, processor, num_axes, num_vars);
  if (!whole) return false;
  double cost = kKernel + kMove * known(map.axes);
  for (const Map* part : parts.maps()) {
    const std::optional<double> here = operations(*part, processor, num_axes, num_vars);
    if (!here) return false;
    cost += *here + kKernel;
  }
  return cost < kClearly * *whole;
}

}  // namespace

std::optional<Computation> cut_phases(const Computation& computation, const Processor& processor,
                                      CutIf cut_if) {
  auto divides = [](const te::Stage& stage) {
    const auto* map = std::get_if<Map>(&stage.body);
    return map != nullptr && !common_steps(*map).empty();
  };
  if (std::none_of(computation.stages.begin(), computation.stages.end(), divides))
    return std::nullopt;
  StageCopier out(computation);
  bool any = false;
  for (const te::Stage& old : computation.stages) {
    te::Stage stage = out.renamed(old);
    if (divides(stage)) {
      auto& map = std::get<Map>(stage.body);
      PhaseParts parts(map, out);
      if (parts.find() &&
          (cut_if == CutIf::kPossible ||
           is_cheaper(map, parts, processor, out.new_axis(1).id, computation.num_vars))) {
        map.values[0] = parts.join();
        any = true;
      }
    }
    out.place(std::move(stage));
  }
  if (!any) return std::nullopt;
  return out.finish();
}

}  // namespace relay::lower
