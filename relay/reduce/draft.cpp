#include <relay/reduce/draft.h>

#include <algorithm>
#include <cstring>

#include <relay/support/error.h>

namespace relay::reduce {

// ---- Types and constants ----------------------------------------------------------------------

namespace {

std::vector<TypeRef> map_all(std::span<const TypeRef> types, const Mapping& mapping) {
  std::vector<TypeRef> result;
  for (const TypeRef& type : types) result.push_back(map_type(type, mapping));
  return result;
}

RelationTypeRef map_relation(const RelationTypeRef& relation, const Mapping& mapping) {
  return RelationType::make(relation->relation(), map_all(relation->args(), mapping),
                            relation->num_inputs(), relation->attrs());
}

Dim map_dim(Dim dim, const Mapping& mapping) {
  if (dim.is_int()) return mapping.dim ? mapping.dim(dim) : dim;
  if (!dim.has_symbol() || !mapping.var) return dim;
  return substitute(dim, [&](Dim atom) {
    const TypeVar* symbol = atom.as_symbol();
    TypeRef by = symbol == nullptr ? TypeRef() : mapping.var(symbol);
    const auto* type = by ? by->as<DimType>() : nullptr;
    return type == nullptr ? atom : type->dim();
  });
}

// True if a type parameter stays one.
bool stays(const TypeVar* var, const Mapping& mapping) { return !mapping.var || !mapping.var(var); }

}  // namespace

// Types nest no deeper than Type::kMaxDepth.
TypeRef map_type(const TypeRef& type, const Mapping& mapping) {
  if (!type || (!mapping.dim && !mapping.dtype && !mapping.var)) return type;
  if (const auto* var = type->as<TypeVar>()) {
    TypeRef by = mapping.var ? mapping.var(var) : TypeRef();
    return by ? by : type;
  }
  if (const auto* shape = type->as<ShapeType>()) {
    std::vector<Dim> dims;
    for (Dim dim : shape->dims()) dims.push_back(map_dim(dim, mapping));
    return ShapeType::make(dims);
  }
  if (const auto* base = type->as<BaseType>())
    return mapping.dtype ? BaseType::make(mapping.dtype(base->dtype())) : type;
  if (const auto* dim = type->as<DimType>()) return DimType::make(map_dim(dim->dim(), mapping));
  if (const auto* tensor = type->as<TensorType>())
    return TensorType::make(map_type(tensor->shape(), mapping),
                            map_type(tensor->dtype_type(), mapping));
  if (const auto* tuple = type->as<TupleType>())
    return TupleType::make(map_all(tuple->fields(), mapping));
  if (const auto* function = type->as<FuncType>()) {
    std::vector<TypeVarRef> params;
    for (const TypeVarRef& var : function->type_params()) {
      if (stays(var.get(), mapping)) params.push_back(var);
    }
    std::vector<RelationTypeRef> constraints;
    for (const RelationTypeRef& relation : function->constraints())
      constraints.push_back(map_relation(relation, mapping));
    return FuncType::make(map_all(function->params(), mapping),
                          map_type(function->result(), mapping), std::move(params),
                          std::move(constraints));
  }
  if (const auto* call = type->as<TypeCall>())
    return TypeCall::make(map_type(call->callee(), mapping), map_all(call->args(), mapping));
  if (const auto* ref = type->as<RefType>()) return RefType::make(map_type(ref->value(), mapping));
  return type;
}

NDArray fitted(const NDArray& array, ShapeView shape, DType dtype) {
  NDArray from = array.dtype() == dtype ? array : array.cast(dtype);
  if (std::equal(shape.begin(), shape.end(), from.shape().begin(), from.shape().end())) return from;
  if (from.size() == 0) return NDArray::zeros(shape, dtype);
  NDArray result = NDArray::empty(shape, dtype);
  auto* to = static_cast<std::byte*>(result.raw());
  for (int64_t i = 0; i < result.size(); ++i)
    std::memcpy(to + static_cast<size_t>(i) * dtype.size(), from.element(i % from.size()),
                dtype.size());
  return result;
}

// ---- Copying ----------------------------------------------------------------------------------

void Draft::replace(const Expr* node, ExprRef by) {
  auto [place, fresh] = replacements_.insert(node);
  if (fresh) *place = std::move(by);
}

// Copies expressions with a draft's changes. Its memory is of one function: functions share no
// nodes.
class Copier {
 public:
  using Constructors = std::unordered_map<const Constructor*, ConstructorRef>;
  Copier(const Draft& draft, const Constructors& constructors)
      : draft_(draft), constructors_(constructors) {}

