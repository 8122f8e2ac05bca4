// Calls: arguments, attributes, type arguments; operators by name.
#include <charconv>
#include <map>

#include <relay/op/registry/call_form.h>
#include <relay/parse/metadata.h>
#include <relay/parse/parser.h>

namespace relay::parsing {

Parser::OpEntry* Parser::find_operator(Symbol symbol) {
  constexpr int32_t kUnknown = INT32_MAX;
  int32_t known = symbols_[symbol].op;
  if (known < 0) {
    const Operator* op = find_op(Name(name_of(symbol)));
    known = kUnknown;
    if (op != nullptr) {
      OpEntry entry{op, make_op(op), {}};
      if (op->attrs_schema() != nullptr) {
        try {
          entry.defaults = Attrs::make(*op->attrs_schema(), {}, Span());
        } catch (const Error&) {
          // An attribute is required: reported at each call that leaves it out.
        }
      }
      known = static_cast<int32_t>(ops_.size());
      ops_.push_back(std::move(entry));
    }
    symbols_[symbol].op = known;
  }
  return known == kUnknown ? nullptr : &ops_[static_cast<size_t>(known)];
}

ExprRef Parser::parse_call(ExprRef callee, size_t begin, std::vector<TypeRef> type_args) {
  ArgScope args(*this);
  size_t entry = last_op_;
  CallAttrs attrs;
  {
    Bracket bracket(*this);
    while (!at(Tok::kRParen)) {
      if (at_named_value()) {
        Token name = tok_;
        advance();
        advance();
        const size_t errors = num_errors_;
        AttrValue value = parse_attr_value();
        attrs.failed |= num_errors_ != errors;
        // TVM's name of the attributes' type: the operator knows it.
        if (name_of(name.symbol) != "attrs_type_key") {
          attrs.named.push_back(
              {Name(name_of(name.symbol)), std::move(value), span_from(name.begin)});
        }
      } else if (at_word(kwMeta) && peek().is(Tok::kLBracket)) {
        MetaRef ref = parse_meta_ref();
        if (ref.key.starts_with("relay.attrs.")) {
          attrs.metadata_key = ref.key;
          attrs.metadata_index = ref.index;
          attrs.span = ref.span;
        } else {
          size_t at_expr = tok_.begin;
          ExprRef expr = parse_postfix(meta_expr(ref), at_expr, false);
          args_.push_back(std::move(expr));
        }
      } else if (!accept_list_by_position(callee.get(), attrs)) {
        args_.push_back(parse_value());
      }
      if (!accept(Tok::kComma)) break;
    }
    expect(Tok::kRParen, "after the arguments");
  }
  Span where = span_from(begin);
  AttrsRef made = attrs_of_call(callee.get(), attrs, entry, where);
  if (attrs.failed) {
    // A match without clauses has any type, so that the code around it is checked nevertheless.
    return make_match(make_tuple(args.get(), where), {}, {}, /*complete=*/false, where);
  }
  return make_call(std::move(callee), args.get(), std::move(made), std::move(type_args), where);
}

// The attributes of a call, or null: of what has none, and of an operator with reported mistakes.
AttrsRef Parser::attrs_of_call(const Expr* callee, CallAttrs& attrs, size_t entry, Span where) {
  const auto* op = callee->as<Op>();
  if (op != nullptr && !op->op()->pure()) effects_ |= kRefEffect;
  if (op == nullptr && !callee->is<Constructor>()) effects_ |= kCallEffect;
  if (attrs.failed) return {};
  if (op == nullptr) return attrs.any() ? make_call_attrs(callee, attrs, where) : AttrsRef();
  if (!attrs.any()) {
    if (op->op()->attrs_schema() == nullptr) return {};
    if (ops_[entry].node == callee && ops_[entry].defaults) return ops_[entry].defaults;
  }
  return make_call_attrs(callee, attrs, where);
}

// Errors about missing attributes, with the operator that lacks them.
static std::vector<Diagnostic> with_call_form(std::vector<Diagnostic> diagnostics,
                                              const Operator& op) {
  for (Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.code != "A3") continue;
    diagnostic.message = op.name().str() + ": " + diagnostic.message;
    diagnostic.note("it is called as " + call_form(op));
  }
  return diagnostics;
}

