#include <relay/lsp/analysis.h>

#include <algorithm>
#include <utility>

#include <relay/infer/devices/devices.h>

#include <relay/lsp/lint.h>
#include <relay/parse/imports.h>
#include <relay/parse/parse.h>
#include <relay/support/error.h>

namespace relay::lsp {
namespace {

constexpr size_t kMostFindings = 1000;  // more are of no use to a person

bool is_error(const Diagnostic& diagnostic) { return diagnostic.severity == Severity::kError; }

}  // namespace

void Analysis::Batch::add(const Chunk* chunk) {
  parts.emplace_back(chunk, text.size());
  text += chunk->text;
  text += '\n';
}

const Chunk* Analysis::Batch::at(Span span) const {
  if (!span.known() || source == nullptr || parts.empty()) return nullptr;
  const uint64_t offset = span.begin() - source->base();
  if (span.begin() < source->base() || offset > text.size()) return nullptr;
  auto part = std::upper_bound(parts.begin(), parts.end(), offset,
                               [](uint64_t at, const auto& one) { return at < one.second; });
  return part == parts.begin() ? nullptr : (part - 1)->first;
}

void Analysis::set_text(std::string text) {
  const Replaced change = Replaced::between(text_, text);
  std::vector<Piece> before;
  before.reserve(chunks_.size());
  for (const Placed& one : chunks_)
    before.push_back({one.begin, one.begin + one.chunk->text.size(), one.chunk->environment});
  text_ = std::move(text);
  lines_ = LineIndex(text_);
  const std::vector<Piece> pieces = cut_again(text_, before, change);
  auto same = [&](const Piece& piece, const Placed& old) {
    return old.chunk->environment == piece.environment &&
           old.chunk->text == std::string_view(text_).substr(piece.begin, piece.end - piece.begin);
  };
  const size_t common = std::min(pieces.size(), chunks_.size());
  size_t first = 0;
  while (first < common && same(pieces[first], chunks_[first])) ++first;
  size_t last = 0;
  while (last < common - first &&
         same(pieces[pieces.size() - 1 - last], chunks_[chunks_.size() - 1 - last]))
    ++last;
  std::vector<Placed> placed;
  placed.reserve(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    ChunkRef chunk;
    if (i < first) {
      chunk = chunks_[i].chunk;
    } else if (i >= pieces.size() - last) {
      chunk = chunks_[chunks_.size() - (pieces.size() - i)].chunk;
    } else {
      chunk = std::make_shared<const Chunk>(
          text_.substr(pieces[i].begin, pieces[i].end - pieces[i].begin), pieces[i].environment);
    }
    placed.push_back({std::move(chunk), pieces[i].begin});
  }
  chunks_ = std::move(placed);
  begins_.clear();
  defined_.clear();
  for (const Placed& one : chunks_) {
    begins_.emplace(one.chunk.get(), one.begin);
    for (const GlobalUse& use : one.chunk->names.globals) {
      if (use.defines) ++defined_[use.name];
    }
  }
}

void Analysis::forget() {
  parsed_.clear();
  batches_.clear();
  last_good_.clear();
  environment_text_.clear();
  environment_ = {};
  environment_problems_.clear();
  type_errors_.clear();
  deep_errors_.clear();
  module_ = {};
}

size_t Analysis::chunk_at(size_t offset) const {
  auto after = std::upper_bound(chunks_.begin(), chunks_.end(), offset,
                                [](size_t at, const Placed& placed) { return at < placed.begin; });
  return after == chunks_.begin() ? 0 : static_cast<size_t>(after - chunks_.begin()) - 1;
}

std::vector<const Function*> Analysis::functions_of(const Chunk* chunk) const {
  std::vector<const Function*> functions;
  auto parsed = parsed_.find(chunk);
  if (parsed == parsed_.end()) return functions;
  for (const Module::FunctionEntry& entry : parsed->second.functions)
    functions.push_back(entry.function.get());
  return functions;
}

Span Analysis::span_of(const Chunk* chunk, size_t begin, size_t end) const {
  auto parsed = parsed_.find(chunk);
  if (parsed == parsed_.end() || parsed->second.source == nullptr) return {};
  return parsed->second.source->span(parsed->second.at + begin, end - begin);
}

Place Analysis::place_of(Span span) const {
  std::shared_ptr<const Source> source = SourceMap::find(span);
  if (source == nullptr) return {};
  auto batch = batches_.find(source->base());
  if (batch == batches_.end()) return {};
  const Chunk* chunk = batch->second.at(span);
  auto begin = begins_.find(chunk);
  if (begin == begins_.end()) return {};
  const auto part = std::find_if(batch->second.parts.begin(), batch->second.parts.end(),
                                 [&](const auto& one) { return one.first == chunk; });
  auto parsed = parsed_.find(chunk);
  if (parsed != parsed_.end() && parsed->second.source != source) return {};
  const size_t at = span.begin() - source->base() - part->second;
  const size_t to = std::min(at + span.length(), chunk->text.size());
  return {begin->second + std::min(at, to), begin->second + to, true};
}

// Data types and imports, if they have changed: then all else is read again.
void Analysis::read_environment() {
  Batch batch;
  bool empty = true;
  if (!whole()) {
    for (const Placed& placed : chunks_) {
      if (!placed.chunk->environment) continue;
      batch.add(placed.chunk.get());
      // A version line alone is no program.
      const auto& tokens = placed.chunk->syntax.tokens;
      empty &=
          tokens.size() == 1 || (tokens[0].kind == parsing::Tok::kVersion && tokens.size() <= 5);
    }
  }
  const bool was_whole = std::exchange(was_whole_, whole());
  const bool again = whole() && !parsed_.contains(chunks_[0].chunk.get());
  if (batch.text == environment_text_ && was_whole == whole() && !again) {
    // The chunks may be new ones with the same text.
    for (auto& [base, known] : batches_) {
      if (known.text == batch.text) known.parts = batch.parts;
    }
    return;
  }
  forget();
  environment_text_ = batch.text;
  if (empty) return;
  batch.source = SourceMap::add("", batch.text);
  ParseResult parsed = parse_source(batch.source);
  environment_problems_ = std::move(parsed.diagnostics);
  environment_ = std::move(parsed.module);
  batches_[batch.source->base()] = std::move(batch);
}

// New chunks, and those that mention or define a name that came or went.
std::vector<const Placed*> Analysis::chunks_to_read() {
  std::unordered_set<std::string> changed;
  for (const auto& [name, count] : defined_) {
    auto before = defined_before_.find(name);
    if (before == defined_before_.end() || before->second != count) changed.insert(name);
  }
  for (const auto& [name, count] : defined_before_) {
    if (!defined_.contains(name)) changed.insert(name);
  }
  // An error may come from the definition before, which has changed: it is looked for again.
  auto is_new = [&](const Placed& placed) {
    auto parsed = parsed_.find(placed.chunk.get());
    return parsed == parsed_.end() || !parsed->second.good;
  };
  for (const Placed& placed : chunks_) {
    if (parsed_.contains(placed.chunk.get())) continue;
    // Another definition of the same name is wrong because of it, or right again.
    for (const GlobalUse& use : placed.chunk->names.globals) {
      if (use.defines && defined_[use.name] > 1) changed.insert(use.name);
    }
  }
  std::vector<const Placed*> chunks;
  for (const Placed& placed : chunks_) {
    if (placed.chunk->environment && !whole()) continue;
    const std::vector<GlobalUse>& globals = placed.chunk->names.globals;
    if (is_new(placed) || std::any_of(globals.begin(), globals.end(), [&](const GlobalUse& use) {
          return changed.contains(use.name);
        }))
      chunks.push_back(&placed);
  }
  defined_before_ = defined_;
  return chunks;
}

void Analysis::read(const std::vector<const Placed*>& chunks) {
  Batch batch;
  std::unordered_set<const Chunk*> inside;
  for (const Placed* placed : chunks) {
    inside.insert(placed->chunk.get());
    batch.add(placed->chunk.get());
  }
  Module known = environment_;
  for (const Placed& placed : chunks_) {
    auto parsed = parsed_.find(placed.chunk.get());
    if (parsed == parsed_.end() || inside.contains(placed.chunk.get())) continue;
    for (const Module::FunctionEntry& entry : parsed->second.functions) {
      if (known.function(entry.name) == nullptr) known.add_function(entry.name, entry.function);
    }
  }
  for (const Placed* placed : chunks) {
    Parsed& parsed = parsed_[placed->chunk.get()];
    parsed = {};
    parsed.chunk = placed->chunk;
  }
  batch.source = SourceMap::add("", batch.text);
  ParseResult result = parse_source(batch.source, std::move(known));
  keep(batch, std::move(result.module), std::move(result.diagnostics));
  batches_[batch.source->base()] = std::move(batch);
}

void Analysis::keep(const Batch& batch, Module module, std::vector<Diagnostic> diagnostics) {
  for (const auto& [chunk, at] : batch.parts) {
    Parsed& parsed = parsed_[chunk];
    parsed.source = batch.source;
    parsed.at = at;
    parsed.good = true;
  }
  for (Diagnostic& diagnostic : diagnostics) {
    const Chunk* chunk = batch.at(diagnostic.span);
    if (chunk == nullptr) chunk = batch.parts.back().first;
    if (is_caused_elsewhere(diagnostic)) continue;
    Parsed& parsed = parsed_[chunk];
    if (is_error(diagnostic)) parsed.good = false;
    parsed.problems.push_back(std::move(diagnostic));
  }
  for (const Module::FunctionEntry& entry : module.functions()) {
    const Chunk* chunk = batch.at(entry.function->span());
    if (chunk == nullptr) continue;
    Parsed& parsed = parsed_[chunk];
    if (!parsed.good) continue;
    parsed.functions.push_back(entry);
    last_good_[entry.name.str()] = entry;
  }
  if (whole() && parsed_[batch.parts[0].first].good) {
    environment_ = std::move(module);
    std::vector<Name> own;
    for (const Module::FunctionEntry& entry : environment_.functions()) {
      if (!is_imported(entry.function->span())) own.push_back(entry.name);
    }
    for (const Name& name : own) environment_.remove_function(name);
  }
}

// The module of all functions as they are, or as they were when they were right.
void Analysis::assemble() {
  Module module = environment_;
  auto add = [&](const Module::FunctionEntry& entry) {
    if (module.function(entry.name) == nullptr) module.add_function(entry.name, entry.function);
  };
  for (const Placed& placed : chunks_) {
    auto parsed = parsed_.find(placed.chunk.get());
    if (parsed == parsed_.end()) continue;
    if (parsed->second.source) module.add_source(parsed->second.source);
    for (const Module::FunctionEntry& entry : parsed->second.functions) add(entry);
    if (parsed->second.good) continue;
    for (const GlobalUse& use : placed.chunk->names.globals) {
      auto old = last_good_.find(use.name);
      if (use.defines && old != last_good_.end()) add(old->second);
    }
  }
  std::erase_if(last_good_, [&](const auto& entry) {
    return !defined_.contains(entry.first) && entry.first != "main";
  });
  module_ = std::move(module);
}

void Analysis::find_types() {
  std::unordered_set<const Function*> typed;
  for (const Module::FunctionEntry& entry : module_.functions()) {
    if (entry.function->type() != nullptr) typed.insert(entry.function.get());
  }
  std::vector<Diagnostic> found = infer_types_again(module_, inferred_);
  for (auto& [chunk, parsed] : parsed_) {
    for (Module::FunctionEntry& entry : parsed.functions) {
      const Function* now = module_.function(entry.name);
      if (now == nullptr) continue;
      if (now != entry.function.get() || !typed.contains(now)) parsed.warnings.clear();
      if (now == entry.function.get()) continue;
      entry.function = FunctionRef(now);
      last_good_[entry.name.str()] = entry;
    }
  }
  type_errors_.clear();
  for (Diagnostic& diagnostic : found) {
    if (is_caused_elsewhere(diagnostic)) continue;
    if (is_error(diagnostic)) {
      type_errors_.push_back(std::move(diagnostic));
      continue;
    }
    std::shared_ptr<const Source> source = SourceMap::find(diagnostic.span);
    auto batch = source == nullptr ? batches_.end() : batches_.find(source->base());
    const Chunk* chunk = batch == batches_.end() ? nullptr : batch->second.at(diagnostic.span);
    auto parsed = parsed_.find(chunk);
    if (parsed == parsed_.end()) continue;
    std::vector<Diagnostic>& warnings = parsed->second.warnings;
    // A function that is inferred in another role warns again.
    const bool known = std::any_of(warnings.begin(), warnings.end(), [&](const Diagnostic& old) {
      return old.span == diagnostic.span && old.message == diagnostic.message;
    });
    if (!known) warnings.push_back(std::move(diagnostic));
  }
}

bool Analysis::check_deeply() {
  std::vector<Diagnostic> found;
  if (type_errors_.empty()) {
    try {
      found = check_instances(module_);
      if (found.empty() && uses_devices(module_)) found = check_devices(module_);
    } catch (const Error& error) {
      found = error.diagnostics();
    }
  }
  if (found.empty() && deep_errors_.empty()) return false;
  deep_errors_ = std::move(found);
  collect_findings();
  return true;
}

void Analysis::collect_findings() {
  findings_.clear();
  for (const Diagnostic& diagnostic : environment_problems_) add_finding(diagnostic);
  auto add_all = [&](std::vector<Diagnostic> Parsed::*list) {
    for (const Placed& placed : chunks_) {
      auto parsed = parsed_.find(placed.chunk.get());
      if (parsed == parsed_.end()) continue;
      for (const Diagnostic& diagnostic : parsed->second.*list) add_finding(diagnostic);
    }
  };
  add_all(&Parsed::problems);
  for (const Diagnostic& diagnostic : type_errors_) add_finding(diagnostic);
  for (const Diagnostic& diagnostic : deep_errors_) add_finding(diagnostic);
  add_all(&Parsed::warnings);
  add_lints();
}

void Analysis::add_lints() {
  std::vector<ChunkRef> chunks;
  for (const Placed& placed : chunks_) chunks.push_back(placed.chunk);
  for (Lint& lint : lints_.find(chunks)) {
    // Text that is wrong may use more than can be seen.
    auto parsed = parsed_.find(chunks[lint.chunk].get());
    if (parsed == parsed_.end() || !parsed->second.good || findings_.size() >= kMostFindings)
      continue;
    const size_t begin = chunks_[lint.chunk].begin;
    Finding finding;
    finding.severity = Severity::kWarning;
    finding.message = std::move(lint.message);
    finding.code = lint.rule->name;
    finding.place = {begin + lint.begin, begin + lint.end, true};
    finding.unnecessary = lint.unnecessary;
    findings_.push_back(std::move(finding));
  }
}

// The rule that a diagnostic names and the changes that it proposes.
void Analysis::take_fixes(const Diagnostic& diagnostic, Finding& finding) const {
  finding.code = diagnostic.code;
  for (const auto& fix : diagnostic.fixes) {
    const Place place = place_of(fix.span);
    if (place.known) finding.fixes.push_back({place, fix.text});
  }
  if (finding.fixes.size() != diagnostic.fixes.size()) finding.fixes.clear();
}

void Analysis::add_finding(const Diagnostic& diagnostic) {
  if (findings_.size() >= kMostFindings) return;
  Finding finding;
  finding.severity = diagnostic.severity;
  finding.message = diagnostic.message;
  finding.place = place_of(diagnostic.span);
  // In the last right form of a definition that is wrong now.
  if (diagnostic.span.known() && !finding.place.known) return;
  for (const DiagnosticNote& note : diagnostic.notes)
    finding.notes.push_back({note.kind, note.message, place_of(note.span)});
  take_fixes(diagnostic, finding);
  findings_.push_back(std::move(finding));
}

// A global function that the text defines is unknown only because its definition is wrong.
bool Analysis::is_caused_elsewhere(const Diagnostic& diagnostic) const {
  std::shared_ptr<const Source> source = SourceMap::find(diagnostic.span);
  if (source == nullptr) return false;
  std::string_view text = source->text().substr(diagnostic.span.begin() - source->base());
  if (!text.starts_with('@')) return false;
  text = text.substr(0, diagnostic.span.length());
  return diagnostic.message.starts_with("unknown global ") && defined_.contains(plain_text(text));
}

void Analysis::drop_old() {
  std::erase_if(parsed_, [&](const auto& entry) { return !begins_.contains(entry.first); });
  std::unordered_set<uint64_t> live;
  for (const auto& [chunk, parsed] : parsed_) {
    if (parsed.source) live.insert(parsed.source->base());
  }
  std::erase_if(batches_, [&](const auto& entry) {
    return !live.contains(entry.first) && entry.second.text != environment_text_;
  });
}

void Analysis::check() {
  try {
    read_environment();
    std::vector<const Placed*> chunks = chunks_to_read();
    drop_old();
    if (!chunks.empty()) read(chunks);
    drop_old();
    assemble();
    find_types();
    collect_findings();
  } catch (const Error& error) {
    findings_.clear();
    for (const Diagnostic& diagnostic : error.diagnostics()) add_finding(diagnostic);
  }
}

}  // namespace relay::lsp