  FunctionRef function(const Module::FunctionEntry& entry) {
    name_ = &entry.name;
    global_ = entry.function.get();
    ExprRef copy = run(global_);
    const auto* function = copy->as<Function>();
    RELAY_CHECK(function != nullptr, "a function was replaced");
    return FunctionRef(function);
  }

 private:
  struct Frame {
    const Expr* expr;
    uint32_t next = 0;
    uint32_t kept = 0;  // operands that are there
  };

  // The replacement of a node. Replacements of replacements end, since each is smaller.
  const Expr* resolve(const Expr* expr) const {
    for (size_t steps = 0; const ExprRef* by = draft_.replacements_.find(expr); ++steps) {
      if (steps > 100000) throw Error("changes that go in circles");
      expr = by->get();
    }
    return expr;
  }

  bool dropped(const Expr* expr, uint32_t operand) const {
    auto found = draft_.dropped_operands_.find(expr);
    if (found != draft_.dropped_operands_.end()) return found->second.count(operand) != 0;
    const auto* call = expr->as<Call>();
    if (call == nullptr || operand == 0 || draft_.dropped_params_.empty()) return false;
    const auto* global = call->callee()->as<GlobalVar>();
    if (global == nullptr) return false;
    auto params = draft_.dropped_params_.find(global->name());
    return params != draft_.dropped_params_.end() && params->second.count(operand - 1) != 0;
  }

  ExprRef run(const Expr* root) {
    std::vector<Frame> stack;
    std::vector<ExprRef> done;
    auto visit = [&](const Expr* expr) {
      expr = resolve(expr);
      if (const auto* var = expr->as<Var>()) {
        done.push_back(fresh(VarRef(var)));
      } else if (const ExprRef* known = copies_.find(expr)) {
        done.push_back(*known);
      } else {
        if (stack.size() > kMost) throw Error("changes that go in circles");
        stack.push_back({expr});
      }
    };
    visit(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      std::span<const ExprRef> operands = frame.expr->operands();
      while (frame.next < operands.size() && dropped(frame.expr, frame.next)) ++frame.next;
      if (frame.next < operands.size()) {
        const Expr* operand = operands[frame.next++].get();
        ++frame.kept;
        visit(operand);
        continue;
      }
      Frame last = frame;
      stack.pop_back();
      ExprRef copy = copy_node(last.expr, std::span<const ExprRef>(done).last(last.kept));
      copies_[last.expr] = copy;
      done.resize(done.size() - last.kept);
      done.push_back(std::move(copy));
    }
    return done.back();
  }

  VarRef fresh(const VarRef& var) {
    if (const VarRef* known = vars_.find(var.get())) return *known;
    auto annotation = draft_.annotations_.find(var.get());
    TypeRef type = annotation == draft_.annotations_.end()
                       ? map_type(var->annotation(), draft_.mapping_)
                       : annotation->second;
    VarRef copy = make_var(var->name(), std::move(type), var->span());
    vars_[var.get()] = copy;
    return copy;
  }

