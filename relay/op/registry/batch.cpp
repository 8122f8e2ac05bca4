#include <relay/op/registry/batch.h>

#include <relay/op/registry/gradient.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/batch.h>

namespace relay {
namespace {

std::string no_lanes_for(const Operator& op, const std::string& why) {
  return op.name().str() + " has no form for many lanes: " + why;
}

/// The leading extents of the tensors in a type, left to right; nothing if one has none.
bool lanes_in(const TypeRef& type, std::vector<Dim>& out) {
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) {
      if (!lanes_in(field, out)) return false;
    }
    return true;
  }
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank() || tensor->dims().empty()) return false;
  out.push_back(tensor->dims()[0]);
  return true;
}

/// The type of one lane.
TypeRef one_lane(const TypeRef& type) {
  if (const auto* tuple = type->as<TupleType>()) {
    std::vector<TypeRef> fields;
    for (const TypeRef& field : tuple->fields()) fields.push_back(one_lane(field));
    return TupleType::make(std::move(fields));
  }
  const auto* tensor = type->as<TensorType>();
  return TensorType::make(ShapeType::make(tensor->dims().subspan(1)), tensor->dtype_type());
}

/// The type of all lanes; null if it is none of tensors.
TypeRef all_lanes(const TypeRef& type, const Dim& lanes) {
  if (const auto* tuple = type->as<TupleType>()) {
    std::vector<TypeRef> fields;
    for (const TypeRef& field : tuple->fields()) {
      fields.push_back(all_lanes(field, lanes));
      if (!fields.back()) return {};
    }
    return TupleType::make(std::move(fields));
  }
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank()) return {};
  std::vector<Dim> dims{lanes};
  dims.insert(dims.end(), tensor->dims().begin(), tensor->dims().end());
  return TensorType::make(ShapeType::make(dims), tensor->dtype_type());
}

Dim number_of_lanes(const std::vector<Dim>& extents) {
  for (const Dim& extent : extents) {
    if (!extent.is_int(1)) return extent;
  }
  return 1;
}

/// The inputs whose values decide extents of a type.
void inputs_read(const TypeRef& type, std::vector<uint32_t>& out) {
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) inputs_read(field, out);
    return;
  }
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank()) return;
  for (const Dim& dim : tensor->dims()) {
    for_each_atom(dim, [&](Dim atom) {
      if (atom.is_term() && atom.term().op == DimOp::kValue) out.push_back(atom.term().input);
    });
  }
}

bool shared(const TypeRef& input) {
  std::vector<Dim> extents;
  lanes_in(input, extents);
  return number_of_lanes(extents).is_int(1);
}

bool open_type(const TypeRef& type) {
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) {
      if (open_type(field)) return true;
    }
    return false;
  }
  const auto* tensor = type->as<TensorType>();
  if (!tensor->has_dtype()) return true;
  for (const Dim& dim : tensor->dims()) {
    if (dim.is_any() || dim.has_variable()) return true;
  }
  return false;
}

/// The computation of a call, given the types of all lanes.
te::Computation batched_computation(const Operator& op, const AttrsRef& attrs,
                                    std::span<const TypeRef> inputs, const TypeRef& result) {
  std::vector<TypeRef> lane;
  std::vector<Dim> extents;
  for (const TypeRef& input : inputs) {
    lanes_in(input, extents);
    lane.push_back(one_lane(input));
  }
  const OpCall call(&op, attrs, std::move(lane), one_lane(result));
  return te::batched(build_computation(call), number_of_lanes(extents), extents);
}

/// Hands what the relation of one lane asks on to the call.
class OneLane final : public DimSolver {
 public:
  explicit OneLane(const RelationCall& call) : call_(call) {}
  bool unify(Dim a, Dim b) override {
    call_.require_equal(a, b, "its extents do not fit: " + a.str() + " and " + b.str());
    return true;
  }
  void check(Dim a, Dim b, const std::string& message) override {
    call_.require_equal(a, b, message);
  }
  void may_fail(Dim term, const std::string& message, bool division) override {
    call_.explain(term, message, division);
  }

 private:
  const RelationCall& call_;
};

