// Passes: named transformations of modules, run in a context (the pass infrastructure note).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <relay/transform/pass_context.h>

namespace relay {

/// A transformation of modules. Immutable, shareable.
///
/// Running a pass, directly or in a sequence, establishes the states that it requires, calls the
/// context's instruments, and logs its name, its time and if anything changed at level debug. If
/// the configuration key `relay.verify_passes` is set (the default in builds with assertions), it
/// also checks that the result is well formed and well typed. Only sequences ask if a pass is
/// enabled, and they run the passes that a pass names as required. Errors name the pass and the
/// function; a pass reports those of all functions at once.
/// a pass reports those of all functions at once.
class Pass {
 public:
  virtual ~Pass() = default;
  const PassInfo& info() const { return info_; }
  /// Applies the pass in the current context. The argument does not change; functions that did not
  /// change are shared with the result.
  Module operator()(const Module& module) const;
  Module operator()(const Module& module, const PassContext& context) const;

 protected:
  explicit Pass(PassInfo info) : info_(std::move(info)) {}
  virtual Module run(const Module& module, const PassContext& context) const = 0;
  /// True if it only runs other passes: those are instrumented, it is not.
  virtual bool composite() const { return false; }

 private:
  Module run_alone(const Module& module, const PassContext& context) const;
  PassInfo info_;
};
using PassRef = std::shared_ptr<const Pass>;

using ModulePassFn = std::function<Module(const Module&, const PassContext&)>;
using FunctionPassFn =
    std::function<FunctionRef(const FunctionRef&, const Module&, const PassContext&)>;

PassRef make_module_pass(PassInfo info, ModulePassFn run);
/// Applies to each global function except those with attribute `SkipOptimization=1`, `Compiler` or
/// `Extern`.
PassRef make_function_pass(PassInfo info, FunctionPassFn run);
/// The same for a pass that looks at the whole module first: `prepare` runs once for each module
/// and returns the transformation of each of its functions.
using FunctionTransform = std::function<FunctionRef(const FunctionRef&)>;
using PrepareFunctionPassFn = std::function<FunctionTransform(const Module&, const PassContext&)>;
PassRef make_prepared_function_pass(PassInfo info, PrepareFunctionPassFn prepare);
/// Runs passes in order, skips those that the context does not enable, and establishes the state
/// that each requires.
PassRef make_sequential(std::vector<PassRef> passes, std::string name = "sequential",
                        int opt_level = 0, std::vector<std::string> required = {});

/// What the entries of an option are that is a list of texts. Python makes these texts of numbers,
/// lists and dictionaries: "1", "NAME: 1", "NAME: a b", "1 2 3".
enum class OptionEntries : uint8_t {
  kTexts,
  kIntegers,
  kIntegerByName,
  kNumberByName,
  kTextsByName,
  kIntegerLists
};

/// A registered pass: the one entry from which listing, Python function and documentation come.
struct PassRegistration {
  PassInfo info;
  struct Option {
    std::string name;
    std::string doc;
    PassOption default_value;  // also gives the type
    OptionEntries entries = OptionEntries::kTexts;
    std::optional<int64_t> least = {}, most = {};  // of an integer
    /// "int", "list of str", "dict of str to int", …
    const char* type_name() const;
  };
  std::vector<Option> options;
  /// Gets a value for every option.
  std::function<PassRef(const PassInfo&, const PassOptions&)> make;
};
const PassRegistration* find_pass(std::string_view name);
std::vector<const PassRegistration*> all_passes();
/// Creates a pass by name; throws `Error` (with the nearest names) for unknown names and options.
PassRef create_pass(std::string_view name, const PassOptions& options = {});
/// Passes as text: `FoldConstant,DeadCodeElimination(inline_once=True)`. Throws `Error`.
std::vector<PassRef> parse_passes(std::string_view text);
bool register_pass(PassRegistration registration);
/// The value of an option in `make`.
template <class T>
const T& option(const PassOptions& options, const std::string& name) {
  return std::get<T>(options.at(name));
}

/// docs/passes.md: every registered pass with its options, from the registrations.
std::string pass_reference_markdown();

/// The purpose of the standard passes: a program that any tool may read, or one that is compiled
/// for the machine. For the machine, row programs such as norms stay whole, and nothing moves into
/// weights that are known only when it runs.
enum class PassGoal : uint8_t { kPortable, kMachine };
/// The standard passes, those up to `level` and those of `required`, in order.
std::vector<PassRef> standard_passes(PassGoal goal, int level,
                                     const std::vector<std::string>& required = {});
/// Those for portable programs, as one sequence.
PassRef standard_pipeline(int level, const std::vector<std::string>& required = {});

}  // namespace relay

#define RELAY_PASS_CONCAT2(a, b) a##b
#define RELAY_PASS_CONCAT(a, b) RELAY_PASS_CONCAT2(a, b)
/// At namespace scope of a pass's file: `RELAY_REGISTER_PASS({…});`
#define RELAY_REGISTER_PASS(...)                                                   \
  [[maybe_unused]] static const bool RELAY_PASS_CONCAT(relay_pass_, __COUNTER__) = \
      ::relay::register_pass(__VA_ARGS__)
