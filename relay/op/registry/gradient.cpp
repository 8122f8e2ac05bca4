#include <relay/op/registry/gradient.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include <relay/op/registry/gradient_values.h>
#include <relay/support/error.h>
#include <relay/support/fork_mutex.h>
#include <relay/tensor_expr/adjoint.h>
#include <relay/tensor_expr/walk.h>

namespace relay {

OpColumn<GradientEntry>& gradient_column() {
  static auto* column = new OpColumn<GradientEntry>("gradient");
  return *column;
}

OpBuilder& OpBuilder::gradient(GradientFn rule) {
  return column(gradient_column(), {std::move(rule), {}});
}
OpBuilder& OpBuilder::no_gradient(std::string why) {
  return column(gradient_column(), {{}, std::move(why)});
}

namespace {

/// The types of the tensors of floats in a type.
void float_tensors(const TypeRef& type, std::vector<TypeRef>& out) {
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) float_tensors(field, out);
  } else if (const auto* tensor = type->as<TensorType>()) {
    if (tensor->has_dtype() && tensor->dtype().is_float()) out.push_back(type);
  }
}

// Derivations need names for extents: `?` and extents that inference has yet to solve get names,
// the same ones in every call.
Dim with_name(Dim dim, size_t& next) {
  static ForkMutex mutex;
  static auto* names = new std::deque<TypeVarRef>;
  if (!dim.is_any() && !dim.has_variable()) return dim;
  std::lock_guard lock(mutex);
  while (names->size() <= next) {
    names->push_back(TypeVar::make("n" + std::to_string(names->size()), Kind::kShapeVar));
  }
  return Dim::symbol((*names)[next++].get());
}

TypeRef with_names(const TypeRef& type, size_t& next) {
  if (const auto* tuple = type->as<TupleType>()) {
    std::vector<TypeRef> fields;
    for (const TypeRef& field : tuple->fields()) fields.push_back(with_names(field, next));
    return TupleType::make(std::move(fields));
  }
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank()) return type;
  std::vector<Dim> dims(tensor->dims().begin(), tensor->dims().end());
  for (Dim& dim : dims) dim = with_name(dim, next);
  return TensorType::make(dims, tensor->dtype());
}

bool has_extents_of_values(const TypeRef& type) {
  if (const auto* tuple = type->as<TupleType>()) {
    return std::any_of(tuple->fields().begin(), tuple->fields().end(), has_extents_of_values);
  }
  const auto* tensor = type->as<TensorType>();
  bool found = false;
  for (Dim dim : tensor->dims()) {
    found |= dim.is_any();
    for_each_atom(dim,
                  [&](Dim atom) { found |= atom.is_term() && atom.term().op == DimOp::kValue; });
  }
  return found;
}

/// The derivative of a call with these inputs. `given` is the gradient's type, if it is known.
te::Computation derive(const Operator& op, const AttrsRef& attrs, std::vector<TypeRef> inputs,
                       const TypeRef& given) {
  TypeRef result = infer_call_type(&op, inputs, attrs);
  if (!result) throw te::NoAdjoint("its result depends on more than the types of its inputs");
  // The inputs describe the extents best, if they determine them.
  if (given && given->as<TensorType>() && result->as<TensorType>() &&
      has_extents_of_values(result)) {
    result = given;
  }
  return te::adjoint(build_computation(OpCall(&op, attrs, std::move(inputs), result)));
}

bool has_known_extents(const TypeRef& type) {
  if (const auto* tuple = type->as<TupleType>()) {
    return std::all_of(tuple->fields().begin(), tuple->fields().end(), has_known_extents);
  }
  const auto* tensor = type->as<TensorType>();
  return tensor != nullptr && tensor->has_rank() && tensor->has_dtype() &&
         std::all_of(tensor->dims().begin(), tensor->dims().end(),
                     [](Dim dim) { return dim.is_int(); });
}

ExprRef zeros_in_place_of(const ExprRef& arg, const TypeRef& type) {
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) {
    // A parameter or constant is there anyway.
    const bool there = arg->is<Var>() || arg->is<Constant>();
    return there ? arg : zeros_of(type.get(), arg);
  }
  std::vector<ExprRef> fields;
  for (size_t k = 0; k < tuple->fields().size(); ++k) {
    const ExprRef field =
        arg->is<Tuple>() ? arg->operands()[k] : make_projection(arg, static_cast<uint32_t>(k));
    fields.push_back(zeros_in_place_of(field, tuple->fields()[k]));
  }
  return relay::make_tuple(fields);
}

/// True for each output that is 0 whatever the inputs are.
std::vector<bool> zero_outputs(const te::Computation& computation) {
  std::vector<bool> zero;
  for (const te::Output& output : computation.outputs) {
    const te::Map* map =
        output.tensor.is_input()
            ? nullptr
            : std::get_if<te::Map>(
                  &computation.stages[static_cast<size_t>(output.tensor.stage)].body);
    const te::ScalarNode* value =
        map == nullptr ? nullptr : map->values[static_cast<size_t>(output.tensor.index)].get();
    zero.push_back(value != nullptr && value->kind == te::ScalarKind::kConst &&
                   value->value.f == 0);
  }
  return zero;
}

