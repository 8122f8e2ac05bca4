// FuseOps: operator calls that become one kernel are put into a function of their own.
#include <algorithm>
#include <map>
#include <unordered_map>

#include <relay/ir/rewrite.h>
#include <relay/ir/tensor_types.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/op/registry/forms.h>
#include <relay/support/pointer_map.h>
#include <relay/transform/fusion.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_program.h>

namespace relay {
namespace {

constexpr int64_t kDefaultDepth = 256;

struct FuseOptions {
  size_t max_size;
  bool through_reshapes;
  bool around_folds;
  bool constants_inside;         // those of any rank
  bool number_constants_inside;  // those of rank 0
};

struct Member {
  uint32_t group;
  bool root;
};

bool same_shape(const Type* a, const Type* b) {
  const auto* left = a->as<TensorType>();
  const auto* right = b->as<TensorType>();
  return left != nullptr && right != nullptr && left->shape() == right->shape();
}

// Finds the groups of one global function.
class Grouping {
 public:
  Grouping(const View& view, FusionKinds& kinds, const FuseOptions& options)
      : view_(view),
        scopes_(view.scopes()),
        kinds_(kinds),
        options_(options),
        graph_(options.around_folds) {}

  /// The calls, tuples and projections that go into kernels.
  PointerMap<Expr, Member> run() {
    number_nodes();
    add_edges();
    PointerMap<Expr, Member> members;
    if (graph_nodes_.empty()) return members;
    std::vector<uint32_t> groups = graph_.partition(options_.max_size);
    std::vector<char> has_call(groups.size(), 0);
    for (uint32_t i = 0; i < groups.size(); ++i)
      has_call[groups[i]] |= view_.kind(graph_nodes_[i]) == ExprKind::kCall;
    for (uint32_t i = 0; i < groups.size(); ++i) {
      if (has_call[groups[i]]) members[view_.expr(graph_nodes_[i])] = {groups[i], groups[i] == i};
    }
    return members;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  FusionGraph::Kind kind_of(const CallFusion& fusion, const Expr* call) const {
    const FusionGraph::Kind kind = FusionGraph::kind_of(fusion.kind);
    if (options_.through_reshapes && fusion.reshape_only && kind == FusionGraph::Kind::kInjective)
      return FusionGraph::Kind::kReshape;
    // A call with several results is a kernel by itself, unless it only moves elements.
    const bool apart = !options_.around_folds && call->type()->is<TupleType>();
    return apart && kind <= FusionGraph::Kind::kBroadcast ? FusionGraph::Kind::kOutElementwise
                                                          : kind;
  }

  void number_nodes() {
    std::vector<char> in_kernel = primitive_regions(scopes_.regions());
    graph_of_.assign(view_.size(), kNone);
    for (uint32_t id = 0; id < view_.size(); ++id) {
      const Expr* expr = view_.expr(id);
      FusionGraph::Kind kind;
      bool product = false;
      if (const auto* call = expr->as<Call>()) {
        const std::optional<CallFusion>& fusion = kinds_.find(*call);
        if (!fusion) continue;
        kind = kind_of(*fusion, expr);
        product = fusion->kind == te::FusionKind::kOutElementwise;
      } else if (expr->is<Tuple>() && is_tuple_of_tensors(expr->type())) {
        kind = FusionGraph::Kind::kTuple;
      } else if (expr->is<TupleGetItem>() && is_tuple_of_tensors(expr->operands()[0]->type())) {
        kind = FusionGraph::Kind::kInjective;
      } else {
        continue;
      }
      if (in_kernel[scopes_.home(id)] != 0) continue;
      graph_of_[id] = graph_.add(kind, product && options_.through_reshapes);
      graph_nodes_.push_back(id);
    }
  }

  void add_edges() {
    for (uint32_t id = 0; id < view_.size(); ++id) {
      const Expr* expr = view_.expr(id);
      const std::span<const uint32_t> operands = view_.operands(id);
      for (size_t i = 0; i < operands.size(); ++i) {
        const uint32_t operand = operands[i];
        if (graph_of_[operand] == kNone) continue;
        if (graph_of_[id] == kNone || scopes_.home(operand) != scopes_.home(id)) {
          graph_.use_outside(graph_of_[operand]);
          continue;
        }
        FusionGraph::Kind kind = FusionGraph::Kind::kInjective;
        if (const auto* call = expr->as<Call>()) {
          const CallFusion& fusion = *kinds_.find(*call);
          kind = kind_of(fusion, expr);
          bool same = same_shape(expr->operands()[i]->type(), expr->type());
          if (kind == FusionGraph::Kind::kBroadcast && same) kind = FusionGraph::Kind::kElementwise;
          // The operands of rows are computed where the rows are read, as for a reduction.
          bool rows = options_.around_folds && i > 0 &&
                      std::find(fusion.rows.begin(), fusion.rows.end(), i - 1) != fusion.rows.end();
          if (rows && same) kind = FusionGraph::Kind::kReduction;
        }
        graph_.use(graph_of_[operand], graph_of_[id], kind);
      }
    }
    for (uint32_t scope = 1; scope < scopes_.count(); ++scope) {
      const uint32_t value = view_.operands(scopes_[scope].owner)[scopes_[scope].operand];
      if (graph_of_[value] != kNone) graph_.use_outside(graph_of_[value]);
    }
  }

  const View& view_;
  const Scopes& scopes_;
  FusionKinds& kinds_;
  const FuseOptions& options_;
  FusionGraph graph_;
  std::vector<uint32_t> graph_of_;     // nodes of the graph
  std::vector<uint32_t> graph_nodes_;  // … and back
};

// Writes the functions. Members of a group become its body, whatever else they use its parameters.
class Fuser final : public Rewriter {
 public:
  /// `ordered`: arguments of groups may have effects.
  Fuser(const PointerMap<Expr, Member>& members, FusionKinds& kinds, const FuseOptions& options,
        bool ordered)
      : members_(members), kinds_(kinds), options_(options), ordered_(ordered) {}

