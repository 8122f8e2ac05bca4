// Arrays: NumPy's and everybody's who speaks DLPack, without copies in or out.
#include <bindings/arrays.h>
#include <bindings/bindings.h>
#include <bindings/numbers.h>

#include <nanobind/ndarray.h>

#include <relay/runtime/dlpack.h>
#include <relay/runtime/hand_over.h>

namespace relay::python {

namespace {

nb::module_ numpy() { return nb::module_::import_("numpy"); }

std::string refused(nb::handle object, const std::string& why) {
  return "a tensor cannot be made of this " + class_name(object) + ": " + why;
}

[[noreturn]] void refuse(nb::handle object, const std::string& why) {
  throw Refusal(refused(object, why));
}

std::string text_of(const nb::python_error& error) {
  std::string text = nb::cast<std::string>(nb::str(error.value()));
  std::string type = nb::cast<std::string>(nb::str(error.type().attr("__name__")));
  return type + (text.empty() ? "" : ": " + text);
}

/// The reason why a DLPack tensor cannot be used; empty if it can.
std::string unusable(const dlpack::Tensor& tensor) {
  const dlpack::DataType& type = tensor.dtype;
  if (type.lanes != 1) return "its elements have " + std::to_string(type.lanes) + " lanes";
  if (!dlpack::from_dlpack(type)) {
    return "no element type has DLPack's type code " + std::to_string(type.code) + " with " +
           std::to_string(type.bits) + " bits";
  }
  if (tensor.device.type != DeviceType::kCpu)
    return "it is on another device; bring it to the processor first";
  if (tensor.ndim < 0 || tensor.ndim > static_cast<int32_t>(NDArray::kMaxRank)) {
    return "it has " + std::to_string(tensor.ndim) + " dimensions; 0 to " +
           std::to_string(NDArray::kMaxRank) + " are possible";
  }
  if (tensor.ndim > 0 && tensor.shape == nullptr) return "it has no shape";
  return "";
}

PyObject* numpy_array_type() {
  static PyObject* const type = nb::object(numpy().attr("ndarray")).release().ptr();
  return type;
}

/// The element type of a buffer, by its format in the struct module's letters; nothing if it is
/// none of ours, or its elements are not the machine's own.
std::optional<DType> dtype_of_buffer(const Py_buffer& buffer) {
  const char* format = buffer.format;
  if (format == nullptr || format[0] == 0 || format[1] != 0) return std::nullopt;
  const auto bits = static_cast<uint8_t>(buffer.itemsize * 8);
  switch (format[0]) {
    case '?':
      return kBool;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return dlpack::from_dlpack({dlpack::to_dlpack(kInt32).code, bits, 1});
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return dlpack::from_dlpack({dlpack::to_dlpack(kUInt8).code, bits, 1});
    case 'e':
    case 'f':
    case 'd':
      return dlpack::from_dlpack({dlpack::to_dlpack(kFloat32).code, bits, 1});
    default:
      return std::nullopt;
  }
}

/// The memory of a result, for the array of NumPy that shows it.
struct ResultMemory {
  NDArray array;
  bool writeable = true;
  /// Arrays of Relay over it that NumPy's array was made into: arguments of calls that run, say.
  /// Under the lock of the interpreter.
  int64_t readers = 0;
};

/// The memory that an array of NumPy, or a view of one, shows; none if it is no result.
nb::object result_memory(nb::handle array) {
  static PyObject* const name = PyUnicode_InternFromString("base");
  constexpr int kMostViews = 8;
  nb::object at = nb::borrow(array);
  for (int view = 0; view < kMostViews; ++view) {
    at = nb::steal(PyObject_GetAttr(at.ptr(), name));
    if (!at.is_valid()) {
      PyErr_Clear();
      return {};
    }
    if (Py_TYPE(at.ptr()) != reinterpret_cast<PyTypeObject*>(numpy_array_type())) break;
  }
  return nb::isinstance<ResultMemory>(at) ? at : nb::object();
}

/// An array over the memory of NumPy's by the buffer protocol, which costs a third of what DLPack
/// does; empty if its elements are not as tensors have them.
NDArray wrapped_buffer(nb::handle object) {
  struct Held {
    Py_buffer buffer{};
    nb::object memory;  // of a result
    ~Held() {
      if (memory.is_valid()) --nb::inst_ptr<ResultMemory>(memory)->readers;
      PyBuffer_Release(&buffer);
    }
  };
  auto held = std::make_unique<Held>();
  Py_buffer& buffer = held->buffer;
  if (PyObject_GetBuffer(object.ptr(), &buffer, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return {};
  }
  std::optional<DType> dtype = dtype_of_buffer(buffer);
  if (!dtype || buffer.ndim > static_cast<int>(NDArray::kMaxRank)) return {};
  std::array<int64_t, NDArray::kMaxRank> shape{}, strides{};
  for (int axis = 0; axis < buffer.ndim; ++axis) {
    if (buffer.strides[axis] % buffer.itemsize != 0) return {};
    shape[static_cast<size_t>(axis)] = buffer.shape[axis];
    strides[static_cast<size_t>(axis)] = buffer.strides[axis] / buffer.itemsize;
  }
  held->memory = result_memory(object);
  if (held->memory.is_valid()) ++nb::inst_ptr<ResultMemory>(held->memory)->readers;
  return NDArray::wrap(
      buffer.buf, {shape.data(), static_cast<size_t>(buffer.ndim)}, strides.data(), *dtype,
      [](void* context) {
        if (!nb::is_alive()) return;
        Locked gil;
        delete static_cast<Held*>(context);
      },
      held.release());
}

/// An array over foreign memory; empty if `object` has none that can be used as it is.
NDArray wrapped(nb::handle object) {
  if (Py_TYPE(object.ptr()) == reinterpret_cast<PyTypeObject*>(numpy_array_type())) {
    if (NDArray array = wrapped_buffer(object)) return array;
  }
  // From an object that has only a buffer NumPy makes an array: it knows those of its own scalars,
  // which say other things of themselves than they are.
  static PyObject* const exporter = PyUnicode_InternFromString("__dlpack__");
  if (!PyCapsule_CheckExact(object.ptr()) &&
      PyObject_HasAttr(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())), exporter) == 0)
    return {};
  nb::ndarray<nb::ro> foreign;
  if (!nb::try_cast(object, foreign)) return {};
  dlpack::Tensor header{};
  header.device.type = static_cast<DeviceType>(foreign.device_type());
  header.ndim = static_cast<int32_t>(foreign.ndim());
  header.dtype = {foreign.dtype().code, foreign.dtype().bits, foreign.dtype().lanes};
  header.shape = const_cast<int64_t*>(foreign.shape_ptr());
  if (std::string why = unusable(header); !why.empty()) {
    // Others are asked again; a capsule has been taken.
    if (PyCapsule_CheckExact(object.ptr())) refuse(object, why);
    return {};
  }
  DType dtype = *dlpack::from_dlpack(header.dtype);
  std::vector<int64_t> shape(foreign.ndim()), strides(foreign.ndim());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    shape[axis] = static_cast<int64_t>(foreign.shape(axis));
    strides[axis] = foreign.stride(axis);
  }
  auto* holder = new nb::ndarray<nb::ro>(foreign);
  return NDArray::wrap(
      const_cast<void*>(foreign.data()), shape, strides.data(), dtype,
      [](void* context) {
        if (!nb::is_alive()) return;
        Locked gil;
        delete static_cast<nb::ndarray<nb::ro>*>(context);
      },
      holder);
}

