#include <relay/transform/pass.h>

#include <chrono>
#include <memory>
#include <utility>

#include <spdlog/spdlog.h>

#include <relay/infer/infer.h>
#include <relay/support/error.h>
#include <relay/transform/literals.h>

namespace relay {

// ---- Contexts ---------------------------------------------------------------------------------

namespace {

// By pointer, so that a reference to the current context survives the entry of another.
std::vector<std::unique_ptr<const PassContext>>& context_stack() {
  thread_local std::vector<std::unique_ptr<const PassContext>> stack;
  return stack;
}

bool contains(const std::vector<std::string>& names, Name name) {
  for (const std::string& entry : names) {
    if (entry == name.view()) return true;
  }
  return false;
}

}  // namespace

bool PassContext::enabled(const PassInfo& info) const {
  if (contains(disabled_passes, info.name)) return false;
  return info.opt_level <= opt_level || contains(required_passes, info.name);
}

const PassContext& PassContext::current() {
  static const PassContext* default_context = new PassContext;
  const auto& stack = context_stack();
  return stack.empty() ? *default_context : *stack.back();
}

PassContext::Scope::Scope(const PassContext& context) {
  context_stack().push_back(std::make_unique<const PassContext>(context));
}
PassContext::Scope::~Scope() { context_stack().pop_back(); }

// ---- Running one pass -------------------------------------------------------------------------

namespace {

bool same_functions(const Module& a, const Module& b) {
  if (a.functions().size() != b.functions().size() || a.types() != b.types()) return false;
  for (size_t i = 0; i < a.functions().size(); ++i) {
    const auto& x = a.functions()[i];
    const auto& y = b.functions()[i];
    if (!(x.name == y.name) || !(x.function == y.function)) return false;
  }
  return true;
}

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
    infer_types_or_throw(module);
    return resolve_literals(module);
  }
  return (*create_pass(pass_that_establishes(state)))(module);
}

bool verification_wanted(const PassContext& context) {
  auto entry = context.config.find("relay.verify_passes");
  if (entry != context.config.end()) {
    const bool* wanted = std::get_if<bool>(&entry->second);
    if (wanted == nullptr) throw Error("configuration key relay.verify_passes takes a boolean");
    return *wanted;
  }
#ifdef NDEBUG
  return false;
#else
  return true;
#endif
}

void check_result(const Module& before, const Module& after, const PassInfo& info) {
  std::vector<Diagnostic> problems = verify(after);
  if (problems.empty()) return;
  // Whoever hands in an ill-formed module is told so; otherwise the pass is to blame.
  std::vector<Diagnostic> earlier = verify(before);
  if (!earlier.empty()) throw Error(std::move(earlier));
  throw InternalError("internal error: pass " + info.name.str() +
                      " made an ill-formed module: " + problems.front().message);
}

}  // namespace

Module Pass::operator()(const Module& module) const {
  return (*this)(module, PassContext::current());
}

Module Pass::operator()(const Module& module, const PassContext& context) const {
  // Passes that this one runs find the context as the current one.
  std::unique_ptr<PassContext::Scope> scope;
  if (&context != &PassContext::current()) scope = std::make_unique<PassContext::Scope>(context);
  if (composite()) return run(module, context);

  Module input = module;
  for (ProgramState state : info_.requires_) input = establish(state, input);
  for (const PassInstrument& instrument : context.instruments) {
    if (instrument.before) instrument.before(input, info_);
  }
  auto start = std::chrono::steady_clock::now();
  Module result = run(input, context);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (spdlog::should_log(spdlog::level::debug)) {
    spdlog::debug("pass {}: {:.3f} ms, {}", info_.name.view(), seconds * 1e3,
                  same_functions(input, result) ? "unchanged" : "changed");
  }
  if (verification_wanted(context)) check_result(input, result, info_);
  for (const PassInstrument& instrument : context.instruments) {
    if (instrument.after) instrument.after(input, result, info_, seconds);
  }
  return result;
}

// ---- Kinds of passes --------------------------------------------------------------------------

namespace {

class ModulePass final : public Pass {
 public:
  ModulePass(PassInfo info, ModulePassFn run) : Pass(std::move(info)), run_(std::move(run)) {}

 private:
  Module run(const Module& module, const PassContext& context) const override {
    return run_(module, context);
  }
  ModulePassFn run_;
};

bool is_set(const AttrValue& value) {
  if (const auto* flag = value.get<bool>()) return *flag;
  if (const auto* number = value.get<int64_t>()) return *number != 0;
  return !value.is_none();
}

// Functions that are somebody else's to optimise.
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
    FunctionTransform transform = prepare_(module, context);
    Module result = module;
    for (const auto& entry : module.functions()) {
      if (left_alone(*entry.function)) continue;
      FunctionRef function = transform(entry.function);
      if (!(function == entry.function)) result.update_function(entry.name, std::move(function));
    }
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
      if (context.enabled(pass->info())) result = (*pass)(result, context);
    }
    return result;
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

PassRef make_sequential(std::vector<PassRef> passes, std::string name, int opt_level) {
  for (const PassRef& pass : passes) RELAY_CHECK(pass != nullptr, "a sequence with a null pass");
  PassInfo info;
  info.name = name;
  info.opt_level = opt_level;
  return std::make_shared<SequentialPass>(std::move(info), std::move(passes));
}

}  // namespace relay
