// Contractions: groups of k that one instruction multiplies and adds, for small integers.
#include <llvm/IR/IntrinsicsX86.h>

#include <relay/codegen/llvm/contraction_emitter.h>

namespace relay::codegen {

namespace {

/// Bits of a lane of an accumulator, which a group fills.
constexpr unsigned kLaneBits = 32;

}  // namespace

llvm::Value* ContractionEmitter::narrowed(Value* value, DType type) {
  if (plan_.group == 1) return value;
  llvm::Type* to = memory_type(f_.context, type);
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType()))
    to = llvm::FixedVectorType::get(to, vector->getNumElements());
  return b_.CreateIntCast(value, to, type.is_signed());
}

void ContractionEmitter::pack_groups(Value* number, Value* column, Value* panel, bool whole,
                                     const std::optional<Window>& window) {
  const int64_t block = plan_.lanes * plan_.group;
  if (plan_.transpose && (ScalarEmitter::has_masked_access(f_.target, plan_.rhs_type.size()) ||
                          plan_.folded.extent.as_int() % block == 0)) {
    Value* width = mul(panel_vectors(number), n(plan_.lanes));
    f_.emit_loop(n(0), width, n(plan_.lanes), [&](Value* within) {
      Value* strip = element(panel, plan_.rhs_type, mul(within, n(plan_.group)));
      pack_group_columns(add(column, within), width, strip);
    });
    return;
  }
  if (!whole) pack_strips(number, column, raw_, window);
  for_panel_sizes(number, [&](int64_t vectors) {
    if (whole) pack_linear(column, vectors, n(vectors * plan_.lanes), raw_, window);
    pack_group_lines(raw_, panel, vectors);
  });
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

void ContractionEmitter::pack_group_lines(Value* raw, Value* panel, int64_t vectors) {
  const int64_t width = vectors * plan_.lanes;
  llvm::Type* type = widen_type(memory_type(f_.context, plan_.rhs_type), lanes_);
  auto join = [&](Value* group, int64_t steps) {
    Value* from = element(raw, plan_.rhs_type, mul(group, n(width * plan_.group)));
    Value* to = element(panel, plan_.rhs_type, mul(group, n(width * plan_.group)));
    for (int64_t v = 0; v < vectors; ++v) {
      std::vector<Value*> rows;
      for (int64_t i = 0; i < steps; ++i) {
        Value* at = element(from, plan_.rhs_type, n(i * width + v * plan_.lanes));
        auto* load = b_.CreateAlignedLoad(
            type, at, llvm::Align(static_cast<uint64_t>(plan_.lanes * plan_.rhs_bytes())));
        rows.push_back(f_.annotate_scratch(load, kRaw));
      }
      Value* at = element(to, plan_.rhs_type, n(v * plan_.lanes * plan_.group));
      store_scratch(join_group(rows), at, kPanels,
                    static_cast<unsigned>(vector_alignment().value()));
    }
  };
  const int64_t k = plan_.folded.extent.as_int(), rest = k % plan_.group;
  f_.emit_loop(n(0), n(k / plan_.group), n(1), [&](Value* group) { join(group, plan_.group); });
  if (rest > 0) join(n(k / plan_.group), rest);
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
  auto block = [&](Value* k, int64_t steps) {
    std::vector<Value*> rows;
    for (Value* line : lines) {
      Value* at = element(line, load.dtype, k);
      Value* mask = lanes_below(n(steps), count);
      llvm::Align align(load.dtype.size());
      llvm::Instruction* loaded =
          mask == nullptr
              ? static_cast<llvm::Instruction*>(b_.CreateAlignedLoad(type, at, align))
              : b_.CreateMaskedLoad(type, at, align, mask, llvm::Constant::getNullValue(type));
      f_.annotate(loaded, load.buffer);
      rows.push_back(b_.CreateBitCast(loaded, widen_type(b_.getInt32Ty(), lanes_)));
    }
    rows = transpose_block(std::move(rows));
    const int64_t groups = (steps + plan_.group - 1) / plan_.group;
    for (int64_t i = 0; i < groups; ++i) {
      Value* at = element(strip, plan_.rhs_type, mul(add(k, n(i * plan_.group)), width));
      store_scratch(rows[static_cast<size_t>(i)], at, kPanels,
                    static_cast<unsigned>(vector_alignment().value()));
    }
  };
  const int64_t k = plan_.folded.extent.as_int(), rest = k % count;
  f_.emit_loop(n(0), n(k - rest), n(count), [&](Value* at) { block(at, count); });
  if (rest > 0) block(n(k - rest), rest);
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

ContractionEmitter::RowOfProducts ContractionEmitter::row_of(Value* row, const Products& products) {
  if (products.pairs.empty()) return {row, {}};
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
  // Of bytes the first factor has no sign.
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

llvm::Value* ContractionEmitter::add_pairs(Value* a, Value* b, Value* sum) {
  llvm::Type* words = llvm::FixedVectorType::get(b_.getInt16Ty(), 2 * lanes_);
  const unsigned bits = lanes_ * kLaneBits;
  const llvm::Intrinsic::ID id = bits == 512   ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                                 : bits == 256 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                               : llvm::Intrinsic::x86_sse2_pmadd_wd;
  Value* products =
      b_.CreateIntrinsic(id, {}, {b_.CreateBitCast(a, words), b_.CreateBitCast(b, words)});
  return add(products, sum);
}

}  // namespace relay::codegen
