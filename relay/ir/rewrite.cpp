#include <relay/ir/rewrite.h>

#include <relay/ir/visit.h>

namespace relay {

ExprRef Rewriter::run(const ExprRef& root) {
  // The memory is of one outermost run: it refers to nodes that the caller keeps alive only as
  // long.
  struct Scope {
    Rewriter& self;
    explicit Scope(Rewriter& rewriter) : self(rewriter) { ++self.active_; }
    ~Scope() {
      if (--self.active_ == 0) self.memo_.clear();
    }
  } scope(*this);

  struct Frame {
    const Expr* expr;
    uint32_t next;
    uint32_t count;
    bool shared;
  };
  std::vector<Frame> stack;
  std::vector<ExprRef> done;  // results of the operands of all frames, each frame's contiguous

  // Pushes a frame, or the result if it exists already.
  auto visit = [&](const Expr* expr) {
    bool shared = !expr->has_one_owner();
    if (shared) {
      if (const ExprRef* known = memo_.find(expr)) {
        done.push_back(*known);
        return;
      }
    }
    if (ExprRef result = enter(expr)) {
      if (shared) memo_[expr] = result;
      done.push_back(std::move(result));
      return;
    }
    stack.push_back({expr, 0, static_cast<uint32_t>(expr->operands().size()), shared});
  };

  visit(root.get());
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next < frame.count) {
      const Expr* expr = frame.expr;
      uint32_t operand = frame.next++;
      before(expr, operand, std::span<const ExprRef>(done).last(operand));
      visit(expr->operands()[operand].get());
      continue;
    }
    Frame last = frame;
    stack.pop_back();
    ExprRef result = rewrite(last.expr, std::span<const ExprRef>(done).last(last.count));
    if (last.shared) memo_[last.expr] = result;
    done.resize(done.size() - last.count);
    done.push_back(std::move(result));
  }
  return std::move(done.back());
}

namespace {

class LambdaRewriter final : public Rewriter {
 public:
  using Function = std::function<ExprRef(const Expr*, std::span<const ExprRef>)>;
  explicit LambdaRewriter(const Function& function) : function_(function) {}

 private:
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    ExprRef result = function_(expr, operands);
    return result ? result : rebuild(expr, operands);
  }
  const Function& function_;
};

class Substituter final : public Rewriter {
 public:
  using Map = std::unordered_map<const Var*, ExprRef>;
  Substituter(const Map& map, const PointerSet<Var>& bound) : map_(map), bound_(bound) {}

 private:
  ExprRef enter(const Expr* expr) override {
    const auto* var = expr->as<Var>();
    if (var == nullptr || bound_.contains(var)) return {};
    auto found = map_.find(var);
    return found == map_.end() ? ExprRef() : found->second;
  }
  const Map& map_;
  const PointerSet<Var>& bound_;
};

// Calls `visit` on each variable that a node binds.
template <class Visit>
void for_each_binder(const Expr* expr, const Visit& visit) {
  if (const auto* function = expr->as<Function>()) {
    for (const VarRef& param : function->params()) visit(param);
  } else if (const auto* let = expr->as<Let>()) {
    visit(let->var());
  } else if (const auto* match = expr->as<Match>()) {
    for (const PatternRef& pattern : match->patterns()) {
      for (const VarRef& var : pattern_vars(pattern.get())) visit(var);
    }
  }
}

class Copier final : public Rewriter {
 public:
  using Types = std::function<TypeRef(const TypeRef&)>;
  Copier(const Types& types, bool all) : types_(types), all_(all) {}

