#include <relay/vm/compiler/match.h>

#include <memory>

#include <relay/support/error.h>

namespace relay::vm {
namespace {

struct Column {
  uint32_t data;  // register
  const Pattern* pattern;
};
struct Row {
  std::vector<Column> columns;
  std::vector<std::pair<const Var*, uint32_t>> bound;
  size_t clause = 0;
};

struct Read {
  uint32_t data, index, reg;
};

// A point in the tree: which rows are left, and which fields are in registers.
struct Point {
  std::vector<Row> rows;
  KnownFields fields;
  std::vector<uint32_t> jumps;    // instructions that come here
  std::vector<uint32_t> targets;  // places in Function::args that do
  std::vector<Read> reads;        // fields that the rows look at
  Point* otherwise = nullptr;     // where to go on if no row fits; null: nowhere
};

class Tree {
 public:
  Tree(const Match& match, uint32_t data, const Module& module, CodeWriter& code,
       const std::function<uint32_t(const Var*)>& register_of)
      : match_(match), data_(data), module_(module), code_(code), register_of_(register_of) {}

  std::vector<std::vector<uint32_t>> run(const KnownFields& fields) {
    leaves_.resize(match_.patterns().size());
    Point* root = add();
    root->fields = fields;
    for (size_t i = 0; i < match_.patterns().size(); ++i) {
      Row row;
      row.clause = i;
      row.columns.push_back({data_, match_.patterns()[i].get()});
      root->rows.push_back(std::move(row));
    }
    open_.push_back(root);
    // A point is written when all that jump to it have been: those of one switch before those that
    // wait as `otherwise`.
    while (!open_.empty() || !waiting_.empty()) {
      Point* point;
      if (!open_.empty()) {
        point = open_.back();
        open_.pop_back();
      } else {
        point = waiting_.back();
        waiting_.pop_back();
      }
      write(*point);
    }
    return std::move(leaves_);
  }

 private:
  Point* add() {
    points_.push_back(std::make_unique<Point>());
    return points_.back().get();
  }

  uint32_t field(Point& point, uint32_t data, uint32_t index) {
    auto [entry, added] = point.fields.try_emplace({data, index});
    if (added) entry->second = code_.emit_value(Op::kField, data, index);
    return entry->second;
  }

  static bool trivial(const Pattern* pattern) { return pattern->kind() == PatternKind::kWildcard; }

  // Leaves only columns that test a constructor.
  void simplify(Point& point, Row& row) {
    std::vector<Column> done;
    std::vector<Column> stack(row.columns.rbegin(), row.columns.rend());
    while (!stack.empty()) {
      Column column = stack.back();
      stack.pop_back();
      switch (column.pattern->kind()) {
        case PatternKind::kWildcard:
          break;
        case PatternKind::kVar:
          row.bound.emplace_back(column.pattern->var().get(), column.data);
          break;
        case PatternKind::kTuple: {
          auto fields = column.pattern->fields();
          for (size_t i = fields.size(); i-- > 0;) {
            if (trivial(fields[i].get())) continue;
            stack.push_back({field(point, column.data, static_cast<uint32_t>(i)), fields[i].get()});
          }
          break;
        }
        case PatternKind::kConstructor:
          done.push_back(column);
          break;
      }
    }
    row.columns = std::move(done);
  }

  void fail(Point& point) {
    if (point.otherwise == nullptr) {
      code_.emit(Op::kNoMatch).a = data_;
      return;
    }
    point.otherwise->jumps.push_back(code_.here());
    code_.emit(Op::kJump);
  }

  void write(Point& point) {
    for (uint32_t jump : point.jumps) code_.at(jump).a = code_.here();
    for (uint32_t target : point.targets) code_.function().args[target] = code_.here();
    for (const Read& read : point.reads) {
      Instruction& made = code_.emit(Op::kField);
      made.dst = read.reg;
      made.a = read.data;
      made.b = read.index;
    }
    if (point.rows.empty()) {
      fail(point);
      return;
    }
    // One row after the other once the tree has grown too large: each test is written once, but may
    // run again.
    constexpr size_t kMaxPoints = 200;
    if (points_.size() > kMaxPoints + 8 * leaves_.size() && point.rows.size() > 1) {
      Point* rest = add();
      rest->rows.assign(std::make_move_iterator(point.rows.begin() + 1),
                        std::make_move_iterator(point.rows.end()));
      rest->fields = point.fields;
      rest->otherwise = point.otherwise;
      waiting_.push_back(rest);
      point.rows.resize(1);
      point.otherwise = rest;
    }
    simplify(point, point.rows[0]);
    if (point.rows[0].columns.empty()) {
      leaf(point.rows[0]);
      return;
    }
    for (size_t i = 1; i < point.rows.size(); ++i) simplify(point, point.rows[i]);
    split(point, point.rows[0].columns[0]);
  }

