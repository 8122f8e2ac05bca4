// Expressions: immutable, counted nodes with their operands in one allocation.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <relay/ir/attrs.h>
#include <relay/ir/type.h>
#include <relay/runtime/ndarray.h>
#include <relay/support/name.h>
#include <relay/support/ref.h>
#include <relay/support/span.h>

namespace relay {

class Pattern;

#define RELAY_NODE(Kind, doc, operands, fields) class Kind;
#include <relay/ir/nodes.def>

using ExprRef = Ref<const Expr>;
using VarRef = Ref<const Var>;
using FunctionRef = Ref<const Function>;
using ConstructorRef = Ref<const Constructor>;
using PatternRef = Ref<const Pattern>;

enum class ExprKind : uint8_t {
#define RELAY_NODE(Kind, doc, operands, fields) k##Kind,
#include <relay/ir/nodes.def>
};
/// "Var", "Call", ….
std::string_view expr_kind_name(ExprKind kind);

/// A number as written, before its dtype is known. Exact: an integer below 2^64 in magnitude with
/// its sign, or a float.
struct LiteralValue {
  bool is_float = false;
  bool negative = false;
  uint64_t magnitude = 0;  // integers
  double number = 0;       // floats
  Name text;               // as written, without sign
  friend bool operator==(const LiteralValue& a, const LiteralValue& b) {
    return a.is_float == b.is_float && a.negative == b.negative && a.magnitude == b.magnitude &&
           (a.number == b.number || (a.number != a.number && b.number != b.number));
  }
};

/// Parts that an expression may have, at any depth (`Expr::contains`). Each is a bit.
enum class ExprPart : uint8_t {
  kNumber = 1,  // a Literal, whose dtype its context decides
  kGlobal = 2,  // the name of a global function
  kData = 4,    // a constructor or a match: something of a data type of the module
  kEffect = 8,  // a reference, or an operator with an effect
  kTemp = 16,   // a TempExpr
};

/// Base of all expressions.
///
/// Nodes are shared: a program is a graph. Walk it with the tools of visit.h and rewrite.h, which
/// never recurse. Freeing never recurses either.
class Expr {
 public:
  ExprKind kind() const { return kind_; }
  Span span() const { return span_; }
  template <class T>
  const T* as() const {
    return kind_ == T::kKind ? static_cast<const T*>(this) : nullptr;
  }
  template <class T>
  bool is() const {
    return kind_ == T::kKind;
  }
  /// All child expressions.
  std::span<const ExprRef> operands() const {
    return {
        reinterpret_cast<const ExprRef*>(reinterpret_cast<const char*>(this) + operands_offset_),
        num_operands_};
  }

  /// True if the expression has such a part; itself and function bodies count. Takes constant time:
  /// passes use it to leave alone what they have nothing to do in.
  bool contains(ExprPart part) const { return (parts_ & static_cast<uint8_t>(part)) != 0; }

  /// The type that inference published, or null. The type of a function, or of a variable bound to
  /// one, may be a scheme.
  const Type* type() const { return type_.load(std::memory_order_acquire); }
  /// Replaces the node's type. Call it only before other threads can see the node, because they
  /// read types without a lock.
  void set_type(TypeRef type) const;
  /// Gives a type to a node that has none. False if the node has another type, which stays.
  bool publish_type(const TypeRef& type) const;
  /// True if inference has found that the types of this node and of all nodes below it follow from
  /// those of its free variables alone. Then they hold wherever these variables have their types.
  bool settled() const { return settled_.load(std::memory_order_acquire); }
  void settle() const { settled_.store(true, std::memory_order_release); }

  bool has_one_owner() const { return refs_.load(std::memory_order_relaxed) == 1; }
  void retain() const noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) free(this);
  }

 protected:
  friend struct ExprFactory;
  Expr(ExprKind kind, Span span) : kind_(kind), span_(span) {}
  ~Expr() = default;
  Expr(const Expr&) = delete;
  static void free(const Expr* expr) noexcept;  // iterative

  mutable std::atomic<uint32_t> refs_{1};
  ExprKind kind_;
  uint8_t operands_offset_ = 0;
  uint8_t parts_ = 0;
  mutable std::atomic<bool> settled_{false};
  uint32_t num_operands_ = 0;
  Span span_;
  mutable std::atomic<const Type*> type_{nullptr};
};

// The node classes, generated from nodes.def: `Call::callee()`, `Call::args()`, `Call::attrs()` ….
#define RELAY_OPERAND(name, index) \
  const ExprRef& name() const { return operands()[index]; }
#define RELAY_OPERANDS(name, from) \
  std::span<const ExprRef> name() const { return operands().subspan(from); }
