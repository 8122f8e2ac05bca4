#include <relay/lower/lines.h>

#include <algorithm>

namespace relay::lower {

using te::Axis;
using te::Scalar;
using te::ScalarRef;

namespace {

/// Writes the statements that fill one line.
class LineWriter {
 public:
  LineWriter(Draft& draft, const Lines& lines, int32_t scratch, Scalar base)
      : draft_(draft), lines_(lines), scratch_(scratch), base_(std::move(base)) {}

  /// Elements [begin, end) of a part of the line, one by one or in vectors.
  void fill(LoopKind kind, int64_t part, int64_t begin, int64_t end,
            const std::function<ScalarRef(const Axis&)>& value, Block& into) const {
    if (begin >= end) return;
    Axis at = draft_.new_axis(Dim(end));
    For one = loop(kind, at);
    one.begin = te::index_constant(begin).ref();
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

}  // namespace

void copy_lines(Draft& draft, IndexMath& math, const Lines& lines,
                const std::unordered_map<uint32_t, ScalarRef>& names, int32_t scratch,
                const Scalar& first, Block& body) {
  const te::TensorInfo& info = draft.computation().info(lines.data->tensor);
  const int64_t extent = info.dims[lines.along].as_int();
  const bool fills = lines.data->bounds == te::Bounds::kFill;
  ScalarRef fill = fills ? lines.data->fill : zero(lines.data->dtype);
  Axis line = draft.new_axis(Dim(lines.count));
  LineWriter writer(draft, lines, scratch, te::index_of(line) * lines.line());
  auto filled = [&](const Axis&) { return fill; };

  std::vector<ScalarRef> index = draft.bind(lines.data->args, math, names);
  Scalar row = te::index_of(line) + first;
  if (lines.down) index[*lines.down] = math.simplify(row.ref());
  int32_t from = draft.buffer(lines.data->tensor, Buffer::Role::kInput, false);
  Block copy;
  for (int64_t part = 0; part < lines.parts; ++part) {
    auto first_at = [&](int64_t element) {
      int64_t j = (element + lines.before - part + lines.parts - 1) / lines.parts;
      return std::clamp<int64_t>(j, 0, lines.pitch);
    };
    int64_t low = first_at(0), high = first_at(extent);
    writer.fill(LoopKind::kSerial, part, 0, low, filled, copy);
    writer.fill(
        LoopKind::kVector, part, low, high,
        [&](const Axis& at) {
          index[lines.along] = (te::index_of(at) * lines.parts + (part - lines.before)).ref();
          return draft.load(from, index);
        },
        copy);
    writer.fill(LoopKind::kSerial, part, high, lines.pitch, filled, copy);
  }
  For all = loop(LoopKind::kSerial, line);
  if (lines.down && fills) {
    If present;
    present.condition = ((row >= 0) && (row < te::from_dim(info.dims[*lines.down]))).ref();
    present.then_block = std::move(copy);
    writer.fill_whole(fill, present.else_block);
    all.body.push_back({std::move(present)});
  } else {
    all.body = std::move(copy);
  }
  body.push_back({std::move(all)});
}

}  // namespace relay::lower
