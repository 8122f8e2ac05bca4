#include <relay/ir/equal.h>

#include <bit>
#include <set>
#include <utility>
#include <vector>

#include <relay/ir/alpha.h>
#include <relay/ir/type_str.h>
#include <relay/ir/visit.h>
#include <relay/support/hash.h>
#include <relay/support/pointer_map.h>

namespace relay {

namespace {

std::string quoted(const AttrsRef& attrs) {
  if (!attrs) return "none";
  std::string out;
  for (const NamedAttr& attr : attrs->fields(true)) {
    out += (out.empty() ? "" : ", ") + attr.name.str() + '=' + attr.value.str();
  }
  return '{' + out + '}';
}
std::string declared(const Function& function) {
  std::string out;
  TypeNames names;
  for (const TypeVarRef& var : function.type_params()) {
    if (!var->implicit()) out += (out.empty() ? "" : ", ") + type_param_str(var.get(), names);
  }
  return '[' + out + ']';
}
std::string quoted(const TypeRef& type) { return type ? type->str() : "none"; }

// Walks two programs side by side.
class Comparer {
 public:
  explicit Comparer(const EqualOptions& options) : options_(options), types_(true) {
    if (options.map_free_vars) types_.map_free_dims();
  }
  std::string why;
  std::vector<uint32_t> path;  // of operands, to where two expressions differ

  bool equal(const Expr* a, const Expr* b) {
    if (a == b) return true;
    struct Frame {
      const Expr* a;
      const Expr* b;
      uint32_t next;
    };
    std::vector<Frame> stack;
    auto visit = [&](const Expr* x, const Expr* y) {
      bool known = false;
      if (!enter(x, y, known)) return false;
      if (!known && !x->operands().empty()) stack.push_back({x, y, 0});
      return true;
    };
    if (!visit(a, b)) return false;
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next == frame.a->operands().size()) {
        stack.pop_back();
        continue;
      }
      uint32_t i = frame.next++;
      if (!visit(frame.a->operands()[i].get(), frame.b->operands()[i].get())) {
        for (const Frame& open : stack) path.push_back(open.next - 1);
        return false;
      }
    }
    return true;
  }

  bool equal(const TypeData& a, const TypeData& b) {
    auto differ = [this](std::string what) {
      what += " of a data type differ";
      return fail(std::move(what));
    };
    if (a.is_extern() != b.is_extern() || a.name() != b.name()) return differ("declarations");
    if (!types_.bind_all(a.type_vars(), b.type_vars())) return differ("parameters");
    if (a.constructors().size() != b.constructors().size()) return differ("constructors");
    for (size_t i = 0; i < a.constructors().size(); ++i) {
      const Constructor& x = *a.constructors()[i];
      const Constructor& y = *b.constructors()[i];
      if (x.name() != y.name() || x.ctor_tag() != y.ctor_tag() ||
          !types_.equal_lists(std::span<const TypeRef>(x.inputs()),
                              std::span<const TypeRef>(y.inputs()))) {
        return differ("constructors " + x.name().str() + " and " + y.name().str());
      }
    }
    return true;
  }

 private:
  bool fail(std::string text) {
    why = std::move(text);
    return false;
  }

