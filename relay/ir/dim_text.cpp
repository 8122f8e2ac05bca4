#include <relay/ir/dim_text.h>

#include <charconv>

namespace relay {

namespace {
// Around the number of a term; no message has these characters.
constexpr char kBegin = '\x01';
constexpr char kEnd = '\x02';
thread_local DimMarks* t_marks = nullptr;
}  // namespace

std::string DimText::str() const {
  std::string result = pieces[0];
  for (size_t i = 0; i < dims.size(); ++i) result += dims[i].str() + pieces[i + 1];
  return result;
}

DimMarks::DimMarks() : outer_(t_marks) { t_marks = this; }
DimMarks::~DimMarks() { t_marks = outer_; }

std::string DimMarks::mark(Dim dim) {
  if (t_marks == nullptr) return {};
  std::string text(1, kBegin);
  text += std::to_string(t_marks->dims_.size());
  text += kEnd;
  t_marks->dims_.push_back(dim);
  return text;
}

DimText DimMarks::text(std::string_view message) const {
  DimText result;
  for (size_t at = 0; at < message.size();) {
    size_t end = message[at] == kBegin ? message.find(kEnd, at) : std::string_view::npos;
    size_t number = 0;
    if (end != std::string_view::npos) {
      const char* first = message.data() + at + 1;
      auto [rest, error] = std::from_chars(first, message.data() + end, number);
      if (error != std::errc() || rest != message.data() + end || number >= dims_.size())
        end = std::string_view::npos;
    }
    if (end == std::string_view::npos) {
      result.pieces.back() += message[at++];
      continue;
    }
    result.dims.push_back(dims_[number]);
    result.pieces.emplace_back();
    at = end + 1;
  }
  return result;
}

}  // namespace relay
