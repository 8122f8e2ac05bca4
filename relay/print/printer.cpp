#include <relay/print/printer.h>

#include <relay/op/op.h>
#include <relay/op/registry/relation.h>
#include <relay/print/text.h>

namespace relay::printing {
namespace {

// The parser's limit (parse.h); text beyond it would not read back.
constexpr size_t kMaxBrackets = 1000;
// Levels that the parser counts around a definition's body.
constexpr size_t kOutermost = 2;

}  // namespace

void append_pattern(std::string& out, const Pattern* root,
                    const std::function<void(const Var*)>& binder) {
  struct Item {
    const Pattern* pattern;
    size_t next;
  };
  std::vector<Item> items{{root, 0}};
  while (!items.empty()) {
    Item& item = items.back();
    const Pattern* pattern = item.pattern;
    auto fields = pattern->fields();
    if (item.next == 0) {
      switch (pattern->kind()) {
        case PatternKind::kWildcard:
          out += '_';
          break;
        case PatternKind::kVar:
          binder(pattern->var().get());
          break;
        case PatternKind::kConstructor:
          append_constructor(out, pattern->constructor()->name());
          if (!fields.empty()) out += '(';
          break;
        case PatternKind::kTuple:
          out += '(';
          break;
      }
    }
    if (item.next < fields.size()) {
      if (item.next > 0) out += ", ";
      const Pattern* field = fields[item.next++].get();
      items.push_back({field, 0});
      continue;
    }
    if (pattern->kind() == PatternKind::kTuple) {
      out += fields.size() == 1 ? ",)" : ")";
    } else if (pattern->kind() == PatternKind::kConstructor && !fields.empty()) {
      out += ')';
    }
    items.pop_back();
  }
}

Printer::Printer(Document& document, const Effects& effects, const Expr* root,
                 std::vector<VarRef> free)
    : doc_(document),
      root_(root),
      regions_(root, Regions::Mode::kText),
      free_(std::move(free)),
      layout_(regions_, effects, free_),
      type_names_(document.type_names()) {}

void Printer::definition(Name name) {
  const Function* function = root_->as<Function>();
  note_line(function);
  doc_.out += "def ";
  std::string head;
  append_name(head, '@', name.view());
  function_head(*function, head);
  doc_.out += " {\n";
  push(What::kRegion, 1, 1, kOutermost);
  run();
  if (doc_.lines != nullptr) doc_.lines->close = doc_.out.size();
  doc_.out += '}';
  remark(root_);
  doc_.out += '\n';
}

void Printer::expression() {
  for (const VarRef& var : free_) {
    doc_.out += "free_var ";
    binder(var.get());
    doc_.out += ";\n";
  }
  push(What::kRegion, 0, 0, kOutermost);
  run();
}

void Printer::push(What what, uint32_t id, uint32_t indent, size_t depth) {
  // An expression may have brackets of its own.
  if (depth + (what == What::kExpr ? 1 : 0) > kMaxBrackets) {
    throw Error("the program is nested too deeply to be printed (more than " +
                std::to_string(kMaxBrackets) + " levels)");
  }
  stack_.push_back({what, 0, static_cast<uint16_t>(depth), indent, id, 0});
}

void Printer::run() {
  while (!stack_.empty()) {
    // A frame that pushes another one is invalid afterwards: each case returns right then.
    Frame& frame = stack_.back();
    bool done = frame.what == What::kRegion ? region(frame) : node(frame);
    if (done) stack_.pop_back();
  }
}

void Printer::reference(uint32_t number) {
  doc_.out += '%';
  doc_.out += std::to_string(number);
}

void Printer::atom(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::kVar:
      layout_.append_var(doc_.out, static_cast<const Var*>(expr));
      break;
    case ExprKind::kGlobalVar:
      append_name(doc_.out, '@', static_cast<const GlobalVar*>(expr)->name().view());
      break;
    case ExprKind::kOp:
      doc_.out += static_cast<const Op*>(expr)->op()->name().view();
      break;
    case ExprKind::kConstructor:
      append_constructor(doc_.out, static_cast<const Constructor*>(expr)->name());
      break;
    case ExprKind::kConstant:
      doc_.constant(*static_cast<const Constant*>(expr));
      break;
    case ExprKind::kLiteral:
      append_literal(doc_.out, static_cast<const Literal*>(expr)->value());
      break;
    default:
      RELAY_UNREACHABLE("not an atom");
  }
}

