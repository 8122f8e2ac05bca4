// Names in declared dimensions, told by extents.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <relay/runtime/dim_equations.h>

namespace relay::runtime_dim_equations_test {
namespace {

using Why = DimEquations::Failure::Why;

/// Code written term by term.
struct Code {
  std::vector<DimInstruction> code;
  uint32_t add(DimCode op, uint32_t a = 0, uint32_t b = 0, int64_t value = 0) {
    code.push_back({op, a, b, value});
    return static_cast<uint32_t>(code.size() - 1);
  }
  uint32_t name(uint32_t i) { return add(DimCode::kSymbol, i); }
  uint32_t number(int64_t value) { return add(DimCode::kConst, 0, 0, value); }
};

struct Equation {
  uint32_t slot;
  int64_t extent;
};

/// "accepted", or why not.
std::string solve(const Code& code, size_t names, const std::vector<Equation>& equations,
                  bool closed = true, std::vector<std::optional<int64_t>>* values = nullptr) {
  DimEquations system(code.code, names);
  for (size_t i = 0; i < equations.size(); ++i)
    system.add(equations[i].slot, equations[i].extent, i);
  auto failure = system.solve(closed);
  if (values != nullptr) {
    values->clear();
    for (size_t i = 0; i < names; ++i) values->push_back(system.value(i));
  }
  if (!failure) return "accepted";
  switch (failure->why) {
    case Why::kDiffers:
      return "differs: " + std::to_string(failure->value);
    case Why::kNoValue:
      return failure->wrong;
    case Why::kUnsolved:
      return "unsolved";
    case Why::kUntold:
      return "untold";
  }
  return "?";
}

TEST(DimEquations, NoNameIsBelowZero) {
  Code c;
  uint32_t n = c.name(0), m = c.name(1);
  uint32_t sum = c.add(DimCode::kAdd, n, m);
  std::vector<std::optional<int64_t>> values;
  EXPECT_EQ(solve(c, 2, {{sum, 5}, {n, 3}}, true, &values), "accepted");
  EXPECT_EQ(values[1], 2);
  EXPECT_EQ(solve(c, 2, {{sum, 2}, {n, 3}}), "unsolved");
  EXPECT_EQ(solve(c, 2, {{n, 3}, {sum, 2}}), "unsolved");
  EXPECT_EQ(solve(c, 2, {{sum, 3}, {n, 3}}), "accepted");  // m = 0
  EXPECT_EQ(solve(c, 2, {{sum, 4}}), "accepted");
  EXPECT_EQ(solve(c, 2, {{sum, 4}, {sum, 5}}), "unsolved");
}

TEST(DimEquations, WholePowers) {
  Code c;
  uint32_t n = c.name(0);
  uint32_t square = c.add(DimCode::kMul, n, n);
  uint32_t cube = c.add(DimCode::kMul, square, n);
  std::vector<std::optional<int64_t>> values;
  EXPECT_EQ(solve(c, 1, {{square, 9}}, true, &values), "accepted");
  EXPECT_EQ(values[0], 3);
  EXPECT_EQ(solve(c, 1, {{square, 8}}), "unsolved");
  EXPECT_EQ(solve(c, 1, {{cube, 27}, {square, 9}}), "accepted");
  EXPECT_EQ(solve(c, 1, {{cube, 27}, {square, 16}}), "differs: 9");
  EXPECT_EQ(solve(c, 1, {{square, 0}}), "accepted");
  int64_t large = 3037000499;  // squared, the last that fits
  EXPECT_EQ(solve(c, 1, {{square, large * large}}, true, &values), "accepted");
  EXPECT_EQ(values[0], large);
  EXPECT_EQ(solve(c, 1, {{square, INT64_MAX}}), "unsolved");
  EXPECT_EQ(solve(c, 1, {{n, large + 1}, {square, 9}}), "a dimension does not fit into 64 bits");
}

// Some terms leave a range, and together they may tell.
TEST(DimEquations, Ranges) {
  Code c;
  uint32_t n = c.name(0);
  uint32_t two = c.number(2), nine = c.number(9);
  uint32_t half = c.add(DimCode::kFloorDiv, n, two);
  uint32_t top = c.add(DimCode::kMax, n, nine);
  uint32_t bottom = c.add(DimCode::kMin, n, nine);
  std::vector<std::optional<int64_t>> values;
  EXPECT_EQ(solve(c, 1, {{half, 4}}, true, &values), "accepted");
  EXPECT_EQ(values[0], std::nullopt);
  EXPECT_EQ(solve(c, 1, {{half, 4}, {bottom, 8}}, true, &values), "accepted");
  EXPECT_EQ(values[0], 8);
  EXPECT_EQ(solve(c, 1, {{half, 4}, {bottom, 7}}), "unsolved");
  EXPECT_EQ(solve(c, 1, {{top, 8}}), "unsolved");
  EXPECT_EQ(solve(c, 1, {{bottom, 10}}), "unsolved");
  EXPECT_EQ(solve(c, 1, {{top, 9}}), "accepted");
}

TEST(DimEquations, LinearOnesTogether) {
  Code c;
  uint32_t n = c.name(0), m = c.name(1);
  uint32_t sum = c.add(DimCode::kAdd, n, m), difference = c.add(DimCode::kSub, n, m);
  uint32_t twice = c.add(DimCode::kAdd, sum, sum);
  std::vector<std::optional<int64_t>> values;
  EXPECT_EQ(solve(c, 2, {{sum, 7}, {difference, 3}}, true, &values), "accepted");
  EXPECT_EQ(values[0], 5);
  EXPECT_EQ(values[1], 2);
  EXPECT_EQ(solve(c, 2, {{sum, 7}, {difference, 2}}), "unsolved");
  EXPECT_EQ(solve(c, 2, {{sum, 3}, {difference, 5}}), "unsolved");
  EXPECT_EQ(solve(c, 2, {{sum, 3}, {twice, 6}}), "accepted");
  EXPECT_EQ(solve(c, 2, {{sum, 3}, {twice, 8}}), "unsolved");
  EXPECT_EQ(solve(c, 2, {{twice, 7}}), "unsolved");
}

TEST(DimEquations, TermsWithoutValue) {
  Code c;
  uint32_t n = c.name(0), m = c.name(1);
  uint32_t rest = c.add(DimCode::kFloorMod, n, m), wide = c.add(DimCode::kBroadcast, n, m);
  EXPECT_EQ(solve(c, 2, {{n, 2}, {m, 0}, {rest, 2}}), "integer division by zero in a dimension");
  EXPECT_EQ(solve(c, 2, {{n, 2}, {m, 3}, {wide, 3}}), "the dimensions do not broadcast");
  EXPECT_EQ(solve(c, 2, {{n, 1}, {wide, 3}}), "accepted");
  EXPECT_EQ(solve(c, 2, {{n, 2}, {wide, 3}}), "unsolved");
}

// A name that others may tell is left open where there are others.
TEST(DimEquations, UntoldNames) {
  Code c;
  uint32_t n = c.name(0), m = c.name(1);
  uint32_t product = c.add(DimCode::kMul, n, m);
  uint32_t shifted = c.add(DimCode::kAdd, product, c.add(DimCode::kMul, n, n));
  EXPECT_EQ(solve(c, 2, {{product, 6}}), "accepted");
  EXPECT_EQ(solve(c, 2, {{shifted, 77}}), "accepted");  // 7 * 4 + 7 * 7, and 1 * 76 + 1
  EXPECT_EQ(solve(c, 2, {{product, 35}, {shifted, 60}}), "untold");
  EXPECT_EQ(solve(c, 2, {{product, 35}, {shifted, 60}}, false), "accepted");  // 5 and 7
}

// Random systems against all numbers up to a bound.
TEST(DimEquations, AgreeWithEnumeration) {
  constexpr int64_t kBound = 12;
  std::mt19937 random(7);
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  constexpr DimCode kOps[] = {DimCode::kAdd,     DimCode::kAdd,      DimCode::kSub,
                              DimCode::kMul,     DimCode::kMul,      DimCode::kFloorDiv,
                              DimCode::kMin,     DimCode::kMax,      DimCode::kFloorMod,
                              DimCode::kCeilDiv, DimCode::kBroadcast};
  size_t accepted = 0, refused = 0, untold = 0;
  for (int round = 0; round < 4000; ++round) {
    Code c;
    constexpr uint32_t kNames = 3;
    for (uint32_t i = 0; i < kNames; ++i) c.name(i);
    for (int64_t value : {1, 2, 3}) c.number(value);
    int terms = 1 + pick(6);
    for (int i = 0; i < terms; ++i) {
      auto size = static_cast<int>(c.code.size());
      c.add(kOps[pick(std::size(kOps))], static_cast<uint32_t>(pick(size)),
            static_cast<uint32_t>(pick(size)));
    }
    auto value_of = [&](const int64_t* names) {
      std::vector<std::optional<int64_t>> values;
      for (const DimInstruction& at : c.code) {
        int64_t result = 0;
        if (at.code == DimCode::kConst) {
          values.emplace_back(at.value);
        } else if (at.code == DimCode::kSymbol) {
          values.emplace_back(names[at.a]);
        } else if (values[at.a] && values[at.b] &&
                   compute_dim(at.code, *values[at.a], *values[at.b], result) == nullptr) {
          values.emplace_back(result);
        } else {
          values.emplace_back();
        }
      }
      return values;
    };
    std::vector<Equation> equations;
    // Equations that some numbers solve, mostly, so that there are solutions.
    int64_t hidden[kNames] = {pick(5), pick(5), pick(5)};
    auto values = value_of(hidden);
    int count = 1 + pick(3);
    for (int i = 0; i < count; ++i) {
      auto slot = static_cast<uint32_t>(pick(static_cast<int>(c.code.size())));
      int64_t extent = values[slot] && pick(4) != 0 ? *values[slot] : pick(8);
      if (extent >= 0 && extent <= kBound) equations.push_back({slot, extent});
    }
    bool exists = false;
    int64_t names[kNames];
    for (names[0] = 0; names[0] <= kBound && !exists; ++names[0]) {
      for (names[1] = 0; names[1] <= kBound && !exists; ++names[1]) {
        for (names[2] = 0; names[2] <= kBound && !exists; ++names[2]) {
          auto all = value_of(names);
          exists = std::all_of(equations.begin(), equations.end(), [&](const Equation& e) {
            return all[e.slot] && *all[e.slot] == e.extent;
          });
        }
      }
    }
    std::string first = solve(c, kNames, equations);
    std::vector<Equation> backwards(equations.rbegin(), equations.rend());
    std::string second = solve(c, kNames, backwards);
    EXPECT_EQ(first == "accepted", second == "accepted")
        << round << ": " << first << ", " << second;
    if (first == "untold") {
      ++untold;
    } else if (first == "accepted") {
      ++accepted;
    } else {
      ++refused;
      EXPECT_FALSE(exists) << round << " " << first;
    }
    // Accepted equations may need larger numbers than were tried, so these are tried as told.
    if (first == "accepted" && !exists) {
      std::vector<std::optional<int64_t>> told;
      solve(c, kNames, equations, true, &told);
      bool larger = false;
      for (const auto& value : told) larger |= !value || *value > kBound;
      EXPECT_TRUE(larger) << round;
    }
  }
  EXPECT_GT(accepted, 1000u);
  EXPECT_GT(refused, 200u);
  EXPECT_LT(untold, accepted / 4);
}

}  // namespace
}  // namespace relay::runtime_dim_equations_test
