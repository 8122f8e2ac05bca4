// Programs made from seeds, and mutants of them: text, types and errors of the whole front end.
// RELAY_RANDOM_PROGRAMS sets how many, RELAY_RANDOM_SEED from which on.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include <relay/infer/infer.h>
#include <relay/parse/lexer.h>
#include <relay/support/error.h>

#include <tests/support/random_program.h>
#include <tests/support/round_trip.h>
#include <tests/support/setting.h>
#include <tests/support/typed_program.h>
#include <tests/unit/test_paths.h>

namespace relay::front_end_random_test {
namespace {

uint32_t programs(uint32_t usual) { return testing::setting("RELAY_RANDOM_PROGRAMS", usual); }
uint32_t first_seed() { return testing::setting("RELAY_RANDOM_SEED", 0); }

bool has_error(const std::vector<Diagnostic>& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::kError; });
}

TEST(FrontEndRandom, TypedProgramsPrintParseAndKeepTheirTypes) {
  const uint32_t first = first_seed();
  for (uint32_t seed = first; seed < first + programs(300); ++seed) {
    Module module = testing::TypedProgram(seed, seed % 2 == 1).module();
    ASSERT_EQ(testing::round_trip_problem(module), "") << "seed " << seed;
    Module again = parse_module("printed", print_module(module));
    std::vector<Diagnostic> problems = infer_types(again);
    ASSERT_FALSE(has_error(problems)) << "seed " << seed << render(problems);
    infer_types_or_throw(module);
    ASSERT_EQ(function_signature(module, "main")->str(), function_signature(again, "main")->str())
        << "seed " << seed;
  }
}

TEST(FrontEndRandom, AnyProgramPrintsAndParses) {
  const uint32_t first = first_seed();
  for (uint32_t seed = first; seed < first + programs(300); ++seed) {
    testing::RandomProgramOptions options;
    options.references = seed % 2 == 1;
    options.size = 20 + static_cast<int>(seed % 5) * 40;
    Module module = testing::RandomProgram(seed + 1000000, options).module();
    ASSERT_EQ(testing::round_trip_problem(module), "") << "seed " << seed;
  }
}

// Tokens of a program, as texts with the blanks before them.
std::vector<std::string> tokens_of(const std::string& text) {
  parsing::SymbolTable symbols(64);
  parsing::Lexer lexer(text, &symbols);
  std::vector<std::string> tokens;
  size_t last = 0;
  for (parsing::Token token = lexer.next(); !token.is(parsing::Tok::kEnd); token = lexer.next()) {
    tokens.push_back(text.substr(last, token.end - last));
    last = token.end;
  }
  return tokens;
}

// One to three tokens are left out, doubled, exchanged, or taken from another program.
std::string mutant(std::vector<std::string> tokens, const std::vector<std::string>& other,
                   std::mt19937& random) {
  for (size_t change = random() % 3 + 1; change > 0 && tokens.size() > 1; --change) {
    const size_t at = random() % tokens.size();
    const auto place = tokens.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random() % 4) {
      case 0:
        tokens.erase(place);
        break;
      case 1:
        tokens.insert(place, std::string(tokens[at]));
        break;
      case 2:
        std::swap(tokens[at], tokens[random() % tokens.size()]);
        break;
      default:
        tokens[at] = " " + other[random() % other.size()];
        break;
    }
  }
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

// Errors of a text have a place in it, and something to say.
void expect_told(const std::vector<Diagnostic>& diagnostics, const std::string& text) {
  for (const Diagnostic& diagnostic : diagnostics) {
    ASSERT_FALSE(diagnostic.message.empty()) << text;
    ASSERT_TRUE(diagnostic.span.known()) << diagnostic.message << "\n" << text;
    ASSERT_FALSE(SourceMap::locate(diagnostic.span).file.empty()) << diagnostic.message << "\n"
                                                                  << text;
  }
}

TEST(FrontEndRandom, MutantsAreProgramsOrGetErrorsWithPlaces) {
  std::vector<std::vector<std::string>> all;
  for (const auto& path : testing::program_files({"examples"}))
    all.push_back(tokens_of(testing::read_text(path)));
  for (uint32_t seed = 0; seed < 20; ++seed) {
    all.push_back(tokens_of(print_module(testing::TypedProgram(seed, seed % 2 == 1).module())));
    all.push_back(tokens_of(print_module(testing::RandomProgram(seed).module())));
  }
  std::erase_if(all, [](const auto& tokens) { return tokens.size() < 2; });
  std::mt19937 random(7 + first_seed());
  size_t right = 0;
  size_t wrong = 0;
  for (uint32_t round = 0; round < programs(600); ++round) {
    const std::string text = mutant(all[random() % all.size()], all[random() % all.size()], random);
    ParseResult parsed = parse_text("mutant", text);
    expect_told(parsed.diagnostics, text);
    if (HasFatalFailure()) return;
    render(parsed.diagnostics);
    if (!parsed.ok()) {
      ++wrong;
      continue;
    }
    ASSERT_EQ(testing::round_trip_problem(parsed.module), "") << text;
    std::vector<Diagnostic> problems = infer_types(parsed.module);
    if (!has_error(problems)) {
      std::vector<Diagnostic> more = check_instances(parsed.module);
      problems.insert(problems.end(), more.begin(), more.end());
    }
    expect_told(problems, text);
    if (HasFatalFailure()) return;
    render(problems);
    ++(has_error(problems) ? wrong : right);
  }
  EXPECT_GT(wrong, 0u);
  EXPECT_GT(right, 0u);
}

}  // namespace
}  // namespace relay::front_end_random_test
