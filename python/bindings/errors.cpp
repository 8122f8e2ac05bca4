// Exceptions: the rendered diagnostics as text, and the diagnostics themselves.
#include <bindings/bindings.h>
#include <bindings/callbacks.h>

#include <relay/support/error.h>
#include <relay/vm/machine/machine.h>

namespace relay::python {

namespace {

PyObject *relay_error, *execution_error, *internal_defect;

/// What a callback of this thread raised that became an Error.
struct Cause {
  PyObject* exception;
  std::string message;  // of that Error
  bool itself;          // it is raised again in the place of the Error
};
thread_local std::vector<Cause> causes;
/// Errors that nobody sees leave theirs behind.
constexpr size_t kMaxCauses = 8;

/// The exception that an Error comes from, no longer remembered; null if there is none.
Cause take_cause(const Error& error) {
  for (auto cause = causes.rbegin(); cause != causes.rend(); ++cause) {
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      if (diagnostic.message.find(cause->message) == std::string::npos) continue;
      Cause found = std::move(*cause);
      causes.erase(std::next(cause).base());
      return found;
    }
  }
  return {nullptr, {}, false};
}

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
  Cause cause = take_cause(error);
  nb::object reason = nb::steal(cause.exception);
  try {
    if (cause.itself) {
      if (nb::hasattr(reason, "add_note"))  // of Python 3.11
        reason.attr("add_note")(render(error.diagnostics()));
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(reason.ptr())), reason.ptr());
      return;
    }
    nb::object exception = nb::borrow(type)(render(error.diagnostics()));
    exception.attr("diagnostics") = objects_of(error.diagnostics());
    if (reason.is_valid()) PyException_SetCause(exception.ptr(), reason.release().ptr());
    PyErr_SetObject(type, exception.ptr());
  } catch (nb::python_error& failure) {
    failure.restore();
  }
}

}  // namespace

void remember_cause(nb::object exception, std::string message, bool itself) {
  if (causes.size() >= kMaxCauses) {
    Py_DECREF(causes.front().exception);
    causes.erase(causes.begin());
  }
  causes.push_back({exception.release().ptr(), std::move(message), itself});
}

void forget_causes() {
  for (const Cause& cause : std::exchange(causes, {})) Py_DECREF(cause.exception);
}

nb::object call_back(const std::function<nb::object()>& call) {
  try {
    return call();
  } catch (nb::python_error& error) {
    if (!error.matches(relay_error) || error.matches(execution_error)) throw;
    nb::object exception = exception_of(error);
    std::vector<Diagnostic> diagnostics;
    if (!nb::hasattr(exception, "diagnostics") ||
        !nb::try_cast(nb::object(exception.attr("diagnostics")), diagnostics) ||
        diagnostics.empty()) {
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
      throw nb::python_error();
    }
    remember_cause(std::move(exception), diagnostics.front().message, false);
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
