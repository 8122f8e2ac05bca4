// Stages of modules.
#include <relay/explore/stage.h>

#include <charconv>
#include <memory>
#include <unordered_map>

#include <relay/op/op.h>
#include <relay/print/annotated.h>
#include <relay/print/print.h>
#include <relay/program/view.h>
#include <relay/support/pointer_map.h>

namespace relay::explore {
namespace {

constexpr char kMark = '\x01';  // in no printed text: strings there escape it
constexpr std::string_view kBeginMark = " /* \x01";
constexpr std::string_view kEndMark = " */";

std::string callee_text(const Expr* callee) {
  if (const auto* op = callee->as<relay::Op>()) return op->op()->name().str();
  if (const auto* global = callee->as<GlobalVar>()) return "@" + global->name().str();
  if (const auto* constructor = callee->as<Constructor>()) return constructor->name().str();
  if (const auto* var = callee->as<Var>()) return "%" + var->name().str();
  return "call";
}

std::string label_of(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::kVar:
      return "%" + static_cast<const Var*>(expr)->name().str();
    case ExprKind::kConstant: {
      const NDArray& data = static_cast<const Constant*>(expr)->data();
      return data.rank() == 0 && data.device() == kCpu ? print_short(expr) : "constant";
    }
    case ExprKind::kLiteral:
      return print_short(expr);
    case ExprKind::kTuple:
      return "tuple";
    case ExprKind::kTupleGetItem:
      return "." + std::to_string(static_cast<const TupleGetItem*>(expr)->index());
    case ExprKind::kCall:
      return callee_text(static_cast<const Call*>(expr)->callee().get());
    case ExprKind::kFunction:
      return "fn";
    case ExprKind::kLet:
      return "let %" + static_cast<const Let*>(expr)->var()->name().str();
    case ExprKind::kIf:
      return "if";
    case ExprKind::kMatch:
      return "match";
    default:
      return std::string(expr_kind_name(expr->kind()));
  }
}

std::string attrs_text(const Attrs* attrs) {
  std::string text;
  if (attrs == nullptr) return text;
  for (const NamedAttr& attr : attrs->fields(true))
    text += (text.empty() ? "" : ", ") + attr.name.str() + "=" + attr.value.str();
  return text;
}

/// The views of a module's functions, and the numbers of their nodes in the stage.
class ModuleStage {
 public:
  ModuleStage(const Module& module, Tables& tables) : module_(module), tables_(tables) {}

  StageText run() {
    for (const Module::FunctionEntry& entry : module_.functions()) function(entry);
    std::string text = print_annotated(
        module_,
        [this](const Expr* function, const Expr* expr) {
          auto found = functions_.find(function);
          if (found == functions_.end()) return std::string();
          const uint32_t id = found->second.view->id(expr);
          const int32_t number = id == View::kNone ? -1 : found->second.numbers[id];
          return number < 0 ? std::string() : kMark + std::to_string(number);
        },
        false);
    take_marks(text);
    return std::move(stage_);
  }

 private:
  struct Function {
    std::unique_ptr<View> view;
    std::vector<int32_t> numbers;  // of its nodes in the stage, -1 for names
  };

  int32_t type_text(const Type* type) {
    if (type == nullptr) return -1;
    auto [entry, fresh] = types_.try_emplace(type, -1);
    if (fresh) entry->second = tables_.text(type->str());
    return entry->second;
  }

  void function(const Module::FunctionEntry& entry) {
    auto [found, fresh] = functions_.try_emplace(entry.function.get());
    if (!fresh) return;  // two names of one function: its nodes are there
    Function& made = found->second;
    made.view = std::make_unique<View>(entry.function);
    const View& view = *made.view;
    const Scopes& scopes = view.scopes();
    const auto first_scope = static_cast<int32_t>(stage_.scopes.size());
    made.numbers.assign(view.size(), -1);
    for (uint32_t id = 0; id < view.size(); ++id) {
      if (!view.is_name(id)) made.numbers[id] = node(view, id, made.numbers, first_scope);
    }
    for (uint32_t id = 0; id < view.size(); ++id) {
      if (view.kind(id) != ExprKind::kVar || view.binder(id) == View::kNone) continue;
      stage_.nodes.binder[static_cast<size_t>(made.numbers[id])] = made.numbers[view.binder(id)];
    }
    for (uint32_t i = 0; i < scopes.count(); ++i) {
      Scope scope;
      if (i > 0) {
        scope.owner = made.numbers[scopes[i].owner];
        scope.parent = first_scope + static_cast<int32_t>(scopes[i].parent);
      }
      stage_.scopes.push_back(scope);
    }
    // The global function itself has its name.
    const auto root = static_cast<size_t>(made.numbers[view.size() - 1]);
    stage_.nodes.label[root] = tables_.text("@" + entry.name.str());
  }

