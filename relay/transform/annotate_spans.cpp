// AnnotateSpans: places in the text that the program prints as.
#include <relay/ir/visit.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/support/span.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

constexpr const char* kSource = "GeneratedSource";

// The text that all places of the module are in, if this pass has made it; else null.
std::shared_ptr<const Source> source_of(const Module& module) {
  std::shared_ptr<const Source> source;
  for (const auto& entry : module.functions()) {
    if (source == nullptr) source = SourceMap::find(entry.function->span());
    if (source == nullptr || source->name() != kSource) return {};
    const uint64_t begin = source->base(), end = begin + source->text().size();
    bool inside = true;
    visit_each(entry.function.get(), [&](const Expr* expr) {
      const Span span = expr->span();
      const bool name = expr->is<Op>() || expr->is<Constructor>();  // one node for all its uses
      inside = name || (span.known() && span.begin() >= begin && span.end() <= end);
      return inside;
    });
    if (!inside) return {};
  }
  return source;
}

Module annotate(const Module& module, const PassContext&) {
  const std::shared_ptr<const Source> source = source_of(module);
  std::string text = print_module(module);
  if (source != nullptr && source->text() == text) return module;
  return parse_module(kSource, std::move(text));
}

RELAY_REGISTER_PASS({
    {"AnnotateSpans",
     0,
     {},
     "Gives every node its place in the program's own text: the program is printed, and read again "
     "from a source that is called GeneratedSource. Errors of later passes then say where."},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_module_pass(info, annotate); },
});

}  // namespace
}  // namespace relay
