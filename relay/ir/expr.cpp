#include <relay/ir/constructor_tags.h>
#include <relay/ir/effects.h>
#include <relay/ir/expr.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <new>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include <relay/ir/visit.h>
#include <relay/support/error.h>
#include <relay/support/fork_mutex.h>

namespace relay {

std::string_view expr_kind_name(ExprKind kind) {
  switch (kind) {
#define RELAY_NODE(Kind, doc, operands, fields) \
  case ExprKind::k##Kind:                       \
    return #Kind;
#include <relay/ir/nodes.def>
  }
  return "unknown";
}

// ---- Types ------------------------------------------------------------------------------------

void Expr::set_type(TypeRef type) const {
  settled_.store(false, std::memory_order_relaxed);
  const Type* before = type_.exchange(type.detach(), std::memory_order_acq_rel);
  if (before != nullptr) before->release();
}

bool Expr::publish_type(const TypeRef& type) const {
  const Type* there = nullptr;
  if (type_.compare_exchange_strong(there, type.get(), std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
    (void)TypeRef(type).detach();  // the node's now
    return true;
  }
  return there == type.get();
}

// ---- Construction and freeing -----------------------------------------------------------------

struct ExprFactory {
  template <class T>
  static constexpr size_t header_size() {
    constexpr size_t kAlign = alignof(ExprRef);
    constexpr size_t kSize = (sizeof(T) + kAlign - 1) / kAlign * kAlign;
    static_assert(kSize < 256 && alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    return kSize;
  }

  static ExprRef* operands(Expr* expr) {
    return reinterpret_cast<ExprRef*>(reinterpret_cast<char*>(expr) + expr->operands_offset_);
  }

  // A node with `count` null operands, to be filled before anybody sees it.
  template <class T>
  static T* allocate(size_t count, Span span) {
    constexpr size_t kHeader = header_size<T>();
    if (count > UINT32_MAX) throw Error("an expression has too many operands", span);
    void* memory = ::operator new(kHeader + count * sizeof(ExprRef));
    T* node = new (memory) T(span);
    node->operands_offset_ = static_cast<uint8_t>(kHeader);
    node->num_operands_ = static_cast<uint32_t>(count);
    ExprRef* slots = operands(node);
    for (size_t i = 0; i < count; ++i) new (slots + i) ExprRef();
    return node;
  }

  template <class T>
  static T* with_operands(Span span, std::span<const ExprRef> children) {
    T* node = allocate<T>(children.size(), span);
    ExprRef* slots = operands(node);
    for (size_t i = 0; i < children.size(); ++i) slots[i] = children[i];
    return node;
  }

  // A node that is complete.
  template <class T>
  static Ref<const T> adopt(T* node) {
    uint8_t parts = own_part(*node);
    for (const ExprRef& operand : node->operands()) {
      if (operand) parts |= operand->parts_;
    }
    node->parts_ = parts;
    return Ref<const T>::adopt(node);
  }

  template <class T>
  static uint8_t own_part(const T& node) {
    constexpr ExprKind kKind = T::kKind;
    if constexpr (kKind == ExprKind::kLiteral) {
      return static_cast<uint8_t>(ExprPart::kNumber);
    } else if constexpr (kKind == ExprKind::kGlobalVar) {
      return static_cast<uint8_t>(ExprPart::kGlobal);
    } else if constexpr (kKind == ExprKind::kConstructor || kKind == ExprKind::kMatch) {
      return static_cast<uint8_t>(ExprPart::kData);
    } else if constexpr (kKind == ExprKind::kRefCreate || kKind == ExprKind::kRefRead ||
                         kKind == ExprKind::kRefWrite) {
      return static_cast<uint8_t>(ExprPart::kEffect);
    } else if constexpr (kKind == ExprKind::kOp) {
      const bool acts = operator_acts != nullptr && operator_acts(node.op());
      return acts ? static_cast<uint8_t>(ExprPart::kEffect) : uint8_t{0};
    } else if constexpr (kKind == ExprKind::kTempExpr) {
      return static_cast<uint8_t>(ExprPart::kTemp);
    } else {
      return 0;
    }
  }

  // Never recurses: a node whose last owner goes while another one is being freed waits in a list,
  // linked through the place of its type. Nothing is allocated, so nothing can fail.
  static void free(const Expr* dead) noexcept {
    thread_local const Expr* waiting = nullptr;
    thread_local bool active = false;
    if (const Type* type = dead->type_.load(std::memory_order_acquire)) type->release();
    set_link(dead, waiting);
    waiting = dead;
    if (active) return;
    active = true;
    while (waiting != nullptr) {
      const Expr* expr = waiting;
      waiting = link(expr);
      destroy(expr);
    }
    active = false;
  }

  static void set_link(const Expr* expr, const Expr* next) noexcept {
    expr->type_.store(reinterpret_cast<const Type*>(next), std::memory_order_relaxed);
  }
  static const Expr* link(const Expr* expr) noexcept {
    return reinterpret_cast<const Expr*>(expr->type_.load(std::memory_order_relaxed));
  }

  static void destroy(const Expr* expr) noexcept {
    Expr* node = const_cast<Expr*>(expr);
    ExprRef* slots = operands(node);
    for (uint32_t i = 0; i < node->num_operands_; ++i) slots[i].~ExprRef();
    switch (node->kind()) {
#define RELAY_NODE(Kind, doc, operands, fields) \
  case ExprKind::k##Kind:                       \
    static_cast<Kind*>(node)->~Kind();          \
    break;
#include <relay/ir/nodes.def>
    }
    ::operator delete(node);
  }

  // Copies the fields of a node to a fresh one of its class.
  template <class T>
  static void copy_fields(T& to, const T& from);

  template <class T>
  static T* copy(const T& old, std::span<const ExprRef> children) {
    constexpr bool kVariadic = std::is_same_v<T, Tuple> || std::is_same_v<T, Call>;
    RELAY_CHECK(children.size() == old.operands().size() || kVariadic,
                "a rebuilt node has another number of operands");
    T* node = with_operands<T>(old.span(), children);
    copy_fields(*node, old);
    return node;
  }

  // `_` alone asks for nothing: it is no annotation.
  static TypeRef stated(TypeRef annotation) {
    return annotation == IncompleteType::hole() ? TypeRef() : std::move(annotation);
  }

  // ---- The nodes ----

  static VarRef var(Name name, TypeRef annotation, Span span) {
    Var* node = allocate<Var>(0, span);
    node->name_ = name;
    node->annotation_ = stated(std::move(annotation));
    return adopt(node);
  }
  static ExprRef global_var(Name name, Span span) {
    GlobalVar* node = allocate<GlobalVar>(0, span);
    node->name_ = name;
    return adopt(node);
  }
  static ExprRef constant(NDArray data, Span span) {
    Constant* node = allocate<Constant>(0, span);
    node->data_ = std::move(data);
    return adopt(node);
  }
  static ExprRef literal(LiteralValue value, Span span) {
    Literal* node = allocate<Literal>(0, span);
    node->value_ = value;
    return adopt(node);
  }
  static ExprRef projection(ExprRef tuple, uint32_t index, Span span) {
    TupleGetItem* node = allocate<TupleGetItem>(1, span);
    operands(node)[0] = std::move(tuple);
    node->index_ = index;
    return adopt(node);
  }
  static ExprRef call(ExprRef callee, std::span<const ExprRef> args, AttrsRef attrs,
                      std::vector<TypeRef> type_args, Span span) {
    Call* node = allocate<Call>(args.size() + 1, span);
    ExprRef* slots = operands(node);
    slots[0] = std::move(callee);
    for (size_t i = 0; i < args.size(); ++i) slots[i + 1] = args[i];
    node->attrs_ = std::move(attrs);
    node->type_args_ = std::move(type_args);
    return adopt(node);
  }
  static FunctionRef function(std::vector<VarRef> params, ExprRef body, TypeRef ret_type,
                              std::vector<TypeVarRef> type_params,
                              std::vector<RelationTypeRef> constraints, AttrsRef attrs, Span span) {
    Function* node = allocate<Function>(1, span);
    operands(node)[0] = std::move(body);
    node->params_ = std::move(params);
    node->ret_type_ = stated(std::move(ret_type));
    node->type_params_ = std::move(type_params);
    node->constraints_ = std::move(constraints);
    node->attrs_ = std::move(attrs);
    return adopt(node);
  }
  static ExprRef let(VarRef var, ExprRef value, ExprRef body, Span span) {
    Let* node = allocate<Let>(2, span);
    operands(node)[0] = std::move(value);
    operands(node)[1] = std::move(body);
    node->var_ = std::move(var);
    return adopt(node);
  }
  static ExprRef match(ExprRef data, std::vector<PatternRef> patterns,
                       std::span<const ExprRef> bodies, bool complete, Span span) {
    Match* node = allocate<Match>(bodies.size() + 1, span);
    ExprRef* slots = operands(node);
    slots[0] = std::move(data);
    for (size_t i = 0; i < bodies.size(); ++i) slots[i + 1] = bodies[i];
    node->patterns_ = std::move(patterns);
    node->complete_ = complete;
    return adopt(node);
  }
  static ExprRef op(const Operator* op) {
    Op* node = allocate<Op>(0, {});
    node->op_ = op;
    return adopt(node);
  }
  static ConstructorRef constructor(Name name, GlobalTypeVarRef type_name, uint32_t tag,
                                    std::vector<TypeRef> inputs, Span span) {
    Constructor* node = allocate<Constructor>(0, span);
    node->name_ = name;
    node->type_name_ = std::move(type_name);
    node->ctor_tag_ = tag;
    node->inputs_ = std::move(inputs);
    return adopt(node);
  }
  static void number(const Constructor& constructor, uint32_t tag) {
    const_cast<Constructor&>(constructor).ctor_tag_ = tag;
  }
  static ExprRef temp(ExprRef value, std::shared_ptr<const void> payload, Span span) {
    TempExpr* node = allocate<TempExpr>(1, span);
    operands(node)[0] = std::move(value);
    node->payload_ = std::move(payload);
    return adopt(node);
  }
};

#define RELAY_OPERAND(name, index)
#define RELAY_OPERANDS(name, from)
#define RELAY_FIELD(type, name) to.name##_ = from.name##_;
#define RELAY_TYPE(name) to.name##_ = from.name##_;
#define RELAY_TYPES(name) to.name##_ = from.name##_;
#define RELAY_BINDER(name) to.name##_ = from.name##_;
#define RELAY_BINDERS(name) to.name##_ = from.name##_;
#define RELAY_TYPE_PARAMS(name) to.name##_ = from.name##_;
#define RELAY_CONSTRAINTS(name) to.name##_ = from.name##_;
#define RELAY_PATTERNS(name) to.name##_ = from.name##_;
#define RELAY_NODE(Kind, doc, operands, fields)                            \
  template <>                                                              \
  void ExprFactory::copy_fields<Kind>([[maybe_unused]] Kind & to,          \
                                      [[maybe_unused]] const Kind& from) { \
    fields                                                                 \
  }
#include <relay/ir/nodes.def>

void Expr::free(const Expr* expr) noexcept { ExprFactory::free(expr); }

VarRef make_var(Name name, TypeRef annotation, Span span) {
  return ExprFactory::var(name, std::move(annotation), span);
}
ExprRef make_global_var(Name name, Span span) { return ExprFactory::global_var(name, span); }
ExprRef make_constant(NDArray data, Span span) {
  RELAY_CHECK(static_cast<bool>(data), "a constant without data");
  if (data.size() > 1) data = data.compact();
  return ExprFactory::constant(std::move(data), span);
}
ExprRef make_literal(LiteralValue value, Span span) { return ExprFactory::literal(value, span); }
ExprRef make_tuple(std::span<const ExprRef> fields, Span span) {
  return ExprFactory::adopt(ExprFactory::with_operands<Tuple>(span, fields));
}
ExprRef make_projection(ExprRef tuple, uint32_t index, Span span) {
  return ExprFactory::projection(std::move(tuple), index, span);
}
ExprRef make_call(ExprRef callee, std::span<const ExprRef> args, AttrsRef attrs,
                  std::vector<TypeRef> type_args, Span span) {
  return ExprFactory::call(std::move(callee), args, std::move(attrs), std::move(type_args), span);
}
FunctionRef make_function(std::vector<VarRef> params, ExprRef body, TypeRef ret_type,
                          std::vector<TypeVarRef> type_params,
                          std::vector<RelationTypeRef> constraints, AttrsRef attrs, Span span) {
  return ExprFactory::function(std::move(params), std::move(body), std::move(ret_type),
                               std::move(type_params), std::move(constraints), std::move(attrs),
                               span);
}
ExprRef make_let(VarRef var, ExprRef value, ExprRef body, Span span) {
  return ExprFactory::let(std::move(var), std::move(value), std::move(body), span);
}
ExprRef make_if(ExprRef condition, ExprRef then_branch, ExprRef else_branch, Span span) {
  const ExprRef children[] = {std::move(condition), std::move(then_branch), std::move(else_branch)};
  return ExprFactory::adopt(ExprFactory::with_operands<If>(span, children));
}
ExprRef make_match(ExprRef data, std::vector<PatternRef> patterns, std::span<const ExprRef> bodies,
                   bool complete, Span span) {
  RELAY_CHECK(patterns.size() == bodies.size(), "a match with other patterns than clauses");
  return ExprFactory::match(std::move(data), std::move(patterns), bodies, complete, span);
}
ExprRef make_op(const Operator* op) {
  struct Table {
    ForkMutex mutex;
    std::unordered_map<const Operator*, ExprRef> nodes;
  };
  static Table* table = new Table;
  std::lock_guard lock(table->mutex);
  ExprRef& node = table->nodes[op];
  if (!node) node = ExprFactory::op(op);
  return node;
}
ConstructorRef make_constructor(Name name, GlobalTypeVarRef type_name, uint32_t tag,
                                std::vector<TypeRef> inputs, Span span) {
  return ExprFactory::constructor(name, std::move(type_name), tag, std::move(inputs), span);
}
void number_constructor(const Constructor& constructor, uint32_t tag) {
  RELAY_CHECK(constructor.ctor_tag() == kUnnumbered, "a constructor is numbered once");
  ExprFactory::number(constructor, tag);
}
ExprRef make_ref_create(ExprRef value, Span span) {
  return ExprFactory::adopt(ExprFactory::with_operands<RefCreate>(span, {&value, 1}));
}
ExprRef make_ref_read(ExprRef ref, Span span) {
  return ExprFactory::adopt(ExprFactory::with_operands<RefRead>(span, {&ref, 1}));
}
ExprRef make_ref_write(ExprRef ref, ExprRef value, Span span) {
  const ExprRef children[] = {std::move(ref), std::move(value)};
  return ExprFactory::adopt(ExprFactory::with_operands<RefWrite>(span, children));
}
ExprRef make_temp(ExprRef value, std::shared_ptr<const void> payload, Span span) {
  return ExprFactory::temp(std::move(value), std::move(payload), span);
}

ExprRef rebuild(const Expr* old, std::span<const ExprRef> operands) {
  std::span<const ExprRef> before = old->operands();
  bool same = before.size() == operands.size();
  bool same_types = same;
  for (size_t i = 0; i < before.size() && same_types; ++i) {
    if (before[i] == operands[i]) continue;
    same = false;
    const Type* type = before[i]->type();
    same_types = type != nullptr && type == operands[i]->type();
  }
  if (same) return ExprRef(old);
  ExprRef node = visit_node(*old, [&](const auto& typed) -> ExprRef {
    return ExprFactory::adopt(ExprFactory::copy(typed, operands));
  });
  if (const Type* type = old->type(); type != nullptr && same_types) node->set_type(TypeRef(type));
  return node;
}

FunctionRef with_body(const FunctionRef& function, ExprRef body) {
  return FunctionRef(rebuild(function.get(), {&body, 1})->as<Function>());
}

FunctionRef with_body(const FunctionRef& function, std::vector<VarRef> params, ExprRef body) {
  if (params == function->params()) return with_body(function, std::move(body));
  std::vector<RelationTypeRef> constraints = function->constraints();
  for (RelationTypeRef& relation : constraints) {
    if (!relation->args().empty()) continue;
    // It is of the parameters that there were, and of the result.
    std::vector<TypeRef> args;
    for (const VarRef& param : function->params()) args.push_back(param->annotation());
    args.push_back(function->ret_type());
    if (std::find(args.begin(), args.end(), TypeRef()) != args.end()) {
      throw Error(Diagnostic::error("relation " + relation_name(relation->relation()).str() +
                                        " is of all parameters and the result, which must be "
                                        "annotated before parameters can change",
                                    function->span()));
    }
    int inputs = static_cast<int>(args.size()) - 1;
    relation = RelationType::make(relation->relation(), std::move(args), inputs, relation->attrs());
  }
  return make_function(std::move(params), std::move(body), function->ret_type(),
                       function->type_params(), std::move(constraints), function->attrs(),
                       function->span());
}

ExprRef clone_node(const Expr* old) {
  return visit_node(*old, [&](const auto& typed) -> ExprRef {
    return ExprFactory::adopt(ExprFactory::copy(typed, typed.operands()));
  });
}

// ---- Patterns ---------------------------------------------------------------------------------

void Pattern::release() const noexcept {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  std::vector<PatternRef> waiting = std::move(const_cast<Pattern*>(this)->fields_);
  delete this;
  while (!waiting.empty()) {
    PatternRef field = std::move(waiting.back());
    waiting.pop_back();
    if (field->refs_.load(std::memory_order_acquire) != 1 || field->fields_.empty()) continue;
    auto& inner = const_cast<Pattern*>(field.get())->fields_;
    waiting.insert(waiting.end(), std::make_move_iterator(inner.begin()),
                   std::make_move_iterator(inner.end()));
    inner.clear();
  }
}

void Pattern::set_fields(std::vector<PatternRef> fields) {
  for (const PatternRef& field : fields) depth_ = std::max(depth_, field->depth_ + 1);
  if (depth_ > kMaxDepth) {
    throw Error("a pattern is nested deeper than " + std::to_string(kMaxDepth), span_);
  }
  fields_ = std::move(fields);
}

PatternRef Pattern::wildcard(Span span) {
  return PatternRef::adopt(new Pattern(PatternKind::kWildcard, span));
}
PatternRef Pattern::var(VarRef var, Span span) {
  auto* pattern = new Pattern(PatternKind::kVar, span);
  pattern->var_ = std::move(var);
  return PatternRef::adopt(pattern);
}
PatternRef Pattern::constructor(ConstructorRef constructor, std::vector<PatternRef> fields,
                                Span span) {
  auto* pattern = new Pattern(PatternKind::kConstructor, span);
  PatternRef result = PatternRef::adopt(pattern);
  pattern->constructor_ = std::move(constructor);
  pattern->set_fields(std::move(fields));
  return result;
}
PatternRef Pattern::tuple(std::vector<PatternRef> fields, Span span) {
  auto* pattern = new Pattern(PatternKind::kTuple, span);
  PatternRef result = PatternRef::adopt(pattern);
  pattern->set_fields(std::move(fields));
  return result;
}

namespace {
void collect_vars(const Pattern* pattern, std::vector<VarRef>& out) {
  if (pattern->kind() == PatternKind::kVar) out.push_back(pattern->var());
  for (const PatternRef& field : pattern->fields()) collect_vars(field.get(), out);
}
}  // namespace

std::vector<VarRef> pattern_vars(const Pattern* pattern) {
  std::vector<VarRef> vars;
  collect_vars(pattern, vars);
  return vars;
}

}  // namespace relay
