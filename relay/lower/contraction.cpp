#include <relay/lower/contraction.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <relay/lower/index_math.h>
#include <relay/lower/padded_plane.h>
#include <relay/lower/scalars.h>
#include <relay/lower/sum_of_products.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {
namespace {

using te::Affine;
using te::affine;
using te::Axis;
using te::BinaryOp;
using te::divisor;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::simplify_division;

bool is_real(const Axis& axis) { return !axis.extent.is_int(1); }
bool has_real(const std::vector<Axis>& axes) {
  return std::any_of(axes.begin(), axes.end(), is_real);
}

/// The product of extents; nothing if one is open.
std::optional<int64_t> count(const std::vector<Axis>& axes) {
  Dim extent = 1;
  for (const Axis& axis : axes) extent = extent * axis.extent;
  return extent.is_int() ? std::optional(extent.as_int()) : std::nullopt;
}

std::unordered_set<uint32_t> axes_in(const ScalarRef& root) {
  std::unordered_set<uint32_t> axes;
  for (const ScalarNode* node : te::post_order({&root, 1})) {
    if (node->kind == ScalarKind::kIndex) axes.insert(node->axis);
  }
  return axes;
}

/// axis = divisor · outer + inner.
struct Split {
  Axis axis, outer, inner;
};

/// The divisions that are places in packed panels.
std::unordered_set<const ScalarNode*> packed_places(const ScalarRef& product,
                                                    std::span<const Buffer> buffers) {
  std::unordered_set<const ScalarNode*> places;
  for (const ScalarNode* node : te::post_order({&product, 1})) {
    if (node->kind != ScalarKind::kLoad) continue;
    if (std::optional<size_t> panel = panel_index(*node)) {
      places.insert(node->args[*panel].get());
      places.insert(node->args.back().get());
    }
    const auto buffer = static_cast<size_t>(node->tensor.index);
    if (!node->tensor.is_input() || buffer >= buffers.size()) continue;
    const auto grouped = grouped_places(*node, buffers[buffer]);
    if (!grouped || !grouped->panel) continue;
    places.insert(node->args[*grouped->panel].get());
    places.insert(node->args[grouped->within].get());
  }
  return places;
}

/// Axes that are used divided, each by one divisor of its extent.
std::vector<Split> find_splits(const ScalarRef& product, std::span<const Buffer> buffers,
                               std::span<const Axis> axes, uint32_t& num_axes) {
  std::vector<Split> splits;
  std::unordered_set<const ScalarNode*> packed = packed_places(product, buffers);
  for (const ScalarNode* node : te::post_order({&product, 1})) {
    Dim by = divisor(*node);
    if (by.is_int(0) || packed.contains(node)) continue;
    Affine sum = affine(node->args[0]);
    if (!sum.others.empty()) continue;
    for (const Axis& axis : axes) {
      if (!sum.coefficient(axis.id).is_int(1) || axis.extent == by) continue;
      if (!floor_mod(axis.extent, by).is_int(0)) continue;
      auto same = [&](const Split& split) { return split.axis.id == axis.id; };
      if (std::any_of(splits.begin(), splits.end(), same)) continue;
      splits.push_back({axis, {num_axes, floor_div(axis.extent, by)}, {num_axes + 1, by}});
      num_axes += 2;
    }
  }
  return splits;
}

/// True if some load reads one element at several points of the given axes: an index in which an
/// axis meets another one.
bool slides(const ScalarRef& factor, std::span<const Axis> axes) {
  for (const ScalarNode* node : te::post_order({&factor, 1})) {
    if (node->kind != ScalarKind::kLoad) continue;
    for (const ScalarRef& index : node->args) {
      std::unordered_set<uint32_t> used = axes_in(index);
      bool along = std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
        return is_real(axis) && used.contains(axis.id);
      });
      if (along && used.size() > 1) return true;
    }
  }
  return false;
}

