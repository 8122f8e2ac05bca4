#include <tools/relay/session.h>

#include <algorithm>
#include <chrono>

#include <fmt/core.h>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/infer/runtime/type_checks.h>
#include <relay/op/op.h>
#include <relay/parse/imports.h>
#include <relay/parse/infix.h>
#include <relay/parse/lexer.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/print/text.h>
#include <relay/runtime/format.h>
#include <relay/support/error.h>
#include <relay/transform/pass.h>
#include <relay/transform/program.h>

#include <tools/relay/command.h>

namespace relay::tool {
namespace {

using parsing::Lexer;
using parsing::SymbolTable;
using parsing::Tok;
using parsing::Token;

std::vector<Token> tokens_of(std::string_view text, SymbolTable& symbols) {
  Lexer lexer(text, &symbols);
  std::vector<Token> tokens;
  do {
    tokens.push_back(lexer.next());
  } while (!tokens.back().is(Tok::kEnd));
  return tokens;
}

int depth_change(const Token& token) {
  switch (token.kind) {
    case Tok::kLParen:
    case Tok::kLBracket:
    case Tok::kLBrace:
      return 1;
    case Tok::kRParen:
    case Tok::kRBracket:
    case Tok::kRBrace:
      return -1;
    default:
      return 0;
  }
}

// The name that a text binds to a value: `let %x = e` or `%x = e` with nothing behind it.
std::string bound_name(const std::vector<Token>& tokens, const SymbolTable& symbols) {
  const bool let = tokens[0].is_word(parsing::kwLet);
  const size_t name = let ? 1 : 0;
  if (tokens.size() <= name || !tokens[name].is(Tok::kLocal)) return {};
  if (!let && !tokens[1].is(Tok::kAssign)) return {};
  int depth = 0;
  for (size_t i = name; i + 1 < tokens.size(); ++i) {
    depth += depth_change(tokens[i]);
    const bool ends = tokens[i].is(Tok::kSemicolon) && depth == 0;
    if (ends && !tokens[i + 1].is(Tok::kEnd)) return {};
  }
  return std::string(symbols[tokens[name].symbol].view());
}

bool defines(const std::vector<Token>& tokens) {
  const Token& first = tokens[0];
  const bool named = tokens.size() > 1 && !tokens[1].is(Tok::kAssign);
  return named && (first.is_word(parsing::kwDef) || first.is_word(parsing::kwType) ||
                   first.is_word(parsing::kwData) || first.is_word(parsing::kwExtern) ||
                   first.is_word(parsing::kwImport) || first.is(Tok::kVersion));
}

std::string quoted_local(const std::string& name) {
  std::string text;
  printing::append_name(text, '%', name);
  return text;
}

// Moves places from a text with lines in front to the text alone.
void shift(std::vector<Diagnostic>& diagnostics, const Source& from, size_t prefix,
           const Source& to) {
  auto move = [&](Span& span) {
    if (span.begin() < from.base() + prefix || span.begin() > from.base() + from.text().size())
      return;
    span = to.span(span.begin() - from.base() - prefix, span.length());
  };
  for (Diagnostic& diagnostic : diagnostics) {
    move(diagnostic.span);
    for (DiagnosticNote& note : diagnostic.notes) move(note.span);
  }
}

}  // namespace

bool is_whole_input(std::string_view text) {
  SymbolTable symbols;
  Lexer lexer(text, &symbols);
  int depth = 0;
  Tok last = Tok::kEnd;
  for (Token token = lexer.next(); !token.is(Tok::kEnd); token = lexer.next()) {
    last = token.kind;
    if (token.is(Tok::kError) && token.end == text.size() &&
        text.substr(token.begin).starts_with("/*"))
      return false;
    depth += depth_change(token);
  }
  return depth <= 0 && parsing::infix(last).precedence == 0 && last != Tok::kAssign;
}

std::string Session::define(const std::string& name, const std::string& text) {
  std::shared_ptr<const Source> source = SourceMap::add(name, text);
  SymbolTable symbols;
  const std::vector<Token> tokens = tokens_of(source->text(), symbols);
  // A new definition takes the place of an old one.
  Module base = module_;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (!tokens[i].is_word(parsing::kwDef) || !tokens[i + 1].is(Tok::kGlobal)) continue;
    const Name old(symbols[tokens[i + 1].symbol].view());
    if (base.function(old) != nullptr) base.remove_function(old);
  }
  ParseResult parsed = parse_source(source, base);
  if (!parsed.ok()) throw Error(std::move(parsed.diagnostics));
  report(parsed.diagnostics);
  check_program(parsed.module, name);
  std::string out;
  for (const Module::FunctionEntry& entry : parsed.module.functions()) {
    const bool is_new = base.function(entry.name) == nullptr;
    if (!is_new || is_imported(entry.function->span())) continue;
    printing::append_name(out, '@', entry.name.view());
    out += " : " + function_signature(parsed.module, entry.name)->str() + "\n";
  }
  for (const TypeDataRef& data : parsed.module.types()) {
    if (base.type_data(data->name()->name()) == nullptr && !is_imported(data->span()))
      out += "type " + data->name()->name().str() + "\n";
  }
  module_ = std::move(parsed.module);
  return out;
}

