// Messages of JSON-RPC on a pair of file descriptors, each behind a header that says its length.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace relay::lsp {

using json = nlohmann::json;

/// A mistake in a request, answered as an error.
struct RequestError {
  enum Code : int {
    kParse = -32700,
    kInvalidRequest = -32600,
    kNoMethod = -32601,
    kInvalidParams = -32602,
    kInternal = -32603,
    kNotInitialized = -32002,
    kFailed = -32803,
  };
  int code = kInternal;
  std::string message;
};

class Connection {
 public:
  /// No message may have more bytes.
  static constexpr size_t kMostBytes = size_t{1} << 28;

  Connection(int input, int output) : input_(input), output_(output) {}

  enum class Arrival { kMessage, kTimeout, kEnd };
  /// Waits for a message, at most `timeout` milliseconds (-1: for ever). Throws `RequestError` for
  /// one that cannot be read; the next one can be.
  Arrival wait(int timeout, json& message);
  /// Writes a message. False if nobody reads any more.
  bool send(const json& message);

 private:
  bool fill(int timeout);
  std::optional<std::string> take();

  int input_;
  int output_;
  std::string buffer_;
  size_t skip_ = 0;  // bytes to come of a message that is too long
  bool ended_ = false;
};

}  // namespace relay::lsp
