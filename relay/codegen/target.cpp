#include <relay/codegen/codegen.h>
#include <relay/runtime/cpu_features.h>
#include <relay/support/error.h>

#include <algorithm>
#include <span>

namespace relay::codegen {

namespace {

// Each set begins with the one before it.
constexpr std::string_view kFeatures[] = {"avx2",    "fma",      "f16c",     "bmi",
                                          "bmi2",    "lzcnt",    "popcnt",   "movbe",
                                          "avx512f", "avx512vl", "avx512bw", "avx512dq"};
constexpr size_t kOfAvx2 = 8;

}  // namespace

std::span<const std::string_view> Target::features() const {
  switch (isa) {
    case Isa::kBaseline:
      return {};
    case Isa::kAvx2:
      return std::span(kFeatures).first(kOfAvx2);
    case Isa::kAvx512:
      return kFeatures;
  }
  RELAY_UNREACHABLE("instruction set");
}

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

Target Target::host() {
  for (Isa isa : {Isa::kAvx512, Isa::kAvx2}) {
    if (Target{isa}.runs_here()) return Target{isa};
  }
  return Target{Isa::kBaseline};
}

Target Target::parse(std::string_view name) {
  if (name == "host") return host();
  for (Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
    if (Target{isa}.name() == name) return Target{isa};
  }
  throw Error(Diagnostic::error("unknown target '" + std::string(name) + "'")
                  .help("known are host, baseline, avx2 and avx512"));
}

bool Target::runs_here() const { return std::ranges::all_of(features(), cpu_has); }

}  // namespace relay::codegen
