// Internal: compiles scalar expressions to a Program, placement first, then emission.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include <relay/tensor_expr/program.h>
#include <relay/tensor_expr/walk.h>

namespace relay::te {

inline size_t accumulators_of(const ScalarNode& fold) {
  return fold.combiner->kind == Combiner::Kind::kCustom ? fold.combiner->lhs.size() : 1;
}

class ProgramCompiler {
 public:
  ProgramCompiler(Program& program, const Environment& env, std::vector<Level> levels,
                  std::vector<Root> roots)
      : p_(program), env_(env), levels_(std::move(levels)), roots_(std::move(roots)) {}

  void run();

 private:
  static constexpr uint32_t kNone = 0xffffffffu;
  static constexpr uint32_t kNoAxis = 0x7fffffffu;

  // A place where values can live: one block each.
  struct Scope {
    uint32_t parent = 0;
    int depth = 0;
    bool loop = false;
    bool trips = true;  // of a loop: runs at least once
    bool conditional = false;
    uint32_t context = 0;
    uint32_t block = 0;
  };
  struct IndexTerm {
    int64_t coefficient;
    const ScalarNode* node;
  };
  struct LoadPlan {
    struct Axis {
      int64_t constant = 0;
      std::vector<int64_t> lanes;
      std::vector<IndexTerm> uniform, wide;
    };
    std::vector<Axis> axes;
  };
  struct Place {
    std::vector<uint32_t> uses;  // scopes
    uint32_t scope = 0;
    uint32_t home = kNone;  // of a thunk
    uint32_t plan = kNone;  // number of the load plan, fold, select or fail
    Reg reg = kNone;
  };

  uint32_t add_scope(uint32_t parent, bool loop, bool trips, bool conditional, uint32_t context);
  void make_levels();
  /// Finds nodes whose evaluation may fail; it must not happen unless the value is used.
  void find_risks();
  std::optional<int64_t> known_integer(const ScalarNode& node) const;
  int64_t fold_total(const ScalarNode& node) const;

  // program_place.cpp
  void use(const ScalarNode* node, uint32_t scope);
  uint32_t common(uint32_t a, uint32_t b) const;
  /// The innermost scope that binds a dependence of a node.
  uint32_t binder(size_t i) const;
  bool is_wide(size_t i, uint32_t context) const;
  /// True if `inner` certainly runs whenever `outer` does.
  bool certain(uint32_t inner, uint32_t outer) const;
  void choose_scope(size_t i);
  void place(size_t i);
  void place_fold(size_t i, uint32_t scope, uint32_t context);
  /// Splits each index into constant, multiples of lane axes, and terms.
  uint32_t plan_load(const ScalarNode& node, uint32_t scope, uint32_t context);

  // program_emit.cpp
  Reg new_reg(DType dtype, uint32_t context, bool wide);
  Block& block_of(uint32_t scope) { return p_.blocks_[scopes_[scope].block]; }
  /// A node's register as a row of the scope's context if `wide`, else as it is. `scope` is the
  /// place of the use.
  Reg operand(const ScalarNode* node, uint32_t scope, bool wide);
  void emit(size_t i);
  void set_number_op(Instr& instr, const ScalarNode& node, uint32_t scope);
  void set_select(Instr& instr, const ScalarNode& node, const Place& place, uint32_t context);
  void finish(size_t i, const Instr& instr, uint32_t context);
  void emit_thunk(size_t i, uint32_t context);
  Reg index_reg(uint32_t axis) const;
  uint32_t emit_load(const ScalarNode& node, const LoadPlan& plan, uint32_t scope);
  Reg emit_fold(FoldInfo& fold, uint32_t outer, bool wide);
  void allocate();

  Program& p_;
  const Environment& env_;
  std::vector<Level> levels_;
  std::vector<Root> roots_;
  std::vector<const ScalarNode*> nodes_;
  NodeNumbers numbers_;
  std::vector<FreeSet> free_;
  std::vector<char> risky_;
  std::vector<Place> places_;
  std::vector<Scope> scopes_;
  std::vector<uint32_t> level_scopes_;
  struct Arms {
    uint32_t first, second;
  };
  std::vector<Arms> arm_scopes_;        // of selects
  std::vector<uint32_t> value_scopes_;  // of folds
  std::vector<uint32_t> body_scopes_;   // of folds
  std::unordered_map<uint32_t, uint32_t> binders_;
  std::vector<std::vector<uint32_t>> wide_ids_;  // of each context
  std::vector<uint32_t> prologues_;
  std::vector<LoadPlan> plans_;
  std::unordered_map<uint64_t, Reg> splats_;
  std::vector<std::pair<Reg, Immediate>> constants_;
};

}  // namespace relay::te
