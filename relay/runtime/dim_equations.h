// Finds the values of dimension names from the extents of tensors that have terms over them (T13,
// T14).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <relay/runtime/dim_code.h>

namespace relay {

/// A list that needs no allocation while it is short.
template <typename T, size_t kFew>
class ShortList {
 public:
  explicit ShortList(size_t count = 0) : size_(count) {
    if (count > kFew) many_.resize(count);
  }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return size_ > kFew ? many_[i] : few_[i]; }
  const T& operator[](size_t i) const { return size_ > kFew ? many_[i] : few_[i]; }
  void push_back(const T& value) {
    if (size_ < kFew) {
      few_[size_] = value;
    } else {
      if (size_ == kFew) many_.assign(few_.begin(), few_.end());
      many_.push_back(value);
    }
    ++size_;
  }

 private:
  size_t size_;
  std::array<T, kFew> few_;
  std::vector<T> many_;
};

/// Equations `term = extent` over names that stand for whole numbers of 0 or more. Their order does
/// not matter. A name is determined by an equation in which it is the only unknown and that exactly
/// one number solves, or by several linear equations together; otherwise it keeps the range of its
/// possible values.
class DimEquations {
 public:
  /// `code` computes the terms: constants, names and their combinations.
  DimEquations(std::span<const DimInstruction> code, size_t names);

  /// The value of a name, if it is known, and the equation that determined it.
  std::optional<int64_t> value(size_t name) const { return names_[name].value; }
  size_t teller(size_t name) const { return names_[name].teller; }
  void tell(size_t name, int64_t value, size_t teller) {
    names_[name].value = value;
    names_[name].teller = teller;
  }
  /// Adds the equation of the term in a slot with the extent, on behalf of `teller`. False if that
  /// adds nothing.
  bool add(uint32_t slot, int64_t extent, size_t teller);
  bool empty() const { return equations_.size() == 0; }

  /// The reason why an equation cannot hold.
  struct Failure {
    enum class Why : uint8_t {
      kDiffers,   // the term is another number, `value`
      kNoValue,   // it has none, for the reason in `wrong`
      kUnsolved,  // no numbers for its names make it the extent
      kUntold     // no equation determines its names, and such numbers may not exist
    };
    Why why = Why::kDiffers;
    uint32_t slot = 0;
    int64_t extent = 0;
    size_t teller = 0;
    int64_t value = 0;
    const char* wrong = nullptr;
  };
  /// Determines names. Returns nothing, or the first failure. `closed`: no later equation will
  /// determine the unknown names, so each equation must have numbers that solve it.
  std::optional<Failure> solve(bool closed);

  /// The names in a term, in the order of the text.
  std::vector<size_t> names_of(uint32_t slot) const;

 private:
  struct Name {
    std::optional<int64_t> value;
    int64_t low = 0, high = INT64_MAX;  // its possible values
    size_t teller = 0;
  };
  struct Equation {
    uint32_t slot = 0;
    int64_t extent = 0;
    size_t teller = 0;
    bool done = false;
  };
  struct Slot {
    enum class State : uint8_t { kKnown, kOpen, kBroken };
    State state = State::kOpen;
    int64_t value = 0;
    const char* wrong = nullptr;
  };
  using Slots = ShortList<Slot, 16>;

  /// coefficient * name + … + constant = 0, for the names in `unknowns`.
  struct Row {
    size_t equation = 0;
    std::vector<__int128> coefficients;
    __int128 constant = 0;
  };

  void compute(Slots& slots) const;
  std::vector<size_t> unknowns_of(uint32_t slot) const;
  std::optional<size_t> only_unknown(uint32_t slot) const;
  std::optional<Failure> settle();
  std::optional<Failure> solve_one(Equation& equation, size_t name, const Slots& slots);
  std::optional<Failure> narrow(Equation& equation, size_t name, __int128 low, __int128 high);
  bool linear_in(uint32_t slot, size_t name, const Slots& slots, __int128& coefficient,
                 __int128& constant) const;
  bool monotone_in(uint32_t slot, size_t name, bool& falls) const;
  std::optional<int64_t> at(uint32_t slot, size_t name, int64_t value) const;
  bool linear_row(const Slots& slots, std::span<const size_t> unknowns, size_t equation,
                  Row& row) const;
  std::vector<Row> linear_rows(std::vector<size_t>& unknowns) const;
  static bool reduce(Row& row);
  static bool take_out(size_t column, const Row& lead, Row& row);
  std::optional<Failure> eliminate();
  std::optional<Failure> settle_row(const Row& row, std::span<const size_t> unknowns);
  bool has_solution() const;
  Failure fail(const Equation& equation, Failure::Why why) const;

  std::span<const DimInstruction> code_;
  ShortList<Name, 16> names_;
  ShortList<Equation, 8> equations_;
  bool told_ = false;
};

}  // namespace relay
