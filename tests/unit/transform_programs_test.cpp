// Every program of the repository, before and after each pass: its text reads back as the same
// program.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include <relay/infer/infer.h>
#include <relay/ir/equal.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <relay/transform/pass.h>
#include <tests/unit/test_paths.h>

namespace relay::transform_programs_test {
namespace {

struct Program {
  std::string name;
  Module module;
};

void add_program(std::vector<Program>& programs, const std::string& name, std::string text) {
  ParseResult parsed = parse_text(name, std::move(text));
  if (parsed.ok())
    programs.push_back({name, std::move(parsed.module)});  // else one that shows an error
}

/// The .rly files of the checkout that parse, in the order of their names.
std::vector<Program> files() {
  std::vector<Program> programs;
  for (const auto& path : testing::program_files({"examples", "tests"})) {
    add_program(programs, path.lexically_relative(testing::source_dir()).string(),
                testing::read_text(path));
  }
  return programs;
}

/// Those recorded from TVM, with what its passes made of them.
std::vector<Program> recorded() {
  std::vector<Program> programs;
  std::string folder = testing::source_dir() + "/tests/conformance/oracle/";
  for (const char* file :
       {"ops-core.jsonl", "ops-special.jsonl", "types.jsonl", "passes.jsonl", "analyses.jsonl"}) {
    std::ifstream in(folder + file);
    for (std::string line; std::getline(in, line);) {
      auto json = nlohmann::json::parse(line);
      for (const char* field : {"program", "result", "printed"}) {
        if (json.contains(field) && json[field].is_string()) {
          add_program(programs, json.value("name", std::string("?")) + " " + field,
                      json[field].get<std::string>());
        }
      }
    }
  }
  return programs;
}

/// Prints, parses, compares; says what is wrong, or nothing.
std::string round_trip_problem(const Module& module) {
  std::string text;
  try {
    text = print_module(module);
  } catch (const Error& error) {
    return render(error.diagnostics());
  }
  ParseResult again = parse_text("printed", text);
  if (!again.ok()) return render(again.diagnostics) + "\n" + text;
  std::string why;
  if (!structural_equal(module, again.module, {}, &why)) {
    return why + "\n" + text + "\nagain:\n" + print_module(again.module);
  }
  if (std::string repeated = print_module(again.module); repeated != text) {
    return "printed again differently:\n" + text + "\n" + repeated;
  }
  return {};
}

/// Each registered pass by itself, with its options switched, and sequences of them.
std::vector<std::string> pass_lists() {
  std::vector<std::string> lists;
  for (const PassRegistration* pass : all_passes()) {
    const std::string name = pass->info.name.str();
    // These are errors without what to do.
    if (name == "AnnotateTarget" || name == "ApplyRules" || name == "FlexibleShapeDispatch")
      continue;
    lists.push_back(name);
    for (const auto& option : pass->options) {
      if (const bool* value = std::get_if<bool>(&option.default_value)) {
        lists.push_back(pass->info.name.str() + "(" + option.name +
                        (*value ? "=False)" : "=True)"));
      }
    }
  }
  for (const char* sequence :
       {"ToANormalForm,ToGraphNormalForm", "InferType,ToBasicBlockNormalForm,ToANormalForm",
        "ToGraphNormalForm,EliminateCommonSubexpr,ToANormalForm",
        "ToANormalForm,EliminateCommonSubexpr,DeadCodeElimination(inline_once=True)",
        "AnnotateTarget([t], operators=[add, multiply])",
        "Inline,RemoveUnusedFunctions,FoldConstant,DeadCodeElimination(inline_once=True)"}) {
    lists.push_back(sequence);
  }
  return lists;
}

struct Tally {
  size_t done = 0;
  size_t failed = 0;
  std::map<std::string, size_t> by_list;
};

void check(const Program& program, const std::vector<std::string>& lists, Tally& tally) {
  auto expect_same = [&](const Module& module, const std::string& list) {
    ++tally.done;
    ++tally.by_list[list];
    std::string problem = round_trip_problem(module);
    if (!problem.empty() && ++tally.failed <= 5) {
      ADD_FAILURE() << program.name << (list.empty() ? "" : " after ") << list << ": " << problem;
    }
  };
  expect_same(program.module, "");
  if (!verify(program.module).empty()) return;  // no pass takes it
  PassContext context;
  context.opt_level = 4;
  context.config["relay.verify_passes"] = true;
  for (const std::string& list : lists) {
    Module after;
    try {
      after = (*make_sequential(parse_passes(list)))(program.module, context);
    } catch (const Error&) {
      continue;  // one that shows an error in types, which this list asks for
    }
    if (after.functions().empty()) continue;  // an empty text is no program
    expect_same(after, list);
  }
  for (int level = 0; level <= 4; ++level) {
    Module after;
    try {
      after = (*standard_pipeline(level))(program.module, context);
    } catch (const Error&) {
      break;
    }
    expect_same(after, "level " + std::to_string(level));
  }
}

void check_all(const std::vector<Program>& programs, size_t least) {
  std::vector<std::string> lists = pass_lists();
  Tally tally;
  for (const Program& program : programs) check(program, lists, tally);
  EXPECT_EQ(tally.failed, 0u) << "of " << tally.done;
  EXPECT_GE(tally.by_list[""], least);
  // None of the lists is there for nothing.
  for (const std::string& list : lists) EXPECT_GE(tally.by_list[list], least / 2) << list;
}

TEST(TransformPrograms, Files) { check_all(files(), 100); }
TEST(TransformPrograms, Recorded) { check_all(recorded(), 500); }

}  // namespace
}  // namespace relay::transform_programs_test
