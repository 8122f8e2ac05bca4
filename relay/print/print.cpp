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
void append_short(std::string& out, const Expr* expr, size_t limit, int depth) {
  if (out.size() >= limit || depth == 0) {
    switch (expr->kind()) {
      case ExprKind::kVar:
      case ExprKind::kGlobalVar:
      case ExprKind::kLiteral:
        break;
      default:
        out += "…";
        return;
    }
  }
  auto list = [&](std::string_view begin, std::span<const ExprRef> items, std::string_view end) {
    out += begin;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += ", ";
      if (out.size() >= limit) {
        out += "…";
        break;
      }
      append_short(out, items[i].get(), limit, depth - 1);
    }
    out += end;
  };
  switch (expr->kind()) {
    case ExprKind::kVar:
      append_name(out, '%', static_cast<const Var*>(expr)->name().view());
      break;
    case ExprKind::kGlobalVar:
      append_name(out, '@', static_cast<const GlobalVar*>(expr)->name().view());
      break;
    case ExprKind::kConstant: {
      const NDArray& value = static_cast<const Constant*>(expr)->data();
      auto text = printing::constant_text(value);
      out +=
          text ? *text
               : "constant " + shape_text(value.shape()) + " " + std::string(value.dtype().name());
      break;
    }
    case ExprKind::kLiteral:
      printing::append_literal(out, static_cast<const Literal*>(expr)->value());
      break;
    case ExprKind::kOp:
      out += static_cast<const Op*>(expr)->op()->name().view();
      break;
    case ExprKind::kConstructor:
      out += static_cast<const Constructor*>(expr)->name().view();
      break;
    case ExprKind::kTuple:
      list("(", expr->operands(), expr->operands().size() == 1 ? ",)" : ")");
      break;
    case ExprKind::kTupleGetItem:
      append_short(out, expr->operands()[0].get(), limit, depth - 1);
      out += '.';
      out += std::to_string(static_cast<const TupleGetItem*>(expr)->index());
      break;
    case ExprKind::kCall: {
      const Call* call = static_cast<const Call*>(expr);
      append_short(out, call->callee().get(), limit, depth - 1);
      list("(", call->args(), ")");
      break;
    }
    case ExprKind::kFunction: {
      const Function* function = static_cast<const Function*>(expr);
      out += "fn (";
      for (size_t i = 0; i < function->params().size() && out.size() < limit; ++i) {
        if (i > 0) out += ", ";
        append_name(out, '%', function->params()[i]->name().view());
      }
      out += ") { ";
      append_short(out, function->body().get(), limit, depth - 1);
      out += " }";
      break;
    }
    case ExprKind::kLet: {
      const Let* let = static_cast<const Let*>(expr);
      out += "let ";
      append_name(out, '%', let->var()->name().view());
      out += " = ";
      append_short(out, let->value().get(), limit, depth - 1);
      out += "; ";
      append_short(out, let->body().get(), limit, depth - 1);
      break;
    }
    case ExprKind::kIf:
      out += "if (";
      append_short(out, expr->operands()[0].get(), limit, depth - 1);
      out += ") { … } else { … }";
      break;
    case ExprKind::kMatch:
      out += "match (";
      append_short(out, expr->operands()[0].get(), limit, depth - 1);
      out += ") { … }";
      break;
    case ExprKind::kRefCreate:
      list("ref(", expr->operands(), ")");
      break;
    case ExprKind::kRefRead:
      list("ref_read(", expr->operands(), ")");
      break;
    case ExprKind::kRefWrite:
      list("ref_write(", expr->operands(), ")");
      break;
    case ExprKind::kTempExpr:
      append_short(out, expr->operands()[0].get(), limit, depth - 1);
      break;
  }
}

}  // namespace

std::string print_short(const Expr* expr, size_t width) {
  constexpr int kDepth = 12;
  std::string out;
  append_short(out, expr, width, kDepth);
  if (out.size() <= width + 3) return out;
  size_t cut = width;
  while (cut > 0 && (static_cast<unsigned char>(out[cut]) & 0xC0) == 0x80) --cut;
  return out.substr(0, cut) + "…";
}

}  // namespace relay
