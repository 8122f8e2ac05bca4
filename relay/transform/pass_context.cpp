#include <relay/transform/pass_context.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <utility>

#include <spdlog/spdlog.h>

#include <relay/support/error.h>
#include <relay/support/fork_mutex.h>
#include <relay/support/suggest.h>
#include <relay/transform/pass_report.h>

namespace relay {

// ---- Configuration ----------------------------------------------------------------------------

namespace {

struct Keys {
  ForkMutex mutex;
  std::map<std::string, ConfigKey, std::less<>> by_name;

  static Keys& instance() {
    static Keys* keys = new Keys;
    return *keys;
  }
};

}  // namespace

const char* option_type_name(const PassOption& value) {
  constexpr const char* kNames[] = {"bool", "int", "float", "str", "list of str"};
  return kNames[value.index()];
}

std::optional<PassOption> convert_option(const PassOption& value, const PassOption& like) {
  if (value.index() == like.index()) return value;
  if (const auto* number = std::get_if<int64_t>(&value)) {
    if (std::holds_alternative<double>(like)) return PassOption(static_cast<double>(*number));
    if (std::holds_alternative<bool>(like) && (*number == 0 || *number == 1))
      return PassOption(*number == 1);
  }
  const auto* text = std::get_if<std::string>(&value);
  if (text != nullptr && std::holds_alternative<std::vector<std::string>>(like))
    return PassOption(std::vector<std::string>{*text});
  return std::nullopt;
}

bool register_config_key(ConfigKey key) {
  Keys& keys = Keys::instance();
  std::lock_guard lock(keys.mutex);
  std::string name = key.name;
  bool added = keys.by_name.emplace(name, std::move(key)).second;
  RELAY_CHECK(added, "configuration key " + name + " is registered twice");
  return true;
}

const ConfigKey* find_config_key(std::string_view name) {
  Keys& keys = Keys::instance();
  std::lock_guard lock(keys.mutex);
  auto found = keys.by_name.find(name);
  return found == keys.by_name.end() ? nullptr : &found->second;
}

std::vector<const ConfigKey*> all_config_keys() {
  Keys& keys = Keys::instance();
  std::lock_guard lock(keys.mutex);
  std::vector<const ConfigKey*> result;
  for (const auto& [name, key] : keys.by_name) result.push_back(&key);
  return result;
}

void PassContext::set_config(const std::string& key, const PassOption& value) {
  const ConfigKey* known = find_config_key(key);
  if (known == nullptr) {
    std::vector<std::string> names;
    for (const ConfigKey* other : all_config_keys()) names.push_back(other->name);
    Diagnostic diagnostic = Diagnostic::error("unknown configuration key " + key);
    suggest(diagnostic, key, names);
    throw Error(std::move(diagnostic));
  }
  std::optional<PassOption> converted = convert_option(value, known->default_value);
  if (!converted) {
    throw Error("configuration key " + key + " takes a value of type " +
                option_type_name(known->default_value) + ", not " + option_type_name(value));
  }
  const auto* number = std::get_if<int64_t>(&*converted);
  if (number != nullptr && known->least && *number < *known->least) {
    throw Error("configuration key " + key + " is at least " + std::to_string(*known->least) +
                ", not " + std::to_string(*number));
  }
  config.insert_or_assign(key, std::move(*converted));
}

PassOption PassContext::config_option(const std::string& key) const {
  const ConfigKey* known = find_config_key(key);
  RELAY_CHECK(known != nullptr, "configuration key " + key + " is not registered");
  auto found = config.find(key);
  if (found == config.end()) return known->default_value;
  std::optional<PassOption> converted = convert_option(found->second, known->default_value);
  if (converted) return *converted;
  throw Error("configuration key " + key + " takes a value of type " +
              option_type_name(known->default_value) + ", not " + option_type_name(found->second));
}

// ---- Contexts ---------------------------------------------------------------------------------

namespace {

std::vector<std::shared_ptr<const PassContext>>& context_stack() {
  thread_local std::vector<std::shared_ptr<const PassContext>> stack;
  return stack;
}

bool contains(const std::vector<std::string>& names, Name name) {
  for (const std::string& entry : names) {
    if (entry == name.view()) return true;
  }
  return false;
}

// Leaves instruments in their order, all of them; gives the first exception.
std::exception_ptr leave(const std::vector<PassInstrument>& instruments, size_t count) {
  std::exception_ptr first;
  for (size_t i = 0; i < count; ++i) {
    if (!instruments[i].exit) continue;
    try {
      instruments[i].exit();
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  return first;
}

}  // namespace

void PassContext::tell(Diagnostic diagnostic) const {
  if (diagnostics == nullptr) return;
  std::lock_guard lock(*records_);
  diagnostics->add(std::move(diagnostic));
}

std::vector<Diagnostic> PassContext::told() const {
  if (diagnostics == nullptr) return {};
  std::lock_guard lock(*records_);
  return diagnostics->diagnostics();
}

void PassContext::note_pass(PassTrace pass) const {
  if (!trace) return;
  std::lock_guard lock(*records_);
  trace->push_back(std::move(pass));
}

std::vector<PassTrace> PassContext::noted_passes() const {
  if (!trace) return {};
  std::lock_guard lock(*records_);
  return *trace;
}

bool PassContext::requires_pass(const PassInfo& info) const {
  return contains(required_passes, info.name);
}

bool PassContext::enabled(const PassInfo& info) const {
  if (contains(disabled_passes, info.name)) return false;
  return info.opt_level <= opt_level || requires_pass(info);
}

std::shared_ptr<const PassContext> PassContext::current_shared() {
  static const auto* default_context =
      new std::shared_ptr<const PassContext>(std::make_shared<PassContext>());
  const auto& stack = context_stack();
  return stack.empty() ? *default_context : stack.back();
}

const PassContext& PassContext::current() { return *current_shared(); }

bool PassContext::inside() { return !context_stack().empty(); }

PassContext PassContext::current_at(int opt_level) {
  PassContext context = current();
  context.opt_level = opt_level;
  for (PassInstrument& instrument : context.instruments) instrument.enter = instrument.exit = {};
  return context;
}

void PassContext::enter(std::shared_ptr<const PassContext> context) {
  RELAY_CHECK(context != nullptr, "entering no context");
  context_stack().push_back(context);
  for (size_t i = 0; i < context->instruments.size(); ++i) {
    if (!context->instruments[i].enter) continue;
    try {
      context->instruments[i].enter();
    } catch (...) {
      context_stack().pop_back();
      (void)leave(context->instruments, i);
      throw;
    }
  }
}

void PassContext::exit() {
  RELAY_CHECK(!context_stack().empty(), "leaving a context that was not entered");
  std::shared_ptr<const PassContext> context = std::move(context_stack().back());
  context_stack().pop_back();
  if (std::exception_ptr failure = leave(context->instruments, context->instruments.size()))
    std::rethrow_exception(failure);
}

bool leave_context(const std::shared_ptr<const PassContext>& context) {
  auto& stack = context_stack();
  auto found = std::find(stack.rbegin(), stack.rend(), context);
  if (found == stack.rend()) return false;
  stack.erase(std::next(found).base());
  if (std::exception_ptr failure = leave(context->instruments, context->instruments.size()))
    std::rethrow_exception(failure);
  return true;
}

PassContext::Scope::Scope(const PassContext& context)
    : Scope(std::make_shared<const PassContext>(context)) {}
PassContext::Scope::Scope(std::shared_ptr<const PassContext> context) { enter(std::move(context)); }
PassContext::Scope::~Scope() {
  try {
    exit();
  } catch (const std::exception& error) {
    spdlog::error("an instrument failed when its context was left: {}", error.what());
  }
}

RELAY_REGISTER_CONFIG({"relay.fallback_device_type", int64_t{1},
                       "The device type of DLPack that values are on of which nothing else is "
                       "said; 1 is the processor."});

}  // namespace relay
