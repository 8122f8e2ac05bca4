// Unification over inference variables (T1, T13–T15).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <relay/ir/type.h>
#include <relay/op/registry/relation.h>

namespace relay::inference {

using ConstraintId = uint32_t;

/// The demand of a literal on its dtype (T4). Each includes those before.
enum class Numeric : uint8_t { kAny, kNum, kFloat };

/// The dtype of a literal that nothing else decides (T8).
inline DType default_dtype(Numeric numeric, bool wide) {
  return numeric == Numeric::kFloat ? kFloat32 : wide ? kInt64 : kInt32;
}

/// An inference variable for a type, a shape or a dtype.
struct Slot {
  TypeRef self;     // the IncompleteType
  TypeRef binding;  // null until solved; may be another variable
  Kind kind = Kind::kType;
  Numeric numeric = Numeric::kAny;
  bool wide = false;     // an integer literal of it needs 64 bits (T8)
  bool generic = false;  // generalised: instances copy it (T6)
  bool failed = false;   // stands for a reported error: fits everything, reports nothing
  uint32_t level = 0;
  Span origin;  // the thing that it is the type of
  Span reason;  // the place that solved it
  std::vector<ConstraintId> watchers;
};

/// An inference variable for one dimension.
struct DimSlot {
  Dim binding;
  bool solved = false;
  bool generic = false;
  bool met_any = false;  // was required to equal `?` (T15)
  uint32_t level = 0;
  const TypeVar* name = nullptr;  // the declared dimension that it is an instance of
  Span reason;                    // the place that solved it
  std::vector<ConstraintId> watchers;
};

/// The reason why the last unification failed: the innermost pair, and the places where variables
/// on the way were solved.
struct Mismatch {
  enum class Why : uint8_t { kTypes, kDims, kOccurs, kRigid, kNumeric, kEscape, kArity, kKind };
  Why why = Why::kTypes;
  TypeRef left, right;
  Dim left_dim, right_dim;
  Dim left_open, right_open;  // as they were written, with variables that are solved
  Span left_reason, right_reason;
  std::string no_value;  // kDims: why one of the two cannot be computed
};

/// The variables of one inference and their solutions.
class Solver final : public DimSolver {
 public:
  // ---- Variables ----
  TypeRef fresh(Kind kind, Span origin = {}) { return fresh_at(level_, kind, origin); }
  TypeRef fresh_at(uint32_t level, Kind kind, Span origin = {});
  /// A variable for a type parameter; one for a dimension keeps its name for messages.
  TypeRef fresh_instance(const TypeVar* parameter, Span origin = {});
  Dim fresh_dim() { return fresh_dim_at(level_); }
  Dim fresh_dim_at(uint32_t level);
  /// A variable for a thing with a reported error. It fits everything, and code that depends on it
  /// is not checked: one mistake gives one error.
  TypeRef fresh_failed(Kind kind, Span origin = {});
  bool any_failed() const { return any_failed_; }
  bool is_failed(const TypeRef& type);
  /// True if the type, or a part of it, stands for a reported error.
  bool has_failed(const TypeRef& type);
  /// Makes all unsolved parts of a type stand for a reported error.
  void give_up(const TypeRef& type);
  /// `Tensor[(), b]` with b a fresh dtype of a class.
  TypeRef fresh_scalar(Numeric numeric, bool wide, Span origin);
  Slot& slot(const Type* variable) { return slots_[variable->as<IncompleteType>()->id() - 1]; }
  Slot& slot(uint32_t id) { return slots_[id - 1]; }
  DimSlot& dim_slot(uint32_t id) { return dims_[id]; }
  size_t num_slots() const { return slots_.size(); }
  size_t num_dims() const { return dims_.size(); }

  /// Levels grow with generalised scopes; a variable belongs to the outermost scope that sees it.
  uint32_t level() const { return level_; }
  void enter_level() { ++level_; }
  void set_level(uint32_t level) { level_ = level; }
  /// Declared variables are rigid where they are declared (T10, T13) and unknown outside.
  void declare(const TypeVar* var, uint32_t level) { declared_[var] = level; }
  /// The level of a declared variable, 0 if it is not a local one.
  uint32_t level_of(const TypeVar* var) const;
  /// Declares a dimension that other code chose (T13): it equals others only if the run checks it.
  void declare_existential(const TypeVar* var) { existential_.insert(var); }

