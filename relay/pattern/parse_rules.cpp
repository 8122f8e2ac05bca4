// Text to rules.
#include <array>

#include <relay/op/op.h>
#include <relay/parse/parse.h>
#include <relay/pattern/parser.h>
#include <relay/pattern/text.h>
#include <relay/runtime/file.h>
#include <relay/support/error.h>
#include <relay/support/suggest.h>

namespace relay::pattern {

namespace {

struct TestName {
  std::string_view text;
  RuleCondition::Test test;
};
constexpr std::array kPartTests = {
    TestName{"constant", RuleCondition::Test::kConstant},
    TestName{"scalar", RuleCondition::Test::kScalar},
    TestName{"static", RuleCondition::Test::kStatic},
    TestName{"once", RuleCondition::Test::kOnce},
    TestName{"float", RuleCondition::Test::kFloat},
    TestName{"integer", RuleCondition::Test::kInteger},
    TestName{"bool", RuleCondition::Test::kBool},
};
constexpr std::array kComparisons = {
    TestName{"==", RuleCondition::Test::kEqual},
    TestName{"!=", RuleCondition::Test::kNotEqual},
    TestName{"<", RuleCondition::Test::kLess},
    TestName{"<=", RuleCondition::Test::kLessEqual},
    TestName{">", RuleCondition::Test::kGreater},
    TestName{">=", RuleCondition::Test::kGreaterEqual},
};

struct ValueName {
  std::string_view text;
  RuleValue::Kind kind;
};
constexpr std::array kPartValues = {
    ValueName{"dtype", RuleValue::Kind::kDType}, ValueName{"rank", RuleValue::Kind::kRank},
    ValueName{"shape", RuleValue::Kind::kShape}, ValueName{"size", RuleValue::Kind::kSize}};

}  // namespace

std::vector<Rule> Parser::rules(DiagnosticSink& sink) { return entries(sink); }

std::vector<Rule> Parser::patterns(DiagnosticSink& sink) {
  table_ = true;
  return entries(sink);
}

bool Parser::at_entry() const {
  return table_ ? at_word("pattern") : at_word("rule") || at_word("inexact");
}

std::vector<Rule> Parser::entries(DiagnosticSink& sink) {
  std::vector<Rule> result;
  while (lexer_.token() != Token::kEnd) {
    size_t begin = lexer_.begin();
    try {
      Rule read = entry();
      // A name may have several patterns.
      for (const Rule& earlier : result) {
        if (!table_ && earlier.name == read.name)
          throw Error(Diagnostic::error("rule " + read.name.str() + " is there twice", read.span)
                          .note("the first one", earlier.span));
      }
      result.push_back(std::move(read));
    } catch (const Error& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) sink.add(diagnostic);
      depth_ = 0;
      if (lexer_.begin() == begin && !at_entry()) lexer_.advance();
      skip_rule();
    }
  }
  return result;
}

// To the next word that begins a rule, or behind the next semicolon outside of braces.
void Parser::skip_rule() {
  size_t position = lexer_.begin();
  for (bool first = true; lexer_.token() != Token::kEnd; first = false) {
    if (!first && at_entry()) return;
    try {
      lexer_.advance();
      position = lexer_.end();
    } catch (const Error&) {  // no token
      position = std::max(position, lexer_.begin()) + 1;
      lexer_.skip_to(position);
    }
  }
}

Rule Parser::entry() {
  parts_.clear();
  Rule rule;
  if (!table_ && at_word("inexact")) {
    rule.inexact = true;
    lexer_.advance();
  }
  const std::string_view word = table_ ? "pattern" : "rule";
  if (!at_word(word)) unexpected("`" + std::string(word) + "`", entry_place());
  lexer_.advance();
  rule.span = lexer_.span();
  bool quoted = lexer_.token() == Token::kString;
  if (!quoted && lexer_.token() != Token::kWord)
    unexpected(table_ ? "the name of a pattern" : "the name of a rule", entry_place());
  rule.name = take_text(lexer_.token(), "");
  expect(":", table_ ? "behind the pattern's name" : "behind the rule's name", entry_place());
  rule.from = pattern();
  if (table_) {
    conditions(rule);
    end("pattern");
    return rule;
  }
  expect("=>", "between what fits and what it becomes", At::kArrow);
  terms_ = 0;
  rule.to = written();
  conditions(rule);
  end("rule");
  return rule;
}

