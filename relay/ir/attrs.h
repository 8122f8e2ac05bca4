// Attributes: structs declared once, interned, with generic access for text, JSON and Python.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <relay/ir/attr_kinds.h>
#include <relay/runtime/dtype.h>
#include <relay/support/error.h>
#include <relay/support/hash.h>
#include <relay/support/name.h>
#include <relay/support/ref.h>

namespace relay {

class Expr;

/// The value of one attribute in generic form, as text and Python see it.
struct AttrValue {
  using List = std::vector<AttrValue>;
  /// Texts to values, sorted by text, each text once: `dict` makes them so.
  using Dict = std::vector<std::pair<std::string, AttrValue>>;
  std::variant<std::monostate, bool, int64_t, double, std::string, DType, List, Ref<const Expr>,
               Dict>
      data;

  AttrValue();  // None
  // Defined where Expr is complete: clang instantiates them early.
  AttrValue(const AttrValue& other);
  AttrValue(AttrValue&& other) noexcept;
  AttrValue& operator=(const AttrValue& other);
  AttrValue& operator=(AttrValue&& other) noexcept;
  ~AttrValue();
  template <class T, class = std::enable_if_t<!std::is_same_v<std::decay_t<T>, AttrValue>>>
  AttrValue(T&& value) : data(std::forward<T>(value)) {}  // NOLINT(google-explicit-constructor)

  static AttrValue dict(std::map<std::string, AttrValue> entries);

  bool is_none() const { return data.index() == 0; }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&data);
  }
  /// As in programs: `None`, `True`, `3`, `0.5`, `"NCHW"`, `[1, 2]`, `{"a": 1}`.
  std::string str() const;
  uint64_t hash() const;
  friend bool operator==(const AttrValue& a, const AttrValue& b);
};

struct NamedAttr {
  Name name;
  AttrValue value;
  Span span;
};

/// One field of an attributes struct.
struct AttrField {
  Name name;
  std::string doc;
  std::string type;  // "int", "bool", "float", "str", "dtype", "dict", "list<int>", "optional<int>"
  AttrKind kind = AttrKind::kPlain;
  std::span<const AttrWord> words;  // the choice, for kWord
  bool required = false;
  /// Its form in documentation: the type, or the words in quotes.
  std::string type_text() const;
  AttrValue (*get)(const void* object) = nullptr;
  /// Converts and stores a value; false if it has another type.
  bool (*set)(void* object, const AttrValue& value) = nullptr;
};

/// The description of one attributes type. One static object for each.
struct AttrsSchema {
  Name name;  // "relay.attrs.SoftmaxAttrs"
  std::vector<AttrField> fields;
  AttrValue defaults(size_t field) const;  // the value in a default-constructed object

  size_t size = 0;
  void* (*create)() = nullptr;
  void* (*copy)(const void* object) = nullptr;
  void (*destroy)(void* object) = nullptr;
};

class Attrs;
using AttrsRef = Ref<const Attrs>;

template <class T>
const AttrsSchema& attrs_schema();

/// An interned attributes object: equal attributes are one object.
class Attrs {
 public:
  template <class T>
  static AttrsRef make(T value);
  /// Builds attributes from names and values. Throws `Error`, with spans, for an unknown name or
  /// word (with the nearest ones), a duplicate, a wrong type, or a missing required field.
  static AttrsRef make(const AttrsSchema& schema, std::span<const NamedAttr> values, Span span);

  const AttrsSchema& schema() const { return *schema_; }
  /// The struct; throws InternalError if the attributes are of another type.
  template <class T>
  const T& as() const {
    RELAY_CHECK(schema_ == &attrs_schema<T>(), "attributes of another type");
    return *static_cast<const T*>(object_);
  }
  template <class T>
  bool is() const {
    return schema_ == &attrs_schema<T>();
  }
  /// All fields, or those that differ from their default, in order of declaration.
  std::vector<NamedAttr> fields(bool only_changed) const;
  uint64_t hash() const { return hash_; }

  void retain() const noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept;

