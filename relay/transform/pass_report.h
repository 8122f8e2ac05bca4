// What a pass that is running has to say, and what it is given by others than the registry.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <relay/transform/pass.h>

namespace relay {

/// Reports a diagnostic of the pass that runs on this thread, which goes on. A warning goes to the
/// context. Errors make the pass fail in the end (with `collect_errors` the outermost one), with
/// those of other functions; a function that an error is reported on stays as it was. Outside of a
/// pass an error is thrown at once.
void report_in_pass(Diagnostic diagnostic);

/// Passes that are in no registry, such as those of another language: gives one by its name, or
/// null. Sequences ask it for what passes require.
void set_pass_finder(std::function<PassRef(std::string_view name)> finder);

/// Leaves a context that this thread has entered, wherever it is among those; false if it is none
/// of them. Its instruments are left as in `PassContext::exit`.
bool leave_context(const std::shared_ptr<const PassContext>& context);

}  // namespace relay
