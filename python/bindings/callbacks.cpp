#include <bindings/callbacks.h>

#include <algorithm>

#include <bindings/bindings.h>
#include <bindings/errors.h>
#include <relay/support/error.h>

namespace relay::python {

std::vector<std::weak_ptr<Callback::Slot>>& Callback::slots() {
  static auto* all = new std::vector<std::weak_ptr<Slot>>;  // used under the GIL alone
  return *all;
}

Callback::Callback(nb::object callable)
    : slot_(new Slot{callable.release().ptr()}, [](Slot* slot) {
        if (slot->callable != nullptr && nb::is_alive()) {
          nb::gil_scoped_acquire gil;
          Py_CLEAR(slot->callable);
        }
        delete slot;
      }) {
  // Slots that are gone are taken out when as many have come as were left: each costs constant
  // time.
  static size_t next_sweep = 64;
  if (slots().size() >= next_sweep) {
    std::erase_if(slots(), [](const auto& slot) { return slot.expired(); });
    next_sweep = std::max<size_t>(64, 2 * slots().size());
  }
  slots().push_back(slot_);
}

nb::object Callback::get() const {
  if (slot_->callable == nullptr)
    throw Error("the Python function of an operator was let go of: it can no longer be called");
  return nb::borrow(slot_->callable);
}

void Callback::drop() const { Py_CLEAR(slot_->callable); }

void drop_callbacks() {
  // A callback that goes may run code of its own (`__del__`), which may make others: these go in
  // the next round. Code that makes more each time is not waited for.
  constexpr int kMostRounds = 100;
  for (int round = 0; round < kMostRounds && !Callback::slots().empty(); ++round) {
    std::vector<std::weak_ptr<Callback::Slot>> all;
    all.swap(Callback::slots());
    for (const auto& weak : all) {
      if (auto slot = weak.lock()) Py_CLEAR(slot->callable);
    }
  }
  forget_causes();
}

std::string class_name_of(nb::handle object) {
  return nb::cast<std::string>(
      nb::str(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))).attr("__name__")));
}

nb::object exception_of(nb::python_error& error) {
  error.restore();
#if PY_VERSION_HEX >= 0x030C0000
  return nb::steal(PyErr_GetRaisedException());
#else
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return nb::steal(value);
#endif
}

namespace {

struct Raised {
  nb::object exception;
  std::string text;   // what it says, perhaps nothing
  std::string place;  // "relations.py:12", of its innermost frame
};

Raised raised_by(nb::python_error& error) {
  Raised raised;
  raised.exception = exception_of(error);
  try {
    raised.text = nb::cast<std::string>(nb::str(raised.exception));
    // The innermost frame that is not the package's own.
    nb::object package = nb::module_::import_("relay").attr("__file__");
    std::string own = nb::cast<std::string>(package);
    own.resize(own.rfind('/') + 1);
    nb::object trace = raised.exception.attr("__traceback__");
    for (; !trace.is_none(); trace = trace.attr("tb_next")) {
      nb::object name = trace.attr("tb_frame").attr("f_code").attr("co_filename");
      std::string file = nb::cast<std::string>(name);
      if (!raised.place.empty() && file.starts_with(own)) continue;
      raised.place = file + ":" + std::to_string(nb::cast<int>(trace.attr("tb_lineno")));
    }
  } catch (nb::python_error&) {  // a __str__ that raises
  }
  return raised;
}

/// The diagnostics of a RelayError; none of others.
std::vector<Diagnostic> diagnostics_of(nb::handle exception) {
  std::vector<Diagnostic> diagnostics;
  if (nb::hasattr(exception, "diagnostics"))
    nb::try_cast(nb::object(exception.attr("diagnostics")), diagnostics);
  return diagnostics;
}

// The text for what nanobind throws for values of other types than are wanted.
std::string refusal(const std::string& part, const std::exception& error) {
  std::string text = error.what();
  return part + (text.empty() ? " gave a value of another type" : ": " + text);
}

}  // namespace

void run_part(const std::string& prefix, const std::string& part,
              const std::function<void()>& body) {
  try {
    body();
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    bool is_value_error = error.matches(PyExc_ValueError);
    Raised raised = raised_by(error);
    std::vector<Diagnostic> diagnostics = diagnostics_of(raised.exception);
    if (diagnostics.empty()) {
      // ValueError is how a function says that a call is wrong; others are its own mistakes.
      bool plain = is_value_error && !raised.text.empty();
      Diagnostic made =
          Diagnostic::error(prefix + (plain ? raised.text
                                            : part + " raised " + class_name_of(raised.exception) +
                                                  (raised.text.empty() ? "" : ": " + raised.text)));
      if (!raised.place.empty()) made.note("raised by " + part + " at " + raised.place);
      diagnostics.push_back(std::move(made));
    }
    remember_cause(std::move(raised.exception), diagnostics.front().message, false);
    throw Error(std::move(diagnostics));
  } catch (const nb::builtin_exception& error) {
    throw Error(refusal(prefix + part, error));
  } catch (const nb::cast_error& error) {
    throw Error(refusal(prefix + part, error));
  }
}

nb::object run_pass_part(const std::function<std::string()>& place, bool collected,
                         const std::function<nb::object()>& body) {
  try {
    return call_back(body);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    if (!collected) {
      nb::object exception = exception_of(error);
      add_note(exception, place());
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
      throw nb::python_error();
    }
    Raised raised = raised_by(error);
    Diagnostic made = Diagnostic::error(class_name_of(raised.exception) +
                                        (raised.text.empty() ? "" : ": " + raised.text));
    if (!raised.place.empty()) made.note("raised at " + raised.place);
    remember_cause(std::move(raised.exception), made.message, false);
    throw Error(std::move(made));
  }
}

void run_kernel_part(const std::string& part, const std::function<void()>& body) {
  try {
    body();
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    Raised raised = raised_by(error);
    std::string message = part + " raised " + class_name_of(raised.exception) +
                          (raised.text.empty() ? "" : ": " + raised.text);
    remember_cause(std::move(raised.exception), message, true);
    throw RuntimeError(message);
  } catch (const nb::builtin_exception& error) {
    throw RuntimeError(refusal(part, error));
  } catch (const nb::cast_error& error) {
    throw RuntimeError(refusal(part, error));
  }
}

nb::dict keywords_of(const AttrsRef& attrs) {
  nb::dict keywords;
  if (!attrs) return keywords;
  for (const NamedAttr& attr : attrs->fields(false))
    keywords[nb::cast(attr.name)] = object_of_attr(attr.value);
  return keywords;
}

}  // namespace relay::python
