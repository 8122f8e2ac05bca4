// Numbers, strings, Constant(value, shape, dtype).
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <relay/parse/parser.h>

namespace relay::parsing {

DType suffix_dtype(std::string_view suffix) {
  struct Suffix {
    std::string_view text;
    DType dtype;
  };
  static constexpr Suffix kSuffixes[] = {{"f", kFloat32},   {"f16", kFloat16}, {"bf16", kBFloat16},
                                         {"f32", kFloat32}, {"f64", kFloat64}, {"i8", kInt8},
                                         {"i16", kInt16},   {"i32", kInt32},   {"i64", kInt64},
                                         {"u8", kUInt8},    {"u16", kUInt16},  {"u32", kUInt32},
                                         {"u64", kUInt64}};
  for (const Suffix& known : kSuffixes) {
    if (known.text == suffix) return known.dtype;
  }
  return {};
}

namespace {

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

double read_double(std::string_view digits) {
  double value = 0;
  auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  // Too large and too small are told apart by the C library.
  if (code == std::errc::result_out_of_range)
    value = std::strtod(std::string(digits).c_str(), nullptr);
  return value;
}

float read_float(std::string_view digits) {
  float value = 0;
  auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code == std::errc::result_out_of_range)
    value = std::strtof(std::string(digits).c_str(), nullptr);
  return value;
}

}  // namespace

Parser::Number Parser::read_number(const Token& token) {
  std::string_view all = text(token);
  size_t p = 0;
  Number number;
  while (p < all.size() && is_decimal(all[p])) ++p;
  if (p + 1 < all.size() && all[p] == '.' && is_decimal(all[p + 1])) {
    number.is_float = true;
    ++p;
    while (p < all.size() && is_decimal(all[p])) ++p;
  }
  if (p < all.size() && (all[p] == 'e' || all[p] == 'E')) {
    size_t q = p + 1;
    if (q < all.size() && (all[q] == '+' || all[q] == '-')) ++q;
    if (q < all.size() && is_decimal(all[q])) {
      number.is_float = true;
      p = q;
      while (p < all.size() && is_decimal(all[p])) ++p;
    }
  }
  number.digits = all.substr(0, p);
  std::string_view suffix = all.substr(p);
  if (!suffix.empty()) {
    number.dtype = suffix_dtype(suffix);
    if (!number.dtype.valid()) {
      auto diagnostic = Diagnostic::error(
          "unknown suffix " + std::string(suffix.substr(0, 40)) + " of a number", span(token));
      const bool based =
          number.digits == "0" && (suffix[0] == 'x' || suffix[0] == 'b' || suffix[0] == 'o');
      if (based || suffix[0] == '_') {
        diagnostic.help("numbers are written in decimal digits alone");
      } else {
        diagnostic.help(
            "the suffixes are i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64, and f for f32");
      }
      report(std::move(diagnostic));
    }
  }
  if (!number.is_float) {
    auto [end, code] = std::from_chars(
        number.digits.data(), number.digits.data() + number.digits.size(), number.magnitude);
    if (code == std::errc::result_out_of_range) {
      if (number.dtype.valid() && number.dtype.is_float()) {
        number.is_float = true;
      } else {
        error(span(token), "integer " + describe(token) + " is out of the range of every type");
        number.magnitude = 0;
      }
    }
  }
  return number;
}

// `inf`, `nan` and these with a suffix.
bool Parser::is_special_float(std::string_view word, DType& dtype) const {
  if (word.size() < 3 || word.size() > 7 || (word[0] != 'i' && word[0] != 'n')) return false;
  std::string_view name = word.substr(0, 3);
  if (name != "inf" && name != "nan") return false;
  dtype = {};
  if (word.size() == 3) return true;
  dtype = suffix_dtype(word.substr(3));
  return dtype.valid() && dtype.is_float();
}

NDArray Parser::special_float(std::string_view word, DType dtype, bool negative) const {
  double value = word.starts_with("inf") ? std::numeric_limits<double>::infinity()
                                         : std::numeric_limits<double>::quiet_NaN();
  return NDArray::scalar(dtype, std::copysign(value, negative ? -1.0 : 1.0));
}

