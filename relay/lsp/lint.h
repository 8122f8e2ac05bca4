// Warnings about programs that are right, but not what a person means. They are found in names and
// tokens, so they need no types.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <relay/lsp/chunk.h>

namespace relay::lsp {

struct LintRule {
  const char* name;
  const char* doc;
  bool usual = false;  // hardly ever wrong, so that `relay check` warns without being asked
};

/// All rules, by name.
std::span<const LintRule> lint_rules();

struct Lint {
  const LintRule* rule = nullptr;
  std::string message;
  size_t chunk = 0;  // in the chunks that were looked at
  size_t begin = 0;  // in the chunk
  size_t end = 0;
  bool unnecessary = false;  // the code there has no effect
};

/// Finds the warnings about a text that was cut into chunks, and remembers each chunk's own, so
/// that a text of which little has changed is looked at quickly.
class LintFinder {
 public:
  /// The warnings in the order of the text. Names that begin with `_` are meant to be unused.
  std::vector<Lint> find(const std::vector<ChunkRef>& chunks);

 private:
  // A use of a name that is shadowing if the text defines a function or data type of that name.
  struct Shadow {
    std::string name;
    bool type = false;
    Lint lint;
  };
  // What a chunk alone tells.
  struct Own {
    ChunkRef chunk;  // keeps the key alive
    std::vector<Lint> lints;
    std::vector<Shadow> shadows;
    std::string data;  // the data type that it defines, or empty
    uint64_t round = 0;  // the last one that it was in
  };
  friend class ChunkLinter;

  const Own& own(const ChunkRef& chunk);

  std::unordered_map<const Chunk*, Own> known_;
  uint64_t round_ = 0;
};

/// The warnings about a whole text; `begin` and `end` are bytes of it.
std::vector<Lint> find_lints(std::string_view text);

}  // namespace relay::lsp