  // Compares two nodes but for their operands; `known` if these were compared before.
  bool enter(const Expr* a, const Expr* b, bool& known) {
    if (a->kind() != b->kind()) {
      return fail(std::string(expr_kind_name(a->kind())) + " against " +
                  std::string(expr_kind_name(b->kind())));
    }
    if (const auto* var = a->as<Var>()) return equal_vars(var, b->as<Var>());
    if (a->operands().size() != b->operands().size()) {
      return fail(std::string(expr_kind_name(a->kind())) + " with " +
                  std::to_string(a->operands().size()) + " against " +
                  std::to_string(b->operands().size()) + " operands");
    }
    // Text shows the sharing of compound nodes only.
    if (!a->operands().empty() && (!a->has_one_owner() || !b->has_one_owner())) {
      if (!options_.respect_sharing) {
        known = !pairs_.emplace(a, b).second;
      } else {
        auto [forward, fresh] = forward_.insert(a);
        auto [backward, fresh_back] = backward_.insert(b);
        if (fresh) *forward = b;
        if (fresh_back) *backward = a;
        if (*forward != b || *backward != a) {
          return fail("a shared " + std::string(expr_kind_name(a->kind())) +
                      " against separate ones");
        }
        known = !fresh;
      }
      if (known) return true;
    }
    return visit_node(*a, [&](const auto& node) {
      using Node = std::decay_t<decltype(node)>;
      return equal_fields(node, static_cast<const Node&>(*b));
    });
  }

  bool equal_vars(const Var* a, const Var* b) {
    const Var** forward = vars_.find(a);
    const Var** backward = vars_back_.find(b);
    if (forward != nullptr || backward != nullptr) {
      if (forward != nullptr && backward != nullptr && *forward == b && *backward == a) {
        return true;
      }
      return fail("variable %" + a->name().str() + " against %" + b->name().str());
    }
    if (!options_.map_free_vars) {
      return a == b || fail("free variable %" + a->name().str() + " against %" + b->name().str());
    }
    return bind(a, b);
  }

  bool bind(const Var* a, const Var* b) {
    vars_[a] = b;
    vars_back_[b] = a;
    return same(a->annotation(), b->annotation());
  }

  // ---- Fields, by their C++ type ----

  bool same(Name a, Name b) { return a == b || fail("name " + a.str() + " against " + b.str()); }
  bool same(const NDArray& a, const NDArray& b) {
    return bit_equal(a, b) || fail("constants differ");
  }
  bool same(const LiteralValue& a, const LiteralValue& b) {
    return a == b || fail("literal " + a.text.str() + " against " + b.text.str());
  }
  bool same(uint32_t a, uint32_t b) {
    return a == b || fail("index " + std::to_string(a) + " against " + std::to_string(b));
  }
  bool same(bool a, bool b) { return a == b || fail("match against match?"); }
  bool same(const Operator* a, const Operator* b) {
    return a == b ||
           fail("operator " + operator_name(a).str() + " against " + operator_name(b).str());
  }
  bool same(const AttrsRef& a, const AttrsRef& b) {
    return a == b || fail("attributes " + quoted(a) + " against " + quoted(b));
  }
  bool same(const GlobalTypeVarRef& a, const GlobalTypeVarRef& b) {
    return a == b || fail("data types differ");
  }
  bool same(const std::shared_ptr<const void>& a, const std::shared_ptr<const void>& b) {
    return a == b || fail("annotations of a pass differ");
  }
  bool same(const TypeRef& a, const TypeRef& b) {
    return types_.equal(a, b) || fail("type " + quoted(a) + " against " + quoted(b));
  }
  template <class T>
  bool same_types(const std::vector<Ref<const T>>& a, const std::vector<Ref<const T>>& b) {
    return types_.equal_lists(std::span<const Ref<const T>>(a), std::span<const Ref<const T>>(b)) ||
           fail("lists of types differ");
  }
  bool same_binders(const std::vector<VarRef>& a, const std::vector<VarRef>& b) {
    if (a.size() != b.size()) {
      return fail(std::to_string(a.size()) + " parameters against " + std::to_string(b.size()));
    }
    for (size_t i = 0; i < a.size(); ++i) {
      if (!bind(a[i].get(), b[i].get())) return false;
    }
    return true;
  }
  bool same_patterns(std::span<const PatternRef> a, std::span<const PatternRef> b) {
    if (a.size() != b.size()) return fail("patterns differ in number");
    for (size_t i = 0; i < a.size(); ++i) {
      if (!same_pattern(*a[i], *b[i])) return false;
    }
    return true;
  }
  bool same_pattern(const Pattern& a, const Pattern& b) {
    if (a.kind() != b.kind()) return fail("patterns differ");
    if (a.kind() == PatternKind::kVar) return bind(a.var().get(), b.var().get());
    if (a.kind() == PatternKind::kConstructor &&
        !equal_fields(*a.constructor(), *b.constructor())) {
      return false;
    }
    return same_patterns(a.fields(), b.fields());
  }

