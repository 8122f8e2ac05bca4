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

// The text while its lines are laid out.
class Document::Lines {
 public:
  Lines(const std::vector<Op>& ops, size_t width) : ops_(ops), width_(width), measures_(ops) {}

  std::string run() {
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (is_break(ops_[i].kind) && ops_[i].kind != Kind::kEndBlock) {
        pause(i);
      } else if (ops_[i].kind == Kind::kText) {
        text(ops_[i].text);
      } else {
        nest(i);
      }
    }
    if (!fresh_) out_ += '\n';
    return std::move(out_);
  }

 private:
  void new_line(bool empty) {
    if (!fresh_) out_ += '\n';
    if (empty && !out_.empty() && !out_.ends_with("\n\n")) out_ += '\n';
    fresh_ = true;
    column_ = 0;
  }

  void space() {
    if (fresh_) return;
    out_ += ' ';
    ++column_;
  }

  // Where blocks stand in a group, the text before the first and after the last has to fit.
  bool fits(size_t begin) const {
    const size_t end = ops_[begin].end;
    const size_t at = fresh_ ? indents_.back() : column_;
    const size_t hard = measures_.next_hard[begin];
    if (hard >= end)
      return at + measures_.before[end] - measures_.before[begin] + measures_.tail[end] <= width_;
    const size_t last = measures_.last_hard[end];
    return at + measures_.before[hard] - measures_.before[begin] <= width_ &&
           indents_.back() + measures_.before[end] - measures_.before[last] + measures_.tail[end] <=
               width_;
  }

  void text(std::string_view text) {
    if (fresh_ && !text.empty()) {
      if (text == " ") return;
      out_.append(indents_.back(), ' ');
      column_ = indents_.back();
      fresh_ = false;
    }
    out_ += text;
    if (size_t line = text.rfind('\n'); line != text.npos) {
      column_ = count_columns(text.substr(line + 1));
    } else {
      column_ += count_columns(text);
    }
  }

  // A line break, or what stands for it.
  void pause(size_t i) {
    switch (ops_[i].kind) {
      case Kind::kLine:
        return broken_.back() ? new_line(false) : space();
      case Kind::kSoft:
        if (broken_.back()) new_line(false);
        return;
      case Kind::kFill:
        return broken_.back() && column_ + 1 + measures_.tail[i + 1] > width_ ? new_line(false)
                                                                              : space();
      default:
        new_line(ops_[i].kind == Kind::kBlank);
    }
  }

  // The begin or the end of a group, a block or an indent.
  void nest(size_t i) {
    switch (ops_[i].kind) {
      case Kind::kBeginGroup:
        broken_.push_back(ops_[i].broken || (broken_.back() && !fits(i)));
        return;
      case Kind::kBeginBlock:
        broken_.push_back(true);
        indents_.push_back(indents_.back() + kIndent);
        return;
      case Kind::kEndBlock:
        indents_.pop_back();
        broken_.pop_back();
        new_line(false);
        return;
      case Kind::kEndGroup:
        broken_.pop_back();
        return;
      case Kind::kBeginIndent:
        indents_.push_back(indents_.back() + (broken_.back() ? kIndent : 0));
        return;
      default:
        indents_.pop_back();
    }
  }

  const std::vector<Op>& ops_;
  const size_t width_;
  const Measures measures_;
  std::string out_;
  std::vector<bool> broken_{true};  // of the groups and blocks around
  std::vector<size_t> indents_{0};
  size_t column_ = 0;
  bool fresh_ = true;  // nothing stands on the line yet
};

std::string Document::print(size_t width) const { return Lines(ops_, width).run(); }

}  // namespace relay::parsing
