// Contexts, configuration, required passes, collected errors: the source note on passes, section by
// section.
#include <gtest/gtest.h>

#include <thread>

#include <relay/op/op.h>
#include <relay/parse/parse.h>
#include <relay/support/error.h>
#include <relay/transform/pass.h>

namespace relay::transform_context_test {
namespace {

PassRef recorder(const std::string& name, int level, std::vector<std::string>& log,
                 std::vector<std::string> required = {}) {
  PassInfo info{name, level, {}, "", std::move(required)};
  return make_module_pass(info, [&log, name](const Module& module, const PassContext&) {
    log.push_back(name);
    return module;
  });
}

// PassContext::Create, Current, EnterWithScope, ExitWithScope.
TEST(PassContextNote, CreateEnterCurrentExit) {
  auto outer = PassContext::create();
  outer->opt_level = 4;
  auto inner = PassContext::create();
  PassContext::enter(outer);
  EXPECT_EQ(&PassContext::current(), outer.get());
  PassContext::enter(inner);
  EXPECT_EQ(&PassContext::current(), inner.get());
  EXPECT_EQ(PassContext::current().opt_level, 2);
  PassContext::exit();
  EXPECT_EQ(PassContext::current().opt_level, 4);
  PassContext::exit();
  EXPECT_EQ(PassContext::current().opt_level, 2);
}

// RelayPassContextThreadLocalEntry: a stack and a default context for each thread.
TEST(PassContextNote, EachThreadHasItsOwnStack) {
  auto context = PassContext::create();
  context->opt_level = 0;
  PassContext::Scope scope(context);
  int seen = -1, nested = -1;
  std::thread([&] {
    seen = PassContext::current().opt_level;
    PassContext four;
    four.opt_level = 4;
    PassContext::Scope inside(four);
    nested = PassContext::current().opt_level;
  }).join();
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(nested, 4);
  EXPECT_EQ(PassContext::current().opt_level, 0);
}

// PassContextNode: opt_level{2}, fallback_device, required_pass, disabled_pass.
TEST(PassContextNote, DefaultsAndWhatIsEnabled) {
  PassContext context;
  EXPECT_EQ(context.opt_level, 2);
  EXPECT_EQ(context.fallback_device, 1);
  PassInfo high{"High", 3, {}, ""};
  EXPECT_FALSE(context.enabled(high));
  context.required_passes = {"High"};
  EXPECT_TRUE(context.enabled(high));
  context.disabled_passes = {"High"};
  EXPECT_FALSE(context.enabled(high));
}

// PassInfoNode::required, resolved by a sequence (SequentialPassNode).
TEST(PassContextNote, ASequenceRunsWhatAPassRequires) {
  std::vector<std::string> log;
  PassContext context;
  context.trace = std::make_shared<std::vector<PassTrace>>();
  Module module = parse_module("t", "def @main(%x: int32) { add(%x, 1) }");
  (*make_sequential({recorder("mine", 0, log, {"InferType", "FoldConstant"})}))(module, context);
  std::vector<std::string> ran;
  for (const PassTrace& pass : *context.trace) ran.push_back(pass.pass.str());
  EXPECT_EQ(ran, (std::vector<std::string>{"InferType", "FoldConstant", "mine"}));
  // A pass that is not enabled requires nothing, and alone a pass requires nothing either.
  context.trace->clear();
  context.disabled_passes = {"mine"};
  (*make_sequential({recorder("mine", 0, log, {"FoldConstant"})}))(module, context);
  EXPECT_TRUE(context.trace->empty());
}

TEST(PassContextNote, AnUnknownRequiredPassIsAnError) {
  std::vector<std::string> log;
  PassRef sequence = make_sequential({recorder("mine", 0, log, {"FoldConstnat"})});
  try {
    (*sequence)(Module());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("FoldConstnat"), std::string::npos);
  }
}

TEST(PassConfig, KeysAreKnownAndTyped) {
  PassContext context;
  context.set_config("relay.FuseOps.max_depth", int64_t{7});
  EXPECT_EQ(context.config_value<int64_t>("relay.FuseOps.max_depth"), 7);
  EXPECT_FALSE(context.config_value<bool>("relay.FuseOps.link_params"));
  context.set_config("relay.FuseOps.link_params", int64_t{1});
  EXPECT_TRUE(context.config_value<bool>("relay.FuseOps.link_params"));
  auto message = [&](const char* key, PassOption value) {
    try {
      context.set_config(key, value);
    } catch (const Error& error) {
      return render(error.diagnostics());
    }
    return std::string();
  };
  EXPECT_EQ(message("relay.FuseOps.max_dept", int64_t{1}),
            "error: unknown configuration key relay.FuseOps.max_dept\n"
            "help: did you mean relay.FuseOps.max_depth?\n");
  EXPECT_EQ(
      message("relay.FuseOps.max_depth", std::string("7")),
      "error: configuration key relay.FuseOps.max_depth takes a value of type int, not str\n");
  for (const ConfigKey* key : all_config_keys()) EXPECT_FALSE(key->doc.empty()) << key->name;
}

TEST(PassInstruments, MayKeepAPassFromRunning) {
  std::vector<std::string> log;
  PassContext context;
  PassInstrument instrument{"skip"};
  instrument.should_run = [](const Module&, const PassInfo& info) {
    return info.name.view() != "a";
  };
  context.instruments = {instrument};
  PassRef sequence = make_sequential({recorder("a", 0, log), recorder("b", 0, log)});
  (*sequence)(Module(), context);
  EXPECT_EQ(log, (std::vector<std::string>{"b"}));
  context.required_passes = {"a"};
  (*sequence)(Module(), context);
  EXPECT_EQ(log, (std::vector<std::string>{"b", "a", "b"}));
}

TEST(PassInstruments, AreEnteredAndLeftInOrderWhateverFails) {
  std::vector<std::string> log;
  auto instrument = [&](const std::string& name, bool fails_in, bool fails_out) {
    PassInstrument one{name};
    one.enter = [&log, name, fails_in] {
      log.push_back("+" + name);
      if (fails_in) throw Error(name + " cannot begin");
    };
    one.exit = [&log, name, fails_out] {
      log.push_back("-" + name);
      if (fails_out) throw Error(name + " cannot end");
    };
    return one;
  };
  auto context = PassContext::create();
  context->instruments = {instrument("a", false, true), instrument("b", false, true)};
  PassContext::enter(context);
  try {
    PassContext::exit();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a cannot end");
  }
  EXPECT_EQ(log, (std::vector<std::string>{"+a", "+b", "-a", "-b"}));
  EXPECT_EQ(PassContext::current().opt_level, 2);
  log.clear();
  auto failing = PassContext::create();
  failing->opt_level = 4;
  failing->instruments = {instrument("a", false, false), instrument("b", true, false),
                          instrument("c", false, false)};
  EXPECT_THROW(PassContext::enter(failing), Error);
  EXPECT_EQ(log, (std::vector<std::string>{"+a", "+b", "-a"}));
  EXPECT_EQ(PassContext::current().opt_level, 2);
}

PassRef complainer(const std::string& name) {
  return make_function_pass(
      {name, 0, {}, ""}, [name](const FunctionRef& function, const Module&, const PassContext&) {
        if (function->params().empty()) return function;
        throw Error(name + " does not like it", function->params()[0]->span());
        return function;
      });
}

// ErrorReporter: errors of several functions, each at its place.
TEST(PassErrors, OfAllFunctionsTogether) {
  Module module =
      parse_module("t", "def @a(%x: int32) { %x }\ndef @b() { 1 }\ndef @c(%y: int32) { %y }\n");
  try {
    (*complainer("Complain"))(module);
    FAIL();
  } catch (const Error& error) {
    ASSERT_EQ(error.diagnostics().size(), 2u);
    std::string text = render(error.diagnostics());
    EXPECT_NE(text.find("t:1:8"), std::string::npos) << text;
    EXPECT_NE(text.find("pass Complain failed on @a"), std::string::npos) << text;
    EXPECT_NE(text.find("t:3:8"), std::string::npos) << text;
    EXPECT_NE(text.find("pass Complain failed on @c"), std::string::npos) << text;
  }
}

TEST(PassErrors, OfAllPassesTogetherWhereAContextCollectsThem) {
  Module module = parse_module("t", "def @a(%x: int32) { %x }");
  std::vector<std::string> log;
  PassRef sequence =
      make_sequential({complainer("One"), recorder("between", 0, log), complainer("Two")});
  PassContext context;
  EXPECT_THROW((*sequence)(module, context), Error);
  EXPECT_TRUE(log.empty());
  context.collect_errors = true;
  try {
    (*sequence)(module, context);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.diagnostics().size(), 2u);
  }
  EXPECT_EQ(log, (std::vector<std::string>{"between"}));
  // Nothing is left behind for the next pass.
  EXPECT_NO_THROW((*recorder("alone", 0, log))(module, context));
}

