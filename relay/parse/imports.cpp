#include <relay/parse/imports.h>

#include <relay/ir/equal.h>
#include <relay/parse/parser.h>
#include <relay/std/library.h>
#include <relay/support/error.h>

namespace relay {

namespace {

// Stands before the names of the files in messages; no file of a user is called so.
constexpr std::string_view kFolder = "<std>/";

// Both functions without their bodies.
bool same_signature(const Function& a, const Function& b) {
  auto signature = [](const Function& f) {
    return make_function({f.params().begin(), f.params().end()},
                         make_tuple(std::span<const ExprRef>()), f.ret_type(),
                         {f.type_params().begin(), f.type_params().end()},
                         {f.constraints().begin(), f.constraints().end()});
  };
  return structural_equal(signature(a).get(), signature(b).get());
}

bool same_type(const TypeDataRef& a, const TypeDataRef& b) {
  Module left;
  Module right;
  left.add_type(a);
  right.add_type(b);
  return structural_equal(left, right);
}

[[noreturn]] void fail_defined(const std::string& name, std::string_view file, Span here,
                               Span there) {
  throw Error(Diagnostic::error(std::string(file) + " cannot be imported: it defines " + name +
                                    ", and the program does so in another way",
                                here)
                  .note("defined here as well", there));
}

// True if a file has definitions that the module lacks. Throws if both define a name differently.
bool adds_to(const Module& module, const Module& other, std::string_view file) {
  bool adds = false;
  for (const TypeDataRef& data : other.types()) {
    const TypeData* old = module.type_data(data->name()->name());
    adds |= old == nullptr;
    if (old != nullptr && !same_type(TypeDataRef(old), data))
      fail_defined("type " + data->name()->name().str(), file, old->span(), data->span());
  }
  for (const Module::FunctionEntry& entry : other.functions()) {
    const Function* old = module.function(entry.name);
    adds |= old == nullptr;
    if (old != nullptr && !same_signature(*old, *entry.function))
      fail_defined("@" + entry.name.str(), file, old->span(), entry.function->span());
  }
  return adds;
}

std::shared_ptr<const Source> standard_source(std::string_view file) {
  std::optional<std::string> text = standard_text(file);
  if (!text) {
    throw Error(Diagnostic::error("the standard library has no " + std::string(file))
                    .help("it has " + standard_file_names()));
  }
  std::string name = std::string(kFolder) + std::string(file);
  if (!name.ends_with(".rly")) name += ".rly";
  return SourceMap::add(std::move(name), std::move(*text));
}

// The text of a file with a module's definitions in place of those that it repeats: constructors
// are compared as objects.
Module parse_onto(Module module, std::shared_ptr<const Source> source) {
  ParseResult result = parse_source(std::move(source), std::move(module), true);
  if (!result.ok()) throw Error(std::move(result.diagnostics));
  return std::move(result.module);
}

}  // namespace

ImportLines find_imports(std::string_view text) {
  parsing::SymbolTable symbols(16);
  parsing::Lexer lexer(text, &symbols);
  using parsing::Tok;
  ImportLines found;
  parsing::Token token = lexer.next();
  if (token.is(Tok::kVersion)) {
    while (!token.is(Tok::kRBracket) && !token.is(Tok::kEnd)) token = lexer.next();
    token = lexer.next();
  }
  while (token.is_word(parsing::kwImport)) {
    token = lexer.next();
    const bool bare =  // an error that is read on
        token.is(Tok::kIdent) && standard_text(symbols[token.symbol].view()).has_value();
    if (!token.is(Tok::kString) && !bare) break;
    ImportLine& line = found.lines.emplace_back();
    line.begin = token.begin;
    line.end = token.end;
    if (bare) {
      line.file = symbols[token.symbol].view();
    } else if (!parsing::unescape(text.substr(token.begin, token.end - token.begin), line.file))
      found.lines.pop_back();  // the parser reports it
    found.end = token.end;
    token = lexer.next();
    if (token.is(Tok::kSemicolon)) token = lexer.next();
  }
  return found;
}

namespace {

// Imports behind definitions, which are errors. What they import is known, so that each is one.
std::vector<ImportLine> late_imports(std::string_view text, size_t from) {
  using parsing::Tok;
  std::vector<ImportLine> found;
  if (text.find("import \"", from) == std::string_view::npos) return found;
  parsing::SymbolTable symbols(16);
  const std::string_view rest = text.substr(from);
  parsing::Lexer lexer(rest, &symbols);
  int depth = 0;
  for (parsing::Token token = lexer.next(); !token.is(Tok::kEnd);) {
    depth += token.is(Tok::kLBrace) ? 1 : token.is(Tok::kRBrace) ? -1 : 0;
    const bool is_import = depth == 0 && token.is_word(parsing::kwImport);
    token = lexer.next();
    if (!is_import || !token.is(Tok::kString)) continue;
    ImportLine line{{}, from + token.begin, from + token.end};
    if (parsing::unescape(rest.substr(token.begin, token.end - token.begin), line.file))
      found.push_back(std::move(line));
  }
  return found;
}

}  // namespace

Module standard_module(std::string_view file) { return parse_onto({}, standard_source(file)); }

void import_standard(Module& module, std::string_view file) {
  std::shared_ptr<const Source> source = standard_source(file);
  if (adds_to(module, parse_onto({}, source), file)) module = parse_onto(module, source);
}

bool is_imported(Span span) {
  std::shared_ptr<const Source> source = SourceMap::find(span);
  return source != nullptr && source->name().starts_with(kFolder);
}

namespace parsing {

void Parser::parse_imports(Module& module) {
  ImportLines imports = find_imports(text_);
  imports_end_ = imports.end;
  for (ImportLine& line : late_imports(text_, imports.end))
    imports.lines.push_back(std::move(line));
  for (const ImportLine& line : imports.lines) {
    Span where = source_->span(line.begin, line.end - line.begin);
    Module before = module;
    try {
      guarded(where, [&] { import_standard(module, line.file); });
    } catch (const SyntaxError&) {
      continue;
    }
    Module added;
    for (const TypeDataRef& data : module.types()) {
      if (before.type_data(data->name().get()) == nullptr) added.add_type(data);
    }
    for (const Module::FunctionEntry& entry : module.functions()) {
      if (before.function(entry.name) == nullptr) added.add_function(entry.name, entry.function);
    }
    know_definitions(added);
  }
}

// Makes names of another module known to the text.
void Parser::know_definitions(const Module& other) {
  for (const TypeDataRef& data : other.types()) {
    Symbol symbol = symbols_.intern_copy(data->name()->name().str());
    auto [entry, added] = data_index_.emplace(symbol, data_.size());
    if (!added) {
      DataHead& head = data_[entry->second];
      head.failed = true;
      report(
          Diagnostic::error("type " + std::string(name_of(symbol)) + " is defined twice", head.span)
              .note("first defined here", data->span()));
      continue;
    }
    DataHead head;
    head.name = symbol;
    head.is_extern = data->is_extern();
    head.elsewhere = true;
    head.quoted = true;
    head.begin = std::string_view::npos;
    head.span = data->span();
    head.type_vars.assign(data->type_vars().begin(), data->type_vars().end());
    data_.push_back(std::move(head));
    for (const ConstructorRef& constructor : data->constructors()) {
      SymbolInfo& info = symbols_[symbols_.intern_copy(constructor->name().str())];
      info.constructor = static_cast<int32_t>(constructors_.size());
      info.constructor_quoted = true;
      constructors_.emplace_back(constructor, constructor->span());
    }
  }
  for (const Module::FunctionEntry& entry : other.functions())
    globals_.emplace(symbols_.intern_copy(entry.name.str()), entry.function->span());
}

}  // namespace parsing

}  // namespace relay
