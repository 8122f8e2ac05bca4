#include <relay/program/flow.h>

#include <algorithm>
#include <deque>
#include <unordered_set>

#include <relay/op/op.h>
#include <relay/program/flow_values.h>
#include <relay/support/pointer_map.h>

namespace relay {

using namespace flow;

/// Evaluates nodes until nothing grows any more. Nodes of all functions that are reached have one
/// number: that in the view, behind those of the views reached before.
class Flow::Driver {
 public:
  Driver(const Program& program, const FlowAnalysis& analysis)
      : program_(&program), analysis_(&analysis), values_(analysis) {
    const auto& functions = program.module().functions();
    for (size_t i = 0; i < functions.size(); ++i) by_name_[functions[i].name] = i;
    reached_.resize(functions.size(), View::kNone);
    if (const Module::FunctionEntry* entry = program.module().entry())
      enter(by_name_.at(entry->name));
    for (size_t i = 0; i < functions.size(); ++i) {
      if (reached_[i] == View::kNone) enter(i);
    }
  }

  uint32_t number(const View& view, uint32_t id) const {
    auto found = bases_.find(&view);
    return found == bases_.end() ? View::kNone : found->second + id;
  }
  const Value& value(uint32_t node) const { return values_[nodes_[node].value]; }
  Fact effect(uint32_t node) const { return nodes_[node].effect; }
  Functions::Place place(uint32_t node) const {
    const Node& at = nodes_[node];
    return {&view_of(at), node - base_of(at)};
  }

 private:
  struct Reached {
    const View* view;
    uint32_t base;
  };
  struct Node {
    ValueId value = kBottom;
    Fact effect = 0;
    uint32_t place;  // in all_
    bool waits = false;
  };
  /// A function literal or global function.
  struct Body {
    std::vector<uint32_t> callers;
    Fact effect = 0;
    bool escaped = false;  // unknown code may call it
  };

  const View& view_of(const Node& node) const { return *all_[node.place].view; }
  uint32_t base_of(const Node& node) const { return all_[node.place].base; }

  // ---- Growth ----------------------------------------------------------------------------------

  void enter(size_t function) {
    escape(function_value(reach(function)));
    run();
  }

  // The number of a global function, whose nodes are evaluated from now on.
  uint32_t reach(size_t function) {
    if (reached_[function] != View::kNone) return reached_[function];
    const View& view = program_->view(program_->module().functions()[function].function);
    const auto base = static_cast<uint32_t>(nodes_.size());
    const auto place = static_cast<uint32_t>(all_.size());
    all_.push_back({&view, base});
    bases_.emplace(&view, base);
    nodes_.resize(nodes_.size() + view.size());
    for (uint32_t id = 0; id < view.size(); ++id) {
      nodes_[base + id].place = place;
      wait(base + id);
      if (view.kind(id) != ExprKind::kFunction) continue;
      for (uint32_t var : view.free_variables(id)) holders_[base + var].push_back(base + id);
    }
    return reached_[function] = base + view.size() - 1;
  }

  void wait(uint32_t node) {
    if (nodes_[node].waits) return;
    nodes_[node].waits = true;
    waiting_.push_back(node);
  }

  void run() {
    while (!waiting_.empty()) {
      const uint32_t node = waiting_.front();
      waiting_.pop_front();
      nodes_[node].waits = false;
      evaluate(node);
    }
  }

  void grow(uint32_t node, ValueId by) {
    const ValueId grown = values_.join(nodes_[node].value, by);
    if (grown == nodes_[node].value) return;
    nodes_[node].value = grown;
    const View& view = view_of(nodes_[node]);
    const uint32_t base = base_of(nodes_[node]);
    for (const Users::Use& use : view.users()[node - base]) {
      if (view.kind(use.user) != ExprKind::kFunction) {
        wait(base + use.user);
        continue;
      }
      Body& body = bodies_[base + use.user];  // its result
      for (uint32_t caller : body.callers) wait(caller);
      if (body.escaped) escape(grown);
    }
    auto holders = holders_.find(node);
    if (holders == holders_.end()) return;
    for (uint32_t function : holders->second) wait(function);
  }

  void add_effect(uint32_t node, Fact effect) {
    if (effect == 0) return;
    nodes_[node].effect = values_.join_facts(nodes_[node].effect, effect);
    const View& view = view_of(nodes_[node]);
    const uint32_t base = base_of(nodes_[node]);
    const uint32_t around = view.scopes().function(view.scopes().home(node - base));
    if (around == View::kNone) return;
    Body& body = bodies_[base + around];
    const Fact grown = values_.join_facts(body.effect, effect);
    if (grown == body.effect) return;
    body.effect = grown;
    for (uint32_t caller : body.callers) wait(caller);
  }

