// Tokenizer: the tokens of each word of a tensor of strings. A token is a run of characters of one
// class, or a single character, which is what the converters of text vectorisers write; then no
// automaton is needed, and all words are cut at once in ordinary operators.
#include <bitset>
#include <optional>

#include <relay/import/onnx/ops/run_time.h>
#include <relay/import/onnx/ops/text.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

constexpr int kAscii = 128;

/// A set of characters: those of ASCII one by one, and all others or none of them.
struct CharacterClass {
  std::bitset<kAscii> ascii;
  bool others = false;

  bool operator==(const CharacterClass&) const = default;
  void add(const CharacterClass& more) {
    ascii |= more.ascii;
    others |= more.others;
  }
  void add(char first, char last) {
    for (int k = first; k <= last; ++k) ascii.set(static_cast<size_t>(k));
  }
  CharacterClass inverse() const { return {~ascii, !others}; }
};

/// `least` or more characters of a class, or one where it does not repeat.
struct Run {
  CharacterClass of;
  int64_t least = 1;
  bool repeats = false;
};

CharacterClass word_characters() {
  CharacterClass words;
  words.add('a', 'z');
  words.add('A', 'Z');
  words.add('0', '9');
  words.add('_', '_');
  return words;
}

/// Reads regular expressions that are one class of characters, repeated or not. Everything else is
/// nothing.
class RunReader {
 public:
  explicit RunReader(std::string_view text) : rest_(text) {}

  std::optional<Run> read() {
    bool whole_words = skip("\\b");
    std::optional<Run> run = atom();
    while (run && !rest_.empty() && rest_ != "\\b") {
      std::optional<Run> more = atom();
      if (!more || more->of != run->of) return std::nullopt;
      *run = {run->of, run->least + more->least, run->repeats || more->repeats};
    }
    if (!run || (!run->repeats && run->least != 1)) return std::nullopt;
    // At both ends of the longest run of word characters is a border of a word.
    if (whole_words != skip("\\b")) return std::nullopt;
    if (whole_words && (!run->repeats || run->of != word_characters())) return std::nullopt;
    return run;
  }

