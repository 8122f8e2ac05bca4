// T14: what a function leaves open of its dimension names, decided at its calls.
#include <algorithm>
#include <map>

#include <relay/infer/infer.h>
#include <relay/infer/literals.h>
#include <relay/infer/matters.h>
#include <relay/infer/messages.h>
#include <relay/infer/solver.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>

namespace relay {
namespace inference {
namespace {

/// More operator calls of one function are left to run time.
constexpr size_t kMaxOpen = 256;
/// And those that are further away than so many calls.
constexpr size_t kMaxPath = 8;

using Dims = std::vector<std::pair<const TypeVar*, Dim>>;

/// A call of an operator that names of dimensions may break.
struct Open {
  const Call* call;
  std::vector<TypeRef> inputs;
  std::vector<const Call*> path;  // the calls that lead to its function, innermost first
};

/// Whether the relation of an operator can run on a type.
bool is_known(const Type* type) {
  if (type == nullptr) return false;
  if (const auto* tuple = type->as<TupleType>()) {
    return std::all_of(tuple->fields().begin(), tuple->fields().end(),
                       [](const TypeRef& field) { return is_known(field.get()); });
  }
  const auto* tensor = type->as<TensorType>();
  return tensor != nullptr && tensor->has_rank() && tensor->has_dtype();
}

TypeRef put(const TypeRef& type, const Dims& dims) {
  if (!type->has_symbolic_dim()) return type;
  return substitute(type, [&](const TypeVar* var) -> TypeRef {
    for (const auto& [name, dim] : dims) {
      if (name == var) return DimType::make(dim);
    }
    return {};
  });
}

class CallChecker {
 public:
  explicit CallChecker(const Module& module) : module_(module) {}

  std::vector<Diagnostic> run() {
    std::vector<const Call*> calls;
    for (const Module::FunctionEntry& entry : module_.functions()) {
      post_order(entry.function.get(), [&](const Expr* expr) {
        if (const auto* call = expr->as<Call>()) {
          if (call->callee()->is<GlobalVar>() || call->callee()->is<Var>()) calls.push_back(call);
        } else if (const auto* let = expr->as<Let>()) {
          const auto* function = let->value()->as<Function>();
          if (function != nullptr && let->var()->type() != nullptr &&
              let->var()->type()->has_symbolic_dim()) {
            lets_.emplace(let->var().get(), function);
          }
        }
      });
    }
    for (const Call* call : calls) check(call);
    return std::move(found_);
  }

 private:
  const Function* function_of(const Call* call) const {
    if (const auto* global = call->callee()->as<GlobalVar>()) {
      return module_.function(global->name());
    }
    const auto* var = call->callee()->as<Var>();
    auto found = var == nullptr ? lets_.end() : lets_.find(var);
    return found == lets_.end() ? nullptr : found->second;
  }

  // What a call makes of the names that the function declares.
  Dims dims_of(const Call* call) const {
    const FuncType* scheme = scheme_type(call->callee().get());
    Dims dims;
    if (scheme == nullptr || scheme->params().size() != call->args().size()) return dims;
    bool named = std::any_of(scheme->type_params().begin(), scheme->type_params().end(),
                             [](const TypeVarRef& var) { return var->kind() == Kind::kShapeVar; });
    if (!named) return dims;
    Solver solver;
    std::unordered_map<const TypeVar*, TypeRef> fresh;
    for (const TypeVarRef& var : scheme->type_params()) {
      fresh.emplace(var.get(), solver.fresh(var->kind()));
    }
    for (size_t i = 0; i < call->args().size(); ++i) {
      const Type* arg = call->args()[i]->type();
      if (arg == nullptr || arg->has_binder()) continue;
      for (const TypeVarRef& name : free_type_vars(TypeRef(arg))) {
        if (name->kind() == Kind::kShapeVar) solver.declare_existential(name.get());
      }
      TypeRef param = substitute(scheme->params()[i], [&](const TypeVar* var) -> TypeRef {
        auto known = fresh.find(var);
        return known == fresh.end() ? TypeRef() : known->second;
      });
      if (!solver.unify(param, TypeRef(arg))) return {};
    }
    for (const TypeVarRef& var : scheme->type_params()) {
      if (var->kind() != Kind::kShapeVar) continue;
      Dim dim = solver.zonk(fresh[var.get()]->as<DimType>()->dim());
      if (!dim.has_variable() && !dim.is_any()) dims.emplace_back(var.get(), dim);
    }
    return dims;
  }

  static void add(std::vector<Open>& open, Open one) {
    bool named = std::any_of(one.inputs.begin(), one.inputs.end(),
                             [](const TypeRef& input) { return input->has_symbolic_dim(); });
    if (!named || open.size() >= kMaxOpen) return;
    bool same = std::any_of(open.begin(), open.end(), [&](const Open& other) {
      return op_of(other.call) == op_of(one.call) && other.call->attrs() == one.call->attrs() &&
             other.inputs == one.inputs;
    });
    if (!same) open.push_back(std::move(one));
  }

