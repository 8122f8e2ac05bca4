#include <relay/vm/compiler/native/scalars.h>

#include <relay/support/error.h>
#include <relay/tensor_expr/origin.h>
#include <relay/tensor_expr/rewrite.h>
#include <relay/tensor_expr/walk.h>

namespace relay::vm::native {

using te::Bounds;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

namespace {

constexpr size_t kMostStatements = 6000;  // of a kernel
constexpr int64_t kMostPoints = 64;       // of a fold, and of an update
constexpr size_t kMostNodes = 4000;       // of one element

using Axes = std::unordered_map<uint32_t, ScalarRef>;

int64_t extent_of(const te::Axis& axis) {
  if (!axis.extent.is_int()) throw NotNative{"an unknown extent"};
  return axis.extent.as_int();
}

std::vector<int64_t> shape_of(std::span<const Dim> dims) {
  std::vector<int64_t> shape;
  for (Dim dim : dims) {
    if (!dim.is_int()) throw NotNative{"an unknown extent"};
    shape.push_back(dim.as_int());
  }
  return shape;
}

int64_t points_of(std::span<const te::Axis> axes, int64_t most) {
  int64_t count = 1;
  for (const te::Axis& axis : axes) {
    count *= extent_of(axis);
    if (count > most) throw NotNative{"too many elements"};
  }
  return count;
}

/// The indices of point `flat` of a domain, in row-major order.
Axes point(std::span<const te::Axis> axes, int64_t flat) {
  Axes result;
  for (size_t d = axes.size(); d-- > 0;) {
    const int64_t extent = extent_of(axes[d]);
    result.emplace(axes[d].id, te::index_constant(flat % extent).ref());
    flat /= extent;
  }
  return result;
}

bool is_const(const ScalarRef& node) { return node->kind == ScalarKind::kConst; }

}  // namespace

/// A computation while it is evaluated.
struct Scalars::Run {
  const te::Computation& computation;
  std::span<const ValueRef> inputs;
  const Operators& operators;
  std::vector<std::vector<ValueRef>> stages = {};

