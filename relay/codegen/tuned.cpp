#include <relay/codegen/tuned.h>

#include <charconv>
#include <sstream>
#include <string_view>
#include <system_error>

#include <relay/codegen/kernel_key.h>
#include <relay/codegen/llvm/object.h>
#include <relay/codegen/source_hash.h>
#include <relay/runtime/file.h>
#include <relay/support/error.h>
#include <relay/support/hash.h>

namespace relay::codegen {
namespace {

constexpr size_t kKeyDigits = 32;
constexpr uint64_t kMostKept = 4 << 20;  // of the file
constexpr int32_t kMostSize = 1 << 20;

std::filesystem::path file_in(const std::filesystem::path& cache) { return cache / "tuned"; }

// Plans of another version may have other sizes for the same kernel.
std::string head() {
  return "relay tuned kernels " + std::string(source_hash()) + " llvm " + llvm_version();
}

std::string hex(uint64_t value) {
  std::string digits(16, '0');
  for (size_t i = 16; i-- > 0; value >>= 4) digits[i] = "0123456789abcdef"[value & 15];
  return digits;
}

bool is_key(std::string_view text) {
  return text.size() == kKeyDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// A line "KEY ROWS VECTORS TILES PANELS"; nothing if it is none.
std::optional<std::pair<std::string, lower::TileChoice>> read_line(std::string_view line) {
  if (line.size() <= kKeyDigits || !is_key(line.substr(0, kKeyDigits))) return std::nullopt;
  lower::TileChoice choice;
  const char *at = line.data() + kKeyDigits, *const end = line.data() + line.size();
  for (int32_t* size : {&choice.tile_rows, &choice.panel_vectors, &choice.tiles_in_block,
                        &choice.panels_in_block}) {
    if (at == end || *at != ' ') return std::nullopt;
    const auto [next, error] = std::from_chars(at + 1, end, *size);
    if (error != std::errc() || *size < 0 || *size > kMostSize) return std::nullopt;
    at = next;
  }
  if (at != end) return std::nullopt;
  return std::pair(std::string(line.substr(0, kKeyDigits)), choice);
}

}  // namespace

std::string tuning_key(const lower::Kernel& kernel, const Target& target) {
  std::string text;
  if (const auto* contraction = std::get_if<lower::Contraction>(&kernel.body);
      contraction != nullptr && contraction->chosen != lower::TileChoice()) {
    lower::Kernel plain = kernel;
    std::get<lower::Contraction>(plain.body).chosen = {};
    text = kernel_key(plain);
  } else {
    text = kernel_key(kernel);
  }
  text += target.key();
  return hex(hash_text(text)) + hex(hash_text(text, 1));
}

std::optional<lower::TileChoice> TunedKernels::find(const std::string& key) const {
  const auto found = choices_.find(key);
  if (found == choices_.end()) return std::nullopt;
  return found->second;
}

void TunedKernels::set(const std::string& key, const lower::TileChoice& choice) {
  RELAY_CHECK(is_key(key), "the key of a kernel");
  if (choice == lower::TileChoice()) {
    choices_.erase(key);
  } else {
    choices_[key] = choice;
  }
}

TunedKernels TunedKernels::read(const std::filesystem::path& cache) {
  TunedKernels result;
  const std::filesystem::path path = file_in(cache);
  std::error_code error;
  if (cache.empty() || !std::filesystem::is_regular_file(path, error)) return result;
  std::string text;
  try {
    const InputFile file(path.string());
    if (file.size() > kMostKept) return result;
    text.resize(file.size());
    file.read_at(0, text.data(), text.size());
  } catch (const Error&) {
    return result;
  }
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != head()) return result;
  while (std::getline(lines, line)) {
    if (auto entry = read_line(line)) result.set(entry->first, entry->second);
  }
  return result;
}

void TunedKernels::write(const std::filesystem::path& cache,
                         const std::vector<std::string>& measured) const {
  if (cache.empty()) throw Error("there is no folder to keep what was measured in");
  TunedKernels all = read(cache);
  for (const std::string& key : measured) all.choices_.erase(key);
  for (const auto& [key, choice] : choices_) all.choices_[key] = choice;
  std::string text = head() + '\n';
  for (const auto& [key, choice] : all.choices_) {
    text += key;
    for (int32_t size :
         {choice.tile_rows, choice.panel_vectors, choice.tiles_in_block, choice.panels_in_block})
      text += ' ' + std::to_string(size);
    text += '\n';
  }
  std::error_code error;
  std::filesystem::create_directories(cache, error);
  OutputFile out(file_in(cache).string());
  out.write(text.data(), text.size());
  out.commit();
}

}  // namespace relay::codegen
