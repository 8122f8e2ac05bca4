#include <relay/runtime/failure_text.h>

namespace relay {

std::string with_index(std::string_view message, int64_t index, int64_t extent) {
  std::string text(message);
  size_t at = text.rfind(kOutOfRange);
  if (at == std::string::npos) return text;
  return text.replace(
      at, kOutOfRange.size(),
      "index " + std::to_string(index) + " is out of range for extent " + std::to_string(extent));
}

std::string failure_text(std::string_view op, std::string_view message) {
  if (message.starts_with("integer division by zero")) return std::string(message);
  std::string named = std::string(op) + ": ";
  return message.starts_with(named) ? std::string(message) : named + std::string(message);
}

}  // namespace relay
