// Inference of one group of mutually recursive functions.
#pragma once

#include <array>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <relay/infer/functions/homes.h>
#include <relay/infer/solve/constraints.h>
#include <relay/infer/solve/solver.h>
#include <relay/ir/module.h>
#include <relay/support/pointer_map.h>

namespace relay::inference {

/// Shared by all groups of a module.
struct Context {
  explicit Context(const Module& m) : module(m) {}
  const Module& module;
  DiagnosticSink sink;
  /// Signatures of the functions inferred so far.
  std::unordered_map<Name, TypeRef> signatures;

  /// `fn<a..>(inputs) -> D[a..]`; null (and an error) for a constructor of an unknown type.
  TypeRef constructor_scheme(const Constructor& constructor, Span span);
  /// `fn<..>(..) -> r where R(..)` of an operator used as a value.
  TypeRef operator_scheme(const Operator* op);
  /// The attributes of an operator if none are written.
  AttrsRef default_attrs(const Operator* op);

  /// A small cache of operator calls on known types.
  struct OpEntry {
    const Operator* op = nullptr;
    AttrsRef attrs;
    std::array<TypeRef, 3> inputs;
    uint32_t num_inputs = 0;
    TypeRef output;
  };
  std::vector<OpEntry> op_cache = std::vector<OpEntry>(512);
  /// The number of errors that were looked for inside of functions.
  size_t explained = 0;
  /// The variables of lets that bind instances, with the calls that these were made for.
  std::unordered_map<VarRef, DiagnosticNote> local_calls;

 private:
  std::unordered_map<const Constructor*, TypeRef> constructors_;
  std::unordered_map<const Operator*, TypeRef> operators_;
  std::unordered_map<const Operator*, AttrsRef> attrs_;
};

/// A generalised type (T6). Each use copies the variables that are `generic`. The constraints are
/// the scheme's uninstantiated copy, which stays alive and refines it when outer variables are
/// solved.
struct Scheme {
  TypeRef type;
  std::vector<TypeVarRef> declared;
  std::vector<ConstraintId> constraints;
  TypeRef published;  // the FuncType with type parameters, once inference is over
};

constexpr int32_t kNoScheme = -1;

/// The type of an expression: plain, or an index into the schemes. A plain FuncType with type
/// parameters is a scheme as well.
struct Value {
  TypeRef type;
  int32_t scheme = kNoScheme;
};

/// One use of a polymorphic function, for specialisation (T16).
struct Occurrence {
  const Expr* parent;  // null for the root
  uint32_t operand;
  const Expr* callee;  // the Var, GlobalVar, …
  TypeRef type;        // the type of this use
};

/// The owner of the typed nodes. `kShared`: other threads may look at them and type them, so they
/// get all their types at once, at the end, or none. `kOwn`: nobody else has them; types are
/// written while they are found, over earlier ones, and stay if something is wrong.
enum class Nodes : uint8_t { kShared, kOwn };

/// The outcome for a group of functions.
enum class GroupResult : uint8_t {
  kTyped,
  kFailed,   // something is wrong; reported for `kOwn` nodes only
  kConflict  // some of the shared nodes have other types, which stay; nothing is reported
};

/// Infers expressions. One object for each group of functions.
class Inferencer {
 public:
  explicit Inferencer(Context& context, Nodes nodes = Nodes::kShared);

  /// Infers functions that call each other (T12) and publishes their types and those of all their
  /// nodes. `entry`: nobody calls it, so variables that its arguments leave open take defaults (T8,
  /// T17).
  GroupResult infer_group(std::span<const Module::FunctionEntry* const> group, bool entry);
  /// Infers an expression whose free variables are annotated, publishes, and returns its type. The
  /// type is right even if `outcome` is a conflict.
  TypeRef infer_root(const ExprRef& expr, GroupResult& outcome);

  /// Uses of polymorphic variables and globals; types are final after inference.
  const std::vector<Occurrence>& occurrences() const { return occurrences_; }