  static const Operator* op_of(const Call* call) { return call->callee()->as<Op>()->op(); }

  // What a function itself leaves open; the functions that it calls go to `calls`.
  std::vector<Open> own(const Function* function, std::vector<const Call*>& calls) {
    std::vector<Open> open;
    post_order(function->body().get(), [&](const Expr* expr) {
      const auto* call = expr->as<Call>();
      if (call == nullptr) return;
      const Function* callee = function_of(call);
      if (callee != nullptr && callee != function) calls.push_back(call);
      if (!call->callee()->is<Op>() || op_of(call)->relation() == nullptr) return;
      Open one{call, {}, {}};
      for (const ExprRef& arg : call->args()) {
        if (!is_known(arg->type())) return;
        one.inputs.emplace_back(arg->type());
      }
      add(open, std::move(one));
    });
    return open;
  }

  // The calls of operators that depend on the names of a function, there and in what it calls. Of
  // functions that call each other, what is known so far.
  const std::vector<Open>& open_in(const Function* root) {
    if (auto known = open_.find(root); known != open_.end()) return known->second;
    struct Frame {
      const Function* function;
      std::vector<const Call*> calls;
      size_t next = 0;
    };
    std::vector<Frame> stack;
    auto enter = [&](const Function* function) {
      Frame frame{function, {}};
      open_[function] = own(function, frame.calls);
      stack.push_back(std::move(frame));
    };
    enter(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next < frame.calls.size()) {
        const Function* callee = function_of(frame.calls[frame.next++]);
        if (open_.count(callee) == 0) enter(callee);
        continue;
      }
      std::vector<Open>& open = open_[frame.function];
      for (const Call* call : frame.calls) {
        const std::vector<Open>& inner = open_[function_of(call)];
        if (inner.empty() || open.size() >= kMaxOpen) continue;
        Dims dims = dims_of(call);
        for (size_t i = 0; !dims.empty() && i < inner.size(); ++i) {
          Open one = inner[i];
          if (one.path.size() >= kMaxPath) continue;
          for (TypeRef& input : one.inputs) input = put(input, dims);
          one.path.push_back(call);
          add(open, std::move(one));
        }
      }
      stack.pop_back();
    }
    return open_[root];
  }

  // Runs the relation of an operator; what it says against the inputs, or nothing.
  static std::string refuted(const Open& open) {
    const Operator* op = op_of(open.call);
    AttrsRef attrs = open.call->attrs();
    auto value = [&](size_t i) -> std::optional<NDArray> {
      const Expr* arg = open.call->args()[i].get();
      if (const auto* constant = arg->as<Constant>()) return constant->data();
      const auto* literal = arg->as<Literal>();
      const auto* tensor = literal == nullptr ? nullptr : arg->type()->as<TensorType>();
      if (tensor == nullptr || !tensor->has_dtype()) return std::nullopt;
      return literal_array(literal->value(), tensor->dtype());
    };
    try {
      if (!attrs && op->attrs_schema() != nullptr) attrs = Attrs::make(*op->attrs_schema(), {}, {});
      op->relation()->infer(RelationCall(open.inputs, attrs, nullptr, value));
    } catch (const Error& error) {
      return under_name(op->name(), error.diagnostics().front().message);
    }
    return {};
  }

  void check(const Call* call) {
    const Function* function = function_of(call);
    if (function == nullptr) return;
    Dims dims = dims_of(call);
    std::erase_if(dims, [](const auto& entry) { return !entry.second.is_int(); });
    if (dims.empty()) return;
    std::vector<uint64_t> key;
    for (const auto& [name, dim] : dims) {
      key.push_back(reinterpret_cast<uintptr_t>(name));
      key.push_back(dim.bits());
    }
    auto [known, added] = fits_.try_emplace({function, std::move(key)}, true);
    if (!added && known->second) return;
    for (Open open : open_in(function)) {
      for (TypeRef& input : open.inputs) input = put(input, dims);
      std::string problem = refuted(open);
      if (problem.empty()) continue;
      known->second = false;
      std::string names;
      for (const auto& [name, dim] : dims) {
        names += (names.empty() ? "" : ", ") + name->name().str() + " = " + dim.str();
      }
      std::string callee = source_text(call->callee().get());
      Diagnostic diagnostic =
          Diagnostic::error(callee + " cannot have " + names + ": " + problem, call->span());
      diagnostic.note(op_of(open.call)->name().str() + " is called here", open.call->span());
      for (const Call* step : open.path) {
        diagnostic.note("in " + source_text(step->callee().get()) + ", which is called here",
                        step->span());
      }
      found_.push_back(std::move(diagnostic));
      return;
    }
  }

  const Module& module_;
  std::unordered_map<const Var*, const Function*> lets_;
  std::unordered_map<const Function*, std::vector<Open>> open_;
  std::map<std::pair<const Function*, std::vector<uint64_t>>, bool> fits_;
  std::vector<Diagnostic> found_;
};

}  // namespace
}  // namespace inference

std::vector<Diagnostic> check_calls(const Module& module) {
  return inference::CallChecker(module).run();
}

}  // namespace relay
