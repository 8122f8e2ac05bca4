// Places in source text.
#include <bindings/bindings.h>

#include <relay/support/span.h>

namespace relay::python {

void bind_spans(nb::module_& m) {
  nb::class_<Span>(m, "Span",
                   "A range of characters of some source text; the default one is unknown.")
      .def(nb::init<>())
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
      .def_prop_ro("length", &Span::length, "In bytes.")
      .def(
          "__eq__", [](Span a, Span b) { return a == b; }, nb::is_operator())
      .def("__hash__", [](Span a) { return hash_combine(a.begin(), a.length()); })
      .def("__bool__", &Span::known)
      .def("__repr__", [](Span span) {
        Location at = SourceMap::locate(span);
        if (at.line == 0) return std::string("Span()");
        return "Span(" + at.file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) +
               ")";
      });
}

}  // namespace relay::python