  // Unknown code gets a value: it may call the functions in it, and write its references.
  void escape(ValueId id) {
    std::vector<ValueId> todo{id};
    while (!todo.empty()) {
      const Value value = values_[todo.back()];
      todo.pop_back();
      if ((value.shared || value.any) && !contents_escaped_) {
        contents_escaped_ = true;
        for (const auto& [constructor, fields] : fields_)
          todo.insert(todo.end(), fields.begin(), fields.end());
        todo.push_back(content_);
        write_content(values_.unknown());
      }
      for (uint32_t function : value.functions) {
        Body& body = bodies_[function];
        if (body.escaped) continue;
        body.escaped = true;
        const View& view = view_of(nodes_[function]);
        const uint32_t base = base_of(nodes_[function]);
        const uint32_t id_there = function - base;
        todo.push_back(nodes_[base + view.operands(id_there)[0]].value);
        for (const VarRef& param : static_cast<const Function*>(view.expr(id_there))->params()) {
          const Type* type = param->type() == nullptr ? param->annotation().get() : param->type();
          grow(base + view.id(param.get()), unknown(type));
        }
      }
    }
  }

  void write_content(ValueId value) {
    const ValueId grown = values_.join(content_, value);
    if (grown == content_) return;
    content_ = grown;
    if (contents_escaped_) escape(value);
    for (uint32_t reader : readers_) wait(reader);
  }

  // ---- Rules -----------------------------------------------------------------------------------

  void evaluate(uint32_t node) {
    const View& view = view_of(nodes_[node]);
    const uint32_t base = base_of(nodes_[node]);
    const uint32_t id = node - base;
    const Expr* expr = view.expr(id);
    auto at = [&](size_t operand) { return base + view.operands(id)[operand]; };
    auto value_at = [&](size_t operand) { return nodes_[at(operand)].value; };
    add_effect(node, analysis_->effect(expr));
    switch (expr->kind()) {
      case ExprKind::kVar:
        if (view.binder(id) == View::kNone) grow(node, unknown(expr->type()));
        return;
      case ExprKind::kGlobalVar: {
        auto found = by_name_.find(static_cast<const GlobalVar*>(expr)->name());
        grow(node,
             found == by_name_.end() ? values_.unknown() : function_value(reach(found->second)));
        return;
      }
      case ExprKind::kOp:
      case ExprKind::kConstructor:
        return grow(node, values_.unknown());  // as values; calls look at the callee
      case ExprKind::kConstant:
      case ExprKind::kLiteral:
        return grow(node, plain(analysis_->value(expr, {})));
      case ExprKind::kTuple:
        return evaluate_tuple(node);
      case ExprKind::kTupleGetItem: {
        const ValueId tuple = value_at(0);
        if (tuple == kBottom) return;
        const auto index = static_cast<const TupleGetItem*>(expr)->index();
        if (const ValueId* field = values_.field(tuple, index)) return grow(node, *field);
        if (values_[tuple].any) return grow(node, tuple);
        const Fact part = values_[tuple].fact;
        return grow(node, plain(analysis_->value(expr, {&part, 1})));
      }
      case ExprKind::kCall:
        return evaluate_call(node);
      case ExprKind::kFunction: {
        std::vector<Fact> parts;
        for (uint32_t var : view.free_variables(id)) {
          if (names_itself(view, var, id)) continue;
          parts.push_back(values_[nodes_[base + var].value].fact);
          if (parts.back() == 0) return;
        }
        Value value = values_[function_value(node)];
        value.fact = analysis_->value(expr, parts);
        return grow(node, values_.make(std::move(value)));
      }
      case ExprKind::kLet:
        grow(base + view.id(static_cast<const Let*>(expr)->var().get()), value_at(0));
        return grow(node, value_at(1));
      case ExprKind::kIf:
        if (value_at(0) == kBottom) return;
        grow(node, value_at(1));
        return grow(node, value_at(2));
      case ExprKind::kMatch:
        return evaluate_match(node);
      case ExprKind::kRefCreate: {
        if (value_at(0) == kBottom) return;
        write_content(value_at(0));
        const Fact part = values_[value_at(0)].fact;
        return grow(node, plain(analysis_->value(expr, {&part, 1}), true));
      }
      case ExprKind::kRefRead:
        if (value_at(0) == kBottom) return;
        if (seen_.insert(expr)) readers_.push_back(node);
        if (values_[value_at(0)].any) grow(node, values_.unknown());
        return grow(node, content_);
      case ExprKind::kRefWrite: {
        if (value_at(0) == kBottom || value_at(1) == kBottom) return;
        write_content(value_at(1));
        if (values_[value_at(0)].any) escape(value_at(1));
        return grow(node, values_.tuple(analysis_->unknown(), {}));
      }
      case ExprKind::kTempExpr:
        return grow(node, value_at(0));
    }
  }

