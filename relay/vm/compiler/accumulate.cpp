#include <relay/vm/compiler/accumulate.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <relay/ir/rewrite.h>
#include <relay/op/op.h>
#include <relay/program/program.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>
#include <relay/transform/op_calls.h>
#include <relay/vm/compiler/postpone.h>

namespace relay::vm {
namespace {

constexpr const char* kMark = "Accumulate";

bool can_grow(const Type* type) {
  const auto* tensor = type == nullptr ? nullptr : type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank() || !tensor->has_dtype()) return false;
  if (tensor->dims().empty() || keeps_memory(type)) return false;
  return tensor->dtype() == kFloat32 || tensor->dtype() == kFloat64;
}

// True for a load of the element at the point itself.
bool reads_the_point(const te::ScalarNode& node, int32_t input, const te::Map& map) {
  if (node.kind != te::ScalarKind::kLoad || !(node.tensor == te::TensorId{-1, input})) return false;
  for (size_t i = 0; i < map.axes.size(); ++i) {
    const bool one = map.axes[i].extent.is_int() && map.axes[i].extent.as_int() == 1;
    const te::ScalarNode& index = *node.args[i];
    if (!one && (index.kind != te::ScalarKind::kIndex || index.axis != map.axes[i].id))
      return false;
  }
  return true;
}

// True for a call that adds two tensors of one type, element by element.
bool is_sum(const Call& call) {
  const Operator* op = called_op(&call);
  if (op == nullptr || !op->pure() || op->definition() != DefinitionKind::kCompute) return false;
  if (call.args().size() != 2 || !can_grow(call.type())) return false;
  std::vector<TypeRef> types;
  for (const ExprRef& arg : call.args()) {
    if (arg->type() != call.type()) return false;
    types.emplace_back(arg->type());
  }
  AttrsRef attrs = call.attrs();
  if (!attrs && op->attrs_schema() != nullptr) attrs = Attrs::make(*op->attrs_schema(), {}, {});
  const te::Computation computation =
      build_computation(OpCall(op, attrs, types, TypeRef(call.type())));
  if (computation.stages.size() != 1) return false;
  const auto* map = std::get_if<te::Map>(&computation.stages[0].body);
  if (map == nullptr || map->values.size() != 1) return false;
  const te::ScalarNode& value = *map->values[0];
  return value.kind == te::ScalarKind::kBinary && value.binary == BinaryOp::kAdd &&
         reads_the_point(*value.args[0], 0, *map) && reads_the_point(*value.args[1], 1, *map);
}

class Finder {
 public:
  Finder(const View& view, const Effects& effects)
      : view_(view), scopes_(view.scopes()), acts_(view, effects) {
    const Regions& regions = scopes_.regions();
    for (uint32_t region = 0; region < regions.num_regions(); ++region) {
      reads_.clear();
      for (const Regions::Step step : regions.steps(region)) {
        if (!step.bind) look_at(scopes_.view_node(step.node));
      }
    }
  }

  bool any() const { return !added_.empty(); }
  /// The argument of the sum that is added, for a write that only adds; null for others.
  const uint32_t* added(const Expr* write) const { return added_.find(write); }
  /// True for a let of an old content that nothing reads any more.
  bool is_old(const Expr* let) const { return old_.contains(let); }

 private:
  void look_at(uint32_t id) {
    switch (view_.kind(id)) {
      case ExprKind::kRefRead:
        reads_.push_back(id);
        return;
      case ExprKind::kRefWrite:
        look_at_write(id);
        reads_.clear();
        return;
      case ExprKind::kRefCreate:
        return;
      case ExprKind::kIf:
      case ExprKind::kMatch:
        if (acts_.effectful(id)) reads_.clear();
        return;
      default:
        if (acts_.acts(id)) reads_.clear();
    }
  }