  // ---- Solving ----
  /// The expression for which equalities are added from now on.
  void set_span(Span span) { span_ = span; }
  Span span() const { return span_; }
  /// The head of the type that a variable stands for.
  TypeRef resolve(const TypeRef& type);
  /// The same for all parts.
  TypeRef zonk(const TypeRef& type) { return type->has_incomplete() ? zonk_open(type) : type; }
  /// `?` for a term that cannot be computed, such as 2 and 3 broadcast together.
  Dim zonk(Dim dim);
  /// Makes two types consistent (`?` is consistent with every dimension). If it fails, see
  /// `mismatch()`.
  [[nodiscard]] bool unify(const TypeRef& a, const TypeRef& b);
  [[nodiscard]] bool unify_dims(Dim a, Dim b);
  bool unify(Dim a, Dim b) override { return unify_dims(a, b); }
  /// Refuses (throws `Error` with the message) equations that only callers decide (T13); leaves
  /// others to run time.
  void check(Dim a, Dim b, const std::string& message) override;
  /// An equation over declared dimensions that a body must not demand.
  struct Requirement {
    Dim left, right;
  };
  /// The equation that `check` refused last, once.
  std::optional<Requirement> take_requirement();
  /// Demands a class of a dtype (T4).
  [[nodiscard]] bool require_numeric(const TypeRef& dtype, Numeric numeric, bool wide = false);
  /// The common type of two branches: like `unify`, but a `?` of one of them stays in the result
  /// (T15).
  TypeRef join(const TypeRef& a, const TypeRef& b);
  const Mismatch& mismatch() const { return mismatch_; }
  /// Solves a variable outright (defaulting, publication).
  void bind_slot(uint32_t id, const TypeRef& type);
  void bind_dim(uint32_t id, Dim dim);
  /// Dimensions that were only ever required to equal `?` become `?` (T15).
  void settle_any();
  struct DimEquality {
    Dim a, b;
    Dim open_a, open_b;  // as they were written
    Span span;
    std::string no_value;  // as in Mismatch
  };
  /// Retries dimension equalities that waited (T14), and those that gave a variable in terms of
  /// others, which must not come out below 0; returns those that are refuted.
  std::vector<DimEquality> retry_dims();

  /// Gives the variables above a level that only an equation `c * v = t` with a number c is about the
  /// value `floordiv(t, c)` (T14): a run checks the equation. Otherwise the dimension of a called
  /// function would stay in the type of its caller. True if there are any.
  bool divide_waiting(uint32_t outer);

  // ---- Watching ----
  /// Wakes a constraint when any unsolved variable of a type is solved.
  void watch(const TypeRef& type, ConstraintId id);
  std::vector<ConstraintId>& woken() { return woken_; }
  /// Dtype demands on declared variables, which join the scheme (T10).
  struct RigidNumeric {
    TypeRef var;
    Numeric numeric;
    Span span;
  };
  std::vector<RigidNumeric>& rigid_numerics() { return rigid_numerics_; }

  /// Calls back for each unsolved variable inside, at each occurrence.
  void for_each_variable(const TypeRef& type, const std::function<void(Slot&, uint32_t)>& on_slot,
                         const std::function<void(DimSlot&, uint32_t)>& on_dim);
  /// The largest level among unsolved variables and declared variables inside.
  uint32_t max_level(const TypeRef& type);
  /// Lowers the level of everything inside to at most `level`. False if a declared variable would
  /// escape.
  bool lower(const TypeRef& type, uint32_t level);

 private:
  bool fail(Mismatch::Why why, const TypeRef& a, const TypeRef& b);
  bool bind(const TypeRef& variable, const TypeRef& type);
  bool occurs_and_lower(const Type* variable, const TypeRef& type, uint32_t level, bool* escapes);
  bool lower_dim(Dim dim, uint32_t level);
  Dim substitute_solved(Dim dim);
  void check_told(std::vector<DimEquality>& refuted);
  void solve_waiting(std::vector<DimEquality>& refuted);
  bool chosen_by_callers(Dim atom) const;
  bool unify_failed(const TypeRef& a, const TypeRef& b);
  bool unify_func(const FuncType* a, const FuncType* b, const TypeRef& ra, const TypeRef& rb);
  bool numeric_holds(DType dtype, Numeric numeric) const;
  TypeRef zonk_open(const TypeRef& type);
  TypeRef join_known(const TypeRef& a, const TypeRef& b);
  void wake(std::vector<ConstraintId>& watchers);

  std::vector<Slot> slots_;
  std::vector<DimSlot> dims_;
  uint32_t level_ = 0;
  Span span_;
  Mismatch mismatch_;
  std::vector<ConstraintId> woken_;
  std::vector<RigidNumeric> rigid_numerics_;
  std::vector<uint32_t> any_dims_;  // variables that met `?`
  std::vector<DimEquality> waiting_dims_;
  std::vector<DimEquality> told_dims_;  // a is the variable, b its value
  std::optional<Requirement> required_;
  bool any_failed_ = false;
  bool retry_dims_ = false;  // a dimension was bound, or came to wait, since they were last tried
  std::unordered_map<const TypeVar*, uint32_t> declared_;
  std::unordered_set<const TypeVar*> existential_;
};

}  // namespace relay::inference
