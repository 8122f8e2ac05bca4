#include <relay/op/registry/gradient.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <relay/op/registry/gradient_values.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/support/error.h>
#include <relay/support/fork_mutex.h>
#include <relay/support/hash.h>
#include <relay/tensor_expr/adjoint.h>
#include <relay/tensor_expr/linearity.h>
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
    // A parameter or constant is there anyway. Integers may be extents, which the call reads though
    // its derivative does not.
    const auto* tensor = type->as<TensorType>();
    const bool integers = tensor != nullptr && tensor->has_dtype() && tensor->dtype().is_integer();
    const bool there = arg->is<Var>() || arg->is<Constant>() || integers;
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

/// A gradient of a derived operator that needs no computation.
struct Plain {
  bool zero = false;            // whatever the inputs are
  std::optional<size_t> input;  // it is this input of the computation
  bool reshaped = false;        // … with axes of one element more or less
};

/// A value with the extents of a type, if it has others.
ExprRef with_shape(const ExprRef& value, const TypeRef& type, bool reshaped) {
  if (!reshaped) return value;
  ReshapeAttrs attrs;
  for (Dim dim : type->as<TensorType>()->dims()) {
    attrs.newshape.value.push_back(dim.as_int());
    attrs.allowzero |= dim.is_int(0);
  }
  return call_op("reshape", {value}, Attrs::make(attrs));
}

/// True if the elements are those of a tensor of these extents, in the same order.
bool is_copy(const te::Map& map, const te::ScalarNode& value, const te::TensorInfo& from) {
  if (value.kind != te::ScalarKind::kLoad) return false;
  // Axes of one element have no say in the order.
  std::vector<const te::Axis*> axes;
  for (const te::Axis& axis : map.axes)
    if (!axis.extent.is_int(1)) axes.push_back(&axis);
  size_t next = 0;
  for (size_t d = 0; d < value.args.size(); ++d) {
    const te::ScalarNode& at = *value.args[d];
    if (from.dims[d].is_int(1)) {
      // A computed index may lie outside, where there is another value.
      if (at.kind == te::ScalarKind::kIndex || value.bounds == te::Bounds::kProven) continue;
      return false;
    }
    if (next == axes.size() || at.kind != te::ScalarKind::kIndex || at.axis != axes[next]->id ||
        !(from.dims[d] == axes[next]->extent))
      return false;
    ++next;
  }
  return next == axes.size();
}

std::vector<Plain> plain_outputs(const te::Computation& computation) {
  std::vector<Plain> found;
  for (const te::Output& output : computation.outputs) {
    Plain& plain = found.emplace_back();
    if (output.tensor.is_input()) {
      plain.input = static_cast<size_t>(output.tensor.index);
      continue;
    }
    const auto* map =
        std::get_if<te::Map>(&computation.stages[static_cast<size_t>(output.tensor.stage)].body);
    if (map == nullptr) continue;
    const te::ScalarNode& value = *map->values[static_cast<size_t>(output.tensor.index)];
    plain.zero = value.kind == te::ScalarKind::kConst && value.value.f == 0;
    const bool copies = value.kind == te::ScalarKind::kLoad && value.tensor.is_input() &&
                        is_copy(*map, value, computation.info(value.tensor));
    if (!copies) continue;
    plain.input = static_cast<size_t>(value.tensor.index);
    plain.reshaped = computation.info(output.tensor).dims != computation.info(value.tensor).dims;
  }
  return found;
}

/// Facts about a derivative. A program may have many calls that differ in their values alone, so
/// they are found once for an operator, its attributes and types, and kept.
struct Derivation {
  std::string refusal;         // the reason why there is none; then the rest is empty
  std::vector<bool> read;      // the tensors among its inputs that it depends on
  std::vector<Plain> outputs;  // for each gradient
};

Derivation find_derivation(const Operator& op, const AttrsRef& attrs,
                           const std::vector<TypeRef>& inputs, const TypeRef& given) {
  Derivation found;
  try {
    const te::Computation computation = derive(op, attrs, inputs, given);
    found.read = te::needed_tensors(computation).inputs;
    found.outputs = plain_outputs(computation);
  } catch (const te::NoAdjoint& error) {
    found.refusal = error.what();
  }
  return found;
}

// Types and attributes are interned, so their addresses say all about them.
struct DerivationKey {
  const Operator* op;
  const Relation* relation;  // an operator may be declared anew
  AttrsRef attrs;
  std::vector<TypeRef> types;

  friend bool operator==(const DerivationKey& a, const DerivationKey& b) = default;
};
struct DerivationHash {
  size_t operator()(const DerivationKey& key) const {
    auto address = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); };
    uint64_t hash = hash_combine(address(key.op), address(key.attrs.get()));
    for (const TypeRef& type : key.types) hash = hash_combine(hash, address(type.get()));
    return hash;
  }
};