/// Points of an output, its axes that are used divided in parts.
struct Points {
  std::vector<Axis> axes;
  std::unordered_map<uint32_t, ScalarRef> in_parts;  // what the axes are that became two
};

Points split_divided(const ScalarRef& product, std::span<const Buffer> buffers,
                     std::span<const Axis> axes, uint32_t& num_axes) {
  Points points;
  std::vector<Split> splits = find_splits(product, buffers, axes, num_axes);
  for (const Axis& axis : axes) {
    auto split = std::find_if(splits.begin(), splits.end(),
                              [&](const Split& s) { return s.axis.id == axis.id; });
    if (split == splits.end()) {
      points.axes.push_back(axis);
      continue;
    }
    points.axes.push_back(split->outer);
    points.axes.push_back(split->inner);
    points.in_parts.emplace(axis.id,
                            (te::index_of(split->outer) * te::from_dim(split->inner.extent) +
                             te::index_of(split->inner))
                                .ref());
  }
  return points;
}

/// Factors, epilogue and place in the output, for the output's `axes`, become those at the points.
void rewrite_to(const Points& points, std::span<const Axis> axes, Contraction& contraction) {
  std::unordered_map<uint32_t, Dim> extents;
  for (const Axis& axis : contraction.folded) extents.emplace(axis.id, axis.extent);
  for (const Axis& axis : points.axes) extents.emplace(axis.id, axis.extent);
  auto extent_of = [&](uint32_t axis) { return extents.at(axis); };
  auto rewrite = [&](const ScalarRef& root) {
    ScalarRef parts = points.in_parts.empty() ? root : substitute(root, points.in_parts);
    ScalarRewriter divisions([&](const ScalarRef& node, const std::vector<ScalarRef>& args) {
      return simplify_division(*node, args, extent_of);
    });
    return divisions(parts);
  };
  contraction.lhs = rewrite(contraction.lhs);
  contraction.rhs = rewrite(contraction.rhs);
  contraction.epilogue = rewrite(contraction.epilogue);
  for (const Axis& axis : axes) {
    contraction.out_index.push_back(rewrite(te::index_of(axis).ref()));
  }
}

/// True if windows of one channel slide along the columns for very few rows, as those of a
/// depthwise convolution with a few results for each channel: copying them into panels takes longer
/// than multiplying them. Every folded axis is one of the window's, whose neighbours overlap along
/// it, and they are few enough for the window template.
bool slides_for_few_rows(const Contraction& contraction, const std::vector<Axis>& rows,
                         const std::vector<Axis>& columns) {
  constexpr int64_t kVeryFew = 4, kFewestTaps = 4;
  const auto height = count(rows), taps = count(contraction.folded);
  if (!height || *height > kVeryFew || !taps || *taps < kFewestTaps || *taps > kMostWrittenTaps)
    return false;
  const ScalarNode* load = only_load(contraction.rhs);
  if (load == nullptr) return false;
  auto slides_along = [&](const Axis& tap) {
    return std::any_of(load->args.begin(), load->args.end(), [&](const ScalarRef& index) {
      const Affine place = affine(index);
      const Dim dilation = place.coefficient(tap.id);
      if (!dilation.is_int() || dilation.as_int() < 1) return false;
      const int64_t reach = dilation.as_int() * (tap.extent.as_int() - 1) + 1;
      return std::any_of(columns.begin(), columns.end(), [&](const Axis& column) {
        const Dim stride = place.coefficient(column.id);
        return is_real(column) && stride.is_int() && stride.as_int() >= 1 &&
               stride.as_int() < reach && stride.as_int() <= kMostStride;
      });
    });
  };
  return std::all_of(contraction.folded.begin(), contraction.folded.end(),
                     [&](const Axis& axis) { return !is_real(axis) || slides_along(axis); });
}