Session::Expression Session::read(const std::string& text) const {
  SymbolTable symbols;
  // The names of earlier inputs are free variables of the expression.
  std::vector<std::string> used;
  for (const Token& token : tokens_of(text, symbols)) {
    if (!token.is(Tok::kLocal)) continue;
    std::string name(symbols[token.symbol].view());
    while (!bindings_.contains(name) && !token.escaped && name.rfind('.') != std::string::npos)
      name.resize(name.rfind('.'));
    const bool known = bindings_.contains(name);
    if (known && std::find(used.begin(), used.end(), name) == used.end()) used.push_back(name);
  }
  std::string prefix;
  for (const std::string& name : used)
    prefix += "free_var " + quoted_local(name) + ": " + bindings_.at(name).type->str() + ";\n";
  std::shared_ptr<const Source> source = SourceMap::add("<input>", prefix + text);
  std::shared_ptr<const Source> shown = SourceMap::add("<input>", text);
  Module base = module_;
  const Name main("main");
  if (base.function(main) != nullptr) base.remove_function(main);
  try {
    ParseResult parsed = parse_source(source, std::move(base));
    if (!parsed.ok()) throw Error(std::move(parsed.diagnostics));
    check_program(parsed.module, "<input>");
    Expression expression{std::move(parsed.module), main, {}};
    const Function* function = expression.module.function(main);
    // A function alone is a value, not a program to be run.
    if (function == nullptr) throw Error("an expression is expected");
    for (const VarRef& param : function->params()) {
      auto binding = bindings_.find(param->name().str());
      if (binding == bindings_.end()) break;
      expression.arguments.push_back(binding->second.value);
    }
    return expression;
  } catch (const Error& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    shift(diagnostics, *source, prefix.size(), *shown);
    throw Error(std::move(diagnostics));
  }
}

Session::Binding Session::run(Expression expression, bool time, std::string& times) const {
  auto start = std::chrono::steady_clock::now();
  auto lap = [&](const char* stage) {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - start).count();
    if (time) times += fmt::format("{}: {:.3f} ms\n", stage, ms);
    start = std::chrono::steady_clock::now();
  };
  const Function* main = expression.module.function(expression.entry);
  if (main->params().size() != expression.arguments.size())
    throw Error("a function is no value that can be shown; define it: def @f(…) { … }");
  check_arguments(expression.module, expression.entry, expression.arguments);
  const std::vector<bool> constants(expression.arguments.size(), false);
  Module module = close_program(std::move(expression.module), expression.entry,
                                expression.arguments, constants);
  std::vector<Value> arguments = std::move(expression.arguments);
  place_arguments(arguments, module, expression.entry);
  const TypeRef signature = function_signature(module, expression.entry);
  std::shared_ptr<const vm::Executable> executable =
      compile_module(module, expression.entry, options_);
  lap("compile");
  Interruption interruption;
  vm::Machine machine(executable, {.threads = options_.threads, .interrupt = interruption.flag()});
  Binding result;
  result.value = machine.run(expression.entry.str(), arguments);
  lap("run");
  result.type = value_type(result.value);
  const auto* function = signature ? signature->as<FuncType>() : nullptr;
  if (function != nullptr && result.type->has_incomplete()) result.type = result_type(function);
  return result;
}

