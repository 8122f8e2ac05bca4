#include <relay/transform/pass.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include <spdlog/spdlog.h>

#include <relay/infer/infer.h>
#include <relay/support/error.h>
#include <relay/support/stop.h>
#include <relay/transform/declared_params.h>
#include <relay/transform/literals.h>
#include <relay/transform/pass_program.h>
#include <relay/transform/pass_report.h>
#include <relay/transform/pass_result.h>
#include <relay/transform/typed_results.h>

namespace relay {

// ---- Running one pass -------------------------------------------------------------------------

namespace {

const char* pass_that_establishes(ProgramState state) {
  switch (state) {
    case ProgramState::kAny:
    case ProgramState::kTyped:
      break;
    case ProgramState::kANF:
      return "ToANormalForm";
    case ProgramState::kFused:
      return "FuseOps";
  }
  RELAY_UNREACHABLE("no pass establishes this state");
}

Module establish(ProgramState state, const Module& module) {
  if (state == ProgramState::kAny) return module;
  if (state == ProgramState::kTyped) {
    Module typed = module;
    infer_types_or_throw(typed);
    return with_declared_params(resolve_literals(typed));
  }
  return (*create_pass(pass_that_establishes(state)))(module);
}

#ifdef NDEBUG
constexpr bool kVerifyByDefault = false;
#else
constexpr bool kVerifyByDefault = true;
#endif
RELAY_REGISTER_CONFIG({"relay.verify_passes", kVerifyByDefault,
                       "Checks that the result of each pass is well formed."});
RELAY_REGISTER_CONFIG({"relay.verify_types", false,
                       "Types the result of each pass on typed programs again."});

// The errors of passes under this thread's outermost one so far (collect_errors).
struct Collected {
  std::vector<Diagnostic> errors;
  int depth = 0;
};
thread_local Collected collected;

// Receives the reports of the innermost pass of this thread while it works on a part of the
// program.
class Reports {
 public:
  Reports() : outer_(std::exchange(innermost_, this)) {}
  ~Reports() { innermost_ = outer_; }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  static Reports* innermost() { return innermost_; }
  std::vector<Diagnostic> errors;

 private:
  Reports* outer_;
  static thread_local Reports* innermost_;
};
thread_local Reports* Reports::innermost_ = nullptr;

thread_local bool typed_results = false;

bool wants_types(const PassInfo& info) {
  return std::find(info.requires_.begin(), info.requires_.end(), ProgramState::kTyped) !=
         info.requires_.end();
}

// Throws an error together with earlier reports, if there are any.
[[noreturn]] void rethrow_with(const Error& error, std::vector<Diagnostic> reported) {
  reported.insert(reported.end(), error.diagnostics().begin(), error.diagnostics().end());
  throw Error(std::move(reported));
}

std::function<PassRef(std::string_view)>& pass_finder() {
  static auto& finder = *new std::function<PassRef(std::string_view)>;
  return finder;
}

// Says in every error which pass it is of, and on what.
std::vector<Diagnostic> located(const Error& error, const PassInfo& info,
                                const std::string& where) {
  std::vector<Diagnostic> diagnostics = error.diagnostics();
  if (info.own_step) return diagnostics;
  for (Diagnostic& diagnostic : diagnostics) diagnostic.note(where);
  return diagnostics;
}

/// Types a result. A type error is one of the pass if it works on typed programs, unless it is left
/// to what looks at the result anyway; the result of any other pass then stays untyped.
void type_result(Module& result, const PassInfo& info, bool is_checked) {
  try {
    infer_types_or_throw(result);
  } catch (const RuntimeError&) {
    throw;
  } catch (const Error& error) {
    if (is_checked || !wants_types(info)) return;
    throw Error(located(error, info, "in pass " + info.name.str() + ", in its result"));
  }
}

/// Throws `Error` for a result that is wrong through the user of the pass.
void check_for_user(const Module& input, const Module& result, const PassInfo& info, bool types) {
  if (same_functions(input, result)) return;
  std::vector<Diagnostic> errors = result_errors(input, result, types);
  if (errors.empty()) return;
  throw Error(
      located(Error(std::move(errors)), info, "in pass " + info.name.str() + ", in its result"));
}

// The last pass that changed the module under this thread's outermost one.
thread_local Name last_to_change;

// While a pass works, those that it runs have modules of their own.
class OwnModules {
 public:
  OwnModules() : outer_(std::exchange(last_to_change, Name())) {}
  ~OwnModules() { last_to_change = outer_; }
  OwnModules(const OwnModules&) = delete;
  OwnModules& operator=(const OwnModules&) = delete;

