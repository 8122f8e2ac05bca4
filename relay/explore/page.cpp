#include <relay/explore/page.h>

#include <zlib.h>

#include <string_view>

#include <relay/explore/page_text.h>
#include <relay/support/error.h>

namespace relay::explore {
namespace {

std::string base64(std::string_view bytes) {
  static constexpr char kLetters[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t here = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < here ? static_cast<uint8_t>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) text += k <= here ? kLetters[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::string compressed(const std::string& document) {
  uLongf size = compressBound(document.size());
  std::string bytes(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(bytes.data()), &size,
                               reinterpret_cast<const Bytef*>(document.data()), document.size(), 6);
  RELAY_CHECK(status == Z_OK, "the document cannot be compressed");
  bytes.resize(size);
  return bytes;
}

std::string html_text(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '<' || c == '>' || c == '&' || c == '"') {
      out += "&#" + std::to_string(static_cast<int>(c)) + ";";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string page_with(const std::string& title, const std::vector<std::string>& documents) {
  const std::string_view page = page_text();
  static constexpr std::string_view kTitle = "<title>relay explore</title>";
  static constexpr std::string_view kHere = "<!--documents-->";
  const size_t at_title = page.find(kTitle), at = page.find(kHere);
  RELAY_CHECK(at_title < at && at != std::string_view::npos, "the page has no place for documents");
  std::string out(page.substr(0, at_title));
  out += "<title>" + html_text(title) + "</title>";
  out += page.substr(at_title + kTitle.size(), at - at_title - kTitle.size());
  for (const std::string& document : documents)
    out += "<script type=\"application/x-relay\">" + base64(compressed(document)) + "</script>\n";
  out += page.substr(at + kHere.size());
  return out;
}

}  // namespace relay::explore
