// EliminateCommonSubexpr: equal pure calls become one node.
#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include <relay/ir/rewrite.h>
#include <relay/op/op.h>
#include <relay/op/registry/training.h>
#include <relay/support/hash.h>
#include <relay/support/pointer_map.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_program.h>

namespace relay {
namespace {

using Skipped = std::unordered_set<const Operator*>;

bool mergeable(const Expr* expr, const Skipped& skipped) {
  if (expr->is<TupleGetItem>()) return true;
  const auto* call = expr->as<Call>();
  const auto* op = call == nullptr ? nullptr : call->callee()->as<Op>();
  return op != nullptr && op->op()->pure() && random_in_training().find(op->op()) == nullptr &&
         skipped.count(op->op()) == 0;
}

// Numbers for nodes such that those which compute the same from the same have the same number:
// calls, projections and tuples with equal operands and fields, and scalar constants of equal bits.
class Numbering {
 public:
  explicit Numbering(const Expr* root, const Skipped& skipped) {
    struct Frame {
      const Expr* expr;
      uint32_t next;
    };
    std::vector<Frame> stack;
    std::vector<uint32_t> done;  // numbers of the operands of all frames, each frame's contiguous
    auto visit = [&](const Expr* expr) {
      if (!expr->has_one_owner()) {
        if (const uint32_t* found = shared_.find(expr)) {
          done.push_back(*found);
          return;
        }
      }
      stack.push_back({expr, 0});
    };
    visit(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const Expr* expr = frame.expr;
      auto operands = expr->operands();
      if (frame.next < operands.size()) {
        visit(operands[frame.next++].get());
        continue;
      }
      stack.pop_back();
      uint32_t number = find(expr, std::span<const uint32_t>(done).last(operands.size()), skipped);
      done.resize(done.size() - operands.size());
      done.push_back(number);
      if (!expr->has_one_owner()) shared_[expr] = number;
    }
  }

  /// Sets of two or more nodes that compute the same.
  const std::vector<std::vector<const Expr*>>& classes() const { return classes_; }

 private:
  struct Entry {
    const Expr* first;
    uint64_t hash;
    uint32_t operands;  // where its operands' numbers begin
    uint32_t equal;     // index into classes_, or kAlone
  };
  static constexpr uint32_t kAlone = UINT32_MAX;

  uint32_t add(const Expr* expr, std::span<const uint32_t> operands, uint64_t hash) {
    entries_.push_back({expr, hash, static_cast<uint32_t>(operands_.size()), kAlone});
    operands_.insert(operands_.end(), operands.begin(), operands.end());
    return static_cast<uint32_t>(entries_.size() - 1);
  }

  uint32_t find(const Expr* expr, std::span<const uint32_t> operands, const Skipped& skipped) {
    const auto* constant = expr->as<Constant>();
    bool scalar = constant != nullptr && constant->data().rank() == 0;
    if (!scalar && !expr->is<Tuple>() && !mergeable(expr, skipped)) return add(expr, {}, 0);
    uint64_t hash = static_cast<uint64_t>(expr->kind());
    if (scalar) hash = hash_combine(hash, content_hash(constant->data()));
    if (const auto* call = expr->as<Call>()) {
      hash = hash_combine(hash, reinterpret_cast<uintptr_t>(call->attrs().get()));
    } else if (const auto* projection = expr->as<TupleGetItem>()) {
      hash = hash_combine(hash, projection->index());
    }
    for (uint32_t operand : operands) hash = hash_combine(hash, operand);

    if ((entries_in_table_ + 1) * 2 > table_.size()) grow();
    for (Probe probe(operands, hash, table_.size());; probe.next()) {
      size_t slot = probe.slot();
      if (table_[slot] == 0) {
        uint32_t number = add(expr, operands, hash);
        table_[slot] = number + 1;
        ++entries_in_table_;
        return number;
      }
      uint32_t number = table_[slot] - 1;
      Entry& entry = entries_[number];
      if (entry.hash != hash || !same(entry, expr, operands)) continue;
      if (mergeable(expr, skipped)) {
        if (entry.equal == kAlone) {
          entry.equal = static_cast<uint32_t>(classes_.size());
          classes_.push_back({entry.first});
        }
        classes_[entry.equal].push_back(expr);
      }
      return number;
    }
  }

