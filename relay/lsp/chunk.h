// A text cut into its definitions, the units of incremental work.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <relay/lsp/names.h>

namespace relay::lsp {

/// A definition with the comments behind it, or what stands before the first one. Chunks do not
/// change: an edit makes new ones of what it touches.
struct Chunk {
  std::string text;
  parsing::SyntaxTokens syntax;  // views of `text`
  Names names;
  /// Not a function: data types, imports, a version line, an expression before all definitions.
  bool environment = false;

  explicit Chunk(std::string text, bool environment);
  Chunk(const Chunk&) = delete;

  std::string_view token(size_t i) const { return syntax.at(i); }
  /// The token that an offset is in or right behind, names before others; the last one if there is
  /// none.
  size_t token_at(size_t offset) const;
  /// The comment lines right before the end of the chunk: those of the definition behind it.
  std::string comment_at_end() const;
};

using ChunkRef = std::shared_ptr<const Chunk>;

/// The text of a chunk and its place.
struct Piece {
  size_t begin = 0;
  size_t end = 0;
  bool environment = false;
  bool operator==(const Piece&) const = default;
};

/// Bytes of a text that others replaced; what stands before and behind them is the same.
struct Replaced {
  size_t begin = 0;
  size_t old_end = 0;
  size_t end = 0;

  /// The part in which two texts differ.
  static Replaced between(std::string_view old, std::string_view text);
};

/// Cuts a text at its definitions. A text with a `#[metadata]` section is one piece.
std::vector<Piece> cut(std::string_view text);

/// Cuts a text that was cut before and has changed since. Only pieces near the change are read.
std::vector<Piece> cut_again(std::string_view text, std::span<const Piece> before,
                             const Replaced& change);

}  // namespace relay::lsp
