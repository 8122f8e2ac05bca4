// Sums of products as contraction kernels.
#include <algorithm>

#include <relay/lower/contraction.h>
#include <relay/lower/contraction_plan.h>
#include <relay/lower/templates.h>

namespace relay::lower {
namespace {

/// True if a factor is more than a load, possibly cast: it is computed anew for each product, or
/// copied to where it is read several times.
bool is_computed(const te::ScalarRef& factor) {
  const te::ScalarNode* node = factor.get();
  while (node->kind == te::ScalarKind::kCast) node = node->args[0].get();
  return node->kind != te::ScalarKind::kLoad;
}

/// One row against a computed factor, as in a product with weights of 4 bits: each element is read
/// once, so that a copy does not pay.
bool reads_once(const Contraction& contraction) {
  auto is_one = [](const te::Axis& axis) { return axis.extent.is_int(1); };
  auto all_one = [&](const std::vector<te::Axis>& axes) {
    return std::all_of(axes.begin(), axes.end(), is_one);
  };
  return (all_one(contraction.rows) && is_computed(contraction.rhs)) ||
         (all_one(contraction.columns) && is_computed(contraction.lhs));
}

}  // namespace

std::optional<DraftKernel> lower_contraction(const Job& job) {
  const te::Computation& c = job.computation;
  const auto& map = std::get<te::Map>(c.stages[job.stage].body);
  if (map.values.size() != 1) return std::nullopt;
  Draft draft(c);
  IndexMath math(map.axes);
  math.add_folds(map.values);
  te::ScalarRef value = draft.bind(map.values, math, {}, /*keep_dims=*/true)[0];
  int32_t out =
      draft.buffer({static_cast<int32_t>(job.stage), 0}, Buffer::Role::kOutput, /*flat=*/false);
  std::optional<Contraction> contraction =
      match_contraction(draft.buffers(), out, map.axes, value, draft.num_axes(), draft.num_vars());
  if (!contraction || reads_once(*contraction)) return std::nullopt;
  if (std::optional<Contraction> better = better_turned(*contraction)) {
    contraction = std::move(better);
  } else if (is_packed_turned(*contraction, job.options.processor)) {
    contraction = turned(*contraction);
  }
  Dim points = 1;
  for (const te::Axis& axis : map.axes) points = points * axis.extent;
  return draft.finish(job.name, std::move(*contraction), points * flops_of(map.values));
}

}  // namespace relay::lower
