// Ready-made instruments for pass contexts: times, texts, differences, files, counts, memory,
// traces, progress.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <relay/transform/pass_context.h>

namespace relay {

/// The target of printed text.
using TextSink = std::function<void(const std::string&)>;

/// The time of each pass, in the order in which they began.
struct PassTimes {
  struct Entry {
    std::string pass;
    double begin_seconds = 0;  // since the first pass began
    double seconds = 0;
    int depth = 0;  // number of passes that were running around it
    bool changed = false;
  };
  std::vector<Entry> entries;
  /// A table: milliseconds, share, number of runs, passes by their total, longest first.
  std::string table() const;
  /// Complete events of Chrome's trace format, as JSON.
  std::string chrome_trace() const;
};
PassInstrument time_passes(std::shared_ptr<PassTimes> times);

/// Prints modules as text, with a line that names the pass.
enum class PrintWhen : uint8_t { kBefore, kAfter, kChanged, kDifference };
struct PrintPasses {
  PrintWhen when = PrintWhen::kAfter;
  /// These passes only; none: all.
  std::vector<std::string> passes = {};
  bool show_types = false;
  /// Escape sequences for a terminal: removed lines red, added ones green.
  bool colour = false;
};
PassInstrument print_passes(TextSink sink, PrintPasses options = {});

/// Writes every module that differs from the one before to `folder`/NNN-PASS.rly, the first one to
/// 000-input.rly. Makes the folder. Throws `Error` if it cannot write.
PassInstrument dump_passes(const std::string& folder);

/// The number of calls of each operator after each pass that changed it.
struct OpCounts {
  struct Entry {
    std::string pass;  // empty: before the first
    std::map<std::string, int64_t> calls;
  };
  std::vector<Entry> entries;
  /// One line for each pass: the operators with more and with fewer calls.
  std::string table() const;
};
PassInstrument count_ops(std::shared_ptr<OpCounts> counts);

/// The memory that the process has allocated before and after each pass, in bytes.
struct PassMemory {
  struct Entry {
    std::string pass;
    int64_t before = 0, after = 0;
  };
  std::vector<Entry> entries;
  std::string table() const;
};
PassInstrument measure_memory(std::shared_ptr<PassMemory> memory);

/// Checks each result to be well formed and well typed, as the configuration keys
/// `relay.verify_passes` and `relay.verify_types` do. Throws InternalError.
PassInstrument verify_each();

/// One line that names the running pass, shown after `threshold` seconds of one context,
/// overwritten by the next and removed at the end.
PassInstrument show_progress(TextSink sink, double threshold = 1);

/// The change from one text to the other: lines with `-`, `+` and, around them, three unchanged
/// ones with a space; `@@` stands for omitted lines. Empty for equal texts.
std::string line_difference(const std::string& before, const std::string& after,
                            bool colour = false);

}  // namespace relay
