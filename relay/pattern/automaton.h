// Many patterns as one automaton: which of them an expression may fit, found in one look at it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <relay/pattern/pattern.h>
#include <relay/support/pointer_map.h>

namespace relay::pattern {

/// A discrimination tree (Graf 1995) over the nodes that patterns look at from their root on, in
/// pre-order: the operator of a call with its arguments, or the kind of another node. Ways through
/// the tree that a pattern leaves open go on behind the whole operand. Alternatives and operands
/// that may change places are several ways.
///
/// It looks a few nodes deep: what it finds may not fit after all, and nothing that fits is missed.
class Automaton {
 public:
  /// The number of a pattern is its place in the list.
  explicit Automaton(std::span<const DFPatternRef> patterns);

  /// The numbers of patterns that `expr` may fit, in increasing order, each once.
  void find(const Expr* expr, std::vector<uint32_t>& found) const;
  /// True if a call of this operator may fit one.
  bool begins_with(const Operator* op) const;
  size_t num_states() const { return states_.size(); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Token;
  using Way = std::vector<Token>;
  struct State {
    // By operator, behind its arguments: the first one here, since most states have one, …
    const Operator* op = nullptr;
    uint32_t behind = kNone;
    PointerMap<Operator, uint32_t> others;             // … the others in a map …
    std::vector<std::pair<uint32_t, uint32_t>> kinds;  // … by kind of node
    uint32_t number = kNone;                           // … a tensor of one number
    uint32_t any = kNone;
    std::vector<uint32_t> patterns;  // that end here
    const uint32_t* call(const Operator* called) const {
      return called == op ? &behind : others.find(called);
    }
  };
  static std::vector<Way> ways(const DFPattern* pattern);
  static Way open_way(const Token& head);
  static std::vector<Way> call_ways(const DFPattern& pattern, int depth);
  static std::vector<Way> ways(const DFPattern* pattern, int depth);
  void add(const Way& way, uint32_t pattern);
  /// The nodes that are still to be looked at, the next one last.
  struct Waiting;
  void find(uint32_t state, Waiting& waiting, std::vector<uint32_t>& found) const;
  void find_call(const State& at, const Expr* expr, Waiting& waiting,
                 std::vector<uint32_t>& found) const;

  std::vector<State> states_;
};

}  // namespace relay::pattern
