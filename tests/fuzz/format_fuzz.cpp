// libFuzzer target: what parses is laid out by both formatters to text that means the same and that
// they leave as it is.
#include <cstddef>
#include <cstdint>
#include <string>

#include <relay/ir/equal.h>
#include <relay/parse/format.h>
#include <relay/parse/format_source.h>
#include <relay/parse/parse.h>
#include <relay/support/span.h>

#include <tests/fuzz/fuzz.h>

namespace {

using namespace relay;

struct Parsed {
  explicit Parsed(std::string text)
      : source(SourceMap::add("fuzz", std::move(text))),
        marks(source->text().size()),
        result(parse_source(source, {}, false, &marks)) {}

  std::shared_ptr<const Source> source;
  SyntaxMarks marks;
  ParseResult result;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Parsed first{std::string(fuzz::text_of(data, size))};
  if (!first.result.ok()) return 0;

  const Parsed laid_out(format_source(first.source->text(), first.marks));
  fuzz::require(laid_out.result.ok(), "text that is laid out parses");
  fuzz::require(structural_equal(first.result.module, laid_out.result.module),
                "text that is laid out means the same");
  fuzz::require(format_source(laid_out.source->text(), laid_out.marks) == laid_out.source->text(),
                "text that is laid out stays");

  const Parsed standard(format_program(first.result.module, *first.source));
  fuzz::require(standard.result.ok(), "standard text parses");
  fuzz::require(structural_equal(first.result.module, standard.result.module),
                "standard text means the same");
  fuzz::require(format_program(standard.result.module, *standard.source) == standard.source->text(),
                "standard text stays");
  return 0;
}