 private:
  struct Frame {
    const Expr* expr;  // null: the level was lowered for a node; `step` is the level to return to
    uint32_t step;
    uint32_t base;  // size of the value stack at entry
  };
  /// A place where types are generalised.
  struct Scope {
    uint32_t outer_level;
    size_t constraint_mark;
    size_t numeric_mark;
  };
  struct FunctionScope {
    Scope scope;
    bool generalise;
    const Var* bound_to;  // the let variable that names it, or null
    size_t diagnostics;   // the number of earlier diagnostics,
    size_t literals;      // and of earlier literals
    std::vector<TypeRef> params;
    TypeRef result;       // annotated, or null
    TypeRef body_result;  // the type that the body must have, or null
  };

  // ---- Walk (walk.cpp) ----
  Value run(const Expr* root);
  void visit(const Expr* expr);
  void step();
  void step_call(Frame& frame, const Call* call);
  void step_let(Frame& frame, const Let* let);
  void require_annotation(const Let* let);
  void step_function(Frame& frame, const Function* function);
  void step_if(Frame& frame, const If* branch);
  void step_match(Frame& frame, const Match* match);
  void step_simple(Frame& frame);
  TypeRef projection_type(const TupleGetItem* expr, uint32_t base);
  TypeRef access_type(const Expr* expr, uint32_t base);
  /// Visits operands from `frame.step` on; false if one has been entered.
  bool visit_operands(Frame& frame, uint32_t end);
  /// Ends a node: drops the values of its operands and pushes its own.
  void finish(const Expr* expr, Value value);
  /// True if the node's types are known and hold here, too: it needs no visit.
  bool known(const Expr* expr) const { return nodes_ == Nodes::kShared && expr->settled(); }
  void record(const Expr* expr, const Value& value);
  void record_closed(const Expr* expr, const TypeRef& type);
  /// The type of a value on the stack for one use of it: schemes are instantiated.
  TypeRef take(size_t index, const Expr* parent, uint32_t operand);
  TypeRef take_deferred(size_t index, const Expr* parent, uint32_t operand,
                        std::span<const TypeRef> type_args);
  void enter_function(const Function* function, const Var* bound_to, bool top);
  Value leave_function(const Function* function, const TypeRef& body);
  void bind_pattern(const Pattern* pattern, const TypeRef& type);
  TypeRef variable_type(const Var* var);
  TypeRef global_type(const GlobalVar* var);
  /// Prepares an annotation: checks kinds, makes holes and unknown names variables (T13).
  TypeRef annotation(const TypeRef& type, Span span);
  /// From the first generalised scope on, shared nodes are typed at the level of their home.
  void find_homes();

  // ---- Rules of calls (calls.cpp) ----
  TypeRef call_operator(const Call* call, const Operator* op, size_t base);
  TypeRef call_constructor(const Call* call, const Constructor* constructor, size_t base);
  TypeRef call_value(const Call* call, const TypeRef& callee, size_t first_arg);
  TypeRef literal_type(const Literal* literal);
  bool adopt_literals(const Call* call, const Operator* op, size_t base);
  TypeRef failed(Span span) { return solver_.fresh_failed(Kind::kType, span); }
  void note_definition(Diagnostic& diagnostic, const Expr* callee, size_t param);
  std::optional<NDArray> constant_value(const Call* call, size_t i);
  void solve();

  // ---- Schemes (generalize.cpp) ----
  Scope open_scope();
  int32_t close_scope(const Scope& scope, const TypeRef& type, std::vector<TypeVarRef> declared,
                      const Expr* what, bool entry = false);
  bool default_ambiguous(const Scope& scope, const TypeRef& seeds, const TypeRef& type,
                         std::span<const ConstraintId> pending);
  void merge_broadcasts(std::vector<ConstraintId>& constraints, const TypeRef& type);
  /// Copies a scheme; its constraints are appended to `deferred_`.
  TypeRef instantiate(const Value& value, std::span<const TypeRef> type_args, Span span);
  TypeRef instantiate_local(const Scheme& scheme, std::span<const TypeRef> type_args, Span span);
  TypeRef instantiate_func(const FuncType* scheme, std::span<const TypeRef> type_args, Span span);
  void choose(std::span<const TypeVarRef> params, const std::unordered_set<const TypeVar*>& inputs,
              std::span<const TypeRef> type_args, Span span,
              std::unordered_map<const TypeVar*, TypeRef>& chosen);
  TypeRef field_of_scheme(const Value& value, uint32_t index, Span span);
  TypeRef fresh_for(const TypeVar* var, bool existential, Span span);
  void require_deferred();

