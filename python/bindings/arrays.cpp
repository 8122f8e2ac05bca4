// Arrays: NumPy's and everybody's who speaks DLPack, without copies in or out.
#include <bindings/arrays.h>
#include <bindings/bindings.h>

#include <nanobind/ndarray.h>

#include <relay/runtime/dlpack.h>

namespace relay::python {

namespace {

nb::module_ numpy() { return nb::module_::import_("numpy"); }

std::optional<DType> dtype_from(nb::dlpack::dtype type) {
  return dlpack::from_dlpack({type.code, type.bits, type.lanes});
}

/// An array over foreign memory; empty if `object` has none that can be used as it is.
NDArray wrapped(nb::handle object) {
  // Of what has only a buffer NumPy makes an array: it knows those of its own scalars, which say
  // other things of themselves than they are.
  static PyObject* const exporter = PyUnicode_InternFromString("__dlpack__");
  if (!PyCapsule_CheckExact(object.ptr()) &&
      PyObject_HasAttr(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())), exporter) == 0)
    return {};
  nb::ndarray<nb::ro> foreign;
  if (!nb::try_cast(object, foreign)) return {};
  if (foreign.device_type() != nb::device::cpu::value) return {};
  std::optional<DType> dtype = dtype_from(foreign.dtype());
  if (!dtype || foreign.ndim() > NDArray::kMaxRank) return {};
  std::vector<int64_t> shape(foreign.ndim()), strides(foreign.ndim());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    shape[axis] = static_cast<int64_t>(foreign.shape(axis));
    strides[axis] = foreign.stride(axis);
  }
  auto* holder = new nb::ndarray<nb::ro>(foreign);
  return NDArray::wrap(
      const_cast<void*>(foreign.data()), shape, strides.data(), *dtype,
      [](void* context) {
        if (!nb::is_alive()) return;
        Locked gil;
        delete static_cast<nb::ndarray<nb::ro>*>(context);
      },
      holder);
}

[[noreturn]] void refuse(nb::handle object, const std::string& why) {
  std::string type = nb::cast<std::string>(
      nb::str(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))).attr("__name__")));
  throw nb::type_error(("a tensor cannot be made of this " + type + ": " + why).c_str());
}

}  // namespace

NDArray array_of(nb::handle object, std::optional<DType> wanted) {
  auto fit = [&](NDArray array) {
    return wanted && array.dtype() != *wanted ? array.cast(*wanted) : array;
  };
  NDArray array;
  if (nb::try_cast(object, array)) return fit(array);
  array = wrapped(object);
  if (array) return fit(array);
  nb::object made;
  try {
    if (nb::hasattr(object, "__dlpack_device__")) {
      nb::tuple device = nb::tuple(object.attr("__dlpack_device__")());
      if (nb::cast<int>(device[0]) != 1)
        refuse(object, "it is on another device; bring it to the processor first");
    }
    nb::object given = nb::none();
    bool plain = PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr()) ||
                 PyList_Check(object.ptr()) || PyTuple_Check(object.ptr());
    if (plain && wanted && !PyBool_Check(object.ptr())) {
      std::string name(wanted->name());
      given = nb::str((name == "bfloat16" ? "float32" : name).c_str());
    }
    made = numpy().attr("asarray")(object, given);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    refuse(object, error.what());
  }
  nb::object kind = made.attr("dtype");
  std::string code = nb::cast<std::string>(kind.attr("kind"));
  std::string name = nb::cast<std::string>(nb::str(kind));
  if (code == "O") refuse(object, "NumPy makes an array of objects of it");
  if (code.find_first_of("biuf") == std::string::npos && name != "bfloat16")
    refuse(object, "elements of type " + name);
  if (!nb::cast<bool>(kind.attr("isnative")))
    made = made.attr("astype")(kind.attr("newbyteorder")("="));
  array = wrapped(made);
  if (!array && name == "bfloat16") {
    array = wrapped(made.attr("view")("uint16"));
    if (array) {
      NDArray bits = array.contiguous();
      array = NDArray::from_bytes(bits.shape(), kBFloat16,
                                  {static_cast<const std::byte*>(bits.raw()), bits.byte_size()});
    }
  }
  if (!array) refuse(object, "elements of type " + name);
  // Python's own numbers are 32 bits wide in programs, as in TVM.
  if (!wanted &&
      (PyFloat_Check(object.ptr()) || (PyLong_Check(object.ptr()) && !PyBool_Check(object.ptr()))))
    array = array.cast(PyFloat_Check(object.ptr()) ? kFloat32 : kInt32);
  return fit(array);
}

