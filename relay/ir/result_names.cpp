#include <relay/ir/result_names.h>

#include <set>

namespace relay {

std::vector<std::string> result_names(const AttrsRef& attrs, size_t count) {
  const AttrValue given = dict_attr(attrs, kResultNames);
  const auto* list = given.get<AttrValue::List>();
  if (list == nullptr || list->size() != count) return {};
  std::vector<std::string> names;
  for (const AttrValue& each : *list) {
    const auto* name = each.get<std::string>();
    if (name == nullptr || name->empty()) return {};
    names.push_back(*name);
  }
  if (std::set<std::string>(names.begin(), names.end()).size() < names.size()) return {};
  return names;
}

AttrsRef without_result_names(const AttrsRef& attrs) {
  if (dict_attr(attrs, kResultNames).is_none()) return attrs;
  std::map<Name, AttrValue> values = attrs->as<DictAttrs>().values;
  values.erase(Name(kResultNames));
  return values.empty() ? AttrsRef() : make_dict_attrs(std::move(values));
}

bool is_marked(const AttrsRef& attrs) {
  return static_cast<bool>(without_result_names(attrs));
}

}  // namespace relay