 private:
  friend struct AttrsTable;
  static AttrsRef intern(const AttrsSchema& schema, void* object);  // takes ownership
  Attrs() = default;
  ~Attrs();
  mutable std::atomic<uint32_t> refs_{1};
  bool interned_ = false;
  const AttrsSchema* schema_ = nullptr;
  void* object_ = nullptr;
  uint64_t hash_ = 0;
};

/// Free-form attributes of functions (`Primitive=1`, `Compiler="x"`): sorted by name.
struct DictAttrs {
  std::map<Name, AttrValue> values;
};
/// Builds dictionary attributes, and reads one entry. A missing entry is None.
AttrsRef make_dict_attrs(std::map<Name, AttrValue> values);
AttrValue dict_attr(const AttrsRef& attrs, Name name);

/// Marks an attribute without default: `Required<int64_t> axis`.
template <class T>
struct Required {
  T value{};
  operator const T&() const { return value; }  // NOLINT(google-explicit-constructor)
  const T& operator*() const { return value; }
  const T* operator->() const { return &value; }
};

namespace attr_detail {

// Conversion between C++ field types and AttrValue. Integers become floats where a float is wanted;
// a single integer stands for a one-element list; 0 and 1 stand for booleans.
template <class T>
struct Convert;
#define RELAY_ATTR_CONVERT(Type)                         \
  template <>                                            \
  struct Convert<Type> {                                 \
    static std::string name();                           \
    static AttrValue to(const Type& value);              \
    static bool from(const AttrValue& value, Type& out); \
  };
RELAY_ATTR_CONVERT(bool)
RELAY_ATTR_CONVERT(int64_t)
RELAY_ATTR_CONVERT(double)
RELAY_ATTR_CONVERT(std::string)
RELAY_ATTR_CONVERT(DType)
RELAY_ATTR_CONVERT(AttrValue)
RELAY_ATTR_CONVERT(AttrValue::Dict)
RELAY_ATTR_CONVERT(Ref<const Expr>)
#undef RELAY_ATTR_CONVERT

template <class T>
struct Convert<std::vector<T>> {
  static std::string name() { return "list<" + Convert<T>::name() + ">"; }
  static AttrValue to(const std::vector<T>& values) {
    AttrValue::List list;
    for (const T& value : values) list.push_back(Convert<T>::to(value));
    return list;
  }
  static bool from(const AttrValue& value, std::vector<T>& out) {
    const auto* list = value.get<AttrValue::List>();
    out.clear();
    if (list == nullptr) {
      out.emplace_back();
      return !value.is_none() && Convert<T>::from(value, out.back());
    }
    for (const AttrValue& item : *list) {
      out.emplace_back();
      if (!Convert<T>::from(item, out.back())) return false;
    }
    return true;
  }
};

template <class T>
struct Convert<std::optional<T>> {
  static std::string name() { return "optional<" + Convert<T>::name() + ">"; }
  static AttrValue to(const std::optional<T>& value) {
    return value ? Convert<T>::to(*value) : AttrValue();
  }
  static bool from(const AttrValue& value, std::optional<T>& out) {
    out.reset();
    if (value.is_none()) return true;
    if (!Convert<T>::from(value, out.emplace())) return false;
    if constexpr (std::is_same_v<T, DType>) {
      if (!out->valid()) out.reset();  // "" and "void": TVM writes these for an open dtype
    }
    return true;
  }
};

template <class T>
struct Convert<Required<T>> {
  static std::string name() { return Convert<T>::name(); }
  static AttrValue to(const Required<T>& value) { return Convert<T>::to(value.value); }
  static bool from(const AttrValue& value, Required<T>& out) {
    return Convert<T>::from(value, out.value);
  }
};

// Lists, texts and numbers with a meaning convert like those without one.
template <class T>
concept HasMeaning = requires {
  typename T::Plain;
  T::kKind;
};
template <HasMeaning T>
struct Convert<T> {
  using Plain = typename T::Plain;
  static std::string name() { return Convert<Plain>::name(); }
  static AttrValue to(const T& value) { return Convert<Plain>::to(value); }
  static bool from(const AttrValue& value, T& out) {
    Plain plain{};
    if (!Convert<Plain>::from(value, plain)) return false;
    out = T(std::move(plain));
    return true;
  }
};

template <class T>
concept IsWords = std::is_enum_v<T> && requires(T value) {
  attr_words(value);
};
/// The place of a text among words; -1 if it is not among them.
int64_t find_word(std::span<const AttrWord> words, const AttrValue& value);
template <IsWords T>
struct Convert<T> {
  static std::string name() { return "str"; }
  static AttrValue to(const T& value) { return std::string(word_text(value)); }
  static bool from(const AttrValue& value, T& out) {
    int64_t found = find_word(attr_words(T{}), value);
    if (found >= 0) out = static_cast<T>(found);
    return found >= 0;
  }
};

// Kind and words of a field's type.
template <class T>
struct Meaning {
  static void set(AttrField& field) {
    if constexpr (IsWords<T>) {
      field.kind = AttrKind::kWord;
      field.words = attr_words(T{});
    } else if constexpr (HasMeaning<T>) {
      field.kind = T::kKind;
    } else if constexpr (std::is_same_v<T, DType>) {
      field.kind = AttrKind::kDType;
    }
  }
};
template <class T>
struct Meaning<std::optional<T>> : Meaning<T> {};
template <class T>
struct Meaning<Required<T>> : Meaning<T> {};

template <class T>
inline constexpr bool kIsRequired = false;
template <class T>
inline constexpr bool kIsRequired<Required<T>> = true;

template <class Object, auto Member>
AttrField make_field(const char* name, const char* doc) {
  using Field = std::decay_t<decltype(std::declval<Object>().*Member)>;
  AttrField field;
  field.name = name;
  field.doc = doc;
  field.type = Convert<Field>::name();
  Meaning<Field>::set(field);
  field.required = kIsRequired<Field>;
  field.get = [](const void* object) {
    return Convert<Field>::to(static_cast<const Object*>(object)->*Member);
  };
  field.set = [](void* object, const AttrValue& value) {
    return Convert<Field>::from(value, static_cast<Object*>(object)->*Member);
  };
  return field;
}

}  // namespace attr_detail

