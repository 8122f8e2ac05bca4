#include <relay/support/utf8.h>

namespace relay {

size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(i < text.size() ? text[i] : 0); };
  auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  unsigned char c = byte(0);
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c < 0xE0) return follows(1) ? 2 : 0;
  if (c >= 0xE0 && c < 0xF0) {
    if (!follows(1) || !follows(2)) return 0;
    if (c == 0xE0 && byte(1) < 0xA0) return 0;   // overlong
    if (c == 0xED && byte(1) >= 0xA0) return 0;  // surrogate
    return 3;
  }
  if (c >= 0xF0 && c < 0xF5) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (c == 0xF0 && byte(1) < 0x90) return 0;
    if (c == 0xF4 && byte(1) >= 0x90) return 0;
    return 4;
  }
  return 0;
}

}  // namespace relay
