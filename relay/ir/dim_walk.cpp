// Dimensions taken apart: replacing and listing their atoms, and their text. dim.cpp puts them
// together.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <relay/ir/dim.h>
#include <relay/ir/dim_text.h>
#include <relay/ir/type.h>
#include <relay/support/error.h>
#include <relay/support/quote.h>

namespace relay {

using Part = DimTerm::Part;

std::optional<Dim> apply_dim_op(DimOp op, Dim a, Dim b) {
  switch (op) {
    case DimOp::kMul:
      return a * b;
    case DimOp::kFloorDiv:
      return floor_div(a, b);
    case DimOp::kFloorMod:
      return floor_mod(a, b);
    case DimOp::kCeilDiv:
      return ceil_div(a, b);
    case DimOp::kMin:
      return min(a, b);
    case DimOp::kMax:
      return max(a, b);
    case DimOp::kBroadcast:
      return broadcast(a, b);
    default:
      RELAY_UNREACHABLE("no operation on two dimensions");
  }
}

const char* dim_op_name(DimOp op) {
  switch (op) {
    case DimOp::kMul:
      return "mul";
    case DimOp::kFloorDiv:
      return "floordiv";
    case DimOp::kFloorMod:
      return "floormod";
    case DimOp::kCeilDiv:
      return "ceildiv";
    case DimOp::kMin:
      return "min";
    case DimOp::kMax:
      return "max";
    case DimOp::kBroadcast:
      return "broadcast";
    default:
      RELAY_UNREACHABLE("no operation on two dimensions");
  }
}

namespace {

/// Steps of a walk before it keeps what it has seen. Terms share parts, so that large ones have far
/// more ways down than parts; small ones cost less without a table.
constexpr size_t kPlainSteps = 32;

class Substitution {
 public:
  explicit Substitution(const std::function<Dim(Dim atom)>& replace) : replace_(replace) {}

  Dim of(const Dim& dim) {
    if (dim.is_variable()) return replace_(dim);
    if (!dim.is_term()) return dim;
    const DimTerm& t = dim.term();
    if (t.op == DimOp::kSymbol || t.op == DimOp::kValue) return replace_(dim);
    if (++steps_ <= kPlainSteps) return inside(dim, t);
    auto found = done_.find(&t);
    if (found != done_.end()) return found->second;
    Dim result = inside(dim, t);
    done_.emplace(&t, result);
    return result;
  }

 private:
  Dim inside(const Dim& dim, const DimTerm& t) {
    if (t.op == DimOp::kLinear) {
      Dim result = t.constant;
      bool changed = false;
      for (const Part& part : t.parts) {
        Dim atom = of(part.atom);
        changed |= !(atom == part.atom);
        result = result + Dim(part.coefficient) * atom;
      }
      return changed ? result : dim;
    }
    Dim lhs = of(t.lhs);
    Dim rhs = of(t.rhs);
    if (lhs == t.lhs && rhs == t.rhs) return dim;
    std::optional<Dim> result = apply_dim_op(t.op, lhs, rhs);
    if (!result) {
      throw Error("dimensions " + lhs.str() + " and " + rhs.str() + " do not broadcast together");
    }
    return *result;
  }

  const std::function<Dim(Dim atom)>& replace_;
  size_t steps_ = 0;
  std::unordered_map<const DimTerm*, Dim>
      done_;  // parts of the term that is walked, which it holds
};

class AtomVisit {
 public:
  explicit AtomVisit(const std::function<void(Dim atom)>& visit) : visit_(visit) {}

  void of(const Dim& dim) {
    if (dim.is_variable()) return visit_(dim);
    if (!dim.is_term()) return;
    const DimTerm& t = dim.term();
    if (++steps_ > kPlainSteps && !seen_.insert(&t).second) return;
    switch (t.op) {
      case DimOp::kSymbol:
      case DimOp::kValue:
        return visit_(dim);
      case DimOp::kLinear:
        for (const Part& part : t.parts) of(part.atom);
        return;
      default:
        of(t.lhs);
        of(t.rhs);
    }
  }

