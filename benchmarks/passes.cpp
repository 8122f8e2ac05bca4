// Passes on programs of 10⁴, 10⁵ and 10⁶ nodes. Seconds of the processor, minima of three runs.
//   bench_passes [--part nothing|much|functions|step|model] [--most N] [--pass NAME] [--model FILE]
// nothing    each pass that runs without options, where it changes nothing; the states that it
//            needs are established, as in a sequence; a program of calls and one of lets
// much       passes that change most of the program; those of gradients on a tenth of the calls
// functions  1,000 functions of 1,000 nodes, of which a sequence changes one
// step       a rewrite of one known node among N, and inference after it
// model      the standard passes at level 3 on an ONNX model, without code generation
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <benchmarks/measure.h>
#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/parse/parse.h>
#include <relay/program/program.h>
#include <relay/support/error.h>
#include <relay/transform/literals.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_result.h>

using namespace relay;

namespace {

const std::vector<std::string> kUnary{"exp", "tanh", "sigmoid", "negative", "nn.relu"};
const std::vector<std::string> kBinary{"add", "multiply", "subtract", "maximum"};
constexpr const char* kHead = "(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {\n";

// Call `i` of an operator on `before` and, half of the time, a parameter.
std::string call(int64_t i, const std::string& before) {
  auto k = static_cast<size_t>(i * 7919 % 9973);
  if (k % 3 == 0) return fmt::format("{}({})", kUnary[k % kUnary.size()], before);
  return fmt::format("{}({}, %{})", kBinary[k % kBinary.size()], before, k % 2 == 0 ? "x" : "y");
}

// A function of `calls` calls, one after another.
std::string graph(const std::string& name, int64_t calls) {
  std::string text = "def @" + name + kHead + "  %0 = exp(%x);\n";
  for (int64_t i = 1; i < calls; ++i)
    text += fmt::format("  %{} = {};\n", i, call(i, fmt::format("%{}", i - 1)));
  return text + fmt::format("  %{}\n}}\n", calls - 1);
}

// The same with lets: two nodes for each call. `unused` of four are not needed by the next ones.
std::string lets(int64_t count, int64_t unused = 0) {
  std::string text = std::string("def @main") + kHead + "  let %v0 = exp(%x);\n";
  int64_t last = 0;
  for (int64_t i = 1; i < count; ++i) {
    text += fmt::format("  let %v{} = {};\n", i, call(i, fmt::format("%v{}", last)));
    if (i % 4 >= unused) last = i;
  }
  return text + fmt::format("  %v{}\n}}\n", last);
}

// Lines of text in turn, each with {} for the call before.
std::string turns(const std::string& head, int64_t calls, const std::vector<const char*>& forms) {
  std::string text = "def @main" + head + "  %0 = exp(%x);\n";
  for (int64_t i = 1; i < calls; ++i) {
    const char* form = forms[static_cast<size_t>(i) % forms.size()];
    text += fmt::format("  %{} = {};\n", i, fmt::format(fmt::runtime(form), i - 1));
  }
  return text + fmt::format("  %{}\n}}\n", calls - 1);
}

Module typed(const std::string& text) {
  Module module = parse_module("bench", text);
  infer_types_or_throw(module);
  return resolve_literals(module);
}

// The same without types, so that nothing is known of it.
Module untyped(const Module& module) {
  Module result = module;
  for (const auto& entry : module.functions())
    result.update_function(entry.name, FunctionRef(copy_nodes(entry.function)->as<Function>()));
  return result;
}

int64_t count_all(const Module& module) {
  size_t count = 0;
  for (const auto& entry : module.functions()) count += count_nodes(entry.function.get());
  return static_cast<int64_t>(count);
}

// The least of three runs; results are freed outside.
template <class Prepare, class Run>
double least(Prepare&& prepare, Run&& run) {
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < 3; ++i) {
    auto input = prepare();
    double begin = bench::now(true);
    auto result = run(input);
    best = std::min(best, bench::now(true) - begin);
  }
  return best;
}

// Linear if ten times as much takes at most 15 times as long.
class Row {
 public:
  explicit Row(std::string name) : name_(std::move(name)) {}
  void add(int64_t nodes, double seconds) {
    text_ += fmt::format("{:10.2f} ms {:6.0f} ns", 1e3 * seconds,
                         1e9 * seconds / static_cast<double>(nodes));
    if (last_ > 0.002 && seconds > 15 * last_) text_ += " not linear";
    last_ = seconds;
  }
  void say(const std::string& what) { text_ += "  " + what; }
  ~Row() {
    fmt::print("{:26}{}\n", name_, text_);
    std::fflush(stdout);
  }