TEST(PassErrors, DefectsNamePassAndFunction) {
  Module module = parse_module("t", "def @a(%x: int32) { %x }");
  PassRef broken =
      make_function_pass({"Broken", 0, {}, ""},
                         [](const FunctionRef&, const Module&, const PassContext&) -> FunctionRef {
                           RELAY_UNREACHABLE("of no use");
                         });
  try {
    (*broken)(module);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("pass Broken failed on @a"), std::string::npos)
        << error.what();
  }
}

TEST(PassErrors, IllTypedResultsAreFoundWhereThatIsAskedFor) {
  Module module = parse_module("t", "def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }");
  PassRef wrong = make_function_pass(
      {"Wrong", 0, {ProgramState::kTyped}, ""},
      [](const FunctionRef& function, const Module&, const PassContext&) {
        ExprRef x = function->params()[0];
        return make_function({function->params()[0]},
                             call_op("nn.relu", {make_tuple(std::vector<ExprRef>{x, x})}), {}, {},
                             {}, {}, {});
      });
  PassContext context;
  EXPECT_NO_THROW((*wrong)(module, context));
  context.set_config("relay.verify_types", true);
  EXPECT_THROW((*wrong)(module, context), InternalError);
}

TEST(PassErrors, APassThatChangedNothingGivesTheSameFunctions) {
  Module module = parse_module("t", "def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }");
  Module typed = (*create_pass("InferType"))(module);
  for (const char* name :
       {"FoldConstant", "DeadCodeElimination", "EliminateCommonSubexpr", "SimplifyInference"}) {
    EXPECT_EQ((*create_pass(name))(typed).function("main"), typed.function("main")) << name;
  }
}

}  // namespace
}  // namespace relay::transform_context_test