/// The arguments of a derived operator, with zeros for those that the derivative does not read: it
/// has their types. Nothing is kept for it, and what gave them may be fused with its other users.
/// The result is true for each gradient that is 0 everywhere.
std::vector<bool> leave_out_unread(const GradientCall& call, std::vector<ExprRef>& args) {
  const OpCall& typed = call.call;
  if (typed.op()->definition() != DefinitionKind::kCompute) return {};
  std::vector<TypeRef> inputs;
  for (size_t i = 0; i < typed.num_inputs(); ++i) {
    inputs.push_back(typed.input(i));
    if (!has_known_extents(inputs.back())) return {};
  }
  te::Computation computation;
  try {
    computation = derive(*typed.op(), typed.attrs_ref(), inputs, {});
  } catch (const te::NoAdjoint&) {
    return {};  // the operator's relation refuses it, with the place
  }
  const std::vector<bool> read = te::needed_tensors(computation).inputs;
  size_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* tuple = inputs[i]->as<TupleType>();
    const size_t count = tuple == nullptr ? 1 : tuple->fields().size();
    bool any = false;
    for (size_t k = 0; k < count; ++k) any = any || read[next++];
    if (!any) args[i] = zeros_in_place_of(args[i], inputs[i]);
  }
  return zero_outputs(computation);
}

std::string refusal(const Operator& op, const std::string& why) {
  return op.name().str() + " has no gradient: " + why;
}

void require_gradient(const RelationCall& call, const Operator& op, const TypeRef& wanted,
                      const TypeRef& found) {
  std::string message = "the gradient must be like the result of " + op.name().str() + ", " +
                        wanted->str() + ", found " + found->str();
  std::vector<TypeRef> a, b;
  float_tensors(wanted, a);
  float_tensors(found, b);
  call.require((wanted->as<TupleType>() != nullptr) == (found->as<TupleType>() != nullptr) &&
                   a.size() == b.size(),
               message);
  for (size_t k = 0; k < a.size(); ++k) {
    const auto* x = a[k]->as<TensorType>();
    const auto* y = b[k]->as<TensorType>();
    call.require(x->dtype() == y->dtype() && y->has_rank() && x->dims().size() == y->dims().size(),
                 message);
    for (size_t d = 0; d < x->dims().size(); ++d) {
      call.require_equal(x->dims()[d], y->dims()[d], message);
    }
  }
}

TypeRef infer_gradient(const Operator& op, const RelationCall& call) {
  std::string reason = no_gradient_reason(op);
  if (reason.empty() && op.definition() != DefinitionKind::kCompute) {
    reason = "it is written with other operators, whose gradients are its own";
  }
  if (!reason.empty()) call.fail(refusal(op, reason));
  size_t n = op.num_inputs();
  TypeRef result = op.relation()->infer(call.first_inputs(n));
  if (!result) return {};
  std::vector<TypeRef> inputs;
  for (size_t i = 0; i < n; ++i) inputs.push_back(call.input(i));
  TypeRef type = gradient_type(inputs);
  if (!type) call.fail(refusal(op, "none of its inputs is of floats"));
  TypeRef wanted = gradient_type({&result, 1});
  if (!wanted) call.fail(refusal(op, "its result is " + result->str()));
  require_gradient(call, op, wanted, call.input(n));
  size_t next = 0;
  for (TypeRef& input : inputs) input = with_names(input, next);
  TypeRef given = with_names(call.input(n), next);
  try {
    derive(op, call.attrs_ref(), inputs, given);
  } catch (const te::NoAdjoint& error) {
    call.fail(refusal(op, error.what()));
  }
  return type;
}

TypeRef expect_gradient(const Operator& op, const RelationCall& call, size_t i) {
  size_t n = op.num_inputs();
  RelationCall forward = call.first_inputs(n);
  const Relation& relation = *op.relation();
  if (i < n) return relation.expect ? relation.expect(forward, i) : TypeRef();
  for (size_t k = 0; k < n; ++k) {
    if (!call.input(k)) return {};
  }
  TypeRef result = relation.infer(forward);
  return result ? gradient_type({&result, 1}) : TypeRef();
}

}  // namespace

TypeRef gradient_type(std::span<const TypeRef> types) {
  std::vector<TypeRef> floats;
  for (const TypeRef& type : types) float_tensors(type, floats);
  if (floats.size() > 1) return TupleType::make(std::move(floats));
  return floats.empty() ? TypeRef() : floats[0];
}

std::string no_gradient_reason(const Operator& op) {
  const GradientEntry* entry = gradient_column().find(&op);
  return entry == nullptr ? std::string() : entry->none;
}

