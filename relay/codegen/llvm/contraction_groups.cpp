// Contractions: groups of k that one instruction multiplies and adds, for small integers.
#include <array>

#include <llvm/IR/IntrinsicsX86.h>

#include <relay/codegen/llvm/contraction_emitter.h>

namespace relay::codegen {

namespace {

/// Bits of a lane of an accumulator, which a group fills.
constexpr unsigned kLaneBits = 32;
/// Bytes of the widest vector.
constexpr int64_t kVectorOfBytes = 64;

}  // namespace

llvm::Value* ContractionEmitter::narrowed(Value* value, DType type) {
  if (plan_.group == 1) return value;
  if (type == kBFloat16) return upper_halves(value);
  llvm::Type* to = memory_type(f_.context, type);
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType()))
    to = llvm::FixedVectorType::get(to, vector->getNumElements());
  return b_.CreateIntCast(value, to, type.is_signed());
}

llvm::Value* ContractionEmitter::upper_halves(Value* value) {
  // Exact: each number was one of bfloat16.
  constexpr uint64_t kHalf = 16;
  llvm::Type *words = b_.getInt32Ty(), *halves = b_.getInt16Ty();
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType())) {
    words = widen_type(words, vector->getNumElements());
    halves = widen_type(halves, vector->getNumElements());
  }
  return b_.CreateTrunc(b_.CreateLShr(b_.CreateBitCast(value, words), kHalf), halves);
}

void ContractionEmitter::pack_groups(Value* number, Value* column, Value* panel, bool whole,
                                     const std::optional<Window>& window) {
  const int64_t block = plan_.lanes * plan_.group;
  if (plan_.transpose && (ScalarEmitter::has_masked_access(f_.target, plan_.rhs_type.size()) ||
                          floor_mod(plan_.folded.extent, block).is_int(0))) {
    Value* width = mul(panel_vectors(number), n(plan_.lanes));
    f_.emit_loop(n(0), width, n(plan_.lanes), [&](Value* within) {
      Value* strip = element(panel, plan_.rhs_type, mul(within, n(plan_.group)));
      pack_group_columns(add(column, within), width, strip);
    });
    return;
  }
  if (!whole) pack_strips(number, column, raw_, window);
  for_panel_sizes(number, [&](int64_t vectors) {
    auto by_raw = [&] {
      if (whole) pack_linear(column, vectors, n(vectors * plan_.lanes), raw_, window);
      pack_group_lines({raw_, n(vectors * plan_.lanes), -1}, panel, vectors);
    };
    std::optional<Dim> along_k;
    if (whole && !window && plan_.rhs.load->dtype == plan_.rhs_type)
      along_k = plan_.folded.stride_of(plan_.rhs.load->offset);
    if (!along_k) return by_raw();
    // Lines that lie whole in the tensor are joined from there.
    const LinearLoad& load = *plan_.rhs.load;
    const int64_t read = joins_bytes(vectors) ? kVectorOfBytes : vectors * plan_.lanes;
    Value* inside = b_.CreateICmpSLE(add(column, n(read)), dim(plan_.columns.extent));
    f_.emit_if(inside, [&] {
      Value* offset = add(batch_part(load.offset), column);
      Value* from = element(f_.buffer(load.buffer), load.dtype, offset);
      pack_group_lines({from, dim(*along_k), load.buffer}, panel, vectors);
    });
    f_.emit_if(b_.CreateNot(inside), by_raw);
  });
}

bool ContractionEmitter::joins_bytes(int64_t vectors) const {
  return plan_.group == 4 && lanes_ == 16 && vectors > 1;
}

llvm::Value* ContractionEmitter::load_bytes(const std::vector<LaneLoad>& lanes, Value* along) {
  const LinearLoad& load = *plan_.rhs.load;
  const auto width = static_cast<unsigned>(kVectorOfBytes);
  // The masks of all vectors, one after the other; none for vectors that are not there.
  std::vector<Value*> masks;
  for (const LaneLoad& each : lanes) masks.push_back(each.mask);
  while (masks.size() < width / lanes_)
    masks.push_back(llvm::Constant::getNullValue(masks[0]->getType()));
  while (masks.size() > 1) {
    std::vector<Value*> wider;
    for (size_t i = 0; i < masks.size(); i += 2) wider.push_back(joined(masks[i], masks[i + 1]));
    masks = std::move(wider);
  }
  Value* at = element(f_.buffer(load.buffer), load.dtype, add(lanes[0].base, along));
  llvm::Type* type = widen_type(memory_type(f_.context, load.dtype), width);
  auto* loaded = b_.CreateMaskedLoad(type, at, llvm::Align(1), masks[0], fill_of(load, width));
  f_.annotate(loaded, load.buffer);
  const auto count = static_cast<int>(lanes.size() * lanes_);
  if (count == kVectorOfBytes) return loaded;
  std::vector<int> first;
  for (int lane = 0; lane < count; ++lane) first.push_back(lane);
  return b_.CreateShuffleVector(loaded, first);
}

