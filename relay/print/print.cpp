#include <relay/print/print.h>

#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/print/printer.h>
#include <relay/print/text.h>

namespace relay {

using printing::append_name;

namespace {

void print_definitions(const Module& module, printing::Document& document,
                       PrintedModule* printed = nullptr, const Source* only = nullptr,
                       std::string_view head = {}) {
  Effects effects(module);
  std::vector<PrintedDefinition>* definitions =
      printed == nullptr ? nullptr : &printed->definitions;
  if (document.options.version_line) document.out += "#[version = \"0.0.5\"]\n";
  if (printed != nullptr) printed->head = document.out.size();
  document.out += head;
  bool first = head.empty();
  auto wanted = [&](Span span) {
    return only == nullptr ||
           (span.begin() >= only->base() && span.end() <= only->base() + only->text().size());
  };
  auto begin = [&](Span span) {
    if (!first) document.out += '\n';
    first = false;
    if (definitions == nullptr) return;
    document.lines = &definitions->emplace_back();
    document.lines->begin = span.begin();
    document.lines->end = span.end();
  };
  for (const TypeDataRef& data : module.types()) {
    if (!wanted(data->span())) continue;
    Span span;
    for (const ConstructorRef& constructor : data->constructors())
      span = Span::merge(span, constructor->span());
    begin(span);
    if (definitions != nullptr) document.lines->data = true;
    document.type_data(*data);
  }
  for (const Module::FunctionEntry& entry : module.functions()) {
    if (!wanted(entry.function->span())) continue;
    begin(entry.function->span());
    printing::Printer(document, effects, entry.function.get()).definition(entry.name);
  }
}

}  // namespace

std::string print_module(const Module& module, const PrintOptions& options) {
  printing::Document document(options);
  document.reserve(module);
  print_definitions(module, document);
  document.metadata();
  return std::move(document.out);
}

PrintedModule print_module_lines(const Module& module, const Source* only, std::string_view head) {
  PrintedModule printed;
  PrintOptions options;
  printing::Document document(options);
  document.reserve(module);
  print_definitions(module, document, &printed, only, head);
  printed.end = document.out.size();
  document.metadata();
  printed.text = std::move(document.out);
  return printed;
}

std::string print_annotated(const Module& module, const NodeRemark& remark, bool values) {
  PrintOptions options;
  options.show_metadata = values;
  printing::Document document(options);
  document.remark = &remark;
  document.reserve(module);
  print_definitions(module, document);
  document.metadata();
  return std::move(document.out);
}

namespace {

std::string expr_text(const Expr* expr, const PrintOptions& options, const NodeRemark* remark) {
  printing::Document document(options);
  document.remark = remark;
  Effects effects(expr);
  printing::Printer(document, effects, expr, free_vars(expr)).expression();
  while (!document.out.empty() && document.out.back() == '\n') document.out.pop_back();
  document.metadata();
  return std::move(document.out);
}

}  // namespace

std::string print_expr(const Expr* expr, const PrintOptions& options) {
  return expr_text(expr, options, nullptr);
}

std::string print_annotated(const Expr* expr, const NodeRemark& remark, bool values) {
  PrintOptions options;
  options.show_metadata = values;
  return expr_text(expr, options, &remark);
}

std::string print_pattern(const Pattern* pattern) {
  std::string out;
  printing::append_pattern(out, pattern,
                           [&](const Var* var) { append_name(out, '%', var->name().view()); });
  return out;
}

namespace {

/// Writes nested text until `limit` characters are there; deeper parts are `…`.
class ShortText {
 public:
  explicit ShortText(size_t limit) : limit_(limit) {}

  std::string of(const Expr* expr) {
    constexpr int kDepth = 12;
    append(expr, kDepth);
    return std::move(out_);
  }

 private:
  bool is_full() const { return out_.size() >= limit_; }

  void append(const Expr* expr, int depth) {
    if (append_leaf(expr)) return;
    if (is_full() || depth == 0) {
      out_ += "…";
      return;
    }
    append_node(expr, depth - 1);
  }

