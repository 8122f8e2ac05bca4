// Reads patterns and rules.
#pragma once

#include <map>
#include <string>

#include <relay/parse/parse.h>
#include <relay/pattern/hints.h>
#include <relay/pattern/lexer.h>
#include <relay/pattern/rule.h>
#include <relay/pattern/rule_checks.h>

namespace relay::pattern {

/// Recursive descent; nests no deeper than program text may.
class Parser {
 public:
  explicit Parser(std::shared_ptr<const Source> source) : lexer_(std::move(source)) {}
  DFPatternRef whole_pattern();
  /// Rules up to the end; problems go to `sink`, and reading goes on behind the next semicolon.
  std::vector<Rule> rules(DiagnosticSink& sink);
  /// The same for a table of patterns.
  std::vector<Rule> patterns(DiagnosticSink& sink);

 private:
  /// One more level of text inside text.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMaxParseDepth) {
        --parser_.depth_;
        parser_.fail("this is nested deeper than " + std::to_string(kMaxParseDepth));
      }
    }
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };
  /// Counts a term of what a rule writes: templates nest as deep as there are terms.
  void count_term();
  size_t terms_ = 0;
  // Tokens.
  bool at(std::string_view sign) const {
    return lexer_.token() == Token::kSign && lexer_.text() == sign;
  }
  bool at_word(std::string_view word) const {
    return lexer_.token() == Token::kWord && lexer_.text() == word;
  }
  bool take(std::string_view sign);
  /// A word with `=` behind it.
  bool at_attribute();
  void expect(std::string_view sign, std::string_view where, At place = At::kElsewhere);
  std::string take_text(Token kind, std::string_view what);
  [[noreturn]] void fail(std::string message) const;
  [[noreturn]] void unexpected(std::string_view wanted, At place = At::kElsewhere) const;
  /// The place of an entry's beginning.
  At entry_place() const { return table_ ? At::kTableEntry : At::kEntry; }

  // Patterns.
  DFPatternRef pattern();
  DFPatternRef alternatives();
  DFPatternRef sum();
  DFPatternRef product();
  DFPatternRef postfix();
  DFPatternRef suffix(DFPatternRef inner);
  DFPatternRef primary();
  DFPatternRef word();
  DFPatternRef local();
  DFPatternRef number();
  DFPatternRef parenthesised();
  DFPatternRef function();
  DFPatternRef let();
  DFPatternRef if_then_else();
  DFPatternRef dominator();
  DFPatternRef recursive();
  DFPatternRef quoted_expr();
  DFPatternRef match();
  DFPatternRef reference();
  DFPatternRef call(DFPatternRef callee, Span callee_span);
  void define(const std::string& name, Span span, DFPatternRef pattern);
  DFPatternRef method(DFPatternRef inner);
  uint32_t projection_index();
  std::string raw_argument();
  std::vector<Dim> shape(Span span);

  // Values.
  double signed_number();
  void refuse_suffix(std::string_view why) const;
  AttrValue value();
  NamedAttr attribute(const Operator* op);
  const AttrField& field_of(const Operator* op, const Name& name, Span span) const;
  AttrValue as_field(const Operator* op, const AttrField& field, AttrValue value, Span span) const;
  const Operator* find_operator(const std::string& name, Span span) const;
  void check_arguments(const Operator* op, size_t given, Span span) const;

  // Rules.
  std::vector<Rule> entries(DiagnosticSink& sink);
  bool at_entry() const;
  Rule entry();
  void conditions(Rule& rule);
  void end(std::string_view of);
  [[noreturn]] void unknown_condition(At place);
  Name part();
  RuleTemplate written();
  RuleTemplate written_product();
  RuleTemplate written_suffix();
  RuleTemplate written_primary();
  void check_written_projection(const RuleTemplate& tuple, uint32_t index, Span span) const;
  ValueKind kind_of(const RuleValue& value) const;
  RuleTemplate written_call();
  RuleTemplate::Attribute written_attribute(const Operator* op);
  RuleCondition condition();
  RuleValue operand(At place);
  /// The part of the pattern that has this name.
  const DFPattern& part_pattern(const Name& name) const { return *parts_.at(name.str()).pattern; }
  RuleValue part_value(RuleValue::Kind kind);
  void skip_rule();

  Lexer lexer_;
  struct Part {
    DFPatternRef pattern;
    Span span;  // where the name stands first
  };
  std::map<std::string, Part> parts_;  // by name, of the pattern that is read
  int depth_ = 0;
  bool table_ = false;  // of patterns
};

}  // namespace relay::pattern
