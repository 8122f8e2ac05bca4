// Text to the numbers, values and attributes of patterns and rules, and names of operators.
#include <charconv>
#include <cmath>

#include <relay/op/op.h>
#include <relay/pattern/parser.h>
#include <relay/pattern/text.h>
#include <relay/support/error.h>
#include <relay/support/suggest.h>

namespace relay::pattern {

void Parser::refuse_suffix(std::string_view why) const {
  if (lexer_.token() == Token::kNumber && lexer_.suffix().valid())
    fail("a number has no dtype here: " + std::string(why));
}

double Parser::signed_number() {
  bool negative = take("-");
  if (at_word("inf")) {
    lexer_.advance();
    return negative ? -HUGE_VAL : HUGE_VAL;
  }
  std::string text = lexer_.text();
  if (lexer_.token() != Token::kNumber) unexpected("a number");
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail("the number " + text + " is beyond all floats");
  lexer_.advance();
  return negative ? -value : value;
}

AttrValue Parser::value() {
  Nesting nesting(*this);
  if (lexer_.token() == Token::kString) {
    std::string text = lexer_.text();
    lexer_.advance();
    return AttrValue(std::move(text));
  }
  if (lexer_.token() == Token::kWord && !at_word("inf")) {
    std::string name = lexer_.text();
    std::optional<DType> dtype = DType::parse(name);
    bool known = name == "True" || name == "False" || name == "None" || dtype.has_value();
    if (!known) unexpected("a value", At::kValue);
    lexer_.advance();
    if (name == "None") return {};
    return dtype ? AttrValue(*dtype) : AttrValue(name == "True");
  }
  if (take("[")) {
    AttrValue::List list;
    while (!at("]")) {
      list.push_back(value());
      if (!take(",")) break;
    }
    expect("]", "behind the list");
    return AttrValue(std::move(list));
  }
  if (take("{")) {
    std::map<std::string, AttrValue> dict;
    while (!at("}")) {
      if (lexer_.token() != Token::kString) unexpected("a key in quotes", At::kValue);
      std::string key = lexer_.text();
      lexer_.advance();
      expect(":", "behind the key");
      dict.insert_or_assign(std::move(key), value());
      if (!take(",")) break;
    }
    expect("}", "behind the dictionary");
    return AttrValue::dict(std::move(dict));
  }
  refuse_suffix("the attribute has its own");
  if (lexer_.token() != Token::kNumber && !at("-") && !at_word("inf"))
    unexpected("a value", At::kValue);
  bool whole = true;
  size_t begin = lexer_.begin();
  double number = signed_number();
  std::string_view text = lexer_.source()->text().substr(begin);
  int64_t integer = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
  bool is_integer =
      whole && error == std::errc() &&
      (end == text.data() + text.size() || (*end != '.' && *end != 'e' && *end != 'E'));
  return is_integer ? AttrValue(integer) : AttrValue(number);
}

NamedAttr Parser::attribute(const Operator* op) {
  Span span = lexer_.span();
  Name name = take_text(Token::kWord, "the name of an attribute");
  expect("=", "behind the attribute's name");
  const AttrField* field = op == nullptr ? nullptr : &field_of(op, name, span);
  Span place = lexer_.span();
  if (lexer_.token() == Token::kLocal) {
    throw Error(Diagnostic::error("the value of an attribute is no part of a pattern", place)
                    .help("name the call, `%c = " + (op == nullptr ? "P" : op->name().str()) +
                          "(..)`, and its attribute is %c." + name.str()));
  }
  AttrValue given = value();
  if (field != nullptr) given = as_field(op, *field, std::move(given), place);
  return {name, std::move(given), span};
}

const AttrField& Parser::field_of(const Operator* op, const Name& name, Span span) const {
  const AttrsSchema* schema = op->attrs_schema();
  std::vector<std::string> known;
  for (size_t i = 0; schema != nullptr && i < schema->fields.size(); ++i) {
    if (schema->fields[i].name == name) return schema->fields[i];
    known.push_back(schema->fields[i].name.str());
  }
  Diagnostic diagnostic =
      Diagnostic::error(op->name().str() + " has no attribute " + name.str(), span);
  suggest(diagnostic, name.str(), known);
  throw Error(std::move(diagnostic));
}

AttrValue Parser::as_field(const Operator* op, const AttrField& field, AttrValue value,
                           Span span) const {
  const AttrsSchema* schema = op->attrs_schema();
  std::unique_ptr<void, void (*)(void*)> object(schema->create(), schema->destroy);
  if (field.set(object.get(), value)) return field.get(object.get());
  throw Error("attribute " + field.name.str() + " of " + op->name().str() + " takes " +
                  field.type_text() + ", not " + pattern_value_text(value),
              span);
}

const Operator* Parser::find_operator(const std::string& name, Span span) const {
  if (const Operator* op = find_op(name)) return op;
  std::vector<std::string> known;
  for (const Operator* op : all_ops()) known.push_back(op->name().str());
  Diagnostic diagnostic = Diagnostic::error("there is no operator " + name, span);
  std::string help = did_you_mean(name, known);
  // A name alone is meant as a part.
  const std::string_view text = lexer_.source()->text();
  size_t behind = text.find_first_not_of(" \t\n", text.find(name, lexer_.begin()) + name.size());
  const bool called = behind < text.size() && text[behind] == '(';
  if (!called && name.find('.') == std::string::npos) help = "parts have names such as %" + name;
  if (!help.empty()) diagnostic.help(std::move(help));
  throw Error(std::move(diagnostic));
}

void Parser::check_arguments(const Operator* op, size_t given, Span span) const {
  size_t wanted = op->num_inputs();
  if (given == wanted) return;
  throw Error(op->name().str() + " takes " + std::to_string(wanted) +
                  (wanted == 1 ? " argument" : " arguments") + ", not " + std::to_string(given),
              span);
}

}  // namespace relay::pattern
