// Patterns to text, with an explicit stack.
#include <charconv>
#include <cmath>
#include <memory>
#include <variant>

#include <relay/op/op.h>
#include <relay/pattern/text.h>
#include <relay/print/print.h>
#include <relay/support/pointer_map.h>
#include <relay/support/quote.h>

namespace relay {

namespace {

/// How tightly text holds together, from loose to tight.
enum Level : int { kLet, kAlt, kTight, kNamed };  // kNamed: behind a name and =

class Printer {
 public:
  explicit Printer(const DFPattern* root) {
    PointerMap<DFPattern, uint32_t> uses;
    for (const DFPattern* pattern : patterns_in(root)) {
      for (const DFPatternRef& child : pattern->children()) ++uses[child.get()];
      if (pattern->target()) ++uses[pattern->target().get()];
    }
    ++uses[root];
    // A pattern that stands twice has a name, given or a number. Operators are the same wherever
    // they stand.
    for (const DFPattern* pattern : patterns_in(root)) {
      if (!pattern->name().empty()) {
        names_[pattern] = pattern->name().str();
      } else if ((uses.at(pattern) > 1 || pattern->target()) && pattern->as_op() == nullptr) {
        names_[pattern] = std::to_string(next_++);
      }
    }
    stack_.push_back(Piece{root, kLet});
  }

  std::string print() {
    while (!stack_.empty()) {
      auto piece = std::move(stack_.back());
      stack_.pop_back();
      if (const auto* text = std::get_if<std::string>(&piece)) {
        out_ += *text;
      } else {
        auto [pattern, level] = std::get<Piece>(piece);
        if (level == kNamed) {
          print_inside(*pattern);
        } else {
          print_named(*pattern, level);
        }
      }
    }
    return std::move(out_);
  }

 private:
  struct Piece {
    const DFPattern* pattern;
    int level;
  };
  using Pieces = std::vector<std::variant<std::string, Piece>>;

  // Prints these next, in this order.
  void next(Pieces pieces) {
    stack_.insert(stack_.end(), std::make_move_iterator(pieces.rbegin()),
                  std::make_move_iterator(pieces.rend()));
  }

  void print_named(const DFPattern& pattern, int level) {
    const std::string* name = names_.find(&pattern);
    if (name == nullptr) {
      print_body(pattern, level);
      return;
    }
    if (!seen_.insert(&pattern)) {
      out_ += "%" + *name;
      return;
    }
    if (pattern.target()) {
      next({"rec(%" + *name + ", ", Piece{pattern.target().get(), kLet}, ")"});
    } else if (pattern.kind() == DFPatternKind::kWildcard) {
      out_ += "%" + *name;
    } else {
      bool loose = level == kLet;
      next({loose ? "%" + *name + " = " : "(%" + *name + " = ", Piece{&pattern, kNamed},
            loose ? "" : ")"});
    }
  }

  void print_list(Pieces& pieces, std::span<const DFPatternRef> patterns) {
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (i > 0) pieces.emplace_back(", ");
      pieces.emplace_back(Piece{patterns[i].get(), kLet});
    }
  }

  static std::string attributes(const DFPattern& pattern) {
    std::string text;
    for (const NamedAttr& attr : pattern.attributes())
      text += (text.empty() ? "" : ", ") + attr.name.str() + "=" + pattern_value_text(attr.value);
    return text;
  }

  void print_call(const DFPattern& pattern, const std::string& attrs) {
    Pieces pieces{Piece{pattern.child(0).get(), kTight}, "("};
    if (pattern.any()) {
      pieces.emplace_back("..");
    } else {
      print_list(pieces, pattern.rest());
    }
    bool alone = !pattern.any() && pattern.rest().empty();
    if (!attrs.empty()) pieces.emplace_back((alone ? "" : ", ") + attrs);
    pieces.emplace_back(")");
    next(std::move(pieces));
  }

  void print_body(const DFPattern& pattern, int level);
  void print_leaf(const DFPattern& pattern);
  void print_inside(const DFPattern& pattern);