struct Derivations {
  ForkMutex mutex;
  std::unordered_map<DerivationKey, std::shared_ptr<const Derivation>, DerivationHash> known;
  static Derivations& instance() {
    static auto* all = new Derivations;
    return *all;
  }
};

std::shared_ptr<const Derivation> derivation_of(const Operator& op, const AttrsRef& attrs,
                                                const std::vector<TypeRef>& inputs,
                                                const TypeRef& given) {
  constexpr size_t kMost = 1024;  // more types than that in turn are derived again
  DerivationKey key{&op, op.relation(), attrs, inputs};
  key.types.push_back(given);
  Derivations& all = Derivations::instance();
  {
    std::lock_guard lock(all.mutex);
    auto found = all.known.find(key);
    if (found != all.known.end()) return found->second;
  }
  auto made = std::make_shared<const Derivation>(find_derivation(op, attrs, inputs, given));
  decltype(all.known) dropped;  // freed without the lock
  std::lock_guard lock(all.mutex);
  if (all.known.size() >= kMost) dropped.swap(all.known);
  return all.known.try_emplace(std::move(key), std::move(made)).first->second;
}

size_t count_tensors(const TypeRef& type) {
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) return 1;
  size_t count = 0;
  for (const TypeRef& field : tuple->fields()) count += count_tensors(field);
  return count;
}

/// The arguments of a derived operator, with zeros for those that the derivative does not read: it
/// has their types. Nothing is kept for it, and what gave them may be fused with its other users.
std::vector<Plain> leave_out_unread(const GradientCall& call, std::vector<ExprRef>& args) {
  const OpCall& typed = call.call;
  if (typed.op()->definition() != DefinitionKind::kCompute) return {};
  std::vector<TypeRef> inputs;
  for (size_t i = 0; i < typed.num_inputs(); ++i) {
    inputs.push_back(typed.input(i));
    if (!has_known_extents(inputs.back())) return {};
  }
  const auto derivation = derivation_of(*typed.op(), typed.attrs_ref(), inputs, {});
  // The operator's relation refuses it, with the place.
  if (!derivation->refusal.empty()) return {};
  const std::vector<bool>& read = derivation->read;
  size_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* tuple = inputs[i]->as<TupleType>();
    const size_t count = tuple == nullptr ? 1 : tuple->fields().size();
    bool any = false;
    for (size_t k = 0; k < count; ++k) any = any || read[next++];
    if (!any) args[i] = zeros_in_place_of(args[i], inputs[i]);
  }
  return derivation->outputs;
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
  const auto derivation = derivation_of(op, call.attrs_ref(), inputs, given);
  if (!derivation->refusal.empty()) call.fail(refusal(op, derivation->refusal));
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
  std::vector<Plain> plain = leave_out_unread(call, args);
  ExprRef all = call_op(name, args, call.call.attrs_ref());
  std::vector<TypeRef> floats;
  for (size_t i = 0; i < call.call.num_inputs(); ++i) float_tensors(call.call.input(i), floats);
  plain.resize(floats.size());
  size_t tensors = 0;  // among the inputs; the gradients that are given come after them
  for (size_t i = 0; i < call.call.num_inputs(); ++i) tensors += count_tensors(call.call.input(i));
  uint32_t next = 0;
  auto take = [&] {
    uint32_t k = next++;
    if (plain[k].input && *plain[k].input >= tensors)
      return with_shape(given[*plain[k].input - tensors], floats[k], plain[k].reshaped);
    return floats.size() == 1 ? all : make_projection(all, k);
  };
  std::vector<ExprRef> result;
  for (size_t i = 0; i < call.call.num_inputs(); ++i) {
    const TypeRef& type = call.call.input(i);
    std::vector<TypeRef> mine;
    float_tensors(type, mine);
    const auto first = plain.begin() + next;
    if (std::all_of(first, first + static_cast<std::ptrdiff_t>(mine.size()),
                    [](const Plain& one) { return one.zero; })) {
      result.emplace_back();  // nothing, or nothing but zeros
      next += static_cast<uint32_t>(mine.size());
    } else if (const auto* tuple = type->as<TupleType>()) {
      const ExprRef& arg = call.args[i];
      std::vector<ExprRef> fields;
      for (size_t k = 0; k < tuple->fields().size(); ++k) {
        const TypeRef& field = tuple->fields()[k];
        if (gradient_type({&field, 1})) {
          fields.push_back(take());
        } else {  // what is no float has zeros
          fields.push_back(zeros_of(
              field.get(), arg->is<Tuple>() ? arg->operands()[k]
                                            : make_projection(arg, static_cast<uint32_t>(k))));
        }
      }
      result.push_back(relay::make_tuple(fields));
    } else {
      result.push_back(take());
    }
  }
  return result;
}

