// Exceptions: the rendered diagnostics as text, and the diagnostics themselves.
#include <bindings/bindings.h>
#include <bindings/callbacks.h>
#include <bindings/errors.h>

#include <relay/import/onnx/import.h>
#include <relay/support/error.h>
#include <relay/vm/machine/machine.h>

namespace relay::python {

namespace {

PyObject *relay_error, *execution_error, *internal_defect;

/// An exception of a callback of this thread that became an Error.
struct Cause {
  PyObject* exception;
  std::string message;  // of that Error
  bool itself;          // it is raised again in the place of the Error
};
thread_local std::vector<Cause> causes;
/// Errors that nobody sees leave theirs behind.
constexpr size_t kMaxCauses = 8;

/// The exception of the first diagnostic of an Error that comes from one; null if there is none.
/// Forgets those of all its diagnostics.
Cause take_cause(const Error& error) {
  Cause found{nullptr, {}, false};
  for (const Diagnostic& diagnostic : error.diagnostics()) {
    for (size_t i = causes.size(); i-- > 0;) {
      if (diagnostic.message.find(causes[i].message) == std::string::npos) continue;
      Cause cause = std::move(causes[i]);
      causes.erase(causes.begin() + static_cast<std::ptrdiff_t>(i));
      if (found.exception == nullptr) {
        found = std::move(cause);
      } else {
        Py_DECREF(cause.exception);
      }
    }
  }
  return found;
}

/// Diagnostics in Python keep the texts that their places are in.
void keep_sources(nb::handle object, const Diagnostic& diagnostic) {
  using Sources = std::vector<std::shared_ptr<const Source>>;
  auto sources = std::make_unique<Sources>();
  sources->push_back(SourceMap::find(diagnostic.span));
  for (const DiagnosticNote& note : diagnostic.notes)
    sources->push_back(SourceMap::find(note.span));
  nb::detail::keep_alive(object.ptr(), sources.get(),
                         [](void* held) noexcept { delete static_cast<Sources*>(held); });
  static_cast<void>(sources.release());
}

nb::object object_of_diagnostic(const Diagnostic& diagnostic) {
  nb::object object = nb::cast(diagnostic);
  keep_sources(object, diagnostic);
  return object;
}

nb::list objects_of(const std::vector<Diagnostic>& diagnostics) {
  nb::list result;
  for (const Diagnostic& diagnostic : diagnostics) result.append(object_of_diagnostic(diagnostic));
  return result;
}

/// One of two words; raises ValueError for others.
bool is_first(const std::string& word, const char* what, const char* first, const char* second) {
  if (word == first || word == second) return word == first;
  throw nb::value_error(
      (std::string(what) + " is \"" + first + "\" or \"" + second + "\", not \"" + word + "\"")
          .c_str());
}

/// A diagnostic of a pass in Python, from its parts.
Diagnostic diagnostic_of(std::string message, Span span, const std::string& severity,
                         nb::handle notes) {
  bool is_error = is_first(severity, "severity", "error", "warning");
  Diagnostic made = is_error ? Diagnostic::error(std::move(message), span)
                             : Diagnostic::warning(std::move(message), span);
  for (nb::handle item : nb::iter(notes)) {
    DiagnosticNote* note = nullptr;
    if (PyUnicode_Check(item.ptr())) {
      made.note(nb::cast<std::string>(item));
    } else if (nb::try_cast(item, note) && note != nullptr) {
      made.notes.push_back(*note);
    } else {
      throw nb::type_error(("a note is a Note or a text, not " + shown(item)).c_str());
    }
  }
  return made;
}

/// The error that has some diagnostics: its text is how they render.
nb::object error_of(nb::handle given) {
  std::vector<Diagnostic> diagnostics;
  Diagnostic* one = nullptr;
  if (nb::try_cast(given, one) && one != nullptr) {
    diagnostics.push_back(*one);
  } else if (!nb::try_cast(given, diagnostics)) {
    throw nb::type_error(
        ("an error is made of a Diagnostic or a list of such, not of " + shown(given)).c_str());
  }
  nb::object exception = nb::borrow(relay_error)(render(diagnostics));
  exception.attr("diagnostics") = objects_of(diagnostics);
  return exception;
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
    const std::vector<Diagnostic> diagnostics = with_onnx_nodes(error.diagnostics());
    nb::object exception = nb::borrow(type)(render(diagnostics));
    exception.attr("diagnostics") = objects_of(diagnostics);
    if (reason.is_valid()) PyException_SetCause(exception.ptr(), reason.release().ptr());
    PyErr_SetObject(type, exception.ptr());
  } catch (nb::python_error& failure) {
    failure.restore();
  }
}

void raise_defect(const InternalError& error) {
  try {
    PyErr_SetObject(internal_defect, object_of_defect(error).ptr());
  } catch (nb::python_error& failure) {
    failure.restore();
  }
}

}  // namespace

