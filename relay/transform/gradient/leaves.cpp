#include <relay/transform/gradient/leaves.h>

#include <algorithm>


namespace relay::grad {

bool is_leaf(const Type* type) {
  const auto* tensor = type->as<TensorType>();
  return tensor != nullptr && tensor->has_dtype() && tensor->dtype().is_float();
}

bool is_tensorial(const Type* type) {
  if (type == nullptr) return false;
  if (const auto* tuple = type->as<TupleType>()) {
    return std::all_of(tuple->fields().begin(), tuple->fields().end(),
                       [](const TypeRef& field) { return is_tensorial(field.get()); });
  }
  const auto* tensor = type->as<TensorType>();
  return tensor != nullptr && tensor->has_rank() && tensor->has_dtype();
}

bool is_static(const Type* type) {
  if (type == nullptr) return false;
  if (const auto* tuple = type->as<TupleType>()) {
    return std::all_of(tuple->fields().begin(), tuple->fields().end(),
                       [](const TypeRef& field) { return is_static(field.get()); });
  }
  return is_tensorial(type) && num_elements(type).has_value();
}

const std::vector<uint32_t>& LeafTable::offsets(const TupleType& tuple) {
  if (const std::vector<uint32_t>* found = offsets_.find(&tuple)) return *found;
  std::vector<uint32_t> made{0};
  for (const TypeRef& field : tuple.fields()) made.push_back(made.back() + count(field.get()));
  std::vector<uint32_t>* entry = offsets_.insert(&tuple).first;
  *entry = std::move(made);
  return *entry;
}

uint32_t LeafTable::count(const Type* type) {
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) return is_leaf(type) ? 1 : 0;
  return offsets(*tuple).back();
}

uint32_t LeafTable::offset(const TupleType& tuple, size_t field) { return offsets(tuple)[field]; }

size_t LeafTable::field_with(const TupleType& tuple, uint32_t leaf) {
  const std::vector<uint32_t>& all = offsets(tuple);
  return static_cast<size_t>(std::upper_bound(all.begin(), all.end(), leaf) - all.begin()) - 1;
}

ExprRef field_of(const ExprRef& tuple, size_t i) {
  if (const auto* written = tuple->as<Tuple>()) return written->fields()[i];
  return make_projection(tuple, static_cast<uint32_t>(i), tuple->span());
}

void for_each_tensor(const Type* type, const ExprRef& value,
                     const std::function<void(const Type*, const ExprRef&)>& visit) {
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) {
    visit(type, value);
    return;
  }
  for (size_t i = 0; i < tuple->fields().size(); ++i)
    for_each_tensor(tuple->fields()[i].get(), field_of(value, i), visit);
}

ExprRef map_tensors(const Type* type, const ExprRef& value,
                    const std::function<ExprRef(const Type*, const ExprRef&)>& map) {
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) return map(type, value);
  std::vector<ExprRef> fields;
  for (size_t i = 0; i < tuple->fields().size(); ++i)
    fields.push_back(map_tensors(tuple->fields()[i].get(), field_of(value, i), map));
  return make_tuple(fields);
}

ExprRef zeros_of_type(const Type* type) {
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) return zeros_of(type, {});
  std::vector<ExprRef> fields;
  for (const TypeRef& field : tuple->fields()) fields.push_back(zeros_of_type(field.get()));
  return make_tuple(fields);
}

ExprRef from_leaves(const Type* type, const ExprRef& like, const Leaves& leaves) {
  size_t next = 0;
  return map_tensors(type, like, [&](const Type* tensor, const ExprRef& value) {
    if (!is_leaf(tensor)) return zeros_of(tensor, value);
    const size_t leaf = next++;
    const bool known = leaf < leaves.size() && leaves[leaf];
    return known ? leaves[leaf] : zeros_of(tensor, value);
  });
}

}  // namespace relay::grad