  // A constructor is known by its names; its inputs are compared with its data type.
  bool equal_fields(const Constructor& a, const Constructor& b) {
    return same(a.name(), b.name()) && same(a.type_name(), b.type_name()) &&
           same(a.ctor_tag(), b.ctor_tag());
  }

#define RELAY_OPERAND(name, index)
#define RELAY_OPERANDS(name, from)
#define RELAY_FIELD(type, name) &&same(a.name(), b.name())
#define RELAY_TYPE(name) &&same(a.name(), b.name())
#define RELAY_TYPES(name) &&same_types(a.name(), b.name())
#define RELAY_BINDER(name) &&bind(a.name().get(), b.name().get())
#define RELAY_BINDERS(name) &&same_binders(a.name(), b.name())
#define RELAY_TYPE_PARAMS(name)
#define RELAY_CONSTRAINTS(name) &&same_types(a.name(), b.name())
#define RELAY_PATTERNS(name) &&same_patterns(a.name(), b.name())
#define RELAY_NODE(Kind, doc, operands, fields)                                     \
  bool equal_rest([[maybe_unused]] const Kind& a, [[maybe_unused]] const Kind& b) { \
    return true fields;                                                             \
  }
#include <relay/ir/nodes.def>

  template <class Node>
  bool equal_fields(const Node& a, const Node& b) {
    if constexpr (std::is_same_v<Node, Function>) {  // in scope of the other fields
      types_.map_free_dims();
      if (!types_.bind_declared(a.type_params(), b.type_params()))
        return fail("type parameters " + declared(a) + " against " + declared(b));
    }
    return equal_rest(a, b);
  }

  EqualOptions options_;
  TypeMatcher types_;
  PointerMap<Var, const Var*> vars_;
  PointerMap<Var, const Var*> vars_back_;
  PointerMap<Expr, const Expr*> forward_;
  PointerMap<Expr, const Expr*> backward_;
  std::set<std::pair<const Expr*, const Expr*>> pairs_;
};

class Hasher {
 public:
  explicit Hasher(const EqualOptions& options) : options_(options) {}

