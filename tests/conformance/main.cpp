// Runs recorded cases and says which passed, which failed and which do not apply.
//   relay_conformance KIND FILE… [--differences FILE] [--executor eval|vm] [--target T] [--verbose]
// KIND is ops, types, passes or analyses. A failing case is excused if its name stands in backticks
// in the file of differences as `FILE-NAME: CASE-NAME`. Exit code 1 if a case fails without excuse,
// or if an excused one passes.
#include <cstdio>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/core.h>

#include <tests/conformance/data.h>

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

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::string kind;
  std::vector<std::string> files;
  std::set<std::string> excuses;
  bool verbose = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--differences" && i + 1 < arguments.size()) {
      excuses = read_excuses(arguments[++i]);
    } else if (arguments[i] == "--executor" && i + 1 < arguments.size()) {
      executor = arguments[++i];
    } else if (arguments[i] == "--target" && i + 1 < arguments.size()) {
      target = arguments[++i];
    } else if (arguments[i] == "--verbose") {
      verbose = true;
    } else if (kind.empty()) {
      kind = arguments[i];
    } else {
      files.push_back(arguments[i]);
    }
  }
  Outcome (*run)(const Json&) = kind == "ops"        ? run_op_case
                                : kind == "types"    ? run_type_case
                                : kind == "analyses" ? run_analysis_case
                                : kind == "passes"   ? run_pass_case
                                                     : nullptr;
  if (run == nullptr || files.empty()) {
    fmt::print(stderr,
               "usage: relay_conformance ops|types|passes|analyses FILE… [--differences FILE] "
               "[--executor eval|vm|vm-direct] [--target T] [--verbose]\n");
    return 2;
  }
  size_t passed = 0;
  size_t excused = 0;
  size_t wrong = 0;
  std::map<std::string, std::vector<std::string>> not_applicable;
  for (const std::string& file : files) {
    for (const Json& json : read_lines(file)) {
      std::string name = stem(file) + ": " + json.at("name").get<std::string>();
      Outcome outcome = run(json);
      bool has_excuse = excuses.count(name) > 0;
      if (outcome.verdict == Verdict::kNotApplicable) {
        not_applicable[outcome.detail].push_back(name);
      } else if (outcome.verdict == Verdict::kPassed) {
        ++passed;
        if (verbose) fmt::print("passed          {}\n", name);
        if (has_excuse) {
          ++wrong;
          fmt::print("FAILED          {}: listed as a difference, but passes\n", name);
        }
      } else if (has_excuse) {
        ++excused;
        fmt::print("difference      {}: {}\n", name, first_line(outcome.detail));
      } else {
        ++wrong;
        fmt::print("FAILED          {}: {}\n", name,
                   verbose ? outcome.detail : first_line(outcome.detail));
      }
    }
  }
  size_t skipped = 0;
  for (const auto& [why, names] : not_applicable) {
    skipped += names.size();
    fmt::print("not applicable  {} ({})", why, names.size());
    if (verbose) {
      for (const std::string& name : names) fmt::print("\n                {}", name);
    }
    fmt::print("\n");
  }
  fmt::print("{} passed, {} failed, {} documented differences, {} not applicable\n", passed, wrong,
             excused, skipped);
  return wrong == 0 ? 0 : 1;
}
