#include <relay/op/math/elementwise.h>

namespace relay {

namespace {

template <DTypeClass kClass>
void check_class(const RelationCall& call, DType dtype) {
  bool good = true;
  const char* wanted = "";
  if constexpr (kClass == DTypeClass::kNumeric) {
    good = dtype.is_numeric();
    wanted = "a number dtype";
  } else if constexpr (kClass == DTypeClass::kFloat) {
    good = dtype.is_float();
    wanted = "a floating-point dtype";
  } else if constexpr (kClass == DTypeClass::kInteger) {
    good = dtype.is_integer();
    wanted = "an integer dtype";
  } else if constexpr (kClass == DTypeClass::kIntegerOrBool) {
    good = dtype.is_integer() || dtype.is_bool();
    wanted = "an integer dtype or bool";
  } else if constexpr (kClass == DTypeClass::kBool) {
    good = dtype.is_bool();
    wanted = "dtype bool";
  }
  if (!good) call.fail(std::string("needs ") + wanted + ", found " + call.input(0)->str());
}

template <DTypeClass kClass>
TypeRef infer_identity_of(const RelationCall& call) {
  check_class<kClass>(call, call.tensor(0).dtype);
  return identity_relation()->infer(call);
}
template <DTypeClass kClass>
TypeRef infer_broadcast_of(const RelationCall& call) {
  check_class<kClass>(call, call.tensor(0).dtype);
  return broadcast_relation()->infer(call);
}
template <DTypeClass kClass>
TypeRef infer_compare_of(const RelationCall& call) {
  check_class<kClass>(call, call.tensor(0).dtype);
  return compare_relation()->infer(call);
}

const Relation* restricted(const char* base, Relation::Form form, DTypeClass dtypes,
                           Relation::Infer numeric, Relation::Infer floating,
                           Relation::Infer integer, Relation::Infer integer_or_bool,
                           Relation::Infer boolean) {
  struct Entry {
    DTypeClass dtypes;
    const char* suffix;
    Relation::Infer infer;
    const char* doc;
  };
  const Entry entries[] = {
      {DTypeClass::kNumeric, "Numeric", numeric, "numbers"},
      {DTypeClass::kFloat, "Float", floating, "floating-point numbers"},
      {DTypeClass::kInteger, "Integer", integer, "integers"},
      {DTypeClass::kIntegerOrBool, "IntegerOrBool", integer_or_bool, "integers or booleans"},
      {DTypeClass::kBool, "Bool", boolean, "booleans"}};
  for (const Entry& entry : entries) {
    if (entry.dtypes != dtypes) continue;
    std::string name = std::string(base) + entry.suffix;
    if (const Relation* known = find_relation(name)) return known;
    return register_relation(
        {name, form, entry.infer, std::string(base) + " on " + entry.doc + "."});
  }
  RELAY_UNREACHABLE("unknown dtype class");
}

TypeRef infer_predicate(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  return TensorType::make(data.dims, kBool);
}

}  // namespace

const Relation* identity_relation(DTypeClass dtypes) {
  if (dtypes == DTypeClass::kAny) return identity_relation();
  return restricted(
      "Identity", Relation::Form::kIdentity, dtypes, infer_identity_of<DTypeClass::kNumeric>,
      infer_identity_of<DTypeClass::kFloat>, infer_identity_of<DTypeClass::kInteger>,
      infer_identity_of<DTypeClass::kIntegerOrBool>, infer_identity_of<DTypeClass::kBool>);
}
const Relation* broadcast_relation(DTypeClass dtypes) {
  if (dtypes == DTypeClass::kAny) return broadcast_relation();
  return restricted(
      "Broadcast", Relation::Form::kBroadcast, dtypes, infer_broadcast_of<DTypeClass::kNumeric>,
      infer_broadcast_of<DTypeClass::kFloat>, infer_broadcast_of<DTypeClass::kInteger>,
      infer_broadcast_of<DTypeClass::kIntegerOrBool>, infer_broadcast_of<DTypeClass::kBool>);
}
const Relation* compare_relation(DTypeClass dtypes) {
  if (dtypes == DTypeClass::kAny) return compare_relation();
  return restricted(
      "BroadcastComp", Relation::Form::kCompare, dtypes, infer_compare_of<DTypeClass::kNumeric>,
      infer_compare_of<DTypeClass::kFloat>, infer_compare_of<DTypeClass::kInteger>,
      infer_compare_of<DTypeClass::kIntegerOrBool>, infer_compare_of<DTypeClass::kBool>);
}
const Relation* predicate_relation() {
  static const Relation* relation =
      register_relation({"Predicate", Relation::Form::kGeneral, infer_predicate,
                         "A tensor in, bool of the same shape out."});
  return relation;
}

OpBuilder& declare_unary(std::string_view name, std::string doc, const Relation* relation,
                         std::function<te::Scalar(te::Scalar)> f) {
  return declare_op(name)
      .doc(std::move(doc))
      .input("data", "Tensor of any shape.")
      .relation(relation)
      .compute([f = std::move(f)](const OpCall& call, te::Builder& b) {
        te::Tensor data = b.input(0);
        b.output(b.map(call.result().dims, [&](te::Indices i) { return f(data(i)); }));
      });
}

OpBuilder& declare_binary(std::string_view name, std::string doc, const Relation* relation,
                          std::function<te::Scalar(te::Scalar, te::Scalar)> f) {
  return declare_op(name)
      .doc(std::move(doc))
      .input("lhs", "Left operand.")
      .input("rhs", "Right operand; the shapes broadcast as in NumPy.")
      .relation(relation)
      .compute([f = std::move(f)](const OpCall& call, te::Builder& b) {
        te::Tensor lhs = b.input(0);
        te::Tensor rhs = b.input(1);
        b.output(b.map(call.result().dims,
                       [&](te::Indices i) { return f(lhs.broadcast(i), rhs.broadcast(i)); }));
      });
}

}  // namespace relay
