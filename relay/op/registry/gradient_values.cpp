#include <relay/op/registry/gradient_values.h>

#include <relay/op/op.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

InitOpAttrs shape_of(const TensorType& tensor) {
  InitOpAttrs attrs;
  attrs.shape = attr::Shape();
  for (Dim dim : tensor.dims()) attrs.shape->push_back(dim.as_int());
  return attrs;
}

ExprRef filled(std::string_view op, std::string_view like_op, const Type* tensor,
               const ExprRef& like) {
  if (!num_elements(tensor)) return call_op(like_op, {like});
  const auto* type = tensor->as<TensorType>();
  InitOpAttrs attrs = shape_of(*type);
  attrs.dtype = type->dtype();
  return call_op(op, {}, Attrs::make(attrs));
}

const Operator* called(const Expr* expr) {
  const auto* call = expr->as<Call>();
  const auto* node = call == nullptr ? nullptr : call->callee()->as<Op>();
  return node == nullptr ? nullptr : node->op();
}

// The sum if `part` is zeros to which values are added at places: these are added to `all` instead.
// A loop that reads a row in each turn then adds a row to the gradient in each turn, and not a
// tensor of zeros but for a row. Null if `part` is anything else.
ExprRef added_at_places(const ExprRef& all, const ExprRef& part) {
  static const Operator *const scatter = get_op("scatter_nd"), *const zeros = get_op("zeros"),
                               *const zeros_like = get_op("zeros_like"),
                               *const reshape = get_op("reshape"),
                               *const reshape_like = get_op("reshape_like");
  const Operator* op = called(part.get());
  if (op == reshape_like) {
    const auto args = static_cast<const Call&>(*part).args();
    const ExprRef inner = added_at_places(all, args[0]);
    return inner ? call_op("reshape_like", {inner, args[1]}, {}, part->span()) : ExprRef();
  }
  if (op != scatter) return {};
  const auto& call = static_cast<const Call&>(*part);
  if (!call.attrs() || call.attrs()->as<ScatterNDAttrs>().mode != ScatterMode::kAdd) return {};
  const Expr* data = call.args()[0].get();
  ExprRef start = all;
  if (called(data) == reshape) {
    start = call_op("reshape", {all}, static_cast<const Call*>(data)->attrs(), part->span());
    data = static_cast<const Call*>(data)->args()[0].get();
  }
  const Operator* filled = called(data);
  if (filled != zeros && filled != zeros_like) return {};
  return call_op("scatter_nd", {start, call.args()[1], call.args()[2]}, call.attrs(), part->span());
}

}  // namespace

ExprRef zeros_of(const Type* tensor, const ExprRef& like) {
  return filled("zeros", "zeros_like", tensor, like);
}
ExprRef ones_of(const Type* tensor, const ExprRef& like) {
  return filled("ones", "ones_like", tensor, like);
}

ExprRef spread_to(const TensorType& tensor, const ExprRef& value) {
  return call_op("broadcast_to", {value}, Attrs::make(shape_of(tensor)));
}

ExprRef sum(const ExprRef& a, const ExprRef& b) {
  if (!a) return b;
  if (!b) return a;
  if (ExprRef added = added_at_places(a, b)) return added;
  if (ExprRef added = added_at_places(b, a)) return added;
  return call_op("add", {a, b}, {}, b->span());
}

}  // namespace relay