AttrsRef Parser::make_call_attrs(const Expr* callee, CallAttrs& attrs, Span span) {
  const Operator* op = callee->is<Op>() ? callee->as<Op>()->op() : nullptr;
  const AttrsSchema* schema = op != nullptr ? op->attrs_schema() : nullptr;
  if (schema == nullptr) {
    Span where = attrs.named.empty() ? attrs.span : attrs.named[0].span;
    std::string found = attrs.named.empty() ? attrs.metadata_key : attrs.named[0].name.str();
    // A placeholder for a callee that is unknown was reported already.
    if (callee->is<Tuple>()) return {};
    Diagnostic diagnostic =
        Diagnostic::error((op != nullptr ? "operator " + op->name().str() + " has no attributes"
                                         : std::string("only operators take attributes")) +
                              ", found " + found,
                          where)
            .of_rule("A2");
    if (op != nullptr) diagnostic.note("it is called as " + call_form(*op));
    report(std::move(diagnostic));
    ++attribute_errors_;
    attrs.failed = true;
    return {};
  }
  size_t errors = num_errors_;
  try {
    return guarded(span, [&] {
      if (!attrs.metadata_key.empty()) {
        for (NamedAttr& attr :
             metadata(attrs.span).attrs(attrs.metadata_key, attrs.metadata_index, *schema)) {
          attr.span = attrs.span;
          attrs.named.push_back(std::move(attr));
        }
      }
      try {
        return Attrs::make(*schema, attrs.named, span);
      } catch (const Error& problem) {
        throw Error(with_call_form(problem.diagnostics(), *op));
      }
    });
  } catch (const SyntaxError&) {
    attribute_errors_ += num_errors_ - errors;
    attrs.failed = true;
    return {};  // reported; the text goes on
  }
}

// ---- Values of attributes ----

AttrValue Parser::parse_attr_list(Tok close) {
  Bracket bracket(*this);
  AttrValue::List list;
  while (!at(close)) {
    list.push_back(parse_attr_value());
    if (!accept(Tok::kComma)) break;
  }
  expect(close, "at the end of the list");
  return list;
}

// `{}` and `{"a": …`, against a block. A key without quotes is a mistake in a dictionary.
bool Parser::at_dictionary() {
  if (!at(Tok::kLBrace)) return false;
  const Tok first = peek(1).kind;
  if (first == Tok::kRBrace || first == Tok::kString) return true;
  if (first == Tok::kError && text_[peek(1).begin] == '\'') return true;
  const bool word = first == Tok::kIdent || first == Tok::kNumber;
  return word && (peek(2).is(Tok::kColon) || peek(2).is(Tok::kAssign));
}

// The key and the colon behind it.
std::string Parser::parse_dictionary_key() {
  std::string key;
  if (at(Tok::kString)) {
    key = parse_string();
  } else if ((at(Tok::kIdent) || at(Tok::kNumber)) &&
             (peek().is(Tok::kColon) || peek().is(Tok::kAssign))) {
    key = text(tok_);
    const std::string quoted = '"' + key + '"';
    report(Diagnostic::error("expected a key in quotes, found " + describe(tok_), span(tok_))
               .help("the keys of a dictionary are texts: write " + quoted)
               .fix(span(tok_), quoted)
               .of_rule("S3"));
    advance();
  } else {
    fail_expected("a key in quotes, such as \"a\", or '}'");
  }
  if (!at(Tok::kAssign)) {
    expect(Tok::kColon, "after the key");
    return key;
  }
  report(Diagnostic::error("expected ':' after the key, found '='", span(tok_))
             .help("entries of a dictionary are written {\"key\": value}")
             .fix(span(tok_), ":")
             .of_rule("S3"));
  advance();
  return key;
}