// If the next entry follows, the place is where the semicolon belongs.
void Parser::end(std::string_view of) {
  if (!at(";") && (at_entry() || lexer_.token() == Token::kEnd))
    throw Error("expected `;` at the end of the " + std::string(of), lexer_.span_behind_last());
  expect(";", "at the end of the " + std::string(of), At::kEnd);
}

void Parser::conditions(Rule& rule) {
  if (!at_word("where")) return;
  do {
    lexer_.advance();
    rule.where.push_back(condition());
  } while (at(","));
}

Name Parser::part() {
  if (lexer_.token() != Token::kLocal) unexpected("the name of a part such as %x");
  if (!parts_.contains(lexer_.text())) {
    Diagnostic diagnostic =
        Diagnostic::error("no part of the pattern is named %" + lexer_.text(), lexer_.span());
    std::string named;
    for (const auto& [name, pattern] : parts_) named += (named.empty() ? "%" : ", %") + name;
    if (!named.empty()) diagnostic.help("the pattern names " + named);
    throw Error(std::move(diagnostic));
  }
  if (lexer_.text().find_first_not_of("0123456789") == std::string::npos)
    fail("%" + lexer_.text() + " is a number, not a name; rules mention parts by names");
  Name name = lexer_.text();
  lexer_.advance();
  return name;
}

// ---- What is written ---------------------------------------------------------------------------

void Parser::count_term() {
  constexpr size_t kMostTerms = 4096;
  if (++terms_ > kMostTerms)
    fail("a rule writes more than " + std::to_string(kMostTerms) + " terms");
}

RuleTemplate Parser::written() {
  Nesting nesting(*this);
  RuleTemplate left = written_product();
  while (at("+") || at("-")) {
    count_term();
    const Operator* op = get_op(at("+") ? "add" : "subtract");
    lexer_.advance();
    RuleTemplate call{RuleTemplate::Kind::kCall};
    call.op = op;
    call.children.push_back(std::move(left));
    call.children.push_back(written_product());
    left = std::move(call);
  }
  return left;
}

RuleTemplate Parser::written_product() {
  RuleTemplate left = written_suffix();
  while (at("*") || at("/")) {
    count_term();
    const Operator* op = get_op(at("*") ? "multiply" : "divide");
    lexer_.advance();
    RuleTemplate call{RuleTemplate::Kind::kCall};
    call.op = op;
    call.children.push_back(std::move(left));
    call.children.push_back(written_suffix());
    left = std::move(call);
  }
  return left;
}

RuleTemplate Parser::written_suffix() {
  RuleTemplate result = written_primary();
  while (at(".")) {
    count_term();
    lexer_.advance();
    if (lexer_.token() != Token::kNumber) unexpected("the number of a field");
    RuleTemplate projection{RuleTemplate::Kind::kProjection};
    refuse_suffix("it is that of a field");
    const Span span = lexer_.span();
    projection.index = projection_index();
    check_written_projection(result, projection.index, span);
    projection.children.push_back(std::move(result));
    result = std::move(projection);
  }
  return result;
}

RuleTemplate Parser::written_primary() {
  if (lexer_.token() == Token::kLocal) {
    RuleTemplate result;
    result.part = part();
    return result;
  }
  if (lexer_.token() == Token::kNumber || at("-") || at_word("inf")) {
    const size_t begin = lexer_.begin();
    if (take("-") && lexer_.token() != Token::kNumber && !at_word("inf")) {
      lexer_.seek(begin);
      unexpected("an expression", At::kWritten);
    }
    lexer_.seek(begin);
    RuleTemplate result{RuleTemplate::Kind::kNumber};
    refuse_suffix("it gets that of the rule's result");
    result.number = signed_number();
    return result;
  }
  if (lexer_.token() == Token::kWord) {
    if (!hint(At::kWritten, lexer_.text()).empty()) unexpected("an expression", At::kWritten);
    return written_call();
  }
  if (lexer_.token() == Token::kGlobal) {
    throw Error(Diagnostic::error("a rule calls operators, no functions", lexer_.span())
                    .help("`DFPatternCallback` in Python writes any expression"));
  }
  if (!at("(")) unexpected("an expression", At::kWritten);
  lexer_.advance();
  RuleTemplate tuple{RuleTemplate::Kind::kTuple};
  bool is_tuple = at(")");
  while (!at(")")) {
    tuple.children.push_back(written());
    if (!take(",")) break;
    is_tuple = true;
  }
  expect(")", "behind what it encloses");
  if (is_tuple) return tuple;
  RuleTemplate inner = std::move(tuple.children[0]);
  return inner;
}

