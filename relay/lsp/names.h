// The names in the tokens of a definition: what is bound where, and what each use means. It takes
// tokens, not a parse, so that broken text has names, too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <relay/parse/syntax_tokens.h>

namespace relay::lsp {

enum class BinderKind : uint8_t { kParameter, kLet, kGraph, kPattern, kFree };

/// A local name where it is bound.
struct Binder {
  std::string name;  // without sigil and quotes
  BinderKind kind = BinderKind::kLet;
  uint32_t token = 0;
  bool annotated = false;   // a type stands behind it
  uint32_t value = 0;       // of a let or graph binding: the first token of its value
  uint32_t value_end = 0;   // the token behind its value
  uint32_t scope_end = 0;   // the token where it ends
  uint32_t visible_at = 0;  // the token from which on it is known
};

/// A use of a local name.
struct LocalUse {
  uint32_t token = 0;
  uint32_t binder = 0;  // in `binders`, or `kUnbound`
  uint32_t length = 0;  // bytes of the token that are the name, sigil included
};

inline constexpr uint32_t kUnbound = ~uint32_t{0};

/// A use or definition of `@f`.
struct GlobalUse {
  std::string name;
  uint32_t token = 0;
  bool defines = false;
};

/// A word that data types define.
struct TypeWord {
  std::string name;
  uint32_t token = 0;
  bool constructor = false;
  std::string owner;  // of a constructor: its data type
};

struct Names {
  std::vector<Binder> binders;
  std::vector<LocalUse> uses;  // in the order of tokens; binders are not among them
  std::vector<GlobalUse> globals;
  std::vector<TypeWord> words;

  /// The binder that stands at a token or that the use at a token means, or null.
  const Binder* at(size_t token) const;
  /// The binders that may be used at a token, the innermost one of each name.
  std::vector<const Binder*> visible(size_t token) const;
};

Names find_names(const parsing::SyntaxTokens& syntax);

/// The name in `%x`, `@f`, `%"a b"` or in a word.
std::string plain_text(std::string_view token);

}  // namespace relay::lsp
