#include <relay/ir/dim_table.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_set>

#include <relay/ir/dim_error.h>
#include <relay/ir/type.h>
#include <relay/support/error.h>
#include <relay/support/fork_mutex.h>
#include <relay/support/hash.h>

namespace relay {

namespace {

uint64_t term_hash(const DimTerm& t) {
  uint64_t h = hash_combine(static_cast<uint64_t>(t.op), reinterpret_cast<uintptr_t>(t.symbol));
  h = hash_combine(h, (static_cast<uint64_t>(t.input) << 32) | t.index);
  h = hash_combine(h, static_cast<uint64_t>(t.constant));
  for (const DimTerm::Part& part : t.parts) {
    h = hash_combine(h, static_cast<uint64_t>(part.coefficient));
    h = hash_combine(h, part.atom.bits());
  }
  return hash_combine(hash_combine(h, t.lhs.bits()), t.rhs.bits());
}

bool same_term(const DimTerm& a, const DimTerm& b) {
  return a.op == b.op && a.symbol == b.symbol && a.input == b.input && a.index == b.index &&
         a.constant == b.constant && a.lhs == b.lhs && a.rhs == b.rhs &&
         std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(),
                    [](const DimTerm::Part& p, const DimTerm::Part& q) {
                      return p.coefficient == q.coefficient && p.atom == q.atom;
                    });
}

}  // namespace

// All terms of the process that have an owner. Entries are weak, like those of types: the count of
// a term goes to zero only under its shard's lock, and a lookup takes its reference there.
struct DimTable {
  struct Hash {
    size_t operator()(const DimTerm* t) const { return term_hash(*t); }
  };
  struct Equal {
    bool operator()(const DimTerm* a, const DimTerm* b) const { return same_term(*a, *b); }
  };
  struct Shard {
    ForkMutex mutex;
    std::unordered_set<const DimTerm*, Hash, Equal> terms;
  };
  std::array<Shard, 16> shards;

  static DimTable& instance() {
    static DimTable* table = new DimTable;  // outlives every static that holds a dimension
    return *table;
  }
  Shard& shard(const DimTerm& term) { return shards[term_hash(term) >> 60]; }
  // Takes over a reference.
  static Dim as_dim(const DimTerm* term) {
    return Dim(Dim::Bits{reinterpret_cast<uint64_t>(term)});
  }

  // Whether a term is never negative, as far as its parts say. A divisor is positive.
  static bool is_natural(const DimTerm& term) {
    switch (term.op) {
      case DimOp::kSymbol:
        return term.symbol->kind() == Kind::kShapeVar;
      case DimOp::kValue:
        return false;
      case DimOp::kLinear:
        return term.constant >= 0 &&
               std::all_of(term.parts.begin(), term.parts.end(), [](const DimTerm::Part& part) {
                 return part.coefficient > 0 && part.atom.is_natural();
               });
      case DimOp::kFloorMod:
        return term.rhs.is_natural();
      case DimOp::kMax:
        return term.lhs.is_natural() || term.rhs.is_natural();
      case DimOp::kMul:
      case DimOp::kFloorDiv:
      case DimOp::kCeilDiv:
      case DimOp::kMin:
      case DimOp::kBroadcast:
        return term.lhs.is_natural() && term.rhs.is_natural();
    }
    RELAY_UNREACHABLE("unknown operation on dimensions");
  }

  // Computes sizes and flags from the parts; throws beyond the limits.
  static void measure(DimTerm& term) {
    auto absorb = [&term](const Dim& d) {
      if (d.is_variable()) term.has_variable = true;
      uint32_t depth = 1;
      uint32_t size = 1;
      if (d.is_term()) {
        const DimTerm& inner = d.term();
        term.has_variable |= inner.has_variable;
        term.has_symbol |= inner.has_symbol;
        depth = inner.depth;
        size = inner.size;
      }
      term.depth = std::max(term.depth, depth + 1);
      term.size += size;
    };
    if (term.op == DimOp::kSymbol) {
      term.has_symbol = true;
    } else if (term.op == DimOp::kLinear) {
      if (term.parts.size() > DimTerm::kMaxSize) throw DimSizeError();
      for (const DimTerm::Part& part : term.parts) absorb(part.atom);
    } else if (term.op != DimOp::kValue) {
      absorb(term.lhs);
      absorb(term.rhs);
    }
    term.is_natural = is_natural(term);
    if (term.depth > DimTerm::kMaxDepth || term.size > DimTerm::kMaxSize) throw DimSizeError();
  }

  Dim intern(DimTerm term) {
    measure(term);
    Shard& home = shard(term);
    std::lock_guard lock(home.mutex);
    auto found = home.terms.find(&term);
    if (found != home.terms.end()) {
      (*found)->refs.value.fetch_add(1, std::memory_order_relaxed);
      return as_dim(*found);
    }
    auto kept = std::make_unique<const DimTerm>(std::move(term));
    home.terms.insert(kept.get());
    if (kept->symbol != nullptr) kept->symbol->retain();
    return as_dim(kept.release());
  }

  void release(const DimTerm* term) noexcept {
    std::atomic<uint32_t>& refs = term->refs.value;
    uint32_t count = refs.load(std::memory_order_relaxed);
    while (count > 1) {
      if (refs.compare_exchange_weak(count, count - 1, std::memory_order_acq_rel)) return;
    }
    {
      Shard& home = shard(*term);
      std::lock_guard lock(home.mutex);
      if (refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      home.terms.erase(term);
    }
    // Without the lock, since the parts are released too; their nesting has a limit.
    if (term->symbol != nullptr) term->symbol->release();
    delete term;
  }
};

void Dim::release() const noexcept { DimTable::instance().release(&term()); }

size_t Dim::count_terms() {
  size_t count = 0;
  for (DimTable::Shard& shard : DimTable::instance().shards) {
    std::lock_guard lock(shard.mutex);
    count += shard.terms.size();
  }
  return count;
}

Dim Dim::symbol(const TypeVar* var) {
  DimTerm term{};
  term.op = DimOp::kSymbol;
  term.symbol = var;
  return intern_term(std::move(term));
}

Dim Dim::value(uint32_t input, uint32_t index) {
  DimTerm term{};
  term.op = DimOp::kValue;
  term.input = input;
  term.index = index;
  return intern_term(std::move(term));
}

const TypeVar* Dim::as_symbol() const {
  return is_term() && term().op == DimOp::kSymbol ? term().symbol : nullptr;
}
bool Dim::has_symbol() const { return is_term() && term().has_symbol; }
bool Dim::has_variable() const { return is_variable() || (is_term() && term().has_variable); }

Dim intern_term(DimTerm term) { return DimTable::instance().intern(std::move(term)); }

}  // namespace relay
