// Devices by unification: a tree of unknowns for the tensors in each value, joined where values are
// joined.
#include <algorithm>
#include <functional>
#include <set>

#include <relay/infer/devices/device_graph.h>
#include <relay/infer/messages.h>
#include <relay/ir/visit.h>

namespace relay {
namespace {

const Type* type_of(const Expr* expr) {
  if (expr->type() != nullptr) return expr->type();
  const auto* var = expr->as<Var>();
  return var == nullptr ? nullptr : var->annotation().get();
}

}  // namespace

/// Fills in a `Devices`.
class DeviceSolver : private Walker {
  using NodeKind = Devices::Graph::NodeKind;

 public:
  DeviceSolver(const Module& module, const std::unordered_map<Name, Name>& origins, Devices& result)
      : module_(module), origins_(origins), result_(result), graph_(*result.graph_) {}

  void run() {
    for (const Module::FunctionEntry& entry : module_.functions()) {
      const Function* function = entry.function.get();
      std::vector<uint32_t> parts;
      for (const VarRef& param : function->params()) parts.push_back(var(param.get()));
      const auto* type = function->type() == nullptr ? nullptr : function->type()->as<FuncType>();
      parts.push_back(graph_.make(type == nullptr ? nullptr : type->result().get()));
      graph_.globals[entry.name] = graph_.add(NodeKind::kFunction, parts);
    }
    for (size_t i = 0; i < module_.functions().size(); ++i) {
      // Copies come after their callers, whose devices are then known, so errors are reported
      // there.
      const auto& entry =
          module_.functions()[origins_.empty() ? i : module_.functions().size() - 1 - i];
      walk(entry.function.get());
      at(
          entry.function.get(), 0, [&] { return "the result of @" + shown(entry.name); },
          kCallRule);
      unify(graph_.globals[entry.name], graph_.node_of(entry.function.get()));
    }
    // An open side of an `on_device` is on the device of the other side if possible.
    for (const auto& [body, result] : open_) {
      uint32_t from = graph_.first_in(body);
      uint32_t to = graph_.first_in(result);
      if (from == kNoNode || to == kNoNode) continue;
      bool known = graph_.nodes[from].device.has_value();
      if (known != graph_.nodes[to].device.has_value()) unify(body, result);
    }
    std::stable_sort(
        result_.problems_.begin(), result_.problems_.end(),
        [](const Diagnostic& a, const Diagnostic& b) { return a.span.begin() < b.span.begin(); });
    std::vector<Device>& all = result_.all_;
    for (const Devices::Graph::Node& node : graph_.nodes) {
      if (node.kind != NodeKind::kOne || node.parent != kNoNode) continue;
      Device device = node.device.value_or(kCpu);
      if (std::find(all.begin(), all.end(), device) == all.end()) all.push_back(device);
    }
  }

 private:
  using What = std::function<std::string()>;
  static constexpr size_t kWhole = ~size_t{0};
  static constexpr const char* kOperatorRule =
      "the inputs and the result of an operator are on one device: device_copy takes a tensor "
      "there";
  static constexpr const char* kCallRule =
      "device_copy takes a tensor there; only calls of a function by the name that def gives it, "
      "outside its own recursion, can be on devices of their own";
  using Node = Devices::Graph::Node;

  uint32_t operand(const Expr* expr, size_t i) {
    const Expr* child = expr->operands()[i].get();
    switch (child->kind()) {
      case ExprKind::kVar:
        return var(static_cast<const Var*>(child));
      case ExprKind::kGlobalVar: {
        auto found = graph_.globals.find(static_cast<const GlobalVar*>(child)->name());
        if (found != graph_.globals.end()) return found->second;
        break;
      }
      case ExprKind::kConstant:
      case ExprKind::kLiteral:
      case ExprKind::kOp:
      case ExprKind::kConstructor:
        break;
      default:
        return graph_.node_of(child);
    }
    auto [entry, added] = graph_.of_use.try_emplace({expr, i}, 0);
    if (added) {
      entry->second = graph_.make(type_of(child));
      // A value that takes tensors like an operator or constructor has them all on one device.
      if (!child->is<Constant>()) join(entry->second);
    }
    return entry->second;
  }

