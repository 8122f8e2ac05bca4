#include <relay/vm/compiler/native/data_types.h>

#include <relay/vm/compiler/native/value.h>

namespace relay::vm::native {

const DataTypes::Layout& DataTypes::layout(const TypeRef& type) {
  if (auto known = layouts_.find(type.get()); known != layouts_.end()) return known->second;
  Layout made;
  const auto* call = type.get() == nullptr ? nullptr : type->as<TypeCall>();
  const auto* name = call == nullptr ? nullptr : call->callee()->as<GlobalTypeVar>();
  const TypeData* data = name == nullptr ? nullptr : module_.type_data(name);
  if (data == nullptr || data->is_extern()) throw NotNative{"a value of an unknown type"};
  for (const ConstructorRef& constructor : data->constructors()) {
    Cell cell;
    for (const TypeRef& input : constructor->inputs()) {
      cell.fields.push_back(substitute(input, [&](const TypeVar* var) -> TypeRef {
        for (size_t i = 0; i < data->type_vars().size() && i < call->args().size(); ++i) {
          if (data->type_vars()[i].get() == var) return call->args()[i];
        }
        return {};
      }));
    }
    if (!cell.fields.empty()) made.on_tape.push_back(static_cast<int32_t>(made.cells.size()));
    made.cells.push_back(std::move(cell));
  }
  for (Cell& cell : made.cells) {
    cell.slots = made.has_tags() && !cell.fields.empty() ? 1 : 0;
    for (const TypeRef& field : cell.fields) {
      cell.first.push_back(cell.slots);
      cell.slots += slots(field);
    }
  }
  kept_.push_back(type);
  return layouts_[type.get()] = std::move(made);
}

// Types nest no deeper than values.
int64_t DataTypes::slots(const TypeRef& type) {
  if (type.get() == nullptr) throw NotNative{"a value of an unknown type"};
  if (type->as<TypeCall>() != nullptr) return 1;
  int64_t count = 1;
  if (const auto* tuple = type->as<TupleType>()) {
    count = 0;
    for (const TypeRef& field : tuple->fields()) count += slots(field);
    return count;
  }
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank() || !tensor->has_dtype())
    throw NotNative{"a field that is no tensor of known shape"};
  for (Dim dim : tensor->dims()) {
    if (!dim.is_int()) throw NotNative{"an unknown extent"};
    if (dim.as_int() > kMostElements) throw NotNative{"a large tensor in a data value"};
    count *= dim.as_int();
  }
  if (count > kMostElements) throw NotNative{"a large tensor in a data value"};
  return count;
}

}  // namespace relay::vm::native