void derive_gradient(const Operator& op, OpBuilder& derived) {
  std::string name = "grad";
  for (size_t i = 0; i < op.num_inputs(); ++i) {
    if (op.inputs()[i].name.view() == name) {  // of an operator that is a gradient itself
      name += "_grad";
      i = 0;
    }
  }
  std::string doc = "Gradient of " + op.name().str() + ", derived from its definition.";
  derived.doc(std::move(doc)).attrs(op.attrs_schema()).level(op.level());
  for (const OpInput& input : op.inputs()) derived.input(input.name, input.doc, input.spec);
  // Numbers among the inputs take the gradient's dtype, if the result has theirs.
  ValueSpec like_result;
  if (op.outputs().size() == 1 && op.outputs()[0].spec.is_tensor()) {
    char variable = op.outputs()[0].spec.variable();
    like_result = variable == 0 ? tensor() : tensor(variable);
  }
  derived.input(Name(name), "Gradient of the result.", like_result);
  if (!op.pure()) derived.impure();
  derived.relation(new Relation{
      Name(std::string(kGradientPrefix) + op.name().str()), Relation::Form::kGeneral,
      [&op](const RelationCall& call) { return infer_gradient(op, call); },
      "The relation of the gradient of " + op.name().str() + ".",
      [&op](const RelationCall& call, size_t i) { return expect_gradient(op, call, i); }});
  derived.compute([&op](const OpCall& call, te::Builder& b) {
    size_t n = op.num_inputs();
    std::vector<TypeRef> inputs;
    for (size_t i = 0; i < n; ++i) inputs.push_back(call.input(i));
    te::Computation computation = derive(op, call.attrs_ref(), std::move(inputs), call.input(n));
    // The gradient's extents may have other names than those of the result that it belongs to.
    RELAY_CHECK(computation.inputs.size() == b.num_inputs(), "inputs of a gradient");
    for (size_t i = 0; i < b.num_inputs(); ++i) computation.inputs[i] = b.input(i).info();
    b = te::Builder(std::move(computation));
  });
}

std::vector<ExprRef> derived_gradients(const GradientCall& call) {
  const Operator& op = *call.call.op();
  std::vector<ExprRef> args(call.args.begin(), call.args.end());
  std::vector<ExprRef> given;
  for (const ExprRef& gradient : call.gradients) {
    if (gradient) given.push_back(gradient);
  }
  args.push_back(given.size() == 1 ? given[0] : relay::make_tuple(given));
  const std::string name = std::string(kGradientPrefix) + op.name().str();
  if (find_op(Name(name)) == nullptr)
    throw Error(refusal(
        op, "derivations stop at derivatives of order " + std::to_string(kMaxGradientOrder)));
  std::vector<bool> zero = leave_out_unread(call, args);
  ExprRef all = call_op(name, args, call.call.attrs_ref());
  std::vector<TypeRef> floats;
  for (size_t i = 0; i < call.call.num_inputs(); ++i) float_tensors(call.call.input(i), floats);
  zero.resize(floats.size());
  uint32_t next = 0;
  auto take = [&] {
    uint32_t k = next++;
    return floats.size() == 1 ? all : make_projection(all, k);
  };
  std::vector<ExprRef> result;
  for (size_t i = 0; i < call.call.num_inputs(); ++i) {
    const TypeRef& type = call.call.input(i);
    std::vector<TypeRef> mine;
    float_tensors(type, mine);
    const auto first = zero.begin() + next;
    if (std::all_of(first, first + static_cast<std::ptrdiff_t>(mine.size()),
                    [](bool is_zero) { return is_zero; })) {
      result.emplace_back();  // nothing, or nothing but zeros
      next += static_cast<uint32_t>(mine.size());
    } else if (const auto* tuple = type->as<TupleType>()) {
      std::vector<ExprRef> fields;
      for (size_t k = 0; k < tuple->fields().size(); ++k) {
        const TypeRef& field = tuple->fields()[k];
        const ExprRef& arg = call.args[i];
        fields.push_back(
            gradient_type({&field, 1})
                ? take()
                : zeros_of(field.get(), make_projection(arg, static_cast<uint32_t>(k))));
      }
      result.push_back(relay::make_tuple(fields));
    } else {
      result.push_back(take());
    }
  }
  return result;
}

std::vector<ExprRef> gradients_of(const GradientCall& call) {
  const Operator& op = *call.call.op();
  const GradientEntry* entry = gradient_column().find(&op);
  if (entry == nullptr) return derived_gradients(call);
  if (!entry->rule) throw Error(refusal(op, entry->none));
  std::vector<ExprRef> gradients = entry->rule(call);
  RELAY_CHECK(gradients.size() == op.num_inputs(),
              "the gradient rule of " + op.name().str() + " gives another number of gradients");
  return gradients;
}

}  // namespace relay
