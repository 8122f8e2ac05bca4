#include <relay/support/name.h>

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

namespace relay::support_name_test {
namespace {

TEST(SupportName, ComparesAndReads) {
  Name a("data");
  Name b(std::string("da") + "ta");
  EXPECT_TRUE(a == b);
  EXPECT_EQ(a.view().data(), b.view().data());
  EXPECT_EQ(a.str(), "data");
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_FALSE(a == Name("date"));
  EXPECT_TRUE(a < Name("date"));
  EXPECT_EQ(Name(std::string_view("a\0b", 3)).str().size(), 3u);
}

TEST(SupportName, Empty) {
  EXPECT_TRUE(Name().empty());
  EXPECT_TRUE(Name("") == Name());
  EXPECT_EQ(Name().view(), "");
  EXPECT_TRUE(Name() < Name("a"));
  EXPECT_EQ(Name().hash(), Name("").hash());
}

TEST(SupportName, CopiesAndMoves) {
  Name a("SupportName.copied");
  Name copy = a;
  Name moved = std::move(copy);
  EXPECT_TRUE(copy.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(moved == a);
  a = a;  // NOLINT(clang-diagnostic-self-assign-overloaded)
  EXPECT_EQ(a.str(), "SupportName.copied");
  moved = Name("SupportName.other");
  EXPECT_EQ(moved.str(), "SupportName.other");
}

TEST(SupportName, GoesWithItsLastHolder) {
  size_t before = Name::count();
  {
    std::vector<Name> names;
    for (int i = 0; i < 10'000; ++i) names.emplace_back("SupportName." + std::to_string(i));
    std::vector<Name> copies = names;
    EXPECT_EQ(Name::count(), before + 10'000);
    names.clear();
    EXPECT_EQ(Name::count(), before + 10'000);
  }
  EXPECT_EQ(Name::count(), before);
}

// The table closes gaps: whatever is left is found again, and found as what it was.
TEST(SupportName, FindsWhatIsLeft) {
  size_t before = Name::count();
  std::mt19937 random(7);
  std::unordered_map<int, Name> kept;
  for (int step = 0; step < 200'000; ++step) {
    int key = static_cast<int>(random() % 3'000);
    std::string text = "SupportName.left." + std::to_string(key);
    auto found = kept.find(key);
    if (found == kept.end()) {
      kept.emplace(key, Name(text));
      continue;
    }
    ASSERT_TRUE(found->second == Name(text));
    if (random() % 2 == 0) kept.erase(found);
  }
  EXPECT_EQ(Name::count(), before + kept.size());
}

TEST(SupportName, Threads) {
  size_t before = Name::count();
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      std::mt19937 random(t);
      for (int step = 0; step < 50'000; ++step) {
        std::string text = "SupportName.thread." + std::to_string(random() % 8);
        Name name(text);
        Name copy = name;
        ASSERT_EQ(copy.str(), text);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Name::count(), before);
}

}  // namespace
}  // namespace relay::support_name_test