  uint32_t var(const Var* var) {
    auto [entry, added] = graph_.of.try_emplace(var, 0);
    if (added) entry->second = graph_.make(type_of(var));
    return entry->second;
  }

  // Everything in these nodes is on one device; the set, or none.
  uint32_t join(uint32_t node, uint32_t with = kNoNode) {
    std::vector<uint32_t> stack{node};
    while (!stack.empty()) {
      uint32_t at = stack.back();
      stack.pop_back();
      if (at == kNoNode) continue;
      if (graph_.nodes[at].kind == NodeKind::kOne) {
        if (with == kNoNode) {
          with = at;
        } else {
          merge(with, at);
        }
        continue;
      }
      auto parts = graph_.fields(at);
      stack.insert(stack.end(), parts.rbegin(), parts.rend());
    }
    return with;
  }

  void merge(uint32_t a, uint32_t b) {
    a = graph_.find_short(a);
    b = graph_.find_short(b);
    if (a == b) return;
    Node& to = graph_.nodes[a];
    Node& from = graph_.nodes[b];
    if (to.device && from.device && !(*to.device == *from.device)) return refuse(to, from);
    if (!to.device) {
      to.device = from.device;
      to.said = from.said;
    }
    from.parent = a;
  }

  void unify(uint32_t a, uint32_t b) {
    std::vector<std::pair<uint32_t, uint32_t>> stack{{a, b}};
    while (!stack.empty()) {
      auto [left, right] = stack.back();
      stack.pop_back();
      if (left == kNoNode || right == kNoNode || left == right) continue;
      NodeKind kind = graph_.nodes[left].kind;
      if (kind == NodeKind::kOne) {
        join(right, left);
      } else if (graph_.nodes[right].kind == NodeKind::kOne) {
        join(left, right);
      } else if (kind == graph_.nodes[right].kind) {
        auto fields = graph_.fields(left);
        auto others = graph_.fields(right);
        size_t count = std::min(fields.size(), others.size());
        for (size_t i = count; i-- > 0;) stack.emplace_back(fields[i], others[i]);
      }
    }
  }

  void place(uint32_t node, Device device, Span span) {
    if (graph_.first_in(node) == kNoNode) return;  // numbers are nowhere
    uint32_t at = graph_.add(NodeKind::kOne);
    graph_.nodes[at].device = device;
    graph_.nodes[at].said = span;
    join(node, at);
  }

  std::string shown(Name function) const {
    auto origin = origins_.find(function);
    return (origin == origins_.end() ? function : origin->second).str();
  }

  void refuse(const Node& a, const Node& b) {
    clashed_ = true;
    Span at = part_ == kWhole ? at_->span() : inference::place_of(at_, part_);
    if (!at.known()) at = at_->span();
    std::string what = what_();
    if (!refused_.insert({at.known() ? at.begin() : 0, what}).second) return;
    if (result_.problems_.size() >= DiagnosticSink::kMaxErrors) return;
    std::string first = a.device->str(), second = b.device->str();
    Diagnostic problem =
        Diagnostic::error(what + " would have to be on " + first + " and on " + second, at)
            .of_rule("D2");
    if (a.said == b.said) {
      problem.note(first + " and " + second + " are required here", a.said);
    } else {
      problem.note(first + " is required here", a.said);
      problem.note(second + " is required here", b.said);
    }
    if (help_ != nullptr) problem.help(help_);
    result_.problems_.push_back(std::move(problem));
  }

  // The next value to join: an expression, or one of its operands.
  void at(const Expr* expr, size_t part, What what, const char* help = nullptr) {
    while (part != kWhole && expr->operands()[part]->is<Let>()) {
      expr = expr->operands()[part].get();
      part = 1;
    }
    at_ = expr;
    part_ = part;
    what_ = std::move(what);
    help_ = help;
  }
  void at(const Expr* expr, What what, const char* help = nullptr) {
    at(expr, kWhole, std::move(what), help);
  }