llvm::Value* ContractionEmitter::joined(Value* low, Value* high) {
  const unsigned count = llvm::cast<llvm::FixedVectorType>(low->getType())->getNumElements();
  std::vector<int> places;
  for (unsigned lane = 0; lane < 2 * count; ++lane) places.push_back(static_cast<int>(lane));
  return b_.CreateShuffleVector(low, high, places);
}

llvm::Value* ContractionEmitter::join_group(const std::vector<Value*>& rows) {
  Value* joined = nullptr;
  const auto bits = kLaneBits / static_cast<unsigned>(plan_.group);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == nullptr) continue;
    llvm::Type* type = widen_type(b_.getInt32Ty(), lanes_);
    if (!rows[i]->getType()->isVectorTy()) type = b_.getInt32Ty();
    Value* wide = b_.CreateZExt(rows[i], type);
    if (i > 0) wide = b_.CreateShl(wide, i * bits);
    joined = joined == nullptr ? wide : b_.CreateOr(joined, wide);
  }
  return joined;
}

std::vector<llvm::Value*> ContractionEmitter::interleave_bytes(const std::vector<Value*>& rows) {
  // Within parts of 16 bytes first: pairs of bytes, then pairs of those.
  auto interleave = [&](Value* a, Value* b, int size, bool high) {
    std::vector<int> places;
    for (int part = 0; part < 64; part += 16) {
      for (int i = 0; i < 8; i += size) {
        for (int from : {0, 64}) {
          for (int byte = 0; byte < size; ++byte)
            places.push_back(from + part + (high ? 8 : 0) + i + byte);
        }
      }
    }
    return b_.CreateShuffleVector(a, b, places);
  };
  Value *low = interleave(rows[0], rows[1], 1, false),
        *high = interleave(rows[0], rows[1], 1, true);
  Value *low2 = interleave(rows[2], rows[3], 1, false),
        *high2 = interleave(rows[2], rows[3], 1, true);
  std::vector<Value*> quarters{interleave(low, low2, 2, false), interleave(low, low2, 2, true),
                               interleave(high, high2, 2, false), interleave(high, high2, 2, true)};
  // Then parts change places: those of one number follow each other.
  auto parts = [&](Value* a, Value* b, std::array<int, 4> which) {
    std::vector<int> places;
    for (int part : which) {
      for (int byte = 0; byte < 16; ++byte) places.push_back(part * 16 + byte);
    }
    return b_.CreateShuffleVector(a, b, places);
  };
  std::vector<Value*> halves;
  for (size_t i : {size_t{0}, size_t{2}}) {
    halves.push_back(parts(quarters[i], quarters[i + 1], {0, 1, 4, 5}));
    halves.push_back(parts(quarters[i], quarters[i + 1], {2, 3, 6, 7}));
  }
  std::vector<Value*> joined;
  for (size_t i : {size_t{0}, size_t{1}}) {
    joined.push_back(parts(halves[i], halves[i + 2], {0, 2, 4, 6}));
    joined.push_back(parts(halves[i], halves[i + 2], {1, 3, 5, 7}));
  }
  return joined;
}

void ContractionEmitter::pack_group_lines(const GroupLines& lines, Value* panel, int64_t vectors) {
  const int64_t width = vectors * plan_.lanes;
  const DType type = plan_.rhs_type;
  auto load_row = [&](Value* at, unsigned lanes) -> Value* {
    auto* load = b_.CreateAlignedLoad(widen_type(memory_type(f_.context, type), lanes), at,
                                      llvm::Align(type.size()));
    return lines.buffer < 0 ? f_.annotate_scratch(load, kRaw) : f_.annotate(load, lines.buffer);
  };
  const bool bytes = joins_bytes(vectors);
  auto join = [&](Value* group, int64_t steps) {
    Value* first = mul(group, n(plan_.group));
    Value* to = element(panel, type, mul(first, n(width)));
    std::vector<Value*> rows;
    for (int64_t i = 0; i < steps; ++i)
      rows.push_back(element(lines.at, type, mul(add(first, n(i)), lines.pitch)));
    std::vector<Value*> joined;
    if (bytes && steps == plan_.group) {
      for (Value*& row : rows) row = load_row(row, static_cast<unsigned>(kVectorOfBytes));
      joined = interleave_bytes(rows);
    }
    for (int64_t v = 0; v < vectors; ++v) {
      if (joined.size() <= static_cast<size_t>(v)) {
        std::vector<Value*> each;
        for (Value* row : rows)
          each.push_back(load_row(element(row, type, n(v * plan_.lanes)), lanes_));
        joined.push_back(join_group(each));
      }
      Value* at = element(to, type, n(v * plan_.lanes * plan_.group));
      store_scratch(joined[static_cast<size_t>(v)], at, kPanels,
                    static_cast<unsigned>(vector_alignment().value()));
    }
  };
  Value* whole = dim(floor_div(plan_.folded.extent, plan_.group));
  f_.emit_loop(n(0), whole, n(1), [&](Value* group) { join(group, plan_.group); });
  with_rest([&](int64_t steps) { join(whole, steps); });
}

