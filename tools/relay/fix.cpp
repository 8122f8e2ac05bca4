// relay check --fix: makes the safe changes that diagnostics propose.
#include <algorithm>
#include <filesystem>

#include <fmt/core.h>

#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/runtime/file.h>
#include <relay/support/error.h>

#include <tools/relay/command.h>

namespace relay::tool {

namespace {

// What is wrong with a text: with its types where it parses.
std::vector<Diagnostic> problems_of(const std::shared_ptr<const Source>& source) {
  ParseResult parsed = parse_source(source);
  if (!parsed.ok()) return std::move(parsed.diagnostics);
  std::vector<Diagnostic> problems = std::move(parsed.diagnostics);
  for (Diagnostic& diagnostic : infer_types(parsed.module))
    problems.push_back(std::move(diagnostic));
  return problems;
}

// The changes that are safe, without those that overlap earlier ones, from the end to the beginning
// of the text.
std::vector<FixIt> safe_changes(const std::vector<Diagnostic>& problems, const Source& source) {
  std::vector<FixIt> changes;
  for (const Diagnostic& problem : problems) {
    const bool safe =
        std::all_of(problem.fixes.begin(), problem.fixes.end(), [&](const FixIt& fix) {
          return fix.safe && fix.span.begin() >= source.base() &&
                 fix.span.end() <= source.base() + source.text().size();
        });
    if (safe) changes.insert(changes.end(), problem.fixes.begin(), problem.fixes.end());
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const FixIt& a, const FixIt& b) { return a.span.begin() > b.span.begin(); });
  std::vector<FixIt> apart;
  for (FixIt& change : changes) {
    if (!apart.empty() && (change.span.end() > apart.back().span.begin() ||
                           change.span.begin() == apart.back().span.begin()))
      continue;
    apart.push_back(std::move(change));
  }
  return apart;
}

}  // namespace

size_t fix_program(const std::string& path) {
  if (path == "-") throw UsageError("check --fix needs a file, not standard input");
  std::error_code none;
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none))
    throw UsageError("check --fix needs a file that it can write: " + path + " is none");
  constexpr size_t kMostRounds = 20;  // a change may show the next mistake
  Input input = read_input(path);
  size_t made = 0;
  for (size_t round = 0; round < kMostRounds; ++round) {
    std::shared_ptr<const Source> source = SourceMap::add(input.name, input.text);
    std::vector<FixIt> changes = safe_changes(problems_of(source), *source);
    if (changes.empty()) break;
    for (const FixIt& change : changes)
      input.text.replace(change.span.begin() - source->base(), change.span.length(), change.text);
    made += changes.size();
  }
  if (made == 0) return 0;
  OutputFile file(path);
  file.write(input.text.data(), input.text.size());
  file.commit();
  fmt::print(stderr, "{}: {} {} made\n", input.name, made, made == 1 ? "change" : "changes");
  return made;
}

}  // namespace relay::tool
