// Matching: does an expression fit a pattern, and what fits which part of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <relay/ir/module.h>
#include <relay/pattern/pattern.h>
#include <relay/program/view.h>
#include <relay/support/pointer_map.h>

namespace relay::pattern {

/// The answers to what matching asks about the expression around the nodes that it looks at: one of
/// these serves for any number of patterns and nodes of one expression, which must outlive it.
class Surroundings {
 public:
  /// `module`, if given, has the functions that types of untyped expressions depend on.
  explicit Surroundings(const ExprRef& root, const Module* module = nullptr)
      : root_(root), module_(module) {}
  const ExprRef& root() const { return root_; }
  /// The nodes around, numbered, with their users and dominators.
  const View& view() {
    if (!view_) view_ = std::make_unique<View>(root_);
    return *view_;
  }
  /// The type of a node, inferred where it has none; null where it has none that can be found.
  const Type* type_of(const Expr* expr);
  /// Counts one step of a match of `root`. Throws `Error` where a match takes too many.
  void step(const Expr* root);
  void begin_match() { steps_ = 0; }

 private:
  ExprRef root_;
  const Module* module_;
  std::unique_ptr<View> view_;
  bool inferred_ = false;
  uint64_t steps_ = 0;
  uint64_t all_steps_ = 0;
};

/// A part of a pattern, and a node that fits it.
struct Binding {
  const DFPattern* pattern;
  const Expr* expr;
};

/// A pattern made ready: its parts numbered, what commutes and what may be rotated worked out. Can
/// be used by several threads at once.
class CompiledPattern {
 public:
  explicit CompiledPattern(DFPatternRef pattern);
  const DFPatternRef& pattern() const { return pattern_; }
  /// All parts in the order of `patterns_in`.
  std::span<const DFPattern* const> parts() const { return order_; }
  /// True if matching looks at users of nodes.
  bool has_dominator() const { return has_dominator_; }

 private:
  friend class Matcher;
  struct Part {
    const DFPattern* pattern;
    uint32_t first;  // of its children in `children_`
    uint32_t count;
    uint32_t target = UINT32_MAX;   // of a wildcard
    uint32_t rotated = UINT32_MAX;  // the first of further forms, tried when its own fails …
    uint32_t num_rotated = 0;       // … and their number
    bool commutes = false;
    bool recorded = true;  // false for forms that are made here
    /// True if nothing recursive is inside: all nodes that the part fits in one match are the same.
    bool one_node = false;
    /// True if there is also one way at most in which a node fits the part.
    bool one_way = false;
    /// True for a dominator if what its parent binds is bound nowhere else, so that a way that ends
    /// badly for one child does for all.
    bool independent = false;
  };
  uint32_t add(const DFPattern* pattern, std::vector<uint32_t> children, bool recorded);
  uint32_t child(uint32_t part, size_t i) const { return children_[parts_[part].first + i]; }
  void rotate(uint32_t part);
  void find_simple();
  void find_independent();

  DFPatternRef pattern_;
  std::vector<const DFPattern*> order_;
  std::vector<Part> parts_;
  std::vector<uint32_t> children_;
  std::vector<DFPatternRef> made_;  // forms that are made here
  uint32_t root_ = 0;
  bool has_dominator_ = false;
};

/// Matches expressions against compiled patterns: a machine with goals and points to go back to,
/// all in vectors, which are kept from one match to the next.
///
/// A pattern that stands twice means the same node. Alternatives are tried in order, and everything
/// that follows decides: if what comes later fails, the next alternative is tried. Arguments of
/// `add` and `multiply` are tried in both orders; `a * (b / c)` fits `(a * b) / c` and the other
/// way round.
class Matcher {
 public:
  explicit Matcher(Surroundings& around) : around_(around) {}
  /// True if `root` fits. `bindings` then has what fits each part, in the order in which the parts
  /// were settled, inner ones first. The path of a dominator and parts of a recursive pattern can
  /// be there several times.
  bool match(const CompiledPattern& pattern, const Expr* root);
  /// For matches of one recursive pattern with many nodes, operands before users: keeps which nodes
  /// fitted, so that a match does not go through all that is inside again. From now on `bindings`
  /// has only the first node that fits each part.
  void remember() { remembers_ = true; }
  std::span<const Binding> bindings() const { return trail_; }
  /// The first node that fits a part; null if none does.
  const Expr* bound(const DFPattern* part) const;

