#include <relay/codegen/codegen.h>
#include <relay/runtime/cpu_features.h>
#include <relay/runtime/target_names.h>
#include <relay/support/error.h>

#include <algorithm>
#include <iterator>
#include <span>

namespace relay::codegen {

namespace {

// Each set begins with the one before it.
constexpr std::string_view kFeatures[] = {
    "avx2",       "fma",        "f16c",     "bmi",      "bmi2",     "lzcnt",
    "popcnt",     "movbe",      "avx512f",  "avx512vl", "avx512bw", "avx512dq",
    "avx512vnni", "avx512bf16", "amx-tile", "amx-int8", "amx-bf16"};
constexpr size_t kOfAvx2 = 8, kOfAvx512 = 12, kOfVnni = 13, kOfBfloat16 = 14, kOfAmx = 17;
constexpr std::string_view kFeaturesOfAvx2Vnni[] = {"avx2",  "fma",    "f16c",  "bmi",    "bmi2",
                                                    "lzcnt", "popcnt", "movbe", "avxvnni"};

struct Known {
  std::string_view name;
  std::span<const std::string_view> features;
  Target target;
};
constexpr lower::Processor kNeon{.vector_bytes = 16, .registers = 32};
constexpr lower::Processor kSse{.vector_bytes = 16, .registers = 16};
constexpr lower::Processor kYmm{.vector_bytes = 32, .registers = 16};
constexpr lower::Processor kZmm{};
constexpr lower::Processor kZmmBfloat16{.bfloat16_pairs = true};
constexpr lower::Processor kZmmAmx{.bfloat16_pairs = true, .matrix_tiles = true};
constexpr std::span kAll(kFeatures);
// The best one first.
constexpr Known kTargets[] = {
    {"aarch64", {}, {Target::Isa::kNeon, false, kNeon}},
    {"avx512-amx", kAll.first(kOfAmx), {Target::Isa::kAvx512, true, kZmmAmx}},
    {"avx512-bf16", kAll.first(kOfBfloat16), {Target::Isa::kAvx512, true, kZmmBfloat16}},
    {"avx512-vnni", kAll.first(kOfVnni), {Target::Isa::kAvx512, true, kZmm}},
    {"avx512", kAll.first(kOfAvx512), {Target::Isa::kAvx512, false, kZmm}},
    {"avx2-vnni", kFeaturesOfAvx2Vnni, {Target::Isa::kAvx2, true, kYmm}},
    {"avx2", kAll.first(kOfAvx2), {Target::Isa::kAvx2, false, kYmm}},
    {"baseline", {}, {Target::Isa::kBaseline, false, kSse}},
};

constexpr bool are_the_named_ones() {
  return std::equal(std::begin(kTargets), std::end(kTargets), std::rbegin(kTargetNames),
                    std::rend(kTargetNames),
                    [](const Known& each, std::string_view name) { return each.name == name; });
}
static_assert(are_the_named_ones(), "kTargetNames, from the last to the first");

const Known& known(const Target& target) {
  const Known* found = std::ranges::find_if(kTargets, [&](const Known& each) {
    return each.target.isa == target.isa && each.target.dots == target.dots &&
           each.target.processor.bfloat16_pairs == target.processor.bfloat16_pairs &&
           each.target.processor.matrix_tiles == target.processor.matrix_tiles;
  });
  RELAY_CHECK(found != std::end(kTargets), "a target of the table");
  return *found;
}

}  // namespace

std::span<const std::string_view> Target::features() const { return known(*this).features; }

std::string_view Target::name() const { return known(*this).name; }

std::string Target::key() const {
  std::string text(name());
  for (int64_t fact : {processor.line_bytes, processor.first_sets, processor.first_ways,
                       processor.second_bytes, processor.last_bytes})
    text += ' ' + std::to_string(fact);
  return text;
}

Target Target::host() {
  static const CpuCaches caches = cpu_caches();
  Target target = std::ranges::find_if(kTargets, [](const Known& each) {
                    return each.target.runs_here();
                  })->target;
  lower::Processor& facts = target.processor;
  auto take = [](int64_t& fact, int64_t found) { fact = found > 0 ? found : fact; };
  take(facts.line_bytes, caches.first.line_bytes);
  take(facts.first_sets, caches.first.sets);
  take(facts.first_ways, caches.first.ways);
  take(facts.second_bytes, caches.second.bytes());
  take(facts.last_bytes, caches.last.bytes());
  return target;
}

Target Target::parse(std::string_view name) {
  if (name == "host") return host();
  if (name.ends_with(".json")) return load(std::string(name));
  return named(name);
}

Target Target::named(std::string_view name) {
  for (const Known& each : kTargets) {
    if (each.name == name) return each.target;
  }
  std::string names = "host";
  for (std::string_view each : kTargetNames)
    names.append(each == std::end(kTargetNames)[-1] ? " and " : ", ").append(each);
  throw Error(
      Diagnostic::error("unknown target '" + std::string(name) + "'").help("known are " + names));
}

std::string_view Target::architecture() const { return is_x86() ? kX86_64 : kAArch64; }

bool Target::runs_here() const {
  return architecture() == kCpuArchitecture && std::ranges::all_of(features(), cpu_has);
}

}  // namespace relay::codegen