RuleTemplate Parser::written_call() {
  const Span span = lexer_.span();
  RuleTemplate call{RuleTemplate::Kind::kCall};
  call.op = find_operator(lexer_.text(), span);
  lexer_.advance();
  expect("(", "of a call");
  while (!at(")")) {
    if (take("..")) {
      const Span span = lexer_.span();
      call.spread = part();
      check_has_attributes(part_pattern(call.spread), call.spread, span);
    } else {
      if (at_attribute()) {
        call.attributes.push_back(written_attribute(call.op));
      } else if (!call.attributes.empty() || !call.spread.empty()) {
        fail("arguments stand before attributes");
      } else {
        call.children.push_back(written());
      }
    }
    if (!take(",")) break;
  }
  expect(")", "behind arguments");
  check_arguments(call.op, call.children.size(), span);
  return call;
}

RuleTemplate::Attribute Parser::written_attribute(const Operator* op) {
  RuleTemplate::Attribute attribute;
  Span span = lexer_.span();
  attribute.name = take_text(Token::kWord, "the name of an attribute");
  expect("=", "behind the attribute's name");
  const AttrField& field = field_of(op, attribute.name, span);
  Span place = lexer_.span();
  if (lexer_.token() == Token::kLocal) {
    attribute.part = part();
    expect(".", "and the name of an attribute");
    const Span of_part = lexer_.span();
    attribute.of_part = take_text(Token::kWord, "the name of an attribute");
    check_attribute(part_pattern(attribute.part), attribute.part, attribute.of_part, of_part);
  } else {
    attribute.value = as_field(op, field, value(), place);
  }
  return attribute;
}

void Parser::check_written_projection(const RuleTemplate& tuple, uint32_t index, Span span) const {
  switch (tuple.kind) {
    case RuleTemplate::Kind::kPart:
      return check_projection(part_pattern(tuple.part), index, span);
    case RuleTemplate::Kind::kCall:
      return check_result(*tuple.op, index, span);
    case RuleTemplate::Kind::kNumber:
      throw Error("a number has no fields", span);
    case RuleTemplate::Kind::kTuple:
      if (index < tuple.children.size()) return;
      throw Error("this tuple has " + std::to_string(tuple.children.size()) + " fields", span);
    case RuleTemplate::Kind::kProjection:
      return;
  }
}

ValueKind Parser::kind_of(const RuleValue& value) const {
  return value_kind(value, value.part.empty() ? nullptr : &part_pattern(value.part));
}

// ---- Conditions --------------------------------------------------------------------------------

RuleCondition Parser::condition() {
  RuleCondition condition;
  if (at_word("not")) {
    lexer_.advance();
    condition.negated = true;
  }
  for (const TestName& test : kPartTests) {
    if (!at_word(test.text)) continue;
    lexer_.advance();
    condition.test = test.test;
    if (!at("(")) {
      throw Error(Diagnostic::error("expected `(` behind the condition", lexer_.span())
                      .help("write `" + std::string(test.text) + "(%x)`"));
    }
    expect("(", "of the condition");
    condition.part = part();
    expect(")", "behind the part");
    return condition;
  }
  condition.values.push_back(operand(At::kCondition));
  if (at_word("in")) {
    lexer_.advance();
    condition.test = RuleCondition::Test::kIn;
    expect("(", "of the values");
    do {
      const Span span = lexer_.span();
      condition.values.push_back(operand(At::kValue));
      check_comparison(condition, kind_of(condition.values[0]), kind_of(condition.values.back()),
                       span);
    } while (take(",") && !at(")"));
    expect(")", "behind the values");
    return condition;
  }
  for (const TestName& comparison : kComparisons) {
    if (!at(comparison.text)) continue;
    lexer_.advance();
    condition.test = comparison.test;
    const Span span = lexer_.span();
    condition.values.push_back(operand(At::kValue));
    check_comparison(condition, kind_of(condition.values[0]), kind_of(condition.values[1]), span);
    return condition;
  }
  unexpected("a comparison", At::kComparison);
}