void ContractionEmitter::with_rest(const std::function<void(int64_t steps)>& body) {
  const Dim rest = floor_mod(plan_.folded.extent, plan_.group);
  if (rest.is_int(0)) return;
  if (rest.is_int()) return body(rest.as_int());
  // Of pairs there can be one.
  RELAY_CHECK(plan_.group == 2, "steps of k that only a run counts come in pairs");
  f_.emit_if(b_.CreateICmpNE(dim(rest), n(0)), [&] { body(1); });
}

void ContractionEmitter::pack_group_columns(Value* first_column, Value* width, Value* strip) {
  const LinearLoad& load = *plan_.rhs.load;
  std::vector<Value*> lines;
  const bool whole = floor_mod(plan_.main_columns, plan_.lanes).is_int(0);
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    Value* column = add(first_column, n(lane));
    // Past the end: the last column again; nobody stores what comes of it.
    if (!whole) column = least(column, dim(plan_.columns.extent - 1));
    Value* offset = add(batch_part(load.offset), part_of(load.offset, plan_.columns, column));
    lines.push_back(element(f_.buffer(load.buffer), load.dtype, offset));
  }
  const auto count = static_cast<unsigned>(plan_.lanes * plan_.group);
  llvm::Type* type = widen_type(memory_type(f_.context, load.dtype), count);
  auto block = [&](Value* k, Value* steps) {
    std::vector<Value*> rows;
    for (Value* line : lines) {
      Value* at = element(line, load.dtype, k);
      Value* mask = lanes_below(steps, count);
      llvm::Align align(load.dtype.size());
      llvm::Instruction* loaded =
          mask == nullptr
              ? static_cast<llvm::Instruction*>(b_.CreateAlignedLoad(type, at, align))
              : b_.CreateMaskedLoad(type, at, align, mask, llvm::Constant::getNullValue(type));
      f_.annotate(loaded, load.buffer);
      rows.push_back(b_.CreateBitCast(loaded, widen_type(b_.getInt32Ty(), lanes_)));
    }
    rows = transpose_block(std::move(rows));
    // A panel has room for all.
    for (int64_t i = 0; i < plan_.lanes; ++i) {
      Value* at = element(strip, plan_.rhs_type, mul(add(k, n(i * plan_.group)), width));
      store_scratch(rows[static_cast<size_t>(i)], at, kPanels,
                    static_cast<unsigned>(vector_alignment().value()));
    }
  };
  const Dim rest = floor_mod(plan_.folded.extent, int64_t{count});
  Value* even = dim(plan_.folded.extent - rest);
  f_.emit_loop(n(0), even, n(count), [&](Value* at) { block(at, n(count)); });
  if (rest.is_int(0)) return;
  f_.emit_if(b_.CreateICmpNE(dim(rest), n(0)), [&] { block(even, dim(rest)); });
}

llvm::Value* ContractionEmitter::load_groups(const RightLine& line, Value* at) {
  llvm::Type* type = widen_type(b_.getInt32Ty(), lanes_);
  const llvm::Align align = line.buffer < 0 ? vector_alignment() : llvm::Align(line.dtype.size());
  auto* load = b_.CreateAlignedLoad(type, at, align);
  return line.buffer < 0 ? f_.annotate_scratch(load, kPanels) : f_.annotate(load, line.buffer);
}

llvm::Value* ContractionEmitter::load_left_group(const LeftLines& lines, int64_t row, Value* k,
                                                 int64_t steps) {
  Value* at = element(lines.at[static_cast<size_t>(row)], lines.dtype, mul(k, n(plan_.group)));
  const llvm::Align align(lines.dtype.size());
  auto annotated = [&](llvm::Instruction* load) {
    return lines.buffer < 0 ? f_.annotate_scratch(load, kRows) : f_.annotate(load, lines.buffer);
  };
  if (steps == plan_.group)
    return splat(annotated(b_.CreateAlignedLoad(b_.getInt32Ty(), at, align)), lanes_);
  // A tensor ends with its last row.
  std::vector<Value*> each;
  for (int64_t i = 0; i < steps; ++i) {
    each.push_back(annotated(b_.CreateAlignedLoad(memory_type(f_.context, lines.dtype),
                                                  element(at, lines.dtype, n(i)), align)));
  }
  return splat(join_group(each), lanes_);
}

