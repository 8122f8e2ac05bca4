#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include <relay/parse/parse.h>
#include <relay/support/error.h>
#include <relay/transform/instruments.h>
#include <relay/transform/pass.h>

namespace relay::transform_instruments_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Module program() {
  return parse_module("t", "def @main(%x: Tensor[(2), float32]) { add(%x, add(1f, 2f)) }");
}

// FoldConstant changes the program, DeadCodeElimination does not.
void run(PassInstrument instrument) {
  PassContext context;
  context.instruments = {std::move(instrument)};
  PassContext::Scope scope(context);
  (*make_sequential(parse_passes("InferType,FoldConstant,DeadCodeElimination")))(program());
}

TEST(Instruments, Times) {
  auto times = std::make_shared<PassTimes>();
  run(time_passes(times));
  ASSERT_EQ(times->entries.size(), 3u);
  EXPECT_EQ(times->entries[1].pass, "FoldConstant");
  EXPECT_TRUE(times->entries[1].changed);
  EXPECT_FALSE(times->entries[2].changed);
  EXPECT_THAT(times->table(), HasSubstr("FoldConstant"));
  EXPECT_THAT(times->table(), HasSubstr("total"));
  auto trace = nlohmann::json::parse(times->chrome_trace());
  ASSERT_EQ(trace["traceEvents"].size(), 3u);
  EXPECT_EQ(trace["traceEvents"][1]["name"], "FoldConstant");
  EXPECT_GE(trace["traceEvents"][1]["dur"].get<double>(), 0);
}

TEST(Instruments, PrintBeforeAfterChangedDifference) {
  auto printed = [](PrintPasses options) {
    std::string text;
    run(print_passes([&](const std::string& part) { text += part; }, options));
    return text;
  };
  EXPECT_THAT(printed({PrintWhen::kBefore, {"FoldConstant"}}),
              HasSubstr("// before FoldConstant\n#[version"));
  EXPECT_THAT(printed({PrintWhen::kAfter, {"FoldConstant"}}), Not(HasSubstr("DeadCode")));
  EXPECT_THAT(printed({PrintWhen::kAfter}), HasSubstr("// after DeadCodeElimination"));
  EXPECT_THAT(printed({PrintWhen::kChanged}), HasSubstr("// DeadCodeElimination: unchanged"));
  std::string difference = printed({PrintWhen::kDifference, {"FoldConstant"}});
  EXPECT_THAT(difference, HasSubstr("-  add(%x, %0)"));
  EXPECT_THAT(difference, HasSubstr("+  add(%x, 3f)"));
  EXPECT_THAT(printed({PrintWhen::kDifference, {"FoldConstant"}, false, true}),
              HasSubstr("\033[32m+  add(%x, 3f)\033[0m"));
  EXPECT_THAT(printed({PrintWhen::kAfter, {"InferType"}, true}),
              HasSubstr("ty=Tensor[(2), float32]"));
}

TEST(Instruments, DumpWritesWhatChanged) {
  auto folder =
      std::filesystem::temp_directory_path() / ("relay-dump-" + std::to_string(::getpid()));
  run(dump_passes(folder.string()));
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    names.push_back(file.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"000-input.rly", "002-FoldConstant.rly"}));
  std::ifstream file(folder / "002-FoldConstant.rly");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NO_THROW(parse_module("again", text));
  EXPECT_THAT(text, HasSubstr("3f"));
  std::filesystem::remove_all(folder);
  EXPECT_THROW(run(dump_passes("/dev/null/nowhere")), Error);
}

TEST(Instruments, CountsMemoryProgress) {
  auto counts = std::make_shared<OpCounts>();
  run(count_ops(counts));
  ASSERT_EQ(counts->entries.size(), 2u);
  EXPECT_EQ(counts->entries[0].calls.at("add"), 2);
  EXPECT_EQ(counts->entries[1].calls.at("add"), 1);
  EXPECT_THAT(counts->table(), HasSubstr("add -1"));
  auto memory = std::make_shared<PassMemory>();
  run(measure_memory(memory));
  ASSERT_EQ(memory->entries.size(), 3u);
  // The allocators of sanitizers count nothing.
  if (mallinfo2().uordblks > 0) {
    EXPECT_GT(memory->entries[0].after, 0);
  }
  EXPECT_THAT(memory->table(), HasSubstr("FoldConstant"));
  std::string line;
  run(show_progress([&](const std::string& text) { line += text; }, 0));
  EXPECT_THAT(line, HasSubstr("1 passes done: FoldConstant"));
  EXPECT_TRUE(line.ends_with("\r\033[K"));
}

TEST(Instruments, VerifyEach) {
  EXPECT_NO_THROW(run(verify_each()));
  PassContext context;
  context.instruments = {verify_each()};
  PassRef wrong = make_module_pass({"Wrong", 0, {}, ""}, [](const Module&, const PassContext&) {
    return parse_module("w", "def @main(%x: Tensor[(2), float32]) { add(%x, (1f, 2f)) }");
  });
  try {
    (*wrong)(program(), context);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("pass Wrong made an ill-typed module"));
  }
}

TEST(Instruments, LineDifference) {
  EXPECT_EQ(line_difference("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(line_difference("a\nb\nc\n", "a\nx\nc\n"), " a\n-b\n+x\n c\n");
  EXPECT_EQ(line_difference("", "a\n"), "+a\n");
  EXPECT_EQ(line_difference("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nx\n"),
            "@@\n 6\n 7\n 8\n-9\n+x\n");
  std::string many, other;  // too many to be compared line by line
  for (int i = 0; i < 6000; ++i) {
    many += std::to_string(i) + "\n";
    other += std::to_string(-i - 1) + "\n";
  }
  std::string difference = line_difference("same\n" + many, "same\n" + other);
  EXPECT_TRUE(difference.starts_with(" same\n-0\n-1\n"));
}

}  // namespace
}  // namespace relay::transform_instruments_test
