// What is known of an open text: its chunks, their functions with types, and what is wrong. After
// an edit, only the definitions that it touches are read again, and only those whose types depend
// on them are typed again.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <relay/infer/again.h>
#include <relay/ir/module.h>
#include <relay/lsp/chunk.h>
#include <relay/lsp/lint.h>
#include <relay/lsp/text.h>
#include <relay/support/diagnostic.h>

namespace relay::lsp {

/// A chunk in its place.
struct Placed {
  ChunkRef chunk;
  size_t begin = 0;  // of its text in the whole
};

/// Bytes of the text.
struct Place {
  size_t begin = 0;
  size_t end = 0;
  bool known = false;
};

/// A diagnostic with places in the text instead of spans.
struct Finding {
  struct Note {
    DiagnosticNote::Kind kind = DiagnosticNote::Kind::kNote;
    std::string message;
    Place place;
  };
  struct Fix {
    Place place;
    std::string text;
  };
  Severity severity = Severity::kError;
  std::string message;
  std::string code;
  Place place;
  std::vector<Note> notes;
  std::vector<Fix> fixes;    // to be made together
  bool unnecessary = false;  // the text there can go
};

class Analysis {
 public:
  /// Takes a new text: cuts it and finds names. Types stay those of the last `check`.
  void set_text(std::string text);
  /// Parses and types what has changed since the last time, and finds out what is wrong. Errors in
  /// instances and devices stay those of the last `check_deeply`.
  void check();
  /// Finds errors that show only in the instances that the program needs, and in its devices: this
  /// looks at the whole program. True if `findings` changes.
  bool check_deeply();
  /// Forgets everything but the text, so that the next `check` reads all of it.
  void forget();

  const std::string& text() const { return text_; }
  const LineIndex& lines() const { return lines_; }
  const std::vector<Placed>& chunks() const { return chunks_; }
  const std::vector<Finding>& findings() const { return findings_; }
  /// The functions that are right, and the last right form of others.
  const Module& module() const { return module_; }
  /// The number of the chunk that an offset is in.
  size_t chunk_at(size_t offset) const;
  /// The functions of a chunk; none if its text is wrong.
  std::vector<const Function*> functions_of(const Chunk* chunk) const;
  /// Bytes of a chunk as the spans of its functions say them.
  Span span_of(const Chunk* chunk, size_t begin, size_t end) const;
  /// The place of a span of a function; unknown if its text is gone.
  Place place_of(Span span) const;

 private:
  // The parse of a chunk; `source` has its text at `at`.
  struct Parsed {
    ChunkRef chunk;  // keeps the key alive
    std::shared_ptr<const Source> source;
    size_t at = 0;
    bool good = false;
    std::vector<Module::FunctionEntry> functions;
    std::vector<Diagnostic> problems;  // of its text
    std::vector<Diagnostic> warnings;  // of its types, from when these were found
  };
  // Chunks whose text is parsed at once.
  struct Batch {
    std::string text;
    std::vector<std::pair<const Chunk*, size_t>> parts;
    std::shared_ptr<const Source> source;
    void add(const Chunk* chunk);
    const Chunk* at(Span span) const;
  };

  bool whole() const { return chunks_.size() == 1; }
  void read_environment();
  std::vector<const Placed*> chunks_to_read();
  void read(const std::vector<const Placed*>& chunks);
  void keep(const Batch& batch, Module module, std::vector<Diagnostic> diagnostics);
  void assemble();
  void find_types();
  void collect_findings();
  void add_lints();
  void add_finding(const Diagnostic& diagnostic);
  void take_fixes(const Diagnostic& diagnostic, Finding& finding) const;
  bool is_caused_elsewhere(const Diagnostic& diagnostic) const;
  void drop_old();

  std::string text_;
  LineIndex lines_;
  std::vector<Placed> chunks_;
  std::unordered_map<const Chunk*, size_t> begins_;
  std::unordered_map<std::string, size_t> defined_;  // global names and their definitions' number
  std::unordered_map<const Chunk*, Parsed> parsed_;
  std::unordered_map<uint64_t, Batch> batches_;  // by the base of their source
  std::unordered_map<std::string, size_t> defined_before_;
  std::string environment_text_;
  bool was_whole_ = true;
  Module environment_;
  std::vector<Diagnostic> environment_problems_;
  std::unordered_map<std::string, Module::FunctionEntry> last_good_;
  std::vector<Diagnostic> type_errors_;
  std::vector<Diagnostic> deep_errors_;
  Module module_;
  InferredAs inferred_;  // what its functions were typed as
  std::vector<Finding> findings_;
  LintFinder lints_;
};

}  // namespace relay::lsp