/// The place after the last of the points' axes that is one of a side's; 0: none is.
size_t end_of(const std::vector<Axis>& side, std::span<const Axis> points) {
  size_t end = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    for (const Axis& axis : side) {
      if (is_real(axis) && axis.id == points[i].id) end = i + 1;
    }
  }
  return end;
}

/// Axes become rows, columns and batch, by the factors that depend on them. False if the fold is
/// none that contractions compute.
bool assign_axes(std::span<const Axis> points, Contraction& contraction) {
  std::unordered_set<uint32_t> in_lhs = axes_in(contraction.lhs);
  std::unordered_set<uint32_t> in_rhs = axes_in(contraction.rhs);
  std::vector<Axis> only_lhs, only_rhs;
  for (const Axis& axis : points) {
    bool left = in_lhs.contains(axis.id), right = in_rhs.contains(axis.id);
    if (left && !right) {
      only_lhs.push_back(axis);
    } else if (right && !left) {
      only_rhs.push_back(axis);
    } else if (left || !is_real(axis)) {
      contraction.batch.push_back(axis);
    } else {
      return false;  // the same sum again and again
    }
  }
  if (!has_real(only_lhs) && !has_real(only_rhs)) return false;
  if (!has_real(only_lhs) && slides(contraction.rhs, only_rhs)) return false;
  if (!has_real(only_rhs) && slides(contraction.lhs, only_lhs)) return false;

  // Columns are the side that has the last of the output's axes.
  if (end_of(only_lhs, points) > end_of(only_rhs, points)) {
    std::swap(contraction.lhs, contraction.rhs);
    std::swap(only_lhs, only_rhs);
  }
  if (slides_for_few_rows(contraction, only_lhs, only_rhs)) return false;
  // They shall lie side by side in the output: those before a row are taken one at a time.
  size_t end_of_rows = end_of(only_lhs, points);
  for (const Axis& axis : only_rhs) {
    size_t place = 1;
    while (points[place - 1].id != axis.id) ++place;
    (place > end_of_rows ? contraction.columns : contraction.batch).push_back(axis);
  }
  contraction.rows = std::move(only_lhs);
  return true;
}

/// The contraction of a fold that `sums_products` in a value.
std::optional<Contraction> classify(const ScalarNode* fold, std::span<const Buffer> buffers,
                                    int32_t out, std::span<const Axis> axes, const ScalarRef& value,
                                    uint32_t num_axes, uint32_t num_vars) {
  const ScalarNode& product = *fold->args[0];
  Contraction result;
  result.accumulator = fold->dtype;
  result.origin = fold->origin;
  result.num_axes = num_axes;
  result.num_vars = num_vars;
  result.sum = result.num_vars++;
  result.out = out;
  result.folded = fold->axes;
  result.buffers.assign(buffers.begin(), buffers.end());
  ScalarRef sum = te::placeholder(result.sum, fold->dtype).ref();
  ScalarRewriter without_fold([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
    return node.get() == fold ? sum : ScalarRef();
  });
  result.epilogue = without_fold(value);
  result.lhs = product.args[0];
  result.rhs = product.args[1];

  Points points = split_divided(fold->args[0], buffers, axes, result.num_axes);
  rewrite_to(points, axes, result);
  if (!assign_axes(points.axes, result)) return std::nullopt;
  return result;
}

}  // namespace

std::optional<Contraction> match_contraction(std::span<const Buffer> buffers, int32_t out,
                                             std::span<const Axis> axes, const ScalarRef& value,
                                             uint32_t num_axes, uint32_t num_vars) {
  const ScalarNode* fold = only_fold(value);
  if (fold == nullptr || !sums_products(*fold) || !is_accumulator(fold->dtype)) return std::nullopt;
  return classify(fold, buffers, out, axes, value, num_axes, num_vars);
}