nb::object object_of_defect(const InternalError& error) {
  nb::object exception = nb::borrow(internal_defect)(error.what());
  exception.attr("diagnostics") = objects_of({Diagnostic::error(error.what())});
  return exception;
}

void add_note(nb::handle exception, const std::string& text) {
  if (!nb::hasattr(exception, "add_note")) return;
  // For a pass in a pass, only the innermost gives the help.
  size_t help = text.find("\nhelp: ");
  // As a handle: nb::str of an attribute takes texts alone.
  const nb::object notes = nb::getattr(exception, "__notes__", nb::none());
  const bool helped =
      nb::cast<std::string>(nb::str(nb::handle(notes))).find("help: ") != std::string::npos;
  exception.attr("add_note")(helped ? text.substr(0, help) : text);
}

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

std::string class_name(nb::handle object) {
  return nb::cast<std::string>(
      nb::str(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))).attr("__name__")));
}

std::string shown(nb::handle object) {
  constexpr size_t kMost = 80;
  std::string text;
  try {
    text = nb::cast<std::string>(nb::repr(object));
  } catch (nb::python_error&) {  // of the object's own
    return "a " + class_name(object);
  }
  if (text.size() > kMost) {
    size_t end = kMost;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text = text.substr(0, end) + "…";
  }
  return text;
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
      .def(
          "__init__",
          [](DiagnosticNote* place, std::string message, std::optional<Span> span,
             const std::string& kind) {
            bool is_help = is_first(kind, "kind", "help", "note");
            new (place)
                DiagnosticNote{is_help ? DiagnosticNote::Kind::kHelp : DiagnosticNote::Kind::kNote,
                               std::move(message), span.value_or(Span())};
          },
          nb::arg("message"), nb::arg("span") = nb::none(), nb::arg("kind") = "note")
      .def_prop_ro("kind",
                   [](const DiagnosticNote& self) {
                     return self.kind == DiagnosticNote::Kind::kHelp ? "help" : "note";
                   })
      .def_ro("message", &DiagnosticNote::message)
      .def_ro("span", &DiagnosticNote::span)
      .def("__repr__", [](const DiagnosticNote& self) { return "Note(" + self.message + ")"; });
  nb::class_<Diagnostic>(m, "Diagnostic", "One error or warning.")
      .def(
          "__init__",
          [](nb::pointer_and_handle<Diagnostic> place, std::string message,
             std::optional<Span> span, const std::string& severity, nb::handle notes) {
            new (place.p) Diagnostic(
                diagnostic_of(std::move(message), span.value_or(Span()), severity, notes));
            keep_sources(place.h, *place.p);
          },
          nb::arg("message"), nb::arg("span") = nb::none(), nb::arg("severity") = "error",
          nb::arg("notes") = nb::tuple(),
          "`severity` is \"error\" or \"warning\"; a note is a `Note` or a text. A pass reports "
          "one "
          "by `ctx.report`, and raises them by `raise RelayError.of([…])`.")
      .def_prop_ro("severity",
                   [](const Diagnostic& self) {
                     return self.severity == Severity::kError ? "error" : "warning";
                   })
      .def_ro("message", &Diagnostic::message)
      .def_ro("span", &Diagnostic::span)
      .def_ro("notes", &Diagnostic::notes)
      .def_ro("code", &Diagnostic::code,
              "The rule that it is about, such as \"T13\"; `relay explain` tells it.")
      .def_prop_ro(
          "fixes",
          [](const Diagnostic& self) {
            nb::list fixes;
            for (const FixIt& fix : self.fixes)
              fixes.append(nb::make_tuple(fix.span, fix.text, fix.safe));
            return fixes;
          },
          "Changes of the text that mend it, to be made together: span, new text, and whether it "
          "is safe to make them unseen.")
      .def("__str__", [](const Diagnostic& self) { return render(self); })
      .def("__repr__", [](const Diagnostic& self) { return "Diagnostic(" + self.message + ")"; })
      .def("__reduce__", [](const Diagnostic& self) {
        nb::list notes;
        for (const DiagnosticNote& note : self.notes)
          notes.append(
              nb::make_tuple(note.kind == DiagnosticNote::Kind::kHelp, note.message, note.span));
        nb::list fixes;
        for (const FixIt& fix : self.fixes)
          fixes.append(nb::make_tuple(fix.span, fix.text, fix.safe));
        return nb::make_tuple(nb::module_::import_("relay._pickle").attr("load_diagnostic"),
                              nb::make_tuple(self.severity == Severity::kError, self.message,
                                             self.span, notes, self.code, fixes));
      });
  m.def(
      "diagnostic",
      [](bool is_error, std::string message, Span span, nb::list notes, std::string code,
         nb::list fixes) {
        Diagnostic made = is_error ? Diagnostic::error(std::move(message), span)
                                   : Diagnostic::warning(std::move(message), span);
        for (nb::handle note : notes) {
          auto text = nb::cast<std::string>(note[1]);
          auto place = nb::cast<Span>(note[2]);
          if (nb::cast<bool>(note[0])) {
            made.help(std::move(text), place);
          } else {
            made.note(std::move(text), place);
          }
        }
        made.code = std::move(code);
        for (nb::handle fix : fixes)
          made.fix(nb::cast<Span>(fix[0]), nb::cast<std::string>(fix[1]), nb::cast<bool>(fix[2]));
        return object_of_diagnostic(made);
      },
      nb::arg("is_error"), nb::arg("message"), nb::arg("span"), nb::arg("notes"),
      nb::arg("code") = "", nb::arg("fixes") = nb::list(),
      "An error or warning with notes, each of which is whether it is a help, a text and a span.");

  nb::dict members;
  members["diagnostics"] = nb::tuple();  // of one that is raised in Python
  const nb::object failure = nb::steal(PyErr_NewExceptionWithDoc(
      "relay._core.Failure", "A RelayError or an InternalError.", PyExc_RuntimeError, nullptr));
  relay_error = PyErr_NewExceptionWithDoc(
      "relay.RelayError",
      "Something is wrong with a program or its data; `diagnostics` has it in parts.",
      failure.ptr(), members.ptr());
  execution_error = PyErr_NewExceptionWithDoc(
      "relay.ExecutionError", "A program failed while it ran.", relay_error, nullptr);
  internal_defect = PyErr_NewExceptionWithDoc(
      "relay.InternalError", "A defect of Relay itself.",
      nb::make_tuple(failure, nb::borrow(PyExc_RuntimeError)).ptr(), members.ptr());
  m.attr("Failure") = failure;
  m.attr("RelayError") = nb::borrow(relay_error);
  m.def("error_of", &error_of, nb::arg("diagnostics"),
        "A RelayError that says what diagnostics say, and has them.");
  m.attr("ExecutionError") = nb::borrow(execution_error);
  m.attr("InternalError") = nb::borrow(internal_defect);
  nb::register_exception_translator([](const std::exception_ptr& exception, void*) {
    // Not an exception of C++: Python unwinds this thread because the process ends.
    if (!exception) wait_for_the_end();
    try {
      std::rethrow_exception(exception);
    } catch (const vm::Interrupted&) {
      set_interrupt();
    } catch (const Stopped&) {
      set_interrupt();
    } catch (const RuntimeError& error) {
      raise(execution_error, error);
    } catch (const Error& error) {
      raise(relay_error, error);
    } catch (const InternalError& error) {
      raise_defect(error);
    } catch (const std::bad_cast&) {
      PyErr_SetString(PyExc_TypeError, "an object of another type is needed here");
    }
  });
}

}  // namespace relay::python
