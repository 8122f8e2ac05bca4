#include <relay/infer/check/match_check.h>

#include <algorithm>

#include <relay/infer/infer.h>
#include <relay/print/print.h>

namespace relay {
namespace inference {
namespace {

// The algorithm works on a matrix of patterns: a row for each clause, a column for each value still
// to be looked at. A vector is useful against the rows above if some value matches it and none of
// them. Rows are vectors of raw patterns, null for a wildcard; the last element is looked at first.
using Row = std::vector<const Pattern*>;

/// Specialisation is exponential in the worst case; beyond this many steps it is given up.
constexpr size_t kMaxSteps = 200000;

struct Head {
  const Constructor* constructor = nullptr;  // null: a tuple, or any value
  size_t fields = 0;
};

bool is_wildcard(const Pattern* p) {
  return p == nullptr || p->kind() == PatternKind::kWildcard || p->kind() == PatternKind::kVar;
}

std::vector<Row> specialise(const std::vector<Row>& rows, const Head& head) {
  std::vector<Row> result;
  for (const Row& row : rows) {
    const Pattern* p = row.back();
    if (!is_wildcard(p) && p->kind() == PatternKind::kConstructor &&
        p->constructor().get() != head.constructor) {
      continue;
    }
    Row next(row.begin(), row.end() - 1);
    for (size_t i = head.fields; i-- > 0;) {
      next.push_back(is_wildcard(p) || i >= p->fields().size() ? nullptr : p->fields()[i].get());
    }
    result.push_back(std::move(next));
  }
  return result;
}

std::vector<Row> rest(const std::vector<Row>& rows) {
  std::vector<Row> result;
  for (const Row& row : rows) {
    if (is_wildcard(row.back())) result.emplace_back(row.begin(), row.end() - 1);
  }
  return result;
}

/// The different heads in the first column.
std::vector<Head> heads_of(const std::vector<Row>& rows) {
  std::vector<Head> heads;
  for (const Row& row : rows) {
    const Pattern* p = row.back();
    if (is_wildcard(p)) continue;
    const Constructor* constructor =
        p->kind() == PatternKind::kConstructor ? p->constructor().get() : nullptr;
    bool seen = std::any_of(heads.begin(), heads.end(),
                            [&](const Head& head) { return head.constructor == constructor; });
    if (seen) continue;
    heads.push_back(
        {constructor, constructor != nullptr ? constructor->inputs().size() : p->fields().size()});
  }
  return heads;
}

const TypeData* data_of(const std::vector<Head>& heads, const Module& module) {
  for (const Head& head : heads) {
    if (head.constructor != nullptr) return module.type_data(head.constructor->type_name().get());
  }
  return nullptr;
}

/// True if every value has one of these heads.
bool covers_all(const std::vector<Head>& heads, const Module& module) {
  if (heads.empty()) return false;
  if (heads[0].constructor == nullptr) return true;  // a tuple
  const TypeData* data = data_of(heads, module);
  return data != nullptr && heads.size() == data->constructors().size();
}

/// Searches for values that no row matches.
class Checker {
 public:
  explicit Checker(const Module& module) : module_(module) {}

  /// Vectors of patterns (as wide as `width`) that no row matches; at most `most`.
  std::vector<std::vector<PatternRef>> missing(std::vector<Row> rows, size_t width, size_t most);
  bool exhausted() const { return steps_ > kMaxSteps; }

 private:
  struct Task {
    std::vector<Row> rows;
    size_t width;
    // The heads chosen on the way, to build the example from; false: any value, shown as `_`.
    std::vector<std::pair<Head, bool>> wraps;
  };
  std::vector<PatternRef> build(const Task& task) const;