template <class T>
const AttrsSchema& attrs_schema() {
  static const AttrsSchema schema = [] {
    AttrsSchema s;
    s.name = T::relay_attrs_name();
    T::relay_attrs_fields(s.fields);
    s.size = sizeof(T);
    s.create = []() -> void* { return new T(); };
    s.copy = [](const void* object) -> void* { return new T(*static_cast<const T*>(object)); };
    s.destroy = [](void* object) { delete static_cast<T*>(object); };
    return s;
  }();
  return schema;
}
template <>
const AttrsSchema& attrs_schema<DictAttrs>();

template <class T>
AttrsRef Attrs::make(T value) {
  return intern(attrs_schema<T>(), new T(std::move(value)));
}

/// Registers a schema, when an operator that uses it is declared. InternalError if another schema
/// has the name.
void register_attrs_schema(const AttrsSchema& schema);

}  // namespace relay

// Declares the fields of an attributes struct, inside it, after the members:
//   struct SoftmaxAttrs {
//     attr::Axis axis = -1;
//     RELAY_ATTRS(SoftmaxAttrs, (axis, "Axis that sums to one."))
//   };
// The types in attr_kinds.h give a field its meaning; use them wherever one fits.
#define RELAY_ATTRS(Struct, ...)                                                             \
  static const char* relay_attrs_name() { return "relay.attrs." #Struct; }                   \
  static void relay_attrs_fields([[maybe_unused]] std::vector<::relay::AttrField>& fields) { \
    using RelaySelf = Struct;                                                                \
    __VA_OPT__(RELAY_EXPAND(RELAY_ATTRS_EACH(__VA_ARGS__)))                                  \
  }
#define RELAY_ATTRS_FIELD(field, doc) \
  fields.push_back(::relay::attr_detail::make_field<RelaySelf, &RelaySelf::field>(#field, doc));
#define RELAY_ATTRS_EACH(pair, ...) \
  RELAY_ATTRS_FIELD pair __VA_OPT__(RELAY_ATTRS_AGAIN RELAY_PARENS(__VA_ARGS__))
#define RELAY_ATTRS_AGAIN() RELAY_ATTRS_EACH