 private:
  struct Group {
    std::vector<VarRef> params;
    std::vector<ExprRef> args;
    std::unordered_map<const Expr*, VarRef> param_of;
    bool reshape_only = true;
  };

  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    // It has kept groups apart, which is all that it is for.
    if (is_stop_fusion(expr)) return operands[1];
    const Member* member = members_.find(expr);
    if (member == nullptr) return rebuild(expr, operands);
    Group& group = groups_[member->group];
    const auto* call = expr->as<Call>();
    group.reshape_only &= call != nullptr && kinds_.find(*call)->reshape_only;
    std::vector<ExprRef> inner;
    for (uint32_t i = 0; i < operands.size(); ++i)
      inner.push_back(is_inside(expr, i, *member)
                          ? operands[i]
                          : param(group, operands[i], expr->operands()[i]->type()));
    ExprRef body = rebuild(expr, inner);
    if (body->type() == nullptr) body->publish_type(TypeRef(expr->type()));
    if (!member->root) return body;

    std::map<Name, AttrValue> attrs{{"Primitive", AttrValue(int64_t{1})}};
    if (group.reshape_only) attrs.emplace("relay.reshape_only", AttrValue(int64_t{1}));
    std::vector<TypeRef> types;
    for (const VarRef& var : group.params) types.emplace_back(var->type());
    TypeRef type(expr->type());
    FunctionRef function = make_function(group.params, body, type->closed() ? type : TypeRef(), {},
                                         {}, make_dict_attrs(std::move(attrs)), expr->span());
    function->set_type(FuncType::make(std::move(types), type));
    ExprRef fused = make_call(function, group.args, {}, {}, expr->span());
    fused->set_type(type);
    groups_.erase(member->group);
    return fused;
  }

  // Arguments with effects are computed in the order in which the group reads them, since one may
  // write what another reads: what an operator reads before a member is an argument before the
  // member's own.
  void before(const Expr* expr, uint32_t operand, std::span<const ExprRef> done) override {
    const Member* member = ordered_ ? members_.find(expr) : nullptr;
    if (operand == 0 || member == nullptr || is_inside(expr, operand - 1, *member)) return;
    param(groups_[member->group], done[operand - 1], expr->operands()[operand - 1]->type());
  }

  // True if an operand of a member is part of the body.
  bool is_inside(const Expr* expr, uint32_t operand, const Member& member) const {
    const Expr* old = expr->operands()[operand].get();
    if (old->is<Op>()) return true;
    const Member* other = members_.find(old);
    if (other != nullptr && other->group == member.group) return true;
    const auto* call = expr->as<Call>();
    if (call == nullptr || operand == 0) return stays(old, false);
    const std::vector<uint32_t>& read = kinds_.find(*call)->constants_read;
    return stays(old, std::find(read.begin(), read.end(), operand - 1) != read.end());
  }

  // True if a constant is part of the body.
  bool stays(const Expr* expr, bool value) const {
    const auto* constant = expr->as<Constant>();
    if (constant == nullptr) return false;
    return value || options_.constants_inside ||
           (constant->data().rank() == 0 && options_.number_constants_inside);
  }