#define RELAY_FIELD(type, name) \
 private:                       \
  type name##_{};               \
                                \
 public:                        \
  type const& name() const { return name##_; }
#define RELAY_TYPE(name) RELAY_FIELD(TypeRef, name)
#define RELAY_TYPES(name) RELAY_FIELD(std::vector<TypeRef>, name)
#define RELAY_BINDER(name) RELAY_FIELD(VarRef, name)
#define RELAY_BINDERS(name) RELAY_FIELD(std::vector<VarRef>, name)
#define RELAY_TYPE_PARAMS(name) RELAY_FIELD(std::vector<TypeVarRef>, name)
#define RELAY_CONSTRAINTS(name) RELAY_FIELD(std::vector<RelationTypeRef>, name)
#define RELAY_PATTERNS(name) RELAY_FIELD(std::vector<PatternRef>, name)
#define RELAY_NODE(Kind, doc, operands_list, fields)          \
  class Kind final : public Expr {                            \
   public:                                                    \
    static constexpr ExprKind kKind = ExprKind::k##Kind;      \
    operands_list fields private : friend struct ExprFactory; \
    explicit Kind(Span span) : Expr(kKind, span) {}           \
  };
#include <relay/ir/nodes.def>

// ---- Patterns of match ------------------------------------------------------------------------

enum class PatternKind : uint8_t { kWildcard, kVar, kConstructor, kTuple };

/// A pattern: `_`, `%x`, `Cons(p, q)` or `(p, q)`. Deeper nesting than kMaxDepth is an `Error`, so
/// that walks over patterns may recurse.
class Pattern {
 public:
  static constexpr uint32_t kMaxDepth = 200;
  static PatternRef wildcard(Span span = {});
  static PatternRef var(VarRef var, Span span = {});
  static PatternRef constructor(ConstructorRef constructor, std::vector<PatternRef> fields,
                                Span span = {});
  static PatternRef tuple(std::vector<PatternRef> fields, Span span = {});

  PatternKind kind() const { return kind_; }
  Span span() const { return span_; }
  const VarRef& var() const { return var_; }
  const ConstructorRef& constructor() const { return constructor_; }
  std::span<const PatternRef> fields() const { return fields_; }

  void retain() const noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept;

 private:
  Pattern(PatternKind kind, Span span) : kind_(kind), span_(span) {}
  void set_fields(std::vector<PatternRef> fields);
  mutable std::atomic<uint32_t> refs_{1};
  PatternKind kind_;
  uint32_t depth_ = 1;
  Span span_;
  VarRef var_;
  ConstructorRef constructor_;
  std::vector<PatternRef> fields_;
};

/// The variables that a pattern binds, left to right.
std::vector<VarRef> pattern_vars(const Pattern* pattern);

// ---- Construction -----------------------------------------------------------------------------

VarRef make_var(Name name, TypeRef annotation = {}, Span span = {});
ExprRef make_global_var(Name name, Span span = {});
ExprRef make_constant(NDArray data, Span span = {});
ExprRef make_literal(LiteralValue value, Span span = {});
ExprRef make_tuple(std::span<const ExprRef> fields, Span span = {});
/// For vectors too; otherwise the call would find std::make_tuple.
template <class Fields>
requires std::is_convertible_v<Fields&, std::span<const ExprRef>> ExprRef
make_tuple(Fields&& fields, Span span = {}) {
  return make_tuple(std::span<const ExprRef>(fields), span);
}
ExprRef make_projection(ExprRef tuple, uint32_t index, Span span = {});
ExprRef make_call(ExprRef callee, std::span<const ExprRef> args, AttrsRef attrs = {},
                  std::vector<TypeRef> type_args = {}, Span span = {});
FunctionRef make_function(std::vector<VarRef> params, ExprRef body, TypeRef ret_type = {},
                          std::vector<TypeVarRef> type_params = {},
                          std::vector<RelationTypeRef> constraints = {}, AttrsRef attrs = {},
                          Span span = {});
ExprRef make_let(VarRef var, ExprRef value, ExprRef body, Span span = {});
ExprRef make_if(ExprRef condition, ExprRef then_branch, ExprRef else_branch, Span span = {});
ExprRef make_match(ExprRef data, std::vector<PatternRef> patterns, std::span<const ExprRef> bodies,
                   bool complete = true, Span span = {});
/// The one node of an operator; `op` outlives the program.
ExprRef make_op(const Operator* op);
ConstructorRef make_constructor(Name name, GlobalTypeVarRef type_name, uint32_t tag,
                                std::vector<TypeRef> inputs, Span span = {});
ExprRef make_ref_create(ExprRef value, Span span = {});
ExprRef make_ref_read(ExprRef ref, Span span = {});
ExprRef make_ref_write(ExprRef ref, ExprRef value, Span span = {});
ExprRef make_temp(ExprRef value, std::shared_ptr<const void> payload, Span span = {});

/// A node like `old` with other operands: `old` itself if they are the same objects. A new node
/// keeps span and fields. It keeps the type if every new operand's published type equals the old
/// operand's.
ExprRef rebuild(const Expr* old, std::span<const ExprRef> operands);

/// The function with another body, or with other parameters too. Everything else stays: result
/// type, type parameters, relations, attributes, place. Returns the same node if nothing changes,
/// and keeps the type if the new body has the old one's. A relation without arguments gets the
/// arguments that it stood for; `Error` if annotations do not determine them.
FunctionRef with_body(const FunctionRef& function, ExprRef body);
FunctionRef with_body(const FunctionRef& function, std::vector<VarRef> params, ExprRef body);

/// Copies the node, without its type.
ExprRef clone_node(const Expr* old);

}  // namespace relay
