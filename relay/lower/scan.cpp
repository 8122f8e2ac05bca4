// Scans and updates: stages with an order.
#include <relay/lower/templates.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;

namespace {

double nodes_in(std::span<const ScalarRef> roots) {
  return static_cast<double>(te::post_order(roots).size());
}

/// The position of a point, its axes named as the loops name them.
std::vector<ScalarRef> names_of(std::span<const Axis> axes, const OuterLoops& loops) {
  std::vector<ScalarRef> names;
  for (const Axis& axis : axes) {
    auto found = loops.names.find(axis.id);
    names.push_back(found == loops.names.end() ? te::index_of(axis).ref() : found->second);
  }
  return names;
}

Dim points_of(std::span<const Axis> axes) {
  Dim points = 1;
  for (const Axis& axis : axes) points = points * axis.extent;
  return points;
}

}  // namespace

DraftKernel lower_scan(const Job& job) {
  const auto& scan = std::get<te::Scan>(job.computation.stages[job.stage].body);
  Draft draft(job.computation);
  const Axis& along = scan.axes[scan.along];
  // Lanes along the last axis, the scan's own loop inside; if that is the last one, lanes would
  // read and write far apart, which costs more than steps one by one.
  std::vector<Axis> outer;
  for (const Axis& axis : scan.axes) {
    if (axis.id != along.id) outer.push_back(axis);
  }
  std::optional<Axis> lanes;
  bool is_last = true;
  for (size_t a = scan.along + 1; a < scan.axes.size(); ++a) {
    is_last &= scan.axes[a].extent.is_int(1);
  }
  if (!outer.empty() && !outer.back().extent.is_int(1) && !is_last) {
    lanes = outer.back();
    outer.pop_back();
  }
  double work =
      guess(along.extent) * (nodes_in(scan.step) + 2) * (lanes ? guess(lanes->extent) : 1);
  OuterLoops loops(draft, outer, work);
  IndexMath math(scan.axes);
  math.add_folds(te::stage_roots(job.computation.stages[job.stage]));

  Block body;
  std::unordered_map<uint32_t, ScalarRef> registers;
  std::vector<uint32_t> vars;
  Flattener flatten(draft, lanes.has_value());
  std::vector<ScalarRef> init = draft.bind(scan.init, math, loops.names);
  for (size_t k = 0; k < scan.carries.size(); ++k) {
    vars.push_back(draft.new_var());
    ScalarRef value = flatten.value(init[k], body);
    body.push_back(let(vars[k], value));
    registers.emplace(scan.carries[k]->id, te::placeholder(vars[k], scan.carries[k]->dtype).ref());
  }
  For steps = loop(LoopKind::kSerial, along);
  steps.reverse = scan.reverse;
  std::vector<ScalarRef> position = names_of(scan.axes, loops);
  auto put = [&] {
    for (size_t k = 0; k < vars.size(); ++k) {
      int32_t out = draft.buffer({static_cast<int32_t>(job.stage), static_cast<int32_t>(k)},
                                 Buffer::Role::kOutput, false);
      steps.body.push_back(
          store(out, position, te::placeholder(vars[k], scan.carries[k]->dtype).ref()));
    }
  };
  if (scan.exclusive) put();
  Flattener inside(draft, lanes.has_value());
  std::vector<ScalarRef> next = draft.bind(scan.step, math, loops.names);
  // All new carries follow from all old ones.
  std::vector<uint32_t> results;
  for (ScalarRef& value : next) {
    value = inside.value(substitute(value, {}, registers), steps.body);
    results.push_back(draft.new_var());
    steps.body.push_back(let(results.back(), value));
  }
  for (size_t k = 0; k < vars.size(); ++k) {
    steps.body.push_back({Set{vars[k], te::placeholder(results[k], next[k]->dtype).ref()}});
  }
  if (!scan.exclusive) put();
  body.push_back({std::move(steps)});
  if (lanes) enclose(body, loop(LoopKind::kVector, *lanes));
  loops.close(std::move(body));
  return draft.finish(job.name, "scan", points_of(scan.axes) * flops_of(scan.step));
}

DraftKernel lower_copy(const Job& job, TensorId source) {
  Draft draft(job.computation);
  Axis axis = draft.new_axis(product(job.computation.info(source).dims));
  int64_t piece = 65536;
  std::vector<Axis> outer;
  if (!axis.extent.is_int() || axis.extent.as_int() >= 2 * piece) {
    outer.push_back(draft.new_axis(ceil_div(axis.extent, Dim(piece))));
  }
  OuterLoops loops(draft, outer, static_cast<double>(piece));
  For vector = loop(LoopKind::kVector, axis);
  if (!outer.empty()) {
    Scalar begin = te::index_of(outer[0]) * piece;
    vector.begin = begin.ref();
    vector.end = te::min(begin + piece, te::from_dim(axis.extent)).ref();
  }
  ScalarRef at = te::index_of(axis).ref();
  int32_t from = draft.buffer(source, Buffer::Role::kInput, true);
  int32_t to = draft.buffer({static_cast<int32_t>(job.stage), 0}, Buffer::Role::kOutput, true);
  vector.body.push_back(store(to, {at}, draft.load(from, {at})));
  Block body;
  body.push_back({std::move(vector)});
  loops.close(std::move(body));
  draft.stores_apart();
  return draft.finish(job.name, "update", Dim(0));
}