  ExprRef copy_node(const Expr* expr, std::span<const ExprRef> operands) {
    switch (expr->kind()) {
      case ExprKind::kOp:
        return ExprRef(expr);
      case ExprKind::kConstructor: {
        auto found = constructors_.find(expr->as<Constructor>());
        return found == constructors_.end() ? ExprRef(expr) : ExprRef(found->second);
      }
      case ExprKind::kConstant:
        return make_constant(mapped(expr->as<Constant>()->data()), expr->span());
      case ExprKind::kTuple:
        return make_tuple(operands, expr->span());
      case ExprKind::kCall: {
        const auto* call = expr->as<Call>();
        std::vector<TypeRef> type_args = map_all(call->type_args(), draft_.mapping_);
        return make_call(operands[0], operands.subspan(1), mapped_attrs(*call),
                         std::move(type_args), call->span());
      }
      case ExprKind::kFunction:
        return copy_function(*expr->as<Function>(), operands[0]);
      case ExprKind::kLet:
        return make_let(fresh(expr->as<Let>()->var()), operands[0], operands[1], expr->span());
      case ExprKind::kMatch:
        return copy_match(*expr->as<Match>(), operands);
      default:
        return operands.empty() ? clone_node(expr) : rebuild(expr, operands);
    }
  }

  NDArray mapped(const NDArray& data) const {
    const Mapping& mapping = draft_.mapping_;
    if (!mapping.dim && !mapping.dtype) return data;
    Shape shape(data.shape().begin(), data.shape().end());
    for (int64_t& extent : shape) {
      if (mapping.dim) extent = mapping.dim(Dim(extent)).as_int();
    }
    return fitted(data, shape, mapping.dtype ? mapping.dtype(data.dtype()) : data.dtype());
  }

  // Numbers that say extents or sizes, and dtypes.
  void map_attr(const AttrField& field, AttrValue& value) const {
    const Mapping& mapping = draft_.mapping_;
    if (auto* dtype = std::get_if<DType>(&value.data)) {
      if (mapping.dtype) *dtype = mapping.dtype(*dtype);
      return;
    }
    bool extents = field.kind == AttrKind::kPlain || field.kind == AttrKind::kSizes ||
                   field.kind == AttrKind::kShape || field.kind == AttrKind::kPerAxis;
    if (!mapping.dim || !extents) return;
    auto number = [&](AttrValue& item) {
      auto* extent = std::get_if<int64_t>(&item.data);
      if (extent != nullptr && *extent > 1) *extent = mapping.dim(Dim(*extent)).as_int();
    };
    if (auto* list = std::get_if<AttrValue::List>(&value.data)) {
      for (AttrValue& item : *list) number(item);
    } else {
      number(value);
    }
  }

  AttrsRef mapped_attrs(const Call& call) const {
    auto dropped = draft_.dropped_attrs_.find(&call);
    bool drops = dropped != draft_.dropped_attrs_.end();
    if (!call.attrs() || (!drops && !draft_.mapping_.dim && !draft_.mapping_.dtype))
      return call.attrs();
    const AttrsSchema& schema = call.attrs()->schema();
    std::vector<NamedAttr> values;
    for (NamedAttr& attr : call.attrs()->fields(false)) {
      if (drops && dropped->second.count(attr.name) != 0) continue;
      for (const AttrField& field : schema.fields) {
        if (field.name == attr.name) map_attr(field, attr.value);
      }
      values.push_back(std::move(attr));
    }
    return Attrs::make(schema, values, call.span());
  }

  ExprRef copy_function(const Function& function, const ExprRef& body) {
    const std::set<size_t>* gone = nullptr;
    const std::vector<VarRef>* added = nullptr;
    if (&function == global_) {
      if (auto found = draft_.dropped_params_.find(*name_); found != draft_.dropped_params_.end())
        gone = &found->second;
      if (auto found = draft_.new_params_.find(*name_); found != draft_.new_params_.end())
        added = &found->second;
    }
    std::vector<VarRef> params;
    for (size_t i = 0; i < function.params().size(); ++i) {
      if (gone == nullptr || gone->count(i) == 0) params.push_back(fresh(function.params()[i]));
    }
    if (added != nullptr) {
      for (const VarRef& param : *added) params.push_back(fresh(param));
    }
    TypeRef ret = draft_.bare_results_.count(&function) != 0
                      ? TypeRef()
                      : map_type(function.ret_type(), draft_.mapping_);
    std::vector<RelationTypeRef> constraints;
    for (const RelationTypeRef& relation : function.constraints())
      constraints.push_back(map_relation(relation, draft_.mapping_));
    return make_function(
        params, body, ret, type_params(function, params, ret, constraints), constraints,
        draft_.bare_functions_.count(&function) != 0 ? AttrsRef() : function.attrs(),
        function.span());
  }

