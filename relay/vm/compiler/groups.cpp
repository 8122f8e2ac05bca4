#include <relay/vm/compiler/groups.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include <relay/ir/equal.h>
#include <relay/ir/visit.h>
#include <relay/lower/scalars.h>
#include <relay/op/op.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <relay/support/stop.h>
#include <relay/tensor_expr/walk.h>
#include <relay/vm/compiler/direct.h>

namespace relay::vm {
namespace {

Dim pooled_symbol(const char* prefix, std::deque<TypeVarRef>& pool, size_t k) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  while (pool.size() <= k)
    pool.push_back(TypeVar::make(prefix + std::to_string(pool.size()), Kind::kShapeVar));
  return Dim::symbol(pool[k].get());
}

std::string kernel_name(const relay::Function& function) {
  constexpr size_t kMaxLength = 60;
  std::string name;
  post_order(function.body().get(), [&](const Expr* expr) {
    const auto* call = expr->as<Call>();
    const auto* op = call == nullptr ? nullptr : call->callee()->as<relay::Op>();
    if (op == nullptr || name.size() > kMaxLength) return;
    if (!name.empty()) name += '_';
    for (char c : op->op()->name().str()) name += c == '.' ? '_' : c;
  });
  return name.empty() ? "identity" : name;
}

// What can be seen from the scalars.
void inspect(CompiledGroup& group) {
  const te::Computation& computation = group.group.computation;
  bool numbers = !computation.outputs.empty() && group.group.checks.empty();
  for (const te::TensorInfo& input : computation.inputs) numbers &= input.dims.empty();
  for (const te::Output& output : computation.outputs) {
    numbers &= output.dims.empty();
    group.counted |= output.counted();
  }
  for (const te::Stage& stage : computation.stages) {
    const auto* map = std::get_if<te::Map>(&stage.body);
    numbers &= map != nullptr && map->axes.empty();
    group.may_fail |= std::holds_alternative<te::Library>(stage.body);
    if (const auto* update = std::get_if<te::Update>(&stage.body))
      group.may_fail |= update->bounds == te::Bounds::kFail;
    for (const te::ScalarNode* node : te::post_order(te::stage_roots(stage))) {
      numbers &= node->kind != te::ScalarKind::kFold && node->kind != te::ScalarKind::kGet &&
                 node->kind != te::ScalarKind::kVar && node->kind != te::ScalarKind::kIndex;
      if (node->kind == te::ScalarKind::kLoad) numbers &= node->args.empty();
      if (node->kind == te::ScalarKind::kFromDim) numbers &= node->dim.is_int();
      group.may_fail |= te::can_fail(*node);
    }
  }
  group.may_fail |= !group.group.checks.empty();
  group.numbers = numbers;
}

void for_each_dim(lower::Group& group, const std::function<void(Dim)>& visit) {
  te::Computation& computation = group.computation;
  auto all = [&](const std::vector<Dim>& dims) {
    for (Dim dim : dims) visit(dim);
  };
  for (const te::Stage& stage : computation.stages) {
    for (const te::TensorInfo& output : stage.outputs) all(output.dims);
    if (const auto* view = std::get_if<te::View>(&stage.body)) {
      visit(view->offset);
      all(view->extents);
      all(view->strides);
    }
    for (const te::Axis& axis : te::stage_axes(stage)) visit(axis.extent);
    for (const te::ScalarNode* node : te::post_order(te::stage_roots(stage))) {
      if (node->kind == te::ScalarKind::kFromDim) visit(node->dim);
      for (const te::Axis& axis : node->axes) visit(axis.extent);
    }
  }
  for (const te::Output& output : computation.outputs) all(output.dims);
  for (const lower::Condition& check : group.checks) {
    visit(check.a);
    visit(check.b);
    all(check.message.dims);
  }
  for (const lower::ResultDim& result : group.results) {
    visit(result.dim);
    if (result.message) all(result.message->dims);
  }
}

// Replaces atoms in every dimension of a group.
void substitute_dims(lower::Group& group, const std::function<Dim(Dim)>& replace) {
  te::Computation& computation = group.computation;
  auto change = [&](Dim& dim) {
    if (dim.is_term()) dim = substitute(dim, replace);
  };
  auto all = [&](std::vector<Dim>& dims) {
    for (Dim& dim : dims) change(dim);
  };
  auto axes = [&](std::vector<te::Axis>& list) {
    for (te::Axis& axis : list) change(axis.extent);
  };
  lower::ScalarRewriter rewrite(
      [&](const te::ScalarRef& node, const std::vector<te::ScalarRef>& args) -> te::ScalarRef {
        if (node->kind == te::ScalarKind::kFromDim) {
          Dim dim = node->dim;
          change(dim);
          return te::from_dim(dim).ref();
        }
        if (node->kind != te::ScalarKind::kFold) return {};
        Ref<te::ScalarNode> copy = lower::copy_node(*node);
        axes(copy->axes);
        copy->args = args;
        return copy;
      });
  for (te::TensorInfo& input : computation.inputs) all(input.dims);
  for (te::Stage& stage : computation.stages) {
    lower::rewrite_roots(stage, [&](const te::ScalarRef& root) { return rewrite(root); });
    for (te::TensorInfo& output : stage.outputs) all(output.dims);
    if (auto* map = std::get_if<te::Map>(&stage.body)) axes(map->axes);
    if (auto* scan = std::get_if<te::Scan>(&stage.body)) axes(scan->axes);
    if (auto* update = std::get_if<te::Update>(&stage.body)) axes(update->axes);
    if (auto* view = std::get_if<te::View>(&stage.body)) {
      change(view->offset);
      all(view->extents);
      all(view->strides);
    }
  }
  for (te::Output& output : computation.outputs) all(output.dims);
  for (lower::Condition& check : group.checks) {
    change(check.a);
    change(check.b);
    all(check.message.dims);
  }
  for (lower::ResultDim& result : group.results) {
    change(result.dim);
    if (result.message) all(result.message->dims);
  }
  for (auto& [dims, origin] : group.shapes) all(dims);
}

}  // namespace

