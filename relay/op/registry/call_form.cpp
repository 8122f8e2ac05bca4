#include <relay/op/registry/call_form.h>

namespace relay {

std::string call_form(const Operator& op) {
  std::string text = op.name().str() + "(";
  auto add = [&](const std::string& part) { text += (text.back() == '(' ? "" : ", ") + part; };
  for (const auto& input : op.inputs()) add(input.name.str());
  const AttrsSchema* schema = op.attrs_schema();
  for (size_t i = 0; schema != nullptr && i < schema->fields.size(); ++i) {
    const AttrField& field = schema->fields[i];
    add(field.name.str() + "=" + (field.required ? "…" : schema->defaults(i).str()));
  }
  return text + ")";
}

}  // namespace relay