  void look_at_write(uint32_t write) {
    const uint32_t sum = view_.operands(write)[1];
    const auto* call = view_.expr(sum)->as<Call>();
    if (call == nullptr || view_.users()[sum].size() != 1) return;
    for (uint32_t i = 1; i < view_.operands(sum).size(); ++i) {
      const Expr* let = nullptr;
      if (!is_content(view_.operands(sum)[i], view_.operands(write)[0], let)) continue;
      if (!is_sum(*call)) return;
      added_[view_.expr(write)] = 2 - i;
      if (let != nullptr) old_.insert(let);
      return;
    }
  }

  // True if a value is what a reference holds at this place, and has one use. `let` becomes the one
  // that binds it.
  bool is_content(uint32_t value, uint32_t reference, const Expr*& let) const {
    if (view_.users()[value].size() != 1) return false;
    uint32_t read = value;
    if (view_.kind(value) == ExprKind::kVar) {
      const uint32_t binder = view_.binder(value);
      if (binder == View::kNone || view_.kind(binder) != ExprKind::kLet) return false;
      let = view_.expr(binder);
      read = view_.operands(binder)[0];
      if (view_.users()[read].size() != 1 || view_.expr(read)->type() != view_.expr(value)->type())
        return false;
    }
    return std::find(reads_.begin(), reads_.end(), read) != reads_.end() &&
           view_.operands(read)[0] == reference;
  }

  const View& view_;
  const relay::Scopes& scopes_;
  const NodeEffects acts_;
  std::vector<uint32_t> reads_;  // since the last effect of another kind
  PointerMap<Expr, uint32_t> added_;
  PointerSet<Expr> old_;
};

ExprRef accumulation(const ExprRef& reference, const Call& sum, uint32_t added, Span span) {
  const ExprRef& more = sum.args()[added];
  const TypeRef type(more->type());
  VarRef cell = make_var("cell", RefType::make(type)), given = make_var("more", type);
  std::vector<ExprRef> args{make_ref_read(cell), given};
  if (added == 0) std::swap(args[0], args[1]);
  const ExprRef body =
      make_ref_write(cell, make_call(sum.callee(), args, sum.attrs(), {}, sum.span()), span);
  const FunctionRef function = make_function(
      {cell, given}, body, TupleType::make({}), {}, {},
      make_dict_attrs({{"Primitive", AttrValue(int64_t{1})}, {kMark, AttrValue(int64_t{1})}}),
      span);
  return make_call(function, std::vector<ExprRef>{reference, more}, {}, {}, span);
}

}  // namespace

relay::FunctionRef with_accumulations(const relay::FunctionRef& function, const Effects& effects) {
  if (!function->contains(ExprPart::kEffect)) return function;
  const View view(function);
  const Finder found(view, effects);
  if (!found.any()) return function;
  auto rewrite = [&](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
    if (expr->is<Let>() && found.is_old(expr)) return operands[1];
    const uint32_t* added = expr->is<RefWrite>() ? found.added(expr) : nullptr;
    if (added == nullptr) return {};
    return accumulation(operands[0], *operands[1]->as<Call>(), *added, expr->span());
  };
  return FunctionRef(rewrite_post_order(function, rewrite)->as<relay::Function>());
}

// Programs may have the attribute, too, so the form decides.
bool is_accumulation(const relay::Function& function) {
  if (dict_attr(function.attrs(), kMark).is_none() || function.params().size() != 2) return false;
  const auto* write = function.body()->as<RefWrite>();
  const auto* sum = write == nullptr ? nullptr : write->value()->as<Call>();
  const Expr* cell = function.params()[0].get();
  if (sum == nullptr || write->ref().get() != cell || sum->args().size() != 2) return false;
  auto reads = [&](const ExprRef& expr) {
    const auto* read = expr->as<RefRead>();
    return read != nullptr && read->ref().get() == cell;
  };
  auto is_given = [&](const ExprRef& expr) { return expr.get() == function.params()[1].get(); };
  const ExprRef &first = sum->args()[0], &second = sum->args()[1];
  return ((reads(first) && is_given(second)) || (is_given(first) && reads(second))) && is_sum(*sum);
}

}  // namespace relay::vm
