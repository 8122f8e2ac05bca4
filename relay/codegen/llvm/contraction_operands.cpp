// Contractions: where tiles read their factors.
#include <relay/codegen/llvm/contraction_emitter.h>

namespace relay::codegen {

namespace {

/// A page: the processor's own prefetching ends with it.
constexpr int64_t kAhead = 4096;
/// Rows of packed weights that few columns read come from memory in each step of k, which takes
/// longer than the steps of a page.
constexpr int64_t kRowsAhead = 2 * kAhead;
/// Lines that are fetched ahead must not drive the rest out of the first cache.
constexpr int64_t kNear = 16 << 10;

}  // namespace

std::vector<llvm::Value*> ContractionEmitter::direct_rows(int64_t rows, Value* first_row,
                                                          Value* k_from) {
  const LinearLoad& lhs = *plan_.lhs.load;
  Value* base = add(batch_part(lhs.offset), mul(k_from, dim(*plan_.lhs_step)));
  std::optional<Dim> stride = plan_.rows.stride_of(lhs.offset);
  std::vector<Value*> result;
  for (int64_t i = 0; i < rows; ++i) {
    if (i > 0 && stride && !plan_.fills_tiles) {
      result.push_back(element(result[0], lhs.dtype, mul(n(i), dim(*stride))));
    } else {
      Value* offset = add(base, part_of(lhs.offset, plan_.rows, tile_row(first_row, i)));
      result.push_back(element(f_.buffer(lhs.buffer), lhs.dtype, offset));
    }
  }
  return result;
}

ContractionEmitter::LeftLines ContractionEmitter::left_lines(int64_t rows, Value* first_row) {
  LeftLines lines;
  lines.dtype = plan_.lhs_type;
  lines.step = n(1);
  if (plan_.lhs_direct) {
    lines.at = direct_rows(rows, first_row, task_.k_from);
    lines.step = dim(*plan_.lhs_step);
    lines.buffer = plan_.lhs.load->buffer;
    return lines;
  }
  if (plan_.lhs_packed) {
    const lower::PackedLoad& packed = *plan_.lhs.packed;
    lines.dtype = packed.dtype;
    lines.step = dim(*plan_.lhs_step);
    lines.buffer = packed.buffer;
    Value* at = element(f_.buffer(packed.buffer), packed.dtype,
                        packed_offset(packed, first_row, lines.step));
    for (int64_t i = 0; i < rows; ++i) lines.at.push_back(element(at, packed.dtype, n(i)));
    return lines;
  }
  for (int64_t i = 0; i < rows; ++i) {
    Value* row = b_.CreateSub(tile_row(first_row, i), task_.first_row);
    lines.at.push_back(element(rows_, plan_.lhs_type, mul(row, row_pitch_)));
  }
  return lines;
}

llvm::Value* ContractionEmitter::tile_row(Value* first_row, int64_t i) {
  if (i == 0) return first_row;
  Value* row = add(first_row, n(i));
  return plan_.fills_tiles ? least(row, dim(plan_.rows.extent - 1)) : row;
}

llvm::Value* ContractionEmitter::packed_offset(const lower::PackedLoad& packed, Value* first,
                                               Value* step) {
  Value* offset = add(batch_part(packed.offset), mul(task_.k_from, step));
  if (packed.pitch.is_int(0)) return add(offset, mul(first, n(packed.group)));
  Value* panel = b_.CreateUDiv(first, n(packed.width));
  offset = add(offset, mul(panel, dim(packed.pitch)));
  return add(offset, mul(b_.CreateURem(first, n(packed.width)), n(packed.group)));
}

llvm::Value* ContractionEmitter::load_left(const LeftLines& lines, int64_t row, Value* k) {
  Value* at = element(lines.at[static_cast<size_t>(row)], lines.dtype, mul(k, lines.step));
  auto* one = b_.CreateAlignedLoad(memory_type(f_.context, lines.dtype), at,
                                   llvm::Align(static_cast<uint64_t>(lines.dtype.size())));
  if (lines.buffer < 0) return splat(f_.annotate_scratch(one, kRows), lanes_);
  f_.annotate(one, lines.buffer);
  if (!plan_.lhs_packed) return splat(one, lanes_);
  Value* value = scalars_.from_memory(one, lines.dtype);
  return splat(of_loaded(plan_.lhs, value, 1), lanes_);
}

ContractionEmitter::RightLine ContractionEmitter::right_line(Value* panel, int64_t vectors,
                                                             Value* first_column) {
  RightLine line{panel, n(vectors * plan_.lanes * plan_.group), nullptr, plan_.rhs_type};
  if (plan_.rhs_direct) {
    const LinearLoad& rhs = *plan_.rhs.load;
    line.step = dim(*plan_.rhs_step);
    line.buffer = rhs.buffer;
    Value* offset = add(add(batch_part(rhs.offset), mul(task_.k_from, line.step)),
                        part_of(rhs.offset, plan_.columns, first_column));
    line.at = element(f_.buffer(rhs.buffer), line.dtype, offset);
  } else if (plan_.rhs_packed) {
    const lower::PackedLoad& packed = *plan_.rhs.packed;
    line.dtype = packed.dtype;
    line.step = dim(*plan_.rhs_step);
    line.buffer = packed.buffer;
    line.at = element(f_.buffer(packed.buffer), packed.dtype,
                      packed_offset(packed, first_column, line.step));
    // Vectors of several panels.
    if (packed.width < vectors * plan_.lanes) line.pitch = dim(packed.pitch);
  }
  return line;
}

std::vector<llvm::Value*> ContractionEmitter::load_right(const RightLine& line, Value* k,
                                                         const std::vector<Value*>& masks) {
  std::vector<Value*> result;
  Value* from = element(line.at, line.dtype, mul(k, line.step));
  for (size_t v = 0; v < masks.size(); ++v) {
    Value* number = n(static_cast<int64_t>(v));
    Value* apart = line.pitch != nullptr ? line.pitch : n(plan_.lanes * plan_.group);
    Value* at = element(from, line.dtype, mul(number, apart));
    if (plan_.group > 1) {
      result.push_back(load_groups(line, at));
    } else if (plan_.rhs_direct) {
      result.push_back(load(line.buffer, line.dtype, at, lanes_, masks[v]));
    } else if (plan_.rhs_packed) {
      // Lines are whole.
      Value* loaded = load(line.buffer, line.dtype, at, lanes_, nullptr);
      result.push_back(of_loaded(plan_.rhs, loaded, lanes_));
    } else {
      auto* loaded = b_.CreateAlignedLoad(accumulator(lanes_), at, vector_alignment());
      result.push_back(f_.annotate_scratch(loaded, kPanels));
    }
  }
  return result;
}

void ContractionEmitter::prefetch(Value* address, Cache into, bool write) {
  const int locality = into == Cache::kFirst ? 3 : 2;
  b_.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {b_.getPtrTy()},
      {address, b_.getInt32(write ? 1 : 0), b_.getInt32(locality), b_.getInt32(1)});  // data
}

