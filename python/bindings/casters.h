// Conversions between the library's handles and Python. A node, type or attributes object is one
// Python object as long as somebody in Python holds it, so that `is` and `==` agree with identity.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <relay/ir/module.h>
#include <relay/pattern/pattern.h>
#include <relay/runtime/dtype.h>

namespace nb = nanobind;

namespace relay::python {

/// The class in Python of a counted object's own class.
const std::type_info* class_of(const Expr* object);
const std::type_info* class_of(const Type* object);
const std::type_info* class_of(const Pattern* object);
const std::type_info* class_of(const Attrs* object);
const std::type_info* class_of(const DFPattern* object);

/// The Python object of a counted one: the one that there is, or a new one.
template <class Base>
nb::handle object_of(const Base* object, nb::detail::cleanup_list* cleanup = nullptr) {
  if (object == nullptr) return nb::none().release();
  bool is_new = false;
  auto* payload = const_cast<void*>(static_cast<const void*>(object));
  PyObject* result = nb::detail::nb_type_put(class_of(object), payload, nb::rv_policy::reference,
                                             cleanup, &is_new);
  if (result != nullptr && is_new) {
    object->retain();
    nb::detail::keep_alive(result, payload,
                           [](void* held) noexcept { static_cast<const Base*>(held)->release(); });
  }
  return result;
}

template <class T>
using BaseOf = std::conditional_t<
    std::is_base_of_v<Expr, T>, Expr,
    std::conditional_t<
        std::is_base_of_v<Type, T>, Type,
        std::conditional_t<std::is_base_of_v<Pattern, T>, Pattern,
                           std::conditional_t<std::is_base_of_v<DFPattern, T>, DFPattern, Attrs>>>>;

/// A dtype from what NumPy and its like take for one: "float32", np.float32, np.dtype("float32").
/// Throws nb::type_error.
DType dtype_of(nb::handle object);
/// A dimension from an integer, a `Dim` or a type variable of kind ShapeVar. Nothing if it is none
/// of these.
std::optional<Dim> dim_of(nb::handle object);
nb::object object_of_dim(Dim dim);
/// Attribute values from Python's numbers, texts, lists, tuples, dtypes and expressions. Nothing
/// for others.
std::optional<AttrValue> attr_value_of(nb::handle object);
nb::object object_of_attr(const AttrValue& value);
/// The expression inside an object that stands for one without being a node (`TupleWrapper`); false
/// if it is none.
bool expr_in(nb::handle object, Ref<const Expr>& expr) noexcept;

}  // namespace relay::python

namespace nanobind::detail {

template <class T>
struct type_caster<relay::Ref<const T>> {
  static constexpr bool IsClass = true;
  NB_TYPE_CASTER(relay::Ref<const T>, make_caster<T>::Name)

  bool from_python(handle source, uint8_t flags, cleanup_list* cleanup) noexcept {
    void* found = nullptr;
    flags &= static_cast<uint8_t>(~static_cast<uint8_t>(cast_flags::convert));
    if (source.is_none()) return false;
    if (nb_type_get(&typeid(T), source.ptr(), flags, cleanup, &found)) {
      value = Value(static_cast<const T*>(found));
      return true;
    }
    if constexpr (std::is_same_v<T, relay::Expr>) return relay::python::expr_in(source, value);
    return false;
  }
  static handle from_cpp(const Value& value, rv_policy, cleanup_list* cleanup) noexcept {
    return relay::python::object_of(static_cast<const relay::python::BaseOf<T>*>(value.get()),
                                    cleanup);
  }
};

template <>
struct type_caster<relay::Name> {
  NB_TYPE_CASTER(relay::Name, const_name("str"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    if (!PyUnicode_Check(source.ptr())) return false;
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(source.ptr(), &size);
    if (text == nullptr) {
      PyErr_Clear();
      return false;
    }
    value = relay::Name(std::string_view(text, static_cast<size_t>(size)));
    return true;
  }
  static handle from_cpp(relay::Name name, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_FromStringAndSize(name.view().data(),
                                       static_cast<Py_ssize_t>(name.view().size()));
  }
};

template <>
struct type_caster<relay::DType> {
  NB_TYPE_CASTER(relay::DType, const_name("str"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    try {
      value = relay::python::dtype_of(source);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }
  static handle from_cpp(relay::DType dtype, rv_policy, cleanup_list*) noexcept {
    std::string_view name = dtype.name();
    return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
  }
};

template <>
struct type_caster<relay::Dim> {
  NB_TYPE_CASTER(relay::Dim, const_name("int | Dim"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    try {
      std::optional<relay::Dim> found = relay::python::dim_of(source);
      if (found) value = *found;
      return found.has_value();
    } catch (const std::exception&) {
      return false;
    }
  }
  static handle from_cpp(relay::Dim dim, rv_policy, cleanup_list*) noexcept {
    return relay::python::object_of_dim(dim).release();
  }
};

template <>
struct type_caster<relay::AttrValue> {
  NB_TYPE_CASTER(relay::AttrValue, const_name("object"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    try {
      std::optional<relay::AttrValue> found = relay::python::attr_value_of(source);
      if (found) value = std::move(*found);
      return found.has_value();
    } catch (const std::exception&) {
      return false;
    }
  }
  static handle from_cpp(const relay::AttrValue& value, rv_policy, cleanup_list*) noexcept {
    return relay::python::object_of_attr(value).release();
  }
};

}  // namespace nanobind::detail
