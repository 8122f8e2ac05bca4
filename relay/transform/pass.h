// Passes: named transformations of modules, run in a context (the pass infrastructure note).
#pragma once

#include <any>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <relay/ir/module.h>
#include <relay/support/diagnostic.h>

namespace relay {

/// What a pass needs of its input.
enum class ProgramState : uint8_t { kAny, kTyped, kANF, kFused };

/// Facts about a pass.
struct PassInfo {
  Name name;
  int opt_level = 0;                    // runs when the context's level is at least this
  std::vector<ProgramState> requires_;  // established (InferType, ToANormalForm …) before it runs
  std::string doc;
};

class PassContext;

/// A transformation of modules. Immutable, shareable.
class Pass {
 public:
  virtual ~Pass() = default;
  const PassInfo& info() const { return info_; }
  /// Applies the pass in the current context. The argument is left as it is; functions that did not change
  /// are shared with the result.
  Module operator()(const Module& module) const;
  Module operator()(const Module& module, const PassContext& context) const;

 protected:
  explicit Pass(PassInfo info) : info_(std::move(info)) {}
  virtual Module run(const Module& module, const PassContext& context) const = 0;

 private:
  PassInfo info_;
};
using PassRef = std::shared_ptr<const Pass>;

/// Value of a configuration key or pass option.
using PassOption = std::variant<bool, int64_t, double, std::string, std::vector<std::string>>;
using PassOptions = std::map<std::string, PassOption>;

/// Called around each pass of a sequence.
struct PassInstrument {
  std::string name;
  std::function<void(const Module&, const PassInfo&)> before;
  std::function<void(const Module& before, const Module& after, const PassInfo&, double seconds)> after;
};

/// Settings under which passes run. Contexts nest; the innermost of the thread is current.
class PassContext {
 public:
  int opt_level = 2;
  int fallback_device = 1;  // DLPack's kDLCPU
  std::vector<std::string> required_passes;   // run even above the level
  std::vector<std::string> disabled_passes;   // never run
  PassOptions config;
  std::vector<PassInstrument> instruments;
  /// Receives warnings and remarks of passes; may be null.
  DiagnosticSink* diagnostics = nullptr;

  /// Whether a pass should run: not disabled, and required or within the level.
  bool enabled(const PassInfo& info) const;
  /// The innermost context of this thread, or the default one.
  static const PassContext& current();

  /// Makes a context current for a scope of this thread.
  class Scope {
   public:
    explicit Scope(const PassContext& context);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };
};

using ModulePassFn = std::function<Module(const Module&, const PassContext&)>;
using FunctionPassFn =
    std::function<FunctionRef(const FunctionRef&, const Module&, const PassContext&)>;

PassRef make_module_pass(PassInfo info, ModulePassFn run);
/// Applies to each global function except those with attribute `SkipOptimization=1`, `Compiler` or
/// `extern`.
PassRef make_function_pass(PassInfo info, FunctionPassFn run);
/// Runs passes in order, skipping those the context does not enable, establishing what each requires.
PassRef make_sequential(std::vector<PassRef> passes, std::string name = "sequential",
                        int opt_level = 0);

/// A registered pass: the one entry from which listing, Python function and documentation come.
struct PassRegistration {
  PassInfo info;
  struct Option {
    std::string name;
    std::string doc;
    PassOption default_value;
  };
  std::vector<Option> options;
  std::function<PassRef(const PassOptions&)> make;
};
const PassRegistration* find_pass(std::string_view name);
std::vector<const PassRegistration*> all_passes();
/// Creates a pass by name; throws `Error` (with the nearest names) for unknown names and options.
PassRef create_pass(std::string_view name, const PassOptions& options = {});
bool register_pass(PassRegistration registration);

}  // namespace relay

#define RELAY_PASS_CONCAT2(a, b) a##b
#define RELAY_PASS_CONCAT(a, b) RELAY_PASS_CONCAT2(a, b)
/// At namespace scope of a pass's file: `RELAY_REGISTER_PASS({…});`
#define RELAY_REGISTER_PASS(...)                                                    \
  [[maybe_unused]] static const bool RELAY_PASS_CONCAT(relay_pass_, __COUNTER__) =  \
      ::relay::register_pass(__VA_ARGS__)