  void set(const Expr* expr, uint32_t node) { graph_.of[expr] = node; }

  // The values of names and patterns are known before their uses.
  void before(const Expr* expr, uint32_t index) override {
    if (index != 1) return;
    if (const auto* let = expr->as<Let>()) {
      at(expr, 0, [let] { return "the value of %" + let->var()->name().str(); });
      unify(var(let->var().get()), operand(expr, 0));
    } else if (const auto* match = expr->as<Match>()) {
      at(expr, 0, [] { return std::string("the value of the match and what its patterns bind"); });
      uint32_t data = operand(expr, 0);
      for (const PatternRef& pattern : match->patterns()) bind(pattern.get(), data);
    }
  }

  void leave(const Expr* expr) override {
    switch (expr->kind()) {
      case ExprKind::kVar:
        var(static_cast<const Var*>(expr));
        return;
      case ExprKind::kGlobalVar:
      case ExprKind::kConstant:
      case ExprKind::kLiteral:
      case ExprKind::kOp:
      case ExprKind::kConstructor:
        return;
      case ExprKind::kTuple: {
        std::vector<uint32_t> fields;
        for (size_t i = 0; i < expr->operands().size(); ++i) fields.push_back(operand(expr, i));
        return set(expr, graph_.add(NodeKind::kTuple, fields));
      }
      case ExprKind::kTupleGetItem: {
        uint32_t tuple = operand(expr, 0);
        uint32_t index = static_cast<const TupleGetItem*>(expr)->index();
        if (tuple != kNoNode && graph_.nodes[tuple].kind == NodeKind::kTuple &&
            index < graph_.nodes[tuple].count) {
          return set(expr, graph_.fields(tuple)[index]);
        }
        uint32_t node = graph_.make(type_of(expr));
        join(node, tuple);
        return set(expr, node);
      }
      case ExprKind::kFunction: {
        const auto* function = static_cast<const Function*>(expr);
        std::vector<uint32_t> parts;
        for (const VarRef& param : function->params()) parts.push_back(var(param.get()));
        parts.push_back(operand(expr, 0));
        return set(expr, graph_.add(NodeKind::kFunction, parts));
      }
      case ExprKind::kLet:
        return set(expr, operand(expr, 1));
      case ExprKind::kIf: {
        uint32_t node = graph_.make(type_of(expr));
        for (size_t i : {1, 2}) {
          at(expr, i, [] { return std::string("the results of the two branches"); });
          unify(node, operand(expr, i));
        }
        return set(expr, node);
      }
      case ExprKind::kMatch:
        return visit_match(static_cast<const Match*>(expr));
      case ExprKind::kRefCreate: {
        uint32_t value = operand(expr, 0);
        return set(expr, graph_.add(NodeKind::kCell, std::span(&value, 1)));
      }
      case ExprKind::kRefRead: {
        uint32_t cell = operand(expr, 0);
        if (cell != kNoNode && graph_.nodes[cell].kind == NodeKind::kCell)
          return set(expr, graph_.fields(cell)[0]);
        uint32_t node = graph_.make(type_of(expr));
        join(node, cell);
        return set(expr, node);
      }
      case ExprKind::kRefWrite: {
        at(expr, 1, [] { return std::string("the value in the reference"); });
        uint32_t value = operand(expr, 1);
        unify(operand(expr, 0), graph_.add(NodeKind::kCell, std::span(&value, 1)));
        return set(expr, graph_.add(NodeKind::kNone));
      }
      case ExprKind::kTempExpr:
        return set(expr, operand(expr, 0));
      case ExprKind::kCall:
        return visit_call(static_cast<const Call*>(expr));
    }
  }

  void visit_match(const Match* match) {
    uint32_t node = graph_.make(type_of(match));
    for (size_t i = 1; i < match->operands().size(); ++i) {
      at(match, i, [] { return std::string("the results of the clauses"); });
      unify(node, operand(match, i));
    }
    set(match, node);
  }

