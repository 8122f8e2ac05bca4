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
  return call_op("add", {a, b}, {}, b->span());
}

}  // namespace relay
