// A plug-in with defects, for reduce_test.py.
#include <csignal>

#include <relay/ir/rewrite.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/plugin.h>
#include <relay/transform/pass.h>

using namespace relay;

namespace {

bool calls(const Expr* expr, std::string_view op) {
  const auto* call = expr->as<Call>();
  const auto* callee = call == nullptr ? nullptr : call->callee()->as<Op>();
  return callee != nullptr && callee->op()->name().view() == op;
}

// A pass that does `act` with each call of an operator.
void declare(const char* name, const char* op,
             ExprRef (*act)(const Expr*, std::span<const ExprRef> operands)) {
  PassInfo info;
  info.name = name;
  info.doc = "Wrong on purpose.";
  register_pass({info, {}, [op, act](const PassInfo& named, const PassOptions&) {
                   return make_function_pass(named, [op, act](const FunctionRef& function,
                                                              const Module&, const PassContext&) {
                     ExprRef result = rewrite_post_order(
                         function, [&](const Expr* e, std::span<const ExprRef> operands) {
                           return calls(e, op) ? act(e, operands) : ExprRef();
                         });
                     return FunctionRef(result->as<Function>());
                   });
                 }});
}

void compute_halve(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  b.output(b.map(call.result().dims, [&](te::Indices i) { return data(i) * 0.5; }));
}

}  // namespace

RELAY_PLUGIN() {
  declare("DefectThrows", "erf", [](const Expr*, std::span<const ExprRef>) -> ExprRef {
    throw InternalError("internal error: erf of something");
  });
  declare("DefectCrashes", "cos", [](const Expr*, std::span<const ExprRef>) -> ExprRef {
    std::raise(SIGSEGV);
    return {};
  });
  declare("DefectHangs", "sin", [](const Expr*, std::span<const ExprRef>) -> ExprRef {
    for (volatile bool forever = true; forever;) {
    }
    return {};
  });
  declare("DefectDiffers", "ceil", [](const Expr*, std::span<const ExprRef> operands) {
    return call_op("floor", {operands[1]});
  });
  // The machine runs what CanonicalizeOps makes of a call, which is not what the operator is.
  declare_op("defect.halve")
      .doc("Half of each element.")
      .input("data", "Tensor of floats of any shape.", tensor('T', kFloats))
      .output("result", "Tensor of the data's shape.", tensor('T'))
      .example("fn (%x: Tensor[(3), float32]) { defect.halve(%x) }", "[1, 2, 3]")
      .no_data("a defect")
      .relation(identity_relation())
      .column(canonical_form(),
              [](const OpCall&, std::span<const ExprRef> args) {
                return call_op("negative", {args[0]});
              })
      .compute(compute_halve);
}
