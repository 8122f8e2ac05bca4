// A target from a file: the record of a processor that `relay machine --format json` prints,
// perhaps on another machine.
#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include <relay/codegen/codegen.h>
#include <relay/support/error.h>
#include <relay/support/suggest.h>

namespace relay::codegen {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostOfFile = 64 << 10;  // of a file

// The facts that plans are made by, which a file may state. The others that the command prints
// follow from the target's name, or were measured and decide nothing.
struct Fact {
  const char* name;
  int64_t least, most;
};
constexpr Fact kLine{"line_bytes", 16, 1024};
constexpr Fact kFirst{"first_cache_bytes", 1 << 10, 1 << 24};
constexpr Fact kFirstWays{"first_cache_ways", 1, 128};
constexpr Fact kSecond{"second_cache_bytes", 1 << 12, int64_t{1} << 32};
constexpr Fact kLast{"last_cache_bytes", 1 << 12, int64_t{1} << 40};
constexpr std::array kFacts{kLine, kFirst, kFirstWays, kSecond, kLast};

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Target run() {
    const Json record = Json::parse(text(), nullptr, /*allow_exceptions=*/false);
    if (!record.is_object()) fail("it is no JSON object");
    const auto name = record.find("target");
    if (name == record.end() || !name->is_string())
      fail("it names no target: \"target\": \"avx2\" and the like");
    const auto named = name->get<std::string>();
    if (named == "host") fail("\"target\" is \"host\", which is another one on each machine");
    Target target = Target::named(named);
    check_names(record);
    take(record, target.processor);
    return target;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(Diagnostic::error("'" + path_ + "' describes no machine: " + reason)
                    .help("`relay machine --format json` prints such a file"));
  }

  std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    std::string read(kMostOfFile + 1, '\0');
    if (file) file.read(read.data(), static_cast<std::streamsize>(read.size()));
    if (!file.is_open() || file.bad()) {
      const int reason = errno;
      throw Error("cannot read '" + path_ + "': " + std::generic_category().message(reason));
    }
    read.resize(static_cast<size_t>(file.gcount()));
    if (read.size() > kMostOfFile)
      fail("it is larger than " + std::to_string(kMostOfFile) + " bytes");
    return read;
  }

  // A misspelt fact would be the usual one without a word.
  void check_names(const Json& record) const {
    std::vector<std::string> known;
    for (const Fact& fact : kFacts) known.emplace_back(fact.name);
    for (const auto& [name, value] : record.items()) {
      if (std::ranges::find(known, name) != known.end()) continue;
      const std::string meant = name.ends_with("_gb_per_s") ? "" : did_you_mean(name, known);
      if (!meant.empty()) fail("there is no fact '" + name + "'; " + meant);
    }
  }

  int64_t number(const Json& record, const Fact& fact, int64_t usual) const {
    const auto found = record.find(fact.name);
    if (found == record.end()) return usual;
    const bool fits = found->is_number_integer() && *found >= fact.least && *found <= fact.most;
    if (!fits)
      fail(std::string("\"") + fact.name + "\" is no whole number from " +
           std::to_string(fact.least) + " to " + std::to_string(fact.most));
    return found->get<int64_t>();
  }

  void take(const Json& record, lower::Processor& facts) const {
    const int64_t first = facts.line_bytes * facts.first_sets * facts.first_ways;
    facts.line_bytes = number(record, kLine, facts.line_bytes);
    facts.first_ways = number(record, kFirstWays, facts.first_ways);
    const int64_t bytes = number(record, kFirst, first), set = facts.line_bytes * facts.first_ways;
    if (bytes < set || bytes % set != 0)
      fail("the first cache has no whole number of sets: " + std::to_string(bytes) + " bytes, " +
           std::to_string(facts.first_ways) + " lines of " + std::to_string(facts.line_bytes) +
           " bytes in each");
    facts.first_sets = bytes / set;
    facts.second_bytes = number(record, kSecond, facts.second_bytes);
    facts.last_bytes = number(record, kLast, facts.last_bytes);
  }

  const std::string& path_;
};

}  // namespace

Target Target::load(const std::string& path) { return Reader(path).run(); }

}  // namespace relay::codegen
