#include <relay/print/dot.h>

#include <relay/ir/regions.h>
#include <relay/print/print.h>

namespace relay {
namespace {

void append_escaped(std::string& out, const std::string& text) {
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
}

bool written_inside(const Expr* expr) { return expr->is<Constant>() || expr->is<Literal>(); }

/// The text of a box: the operation, with those operands that are no boxes.
std::string label(const Regions& regions, uint32_t id) {
  const Expr* expr = regions.expr(id);
  auto operand = [&](size_t i) -> std::string {
    uint32_t child = regions.operand(id, i);
    const Expr* e = expr->operands()[i].get();
    return child == Regions::kNone || written_inside(e) ? print_short(e, 24) : "·";
  };
  auto list = [&](size_t from) {
    std::string text = "(";
    for (size_t i = from; i < expr->operands().size(); ++i) {
      if (i > from) text += ", ";
      text += operand(i);
    }
    return text + ")";
  };
  switch (expr->kind()) {
    case ExprKind::kCall: {
      const Call* call = static_cast<const Call*>(expr);
      std::string text = operand(0) + list(1);
      if (call->attrs()) {
        for (const NamedAttr& attr : call->attrs()->fields(true)) {
          text += "\n" + attr.name.str() + "=" + attr.value.str();
        }
      }
      return text;
    }
    case ExprKind::kTuple:
      return list(0);
    case ExprKind::kTupleGetItem:
      return operand(0) + "." + std::to_string(static_cast<const TupleGetItem*>(expr)->index());
    case ExprKind::kLet:
      return "let %" + static_cast<const Let*>(expr)->var()->name().str() + " = " + operand(0) +
             "; " + operand(1);
    case ExprKind::kFunction: {
      std::string text = "fn (";
      const auto& params = static_cast<const Function*>(expr)->params();
      for (size_t i = 0; i < params.size(); ++i)
        text += (i > 0 ? ", %" : "%") + params[i]->name().str();
      return text + ")";
    }
    case ExprKind::kIf:
      return "if " + operand(0);
    case ExprKind::kMatch: {
      std::string text = "match " + operand(0);
      for (const PatternRef& pattern : static_cast<const Match*>(expr)->patterns()) {
        text += "\n" + print_pattern(pattern.get());
      }
      return text;
    }
    default:
      return std::string(expr_kind_name(expr->kind())) + list(0);
  }
}

}  // namespace

std::string print_dot(const Module& module) {
  std::string out = "digraph module {\n  node [shape=box, fontname=\"monospace\"];\n";
  size_t cluster = 0;
  for (const auto& entry : module.functions()) {
    std::string prefix = "f" + std::to_string(cluster) + "_";
    Regions regions(entry.function.get());
    out += "  subgraph cluster_" + std::to_string(cluster++) + " {\n    label=\"@";
    append_escaped(out, entry.name.str());
    out += "\";\n";
    for (uint32_t id : regions.post_order()) {
      const Expr* expr = regions.expr(id);
      if (written_inside(expr)) continue;
      std::string name = prefix + std::to_string(id);
      out += "    " + name + " [label=\"";
      std::string text = label(regions, id);
      for (char c : text) {
        if (c == '\n') {
          out += "\\n";
        } else {
          append_escaped(out, std::string(1, c));
        }
      }
      out += "\"];\n";
      for (size_t i = 0; i < expr->operands().size(); ++i) {
        uint32_t child = regions.operand(id, i);
        if (child == Regions::kNone || written_inside(expr->operands()[i].get())) continue;
        out += "    " + prefix + std::to_string(child) + " -> " + name;
        if (regions.region_of(id, i) != Regions::kNone) out += " [style=dashed]";
        out += ";\n";
      }
    }
    out += "  }\n";
  }
  return out + "}\n";
}

}  // namespace relay
