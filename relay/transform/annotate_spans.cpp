// AnnotateSpans: places in the text that the program prints as.
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

Module annotate(const Module& module, const PassContext&) {
  return parse_module("GeneratedSource", print_module(module));
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