  bool same(const Entry& entry, const Expr* expr, std::span<const uint32_t> operands) const {
    const Expr* other = entry.first;
    if (other->kind() != expr->kind() || other->operands().size() != operands.size()) return false;
    if (!std::equal(operands.begin(), operands.end(), operands_.begin() + entry.operands))
      return false;
    switch (expr->kind()) {
      case ExprKind::kConstant:
        return bit_equal(static_cast<const Constant*>(expr)->data(),
                         static_cast<const Constant*>(other)->data());
      case ExprKind::kCall: {
        const auto& a = static_cast<const Call&>(*expr);
        const auto& b = static_cast<const Call&>(*other);
        return a.attrs() == b.attrs() && a.type_args() == b.type_args();
      }
      case ExprKind::kTupleGetItem:
        return static_cast<const TupleGetItem*>(expr)->index() ==
               static_cast<const TupleGetItem*>(other)->index();
      default:
        return true;
    }
  }

  void grow() {
    table_.assign(std::max<size_t>(64, table_.size() * 2), 0);
    for (uint32_t number = 0; number < entries_.size(); ++number) {
      const Entry& entry = entries_[number];
      if (entry.hash == 0) continue;
      size_t end = number + 1 < entries_.size() ? entries_[number + 1].operands : operands_.size();
      auto operands =
          std::span<const uint32_t>(operands_).subspan(entry.operands, end - entry.operands);
      Probe probe(operands, entry.hash, table_.size());
      while (table_[probe.slot()] != 0) probe.next();
      table_[probe.slot()] = number + 1;
    }
  }

  // The places where an entry may be: first near the place of its latest operand, since a node
  // mostly follows its operands closely and a walk then stays in the cache; if that is crowded (one
  // operand of very many nodes), anywhere.
  class Probe {
   public:
    Probe(std::span<const uint32_t> operands, uint64_t hash, size_t size)
        : mask_(size - 1), hash_(hash) {
      uint32_t latest = 0;
      for (uint32_t operand : operands) latest = std::max(latest, operand);
      slot_ = 2 * size_t{latest} & mask_;
    }
    size_t slot() const { return slot_; }
    void next() { slot_ = (++count_ == kNear ? hash_ : slot_ + 1) & mask_; }

   private:
    static constexpr int kNear = 8;
    size_t mask_;
    size_t slot_;
    uint64_t hash_;
    int count_ = 0;
  };

  PointerMap<Expr, uint32_t> shared_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> operands_;
  std::vector<uint32_t> table_;  // open addressing; number + 1, 0 for none
  size_t entries_in_table_ = 0;
  std::vector<std::vector<const Expr*>> classes_;
};

// Decides which nodes of a class may become one. That one runs in the lowest region common to all
// uses. So a node may join one of a region around its own, which runs anyway, and those of all
// branches of an `if` or clauses of a `match` may join each other, since one of them runs.
// Otherwise work and failures would be added (E5).
class CommonGrouping {
 public:
  explicit CommonGrouping(const View& view) : view_(view), scopes_(view.scopes()) {
    // Regions in order of entry, so that those inside of one follow it.
    size_t count = scopes_.count();
    std::vector<std::vector<uint32_t>> children(count);
    for (uint32_t region = 1; region < count; ++region) {
      children[scopes_[region].parent].push_back(region);
    }
    entry_.resize(count);
    std::vector<uint32_t> stack{0};
    uint32_t time = 0;
    while (!stack.empty()) {
      uint32_t region = stack.back();
      stack.pop_back();
      entry_[region] = time++;
      stack.insert(stack.end(), children[region].begin(), children[region].end());
    }
  }

