// The two families of errors: mistakes in the input, and defects of Relay.
#pragma once

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <relay/support/diagnostic.h>

namespace relay {

/// A user error: one or more diagnostics carried across the API.
class Error : public std::exception {
 public:
  explicit Error(Diagnostic diagnostic);
  explicit Error(std::vector<Diagnostic> diagnostics);
  explicit Error(std::string message, Span span = {});

  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  /// The messages, one on a line, without source excerpts.
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::vector<Diagnostic> diagnostics_;
  std::vector<std::shared_ptr<const Source>> sources_;  // keeps the texts that the spans are in
  std::string what_;
};

/// A failure of the running program (a `match?` without a clause, a division by zero, …): a user
/// error with its own exit code. The notes of the diagnostic are the call trace.
class RuntimeError : public Error {
 public:
  using Error::Error;
};

/// A defect of Relay itself. Never thrown for bad input.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void internal_error(const char* file, int line, const char* condition,
                                 const std::string& message);

}  // namespace relay

/// Checks one of our own invariants, in every build type.
#define RELAY_CHECK(condition, message)                                   \
  do {                                                                    \
    if (!(condition)) [[unlikely]]                                        \
      ::relay::internal_error(__FILE__, __LINE__, #condition, (message)); \
  } while (false)
#define RELAY_UNREACHABLE(message) \
  ::relay::internal_error(__FILE__, __LINE__, "unreachable", (message))
