// Sums of products as contraction kernels.
#include <relay/lower/contraction.h>
#include <relay/lower/contraction_plan.h>
#include <relay/lower/templates.h>

namespace relay::lower {

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
  if (!contraction) return std::nullopt;
  if (is_better_turned(*contraction) || is_packed_turned(*contraction, job.options.vector_bytes))
    contraction = turned(*contraction);
  Dim points = 1;
  for (const te::Axis& axis : map.axes) points = points * axis.extent;
  return draft.finish(job.name, std::move(*contraction), points * flops_of(map.values));
}

}  // namespace relay::lower
