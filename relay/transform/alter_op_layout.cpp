// AlterOpLayout: functions that are attached to operators choose the layouts of calls.
#include <relay/infer/infer.h>
#include <relay/op/registry/attached.h>
#include <relay/op/registry/layout.h>
#include <relay/support/error.h>
#include <relay/transform/layouts.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

class LayoutAlterer final : public LayoutRewriter {
 private:
  std::optional<Written> write(const Call& call, const OpCall& typed,
                               const std::function<ExprRef(size_t)>& argument) override {
    ExpandFn alter = attached_rewrite(typed.op(), kAlterLayoutKey);
    if (!alter) return std::nullopt;
    std::vector<VarRef> names;
    std::vector<ExprRef> args;
    for (size_t i = 0; i < typed.num_inputs(); ++i) {
      names.push_back(make_var(typed.op()->inputs()[i].name, typed.input(i), call.span()));
      names.back()->set_type(typed.input(i));
      args.emplace_back(names.back());
    }
    ExprRef made = alter(typed, args);
    if (!made) return std::nullopt;
    try {
      return placed(typed, made, names, argument);
    } catch (const Error& error) {
      Diagnostic diagnostic = Diagnostic::error(
          "the function that is attached to " + typed.op()->name().str() + " as " +
              std::string(kAlterLayoutKey) + " makes a call that does not fit: " + error.what(),
          call.span());
      throw Error(std::move(diagnostic));
    }
  }

  static std::optional<Written> placed(const OpCall& before, const ExprRef& made,
                                       const std::vector<VarRef>& names,
                                       const std::function<ExprRef(size_t)>& argument) {
    std::unordered_map<const Var*, ExprRef> arguments;
    for (size_t i = 0; i < names.size(); ++i) arguments[names[i].get()] = argument(i);
    const Operator* op = called_op(made.get());
    const auto* call = op == nullptr ? nullptr : made->as<Call>();
    AttrsRef attrs = call == nullptr ? AttrsRef() : call->attrs();
    if (op != nullptr && !attrs && op->attrs_schema() != nullptr)
      attrs = Attrs::make(*op->attrs_schema(), {}, {});
    auto old = operand_layouts(*before.op(), before.attrs_ref(), before.num_inputs());
    auto now = op == nullptr ? std::nullopt : operand_layouts(*op, attrs, op->num_inputs());
    if (!old || !now || before.num_inputs() != op->num_inputs()) {
      if (infer_expr_type(made, Module()) != before.output())
        throw Error("its result is of another type than " + before.output()->str());
      return Written{{}, {}, {}, substitute(made, arguments)};
    }
    Written written{call->callee(), {attrs, {}, {}}, {}, {}};
    std::vector<TypeRef> types;
    for (size_t i = 0; i < names.size(); ++i) {
      const Arrangement wanted = from_to(old->inputs[i], now->inputs[i]);
      const ExprRef& arg = call->args()[i];
      types.push_back(arranged_type(before.input(i), wanted));
      written.flow.inputs.push_back({wanted});
      if (arg == ExprRef(names[i])) continue;
      // The value that the function has made: in the layout that the call names, or as the program
      // has it.
      ExprRef own = substitute(arg, arguments);
      TypeRef type = infer_expr_type(arg, Module());
      if (type != types.back() && type == before.input(i))
        own = make_layout_transform(own, wanted.axes, wanted.stored, made->span());
      else
        types.back() = type;
      written.made[i] = std::move(own);
    }
    const Arrangement result = from_to(old->result, now->result);
    const TypeRef wanted = arranged_type(before.output(), result);
    const TypeRef found = infer_call_type(op, types, attrs);
    if (found != wanted)
      throw Error("its result is of type " + (found ? found->str() : std::string("unknown")) +
                  ", not " + wanted->str());
    written.flow.results = {result};
    return written;
  }

  static Arrangement from_to(const std::string& before, const std::string& after) {
    return before == after ? Arrangement() : Arrangement{before, after};
  }
};

RELAY_REGISTER_PASS({
    {"AlterOpLayout",
     3,
     {ProgramState::kTyped},
     "Lets functions that are attached to operators choose the layouts of calls: each gives a call "
     "whose attributes name other layouts. The pass transforms what the call takes and gives, and "
     "other operators follow as in ConvertLayout. Nothing is attached by the library itself, whose "
     "compiler packs operands where that is faster."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_function_pass(
          info, [](const FunctionRef& function, const Module&, const PassContext&) {
            return any_attached(kAlterLayoutKey) ? LayoutAlterer().apply(function) : function;
          });
    },
});

}  // namespace
}  // namespace relay