  // For tensors only the fact is unknown.
  ValueId unknown(const Type* type) {
    return is_tensor(type) ? plain(analysis_->unknown()) : values_.unknown();
  }
  static bool is_tensor(const Type* type) { return type != nullptr && type->is<TensorType>(); }
  ValueId plain(Fact fact, bool shared = false) {
    Value value;
    value.fact = fact;
    value.shared = shared;
    return values_.make(std::move(value));
  }
  // The value that a global function is.
  ValueId function_value(uint32_t node) {
    Value value;
    value.functions = {node};
    value.fact = analysis_->value(view_of(nodes_[node]).expr(node - base_of(nodes_[node])), {});
    return values_.make(std::move(value));
  }

  // True for the variable of a let whose value is the function.
  static bool names_itself(const View& view, uint32_t var, uint32_t function) {
    const uint32_t binder = view.binder(var);
    return binder != View::kNone && view.kind(binder) == ExprKind::kLet &&
           view.operands(binder)[0] == function;
  }

  void evaluate_tuple(uint32_t node) {
    const View& view = view_of(nodes_[node]);
    const uint32_t base = base_of(nodes_[node]);
    std::vector<ValueId> fields;
    std::vector<Fact> facts;
    for (uint32_t operand : view.operands(node - base)) {
      fields.push_back(nodes_[base + operand].value);
      if (fields.back() == kBottom) return;
      facts.push_back(values_[fields.back()].fact);
    }
    grow(node, values_.tuple(analysis_->value(view.expr(node - base), facts), std::move(fields)));
  }

  void evaluate_call(uint32_t node) {
    const View& view = view_of(nodes_[node]);
    const uint32_t base = base_of(nodes_[node]);
    const auto operands = view.operands(node - base);
    const auto* call = static_cast<const Call*>(view.expr(node - base));
    std::vector<ValueId> args;
    std::vector<Fact> facts;
    for (uint32_t operand : operands.subspan(1)) {
      args.push_back(nodes_[base + operand].value);
      if (args.back() == kBottom) return;
      facts.push_back(values_[args.back()].fact);
    }
    if (call->callee()->is<Op>()) return grow(node, made_by_operator(*call, facts, args));
    if (const auto* constructor = call->callee()->as<Constructor>()) {
      fill(constructor, args);
      return grow(node, plain(analysis_->value(call, facts), true));
    }
    const ValueId callee = nodes_[base + operands[0]].value;
    if (callee == kBottom) return;
    const Value value = values_[callee];
    for (uint32_t function : value.functions) call_function(node, function, args);
    if (!value.any) return;
    for (ValueId arg : args) escape(arg);
    add_effect(node, analysis_->unknown_effect());
    grow(node, values_.unknown());
  }

  // A tensor, or perhaps one of the arguments.
  ValueId made_by_operator(const Call& call, std::span<const Fact> facts,
                           std::span<const ValueId> args) {
    const Fact fact = analysis_->value(&call, facts);
    ValueId all = plain(fact);
    if (is_tensor(call.type())) return all;
    for (ValueId arg : args) all = values_.join(all, arg);
    Value value = values_[all];
    value.fact = fact;
    value.any = value.any || value.shared || !value.functions.empty();
    value.fields.clear();
    return values_.make(std::move(value));
  }

  void call_function(uint32_t node, uint32_t function, const std::vector<ValueId>& args) {
    const View& view = view_of(nodes_[function]);
    const uint32_t base = base_of(nodes_[function]);
    const auto& params = static_cast<const Function*>(view.expr(function - base))->params();
    if (params.size() != args.size()) return;  // of another type than the callee
    Body& body = bodies_[function];
    if (connected_.insert((uint64_t{node} << 32) | function).second) body.callers.push_back(node);
    const Fact effect = body.effect;
    const uint32_t result = base + view.operands(function - base)[0];
    for (size_t i = 0; i < args.size(); ++i) grow(base + view.id(params[i].get()), args[i]);
    add_effect(node, effect);
    grow(node, nodes_[result].value);
  }

  void fill(const Constructor* constructor, const std::vector<ValueId>& args) {
    std::vector<ValueId>& fields = fields_[constructor];
    fields.resize(std::max(fields.size(), args.size()), kBottom);
    for (size_t i = 0; i < args.size(); ++i) {
      const ValueId grown = values_.join(fields[i], args[i]);
      if (grown == fields[i]) continue;
      fields[i] = grown;
      for (uint32_t match : matches_[constructor]) wait(match);
      if (contents_escaped_) escape(args[i]);
    }
  }