AttrValue Parser::parse_dictionary() {
  Bracket bracket(*this);
  std::map<std::string, AttrValue> entries;
  std::map<std::string, Span> places;
  while (!at(Tok::kRBrace)) {
    const Span place = span(tok_);
    std::string key = parse_dictionary_key();
    AttrValue value = parse_attr_value();
    auto [first, fresh] = places.emplace(key, place);
    if (fresh) {
      entries.emplace(std::move(key), std::move(value));
    } else {
      report(Diagnostic::error("key " + AttrValue(key).str() + " is given twice", place)
                 .note("it is first given here", first->second)
                 .of_rule("N4"));
    }
    if (accept(Tok::kComma)) continue;
    if (!at(Tok::kString)) break;
    report(Diagnostic::error(
               "expected ',' between the entries of the dictionary, found " + describe(tok_),
               span(tok_))
               .fix(source_->span(last_end_, 0), ",")
               .of_rule("S1"));
  }
  expect(Tok::kRBrace, "at the end of the dictionary");
  return AttrValue::dict(std::move(entries));
}

AttrValue Parser::parse_attr_value() {
  Token token = tok_;
  bool negative = false;
  switch (token.kind) {
    case Tok::kLBracket:
      return parse_attr_list(Tok::kRBracket);
    case Tok::kLParen:
      return parse_attr_list(Tok::kRParen);
    case Tok::kLBrace:
      return at_dictionary() ? parse_dictionary() : AttrValue(parse_expr());
    case Tok::kString:
      return parse_string();
    case Tok::kMinus:
      advance();
      if (!at(Tok::kNumber) && !at(Tok::kIdent)) fail_expected("a number after '-'");
      negative = true;
      break;
    case Tok::kNumber:
    case Tok::kIdent:
      break;
    default:
      return parse_expr();
  }
  if (at(Tok::kNumber)) {
    Number number = read_number(tok_);
    Span where = span(tok_);
    advance();
    if (number.is_float || (number.dtype.valid() && number.dtype.is_float())) {
      double value = 0;
      std::from_chars(number.digits.data(), number.digits.data() + number.digits.size(), value);
      return negative ? -value : value;
    }
    if (number.dtype.is_unsigned() && negative && number.magnitude != 0) {
      error(where, "an attribute cannot be a negative unsigned integer");
    }
    constexpr uint64_t kLimit = uint64_t{1} << 63;
    if (number.magnitude > (negative ? kLimit : kLimit - 1))
      error(where, "attribute is out of the range of int64");
    return static_cast<int64_t>(negative ? 0 - number.magnitude : number.magnitude);
  }
  Token word = tok_;
  DType dtype;
  if (is_special_float(name_of(word.symbol), dtype)) {
    advance();
    double value = name_of(word.symbol).starts_with("inf")
                       ? std::numeric_limits<double>::infinity()
                       : std::numeric_limits<double>::quiet_NaN();
    return negative ? -value : value;
  }
  if (negative) fail_expected("a number after '-'");
  switch (word.symbol) {
    case kwNone_:
      advance();
      return AttrValue();
    case kwTrue:
    case kwFalse:
      advance();
      return word.symbol == kwTrue;
    case kwMeta:
      if (peek().is(Tok::kLBracket)) {
        MetaRef ref = parse_meta_ref();
        if (ref.key.starts_with("relay.")) return meta_expr(ref);
        return guarded(ref.span, [&] { return metadata(ref.span).value(ref.key, ref.index); });
      }
      break;
    default:
      break;
  }
  if (std::optional<DType> type = DType::parse(name_of(word.symbol))) {
    advance();
    return *type;
  }
  if (peek().is(Tok::kLParen) || symbols_[word.symbol].constructor >= 0) return parse_expr();
  fail_expected(
      "the value of an attribute: a number, a string, a list, a dictionary, True, False or None");
}

// ---- Type arguments ----

