#include <relay/ir/dynamic_attrs.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include <relay/ir/expr.h>
#include <relay/support/fork_mutex.h>

namespace relay {
namespace {

// "int" of "list<int>", if it is one.
bool unwrap(std::string& type, std::string_view wrapper) {
  if (!type.starts_with(wrapper) || type.size() <= wrapper.size() + 1 ||
      type[wrapper.size()] != '<' || !type.ends_with('>'))
    return false;
  type = type.substr(wrapper.size() + 1, type.size() - wrapper.size() - 2);
  return true;
}

template <class T>
bool as(AttrValue& value) {
  T converted{};
  if (!attr_detail::Convert<T>::from(value, converted)) return false;
  value = attr_detail::Convert<T>::to(converted);
  return true;
}

bool is_element(std::string_view type) {
  return type == "int" || type == "float" || type == "bool" || type == "str" || type == "dtype" ||
         type == "dict" || type == "any";
}

bool convert_element(std::string_view type, AttrValue& value) {
  if (type == "int") return as<int64_t>(value);
  if (type == "float") return as<double>(value);
  if (type == "bool") return as<bool>(value);
  if (type == "str") return as<std::string>(value);
  if (type == "dtype") return !value.is_none() && as<DType>(value);
  if (type == "dict") return as<AttrValue::Dict>(value);
  return true;
}

}  // namespace

bool DynamicSchema::convert(size_t i, AttrValue& value) const {
  const Field& form = forms[i];
  if (value.is_none() && form.may_be_none) return true;
  if (form.is_list) {
    if (value.is_none()) return false;
    const auto* given = value.get<AttrValue::List>();
    AttrValue::List list = given == nullptr ? AttrValue::List{value} : *given;
    for (AttrValue& item : list) {
      if (!convert_element(form.element, item)) return false;
    }
    value = std::move(list);
    return true;
  }
  if (!fields[i].words.empty()) return attr_detail::find_word(fields[i].words, value) >= 0;
  return convert_element(form.element, value);
}

const DynamicSchema& make_dynamic_schema(Name name, std::vector<DynamicAttr> attrs) {
  static ForkMutex mutex;
  static auto* all = new std::deque<DynamicSchema>;
  DynamicSchema schema;
  schema.name = name;
  for (DynamicAttr& attr : attrs) {
    if (attr.name.empty()) throw Error("an attribute has a name");
    for (const AttrField& other : schema.fields) {
      if (other.name.view() == attr.name)
        throw Error("attribute " + attr.name + " is declared twice");
    }
    AttrField field;
    field.name = Name(attr.name);
    field.doc = std::move(attr.doc);
    field.type = attr.type;
    field.kind = attr.words.empty() ? attr.kind : AttrKind::kWord;
    field.required = !attr.otherwise;
    DynamicSchema::Field form;
    form.element = attr.type;
    form.may_be_none = unwrap(form.element, "optional");
    form.is_list = unwrap(form.element, "list");
    if (!is_element(form.element)) {
      throw Error(
          "attribute " + attr.name + " cannot be of type " + attr.type +
          "; types are int, float, bool, str, dtype, dict and any, lists and optional ones");
    }
    if (form.element == "dtype" && !form.is_list) field.kind = AttrKind::kDType;
    for (auto& [text, doc] : attr.words) {
      schema.texts.push_back(std::move(text));
      schema.texts.push_back(std::move(doc));
    }
    schema.words.emplace_back(attr.words.size());
    schema.fields.push_back(std::move(field));
    schema.forms.push_back(std::move(form));
  }
  DynamicSchema* made;
  {
    std::lock_guard lock(mutex);
    made = &all->emplace_back(std::move(schema));
  }
  size_t text = 0;  // words refer to the texts at their last place
  for (size_t i = 0; i < attrs.size(); ++i) {
    for (AttrWord& word : made->words[i]) {
      word.text = made->texts[text++];
      word.doc = made->texts[text++];
    }
    made->fields[i].words = made->words[i];
    if (!attrs[i].otherwise) continue;
    AttrValue value = *attrs[i].otherwise;
    if (!made->convert(i, value)) {
      throw Error("the default of attribute " + attrs[i].name + " is " + attrs[i].otherwise->str() +
                  ", which is not " + made->fields[i].type_text());
    }
    made->forms[i].otherwise = std::move(value);
  }
  return *made;
}

}  // namespace relay
