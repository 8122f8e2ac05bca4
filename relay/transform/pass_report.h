// Reports of a running pass, and passes that the registry does not have.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <relay/transform/pass.h>

namespace relay {

/// Reports a diagnostic of the pass that runs on this thread; the pass goes on. A warning goes to
/// the context. Errors make the pass fail in the end (with `collect_errors` the outermost one),
/// together with those of other functions; a function with an error stays as it was. Outside of a
/// pass an error is thrown at once.
void report_in_pass(Diagnostic diagnostic);

/// Sets a function that gives a pass outside of the registry, such as one of another language, by
/// its name, or null. Sequences ask it for required passes.
void set_pass_finder(std::function<PassRef(std::string_view name)> finder);

/// Leaves a context that this thread has entered, wherever it is among those; false if it is not
/// among them. Its instruments are left as in `PassContext::exit`.
bool leave_context(const std::shared_ptr<const PassContext>& context);

}  // namespace relay
