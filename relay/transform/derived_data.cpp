#include <relay/transform/derived_data.h>

namespace relay {

Name free_name(const std::string& base, const std::function<bool(const Name&)>& taken) {
  std::string text = base;
  for (int i = 1; taken(Name(text)); ++i) text = base + "_" + std::to_string(i);
  return Name(text);
}

GlobalTypeVarRef DerivedData::type(
    const TypeDataRef& data, const std::function<TypeRef(const Constructor&, size_t i)>& field) {
  auto found = types_.find(data->name().get());
  if (found != types_.end()) return found->second;
  const GlobalTypeVarRef made =
      GlobalTypeVar::make(free_name(data->name()->name().str() + suffix_, [&](const Name& text) {
        return target_.type_data(text) != nullptr;
      }));
  types_[data->name().get()] = made;
  target_.add_type(TypeData::make(made, {}, {}));  // takes the name until it is complete
  std::vector<ConstructorRef> constructors;
  for (const ConstructorRef& old : data->constructors()) {
    std::vector<TypeRef> fields;
    for (size_t i = 0; i < old->inputs().size(); ++i) fields.push_back(field(*old, i));
    const Name text = free_name(old->name().str() + suffix_, [&](const Name& name) {
      return target_.constructor(name) != nullptr;
    });
    constructors.push_back(make_constructor(text, made, old->ctor_tag(), std::move(fields)));
    constructors_[old.get()] = constructors.back();
  }
  target_.add_type(TypeData::make(made, {data->type_vars().begin(), data->type_vars().end()},
                                  std::move(constructors), data->is_extern(), data->span()),
                   true);
  return made;
}

}  // namespace relay
