#include <relay/lower/prepare.h>

#include <relay/lower/index_math.h>
#include <relay/lower/scalars.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Computation;
using te::TensorId;

namespace {

/// Whether a view is the same memory: all elements in the same order.
bool is_free(const Computation& c, const te::View& view) {
  if (!view.offset.is_int(0) || view.strides != dense_strides(view.extents)) return false;
  return dims_equal(product(view.extents), product(c.info(view.source).dims)) == Truth::kYes;
}

}  // namespace

Computation prepare(const Computation& computation) {
  Computation c = computation;
  for (size_t s = 0; s < c.stages.size(); ++s) {
    const auto* view = std::get_if<te::View>(&c.stages[s].body);
    if (view == nullptr || is_free(c, *view)) continue;
    te::Map map;
    Dim flat = view->offset;
    for (size_t d = 0; d < view->extents.size(); ++d) {
      map.axes.push_back({c.num_axes++, view->extents[d]});
      flat = flat + view->strides[d] * IndexMath::axis(map.axes.back().id);
    }
    IndexMath math(map.axes);
    const te::TensorInfo& info = c.info(view->source);
    auto load = make_ref<te::ScalarNode>(te::ScalarKind::kLoad, info.dtype);
    load->tensor = view->source;
    load->bounds = te::Bounds::kProven;
    for (Dim index : math.delinearise(flat, info.dims)) load->args.push_back(math.scalar(index));
    map.values.push_back(load);
    c.stages[s].body = std::move(map);
  }
  return c;
}

}  // namespace relay::lower
