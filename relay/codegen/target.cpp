#include <relay/codegen/codegen.h>
#include <relay/runtime/cpu_features.h>
#include <relay/support/error.h>

#include <algorithm>
#include <span>

namespace relay::codegen {

namespace {

// Each set begins with the one before it.
constexpr std::string_view kFeatures[] = {
    "avx2",  "fma",     "f16c",     "bmi",      "bmi2",     "lzcnt",     "popcnt",
    "movbe", "avx512f", "avx512vl", "avx512bw", "avx512dq", "avx512vnni"};
constexpr size_t kOfAvx2 = 8, kOfAvx512 = 12;
constexpr std::string_view kFeaturesOfAvx2Vnni[] = {"avx2",  "fma",    "f16c",  "bmi",    "bmi2",
                                                    "lzcnt", "popcnt", "movbe", "avxvnni"};
// The best one first.
constexpr Target kTargets[] = {{Target::Isa::kAvx512, true},
                               {Target::Isa::kAvx512, false},
                               {Target::Isa::kAvx2, true},
                               {Target::Isa::kAvx2, false},
                               {Target::Isa::kBaseline, false}};

}  // namespace

std::span<const std::string_view> Target::features() const {
  switch (isa) {
    case Isa::kBaseline:
      return {};
    case Isa::kAvx2:
      if (dots) return kFeaturesOfAvx2Vnni;
      return std::span(kFeatures).first(kOfAvx2);
    case Isa::kAvx512:
      return dots ? std::span(kFeatures) : std::span(kFeatures).first(kOfAvx512);
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
      return dots ? "avx2-vnni" : "avx2";
    case Isa::kAvx512:
      return dots ? "avx512-vnni" : "avx512";
  }
  RELAY_UNREACHABLE("instruction set");
}

Target Target::host() { return *std::ranges::find_if(kTargets, &Target::runs_here); }

Target Target::parse(std::string_view name) {
  if (name == "host") return host();
  for (const Target& target : kTargets) {
    if (target.name() == name) return target;
  }
  throw Error(Diagnostic::error("unknown target '" + std::string(name) + "'")
                  .help("known are host, baseline, avx2, avx2-vnni, avx512 and avx512-vnni"));
}

bool Target::runs_here() const { return std::ranges::all_of(features(), cpu_has); }

}  // namespace relay::codegen
