#include <relay/transform/pass_result.h>

#include <set>
#include <string>
#include <utility>

#include <relay/infer/infer.h>
#include <relay/support/error.h>

namespace relay {

namespace {

std::vector<Diagnostic> type_errors(Module module) {
  std::vector<Diagnostic> errors;
  for (Diagnostic& diagnostic : infer_types(module)) {
    if (diagnostic.severity == Severity::kError) errors.push_back(std::move(diagnostic));
  }
  return errors;
}

Module alone(const Name& name, const FunctionRef& function) {
  Module module;
  module.add_function(name, function);
  return module;
}

// The first problem with its notes, and where it is if they do not tell.
std::string first_problem(const Diagnostic& problem, const Module& before, const Module& after) {
  std::string text = problem.message;
  for (const DiagnosticNote& note : problem.notes) text += "\nnote: " + note.message;
  if (text.find('@', problem.message.size()) != std::string::npos) return text;
  constexpr size_t kMost = 5;
  std::vector<std::string> changed;
  for (const auto& [name, function] : after.functions()) {
    if (before.function(name) != function.get()) changed.push_back('@' + name.str());
  }
  if (changed.empty() || changed.size() > kMost) return text;
  text += "\nnote: in ";
  for (size_t i = 0; i < changed.size(); ++i)
    text += (i == 0 ? "" : i + 1 == changed.size() ? " or " : ", ") + changed[i];
  return text;
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
    throw InternalError("internal error: pass " + info.name.str() + " made an ill-formed module: " +
                        first_problem(problems.front(), before, after));
  }
  if (earlier.empty()) earlier = type_errors(before);
  if (!earlier.empty()) throw Error(std::move(earlier));
  throw InternalError("internal error: pass " + info.name.str() + " made an ill-typed module: " +
                      first_problem(problems.front(), before, after));
}

std::vector<Diagnostic> result_errors(const Module& before, const Module& after, bool types) {
  std::vector<Diagnostic> errors;
  // Each by itself: a function may stand under two names.
  for (const auto& [name, function] : after.functions()) {
    const Function* old = before.function(name);
    if (old == function.get()) continue;
    std::vector<Diagnostic> problems = verify(alone(name, function));
    if (problems.empty()) continue;
    std::set<std::string> known;
    if (old != nullptr) {
      for (const Diagnostic& problem : verify(alone(name, FunctionRef(old))))
        known.insert(problem.message);
    }
    for (Diagnostic& problem : problems) {
      if (!known.insert(problem.message).second) continue;
      if (problem.span.known()) problem.note("in function @" + name.str());
      errors.push_back(std::move(problem));
    }
  }
  if (!errors.empty() || !types) return errors;
  errors = type_errors(after);
  if (!errors.empty() && !type_errors(before).empty()) errors.clear();
  return errors;
}

}  // namespace relay
