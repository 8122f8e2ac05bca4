// Transposes: squares turned in registers.
#include <algorithm>
#include <bit>

#include <relay/codegen/llvm/memory_access.h>
#include <relay/codegen/llvm/nest_emitter.h>
#include <relay/support/error.h>

namespace relay::codegen {

using lower::For;
using RegionKind = ScalarEmitter::RegionKind;

namespace {

using Vectors = std::vector<llvm::Value*>;

/// Shuffles of a pair of vectors in pieces of `width` elements: piece p of the result is the piece
/// pieces[p] of both vectors in a row.
llvm::Value* pieces_of(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, unsigned width,
                       const std::vector<unsigned>& pieces) {
  std::vector<int> mask;
  for (unsigned piece : pieces) {
    for (unsigned k = 0; k < width; ++k) mask.push_back(static_cast<int>(piece * width + k));
  }
  return b.CreateShuffleVector(x, y, mask);
}

/// As many vectors as each has lanes, rows become columns. `in_block`: lanes of 16 bytes, within
/// which processors shuffle best; at most four such blocks make a vector.
Vectors turn(llvm::IRBuilder<>& b, Vectors rows, unsigned in_block) {
  const auto lanes = static_cast<unsigned>(rows.size());
  const unsigned blocks = lanes / in_block;
  // The squares in each block, for `in_block` rows at a time: after as many perfect shuffles as it
  // takes to double 1 to `in_block`, lane c of row r is lane r of row c.
  for (unsigned first = 0; first < lanes; first += in_block) {
    for (unsigned width = 1; width < in_block; width *= 2) {
      Vectors next;
      for (unsigned r = 0; r < in_block / 2; ++r) {
        for (unsigned half : {0u, in_block / 2}) {
          std::vector<unsigned> pieces;
          for (unsigned block = 0; block < blocks; ++block) {
            for (unsigned k = 0; k < in_block / 2; ++k) {
              unsigned lane = block * in_block + half + k;
              pieces.push_back(lane);
              pieces.push_back(lanes + lane);
            }
          }
          next.push_back(pieces_of(b, rows[first + r], rows[first + r + in_block / 2], 1, pieces));
        }
      }
      std::copy(next.begin(), next.end(), rows.begin() + first);
    }
  }
  if (blocks == 1) return rows;
  // Then the blocks themselves: row g · in_block + r has in block k the columns k · in_block + r of
  // the rows from g · in_block on.
  Vectors result(lanes);
  for (unsigned r = 0; r < in_block; ++r) {
    auto row = [&](unsigned group) { return rows[group * in_block + r]; };
    auto blend = [&](llvm::Value* x, llvm::Value* y, const std::vector<unsigned>& pieces) {
      return pieces_of(b, x, y, in_block, pieces);
    };
    if (blocks == 2) {
      result[r] = blend(row(0), row(1), {0, 2});
      result[in_block + r] = blend(row(0), row(1), {1, 3});
      continue;
    }
    RELAY_CHECK(blocks == 4, "vectors of more than four blocks");
    for (unsigned half : {0u, 2u}) {
      llvm::Value* x = blend(row(0), row(1), {half, half + 1, half + 4, half + 5});
      llvm::Value* y = blend(row(2), row(3), {half, half + 1, half + 4, half + 5});
      result[half * in_block + r] = blend(x, y, {0, 2, 4, 6});
      result[(half + 1) * in_block + r] = blend(x, y, {1, 3, 5, 7});
    }
  }
  return result;
}

/// How often the loop runs, if its bounds show that.
std::optional<int64_t> extent_of(const For& loop) {
  const te::ScalarNode& end = *loop.end;
  if (end.kind != te::ScalarKind::kBinary || end.binary != te::BinaryOp::kAdd ||
      end.args[0] != loop.begin || end.args[1]->kind != te::ScalarKind::kConst) {
    return std::nullopt;
  }
  return end.args[1]->value.i;
}

}  // namespace

void NestEmitter::write_turned(const For& rows) {
  RELAY_CHECK(rows.body.size() == 1 && rows.step == 1, "a turned loop around more than a loop");
  const auto* columns = std::get_if<For>(&rows.body[0].node);
  RELAY_CHECK(columns != nullptr && columns->body.size() == 1, "a turned loop around no loop");
  const auto* store = std::get_if<lower::Store>(&columns->body[0].node);
  RELAY_CHECK(store != nullptr && store->value->kind == te::ScalarKind::kLoad &&
                  store->value->bounds == te::Bounds::kProven,
              "a turned loop around more than a copy");
  const te::ScalarNode& load = *store->value;
  llvm::Value* row_begin = scalars_.emit_uniform(rows.begin);
  llvm::Value* row_end = scalars_.emit_uniform(rows.end);
  llvm::Value* column_begin = scalars_.emit_uniform(columns->begin);
  llvm::Value* column_end = scalars_.emit_uniform(columns->end);

  const auto bytes = static_cast<unsigned>(load.dtype.size());
  constexpr unsigned kMost = 16;  // registers of the smallest set
  unsigned lanes = std::min(kMost, static_cast<unsigned>(frame_.target.vector_bytes()) / bytes);
  for (std::optional<int64_t> extent : {extent_of(rows), extent_of(*columns)}) {
    while (extent && *extent > 0 && lanes > *extent) lanes /= 2;
  }
  if (lanes < 2) return write_serial(rows);
  llvm::Value* width = frame_.int64(lanes);
  auto is_long = [&](const For& loop, llvm::Value* begin, llvm::Value* end) -> llvm::Value* {
    if (std::optional<int64_t> extent = extent_of(loop)) return b.getInt1(*extent >= lanes);
    return b.CreateICmpSGE(b.CreateSub(end, begin), width);
  };
  llvm::Value* whole =
      b.CreateAnd(is_long(rows, row_begin, row_end), is_long(*columns, column_begin, column_end));
  const Dependences& in = survey_.in.at(&rows);
  frame_.emit_if(whole, [&] {
    // The elements left over at the ends are done with some of their neighbours, once more.
    auto squares = [&](llvm::Value* begin, llvm::Value* end,
                       const std::function<void(llvm::Value*)>& body) {
      llvm::Value* last = b.CreateSub(end, width);
      frame_.emit_loop(begin, end, width, [&](llvm::Value* i) {
        body(b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, i, last));
      });
    };
    auto position = [&](int32_t buffer, std::span<const te::ScalarRef> indices, LaneValue row,
                        LaneValue column) {
      ScalarEmitter::Scope scope(scalars_, RegionKind::kConditional, in);
      scalars_.set_lanes(lanes);
      scalars_.bind_axis(rows.axis, row);
      scalars_.bind_axis(columns->axis, column);
      LaneValue offset = scalars_.offset(buffer, indices);
      RELAY_CHECK(!offset.is_vector(), "a turned loop over indices that are not linear");
      return offset;
    };
    auto at = [&](const LaneValue& offset, unsigned k) {
      if (offset.is_uniform() || k == 0) return offset.base;
      return b.CreateAdd(offset.base, b.CreateMul(offset.step, frame_.int64(k)));
    };
    // Along the lines that are written.
    squares(column_begin, column_end, [&](llvm::Value* column) {
      squares(row_begin, row_end, [&](llvm::Value* row) {
        const LaneValue row_lanes = LaneValue::linear(row, frame_.int64(1)),
                        column_lanes = LaneValue::linear(column, frame_.int64(1));
        LaneValue from =
            position(load.tensor.index, load.args, row_lanes, LaneValue::uniform(column));
        LaneValue to =
            position(store->buffer, store->indices, LaneValue::uniform(row), column_lanes);
        ScalarEmitter::Scope scope(scalars_, RegionKind::kConditional, in);
        scalars_.set_lanes(lanes);
        MemoryAccess source(scalars_, load.tensor.index), target(scalars_, store->buffer);
        Vectors vectors;
        for (unsigned k = 0; k < lanes; ++k) vectors.push_back(source.load_whole(at(from, k)));
        // The squares beside this one are next, or those of the tile beside; lines that lie apart
        // are more than the processor fetches ahead by itself.
        if (source.may_exceed(frame_.target.processor.second_bytes / 2)) {
          for (unsigned k = 0; k < lanes; ++k) source.fetch_next_line(at(from, k));
        }
        vectors = turn(b, std::move(vectors), std::max(1u, std::min(lanes, 16 / bytes)));
        for (unsigned k = 0; k < lanes; ++k) target.store_whole(at(to, k), vectors[k]);
      });
    });
  });
  frame_.emit_if(b.CreateNot(whole), [&] {
    ScalarEmitter::Scope scope(scalars_, RegionKind::kConditional, in);
    write_serial(rows);
  });
}

}  // namespace relay::codegen