namespace {

/// The operator that `op` is the gradient of, if it is derived from an operator that is linear in
/// each of its inputs, all of which are tensors of floats; null otherwise.
const Operator* product_of(const GradientCall& call) {
  const std::string_view name = call.call.op()->name().view();
  if (!name.starts_with(kGradientPrefix)) return nullptr;
  const Operator* product = find_op(Name(name.substr(kGradientPrefix.size())));
  if (product->definition() != DefinitionKind::kCompute || is_gradient_name(product->name()))
    return nullptr;
  const size_t n = product->num_inputs();
  std::vector<TypeRef> inputs;
  for (size_t i = 0; i < n; ++i) {
    inputs.push_back(call.call.input(i));
    const auto* tensor = inputs[i]->as<TensorType>();
    if (tensor == nullptr || !tensor->dtype().is_float() || !has_known_extents(inputs[i]))
      return nullptr;
  }
  if (n < 2 || call.call.num_inputs() != n + 1 || call.call.input(n)->is<TupleType>())
    return nullptr;
  const te::Computation computation =
      build_computation(OpCall(product, call.call.attrs_ref(), inputs, call.call.input(n)));
  for (size_t i = 0; i < n; ++i) {
    std::vector<bool> chosen(n, false);
    chosen[i] = true;
    const std::vector<te::Dependence> found = te::dependence_on(computation, chosen);
    if (found.size() != 1 || found[0] != te::Dependence::kLinear) return nullptr;
  }
  return product;
}

// With T(x…, g) = ⟨g, f(x…)⟩, the gradient of f for x_i is ∂T/∂x_i. Gradients h_i of these give
// Σ ⟨h_i, ∂T/∂x_i⟩, which is the sum of T with h_i in the place of x_i.
std::vector<ExprRef> gradients_of_product(const GradientCall& call, const Operator& product) {
  const size_t n = product.num_inputs();
  const TypeRef& result = call.call.input(n);
  std::vector<ExprRef> gradients(n + 1);
  for (size_t i = 0; i < n; ++i) {
    if (!call.gradients[i]) continue;
    std::vector<ExprRef> args(call.args.begin(),
                              call.args.begin() + static_cast<std::ptrdiff_t>(n));
    args[i] = call.gradients[i];
    std::vector<TypeRef> types;
    for (size_t k = 0; k < n; ++k) types.push_back(call.call.input(k));
    const ExprRef value = make_call(make_op(&product), args, call.call.attrs_ref());
    const ExprRef given[] = {call.args[n]};
    const OpCall moved(&product, call.call.attrs_ref(), types, result);
    const std::vector<ExprRef> parts = gradients_of({moved, args, value, given});
    for (size_t k = 0; k < n; ++k) {
      if (k != i) gradients[k] = sum(gradients[k], parts[k]);
    }
    gradients[n] = sum(gradients[n], value);
  }
  return gradients;
}

/// The gradients that are given, with zeros where nothing flows.
std::vector<ExprRef> with_zeros(const GradientCall& call) {
  std::vector<ExprRef> given(call.gradients.begin(), call.gradients.end());
  const TypeRef& type = call.call.output();
  const auto* tuple = type->as<TupleType>();
  for (size_t k = 0; k < given.size(); ++k) {
    const TypeRef& tensor = tuple == nullptr ? type : tuple->fields()[k];
    if (given[k] || !gradient_type({&tensor, 1})) continue;
    given[k] = zeros_of(tensor.get(), tuple == nullptr
                                          ? call.result
                                          : make_projection(call.result, static_cast<uint32_t>(k)));
  }
  return given;
}

}  // namespace

std::vector<ExprRef> gradients_of(const GradientCall& call) {
  const Operator& op = *call.call.op();
  const GradientEntry* entry = gradient_column().find(&op);
  if (entry == nullptr) {
    if (const Operator* product = product_of(call)) return gradients_of_product(call, *product);
  }
  const std::vector<ExprRef> given = with_zeros(call);
  const GradientCall whole{call.call, call.args, call.result, given};
  if (entry == nullptr) return derived_gradients(whole);
  if (!entry->rule) throw Error(refusal(op, entry->none));
  std::vector<ExprRef> gradients = entry->rule(whole);
  RELAY_CHECK(gradients.size() == op.num_inputs(),
              "the gradient rule of " + op.name().str() + " gives another number of gradients");
  return gradients;
}

}  // namespace relay