// Operand i of a node: at once if it is an atom or has a name, else as a frame that is written
// next.
void Printer::operand(const Frame& frame, uint32_t node, size_t i, uint32_t indent, bool nested) {
  uint32_t child = regions_.operand(node, i);
  const Expr* expr = regions_.expr(node)->operands()[i].get();
  if (child == Regions::kNone) {
    atom(expr);
  } else if (layout_.number(child) != Layout::kInline) {
    reference(layout_.number(child));
  } else if (expr->is<Constant>() || expr->is<Literal>()) {
    atom(expr);
    comment(expr);
  } else {
    push(What::kExpr, child, indent, frame.depth + (nested ? 1u : 0u));
  }
}

bool Printer::region(Frame& frame) {
  std::string& out = doc_.out;
  auto steps = regions_.steps(frame.id);
  if (frame.phase == 1) {
    out += ";\n";
    frame.phase = 0;
  } else if (frame.phase == 2) {
    out += '\n';
    return true;
  }
  while (frame.next < steps.size()) {
    Regions::Step step = steps[frame.next];
    if (!step.bind && layout_.number(step.node) == Layout::kInline) {
      ++frame.next;
      continue;
    }
    ++frame.next;
    note_line(regions_.expr(step.node));
    doc_.line(frame.indent);
    frame.phase = 1;
    if (step.bind) {
      out += "let ";
      binder(static_cast<const Let*>(regions_.expr(step.node))->var().get());
      out += " = ";
      operand(frame, step.node, 0, frame.indent, false);
    } else {
      reference(layout_.number(step.node));
      out += " = ";
      if (regions_.expr(step.node)->is<Literal>()) {
        atom(regions_.expr(step.node));
      } else {
        push(What::kExpr, step.node, frame.indent, frame.depth);
      }
    }
    return false;
  }
  Regions::Result result = regions_.result(frame.id);
  // A node with a name is written, or bound, elsewhere.
  bool named = result.node == Regions::kNone || layout_.number(result.node) != Layout::kInline;
  note_line(named ? nullptr : result.expr);
  doc_.line(frame.indent);
  frame.phase = 2;
  if (result.node == Regions::kNone) {
    atom(result.expr);
  } else if (layout_.number(result.node) != Layout::kInline) {
    reference(layout_.number(result.node));
  } else if (result.expr->is<Constant>() || result.expr->is<Literal>()) {
    atom(result.expr);
    comment(result.expr);
  } else {
    push(What::kExpr, result.node, frame.indent, frame.depth);
  }
  return false;
}

void Printer::push_region(const Frame& frame, uint32_t region, uint32_t indent, uint32_t brackets) {
  push(What::kRegion, region, indent, frame.depth + brackets);
}

bool Printer::node(Frame& frame) {
  std::string& out = doc_.out;
  const Expr* expr = regions_.expr(frame.id);
  uint32_t indent = frame.indent;
  switch (expr->kind()) {
    case ExprKind::kCall:
      return call(frame, *static_cast<const Call*>(expr));
    case ExprKind::kIf:
      return conditional(frame);
    case ExprKind::kMatch:
      return match(frame, *static_cast<const Match*>(expr));
    case ExprKind::kTuple:
      return sequence(frame, "(", expr->operands().size() == 1 ? ",)" : ")");
    case ExprKind::kRefCreate:
      return sequence(frame, "ref(", ")");
    case ExprKind::kRefRead:
      return sequence(frame, "ref_read(", ")");
    case ExprKind::kRefWrite:
      return sequence(frame, "ref_write(", ")");
    case ExprKind::kTupleGetItem:
      return projection(frame, *static_cast<const TupleGetItem*>(expr));
    case ExprKind::kFunction:
      if (frame.phase == 0) {
        frame.phase = 1;
        function_head(*static_cast<const Function*>(expr), {});
        out += " {\n";
        push_region(frame, regions_.first_region(frame.id), indent + 1, 2);
        return false;
      }
      doc_.line(indent);
      out += '}';
      comment(expr);
      return true;
    case ExprKind::kLet:
      // Only one in the middle of an expression comes here.
      if (frame.phase == 0) {
        frame.phase = 1;
        out += "(\n";
        push_region(frame, regions_.first_region(frame.id), indent + 1, 1);
        return false;
      }
      doc_.line(indent);
      out += ')';
      return true;
    case ExprKind::kTempExpr:
      if (frame.phase == 0) {
        frame.phase = 1;
        out += "/* temporary */ ";
        operand(frame, frame.id, 0, indent);
        return false;
      }
      return true;
    default:
      atom(expr);
      comment(expr);
      return true;
  }
}

