// Size, depth, little stack, damaged text.
#include <tests/unit/parse_helpers.h>

#include <pthread.h>

#include <ctime>
#include <functional>
#include <random>

#include <tests/unit/test_paths.h>

namespace relay::parse_robust_test {
namespace {

using testing::problem;

void run_on_small_stack(const std::function<void()>& f) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{256} << 10);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* argument) -> void* {
                  (*static_cast<const std::function<void()>*>(argument))();
                  return nullptr;
                },
                const_cast<void*>(static_cast<const void*>(&f))),
            0);
  pthread_join(thread, nullptr);
}

std::string repeat(const std::string& text, size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::vector<std::string> seed_programs() {
  std::vector<std::string> programs;
  for (const auto& path : testing::program_files({"examples"}))
    programs.push_back(testing::read_text(path));
  programs.emplace_back(
      "#[version = \"0.0.5\"]\ntype List[A] { Cons(A, List[A]), Nil, }\n"
      "def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] { match? (%l) { Cons(%h, %t) => { "
      "Cons(%f(%h), @map(%f, %t)) }, Nil => { Nil }, } }\n"
      "def @main(%x: Tensor[(n, ?, 2 * n), float32], Primitive=1) -> (int32,) { %0 = "
      "nn.softmax(%x, axis=-1); let %r: ref(_) = ref(%0);\n"
      "  ref_write(%r, meta[relay.Constant][0]); (if (True && 1i64 < 2) { -1 } else { Constant(2, "
      "(), int32) },) }\n");
  return programs;
}

TEST(ParseRobust, MessagesShowTheEndsOfLongNames) {
  std::string name = "begin_" + repeat("é", 1'000'000) + "_end";
  std::string text = testing::reprint("def @main() { %\"" + name + "\" }");
  EXPECT_LT(text.size(), 10'000u);
  EXPECT_NE(text.find("begin_é"), std::string::npos);
  EXPECT_NE(text.find("é_end"), std::string::npos);
}

TEST(ParseRobust, Depth) {
  run_on_small_stack([] {
    const std::string deep = "1:1001 nested too deeply: more than 1000 levels";
    EXPECT_EQ(problem(repeat("(", 990) + "1" + repeat(")", 990)), "");
    EXPECT_EQ(problem(repeat("abs(", 990) + "1" + repeat(")", 990)), "");
    EXPECT_EQ(problem(repeat("(", 5000)), deep);
    EXPECT_EQ(problem(repeat("{", 5000)), deep);
    EXPECT_NE(problem(repeat("-", 5000)).find("nested too deeply"), std::string::npos);
    EXPECT_NE(problem(repeat("!", 5000)).find("nested too deeply"), std::string::npos);
    EXPECT_NE(problem(repeat("fn(%x){", 5000)).find("nested too deeply"), std::string::npos);
    EXPECT_NE(problem(repeat("let %x = ", 5000)).find("nested too deeply"), std::string::npos);
    EXPECT_NE(problem("fn(%x: " + repeat("(", 5000)).find("nested too deeply"), std::string::npos);
    EXPECT_NE(problem("fn(%x: " + repeat("fn() -> ", 5000)).find("nested too deeply"),
              std::string::npos);
    EXPECT_NE(problem("fn(%x: Tensor[(" + repeat("-", 5000)).find("nested too deeply"),
              std::string::npos);
    EXPECT_NE(problem("fn(%x) { abs(%x, a=" + repeat("[", 5000)).find("nested too deeply"),
              std::string::npos);
    EXPECT_NE(problem("match (1) { " + repeat("(", 5000)).find("nested too deeply"),
              std::string::npos);
    EXPECT_NE(problem(repeat("match (1) { _ => ", 5000)).find("nested too deeply"),
              std::string::npos);
    EXPECT_NE(problem(repeat("if (", 5000)).find("nested too deeply"), std::string::npos);
    EXPECT_NE(problem("let " + repeat("(", 5000)).find("nested too deeply"), std::string::npos);
    std::string pattern = repeat("(", 300) + "_" + repeat(",)", 300);
    EXPECT_NE(problem("match (1) { " + pattern + " => 1 }").find("levels of a pattern"),
              std::string::npos);
    // A type has a limit of its own.
    EXPECT_NE(problem("fn(%x: " + repeat("ref(", 900) + "int8" + repeat(")", 900) + ") { 1 }"), "");
  });
}

TEST(ParseRobust, Length) {
  run_on_small_stack([] {
    constexpr size_t kMany = 100000;
    EXPECT_EQ(problem(repeat("1 + ", kMany) + "1"), "");
    EXPECT_EQ(problem("fn(%x) { " + repeat("%x < ", kMany) + "%x }"), "");
    EXPECT_EQ(problem(repeat("let %x = 1;\n", kMany) + "%x"), "");
    EXPECT_EQ(problem(repeat("abs(1);", kMany) + "1"), "");
    EXPECT_EQ(problem("fn(%c) { " + repeat("if (%c) { 1 } else ", kMany) + "{ 2 } }"), "");
    EXPECT_EQ(problem("fn(%x) { %x" + repeat(".0", 1000) + " }"), "");
    EXPECT_EQ(problem("fn(%x) { (%x)" + repeat(".0", kMany) + " }"), "");
    EXPECT_EQ(problem("fn(%x) { %x" + repeat("()", kMany) + " }"), "");
    EXPECT_EQ(problem("(" + repeat("1, ", kMany) + ")"), "");
    std::string graph = "fn(%x) { %0 = %x;\n";
    std::string defs;
    for (size_t i = 1; i < kMany; ++i) {
      graph += "%" + std::to_string(i) + " = abs(%" + std::to_string(i - 1) + ")\n";
      defs += "def @f" + std::to_string(i) + "() { 1 }\n";
    }
    EXPECT_EQ(problem(graph + "%99999 }"), "");
    EXPECT_EQ(problem(defs), "");
  });
}

TEST(ParseRobust, HugeNonsense) {
  const std::clock_t begin = std::clock();
  for (const char* piece : {"(", "{", "-", "/*", "%", "\"", "<", "fn", "#"}) {
    EXPECT_NE(problem(repeat(piece, 20'000'000 / std::string(piece).size())), "") << piece;
  }
  // Each takes a fraction of a second even under a sanitizer.
  EXPECT_LT(std::clock() - begin, 60 * CLOCKS_PER_SEC);
}

TEST(ParseRobust, MutatedPrograms) {
  std::vector<std::string> programs = seed_programs();
  ASSERT_FALSE(programs.empty());
  std::mt19937 random(20240613);
  const std::vector<std::string> pieces = {"(",
                                           ")",
                                           "{",
                                           "}",
                                           "[",
                                           "]",
                                           "<",
                                           ">",
                                           ",",
                                           ";",
                                           ":",
                                           "=",
                                           "->",
                                           "=>",
                                           "-",
                                           "%x",
                                           "@f",
                                           "let ",
                                           "fn",
                                           "match ",
                                           "meta[relay.Constant][0]",
                                           "%0 = ",
                                           "1",
                                           "0.5f",
                                           "Constant(",
                                           "ref(",
                                           "type T { A }",
                                           "where Broadcast",
                                           "\"",
                                           "/*",
                                           "\n",
                                           "Tensor[(n",
                                           "?",
                                           "if (",
                                           "else",
                                           "def @g"};
  for (int round = 0; round < 4000; ++round) {
    std::string text = programs[random() % programs.size()];
    for (size_t change = random() % 4 + 1; change > 0 && !text.empty(); --change) {
      size_t at = random() % text.size();
      size_t length = std::min<size_t>(random() % 12, text.size() - at);
      switch (random() % 5) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text.insert(at, pieces[random() % pieces.size()]);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
        case 3:
          text[at] = static_cast<char>(random() % 256);
          break;
        default:
          text.replace(at, length, pieces[random() % pieces.size()]);
          break;
      }
    }
    ParseResult result = parse_text("mutated", text);
    render(result.diagnostics);
    // A text that is still a program prints to the same program.
    if (!result.ok()) continue;
    std::string printed = print_module(result.module);
    ParseResult again = parse_text("printed", printed);
    ASSERT_TRUE(again.ok()) << text << "\n" << printed << render(again.diagnostics);
    std::string why;
    ASSERT_TRUE(structural_equal(result.module, again.module, {}, &why)) << text << "\n"
                                                                         << printed << why;
  }
}

TEST(ParseRobust, Truncated) {
  for (const std::string& program : seed_programs()) {
    size_t step = std::max<size_t>(1, program.size() / 500);
    for (size_t length = 0; length < program.size(); length += step)
      parse_text("t", program.substr(0, length));
  }
}

}  // namespace
}  // namespace relay::parse_robust_test
