#include <relay/tensor_expr/builder.h>

#include <algorithm>

#include <relay/support/error.h>
#include <relay/tensor_expr/rewrite.h>

namespace relay::te {
namespace {

std::vector<Scalar> indices_of(std::span<const Axis> axes) {
  std::vector<Scalar> result;
  result.reserve(axes.size());
  for (const Axis& axis : axes) result.push_back(index_of(axis));
  return result;
}

std::vector<ScalarRef> refs_of(std::span<const Scalar> values) {
  std::vector<ScalarRef> result;
  result.reserve(values.size());
  for (const Scalar& value : values) {
    RELAY_CHECK(value.node() != nullptr, "empty scalar");
    result.push_back(value.ref());
  }
  return result;
}

Ref<ScalarNode> load_node(const Tensor& tensor, Indices index, Bounds bounds) {
  RELAY_CHECK(index.size() == tensor.rank(), "load of a rank " + std::to_string(tensor.rank()) +
                                                 " tensor at " + std::to_string(index.size()) +
                                                 " indices");
  Ref<ScalarNode> node = new_node(ScalarKind::kLoad, tensor.dtype());
  node->tensor = tensor.id();
  node->bounds = bounds;
  node->args = refs_of(index);
  for (const ScalarRef& arg : node->args) {
    RELAY_CHECK(arg->dtype == kInt64, "an index is " + std::string(arg->dtype.name()));
  }
  return node;
}

Combiner simple_combiner(Combiner::Kind kind, bool needs_element = false) {
  Combiner combiner;
  combiner.kind = kind;
  combiner.needs_element = needs_element;
  return combiner;
}

Scalar part_of(const Scalar& index, std::span<const Scalar> begins,
               const std::function<Scalar(size_t, Scalar)>& body, size_t first, size_t last) {
  if (last - first == 1) return body(first, index - begins[first]);
  size_t middle = first + (last - first) / 2;
  Scalar before = part_of(index, begins, body, first, middle);
  Scalar after = part_of(index, begins, body, middle, last);
  return select(index < begins[middle], before, after);
}

}  // namespace

std::vector<Scalar> replace(Indices index, size_t at, Scalar value) {
  std::vector<Scalar> result(index.begin(), index.end());
  result.at(at) = std::move(value);
  return result;
}

std::vector<Scalar> insert(Indices index, size_t at, Scalar value) {
  std::vector<Scalar> result(index.begin(), index.end());
  RELAY_CHECK(at <= result.size(), "insertion beyond the end");
  result.insert(result.begin() + static_cast<ptrdiff_t>(at), std::move(value));
  return result;
}

std::vector<Scalar> without(Indices index, size_t at) {
  std::vector<Scalar> result(index.begin(), index.end());
  RELAY_CHECK(at < result.size(), "no such index");
  result.erase(result.begin() + static_cast<ptrdiff_t>(at));
  return result;
}

Scalar piecewise(const Scalar& index, Dims extents,
                 const std::function<Scalar(size_t, Scalar)>& body) {
  RELAY_CHECK(!extents.empty(), "no pieces");
  std::vector<Scalar> begins;
  Dim begin = 0;
  for (Dim extent : extents) {
    begins.push_back(from_dim(begin));
    if (begins.size() < extents.size()) begin = begin + extent;
  }
  return part_of(index, begins, body, 0, extents.size());
}

Scalar Tensor::load(Indices index, Bounds bounds) const {
  RELAY_CHECK(bounds != Bounds::kFill, "a load with fill wants its value: load_or");
  return Scalar(load_node(*this, index, bounds));
}

Scalar Tensor::load_or(Indices index, Scalar fill) const {
  RELAY_CHECK(fill.dtype() == dtype() && fill.node()->kind == ScalarKind::kConst,
              "a fill value must be a constant of the tensor's dtype");
  Ref<ScalarNode> node = load_node(*this, index, Bounds::kFill);
  node->fill = fill.ref();
  return Scalar(node);
}

Scalar Tensor::broadcast(Indices index) const {
  RELAY_CHECK(index.size() >= rank(), "broadcast to a lower rank");
  size_t skipped = index.size() - rank();
  std::vector<Scalar> mine;
  mine.reserve(rank());
  for (size_t i = 0; i < rank(); ++i) {
    const Scalar& at = index[skipped + i];
    if (dim(i).is_int()) {
      mine.push_back(dim(i).is_int(1) ? index_constant(0) : at);
    } else {
      mine.push_back(select(from_dim(dim(i)) == index_constant(1), index_constant(0), at));
    }
  }
  return (*this)(mine);
}

Builder::Builder(std::vector<TensorInfo> inputs) { computation_.inputs = std::move(inputs); }

Tensor Builder::input(size_t i) const {
  RELAY_CHECK(i < computation_.inputs.size(), "no input " + std::to_string(i));
  return Tensor({-1, static_cast<int32_t>(i)}, computation_.inputs[i]);
}

std::vector<Tensor> Builder::add_stage(Stage stage) {
  auto number = static_cast<int32_t>(computation_.stages.size());
  std::vector<Tensor> tensors;
  for (size_t k = 0; k < stage.outputs.size(); ++k) {
    tensors.emplace_back(TensorId{number, static_cast<int32_t>(k)}, stage.outputs[k]);
  }
  computation_.stages.push_back(std::move(stage));
  return tensors;
}

std::vector<Axis> Builder::axes_of(Dims extents) {
  std::vector<Axis> axes;
  axes.reserve(extents.size());
  for (Dim extent : extents) axes.push_back(axis(extent));
  return axes;
}

namespace {

/// True for {extent} == 1.
bool asks_if_one(const ScalarNode& node, Dim extent) {
  return node.kind == ScalarKind::kBinary && node.binary == BinaryOp::kEq &&
         node.args[0]->kind == ScalarKind::kFromDim && node.args[0]->dim == extent &&
         node.args[1]->kind == ScalarKind::kConst && node.args[1]->value.i == 1;
}

/// Values without the question of `broadcast` about the extent of an axis that the tensor has,
/// too: the only index below 1 is 0. What reads a tensor at the point alone then says so.
void drop_questions(const std::vector<Axis>& axes, std::vector<ScalarRef>& values) {
  if (std::all_of(axes.begin(), axes.end(), [](const Axis& a) { return a.extent.is_int(); }))
    return;
  ScalarRewriter rewrite(
      [&](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
        if (node->kind != ScalarKind::kSelect || args[2]->kind != ScalarKind::kIndex ||
            args[1]->kind != ScalarKind::kConst || args[1]->value.i != 0)
          return {};
        for (const Axis& axis : axes) {
          if (axis.id == args[2]->axis && asks_if_one(*args[0], axis.extent)) return args[2];
        }
        return {};
      });
  values = rewrite(values);
}

}  // namespace

std::vector<Tensor> Builder::map_n(Dims dims,
                                   const std::function<std::vector<Scalar>(Indices)>& body) {
  Map map;
  map.axes = axes_of(dims);
  std::vector<Scalar> index = indices_of(map.axes);
  map.values = refs_of(body(index));
  drop_questions(map.axes, map.values);
  Stage stage;
  for (const ScalarRef& value : map.values) {
    stage.outputs.push_back({{dims.begin(), dims.end()}, value->dtype});
  }
  stage.body = std::move(map);
  return add_stage(std::move(stage));
}

Tensor Builder::map(Dims dims, const std::function<Scalar(Indices)>& body) {
  return map_n(dims, [&](Indices i) { return std::vector<Scalar>{body(i)}; })[0];
}

std::vector<Scalar> Builder::add_fold(std::vector<Axis> axes, std::vector<Scalar> values,
                                      Combiner combiner) {
  Ref<ScalarNode> node = new_node(ScalarKind::kFold, values[0].dtype());
  node->axes = std::move(axes);
  node->args = refs_of(values);
  node->combiner = std::make_shared<const Combiner>(std::move(combiner));
  std::vector<Scalar> results{Scalar(node)};
  if (values.size() == 1) return results;
  results.clear();
  for (size_t k = 0; k < values.size(); ++k) {
    Ref<ScalarNode> get = new_node(ScalarKind::kGet, values[k].dtype());
    get->id = static_cast<uint32_t>(k);
    get->args.push_back(node);
    results.emplace_back(get);
  }
  return results;
}

Scalar Builder::simple_fold(Dims extents, Combiner::Kind kind, bool needs_element,
                            const std::function<Scalar(Indices)>& body) {
  std::vector<Axis> axes = axes_of(extents);
  Scalar value = body(indices_of(axes));
  bool logic = kind == Combiner::Kind::kAnd || kind == Combiner::Kind::kOr;
  if (logic || kind == Combiner::Kind::kSum || kind == Combiner::Kind::kProd) {
    RELAY_CHECK(value.dtype().is_bool() == logic,
                "fold of " + std::string(value.dtype().name()) + " values");
  }
  return add_fold(std::move(axes), {std::move(value)}, simple_combiner(kind, needs_element))[0];
}

Scalar Builder::sum(Dims extents, const std::function<Scalar(Indices)>& body) {
  return simple_fold(extents, Combiner::Kind::kSum, false, body);
}
Scalar Builder::prod(Dims extents, const std::function<Scalar(Indices)>& body) {
  return simple_fold(extents, Combiner::Kind::kProd, false, body);
}
Scalar Builder::max(Dims extents, const std::function<Scalar(Indices)>& body, bool needs_element) {
  return simple_fold(extents, Combiner::Kind::kMax, needs_element, body);
}
Scalar Builder::min(Dims extents, const std::function<Scalar(Indices)>& body, bool needs_element) {
  return simple_fold(extents, Combiner::Kind::kMin, needs_element, body);
}
Scalar Builder::all(Dims extents, const std::function<Scalar(Indices)>& body) {
  return simple_fold(extents, Combiner::Kind::kAnd, false, body);
}
Scalar Builder::any(Dims extents, const std::function<Scalar(Indices)>& body) {
  return simple_fold(extents, Combiner::Kind::kOr, false, body);
}

std::vector<Scalar> Builder::fold(
    Dims extents, const std::function<std::vector<Scalar>(Indices)>& body,
    const std::function<std::vector<Scalar>(std::span<const Scalar>, std::span<const Scalar>)>&
        combine,
    std::vector<Scalar> identity, FoldFacts facts) {
  std::vector<Axis> axes = axes_of(extents);
  std::vector<Scalar> values = body(indices_of(axes));
  RELAY_CHECK(!values.empty() && values.size() == identity.size(), "accumulators of a fold");
  Combiner combiner = simple_combiner(Combiner::Kind::kCustom, facts.needs_element);
  combiner.commutes = facts.commutes;
  std::vector<Scalar> lhs, rhs;
  for (const Scalar& value : values) lhs.push_back(placeholder(var(), value.dtype()));
  for (const Scalar& value : values) rhs.push_back(placeholder(var(), value.dtype()));
  combiner.lhs = refs_of(lhs);
  combiner.rhs = refs_of(rhs);
  combiner.result = refs_of(combine(lhs, rhs));
  combiner.identity = refs_of(identity);
  return add_fold(std::move(axes), std::move(values), std::move(combiner));
}

std::vector<Tensor> Builder::scan(
    Dims dims, uint32_t along, const std::function<std::vector<Scalar>(Indices)>& init,
    const std::function<std::vector<Scalar>(Indices, std::span<const Scalar>)>& step, bool reverse,
    bool exclusive) {
  Scan scan;
  scan.axes = axes_of(dims);
  scan.along = along;
  scan.reverse = reverse;
  scan.exclusive = exclusive;
  std::vector<Scalar> index = indices_of(scan.axes);
  std::vector<Scalar> first = init(index);
  std::vector<Scalar> carries;
  for (const Scalar& value : first) carries.push_back(placeholder(var(), value.dtype()));
  scan.init = refs_of(first);
  scan.carries = refs_of(carries);
  scan.step = refs_of(step(index, carries));
  Stage stage;
  for (const Scalar& carry : carries) {
    stage.outputs.push_back({{dims.begin(), dims.end()}, carry.dtype()});
  }
  stage.body = std::move(scan);
  return add_stage(std::move(stage));
}

Tensor Builder::update(const Tensor& base, Dims extents,
                       const std::function<std::vector<Scalar>(Indices)>& at,
                       const std::function<Scalar(Indices)>& value, UpdateOp op, Bounds bounds) {
  Update update;
  update.base = base.id();
  update.axes = axes_of(extents);
  update.bounds = bounds;
  std::vector<Scalar> index = indices_of(update.axes);
  update.at = refs_of(at(index));
  update.value = value(index).ref();
  switch (op) {
    case UpdateOp::kAssign:
      break;
    case UpdateOp::kSum:
      update.combiner =
          simple_combiner(base.dtype().is_bool() ? Combiner::Kind::kOr : Combiner::Kind::kSum);
      break;
    case UpdateOp::kProd:
      update.combiner =
          simple_combiner(base.dtype().is_bool() ? Combiner::Kind::kAnd : Combiner::Kind::kProd);
      break;
    case UpdateOp::kMin:
      update.combiner = simple_combiner(Combiner::Kind::kMin);
      break;
    case UpdateOp::kMax:
      update.combiner = simple_combiner(Combiner::Kind::kMax);
      break;
  }
  Stage stage;
  stage.outputs.push_back(base.info());
  stage.body = std::move(update);
  return add_stage(std::move(stage))[0];
}

Tensor Builder::reshape(const Tensor& source, Dims dims) {
  std::vector<Dim> strides(dims.size(), Dim(1));
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return view(source, Dim(0), dims, strides);
}

Tensor Builder::view(const Tensor& source, Dim offset, Dims extents, Dims strides) {
  RELAY_CHECK(extents.size() == strides.size(), "extents and strides of a view");
  View view{
      source.id(), offset, {extents.begin(), extents.end()}, {strides.begin(), strides.end()}};
  Stage stage;
  stage.outputs.push_back({view.extents, source.dtype()});
  stage.body = std::move(view);
  return add_stage(std::move(stage))[0];
}

std::vector<Tensor> Builder::library(std::string kernel, std::span<const Tensor> inputs,
                                     std::vector<TensorInfo> outputs, KernelParams params) {
  Library library;
  library.kernel = std::move(kernel);
  library.params = std::move(params);
  for (const Tensor& input : inputs) library.inputs.push_back(input.id());
  Stage stage;
  stage.outputs = std::move(outputs);
  stage.body = std::move(library);
  return add_stage(std::move(stage));
}

void Builder::output(const Tensor& tensor) {
  computation_.outputs.push_back({tensor.id(), tensor.dims()});
}

Computation Builder::finish() {
  computation_.verify();
  return std::move(computation_);
}

}  // namespace relay::te