Contraction turned(const Contraction& contraction) {
  Contraction result = contraction;
  std::swap(result.lhs, result.rhs);
  result.columns = contraction.rows;
  result.batch.clear();
  result.rows.clear();
  const std::unordered_set<uint32_t> in_lhs = axes_in(contraction.lhs);
  for (const Axis& axis : contraction.batch)
    (in_lhs.contains(axis.id) || !is_real(axis) ? result.batch : result.rows).push_back(axis);
  result.rows.insert(result.rows.end(), contraction.columns.begin(), contraction.columns.end());
  return result;
}

namespace {

bool is_better_turned(const Contraction& contraction) {
  constexpr int64_t kVeryFew = 4, kFewest = 16;
  const auto rows = count(contraction.rows), columns = count(contraction.columns);
  if (!columns || *columns < 2 || *columns > kVeryFew || (rows && *rows < kFewest)) return false;
  const auto last = std::find_if(contraction.rows.rbegin(), contraction.rows.rend(), is_real);
  const ScalarNode* load = only_load(contraction.lhs);
  if (load == nullptr || last == contraction.rows.rend()) return false;
  const Buffer& buffer = contraction.buffers[static_cast<size_t>(load->tensor.index)];
  return te::affine_offset(load->args, buffer.dims).coefficient(last->id).is_int(1);
}

}  // namespace

std::optional<Contraction> better_turned(const Contraction& contraction) {
  constexpr int64_t kManyColumns = 64;
  if (!is_better_turned(contraction)) return std::nullopt;
  Contraction result = turned(contraction);
  const ScalarNode* load = only_load(result.rhs);
  const Affine offset =
      te::affine_offset(load->args, result.buffers[static_cast<size_t>(load->tensor.index)].dims);
  // The columns behind this one, which are side by side.
  auto first = result.columns.end();
  Dim stride = 1, extent = 1;
  while (first != result.columns.begin()) {
    const Axis& axis = *std::prev(first);
    if (is_real(axis) && offset.coefficient(axis.id) != stride) break;
    stride = stride * axis.extent;
    extent = extent * axis.extent;
    --first;
  }
  if (extent.is_int() && extent.as_int() < kManyColumns) return result;
  result.batch.insert(result.batch.end(), result.columns.begin(), first);
  result.columns.erase(result.columns.begin(), first);
  return result;
}

bool has_few_columns(const Contraction& contraction, const Processor& processor) {
  const int64_t lanes = processor.lanes(static_cast<int64_t>(contraction.accumulator.size()));
  const auto rows = count(contraction.rows), columns = count(contraction.columns);
  const auto products = count(contraction.folded);
  return columns && *columns <= few_columns(lanes) && rows && *rows >= lanes && products &&
         *products >= kWorthTurning;
}

bool is_accumulator(DType dtype) {
  return dtype == kFloat32 || dtype == kFloat64 || dtype == kInt32 || dtype == kInt64;
}

bool is_product(const ScalarRef& fold, std::span<const Axis> axes, uint32_t num_axes,
                uint32_t num_vars) {
  if (fold->kind != ScalarKind::kFold || !sums_products(*fold)) return false;
  std::optional<Contraction> found =
      classify(fold.get(), {}, 0, axes_of(fold, axes), fold, num_axes, num_vars);
  return found && has_real(found->rows) && has_real(found->columns);
}

bool is_contraction(const te::Map& map, uint32_t num_axes, uint32_t num_vars) {
  if (map.values.size() != 1) return false;
  std::optional<Contraction> found =
      match_contraction({}, 0, map.axes, map.values[0], num_axes, num_vars);
  return found && has_real(found->rows) && has_real(found->columns);
}

namespace {

bool divides(const ScalarRef& index, BinaryOp op) {
  return index->kind == ScalarKind::kBinary && index->binary == op && divisor(*index).is_int();
}

}  // namespace

