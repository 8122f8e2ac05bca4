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
    const bool few = is_known(begin) && is_known(end) &&
                     end.node()->value.i - begin.node()->value.i <= kMostWritten;
    For one = loop(kind == LoopKind::kSerial && few ? LoopKind::kUnrolled : kind, at);
    one.begin = begin.ref();
    one.end = end.ref();
    Scalar place = base_ + part * lines_.pitch + te::index_of(at);
    one.body.push_back(store(scratch_, {place.ref()}, value(at)));
    into.push_back({std::move(one)});
  }

  /// Vectors of the line, counted from where its data begins.
  void vectors(int64_t begin, int64_t end, const std::function<ScalarRef(const Axis&)>& value,
               Block& into) const {
    if (begin >= end) return;
    Axis at = draft_.new_axis(Dim(end));
    For one = loop(LoopKind::kVector, at);
    one.begin = te::index_constant(begin).ref();
    Scalar place = base_ + lines_.before + te::index_of(at);
    one.body.push_back(store(scratch_, {place.ref()}, value(at)));
    into.push_back({std::move(one)});
  }

  void fill_whole(const ScalarRef& fill_value, Block& into) const {
    if (lines_.lanes > 1)
      return vectors(
          0, lines_.pitch, [&](const Axis&) { return fill_value; }, into);
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

/// Data, and what is behind it up to the data of the next line, in whole vectors.
void write_vectors(const LineWriter& writer, const Lines& lines, int64_t extent,
                   const std::function<ScalarRef(const Axis&)>& element, const ScalarRef& fill,
                   Block& into) {
  const int64_t have = std::min(extent, lines.read() - lines.before);
  const int64_t whole = have / lines.lanes * lines.lanes;
  const int64_t mixed = whole == have ? whole : whole + lines.lanes;
  writer.vectors(0, whole, element, into);
  writer.vectors(
      whole, mixed,
      [&](const Axis& at) {
        return te::select(te::index_of(at) < have, Scalar(element(at)), Scalar(fill)).ref();
      },
      into);
  writer.vectors(
      mixed, lines.pitch, [&](const Axis&) { return fill; }, into);
}

/// What is in front of the data of the first line.
void fill_front(Draft& draft, const Lines& lines, int32_t scratch, const Scalar& place,
                const ScalarRef& fill, Block& body) {
  if (lines.before == 0) return;
  Axis at = draft.new_axis(Dim(lines.ahead + lines.before));
  For front = loop(LoopKind::kVector, at);
  front.body.push_back(store(scratch, {(place + te::index_of(at)).ref()}, fill));
  body.push_back({std::move(front)});
}

/// So many lines; null: all that there is room for.
void write_lines(const Axis& line, const Scalar& count, Block each, Block& body) {
  For all = loop(LoopKind::kSerial, line);
  if (count.node() != nullptr) all.end = count.ref();
  all.body = std::move(each);
  body.push_back({std::move(all)});
}

/// Lines from number `first` of the data on, which has `extent` of them.
void write_known_lines(const Lines& lines, const Axis& line, int64_t first, int64_t extent,
                       Block present, Block missing, Block& body) {
  auto write = [&](int64_t from, int64_t past, Block each) {
    if (from == past) return;
    For some = loop(LoopKind::kSerial, line);
    some.begin = te::index_constant(from).ref();
    some.end = te::index_constant(past).ref();
    some.body = std::move(each);
    body.push_back({std::move(some)});
  };
  const int64_t begin = std::clamp<int64_t>(-first, 0, lines.count);
  const int64_t end = std::clamp<int64_t>(extent - first, begin, lines.count);
  write(0, begin, missing);
  write(begin, end, std::move(present));
  write(end, lines.count, std::move(missing));
}

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
  const Scalar place = piece.place.node() != nullptr ? piece.place : te::index_constant(0);
  LineWriter writer(draft, lines, scratch, place + te::index_of(line) * lines.line() + lines.ahead);
  auto filled = [&](const Axis&) { return fill; };

  std::vector<ScalarRef> index = draft.bind(lines.data->args, math, names);
  Scalar row = te::index_of(line) + piece.first;
  if (lines.down) index[*lines.down] = math.simplify(row.ref());
  int32_t from = draft.buffer(lines.data->tensor, Buffer::Role::kInput, false);
  Block copy, empty;
  if (lines.lanes > 1) {
    fill_front(draft, lines, scratch, place, fill, body);
    auto element = [&](const Axis& at) {
      index[lines.along] = te::index_of(at).ref();
      return te::cast(Scalar(draft.load(from, index)), stored).ref();
    };
    write_vectors(writer, lines, info.dims[lines.along].as_int(), element, fill, copy);
  }
  LineSpans spans(draft, lines, piece, body);
  for (int64_t part = 0; lines.lanes == 1 && part < lines.parts; ++part) {
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
  const Dim there = lines.down ? info.dims[*lines.down] : Dim(1);
  if (!may_miss) return write_lines(line, piece.count, std::move(copy), body);
  if (is_known(piece.first) && piece.count.node() == nullptr && there.is_int())
    return write_known_lines(lines, line, piece.first.node()->value.i, there.as_int(),
                             std::move(copy), std::move(empty), body);
  If present;
  present.condition = ((row >= 0) && (row < te::from_dim(there))).ref();
  present.then_block = std::move(copy);
  present.else_block = std::move(empty);
  Block either;
  either.push_back({std::move(present)});
  write_lines(line, piece.count, std::move(either), body);
}

}  // namespace relay::lower