RuleValue Parser::part_value(RuleValue::Kind kind) {
  RuleValue result;
  result.kind = kind;
  lexer_.advance();
  expect("(", "of the part");
  result.part = part();
  expect(")", "behind the part");
  if (kind != RuleValue::Kind::kShape || !take("[")) return result;
  result.kind = RuleValue::Kind::kExtent;
  const Span span = lexer_.span();
  refuse_suffix("an axis is an integer");
  double axis = signed_number();
  constexpr double kMost = 1000;
  if (axis != static_cast<int>(std::min(std::max(axis, -kMost), kMost)))
    fail("an axis is an integer");
  result.axis = static_cast<int64_t>(axis);
  check_axis(part_pattern(result.part), result.part, result.axis, span);
  expect("]", "behind the axis");
  return result;
}

// A word that is neither a condition nor a value.
void Parser::unknown_condition(At place) {
  const std::string& word = lexer_.text();
  if (place == At::kValue) unexpected("a value", place);
  std::vector<std::string> known;
  std::string all;
  auto add = [&](std::string_view name) {
    known.emplace_back(name);
    all += (all.empty() ? "" : ", ") + std::string(name);
  };
  for (const TestName& test : kPartTests) add(test.text);
  all += "; values to compare are ";
  std::string values;
  for (const ValueName& value : kPartValues) {
    known.emplace_back(value.text);
    values += (values.empty() ? "" : ", ") + std::string(value.text);
  }
  Diagnostic diagnostic = Diagnostic::error("there is no condition `" + word + "`", lexer_.span());
  suggest(diagnostic, word, known);
  diagnostic.note("conditions are " + all + values);
  throw Error(std::move(diagnostic));
}

RuleValue Parser::operand(At place) {
  for (const ValueName& value : kPartValues) {
    if (at_word(value.text)) return part_value(value.kind);
  }
  RuleValue result;
  if (lexer_.token() == Token::kLocal) {
    result.kind = RuleValue::Kind::kAttribute;
    result.part = part();
    expect(".", "and the name of an attribute");
    const Span span = lexer_.span();
    result.attribute = take_text(Token::kWord, "the name of an attribute");
    check_attribute(part_pattern(result.part), result.part, result.attribute, span);
    return result;
  }
  if (lexer_.token() == Token::kWord) {
    std::string word = lexer_.text();
    if (word != "True" && word != "False" && word != "None" && word != "inf" &&
        !DType::parse(word)) {
      unknown_condition(place);
    }
  } else if (place == At::kCondition && lexer_.token() == Token::kSign && !at("-") && !at("[")) {
    unexpected("a condition", place);
  } else if (place == At::kCondition && lexer_.token() == Token::kEnd) {
    unexpected("a condition", place);
  }
  result.literal = value();
  return result;
}

}  // namespace relay::pattern

namespace relay {

std::string read_rules_file(const std::string& path) {
  constexpr uint64_t kMost = 16 << 20;
  InputFile file(path);
  if (file.size() > kMost) file.fail("it has more than 16 MiB, too many for rules");
  std::string text(file.size(), '\0');
  file.read_at(0, text.data(), text.size());
  return text;
}

Rules parse_patterns(std::string name, std::string text) {
  Rules result;
  result.source = SourceMap::add(std::move(name), std::move(text));
  DiagnosticSink sink;
  result.rules = pattern::Parser(result.source).patterns(sink);
  sink.throw_if_errors();
  return result;
}

Rules parse_rules(std::string name, std::string text) {
  Rules result;
  result.source = SourceMap::add(std::move(name), std::move(text));
  DiagnosticSink sink;
  result.rules = pattern::Parser(result.source).rules(sink);
  sink.throw_if_errors();
  return result;
}

}  // namespace relay
