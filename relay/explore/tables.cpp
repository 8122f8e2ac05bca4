#include <relay/explore/tables.h>

#include <algorithm>

namespace relay::explore {

int32_t Tables::text(std::string_view text) {
  auto [entry, fresh] = texts_.try_emplace(std::string(text), static_cast<int32_t>(texts_.size()));
  if (fresh) text_list_.push_back(&entry->first);
  return entry->second;
}

std::vector<int32_t> Tables::lines(std::string_view text) {
  std::vector<int32_t> numbers;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    numbers.push_back(this->text(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return numbers;
}

int32_t Tables::place_in(uint32_t source, uint64_t begin, uint64_t length) {
  auto [entry, fresh] =
      places_.try_emplace(std::tuple(source, begin, length), static_cast<int32_t>(places_.size()));
  if (fresh) place_list_.push_back(entry->first);
  return entry->second;
}

int32_t Tables::place(Span span) {
  if (!span.known()) return -1;
  std::shared_ptr<const Source> source = SourceMap::find(span);
  if (source == nullptr) return -1;
  auto [entry, fresh] =
      source_numbers_.try_emplace(source.get(), static_cast<uint32_t>(sources_.size()));
  if (fresh) {
    SourceText text{source->name(), std::string(source->text()), {0}};
    for (size_t i = 0; i < text.text.size(); ++i) {
      if (text.text[i] == '\n') text.line_starts.push_back(i + 1);
    }
    source_names_.try_emplace(source->name(), entry->second);
    sources_.push_back(std::move(text));
    kept_.push_back(source);
  }
  return place_in(entry->second, span.begin() - source->base(), span.length());
}

// The lines of a file that an executable kept, in their order, as a source of its own.
uint32_t Tables::kept_lines(const vm::Executable& executable, const std::string& file) {
  const auto number = static_cast<uint32_t>(sources_.size());
  std::vector<uint32_t> lines;
  for (uint32_t i = 0; i < executable.lines.size(); ++i) {
    if (executable.lines[i].file == file) lines.push_back(i);
  }
  std::sort(lines.begin(), lines.end(), [&](uint32_t a, uint32_t b) {
    const vm::SourceLine &left = executable.lines[a], &right = executable.lines[b];
    return std::tie(left.line, left.column, a) < std::tie(right.line, right.column, b);
  });
  SourceText source{file, "", {}};
  for (uint32_t line : lines) {
    kept_line_starts_[{number, line}] = source.text.size();
    source.text += executable.lines[line].text + "\n";
  }
  sources_.push_back(std::move(source));
  source_names_.try_emplace(file, number);
  return number;
}

int32_t Tables::place(const vm::Executable& executable, uint32_t position) {
  if (position == 0 || position >= executable.positions.size()) return -1;
  const vm::Position& at = executable.positions[position];
  if (at.line >= executable.lines.size()) return -1;
  const vm::SourceLine& line = executable.lines[at.line];
  auto found = source_names_.find(line.file);
  const uint32_t source =
      found != source_names_.end() ? found->second : kept_lines(executable, line.file);
  if (auto kept = kept_line_starts_.find({source, at.line}); kept != kept_line_starts_.end()) {
    const uint64_t column = at.column >= line.column ? at.column - line.column : 0;
    return place_in(source, kept->second + column, at.length);
  }
  const std::vector<uint64_t>& starts = sources_[source].line_starts;
  if (line.line == 0 || line.line > starts.size() || at.column == 0) return -1;
  return place_in(source, starts[line.line - 1] + at.column - 1, at.length);
}

int32_t Tables::constant(const NDArray& array) {
  auto [entry, fresh] =
      constant_numbers_.try_emplace(array.identity(), static_cast<int32_t>(constants_.size()));
  if (fresh) constants_.push_back(array);
  return entry->second;
}

void Tables::write(JsonWriter& json) const {
  json.key("constants").begin_array();
  for (const NDArray& array : constants_) write_statistics(json, array);
  json.end_array();
  json.key("sources").begin_array();
  for (const SourceText& source : sources_) {
    json.begin_object().field("name", source.name).field("text", source.text).end_object();
  }
  json.end_array();
  json.key("places").begin_array();
  for (const auto& [source, begin, length] : place_list_) {
    json.begin_array().value(source).value(begin).value(length).end_array();
  }
  json.end_array();
  json.key("texts").begin_array();
  for (const std::string* text : text_list_) json.value(*text);
  json.end_array();
}

}  // namespace relay::explore
