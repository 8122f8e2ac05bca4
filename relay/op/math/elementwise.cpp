#include <relay/op/math/elementwise.h>

namespace relay {

namespace {

TypeRef infer_predicate(const RelationCall& call) {
  return TensorType::make(call.tensor(0).dims, kBool);
}
const Relation* predicate_relation() {
  static const Relation* relation =
      register_relation({"Predicate", Relation::Form::kGeneral, infer_predicate,
                         "A tensor in, bool of the same shape out."});
  return relation;
}

std::string example_dtype(DTypes dtypes) {
  for (DType dtype : {kFloat32, kInt32, kBool}) {
    if (dtypes.contains(dtype)) return std::string(dtype.name());
  }
  RELAY_UNREACHABLE("an elementwise operator without a usual dtype");
}

const char* example_vector(DTypes dtypes) {
  if (dtypes.contains(kFloat32)) return "[0.25, 0.5, 1]";
  return dtypes.contains(kInt32) ? "[1, 2, 5]" : "[True, False, True]";
}

OpBuilder& unary(std::string_view name, std::string doc, DTypes dtypes, const Relation* relation,
                 ValueSpec result, std::function<te::Scalar(te::Scalar)> f) {
  return declare_op(name)
      .doc(std::move(doc))
      .input("data", "Tensor of any shape.", tensor('T', dtypes))
      .output("result", "Tensor of the data's shape.", result)
      .example(
          "fn (%x: Tensor[(3), " + example_dtype(dtypes) + "]) { " + std::string(name) + "(%x) }",
          example_vector(dtypes))
      .relation(relation)
      .compute([f = std::move(f)](const OpCall& call, te::Builder& b) {
        te::Tensor data = b.input(0);
        b.output(b.map(call.result().dims, [&](te::Indices i) { return f(data(i)); }));
      });
}

OpBuilder& binary(std::string_view name, std::string doc, DTypes dtypes, const Relation* relation,
                  ValueSpec result, std::function<te::Scalar(te::Scalar, te::Scalar)> f) {
  return declare_op(name)
      .doc(std::move(doc))
      .input("lhs", "Left operand.", tensor('T', dtypes))
      .input("rhs", "Right operand; the shapes broadcast as in NumPy.", tensor('T'))
      .output("result", "Tensor of the broadcast shape.", result)
      .example("fn (%x: Tensor[(3), " + example_dtype(dtypes) + "], %y: " + example_dtype(dtypes) +
                   ") { " + std::string(name) + "(%x, %y) }",
               dtypes == DTypes(kBool) ? "[True, False, True]" : "[5, 3, 2]",
               dtypes == DTypes(kBool) ? "True" : "3")
      .relation(relation)
      .compute([f = std::move(f)](const OpCall& call, te::Builder& b) {
        te::Tensor lhs = b.input(0);
        te::Tensor rhs = b.input(1);
        b.output(b.map(call.result().dims,
                       [&](te::Indices i) { return f(lhs.broadcast(i), rhs.broadcast(i)); }));
      });
}

}  // namespace

OpBuilder& declare_unary(std::string_view name, std::string doc, DTypes dtypes,
                         std::function<te::Scalar(te::Scalar)> f) {
  return unary(name, std::move(doc), dtypes, identity_relation(), tensor('T'), std::move(f));
}

OpBuilder& declare_predicate(std::string_view name, std::string doc, DTypes dtypes,
                             std::function<te::Scalar(te::Scalar)> f) {
  return unary(name, std::move(doc), dtypes, predicate_relation(), tensor(kBool), std::move(f));
}

OpBuilder& declare_binary(std::string_view name, std::string doc, DTypes dtypes,
                          std::function<te::Scalar(te::Scalar, te::Scalar)> f) {
  return binary(name, std::move(doc), dtypes, broadcast_relation(), tensor('T'), std::move(f));
}

OpBuilder& declare_compare(std::string_view name, std::string doc, DTypes dtypes,
                           std::function<te::Scalar(te::Scalar, te::Scalar)> f) {
  return binary(name, std::move(doc), dtypes, compare_relation(), tensor(kBool), std::move(f));
}

}  // namespace relay