  void leaf(const Row& row) {
    for (const auto& [var, from] : row.bound) {
      Instruction& move = code_.emit(Op::kMove);
      move.dst = register_of_(var);
      move.a = from;
    }
    leaves_[row.clause].push_back(code_.here());
    code_.emit(Op::kJump);
  }

  static const Pattern* column_of(const Row& row, uint32_t data) {
    for (const Column& column : row.columns) {
      if (column.data == data) return column.pattern;
    }
    return nullptr;
  }

  void split(Point& point, Column on) {
    const TypeData* type = module_.type_data(on.pattern->constructor()->type_name().get());
    RELAY_CHECK(type != nullptr, "a pattern of an unknown data type");
    size_t count = type->constructors().size();
    Instruction& made = code_.emit(Op::kSwitch, std::vector<uint32_t>(count, 0));
    made.a = on.data;
    uint32_t first = made.first;

    std::vector<Point*> next(count, nullptr);
    for (const Row& row : point.rows) {
      const Pattern* pattern = column_of(row, on.data);
      if (pattern == nullptr) continue;
      auto tag = static_cast<size_t>(pattern->constructor()->ctor_tag());
      if (next[tag] == nullptr) next[tag] = branch(point, on.data, static_cast<uint32_t>(tag));
    }
    Point* other = nullptr;
    for (size_t tag = 0; tag < count; ++tag) {
      Point*& to = next[tag];
      if (to == nullptr) {
        if (other == nullptr) {
          other = add();
          other->otherwise = point.otherwise;
          other->fields = point.fields;
          for (const Row& row : point.rows) {
            if (column_of(row, on.data) == nullptr) other->rows.push_back(row);
          }
        }
        to = other;
      }
      to->targets.push_back(first + static_cast<uint32_t>(tag));
    }
    if (other != nullptr) open_.push_back(other);
    for (size_t tag = count; tag-- > 0;) {
      if (next[tag] != other) open_.push_back(next[tag]);
    }
  }

  // The rows that may still fit where the value is made by a constructor.
  Point* branch(const Point& point, uint32_t data, uint32_t tag) {
    Point* to = add();
    to->otherwise = point.otherwise;
    to->fields = point.fields;
    for (const Row& row : point.rows) {
      const Pattern* pattern = column_of(row, data);
      if (pattern != nullptr && pattern->constructor()->ctor_tag() != tag) continue;
      Row rest;
      rest.clause = row.clause;
      rest.bound = row.bound;
      for (const Column& column : row.columns) {
        if (column.data != data) {
          rest.columns.push_back(column);
          continue;
        }
        // Fields are read when the point is written.
        auto fields = column.pattern->fields();
        for (size_t i = 0; i < fields.size(); ++i) {
          if (trivial(fields[i].get())) continue;
          uint32_t& reg =
              to->fields.try_emplace({data, static_cast<uint32_t>(i)}, kNone).first->second;
          if (reg == kNone) {
            reg = code_.fresh();
            to->reads.push_back({data, static_cast<uint32_t>(i), reg});
          }
          rest.columns.push_back({reg, fields[i].get()});
        }
      }
      to->rows.push_back(std::move(rest));
    }
    return to;
  }

  const Match& match_;
  uint32_t data_;
  const Module& module_;
  CodeWriter& code_;
  const std::function<uint32_t(const Var*)>& register_of_;
  std::vector<std::unique_ptr<Point>> points_;
  std::vector<Point*> open_;
  std::vector<Point*> waiting_;
  std::vector<std::vector<uint32_t>> leaves_;
};

}  // namespace

std::vector<std::vector<uint32_t>> write_match(
    const Match& match, uint32_t data, const Module& module, CodeWriter& code,
    const std::function<uint32_t(const Var* var)>& register_of, const KnownFields& fields) {
  return Tree(match, data, module, code, register_of).run(fields);
}

}  // namespace relay::vm
