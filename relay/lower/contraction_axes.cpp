// Axes of contractions, in groups, and loads along them.
#include <algorithm>

#include <relay/lower/contraction_plan.h>

namespace relay::lower {

using te::Affine;

AxisGroup::AxisGroup(std::vector<te::Axis> members) : axes(std::move(members)) {
  for (const te::Axis& axis : axes) extent = extent * axis.extent;
}

std::optional<Dim> AxisGroup::stride_of(const Affine& sum) const {
  std::optional<Dim> first;  // of the last axis
  Dim next = 0;
  for (size_t i = axes.size(); i-- > 0;) {
    if (axes[i].extent.is_int(1)) continue;
    Dim coefficient = sum.coefficient(axes[i].id);
    if (!first) {
      first = coefficient;
    } else if (coefficient != next) {
      return std::nullopt;
    }
    next = coefficient * axes[i].extent;
  }
  return first.value_or(0);
}

bool AxisGroup::has(uint32_t axis) const {
  return std::any_of(axes.begin(), axes.end(), [&](const auto& a) { return a.id == axis; });
}

bool LinearLoad::asks(uint32_t axis) const {
  return std::any_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
    return !condition.index.coefficient(axis).is_int(0);
  });
}

Dim ContractionPlan::extent_of(uint32_t axis) const {
  for (const AxisGroup* group : {&batch, &rows, &columns, &folded}) {
    for (const te::Axis& a : group->axes) {
      if (a.id == axis) return a.extent;
    }
  }
  return 0;
}

}  // namespace relay::lower
