#include <relay/graph/compose.h>

#include <algorithm>

#include <relay/graph/append_stages.h>
#include <relay/ir/dim_error.h>
#include <relay/ir/tensor_types.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/op/registry/relation.h>
#include <relay/op/registry/under_name.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/walk.h>
#include <relay/transform/literals.h>

namespace relay::graph {
namespace {

using te::Computation;
using te::TensorId;

/// The parts of an expression of the group: its tensors, left to right.
struct Parts {
  TypeRef type;
  std::vector<te::Output> tensors;
  std::vector<std::optional<NDArray>> constants;  // beside `tensors`
};

TypeRef map_dims(const TypeRef& type, const std::function<Dim(Dim)>& map) {
  if (const auto* tuple = type->as<TupleType>()) {
    std::vector<TypeRef> fields;
    for (const TypeRef& field : tuple->fields()) fields.push_back(map_dims(field, map));
    return TupleType::make(std::move(fields));
  }
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank() || !tensor->has_dtype()) return type;
  std::vector<Dim> dims;
  for (Dim dim : tensor->dims()) dims.push_back(dim.is_any() ? dim : map(dim));
  return TensorType::make(dims, tensor->dtype());
}

void flatten_types(const TypeRef& type, std::vector<TypeRef>& out) {
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) flatten_types(field, out);
  } else {
    out.push_back(type);
  }
}

te::TensorInfo info_of(const TypeRef& type) {
  const auto* tensor = type->as<TensorType>();
  RELAY_CHECK(tensor != nullptr && tensor->has_rank() && tensor->has_dtype(),
              "a tensor of known rank and dtype is needed, found " + type->str());
  return {{tensor->dims().begin(), tensor->dims().end()}, tensor->dtype()};
}

/// Extents that are no terms, other than those that library kernels count for the results.
bool has_unknown_dims(const Computation& computation) {
  auto unknown = [](const std::vector<Dim>& dims) {
    return std::any_of(dims.begin(), dims.end(), [](Dim dim) { return dim.is_any(); });
  };
  auto is_counted = [&](TensorId id) {
    return !id.is_input() && std::holds_alternative<te::Library>(
                                 computation.stages[static_cast<size_t>(id.stage)].body);
  };
  for (const te::Stage& stage : computation.stages) {
    for (TensorId id : te::stage_reads(stage)) {
      if (unknown(computation.info(id).dims)) return true;
    }
    if (std::holds_alternative<te::Library>(stage.body)) continue;
    for (const te::TensorInfo& info : stage.outputs) {
      if (unknown(info.dims)) return true;
    }
  }
  for (const te::Output& output : computation.outputs) {
    if (unknown(output.dims) && !is_counted(output.tensor)) return true;
  }
  return false;
}

/// The arguments of a call.
struct Arguments {
  std::vector<TypeRef> types;
  Operands operands;
  std::vector<size_t> first;  // of each argument among the operands
};

// A relation sees values that dimensions read as terms of the group already; what it adds itself
// are its own arguments'. The two are told apart by numbers that no argument has.
constexpr uint32_t kGroup = 1u << 20;

bool is_value(Dim atom) { return atom.is_term() && atom.term().op == DimOp::kValue; }

Dim hide(Dim dim) {
  return relay::substitute(dim, [](Dim atom) {
    if (!is_value(atom)) return atom;
    return Dim::value(atom.term().input + kGroup, atom.term().index);
  });
}

/// A term that a relation made, as one of the group's inputs.
Dim revealed(Dim dim, const Operator* op, const Arguments& arguments) {
  return relay::substitute(dim, [&](Dim atom) {
    if (!is_value(atom)) return atom;
    const DimTerm& value = atom.term();
    if (value.input >= kGroup) return Dim::value(value.input - kGroup, value.index);
    TensorId id = arguments.operands.tensors[arguments.first[value.input]].tensor;
    if (!id.is_input()) {
      throw Error(op->name().str() + " needs the value of argument " +
                  std::to_string(value.input + 1) + " before the group has run");
    }
    return Dim::value(static_cast<uint32_t>(id.index), value.index);
  });
}