namespace {

/// The last axis of an update if only the last index depends on it, and by itself: lanes along it
/// never meet.
std::optional<Axis> axis_apart(const te::Update& update, IndexMath& math) {
  if (update.axes.empty() || update.at.empty()) return std::nullopt;
  const Axis& last = update.axes.back();
  if (last.extent.is_int(1)) return std::nullopt;
  bool apart = math.poly(update.at.back()) == IndexMath::axis(last.id) ||
               (update.at.back()->kind == ScalarKind::kIndex && update.at.back()->axis == last.id);
  for (size_t d = 0; d + 1 < update.at.size(); ++d) {
    apart &= !math.mentions(math.poly(update.at[d]), last.id);
  }
  return apart ? std::optional(last) : std::nullopt;
}

/// The element that a point updates.
struct Target {
  std::vector<ScalarRef> at;
  Scalar inside = te::constant(1, kBool);
  Scalar wrong, extent;  // an index that is not inside, and what it exceeds

  bool checked() const { return inside.node()->kind != ScalarKind::kConst; }
};

/// `indices` are those of the update as expressions of the kernel. They stay in registers: they are
/// used several times.
Target target_of(const te::Update& update, std::span<const ScalarRef> indices,
                 const te::TensorInfo& info, IndexMath& math, Draft& draft, Flattener& flatten,
                 Block& body) {
  Target target;
  for (size_t d = 0; d < update.at.size(); ++d) {
    ScalarRef value = flatten.value(indices[d], body);
    uint32_t var = draft.new_var();
    body.push_back(let(var, value));
    Scalar index = te::placeholder(var, kInt64);
    target.at.push_back(index.ref());
    if (math.in_range(math.poly(update.at[d]), info.dims[d])) continue;
    Scalar size = te::from_dim(info.dims[d]);
    bool first = target.wrong.node() == nullptr;
    target.wrong = first ? index : te::select(target.inside, index, target.wrong);
    target.extent = first ? size : te::select(target.inside, size, target.extent);
    target.inside = target.inside && (index >= 0) && (index < size);
  }
  return target;
}

}  // namespace

DraftKernel lower_update(const Job& job) {
  const te::Stage& stage = job.computation.stages[job.stage];
  const auto& update = std::get<te::Update>(stage.body);
  Draft draft(job.computation);
  IndexMath math(update.axes);
  std::vector<ScalarRef> roots = te::stage_roots(stage);
  math.add_folds(roots);

  std::optional<Axis> lanes = axis_apart(update, math);
  std::vector<Axis> outer = update.axes;
  if (lanes) outer.pop_back();
  Block body;
  Flattener flatten(draft, lanes.has_value());
  std::vector<ScalarRef> bound = draft.bind(roots, math);
  int32_t out = draft.buffer({static_cast<int32_t>(job.stage), 0}, Buffer::Role::kOutput, false);
  Target target = target_of(update, bound, stage.outputs[0], math, draft, flatten, body);
  Block change;
  ScalarRef value = flatten.value(bound.back(), change);
  ScalarRef result = value;
  if (update.combiner) {
    std::vector<ScalarRef> old{draft.load(out, target.at)}, more{value};
    result = combine(*update.combiner, old, more)[0];
  }
  change.push_back(store(out, target.at, result));
  if (target.checked() && update.bounds == te::Bounds::kFail) {
    std::string message = update.message.empty() ? std::string(te::kOutOfRange) : update.message;
    body.push_back({Check{target.inside.ref(), std::move(message), update.origin,
                          target.wrong.ref(), target.extent.ref()}});
  }
  if (target.checked()) {  // a kernel that has failed goes on
    body.push_back({If{target.inside.ref(), std::move(change), {}}});
  } else {
    for (Stmt& stmt : change) body.push_back(std::move(stmt));
  }
  if (lanes) enclose(body, loop(LoopKind::kVector, *lanes));
  for (size_t i = outer.size(); i-- > 0;) enclose(body, loop(LoopKind::kSerial, outer[i]));
  draft.body() = std::move(body);
  std::vector<ScalarRef> values{update.value};
  return draft.finish(job.name, "update", points_of(update.axes) * (flops_of(values) + Dim(1)));
}

}  // namespace relay::lower
