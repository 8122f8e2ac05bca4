// Python functions that the library calls for operators, and the handling of their exceptions.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <bindings/casters.h>

namespace relay::python {

/// A callable that the library keeps as long as an operator can be called. Copies share it; all let
/// go of it at `drop`, or when the interpreter ends.
class Callback {
 public:
  explicit Callback(nb::object callable);
  /// Throws Error if it was let go of. With the GIL held.
  nb::object get() const;
  void drop() const;

 private:
  struct Slot {
    PyObject* callable = nullptr;
  };
  friend void drop_callbacks();
  static std::vector<std::weak_ptr<Slot>>& slots();
  std::shared_ptr<Slot> slot_;
};

/// Lets go of all callables and of the exceptions that this thread remembers.
void drop_callbacks();

/// Runs Python code of an operator, with the GIL held. An exception becomes an Error, and is the
/// `__cause__` of the exception that Python sees: its own words after `prefix` ("my.op: ") if it is
/// a ValueError, else with `part` ("its relation") too. Exceptions that are no `Exception` (Ctrl-C)
/// go through.
void run_part(const std::string& prefix, const std::string& part,
              const std::function<void()>& body);

/// The same for a kernel, while a program runs: a RuntimeError for the executors, so that they say
/// where; what gets back to Python is the exception itself, with that as a note.
void run_kernel_part(const std::string& part, const std::function<void()>& body);

/// Runs a pass that is written in Python, with the GIL held. Its exception goes through unchanged,
/// with `place` ("in pass P") as a note. With `collected` it becomes an Error, which is rendered
/// with those of other functions and passes, and is the `__cause__` of the exception that Python
/// sees.
nb::object run_pass_part(const std::function<std::string()>& place, bool collected,
                         const std::function<nb::object()>& body);

/// Remembers the exception of this thread that an Error with `message` comes from. `itself`: it is
/// raised again instead of the Error.
void remember_cause(nb::object exception, std::string message, bool itself);
void forget_causes();

/// The attributes as keyword arguments.
nb::dict keywords_of(const AttrsRef& attrs);

/// The exception of an error, with its traceback.
nb::object exception_of(nb::python_error& error);

/// "Foo" of a Foo object, for messages.
std::string class_name_of(nb::handle object);

}  // namespace relay::python
