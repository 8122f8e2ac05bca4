// Answers to an editor's questions about a text. Offsets are bytes of the text.
#pragma once

#include <string>

#include <relay/lsp/analysis.h>
#include <relay/lsp/rpc.h>

namespace relay::lsp {

/// Where a text is, for answers that name places.
struct View {
  const Analysis& analysis;
  const std::string& uri;

  Range range(size_t begin, size_t end) const;
  json location(size_t begin, size_t end) const;
};
json to_json(const Range& range);

/// The kinds of semantic tokens, by number.
json token_legend();

json diagnostics(const View& view);
json hover(const View& view, size_t offset);
json completion(const View& view, size_t offset);
json signature_help(const View& view, size_t offset);
json definition(const View& view, size_t offset);
json references(const View& view, size_t offset, bool with_declaration);
json highlights(const View& view, size_t offset);
/// The range of a name that can be changed, or null.
json prepare_rename(const View& view, size_t offset);
/// Throws `RequestError` for a name that is none or that is taken.
json rename(const View& view, size_t offset, const std::string& name);
json inlay_hints(const View& view, size_t begin, size_t end);
json code_actions(const View& view, size_t begin, size_t end);
/// Edits that lay the text out; throws `RequestError` if it has errors.
json formatting(const View& view);
json document_symbols(const View& view);
json folding_ranges(const View& view);
json semantic_tokens(const View& view, size_t begin, size_t end);

}  // namespace relay::lsp
