// Memory blocks kept for the next request.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include <relay/runtime/memory.h>
#include <relay/runtime/pool.h>

namespace relay::runtime_pool_test {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

TEST(RuntimePool, BlocksOfAnySizeComeBack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have allocators of their own";
#endif
  pool_trim();
  for (size_t size : {size_t{100}, size_t{5000}, kMegabyte, 2 * kMegabyte, 2 * kMegabyte + 64,
                      3 * kMegabyte, 4 * kMegabyte, 6 * kMegabyte, 9 * kMegabyte}) {
    void* block = pool_allocate(size);
    std::memset(block, 1, size);
    pool_free(block);
    void* again = pool_allocate(size);
    EXPECT_EQ(again, block) << size;
    pool_free(again);
    pool_trim();
  }
}

/// A step that makes 600 MB of values, drops them and makes them again gets the same blocks; work
/// on other sizes then does not come on top of them.
TEST(RuntimePool, WhatWasThereAtOnceIsKept) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have allocators of their own";
#endif
  constexpr size_t kBlock = 3 * kMegabyte, kCount = 200;
  if (memory_limit() / 4 < 2 * kBlock * kCount) GTEST_SKIP() << "too little memory";
  pool_trim();
  auto make = [](size_t size, size_t count) {
    std::vector<void*> blocks;
    for (size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(try_charge_memory(size));
      blocks.push_back(pool_allocate(size));
    }
    return blocks;
  };
  auto drop = [](std::vector<void*>& blocks, size_t size) {
    for (void* block : blocks) {
      refund_memory(size);
      pool_free_request(block, size);
    }
  };
  std::vector<void*> blocks = make(kBlock, kCount);
  drop(blocks, kBlock);
  EXPECT_GE(pool_kept_bytes(), kBlock * kCount);
  std::vector<void*> again = make(kBlock, kCount);
  std::sort(blocks.begin(), blocks.end());
  std::sort(again.begin(), again.end());
  EXPECT_EQ(again, blocks);
  drop(again, kBlock);
  const size_t peak = peak_memory();
  for (size_t size : {kMegabyte / 2, 20 * kMegabyte}) {
    std::vector<void*> others = make(size, 600 * kMegabyte / size);
    EXPECT_LE(memory_in_use() + pool_kept_bytes(), peak + 256 * kMegabyte) << size;
    drop(others, size);
  }
  pool_trim();
}

/// Blocks that are given back with the size that was asked for serve requests of that size alone.
TEST(RuntimePool, BlocksComeBackByTheSizeAskedFor) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer gets blocks back at once";
#endif
  pool_trim();
  for (size_t size = 25; size < 16000; size += 1 + size / 9) {
    void* block = pool_allocate(size);
    pool_free_request(block, size);
    void* larger = pool_allocate(size + 16);
    EXPECT_NE(larger, block) << size;
    void* again = pool_allocate(size);
    EXPECT_EQ(again, block) << size;
    std::memset(again, 1, size);
    pool_free(again);
    pool_free(larger);
    pool_trim();
  }
}

TEST(RuntimePool, LargerBlocksServeWhereThatIsSaid) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer gets blocks back at once";
#endif
  pool_trim();
  void* large = pool_allocate(20 * kMegabyte);
  pool_free(large);
  void* other = pool_allocate(4 * kMegabyte);
  EXPECT_NE(other, large);
  {
    const PoolTakesLarger taking;
    void* small = pool_allocate(5000);
    EXPECT_NE(small, large);
    void* taken = pool_allocate(4 * kMegabyte);
    EXPECT_EQ(taken, large);
    pool_free(taken);
    pool_free(small);
  }
  pool_free(other);
  pool_trim();
}

TEST(RuntimePool, ZerosAreZeros) {
  for (size_t size : {size_t{100}, kMegabyte, 5 * kMegabyte}) {
    void* block = pool_allocate(size);
    std::memset(block, 1, size);
    pool_free(block);
    auto* zeros = static_cast<char*>(pool_allocate_zeros(size));
    EXPECT_TRUE(std::all_of(zeros, zeros + size, [](char byte) { return byte == 0; })) << size;
    pool_free(zeros);
  }
}

}  // namespace
}  // namespace relay::runtime_pool_test
