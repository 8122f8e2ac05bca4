#include <relay/lower/lines.h>

#include <algorithm>

namespace relay::lower {

using te::Axis;
using te::Scalar;
using te::ScalarRef;

namespace {

constexpr int64_t kMostWritten = 8;  // one by one, without a loop

bool is_known(const Scalar& value) { return value.node()->kind == te::ScalarKind::kConst; }

/// Writes the statements that fill one line.
class LineWriter {
 public:
  LineWriter(Draft& draft, const Lines& lines, int32_t scratch, Scalar base)
      : draft_(draft), lines_(lines), scratch_(scratch), base_(std::move(base)) {}

  /// Elements [begin, end) of a part of the line, one by one or in vectors.
  void fill(LoopKind kind, int64_t part, const Scalar& begin, const Scalar& end,
            const std::function<ScalarRef(const Axis&)>& value, Block& into) const {
    if (is_known(begin) && is_known(end) && begin.node()->value.i >= end.node()->value.i) return;
    Axis at = draft_.new_axis(Dim(is_known(end) ? end.node()->value.i : lines_.pitch));
    For one = loop(kind, at);
    one.begin = begin.ref();
    one.end = end.ref();
    Scalar place = base_ + part * lines_.pitch + te::index_of(at);
    one.body.push_back(store(scratch_, {place.ref()}, value(at)));
    into.push_back({std::move(one)});
  }

  void fill_whole(const ScalarRef& fill_value, Block& into) const {
    Axis at = draft_.new_axis(Dim(lines_.line()));
    For one = loop(LoopKind::kVector, at);
    one.body.push_back(store(scratch_, {(base_ + te::index_of(at)).ref()}, fill_value));
    into.push_back({std::move(one)});
  }

 private:
  Draft& draft_;
  const Lines& lines_;
  int32_t scratch_;
  Scalar base_;
};

/// Where the data begins and ends in a part of a line, at the same place of each line.
struct Span {
  Scalar low, high, end;
};

class LineSpans {
 public:
  LineSpans(Draft& draft, const Lines& lines, const LinesPiece& piece, Block& body)
      : draft_(draft),
        lines_(lines),
        piece_(piece),
        extent_(draft.computation().info(lines.data->tensor).dims[lines.along]),
        body_(body) {}

  /// Elements of a part that may lie in front of the data.
  int64_t most_before(int64_t part) const {
    return std::clamp<int64_t>((lines_.before - part + lines_.parts - 1) / lines_.parts, 0,
                               lines_.read());
  }

  Span of_part(int64_t part) {
    const bool moves = piece_.begin.node() != nullptr || piece_.columns.node() != nullptr;
    if (extent_.is_int() && !moves) {
      auto at = [&](int64_t element) {
        int64_t j = (element + lines_.before - part + lines_.parts - 1) / lines_.parts;
        return te::index_constant(std::clamp<int64_t>(j, 0, lines_.read()));
      };
      return {at(0), at(extent_.as_int()), te::index_constant(lines_.read())};
    }
    Scalar end =
        piece_.columns.node() != nullptr ? piece_.columns : te::index_constant(lines_.read());
    auto at = [&](const Scalar& element) {
      Scalar j = element + (lines_.before - part + lines_.parts - 1);
      if (lines_.parts > 1) j = te::floor_div(j, te::index_constant(lines_.parts));
      if (piece_.begin.node() != nullptr) j = j - piece_.begin;
      return in_register(te::max(te::min(j, end), te::index_constant(0)));
    };
    return {at(te::index_constant(0)), at(te::from_dim(extent_)), end};
  }

 private:
  Scalar in_register(const Scalar& value) {
    if (is_known(value)) return value;
    uint32_t var = draft_.new_var();
    body_.push_back(let(var, value.ref()));
    return te::placeholder(var, kInt64);
  }

  Draft& draft_;
  const Lines& lines_;
  const LinesPiece& piece_;
  Dim extent_;
  Block& body_;
};

}  // namespace

void copy_lines(Draft& draft, IndexMath& math, const Lines& lines,
                const std::unordered_map<uint32_t, ScalarRef>& names, int32_t scratch,
                const LinesPiece& piece, Block& body) {
  const te::TensorInfo& info = draft.computation().info(lines.data->tensor);
  const bool fills = lines.data->bounds == te::Bounds::kFill;
  ScalarRef fill = fills ? lines.data->fill : zero(lines.data->dtype);
  const DType stored = lines.stored.valid() ? lines.stored : lines.data->dtype;
  fill = te::cast(Scalar(fill), stored).ref();
  Axis line = draft.new_axis(Dim(lines.count));
  LineWriter writer(draft, lines, scratch, te::index_of(line) * lines.line() + lines.ahead);
  auto filled = [&](const Axis&) { return fill; };

  std::vector<ScalarRef> index = draft.bind(lines.data->args, math, names);
  Scalar row = te::index_of(line) + piece.first;
  if (lines.down) index[*lines.down] = math.simplify(row.ref());
  int32_t from = draft.buffer(lines.data->tensor, Buffer::Role::kInput, false);
  Block copy, empty;
  LineSpans spans(draft, lines, piece, body);
  for (int64_t part = 0; part < lines.parts; ++part) {
    const Span span = spans.of_part(part);
    // In front of the data as many as there may be: what is too much is written over.
    const bool open = !is_known(span.low);
    const Scalar most = open ? te::index_constant(spans.most_before(part)) : span.low;
    const bool few = open && most.node()->value.i <= kMostWritten;
    writer.fill(few ? LoopKind::kUnrolled : LoopKind::kSerial, part, te::index_constant(0),
                few ? most : span.low, filled, copy);
    writer.fill(
        LoopKind::kVector, part, span.low, span.high,
        [&](const Axis& at) {
          Scalar column = te::index_of(at);
          if (piece.begin.node() != nullptr) column = column + piece.begin;
          index[lines.along] = (column * lines.parts + (part - lines.before)).ref();
          return te::cast(Scalar(draft.load(from, index)), stored).ref();
        },
        copy);
    writer.fill(open ? LoopKind::kVector : LoopKind::kSerial, part, span.high, span.end, filled,
                copy);
    if (piece.columns.node() != nullptr) {
      writer.fill(LoopKind::kVector, part, te::index_constant(0), span.end, filled, empty);
    }
  }
  const bool may_miss = lines.down && (fills || lines.unsure);
  if (piece.columns.node() == nullptr && may_miss) writer.fill_whole(fill, empty);
  For all = loop(LoopKind::kSerial, line);
  if (piece.count.node() != nullptr) all.end = piece.count.ref();
  if (may_miss) {
    If present;
    present.condition = ((row >= 0) && (row < te::from_dim(info.dims[*lines.down]))).ref();
    present.then_block = std::move(copy);
    present.else_block = std::move(empty);
    all.body.push_back({std::move(present)});
  } else {
    all.body = std::move(copy);
  }
  body.push_back({std::move(all)});
}

}  // namespace relay::lower