/// Why nothing could be taken over from an object that speaks DLPack; empty for other objects.
std::string why_not_exchanged(nb::handle object) {
  nb::object capsule = nb::borrow(object);
  if (!PyCapsule_CheckExact(object.ptr())) {
    if (!nb::hasattr(object, "__dlpack__")) return "";
    try {
      capsule = object.attr("__dlpack__")();
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) throw;
      throw Refusal(refused(object, "its __dlpack__ raised " + text_of(error)), error);
    }
    if (!PyCapsule_CheckExact(capsule.ptr()))
      return "its __dlpack__ gave " + shown(capsule) + ", which is not a capsule";
  }
  const char* name = PyCapsule_GetName(capsule.ptr());
  std::string kind = name == nullptr ? "" : name;
  if (kind == "used_dltensor" || kind == "used_dltensor_versioned")
    return "its DLPack tensor was taken already";
  void* held = PyCapsule_GetPointer(capsule.ptr(), name);
  if (held == nullptr) PyErr_Clear();
  std::string why;
  if (kind == "dltensor" && held != nullptr)
    why = unusable(static_cast<dlpack::ManagedTensor*>(held)->tensor);
  if (kind == "dltensor_versioned" && held != nullptr)
    why = unusable(static_cast<dlpack::ManagedTensorVersioned*>(held)->tensor);
  return why.empty() ? "it holds no DLPack tensor that can be read" : why;
}

