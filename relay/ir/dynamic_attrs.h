// Attributes types that are made while the program runs, for operators from Python.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <relay/ir/attrs.h>

namespace relay {

/// One attribute to declare. `type` is written like `AttrField::type`: "int", "list<float>",
/// "optional<dtype>".
struct DynamicAttr {
  std::string name;
  std::string doc;
  std::string type;
  AttrKind kind = AttrKind::kPlain;
  std::vector<std::pair<std::string, std::string>> words;  // with documentation; type "str"
  std::optional<AttrValue> otherwise;                      // the default; nothing: required
};

/// A schema whose objects are lists of values, one for each field. It has neither functions of its
/// own (`create` and the rest are null) nor an entry in the table of names.
struct DynamicSchema : AttrsSchema {
  struct Field {
    std::string element;  // the type without the list or option around it: "int"
    bool is_list = false, may_be_none = false;
    AttrValue otherwise;
  };
  std::vector<Field> forms;
  std::vector<std::vector<AttrWord>> words;
  std::vector<std::string> texts;  // of the words

  /// Converts a value to the type of field i, like fields of C++ structs; false if it has another
  /// type.
  bool convert(size_t i, AttrValue& value) const;
};

/// Makes a schema, which lives for ever because attributes refer to it. Throws Error for an invalid
/// declaration: a name twice, an unknown type, a default of another type.
const DynamicSchema& make_dynamic_schema(Name name, std::vector<DynamicAttr> attrs);

}  // namespace relay
