// Finds loops and the ways through their bodies.
#include <relay/transform/gradient/loops.h>

#include <relay/infer/infer.h>
#include <relay/ir/result_names.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/transform/gradient/leaves.h>
#include <relay/transform/gradient/parts.h>
#include <relay/transform/lets.h>

namespace relay::grad {
namespace {

// The limits of all ways together; beyond them, closures on a tape are smaller.
constexpr size_t kMaxWays = 64;
constexpr size_t kMaxWayNodes = 100'000;

bool has_static_types(const Function& function) {
  if (!function.type_params().empty() || is_marked(function.attrs()) ||
      function.body()->type() == nullptr)
    return false;
  for (const VarRef& param : function.params()) {
    if (!is_static(param->type())) return false;
  }
  return is_static(function.body()->type());
}

bool names(const Expr* expr, const Name& name) {
  const auto* global = expr->as<GlobalVar>();
  return global != nullptr && global->name() == name;
}

// The nodes that mention a name, at any depth.
PointerSet<Expr> nodes_with(const Expr* root, const Name& name) {
  PointerSet<Expr> found;
  post_order(root, [&](const Expr* expr) {
    bool with = names(expr, name);
    for (const ExprRef& operand : expr->operands()) with = with || found.contains(operand.get());
    if (with) found.insert(expr);
  });
  return found;
}

}  // namespace

// Gives the loops of calls their names in the target.
class Loops::Renamer final : public Rewriter {
 public:
  Renamer(Loops& all, Name own, Name renamed)
      : all_(all), own_(std::move(own)), renamed_(std::move(renamed)) {}
  bool failed() const { return failed_; }

 private:
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    const auto* global = expr->as<GlobalVar>();
    if (global == nullptr || failed_) return rebuild(expr, operands);
    if (global->name() == own_) return make_global_var(renamed_, expr->span());
    const Loop* loop = all_.loop_of(global->name());
    failed_ = failed_ || loop == nullptr;
    return loop == nullptr ? ExprRef(expr) : make_global_var(loop->name, expr->span());
  }

  Loops& all_;
  const Name own_;
  const Name renamed_;
  bool failed_ = false;
};

bool Loops::rename_calls(const FunctionRef& function, const Name& own, const Name& renamed,
                         FunctionRef& result) {
  Renamer renamer(*this, own, renamed);
  const ExprRef made = renamer.run(function);
  if (renamer.failed()) return false;
  result = FunctionRef(copy_with_fresh_vars(made)->as<Function>());
  return true;
}

void Loops::add_as(const Name& name, FunctionRef function) {
  target_.add_function(name, std::move(function));
  made_.push_back(name);
}

FunctionRef Loops::prepare(const FunctionRef& function) {
  FunctionRef renamed;
  if (!rename_calls(function, Name(), Name(), renamed)) return {};
  Module scratch = target_;
  const Name name = scratch.fresh_name("differentiated");
  scratch.add_function(name, renamed);
  infer_types_or_throw(scratch);
  return FunctionRef(scratch.function(name));
}

bool Loops::is_loop_call(const Expr* expr) const {
  const auto* call = expr->as<Call>();
  const auto* name = call == nullptr ? nullptr : call->callee()->as<GlobalVar>();
  return name != nullptr && loops_.count(name->name()) != 0;
}

// A function that is being looked at is no loop for others: they call each other.
const Loops::Loop* Loops::loop_of(const Name& name) {
  auto [entry, fresh] = names_.try_emplace(name);
  if (fresh) {
    Loop loop;
    if (make_loop(name, loop)) {
      names_[name] = loop.name;
      loops_[loop.name] = std::move(loop);
    }
  }
  const Name& known = names_.at(name);
  auto found = loops_.find(known);
  return found == loops_.end() ? nullptr : &found->second;
}

bool Loops::make_loop(const Name& name, Loop& loop) {
  FunctionRef function(whole_.function(name));
  if (!function || !has_static_types(*function)) return false;
  function = with_calls_inlined(function, whole_);
  const FunctionRef empty =
      make_function({}, make_tuple(std::vector<ExprRef>()), TupleType::make({}));
  loop.base = name.str();
  loop.name = target_.fresh_name(loop.base);
  add_as(loop.name, empty);  // takes the name
  FunctionRef renamed;
  if (!rename_calls(function, name, loop.name, renamed)) return false;
  target_.update_function(loop.name, renamed);
  Module typed = target_;
  infer_types_or_throw(typed);
  loop.function = FunctionRef(typed.function(loop.name));
  target_.update_function(loop.name, loop.function);
  if (!find_ways(loop)) return false;
  for (const Way& way : loop.ways) {
    if (not_dataflow(*way_function(loop, way, {}), this) != nullptr) return false;
  }
  return true;
}