  PointerMap<DFPattern, std::string> names_;
  PointerSet<DFPattern> seen_;
  std::vector<std::variant<std::string, Piece>> stack_;
  std::string out_;
  uint32_t next_ = 0;
};

/// True if the attributes can stand among the arguments of a call: its operator has them, and takes
/// the values as they are.
bool stand_in_call(const DFPattern& attrs, const DFPattern& call) {
  const Operator* op = call.child(0)->as_op();
  if (op == nullptr) return true;
  const AttrsSchema* schema = op->attrs_schema();
  for (const NamedAttr& attr : attrs.attributes()) {
    bool found = false;
    for (size_t i = 0; schema != nullptr && i < schema->fields.size(); ++i) {
      const AttrField& field = schema->fields[i];
      if (field.name != attr.name) continue;
      std::unique_ptr<void, void (*)(void*)> object(schema->create(), schema->destroy);
      found = field.set(object.get(), attr.value) && field.get(object.get()) == attr.value;
    }
    if (!found) return false;
  }
  return true;
}

std::string quoted(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

void Printer::print_leaf(const DFPattern& pattern) {
  switch (pattern.kind()) {
    case DFPatternKind::kVar:
      out_ += pattern.var_name().empty() ? "var" : "var(" + quoted(pattern.var_name().view()) + ")";
      break;
    case DFPatternKind::kConstant:
      out_ += "const";
      break;
    case DFPatternKind::kName:
      if (pattern.expr_kind() == ExprKind::kGlobalVar) {
        const std::string_view name = pattern.var_name().view();
        out_ += "@" + (is_word(name) ? std::string(name) : quoted(name));
      } else {
        out_ += pattern.var_name().view();
      }
      break;
    case DFPatternKind::kNumber:
      out_ += pattern_number_text(pattern.number());
      break;
    case DFPatternKind::kExpr:
      if (const Operator* op = pattern.as_op()) {
        out_ += op->name().view();
      } else {
        out_ += "expr(" + quoted(print_short(pattern.expr().get(), 1000)) + ")";
      }
      break;
    default:
      out_ += "_";
  }
}

void Printer::print_body(const DFPattern& pattern, int level) {
  bool loose = (pattern.kind() == DFPatternKind::kLet && level > kLet) ||
               (pattern.kind() == DFPatternKind::kAlt && level > kAlt);
  if (loose) {
    out_ += "(";
    next({")"});
  }
  print_inside(pattern);
}

void Printer::print_inside(const DFPattern& pattern) {
  auto part = [&](size_t i, int at) { return Piece{pattern.child(i).get(), at}; };
  switch (pattern.kind()) {
    case DFPatternKind::kCall:
      return print_call(pattern, "");
    case DFPatternKind::kFunction: {
      Pieces pieces{"fn ("};
      if (pattern.any()) pieces.emplace_back("..");
      print_list(pieces, pattern.rest());
      pieces.emplace_back(") { ");
      pieces.emplace_back(part(0, kLet));
      pieces.emplace_back(" }");
      return next(std::move(pieces));
    }
    case DFPatternKind::kTuple: {
      Pieces pieces{pattern.any() ? "(.." : "("};
      print_list(pieces, pattern.children());
      pieces.emplace_back(pattern.children().size() == 1 ? ",)" : ")");
      return next(std::move(pieces));
    }
    case DFPatternKind::kTupleGetItem:
      return next(
          {part(0, kTight), pattern.index() < 0 ? "._" : "." + std::to_string(pattern.index())});
    case DFPatternKind::kLet:
      return next({"let ", part(0, kTight), " = ", part(1, kAlt), "; ", part(2, kLet)});
    case DFPatternKind::kIf:
      return next(
          {"if (", part(0, kLet), ") { ", part(1, kLet), " } else { ", part(2, kLet), " }"});
    case DFPatternKind::kAlt:
      return next({part(0, kAlt), " | ", part(1, kTight)});
    case DFPatternKind::kAttr: {
      const DFPattern& inner = *pattern.child(0);
      if (inner.kind() == DFPatternKind::kCall && names_.find(&inner) == nullptr &&
          stand_in_call(pattern, inner))
        return print_call(inner, attributes(pattern));
      return next({part(0, kTight), ".has_attr(" + attributes(pattern) + ")"});
    }
    case DFPatternKind::kType:
      return next({part(0, kTight), ".has_type(" + pattern.type()->str() + ")"});
    case DFPatternKind::kDType:
      return next({part(0, kTight), ".has_dtype(" + std::string(pattern.dtype().name()) + ")"});
    case DFPatternKind::kShape: {
      std::string dims;
      for (const Dim& dim : pattern.dims()) {
        dims += dims.empty() ? "" : ", ";
        dims += dim == DFPattern::any_extent() ? "_" : dim.str();
      }
      return next({part(0, kTight), ".has_shape((" + dims + "))"});
    }
    case DFPatternKind::kNode: {
      if (pattern.expr_kind() == ExprKind::kMatch)
        return next({"match (", part(0, kLet), ") { .. }"});
      Pieces pieces{pattern.expr_kind() == ExprKind::kRefCreate ? "ref("
                    : pattern.expr_kind() == ExprKind::kRefRead ? "ref_read("
                                                                : "ref_write("};
      print_list(pieces, pattern.children());
      pieces.emplace_back(")");
      return next(std::move(pieces));
    }
    case DFPatternKind::kDominator:
      return next({"dominates(", part(0, kLet), ", ", part(1, kLet), ", ", part(2, kLet), ")"});
    default:
      print_leaf(pattern);
  }
}

}  // namespace

std::string pattern_number_text(double value) {
  char buffer[40];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, error == std::errc() ? end : buffer);
}

// Dtypes have no quotes here, so that they stay dtypes; floats look like floats.
std::string pattern_value_text(const AttrValue& value) {
  // A dtype that is left open is an empty text, as it was written.
  if (const auto* dtype = value.get<DType>())
    return dtype->valid() ? std::string(dtype->name()) : "\"\"";
  if (const auto* number = value.get<double>()) {
    std::string text = pattern_number_text(*number);
    bool looks_whole = text.find_first_not_of("-0123456789") == std::string::npos;
    return looks_whole ? text + ".0" : text;
  }
  std::string text;
  if (const auto* dict = value.get<AttrValue::Dict>()) {
    for (const auto& [key, item] : *dict)
      text += (text.empty() ? "" : ", ") + AttrValue(key).str() + ": " + pattern_value_text(item);
    return "{" + text + "}";
  }
  const auto* list = value.get<AttrValue::List>();
  if (list == nullptr) return value.str();
  for (const AttrValue& item : *list) text += (text.empty() ? "" : ", ") + pattern_value_text(item);
  return "[" + text + "]";
}

std::string pattern_text(const DFPattern* pattern) { return Printer(pattern).print(); }

std::string short_text(const DFPattern* pattern, size_t width) {
  std::string text = pattern_text(pattern);
  if (text.size() > width) text = text.substr(0, width) + "…";
  return "`" + text + "`";
}

}  // namespace relay
