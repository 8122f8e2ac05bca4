// Runs recorded cases and says which passed, which failed and which do not apply.
//   relay_conformance KIND FILE… [--differences FILE] [--pins FILE [--update]]
//                     [--executor eval|vm|vm-direct] [--target T] [--verbose]
// KIND is ops, types, passes, analyses or onnx (files of tests/onnx/write_cases.py). A failing case
// is excused if its name stands in backticks in the file of differences as `FILE-NAME: CASE-NAME`.
// Pins (pins.h) say how many cases of each file pass and what others lack. Exit code 1 if a case
// fails without excuse, if an excused one passes, if fewer pass than are pinned, or if a case lacks
// something that was there.
#include <cstdio>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/core.h>

#include <relay/codegen/codegen.h>
#include <relay/support/error.h>

#include <tests/conformance/data.h>
#include <tests/conformance/pins.h>

using namespace relay;
using namespace relay::conformance;

namespace {

std::set<std::string> read_excuses(const std::string& path) {
  std::set<std::string> names;
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::string content = text.str();
  static const std::regex quoted("`([^`\n]+)`");
  for (std::sregex_iterator it(content.begin(), content.end(), quoted), end; it != end; ++it) {
    names.insert((*it)[1]);
  }
  return names;
}

std::string stem(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.find('.'));
}

// The options and files of the command line.
struct Arguments {
  std::string kind, pins;
  std::vector<std::string> files;
  std::set<std::string> excuses;
  bool verbose = false;
  bool update = false;
};

Arguments read_arguments(const std::vector<std::string>& words) {
  Arguments result;
  for (size_t i = 0; i < words.size(); ++i) {
    bool more = i + 1 < words.size();
    if (words[i] == "--differences" && more) {
      result.excuses = read_excuses(words[++i]);
    } else if (words[i] == "--pins" && more) {
      result.pins = words[++i];
    } else if (words[i] == "--executor" && more) {
      executor = words[++i];
    } else if (words[i] == "--target" && more) {
      target = words[++i];
    } else if (words[i] == "--verbose") {
      result.verbose = true;
    } else if (words[i] == "--update") {
      result.update = true;
    } else if (result.kind.empty()) {
      result.kind = words[i];
    } else {
      result.files.push_back(words[i]);
    }
  }
  return result;
}

// The outcome of all cases.
class Run {
 public:
  explicit Run(Arguments arguments) : arguments_(std::move(arguments)) {
    if (!arguments_.pins.empty()) pins_ = Pins(arguments_.pins);
  }

  void cases(const std::string& file, Outcome (*run)(const Json&)) {
    const std::string suite = stem(file);
    suites_.insert(suite);
    case_folder = file.substr(0, file.rfind('/') + 1);
    Reached reached;
    for (const Json& json : read_lines(file)) {
      std::string name = suite + ": " + json.at("name").get<std::string>();
      met_.insert(name);
      judge(name, suite, run(json), reached);
    }
    if (arguments_.pins.empty()) return;
    std::string worse = pins_.worse(suite, reached);
    if (arguments_.update) {
      pins_.set(suite, std::move(reached));
    } else if (!worse.empty()) {
      fail(suite, worse);
    } else {
      better_ |= pins_.better(suite, reached);
    }
  }

  int finish() {
    for (const std::string& name : arguments_.excuses) {
      bool ours = suites_.contains(name.substr(0, name.find(": ")));
      if (lists_all() && ours && !met_.contains(name))
        fail(name, "is listed, and there is no such case");
    }
    size_t skipped = 0;
    for (const auto& [why, names] : not_applicable_) {
      skipped += names.size();
      fmt::print("not applicable  {} ({})", why, names.size());
      if (arguments_.verbose) {
        for (const std::string& name : names) fmt::print("\n                {}", name);
      }
      fmt::print("\n");
    }
    if (arguments_.update) pins_.write(arguments_.pins);
    if (better_) fmt::print("more is reached than is pinned: run tests/update_pins\n");
    fmt::print("{} passed, {} failed, {} documented differences, {} not applicable\n", passed_,
               failed_, excused_, skipped);
    return failed_ == 0 ? 0 : 1;
  }

 private:
  bool lists_all() const { return arguments_.kind == "onnx" && !arguments_.excuses.empty(); }

  void fail(const std::string& name, const std::string& why) {
    ++failed_;
    fmt::print("FAILED          {}: {}\n", name, arguments_.verbose ? why : first_line(why));
  }

  void judge(const std::string& name, const std::string& suite, const Outcome& outcome,
             Reached& reached) {
    bool has_excuse = arguments_.excuses.count(name) > 0;
    switch (outcome.verdict) {
      case Verdict::kNotApplicable:
        reached.lacks.insert(outcome.detail);
        not_applicable_[outcome.detail].push_back(name);
        if (lists_all() && !has_excuse) {
          fail(name, "is left out for " + outcome.detail + ", and not listed");
        }
        if (!arguments_.pins.empty() && !arguments_.update && !pins_.allows(suite, outcome.detail))
          fail(name, "there is no " + outcome.detail + " any more");
        break;
      case Verdict::kPassed:
        if (has_excuse) return fail(name, "listed as a difference, but passes");
        ++passed_;
        ++reached.passed;
        if (arguments_.verbose) fmt::print("passed          {}\n", name);
        break;
      case Verdict::kFailed:
        if (!has_excuse) return fail(name, outcome.detail);
        ++excused_;
        ++reached.differences;
        fmt::print("difference      {}: {}\n", name, first_line(outcome.detail));
        break;
    }
  }

  Arguments arguments_;
  Pins pins_;
  size_t passed_ = 0, excused_ = 0, failed_ = 0;
  bool better_ = false;
  std::set<std::string> suites_, met_;
  std::map<std::string, std::vector<std::string>> not_applicable_;
};

}  // namespace

int main(int argc, char** argv) try {
  Arguments arguments = read_arguments(std::vector<std::string>(argv + 1, argv + argc));
  const std::string& kind = arguments.kind;
  Outcome (*run)(const Json&) = kind == "ops"        ? run_op_case
                                : kind == "types"    ? run_type_case
                                : kind == "analyses" ? run_analysis_case
                                : kind == "passes"   ? run_pass_case
                                : kind == "onnx"     ? run_onnx_case
                                                     : nullptr;
  if (run == nullptr || arguments.files.empty() || (arguments.update && arguments.pins.empty())) {
    fmt::print(stderr,
               "usage: relay_conformance ops|types|passes|analyses|onnx FILE… [--differences FILE] "
               "[--pins FILE [--update]] [--executor eval|vm|vm-direct] [--target T] "
               "[--verbose]\n");
    return 2;
  }
  if (!codegen::Target::parse(target).runs_here()) {
    constexpr int kSkipped = 77;
    fmt::print("skipped: this machine does not run {}\n", target);
    return kSkipped;
  }
  Run all(arguments);
  for (const std::string& file : arguments.files) all.cases(file, run);
  return all.finish();
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 2;
}
