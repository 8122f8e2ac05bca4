#include <relay/runtime/dim_equations.h>

#include <algorithm>

namespace relay {

namespace {

using Wide = __int128;

// Numbers that stay far from the ends of a Wide, whatever is done to two of them.
constexpr Wide kMostWide = Wide{1} << 62;
bool fits_wide(Wide value) { return value > -kMostWide && value < kMostWide; }

Wide gcd(Wide a, Wide b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) {
    Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

bool combines(const DimInstruction& at) {
  return at.code != DimCode::kConst && at.code != DimCode::kSymbol;
}

}  // namespace

DimEquations::DimEquations(std::span<const DimInstruction> code, size_t names)
    : code_(code), names_(names) {}

bool DimEquations::add(uint32_t slot, int64_t extent, size_t teller) {
  // A term with two extents fails already, so that the list stays short.
  size_t same = 0;
  for (size_t i = 0; i < equations_.size(); ++i) {
    if (equations_[i].slot != slot) continue;
    if (equations_[i].extent == extent || ++same == 2) return false;
  }
  equations_.push_back({slot, extent, teller, false});
  return true;
}

DimEquations::Failure DimEquations::fail(const Equation& equation, Failure::Why why) const {
  Failure failure;
  failure.why = why;
  failure.slot = equation.slot;
  failure.extent = equation.extent;
  failure.teller = equation.teller;
  return failure;
}

// ---- Terms --------------------------------------------------------------------------------------

void DimEquations::compute(Slots& slots) const {
  using State = Slot::State;
  for (size_t i = 0; i < code_.size(); ++i) {
    const DimInstruction& at = code_[i];
    Slot& slot = slots[i];
    slot = Slot();
    if (at.code == DimCode::kConst) {
      slot.state = State::kKnown;
      slot.value = at.value;
    } else if (at.code == DimCode::kSymbol) {
      if (!names_[at.a].value) continue;
      slot.state = State::kKnown;
      slot.value = *names_[at.a].value;
    } else {
      const Slot& a = slots[at.a];
      const Slot& b = slots[at.b];
      if (a.state == State::kBroken || b.state == State::kBroken) {
        slot.state = State::kBroken;
        slot.wrong = a.state == State::kBroken ? a.wrong : b.wrong;
      } else if (a.state == State::kKnown && b.state == State::kKnown) {
        slot.wrong = compute_dim(at.code, a.value, b.value, slot.value);
        slot.state = slot.wrong == nullptr ? State::kKnown : State::kBroken;
      } else if (at.code == DimCode::kMul && ((a.state == State::kKnown && a.value == 0) ||
                                              (b.state == State::kKnown && b.value == 0))) {
        slot.state = State::kKnown;  // whatever the other one is
      }
    }
  }
}

std::vector<size_t> DimEquations::names_of(uint32_t slot) const {
  std::vector<size_t> names;
  std::vector<uint32_t> todo{slot};
  std::vector<bool> seen(size_t{slot} + 1);  // operands come before
  while (!todo.empty()) {
    uint32_t next = todo.back();
    todo.pop_back();
    if (seen[next]) continue;
    seen[next] = true;
    const DimInstruction& at = code_[next];
    if (combines(at)) {
      todo.push_back(at.b);
      todo.push_back(at.a);
    } else if (at.code == DimCode::kSymbol &&
               std::find(names.begin(), names.end(), at.a) == names.end()) {
      names.push_back(at.a);
    }
  }
  return names;
}

std::vector<size_t> DimEquations::unknowns_of(uint32_t slot) const {
  std::vector<size_t> names = names_of(slot);
  std::erase_if(names, [&](size_t name) { return names_[name].value.has_value(); });
  return names;
}

// The unknown name of an open term that has one, else nothing.
std::optional<size_t> DimEquations::only_unknown(uint32_t slot) const {
  // Which name a slot depends on: none, one, or several.
  constexpr uint32_t kNoName = UINT32_MAX;
  constexpr uint32_t kSeveral = kNoName - 1;
  ShortList<uint32_t, 16> depends(size_t{slot} + 1);
  for (size_t i = 0; i <= slot; ++i) {
    const DimInstruction& at = code_[i];
    depends[i] = kNoName;
    if (at.code == DimCode::kSymbol) {
      if (!names_[at.a].value) depends[i] = at.a;
    } else if (at.code != DimCode::kConst) {
      uint32_t a = depends[at.a];
      uint32_t b = depends[at.b];
      depends[i] = a == kNoName || a == b ? b : b == kNoName ? a : kSeveral;
    }
  }
  if (depends[slot] >= kSeveral) return std::nullopt;
  return depends[slot];
}

// ---- Equations in one unknown -------------------------------------------------------------------

// True if a term is coefficient * name + constant.
bool DimEquations::linear_in(uint32_t slot, size_t name, const Slots& slots, Wide& coefficient,
                             Wide& constant) const {
  struct Form {
    bool linear = false;
    Wide coefficient = 0, constant = 0;
  };
  ShortList<Form, 16> forms(size_t{slot} + 1);
  for (size_t i = 0; i <= slot; ++i) {
    const DimInstruction& at = code_[i];
    Form& form = forms[i];
    form = Form();
    if (slots[i].state == Slot::State::kKnown) {
      form = {true, 0, slots[i].value};
    } else if (at.code == DimCode::kSymbol) {
      if (at.a == name) form = {true, 1, 0};
    } else if (combines(at) && forms[at.a].linear && forms[at.b].linear) {
      const Form& a = forms[at.a];
      const Form& b = forms[at.b];
      if (at.code == DimCode::kAdd) {
        form = {true, a.coefficient + b.coefficient, a.constant + b.constant};
      } else if (at.code == DimCode::kSub) {
        form = {true, a.coefficient - b.coefficient, a.constant - b.constant};
      } else if (at.code == DimCode::kMul && (a.coefficient == 0 || b.coefficient == 0)) {
        const Form& number = a.coefficient == 0 ? a : b;
        const Form& other = a.coefficient == 0 ? b : a;
        form = {true, other.coefficient * number.constant, other.constant * number.constant};
      }
      if (!fits_wide(form.coefficient) || !fits_wide(form.constant)) form.linear = false;
    }
  }
  coefficient = forms[slot].coefficient;
  constant = forms[slot].constant;
  return forms[slot].linear;
}

// The value of a term where an unknown name is a number; nothing if it has none.
std::optional<int64_t> DimEquations::at(uint32_t slot, size_t name, int64_t value) const {
  ShortList<std::optional<int64_t>, 16> slots(size_t{slot} + 1);
  for (size_t i = 0; i <= slot; ++i) {
    const DimInstruction& at = code_[i];
    slots[i].reset();
    if (at.code == DimCode::kConst) {
      slots[i] = at.value;
    } else if (at.code == DimCode::kSymbol) {
      slots[i] = at.a == name ? std::optional<int64_t>(value) : names_[at.a].value;
    } else if (slots[at.a] && slots[at.b]) {
      int64_t result = 0;
      if (compute_dim(at.code, *slots[at.a], *slots[at.b], result) == nullptr) slots[i] = result;
    }
  }
  return slots[slot];
}

// True if a term only grows, or only `falls`, with the name.
bool DimEquations::monotone_in(uint32_t slot, size_t name, bool& falls) const {
  struct Trend {
    bool known = false;
    bool rises = false, falls = false;  // both are false in a constant
    bool positive = false;              // never below 0
    std::optional<int64_t> number;      // of a constant
  };
  std::vector<Trend> trends(size_t{slot} + 1);
  for (size_t i = 0; i <= slot; ++i) {
    const DimInstruction& at = code_[i];
    Trend& trend = trends[i];
    if (at.code == DimCode::kConst || (at.code == DimCode::kSymbol && at.a != name)) {
      trend.number = at.code == DimCode::kConst ? at.value : names_[at.a].value;
      trend.known = trend.number.has_value();
      trend.positive = trend.known && *trend.number >= 0;
      continue;
    }
    if (at.code == DimCode::kSymbol) {
      trend = {true, true, false, true, std::nullopt};
      continue;
    }
    const Trend& a = trends[at.a];
    const Trend& b = trends[at.b];
    if (!a.known || !b.known) continue;
    if (a.number && b.number) {
      int64_t number = 0;
      if (compute_dim(at.code, *a.number, *b.number, number) == nullptr) trend.number = number;
      trend.known = trend.number.has_value();
      trend.positive = trend.known && number >= 0;
      continue;
    }
    switch (at.code) {
      case DimCode::kAdd:
      case DimCode::kMin:
      case DimCode::kMax:
        trend.rises = a.rises || b.rises;
        trend.falls = a.falls || b.falls;
        trend.positive =
            (a.positive && b.positive) || (at.code == DimCode::kMax && (a.positive || b.positive));
        trend.known = true;
        break;
      case DimCode::kSub:
        trend.rises = a.rises || b.falls;
        trend.falls = a.falls || b.rises;
        trend.known = true;
        break;
      case DimCode::kMul:
        if (a.number || b.number) {
          const Trend& other = a.number ? b : a;
          bool negative = a.number ? *a.number < 0 : *b.number < 0;
          trend.rises = negative ? other.falls : other.rises;
          trend.falls = negative ? other.rises : other.falls;
          trend.positive = !negative && other.positive;
          trend.known = true;
        } else if (a.positive && b.positive) {
          trend.rises = a.rises || b.rises;
          trend.falls = a.falls || b.falls;
          trend.positive = true;
          trend.known = true;
        }
        break;
      case DimCode::kFloorDiv:
      case DimCode::kCeilDiv:
        if (!b.number || *b.number <= 0) break;
        trend.rises = a.rises;
        trend.falls = a.falls;
        trend.positive = a.positive;
        trend.known = true;
        break;
      default:
        break;
    }
    if (trend.rises && trend.falls) trend.known = false;
  }
  falls = trends[slot].falls;
  return trends[slot].known;
}

// The name of an equation is between two numbers.
std::optional<DimEquations::Failure> DimEquations::narrow(Equation& equation, size_t name, Wide low,
                                                          Wide high) {
  Name& known = names_[name];
  low = std::max<Wide>(low, known.low);
  high = std::min<Wide>(high, known.high);
  if (low > high) return fail(equation, Failure::Why::kUnsolved);
  equation.done = true;
  known.low = static_cast<int64_t>(low);
  known.high = static_cast<int64_t>(high);
  if (low == high) {
    tell(name, known.low, equation.teller);
    told_ = true;
  }
  return std::nullopt;
}

std::optional<DimEquations::Failure> DimEquations::solve_one(Equation& equation, size_t name,
                                                             const Slots& slots) {
  Wide coefficient = 0;
  Wide constant = 0;
  if (linear_in(equation.slot, name, slots, coefficient, constant)) {
    Wide rest = equation.extent - constant;
    if (coefficient == 0) {  // the name does not matter
      equation.done = rest == 0;
      return rest == 0 ? std::nullopt : std::optional(fail(equation, Failure::Why::kUnsolved));
    }
    if (rest % coefficient != 0) return fail(equation, Failure::Why::kUnsolved);
    return narrow(equation, name, rest / coefficient, rest / coefficient);
  }
  const DimInstruction& top = code_[equation.slot];
  if (top.code == DimCode::kBroadcast) {
    uint32_t other = slots[top.a].state == Slot::State::kKnown ? top.a : top.b;
    uint32_t open = other == top.a ? top.b : top.a;
    if (slots[other].state != Slot::State::kKnown) return std::nullopt;
    if (slots[other].value != 1 && slots[other].value != equation.extent)
      return fail(equation, Failure::Why::kUnsolved);
    if (slots[other].value != 1 || code_[open].code != DimCode::kSymbol) return std::nullopt;
    return narrow(equation, name, equation.extent, equation.extent);
  }
  bool falls = false;
  if (!monotone_in(equation.slot, name, falls)) return std::nullopt;
  // The first number for which the term is at least (for one that falls: at most) the extent, and
  // the first for which it is beyond. A value that does not fit into 64 bits is beyond.
  int64_t low = names_[name].low;
  int64_t high = names_[name].high;
  auto reaches = [&](Wide number, bool beyond) {
    std::optional<int64_t> value = at(equation.slot, name, static_cast<int64_t>(number));
    if (!value || (!beyond && *value == equation.extent)) return true;
    return falls ? *value < equation.extent : *value > equation.extent;
  };
  auto first = [&](bool beyond) -> Wide {
    Wide from = low;
    Wide to = static_cast<Wide>(high) + 1;
    for (Wide step = 1; from < to; step *= 2) {  // it is near, as a rule
      Wide probe = std::min(from + step, to) - 1;
      if (reaches(probe, beyond)) {
        to = probe;
        break;
      }
      from = probe + 1;
    }
    while (from < to) {
      Wide middle = from + (to - from) / 2;
      if (reaches(middle, beyond)) {
        to = middle;
      } else {
        from = middle + 1;
      }
    }
    return from;
  };
  return narrow(equation, name, first(false), first(true) - 1);
}

// Takes up the equations until none tells more.
std::optional<DimEquations::Failure> DimEquations::settle() {
  Slots slots(code_.size());
  for (bool again = true; again;) {
    told_ = false;
    compute(slots);
    for (size_t i = 0; i < equations_.size(); ++i) {
      Equation& equation = equations_[i];
      const Slot& slot = slots[equation.slot];
      if (slot.state == Slot::State::kBroken) {
        Failure failure = fail(equation, Failure::Why::kNoValue);
        failure.wrong = slot.wrong;
        return failure;
      }
      if (slot.state == Slot::State::kKnown) {
        equation.done = true;
        if (slot.value == equation.extent) continue;
        Failure failure = fail(equation, Failure::Why::kDiffers);
        failure.value = slot.value;
        return failure;
      }
      if (equation.done) continue;
      std::optional<size_t> name = only_unknown(equation.slot);
      if (!name) continue;
      if (auto failure = solve_one(equation, *name, slots)) return failure;
      if (told_) compute(slots);
    }
    again = told_;
  }
  return std::nullopt;
}

// ---- Equations in several unknowns ------------------------------------------------------------

bool DimEquations::linear_row(const Slots& slots, std::span<const size_t> unknowns, size_t equation,
                              Row& row) const {
  uint32_t root = equations_[equation].slot;
  row.equation = equation;
  row.coefficients.assign(unknowns.size(), 0);
  row.constant = -Wide{equations_[equation].extent};
  if (!fits_wide(row.constant)) return false;
  // From the root down: the factor of each slot's value.
  std::vector<Wide> factors(size_t{root} + 1, 0);
  factors[root] = 1;
  auto pass = [&](uint32_t slot, Wide factor) {
    if (fits_wide(factor)) factors[slot] += factor;
    return fits_wide(factor) && fits_wide(factors[slot]);
  };
  for (size_t i = size_t{root} + 1; i-- > 0;) {
    Wide factor = factors[i];
    if (factor == 0) continue;
    const DimInstruction& at = code_[i];
    if (slots[i].state == Slot::State::kKnown) {
      Wide value = slots[i].value;
      if (!fits_wide(value)) return false;
      row.constant += factor * value;
      if (!fits_wide(row.constant)) return false;
      continue;
    }
    switch (at.code) {
      case DimCode::kSymbol: {
        auto found = std::find(unknowns.begin(), unknowns.end(), size_t{at.a});
        if (found == unknowns.end()) return false;
        Wide& coefficient = row.coefficients[static_cast<size_t>(found - unknowns.begin())];
        coefficient += factor;
        if (!fits_wide(coefficient)) return false;
        break;
      }
      case DimCode::kAdd:
      case DimCode::kSub:
        if (!pass(at.a, factor)) return false;
        if (!pass(at.b, at.code == DimCode::kAdd ? factor : -factor)) return false;
        break;
      case DimCode::kMul: {
        bool left = slots[at.a].state == Slot::State::kKnown;
        if (!left && slots[at.b].state != Slot::State::kKnown) return false;
        Wide number = slots[left ? at.a : at.b].value;
        if (!fits_wide(number)) return false;
        if (!pass(left ? at.b : at.a, factor * number)) return false;
        break;
      }
      default:
        return false;
    }
  }
  return true;
}

// The open equations that are linear in their names, as many as there is room for.
std::vector<DimEquations::Row> DimEquations::linear_rows(std::vector<size_t>& unknowns) const {
  constexpr size_t kMost = 64;
  Slots slots(code_.size());
  compute(slots);
  std::vector<size_t> open;
  for (size_t i = 0; i < equations_.size() && open.size() < kMost; ++i) {
    if (slots[equations_[i].slot].state != Slot::State::kOpen) continue;
    std::vector<size_t> names = unknowns_of(equations_[i].slot);
    if (unknowns.size() + names.size() > kMost) continue;
    open.push_back(i);
    for (size_t name : names) {
      if (std::find(unknowns.begin(), unknowns.end(), name) == unknowns.end())
        unknowns.push_back(name);
    }
  }
  std::vector<Row> rows;
  for (size_t i : open) {
    Row row;
    if (linear_row(slots, unknowns, i, row)) rows.push_back(std::move(row));
  }
  return rows;
}

// Divides a row by what divides all of it; false if nothing solves it. Whole numbers solve a row
// only if the divisor of its coefficients divides the constant, and numbers of 0 or more only if
// the terms do not all have one sign.
bool DimEquations::reduce(Row& row) {
  Wide divisor = 0;
  bool below = row.constant < 0;
  bool above = row.constant > 0;
  for (Wide coefficient : row.coefficients) {
    divisor = gcd(divisor, coefficient);
    below = below || coefficient < 0;
    above = above || coefficient > 0;
  }
  if (row.constant != 0 && (divisor == 0 || row.constant % divisor != 0 || !below || !above))
    return false;
  if (divisor == 0) return true;
  for (Wide& coefficient : row.coefficients) coefficient /= divisor;
  row.constant /= divisor;
  return true;
}

// Takes the unknown `column` out of a row; false if the numbers become too large.
bool DimEquations::take_out(size_t column, const Row& lead, Row& row) {
  const Wide factor = row.coefficients[column];
  bool fits = true;
  auto combine = [&](Wide& own, Wide other) {
    own = own * lead.coefficients[column] - other * factor;
    fits = fits && fits_wide(own);
  };
  for (size_t k = 0; k < row.coefficients.size(); ++k)
    combine(row.coefficients[k], lead.coefficients[k]);
  combine(row.constant, lead.constant);
  row.equation = std::max(row.equation, lead.equation);
  return fits;
}

// Solves linear equations together: determines names, or finds that one cannot hold.
std::optional<DimEquations::Failure> DimEquations::eliminate() {
  std::vector<size_t> unknowns;
  std::vector<Row> rows = linear_rows(unknowns);
  auto refuse = [&](const Row& row) {
    return fail(equations_[row.equation], Failure::Why::kUnsolved);
  };
  for (Row& row : rows) {
    if (!reduce(row)) return refuse(row);
  }
  size_t done = 0;
  for (size_t column = 0; column < unknowns.size() && done < rows.size(); ++column) {
    auto pivot = std::find_if(rows.begin() + static_cast<ptrdiff_t>(done), rows.end(),
                              [&](const Row& row) { return row.coefficients[column] != 0; });
    if (pivot == rows.end()) continue;
    std::swap(rows[done], *pivot);
    const Row lead = rows[done];
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i == done || rows[i].coefficients[column] == 0) continue;
      if (!take_out(column, lead, rows[i])) return std::nullopt;  // too large to tell
      if (!reduce(rows[i])) return refuse(rows[i]);
    }
    ++done;
  }
  for (const Row& row : rows) {
    if (auto failure = settle_row(row, unknowns)) return failure;
  }
  return std::nullopt;
}

