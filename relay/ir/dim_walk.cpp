// Dimensions taken apart: replacing and listing their atoms, and their text. dim.cpp puts them
// together.
#include <algorithm>

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

Dim substitute(Dim dim, const std::function<Dim(Dim atom)>& replace) {
  if (dim.is_variable()) return replace(dim);
  if (!dim.is_term()) return dim;
  const DimTerm& t = dim.term();
  auto inner = [&replace](Dim d) { return substitute(d, replace); };
  switch (t.op) {
    case DimOp::kSymbol:
    case DimOp::kValue:
      return replace(dim);
    case DimOp::kLinear: {
      Dim result = t.constant;
      bool changed = false;
      for (const Part& part : t.parts) {
        Dim atom = inner(part.atom);
        changed |= !(atom == part.atom);
        result = result + Dim(part.coefficient) * atom;
      }
      return changed ? result : dim;
    }
    default:
      break;
  }
  Dim lhs = inner(t.lhs);
  Dim rhs = inner(t.rhs);
  if (lhs == t.lhs && rhs == t.rhs) return dim;
  std::optional<Dim> result = apply_dim_op(t.op, lhs, rhs);
  if (!result) {
    throw Error("dimensions " + lhs.str() + " and " + rhs.str() + " do not broadcast together");
  }
  return *result;
}

void for_each_atom(Dim dim, const std::function<void(Dim atom)>& visit) {
  if (dim.is_variable()) return visit(dim);
  if (!dim.is_term()) return;
  const DimTerm& t = dim.term();
  switch (t.op) {
    case DimOp::kSymbol:
    case DimOp::kValue:
      return visit(dim);
    case DimOp::kLinear:
      for (const Part& part : t.parts) for_each_atom(part.atom, visit);
      return;
    default:
      for_each_atom(t.lhs, visit);
      for_each_atom(t.rhs, visit);
  }
}

namespace {

using SymbolName = std::function<std::string(const TypeVar*)>;

void append(std::string& out, Dim d, const SymbolName& name);

void append_factor(std::string& out, Dim d, const SymbolName& name) {
  bool group = d.is_term() && d.term().op == DimOp::kLinear;
  if (group) out += '(';
  append(out, d, name);
  if (group) out += ')';
}

void append_linear(std::string& out, const DimTerm& t, const SymbolName& name) {
  // A sum never starts with a minus sign if it can be helped.
  std::vector<Part> parts = t.parts;
  std::stable_partition(parts.begin(), parts.end(),
                        [](const Part& part) { return part.coefficient > 0; });
  bool constant_first = parts[0].coefficient < 0 && t.constant > 0;
  bool first = true;
  if (constant_first) {
    out += std::to_string(t.constant);
    first = false;
  }
  for (const Part& part : parts) {
    int64_t coefficient = part.coefficient;
    if (!first) {
      out += coefficient < 0 ? " - " : " + ";
      if (coefficient < 0) coefficient = -coefficient;
    }
    first = false;
    if (coefficient != 1) out += std::to_string(coefficient) + " * ";
    append_factor(out, part.atom, name);
  }
  if (!constant_first && t.constant != 0) {
    out += t.constant < 0 ? " - " : " + ";
    out += std::to_string(t.constant < 0 ? -t.constant : t.constant);
  }
}

void append(std::string& out, Dim d, const SymbolName& name) {
  if (d.is_int()) {
    out += std::to_string(d.as_int());
    return;
  }
  if (d.is_any()) {
    out += '?';
    return;
  }
  if (d.is_variable()) {
    out += '?';  // inference's own names mean nothing to people
    return;
  }
  const DimTerm& t = d.term();
  switch (t.op) {
    case DimOp::kSymbol:
      out += name ? name(t.symbol) : quoted_name(t.symbol->name().view());
      return;
    case DimOp::kValue:
      out += "value(" + std::to_string(t.input) + ", " + std::to_string(t.index) + ")";
      return;
    case DimOp::kLinear:
      append_linear(out, t, name);
      return;
    case DimOp::kMul:
      append_factor(out, t.lhs, name);
      out += " * ";
      append_factor(out, t.rhs, name);
      return;
    default:
      break;
  }
  out += dim_op_name(t.op);
  out += '(';
  append(out, t.lhs, name);
  out += ", ";
  append(out, t.rhs, name);
  out += ')';
}

}  // namespace

std::string Dim::str() const { return str({}); }
std::string Dim::str(const SymbolName& name) const {
  std::string out;
  if (is_term()) out = DimMarks::mark(*this);
  if (out.empty()) append(out, *this, name);
  return out;
}

}  // namespace relay
