#include <relay/ir/dim.h>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include <relay/ir/type.h>
#include <relay/support/error.h>

namespace relay::ir_dim_test {
namespace {

struct Symbols {
  TypeVarRef n = TypeVar::make("n", Kind::kShapeVar);
  TypeVarRef m = TypeVar::make("m", Kind::kShapeVar);
  Dim N = Dim::symbol(n.get());
  Dim M = Dim::symbol(m.get());
};

TEST(IrDim, Integers) {
  EXPECT_EQ(Dim(7).as_int(), 7);
  EXPECT_EQ(Dim(-7).as_int(), -7);
  EXPECT_TRUE(Dim().is_int(0));
  EXPECT_TRUE(Dim(3) + Dim(4) == Dim(7));
  EXPECT_TRUE(floor_div(Dim(-7), Dim(2)) == Dim(-4));
  EXPECT_TRUE(floor_mod(Dim(-7), Dim(2)) == Dim(1));
  EXPECT_TRUE(ceil_div(Dim(7), Dim(2)) == Dim(4));
  EXPECT_TRUE(product(std::vector<Dim>{2, 3, 4}) == Dim(24));
  EXPECT_TRUE(product({}) == Dim(1));
}

TEST(IrDim, NormalForm) {
  Symbols s;
  EXPECT_TRUE(s.N + s.M == s.M + s.N);
  EXPECT_TRUE(s.N + s.N == 2 * s.N);
  EXPECT_TRUE(s.N - s.N == Dim(0));
  EXPECT_TRUE((s.N + 1) - 1 == s.N);
  EXPECT_TRUE((s.N + 1) * (s.M + 2) == s.M * s.N + 2 * s.N + s.M + 2);
  EXPECT_TRUE(floor_div(2 * s.N, 2) == s.N);
  EXPECT_TRUE(floor_div(4 * s.N + 6, 4) == s.N + 1 + floor_div(Dim(2), 4));
  EXPECT_TRUE(floor_div(floor_div(s.N, 2), 3) == floor_div(s.N, 6));
  EXPECT_TRUE(floor_div(2 * s.N * s.M, s.N) == 2 * s.M);
  EXPECT_TRUE(floor_div(3 * (s.N + s.M), s.N + s.M) == Dim(3));
  EXPECT_TRUE(ceil_div(s.N * s.M, s.M) == s.N);
  EXPECT_TRUE(floor_mod(s.N, 1) == Dim(0));
  EXPECT_TRUE(floor_mod(5 * s.N + 7, 3) == floor_mod(2 * s.N + 1, 3));
  EXPECT_TRUE(min(s.N, s.N) == s.N);
  EXPECT_TRUE(min(s.N, s.N + 1) == s.N);
  EXPECT_TRUE(max(s.N, max(s.M, s.N)) == max(s.M, s.N));
  EXPECT_FALSE(s.N == s.M);
  TypeVarRef other = TypeVar::make("n", Kind::kShapeVar);
  EXPECT_FALSE(Dim::symbol(other.get()) == s.N);
}

// A sum of 18 extrema has 2^18 cases; a comparison looks at some of them alone.
TEST(IrDim, SumsOfManyExtrema) {
  std::vector<TypeVarRef> names;
  auto symbol = [&] {
    names.push_back(TypeVar::make("v" + std::to_string(names.size()), Kind::kShapeVar));
    return Dim::symbol(names.back().get());
  };
  Dim sum = 0;
  for (int k = 0; k < 12; ++k) {
    Dim a = symbol(), b = symbol();
    sum = sum + max(a, b);
  }
  const Dim other = symbol();
  Dim more = sum;
  for (int k = 0; k < 6; ++k) {
    Dim a = symbol(), b = symbol();
    more = more + max(a, b);
  }
  for (Dim d : {sum, more}) {
    EXPECT_TRUE(min(other, d) == min(d, other));
    EXPECT_TRUE(max(other, d) == max(d, other));
    EXPECT_TRUE(max(0, d) == d);
    EXPECT_TRUE(min(d, d + 1) == d);
    ASSERT_TRUE(broadcast(other, min(other, d)).has_value());
  }
}

TEST(IrDim, Text) {
  Symbols s;
  EXPECT_EQ(Dim::any().str(), "?");
  EXPECT_EQ((s.N + s.M).str(), "m + n");
  EXPECT_EQ((2 * s.N).str(), "2 * n");
  EXPECT_EQ((2 * s.N + 1).str(), "2 * n + 1");
  EXPECT_EQ((s.N - 1).str(), "n - 1");
  EXPECT_EQ((3 - s.N).str(), "3 - n");
  EXPECT_EQ((s.N - s.M).str(), "n - m");
  EXPECT_EQ(floor_div(s.N, 2).str(), "floordiv(n, 2)");
  EXPECT_EQ((s.N * s.M).str(), "m * n");
  EXPECT_EQ(Dim::value(1, 2).str(), "value(1, 2)");
}

TEST(IrDim, AnyAbsorbs) {
  Symbols s;
  EXPECT_TRUE((Dim::any() + s.N).is_any());
  EXPECT_TRUE((Dim::any() * 2).is_any());
  EXPECT_TRUE(min(Dim::any(), 3).is_any());
  EXPECT_TRUE(floor_div(Dim::any(), 2).is_any());
  EXPECT_EQ(dims_equal(Dim::any(), 3), Truth::kUnknown);
}

TEST(IrDim, Broadcast) {
  Symbols s;
  EXPECT_TRUE(*broadcast(1, s.N) == s.N);
  EXPECT_TRUE(*broadcast(s.N, s.N) == s.N);
  EXPECT_TRUE(*broadcast(s.N, 4) == Dim(4));
  EXPECT_FALSE(broadcast(2, 3).has_value());
  EXPECT_TRUE(broadcast(Dim::any(), 1)->is_any());
  EXPECT_TRUE(broadcast(Dim::any(), Dim::any())->is_any());
  EXPECT_TRUE(*broadcast(Dim::any(), 5) == Dim(5));
  EXPECT_TRUE(*broadcast(s.N, *broadcast(s.M, s.N)) == *broadcast(s.M, s.N));
}

// What fills up to a multiple of 4 fills nothing up the second time.
TEST(IrDim, RemaindersOfRemainders) {
  Symbols s;
  Dim filled = s.N + floor_mod(4 - floor_mod(s.N, 4), 4);
  EXPECT_EQ(filled.str(), "n + floormod(3 * n, 4)");
  EXPECT_EQ(floor_mod(filled, 4), Dim(0));
  EXPECT_EQ(floor_mod(filled, 2), Dim(0));
  EXPECT_EQ(floor_mod(s.M + floor_mod(s.N, 12), 4), floor_mod(s.M + s.N, 4));
  EXPECT_EQ(floor_mod(s.M + floor_mod(s.N, 6), 4).str(), "floormod(m + floormod(n, 6), 4)");
  Dim V = Dim::value(0, 1);
  EXPECT_EQ(floor_mod(3 * floor_mod(V, 4), 4).str(), "floormod(3 * floormod(value(0, 1), 4), 4)");
  for (int n = 0; n < 12; ++n) {
    Dim found = substitute(filled, [&](Dim) { return Dim(n); });
    EXPECT_EQ(found, Dim((n + 3) / 4 * 4)) << n;
  }
}

// Extents that are one wherever they broadcast: checked against all small values.
TEST(IrDim, BroadcastOfExtrema) {
  Symbols s;
  EXPECT_EQ(broadcast(s.N, min(s.N, 512)), s.N);
  EXPECT_EQ(broadcast(min(s.N, 1), s.N), s.N);
  EXPECT_EQ(broadcast(min(s.N, s.M + 1), s.N), s.N);
  EXPECT_EQ(broadcast(s.N, max(s.N, 1)), s.N);
  EXPECT_EQ(broadcast(s.N, max(s.N - 1, 0) + 1), s.N);
  EXPECT_EQ(broadcast(s.N, max(s.N, s.M + 2)), max(s.N, s.M + 2));
  EXPECT_EQ(broadcast(*broadcast(s.M, min(s.N, 7)), s.N), broadcast(s.M, s.N));
  // With m = 0 these are 0 where n is 1, or m where n is less.
  EXPECT_NE(broadcast(s.N, min(s.N, s.M)), s.N);
  EXPECT_NE(broadcast(s.N, max(s.N, s.M)), s.N);
  EXPECT_NE(broadcast(s.N, max(s.N, s.M)), max(s.N, s.M));
  for (const Dim& other : {min(s.N, 0), min(s.N, 1), min(s.N, 3), min(s.N, s.M), min(s.N, s.M + 1),
                           max(s.N, 1), max(s.N, 2), max(s.N, s.M), max(s.N, s.M + 1),
                           max(s.N, s.M + 2), max(s.N - 1, 0), max(s.N - 1, 0) + 1, s.M}) {
    std::optional<Dim> joined = broadcast(s.N, other);
    for (int n = 0; n < 6; ++n) {
      for (int m = 0; m < 6; ++m) {
        auto at = [&](Dim dim) {
          return substitute(dim, [&](Dim atom) { return atom == s.N ? Dim(n) : Dim(m); });
        };
        Dim extent = at(other);
        if (Dim(n) != extent && n != 1 && extent != Dim(1)) continue;
        ASSERT_TRUE(joined.has_value());
        EXPECT_EQ(at(*joined), extent == Dim(1) ? Dim(n) : extent)
            << other.str() << " n=" << n << " m=" << m;
      }
    }
  }
}

TEST(IrDim, Equality) {
  Symbols s;
  EXPECT_EQ(dims_equal(s.N, s.N), Truth::kYes);
  EXPECT_EQ(dims_equal(s.N, s.N + 1), Truth::kNo);
  EXPECT_EQ(dims_equal(s.N, s.M), Truth::kUnknown);
  EXPECT_EQ(dims_equal(2 * s.N, 2 * s.M + 1), Truth::kNo);  // even against odd
  EXPECT_EQ(dims_equal(2, 3), Truth::kNo);
}

// Extents are never negative (T13), numbers that a run reads may be.
TEST(IrDim, Natural) {
  Symbols s;
  TypeVarRef v = TypeVar::make("v", Kind::kNumber);
  Dim V = Dim::symbol(v.get());
  for (const Dim& dim :
       {Dim(0), Dim(3), s.N, s.N + s.M * 2 + 1, s.N * s.M, floor_div(s.N, 2), floor_mod(s.N - 5, 3),
        ceil_div(s.N, s.M), min(s.N, s.M), max(V, 0), max(s.N - s.M, 2), *broadcast(s.N, s.M)})
    EXPECT_TRUE(dim.is_natural()) << dim.str();
  for (const Dim& dim :
       {Dim(-1), Dim::any(), Dim::variable(1), V, V + s.N, s.N - 1, s.N - s.M, s.N * V, min(s.N, V),
        max(V, s.N - 1), Dim::value(0, 1), floor_mod(s.N, V)})
    EXPECT_FALSE(dim.is_natural()) << dim.str();
}

TEST(IrDim, ExtremaOfWhatIsNeverBelow) {
  Symbols s;
  TypeVarRef v = TypeVar::make("v", Kind::kNumber);
  Dim V = Dim::symbol(v.get());
  EXPECT_EQ(max(0, s.N), s.N);
  EXPECT_EQ(max(s.N, -3), s.N);
  EXPECT_EQ(min(s.N, 0), Dim(0));
  EXPECT_EQ(max(s.N, s.N + 2 * s.M), s.N + 2 * s.M);
  EXPECT_EQ(min(s.N + s.M, s.N), s.N);
  EXPECT_EQ(min(s.N * s.M, -1), Dim(-1));
  EXPECT_EQ(max(max(s.N - 1, 0), max(s.N, s.M)), max(s.N, s.M));
  EXPECT_EQ(broadcast(max(0, s.N), s.N), s.N);
  // These depend on the values.
  EXPECT_EQ(max(0, V).str(), "max(0, v)");
  EXPECT_EQ(min(V, 0).str(), "min(0, v)");
  EXPECT_EQ(max(0, Dim::value(0, 0)).str(), "max(0, value(0, 0))");
  EXPECT_EQ(max(0, s.N - 1).str(), "max(0, n - 1)");
  EXPECT_EQ(max(1, s.N).str(), "max(1, n)");
  EXPECT_EQ(min(1, s.N).str(), "min(1, n)");
  EXPECT_EQ(max(s.N, s.N * s.M).str(), "max(n, m * n)");
}

// Extrema inside of extrema and of sums: what is never the greatest (least) goes.
TEST(IrDim, ExtremaOfExtrema) {
  Symbols s;
  TypeVarRef v = TypeVar::make("v", Kind::kNumber);
  Dim V = Dim::symbol(v.get());
  const Dim shorter = max(0, s.N - 1);
  EXPECT_EQ(min(s.N, shorter), shorter);
  EXPECT_EQ(min(shorter, s.N), shorter);
  EXPECT_EQ(max(0, s.N - min(1, s.N)), shorter);
  EXPECT_EQ(max(s.N - min(1, s.N), 0), shorter);
  EXPECT_EQ(max(0, shorter - min(1, shorter)), max(0, s.N - 2));
  EXPECT_EQ(max(min(s.N, 7), min(s.N, 5)), min(s.N, 7));
  EXPECT_EQ(min(s.N, s.N - min(s.M, 3)), s.N - min(s.M, 3));
  EXPECT_EQ(max(0, min(100, s.N) - min(1, s.N)), max(0, min(100, s.N) - 1));
  // Sums with numbers of a run might leave 64 bits.
  EXPECT_EQ(max(0, s.N - min(s.M, V)).str(), "max(0, n - min(m, v))");
}

TEST(IrDim, Limits) {
  Symbols s;
  Dim big = int64_t{1} << 60;
  EXPECT_THROW(big + big, Error);
  EXPECT_THROW(big * big, Error);
  EXPECT_THROW((big * s.N) * 8, Error);
  EXPECT_THROW(floor_div(s.N, 0), Error);
  EXPECT_THROW(floor_mod(s.N, -2), Error);
  EXPECT_THROW(
      {
        Dim d = s.N;
        for (int i = 0; i < 100000; ++i) d = floor_div(d + s.M, s.N + 2);
      },
      Error);
  EXPECT_EQ(dims_equal(big * s.N, big * -1 * s.N - big), Truth::kUnknown);
}

TEST(IrDim, Atoms) {
  Symbols s;
  Dim d = floor_div(s.N + Dim::variable(3), 2) * s.M + Dim::value(0, 1);
  EXPECT_TRUE(d.has_symbol());
  EXPECT_TRUE(d.has_variable());
  int atoms = 0;
  for_each_atom(d, [&](Dim) { ++atoms; });
  EXPECT_EQ(atoms, 4);
  Dim known = substitute(d, [&](Dim atom) {
    if (atom.is_variable()) return Dim(4);
    return atom == s.N ? Dim(6) : atom == s.M ? Dim(2) : Dim(1);
  });
  EXPECT_TRUE(known == Dim(11));
}

// Random terms agree with integer evaluation of the same operations.
TEST(IrDim, TermsGoWithTheirLastHolder) {
  size_t before = Dim::count_terms();
  {
    Symbols s;
    Dim sum = s.N * Dim(2) + s.M;
    Dim part = floor_div(sum, Dim(3));
    EXPECT_EQ(Dim::count_terms(), before + 4);
    // Out of itself: the left side holds what is assigned to it.
    part = part.term().lhs;
    EXPECT_TRUE(part == sum);
    Dim moved = std::move(part);
    EXPECT_TRUE(moved == sum);
    EXPECT_TRUE(part.is_int(0));  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(Dim::count_terms(), before + 3);
  }
  EXPECT_EQ(Dim::count_terms(), before);
}

// A symbol lives as long as a term of it.
TEST(IrDim, KeepsItsSymbols) {
  Dim doubled;
  {
    Symbols s;
    doubled = s.N * Dim(2);
  }
  EXPECT_EQ(doubled.str(), "2 * n");
}

TEST(IrDim, Threads) {
  size_t before = Dim::count_terms();
  {
    Symbols s;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) {
      threads.emplace_back([&s, t] {
        std::mt19937 random(t);
        for (int step = 0; step < 20'000; ++step) {
          auto k = static_cast<int64_t>(random() % 4 + 2);
          Dim term = floor_div(s.N * Dim(k) + s.M, Dim(k + 1));
          ASSERT_EQ(term.term().rhs.as_int(), k + 1);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(Dim::count_terms(), before);
}

TEST(IrDim, AgreesWithIntegers) {
  std::mt19937 random(1);
  auto below = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<TypeVarRef> vars;
  for (const char* name : {"a", "b", "c"}) vars.push_back(TypeVar::make(name, Kind::kShapeVar));
  vars.push_back(TypeVar::make("v", Kind::kNumber));
  auto floor_quotient = [](int64_t a, int64_t b) {
    int64_t q = a / b;
    return a % b < 0 ? q - 1 : q;
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<int64_t> values;
    for (const TypeVarRef& var : vars)
      values.push_back(var->kind() == Kind::kNumber ? below(13) - 6 : below(12));
    std::vector<std::pair<Dim, int64_t>> pool;
    for (size_t i = 0; i < vars.size(); ++i)
      pool.push_back({Dim::symbol(vars[i].get()), values[i]});
    for (int i = 0; i < 3; ++i) {
      int64_t k = below(9) - 3;
      pool.push_back({Dim(k), k});
    }
    for (int step = 0; step < 8; ++step) {
      auto [x, xv] = pool[static_cast<size_t>(below(static_cast<int>(pool.size())))];
      auto [y, yv] = pool[static_cast<size_t>(below(static_cast<int>(pool.size())))];
      if (std::abs(xv) > 1000000 || std::abs(yv) > 1000000) continue;
      int op = below(8);
      if (op >= 5 && (yv <= 0 || (y.is_int() && y.as_int() <= 0))) continue;
      switch (op) {
        case 0:
          pool.push_back({x + y, xv + yv});
          break;
        case 1:
          pool.push_back({x - y, xv - yv});
          break;
        case 2:
          pool.push_back({x * y, xv * yv});
          break;
        case 3:
          pool.push_back({min(x, y), std::min(xv, yv)});
          break;
        case 4:
          pool.push_back({max(x, y), std::max(xv, yv)});
          break;
        case 5:
          pool.push_back({floor_div(x, y), floor_quotient(xv, yv)});
          break;
        case 6:
          pool.push_back({floor_mod(x, y), xv - floor_quotient(xv, yv) * yv});
          break;
        case 7:
          pool.push_back({ceil_div(x, y), -floor_quotient(-xv, yv)});
          break;
      }
    }
    for (auto [dim, value] : pool) {
      if (dim.is_natural()) {
        ASSERT_GE(value, 0) << dim.str();
      }
      Dim evaluated = substitute(dim, [&](Dim atom) {
        for (size_t i = 0; i < vars.size(); ++i) {
          if (atom.as_symbol() == vars[i].get()) return Dim(values[i]);
        }
        return atom;
      });
      ASSERT_TRUE(evaluated == Dim(value))
          << dim.str() << " = " << evaluated.str() << ", not " << value;
    }
  }
}

}  // namespace
}  // namespace relay::ir_dim_test
