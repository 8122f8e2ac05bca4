#include <relay/transform/pass_result.h>

#include <utility>

#include <relay/infer/infer.h>
#include <relay/support/error.h>

namespace relay {

namespace {

std::vector<Diagnostic> type_errors(const Module& module) {
  std::vector<Diagnostic> errors;
  for (Diagnostic& diagnostic : infer_types(module)) {
    if (diagnostic.severity == Severity::kError) errors.push_back(std::move(diagnostic));
  }
  return errors;
}

}  // namespace

bool same_functions(const Module& a, const Module& b) {
  if (a.functions().size() != b.functions().size() || a.types() != b.types()) return false;
  for (size_t i = 0; i < a.functions().size(); ++i) {
    const auto &x = a.functions()[i], &y = b.functions()[i];
    if (!(x.name == y.name) || !(x.function == y.function)) return false;
  }
  return true;
}

void check_pass_result(const Module& before, const Module& after, const PassInfo& info,
                       bool types) {
  std::vector<Diagnostic> problems = verify(after);
  const bool formed = problems.empty();
  if (formed && types) problems = type_errors(after);
  if (problems.empty()) return;
  std::vector<Diagnostic> earlier = verify(before);
  if (earlier.empty() && !formed) {
    throw InternalError("internal error: pass " + info.name.str() +
                        " made an ill-formed module: " + problems.front().message);
  }
  if (earlier.empty()) earlier = type_errors(before);
  if (!earlier.empty()) throw Error(std::move(earlier));
  throw InternalError("internal error: pass " + info.name.str() +
                      " made an ill-typed module: " + problems.front().message);
}

}  // namespace relay