NDArray Parser::number_as(DType dtype, const Number& number, bool negative, Span where) {
  std::string shown = (negative ? "-" : "") + std::string(number.digits.substr(0, 40));
  auto out_of_range = [&] {
    error(where, shown + " is out of the range of " + std::string(dtype.name()));
    return NDArray::scalar(dtype, 0.0);
  };
  if (dtype.is_float()) {
    NDArray scalar;
    if (dtype == kFloat32) {
      float value = read_float(number.digits);
      scalar = NDArray::scalar(negative ? -value : value);
    } else {
      double value = read_double(number.digits);
      scalar = NDArray::scalar(dtype, negative ? -value : value);
    }
    if (!std::isfinite(scalar.item_as_double())) return out_of_range();
    return scalar;
  }
  if (number.is_float) {
    error(where, shown + " is not an integer, as " + std::string(dtype.name()) + " requires");
    return NDArray::scalar(dtype, 0.0);
  }
  if (dtype.is_bool()) {
    if (number.magnitude > 1 || negative) return out_of_range();
    return NDArray::scalar(Bool(number.magnitude != 0));
  }
  uint64_t largest = dtype.is_unsigned()
                         ? (dtype.bits == 64 ? UINT64_MAX : (uint64_t{1} << dtype.bits) - 1)
                         : (uint64_t{1} << (dtype.bits - 1)) - 1;
  uint64_t limit = !negative ? largest : dtype.is_unsigned() ? 0 : largest + 1;
  if (number.magnitude > limit) return out_of_range();
  return NDArray::scalar_int(
      dtype, static_cast<int64_t>(negative ? 0 - number.magnitude : number.magnitude));
}

// The token is a number, `inf` or `nan`; a minus before it was taken.
ExprRef Parser::parse_number(bool negative, size_t begin) {
  Token token = tok_;
  if (token.is(Tok::kIdent)) {
    advance();
    std::string_view word = name_of(token.symbol);
    DType dtype;
    is_special_float(word, dtype);
    if (dtype.valid()) return make_constant(special_float(word, dtype, negative), span_from(begin));
    LiteralValue value;
    value.is_float = true;
    value.negative = negative;
    value.number = word == "inf" ? std::numeric_limits<double>::infinity()
                                 : std::numeric_limits<double>::quiet_NaN();
    value.text = Name(word);
    return make_literal(value, span_from(begin));
  }
  Number number = read_number(token);
  advance();
  Span where = span_from(begin);
  if (number.dtype.valid())
    return make_constant(number_as(number.dtype, number, negative, where), where);
  LiteralValue value;
  value.is_float = number.is_float;
  value.negative = negative;
  value.magnitude = number.magnitude;
  if (number.is_float) {
    value.number = read_double(number.digits);
    if (!std::isfinite(value.number))
      error(where, describe(token) + " is out of the range of every type");
  }
  value.text = Name(number.digits);
  return make_literal(value, where);
}

Parser::Element Parser::parse_element() {
  Element element;
  const size_t begin = tok_.begin;
  element.negative = accept(Tok::kMinus);
  element.token = tok_;
  DType special;
  if (at(Tok::kNumber)) {
    element.number = read_number(tok_);
  } else if (!element.negative && (at_word(kwTrue) || at_word(kwFalse))) {
    element.number.magnitude = at_word(kwTrue) ? 1 : 0;
    element.number.dtype = kBool;
    element.number.digits = text(tok_);
  } else if (at(Tok::kIdent) && is_special_float(name_of(tok_.symbol), special)) {
    element.special = true;
    element.number.dtype = special;
  } else {
    fail_expected("the value of the constant: a number, True, False or a list of values");
  }
  advance();
  element.span = span_from(begin);
  return element;
}

// `[[1, 2], [3, 4]]`: rows of one depth and length.
void Parser::parse_elements(std::vector<Element>& elements, Shape& extents, size_t depth) {
  if (depth == NDArray::kMaxRank)
    fail(span(tok_), "a constant has at most rank " + std::to_string(NDArray::kMaxRank));
  const size_t begin = tok_.begin;
  const bool first = depth == extents.size();
  if (first && !elements.empty()) fail(span(tok_), "expected a number as in the rows before");
  if (first) extents.push_back(-1);
  Bracket bracket(*this);
  int64_t count = 0;
  for (; !at(Tok::kRBracket); ++count) {
    if (at(Tok::kLBracket)) {
      parse_elements(elements, extents, depth + 1);
    } else if (depth + 1 < extents.size()) {
      fail_expected("a list as in the rows before");
    } else {
      elements.push_back(parse_element());
    }
    if (!accept(Tok::kComma)) {
      ++count;
      break;
    }
  }
  expect(Tok::kRBracket, "after the values of the constant");
  if (extents[depth] >= 0 && extents[depth] != count) {
    fail(span_from(begin), "the rows of a constant differ in length: " +
                               std::to_string(extents[depth]) + " and " + std::to_string(count));
  }
  extents[depth] = count;
}

