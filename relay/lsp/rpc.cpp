#include <relay/lsp/rpc.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace relay::lsp {
namespace {

constexpr size_t kMostHeader = 1 << 14;

// The length that a header gives; nothing if it gives none.
std::optional<uint64_t> content_length(std::string_view header) {
  while (!header.empty()) {
    const size_t end = std::min(header.find('\n'), header.size());
    std::string line(header.substr(0, end));
    header.remove_prefix(std::min(end + 1, header.size()));
    std::transform(line.begin(), line.end(), line.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    constexpr std::string_view kKey = "content-length:";
    if (!line.starts_with(kKey)) continue;
    std::string_view value = std::string_view(line).substr(kKey.size());
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    uint64_t length = 0;
    const auto [stop, code] = std::from_chars(value.data(), value.data() + value.size(), length);
    const std::string_view rest(stop, static_cast<size_t>(value.data() + value.size() - stop));
    if (code != std::errc() || rest.find_first_not_of(" \t\r") != rest.npos) return std::nullopt;
    return length;
  }
  return std::nullopt;
}

}  // namespace

bool Connection::fill(int timeout) {
  struct pollfd ready {
    input_, POLLIN, 0
  };
  int count = 0;
  do {
    count = poll(&ready, 1, timeout);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return false;
  char bytes[1 << 16];
  ssize_t got = 0;
  do {
    got = read(input_, bytes, sizeof bytes);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) {
    ended_ = true;
    return true;
  }
  const size_t skipped = std::min(skip_, static_cast<size_t>(got));
  skip_ -= skipped;
  buffer_.append(bytes + skipped, static_cast<size_t>(got) - skipped);
  return true;
}

// The next whole message of the buffer.
std::optional<std::string> Connection::take() {
  size_t blank = buffer_.find("\r\n\r\n");
  size_t body = blank + 4;
  if (const size_t bare = buffer_.find("\n\n"); bare < blank) {
    blank = bare;
    body = bare + 2;
  }
  if (blank == std::string::npos) {
    if (buffer_.size() <= kMostHeader) return std::nullopt;
    buffer_.clear();
    throw RequestError{RequestError::kParse, "the header of a message is too long"};
  }
  const std::optional<uint64_t> length = content_length(std::string_view(buffer_).substr(0, blank));
  if (!length) {
    buffer_.erase(0, body);
    throw RequestError{RequestError::kParse, "the header of a message has no Content-Length"};
  }
  if (*length > kMostBytes) {
    const size_t there = buffer_.size() - body;
    const size_t gone = static_cast<size_t>(std::min<uint64_t>(*length, there));
    skip_ = static_cast<size_t>(*length) - gone;
    buffer_.erase(0, body + gone);
    throw RequestError{RequestError::kParse,
                       "a message of " + std::to_string(*length) + " bytes is too long"};
  }
  if (buffer_.size() - body < *length) return std::nullopt;
  std::string text = buffer_.substr(body, static_cast<size_t>(*length));
  buffer_.erase(0, body + static_cast<size_t>(*length));
  return text;
}

Connection::Arrival Connection::wait(int timeout, json& message) {
  for (;;) {
    if (skip_ == 0) {
      if (std::optional<std::string> text = take()) {
        message = json::parse(*text, nullptr, /*allow_exceptions=*/false);
        if (message.is_discarded())
          throw RequestError{RequestError::kParse, "a message is not valid JSON"};
        return Arrival::kMessage;
      }
    }
    if (ended_) return Arrival::kEnd;
    if (!fill(timeout)) return Arrival::kTimeout;
  }
}

bool Connection::send(const json& message) {
  const std::string body = message.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string text = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t written = write(output_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    rest.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace relay::lsp