  int32_t node(const View& view, uint32_t id, const std::vector<int32_t>& numbers,
               int32_t first_scope) {
    const Expr* expr = view.expr(id);
    Nodes& nodes = stage_.nodes;
    const int32_t number =
        nodes.add(tables_.text(expr_kind_name(expr->kind())), tables_.text(label_of(expr)));
    nodes.type.back() = type_text(expr->type());
    nodes.place.back() = tables_.place(expr->span());
    nodes.scope.back() = first_scope + static_cast<int32_t>(view.scopes().home(id));
    for (uint32_t operand : view.operands(id)) {
      if (numbers[operand] >= 0) nodes.operands.back().push_back(numbers[operand]);
    }
    if (const auto* call = expr->as<Call>()) {
      if (std::string text = attrs_text(call->attrs().get()); !text.empty())
        nodes.attrs.back() = tables_.text(text);
    } else if (const auto* constant = expr->as<relay::Constant>()) {
      nodes.constant.back() = tables_.constant(constant->data());
    }
    return number;
  }

  // Takes the marks of nodes out of the text and notes where they stood.
  void take_marks(std::string_view text) {
    std::string line;
    auto end_line = [&] {
      stage_.lines.push_back(tables_.text(line));
      line.clear();
    };
    while (!text.empty()) {
      if (text.starts_with(kBeginMark)) {
        size_t number = 0;
        const char* begin = text.data() + kBeginMark.size();
        const char* end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(begin, end, number);
        const std::string_view behind(rest, static_cast<size_t>(end - rest));
        if (error == std::errc() && behind.starts_with(kEndMark) && number < stage_.nodes.size()) {
          stage_.nodes.line[number] = static_cast<int32_t>(stage_.lines.size());
          stage_.nodes.column[number] = static_cast<int32_t>(line.size());
          text = behind.substr(kEndMark.size());
          continue;
        }
      }
      if (text.front() == '\n') {
        end_line();
      } else {
        line += text.front();
      }
      text.remove_prefix(1);
    }
    if (!line.empty()) end_line();
  }

  const Module& module_;
  Tables& tables_;
  StageText stage_;
  std::unordered_map<const Expr*, Function> functions_;
  std::unordered_map<const Type*, int32_t> types_;
};

}  // namespace

int32_t Nodes::add(int32_t node_kind, int32_t node_label) {
  kind.push_back(node_kind);
  label.push_back(node_label);
  for (std::vector<int32_t>* column_of :
       {&attrs, &type, &place, &line, &column, &scope, &constant, &kernel, &binder})
    column_of->push_back(-1);
  operands.emplace_back();
  origins.emplace_back();
  return static_cast<int32_t>(kind.size()) - 1;
}

StageText stage_of(const Module& module, Tables& tables) {
  return ModuleStage(module, tables).run();
}

size_t count_nodes(const Module& module) {
  size_t count = 0;
  for (const Module::FunctionEntry& entry : module.functions()) {
    const View view(entry.function);
    for (uint32_t id = 0; id < view.size(); ++id) count += view.is_name(id) ? 0 : 1;
  }
  return count;
}

void write(JsonWriter& json, const StageText& stage) {
  json.field("lines", stage.lines);
  json.key("nodes").begin_object();
  const Nodes& nodes = stage.nodes;
  json.field("kind", nodes.kind).field("label", nodes.label).field("attrs", nodes.attrs);
  json.field("type", nodes.type).field("place", nodes.place).field("line", nodes.line);
  json.field("column", nodes.column).field("scope", nodes.scope);
  json.field("constant", nodes.constant).field("kernel", nodes.kernel);
  json.field("binder", nodes.binder).field("operands", nodes.operands);
  json.field("origins", nodes.origins).end_object();
  json.key("scopes").begin_array();
  for (const Scope& scope : stage.scopes)
    json.begin_array().value(scope.owner).value(scope.parent).end_array();
  json.end_array();
}

}  // namespace relay::explore
