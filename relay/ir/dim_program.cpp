#include <relay/ir/dim_program.h>

#include <relay/support/error.h>

namespace relay {

uint32_t DimProgram::add(DimInstruction instruction, std::vector<DimInstruction>& code) {
  code.push_back(instruction);
  return static_cast<uint32_t>(code.size() - 1);
}

// Terms nest no deeper than DimTerm::kMaxDepth.
uint32_t DimProgram::slot(Dim dim, std::vector<DimInstruction>& code) {
  auto found = slots_.find(dim);
  if (found != slots_.end()) return found->second;
  RELAY_CHECK(!dim.is_any(), "a dimension without a value: " + dim.str());
  auto binary = [&](DimCode op, uint32_t a, uint32_t b) { return add({op, a, b, 0}, code); };
  uint32_t result = 0;
  if (dim.is_int()) {
    result = add({DimCode::kConst, 0, 0, dim.as_int()}, code);
  } else if (dim.is_variable()) {
    result = add(atom_(dim), code);
  } else {
    const DimTerm& term = dim.term();
    auto both = [&](DimCode op) {
      uint32_t a = slot(term.lhs, code);
      return binary(op, a, slot(term.rhs, code));
    };
    switch (term.op) {
      case DimOp::kSymbol:
      case DimOp::kValue:
        result = add(atom_(dim), code);
        break;
      case DimOp::kLinear: {
        bool first = true;
        for (const DimTerm::Part& part : term.parts) {
          uint32_t atom = slot(part.atom, code);
          int64_t coefficient = part.coefficient;
          bool minus = !first && coefficient < 0;
          if (minus) coefficient = -coefficient;
          if (coefficient != 1) atom = binary(DimCode::kMul, slot(Dim(coefficient), code), atom);
          if (first) {
            result = atom;
          } else {
            result = binary(minus ? DimCode::kSub : DimCode::kAdd, result, atom);
          }
          first = false;
        }
        if (term.constant != 0)
          result = binary(DimCode::kAdd, result, slot(Dim(term.constant), code));
        break;
      }
      case DimOp::kMul:
        result = both(DimCode::kMul);
        break;
      case DimOp::kFloorDiv:
        result = both(DimCode::kFloorDiv);
        break;
      case DimOp::kFloorMod:
        result = both(DimCode::kFloorMod);
        break;
      case DimOp::kCeilDiv:
        result = both(DimCode::kCeilDiv);
        break;
      case DimOp::kMin:
        result = both(DimCode::kMin);
        break;
      case DimOp::kMax:
        result = both(DimCode::kMax);
        break;
      case DimOp::kBroadcast:
        result = both(DimCode::kBroadcast);
        break;
    }
  }
  slots_.emplace(dim, result);
  return result;
}

}  // namespace relay
