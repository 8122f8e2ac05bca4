// Warnings about programs that are right, but not what a person means. They are found in names and
// tokens, so they need no types.
#pragma once

#include <span>
#include <string>
#include <string_view>
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

/// The warnings about a text that was cut into chunks, in the order of the text. Names that begin
/// with `_` are meant to be unused.
std::vector<Lint> find_lints(const std::vector<ChunkRef>& chunks);

/// The same for a whole text; `begin` and `end` are bytes of it.
std::vector<Lint> find_lints(std::string_view text);

}  // namespace relay::lsp
