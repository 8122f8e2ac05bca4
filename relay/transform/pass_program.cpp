#include <relay/transform/pass_program.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <relay/support/error.h>
#include <relay/transform/pass_result.h>

namespace relay {
namespace {

struct Kept {
  std::optional<Program> program;
  const Module* module = nullptr;  // that the running pass was given
  bool current = false;            // `program` is of that module
};

// One for each pass that runs passes of its own, the innermost last.
thread_local std::vector<std::unique_ptr<Kept>> all_kept;

}  // namespace

Program program_of(const Module& module) {
  if (all_kept.empty() || all_kept.back()->module != &module) return Program(module);
  Kept& kept = *all_kept.back();
  if (!kept.current) {
    const bool same = kept.program && same_functions(kept.program->module(), module);
    if (!same) kept.program = kept.program ? kept.program->next(module) : Program(module);
    kept.current = true;
  }
  return *kept.program;
}

PassProgram::PassProgram() : outermost_(all_kept.empty() || all_kept.back()->module != nullptr) {
  if (outermost_) all_kept.push_back(std::make_unique<Kept>());
}

PassProgram::~PassProgram() {
  if (outermost_) all_kept.pop_back();
}

PassProgram::Run::Run(const Module& module) {
  RELAY_CHECK(!all_kept.empty() && all_kept.back()->module == nullptr, "a pass runs in a pass");
  all_kept.back()->module = &module;
  all_kept.back()->current = false;
}

PassProgram::Run::~Run() { all_kept.back()->module = nullptr; }

void PassProgram::Run::finish(const Module& result) {
  Kept& kept = *all_kept.back();
  if (kept.program) kept.program = kept.program->next(result);
}

}  // namespace relay