// The loop's name may stand at the ends of ways alone.
bool Loops::find_ways(Loop& loop) {
  const auto mentions = nodes_with(loop.function->body().get(), loop.name);
  struct Start {
    const Expr* expr;
    std::vector<std::pair<const Expr*, size_t>> path;
  };
  std::vector<Start> work{{loop.function->body().get(), {}}};
  size_t nodes = 0;
  while (!work.empty()) {
    Start at = std::move(work.back());
    work.pop_back();
    const auto* let = at.expr->as<Let>();
    while (let != nullptr) {
      if (let->body().get() == let->var().get()) {
        at.expr = let->value().get();
      } else {
        if (mentions.contains(let->value().get())) return false;
        at.path.emplace_back(let, 1);
        at.expr = let->body().get();
      }
      let = at.expr->as<Let>();
    }
    nodes += at.path.size() + 1;
    if (nodes > kMaxWayNodes || loop.ways.size() + work.size() > kMaxWays) return false;
    const bool mentioned = mentions.contains(at.expr);
    if (at.expr->is<If>() && mentioned) {
      if (mentions.contains(at.expr->operands()[0].get())) return false;
      for (size_t branch : {2, 1}) {
        Start next{at.expr->operands()[branch].get(), at.path};
        next.path.emplace_back(at.expr, branch);
        work.push_back(std::move(next));
      }
      continue;
    }
    if (mentioned) {
      const auto* call = at.expr->as<Call>();
      if (call == nullptr || !names(call->callee().get(), loop.name)) return false;
      for (const ExprRef& arg : call->args()) {
        if (mentions.contains(arg.get())) return false;
      }
    }
    loop.ways.push_back({std::move(at.path), at.expr, mentioned});
  }
  loop.invariant.assign(loop.function->params().size(), true);
  bool again = false;
  for (const Way& way : loop.ways) {
    again = again || way.again;
    for (size_t i = 0; way.again && i < loop.invariant.size(); ++i) {
      const auto& args = static_cast<const Call*>(way.end)->args();
      if (args[i].get() != loop.function->params()[i].get()) loop.invariant[i] = false;
    }
  }
  return again;
}

// The computation of a way: the result, or the arguments of the next turn that are `active`, or all
// of them if that is empty.
FunctionRef Loops::way_function(const Loop& loop, const Way& way, const std::vector<bool>& active) {
  ExprRef body(way.end);
  if (way.again) {
    std::vector<ExprRef> args;
    for (size_t i = 0; i < loop.function->params().size(); ++i) {
      if (active.empty() || active[i]) args.push_back(static_cast<const Call*>(way.end)->args()[i]);
    }
    body = make_tuple(args);
  }
  for (size_t i = way.path.size(); i-- > 0;) {
    const auto* let = way.path[i].first->as<Let>();
    if (let != nullptr) body = make_let(let->var(), let->value(), std::move(body), let->span());
  }
  FunctionRef function = make_function(loop.function->params(), std::move(body), {}, {}, {}, {},
                                       loop.function->span());
  function = without_dead_lets(function);
  Module scratch = target_;
  const Name name = scratch.fresh_name("way");
  scratch.add_function(name, FunctionRef(copy_with_fresh_vars(function)->as<Function>()));
  infer_types_or_throw(scratch);
  return FunctionRef(scratch.function(name));
}

FunctionRef loop_gradient(const Module& whole, const FunctionRef& function, Module& module,
                          const GradientForm& form) {
  Module with = module;
  Loops loops(whole, with);
  const FunctionRef prepared = loops.prepare(function);
  if (!prepared || not_dataflow(*prepared, &loops) != nullptr) return {};
  FunctionRef found = dataflow_gradient(*prepared, form, &loops);
  loops.remove_unused(found.get());
  module = std::move(with);
  return found;
}

void Loops::remove_unused(const Expr* root) {
  std::unordered_map<Name, bool> unused;
  for (const Name& name : made_) unused[name] = true;
  std::vector<FunctionRef> keep;
  std::vector<const Expr*> work{root};
  while (!work.empty()) {
    const Expr* at = work.back();
    work.pop_back();
    visit_each(at, [&](const Expr* expr) {
      const auto* global = expr->as<GlobalVar>();
      if (global == nullptr) return true;
      auto found = unused.find(global->name());
      if (found == unused.end() || !found->second) return true;
      found->second = false;
      keep.emplace_back(target_.function(global->name()));
      work.push_back(keep.back().get());
      return true;
    });
  }
  for (const Name& name : made_) {
    if (unused.at(name)) target_.remove_function(name);
  }
}

}  // namespace relay::grad
