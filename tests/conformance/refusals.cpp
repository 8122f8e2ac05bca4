// A check that a program is refused for the recorded reason: at the recorded place, and with words
// of the same kind of mistake.
#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <set>

#include <tests/conformance/data.h>

#include <relay/support/span.h>

namespace relay::conformance {

namespace {

struct Kind {
  const char* name;
  std::regex words;
};

std::regex words(const char* text) { return std::regex(text, std::regex::icase); }

// The subjects of mistakes, by words of ours and of the record. A message may be of several kinds.
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table = {
      {"syntax", words("expected|closing|comment|suffix|separator|must start with|never closed")},
      {"name",
       words("unknown|not defined|not declared|not bound|not exist|no such|not in scope|"
             "before its binding|outside$|outside its|never defined|refer to itself|known are|"
             "out of range")},
      {"twice",
       words("twice|two types|two parameters of one|repeated|second definition|permutation")},
      {"arguments", words("arguments?\\b|one of them")},
      {"attribute", words("attribute|required|no default|missing|found none")},
      {"dtype",
       words("dtype|element "
             "types?|\\bu?int(eger)?s?\\d*\\b|\\bfloats?\\d*\\b|bool|precision|\\bnumbers?\\b")},
      {"rank", words("\\brank|ax[ei]s|permutation|matri|vector|scalar|dimension|\\bpairs?\\b")},
      {"layout", words("layout")},
      {"extent", words("extent|shape|broadcast|length|rows|columns|channels|entry|entries|elements|"
                       "anchors|counts?\\b|\\bdiffer|divide|multiple|split|units|kernel|\\bsize|"
                       "repeat|repetitions|positive|negative|depth|coordinates|groups|exceed|above|"
                       "infer|weights?|"
                       "must be from|is -\\d|"
                       "after it|steps?\\b|strides?|rise|Tensor\\[\\(")},
      {"order", words("backwards|forwards|begin|stride|before and after")},
      {"type", words("infinite|itself|types?\\b|function|tuple|called|reference|equal|cannot call|"
                     "expected")},
      {"condition", words("condition|\\bif needs|only with")},
      {"match", words("cover|pattern|constructor")},
  };
  return table;
}

std::set<std::string> kinds_of(const std::string& text) {
  std::set<std::string> found;
  for (const Kind& kind : kinds()) {
    if (std::regex_search(text, kind.words)) found.insert(kind.name);
  }
  return found;
}

struct Range {
  size_t begin = 0, end = 0;
};

// Where `text` stands in the program, as a whole word where it is one.
std::vector<Range> occurrences(const std::string& program, const std::string& text) {
  std::vector<Range> found;
  auto part_of_word = [&](size_t inside, size_t outside) {
    auto in_word = [&](size_t at) {
      return at < program.size() &&
             (std::isalnum(static_cast<unsigned char>(program[at])) != 0 || program[at] == '_');
    };
    return in_word(inside) && in_word(outside);
  };
  for (size_t at = program.find(text); at != std::string::npos; at = program.find(text, at + 1)) {
    size_t end = at + text.size();
    if ((at > 0 && part_of_word(at, at - 1)) || part_of_word(end - 1, end)) continue;
    found.push_back({at, end});
  }
  return found;
}

// The calls of an operator.
std::vector<Range> calls_of(const std::string& program, const std::string& op) {
  std::vector<Range> found = occurrences(program, op);
  for (Range& range : found) {
    int depth = 0;
    for (size_t at = range.end; at < program.size(); ++at) {
      depth += program[at] == '(' ? 1 : program[at] == ')' ? -1 : 0;
      range.end = at + 1;
      if (depth == 0) break;
    }
  }
  return found;
}

}  // namespace

std::optional<std::string> other_reason(const Json& json, const Refusal& refusal) {
  const std::string name = json.at("name");
  const std::string program = json.at("program");
  const std::string reason = json.value("error", json.value("note", ""));
  std::string message;
  for (const Diagnostic& diagnostic : refusal.diagnostics) {
    if (diagnostic.severity == Severity::kError) message += diagnostic.message + "\n";
  }
  std::string told = "\"" + first_line(message) + "\" for \"" + reason + "\"";
  if (name.starts_with("parse/") && !refusal.syntax) return "no mistake of syntax: " + told;

  std::set<std::string> wanted = kinds_of(reason), found = kinds_of(message), shared;
  std::set_intersection(wanted.begin(), wanted.end(), found.begin(), found.end(),
                        std::inserter(shared, shared.end()));
  // A reason without any of these words ("three and two") leaves the place to be compared.
  if (!wanted.empty() && shared.empty()) return "another kind of mistake: " + told;

  std::vector<Range> places;
  if (json.contains("where")) {
    places = occurrences(program, json["where"]);
    if (places.empty()) return "the program has no " + json["where"].dump();
  } else {
    places = calls_of(program, name.substr(0, name.find('/')));
  }
  if (places.empty() || refusal.source == nullptr) return std::nullopt;  // no place is recorded
  uint64_t base = refusal.source->base();
  auto meets = [&](Span span) {
    return span.known() && std::any_of(places.begin(), places.end(), [&](const Range& place) {
             return span.begin() < base + place.end && base + place.begin < span.end();
           });
  };
  for (const Diagnostic& diagnostic : refusal.diagnostics) {
    if (meets(diagnostic.span)) return std::nullopt;
    for (const DiagnosticNote& note : diagnostic.notes) {
      if (meets(note.span)) return std::nullopt;
    }
  }
  return "at another place: " + told;
}

}  // namespace relay::conformance