  const Module& module_;
  size_t steps_ = 0;
};

// Replays the decisions from the innermost: all remaining columns are `_`.
std::vector<PatternRef> Checker::build(const Task& task) const {
  std::vector<PatternRef> columns(task.width, Pattern::wildcard());
  for (size_t i = task.wraps.size(); i-- > 0;) {
    const auto& [head, structured] = task.wraps[i];
    std::vector<PatternRef> fields;
    for (size_t k = 0; k < head.fields; ++k) {
      fields.push_back(columns.back());
      columns.pop_back();
    }
    if (!structured) {
      columns.push_back(Pattern::wildcard());
    } else if (head.constructor != nullptr) {
      columns.push_back(Pattern::constructor(ConstructorRef(head.constructor), std::move(fields)));
    } else {
      columns.push_back(Pattern::tuple(std::move(fields)));
    }
  }
  return columns;
}

std::vector<std::vector<PatternRef>> Checker::missing(std::vector<Row> rows, size_t width,
                                                      size_t most) {
  std::vector<std::vector<PatternRef>> found;
  std::vector<Task> todo;
  todo.push_back({std::move(rows), width, {}});
  while (!todo.empty() && found.size() < std::max<size_t>(most, 1)) {
    Task task = std::move(todo.back());
    todo.pop_back();
    steps_ += 1 + task.rows.size();
    if (exhausted()) break;
    if (task.rows.empty()) {
      found.push_back(build(task));
      continue;
    }
    if (task.width == 0) continue;  // some row matches
    if (std::any_of(task.rows.begin(), task.rows.end(), [](const Row& row) {
          return std::all_of(row.begin(), row.end(), is_wildcard);
        }))
      continue;  // this row matches everything
    std::vector<Head> heads = heads_of(task.rows);
    const TypeData* data = data_of(heads, module_);
    auto push = [&](const Head& head, bool structured, std::vector<Row> next) {
      Task child{std::move(next), task.width - 1 + head.fields, task.wraps};
      child.wraps.emplace_back(head, structured);
      todo.push_back(std::move(child));
    };
    // The stack is last in, first out: push in reverse, so that examples come in order of
    // definition.
    for (size_t i = heads.size(); i-- > 0;) push(heads[i], true, specialise(task.rows, heads[i]));
    if (covers_all(heads, module_)) continue;
    std::vector<Row> others = rest(task.rows);
    if (heads.empty() || data == nullptr) {
      push({}, false, std::move(others));
      continue;
    }
    // One example for each constructor that no row names.
    for (size_t i = data->constructors().size(); i-- > 0;) {
      const Constructor* constructor = data->constructors()[i].get();
      bool named = std::any_of(heads.begin(), heads.end(),
                               [&](const Head& head) { return head.constructor == constructor; });
      if (named) continue;
      Head head{constructor, constructor->inputs().size()};
      push(head, true, specialise(task.rows, head));
    }
  }
  return found;
}

/// True if some value matches `pattern` and none of `rows` (all of one column).
bool pattern_useful(const std::vector<Row>& rows, const Pattern* pattern, const Module& module) {
  struct Task {
    std::vector<Row> rows;
    Row row;
  };
  std::vector<Task> todo;
  todo.push_back({rows, {pattern}});
  size_t steps = 0;
  while (!todo.empty()) {
    Task task = std::move(todo.back());
    todo.pop_back();
    steps += 1 + task.rows.size();
    if (task.rows.empty() || steps > kMaxSteps) return true;
    if (task.row.empty()) continue;
    const Pattern* p = task.row.back();
    auto descend = [&](const Head& head) {
      Task child;
      child.rows = specialise(task.rows, head);
      child.row = specialise({task.row}, head)[0];
      todo.push_back(std::move(child));
    };
    if (!is_wildcard(p)) {
      bool constructor = p->kind() == PatternKind::kConstructor;
      descend({constructor ? p->constructor().get() : nullptr,
               constructor ? p->constructor()->inputs().size() : p->fields().size()});
      continue;
    }
    std::vector<Head> heads = heads_of(task.rows);
    if (covers_all(heads, module)) {
      for (const Head& head : heads) descend(head);
    } else {
      todo.push_back({rest(task.rows), Row(task.row.begin(), task.row.end() - 1)});
    }
  }
  return false;
}

}  // namespace

void check_match(const Match& match, const Module& module, DiagnosticSink& sink) {
  std::vector<Row> rows;
  for (const PatternRef& pattern : match.patterns()) {
    if (!pattern_useful(rows, pattern.get(), module)) {
      Diagnostic warning = Diagnostic::warning(
          "the clause " + print_pattern(pattern.get()) + " can never run", pattern->span());
      warning.of_rule("M2").note("the clauses before it match everything that it does");
      sink.add(std::move(warning));
    }
    rows.push_back({pattern.get()});
  }
  if (!match.complete()) return;
  const UnmatchedCases unmatched = unmatched_cases(match, module, 4);
  const std::vector<PatternRef>& cases = unmatched.examples;
  if (cases.empty()) {
    if (unmatched.decided) return;
    sink.add(Diagnostic::error("it is not decided whether match covers all values: its patterns "
                               "take too long to compare (more than " +
                                   std::to_string(kMaxSteps) + " steps)",
                               match.span())
                 .of_rule("M1")
                 .help("add a last clause _, or write match? to fail when a value comes that no "
                       "clause covers"));
    return;
  }
  std::string text;
  size_t shown = std::min<size_t>(cases.size(), 3);
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) text += ", ";
    text += print_pattern(cases[i].get());
  }
  if (cases.size() > shown) text += ", …";
  sink.add(Diagnostic::error("match does not cover " + text, match.span())
               .of_rule("M1")
               .help("add a clause for it, or write match? to fail when it comes"));
}

}  // namespace inference

UnmatchedCases unmatched_cases(const Match& match, const Module& module, size_t most) {
  inference::Checker checker(module);
  std::vector<inference::Row> rows;
  for (const PatternRef& pattern : match.patterns()) rows.push_back({pattern.get()});
  UnmatchedCases result;
  for (auto& columns : checker.missing(std::move(rows), 1, most))
    result.examples.push_back(columns[0]);
  result.decided = result.examples.size() >= std::max<size_t>(most, 1) || !checker.exhausted();
  return result;
}

}  // namespace relay