/// What a capsule of this name holds; null for other names.
void* held_by(nb::handle capsule, const char* name) {
  return PyCapsule_IsValid(capsule.ptr(), name) != 0 ? PyCapsule_GetPointer(capsule.ptr(), name)
                                                     : nullptr;
}

/// An array over the memory that an object of DLPack shows, and if its owner lets others write
/// there: nothing where the object exchanges by a version before 1, which cannot say so.
std::pair<NDArray, std::optional<bool>> exchanged_array(nb::handle object) {
  nb::object capsule = nb::borrow(object);
  if (!PyCapsule_CheckExact(object.ptr())) {
    if (!nb::hasattr(object, "__dlpack__")) refuse(object, "it does not speak DLPack");
    try {
      try {
        capsule = object.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(1, 0));
      } catch (nb::python_error& error) {
        // One who knows no versions.
        if (!error.matches(PyExc_TypeError)) throw;
        capsule = object.attr("__dlpack__")();
      }
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) throw;
      throw Refusal(refused(object, "its __dlpack__ raised " + text_of(error)), error);
    }
    if (!PyCapsule_CheckExact(capsule.ptr()))
      refuse(object, "its __dlpack__ gave " + shown(capsule) + ", which is not a capsule");
  }
  std::optional<bool> writeable;
  const dlpack::Tensor* tensor = nullptr;
  if (void* held = held_by(capsule, "dltensor_versioned")) {
    auto* versioned = static_cast<dlpack::ManagedTensorVersioned*>(held);
    writeable = (versioned->flags & dlpack::kReadOnly) == 0;
    tensor = &versioned->tensor;
  } else if (void* older = held_by(capsule, "dltensor")) {
    tensor = &static_cast<dlpack::ManagedTensor*>(older)->tensor;
  }
  const std::byte* place = tensor != nullptr && tensor->data != nullptr
                               ? static_cast<const std::byte*>(tensor->data) + tensor->byte_offset
                               : nullptr;
  NDArray array = tensor != nullptr ? wrapped(capsule) : NDArray();
  if (!array) refuse(object, why_not_exchanged(capsule));
  if (array.size() != 0 && array.raw() != place)
    refuse(object, "its elements are not at multiples of their size, as those of arrays are");
  // Who writes to one element does not expect all of them to change.
  if (array.is_uniform()) writeable = false;
  return {array, writeable};
}

/// The same elements under another type of as many bits.
NDArray seen_as(const NDArray& array, DType dtype) {
  return NDArray::wrap(
      array.raw(), array.shape(), array.strides().data(), dtype,
      [](void* context) { delete static_cast<NDArray*>(context); }, new NDArray(array));
}

/// An array of NumPy as a tensor: copied where its elements are not where tensors have them.
NDArray array_of_numpy(nb::handle object, nb::object made) {
  nb::object kind = made.attr("dtype");
  std::string code = nb::cast<std::string>(kind.attr("kind"));
  std::string name = nb::cast<std::string>(nb::str(kind));
  if (code == "O") {
    std::string why = made.is(object) ? "" : why_not_exchanged(object);
    refuse(object,
           why.empty() ? "it holds no numbers (NumPy makes an array of objects of it)" : why);
  }
  if (const std::string text = unreadable_text(kind); !text.empty()) refuse(object, text);
  if (code.find_first_of("biuf") == std::string::npos && name != "bfloat16")
    refuse(object, "elements of type " + name);
  auto rank = nb::cast<size_t>(made.attr("ndim"));
  if (rank > NDArray::kMaxRank) {
    refuse(object, "it has " + std::to_string(rank) + " dimensions; " +
                       std::to_string(NDArray::kMaxRank) + " are the most");
  }
  if (!nb::cast<bool>(kind.attr("isnative")))
    made = made.attr("astype")(kind.attr("newbyteorder")("="));
  NDArray array = wrapped(made);
  if (!array && name == "bfloat16") {
    array = wrapped(made.attr("view")("uint16"));
    if (array) array = seen_as(array, kBFloat16);
  }
  // A field of a structure may be at bytes that are no multiple of its size.
  if (!array) array = wrapped(made.attr("copy")());
  if (!array) refuse(object, "elements of type " + name);
  return array;
}