NDArray Parser::element_as(DType dtype, const Element& element) {
  const Number& number = element.number;
  if (number.dtype.valid() && number.dtype != dtype) {
    fail(element.span, "the value of the constant is " + std::string(number.dtype.name()) +
                           ", its type " + std::string(dtype.name()));
  }
  if (element.special && !dtype.is_float()) {
    fail(element.span, std::string(name_of(element.token.symbol)) + " is not a value of " +
                           std::string(dtype.name()));
  }
  return element.special ? special_float(name_of(element.token.symbol), dtype, element.negative)
                         : number_as(dtype, number, element.negative, element.span);
}

// `(value, shape, dtype)` or `([values], shape, dtype)` after the word.
ExprRef Parser::parse_constant(size_t begin) {
  Bracket bracket(*this);
  const bool list = at(Tok::kLBracket);
  const size_t values_begin = tok_.begin;
  std::vector<Element> elements;
  Shape extents;
  if (list) {
    parse_elements(elements, extents, 0);
  } else {
    elements.push_back(parse_element());
  }
  const Span values = span_from(values_begin);
  expect(Tok::kComma, "after the value of the constant");
  Span shape_span = span(tok_);
  if (!at(Tok::kLParen)) fail_expected("the shape of the constant, such as (2, 3)");
  TypeRef shape_type = parse_shape();
  Shape shape;
  for (Dim dim : shape_type->as<ShapeType>()->dims()) {
    if (!dim.is_int())
      fail(shape_span, "the shape of a constant must be known, found dimension " + dim.str());
    shape.push_back(dim.as_int());
  }
  expect(Tok::kComma, "after the shape of the constant");
  if (!at(Tok::kIdent)) fail_expected("the element type of the constant");
  std::optional<DType> dtype = DType::parse(name_of(tok_.symbol));
  if (!dtype) fail(span(tok_), "unknown element type " + describe(tok_));
  advance();
  accept(Tok::kComma);
  expect(Tok::kRParen, "after the constant");
  const Span where = span_from(begin);
  if (!list) {
    NDArray scalar = element_as(*dtype, elements[0]);
    return guarded(where, [&] { return make_constant(NDArray::uniform(scalar, shape), where); });
  }
  if (extents != shape) {
    fail(values, "the values of the constant have the shape " + shape_text(extents) +
                     ", its type " + shape_text(shape));
  }
  NDArray array = guarded(where, [&] { return NDArray::zeros(shape, *dtype); });
  auto* at = static_cast<std::byte*>(array.raw());
  for (const Element& element : elements) {
    NDArray scalar = element_as(*dtype, element);
    std::memcpy(at, scalar.raw(), dtype->size());
    at += dtype->size();
  }
  return make_constant(std::move(array), where);
}

// `dim(n)`: the extent as a number, of a variable whose type has it.
ExprRef Parser::parse_dimension_value(size_t begin) {
  advance();
  advance();
  const Token name = tok_;
  const Span where = span(name);
  advance();
  expect(Tok::kRParen, "after the dimension");
  const TypeName* dimension = find_type_name(name.symbol);
  for (size_t i = locals_.size(); dimension != nullptr && i-- > 0;) {
    const auto* var = locals_[i].expr->as<Var>();
    const auto* tensor =
        var == nullptr || !var->annotation() ? nullptr : var->annotation()->as<TensorType>();
    const auto* shape = tensor == nullptr ? nullptr : tensor->shape()->as<ShapeType>();
    if (shape == nullptr) continue;
    for (size_t axis = 0; axis < shape->dims().size(); ++axis) {
      if (shape->dims()[axis].as_symbol() != dimension->var.get()) continue;
      const Span span = span_from(begin);
      ExprRef extents = call_operator("shape_of", span, {locals_[i].expr}, begin);
      ExprRef index = make_constant(NDArray::scalar(static_cast<int32_t>(axis)), span);
      return call_operator("take", span, {std::move(extents), std::move(index)}, begin);
    }
  }
  const std::string text(name_of(name.symbol));
  Diagnostic diagnostic =
      Diagnostic::error("dim(" + text + ") needs a variable whose type has the extent " + text,
                        where)
          .of_rule("T13");
  diagnostic.help("declare it: %x: Tensor[(" + text + ", 3), float32]");
  report(std::move(diagnostic));
  return placeholder(where);
}

std::string Parser::parse_string() {
  std::string value;
  if (!unescape(text(tok_), value)) error(span(tok_), "unknown escape in a string");
  advance();
  return value;
}

}  // namespace relay::parsing