ContractionEmitter::RightLine ContractionEmitter::next_panel(const RightLine& line,
                                                             int64_t vectors) {
  // Fewer tiles go through a panel no faster than it comes.
  constexpr int64_t kFewTiles = 4;
  const int64_t line_bytes = f_.target.processor.line_bytes;
  const Dim pieces = plan_.row_tiles.pieces;
  if (!plan_.rhs_packed || !pieces.is_int() || line.pitch != nullptr) return {};
  const int64_t tiles = pieces.as_int();
  const Dim pitch = plan_.rhs.packed->pitch;
  if (tiles < kFewTiles || pitch.is_int(0)) return {};
  // All tiles together prefetch the whole of it, a little in each step of k.
  const auto size = static_cast<int64_t>(line.dtype.size());
  const int64_t row_bytes = vectors * plan_.lanes * plan_.group * size;
  int64_t step = size;
  while (step < line_bytes && step * tiles < row_bytes) step *= 2;
  RightLine next = line;
  next.step = n(step / size);
  // With one panel in a block the next pass follows, in the same panel.
  const bool passes = !plan_.one_pass && plan_.panels_in_block == 1;
  Value* ahead = passes ? mul(task_.k_count, line.step) : dim(pitch);
  Value* begin = add(ahead, mul(task_.tile, mul(task_.k_count, next.step)));
  next.at = element(line.at, line.dtype, begin);
  return next;
}

void ContractionEmitter::prefetch_ahead(const RightLine& line, int64_t vectors, Value* k) {
  const auto size = static_cast<int64_t>(line.dtype.size());
  Value* from = element(line.at, line.dtype, mul(k, line.step));
  if (line.pitch != nullptr) {
    for (int64_t v = 0; v < vectors; ++v)
      prefetch(element(from, line.dtype, add(mul(n(v), line.pitch), n(kAhead / size))));
    return;
  }
  for (int64_t at = 0; at < vectors * plan_.lanes * plan_.group * size;
       at += f_.target.processor.line_bytes) {
    prefetch(element(from, line.dtype, n((kAhead + at) / size)));
  }
}