// Takes up the value of the name that a row is about, if it is about one.
std::optional<DimEquations::Failure> DimEquations::settle_row(const Row& row,
                                                              std::span<const size_t> unknowns) {
  size_t count = 0;
  size_t at = 0;
  for (size_t k = 0; k < unknowns.size(); ++k) {
    if (row.coefficients[k] == 0) continue;
    ++count;
    at = k;
  }
  if (count != 1 || names_[unknowns[at]].value) return std::nullopt;
  const Wide value = -row.constant / row.coefficients[at];  // exact: the coefficient is 1 or -1
  Equation equation = equations_[row.equation];
  return narrow(equation, unknowns[at], value, value);
}

// True if numbers exist for all unknown names. Nothing searches: all but one are tried as 0, as 1
// and as the least and the largest extent, and the last one follows, or not.
bool DimEquations::has_solution() const {
  constexpr size_t kMost = 8;
  std::vector<size_t> unknowns;
  int64_t least = INT64_MAX;
  int64_t most = 0;
  for (size_t i = 0; i < equations_.size(); ++i) {
    if (equations_[i].done) continue;
    least = std::min(least, equations_[i].extent);
    most = std::max(most, equations_[i].extent);
    for (size_t name : unknowns_of(equations_[i].slot)) {
      if (std::find(unknowns.begin(), unknowns.end(), name) == unknowns.end())
        unknowns.push_back(name);
    }
  }
  if (unknowns.size() > kMost) return false;
  for (int64_t number : {int64_t{1}, int64_t{0}, least, most}) {
    for (size_t last = 0; last <= unknowns.size(); ++last) {
      DimEquations attempt = *this;
      for (size_t i = 0; i < unknowns.size(); ++i) {
        if (i == last) continue;
        const Name& name = names_[unknowns[i]];
        attempt.tell(unknowns[i], std::clamp(number, name.low, name.high), 0);
      }
      if (attempt.settle()) continue;
      bool all = true;
      for (size_t i = 0; i < attempt.equations_.size(); ++i) all &= attempt.equations_[i].done;
      if (all) return true;
    }
  }
  return false;
}

std::optional<DimEquations::Failure> DimEquations::solve(bool closed) {
  if (empty()) return std::nullopt;
  for (;;) {
    if (auto failure = settle()) return failure;
    size_t open = equations_.size();
    while (open > 0 && equations_[open - 1].done) --open;
    if (open == 0) return std::nullopt;
    told_ = false;
    if (auto failure = eliminate()) return failure;
    if (told_) continue;
    if (!closed || has_solution()) return std::nullopt;
    for (size_t i = 0; i < equations_.size(); ++i) {
      if (!equations_[i].done) return fail(equations_[i], Failure::Why::kUntold);
    }
    return std::nullopt;
  }
}

}  // namespace relay
