#include <relay/vm/compiler/groups.h>

#include <algorithm>

#include <relay/graph/work.h>
#include <relay/ir/equal.h>
#include <relay/ir/visit.h>
#include <relay/lower/onednn.h>
#include <relay/lower/prepare.h>
#include <relay/op/op.h>
#include <relay/print/print.h>
#include <relay/tensor_expr/walk.h>
#include <relay/vm/compiler/onednn_code.h>

namespace relay::vm {
namespace {

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

// Derives the facts that the scalars show.
void inspect(CompiledGroup& group) {
  const te::Computation& computation = group.computation();
  bool numbers = !computation.outputs.empty() && group.work->group.checks.empty();
  for (const te::TensorInfo& input : computation.inputs) numbers &= input.dims.empty();
  for (const te::Output& output : computation.outputs) {
    numbers &= output.dims.empty();
    group.counted |= output.counted();
  }
  for (const te::Stage& stage : computation.stages) {
    const auto* map = std::get_if<te::Map>(&stage.body);
    numbers &= map != nullptr && map->axes.empty();
    group.may_fail |= te::can_fail(stage);
    for (const te::ScalarNode* node : te::post_order(te::stage_roots(stage))) {
      numbers &= node->kind != te::ScalarKind::kFold && node->kind != te::ScalarKind::kGet &&
                 node->kind != te::ScalarKind::kVar && node->kind != te::ScalarKind::kIndex;
      if (node->kind == te::ScalarKind::kLoad) numbers &= node->args.empty();
      if (node->kind == te::ScalarKind::kFromDim) numbers &= node->dim.is_int();
    }
  }
  group.may_fail |= !group.work->group.checks.empty();
  group.numbers = numbers;
}

std::unique_ptr<CompiledGroup> make_group(const relay::FunctionRef& function,
                                          std::span<const TypeRef> inputs) {
  auto result = std::make_unique<CompiledGroup>();
  result->function = function;
  result->inputs.assign(inputs.begin(), inputs.end());
  graph::Group group = graph::compose(*function, inputs);
  if (is_for_onednn(*function))
    group.computation = lower::with_onednn(lower::prepare(group.computation));
  result->work =
      graph::make_work(kernel_name(*function), print_expr(function.get()), std::move(group));
  inspect(*result);
  for (const Call* call : graph::operators_of(*function))
    result->acts |= !call->callee()->as<relay::Op>()->op()->pure();
  return result;
}

}  // namespace

bool CompiledGroup::can_fail() const { return may_fail || !work->group.results.empty(); }

const CompiledGroup& GroupCache::find(const relay::FunctionRef& function,
                                      std::span<const TypeRef> inputs) {
  uint64_t hash = structural_hash(function.get());
  for (const TypeRef& type : inputs) hash = hash * 31 + reinterpret_cast<uintptr_t>(type.get());
  auto& bucket = groups_[hash];
  for (const auto& group : bucket) {
    if (std::equal(inputs.begin(), inputs.end(), group->inputs.begin(), group->inputs.end()) &&
        structural_equal(function.get(), group->function.get()))
      return *group;
  }
  bucket.push_back(make_group(function, inputs));
  return *bucket.back();
}

}  // namespace relay::vm