bool ContractionEmitter::has_dots() const {
  if (plan_.lhs_type == kBFloat16) return true;
  return f_.target.dots &&
         (plan_.group == 2 || plan_.lhs_type.is_signed() != plan_.rhs_type.is_signed());
}

std::vector<llvm::Value*> ContractionEmitter::pairs_of(Value* groups, DType type) {
  if (plan_.group == 2) return {groups};
  // The even and the odd ones of four bytes.
  constexpr uint64_t kByte = 8;
  Value* words = b_.CreateBitCast(groups, llvm::FixedVectorType::get(b_.getInt16Ty(), 2 * lanes_));
  auto shifted = [&](Value* value) {
    return type.is_signed() ? b_.CreateAShr(value, kByte) : b_.CreateLShr(value, kByte);
  };
  return {shifted(b_.CreateShl(words, kByte)), shifted(words)};
}

ContractionEmitter::Products ContractionEmitter::products_with(std::vector<Value*> columns) {
  Products products{std::move(columns), {}};
  if (plan_.group == 1 || has_dots()) return products;
  for (Value* column : products.columns) products.pairs.push_back(pairs_of(column, plan_.rhs_type));
  return products;
}

ContractionEmitter::RowOfProducts ContractionEmitter::row_of(Value* row) {
  if (plan_.group == 1 || has_dots()) return {row, {}};
  return {row, pairs_of(row, plan_.lhs_type)};
}

llvm::Value* ContractionEmitter::multiply_add(const RowOfProducts& row, const Products& products,
                                              size_t column, Value* sum) {
  if (plan_.group == 1) return multiply_add(row.row, products.columns[column], sum);
  if (!has_dots()) {
    for (size_t i = 0; i < row.pairs.size(); ++i)
      sum = add_pairs(row.pairs[i], products.pairs[column][i], sum);
    return sum;
  }
  if (plan_.lhs_type == kBFloat16) return add_bfloat16(row.row, products.columns[column], sum);
  // For bytes the first factor has no sign.
  Value *first = row.row, *second = products.columns[column];
  if (plan_.lhs_type.is_signed()) std::swap(first, second);
  const unsigned bits = lanes_ * kLaneBits;
  llvm::Intrinsic::ID id = llvm::Intrinsic::not_intrinsic;
  if (plan_.group == 4) {
    id = bits == 512   ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
         : bits == 256 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                       : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
  } else {
    id = bits == 512   ? llvm::Intrinsic::x86_avx512_vpdpwssd_512
         : bits == 256 ? llvm::Intrinsic::x86_avx512_vpdpwssd_256
                       : llvm::Intrinsic::x86_avx512_vpdpwssd_128;
  }
  return b_.CreateIntrinsic(id, {}, {sum, first, second});
}

llvm::Value* ContractionEmitter::add_bfloat16(Value* row, Value* columns, Value* sum) {
  const unsigned bits = lanes_ * kLaneBits;
  const llvm::Intrinsic::ID id = bits == 512   ? llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512
                                 : bits == 256 ? llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256
                                               : llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128;
  auto* pairs = llvm::FixedVectorType::get(b_.getBFloatTy(), 2 * lanes_);
  return b_.CreateIntrinsic(id, {},
                            {sum, b_.CreateBitCast(row, pairs), b_.CreateBitCast(columns, pairs)});
}

llvm::Value* ContractionEmitter::add_pairs(Value* a, Value* b, Value* sum) {
  llvm::Type* words = llvm::FixedVectorType::get(b_.getInt16Ty(), 2 * lanes_);
  if (!f_.target.is_x86()) {
    llvm::Type* wide = llvm::FixedVectorType::get(b_.getInt32Ty(), 2 * lanes_);
    Value* all = b_.CreateMul(b_.CreateSExt(b_.CreateBitCast(a, words), wide),
                              b_.CreateSExt(b_.CreateBitCast(b, words), wide));
    llvm::SmallVector<int, 32> evens, odds;
    for (int lane = 0; lane < static_cast<int>(lanes_); ++lane) {
      evens.push_back(2 * lane);
      odds.push_back(2 * lane + 1);
    }
    return add(add(b_.CreateShuffleVector(all, evens), b_.CreateShuffleVector(all, odds)), sum);
  }
  const unsigned bits = lanes_ * kLaneBits;
  const llvm::Intrinsic::ID id = bits == 512   ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                                 : bits == 256 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                               : llvm::Intrinsic::x86_sse2_pmadd_wd;
  Value* products =
      b_.CreateIntrinsic(id, {}, {b_.CreateBitCast(a, words), b_.CreateBitCast(b, words)});
  return add(products, sum);
}

}  // namespace relay::codegen
