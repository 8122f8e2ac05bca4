#include <cpuid.h>

#include <relay/codegen/codegen.h>
#include <relay/support/error.h>

namespace relay::codegen {

namespace {

struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Leaf cpuid(unsigned leaf, unsigned subleaf = 0) {
  Leaf result;
  if (__get_cpuid_count(leaf, subleaf, &result.a, &result.b, &result.c, &result.d) == 0) return {};
  return result;
}

/// The register sets that the operating system saves (XCR0).
uint64_t saved_state() {
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

bool has(unsigned word, std::initializer_list<unsigned> bits) {
  for (unsigned bit : bits) {
    if ((word >> bit & 1) == 0) return false;
  }
  return true;
}

Target::Isa detect() {
  const Leaf one = cpuid(1);
  // OSXSAVE, AVX, FMA, F16C, MOVBE, POPCNT
  if (!has(one.c, {27, 28, 12, 29, 22, 23})) return Target::Isa::kBaseline;
  const uint64_t saved = saved_state();
  constexpr uint64_t kYmm = 0x6, kZmm = 0xe6;
  const Leaf seven = cpuid(7);
  const Leaf extended = cpuid(0x80000001u);
  // AVX2, BMI1, BMI2; LZCNT
  if ((saved & kYmm) != kYmm || !has(seven.b, {5, 3, 8}) || !has(extended.c, {5})) {
    return Target::Isa::kBaseline;
  }
  // AVX-512 F, DQ, BW, VL
  if ((saved & kZmm) != kZmm || !has(seven.b, {16, 17, 30, 31})) return Target::Isa::kAvx2;
  return Target::Isa::kAvx512;
}

Target::Isa host_isa() {
  static const Target::Isa isa = detect();
  return isa;
}

}  // namespace

int Target::vector_bytes() const {
  switch (isa) {
    case Isa::kBaseline:
      return 16;
    case Isa::kAvx2:
      return 32;
    case Isa::kAvx512:
      return 64;
  }
  RELAY_UNREACHABLE("instruction set");
}

std::string_view Target::name() const {
  switch (isa) {
    case Isa::kBaseline:
      return "baseline";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  RELAY_UNREACHABLE("instruction set");
}

Target Target::host() { return Target{host_isa()}; }

Target Target::parse(std::string_view name) {
  if (name == "host") return host();
  for (Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
    if (Target{isa}.name() == name) return Target{isa};
  }
  throw Error(Diagnostic::error("unknown target '" + std::string(name) + "'")
                  .help("known are host, baseline, avx2 and avx512"));
}

bool Target::runs_here() const { return isa <= host_isa(); }

}  // namespace relay::codegen
