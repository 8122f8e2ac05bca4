#include <relay/vm/compiler/native/value.h>

#include <algorithm>

namespace relay::vm::native {

ValueRef tuple_of(std::vector<ValueRef> fields) {
  auto value = std::make_shared<Value>();
  value->kind = Value::Kind::kTuple;
  value->fields = std::move(fields);
  return value;
}

ValueRef number_of(te::ScalarRef element) {
  auto value = std::make_shared<Value>();
  value->dtype = element->dtype;
  value->elements.push_back(std::move(element));
  return value;
}

ValueRef data_of(const TypeRef& type, te::ScalarRef number) {
  auto value = std::make_shared<Value>();
  value->dtype = kInt64;
  value->data = type;
  value->elements.push_back(std::move(number));
  return value;
}

// Values nest no deeper than types.
void for_each_tensor(const ValueRef& value, const std::function<void(const ValueRef&)>& visit) {
  if (value->is_tensor()) return visit(value);
  for (const ValueRef& field : value->fields) for_each_tensor(field, visit);
}

ValueRef with_tensors(const ValueRef& value,
                      const std::function<ValueRef(const ValueRef&)>& replacement) {
  if (value->is_tensor()) return replacement(value);
  auto copy = std::make_shared<Value>(*value);
  bool changed = false;
  for (ValueRef& field : copy->fields) {
    ValueRef made = with_tensors(field, replacement);
    changed |= made != field;
    field = std::move(made);
  }
  return changed ? ValueRef(copy) : value;
}

bool alike(const ValueRef& a, const ValueRef& b) {
  if (a == b) return true;
  if (a->kind != b->kind) return false;
  if (a->data.get() != b->data.get()) return false;
  if (a->is_tensor()) return a->dtype == b->dtype && a->shape == b->shape;
  return a->function == b->function && a->tag == b->tag &&
         std::ranges::equal(a->fields, b->fields,
                            [](const ValueRef& x, const ValueRef& y) { return alike(x, y); });
}

ValueRef common(const ValueRef& a, const ValueRef& b) {
  if (alike(a, b)) return a;
  if (a->data.get() != b->data.get()) throw NotNative{"values of differing types"};
  const bool apart = a->kind != b->kind || a->tag != b->tag;
  if (a->is_data() && (apart || a->is_tensor()))
    return data_of(a->data, te::index_constant(0).ref());
  if (apart || a->is_tensor() || a->function != b->function || a->fields.size() != b->fields.size())
    throw NotNative{"values of differing structure"};
  auto result = std::make_shared<Value>(*a);
  for (size_t i = 0; i < result->fields.size(); ++i)
    result->fields[i] = common(a->fields[i], b->fields[i]);
  return result;
}

namespace {

bool same_scalar(const te::ScalarRef& a, const te::ScalarRef& b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->dtype != b->dtype) return false;
  if (a->kind == te::ScalarKind::kVar) return a->id == b->id;
  return a->kind == te::ScalarKind::kConst && a->value.u == b->value.u;
}

}  // namespace

bool same(const Value& a, const Value& b) {
  return &a == &b ||
         (a.buffer == b.buffer && a.offset == b.offset && a.shape == b.shape &&
          std::ranges::equal(a.elements, b.elements, same_scalar));
}

}  // namespace relay::vm::native