std::optional<GroupedPlaces> grouped_places(const ScalarNode& load, const Buffer& buffer) {
  constexpr int64_t kGroups[] = {2, 4};
  const size_t rank = load.args.size();
  if (rank < 3 || rank != buffer.dims.size() || !divides(load.args.back(), BinaryOp::kFloorMod))
    return std::nullopt;
  const Dim by = divisor(*load.args.back());
  GroupedPlaces places;
  places.within = rank - 2;
  places.steps = rank;
  places.group = by.as_int();
  if (std::find(std::begin(kGroups), std::end(kGroups), places.group) == std::end(kGroups) ||
      by != buffer.dims.back() || !buffer.dims[places.within].is_int())
    return std::nullopt;
  const ScalarRef& within = load.args[places.within];
  IndexMath math;
  auto pairs_with = [&](const ScalarRef& quotient, const ScalarRef& rest) {
    return divides(quotient, BinaryOp::kFloorDiv) && divides(rest, BinaryOp::kFloorMod) &&
           divisor(*quotient) == divisor(*rest) &&
           math.poly(quotient->args[0]) == math.poly(rest->args[0]);
  };
  for (size_t d = 0; d < places.within; ++d) {
    if (pairs_with(load.args[d], load.args.back())) {
      places.steps = d;
    } else if (pairs_with(load.args[d], within)) {
      places.panel = d;
    }
  }
  return places.steps < rank ? std::optional(places) : std::nullopt;
}

std::optional<size_t> panel_index(const ScalarNode& load) {
  if (load.args.size() < 2 || !divides(load.args.back(), BinaryOp::kFloorMod)) return std::nullopt;
  const ScalarNode& within = *load.args.back();
  IndexMath math;
  for (size_t d = 0; d + 1 < load.args.size(); ++d) {
    const ScalarNode& panel = *load.args[d];
    if (divides(load.args[d], BinaryOp::kFloorDiv) && divisor(panel) == divisor(within) &&
        math.poly(panel.args[0]) == math.poly(within.args[0])) {
      return d;
    }
  }
  return std::nullopt;
}

std::vector<Axis> axes_of(const ScalarRef& value, std::span<const Axis> axes) {
  std::unordered_set<uint32_t> used = axes_in(value);
  std::vector<Axis> result;
  for (const Axis& axis : axes) {
    if (used.contains(axis.id)) result.push_back(axis);
  }
  return result;
}

std::optional<Contraction> contraction_of(const te::Computation& c, size_t stage) {
  const auto* map = std::get_if<te::Map>(&c.stages[stage].body);
  if (map == nullptr || map->values.size() != 1) return std::nullopt;
  std::vector<Buffer> buffers;
  std::vector<int32_t> first;  // buffer of each stage
  auto add = [&](const te::TensorInfo& info) {
    buffers.push_back({Buffer::Role::kInput, "", info.dtype, info.dims});
  };
  for (const te::TensorInfo& input : c.inputs) add(input);
  for (size_t s = 0; s < stage; ++s) {
    first.push_back(static_cast<int32_t>(buffers.size()));
    for (const te::TensorInfo& output : c.stages[s].outputs) add(output);
  }
  const auto out = static_cast<int32_t>(buffers.size());
  add(c.stages[stage].outputs[0]);
  buffers.back().role = Buffer::Role::kOutput;
  ScalarRewriter bind = te::moved_loads([&](TensorId id) {
    int32_t base = id.is_input() ? 0 : first[static_cast<size_t>(id.stage)];
    return TensorId{-1, base + id.index};
  });
  return match_contraction(buffers, out, map->axes, bind(map->values[0]), c.num_axes, c.num_vars);
}

const ScalarNode* only_load(const ScalarRef& value) {
  const ScalarNode* load = nullptr;
  for (const ScalarNode* node : te::post_order({&value, 1})) {
    if (node->kind != ScalarKind::kLoad) continue;
    if (load != nullptr) return nullptr;
    load = node;
  }
  return load;
}

}  // namespace relay::lower
