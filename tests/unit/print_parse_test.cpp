// Text of a program reads back as the same program.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include <relay/ir/equal.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <tests/support/random_program.h>
#include <tests/unit/test_paths.h>

namespace relay {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Prints, parses, compares; says what is wrong, or nothing.
std::string round_trip_problem(const Module& module) {
  std::string text = print_module(module);
  ParseResult again = parse_text("printed", text);
  if (!again.ok()) return render(again.diagnostics) + "\n" + text;
  std::string why;
  if (!structural_equal(module, again.module, {}, &why)) return why + "\n" + text + "\nagain:\n" + print_module(again.module);
  if (print_module(again.module) != text) return "printed again differently:\n" + text + "\n" + print_module(again.module);
  return {};
}

TEST(PrintParse, Examples) {
  for (const char* folder : {"examples/seed", "examples/digits", "examples/tree_lstm"}) {
    for (const auto& entry : std::filesystem::directory_iterator(testing::source_dir() + "/" + folder)) {
      if (entry.path().extension() != ".rly") continue;
      ParseResult program = parse_text(entry.path().string(), read_file(entry.path()));
      if (!program.ok()) continue;  // a program that shows an error
      EXPECT_EQ(round_trip_problem(program.module), "") << entry.path();
    }
  }
}

TEST(PrintParse, RecordedPrograms) {
  std::filesystem::path folder = testing::source_dir() + "/tests/conformance/oracle";
  size_t done = 0;
  size_t failed = 0;
  for (const char* file : {"ops-core.jsonl", "ops-special.jsonl", "types.jsonl", "passes.jsonl", "analyses.jsonl"}) {
    std::ifstream in(folder / file);
    for (std::string line; std::getline(in, line);) {
      auto json = nlohmann::json::parse(line);
      for (const char* field : {"program", "result", "printed"}) {
        if (!json.contains(field) || !json[field].is_string()) continue;
        ParseResult program = parse_text("recorded", json[field].get<std::string>());
        if (!program.ok()) continue;  // operators that are not declared, programs that show an error
        ++done;
        std::string problem = round_trip_problem(program.module);
        if (!problem.empty() && ++failed <= 5) ADD_FAILURE() << json.value("name", "") << " " << field << ": " << problem;
      }
    }
  }
  EXPECT_EQ(failed, 0u) << "of " << done;
  RecordProperty("programs", static_cast<int>(done));
}

TEST(PrintParse, RandomPrograms) {
  for (bool references : {false, true}) {
    for (uint32_t seed = 0; seed < 1500; ++seed) {
      testing::RandomProgramOptions options;
      options.references = references;
      options.size = 10 + static_cast<int>(seed % 8) * 20;
      Module module = testing::RandomProgram(seed, options).module();
      std::string problem = round_trip_problem(module);
      ASSERT_EQ(problem, "") << "seed " << seed << (references ? " with references" : "");
    }
  }
}

}  // namespace
}  // namespace relay
