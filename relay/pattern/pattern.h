// Patterns of dataflow: what an expression must look like, as data.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <relay/ir/expr.h>

namespace relay {

class DFPattern;
using DFPatternRef = Ref<const DFPattern>;

enum class DFPatternKind : uint8_t {
  kWildcard,      // anything; or what it is redirected to
  kExpr,          // an expression that is structurally equal; an operator
  kVar,           // a variable, of a name if one is given
  kConstant,      // any constant
  kNumber,        // a tensor whose elements all equal a number
  kCall,          // children: callee, arguments
  kFunction,      // children: body, parameters
  kTuple,         // children: fields
  kTupleGetItem,  // child: the tuple
  kLet,           // children: variable, value, body
  kIf,            // children: condition, branches
  kAlt,           // children: the first alternative, the second
  kAttr,          // child: what has the attributes
  kType,          // child: what has the type
  kDType,         // child: what has the dtype
  kShape,         // child: what has the shape
  kDominator,     // children: parent, path, child
  kName,          // a constructor or global function, by its name
  kNode,          // a reference operation or match; children: its first operands
};

/// A pattern. Immutable and shared like expressions: a pattern that stands at two places of another
/// one means the same node there. Only a wildcard can be changed, once, by `redirect`.
///
/// Patterns may be as deep as memory allows; nothing here recurses.
class DFPattern {
 public:
  static DFPatternRef wildcard();
  static DFPatternRef expr(ExprRef expr);
  static DFPatternRef op(const Operator* op) { return expr(make_op(op)); }
  /// An empty name fits all variables.
  static DFPatternRef var(Name name = {});
  static DFPatternRef constant();
  static DFPatternRef constructor(Name name);
  static DFPatternRef global(Name name);
  /// A node of a kind whose first operands fit: `ref`, `ref_read`, `ref_write`, and a match by what
  /// it matches on.
  static DFPatternRef node(ExprKind kind, std::vector<DFPatternRef> operands);
  static DFPatternRef number(double value);
  static DFPatternRef call(DFPatternRef callee, std::vector<DFPatternRef> args);
  static DFPatternRef call_any(DFPatternRef callee);  // whatever the arguments
  static DFPatternRef function(std::vector<DFPatternRef> params, DFPatternRef body);
  static DFPatternRef function_any(DFPatternRef body);
  static DFPatternRef tuple(std::vector<DFPatternRef> fields);
  static DFPatternRef tuple_any();
  /// Index -1 fits all.
  static DFPatternRef projection(DFPatternRef tuple, int64_t index = -1);
  static DFPatternRef let(DFPatternRef var, DFPatternRef value, DFPatternRef body);
  static DFPatternRef if_then_else(DFPatternRef condition, DFPatternRef then_branch,
                                   DFPatternRef else_branch);
  /// The first that fits.
  static DFPatternRef alt(DFPatternRef first, DFPatternRef second);
  /// Facts of an operator (`op_fact`), attributes of a call, or those of a function.
  static DFPatternRef attrs(DFPatternRef pattern, std::vector<NamedAttr> attrs);
  static DFPatternRef type(DFPatternRef pattern, TypeRef type);
  static DFPatternRef dtype(DFPatternRef pattern, DType dtype);
  /// A symbol fits the one of its name, and `any_extent` every extent.
  static DFPatternRef shape(DFPatternRef pattern, std::vector<Dim> shape);
  static Dim any_extent();
  /// `child` fits the node; every way from it to its inputs leads through nodes that fit `path` to
  /// one that fits `parent`; and nothing else uses what lies between, the parent included.
  static DFPatternRef dominator(DFPatternRef parent, DFPatternRef path, DFPatternRef child);
  /// The same pattern, as an object of its own with a name to find what fits it by.
  static DFPatternRef named(const DFPatternRef& pattern, Name name);

  DFPatternKind kind() const { return kind_; }
  std::span<const DFPatternRef> children() const { return children_; }
  const DFPatternRef& child(size_t i) const { return children_[i]; }
  /// For patterns of calls, functions and tuples: true if arguments, parameters or fields may be
  /// any.
  bool any() const { return any_; }
  /// The one of `named`.
  const Name& name() const { return name_; }
  /// For patterns of variables, constructors and global functions.
  const Name& var_name() const { return var_name_; }
  /// For patterns of names and nodes.
  ExprKind expr_kind() const { return static_cast<ExprKind>(index_); }
  const ExprRef& expr() const { return expr_; }
  double number() const { return number_; }
  int64_t index() const { return index_; }
  const std::vector<NamedAttr>& attributes() const { return attributes_; }
  const TypeRef& type() const { return type_; }
  DType dtype() const { return dtype_; }
  const std::vector<Dim>& dims() const { return dims_; }
  /// Arguments of a call, parameters of a function.
  std::span<const DFPatternRef> rest() const { return children().subspan(1); }

  /// Has a wildcard fit what `target` fits, which may contain the wildcard itself: the pattern then
  /// is recursive. Throws `Error` if it is no wildcard, has a target, or would stand for itself
  /// alone. To be called before others see the pattern. A recursive pattern is never freed.
  void redirect(DFPatternRef target) const;
  const DFPatternRef& target() const { return target_; }

  /// The operator that an expression pattern is, or null.
  const Operator* as_op() const;

  void retain() const noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) free(this);
  }

 private:
  explicit DFPattern(DFPatternKind kind) : kind_(kind) {}
  ~DFPattern() = default;
  static Ref<DFPattern> make(DFPatternKind kind, std::vector<DFPatternRef> children = {});
  static void free(const DFPattern* pattern) noexcept;  // iterative

  mutable std::atomic<uint32_t> refs_{1};
  DFPatternKind kind_;
  bool any_ = false;
  std::vector<DFPatternRef> children_;
  Name name_;
  Name var_name_;
  ExprRef expr_;
  double number_ = 0;
  int64_t index_ = -1;
  std::vector<NamedAttr> attributes_;
  TypeRef type_;
  DType dtype_;
  std::vector<Dim> dims_;
  mutable DFPatternRef target_;  // of a wildcard
};

/// Each pattern that can be reached from `root`, once, children before parents. Where patterns are
/// recursive, the wildcard comes before its target.
std::vector<const DFPattern*> patterns_in(const DFPattern* root);

/// True if two patterns say the same, with the same sharing.
bool patterns_equal(const DFPattern* a, const DFPattern* b);

/// The fact that an operator states under a key, for attributes of operators in patterns: TVM's
/// names ("TOpPattern", "TOpIsStateful"), and what `set_op_fact` attached. Nothing where it says
/// nothing.
std::optional<AttrValue> op_fact(const Operator* op, std::string_view key);
/// The number of TVM's fusion pattern of an operator: 0 elementwise, 1 broadcast, 2 injective, 3
/// reduction, 4 out-elementwise-fusable, 8 opaque. Nothing for operators that TVM lacks.
std::optional<int64_t> fusion_pattern(std::string_view op);
/// Attaches a fact to an operator, or takes it away. Threads may call both at the same time.
void set_op_fact(const Operator* op, std::string_view key, std::optional<AttrValue> value);

/// The value of an attribute of a call, function or operator, defaults included; nothing if it has
/// no such attribute.
std::optional<AttrValue> attribute_of(const Expr* expr, const Name& name);
/// True if an expression has the attribute with this value, as the attribute's own type reads it:
/// one stride stands for all, two paddings for both sides.
bool has_attribute(const Expr* expr, const NamedAttr& wanted);

}  // namespace relay
