// The pass infrastructure: contexts, registry, options, sequences.
#include <gtest/gtest.h>

#include <thread>

#include <relay/parse/parse.h>
#include <relay/support/error.h>
#include <relay/transform/pass.h>

#include <tests/unit/test_paths.h>

namespace relay::transform_pass_test {
namespace {

PassRef recorder(std::string name, int level, std::vector<std::string>& log) {
  PassInfo info;
  info.name = name;
  info.opt_level = level;
  return make_module_pass(info, [name, &log](const Module& module, const PassContext&) {
    log.push_back(name);
    return module;
  });
}

TEST(PassContext, DefaultIsLevelTwo) {
  const PassContext& context = PassContext::current();
  EXPECT_EQ(context.opt_level, 2);
  EXPECT_TRUE(context.required_passes.empty());
  EXPECT_EQ(context.diagnostics, nullptr);
}

TEST(PassContext, ScopesNestAndBelongToTheThread) {
  PassContext outer;
  outer.opt_level = 3;
  PassContext::Scope a(outer);
  EXPECT_EQ(PassContext::current().opt_level, 3);
  {
    PassContext inner;
    inner.opt_level = 0;
    PassContext::Scope b(inner);
    EXPECT_EQ(PassContext::current().opt_level, 0);
    int seen = -1;
    std::thread([&] { seen = PassContext::current().opt_level; }).join();
    EXPECT_EQ(seen, 2);
  }
  EXPECT_EQ(PassContext::current().opt_level, 3);
}

TEST(PassContext, EnabledAsksLevelThenTheLists) {
  PassInfo info;
  info.name = "P";
  info.opt_level = 3;
  PassContext context;
  EXPECT_FALSE(context.enabled(info));
  context.required_passes = {"P"};
  EXPECT_TRUE(context.enabled(info));
  context.disabled_passes = {"P"};
  EXPECT_FALSE(context.enabled(info));
}

TEST(PassSequence, RunsInOrderWhatIsEnabled) {
  std::vector<std::string> log;
  PassRef sequence =
      make_sequential({recorder("a", 0, log), recorder("b", 3, log), recorder("c", 2, log)});
  PassContext context;
  context.disabled_passes = {"a"};
  (*sequence)(Module(), context);
  EXPECT_EQ(log, (std::vector<std::string>{"c"}));
  log.clear();
  context.opt_level = 3;
  context.disabled_passes.clear();
  (*sequence)(Module(), context);
  EXPECT_EQ(log, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(PassSequence, InstrumentsSeeEachPassOnce) {
  std::vector<std::string> log;
  std::vector<std::string> seen;
  PassContext context;
  context.instruments.push_back(
      {"log", [&](const Module&, const PassInfo& info) { seen.push_back("+" + info.name.str()); },
       [&](const Module&, const Module&, const PassInfo& info, double seconds) {
         EXPECT_GE(seconds, 0);
         seen.push_back("-" + info.name.str());
       }});
  PassRef inner = make_sequential({recorder("b", 0, log)}, "inner");
  (*make_sequential({recorder("a", 0, log), inner}))(Module(), context);
  EXPECT_EQ(seen, (std::vector<std::string>{"+a", "-a", "+b", "-b"}));
}

TEST(PassSequence, ContextOfTheCallIsCurrentInside) {
  int seen = -1;
  PassRef pass =
      make_module_pass({"look", 0, {}, ""}, [&](const Module& module, const PassContext&) {
        seen = PassContext::current().opt_level;
        return module;
      });
  PassContext context;
  context.opt_level = 4;
  (*pass)(Module(), context);
  EXPECT_EQ(seen, 4);
}

TEST(FunctionPass, LeavesMarkedFunctionsAlone) {
  Module module = parse_module("t", R"(
def @a(%x: int32) { %x }
def @b(%x: int32, SkipOptimization=1) { %x }
def @c(%x: int32, Compiler="other") { %x }
def @d(%x: int32, SkipOptimization=0) { %x }
)");
  size_t count = 0;
  PassRef pass = make_function_pass(
      {"count", 0, {}, ""}, [&](const FunctionRef& function, const Module&, const PassContext&) {
        ++count;
        return function;
      });
  (*pass)(module);
  EXPECT_EQ(count, 2u);
}

TEST(PassRegistry, EveryPassHasNameAndDocumentation) {
  auto passes = all_passes();
  EXPECT_GE(passes.size(), 6u);
  for (const PassRegistration* pass : passes) {
    EXPECT_FALSE(pass->info.doc.empty()) << pass->info.name.view();
    EXPECT_EQ(pass->info.name.view().find(' '), std::string_view::npos);
    // Three passes do nothing sensible without what to do, and say so.
    const std::string name = pass->info.name.str();
    const std::string text = name == "AnnotateTarget"          ? "AnnotateTarget([t])"
                             : name == "FlexibleShapeDispatch" ? "FlexibleShapeDispatch([2])"
                             : name == "ApplyRules" ? "ApplyRules(rules=\"rule a: exp(%x) => %x;\")"
                                                    : name;
    PassRef made = parse_passes(text).at(0);
    EXPECT_EQ(made->info().name, pass->info.name);
    EXPECT_EQ(made->info().opt_level, pass->info.opt_level);
    for (const auto& option : pass->options) EXPECT_FALSE(option.doc.empty()) << option.name;
  }
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    std::string text = error.what();
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      for (const DiagnosticNote& note : diagnostic.notes) text += " | " + note.message;
    }
    return text;
  }
  return "no error";
}

TEST(PassRegistry, UnknownNamesAndOptionsAreErrorsWithSuggestions) {
  EXPECT_EQ(message_of([] { create_pass("FoldConstants"); }).substr(0, 50),
            "unknown pass FoldConstants | did you mean FoldCons");
  EXPECT_EQ(message_of([] {
              create_pass("DeadCodeElimination", {{"inline_onse", true}});
            }),
            "pass DeadCodeElimination has no option inline_onse | did you mean inline_once?");
  EXPECT_EQ(message_of([] {
              create_pass("InferType", {{"x", true}});
            }),
            "pass InferType has no option x | it has none");
  EXPECT_EQ(message_of([] {
              create_pass("FoldConstant", {{"max_growth", std::string("a")}});
            }),
            "option max_growth of pass FoldConstant takes int, found str \"a\"");
}

TEST(PassRegistry, PassesAsText) {
  auto passes = parse_passes(
      " FoldConstant( max_growth = 10 ) , DeadCodeElimination(inline_once=True),InferType");
  ASSERT_EQ(passes.size(), 3u);
  EXPECT_EQ(passes[0]->info().name, Name("FoldConstant"));
  EXPECT_EQ(passes[2]->info().name, Name("InferType"));
  EXPECT_EQ(parse_passes("RemoveUnusedFunctions(entry_functions=[\"a b\", c])").size(), 1u);
  EXPECT_EQ(parse_passes("EliminateCommonSubexpr(fskip=add)").size(), 1u);
  for (const char* bad :
       {"", ",", "FoldConstant(", "FoldConstant(max_growth=)", "FoldConstant(max_growth=1",
        "FoldConstant(max_growth=1,max_growth=2)", "FoldConstant InferType", "FoldConstant,",
        "FoldConstant(max_growth=99999999999999999999999)", "A(x='", "(",
        "RemoveUnusedFunctions(entry_functions=[)"}) {
    EXPECT_NE(message_of([&] { parse_passes(bad); }), "no error") << bad;
  }
}

TEST(PassRegistry, ReferencePageNamesAllPassesAndOptions) {
  std::string page = pass_reference_markdown();
  for (const PassRegistration* pass : all_passes()) {
    EXPECT_NE(page.find("## " + pass->info.name.str() + "\n"), std::string::npos);
    for (const auto& option : pass->options)
      EXPECT_NE(page.find("| `" + option.name + "` |"), std::string::npos);
  }
}

// After a change: `relay doc passes > docs/passes.md`.
TEST(PassRegistry, ReferencePageInTheRepositoryIsCurrent) {
  EXPECT_EQ(testing::read_text(testing::source_dir() + "/docs/passes.md"),
            pass_reference_markdown());
}

TEST(Pass, IllFormedResultIsADefectOfThePass) {
  PassRef bad = make_module_pass({"bad", 0, {}, ""}, [](const Module& module, const PassContext&) {
    Module result = module;
    VarRef stray = make_var("stray");
    result.add_function("f", make_function({}, stray));
    return result;
  });
  PassContext context;
  context.config["relay.verify_passes"] = true;
  EXPECT_THROW((*bad)(Module(), context), InternalError);
  Module wrong;
  wrong.add_function("f", make_function({}, make_var("stray")));
  PassRef nothing = make_module_pass(
      {"nothing", 0, {}, ""}, [](const Module& module, const PassContext&) { return module; });
  EXPECT_THROW((*nothing)(wrong, context), Error);
  context.config["relay.verify_passes"] = false;
  EXPECT_NO_THROW((*bad)(Module(), context));
}

}  // namespace
}  // namespace relay::transform_pass_test
