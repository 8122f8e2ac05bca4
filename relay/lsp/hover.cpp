// Texts about a name: on hover, and while the arguments of a call are typed.
#include <algorithm>

#include <relay/infer/infer.h>
#include <relay/lsp/features.h>
#include <relay/lsp/meaning.h>
#include <relay/lsp/operator_text.h>
#include <relay/parse/infix.h>

namespace relay::lsp {

using parsing::SyntaxToken;
using parsing::Tok;

std::string operator_form(const Operator& op) {
  std::string text = op.name().str() + "(";
  bool first = true;
  for (const std::string& parameter : operator_parameters(op)) {
    text += (first ? "" : ", ") + parameter;
    first = false;
  }
  return text + ")";
}

std::vector<std::string> operator_parameters(const Operator& op) {
  std::vector<std::string> parameters;
  for (const OpInput& input : op.inputs()) parameters.push_back(input.name.str());
  if (const AttrsSchema* schema = op.attrs_schema()) {
    for (size_t i = 0; i < schema->fields.size(); ++i) {
      const AttrField& field = schema->fields[i];
      parameters.push_back(field.name.str() + "=" +
                           (field.required ? "…" : schema->defaults(i).str()));
    }
  }
  return parameters;
}

std::string operator_documentation(const Operator& op) {
  std::string text = op.doc();
  auto line = [&](const std::string& name, const std::string& doc) {
    text += "\n- `" + name + "`: " + doc;
  };
  if (!op.inputs().empty()) text += "\n";
  for (const OpInput& input : op.inputs()) line(input.name.str(), input.doc);
  if (const AttrsSchema* schema = op.attrs_schema()) {
    for (const AttrField& field : schema->fields)
      line(field.name.str() + ": " + field.type_text(), field.doc);
  }
  return text;
}

namespace {

std::string code(const std::string& text) { return "```relay\n" + text + "\n```"; }

std::string signature_of(const Analysis& analysis, const std::string& name) {
  const Function* function = analysis.module().function(Name(name));
  if (function == nullptr || function->type() == nullptr) return {};
  return function->type()->str();
}

std::string about_global(const Analysis& analysis, const std::string& name) {
  const std::string type = signature_of(analysis, name);
  std::string text = code("@" + name + (type.empty() ? "" : ": " + type));
  const std::string doc = documentation(analysis, chunk_of_global(analysis, name));
  return doc.empty() ? text : text + "\n" + doc;
}

// The smallest expression around a token.
const Type* type_around(const std::vector<TypedPlace>& places, const SyntaxToken& token) {
  const TypedPlace* best = nullptr;
  for (const TypedPlace& place : places) {
    if (place.begin > token.begin || place.end < token.end || place.binder) continue;
    if (best == nullptr || place.end - place.begin < best->end - best->begin) best = &place;
  }
  return best == nullptr ? nullptr : best->type;
}

std::string about(const Analysis& analysis, const Meaning& meaning) {
  const Chunk& chunk = *analysis.chunks()[meaning.chunk].chunk;
  const SyntaxToken& token = chunk.syntax.tokens[meaning.token];
  if (meaning.kind == Meaning::Kind::kGlobal) return about_global(analysis, meaning.name);
  const std::vector<TypedPlace> places = typed_places(analysis, &chunk);
  if (meaning.kind == Meaning::Kind::kLocal) {
    const Type* type = type_of(places, chunk, *meaning.binder);
    return code("%" + meaning.name + (type == nullptr ? "" : ": " + type->str()));
  }
  const Type* type = type_around(places, token);
  if (meaning.kind == Meaning::Kind::kOperator) {
    std::string text = operator_form(*meaning.op);
    if (type != nullptr) text += " -> " + type->str();
    return code(text) + "\n" + operator_documentation(*meaning.op);
  }
  if (meaning.kind == Meaning::Kind::kWord) {
    if (!meaning.word->constructor) return code("type " + meaning.name);
    std::string text = meaning.name;
    if (const Constructor* made = analysis.module().constructor(Name(meaning.name)))
      if (const TypeData* data = analysis.module().type_data(Name(meaning.word->owner)))
        text += ": " + constructor_type(*data, *made)->str();
    return code(text) + "\nA constructor of `" + meaning.word->owner + "`.";
  }
  const bool names_type = token.kind == Tok::kNumber || token.kind == Tok::kProjection ||
                          parsing::infix(token.kind).precedence > 0;
  if (names_type && type != nullptr) return code(type->str());
  return {};
}

// The call whose arguments a place is in: the token before its bracket, and which argument it is.
struct OpenCall {
  size_t callee = 0;
  size_t argument = 0;
  bool found = false;
};

OpenCall call_around(const Chunk& chunk, size_t offset) {
  const std::vector<SyntaxToken>& tokens = chunk.syntax.tokens;
  OpenCall call;
  size_t depth = 0;
  for (size_t i = tokens.size() - 1; i > 0; --i) {
    const SyntaxToken& token = tokens[i - 1];
    if (token.begin >= offset) continue;
    switch (token.kind) {
      case Tok::kRParen:
      case Tok::kRBracket:
      case Tok::kRBrace:
        ++depth;
        break;
      case Tok::kLBrace:
      case Tok::kSemicolon:
        if (depth == 0) {
          // A dictionary stands in the call; a block does not.
          const bool in_dictionary =
              token.kind == Tok::kLBrace && i >= 2 && i < tokens.size() &&
              (tokens[i - 2].kind == Tok::kAssign || tokens[i].kind == Tok::kString);
          if (!in_dictionary) return call;
          call.argument = 0;
          break;
        }
        if (token.kind == Tok::kLBrace) --depth;
        break;
      case Tok::kLBracket:
      case Tok::kLParen: {
        if (depth > 0) {
          --depth;
          break;
        }
        const bool named =
            i >= 2 && (tokens[i - 2].kind == Tok::kIdent || tokens[i - 2].kind == Tok::kGlobal);
        if (token.kind == Tok::kLParen && named) {
          call.callee = i - 2;
          call.found = true;
          return call;
        }
        call.argument = 0;  // a tuple or list within an argument
        break;
      }
      case Tok::kComma:
        if (depth == 0) ++call.argument;
        break;
      default:
        break;
    }
  }
  return call;
}

}  // namespace

const Operator* operator_around(const Chunk& chunk, size_t offset) {
  const OpenCall call = call_around(chunk, offset);
  if (!call.found || chunk.syntax.tokens[call.callee].kind != Tok::kIdent) return nullptr;
  return find_op(Name(plain_text(chunk.token(call.callee))));
}

json hover(const View& view, size_t offset) {
  const Meaning meaning = meaning_at(view.analysis, offset);
  const std::string text = about(view.analysis, meaning);
  if (text.empty()) return nullptr;
  const Placed& placed = view.analysis.chunks()[meaning.chunk];
  const SyntaxToken& token = placed.chunk->syntax.tokens[meaning.token];
  return {{"contents", {{"kind", "markdown"}, {"value", text}}},
          {"range", to_json(view.range(placed.begin + token.begin, placed.begin + token.end))}};
}

json signature_help(const View& view, size_t offset) {
  const Placed& placed = view.analysis.chunks()[view.analysis.chunk_at(offset)];
  const Chunk& chunk = *placed.chunk;
  const OpenCall call = call_around(chunk, offset - placed.begin);
  if (!call.found) return nullptr;
  json parameters = json::array();
  std::string label;
  std::string doc;
  const std::string name = plain_text(chunk.token(call.callee));
  if (chunk.syntax.tokens[call.callee].kind == Tok::kGlobal) {
    const Function* function = view.analysis.module().function(Name(name));
    if (function == nullptr) return nullptr;
    label = "@" + name + "(";
    for (const VarRef& param : function->params()) {
      std::string text = "%" + param->name().str();
      if (param->type() != nullptr) text += ": " + param->type()->str();
      label += (parameters.empty() ? "" : ", ") + text;
      parameters.push_back({{"label", text}});
    }
    label += ")";
    doc = documentation(view.analysis, chunk_of_global(view.analysis, name));
  } else {
    const Operator* op = find_op(Name(name));
    if (op == nullptr) return nullptr;
    label = operator_form(*op);
    for (const std::string& parameter : operator_parameters(*op))
      parameters.push_back({{"label", parameter}});
    doc = operator_documentation(*op);
  }
  return {{"signatures",
           {{{"label", label},
             {"documentation", {{"kind", "markdown"}, {"value", doc}}},
             {"parameters", parameters}}}},
          {"activeSignature", 0},
          {"activeParameter", call.argument}};
}

}  // namespace relay::lsp