  const ValueRef& tensor(te::TensorId id) const {
    return id.is_input() ? inputs[static_cast<size_t>(id.index)]
                         : stages[static_cast<size_t>(id.stage)][static_cast<size_t>(id.index)];
  }
  uint32_t failure(uint32_t origin) const {
    if (!operators.may_fail) throw NotNative{"a function that is called may fail"};
    return origin != 0 ? origin : operators.origin(0);
  }
};

void Scalars::count(size_t more) {
  statements_ += more;
  if (statements_ > kMostStatements) throw NotNative{"too large"};
}

ScalarRef Scalars::zero(DType dtype) { return te::constant(0, dtype).ref(); }

ScalarRef Scalars::let(const ScalarRef& value) {
  if (is_const(value) || value->kind == ScalarKind::kVar) return value;
  count(1);
  const uint32_t var = fresh_var();
  block->push_back({lower::Let{var, value}});
  return te::placeholder(var, value->dtype).ref();
}

void Scalars::check(ScalarRef condition, std::string message, uint32_t origin) {
  block->push_back({lower::Check{std::move(condition), std::move(message), origin}});
}

int32_t Scalars::add_buffer(lower::Buffer::Role role, DType dtype, int64_t size) {
  buffers_.push_back({role, "b" + std::to_string(buffers_.size()), dtype, {Dim(size)}});
  return static_cast<int32_t>(buffers_.size()) - 1;
}

ScalarRef Scalars::load_at(int32_t buffer, DType dtype, const Scalar& flat) {
  auto node = te::new_node(ScalarKind::kLoad, dtype);
  node->tensor = {-1, buffer};
  node->bounds = Bounds::kProven;
  node->args = {flat.ref()};
  return node;
}

// The element at a place that is in range.
ScalarRef Scalars::at(const Value& tensor, const Scalar& flat) {
  if (tensor.buffer >= 0) return load_at(tensor.buffer, tensor.dtype, flat + tensor.offset);
  if (is_const(flat.ref())) return tensor.elements.at(static_cast<size_t>(flat.node()->value.i));
  Scalar place(let(flat.ref()));
  Scalar result(tensor.elements.at(0));
  for (size_t i = 1; i < tensor.elements.size(); ++i)
    result = te::select(place == static_cast<int64_t>(i), Scalar(tensor.elements[i]), result);
  return result.ref();
}

ValueRef Scalars::in_registers(const ValueRef& tensor) {
  if (tensor->buffer < 0) return tensor;
  if (tensor->size() > kMostElements) throw NotNative{"a large tensor changes"};
  auto result = std::make_shared<Value>(*tensor);
  for (int64_t i = 0; i < tensor->size(); ++i)
    result->elements.push_back(let(at(*tensor, te::index_constant(i))));
  result->buffer = -1;
  result->offset = 0;
  return result;
}

void Scalars::store(int32_t buffer, const Value& tensor) {
  if (tensor.buffer < 0) {
    for (size_t i = 0; i < tensor.elements.size(); ++i) {
      block->push_back({lower::Store{
          buffer, {te::index_constant(static_cast<int64_t>(i)).ref()}, tensor.elements[i]}});
    }
    return;
  }
  const te::Axis axis{fresh_axis(), Dim(tensor.size())};
  Scalar index = te::index_of(axis);
  lower::For copy;
  copy.kind = lower::LoopKind::kVector;
  copy.axis = axis.id;
  copy.begin = te::index_constant(0).ref();
  copy.end = te::index_constant(tensor.size()).ref();
  copy.body.push_back({lower::Store{buffer, {index.ref()}, at(tensor, index)}});
  block->push_back({std::move(copy)});
}

lower::Nest Scalars::finish(lower::Block body) {
  lower::Nest nest;
  nest.buffers = std::move(buffers_);
  nest.body = std::move(body);
  nest.num_axes = num_axes_;
  nest.num_vars = num_vars_;
  nest.rounds_each = true;
  return nest;
}

// ---- Elements -----------------------------------------------------------------------------------

/// Folds written out, in order from the identity on, as the direct evaluator forms them.
ScalarRef Scalars::unrolled(const ScalarRef& root) {
  std::unordered_map<const ScalarNode*, std::vector<ScalarRef>> folds;  // by their new first value
  std::vector<ScalarRef> alive;
  te::ScalarRewriter rewrite([&](const ScalarRef& node,
                                 const std::vector<ScalarRef>& args) -> ScalarRef {
    if (node->kind == ScalarKind::kGet) return folds.at(args[0].get()).at(node->id);
    if (node->kind != ScalarKind::kFold) return {};
    const te::Combiner& combiner = *node->combiner;
    const int64_t points = points_of(node->axes, kMostPoints);
    if (points == 0 && combiner.needs_element) throw NotNative{"a fold of nothing"};
    const size_t width = te::num_accumulators(*node);
    std::vector<ScalarRef> sums;
    for (size_t k = 0; k < width; ++k)
      sums.push_back(te::combiner_identity(combiner, k, args[k]->dtype));
    for (int64_t i = 0; i < points; ++i) {
      const Axes axes = point(node->axes, i);
      std::vector<ScalarRef> values;
      for (const ScalarRef& arg : args) values.push_back(te::substitute(arg, axes));
      std::vector<ScalarRef> joined = te::combine(combiner, sums, std::span(values).first(width));
      for (size_t k = 0; k < width && args.size() > width; ++k) {
        joined[k] = te::select(Scalar(values[width]), Scalar(joined[k]), Scalar(sums[k])).ref();
      }
      sums = std::move(joined);
    }
    ScalarRef first = sums[0];
    alive.push_back(first);
    if (!folds.try_emplace(first.get(), std::move(sums)).second && width > 1)
      throw NotNative{"two folds with one value"};
    return first;
  });
  return rewrite(root);
}

ScalarRef Scalars::load(const Run& run, const ScalarNode& node, std::vector<ScalarRef> index) {
  const Value& tensor = *run.tensor(node.tensor);
  Scalar inside = te::constant(1, kBool);
  Scalar wrong, extent;
  Scalar flat = te::index_constant(0);
  for (size_t d = 0; d < index.size(); ++d) {
    const int64_t count = tensor.shape[d];
    Scalar at(index[d]);
    const bool known = is_const(index[d]) && index[d]->value.i >= 0 && index[d]->value.i < count;
    if (!known && node.bounds != Bounds::kProven) {
      if (count == 0 && node.bounds != Bounds::kFill) throw NotNative{"an empty tensor is read"};
      at = Scalar(let(at.ref()));
      if (node.bounds == Bounds::kClamp) {
        at = te::max(te::min(at, te::index_constant(count - 1)), te::index_constant(0));
      } else if (node.bounds == Bounds::kWrap) {
        at = te::floor_mod(at, te::index_constant(count));
      } else {
        Scalar fits = at >= 0 && at < count;
        Scalar size = te::index_constant(count);
        const bool first = wrong.node() == nullptr;
        wrong = first ? at : te::select(inside, at, wrong);
        extent = first ? size : te::select(inside, size, extent);
        inside = inside && fits;
        const int64_t last = std::max<int64_t>(count - 1, 0);
        at = te::max(te::min(at, te::index_constant(last)), te::index_constant(0));
      }
    }
    flat = flat * count + at;
  }
  if (tensor.size() == 0) {
    if (node.bounds != Bounds::kFill) throw NotNative{"an empty tensor is read"};
    return node.fill;
  }
  ScalarRef value = at(tensor, flat);
  if (wrong.node() == nullptr) return value;
  if (node.bounds == Bounds::kFill) return te::select(inside, Scalar(value), node.fill).ref();
  ScalarRef checked = te::fail_unless(inside, value, std::string(te::kOutOfRange)).ref();
  if (checked->kind != ScalarKind::kFail) return checked;
  auto copy = te::copy_node(*checked);
  if (!node.message.empty()) copy->message = node.message;
  copy->origin = run.failure(node.origin);
  copy->args.push_back(wrong.ref());
  copy->args.push_back(extent.ref());
  return copy;
}

/// The value of an expression whose axes are numbers, in a register.
ScalarRef Scalars::element(const Run& run, const ScalarRef& root) {
  const ScalarRef whole = unrolled(root);
  count(te::post_order({&whole, 1}).size() / 4);
  te::ScalarRewriter rewrite(
      [&](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
        if (node->kind == ScalarKind::kLoad) return load(run, *node, args);
        if (node->kind == ScalarKind::kCast && node->dtype == kInt64 && is_const(args[0]) &&
            args[0]->dtype.is_signed())
          return te::index_constant(args[0]->value.i).ref();  // an index, mostly
        if (node->kind == ScalarKind::kFromDim) throw NotNative{"an unknown size"};
        if (!te::can_fail(*node)) return {};
        ScalarRef made = te::with_args(node, args);
        if (!te::can_fail(*made)) return made;
        auto copy = te::copy_node(*made);
        copy->origin = run.failure(node->origin);
        return copy;
      });
  return let(rewrite(whole));
}

// ---- Stages -------------------------------------------------------------------------------------

std::vector<ValueRef> Scalars::map(const Run& run, const te::Map& map) {
  const int64_t points = points_of(map.axes, kMostElements);
  std::vector<ValueRef> results;
  for (const ScalarRef& value : map.values) {
    if (te::post_order({&value, 1}).size() > kMostNodes) throw NotNative{"too large"};
    auto made = std::make_shared<Value>();
    made->dtype = value->dtype;
    for (const te::Axis& axis : map.axes) made->shape.push_back(extent_of(axis));
    for (int64_t i = 0; i < points; ++i)
      made->elements.push_back(element(run, te::substitute(value, point(map.axes, i))));
    results.push_back(std::move(made));
  }
  return results;
}

std::vector<ValueRef> Scalars::scan(const Run& run, const te::Scan& scan) {
  const int64_t points = points_of(scan.axes, kMostElements);
  const size_t width = scan.carries.size();
  std::vector<std::shared_ptr<Value>> results;
  for (size_t k = 0; k < width; ++k) {
    auto made = std::make_shared<Value>();
    made->dtype = scan.carries[k]->dtype;
    for (const te::Axis& axis : scan.axes) made->shape.push_back(extent_of(axis));
    made->elements.resize(static_cast<size_t>(points));
    results.push_back(std::move(made));
  }
  int64_t stride = 1;
  for (size_t d = scan.along + 1; d < scan.axes.size(); ++d) stride *= extent_of(scan.axes[d]);
  const int64_t steps = extent_of(scan.axes[scan.along]);
  for (int64_t line = 0; points > 0 && line < points / steps; ++line) {
    const int64_t first = line / stride * stride * steps + line % stride;
    std::unordered_map<uint32_t, ScalarRef> carries;
    for (size_t k = 0; k < width; ++k) {
      carries[scan.carries[k]->id] =
          element(run, te::substitute(scan.init[k], point(scan.axes, first)));
    }
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t flat = first + (scan.reverse ? steps - 1 - i : i) * stride;
      const auto before = carries;
      for (size_t k = 0; k < width; ++k) {
        carries[scan.carries[k]->id] =
            element(run, te::substitute(scan.step[k], point(scan.axes, flat), before));
      }
      for (size_t k = 0; k < width; ++k) {
        results[k]->elements[static_cast<size_t>(flat)] =
            (scan.exclusive ? before : carries).at(scan.carries[k]->id);
      }
    }
  }
  return {results.begin(), results.end()};
}