int buffer_of_memory(PyObject* self, Py_buffer* buffer, int flags) {
  // Where it says read-only, NumPy's flag cannot be set again either.
  const ResultMemory& memory = *nb::inst_ptr<ResultMemory>(self);
  return PyBuffer_FillInfo(buffer, self, memory.array.raw(),
                           static_cast<Py_ssize_t>(memory.array.byte_size()),
                           memory.writeable ? 0 : 1, flags);
}

/// NumPy's object for an element type.
nb::handle numpy_dtype(DType dtype) {
  static std::vector<std::pair<DType, PyObject*>> known;
  for (const auto& [type, object] : known) {
    if (type == dtype) return object;
  }
  nb::object made = numpy().attr("dtype")(std::string(dtype.name()));
  return known.emplace_back(dtype, made.release().ptr()).second;
}

template <class Managed>
nb::object capsule_of(Managed* tensor, const char* name) {
  PyObject* capsule = PyCapsule_New(tensor, name, [](PyObject* unused) {
    // The taker gives it another name.
    const char* now = PyCapsule_GetName(unused);
    if (now == nullptr || std::string_view(now).starts_with("used")) return;
    auto* left = static_cast<Managed*>(PyCapsule_GetPointer(unused, now));
    left->deleter(left);
  });
  if (capsule == nullptr) {
    tensor->deleter(tensor);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

/// True if the receiver knows versions of DLPack; an error for memory on another device.
bool is_versioned(const NDArray& self, nb::handle max_version, nb::handle dl_device) {
  const std::pair<int, int> own(static_cast<int>(self.device().type), self.device().id);
  if (!dl_device.is_none() && nb::cast<std::pair<int, int>>(dl_device) != own)
    throw nb::buffer_error("a tensor is exchanged on the device where it is");
  return !max_version.is_none() && nb::cast<int>(nb::tuple(max_version)[0]) >= 1;
}

/// `__dlpack__` of the array interface standard.
nb::object exchanged(const NDArray& self, nb::handle, nb::handle max_version, nb::handle dl_device,
                     nb::handle copy) {
  const bool versioned = is_versioned(self, max_version, dl_device);
  const bool copied = !copy.is_none() && nb::cast<bool>(copy);
  const bool shared = self.unique() || (versioned && !self.is_uniform());
  if (!copy.is_none() && !copied && !shared)
    throw nb::buffer_error("the tensor's memory is not the caller's alone: it has to be copied");
  if (versioned)
    return capsule_of(dlpack::export_array_versioned(self, copied), "dltensor_versioned");
  return capsule_of(dlpack::export_array(copied ? self.copy() : self), "dltensor");
}

/// The same of an array that several write.
nb::object exchanged_writable(const NDArray& self, nb::handle stream, nb::handle max_version,
                              nb::handle dl_device, nb::handle copy) {
  if (!copy.is_none() && nb::cast<bool>(copy))
    return exchanged(self, stream, max_version, dl_device, copy);
  if (is_versioned(self, max_version, dl_device))
    return capsule_of(dlpack::export_writable_versioned(self), "dltensor_versioned");
  return capsule_of(dlpack::export_writable(self), "dltensor");
}

}  // namespace

nb::object numpy_array_of(nb::handle object) {
  try {
    return numpy().attr("asarray")(object);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    throw Refusal(refused(object, text_of(error)), error);
  }
}

namespace {
constexpr const char* kUnreadable = "given away ";
}

nb::object unreadable_dtype(const std::string& text, size_t bytes) {
  nb::list fields;
  fields.append(nb::make_tuple(kUnreadable + text, "V" + std::to_string(bytes)));
  return numpy().attr("dtype")(fields);
}

std::string unreadable_text(nb::handle dtype) {
  nb::object names = dtype.attr("names");
  if (names.is_none() || nb::len(names) != 1) return {};
  std::string text = nb::cast<std::string>(nb::str(names[0]));
  return text.rfind(kUnreadable, 0) == 0 ? text : std::string();
}

NDArray array_of(nb::handle object, std::optional<DType> wanted) {
  auto fit = [&](NDArray array) {
    return wanted && array.dtype() != *wanted ? array.cast(*wanted) : array;
  };
  NDArray array;
  if (nb::try_cast(object, array)) return fit(array);
  if (wanted && is_plain(object)) return plain_array(object, *wanted);
  if (PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr())) return plain_number(object);
  array = wrapped(object);
  if (array) return fit(array);
  if (nb::hasattr(object, "__dlpack_device__")) {
    int device = 1;
    try {
      device = nb::cast<int>(nb::tuple(object.attr("__dlpack_device__")())[0]);
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) throw;
      throw Refusal(refused(object, "its __dlpack_device__ raised " + text_of(error)), error);
    } catch (const std::bad_cast&) {
      refuse(object, "its __dlpack_device__ gives no pair of integers");
    }
    if (device != 1) refuse(object, "it is on another device; bring it to the processor first");
  }
  return fit(array_of_numpy(object, numpy_array_of(object)));
}

