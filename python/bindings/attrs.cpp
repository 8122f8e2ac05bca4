// Attributes of calls and functions.
#include <functional>
#include <map>

#include <bindings/attrs.h>
#include <bindings/bindings.h>

#include <relay/ir/expr.h>

namespace relay::python {

const std::type_info* class_of(const Attrs*) { return &typeid(Attrs); }

namespace {

// Further words for dtypes, under the interpreter's lock.
std::map<std::string, DType, std::less<>>& dtype_words() {
  static auto& words = *new std::map<std::string, DType, std::less<>>;
  return words;
}

}  // namespace

DType dtype_of(nb::handle object) {
  auto parse = [](std::string_view text) {
    if (std::optional<DType> found = DType::parse(text)) return *found;
    if (auto word = dtype_words().find(text); word != dtype_words().end()) return word->second;
    throw nb::value_error(("there is no dtype " + std::string(text)).c_str());
  };
  if (nb::isinstance<nb::str>(object)) return parse(nb::cast<std::string_view>(object));
  if (object.is_none()) throw nb::type_error("a dtype is wanted, not None");
  // Dtypes of other packages: objects with a name (ml_dtypes' among them), or those that NumPy
  // takes for a dtype.
  if (nb::hasattr(object, "name") && nb::isinstance<nb::str>(object.attr("name"))) {
    nb::object name = object.attr("name");
    return parse(nb::cast<std::string_view>(name));
  }
  nb::object made = nb::module_::import_("numpy").attr("dtype")(object);
  nb::object name = made.attr("name");
  return parse(nb::cast<std::string_view>(name));
}

namespace {

std::optional<AttrValue> dictionary_of(nb::handle object) {
  RecursionScope nesting(" in the value of an attribute");
  std::map<std::string, AttrValue> dict;
  // A list of its own: an item's conversion may run code that changes the dictionary.
  for (nb::handle entry : nb::steal<nb::list>(PyDict_Items(object.ptr()))) {
    std::string key;
    if (!nb::try_cast(entry[0], key)) return std::nullopt;
    std::optional<AttrValue> value = attr_value_of(nb::object(entry[1]));
    if (!value) return std::nullopt;
    dict.insert_or_assign(std::move(key), std::move(*value));
  }
  return AttrValue::dict(std::move(dict));
}

}  // namespace

std::optional<AttrValue> attr_value_of(nb::handle object) {
  if (object.is_none()) return AttrValue();
  if (PyBool_Check(object.ptr())) return AttrValue(object.ptr() == Py_True);
  if (PyFloat_Check(object.ptr())) return AttrValue(PyFloat_AS_DOUBLE(object.ptr()));
  if (nb::isinstance<nb::str>(object)) return AttrValue(nb::cast<std::string>(object));
  if (PyIndex_Check(object.ptr())) {
    nb::object number = nb::steal(PyNumber_Index(object.ptr()));
    int overflow = 0;
    if (!number) {
      PyErr_Clear();
      return std::nullopt;
    }
    long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow != 0)
      throw nb::value_error(("an integer beyond 64 bits: " + shown(object)).c_str());
    return AttrValue(static_cast<int64_t>(value));
  }
  ExprRef expr;
  if (nb::try_cast(object, expr)) return AttrValue(Ref<const Expr>(expr));
  if (PyDict_Check(object.ptr())) return dictionary_of(object);
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
    RecursionScope nesting(" in the value of an attribute");
    AttrValue::List list;
    for (nb::handle item : nb::iter(object)) {
      std::optional<AttrValue> value = attr_value_of(item);
      if (!value) return std::nullopt;
      list.push_back(std::move(*value));
    }
    return AttrValue(std::move(list));
  }
  // NumPy's numbers, arrays and dtypes.
  if (PyType_Check(object.ptr()) || nb::hasattr(object, "newbyteorder")) {
    try {
      return AttrValue(dtype_of(object));
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }
  if (nb::hasattr(object, "tolist")) {
    // Attributes are short; an array of one element in memory may have any number of elements.
    constexpr int64_t kMost = int64_t{1} << 20;
    int64_t size = 0;
    if (nb::hasattr(object, "size") && nb::try_cast(object.attr("size"), size) && size > kMost)
      return std::nullopt;
    return attr_value_of(object.attr("tolist")());
  }
  if (PyNumber_Check(object.ptr()) && nb::hasattr(object, "__float__")) {
    double value = PyFloat_AsDouble(object.ptr());
    if (value == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return std::nullopt;
    }
    return AttrValue(value);
  }
  return std::nullopt;
}

