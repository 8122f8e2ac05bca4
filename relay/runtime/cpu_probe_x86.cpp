// What an x86-64 processor says of itself.
#if defined(__x86_64__)

#include <relay/runtime/cpu_probe.h>

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <iterator>

namespace relay {
namespace {

enum Word : uint8_t { kOneC, kSevenB, kSevenC, kSevenD, kSevenOneA, kExtendedC, kWords };
// Registers that the operating system has to save (XCR0).
constexpr uint64_t kNone = 0, kYmm = 0x6, kZmm = 0xe6, kTiles = 0x600e6;

struct Bit {
  CpuFeature feature;
  Word word;
  unsigned bit;
  uint64_t saved;
};
// Leaves out the instructions of every x86-64. LLVM's "evex512" is the 512-bit form of AVX-512 F.
constexpr Bit kBits[] = {
    {{"sse3", ""}, kOneC, 0, kNone},
    {{"ssse3", "sse3"}, kOneC, 9, kNone},
    {{"sse4.1", "ssse3"}, kOneC, 19, kNone},
    {{"sse4.2", "sse4.1"}, kOneC, 20, kNone},
    {{"crc32", ""}, kOneC, 20, kNone},
    {{"popcnt", ""}, kOneC, 23, kNone},
    {{"movbe", ""}, kOneC, 22, kNone},
    {{"lzcnt", ""}, kExtendedC, 5, kNone},
    {{"bmi", ""}, kSevenB, 3, kNone},
    {{"bmi2", ""}, kSevenB, 8, kNone},
    {{"avx", "sse4.2"}, kOneC, 28, kYmm},
    {{"f16c", "avx"}, kOneC, 29, kYmm},
    {{"fma", "avx"}, kOneC, 12, kYmm},
    {{"avx2", "avx"}, kSevenB, 5, kYmm},
    {{"avxvnni", "avx2"}, kSevenOneA, 4, kYmm},
    {{"avx512f", "avx2"}, kSevenB, 16, kZmm},
    {{"evex512", "avx512f"}, kSevenB, 16, kZmm},
    {{"avx512dq", "avx512f"}, kSevenB, 17, kZmm},
    {{"avx512bw", "avx512f"}, kSevenB, 30, kZmm},
    {{"avx512vl", "avx512f"}, kSevenB, 31, kZmm},
    {{"avx512vnni", "avx512f"}, kSevenC, 11, kZmm},
    {{"avx512bf16", "avx512bw"}, kSevenOneA, 5, kZmm},
    {{"amx-tile", "avx512f"}, kSevenD, 24, kTiles},
    {{"amx-int8", "amx-tile"}, kSevenD, 25, kTiles},
    {{"amx-bf16", "amx-tile"}, kSevenD, 22, kTiles},
};

constexpr auto kFeatures = [] {
  std::array<CpuFeature, std::size(kBits)> features;
  for (size_t i = 0; i < features.size(); ++i) features[i] = kBits[i].feature;
  return features;
}();

struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Leaf cpuid(unsigned leaf, unsigned part = 0) {
  Leaf result;
  if (__get_cpuid_count(leaf, part, &result.a, &result.b, &result.c, &result.d) == 0) return {};
  return result;
}

// XCR0; 0 where the operating system does not let programs read it.
uint64_t saved_registers() {
  constexpr unsigned kOsXsave = 27;
  if ((cpuid(1).c >> kOsXsave & 1) == 0) return 0;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

// Linux keeps the matrix unit's registers (8 KiB) for processes that ask, once for all threads.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

std::span<const CpuFeature> known_cpu_features() { return kFeatures; }

std::vector<std::string_view> probe_cpu_features() {
  const unsigned words[kWords] = {cpuid(1).c, cpuid(7).b,    cpuid(7).c,
                                  cpuid(7).d, cpuid(7, 1).a, cpuid(0x80000001u).c};
  const uint64_t saved = saved_registers();
  std::vector<std::string_view> found;
  for (const Bit& each : kBits) {
    const bool there =
        (words[each.word] >> each.bit & 1) != 0 && (saved & each.saved) == each.saved;
    if (there && (each.feature.name != "amx-tile" || may_use_tiles()))
      found.push_back(each.feature.name);
  }
  return found;
}

CpuCaches cpu_caches() {
  // Both makers answer in one form, AMD's by a leaf of its own.
  constexpr unsigned kIntel = 4, kAmd = 0x8000001du, kMost = 16;
  constexpr unsigned kInstructions = 2;
  const bool extended = cpuid(0x80000000u).a >= kAmd && (cpuid(kAmd).a & 0x1f) != 0;
  CpuCaches caches;
  for (unsigned part = 0; part < kMost; ++part) {
    const Leaf leaf = cpuid(extended ? kAmd : kIntel, part);
    const unsigned kind = leaf.a & 0x1f, level = leaf.a >> 5 & 7;
    if (kind == 0) break;
    if (kind == kInstructions) continue;
    const CpuCache cache{(leaf.b & 0xfff) + int64_t{1}, leaf.c + int64_t{1},
                         ((leaf.b >> 22) + int64_t{1}) * ((leaf.b >> 12 & 0x3ff) + int64_t{1})};
    keep_cache(caches, level, cache);
  }
  return caches;
}

}  // namespace relay

#endif