 private:
  Name outer_;
};

/// True if a pass runs: no instrument is against it, or the context requires it.
bool is_wanted(const PassInfo& info, const Module& module, const PassContext& context) {
  bool wanted = true;
  for (const PassInstrument& instrument : context.instruments) {
    if (instrument.should_run && !instrument.should_run(module, info)) wanted = false;
  }
  return wanted || context.requires_pass(info);
}

void announce(const PassInfo& info, const Module& module, const PassContext& context) {
  for (const PassInstrument& instrument : context.instruments) {
    if (instrument.before) instrument.before(module, info);
  }
}

void announce_end(const PassInfo& info, const Module& before, const Module& after, double seconds,
                  const PassContext& context) {
  for (const PassInstrument& instrument : context.instruments) {
    if (instrument.after) instrument.after(before, after, info, seconds);
  }
}

/// Runs a sequence of passes as instruments see passes: they may skip it, and see it begin and end.
Module announced(const PassInfo& info, const Module& module, const PassContext& context,
                 const std::function<Module()>& run) {
  if (!is_wanted(info, module, context)) return module;
  announce(info, module, context);
  const auto start = std::chrono::steady_clock::now();
  Module result = run();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  announce_end(info, module, result, passed.count(), context);
  return result;
}

}  // namespace

TypedResults::TypedResults(bool wanted)
    : outer_(std::exchange(typed_results, wanted || typed_results)) {}
TypedResults::~TypedResults() { typed_results = outer_; }

void report_in_pass(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::kWarning) {
    const PassContext& context = PassContext::current();
    if (context.diagnostics != nullptr) {
      context.tell(std::move(diagnostic));
    } else {
      spdlog::warn("{}", render(diagnostic));
    }
    return;
  }
  Reports* reports = Reports::innermost();
  if (reports == nullptr) throw Error(std::move(diagnostic));
  reports->errors.push_back(std::move(diagnostic));
}

void set_pass_finder(std::function<PassRef(std::string_view name)> finder) {
  pass_finder() = std::move(finder);
}

Module Pass::operator()(const Module& module) const {
  return (*this)(module, PassContext::current());
}

Module Pass::operator()(const Module& module, const PassContext& context) const {
  // Passes that this one runs find the context as the current one.
  std::unique_ptr<PassContext::Scope> scope;
  if (&context != &PassContext::current()) scope = std::make_unique<PassContext::Scope>(context);
  PassProgram program;
  if (collected.depth == 0) {
    collected.errors.clear();
    last_to_change = Name();
  }
  ++collected.depth;
  Module result;
  try {
    result = !composite() ? run_alone(module, context)
             : typed_results
                 ? announced(info_, module, context, [&] { return run(module, context); })
                 : run(module, context);
  } catch (const RuntimeError&) {
    --collected.depth;
    throw;
  } catch (const Error& error) {
    if (--collected.depth > 0 || collected.errors.empty()) throw;
    std::vector<Diagnostic> all = std::exchange(collected.errors, {});
    all.insert(all.end(), error.diagnostics().begin(), error.diagnostics().end());
    throw Error(std::move(all));
  } catch (...) {
    --collected.depth;
    throw;
  }
  --collected.depth;
  if (collected.depth == 0 && !collected.errors.empty())
    throw Error(std::exchange(collected.errors, {}));
  return result;
}