 private:
  bool skip(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  std::optional<Run> atom() {
    std::optional<CharacterClass> of = characters();
    if (!of) return std::nullopt;
    if (skip("+")) return Run{*of, 1, true};
    if (!skip("{")) return Run{*of, 1, false};
    size_t digits = rest_.find_first_not_of("0123456789");
    if (digits == 0 || digits > 3 || !rest_.substr(digits).starts_with(",}")) return std::nullopt;
    int64_t least = std::stoi(std::string(rest_.substr(0, digits)));
    rest_.remove_prefix(digits + 2);
    if (least == 0) return std::nullopt;
    return Run{*of, least, true};
  }

  std::optional<CharacterClass> characters() {
    if (skip(".")) {
      CharacterClass line_end;
      line_end.add('\n', '\n');
      return line_end.inverse();
    }
    if (skip("[")) return listed();
    if (rest_.empty() || std::string_view("*+?()|{}^$]").find(rest_[0]) != std::string_view::npos) {
      return std::nullopt;
    }
    return one();
  }

  // Behind a bracket.
  std::optional<CharacterClass> listed() {
    bool inverted = skip("^");
    CharacterClass all;
    do {
      if (rest_.empty() || rest_[0] == '[') return std::nullopt;
      std::optional<CharacterClass> first = one();
      if (!first) return std::nullopt;
      if (rest_.size() >= 2 && rest_[0] == '-' && rest_[1] != ']') {
        rest_.remove_prefix(1);
        std::optional<CharacterClass> last = one();
        if (!last || first->ascii.count() != 1 || last->ascii.count() != 1) return std::nullopt;
        char begin = only(*first), end = only(*last);
        if (begin > end) return std::nullopt;
        first->add(begin, end);
      }
      all.add(*first);
    } while (!skip("]"));
    return inverted ? all.inverse() : all;
  }

  static char only(const CharacterClass& of) {
    size_t k = 0;
    while (!of.ascii.test(k)) ++k;
    return static_cast<char>(k);
  }

  // A character, or what a backslash makes of one.
  std::optional<CharacterClass> one() {
    CharacterClass result;
    bool escaped = skip("\\");
    if (rest_.empty() || static_cast<unsigned char>(rest_[0]) >= kAscii) return std::nullopt;
    char letter = rest_[0];
    rest_.remove_prefix(1);
    bool is_name = word_characters().ascii.test(static_cast<size_t>(letter));
    if (!escaped || !is_name) {
      result.add(letter, letter);
      return result;
    }
    constexpr std::string_view kNames = "tnfrv", kMeant = "\t\n\f\r\v";
    if (size_t at = kNames.find(letter); at != std::string_view::npos) {
      result.add(kMeant[at], kMeant[at]);
      return result;
    }
    switch (letter) {
      case 'w':
      case 'W':
        result = word_characters();
        break;
      case 'd':
      case 'D':
        result.add('0', '9');
        break;
      case 's':
      case 'S':
        for (char space : {'\t', '\n', '\f', '\r', ' '}) result.add(space, space);
        break;
      default:
        return std::nullopt;
    }
    return letter < 'a' ? result.inverse() : result;
  }

  std::string_view rest_;
};

/// What a node's tokens are.
Run read_tokens(NodeContext& node) {
  CharacterClass all = CharacterClass{}.inverse();
  std::vector<std::string> separators = node.attr_strings("separators", std::vector<std::string>());
  std::string expression = node.attr_string("tokenexp", "");
  node.require(separators.empty() != expression.empty(),
               "one of separators and tokenexp has to be given");
  if (expression == "." || separators == std::vector<std::string>{""}) return {all, 1, false};
  constexpr const char* kOneClass =
      ", which is more than one class of characters of ASCII that repeats";
  if (!expression.empty()) {
    std::optional<Run> run = RunReader(expression).read();
    node.require(run.has_value(), "tokenexp is " + quoted(expression) + kOneClass);
    return *run;
  }
  CharacterClass between;
  for (const std::string& separator : separators) {
    std::optional<Run> run = RunReader(separator).read();
    node.require(run && run->least == 1, "a separator is " + quoted(separator) + kOneClass);
    between.add(run->of);
  }
  return {between.inverse(), 1, true};
}

// A table of the bytes that are of the class; those of a character beyond ASCII are together in it
// or not.
GraphValue bytes_of_class(NodeContext& node, const CharacterClass& of) {
  constexpr int64_t kBytes = 256;
  std::vector<uint8_t> in(kBytes, 0);  // zero is behind the word
  for (size_t k = 1; k < kBytes; ++k) in[k] = k < kAscii ? of.ascii.test(k) : of.others;
  NDArray table = NDArray::from<uint8_t>(Shape{kBytes}, std::span<const uint8_t>(in)).cast(kBool);
  return node.constant_value(std::move(table));
}

GraphValue column(NodeContext& node, const GraphValue& matrix, int64_t k) {
  return node.reshape(node.slice(matrix, 1, k, k + 1), {matrix.dim(0)});
}

/// The tokens of rows of bytes, one after the other.
struct Tokens {
  GraphValue rows, begins, ends;  // int64 vectors: whose they are, and the bytes from … to before …
};

Tokens cut(NodeContext& node, const GraphValue& rows, const Run& run, int64_t least) {
  auto both = [&](const GraphValue& a, const GraphValue& b) {
    return node.emit("logical_and", {a, b});
  };
  auto no = [&](const GraphValue& a) { return node.emit("logical_not", {a}); };
  GraphValue in = node.emit("take", {bytes_of_class(node, run.of), node.cast(rows, kInt32)},
                            {{"mode", "fast"}});
  // The first byte of a character.
  GraphValue heads = node.emit(
      "not_equal",
      {node.emit("bitwise_and", {rows, node.scalar(kUInt8, 0xC0)}), node.scalar(kUInt8, 0x80)});
  heads = both(in, heads);
  GraphValue none = node.broadcast_to(node.reshape(node.scalar(kBool, 0), {Dim(1), Dim(1)}),
                                      std::vector<Dim>{rows.dim(0), Dim(1)});
  auto here = [&](const GraphValue& of) { return node.concat({of, none}, 1); };
  GraphValue before = node.concat({none, in}, 1), after = here(in);
  GraphValue begins = run.repeats ? both(after, no(before)) : here(heads);
  GraphValue ends =
      both(before, run.repeats ? no(after) : node.emit("logical_or", {no(after), here(heads)}));
  AttrList places{{"dtype", kInt64}};
  GraphValue from = node.emit("argwhere", {begins}, places);
  GraphValue to = node.emit("argwhere", {ends}, places);
  Tokens tokens{column(node, from, 0), column(node, from, 1), column(node, to, 1)};
  if (least > 1) {
    // How many characters begin before a byte, at the ends of each token.
    GraphValue counts =
        node.emit("cumsum", {node.cast(node.concat({none, heads}, 1), kInt32)}, {{"axis", 1}});
    AttrList fast{{"batch_dims", 0}};
    auto count_at = [&](const GraphValue& at) {
      GraphValue pairs = node.transpose(at, {1, 0});
      return node.emit("gather_nd", {counts, pairs}, fast);
    };
    GraphValue length = node.emit("subtract", {count_at(to), count_at(from)});
    GraphValue keep =
        node.emit("greater_equal", {length, node.scalar(kInt32, static_cast<double>(least))});
    GraphValue kept = column(node, node.emit("argwhere", {keep}, places), 0);
    for (GraphValue* part : {&tokens.rows, &tokens.begins, &tokens.ends}) {
      *part = node.emit("take", {*part, kept}, {{"axis", 0}, {"mode", "fast"}});
    }
  }
  return tokens;
}

// The bytes of tokens as rows, zeros behind each, as wide as the longest is.
GraphValue bytes_of_tokens(NodeContext& node, const GraphValue& rows, const Tokens& tokens) {
  GraphValue lengths = node.emit("subtract", {tokens.ends, tokens.begins});
  GraphValue longest = node.emit("max", {node.concat({lengths, node.int_list({1})}, 0)});
  GraphValue at = node.emit(
      "add", {node.unsqueeze(tokens.begins, {1}), node.unsqueeze(counted(node, longest), {0})});
  // A byte behind the token is the zero behind the row.
  GraphValue zero = node.broadcast_to(node.reshape(node.scalar(kUInt8, 0), {Dim(1), Dim(1)}),
                                      std::vector<Dim>{rows.dim(0), Dim(1)});
  GraphValue padded = node.concat({rows, zero}, 1);
  GraphValue inside = node.emit("less", {at, node.unsqueeze(tokens.ends, {1})});
  at = node.emit("where", {inside, at, extent_value(node, rows, 1)});
  GraphValue first = node.emit("multiply", {tokens.rows, extent_value(node, padded, 1)});
  GraphValue flat = node.reshape(padded, std::vector<Dim>{relay::product(padded.dims())});
  return node.emit("take", {flat, node.emit("add", {at, node.unsqueeze(first, {1})})},
                   {{"mode", "fast"}});
}

// For each row the numbers of its tokens: a matrix as wide as the most tokens of a row (and two
// marks), padded with the number behind the last token.
GraphValue numbers_of_tokens(NodeContext& node, const GraphValue& rows, const Tokens& tokens,
                             bool marks) {
  GraphValue each = counted(node, extent_value(node, rows, 0));
  auto border = [&](bool right) {
    return node.emit("searchsorted", {tokens.rows, each}, {{"right", right}, {"dtype", kInt64}});
  };
  GraphValue first = border(false);
  GraphValue count = node.emit("subtract", {border(true), first});
  GraphValue most = node.emit("max", {node.concat({count, node.int_list({0})}, 0)});
  if (marks) {
    // Where no row has a token there are no marks either.
    GraphValue any = node.emit("greater", {most, number_value(node, 0)});
    most = node.emit("where", {any, node.emit("add", {most, number_value(node, 2)}), most});
  }
  GraphValue place = node.unsqueeze(counted(node, most), {0});
  if (marks) place = node.emit("subtract", {place, number_value(node, 1)});
  count = node.unsqueeze(count, {1});
  GraphValue padding = extent_value(node, tokens.rows, 0);
  auto behind = [&](int64_t by) { return node.emit("add", {padding, number_value(node, by)}); };
  GraphValue otherwise = padding;
  if (marks) {
    GraphValue end = node.emit("where", {node.emit("equal", {place, count}), behind(2), padding});
    GraphValue begins = node.emit("less", {place, number_value(node, 0)});
    otherwise = node.emit("where", {begins, behind(1), end});
  }
  GraphValue is_token = node.emit("less", {place, count});
  if (marks) {
    GraphValue later = node.emit("greater_equal", {place, number_value(node, 0)});
    is_token = node.emit("logical_and", {is_token, later});
  }
  GraphValue number = node.emit("add", {node.unsqueeze(first, {1}), place});
  return node.emit("where", {is_token, number, otherwise});
}

Values convert_tokenizer(NodeContext& node) {
  GraphValue x = node.input(0);
  node.require(x.is_text(), "the input has numbers");
  node.require(x.rank() == 1 || x.rank() == 2,
               "the words have " + std::to_string(x.rank()) + " axes, not 1 or 2");
  Run run = read_tokens(node);
  int64_t least = node.attr_int("mincharnum");
  node.require(least >= 1, "mincharnum is " + std::to_string(least));
  node.countable(least, "the characters of mincharnum");
  bool marks = node.attr_int("mark") != 0;
  std::string padding = node.attr_string("pad_value");
  GraphValue bytes = bytes_of_text(node, x);
  GraphValue rows =
      node.reshape(bytes, std::vector<Dim>{relay::product(x.dims()), bytes.last_dim()});
  Tokens tokens = cut(node, rows, run, std::max(least, run.least));
  GraphValue words = text_of_bytes(node, bytes_of_tokens(node, rows, tokens));
  auto others =
      std::make_shared<std::vector<std::string>>(std::vector<std::string>{padding, "\x02", "\x03"});
  GraphValue all = concat_text(node, {words, node.int_list({0, 1, 2}).of_strings(others)}, 0);
  GraphValue numbers = numbers_of_tokens(node, rows, tokens, marks);
  std::vector<Dim> dims(x.dims().begin(), x.dims().end());
  dims.push_back(numbers.dim(1));
  return {node.reshape(numbers, dims).of_same_words(all)};
}
RELAY_ONNX_DOMAIN("com.microsoft", "Tokenizer", 1, convert_tokenizer)

}  // namespace
}  // namespace relay::onnx
