// Converts spans to positions of an executable, and positions to spans.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <relay/support/span.h>
#include <relay/vm/machine/executable.h>

namespace relay::vm {

/// Adds positions to an executable, equal ones once.
class PositionTable {
 public:
  explicit PositionTable(Executable& executable) : executable_(executable) {}
  /// 0 for an unknown span.
  uint32_t add(Span span);

 private:
  uint32_t add_line(const Source& source, uint64_t offset, uint64_t length, uint32_t& column);

  Executable& executable_;
  std::unordered_map<uint64_t, uint32_t> spans_;                             // begin and length
  std::map<std::tuple<const Source*, uint32_t, uint32_t>, uint32_t> lines_;  // line, part of it
  std::map<const Source*, std::vector<uint64_t>> starts_;                    // of lines
  std::vector<std::shared_ptr<const Source>> sources_;
};

/// A span that shows the position in diagnostics. `sources` keeps its text.
Span position_span(const Executable& executable, uint32_t position,
                   std::vector<std::shared_ptr<const Source>>& sources);

}  // namespace relay::vm