 private:
  const std::function<void(Dim atom)>& visit_;
  size_t steps_ = 0;
  std::unordered_set<const DimTerm*> seen_;
};

}  // namespace

Dim substitute(Dim dim, const std::function<Dim(Dim atom)>& replace) {
  return Substitution(replace).of(dim);
}

void for_each_atom(Dim dim, const std::function<void(Dim atom)>& visit) {
  AtomVisit(visit).of(dim);
}

namespace {

using SymbolName = std::function<std::string(const TypeVar*)>;

class DimWriter {
 public:
  explicit DimWriter(const SymbolName& name) : name_(name) {}

  std::string text(const Dim& dim) {
    append(dim);
    return std::move(out_);
  }

 private:
  void append(const Dim& dim) {
    if (dim.is_int()) {
      out_ += std::to_string(dim.as_int());
      return;
    }
    // Inference's own variables mean nothing to people.
    if (dim.is_any() || dim.is_variable()) {
      out_ += '?';
      return;
    }
    const DimTerm& t = dim.term();
    if (++steps_ <= kPlainSteps) return append_term(t);
    // Text that was written before is there to be copied.
    auto found = written_.find(&t);
    if (found != written_.end()) {
      auto [begin, size] = found->second;
      out_.append(std::string(out_, begin, size));
      return;
    }
    size_t begin = out_.size();
    append_term(t);
    written_.emplace(&t, std::pair(begin, out_.size() - begin));
  }

  void append_factor(const Dim& dim) {
    bool group = dim.is_term() && dim.term().op == DimOp::kLinear;
    if (group) out_ += '(';
    append(dim);
    if (group) out_ += ')';
  }

  void append_linear(const DimTerm& t) {
    // A sum never starts with a minus sign if it can be helped.
    std::vector<const Part*> parts;
    for (const Part& part : t.parts) parts.push_back(&part);
    std::stable_partition(parts.begin(), parts.end(),
                          [](const Part* part) { return part->coefficient > 0; });
    bool constant_first = parts[0]->coefficient < 0 && t.constant > 0;
    bool first = true;
    if (constant_first) {
      out_ += std::to_string(t.constant);
      first = false;
    }
    for (const Part* part : parts) {
      int64_t coefficient = part->coefficient;
      if (!first) {
        out_ += coefficient < 0 ? " - " : " + ";
        if (coefficient < 0) coefficient = -coefficient;
      }
      first = false;
      if (coefficient != 1) out_ += std::to_string(coefficient) + " * ";
      append_factor(part->atom);
    }
    if (!constant_first && t.constant != 0) {
      out_ += t.constant < 0 ? " - " : " + ";
      out_ += std::to_string(t.constant < 0 ? -t.constant : t.constant);
    }
  }

  void append_term(const DimTerm& t) {
    switch (t.op) {
      case DimOp::kSymbol:
        out_ += name_ ? name_(t.symbol) : quoted_name(t.symbol->name().view());
        return;
      case DimOp::kValue:
        out_ += "value(" + std::to_string(t.input) + ", " + std::to_string(t.index) + ")";
        return;
      case DimOp::kLinear:
        append_linear(t);
        return;
      case DimOp::kMul:
        append_factor(t.lhs);
        out_ += " * ";
        append_factor(t.rhs);
        return;
      default:
        break;
    }
    out_ += dim_op_name(t.op);
    out_ += '(';
    append(t.lhs);
    out_ += ", ";
    append(t.rhs);
    out_ += ')';
  }

  const SymbolName& name_;
  std::string out_;
  size_t steps_ = 0;
  std::unordered_map<const DimTerm*, std::pair<size_t, size_t>> written_;
};

}  // namespace

std::string Dim::str() const { return str({}); }
std::string Dim::str(const SymbolName& name) const {
  std::string out;
  if (is_term()) out = DimMarks::mark(*this);
  if (out.empty()) out = DimWriter(name).text(*this);
  return out;
}

}  // namespace relay
