// The results that the recorded cases have reached, pinned in the repository.
#pragma once

#include <map>
#include <set>
#include <string>

namespace relay::conformance {

/// The outcome of the cases of one file.
struct Reached {
  size_t passed = 0;
  size_t differences = 0;       // documented
  std::set<std::string> lacks;  // why cases do not apply: "operator image.resize2d"
};

/// A table of lines `FILE passed N`, `FILE differences N`, `FILE lacks REASON`, separated by tabs.
class Pins {
 public:
  Pins() = default;
  /// Throws `Error` for a file that it cannot read.
  explicit Pins(const std::string& path);

  /// True if cases of a file may be not applicable for this reason.
  bool allows(const std::string& file, const std::string& reason) const;
  /// A text on what got worse; empty if nothing did.
  std::string worse(const std::string& file, const Reached& reached) const;
  /// True if more was reached than is pinned.
  bool better(const std::string& file, const Reached& reached) const;
  void set(const std::string& file, Reached reached) { files_[file] = std::move(reached); }
  void write(const std::string& path) const;

 private:
  std::map<std::string, Reached> files_;
};

}  // namespace relay::conformance
