// From a name to the places that mean the same.
#include <algorithm>
#include <cctype>

#include <relay/lsp/features.h>
#include <relay/lsp/meaning.h>

namespace relay::lsp {
namespace {

json edit(const View& view, size_t begin, size_t end, const std::string& text) {
  return {{"range", to_json(view.range(begin, end))}, {"newText", text}};
}

bool can_change(const Meaning& meaning, const std::vector<Occurrence>& all) {
  return meaning.kind != Meaning::Kind::kNone && meaning.kind != Meaning::Kind::kOperator &&
         std::any_of(all.begin(), all.end(), [](const Occurrence& one) { return one.defines; });
}

bool is_plain(const std::string& name, bool word) {
  if (name.empty() || (word && std::isdigit(static_cast<unsigned char>(name[0])) != 0))
    return false;
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return c < 128 && (std::isalnum(c) != 0 || c == '_'); });
}

bool is_keyword(const std::string& name) {
  constexpr const char* kWords[] = {
#define RELAY_KEYWORD(name, text, taken) text,
#include <relay/support/keywords.def>
  };
  return std::find(std::begin(kWords), std::end(kWords), name) != std::end(kWords);
}

// Another thing that has the name already.
std::string taken_by(const Analysis& analysis, const Meaning& meaning, const std::string& name) {
  if (meaning.kind == Meaning::Kind::kLocal) {
    const Names& names = analysis.chunks()[meaning.chunk].chunk->names;
    for (const Binder& binder : names.binders) {
      if (binder.name == name) return "%" + name;
    }
  } else if (meaning.kind == Meaning::Kind::kGlobal) {
    const bool taken = chunk_of_global(analysis, name) < analysis.chunks().size() ||
                       analysis.module().function(Name(name)) != nullptr;
    if (taken) return "@" + name;
  } else if (find_word(analysis, name) != nullptr || find_op(Name(name)) != nullptr ||
             is_keyword(name)) {
    return name;
  }
  return {};
}

}  // namespace

json definition(const View& view, size_t offset) {
  const Meaning meaning = meaning_at(view.analysis, offset);
  if (meaning.kind == Meaning::Kind::kOperator) return nullptr;
  json places = json::array();
  for (const Occurrence& one : occurrences(view.analysis, meaning)) {
    if (one.defines) places.push_back(view.location(one.begin, one.end));
  }
  return places;
}

json references(const View& view, size_t offset, bool with_declaration) {
  json places = json::array();
  for (const Occurrence& one : occurrences(view.analysis, meaning_at(view.analysis, offset))) {
    if (with_declaration || !one.defines) places.push_back(view.location(one.begin, one.end));
  }
  return places;
}

json highlights(const View& view, size_t offset) {
  json places = json::array();
  for (const Occurrence& one : occurrences(view.analysis, meaning_at(view.analysis, offset)))
    places.push_back(
        {{"range", to_json(view.range(one.begin, one.end))}, {"kind", one.defines ? 3 : 2}});
  return places;
}

json prepare_rename(const View& view, size_t offset) {
  const Meaning meaning = meaning_at(view.analysis, offset);
  const std::vector<Occurrence> all = occurrences(view.analysis, meaning);
  if (!can_change(meaning, all)) return nullptr;
  for (const Occurrence& one : all) {
    if (one.begin <= offset && offset <= one.end)
      return {{"range", to_json(view.range(one.begin, one.end))},
              {"placeholder", view.analysis.text().substr(one.begin, one.end - one.begin)}};
  }
  return nullptr;
}

json rename(const View& view, size_t offset, const std::string& wanted) {
  const Meaning meaning = meaning_at(view.analysis, offset);
  const std::vector<Occurrence> all = occurrences(view.analysis, meaning);
  if (!can_change(meaning, all))
    throw RequestError{RequestError::kFailed, "nothing here has a name that can be changed"};
  std::string sigil;
  if (meaning.kind == Meaning::Kind::kLocal) sigil = "%";
  if (meaning.kind == Meaning::Kind::kGlobal) sigil = "@";
  std::string name = wanted;
  if (!sigil.empty() && name.starts_with(sigil)) name.erase(0, 1);
  if (!is_plain(name, sigil.empty()))
    throw RequestError{RequestError::kFailed, "'" + wanted + "' is not a name"};
  if (name == meaning.name) return {{"changes", {{view.uri, json::array()}}}};
  const std::string taken = taken_by(view.analysis, meaning, name);
  if (!taken.empty()) throw RequestError{RequestError::kFailed, taken + " is taken already"};
  json edits = json::array();
  for (const Occurrence& one : all) edits.push_back(edit(view, one.begin, one.end, sigil + name));
  return {{"changes", {{view.uri, std::move(edits)}}}};
}

}  // namespace relay::lsp
