// The definitions and values of `relay repl`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <relay/ir/module.h>
#include <relay/runtime/value.h>

#include <tools/relay/native.h>

namespace relay::tool {

/// True if a text is whole: its brackets, strings and comments are closed.
bool is_whole_input(std::string_view text);

class Session {
 public:
  explicit Session(NativeOptions options) : options_(std::move(options)) {}

  /// Takes definitions, or runs an expression, or binds its value to a name; gives what to print.
  /// `time`: with what each stage takes. Throws `Error`; then nothing has changed.
  std::string take(const std::string& text, bool time = false);
  /// The type of an expression.
  std::string type(const std::string& text);
  /// An expression, or all definitions if there is none, after passes.
  std::string after_passes(const std::string& passes, const std::string& text);
  /// Adds the definitions of a file.
  std::string load(const std::string& path);
  /// The names with their types.
  std::string list() const;
  /// The names that begin with `word`, sigils included.
  std::vector<std::string> complete(const std::string& word) const;

 private:
  struct Binding {
    Value value;
    TypeRef type;
  };
  struct Expression {
    Module module;  // typed; the expression is `entry`
    Name entry;
    std::vector<Value> arguments;
  };
  std::string define(const std::string& name, const std::string& text);
  Expression read(const std::string& text) const;
  Binding run(Expression expression, bool time, std::string& times) const;

  NativeOptions options_;
  Module module_;
  std::unordered_map<std::string, Binding> bindings_;
  std::vector<std::string> order_;  // of the bindings
};

}  // namespace relay::tool