std::string Session::take(const std::string& text, bool time) {
  SymbolTable symbols;
  const std::vector<Token> tokens = tokens_of(text, symbols);
  if (tokens[0].is(Tok::kEnd)) return {};
  if (defines(tokens)) return define("<input>", text);
  const std::string name = bound_name(tokens, symbols);
  std::string times;
  if (name.empty()) {
    const Binding result = run(read(text), time, times);
    return format_value(result.value) + "\n: " + result.type->str() + "\n" + times;
  }
  const bool closed = tokens[tokens.size() - 2].is(Tok::kSemicolon);
  Binding result = run(read(text + (closed ? "\n" : ";\n") + quoted_local(name)), time, times);
  std::string out = quoted_local(name) + " : " + result.type->str() + "\n" + times;
  if (!bindings_.contains(name)) order_.push_back(name);
  bindings_[name] = std::move(result);
  return out;
}

std::string Session::type(const std::string& text) {
  const Expression expression = read(text);
  const TypeRef signature = function_signature(expression.module, expression.entry);
  const auto* function = signature->as<FuncType>();
  const bool closed = function->params().size() == expression.arguments.size();
  return (closed ? result_type(function) : signature)->str() + "\n";
}

std::string Session::after_passes(const std::string& passes, const std::string& text) {
  const std::vector<PassRef> list = parse_passes(passes);
  Module module = text.empty() ? module_ : read(text).module;
  PassContext context;
  DiagnosticSink sink;
  context.diagnostics = &sink;
  PassContext::Scope scope(context);
  for (const PassRef& pass : list) module = (*pass)(module);
  report(sink.take());
  if (text.empty()) return print_module(module);
  // The expression, without the definitions that it does not change.
  Module shown;
  shown.add_function(Name("main"), FunctionRef(module.function(Name("main"))));
  return print_module(shown);
}

std::string Session::load(const std::string& path) {
  Input input = read_input(path);
  return define(input.name, input.text);
}

std::string Session::list() const {
  std::string out;
  for (const Module::FunctionEntry& entry : module_.functions()) {
    if (is_imported(entry.function->span())) continue;
    printing::append_name(out, '@', entry.name.view());
    out += " : " + function_signature(module_, entry.name)->str() + "\n";
  }
  for (const std::string& name : order_)
    out += quoted_local(name) + " : " + bindings_.at(name).type->str() + "\n";
  return out;
}

std::vector<std::string> Session::complete(const std::string& word) const {
  std::vector<std::string> found;
  auto add = [&](const std::string& name) {
    if (name.starts_with(word)) found.push_back(name);
  };
  for (const Module::FunctionEntry& entry : module_.functions()) add("@" + entry.name.str());
  for (const std::string& name : order_) add("%" + name);
  for (const TypeDataRef& data : module_.types()) {
    add(data->name()->name().str());
    for (const ConstructorRef& made : data->constructors()) add(made->name().str());
  }
  if (!word.empty() && word[0] != '@' && word[0] != '%')
    for (const Operator* op : all_ops()) add(op->name().str());
  for (const char* command : {":help", ":list", ":load", ":passes", ":quit", ":time", ":type"})
    if (word.starts_with(':')) add(command);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace relay::tool
