#include <relay/graph/compose.h>

#include <algorithm>

#include <relay/ir/dim_error.h>
#include <relay/ir/tensor_types.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/op/relation.h>
#include <relay/op/under_name.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/rewrite.h>
#include <relay/tensor_expr/walk.h>
#include <relay/transform/literals.h>

namespace relay::graph {
namespace {

using te::Computation;
using te::copy_node;
using te::of_origin;
using te::renumber_vars;
using te::rewrite_roots;
using te::ScalarKind;
using te::ScalarRef;
using te::ScalarRewriter;
using te::TensorId;
using te::with_args;

/// Constants up to this size may stand in a group; the elements become a tree of selects. Equal
/// elements are one number, in any number.
constexpr int64_t kMaxConstant = 64;

/// What an expression of the group is: its tensors, left to right.
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

te::Scalar element_constant(const NDArray& array, int64_t i) {
  if (array.dtype().is_float()) return te::constant(array.element_as_double(i), array.dtype());
  return te::constant(array.element_as_int64(i), array.dtype());
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
      if (result_.constants[k]) output.tensor = materialise(*result_.constants[k]);
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
    std::vector<TypeRef> types;
    std::vector<te::Output> tensors;
    std::vector<std::optional<NDArray>> constants;
    std::vector<size_t> first;  // of each argument among the tensors
    for (const ExprRef& arg : call->args()) {
      const Parts& parts = parts_.at(arg.get());
      if (parts.type->has_any_dim()) {
        throw Error(op->name().str() + " cannot be computed together with what gives " +
                    parts.type->str() + ", whose extents are not known before it has run");
      }
      types.push_back(parts.type);
      first.push_back(tensors.size());
      tensors.insert(tensors.end(), parts.tensors.begin(), parts.tensors.end());
      constants.insert(constants.end(), parts.constants.begin(), parts.constants.end());
    }
    // Values that dimensions read: of the call's arguments → of the group's inputs.
    auto in_group = [&](Dim dim) {
      return relay::substitute(dim, [&](Dim atom) -> Dim {
        if (!atom.is_term() || atom.term().op != DimOp::kValue || atom.as_symbol() != nullptr) {
          return atom;
        }
        TensorId id = tensors[first[atom.term().input]].tensor;
        if (!id.is_input()) {
          throw Error(op->name().str() + " needs the value of argument " +
                      std::to_string(atom.term().input + 1) + " before the group has run");
        }
        return Dim::value(static_cast<uint32_t>(id.index), atom.term().index);
      });
    };
    // The relation sees terms of the group already; what it adds itself are its own arguments'.
    // The two are told apart by numbers that no argument has.
    constexpr uint32_t kGroup = 1u << 20;
    auto hide = [&](Dim dim) {
      return relay::substitute(dim, [&](Dim atom) -> Dim {
        if (!atom.is_term() || atom.term().op != DimOp::kValue) return atom;
        return Dim::value(atom.term().input + kGroup, atom.term().index);
      });
    };
    auto reveal = [&](Dim dim) {
      return relay::substitute(dim, [&](Dim atom) -> Dim {
        if (!atom.is_term() || atom.term().op != DimOp::kValue) return atom;
        if (atom.term().input >= kGroup) {
          return Dim::value(atom.term().input - kGroup, atom.term().index);
        }
        return in_group(atom);
      });
    };
    std::vector<TypeRef> hidden;
    for (const TypeRef& type : types) hidden.push_back(map_dims(type, hide));
    uint32_t origin = origins_.at(call);
    TypeRef result;
    std::vector<Condition> checks;
    std::vector<ResultDim> failing;
    {
      CheckRecorder recorder(op);
      try {
        result =
            infer_call_type(op, hidden, attrs, &recorder, [&](size_t i) -> std::optional<NDArray> {
              if (!types[i]->is<TensorType>()) return std::nullopt;
              return constants[first[i]];
            });
      } catch (const DimRangeError&) {
        throw;
      } catch (const Error& error) {
        std::vector<Diagnostic> diagnostics = error.diagnostics();
        for (Diagnostic& each : diagnostics) each.message = plain(recorder.marks, each.message);
        throw Error(std::move(diagnostics));
      }
      checks = std::move(recorder.checks);
      failing = std::move(recorder.terms);
    }
    RELAY_CHECK(result, "the relation of " + op->name().str() + " waits for known types");
    result = map_dims(result, reveal);
    auto reveal_text = [&](DimText& text) {
      for (Dim& dim : text.dims) dim = reveal(dim);
    };
    for (Condition& check : checks) {
      check.a = reveal(check.a);
      check.b = reveal(check.b);
      if (dims_equal(check.a, check.b) == Truth::kYes) continue;
      reveal_text(check.message);
      check.origin = origin;
      group_.checks.push_back(std::move(check));
    }
    for (ResultDim& term : failing) {
      term.dim = reveal(term.dim);
      if (!term.dim.is_term()) continue;
      reveal_text(*term.message);
      term.origin = origin;
      group_.results.push_back(std::move(term));
    }
    std::vector<TypeRef> tensors_of_result;
    flatten_types(result, tensors_of_result);
    for (const TypeRef& type : tensors_of_result) {
      std::vector<Dim> dims = info_of(type).dims;
      for (Dim dim : dims) {
        if (dim.is_term()) group_.results.push_back({dim, std::nullopt, origin, false});
      }
      group_.shapes.emplace_back(std::move(dims), origin);
    }
    OpCall op_call(op, attrs, types, result);
    if (op->definition() == DefinitionKind::kExpand) {
      std::vector<ExprRef> args(call->args().begin(), call->args().end());
      for (size_t i = 0; i < args.size(); ++i) {
        // Constants stay visible; everything else is a variable, so that no expansion looks inside.
        if (constant_array(args[i].get())) continue;
        VarRef var = make_var("arg" + std::to_string(i), types[i]);
        parts_.emplace(var.get(), Parts(parts_.at(args[i].get())));
        kept_.push_back(var);
        args[i] = var;
      }
      ExprRef expansion = op->expand()(op_call, args);
      post_order(expansion.get(), [&](const Expr* expr) {
        if (const auto* inner = expr->as<Call>()) origins_.try_emplace(inner, origin);
      });
      return expansion;
    }
    if (op->definition() != DefinitionKind::kCompute) {
      throw Error("operator " + op->name().str() + " has no definition that can be computed");
    }
    Computation computation = build_computation(op_call);
    if (has_unknown_dims(computation)) {
      throw Error(op->name().str() + " on " + call_types(types) +
                  ": the extents of the result depend on values that are not known before it runs");
    }
    Parts parts;
    parts.type = result;
    parts.tensors = append(std::move(computation), tensors, constants, origin, op->name().view());
    parts.constants.resize(parts.tensors.size());
    parts_.emplace(call, std::move(parts));
    return {};
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

  /// Adds the stages of an operator, whose inputs are `tensors`. Returns its outputs.
  std::vector<te::Output> append(Computation computation, std::span<const te::Output> tensors,
                                 std::span<const std::optional<NDArray>> constants, uint32_t origin,
                                 std::string_view op) {
    Computation& into = group_.computation;
    uint32_t axes = into.num_axes, vars = into.num_vars;
    into.num_axes += computation.num_axes;
    into.num_vars += computation.num_vars;

    std::vector<TensorId> inputs(tensors.size());
    std::vector<bool> ready(tensors.size());
    auto input = [&](int32_t k) {
      auto at = static_cast<size_t>(k);
      if (!ready[at]) {
        inputs[at] = constants[at] ? materialise(*constants[at]) : tensors[at].tensor;
        ready[at] = true;
      }
      return inputs[at];
    };
    // Constants that are read other than as rank-0 loads need a tensor, before the stages.
    for (const te::Stage& stage : computation.stages) {
      bool loads_only = !std::holds_alternative<te::View>(stage.body) &&
                        !std::holds_alternative<te::Library>(stage.body) &&
                        !std::holds_alternative<te::Update>(stage.body);
      for (TensorId id : te::stage_reads(stage)) {
        if (!id.is_input()) continue;
        const auto& constant = constants[static_cast<size_t>(id.index)];
        if (constant && (!loads_only || constant->rank() > 0)) input(id.index);
      }
    }
    for (const te::Output& output : computation.outputs) {
      if (output.tensor.is_input()) input(output.tensor.index);
    }
    auto base = static_cast<int32_t>(into.stages.size());
    auto tensor = [&](TensorId id) {
      return id.is_input() ? input(id.index) : TensorId{id.stage + base, id.index};
    };
    auto axis = [&](te::Axis& a) { a.id += axes; };

    std::unordered_map<const te::Combiner*, std::shared_ptr<const te::Combiner>> combiners;
    auto renumbered = [&](const std::shared_ptr<const te::Combiner>& combiner) {
      auto& entry = combiners[combiner.get()];
      if (!entry) entry = renumber_vars(*combiner, [&](uint32_t id) { return id + vars; });
      return entry;
    };
    ScalarRewriter rewrite(
        [&](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
          switch (node->kind) {
            case ScalarKind::kIndex: {
              Ref<te::ScalarNode> copy = copy_node(*node);
              copy->axis += axes;
              return copy;
            }
            case ScalarKind::kVar: {
              Ref<te::ScalarNode> copy = copy_node(*node);
              copy->id += vars;
              return copy;
            }
            case ScalarKind::kLoad: {
              if (node->tensor.is_input() && args.empty()) {
                const auto& value = constants[static_cast<size_t>(node->tensor.index)];
                if (value) return element_constant(*value, 0).ref();
              }
              Ref<te::ScalarNode> copy = copy_node(*node);
              copy->tensor = tensor(node->tensor);
              copy->args = args;
              if (te::may_miss(node->bounds)) {
                copy->origin = origin;
                copy->message = te::failure_text(op, te::kOutOfRange);
              }
              return copy;
            }
            case ScalarKind::kFold: {
              Ref<te::ScalarNode> copy = copy_node(*node);
              for (te::Axis& a : copy->axes) axis(a);
              copy->combiner = renumbered(node->combiner);
              copy->args = args;
              if (node->combiner->needs_element) {
                copy->origin = origin;
                copy->message = te::failure_text(op, te::kEmptyFold);
              }
              return copy;
            }
            case ScalarKind::kFail: {
              if (args[0]->kind == ScalarKind::kConst) return {};
              Ref<te::ScalarNode> copy = copy_node(*node);
              copy->args = args;
              copy->origin = origin;
              copy->message = te::failure_text(op, node->message);
              return copy;
            }
            case ScalarKind::kBinary:
              if (!te::is_integer_division(*node)) return {};
              return of_origin(with_args(node, args), origin);
            default:
              return {};
          }
        });
    for (te::Stage& stage : computation.stages) {
      rewrite_roots(stage, [&](const ScalarRef& root) { return rewrite(root); });
      if (auto* map = std::get_if<te::Map>(&stage.body)) {
        for (te::Axis& a : map->axes) axis(a);
      } else if (auto* scan = std::get_if<te::Scan>(&stage.body)) {
        for (te::Axis& a : scan->axes) axis(a);
        for (ScalarRef& carry : scan->carries) carry = rewrite(carry);
      } else if (auto* update = std::get_if<te::Update>(&stage.body)) {
        for (te::Axis& a : update->axes) axis(a);
        update->base = tensor(update->base);
        if (update->bounds == te::Bounds::kFail) {
          update->origin = origin;
          update->message = te::failure_text(op, te::kOutOfRange);
        }
        if (update->combiner) {
          auto shared = std::make_shared<const te::Combiner>(*update->combiner);
          update->combiner = *renumbered(shared);
          combiners.erase(shared.get());
        }
      } else if (auto* view = std::get_if<te::View>(&stage.body)) {
        view->source = tensor(view->source);
      } else if (auto* library = std::get_if<te::Library>(&stage.body)) {
        for (TensorId& id : library->inputs) id = tensor(id);
        library->op = op;
        library->origin = origin;
      }
      into.stages.push_back(std::move(stage));
    }
    std::vector<te::Output> outputs = std::move(computation.outputs);
    for (te::Output& output : outputs) output.tensor = tensor(output.tensor);
    return outputs;
  }

  /// A constant as a stage.
  TensorId materialise(const NDArray& given) {
    bool uniform = given.is_uniform();
    if (given.size() > kMaxConstant && !uniform) {
      throw Error("a constant of " + std::to_string(given.size()) +
                  " elements must be a parameter of a primitive function");
    }
    NDArray array = uniform ? NDArray::uniform(given, {}) : given.contiguous();
    Computation& into = group_.computation;
    te::Map map;
    std::vector<Dim> dims(given.shape().begin(), given.shape().end());
    te::Scalar flat = te::index_constant(0);
    for (Dim dim : dims) {
      map.axes.push_back({into.num_axes++, dim});
      flat = flat * te::from_dim(dim) + te::index_of(map.axes.back());
    }
    std::vector<Dim> ones(static_cast<size_t>(std::max<int64_t>(array.size(), 1)), Dim(1));
    map.values.push_back(array.size() == 0 ? te::constant(0, array.dtype()).ref()
                         : uniform         ? element_constant(array, 0).ref()
                                   : te::piecewise(flat, ones, [&](size_t part, const te::Scalar&) {
                                       return element_constant(array, static_cast<int64_t>(part));
                                     }).ref());
    te::Stage stage;
    stage.outputs.push_back({dims, array.dtype()});
    stage.body = std::move(map);
    into.stages.push_back(std::move(stage));
    return {static_cast<int32_t>(into.stages.size()) - 1, 0};
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