  void evaluate_match(uint32_t node) {
    const View& view = view_of(nodes_[node]);
    const uint32_t base = base_of(nodes_[node]);
    const auto* match = static_cast<const Match*>(view.expr(node - base));
    const ValueId data = nodes_[base + view.operands(node - base)[0]].value;
    if (data == kBottom) return;
    const bool first = seen_.insert(match);
    for (size_t clause = 0; clause < match->patterns().size(); ++clause) {
      std::vector<std::pair<const Pattern*, ValueId>> todo{{match->patterns()[clause].get(), data}};
      while (!todo.empty()) {
        const auto [pattern, value] = todo.back();
        todo.pop_back();
        if (pattern->kind() == PatternKind::kVar) grow(base + view.id(pattern->var().get()), value);
        const Constructor* constructor = pattern->constructor().get();
        if (constructor != nullptr && first) matches_[constructor].push_back(node);
        for (size_t i = 0; i < pattern->fields().size(); ++i)
          todo.emplace_back(pattern->fields()[i].get(), part_of(value, constructor, i));
      }
      grow(node, nodes_[base + view.operands(node - base)[1 + clause]].value);
    }
  }

  // Field i of a tuple, or of the data values that a constructor made.
  ValueId part_of(ValueId value, const Constructor* constructor, size_t i) {
    if (value == kBottom) return kBottom;
    if (constructor == nullptr) {
      if (const ValueId* field = values_.field(value, i)) return *field;
      return values_.unknown();
    }
    const auto fields = fields_.find(constructor);
    const ValueId made =
        fields == fields_.end() || i >= fields->second.size() ? kBottom : fields->second[i];
    return values_[value].any ? values_.join(made, values_.unknown()) : made;
  }

  const Program* program_;  // both only while nodes are evaluated
  const FlowAnalysis* analysis_;
  Values values_;
  std::unordered_map<Name, size_t> by_name_;
  std::vector<uint32_t> reached_;  // by function: its number
  std::vector<Reached> all_;
  std::unordered_map<const View*, uint32_t> bases_;
  std::vector<Node> nodes_;
  std::unordered_map<uint32_t, Body> bodies_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> holders_;  // variable → functions
  std::unordered_set<uint64_t> connected_;                       // calls and functions
  std::unordered_map<const Constructor*, std::vector<ValueId>> fields_;
  std::unordered_map<const Constructor*, std::vector<uint32_t>> matches_;
  PointerSet<Expr> seen_;
  ValueId content_ = kBottom;  // of references
  std::vector<uint32_t> readers_;
  bool contents_escaped_ = false;
  std::deque<uint32_t> waiting_;
};

Flow::Flow(const Program& program, const FlowAnalysis& analysis)
    : driver_(std::make_unique<Driver>(program, analysis)) {}
Flow::~Flow() = default;
Flow::Flow(Flow&&) noexcept = default;

Fact Flow::fact(const View& view, uint32_t id) const {
  const uint32_t node = driver_->number(view, id);
  return node == View::kNone ? 0 : driver_->value(node).fact;
}

Fact Flow::effect(const View& view, uint32_t id) const {
  const uint32_t node = driver_->number(view, id);
  return node == View::kNone ? 0 : driver_->effect(node);
}

Flow::Functions Flow::functions(const View& view, uint32_t id) const {
  Functions result;
  const uint32_t node = driver_->number(view, id);
  if (node == View::kNone) return result;
  const Value& value = driver_->value(node);
  for (uint32_t function : value.functions) result.functions.push_back(driver_->place(function));
  result.known = !value.any;
  return result;
}

// ---- Analyses ---------------------------------------------------------------------------------

Fact Constancy::value(const Expr* node, std::span<const Fact> parts) const {
  if (!std::all_of(parts.begin(), parts.end(), constant)) return kVaries;
  if (node->is<RefCreate>()) return kVaries;  // each one is another
  if (const auto* call = node->as<Call>()) {
    const auto* op = call->callee()->as<Op>();
    if (op != nullptr && !op->op()->pure()) return kVaries;
  }
  return reinterpret_cast<uintptr_t>(node);
}

Fact CallEffects::effect(const Expr* node) const {
  switch (node->kind()) {
    case ExprKind::kRefCreate:
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite:
      return 1;
    case ExprKind::kCall: {
      const auto* op = static_cast<const Call*>(node)->callee()->as<Op>();
      return op != nullptr && !op->op()->pure() ? 1 : 0;
    }
    default:
      return 0;
  }
}

}  // namespace relay