nb::object object_of_attr(const AttrValue& value) {
  if (value.is_none()) return nb::none();
  if (const auto* flag = value.get<bool>()) return nb::bool_(*flag);
  if (const auto* number = value.get<int64_t>()) return nb::int_(*number);
  if (const auto* number = value.get<double>()) return nb::float_(*number);
  if (const auto* text = value.get<std::string>()) return nb::str(text->data(), text->size());
  if (const auto* dtype = value.get<DType>()) return nb::str(std::string(dtype->name()).c_str());
  if (const auto* expr = value.get<Ref<const Expr>>()) return nb::steal(object_of(expr->get()));
  if (const auto* dict = value.get<AttrValue::Dict>()) {
    nb::dict entries;
    for (const auto& [key, item] : *dict)
      entries[nb::str(key.data(), key.size())] = object_of_attr(item);
    return entries;
  }
  nb::list list;
  for (const AttrValue& item : *value.get<AttrValue::List>()) list.append(object_of_attr(item));
  return nb::tuple(list);
}

namespace {

nb::object field(const Attrs& attrs, Name name) {
  for (const NamedAttr& attr : attrs.fields(false)) {
    if (attr.name == name) return object_of_attr(attr.value);
  }
  return {};
}

std::vector<Name> names(const Attrs& attrs) {
  std::vector<Name> result;
  for (const NamedAttr& attr : attrs.fields(false)) result.push_back(attr.name);
  return result;
}

}  // namespace

std::vector<NamedAttr> named_attrs_of(
    nb::dict given, const std::function<std::string(Name name, nb::handle value)>& what) {
  std::vector<NamedAttr> result;
  for (auto [key, value] : given) {
    Name name = required<Name>(key, "the name of an attribute is a text");
    std::optional<AttrValue> converted = attr_value_of(value);
    if (!converted) throw nb::type_error(what(name, value).c_str());
    result.push_back({name, std::move(*converted), {}});
  }
  return result;
}

AttrsRef dict_attrs_of(nb::dict given) {
  std::vector<NamedAttr> attrs = named_attrs_of(given, [](Name name, nb::handle value) {
    return "attribute " + name.str() + " cannot be " + shown(value) + ": " + kAttrValues;
  });
  std::map<Name, AttrValue> values;
  for (NamedAttr& attr : attrs) values.insert_or_assign(attr.name, std::move(attr.value));
  return make_dict_attrs(std::move(values));
}

void bind_attrs(nb::module_& m) {
  m.def(
      "add_dtype_word",
      [](std::string word, DType dtype) { dtype_words().insert_or_assign(std::move(word), dtype); },
      nb::arg("word"), nb::arg("dtype"), "Makes a word stand for a dtype wherever one is given.");
  nb::class_<Attrs>(m, "Attrs",
                    "Attributes of a call or a function. Immutable; equal ones are one object.")
      .def(nb::new_([](nb::dict values, const Name& type_key) {
             if (type_key == Name("DictAttrs")) return dict_attrs_of(values);
             return attrs_of_type(type_key, values);
           }),
           nb::arg("values"), nb::arg("type_key") = "DictAttrs",
           "Attributes of a function or, by the name of their type, of an operator's calls: "
           "`Attrs({\"axis\": 1}, \"relay.attrs.SoftmaxAttrs\")`.")
      .def("keys", &names, "The names, in order of declaration.")
      .def("items",
           [](const Attrs& self) {
             std::vector<std::pair<Name, nb::object>> items;
             for (const NamedAttr& attr : self.fields(false))
               items.emplace_back(attr.name, object_of_attr(attr.value));
             return items;
           })
      .def(
          "get",
          [](const Attrs& self, Name name, nb::object otherwise) {
            nb::object found = field(self, name);
            return found.is_valid() ? found : otherwise;
          },
          nb::arg("name"), nb::arg("default") = nb::none())
      .def_prop_ro(
          "type_key", [](const Attrs& self) { return self.schema().name; },
          "The name of the attributes' type.")
      .def("__getattr__",
           [](const Attrs& self, Name name) {
             nb::object found = field(self, name);
             if (found.is_valid()) return found;
             throw nb::attribute_error(
                 (self.schema().name.str() + " has no attribute '" + name.str() + "'").c_str());
           })
      .def("__getitem__",
           [](const Attrs& self, Name name) {
             nb::object found = field(self, name);
             if (found.is_valid()) return found;
             throw nb::key_error(name.str().c_str());
           })
      .def("__contains__",
           [](const Attrs& self, Name name) { return field(self, name).is_valid(); })
      .def("__len__", [](const Attrs& self) { return self.fields(false).size(); })
      .def("__iter__", [](const Attrs& self) { return nb::iter(nb::cast(names(self))); })
      .def("__dir__", [](const Attrs& self) { return names(self); })
      .def("__repr__", [](const Attrs& self) {
        std::string text = self.schema().name.str() + "(";
        const char* between = "";
        for (const NamedAttr& attr : self.fields(false)) {
          text += between + attr.name.str() + "=" + attr.value.str();
          between = ", ";
        }
        return text + ")";
      });
  m.def(
      "dict_attrs",
      [](const std::vector<std::pair<Name, AttrValue>>& items) {
        return make_dict_attrs(std::map<Name, AttrValue>(items.begin(), items.end()));
      },
      nb::arg("items"), "Free-form attributes, as functions have them, from names and values.");
}

}  // namespace relay::python