NDArray given_array(nb::handle object) {
  if (Py_TYPE(object.ptr()) != reinterpret_cast<PyTypeObject*>(numpy_array_type())) return {};
  nb::object base = object.attr("base");
  ResultMemory* memory = nullptr;
  if (!nb::try_cast(base, memory) || memory == nullptr || !memory->writeable) return {};
  // A call of another thread may read it, or an array of Relay made of it.
  if (memory->readers != 0) return {};
  const NDArray& own = memory->array;
  if (!own.unique() || !own.is_contiguous() || own.size() == 0 ||
      own.memory_bytes() != own.byte_size())
    return {};
  // A part of it, or the same in another shape, stays a view.
  NDArray seen = wrapped_buffer(object);
  if (!seen || seen.raw() != own.raw() || seen.dtype() != own.dtype() || !seen.is_contiguous() ||
      !std::equal(seen.shape().begin(), seen.shape().end(), own.shape().begin(), own.shape().end()))
    return {};
  return hand_over(own);
}

nb::object numpy_of(const NDArray& source, bool writeable) {
  NDArray array = source.is_uniform() ? source.copy() : source;
  DType dtype = array.dtype();
  bool brain = dtype == kBFloat16;
  if (!brain && array.is_contiguous()) {
    nb::object shape = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(array.rank())));
    if (!shape.is_valid()) throw nb::python_error();
    for (size_t axis = 0; axis < array.rank(); ++axis)
      PyTuple_SET_ITEM(shape.ptr(), static_cast<Py_ssize_t>(axis),
                       PyLong_FromLongLong(array.extent(axis)));
    nb::object memory = nb::cast(ResultMemory{array, writeable});
    PyObject* arguments[] = {shape.ptr(), numpy_dtype(dtype).ptr(), memory.ptr()};
    nb::object made = nb::steal(PyObject_Vectorcall(numpy_array_type(), arguments, 3, nullptr));
    if (!made.is_valid()) throw nb::python_error();
    return made;
  }
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
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(buffer_of_memory)},
                                {0, nullptr}};
  nb::class_<ResultMemory>(m, "ResultMemory", "The memory behind an array that a program gave.",
                           nb::type_slots(slots));
  m.def(
      "exact_array",
      [](nb::handle data, DType dtype) {
        try {
          return is_plain(data) ? plain_array(data, dtype) : exact_array(array_of(data), dtype);
        } catch (const Refusal& refusal) {
          refusal.raise();
        }
      },
      nb::arg("data"), nb::arg("dtype"),
      "Numbers or an array in a dtype. Raises TypeError and OverflowError where they would become "
      "others.");
  m.def(
      "exchanged_array",
      [](nb::handle data) {
        try {
          return exchanged_array(data);
        } catch (const Refusal& refusal) {
          refusal.raise();
        }
      },
      nb::arg("data"),
      "An array over the memory that an object of DLPack shows, and True if its owner lets others "
      "write there; None if it cannot say.");
  m.def("exchanged_writable", exchanged_writable, nb::arg("array"), nb::kw_only(),
        nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
        nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(),
        "A capsule of DLPack over the memory of an array that its receivers may write.");
  nb::class_<NDArray>(m, "NDArray",
                      "A tensor in memory. Shared, and not to be written while a program uses it.")
      .def(
          "__init__",
          [](NDArray* place, nb::handle data, std::optional<DType> dtype) {
            try {
              new (place) NDArray(array_of(data, dtype));
            } catch (const Refusal& refusal) {
              refusal.raise();
            }
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
      .def("__dlpack__", exchanged, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none(),
           "A capsule of DLPack: of version 1 for who asks for it by `max_version`, where memory "
           "that others have too is marked as read-only, else of the version before, for which "
           "such memory is copied.")
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
  bind_watch(m);
}

}  // namespace relay::python
