// Shared by passes and their contexts.
#pragma once

#include <string>
#include <vector>

#include <bindings/bindings.h>

#include <relay/transform/pass_context.h>

namespace relay::python {

/// A callable that the Python object of a pass or context keeps (`keep`), where the cycle collector
/// sees it: functions refer to their module's names, and those to passes.
class Callable {
 public:
  explicit Callable(nb::handle callable) : callable_(callable) {}
  nb::handle operator*() const { return callable_; }

 private:
  nb::handle callable_;
};

/// Makes the Python object of a pass or context keep the functions that it calls.
void keep(nb::handle owner, nb::handle callables);

/// Throws an Error for the first name that is not a pass; `what` names them.
void check_pass_names(const std::vector<std::string>& names, const std::string& what);
/// Names of passes, of any collection of texts but a text. Raises TypeError; throws an Error.
std::vector<std::string> names_of(nb::handle given, const std::string& what);

nb::object object_of_option(const PassOption& option);
/// The calling thread's innermost context.
nb::object current_context();

void bind_contexts(nb::module_& m);
void bind_instruments(nb::module_& m);
void bind_partition(nb::module_& m);

}  // namespace relay::python