bool ContractionEmitter::has_turned_rows() const {
  const Dim rows = plan_.rows.extent, k = plan_.folded.extent;
  if (!plan_.lhs_direct || !rows.is_int() || !k.is_int() || !plan_.lhs_step->is_int()) return false;
  const LinearLoad& lhs = *plan_.lhs.load;
  const std::optional<Dim> stride = plan_.rows.stride_of(lhs.offset);
  if (!stride || !stride->is_int(1)) return false;
  const auto size = static_cast<int64_t>(lhs.dtype.size());
  const auto& processor = f_.target.processor;
  // What the second cache holds comes quickly enough.
  return std::abs(plan_.lhs_step->as_int()) * size > processor.line_bytes &&
         rows.as_int() * k.as_int() * size > processor.second_bytes;
}

void ContractionEmitter::prefetch_rows_ahead(const LeftLines& lines, int64_t rows, Value* k) {
  const auto size = static_cast<int64_t>(lines.dtype.size());
  if (plan_.lhs_packed) {
    Value* from = element(lines.at[0], lines.dtype, mul(k, lines.step));
    for (int64_t at = 0; at < rows * size; at += f_.target.processor.line_bytes)
      prefetch(element(from, lines.dtype, n((kRowsAhead + at) / size)));
    return;
  }
  if (plan_.lhs_direct && plan_.lhs_step->is_int(1) && plan_.folded.extent.is_int() &&
      plan_.rows.stride_of(plan_.lhs.load->offset) == plan_.folded.extent) {
    // The next tile's, as much of it in each step as this step reads of this one.
    const int64_t k_count = plan_.folded.extent.as_int();
    if (k_count > kNear / (rows * size)) return;
    const int64_t tile = rows * k_count;
    prefetch(element(lines.at[0], lines.dtype, add(n(tile), mul(k, n(rows)))));
  } else if (has_turned_rows()) {
    // Each step reads a line of its own, and the processor foresees none of them: the line that
    // follows has the rows of the next tiles.
    Value* line = element(lines.at[0], lines.dtype, mul(k, lines.step));
    prefetch(element(line, lines.dtype, n(f_.target.processor.line_bytes / size)), Cache::kSecond);
  }
}

std::vector<llvm::Value*> ContractionEmitter::column_masks(int64_t vectors, Value* first_column) {
  std::vector<Value*> masks(static_cast<size_t>(vectors), nullptr);
  auto mask = [&](int64_t v) {
    Value* left = b_.CreateSub(dim(plan_.main_columns), add(first_column, n(v * plan_.lanes)));
    return lanes_below(left, lanes_);
  };
  const bool whole = floor_mod(plan_.main_columns, plan_.lanes).is_int(0);
  if (plan_.panels.known) {
    if (!whole) masks.back() = mask(vectors - 1);
    return masks;
  }
  // The last panel may have fewer vectors.
  for (int64_t v = whole ? 1 : 0; v < vectors; ++v) masks[static_cast<size_t>(v)] = mask(v);
  return masks;
}

void ContractionEmitter::prefetch_epilogue(int64_t rows, int64_t vectors, Value* first_row,
                                           Value* first_column) {
  auto fetch = [&](Value* line, DType dtype, bool write) {
    // Each line of the cache once, and the last vector, which may reach into one more.
    const int64_t size = plan_.lanes * static_cast<int64_t>(dtype.size());
    const int64_t step = std::max<int64_t>(f_.target.processor.line_bytes / size, 1);
    for (int64_t v = 0; v < vectors; v += step)
      prefetch(element(line, dtype, n(v * plan_.lanes)), Cache::kFirst, write);
    if ((vectors - 1) % step != 0)
      prefetch(element(line, dtype, n((vectors - 1) * plan_.lanes)), Cache::kFirst, write);
  };
  const DType out_type = f_.buffers[static_cast<size_t>(c_.out)].dtype;
  for (int64_t i = 0; i < rows; ++i) {
    Value* row = add(first_row, n(i));
    if (plan_.out_offset && i % plan_.interleave == 0) {
      Value* line = out_line(row, first_column);
      for (int64_t k = 0; k < plan_.interleave; ++k) {
        Value* part = element(line, out_type, n(k * vectors * plan_.lanes));
        fetch(part, out_type, true);
      }
    }
    for (const TileLoad& tile : plan_.tile_loads) {
      if (!tile.along_columns || !varies_by_row(tile)) continue;
      const LinearLoad& from = tile.load;
      Value* offset = add(batch_part(from.offset), part_of(from.offset, plan_.rows, row));
      offset = add(offset, part_of(from.offset, plan_.columns, first_column));
      fetch(element(f_.buffer(from.buffer), from.dtype, offset), from.dtype, false);
    }
  }
}

}  // namespace relay::codegen