 private:
  ExprRef enter(const Expr* expr) override {
    if (const auto* var = expr->as<Var>()) {
      const VarRef* found = fresh_.find(var);
      return found == nullptr ? ExprRef(expr) : ExprRef(*found);
    }
    if (expr->is<Op>() || expr->is<Constructor>()) return ExprRef(expr);
    for_each_binder(expr, [this](const VarRef& var) {
      VarRef copy = make_var(var->name(), map(var->annotation()), var->span());
      if (const Type* type = var->type(); type != nullptr && (types_ || !all_))
        copy->set_type(map(TypeRef(type)));
      fresh_[var.get()] = std::move(copy);
    });
    return {};
  }

  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    ExprRef copy = rebuild_fields(expr, operands);
    if (all_ && copy.get() == expr && !expr->is<Constant>()) copy = clone_node(expr);
    if (!types_ && all_) return copy;
    if (!types_) {
      // A new variable has its old one's type, so the type of what holds it is the old one too.
      if (copy.get() != expr && copy->type() == nullptr && same_types(expr, operands)) {
        if (const Type* type = expr->type()) copy->set_type(TypeRef(type));
      }
      return copy;
    }
    const Type* old = expr->type();
    if (old == nullptr) return copy;
    TypeRef type = map(TypeRef(old));
    if (copy.get() == expr) {
      if (type == old) return copy;
      copy = clone_node(expr);
    }
    copy->set_type(std::move(type));
    return copy;
  }

  static bool same_types(const Expr* expr, std::span<const ExprRef> operands) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i]->type() != expr->operands()[i]->type()) return false;
    }
    return true;
  }

  ExprRef rebuild_fields(const Expr* expr, std::span<const ExprRef> operands) {
    if (const auto* function = expr->as<Function>()) return copy_function(*function, operands);
    if (const auto* let = expr->as<Let>()) {
      return make_let(fresh(let->var()), operands[0], operands[1], let->span());
    }
    if (const auto* match = expr->as<Match>()) {
      std::vector<PatternRef> patterns;
      for (const PatternRef& pattern : match->patterns()) patterns.push_back(copy(pattern));
      return make_match(operands[0], std::move(patterns), operands.subspan(1), match->complete(),
                        match->span());
    }
    const auto* call = expr->as<Call>();
    if (call != nullptr && types_ && !call->type_args().empty()) {
      std::vector<TypeRef> type_args;
      for (const TypeRef& arg : call->type_args()) type_args.push_back(map(arg));
      if (type_args != call->type_args()) {
        return make_call(operands[0], operands.subspan(1), call->attrs(), std::move(type_args),
                         call->span());
      }
    }
    return rebuild(expr, operands);
  }

  ExprRef copy_function(const Function& function, std::span<const ExprRef> operands) {
    std::vector<VarRef> params;
    for (const VarRef& param : function.params()) params.push_back(fresh(param));
    std::vector<TypeVarRef> type_params = function.type_params();
    std::vector<RelationTypeRef> constraints = function.constraints();
    if (types_) {
      // A parameter that became another variable is renamed; one that became a type is gone.
      std::vector<TypeVarRef> kept;
      for (const TypeVarRef& var : type_params) {
        TypeRef mapped = map(var->kind() == Kind::kShapeVar ? DimType::make(Dim::symbol(var.get()))
                                                            : TypeRef(var));
        const TypeVar* renamed = mapped->as<TypeVar>();
        if (const auto* dim = mapped->as<DimType>()) renamed = dim->dim().as_symbol();
        if (renamed != nullptr) kept.emplace_back(renamed);
      }
      type_params = std::move(kept);
      for (RelationTypeRef& constraint : constraints) {
        TypeRef mapped = map(TypeRef(constraint));
        RELAY_CHECK(mapped->is<RelationType>(), "a constraint became another type");
        constraint = RelationTypeRef(mapped->as<RelationType>());
      }
    }
    return make_function(std::move(params), operands[0], map(function.ret_type()),
                         std::move(type_params), std::move(constraints), function.attrs(),
                         function.span());
  }

  PatternRef copy(const PatternRef& pattern) {
    switch (pattern->kind()) {
      case PatternKind::kWildcard:
        return pattern;
      case PatternKind::kVar:
        return Pattern::var(fresh(pattern->var()), pattern->span());
      case PatternKind::kConstructor:
      case PatternKind::kTuple: {
        std::vector<PatternRef> fields;
        for (const PatternRef& field : pattern->fields()) fields.push_back(copy(field));
        return pattern->kind() == PatternKind::kTuple
                   ? Pattern::tuple(std::move(fields), pattern->span())
                   : Pattern::constructor(pattern->constructor(), std::move(fields),
                                          pattern->span());
      }
    }
    RELAY_UNREACHABLE("unknown pattern");
  }

  VarRef fresh(const VarRef& var) const { return *fresh_.find(var.get()); }
  TypeRef map(const TypeRef& type) const { return type && types_ ? types_(type) : type; }

  const Types& types_;
  const bool all_;  // nodes without bound variables are copied, too
  PointerMap<Var, VarRef> fresh_;
};

}  // namespace

ExprRef rewrite_post_order(
    const ExprRef& root,
    const std::function<ExprRef(const Expr* expr, std::span<const ExprRef> operands)>& rewrite) {
  return LambdaRewriter(rewrite).run(root);
}

ExprRef substitute(const ExprRef& root,
                   const std::unordered_map<const Var*, ExprRef>& replacement) {
  if (replacement.empty()) return root;
  PointerSet<Var> bound;  // of those to replace: not free
  post_order(root.get(), [&](const Expr* expr) {
    for_each_binder(expr, [&](const VarRef& var) {
      if (replacement.count(var.get()) != 0) bound.insert(var.get());
    });
  });
  return Substituter(replacement, bound).run(root);
}

ExprRef copy_with_fresh_vars(const ExprRef& root,
                             const std::function<TypeRef(const TypeRef&)>& types) {
  return Copier(types, false).run(root);
}

ExprRef copy_nodes(const ExprRef& root, const std::function<TypeRef(const TypeRef&)>& types) {
  return Copier(types, true).run(root);
}

}  // namespace relay