Dim canonical_symbol(size_t k) {
  static auto* pool = new std::deque<TypeVarRef>;
  return pooled_symbol("d", *pool, k);
}

Dim graph_symbol(size_t k) {
  static auto* pool = new std::deque<TypeVarRef>;
  return pooled_symbol("g", *pool, k);
}

GroupCache::GroupCache(Executable& executable, const CompileOptions& options)
    : executable_(executable), options_(options) {}

CompiledGroup& GroupCache::find(const relay::FunctionRef& function,
                                std::span<const TypeRef> inputs) {
  uint64_t hash = structural_hash(function.get());
  for (const TypeRef& type : inputs) hash = hash * 31 + reinterpret_cast<uintptr_t>(type.get());
  auto& bucket = groups_[hash];
  for (const auto& group : bucket) {
    if (std::equal(inputs.begin(), inputs.end(), group->inputs.begin(), group->inputs.end()) &&
        structural_equal(function.get(), group->function.get()))
      return *group;
  }
  bucket.push_back(make(function, inputs));
  return *bucket.back();
}

std::unique_ptr<CompiledGroup> GroupCache::make(const relay::FunctionRef& function,
                                                std::span<const TypeRef> inputs) {
  auto result = std::make_unique<CompiledGroup>();
  result->function = function;
  result->inputs.assign(inputs.begin(), inputs.end());
  result->name = kernel_name(*function);
  result->group = lower::compose(*function, inputs);
  // Values become symbols, of which kernels know.
  size_t symbols = 0;
  for (const TypeRef& type : inputs) symbols += free_type_vars(type).size();
  std::unordered_map<Dim, Dim> symbol_of;
  for_each_dim(result->group, [&](Dim dim) {
    if (dim.is_int() || !dim.is_term()) return;
    for_each_atom(dim, [&](Dim atom) {
      if (!atom.is_term() || atom.term().op != DimOp::kValue) return;
      auto [entry, added] = symbol_of.try_emplace(atom);
      if (!added) return;
      entry->second = canonical_symbol(symbols++);
      result->elements.push_back({entry->second, atom.term().input, atom.term().index});
    });
  });
  if (!symbol_of.empty()) {
    substitute_dims(result->group, [&](Dim atom) {
      auto found = symbol_of.find(atom);
      return found == symbol_of.end() ? atom : found->second;
    });
  }
  inspect(*result);
  for (const Call* call : lower::operators_of(*function))
    result->acts |= !call->callee()->as<relay::Op>()->op()->pure();
  return result;
}

uint32_t GroupCache::library(const lower::LibraryLaunch& launch, const CompiledGroup& group) {
  auto [entry, added] = libraries_.try_emplace({launch.name, launch.op},
                                               static_cast<uint32_t>(executable_.kernels.size()));
  if (added) {
    Kernel kernel;
    kernel.name = launch.op.empty() ? group.name : launch.op;
    if (!launch.op.empty()) kernel.messages.push_back(launch.op);
    kernel.implementation = "library";
    kernel.library = launch.name;
    executable_.kernels.push_back(std::move(kernel));
  }
  return entry->second;
}

void GroupCache::lower(CompiledGroup& group) {
  stop_if_asked();
  if (group.is_lowered) return;
  if (options_.direct) {
    lower_directly(group);
    group.is_lowered = true;
    return;
  }
  lower::LowerOptions options;
  options.vector_bytes = options_.target.vector_bytes();
  options.onednn = options_.onednn;
  group.lowered = lower::lower(group.group.computation, group.name, options);
  std::string source;
  for (const auto& lowered : group.lowered.kernels) {
    if (source.empty()) source = print_expr(group.function.get());
    Kernel kernel;
    kernel.name = lowered->name;
    kernel.implementation = lowered->implementation;
    kernel.source = source;
    group.kernels.push_back(static_cast<uint32_t>(executable_.kernels.size()));
    executable_.kernels.push_back(std::move(kernel));
    kernels_.push_back(lowered);
    numbers_.push_back(group.kernels.back());
  }
  group.is_lowered = true;
}

// One call of the direct evaluator.
void GroupCache::lower_directly(CompiledGroup& group) {
  const te::Computation& computation = group.group.computation;
  lower::Lowered& lowered = group.lowered;
  lower::LibraryLaunch launch;
  launch.name = kDirectKernel;
  launch.params.emplace_back("group", register_direct(group.function, group.inputs));
  lowered.num_inputs = computation.inputs.size();
  for (const te::TensorInfo& input : computation.inputs) {
    launch.inputs.push_back(static_cast<int32_t>(lowered.places.size()));
    lowered.places.push_back({input, -1});
  }
  for (const te::Output& output : computation.outputs) {
    auto place = static_cast<int32_t>(lowered.places.size());
    lowered.outputs.push_back(place);
    launch.outputs.push_back(place);
    lowered.places.push_back({{output.dims, computation.info(output.tensor).dtype}, -1});
  }
  lowered.launches.emplace_back(std::move(launch));
}

}  // namespace relay::vm