ValueRef Scalars::update(const Run& run, const te::Update& update) {
  auto result = std::make_shared<Value>(*in_registers(run.tensor(update.base)));
  if (result->size() > kMostElements) throw NotNative{"too many elements"};
  const int64_t points = points_of(update.axes, kMostPoints);
  for (int64_t i = 0; i < points; ++i) {
    const Axes axes = point(update.axes, i);
    Scalar flat = te::index_constant(0);
    Scalar inside = te::constant(1, kBool);
    for (size_t d = 0; d < update.at.size(); ++d) {
      Scalar at(element(run, te::substitute(update.at[d], axes)));
      const int64_t extent = result->shape[d];
      if (!is_const(at.ref()) || at.node()->value.i < 0 || at.node()->value.i >= extent) {
        if (update.bounds == Bounds::kFail) throw NotNative{"an update that may fail"};
        inside = inside && at >= 0 && at < extent;
      }
      flat = flat * extent + at;
    }
    const ScalarRef value = element(run, te::substitute(update.value, axes));
    const Scalar place(let(flat.ref())), fits(let(inside.ref()));
    for (size_t e = 0; e < result->elements.size(); ++e) {
      ScalarRef& old = result->elements[e];
      const bool known = is_const(place.ref()) && is_const(fits.ref());
      if (known && (fits.node()->value.i == 0 || place.node()->value.i != static_cast<int64_t>(e)))
        continue;
      ScalarRef joined = value;
      if (update.combiner) joined = te::combine(*update.combiner, {&old, 1}, {&value, 1})[0];
      if (!known) {
        Scalar here = fits && place == static_cast<int64_t>(e);
        joined = te::select(here, Scalar(joined), Scalar(old)).ref();
      }
      old = let(joined);
    }
  }
  return result;
}

