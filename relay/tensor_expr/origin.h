// The operators that scalar expressions come from, for readers of what becomes of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <relay/tensor_expr/computation.h>

namespace relay::te {

/// While it lives, new scalars of this thread belong to an operator (`ScalarNode::origin`). That of
/// no operator, 0, changes nothing: what is made for a part belongs to the whole.
class OriginScope {
 public:
  explicit OriginScope(uint32_t origin) : before_(current_) {
    if (origin != 0) current_ = origin;
  }
  ~OriginScope() { current_ = before_; }
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;
  static uint32_t current() { return current_; }

 private:
  static inline constinit thread_local uint32_t current_ = 0;
  const uint32_t before_;
};

/// Gives the operators of a stage's scalars other numbers.
void renumber_origins(Stage& stage, const std::function<uint32_t(uint32_t)>& number);

/// Pieces of a text, from its beginning: so many bytes belong to that operator, or to none (0).
class OriginRuns {
 public:
  struct Run {
    uint32_t length;
    uint32_t origin;
  };
  void add(size_t length, uint32_t origin) {
    if (length == 0) return;
    if (runs_.empty() || runs_.back().origin != origin) runs_.push_back({0, origin});
    runs_.back().length += static_cast<uint32_t>(length);
  }
  void add(const OriginRuns& more) {
    for (const Run& run : more.runs_) add(run.length, run.origin);
  }
  const std::vector<Run>& runs() const { return runs_; }

 private:
  std::vector<Run> runs_;
};

/// The text of `to_string(node)` with the inputs called `input` 0 and on. `origins` gets its
/// pieces: what belongs to no operator belongs to `origin`.
std::string to_string(const ScalarNode& node, std::string_view input, uint32_t origin,
                      OriginRuns& origins);

}  // namespace relay::te
