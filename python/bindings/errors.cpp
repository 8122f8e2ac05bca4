// Exceptions: the rendered diagnostics as text, and the diagnostics themselves.
#include <bindings/bindings.h>

#include <relay/support/error.h>
#include <relay/vm/machine/machine.h>

namespace relay::python {

namespace {

PyObject *relay_error, *execution_error, *internal_defect;

/// What a callback of this thread raised that became an Error.
thread_local PyObject* cause = nullptr;

/// Diagnostics in Python keep the texts that their places are in.
nb::list objects_of(const std::vector<Diagnostic>& diagnostics) {
  using Sources = std::vector<std::shared_ptr<const Source>>;
  nb::list result;
  for (const Diagnostic& diagnostic : diagnostics) {
    nb::object object = nb::cast(diagnostic);
    auto sources = std::make_unique<Sources>();
    sources->push_back(SourceMap::find(diagnostic.span));
    for (const DiagnosticNote& note : diagnostic.notes)
      sources->push_back(SourceMap::find(note.span));
    nb::detail::keep_alive(object.ptr(), sources.get(),
                           [](void* held) noexcept { delete static_cast<Sources*>(held); });
    static_cast<void>(sources.release());
    result.append(object);
  }
  return result;
}

void raise(PyObject* type, const Error& error) {
  PyObject* reason = std::exchange(cause, nullptr);
  try {
    nb::object exception = nb::borrow(type)(render(error.diagnostics()));
    exception.attr("diagnostics") = objects_of(error.diagnostics());
    if (reason != nullptr) PyException_SetCause(exception.ptr(), reason);
    PyErr_SetObject(type, exception.ptr());
  } catch (nb::python_error& failure) {
    failure.restore();
  }
}

}  // namespace

nb::object call_back(const std::function<nb::object()>& call) {
  try {
    return call();
  } catch (nb::python_error& error) {
    if (!error.matches(relay_error) || error.matches(execution_error)) throw;
    nb::object exception = nb::borrow(error.value());
    std::vector<Diagnostic> diagnostics;
    if (!nb::try_cast(nb::object(exception.attr("diagnostics")), diagnostics) ||
        diagnostics.empty())
      throw;
    Py_XSETREF(cause, exception.release().ptr());
    throw Error(std::move(diagnostics));
  }
}

void bind_errors(nb::module_& m) {
  nb::class_<DiagnosticNote>(m, "Note", "A further remark of a diagnostic.")
      .def_prop_ro("kind",
                   [](const DiagnosticNote& self) {
                     return self.kind == DiagnosticNote::Kind::kHelp ? "help" : "note";
                   })
      .def_ro("message", &DiagnosticNote::message)
      .def_ro("span", &DiagnosticNote::span);
  nb::class_<Diagnostic>(m, "Diagnostic", "One error or warning.")
      .def_prop_ro("severity",
                   [](const Diagnostic& self) {
                     return self.severity == Severity::kError ? "error" : "warning";
                   })
      .def_ro("message", &Diagnostic::message)
      .def_ro("span", &Diagnostic::span)
      .def_ro("notes", &Diagnostic::notes)
      .def("__str__", [](const Diagnostic& self) { return render(self); })
      .def("__repr__", [](const Diagnostic& self) { return "Diagnostic(" + self.message + ")"; });

  relay_error = PyErr_NewExceptionWithDoc(
      "relay.RelayError",
      "Something is wrong with a program or its data; `diagnostics` has it in parts.",
      PyExc_Exception, nullptr);
  execution_error = PyErr_NewExceptionWithDoc(
      "relay.ExecutionError", "A program failed while it ran.", relay_error, nullptr);
  internal_defect = PyErr_NewExceptionWithDoc("relay.InternalError", "A defect of Relay itself.",
                                              PyExc_RuntimeError, nullptr);
  m.attr("RelayError") = nb::borrow(relay_error);
  m.attr("ExecutionError") = nb::borrow(execution_error);
  m.attr("InternalError") = nb::borrow(internal_defect);
  nb::register_exception_translator([](const std::exception_ptr& exception, void*) {
    try {
      std::rethrow_exception(exception);
    } catch (const vm::Interrupted&) {
      if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
    } catch (const RuntimeError& error) {
      raise(execution_error, error);
    } catch (const Error& error) {
      raise(relay_error, error);
    } catch (const InternalError& error) {
      PyErr_SetString(internal_defect, error.what());
    }
  });
}

}  // namespace relay::python