  // ---- Publication (publish.cpp) ----
  TypeRef infer_function(const Module::FunctionEntry& member);
  void publish_group(std::span<const Module::FunctionEntry* const> group,
                     std::span<const TypeRef> types, int32_t scheme);
  std::vector<ConstraintId> relevant_constraints(std::span<const ConstraintId> all,
                                                 const Scheme& scheme);
  void close_nodes();
  void settle_nodes();
  bool publish_nodes();
  bool same_but_for_names() const;
  void retract(std::span<const Module::FunctionEntry* const> group);
  TypeRef published_scheme(Scheme& scheme);
  TypeRef close(const TypeRef& type, std::vector<TypeVarRef>* params);
  TypeVarRef name_variable(Kind kind);
  void check_literals();
  void check_matches();

  TypeRef declared_signature(const Function* function);

  // ---- Errors (explain.cpp) ----
  /// If a call fails because of an error inside the function, replaces the call's error by that
  /// one, with the calls on the way as notes, if it can be found.
  void explain_call(const Constraints::FailedCall& failed, Diagnostic& diagnostic);
  /// Notes in a function's errors the call that the instance of a let was made for.
  void note_instance(const FunctionScope& scope);
  /// Hands the diagnostics over to the context.
  void deliver(const std::string& group = {});

  Context& context_;
  const Nodes nodes_;
  DiagnosticSink sink_;
  std::vector<Diagnostic> found_;  // the diagnostics of `sink_`, at the end
  bool nested_ = false;            // for an explanation: the diagnostics are kept
  std::vector<const Expr*> roots_;
  Solver solver_;
  Constraints constraints_;

  const TypeRef scalar_shape_ = ShapeType::make({});
  const Expr* root_ = nullptr;
  uint32_t root_level_ = 0;
  std::optional<Homes> homes_;
  std::vector<Frame> frames_;
  std::vector<Value> values_;
  std::vector<FunctionScope> functions_;
  std::vector<Scope> let_scopes_;
  PointerMap<Var, Value> vars_;
  PointerMap<Expr, Value> done_;  // nodes with several owners
  std::vector<Scheme> schemes_;
  std::vector<std::pair<const Expr*, Value>> open_;      // nodes whose type is not closed yet
  std::vector<std::pair<const Expr*, TypeRef>> closed_;  // types to publish: of shared nodes
  std::vector<const Expr*> settling_;    // nodes whose types were closed once their operands' were
  std::vector<uint32_t> numeric_slots_;  // variables of literals, in order of creation
  std::vector<std::pair<const Literal*, TypeRef>> literals_;
  /// Literals in instances of lets: from, to, the call; inner ones before outer ones.
  std::vector<std::tuple<size_t, size_t, const DiagnosticNote*>> instance_literals_;
  std::vector<const Match*> matches_;
  std::vector<Constraint> deferred_;
  std::vector<Occurrence> occurrences_;
  std::unordered_map<Name, TypeRef> group_types_;
  std::vector<Name> unknown_;  // functions that are called but do not exist
  std::unordered_map<const TypeVar*, Dim> flexible_names_;
  std::unordered_set<Name> used_names_;
  std::unordered_set<const Expr*> misused_;  // variables whose wrong use is reported
  std::array<uint32_t, 4> name_counters_{};
  /// Type parameters made here, with the demands of literals on them.
  std::unordered_map<const TypeVar*, std::pair<Numeric, bool>> generated_;
  bool groups_published_ = false;
};

/// The global functions that call themselves, perhaps through others; the only function, if alone.
std::unordered_set<Name> recursive_functions(const Module& module);

/// True if every parameter and the result are annotated, so that the signature is known at once
/// (T12).
bool fully_annotated(const Function* function);

}  // namespace relay::inference
