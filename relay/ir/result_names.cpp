#include <relay/ir/result_names.h>

#include <set>
#include <string_view>

#include <relay/support/utf8.h>

namespace relay {

namespace {

// What every format of files and messages takes.
bool is_plain_text(std::string_view text) {
  constexpr size_t kLongest = 1000;
  if (text.empty() || text.size() > kLongest) return false;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0 || static_cast<unsigned char>(text[0]) < ' ') return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

std::vector<std::string> result_names(const AttrsRef& attrs, size_t count) {
  const AttrValue given = dict_attr(attrs, kResultNames);
  const auto* list = given.get<AttrValue::List>();
  if (list == nullptr || list->size() != count) return {};
  std::vector<std::string> names;
  for (const AttrValue& each : *list) {
    const auto* name = each.get<std::string>();
    if (name == nullptr || !is_plain_text(*name)) return {};
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

bool is_marked(const AttrsRef& attrs) { return static_cast<bool>(without_result_names(attrs)); }

}  // namespace relay
