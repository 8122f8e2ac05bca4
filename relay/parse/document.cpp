#include <relay/parse/document.h>

#include <limits>

namespace relay::parsing {
namespace {

constexpr size_t kIndent = 2;
constexpr size_t kNone = std::numeric_limits<size_t>::max();

// Columns on a terminal, but for wide characters: the bytes that begin one.
size_t count_columns(std::string_view text) {
  size_t columns = 0;
  for (char c : text) columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return columns;
}

}  // namespace

void Document::text(std::string_view text, bool counts) {
  ops_.push_back({Kind::kText, false, counts ? count_columns(text) : 0, 0, text});
}

void Document::break_groups() {
  for (size_t i = open_.size(); i > 0 && ops_[open_[i - 1]].kind == Kind::kBeginGroup; --i) {
    ops_[open_[i - 1]].broken = true;
  }
}

void Document::hard() {
  break_groups();
  add(Kind::kHard);
}

void Document::blank() {
  break_groups();
  add(Kind::kBlank);
}

void Document::begin_group() {
  open_.push_back(ops_.size());
  add(Kind::kBeginGroup);
}

void Document::end_group() {
  ops_[open_.back()].end = ops_.size();
  open_.pop_back();
  add(Kind::kEndGroup);
}

void Document::begin_block() {
  open_.push_back(ops_.size());
  add(Kind::kBeginBlock);
}

void Document::end_block() {
  open_.pop_back();
  add(Kind::kEndBlock);
}

// Columns on one line, from each operation on.
struct Document::Measures {
  std::vector<size_t> before;     // of all operations before it
  std::vector<size_t> tail;       // up to the next break
  std::vector<size_t> next_hard;  // the next forced break, or kNone
  std::vector<size_t> last_hard;  // the last one before it, or kNone

  explicit Measures(const std::vector<Op>& ops)
      : before(ops.size() + 1),
        tail(ops.size() + 1),
        next_hard(ops.size() + 1, kNone),
        last_hard(ops.size() + 1, kNone) {
    for (size_t i = 0; i < ops.size(); ++i) {
      const bool space = ops[i].kind == Kind::kLine || ops[i].kind == Kind::kFill;
      before[i + 1] = before[i] + (space ? 1 : ops[i].columns);
      last_hard[i + 1] = is_hard(ops[i].kind) ? i : last_hard[i];
    }
    for (size_t i = ops.size(); i > 0; --i) {
      tail[i - 1] = is_break(ops[i - 1].kind) ? 0 : ops[i - 1].columns + tail[i];
      next_hard[i - 1] = is_hard(ops[i - 1].kind) ? i - 1 : next_hard[i];
    }
  }
};

std::string Document::print(size_t width) const {
  const Measures measures(ops_);
  std::string out;
  std::vector<bool> broken{true};  // of the groups and blocks around
  std::vector<size_t> indents{0};
  size_t column = 0;
  bool fresh = true;  // nothing stands on the line yet
  auto new_line = [&](bool empty) {
    if (!fresh) out += '\n';
    if (empty && !out.empty() && !out.ends_with("\n\n")) out += '\n';
    fresh = true;
    column = 0;
  };
  // Where blocks stand in a group, the text before the first and after the last has to fit.
  auto fits = [&](size_t begin) {
    const size_t end = ops_[begin].end;
    const size_t at = fresh ? indents.back() : column;
    const size_t hard = measures.next_hard[begin];
    if (hard >= end)
      return at + measures.before[end] - measures.before[begin] + measures.tail[end] <= width;
    const size_t last = measures.last_hard[end];
    return at + measures.before[hard] - measures.before[begin] <= width &&
           indents.back() + measures.before[end] - measures.before[last] + measures.tail[end] <=
               width;
  };
  for (size_t i = 0; i < ops_.size(); ++i) {
    const Op& op = ops_[i];
    switch (op.kind) {
      case Kind::kText:
        if (fresh && !op.text.empty()) {
          if (op.text == " ") break;
          out.append(indents.back(), ' ');
          column = indents.back();
          fresh = false;
        }
        out += op.text;
        if (size_t line = op.text.rfind('\n'); line != op.text.npos) {
          column = count_columns(op.text.substr(line + 1));
        } else {
          column += count_columns(op.text);
        }
        break;
      case Kind::kLine:
      case Kind::kSoft:
        if (broken.back()) {
          new_line(false);
        } else if (op.kind == Kind::kLine && !fresh) {
          out += ' ';
          ++column;
        }
        break;
      case Kind::kFill:
        if (broken.back() && column + 1 + measures.tail[i + 1] > width) {
          new_line(false);
        } else if (!fresh) {
          out += ' ';
          ++column;
        }
        break;
      case Kind::kHard:
      case Kind::kBlank:
        new_line(op.kind == Kind::kBlank);
        break;
      case Kind::kBeginGroup:
        broken.push_back(op.broken || (broken.back() && !fits(i)));
        break;
      case Kind::kBeginBlock:
        broken.push_back(true);
        indents.push_back(indents.back() + kIndent);
        break;
      case Kind::kEndBlock:
        indents.pop_back();
        broken.pop_back();
        new_line(false);
        break;
      case Kind::kEndGroup:
        broken.pop_back();
        break;
      case Kind::kBeginIndent:
        indents.push_back(indents.back() + (broken.back() ? kIndent : 0));
        break;
      case Kind::kEndIndent:
        indents.pop_back();
        break;
    }
  }
  if (!fresh) out += '\n';
  return out;
}

}  // namespace relay::parsing