bool Printer::call(Frame& frame, const Call& call) {
  std::string& out = doc_.out;
  const Expr* callee = call.callee().get();
  size_t count = call.operands().size();
  if (frame.phase == 0) {
    frame.phase = 1;
    frame.next = 1;
    ExprKind kind = callee->kind();
    uint32_t id = regions_.operand(frame.id, 0);
    bool brackets =
        id != Regions::kNone && layout_.number(id) == Layout::kInline &&
        (kind == ExprKind::kIf || kind == ExprKind::kMatch || kind == ExprKind::kFunction ||
         kind == ExprKind::kConstant || kind == ExprKind::kLiteral);
    if (brackets) {
      frame.phase = 2;
      out += '(';
    }
    operand(frame, frame.id, 0, frame.indent);
    return false;
  }
  if (frame.phase < 3) {
    if (frame.phase == 2) out += ')';
    frame.phase = 3;
    if (!call.type_args().empty()) {
      out += '<';
      for (size_t i = 0; i < call.type_args().size(); ++i) {
        if (i > 0) out += ", ";
        type(call.type_args()[i].get());
      }
      out += '>';
    } else if (const Constructor* constructor = callee->as<Constructor>();
               constructor != nullptr && constructor->inputs().empty() && count == 1) {
      comment(&call);
      return true;
    }
    out += '(';
  }
  while (frame.next < count) {
    size_t i = frame.next++;
    if (i > 1) out += ", ";
    size_t frames = stack_.size();
    operand(frame, frame.id, i, frame.indent);
    if (stack_.size() > frames) return false;
  }
  if (call.attrs()) {
    const Op* op = callee->as<Op>();
    size_t begin = out.size();
    doc_.attrs(call.attrs().get());
    if (call.attrs()->schema().name != Name("DictAttrs") &&
        (op == nullptr || op->op()->attrs_schema() != &call.attrs()->schema())) {
      out += ", attrs_type_key=";
      append_quoted(out, call.attrs()->schema().name.view());
    }
    // Without arguments, drops the separator.
    if (count == 1 && out.size() > begin) out.erase(begin, 2);
  }
  out += ')';
  comment(&call);
  return true;
}

bool Printer::sequence(Frame& frame, std::string_view begin, std::string_view end) {
  std::string& out = doc_.out;
  const Expr* expr = regions_.expr(frame.id);
  if (frame.phase == 0) {
    frame.phase = 1;
    out += begin;
  }
  while (frame.next < expr->operands().size()) {
    size_t i = frame.next++;
    if (i > 0) out += ", ";
    size_t frames = stack_.size();
    operand(frame, frame.id, i, frame.indent);
    if (stack_.size() > frames) return false;
  }
  out += end;
  expr->is<Tuple>() ? comment(expr) : remark(expr);
  return true;
}

bool Printer::projection(Frame& frame, const TupleGetItem& item) {
  std::string& out = doc_.out;
  if (frame.phase == 0) {
    frame.phase = 1;
    const Expr* tuple = item.tuple().get();
    uint32_t id = regions_.operand(frame.id, 0);
    bool brackets = false;
    if (id != Regions::kNone && layout_.number(id) != Layout::kInline) {
      brackets = layout_.dotted(std::to_string(layout_.number(id)));
    } else {
      switch (tuple->kind()) {
        case ExprKind::kVar:
          brackets = layout_.dotted(static_cast<const Var*>(tuple));
          break;
        case ExprKind::kCall: {
          // A nullary constructor is written as a word alone.
          const Call* call = static_cast<const Call*>(tuple);
          brackets = call->args().empty() && call->callee()->is<Constructor>();
          break;
        }
        case ExprKind::kTuple:
        case ExprKind::kTupleGetItem:
        case ExprKind::kRefCreate:
        case ExprKind::kRefRead:
        case ExprKind::kRefWrite:
        case ExprKind::kLet:
          break;
        default:
          brackets = true;
          break;
      }
    }
    if (brackets) {
      frame.phase = 2;
      out += '(';
    }
    operand(frame, frame.id, 0, frame.indent);
    return false;
  }
  if (frame.phase == 2) out += ')';
  out += '.';
  out += std::to_string(item.index());
  comment(&item);
  return true;
}

