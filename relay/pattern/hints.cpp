#include <relay/pattern/hints.h>

#include <array>

namespace relay::pattern {

namespace {

struct Hint {
  At place;
  std::string_view found;  // empty: anything that no line before it has
  std::string_view help;
};

constexpr std::string_view kRule = "write `rule NAME: PATTERN => WRITTEN where CONDITIONS;`";
constexpr std::string_view kTable = "write `pattern NAME: PATTERN where CONDITIONS;`";
constexpr std::string_view kProgram =
    "this is program text; the program stands behind the rules: "
    "`relay opt --rewrite RULES PROGRAM`";
constexpr std::string_view kCommas = "conditions are joined by commas, and all of them must hold";
constexpr std::string_view kOr =
    "conditions have no `or`; write a rule for each case, or `rank(%x) in (1, 2)`";
constexpr std::string_view kWhere = "conditions stand behind `where`";
constexpr std::string_view kEqual = "values are compared by `==`";
constexpr std::string_view kPower = "write `power(%x, 2)`";
constexpr std::string_view kNegative = "write `negative(%x)`";
constexpr std::string_view kLocals =
    "a rule writes calls, tuples, projections and numbers; an expression that stands twice is "
    "one node";
constexpr std::string_view kCode =
    "a rule writes calls of operators, tuples, projections and numbers";

constexpr std::array kHints = {
    Hint{At::kEntry, "def", kProgram},
    Hint{At::kEntry, "import", kProgram},
    Hint{At::kEntry, "type", kProgram},
    Hint{At::kEntry, "-", "a name of other characters stands in quotes"},
    Hint{At::kEntry, "pattern", "this is a table of patterns, which the pass MergeComposite reads"},
    Hint{At::kEntry, "", kRule},
    Hint{At::kTableEntry, "-", "a name of other characters stands in quotes"},
    Hint{At::kTableEntry, "", kTable},
    Hint{At::kArrow, "**", kPower},
    Hint{At::kArrow, "where", "conditions stand behind what the rule writes"},
    Hint{At::kArrow, "if", "conditions stand behind what the rule writes"},
    Hint{At::kArrow, ";", kRule},
    Hint{At::kEnd, "and", kCommas},
    Hint{At::kEnd, "&&", kCommas},
    Hint{At::kEnd, "or", kOr},
    Hint{At::kEnd, "||", kOr},
    Hint{At::kEnd, "|", kOr},
    Hint{At::kEnd, "if", kWhere},
    Hint{At::kEnd, "when", kWhere},
    Hint{At::kEnd, "where", "`where` stands once; commas join conditions"},
    Hint{At::kEnd, "=>", "a rule has one `=>`; write a rule for each step"},
    Hint{At::kEnd, "**", kPower},
    Hint{At::kEnd, "<", "write two comparisons, joined by a comma"},
    Hint{At::kEnd, "<=", "write two comparisons, joined by a comma"},
    Hint{At::kEnd, ">", "write two comparisons, joined by a comma"},
    Hint{At::kEnd, ">=", "write two comparisons, joined by a comma"},
    Hint{At::kPattern, "rule",
         "a pattern is what stands before `=>` of a rule; `relay opt --rewrite` takes rules"},
    Hint{At::kPattern, "**", kPower},
    Hint{At::kPattern, "-", kNegative},
    Hint{At::kPattern, "[", "attributes are written by name: `transpose(%x, axes=[1, 0])`"},
    Hint{At::kPattern, ":", "a part with a type is `%x.has_type(Tensor[(2), float32])`"},
    Hint{At::kWritten, "let", kLocals},
    Hint{At::kWritten, "fn", kCode},
    Hint{At::kWritten, "if", kCode},
    Hint{At::kWritten, "match", kCode},
    Hint{At::kWritten, "ref", kCode},
    Hint{At::kWritten, "{", kLocals},
    Hint{At::kWritten, "**", kPower},
    Hint{At::kWritten, "-", kNegative},
    Hint{At::kWritten, "[", "attributes are written by name: `transpose(%x, axes=[1, 0])`"},
    Hint{At::kWritten, "_", "`_` stands for anything; name it in the pattern, as %x, to write it"},
    Hint{At::kWritten, "const", "name the constant in the pattern, `%c = const`, and write %c"},
    Hint{At::kComparison, "=", kEqual},
    Hint{At::kComparison, "is", kEqual},
    Hint{At::kComparison, "[", "one extent is `shape(%x)[0]`"},
    Hint{At::kComparison, "", "a value alone is no condition; compare it, as in `rank(%x) == 2`"},
    Hint{At::kValue, "(", "a list stands in brackets: `[2, 3]`"},
    Hint{At::kValue, "{", "a list stands in brackets: `[2, 3]`"},
    Hint{At::kValue, "true", "truth is `True`"},
    Hint{At::kValue, "false", "falsehood is `False`"},
    Hint{At::kValue, "float", "a dtype has its bits: float32"},
    Hint{At::kValue, "int", "a dtype has its bits: int32"},
};

struct CharacterHint {
  std::string_view character, help;
};
constexpr std::array kCharacters = {
    CharacterHint{"!", "write `not` before a condition"},
    CharacterHint{"~", "write `not` before a condition"},
    CharacterHint{"&", kCommas},
    CharacterHint{"^", kPower},
    CharacterHint{"#", "comments begin with `//`"},
    CharacterHint{"'", "texts stand in double quotes"},
    CharacterHint{"$", "parts have names such as %x"},
    CharacterHint{"%", "parts have names such as %x; there is no operator for remainders"},
    CharacterHint{"\u21d2", "write `=>`"},  // a double arrow
    CharacterHint{"\u2192", "write `=>`"},  // an arrow
    CharacterHint{"\u2264", "write `<=`"},
    CharacterHint{"\u2265", "write `>=`"},
    CharacterHint{"\u2260", "write `!=`"},
    CharacterHint{"\u00d7", "write `*`"},
    CharacterHint{"\u2212", "write `-`"},
    CharacterHint{"\u201c", "texts stand in straight quotes, `\"`"},
    CharacterHint{"\u201d", "texts stand in straight quotes, `\"`"},
};

}  // namespace

std::string_view hint(At place, std::string_view found) {
  for (const Hint& entry : kHints) {
    if (entry.place == place && (entry.found.empty() || entry.found == found)) return entry.help;
  }
  return {};
}

std::string_view hint_for_character(std::string_view character) {
  for (const CharacterHint& entry : kCharacters) {
    if (entry.character == character) return entry.help;
  }
  return {};
}

}  // namespace relay::pattern