  /// Adds the groups of two or more to `groups`: node → group.
  void split(const std::vector<const Expr*>& nodes, PointerMap<Expr, uint32_t>& groups) {
    std::vector<uint32_t> places;  // regions, each once
    std::vector<uint32_t> homes;
    for (const Expr* node : nodes) {
      homes.push_back(scopes_.home(view_.id(node)));
      places.push_back(homes.back());
    }
    unique(places);
    if (places.size() > 1) hoist(places);

    // Each region belongs to the nearest one around it that has such a node.
    std::unordered_map<uint32_t, uint32_t> group_of;
    std::sort(places.begin(), places.end(),
              [&](uint32_t a, uint32_t b) { return entry_[a] < entry_[b]; });
    uint32_t outer = View::kNone;
    for (uint32_t place : places) {
      // Entry order: the last outermost region contains this one, or none does.
      if (outer == View::kNone || !scopes_.contains(outer, place)) {
        outer = place;
        group_of[place] = next_group_++;
      } else {
        group_of[place] = group_of[outer];
      }
    }
    for (size_t i = 0; i < nodes.size(); ++i) groups[nodes[i]] = group_of[homes[i]];
  }

 private:
  static void unique(std::vector<uint32_t>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }

  // Adds the regions all of whose branches or clauses have a node. Inner regions have higher
  // numbers.
  void hoist(std::vector<uint32_t>& places) {
    std::unordered_set<uint32_t> present(places.begin(), places.end());
    std::unordered_map<uint32_t, uint32_t> branches;  // node → branches with one
    std::vector<uint32_t> queue = places;
    std::make_heap(queue.begin(), queue.end());
    while (!queue.empty()) {
      std::pop_heap(queue.begin(), queue.end());
      const Scopes::Scope& region = scopes_[queue.back()];
      queue.pop_back();
      if (region.owner == View::kNone) continue;
      const Expr* owner = view_.expr(region.owner);
      if (!owner->is<If>() && !owner->is<Match>()) continue;
      if (++branches[region.owner] + 1 != owner->operands().size()) continue;
      if (!present.insert(region.parent).second) continue;
      places.push_back(region.parent);
      queue.push_back(region.parent);
      std::push_heap(queue.begin(), queue.end());
    }
  }

  const View& view_;
  const Scopes& scopes_;
  std::vector<uint32_t> entry_;
  uint32_t next_group_ = 0;
};

// The first node of a group that is met stands for all.
class Merger final : public Rewriter {
 public:
  explicit Merger(const PointerMap<Expr, uint32_t>& groups) : groups_(groups) {}

 private:
  ExprRef enter(const Expr* expr) override {
    const uint32_t* group = groups_.find(expr);
    if (group == nullptr) return {};
    auto result = results_.find(*group);
    return result == results_.end() ? ExprRef() : result->second;
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    ExprRef result = rebuild(expr, operands);
    if (const uint32_t* group = groups_.find(expr)) results_.emplace(*group, result);
    return result;
  }
  const PointerMap<Expr, uint32_t>& groups_;
  std::unordered_map<uint32_t, ExprRef> results_;
};

FunctionRef eliminate(const FunctionRef& function, const Module& module, const Skipped& skipped) {
  Numbering numbering(function.get(), skipped);
  if (numbering.classes().empty()) return function;
  PointerMap<Expr, uint32_t> groups;
  const Program program = program_of(module);
  CommonGrouping grouping(program.view(function));
  for (const auto& nodes : numbering.classes()) grouping.split(nodes, groups);
  ExprRef result = Merger(groups).run(function);
  return FunctionRef(result->as<Function>());
}

RELAY_REGISTER_PASS({
    {"EliminateCommonSubexpr",
     3,
     {ProgramState::kTyped},
     "Makes equal calls of pure operators, and equal projections, one node. Equal nodes of "
     "different branches and "
     "closures become one only if it runs anyway where all of them can see it."},
    {{"fskip", "Operators whose calls stay apart.", std::vector<std::string>{}}},
    [](const PassInfo& info, const PassOptions& options) {
      Skipped skipped;
      for (const Operator* op :
           operators_of("fskip", option<std::vector<std::string>>(options, "fskip")))
        skipped.insert(op);
      return make_function_pass(
          info, [skipped](const FunctionRef& function, const Module& module, const PassContext&) {
            return eliminate(function, module, skipped);
          });
    },
});

}  // namespace
}  // namespace relay