  // Writes what is a name or a number, which is never left out; false for others.
  bool append_leaf(const Expr* expr) {
    switch (expr->kind()) {
      case ExprKind::kVar:
        append_name(out_, '%', static_cast<const Var*>(expr)->name().view());
        return true;
      case ExprKind::kGlobalVar:
        append_name(out_, '@', static_cast<const GlobalVar*>(expr)->name().view());
        return true;
      case ExprKind::kLiteral:
        printing::append_literal(out_, static_cast<const Literal*>(expr)->value());
        return true;
      default:
        return false;
    }
  }

  // `depth` is that of the operands.
  void append_node(const Expr* expr, int depth) {
    const std::span<const ExprRef> operands = expr->operands();
    switch (expr->kind()) {
      case ExprKind::kConstant:
        return append_constant(static_cast<const Constant*>(expr)->data());
      case ExprKind::kOp:
        out_ += static_cast<const Op*>(expr)->op()->name().view();
        return;
      case ExprKind::kConstructor:
        out_ += static_cast<const Constructor*>(expr)->name().view();
        return;
      case ExprKind::kTuple:
        return append_list("(", operands, operands.size() == 1 ? ",)" : ")", depth);
      case ExprKind::kTupleGetItem:
        append(operands[0].get(), depth);
        out_ += '.';
        out_ += std::to_string(static_cast<const TupleGetItem*>(expr)->index());
        return;
      case ExprKind::kCall: {
        const Call* call = static_cast<const Call*>(expr);
        append(call->callee().get(), depth);
        return append_list("(", call->args(), ")", depth);
      }
      case ExprKind::kFunction:
        return append_function(static_cast<const Function*>(expr), depth);
      case ExprKind::kLet:
        return append_let(static_cast<const Let*>(expr), depth);
      case ExprKind::kIf:
        out_ += "if (";
        append(operands[0].get(), depth);
        out_ += ") { … } else { … }";
        return;
      case ExprKind::kMatch:
        out_ += "match (";
        append(operands[0].get(), depth);
        out_ += ") { … }";
        return;
      case ExprKind::kRefCreate:
        return append_list("ref(", operands, ")", depth);
      case ExprKind::kRefRead:
        return append_list("ref_read(", operands, ")", depth);
      case ExprKind::kRefWrite:
        return append_list("ref_write(", operands, ")", depth);
      case ExprKind::kTempExpr:
        return append(operands[0].get(), depth);
      default:
        RELAY_UNREACHABLE("a leaf");
    }
  }

  void append_list(std::string_view begin, std::span<const ExprRef> items, std::string_view end,
                   int depth) {
    out_ += begin;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ", ";
      if (is_full()) {
        out_ += "…";
        break;
      }
      append(items[i].get(), depth);
    }
    out_ += end;
  }

  void append_constant(const NDArray& value) {
    auto text = printing::constant_text(value);
    out_ += text
                ? *text
                : "constant " + shape_text(value.shape()) + " " + std::string(value.dtype().name());
  }

  void append_function(const Function* function, int depth) {
    out_ += "fn (";
    for (size_t i = 0; i < function->params().size() && !is_full(); ++i) {
      if (i > 0) out_ += ", ";
      append_name(out_, '%', function->params()[i]->name().view());
    }
    out_ += ") { ";
    append(function->body().get(), depth);
    out_ += " }";
  }

  void append_let(const Let* let, int depth) {
    out_ += "let ";
    append_name(out_, '%', let->var()->name().view());
    out_ += " = ";
    append(let->value().get(), depth);
    out_ += "; ";
    append(let->body().get(), depth);
  }

  const size_t limit_;
  std::string out_;
};

}  // namespace

std::string print_short(const Expr* expr, size_t width) {
  std::string out = ShortText(width).of(expr);
  if (out.size() <= width + 3) return out;
  size_t cut = width;
  while (cut > 0 && (static_cast<unsigned char>(out[cut]) & 0xC0) == 0x80) --cut;
  return out.substr(0, cut) + "…";
}

}  // namespace relay