  uint64_t hash(const Expr* root) {
    struct Frame {
      const Expr* expr;
      uint32_t next;
      uint64_t hash;
    };
    std::vector<Frame> stack;
    uint64_t result = 0;  // of the node just finished
    // True if `result` is there already.
    auto visit = [&](const Expr* expr) {
      if (const auto* var = expr->as<Var>()) {
        result = hash_var(var);
        return true;
      }
      if (!expr->has_one_owner()) {
        if (const uint64_t* found = memo_.find(expr)) {
          result = *found;
          return true;
        }
      }
      uint64_t own = hash_combine(static_cast<uint64_t>(expr->kind()), expr->operands().size());
      visit_node(*expr, [&](const auto& node) { own = hash_fields(node, own); });
      stack.push_back({expr, 0, own});
      return false;
    };
    if (visit(root)) return result;
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next < frame.expr->operands().size()) {
        const Expr* child = frame.expr->operands()[frame.next++].get();
        if (visit(child)) stack.back().hash = hash_combine(stack.back().hash, result);
        continue;
      }
      result = frame.hash;
      if (!frame.expr->has_one_owner()) memo_[frame.expr] = result;
      stack.pop_back();
      if (!stack.empty()) stack.back().hash = hash_combine(stack.back().hash, result);
    }
    return result;
  }

  uint64_t hash(const TypeData& data) {
    uint64_t h = hash_combine(data.name()->name().hash(), data.is_extern() ? 1 : 0);
    for (const TypeVarRef& var : data.type_vars()) {
      h = hash_combine(h, static_cast<uint64_t>(var->kind()));
      types_.bind(var.get());
    }
    for (const ConstructorRef& constructor : data.constructors()) {
      h = hash_combine(hash_combine(h, constructor->name().hash()), constructor->ctor_tag());
      for (const TypeRef& input : constructor->inputs()) {
        h = hash_combine(h, types_.hash(input.get()));
      }
    }
    return h;
  }

 private:
  uint64_t hash_var(const Var* var) {
    if (const uint64_t* place = vars_.find(var)) return hash_combine(0xf0, *place);
    if (!options_.map_free_vars) return hash_combine(0xf1, var->name().hash());
    auto [place, fresh] = free_vars_.insert(var);
    if (fresh) *place = next_free_++;
    return hash_combine(hash_combine(0xf2, *place), types_.hash(var->annotation().get()));
  }
  // With sharing, places in the walk agree for equal programs; without it only those in the binder
  // do.
  uint64_t bind(const Var* var, uint64_t place) {
    vars_[var] = options_.respect_sharing ? next_++ : place;
    return types_.hash(var->annotation().get());
  }

  uint64_t field(Name a) { return a.hash(); }
  uint64_t field(const NDArray& a) { return content_hash(a); }
  uint64_t field(const LiteralValue& a) {
    if (!a.is_float) return hash_combine(a.negative ? 3 : 2, a.magnitude);
    // Numbers that `==` takes for equal: both zeros, all NaNs.
    double number = a.number == 0 ? 0 : a.number;
    return hash_combine(a.negative ? 5 : 4,
                        number != number ? 0x7ff8 : std::bit_cast<uint64_t>(number));
  }
  uint64_t field(uint32_t a) { return a; }
  uint64_t field(bool a) { return a ? 1 : 0; }
  uint64_t field(const Operator* a) { return operator_name(a).hash(); }
  uint64_t field(const AttrsRef& a) { return a ? a->hash() : 0; }
  uint64_t field(const GlobalTypeVarRef& a) { return a->name().hash(); }
  uint64_t field(const std::shared_ptr<const void>&) { return 0; }
  uint64_t field(const TypeRef& a) { return types_.hash(a.get()); }
  template <class T>
  uint64_t field_types(const std::vector<Ref<const T>>& types) {
    uint64_t h = types.size();
    for (const auto& type : types) h = hash_combine(h, types_.hash(type.get()));
    return h;
  }
  uint64_t field_binders(const std::vector<VarRef>& vars) {
    uint64_t h = vars.size();
    for (size_t i = 0; i < vars.size(); ++i) h = hash_combine(h, bind(vars[i].get(), i));
    return h;
  }
  uint64_t field_patterns(std::span<const PatternRef> patterns) {
    uint64_t h = patterns.size();
    for (const PatternRef& pattern : patterns) h = hash_combine(h, hash_pattern(*pattern));
    return h;
  }
  uint64_t hash_pattern(const Pattern& pattern) {
    uint64_t h = hash_mix(static_cast<uint64_t>(pattern.kind()) + 0x9a);
    if (pattern.kind() == PatternKind::kVar) return hash_combine(h, bind(pattern.var().get(), 77));
    if (pattern.kind() == PatternKind::kConstructor) {
      h = hash_combine(h, pattern.constructor()->name().hash());
    }
    return hash_combine(h, field_patterns(pattern.fields()));
  }

  uint64_t hash_fields(const Constructor& node, uint64_t h) {
    return hash_combine(hash_combine(h, node.name().hash()), field(node.type_name()));
  }