ValueRef Scalars::view(const Run& run, const te::View& view) {
  const Value& source = *run.tensor(view.source);
  auto result = std::make_shared<Value>();
  result->dtype = source.dtype;
  result->shape = shape_of(view.extents);
  const std::vector<int64_t> strides = shape_of(view.strides);
  if (!view.offset.is_int()) throw NotNative{"an unknown size"};
  const int64_t offset = view.offset.as_int();
  int64_t dense = 1;
  bool contiguous = true;
  for (size_t d = strides.size(); d-- > 0;) {
    contiguous &= strides[d] == dense || result->shape[d] == 1;
    dense *= result->shape[d];
  }
  if (source.buffer >= 0 && contiguous) {
    result->buffer = source.buffer;
    result->offset = source.offset + offset;
    return result;
  }
  if (dense > kMostElements) throw NotNative{"too many elements"};
  for (int64_t i = 0; i < dense; ++i) {
    int64_t flat = offset, rest = i;
    for (size_t d = strides.size(); d-- > 0;) {
      flat += rest % result->shape[d] * strides[d];
      rest /= result->shape[d];
    }
    result->elements.push_back(let(at(source, te::index_constant(flat))));
  }
  return result;
}

std::vector<ValueRef> Scalars::evaluate(const te::Computation& computation,
                                        std::span<const ValueRef> inputs,
                                        const Operators& operators) {
  Run run{computation, inputs, operators};
  for (te::Stage stage : computation.stages) {
    te::renumber_origins(stage, operators.origin);
    std::vector<ValueRef> made;
    if (const auto* one = std::get_if<te::Map>(&stage.body)) {
      made = map(run, *one);
    } else if (const auto* recurrence = std::get_if<te::Scan>(&stage.body)) {
      made = scan(run, *recurrence);
    } else if (const auto* change = std::get_if<te::Update>(&stage.body)) {
      made = {update(run, *change)};
    } else if (const auto* shown = std::get_if<te::View>(&stage.body)) {
      made = {view(run, *shown)};
    } else {
      throw NotNative{"a kernel of the library"};
    }
    run.stages.push_back(std::move(made));
  }
  std::vector<ValueRef> results;
  for (const te::Output& output : computation.outputs) results.push_back(run.tensor(output.tensor));
  return results;
}

}  // namespace relay::vm::native