TypeRef infer_batch(const Operator& op, const RelationCall& call) {
  if (op.definition() == DefinitionKind::kExpand)
    call.fail(no_lanes_for(op, "it is written with other operators, whose forms are its own"));
  if (op.definition() != DefinitionKind::kCompute)
    call.fail(no_lanes_for(op, "it is no computation on tensors"));
  std::vector<TypeRef> lane, all;
  std::vector<Dim> extents;
  for (size_t i = 0; i < op.num_inputs(); ++i) {
    const size_t before = extents.size();
    call.require(lanes_in(call.input(i), extents),
                 "argument " + std::to_string(i + 1) +
                     " must be of tensors with a leading axis, one entry for each lane or 1");
    for (size_t k = before; k < extents.size(); ++k) {
      if (extents[k].has_variable()) return {};
    }
    all.push_back(call.input(i));
    lane.push_back(one_lane(call.input(i)));
  }
  const Dim lanes = number_of_lanes(extents);
  for (const Dim& extent : extents) {
    if (!extent.is_int(1))
      call.require_equal(extent, lanes,
                         "all arguments must have as many lanes, or 1: found " + lanes.str() +
                             " and " + extent.str());
  }
  OneLane solver(call);
  const RelationCall one(lane, call.attrs_ref(), &solver, [&](size_t i) -> std::optional<NDArray> {
    std::optional<NDArray> value = call.value(i);
    if (!value || value->shape().empty() || value->shape()[0] != 1) return std::nullopt;
    std::vector<int64_t> shape(value->shape().begin() + 1, value->shape().end());
    return value->contiguous().reshape(shape);
  });
  const TypeRef result = op.relation()->infer(one);
  if (!result) return {};
  std::vector<uint32_t> read;
  inputs_read(result, read);
  for (uint32_t i : read) {
    call.require(
        shared(call.input(i)),
        no_lanes_for(op, "the extents of its result are values of " + op.inputs()[i].name.str() +
                             ", which differ from lane to lane"));
  }
  bool counts = result->has_any_dim();
  for (const TypeRef& input : all) counts = counts && !input->has_any_dim();
  if (counts) call.fail(no_lanes_for(op, "it counts its results while it runs"));
  const TypeRef type = all_lanes(result, lanes);
  if (!type) call.fail(no_lanes_for(op, "its result is " + result->str()));
  bool known = !open_type(type);
  for (const TypeRef& input : all) known = known && !open_type(input);
  if (!known) return type;
  try {
    batched_computation(op, call.attrs_ref(), all, type);
  } catch (const te::NoBatch& error) {
    call.fail(no_lanes_for(op, error.what()));
  }
  return type;
}

ValueSpec with_axis(const ValueSpec& spec) {
  if (spec.role() == ValueSpec::Role::kUnstated || spec.role() == ValueSpec::Role::kValue)
    return spec;
  return spec.rank(spec.min_rank() + 1,
                   spec.max_rank() == kAnyRank ? kAnyRank : spec.max_rank() + 1);
}

}  // namespace

void derive_batch(const Operator& op, OpBuilder& derived) {
  derived.doc("Operator " + op.name().str() + " for each lane, derived from its definition.");
  derived.attrs(op.attrs_schema()).level(op.level());
  for (const OpInput& input : op.inputs())
    derived.input(input.name, input.doc, with_axis(input.spec));
  for (const OpOutput& output : op.outputs())
    derived.output(output.name, output.doc, with_axis(output.spec));
  if (!op.pure()) derived.impure();
  const std::string reason = no_gradient_reason(op);
  if (!reason.empty()) derived.no_gradient(reason);
  derived.relation(new Relation{Name(std::string(kBatchPrefix) + op.name().str()),
                                Relation::Form::kGeneral,
                                [&op](const RelationCall& call) { return infer_batch(op, call); },
                                "The relation of " + op.name().str() + " for each lane."});
  derived.compute([&op](const OpCall& call, te::Builder& b) {
    std::vector<TypeRef> inputs;
    for (size_t i = 0; i < call.num_inputs(); ++i) inputs.push_back(call.input(i));
    b = te::Builder(batched_computation(op, call.attrs_ref(), inputs, call.output()));
  });
}

}  // namespace relay