  // The parameters that the signature still mentions.
  static std::vector<TypeVarRef> type_params(const Function& function,
                                             std::span<const VarRef> params, const TypeRef& ret,
                                             std::span<const RelationTypeRef> constraints) {
    if (function.type_params().empty()) return {};
    std::unordered_set<const TypeVar*> mentioned;
    auto mention = [&](const TypeRef& type) {
      if (!type) return;
      for (const TypeVarRef& var : free_type_vars(type)) mentioned.insert(var.get());
    };
    for (const VarRef& param : params) mention(param->annotation());
    mention(ret);
    for (const RelationTypeRef& relation : constraints) mention(TypeRef(relation));
    std::vector<TypeVarRef> result;
    for (const TypeVarRef& var : function.type_params()) {
      if (mentioned.count(var.get()) != 0) result.push_back(var);
    }
    return result;
  }

  ExprRef copy_match(const Match& match, std::span<const ExprRef> operands) {
    std::vector<PatternRef> patterns;
    for (size_t i = 0; i < match.patterns().size(); ++i) {
      if (!dropped(&match, static_cast<uint32_t>(i + 1)))
        patterns.push_back(copy(match.patterns()[i]));
    }
    if (patterns.empty()) throw Error("a match without clauses, which text cannot say");
    bool all = patterns.size() == match.patterns().size();
    return make_match(operands[0], std::move(patterns), operands.subspan(1),
                      match.complete() && all, match.span());
  }

  // Patterns nest no deeper than Pattern::kMaxDepth.
  PatternRef copy(const PatternRef& pattern) {
    switch (pattern->kind()) {
      case PatternKind::kWildcard:
        return pattern;
      case PatternKind::kVar:
        return Pattern::var(fresh(pattern->var()), pattern->span());
      case PatternKind::kConstructor:
      case PatternKind::kTuple:
        break;
    }
    std::vector<PatternRef> fields;
    for (const PatternRef& field : pattern->fields()) fields.push_back(copy(field));
    if (pattern->kind() == PatternKind::kTuple)
      return Pattern::tuple(std::move(fields), pattern->span());
    auto found = constructors_.find(pattern->constructor().get());
    return Pattern::constructor(
        found == constructors_.end() ? pattern->constructor() : found->second, std::move(fields),
        pattern->span());
  }

  static constexpr size_t kMost = size_t{1} << 22;

  const Draft& draft_;
  const Constructors& constructors_;
  const Name* name_ = nullptr;
  const Function* global_ = nullptr;
  PointerMap<Expr, ExprRef> copies_;
  PointerMap<Var, VarRef> vars_;
};

Module Draft::apply() const {
  Module result;
  for (const auto& source : module_.sources()) result.add_source(source);
  Copier::Constructors constructors;
  for (const TypeDataRef& type : module_.types()) {
    if (dropped_types_.count(type->name()->name()) != 0) continue;
    std::vector<ConstructorRef> kept;
    for (const ConstructorRef& constructor : type->constructors()) {
      if (dropped_constructors_.count(constructor.get()) == 0) kept.push_back(constructor);
    }
    if (kept.size() == type->constructors().size()) {
      result.add_type(type);
      continue;
    }
    if (kept.empty()) throw Error("a data type without constructors, which text cannot say");
    for (size_t tag = 0; tag < kept.size(); ++tag) {
      const Constructor& old = *kept[tag];
      kept[tag] = make_constructor(old.name(), old.type_name(), static_cast<uint32_t>(tag),
                                   old.inputs(), old.span());
      constructors[&old] = kept[tag];
    }
    std::vector<TypeVarRef> vars(type->type_vars().begin(), type->type_vars().end());
    result.add_type(
        TypeData::make(type->name(), std::move(vars), std::move(kept), false, type->span()));
  }
  for (const Module::FunctionEntry& entry : module_.functions()) {
    if (dropped_functions_.count(entry.name) != 0) continue;
    result.add_function(entry.name, Copier(*this, constructors).function(entry));
  }
  return result;
}

}  // namespace relay::reduce