bool Printer::conditional(Frame& frame) {
  std::string& out = doc_.out;
  uint32_t first = regions_.first_region(frame.id);
  switch (frame.phase++) {
    case 0:
      out += "if (";
      operand(frame, frame.id, 0, frame.indent);
      return false;
    case 1:
      out += ") {\n";
      push_region(frame, first, frame.indent + 1, 1);
      return false;
    case 2:
      doc_.line(frame.indent);
      out += "} else {\n";
      push_region(frame, first + 1, frame.indent + 1, 1);
      return false;
    default:
      doc_.line(frame.indent);
      out += '}';
      remark(regions_.expr(frame.id));
      return true;
  }
}

bool Printer::match(Frame& frame, const Match& match) {
  std::string& out = doc_.out;
  if (frame.phase == 0) {
    frame.phase = 1;
    out += match.complete() ? "match (" : "match? (";
    operand(frame, frame.id, 0, frame.indent);
    return false;
  }
  if (frame.phase == 1) {
    frame.phase = 2;
    out += ") {\n";
  } else {
    doc_.line(frame.indent + 1);
    out += "},\n";
  }
  if (frame.next < match.patterns().size()) {
    uint32_t clause = frame.next++;
    doc_.line(frame.indent + 1);
    append_pattern(out, match.patterns()[clause].get(), [this](const Var* var) { binder(var); });
    out += " => {\n";
    push_region(frame, regions_.first_region(frame.id) + clause, frame.indent + 2, 2);
    return false;
  }
  doc_.line(frame.indent);
  out += '}';
  remark(&match);
  return true;
}

// `fn (…) -> …`, or with a name `@f(…) -> …`.
void Printer::function_head(const Function& function, std::string_view name) {
  std::string& out = doc_.out;
  out += name.empty() ? std::string_view("fn") : name;
  bool any = false;
  bool classic = false;
  for (const TypeVarRef& var : function.type_params()) {
    any |= !var->implicit();
    classic |= !var->implicit() && var->kind() != Kind::kType;
  }
  if (any) {
    out += classic ? '<' : '[';
    bool first = true;
    for (const TypeVarRef& var : function.type_params()) {
      if (var->implicit()) continue;
      if (!first) out += ", ";
      first = false;
      out += type_param_str(var.get(), type_names_);
    }
    out += classic ? '>' : ']';
  } else if (name.empty()) {
    out += ' ';
  }
  out += '(';
  bool first = true;
  for (const VarRef& param : function.params()) {
    if (!first) out += ", ";
    first = false;
    binder(param.get());
  }
  if (function.attrs()) {
    size_t begin = out.size();
    doc_.attrs(function.attrs().get());
    if (first && out.size() > begin) out.erase(begin, 2);
  }
  out += ')';
  if (function.ret_type()) {
    out += " -> ";
    type(function.ret_type().get());
  }
  for (size_t i = 0; i < function.constraints().size(); ++i) {
    const RelationType& relation = *function.constraints()[i];
    out += i == 0 ? " where " : ", ";
    if (relation.args().empty() && !relation.attrs()) {
      out += relation.relation()->name.view();
    } else {
      type(&relation);
    }
  }
}

void Printer::binder(const Var* var) {
  layout_.append_var(doc_.out, var);
  if (var->annotation()) {
    doc_.out += ": ";
    type(var->annotation().get());
  }
  type_comment(var);
  remark(var);
}

void Printer::note_line(const Expr* expr) {
  if (doc_.lines == nullptr) return;
  doc_.lines->lines.push_back({doc_.out.size(), expr == nullptr ? 0 : expr->span().begin()});
}

void Printer::type_comment(const Expr* expr) {
  if (!doc_.options.show_types || expr->type() == nullptr) return;
  doc_.out += " /* ty=";
  const size_t begin = doc_.out.size();
  type(expr->type());
  escape_comment(doc_.out, begin);
  doc_.out += " */";
}

void Printer::comment(const Expr* expr) {
  type_comment(expr);
  if (doc_.options.show_spans && expr->span().known()) {
    Location place = SourceMap::locate(expr->span());
    if (place.line == 0) return remark(expr);
    doc_.out += " /* span=";
    const size_t begin = doc_.out.size();
    doc_.out += place.file;
    escape_comment(doc_.out, begin);
    doc_.out += ':' + std::to_string(place.line) + ':' + std::to_string(place.column) + " */";
  }
  remark(expr);
}

void Printer::remark(const Expr* expr) {
  if (doc_.remark == nullptr) return;
  const std::string text = (*doc_.remark)(root_, expr);
  if (text.empty()) return;
  doc_.out += " /* ";
  const size_t begin = doc_.out.size();
  doc_.out += text;
  escape_comment(doc_.out, begin);
  doc_.out += " */";
}

}  // namespace relay::printing
