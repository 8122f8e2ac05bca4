// Registered passes: lookup, options, passes as text, documentation.
#include <relay/transform/pass.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <deque>
#include <mutex>

#include <relay/support/error.h>
#include <relay/support/fork_mutex.h>
#include <relay/support/suggest.h>

namespace relay {
namespace {

struct Registry {
  ForkMutex mutex;
  std::deque<PassRegistration> passes;
  std::map<std::string, const PassRegistration*, std::less<>> by_name;

  static Registry& instance() {
    static Registry* registry = new Registry;
    return *registry;
  }
};

// As in Python, which is also how options are written in text.
std::string option_text(const PassOption& value) {
  struct Visitor {
    std::string operator()(bool flag) const { return flag ? "True" : "False"; }
    std::string operator()(int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const {
      char buffer[32];
      std::string text(buffer, std::to_chars(std::begin(buffer), std::end(buffer), number).ptr);
      return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
    }
    std::string operator()(const std::string& text) const { return AttrValue(text).str(); }
    std::string operator()(const std::vector<std::string>& list) const {
      std::string text = "[";
      for (const std::string& item : list) {
        if (text.size() > 1) text += ", ";
        text += (*this)(item);
      }
      return text + "]";
    }
  };
  return std::visit(Visitor(), value);
}

[[noreturn]] void unknown(std::string message, const std::string& help) {
  Diagnostic diagnostic = Diagnostic::error(std::move(message));
  if (!help.empty()) diagnostic.help(help);
  throw Error(std::move(diagnostic));
}

// Reads `Name(option=value, …), Name, …`. Values without a name are of the options in their order.
class PassListReader {
 public:
  explicit PassListReader(std::string_view text) : text_(text) {}

  std::vector<PassRef> read() {
    std::vector<PassRef> passes;
    skip();
    if (at_end()) fail("the name of a pass is missing");
    for (;;) {
      std::string name = identifier("the name of a pass");
      PassOptions options;
      if (accept('(')) {
        for (size_t place = 0; !accept(')'); ++place) {
          std::string key = option_name(name, place);
          if (!options.emplace(key, value()).second) fail("option " + key + " is given twice");
          if (!accept(',')) {
            expect(')');
            break;
          }
        }
      }
      passes.push_back(create_pass(name, options));
      if (at_end()) return passes;
      expect(',');
    }
  }

 private:
  // The name before `=`, or that of the option at this place.
  std::string option_name(const std::string& pass, size_t place) {
    const size_t start = at_;
    if (!at_end() && (std::isalpha(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) {
      std::string key = identifier("the name of an option");
      if (accept('=')) return key;
      at_ = start;
    }
    const PassRegistration* registration = find_pass(pass);
    if (registration == nullptr) return "value";  // refused when it is created
    if (place < registration->options.size()) return registration->options[place].name;
    const size_t count = registration->options.size();
    fail("pass " + pass + " has " +
         (count == 0 ? "no options" : std::to_string(count) + " option" + (count > 1 ? "s" : "")) +
         ", and one more is given");
  }

  PassOption value() {
    skip();
    if (accept('{')) return dictionary();
    if (accept('[')) {
      std::vector<std::string> list;
      while (!accept(']')) {
        skip();
        list.push_back(at_end() || (text_[at_] != '"' && text_[at_] != '\'') ? identifier("a name")
                                                                             : string());
        if (!accept(',')) {
          expect(']');
          break;
        }
      }
      return list;
    }
    if (!at_end() && (text_[at_] == '"' || text_[at_] == '\'')) return string();
    if (!at_end() && (std::isdigit(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-')) {
      return number();
    }
    std::string word = identifier("a value");
    if (word == "True" || word == "true") return true;
    if (word == "False" || word == "false") return false;
    return word;
  }

  /// `{"a": ["x", "y"]}` is the list with the entry `a: x y`, as from Python; a number alone counts
  /// as a list.
  PassOption dictionary() {
    std::vector<std::string> list;
    while (!accept('}')) {
      const PassOption key = value();
      const auto* name = std::get_if<std::string>(&key);
      expect(':');
      const PassOption values = value();
      const auto* texts = std::get_if<std::vector<std::string>>(&values);
      const bool is_number =
          std::holds_alternative<int64_t>(values) || std::holds_alternative<double>(values);
      if (name == nullptr || (texts == nullptr && !is_number))
        fail("a dictionary has names, each with a list of names or a number");
      std::string entry = *name + ":";
      if (is_number) entry += " " + option_text(values);
      for (size_t i = 0; texts != nullptr && i < texts->size(); ++i) entry += " " + (*texts)[i];
      list.push_back(std::move(entry));
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    return list;
  }

  PassOption number() {
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    int64_t integer = 0;
    auto [after, error] = std::from_chars(begin, end, integer);
    bool whole =
        error == std::errc() && (after == end || (*after != '.' && *after != 'e' && *after != 'E'));
    if (whole) {
      advance(after);
      return integer;
    }
    double real = 0;
    auto [stop, problem] = std::from_chars(begin, end, real);
    if (problem != std::errc()) fail("a number is malformed");
    advance(stop);
    return real;
  }

  std::string string() {
    char quote = text_[at_++];
    size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("a string without its end");
    std::string result(text_.substr(at_, end - at_));
    at_ = end + 1;
    skip();
    return result;
  }

  std::string identifier(const char* what) {
    skip();
    size_t start = at_;
    while (!at_end() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                         text_[at_] == '_' || text_[at_] == '.')) {
      ++at_;
    }
    if (start == at_) fail(std::string(what) + " is missing");
    std::string result(text_.substr(start, at_ - start));
    skip();
    return result;
  }

  bool accept(char c) {
    skip();
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    skip();
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("'") + c + "' is missing");
  }
  void advance(const char* to) {
    at_ = static_cast<size_t>(to - text_.data());
    skip();
  }
  void skip() {
    while (!at_end() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool at_end() const { return at_ >= text_.size(); }
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error("list of passes: " + problem + " at character " + std::to_string(at_ + 1) +
                " of \"" + std::string(text_) + "\"");
  }

  std::string_view text_;
  size_t at_ = 0;
};

using Option = PassRegistration::Option;

// Numbers that are kept as texts appear as numbers.
std::string default_text(const Option& option) {
  if (option.entries != OptionEntries::kIntegers) return option_text(option.default_value);
  std::string text;
  for (const std::string& number : std::get<std::vector<std::string>>(option.default_value))
    text += (text.empty() ? "" : ", ") + number;
  return "[" + text + "]";
}

// Throws `Error` for an integer that the option does not take.
void check_bounds(std::string_view pass, const Option& option, const PassOption& value) {
  const auto* number = std::get_if<int64_t>(&value);
  if (number == nullptr) return;
  const bool few = option.least && *number < *option.least;
  const bool many = option.most && *number > *option.most;
  if (!few && !many) return;
  const std::string text = "option " + option.name + " of pass " + std::string(pass) + " is ";
  if (option.least && option.most) {
    throw Error(text + "between " + std::to_string(*option.least) + " and " +
                std::to_string(*option.most) + ", not " + std::to_string(*number));
  }
  throw Error(text + (few ? "at least " : "at most ") +
              std::to_string(few ? *option.least : *option.most) + ", not " +
              std::to_string(*number));
}

const char* state_text(ProgramState state) {
  switch (state) {
    case ProgramState::kAny:
      return "";
    case ProgramState::kTyped:
      return "types";
    case ProgramState::kANF:
      return "A-normal form";
    case ProgramState::kFused:
      return "fused operators";
  }
  return "";
}

}  // namespace

const char* PassRegistration::Option::type_name() const {
  switch (entries) {
    case OptionEntries::kTexts:
      return option_type_name(default_value);
    case OptionEntries::kIntegers:
      return "list of int";
    case OptionEntries::kIntegerByName:
      return "dict of str to int";
    case OptionEntries::kNumberByName:
      return "dict of str to float";
    case OptionEntries::kTextsByName:
      return "dict of str to list of str";
    case OptionEntries::kIntegerLists:
      return "list of lists of int";
  }
  RELAY_UNREACHABLE("entries of an option");
}

bool register_pass(PassRegistration registration) {
  Registry& registry = Registry::instance();
  std::lock_guard lock(registry.mutex);
  RELAY_CHECK(registration.make != nullptr && !registration.info.name.empty(),
              "a pass without a name or without its maker");
  const PassRegistration& entry = registry.passes.emplace_back(std::move(registration));
  bool added = registry.by_name.emplace(entry.info.name.str(), &entry).second;
  RELAY_CHECK(added, "pass registered twice: " + entry.info.name.str());
  return true;
}

const PassRegistration* find_pass(std::string_view name) {
  Registry& registry = Registry::instance();
  std::lock_guard lock(registry.mutex);
  auto found = registry.by_name.find(name);
  return found == registry.by_name.end() ? nullptr : found->second;
}

std::vector<const PassRegistration*> all_passes() {
  Registry& registry = Registry::instance();
  std::lock_guard lock(registry.mutex);
  std::vector<const PassRegistration*> passes;
  for (const auto& entry : registry.by_name) passes.push_back(entry.second);
  return passes;
}

PassRef create_pass(std::string_view name, const PassOptions& options) {
  const PassRegistration* registration = find_pass(name);
  if (registration == nullptr) {
    std::vector<std::string> names;
    for (const PassRegistration* pass : all_passes()) names.push_back(pass->info.name.str());
    unknown("unknown pass " + std::string(name), did_you_mean(std::string(name), names));
  }
  PassOptions complete;
  for (const auto& option : registration->options) complete[option.name] = option.default_value;
  for (const auto& [key, value] : options) {
    auto entry = complete.find(key);
    if (entry == complete.end()) {
      std::vector<std::string> names;
      for (const auto& option : registration->options) names.push_back(option.name);
      unknown("pass " + std::string(name) + " has no option " + key,
              names.empty() ? "it has none" : did_you_mean(key, names));
    }
    std::optional<PassOption> converted = convert_option(value, entry->second);
    const auto& declared = *std::ranges::find(registration->options, key, &Option::name);
    if (!converted) {
      throw Error("option " + key + " of pass " + std::string(name) + " takes " +
                  declared.type_name() + ", found " + option_type_name(value) + " " +
                  option_text(value));
    }
    check_bounds(name, declared, *converted);
    entry->second = std::move(*converted);
  }
  return registration->make(registration->info, complete);
}

std::vector<PassRef> parse_passes(std::string_view text) { return PassListReader(text).read(); }

std::string pass_reference_markdown() {
  std::string text =
      "# Passes\n\nRun a pass on the command line by `relay opt PROGRAM --passes "
      "FoldConstant,FuseOps`, or in Python by `relay.transform.FoldConstant()(module)`,\nalone or "
      "in `relay.transform.Sequential([...])`. Options are `Pass(option=value)` on the command "
      "line and keyword arguments in\nPython.\n\nA sequence runs a pass if the context's level is "
      "at least the pass's; the default is 2. It first brings the program into the state\nthat the "
      "pass needs. `relay doc passes` writes this page from the registrations in "
      "`relay/transform/`.\n";
  for (const PassRegistration* pass : all_passes()) {
    const PassInfo& info = pass->info;
    text += "\n## " + info.name.str() + "\n\nLevel " + std::to_string(info.opt_level);
    bool first = true;
    for (ProgramState state : info.requires_) {
      if (state == ProgramState::kAny) continue;
      text += first ? ", needs " : " and ";
      text += state_text(state);
      first = false;
    }
    text += ".\n\n" + info.doc + "\n";
    if (pass->options.empty()) continue;
    text += "\n| option | type | default | meaning |\n|---|---|---|---|\n";
    for (const auto& option : pass->options) {
      text += "| `" + option.name + "` | " + option.type_name() + " | `" + default_text(option) +
              "` | " + option.doc + " |\n";
    }
  }
  return text;
}

}  // namespace relay
