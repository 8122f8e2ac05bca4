// What a token of a text means, and all places that mean the same.
#pragma once

#include <string>
#include <vector>

#include <relay/lsp/analysis.h>
#include <relay/op/op.h>

namespace relay::lsp {

/// A name, where it stands.
struct Meaning {
  enum class Kind { kNone, kLocal, kGlobal, kWord, kOperator };
  Kind kind = Kind::kNone;
  size_t chunk = 0;  // a number of `Analysis::chunks`
  size_t token = 0;
  std::string name;
  const Binder* binder = nullptr;  // of a local name
  const TypeWord* word = nullptr;  // of a data type or constructor: its definition
  const Operator* op = nullptr;
};

/// Names in bytes of the text.
struct Occurrence {
  size_t begin = 0;
  size_t end = 0;
  bool defines = false;
};

Meaning meaning_at(const Analysis& analysis, size_t offset);
/// All occurrences of a local name, global function, data type or constructor.
std::vector<Occurrence> occurrences(const Analysis& analysis, const Meaning& meaning);
/// The definition of a data type or constructor, or null.
const TypeWord* find_word(const Analysis& analysis, const std::string& name);

/// A typed expression of a chunk.
struct TypedPlace {
  size_t begin = 0;  // in the chunk
  size_t end = 0;
  const Type* type = nullptr;
  bool binder = false;
};
/// The expressions and variables of a chunk by their places; none if its text is wrong.
std::vector<TypedPlace> typed_places(const Analysis& analysis, const Chunk* chunk);
/// The type of a local name, or null.
const Type* type_of(const std::vector<TypedPlace>& places, const Chunk& chunk,
                    const Binder& binder);
/// The comments before the definition that begins a chunk.
std::string documentation(const Analysis& analysis, size_t chunk);
/// The chunk that defines a global function; the number of chunks if none does.
size_t chunk_of_global(const Analysis& analysis, const std::string& name);

}  // namespace relay::lsp