// At `<` after a callee: whether types and `>(` follow. Only looks.
bool Parser::looks_like_type_args() {
  Lexer lexer = lexer_;
  lexer.seek(tok_.end);
  size_t open = 0;
  for (;;) {
    Token token = lexer.next();
    if (token.is(Tok::kString)) make_name(token);
    switch (token.kind) {
      case Tok::kIdent: {
        bool known = token.symbol == kwTensor || token.symbol == kwFn || token.symbol == kwFun ||
                     token.symbol == kwRef || token.symbol == kwUnderscore ||
                     find_type_name(token.symbol) != nullptr ||
                     data_index_.contains(token.symbol) ||
                     DType::parse(name_of(token.symbol)).has_value();
        // Brackets also hold dimension names and kinds.
        if (!known && open == 0) return false;
        break;
      }
      case Tok::kLParen:
      case Tok::kLBracket:
      case Tok::kLess:
        if (++open > static_cast<size_t>(kMaxParseDepth)) return false;
        break;
      case Tok::kRParen:
      case Tok::kRBracket:
        if (open-- == 0) return false;
        break;
      case Tok::kGreater:
        if (open-- == 0) return lexer.next().is(Tok::kLParen);
        break;
      case Tok::kComma:
      case Tok::kColon:
      case Tok::kQuestion:
      case Tok::kArrow:
      case Tok::kPlus:
      case Tok::kMinus:
      case Tok::kStar:
        break;
      case Tok::kNumber:
        if (open == 0) return false;
        break;
      default:
        return false;
    }
  }
}

// ---- References to the metadata section ----

// `meta[relay.Constant][0]`
Parser::MetaRef Parser::parse_meta_ref() {
  MetaRef ref;
  size_t begin = tok_.begin;
  advance();
  {
    Bracket bracket(*this);
    if (!at(Tok::kIdent)) fail_expected("a type of metadata such as relay.Constant");
    ref.key = std::string(name_of(tok_.symbol));
    advance();
    expect(Tok::kRBracket, "after the type of metadata");
  }
  if (!at(Tok::kLBracket)) fail_expected("'[' before the position in the metadata");
  {
    Bracket bracket(*this);
    if (!at(Tok::kNumber)) fail_expected("a position in the metadata");
    std::string_view digits = text(tok_);
    auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), ref.index);
    if (code != std::errc() || end != digits.data() + digits.size()) {
      fail(span(tok_), "expected a position in the metadata, found " + describe(tok_));
    }
    advance();
    expect(Tok::kRBracket, "after the position in the metadata");
  }
  ref.span = span_from(begin);
  return ref;
}

// Finds the beginning of the section's JSON, which is at the end of the text.
size_t Parser::find_metadata() const {
  if (lexer_.metadata() != std::string_view::npos) return lexer_.metadata();
  for (std::string_view mark : {std::string_view("#[metadata]"), Lexer::kOldMetadata,
                                std::string_view("/* meta data */")}) {
    for (size_t end = text_.size(); end > 0;) {
      size_t at = text_.rfind(mark, end - 1);
      if (at == std::string_view::npos) break;
      size_t next = text_.find_first_not_of(" \t\r\n", at + mark.size());
      if (next != std::string_view::npos && text_[next] == '{') return next;
      end = at;
    }
  }
  return std::string_view::npos;
}

Metadata& Parser::metadata(Span span) {
  if (!metadata_) {
    size_t begin = find_metadata();
    if (begin == std::string_view::npos) throw Error("the text has no #[metadata] section", span);
    metadata_.reset(new Metadata(text_.substr(begin)));
  }
  return *metadata_;
}

ExprRef Parser::meta_expr(const MetaRef& ref) {
  if (ref.key != "relay.Constant") {
    if (ref.key.starts_with("relay.attrs."))
      fail(ref.span, "attributes can only be given to an operator in a call");
    fail(ref.span,
         "cannot read metadata of type " + ref.key + "; only relay.Constant and attributes");
  }
  ExprRef& known = meta_constants_[ref.index];
  if (!known) {
    try {
      known = guarded(ref.span, [&] {
        return make_constant(metadata(ref.span).constant(ref.index), ref.span);
      });
    } catch (const SyntaxError&) {
      known = placeholder(ref.span);
    }
  }
  return known;
}

}  // namespace relay::parsing
