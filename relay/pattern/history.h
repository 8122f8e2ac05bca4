// A record of what rules have written, and which rule wrote what: so that those that never end are
// found.
#pragma once

#include <string>
#include <vector>

#include <relay/pattern/driver.h>

namespace relay::pattern {

/// Each node that a rule writes has a depth: one more than that of the node that it was written
/// for. Rules that end write few nodes on top of one another.
class History {
 public:
  History(bool refuse, uint64_t most_firings) : refuse_(refuse), most_firings_(most_firings) {}

  /// Notes an application. Throws `Error` where rules go on without end.
  void note(const ReadyRule& rule, const ExprRef& before, const ExprRef& after,
            const std::vector<ExprRef>& fresh);
  /// A node takes the place of a written one.
  void replace(const Expr* old, const ExprRef& made);
  void keep(const ExprRef& expr) { kept_.push_back(expr); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Entry {
    const ReadyRule* rule;
    ExprRef before;
    uint32_t parent;  // the entry that wrote `before`
    uint32_t depth;
  };
  [[noreturn]] void refuse(uint32_t last, const ExprRef& after) const;
  /// The rules from one time that an expression was there to the next, if it came again.
  std::vector<const ReadyRule*> circle(uint32_t last, const ExprRef& after) const;

  bool refuse_;
  uint64_t most_firings_;
  std::vector<Entry> log_;
  PointerMap<Expr, uint32_t> entries_;  // of written nodes
  std::vector<ExprRef> kept_;
};

}  // namespace relay::pattern