 private:
  std::string name_, text_;
  double last_ = 0;
};

std::vector<const PassRegistration*> wanted_passes(const std::string& only) {
  std::vector<const PassRegistration*> all = all_passes();
  if (!only.empty())
    std::erase_if(all, [&](const auto* each) { return each->info.name.view() != only; });
  return all;
}

void nothing(int64_t most, const std::string& only) {
  for (bool with_lets : {false, true}) {
    fmt::print("Nothing to change, {}: time and time for each node\n",
               with_lets ? "lets" : "calls");
    std::vector<std::pair<int64_t, Module>> programs;
    for (int64_t nodes = 10000; nodes <= most; nodes *= 10)
      programs.emplace_back(nodes, typed(with_lets ? lets(nodes / 2) : graph("main", nodes)));
    for (const PassRegistration* registered : wanted_passes(only)) {
      Row row(registered->info.name.str());
      if (registered->info.signature == PassInfo::Signature::kOther) {
        row.say("always makes another program");
        continue;
      }
      try {
        PassRef pass = create_pass(registered->info.name.view());
        for (const auto& [nodes, program] : programs) {
          // A pass may change the program once; on what it makes of it there is nothing to do.
          // That program counts: it may have several times the nodes.
          Module module = program;
          for (int turn = 0; turn < 2; ++turn) {
            module = (*pass)(module);
            infer_types_or_throw(module);
            module = resolve_literals(module);
          }
          if (!same_functions(module, (*pass)(module))) row.say("changes");
          const int64_t count = count_all(module);
          row.add(count, least([] { return 0; }, [&](int) { return (*pass)(module); }));
          if (nodes == most) row.say(fmt::format("of {} nodes", count));
        }
      } catch (const Error& error) {
        row.say(error.diagnostics().empty() ? error.what() : error.diagnostics()[0].message);
      }
    }
  }
}

void much(int64_t most, const std::string& only) {
  const std::string floats = kHead;
  const std::string integers = "(%x: Tensor[(2), float32], %z: Tensor[(2), int32]) {\n";
  struct Case {
    const char* pass;
    std::function<std::string(int64_t)> text;
  };
  const std::vector<Case> cases{
      {"EliminateCommonSubexpr",
       [&](int64_t n) {
         // Each sum is of two equal calls.
         std::string text = "def @main" + floats + "  %0 = exp(%x);\n";
         for (int64_t i = 0; i < n / 3; ++i)
           text += fmt::format("  %{} = tanh(%{});\n  %{} = tanh(%{});\n  %{} = add(%{}, %{});\n",
                               3 * i + 1, 3 * i, 3 * i + 2, 3 * i, 3 * i + 3, 3 * i + 1, 3 * i + 2);
         return text + fmt::format("  %{}\n}}\n", n / 3 * 3);
       }},
      {"FoldConstant",
       [&](int64_t n) {
         return turns(floats, n / 4,
                      {"add(%{}, exp(negative(2.5f)))", "multiply(%{}, tanh(exp(1.5f)))"});
       }},
      {"SimplifyExpr",
       [&](int64_t n) {
         return turns(floats, n,
                      {"add(%{}, 0f)", "multiply(1f, %{})", "negative(%{})", "negative(%{})"});
       }},
      {"FuseOps", [&](int64_t n) { return graph("main", n); }},
      {"DeadCodeElimination", [&](int64_t n) { return lets(n / 2, 2); }},
      {"ToANormalForm", [&](int64_t n) { return graph("main", n); }},
      {"ToGraphNormalForm", [&](int64_t n) { return lets(n / 2); }},
      {"InferType", [&](int64_t n) { return graph("main", n); }},
      // Each makes 3.5 calls of one, and types them.
      {"Gradient", [&](int64_t n) { return graph("main", n / 10); }},
      {"FirstOrderGradient", [&](int64_t n) { return graph("main", n / 10); }},
  };
  fmt::print("Much to change: time and time for each node\n");
  for (const Case& each : cases) {
    if (!only.empty() && only != each.pass) continue;
    Row row(each.pass);
    PassRef pass = create_pass(each.pass);
    for (int64_t nodes = 10000; nodes <= most; nodes *= 10) {
      Module module = typed(each.text(nodes));
      bool inference = std::string(each.pass) == "InferType";
      row.add(nodes, least([&] { return inference ? untyped(module) : module; },
                           [&](const Module& input) { return (*pass)(input); }));
    }
  }
}

void print_time(const char* what, double seconds) {
  fmt::print("{:58}{:10.2f} ms\n", what, 1e3 * seconds);
  std::fflush(stdout);
}