#define RELAY_OPERAND(name, index)
#define RELAY_OPERANDS(name, from)
#define RELAY_FIELD(type, name) h = hash_combine(h, field(node.name()));
#define RELAY_TYPE(name) h = hash_combine(h, field(node.name()));
#define RELAY_TYPES(name) h = hash_combine(h, field_types(node.name()));
#define RELAY_BINDER(name) h = hash_combine(h, bind(node.name().get(), 55));
#define RELAY_BINDERS(name) h = hash_combine(h, field_binders(node.name()));
#define RELAY_TYPE_PARAMS(name)
#define RELAY_CONSTRAINTS(name) h = hash_combine(h, field_types(node.name()));
#define RELAY_PATTERNS(name) h = hash_combine(h, field_patterns(node.name()));
#define RELAY_NODE(Kind, doc, operands, fields) \
  uint64_t hash_rest([[maybe_unused]] const Kind& node, uint64_t h) { fields return h; }
#include <relay/ir/nodes.def>

  template <class Node>
  uint64_t hash_fields(const Node& node, uint64_t h) {
    if constexpr (std::is_same_v<Node, Function>) {
      if (!options_.respect_sharing) types_.next = 1;
      for (const TypeVarRef& var : node.type_params()) {
        if (var->implicit()) continue;
        h = hash_combine(h, static_cast<uint64_t>(var->kind()));
        types_.bind(var.get());
      }
    }
    return hash_rest(node, h);
  }

  EqualOptions options_;
  TypeHasher types_;
  uint64_t next_ = 1;
  uint64_t next_free_ = 0;
  PointerMap<Var, uint64_t> vars_;
  PointerMap<Var, uint64_t> free_vars_;
  PointerMap<Expr, uint64_t> memo_;
};

bool report(const Comparer& comparer, const std::string& place, std::string* why) {
  if (why != nullptr) *why = place + comparer.why;
  return false;
}

}  // namespace

bool structural_equal(const Expr* a, const Expr* b, const EqualOptions& options, std::string* why,
                      std::vector<uint32_t>* path) {
  Comparer comparer(options);
  if (comparer.equal(a, b)) return true;
  if (path != nullptr) *path = std::move(comparer.path);
  return report(comparer, "", why);
}

bool structural_equal(const Module& a, const Module& b, const EqualOptions& options,
                      std::string* why) {
  auto missing = [why](const std::string& name) {
    if (why != nullptr) *why = name + " is in one module only";
    return false;
  };
  for (const TypeDataRef& data : a.types()) {
    const TypeData* other = b.type_data(data->name().get());
    if (other == nullptr) return missing("data type " + data->name()->name().str());
    Comparer comparer(options);
    if (data.get() != other && !comparer.equal(*data, *other)) {
      return report(comparer, data->name()->name().str() + ": ", why);
    }
  }
  for (const TypeDataRef& data : b.types()) {
    if (a.type_data(data->name().get()) == nullptr) {
      return missing("data type " + data->name()->name().str());
    }
  }
  for (const auto& [name, function] : a.functions()) {
    const Function* other = b.function(name);
    if (other == nullptr) return missing('@' + name.str());
    Comparer comparer(options);
    if (!comparer.equal(function.get(), other)) {
      return report(comparer, '@' + name.str() + ": ", why);
    }
  }
  for (const auto& [name, function] : b.functions()) {
    if (a.function(name) == nullptr) return missing('@' + name.str());
  }
  return true;
}

uint64_t structural_hash(const Expr* expr, const EqualOptions& options) {
  return Hasher(options).hash(expr);
}

uint64_t structural_hash(const Module& module, const EqualOptions& options) {
  uint64_t sum = 0;  // the order of definitions does not matter
  for (const TypeDataRef& data : module.types()) sum += hash_mix(Hasher(options).hash(*data));
  for (const auto& [name, function] : module.functions()) {
    sum += hash_combine(name.hash(), Hasher(options).hash(function.get()));
  }
  return hash_mix(sum);
}

}  // namespace relay
