// The settings under which passes run: contexts, configuration keys, instruments (the pass
// infrastructure note).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <relay/ir/module.h>
#include <relay/support/diagnostic.h>

namespace relay {

/// The state of its input that a pass needs. `kTyped`: types are published, and literals whose
/// dtype is known have become constants, so that a rewrite cannot change their dtype through their
/// context.
enum class ProgramState : uint8_t { kAny, kTyped, kANF, kFused };

/// Facts about a pass.
struct PassInfo {
  Name name;
  int opt_level = 0;                    // runs when the context's level is at least this
  std::vector<ProgramState> requires_;  // established (InferType, ToANormalForm …) before it runs
  std::string doc;
  /// Registered passes that a sequence runs before this one, at every level.
  std::vector<std::string> required = {};
  /// True for a step of the compiler itself, which no user runs as a pass: its errors are about the
  /// program alone.
  bool own_step = false;
  /// The change of the signature, for checks by runs: a pass that makes one on purpose says which.
  enum class Signature : uint8_t {
    kKept,
    kContinuation,  // functions take a continuation (UnCPS takes it away)
    kNarrowFloats,  // results are floats of another dtype, with its precision
    kOther          // nothing can be compared
  };
  Signature signature = Signature::kKept;
  /// The one who answers for an ill-formed or ill-typed result.
  enum class ResultOf : uint8_t {
    kLibrary,  // a defect of ours: verification reports it as an internal error
    kOptions,  // the user, whose options say what becomes of the program: always an error
    kAuthor    // the user, who wrote the pass: an error, unless verification has found it
  };
  ResultOf result_of = ResultOf::kLibrary;
  /// For a pass that does what its user has written: finds the part that makes of `before` a module
  /// for which `wrong` holds; nothing if no part does.
  std::function<std::optional<Diagnostic>(const Module& before,
                                          const std::function<bool(const Module&)>& wrong)>
      blame = {};
};

/// Value of a configuration key or pass option.
using PassOption = std::variant<bool, int64_t, double, std::string, std::vector<std::string>>;
using PassOptions = std::map<std::string, PassOption>;
/// `value` as the type of `like`; integers convert to floats and booleans, one text to a list.
/// Nothing for other types.
std::optional<PassOption> convert_option(const PassOption& value, const PassOption& like);
/// "bool", "int", "float", "str", "list of str".
const char* option_type_name(const PassOption& value);

/// A key of PassContext::config. Its default also gives its type.
struct ConfigKey {
  std::string name;
  PassOption default_value;
  std::string doc;
  std::optional<int64_t> least = {};  // of an integer
};
bool register_config_key(ConfigKey key);
const ConfigKey* find_config_key(std::string_view name);
/// By name.
std::vector<const ConfigKey*> all_config_keys();

/// Called around each pass, after the states that it requires are established. Missing functions
/// are not called. Exceptions end the pass and reach the caller unchanged.
struct PassInstrument {
  std::string name;
  std::function<void(const Module&, const PassInfo&)> before = {};
  std::function<void(const Module& before, const Module& after, const PassInfo&, double seconds)>
      after = {};
  /// Returns false to skip a pass; a pass that a context requires runs anyway. Asked before
  /// `before`.
  std::function<bool(const Module&, const PassInfo&)> should_run = {};
  /// Called when the context becomes current, and when it no longer is.
  std::function<void()> enter = {};
  std::function<void()> exit = {};
};

/// One pass that ran under a context.
struct PassTrace {
  Name pass;
  double seconds = 0;
  bool changed = false;
};

/// Settings under which passes run. Contexts nest; the innermost of the thread is current.
class PassContext {
 public:
  int opt_level = 2;
  /// The device, as a DLPack type, of values that no annotation places (1 is the processor).
  int fallback_device = 1;
  std::vector<std::string> required_passes;  // run even above the level
  std::vector<std::string> disabled_passes;  // never run
  PassOptions config;
  std::vector<PassInstrument> instruments;
  /// Receives warnings and remarks of passes; may be null.
  DiagnosticSink* diagnostics = nullptr;
  /// If true, functions that a pass fails on stay as they were and the next passes go on, and the
  /// outermost pass throws all errors at once. A module pass that fails ends it.
  bool collect_errors = false;
  /// Receives every pass that ran; may be null.
  std::shared_ptr<std::vector<PassTrace>> trace;

  /// Adds to `diagnostics`, if it is not null. Several threads may run passes under one context,
  /// and read its diagnostics meanwhile.
  void tell(Diagnostic diagnostic) const;
  std::vector<Diagnostic> told() const;
  /// Adds to `trace` in the same way.
  void note_pass(PassTrace pass) const;
  std::vector<PassTrace> noted_passes() const;

  /// True if a pass should run: not disabled, and required or within the level.
  bool enabled(const PassInfo& info) const;
  bool requires_pass(const PassInfo& info) const;
  /// Sets a registered key, converted to its type. Throws `Error` for an unknown key (with the
  /// nearest ones), a value of another type and a number below the least one.
  void set_config(const std::string& key, const PassOption& value);
  /// The value that is set, else the key's default. InternalError for a key that is not registered
  /// as a T.
  template <class T>
  T config_value(const std::string& key) const {
    return std::get<T>(config_option(key));
  }

  /// A context of its own, which you may enter once or several times.
  static std::shared_ptr<PassContext> create() { return std::make_shared<PassContext>(); }
  /// The innermost context of this thread, or the default one.
  static const PassContext& current();
  static std::shared_ptr<const PassContext> current_shared();
  /// True if this thread has entered a context.
  static bool inside();
  /// The current context at another level, for a part of the work that is done in it. Its
  /// instruments keep watching, and are not entered again.
  static PassContext current_at(int opt_level);

  /// Makes a context the current one of this thread. Its instruments are entered in order; if one
  /// throws, those before it are left again and the context is not entered.
  static void enter(std::shared_ptr<const PassContext> context);
  /// Leaves the current context. Leaves all instruments, then throws the first exception of one.
  static void exit();

  /// Makes a context (a copy of one that is not shared) current for a scope of this thread.
  /// Exceptions of instruments that are left are logged.
  class Scope {
   public:
    explicit Scope(const PassContext& context);
    explicit Scope(std::shared_ptr<const PassContext> context);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };

 private:
  PassOption config_option(const std::string& key) const;
  std::shared_ptr<std::mutex> records_ = std::make_shared<std::mutex>();  // of both
};

}  // namespace relay

#define RELAY_CONFIG_CONCAT2(a, b) a##b
#define RELAY_CONFIG_CONCAT(a, b) RELAY_CONFIG_CONCAT2(a, b)
/// At namespace scope of the file that reads a key: `RELAY_REGISTER_CONFIG({"relay.x", false,
/// "…"});`
#define RELAY_REGISTER_CONFIG(...)                                                         \
  [[maybe_unused]] static const bool RELAY_CONFIG_CONCAT(relay_config_key_, __COUNTER__) = \
      ::relay::register_config_key(__VA_ARGS__)