Module Pass::run_alone(const Module& module, const PassContext& context) const {
  stop_if_asked();
  Module input = module;
  std::string in_the_input = "in the input of pass " + info_.name.str();
  if (!last_to_change.empty())
    in_the_input += ", which pass " + last_to_change.str() + " was the last to change";
  try {
    for (ProgramState state : info_.requires_) input = establish(state, input);
  } catch (const RuntimeError&) {
    throw;
  } catch (const Error& error) {
    throw Error(located(error, info_, in_the_input));
  }
  if (!is_wanted(info_, input, context)) return module;
  announce(info_, input, context);
  const bool types = context.config_value<bool>("relay.verify_types");
  const bool verifies = types || context.config_value<bool>("relay.verify_passes");
  auto start = std::chrono::steady_clock::now();
  const bool is_checked = verifies || !context.instruments.empty();
  Module result;
  try {
    PassProgram::Run program(input);
    const OwnModules nested;
    result = run(input, context);
    program.finish(result);
    if (info_.result_of == PassInfo::ResultOf::kOptions) check_for_user(input, result, info_, true);
    if (typed_results && !same_functions(input, result)) type_result(result, info_, is_checked);
  } catch (const InternalError& error) {
    throw InternalError(std::string(error.what()) + "\nnote: in pass " + info_.name.str());
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (spdlog::should_log(spdlog::level::debug)) {
    spdlog::debug("pass {}: {:.3f} ms, {}", info_.name.view(), seconds * 1e3,
                  same_functions(input, result) ? "unchanged" : "changed");
  }
  if (!same_functions(input, result)) last_to_change = info_.name;
  if (context.trace) context.note_pass({info_.name, seconds, !same_functions(input, result)});
  if (verifies) {
    try {
      check_pass_result(input, result, info_, types && wants_types(info_));
    } catch (const Error& error) {
      throw Error(located(error, info_, in_the_input));
    }
  }
  announce_end(info_, input, result, seconds, context);
  // Instruments see the result first: they may say more about it, or show it.
  if (info_.result_of == PassInfo::ResultOf::kAuthor && !verifies)
    check_for_user(input, result, info_, wants_types(info_) && (is_checked || !typed_results));
  return result;
}

// ---- Kinds of passes --------------------------------------------------------------------------

namespace {

class ModulePass final : public Pass {
 public:
  ModulePass(PassInfo info, ModulePassFn run) : Pass(std::move(info)), run_(std::move(run)) {}

 private:
  Module run(const Module& module, const PassContext& context) const override {
    const std::string where = "in pass " + info().name.str();
    try {
      Reports reports;
      Module result;
      try {
        result = run_(module, context);
      } catch (const RuntimeError&) {
        throw;
      } catch (const Error& error) {
        rethrow_with(error, std::move(reports.errors));
      }
      if (reports.errors.empty()) return result;
      if (!context.collect_errors) throw Error(std::move(reports.errors));
      for (Diagnostic& diagnostic : located(Error(std::move(reports.errors)), info(), where))
        collected.errors.push_back(std::move(diagnostic));
      return result;
    } catch (const RuntimeError&) {
      throw;
    } catch (const Error& error) {
      throw Error(located(error, info(), where));
    }
  }
  ModulePassFn run_;
};

bool is_set(const AttrValue& value) {
  if (const auto* flag = value.get<bool>()) return *flag;
  if (const auto* number = value.get<int64_t>()) return *number != 0;
  return !value.is_none();
}

// Functions that this compiler must not optimise.
bool left_alone(const Function& function) {
  if (!function.attrs()) return false;
  for (const char* name : {"SkipOptimization", "Compiler", "Extern"}) {
    if (is_set(dict_attr(function.attrs(), name))) return true;
  }
  return false;
}

class FunctionPass final : public Pass {
 public:
  FunctionPass(PassInfo info, PrepareFunctionPassFn prepare)
      : Pass(std::move(info)), prepare_(std::move(prepare)) {}

 private:
  Module run(const Module& module, const PassContext& context) const override {
    FunctionTransform transform;
    try {
      transform = prepare_(module, context);
    } catch (const RuntimeError&) {
      throw;
    } catch (const Error& error) {
      throw Error(located(error, info(), "in pass " + info().name.str()));
    }
    Module result = module;
    std::vector<Diagnostic> errors;
    for (const auto& entry : module.functions()) {
      if (left_alone(*entry.function)) continue;
      stop_if_asked();
      const std::string where =
          "pass " + info().name.str() + " failed on @" + std::string(entry.name.view());
      Reports reports;
      try {
        FunctionRef function = transform(entry.function);
        if (!reports.errors.empty()) throw Error(std::exchange(reports.errors, {}));
        if (!(function == entry.function)) result.update_function(entry.name, std::move(function));
      } catch (const RuntimeError&) {
        throw;
      } catch (const Error& error) {
        if (!reports.errors.empty()) {
          for (Diagnostic& diagnostic : located(Error(std::move(reports.errors)), info(), where))
            errors.push_back(std::move(diagnostic));
        }
        for (Diagnostic& diagnostic : located(error, info(), where))
          errors.push_back(std::move(diagnostic));
      } catch (const InternalError& error) {
        throw InternalError(std::string(error.what()) + "\nnote: " + where);
      }
    }
    if (errors.empty()) return result;
    if (!context.collect_errors) throw Error(std::move(errors));
    for (Diagnostic& diagnostic : errors) collected.errors.push_back(std::move(diagnostic));
    return result;
  }
  PrepareFunctionPassFn prepare_;
};

class SequentialPass final : public Pass {
 public:
  SequentialPass(PassInfo info, std::vector<PassRef> passes)
      : Pass(std::move(info)), passes_(std::move(passes)) {}

 private:
  bool composite() const override { return true; }
  Module run(const Module& module, const PassContext& context) const override {
    Module result = module;
    for (const PassRef& pass : passes_) {
      if (!context.enabled(pass->info())) continue;
      for (const std::string& name : pass->info().required)
        result = (*required(name, *pass))(result, context);
      result = (*pass)(result, context);
    }
    return result;
  }
  // A pass of this sequence by its name, a registered one, or one from the pass finder.
  PassRef required(const std::string& name, const Pass& by) const {
    for (const PassRef& pass : passes_) {
      if (pass->info().name.view() == name) return pass;
    }
    if (find_pass(name) != nullptr) return create_pass(name);
    PassRef found = pass_finder() ? pass_finder()(name) : nullptr;
    if (found == nullptr) {
      throw Error("pass " + by.info().name.str() + " requires pass " + name +
                  ", which is neither registered nor part of the sequence");
    }
    return found;
  }
  std::vector<PassRef> passes_;
};

}  // namespace

PassRef make_module_pass(PassInfo info, ModulePassFn run) {
  return std::make_shared<ModulePass>(std::move(info), std::move(run));
}

PassRef make_function_pass(PassInfo info, FunctionPassFn run) {
  auto prepare = [run = std::move(run)](const Module& module, const PassContext& context) {
    return [&run, &module, &context](const FunctionRef& function) {
      return run(function, module, context);
    };
  };
  return make_prepared_function_pass(std::move(info), std::move(prepare));
}

PassRef make_prepared_function_pass(PassInfo info, PrepareFunctionPassFn prepare) {
  return std::make_shared<FunctionPass>(std::move(info), std::move(prepare));
}

PassRef make_sequential(std::vector<PassRef> passes, std::string name, int opt_level,
                        std::vector<std::string> required) {
  for (const PassRef& pass : passes) RELAY_CHECK(pass != nullptr, "a sequence with a null pass");
  PassInfo info;
  info.name = name;
  info.opt_level = opt_level;
  info.required = std::move(required);
  return std::make_shared<SequentialPass>(std::move(info), std::move(passes));
}

}  // namespace relay