  // Everything in a data value is on one device. Patterns nest no deeper than Pattern::kMaxDepth.
  void bind(const Pattern* pattern, uint32_t value) {
    switch (pattern->kind()) {
      case PatternKind::kWildcard:
        return;
      case PatternKind::kVar:
        return unify(var(pattern->var().get()), value);
      case PatternKind::kConstructor:
        for (const PatternRef& field : pattern->fields()) bind(field.get(), value);
        return;
      case PatternKind::kTuple: {
        bool tuple = value != kNoNode && graph_.nodes[value].kind == NodeKind::kTuple &&
                     graph_.nodes[value].count == pattern->fields().size();
        for (size_t i = 0; i < pattern->fields().size(); ++i)
          bind(pattern->fields()[i].get(), tuple ? graph_.fields(value)[i] : value);
        return;
      }
    }
  }

  void visit_call(const Call* call) {
    size_t count = call->operands().size();
    uint32_t result = graph_.make(type_of(call));
    if (const auto* op = call->callee()->as<Op>()) {
      if (std::optional<DeviceUse> use = device_use(call)) {
        visit_device_call(call, op->op(), *use, result);
      } else {
        uint32_t all = kNoNode;
        for (size_t i = 1; i < count; ++i) {
          at(
              call, i, [op, i] { return input_of(op->op(), i); }, kOperatorRule);
          all = join(operand(call, i), all);
        }
        if (!clashed_) join(result, all);  // else what follows is silent
      }
    } else if (const auto* constructor = call->callee()->as<Constructor>()) {
      uint32_t all = join(result);
      for (size_t i = 1; i < count; ++i) {
        at(call, i, [constructor] { return "a field of " + constructor->name().str(); });
        join(operand(call, i), all);
      }
    } else {
      uint32_t callee = operand(call, 0);
      bool function = callee != kNoNode && graph_.nodes[callee].kind == NodeKind::kFunction &&
                      graph_.nodes[callee].count == count;
      for (size_t i = 1; i < count; ++i) {
        at(
            call, i, [i] { return "argument " + std::to_string(i) + " of this call"; }, kCallRule);
        unify(function ? graph_.fields(callee)[i - 1] : callee, operand(call, i));
      }
      at(
          call, [] { return std::string("the result of this call"); }, kCallRule);
      unify(function ? graph_.fields(callee)[count - 1] : callee, result);
    }
    set(call, result);
  }

  // Names operand i of the call, which is an argument.
  static std::string input_of(const Operator* op, size_t i) {
    std::string of = " of " + op->name().str();
    if (i <= op->inputs().size()) return op->inputs()[i - 1].name.str() + of;
    return "argument " + std::to_string(i) + of;
  }

  void visit_device_call(const Call* call, const Operator* op, const DeviceUse& use,
                         uint32_t result) {
    uint32_t body = operand(call, 1);
    at(call, 1, [op] { return input_of(op, 1); });
    if (use.input) place(body, *use.input, call->span());
    if (use.result) place(result, *use.result, call->span());
    if (use.copies) return;
    if (use.input && use.result) return;
    if (!use.input && !use.result) return unify(body, result);
    // A tuple is moved as a whole, or not at all.
    at(call, 1, [op] { return "the whole " + input_of(op, 1); });
    join(body);
    join(result);
    open_.emplace_back(body, result);
  }

  const Module& module_;
  const std::unordered_map<Name, Name>& origins_;
  Devices& result_;
  Devices::Graph& graph_;
  std::vector<std::pair<uint32_t, uint32_t>> open_;  // bodies and results that may differ
  const Expr* at_ = nullptr;
  size_t part_ = kWhole;
  What what_;
  const char* help_ = nullptr;
  bool clashed_ = false;  // anything since it was set
  std::set<std::pair<uint32_t, std::string>> refused_;
};

Devices::Devices(const Module& module, const std::unordered_map<Name, Name>& origins)
    : graph_(std::make_unique<Graph>()) {
  DeviceSolver(module, origins, *this).run();
}

}  // namespace relay
