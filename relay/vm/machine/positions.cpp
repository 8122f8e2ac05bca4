#include <relay/vm/machine/positions.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace relay::vm {

namespace {
// Lines up to this length are kept whole; of longer ones the part around the position.
constexpr uint64_t kWholeLine = 1024;
constexpr uint64_t kPart = 512;
constexpr uint64_t kMargin = 256;
}  // namespace

uint32_t PositionTable::add_line(const Source& source, uint64_t offset, uint64_t length,
                                 uint32_t& column) {
  auto [entry, fresh] = starts_.try_emplace(&source);
  std::vector<uint64_t>& starts = entry->second;
  std::string_view text = source.text();
  if (fresh) {
    starts.push_back(0);
    for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
      starts.push_back(at + 1);
    }
  }
  size_t index =
      static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), offset) - starts.begin()) -
      1;
  uint64_t begin = starts[index];
  uint64_t end = index + 1 < starts.size() ? starts[index + 1] - 1 : text.size();
  column = static_cast<uint32_t>(offset - begin + 1);
  uint32_t part = 0;
  if (end - begin > kWholeLine) {
    part = static_cast<uint32_t>((offset - begin) / kPart) + 1;
    uint64_t line_begin = begin;
    uint64_t part_begin = line_begin + (part - 1) * kPart;
    begin = part_begin - std::min(part_begin - line_begin, kMargin);
    end = std::min(end, part_begin + kPart + std::min(length, kPart) + kMargin);
    part_begin = begin - line_begin;
    auto [line, added] = lines_.try_emplace({&source, static_cast<uint32_t>(index), part},
                                            static_cast<uint32_t>(executable_.lines.size()));
    if (added) {
      executable_.lines.push_back({source.name(), static_cast<uint32_t>(index + 1),
                                   static_cast<uint32_t>(part_begin + 1),
                                   std::string(text.substr(begin, end - begin))});
    }
    return line->second;
  }
  auto [line, added] = lines_.try_emplace({&source, static_cast<uint32_t>(index), part},
                                          static_cast<uint32_t>(executable_.lines.size()));
  if (added) {
    executable_.lines.push_back({source.name(), static_cast<uint32_t>(index + 1), 1,
                                 std::string(text.substr(begin, end - begin))});
  }
  return line->second;
}

uint32_t PositionTable::add(Span span) {
  if (!span.known()) return 0;
  uint64_t key = span.begin() << 24 ^ span.length();
  auto found = spans_.find(key);
  if (found != spans_.end()) return found->second;
  std::shared_ptr<const Source> source = SourceMap::find(span);
  if (source == nullptr) return 0;
  if (sources_.empty() || sources_.back() != source) sources_.push_back(source);
  Position position;
  position.line = add_line(*source, span.begin() - source->base(), span.length(), position.column);
  position.length = static_cast<uint32_t>(span.length());
  auto index = static_cast<uint32_t>(executable_.positions.size());
  executable_.positions.push_back(position);
  spans_.emplace(key, index);
  return index;
}

Span position_span(const Executable& executable, uint32_t index,
                   std::vector<std::shared_ptr<const Source>>& sources) {
  constexpr uint32_t kMostLines = 10'000'000;
  if (index == 0 || index >= executable.positions.size()) return {};
  const Position& position = executable.positions[index];
  if (position.line >= executable.lines.size()) return {};
  const SourceLine& line = executable.lines[position.line];
  if (line.line == 0 || line.line > kMostLines || line.column > kMostLines ||
      position.column < line.column || position.column - line.column > line.text.size()) {
    return {};
  }
  // A source that has only this line, at its place.
  std::string text(line.line - 1, '\n');
  text.append(line.column - 1, ' ');
  uint64_t offset = text.size() + (position.column - line.column);
  text += line.text;
  sources.push_back(SourceMap::add(line.file, std::move(text)));
  return sources.back()->span(offset, position.length);
}

}  // namespace relay::vm