class CheckRecorder final : public DimSolver {
 public:
  explicit CheckRecorder(const Operator* op) : op_(op) {}
  bool unify(Dim a, Dim b) override { return dims_equal(a, b) != Truth::kNo; }
  void check(Dim a, Dim b, const std::string& message) override {
    checks.push_back({a, b, marks.text(under_name(op_->name(), message)), 0});
  }
  void may_fail(Dim term, const std::string& message, bool division) override {
    terms.push_back({term, marks.text(under_name(op_->name(), message)), 0, division});
  }
  DimMarks marks;
  std::vector<Condition> checks;
  std::vector<ResultDim> terms;

 private:
  const Operator* op_;
};

class Composer {
 public:
  Group run(const Function& primitive, std::span<const TypeRef> inputs) {
    RELAY_CHECK(inputs.size() == primitive.params().size(),
                "a type for each parameter of a primitive function");
    for (size_t i = 0; i < inputs.size(); ++i) {
      Parts parts;
      parts.type = inputs[i];
      std::vector<TypeRef> flat;
      flatten_types(inputs[i], flat);
      for (const TypeRef& type : flat) {
        te::TensorInfo info = info_of(type);
        parts.tensors.push_back(
            {{-1, static_cast<int32_t>(group_.computation.inputs.size())}, info.dims});
        group_.computation.inputs.push_back(std::move(info));
      }
      parts.constants.resize(flat.size());
      parts_.emplace(primitive.params()[i].get(), std::move(parts));
    }
    uint32_t number = 0;
    for (const Call* call : operators_of(primitive)) origins_[call] = ++number;
    walk(primitive.body());
    for (size_t k = 0; k < result_.tensors.size(); ++k) {
      te::Output output = result_.tensors[k];
      if (result_.constants[k])
        output.tensor = append_constant(group_.computation, *result_.constants[k]);
      group_.computation.outputs.push_back(std::move(output));
    }
    group_.computation.verify();
    return std::move(group_);
  }

 private:
  struct Frame {
    ExprRef expr;
    size_t next = 0;
    ExprRef expansion;  // walked after the operands; its value is the call's
  };

