// libFuzzer target: any bytes are rules or are refused; what is read prints to equal rules, and
// rules that are read apply to a program, whose type stays, or are refused as endless. Bytes that
// are no rules are tried as a pattern, which is matched everywhere in the program.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <relay/infer/infer.h>
#include <relay/ir/visit.h>
#include <relay/parse/parse.h>
#include <relay/pattern/driver.h>
#include <relay/pattern/text.h>
#include <relay/support/error.h>
#include <relay/transform/literals.h>

namespace {

using namespace relay;

const Module& program() {
  static const Module* module = [] {
    Module made = parse_module("program", R"(
      def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3, 3), float32], %c: bool, %n: Tensor[(?), int32]) {
        %0 = nn.relu(add(multiply(%x, 1f), multiply(2f, %x)));
        %1 = divide(exp(%0), sqrt(add(%0, 0f)));
        let %t = (%1, negative(negative(%0)), transpose(transpose(%1)));
        let %f = fn (%a: Tensor[(2, 3), float32]) { nn.softmax(nn.dense(%a, %w), axis=1) };
        if (%c) { (%f(%t.0), add(%n, 0)) } else { (cast(cast(%t.2, dtype="float64"), dtype="float32"), multiply(%n, 1)) }
      })");
    infer_types_or_throw(made);
    return new Module(resolve_literals(made));
  }();
  return *module;
}

void try_pattern(const std::string& text) {
  DFPatternRef pattern;
  try {
    pattern = parse_pattern("fuzz", text);
  } catch (const Error&) {
    return;
  }
  std::string printed = pattern_text(pattern.get());
  // Constants and names inside of `expr` have no text of their own.
  if (printed.find("expr(") == std::string::npos) {
    DFPatternRef again = parse_pattern("printed", printed);
    if (!patterns_equal(pattern.get(), again.get())) std::abort();
  }
  try {
    FunctionRef main(program().function("main"));
    pattern::CompiledPattern compiled(pattern);
    pattern::Surroundings around(main, &program());
    pattern::Matcher matcher(around);
    pattern::Automaton automaton(std::span<const DFPatternRef>(&pattern, 1));
    std::vector<uint32_t> found;
    post_order(main.get(), [&](const Expr* expr) {
      automaton.find(expr, found);
      if (matcher.match(compiled, expr) && found.empty()) std::abort();
    });
  } catch (const Error&) {  // too many steps
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  Rules rules;
  try {
    rules = parse_rules("fuzz", text);
  } catch (const Error&) {
    try_pattern(text);
    return 0;
  }
  std::string printed = rules_text(rules.rules);
  if (printed.find("expr(") == std::string::npos) {
    Rules again = parse_rules("printed", printed);
    if (again.rules.size() != rules.rules.size()) std::abort();
    for (size_t i = 0; i < rules.rules.size(); ++i) {
      if (!rules_equal(rules.rules[i], again.rules[i])) std::abort();
    }
  }
  FunctionRef main(program().function("main"));
  FunctionRef result;
  try {
    pattern::RuleSet set(rules);
    result = pattern::apply_rules(main, set, {});
  } catch (const Error&) {  // rules without end, or too many steps
    return 0;
  }
  if (result == main) return 0;
  Module changed = program();
  changed.update_function("main", result);
  infer_types_or_throw(changed);
  for (const Diagnostic& diagnostic : verify(changed)) {
    if (diagnostic.severity == Severity::kError) std::abort();
  }
  return 0;
}