 private:
  enum class Task : uint8_t {
    kMatch,     // `expr` fits part `part`
    kBind,      // note that it does
    kCheck,     // a test that follows the part's inner pattern
    kPromise,   // `part` will be matched with `expr`
    kWays,      // go through what is left of the ways of a dominator
    kEndsHere,  // a way has come to the parent, `expr`
    kGoesOn,    // a way leads through `expr`
    kDeadEnd,   // `expr` is neither the parent nor on the path
    kCut,       // forget the points to go back to beyond `part`
  };
  static constexpr uint32_t kEnd = UINT32_MAX;
  struct Goal {
    Task task;
    bool free;  // binds nothing: on the path of a dominator
    uint32_t part;
    const Expr* expr;
    uint32_t ways;  // an index of ways_
    uint32_t next;
    bool only_binds = false;  // neither this goal nor any that follows can fail
    bool afresh = false;      // not answered by earlier matches
  };
  struct Point {
    uint32_t goals;  // where to go on
    uint32_t num_goals;
    uint32_t num_bindings;
    uint32_t num_ways;
    uint32_t num_recalled;
    uint32_t num_promised;
  };
  /// The ways from the child of a dominator towards its parent.
  struct Ways {
    const Expr* child = nullptr;
    const Expr* parent = nullptr;
    struct Step {
      const Expr* expr;
      uint32_t from;  // the step that led here
    };
    std::vector<Step> steps;  // the first `done` are settled
    size_t done = 0;
    PointerSet<Expr> seen;
  };
  /// The first node that fits a part.
  struct First {
    uint32_t part;
    const Expr* expr;
    bool again;  // the part fitted another node around this one, which nothing compared
    bool operator==(const First&) const = default;
  };

  bool run();
  bool step(const Goal& goal);
  bool match_part(const Goal& goal);
  bool match_call(const Goal& goal, const Call& call);
  bool match_function(const Goal& goal);
  bool match_children(const Goal& goal, std::span<const ExprRef> operands, size_t first_child,
                      uint32_t next);
  bool keep_promise(const Goal& goal);
  void break_promises(size_t left);
  bool answers() const { return remembers_ && recursive_ != kEnd; }
  bool check(const Goal& goal);
  bool fits_number(const DFPattern& pattern, const Expr* expr);
  bool begin_ways(const Goal& goal);
  bool next_way(const Goal& goal);
  bool way_goes_on(const Goal& goal);
  bool closed(const Ways& ways);
  bool way_is_dead(const Goal& goal, size_t at);
  PointerSet<Expr>* dead_ends(uint32_t part);
  uint32_t push(Task task, const Goal& like, uint32_t part, const Expr* expr, uint32_t next);
  void point(uint32_t goals);
  bool back();
  void bind(const Goal& goal);
  void forget();
  void keep(bool fits);
  std::optional<bool> recall(const Goal& goal, uint32_t done);
  std::span<const First> list(uint32_t number) const;

  Surroundings& around_;
  const CompiledPattern* pattern_ = nullptr;
  const Expr* root_ = nullptr;
  uint32_t goals_ = kEnd;  // those that are left, the first one
  std::vector<Goal> pool_;
  std::vector<Point> points_;
  std::vector<Binding> trail_;
  std::vector<uint32_t> trail_parts_;
  std::vector<const Expr*> bound_;
  std::vector<Ways> ways_;
  // Nodes from which no way of a dominator ends well.
  std::map<std::pair<const CompiledPattern*, uint32_t>, PointerSet<Expr>> dead_;

  // Findings of earlier matches (memory.cpp).
  bool remembers_ = false;
  uint32_t recursive_ = kEnd;        // what the wildcard stands for that is the whole pattern
  PointerMap<Expr, uint32_t> kept_;  // 0: it does not fit; else the number of a list, from 1
  std::vector<First> firsts_;        // the lists, one behind the other: the first nodes of parts
  std::vector<size_t> ends_;         // of the lists
  std::vector<uint32_t> recalled_;   // the lists that the match at work has taken over
  // The node that a part of one node is going to be matched with.
  std::vector<const Expr*> promised_;
  std::vector<uint32_t> promised_parts_;
};

/// The findings of one match: nodes by part of the pattern, and by name.
class MatchResult {
 public:
  MatchResult() = default;
  explicit MatchResult(std::span<const Binding> bindings);
  /// Nodes that fit a part, in the order in which they were settled; empty if none does.
  std::vector<ExprRef> nodes(const DFPattern* part) const;
  /// The node that fits the part of a name; null if there is none.
  ExprRef node(const Name& name) const;
  struct Entry {
    DFPatternRef pattern;
    ExprRef expr;
  };
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

/// True if `expr` fits the pattern; `result`, if given, receives what fits its parts.
bool match(const DFPatternRef& pattern, const ExprRef& expr, MatchResult* result = nullptr,
           const Module* module = nullptr);

}  // namespace relay::pattern