  void walk(const ExprRef& root) {
    std::vector<Frame> stack;
    stack.push_back({root, 0, {}});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const Expr* expr = frame.expr.get();
      if (parts_.contains(expr)) {
        stack.pop_back();
        continue;
      }
      if (frame.expansion) {
        parts_.emplace(expr, parts_.at(frame.expansion.get()));
        kept_.push_back(frame.expansion);
        stack.pop_back();
        continue;
      }
      auto operands = expr->operands();
      size_t first = expr->is<Call>() ? 1 : 0;  // the callee is an operator
      if (frame.next + first < operands.size()) {
        ExprRef operand = operands[first + frame.next++];
        if (expr->is<relay::Let>() && frame.next == 2) bind(*expr->as<relay::Let>());
        if (!parts_.contains(operand.get())) stack.push_back({std::move(operand), 0, {}});
        continue;
      }
      kept_.push_back(frame.expr);
      if (ExprRef expansion = finish(expr)) {
        frame.expansion = expansion;
        stack.push_back({std::move(expansion), 0, {}});
      } else {
        stack.pop_back();
      }
    }
    result_ = parts_.at(root.get());
  }

  void bind(const relay::Let& let) {
    parts_.emplace(let.var().get(), Parts(parts_.at(let.value().get())));
  }

  /// Gives `expr` its parts; or the expression that it stands for.
  ExprRef finish(const Expr* expr) {
    if (std::optional<NDArray> array = constant_array(expr)) {
      Parts parts;
      parts.type = type_of_array(*array);
      parts.tensors.push_back({{}, {array->shape().begin(), array->shape().end()}});
      parts.constants.push_back(*array);
      parts_.emplace(expr, std::move(parts));
      return {};
    }
    switch (expr->kind()) {
      case ExprKind::kTuple: {
        Parts parts;
        std::vector<TypeRef> fields;
        for (const ExprRef& field : expr->operands()) {
          const Parts& part = parts_.at(field.get());
          fields.push_back(part.type);
          parts.tensors.insert(parts.tensors.end(), part.tensors.begin(), part.tensors.end());
          parts.constants.insert(parts.constants.end(), part.constants.begin(),
                                 part.constants.end());
        }
        parts.type = TupleType::make(std::move(fields));
        parts_.emplace(expr, std::move(parts));
        return {};
      }
      case ExprKind::kTupleGetItem: {
        const auto* get = expr->as<TupleGetItem>();
        const Parts& tuple = parts_.at(get->tuple().get());
        auto fields = tuple.type->as<TupleType>()->fields();
        size_t from = 0;
        for (size_t i = 0; i <= get->index(); ++i) {
          std::vector<TypeRef> flat;
          flatten_types(fields[i], flat);
          if (i < get->index()) {
            from += flat.size();
            continue;
          }
          Parts parts;
          parts.type = fields[i];
          parts.tensors.assign(
              tuple.tensors.begin() + static_cast<std::ptrdiff_t>(from),
              tuple.tensors.begin() + static_cast<std::ptrdiff_t>(from + flat.size()));
          parts.constants.assign(
              tuple.constants.begin() + static_cast<std::ptrdiff_t>(from),
              tuple.constants.begin() + static_cast<std::ptrdiff_t>(from + flat.size()));
          parts_.emplace(expr, std::move(parts));
        }
        return {};
      }
      case ExprKind::kLet:
        parts_.emplace(expr, Parts(parts_.at(expr->as<relay::Let>()->body().get())));
        return {};
      case ExprKind::kCall:
        return finish_call(expr->as<Call>());
      default:
        RELAY_UNREACHABLE("a primitive function cannot hold a " +
                          std::string(expr_kind_name(expr->kind())));
    }
  }

  ExprRef finish_call(const Call* call) {
    const auto* callee = call->callee()->as<Op>();
    RELAY_CHECK(callee != nullptr, "a primitive function calls operators only");
    const Operator* op = callee->op();
    try {
      return call_op(call, op);
    } catch (const DimRangeError&) {
      throw;
    } catch (const Error& error) {
      std::vector<Diagnostic> diagnostics = error.diagnostics();
      for (Diagnostic& diagnostic : diagnostics) {
        if (!diagnostic.span.known()) diagnostic.span = call->span();
      }
      throw Error(std::move(diagnostics));
    }
  }

  ExprRef call_op(const Call* call, const Operator* op) {
    AttrsRef attrs = call->attrs();
    if (!attrs && op->attrs_schema() != nullptr) attrs = Attrs::make(*op->attrs_schema(), {}, {});
    const Arguments arguments = arguments_of(call, op);
    const uint32_t origin = origins_.at(call);
    TypeRef result = relate(op, attrs, arguments, origin);
    note_shapes(result, origin);
    OpCall op_call(op, attrs, arguments.types, result);
    if (op->definition() == DefinitionKind::kExpand)
      return expanded(call, op_call, arguments.types, origin);
    if (op->definition() != DefinitionKind::kCompute) {
      throw Error("operator " + op->name().str() + " has no definition that can be computed");
    }
    Computation computation = build_computation(op_call);
    if (has_unknown_dims(computation)) {
      throw Error(op->name().str() + " on " + call_types(arguments.types) +
                  ": the extents of the result depend on values that are not known before it runs");
    }
    Parts parts;
    parts.type = result;
    parts.tensors = append_stages(group_.computation, std::move(computation), arguments.operands,
                                  origin, op->name().view());
    parts.constants.resize(parts.tensors.size());
    parts_.emplace(call, std::move(parts));
    return {};
  }

  Arguments arguments_of(const Call* call, const Operator* op) const {
    Arguments arguments;
    Operands& operands = arguments.operands;
    for (const ExprRef& arg : call->args()) {
      const Parts& parts = parts_.at(arg.get());
      if (parts.type->has_any_dim()) {
        throw Error(op->name().str() + " cannot be computed together with what gives " +
                    parts.type->str() + ", whose extents are not known before it has run");
      }
      arguments.types.push_back(parts.type);
      arguments.first.push_back(operands.tensors.size());
      operands.tensors.insert(operands.tensors.end(), parts.tensors.begin(), parts.tensors.end());
      operands.constants.insert(operands.constants.end(), parts.constants.begin(),
                                parts.constants.end());
    }
    return arguments;
  }

  /// Runs the relation; the type of the result, in terms of the group. Adds what it asks for.
  TypeRef relate(const Operator* op, const AttrsRef& attrs, const Arguments& arguments,
                 uint32_t origin) {
    std::vector<TypeRef> hidden;
    for (const TypeRef& type : arguments.types) hidden.push_back(map_dims(type, hide));
    TypeRef result;
    CheckRecorder recorder(op);
    try {
      result =
          infer_call_type(op, hidden, attrs, &recorder, [&](size_t i) -> std::optional<NDArray> {
            if (!arguments.types[i]->is<TensorType>()) return std::nullopt;
            return arguments.operands.constants[arguments.first[i]];
          });
    } catch (const DimRangeError&) {
      throw;
    } catch (const Error& error) {
      std::vector<Diagnostic> diagnostics = error.diagnostics();
      for (Diagnostic& each : diagnostics) each.message = plain(recorder.marks, each.message);
      throw Error(std::move(diagnostics));
    }
    RELAY_CHECK(result, "the relation of " + op->name().str() + " waits for known types");
    auto reveal = [&](Dim dim) { return revealed(dim, op, arguments); };
    auto reveal_text = [&](DimText& text) {
      for (Dim& dim : text.dims) dim = reveal(dim);
    };
    result = map_dims(result, reveal);
    for (Condition& check : recorder.checks) {
      check.a = reveal(check.a);
      check.b = reveal(check.b);
      if (dims_equal(check.a, check.b) == Truth::kYes) continue;
      reveal_text(check.message);
      check.origin = origin;
      group_.checks.push_back(std::move(check));
    }
    for (ResultDim& term : recorder.terms) {
      term.dim = reveal(term.dim);
      if (!term.dim.is_term()) continue;
      reveal_text(*term.message);
      term.origin = origin;
      group_.results.push_back(std::move(term));
    }
    return result;
  }

  void note_shapes(const TypeRef& result, uint32_t origin) {
    std::vector<TypeRef> tensors;
    flatten_types(result, tensors);
    for (const TypeRef& type : tensors) {
      std::vector<Dim> dims = info_of(type).dims;
      for (Dim dim : dims) {
        if (dim.is_term()) group_.results.push_back({dim, std::nullopt, origin, false});
      }
      group_.shapes.emplace_back(std::move(dims), origin);
    }
  }

  ExprRef expanded(const Call* call, const OpCall& op_call, const std::vector<TypeRef>& types,
                   uint32_t origin) {
    std::vector<ExprRef> args(call->args().begin(), call->args().end());
    for (size_t i = 0; i < args.size(); ++i) {
      // Constants stay visible; everything else is a variable, so that no expansion looks inside.
      if (constant_array(args[i].get())) continue;
      VarRef var = make_var("arg" + std::to_string(i), types[i]);
      parts_.emplace(var.get(), Parts(parts_.at(args[i].get())));
      kept_.push_back(var);
      args[i] = var;
    }
    ExprRef expansion = op_call.op()->expand()(op_call, args);
    post_order(expansion.get(), [&](const Expr* expr) {
      if (const auto* inner = expr->as<Call>()) origins_.try_emplace(inner, origin);
    });
    return expansion;
  }

  static std::string plain(const DimMarks& marks, const std::string& message) {
    DimText text = marks.text(message);
    std::string result = text.pieces[0];
    for (size_t i = 0; i < text.dims.size(); ++i) {
      std::string dim;
      for_each_atom(text.dims[i], [&](Dim) { dim = "?"; });
      result += dim + text.pieces[i + 1];
    }
    return result;
  }

  static std::string call_types(std::span<const TypeRef> types) {
    std::string text;
    for (const TypeRef& type : types) text += (text.empty() ? "" : ", ") + type->str();
    return text;
  }

  Group group_;
  Parts result_;
  std::unordered_map<const Expr*, Parts> parts_;
  std::unordered_map<const Call*, uint32_t> origins_;
  std::vector<ExprRef> kept_;  // parts_ goes by address
};

}  // namespace

std::vector<const Call*> operators_of(const Function& primitive) {
  std::vector<const Call*> calls;
  post_order(primitive.body().get(), [&](const Expr* expr) {
    if (const auto* call = expr->as<Call>()) calls.push_back(call);
  });
  return calls;
}

Group compose(const Function& primitive, std::span<const TypeRef> inputs) {
  return Composer().run(primitive, inputs);
}

}  // namespace relay::graph
