// Places in source text.
#include <bindings/bindings.h>

#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <bit>
#include <list>
#include <mutex>

#include <relay/support/fork_mutex.h>
#include <relay/support/span.h>

namespace relay::python {

namespace {

/// Blank texts that stand for those of made places, so that these have a file, a line and a column.
class MadeTexts {
 public:
  std::shared_ptr<const Source> get(const std::string& name, uint64_t lines, uint64_t width) {
    std::lock_guard lock(mutex_);
    auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto& text) {
      return text.source->name() == name && text.lines >= lines && text.width >= width;
    });
    if (found != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, found);
      return kept_.front().source;
    }
    Text made{nullptr, std::bit_ceil(lines), std::bit_ceil(width)};
    std::string text;
    text.reserve(made.lines * (made.width + 1));
    for (uint64_t line = 0; line < made.lines; ++line) text.append(made.width, ' ').append(1, '\n');
    bytes_ += text.size();
    made.source = SourceMap::add(name, std::move(text));
    kept_.push_front(made);
    while (bytes_ > kMaxBytes && kept_.size() > 1) {
      bytes_ -= kept_.back().source->text().size();
      kept_.pop_back();
    }
    return kept_.front().source;
  }
  /// The number of bytes before a column of a line.
  static uint64_t offset(const Source& source, uint64_t line, uint64_t column) {
    uint64_t width = source.text().find('\n');
    return (line - 1) * (width + 1) + column - 1;
  }

  static constexpr uint64_t kMaxBytes = uint64_t{64} << 20;

 private:
  struct Text {
    std::shared_ptr<const Source> source;
    uint64_t lines = 0;
    uint64_t width = 0;
  };
  ForkMutex mutex_;
  std::list<Text> kept_;
  uint64_t bytes_ = 0;
};

Span made_span(const std::string& name, uint64_t line, uint64_t end_line, uint64_t column,
               uint64_t end_column) {
  static MadeTexts& texts = *new MadeTexts;
  constexpr uint64_t kMostLines = uint64_t{1} << 20;
  // TVM's scripts give zeros for what they do not know.
  line = std::max<uint64_t>(line, 1);
  column = std::max<uint64_t>(column, 1);
  end_line = std::max<uint64_t>(end_line, 1);
  end_column = std::max<uint64_t>(end_column, 1);
  if (end_line < line || (end_line == line && end_column < column))
    throw nb::value_error("a span ends before it begins");
  uint64_t width = std::max(column, end_column);
  if (end_line > kMostLines || width > kMostLines ||
      std::bit_ceil(end_line) * (std::bit_ceil(width) + 1) > MadeTexts::kMaxBytes / 4)
    throw nb::value_error("a span this far in a text cannot be made");
  std::shared_ptr<const Source> source = texts.get(name, end_line, width);
  uint64_t begin = MadeTexts::offset(*source, line, column);
  uint64_t end = MadeTexts::offset(*source, end_line, end_column);
  return source->span(begin, end - begin);
}

}  // namespace

void bind_spans(nb::module_& m) {
  nb::class_<Source>(m, "Source", "A source text. Spans into it have a place as long as it lives.")
      .def_prop_ro("name", &Source::name)
      .def_prop_ro("text", &Source::text)
      .def("__reduce__", [](const Source& self) {
        return nb::make_tuple(
            nb::module_::import_("relay._pickle").attr("load_source"),
            nb::make_tuple(self.name(), nb::bytes(self.text().data(), self.text().size())));
      });
  m.def(
      "source",
      [](const std::string& name, nb::bytes text) {
        return std::const_pointer_cast<Source>(
            SourceMap::add(name, std::string(text.c_str(), text.size())));
      },
      nb::arg("name"), nb::arg("text"), "A text of its own, as pickles have one.");
  m.def(
      "span_in",
      [](const Source& source, uint64_t offset, uint64_t length) {
        if (offset > source.text().size())
          throw nb::value_error("a span begins behind the end of its text");
        return source.span(offset, length);
      },
      nb::arg("source"), nb::arg("offset"), nb::arg("length"), nb::keep_alive<0, 1>(),
      "Some bytes of a text.");
  nb::class_<Span>(m, "Span",
                   "A range of characters of some source text; the default one is unknown.")
      .def(nb::init<>())
      .def(
          "__init__",
          [](Span* place, nb::handle source_name, uint64_t line, uint64_t end_line, uint64_t column,
             uint64_t end_column) {
            nb::object name = nb::hasattr(source_name, "name")
                                  ? nb::object(source_name.attr("name"))
                                  : nb::borrow(source_name);
            new (place)
                Span(made_span(nb::cast<std::string>(name), line, end_line, column, end_column));
          },
          nb::arg("source_name"), nb::arg("line"), nb::arg("end_line"), nb::arg("column"),
          nb::arg("end_column"),
          "A place in a text that only its maker knows: lines and columns count from 1. The "
          "places made last are kept; older ones become unknown.")
      .def_prop_ro("known", &Span::known)
      .def_prop_ro(
          "source_name", [](Span span) { return SourceMap::locate(span).file; },
          "The file, or what the text was called; empty when unknown.")
      .def_prop_ro(
          "line", [](Span span) { return SourceMap::locate(span).line; }, "From 1; 0 when unknown.")
      .def_prop_ro(
          "column", [](Span span) { return SourceMap::locate(span).column; }, "From 1, in bytes.")
      .def_prop_ro(
          "end_line",
          [](Span span) {
            return span.known()
                       ? SourceMap::locate(
                             Span(span.end() > span.begin() ? span.end() - 1 : span.end(), 1))
                             .line
                       : 0;
          })
      .def_prop_ro(
          "end_column",
          [](Span span) {
            return span.known() ? SourceMap::locate(Span(span.end(), 0)).column : 0;
          },
          "Where it ends, not part of it; 0 when unknown.")
      .def_prop_ro("length", &Span::length, "In bytes.")
      .def(
          "__eq__", [](Span a, Span b) { return a == b; }, nb::is_operator())
      .def("__hash__", [](Span a) { return hash_combine(a.begin(), a.length()); })
      .def("__bool__", &Span::known)
      .def("__copy__", [](Span span) { return span; })
      .def(
          "__deepcopy__", [](Span span, nb::handle) { return span; }, nb::arg("memo"))
      .def("__reduce__",
           [](Span span) {
             auto source = std::const_pointer_cast<Source>(SourceMap::find(span));
             if (source == nullptr) return nb::make_tuple(nb::type<Span>(), nb::make_tuple());
             uint64_t offset = span.begin() - source->base();
             return nb::make_tuple(nb::module_::import_("relay._pickle").attr("load_span"),
                                   nb::make_tuple(source, offset, span.length()));
           })
      .def("__repr__", [](Span span) {
        Location at = SourceMap::locate(span);
        if (at.line == 0) return std::string("Span()");
        return "Span(" + at.file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) +
               ")";
      });
}

}  // namespace relay::python
