#include <relay/runtime/cpu_features.h>

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iterator>

namespace relay {
namespace {

enum Word : uint8_t { kOneC, kSevenB, kSevenC, kSevenD, kSevenOneA, kExtendedC, kWords };
// Registers that the operating system has to save (XCR0).
constexpr uint64_t kNone = 0, kYmm = 0x6, kZmm = 0xe6, kTiles = 0x600e6;

struct Feature {
  std::string_view name;
  Word word;
  unsigned bit;
  uint64_t saved;
  std::string_view needs;  // one before it in the list
};
// Leaves out the instructions of every x86-64. LLVM's "evex512" is the 512-bit form of AVX-512 F.
constexpr Feature kFeatures[] = {
    {"sse3", kOneC, 0, kNone, ""},
    {"ssse3", kOneC, 9, kNone, "sse3"},
    {"sse4.1", kOneC, 19, kNone, "ssse3"},
    {"sse4.2", kOneC, 20, kNone, "sse4.1"},
    {"crc32", kOneC, 20, kNone, ""},
    {"popcnt", kOneC, 23, kNone, ""},
    {"movbe", kOneC, 22, kNone, ""},
    {"lzcnt", kExtendedC, 5, kNone, ""},
    {"bmi", kSevenB, 3, kNone, ""},
    {"bmi2", kSevenB, 8, kNone, ""},
    {"avx", kOneC, 28, kYmm, "sse4.2"},
    {"f16c", kOneC, 29, kYmm, "avx"},
    {"fma", kOneC, 12, kYmm, "avx"},
    {"avx2", kSevenB, 5, kYmm, "avx"},
    {"avxvnni", kSevenOneA, 4, kYmm, "avx2"},
    {"avx512f", kSevenB, 16, kZmm, "avx2"},
    {"evex512", kSevenB, 16, kZmm, "avx512f"},
    {"avx512dq", kSevenB, 17, kZmm, "avx512f"},
    {"avx512bw", kSevenB, 30, kZmm, "avx512f"},
    {"avx512vl", kSevenB, 31, kZmm, "avx512f"},
    {"avx512vnni", kSevenC, 11, kZmm, "avx512f"},
    {"avx512bf16", kSevenOneA, 5, kZmm, "avx512bw"},
    {"amx-tile", kSevenD, 24, kTiles, "avx512f"},
    {"amx-int8", kSevenD, 25, kTiles, "amx-tile"},
    {"amx-bf16", kSevenD, 22, kTiles, "amx-tile"},
};
static_assert(std::size(kFeatures) <= 32, "a bit of an unsigned for each");

int index_of(std::string_view name) {
  const auto* found = std::ranges::find(kFeatures, name, &Feature::name);
  return found == std::end(kFeatures) ? -1 : static_cast<int>(found - kFeatures);
}

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

// Without those that a name of the list stands for, and without what needs them.
unsigned without(unsigned features, std::string_view names) {
  while (!names.empty()) {
    const size_t comma = names.find(',');
    const int index = index_of(names.substr(0, comma));
    if (index >= 0) features &= ~(1u << index);
    names = comma == std::string_view::npos ? std::string_view() : names.substr(comma + 1);
  }
  for (size_t i = 0; i < std::size(kFeatures); ++i) {
    const int needed = index_of(kFeatures[i].needs);
    if (needed >= 0 && (features >> needed & 1) == 0) features &= ~(1u << i);
  }
  return features;
}

// Linux keeps the matrix unit's registers (8 KiB) for processes that ask, once for all threads.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

unsigned detect() {
  const unsigned words[kWords] = {cpuid(1).c, cpuid(7).b,    cpuid(7).c,
                                  cpuid(7).d, cpuid(7, 1).a, cpuid(0x80000001u).c};
  const uint64_t saved = saved_registers();
  unsigned features = 0;
  for (size_t i = 0; i < std::size(kFeatures); ++i) {
    const Feature& each = kFeatures[i];
    const bool there =
        (words[each.word] >> each.bit & 1) != 0 && (saved & each.saved) == each.saved;
    features |= there ? 1u << i : 0u;
  }
  const auto tiles = 1u << index_of("amx-tile");
  if ((features & tiles) != 0 && !may_use_tiles()) features &= ~tiles;
  const char* names = std::getenv("RELAY_CPU_WITHOUT");
  return without(features, names != nullptr ? names : "");
}

std::atomic<unsigned>& known() {
  static std::atomic<unsigned> features{detect()};
  return features;
}

}  // namespace

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
    if (level == 1) caches.first = cache;
    if (level == 2) caches.second = cache;
    if (level >= 2) caches.last = cache;
  }
  return caches;
}

bool is_cpu_feature(std::string_view feature) { return index_of(feature) >= 0; }

bool cpu_has(std::string_view feature) {
  const int index = index_of(feature);
  return index >= 0 && (known().load(std::memory_order_relaxed) >> index & 1) != 0;
}

std::vector<std::string> missing_cpu_features(std::span<const std::string> features) {
  std::vector<std::string> missing;
  std::ranges::copy_if(features, std::back_inserter(missing),
                       [](const std::string& each) { return !cpu_has(each); });
  return missing;
}

WithoutCpuFeatures::WithoutCpuFeatures(std::string_view names) : before_(known().load()) {
  known().store(without(before_, names));
}
WithoutCpuFeatures::~WithoutCpuFeatures() { known().store(before_); }

}  // namespace relay