nb::object numpy_of(const NDArray& source, bool writeable) {
  NDArray array = source.is_uniform() ? source.copy() : source;
  DType dtype = array.dtype();
  bool brain = dtype == kBFloat16;
  auto type = dlpack::to_dlpack(brain ? kUInt16 : dtype);
  std::vector<size_t> shape(array.rank());
  std::vector<int64_t> strides(array.strides().begin(), array.strides().end());
  for (size_t axis = 0; axis < shape.size(); ++axis)
    shape[axis] = static_cast<size_t>(array.extent(axis));
  auto* holder = new NDArray(array);
  nb::capsule owner(holder, [](void* held) noexcept { delete static_cast<NDArray*>(held); });
  nb::ndarray<nb::numpy> view(array.raw(), shape.size(), shape.data(), owner, strides.data(),
                              nb::dlpack::dtype{type.code, type.bits, type.lanes});
  nb::object result = nb::cast(view);
  if (brain) {
    try {
      result = result.attr("view")(nb::module_::import_("ml_dtypes").attr("bfloat16"));
    } catch (nb::python_error&) {
      throw nb::type_error("NumPy has no bfloat16: install ml_dtypes, or cast to float32 first");
    }
  }
  if (!writeable) result.attr("setflags")(nb::arg("write") = false);
  return result;
}

void bind_arrays(nb::module_& m) {
  nb::class_<NDArray>(m, "NDArray",
                      "A tensor in memory. Shared, and not to be written while a program uses it.")
      .def(
          "__init__",
          [](NDArray* place, nb::handle data, std::optional<DType> dtype) {
            new (place) NDArray(array_of(data, dtype));
          },
          nb::arg("data"), nb::arg("dtype") = nb::none(),
          "From an array of NumPy or of anyone who speaks DLPack (shared, not copied), from "
          "numbers and nested lists.")
      .def_prop_ro("shape",
                   [](const NDArray& self) {
                     return nb::tuple(
                         nb::cast(std::vector<int64_t>(self.shape().begin(), self.shape().end())));
                   })
      .def_prop_ro("dtype", &NDArray::dtype)
      .def_prop_ro("ndim", &NDArray::rank)
      .def_prop_ro("size", &NDArray::size)
      .def_prop_ro("nbytes", &NDArray::byte_size)
      .def(
          "numpy", [](const NDArray& self) { return numpy_of(self); },
          "A NumPy array of the same memory, read-only since programs may share it; `.copy()` of "
          "it "
          "is writeable.")
      .def(
          "item", [](const NDArray& self) { return numpy_of(self).attr("item")(); },
          "The only element, as a Python number.")
      .def(
          "astype", [](const NDArray& self, DType dtype) { return self.cast(dtype); },
          nb::arg("dtype"))
      .def("copy", &NDArray::copy)
      .def(
          "__array__",
          [](const NDArray& self, nb::handle dtype, nb::handle copy) {
            nb::object array = numpy_of(self);
            if (!dtype.is_none()) array = array.attr("astype")(dtype);
            if (!copy.is_none() && nb::cast<bool>(copy) && dtype.is_none())
              array = array.attr("copy")();
            return array;
          },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def("__dlpack__",
           [](const NDArray& self, nb::kwargs) {
             dlpack::ManagedTensor* tensor = dlpack::export_array(self);
             PyObject* capsule = PyCapsule_New(tensor, "dltensor", [](PyObject* unused) {
               auto* left =
                   static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(unused, "dltensor"));
               if (left == nullptr) {
                 PyErr_Clear();
                 return;  // somebody took it
               }
               left->deleter(left);
             });
             return nb::steal(capsule);
           })
      .def("__dlpack_device__",
           [](const NDArray& self) {
             return std::pair<int, int>(static_cast<int>(self.device().type),
                                        static_cast<int>(self.device().id));
           })
      .def("__len__",
           [](const NDArray& self) {
             if (self.rank() == 0) throw nb::type_error("a tensor of rank 0 has no length");
             return self.extent(0);
           })
      .def("__repr__",
           [](const NDArray& self) {
             std::string text = nb::cast<std::string>(nb::repr(numpy_of(self)));
             return "relay." + (text.rfind("array", 0) == 0 ? "ND" + ("A" + text.substr(1)) : text);
           })
      .def("__reduce__", [](const NDArray& self) {
        return nb::make_tuple(nb::type<NDArray>(), nb::make_tuple(numpy_of(self)));
      });
}

}  // namespace relay::python
