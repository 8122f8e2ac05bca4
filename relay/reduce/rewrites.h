// Internal to reduce/: the ways to make a program smaller.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <relay/reduce/draft.h>

namespace relay::reduce {

/// Facts about a typed module for the rewrites. Keeps pointers into it.
struct Program {
  explicit Program(const Module& module);

  struct Node {
    const Expr* expr;
    const Module::FunctionEntry* function;  // the function around it
  };

  const Module& module;
  /// Nodes with operands, and constants; operands before users, functions in order. A node's
  /// neighbours in the list are near in the program.
  std::vector<Node> nodes;
  /// Functions that nobody calls: their signatures are their own.
  std::unordered_set<Name> free_functions;
  std::unordered_map<const Var*, const Expr*> lets;  // the value of a variable
  std::unordered_set<const Var*> used_vars;
  std::unordered_set<const Constructor*> used_constructors;

  /// The function that a call's callee names, or null.
  const Function* callee(const Call& call) const;
};

/// One change; several may be made at once.
using Edit = std::function<void(Draft&)>;

/// A kind of change. `edits` lists all changes of the kind. They may be made together or, if
/// `exclusive`, one at a time; changes that are near in the program are near in the list.
struct Rewrite {
  const char* name;
  bool exclusive;
  std::vector<Edit> (*edits)(const Program&);
};

/// In the order of the tries: those that remove most come first.
std::span<const Rewrite> all_rewrites();

// The groups (rewrites_*.cpp).
std::vector<Edit> drop_functions(const Program&);
std::vector<Edit> drop_types(const Program&);
std::vector<Edit> drop_constructors(const Program&);
std::vector<Edit> choose_results(const Program&);
std::vector<Edit> inline_lets(const Program&);
std::vector<Edit> inline_calls(const Program&);
std::vector<Edit> bind_calls(const Program&);
std::vector<Edit> drop_params(const Program&);
std::vector<Edit> merge_params(const Program&);

template <size_t kOperand>
std::vector<Edit> choose_operand(const Program&);
template <size_t kOperand>
std::vector<Edit> choose_any_operand(const Program&);
template <size_t kBranch>
std::vector<Edit> choose_branch(const Program&);
std::vector<Edit> use_param(const Program&);
std::vector<Edit> add_params(const Program&);
std::vector<Edit> use_zeros(const Program&);
std::vector<Edit> use_ones(const Program&);
std::vector<Edit> project_fields(const Program&);
std::vector<Edit> drop_fields(const Program&);
std::vector<Edit> drop_clauses(const Program&);

std::vector<Edit> drop_let_types(const Program&);
std::vector<Edit> drop_result_types(const Program&);
std::vector<Edit> drop_function_attrs(const Program&);
std::vector<Edit> drop_attrs(const Program&);
std::vector<Edit> shrink_params(const Program&);
std::vector<Edit> shrink_ranks(const Program&);
std::vector<Edit> shrink_extents(const Program&);
std::vector<Edit> simplify_dtypes(const Program&);
std::vector<Edit> decide_type_params(const Program&);
std::vector<Edit> shrink_constants(const Program&);
template <int kValue>
std::vector<Edit> simplify_numbers(const Program&);

/// The simplest expression of a type: `fill` for a tensor, the smallest constructor for a data
/// type. Null if there is none.
ExprRef simplest(const TypeRef& type, const Module& module, int fill = 0);

}  // namespace relay::reduce