void ask_columns(const Program& program) {
  for (const auto& entry : program.module().functions()) {
    const View& view = program.view(entry.function);
    view.users();
    view.scopes();
    view.liveness();
    view.post_dominators();
    program.node_effects(view);
  }
  program.call_graph();
}

void functions() {
  constexpr int64_t kFunctions = 1000, kCalls = 1000;
  std::string text;
  for (int64_t i = 0; i < kFunctions; ++i) text += graph(fmt::format("f{}", i), kCalls);
  Module module = typed(text);
  Module after = module;
  FunctionRef changed(module.function("f500"));
  const ExprRef twice[] = {changed->body(), changed->body()};
  after.update_function("f500", with_body(changed, make_call(make_op(find_op("add")), twice)));
  fmt::print("{} functions of {} calls, one changed\n", kFunctions, kCalls);
  auto none = [] { return 0; };
  print_time("columns of the first revision", least(none, [&](int) {
               Program program(module);
               ask_columns(program);
               return program;
             }));
  Program first(module);
  ask_columns(first);
  print_time("columns of the next revision", least(none, [&](int) {
               Program program = first.next(after);
               ask_columns(program);
               return program;
             }));
  print_time("inference of the next revision", least([&] { return after; },
                                                     [&](Module& input) {
                                                       infer_types_or_throw(input);
                                                       return resolve_literals(input);
                                                     }));
}

// One call of the program is another one: the nodes from it to the root are new.
FunctionRef with_other_leaf(const FunctionRef& function, const Operator* op) {
  std::vector<std::pair<const Expr*, size_t>> way;
  const Expr* at = function->body().get();
  for (size_t turn = 0; at->is<Call>() && at->operands().size() == 3; ++turn) {
    way.emplace_back(at, 1 + turn % 2);
    at = at->operands()[way.back().second].get();
  }
  ExprRef made = make_call(make_op(op), static_cast<const Call*>(at)->args());
  for (size_t i = way.size(); i-- > 0;) {
    const auto operands = way[i].first->operands();
    std::vector<ExprRef> changed(operands.begin(), operands.end());
    changed[way[i].second] = made;
    made = rebuild(way[i].first, changed);
  }
  return with_body(function, made);
}

void step(int64_t most) {
  fmt::print("A rewrite of one call, and inference after it: a tree of sums\n");
  for (int64_t nodes = 10000; nodes <= most; nodes *= 10) {
    std::string text = std::string("def @main") + kHead;
    int64_t next = 0;
    for (; next < nodes / 2; ++next)
      text +=
          fmt::format("  %{} = {}(%x);\n", next, kUnary[static_cast<size_t>(next) % kUnary.size()]);
    // The leaves are one more than the sums.
    for (int64_t first = 0; next < nodes - 1; ++next, first += 2)
      text += fmt::format("  %{} = add(%{}, %{});\n", next, first, first + 1);
    Module module = typed(text + fmt::format("  %{}\n}}\n", next - 1));
    const double seconds =
        least([] { return 0; },
              [&](int) {
                Module after = module;
                after.update_function(
                    "main", with_other_leaf(FunctionRef(module.function("main")), find_op("tan")));
                infer_types_or_throw(after);
                return after;
              });
    print_time(fmt::format("{} calls", nodes).c_str(), seconds);
  }
}

void model(const std::string& path) {
  OnnxOptions options;
  options.freeze = true;
  Module module = from_onnx(path, options).module;
  infer_types_or_throw(module);
  module = resolve_literals(module);
  PassContext context;
  context.opt_level = 3;
  context.trace = std::make_shared<std::vector<PassTrace>>();
  PassRef passes = make_sequential(standard_passes(PassGoal::kMachine, 3));
  fmt::print("Standard passes at level 3, {}\n", path);
  print_time("all", least([] { return 0; },
                          [&](int) {
                            context.trace->clear();
                            return (*passes)(module, context);
                          }));
  for (const PassTrace& pass : context.noted_passes()) {
    print_time(fmt::format("  {}{}", pass.pass.view(), pass.changed ? ", changed" : "").c_str(),
               pass.seconds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = bench::option(argc, argv, "--part", "");
  const std::string only = bench::option(argc, argv, "--pass", "");
  const int64_t most = std::atoll(bench::option(argc, argv, "--most", "1000000").c_str());
  auto wanted = [&](const char* name) { return part.empty() || part == name; };
  if (wanted("nothing")) nothing(most, only);
  if (wanted("much")) much(most, only);
  if (wanted("functions")) functions();
  if (wanted("step")) step(most);
  if (wanted("model")) model(bench::option(argc, argv, "--model", "build/models/bert_base.onnx"));
  return 0;
}