  static ExprRef param(Group& group, const ExprRef& arg, const Type* type) {
    VarRef& var = group.param_of[arg.get()];
    if (!var) {
      TypeRef declared(type->closed() ? type : nullptr);
      var = make_var("p" + std::to_string(group.params.size()), declared, arg->span());
      var->set_type(TypeRef(type));
      group.params.push_back(var);
      group.args.push_back(arg);
    }
    return var;
  }

  const PointerMap<Expr, Member>& members_;
  FusionKinds& kinds_;
  FuseOptions options_;
  bool ordered_;
  std::unordered_map<uint32_t, Group> groups_;
};

// True if an operator is called outside of kernels. A walk that numbers nothing: most functions of
// a module that was fused before have none.
bool calls_operators(const Function* function) {
  PointerSet<Expr> seen;
  std::vector<const Expr*> stack{function};
  while (!stack.empty()) {
    const Expr* expr = stack.back();
    stack.pop_back();
    const auto operands = expr->operands();
    if (operands.empty()) continue;
    if (!expr->has_one_owner() && !seen.insert(expr)) continue;
    if (called_op(expr) != nullptr) return true;
    const auto* inner = expr->as<Function>();
    if (inner != nullptr && is_primitive(inner)) continue;
    for (const ExprRef& operand : operands) stack.push_back(operand.get());
  }
  return false;
}

FunctionRef fuse(const FunctionRef& function, const Module& module, const FuseOptions& options) {
  if (is_primitive(function.get()) || !calls_operators(function.get())) return function;
  FusionKinds kinds;
  const Program program = program_of(module);
  PointerMap<Expr, Member> members = Grouping(program.view(function), kinds, options).run();
  bool stops = false;
  if (members.empty()) {
    post_order(function.get(), [&](const Expr* expr) { stops |= is_stop_fusion(expr); });
    if (!stops) return function;
  }
  ExprRef result = Fuser(members, kinds, options, program.effects().any()).run(function);
  return FunctionRef(result->as<Function>());
}

RELAY_REGISTER_CONFIG({"relay.FuseOps.max_depth", int64_t{kDefaultDepth},
                       "The greatest number of operators in one group.", int64_t{1}});
RELAY_REGISTER_CONFIG({"relay.FuseOps.link_params", false,
                       "Leaves constants inside of the groups that read them."});

RELAY_REGISTER_PASS({
    {"FuseOps",
     0,
     {ProgramState::kTyped},
     "Puts operator calls that can be computed together into functions marked `Primitive=1`: "
     "chains of elementwise, broadcasting and injective operators, with a contraction or softmax "
     "whose result they work on, or a reduction that reads their "
     "result, up to the node that all ways lead to. The compiler itself fuses more, with the "
     "options. Nothing crosses a branch, a clause, a "
     "function or a let. Constants other than numbers become arguments. Configuration: "
     "`relay.FuseOps.max_depth` (operators in a group, at most), `relay.FuseOps.link_params` "
     "(constants stay inside)."},
    {{"fuse_opt_level",
      "0 gives each operator a function of its own; -1 is the level of the context.", int64_t{-1},
      OptionEntries::kTexts, -1, 4},
     {"through_reshapes",
      "Elementwise work on the result of a contraction also follows it through reshapes.", false},
     {"around_folds",
      "Elementwise work on the result of a reduction joins it too, as do injective operators that "
      "it "
      "reads, elementwise work that a softmax or norm reads, and what reads a result of several.",
      false}},
    [](const PassInfo& info, const PassOptions& options) {
      auto level = option<int64_t>(options, "fuse_opt_level");
      bool reshapes = option<bool>(options, "through_reshapes");
      bool folds = option<bool>(options, "around_folds");
      return make_function_pass(
          info, [level, reshapes, folds](const FunctionRef& function, const Module& module,
                                         const PassContext& context) {
            bool alone = (level < 0 ? context.opt_level : level) == 0;
            int64_t depth = context.config_value<int64_t>("relay.FuseOps.max_depth");
            FuseOptions chosen{};
            chosen.max_size = alone ? 1 : static_cast<size_t>(std::max<int64_t>(depth, 1));
            chosen.through_reshapes = reshapes;
            chosen.around_folds = folds;
            chosen.constants_inside = context.config_value<bool>("relay.FuseOps.link_params");
            chosen.number_constants_inside = !alone;
            return fuse(function, module, chosen);
          });
    },
});

}  // namespace
}  // namespace relay
