// Places in source text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace relay {

/// A range of characters of some source text, eight bytes wide so that every node can carry one.
///
/// Positions count bytes in one space that all sources share (see `SourceMap`); a default span is
/// unknown.
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(uint64_t begin, uint64_t length)
      : begin_(begin < kMaxBegin ? begin : 0),
        length_(begin >= kMaxBegin    ? 0
                : length < kMaxLength ? length
                                      : kMaxLength) {}

  constexpr bool known() const { return begin_ != 0; }
  constexpr uint64_t begin() const { return begin_; }
  constexpr uint64_t end() const { return begin_ + length_; }
  constexpr uint64_t length() const { return length_; }

  /// The smallest span that covers both; an unknown one yields the other.
  static constexpr Span merge(Span a, Span b) {
    if (!a.known()) return b;
    if (!b.known()) return a;
    uint64_t begin = a.begin() < b.begin() ? a.begin() : b.begin();
    uint64_t end = a.end() > b.end() ? a.end() : b.end();
    return Span(begin, end - begin);
  }

  friend constexpr bool operator==(Span a, Span b) {
    return a.begin_ == b.begin_ && a.length_ == b.length_;
  }

 private:
  static constexpr uint64_t kMaxBegin = uint64_t{1} << 40;
  static constexpr uint64_t kMaxLength = (uint64_t{1} << 24) - 1;

  uint64_t begin_ : 40 = 0;  // 0: unknown; positions start at 1
  uint64_t length_ : 24 = 0;
};
static_assert(sizeof(Span) == 8);

/// Line and column, both from 1; columns count bytes.
struct Location {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
};

/// One source text. It lives as long as its last owner; spans into a source that is gone print
/// without a place.
class Source {
 public:
  Source(std::string name, std::string text, uint64_t base)
      : name_(std::move(name)), text_(std::move(text)), base_(base) {}
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  uint64_t base() const { return base_; }

  /// The span of `length` bytes at byte `offset` of the text.
  Span span(uint64_t offset, uint64_t length) const { return Span(base_ + offset, length); }

 private:
  std::string name_;
  std::string text_;
  uint64_t base_;
};

/// The space of all positions: gives ranges to sources and finds the source of a span. Thread-safe.
class SourceMap {
 public:
  /// Registers a text under a name shown in diagnostics (a path, or "<stdin>").
  static std::shared_ptr<const Source> add(std::string name, std::string text);
  /// The source that contains `span`, or null.
  static std::shared_ptr<const Source> find(Span span);
  /// File, line and column of the start of `span`; line 0 when unknown.
  static Location locate(Span span);
};

}  // namespace relay
