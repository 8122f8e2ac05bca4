#include <relay/support/pointer_map.h>

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <unordered_map>

namespace relay::support_pointer_map_test {
namespace {

TEST(SupportPointerMap, AgreesWithTheStandardOne) {
  std::mt19937 random(7);
  PointerMap<char, int> map;
  std::unordered_map<const char*, int> expected;
  for (int step = 0; step < 200000; ++step) {
    // Dense and sparse addresses; they are never looked into.
    uintptr_t address = step % 3 == 0 ? 16 + 16 * (random() % 500) : (1 + random() % 100) << 20;
    const char* key = reinterpret_cast<const char*>(address);
    switch (random() % 3) {
      case 0:
        map[key] = step;
        expected[key] = step;
        break;
      case 1:
        map.erase(key);
        expected.erase(key);
        break;
      default: {
        const int* found = map.find(key);
        auto other = expected.find(key);
        ASSERT_EQ(found != nullptr, other != expected.end());
        if (found != nullptr) {
          ASSERT_EQ(*found, other->second);
        }
      }
    }
    ASSERT_EQ(map.size(), expected.size());
  }
  map.clear();
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.find("x"), nullptr);
}

TEST(SupportPointerMap, RegularDistancesDoNotCrowd) {
  constexpr size_t kKeys = 100'000;
  for (uintptr_t distance = 48; distance <= 1024; distance += 16) {
    // Addresses only; nothing is there.
    auto key = [&](size_t i) {
      return reinterpret_cast<const char*>(0x555555a00010 + i * distance);
    };
    PointerMap<char, char> map;
    for (size_t i = 0; i < kKeys; ++i) map.insert(key(i));
    size_t passed = 0;
    for (size_t i = 0; i < kKeys; ++i) passed += map.passed(key(i));
    EXPECT_LT(passed, 8 * kKeys) << "keys " << distance << " bytes apart";  // side by side
  }
  PointerMap<char, char, 1> close;  // as the characters of names
  size_t passed = 0;
  auto key = [&](size_t i) { return reinterpret_cast<const char*>(0x555555a00010 + i * 7); };
  for (size_t i = 0; i < kKeys; ++i) close.insert(key(i));
  for (size_t i = 0; i < kKeys; ++i) passed += close.passed(key(i));
  EXPECT_LT(passed, 2 * kKeys);
}

TEST(SupportPointerMap, FullMegabytesThatMeetDoNotCrowd) {
  // As a heap had them: nodes side by side in some of its megabytes.
  PointerMap<char, char> map;
  std::vector<const char*> keys;
  for (uintptr_t block : {6, 7, 8, 13, 14, 16, 17, 25}) {
    for (uintptr_t at = 0; at < (1 << 20); at += 96)
      keys.push_back(reinterpret_cast<const char*>(0x556985a00000 + (block << 20) + at));
  }
  for (const char* key : keys) map.insert(key);
  size_t passed = 0;
  for (const char* key : keys) passed += map.passed(key);
  EXPECT_LT(passed, 2 * keys.size());
}

TEST(SupportPointerMap, ErasedEntriesDoNotPileUp) {
  // Fixed places: how far entries crowd depends on them.
  const auto* keys = reinterpret_cast<const char*>(uintptr_t{0x556985a00000});
  PointerMap<char, int, 0> map;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 1000; ++i) map[keys + i] = round;
    for (int i = 0; i < 1000; ++i) map.erase(keys + i);
  }
  EXPECT_TRUE(map.empty());
  map.insert(keys);
  EXPECT_LT(map.passed(keys + 1), 100u);
}

TEST(SupportPointerMap, OwnsItsValues) {
  auto value = std::make_shared<int>(1);
  char keys[100] = {};
  {
    PointerMap<char, std::shared_ptr<int>> map;
    for (char& key : keys) map[&key] = value;
    EXPECT_EQ(value.use_count(), 101);
    map.erase(&keys[3]);
    EXPECT_EQ(value.use_count(), 100);
  }
  EXPECT_EQ(value.use_count(), 1);
}

TEST(SupportPointerSet, Inserts) {
  char keys[2] = {};
  PointerSet<char> set;
  EXPECT_TRUE(set.insert(&keys[0]));
  EXPECT_FALSE(set.insert(&keys[0]));
  EXPECT_TRUE(set.contains(&keys[0]));
  EXPECT_FALSE(set.contains(&keys[1]));
  set.erase(&keys[0]);
  EXPECT_EQ(set.size(), 0u);
}

}  // namespace
}  // namespace relay::support_pointer_map_test
