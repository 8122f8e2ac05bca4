// Contractions: register tiles and their epilogue.
#include <algorithm>

#include <llvm/IR/InlineAsm.h>

#include <relay/codegen/llvm/contraction_emitter.h>

namespace relay::codegen {

namespace {

/// Steps of k written out in a row.
constexpr int64_t kUnroll = 1;

}  // namespace

void ContractionEmitter::emit_row_tiles(Value* panel, int64_t vectors, Value* first_column) {
  f_.emit_loop(task_.tile_begin, task_.tile_end, n(1), [&](Value* number) {
    Value* row = piece_begin(plan_.row_tiles, number);
    const int64_t size = plan_.row_tiles.size;
    if (plan_.row_tiles.known) {
      for_sizes(plan_.row_tiles, number,
                [&](int64_t rows) { emit_tile(rows, vectors, row, panel, first_column); });
      return;
    }
    Value* left = b_.CreateSub(dim(plan_.rows.extent), row);
    f_.emit_if(b_.CreateICmpSGE(left, n(size)),
               [&] { emit_tile(size, vectors, row, panel, first_column); });
    f_.emit_if(b_.CreateICmpSLT(left, n(size)), [&] {
      int64_t part = 1;
      while (part * 2 < size) part *= 2;
      for (; part > 0; part /= 2) {
        Value* has = b_.CreateICmpNE(b_.CreateAnd(left, n(part)), n(0));
        f_.emit_if(has, [&] {
          Value* first = add(row, b_.CreateAnd(left, n(-2 * part)));
          emit_tile(part, vectors, first, panel, first_column);
        });
      }
    });
  });
}

llvm::Value* ContractionEmitter::multiply_add(Value* a, Value* b, Value* sum) {
  if (c_.accumulator.is_integer()) return add(b_.CreateMul(a, b), sum);
  if (f_.target.isa != Target::Isa::kBaseline) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {a, b, sum});
  }
  return b_.CreateFAdd(b_.CreateFMul(a, b), sum);
}

std::vector<llvm::Value*> ContractionEmitter::direct_rows(int64_t rows, Value* first_row,
                                                          Value* k_from) {
  const LinearLoad& lhs = *plan_.lhs.load;
  Value* base = add(batch_part(lhs.offset), mul(k_from, dim(*plan_.lhs_step)));
  std::optional<Dim> stride = plan_.rows.stride_of(lhs.offset);
  std::vector<Value*> result;
  for (int64_t i = 0; i < rows; ++i) {
    if (i > 0 && stride) {
      result.push_back(element(result[0], lhs.dtype, mul(n(i), dim(*stride))));
    } else {
      Value* offset = add(base, part_of(lhs.offset, plan_.rows, add(first_row, n(i))));
      result.push_back(element(f_.buffer(lhs.buffer), lhs.dtype, offset));
    }
  }
  return result;
}

void ContractionEmitter::emit_tile(int64_t rows, int64_t vectors, Value* first_row, Value* panel,
                                   Value* first_column) {
  const DType type = c_.accumulator;
  llvm::Type* wide = accumulator(lanes_);
  const int64_t width = vectors * plan_.lanes;

  if (plan_.dots) {
    emit_dot_tile(rows, first_row, first_column);
    return;
  }
  std::vector<Value*> row_at;
  Value* lhs_step = plan_.lhs_direct ? dim(*plan_.lhs_step) : n(1);
  if (plan_.lhs_direct) {
    row_at = direct_rows(rows, first_row, task_.k_from);
  } else {
    Value* first = mul(b_.CreateSub(first_row, task_.first_row), row_pitch_);
    for (int64_t i = 0; i < rows; ++i) {
      row_at.push_back(element(rows_, type, add(first, mul(n(i), row_pitch_))));
    }
  }

  std::vector<Value*> masks(static_cast<size_t>(vectors), nullptr);
  if (!floor_mod(plan_.main_columns, plan_.lanes).is_int(0)) {
    for (int64_t v = 0; v < vectors; ++v) {
      if (plan_.panels.known && v + 1 < vectors) continue;
      Value* left = b_.CreateSub(dim(plan_.main_columns), add(first_column, n(v * plan_.lanes)));
      masks[static_cast<size_t>(v)] = lanes_below(left, lanes_);
    }
  } else if (!plan_.panels.known) {
    // Whole vectors, but the last panel may have fewer.
    for (int64_t v = 1; v < vectors; ++v) {
      Value* left = b_.CreateSub(dim(plan_.main_columns), add(first_column, n(v * plan_.lanes)));
      masks[static_cast<size_t>(v)] = lanes_below(left, lanes_);
    }
  }

  Value* rhs_at = panel;
  Value* rhs_step = n(width);
  if (plan_.rhs_direct) {
    const LinearLoad& rhs = *plan_.rhs.load;
    rhs_step = dim(*plan_.rhs_step);
    Value* offset = add(add(batch_part(rhs.offset), mul(task_.k_from, rhs_step)),
                        part_of(rhs.offset, plan_.columns, first_column));
    rhs_at = element(f_.buffer(rhs.buffer), type, offset);
  }

  // Lines that the epilogue needs come while the sums are formed.
  if (plan_.one_pass) {
    auto fetch = [&](Value* line, DType dtype, bool write) {
      for (int64_t v = 0; v < vectors; ++v) {
        b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                           {element(line, dtype, n(v * plan_.lanes)), b_.getInt32(write ? 1 : 0),
                            b_.getInt32(3), b_.getInt32(1)});
      }
    };
    for (int64_t i = 0; i < rows; ++i) {
      Value* row = add(first_row, n(i));
      if (plan_.out_offset) {
        fetch(out_line(row, first_column), f_.buffers[static_cast<size_t>(c_.out)].dtype, true);
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

  clear_registers();
  std::vector<llvm::AllocaInst*> slots;
  Value* kept = nullptr;  // sums of the passes before
  if (!plan_.one_pass) {
    Value* column = b_.CreateSub(first_column, task_.first_column);
    Value* row = b_.CreateSub(first_row, task_.first_row);
    Value* offset =
        add(mul(column, n(plan_.tiles_in_block * plan_.row_tiles.size)), mul(row, n(width)));
    kept = element(sums_, type, offset);
  }
  auto kept_at = [&](int64_t row, int64_t v) {
    return element(kept, type, n(row * width + v * plan_.lanes));
  };
  auto vector_align = static_cast<unsigned>(plan_.lanes * plan_.element_bytes);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t v = 0; v < vectors; ++v) {
      slots.push_back(f_.alloca_register(wide, "sum"));
      b_.CreateStore(llvm::Constant::getNullValue(wide), slots.back());
    }
  }
  if (!plan_.one_pass) {
    f_.emit_if(b_.CreateNot(task_.first_pass), [&] {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t v = 0; v < vectors; ++v) {
          auto* load = b_.CreateAlignedLoad(wide, kept_at(i, v), llvm::Align(vector_align));
          f_.annotate_scratch(load, kSums);
          b_.CreateStore(load, slots[static_cast<size_t>(i * vectors + v)]);
        }
      }
    });
  }

  auto step = [&](Value* k) {
    std::vector<Value*> right;
    Value* line = element(rhs_at, type, mul(k, rhs_step));
    for (int64_t v = 0; v < vectors; ++v) {
      Value* at = element(line, type, n(v * plan_.lanes));
      if (plan_.rhs_direct) {
        right.push_back(
            load(plan_.rhs.load->buffer, type, at, lanes_, masks[static_cast<size_t>(v)]));
      } else {
        auto* loaded = b_.CreateAlignedLoad(wide, at, llvm::Align(vector_align));
        right.push_back(f_.annotate_scratch(loaded, kPanels));
      }
    }
    for (int64_t i = 0; i < rows; ++i) {
      Value* at = element(row_at[static_cast<size_t>(i)], type, mul(k, lhs_step));
      llvm::LoadInst* one =
          b_.CreateAlignedLoad(accumulator(1), at, llvm::Align(static_cast<uint64_t>(type.size())));
      if (plan_.lhs_direct) {
        f_.annotate(one, plan_.lhs.load->buffer);
      } else {
        f_.annotate_scratch(one, kRows);
      }
      Value* left = splat(one, lanes_);
      for (int64_t v = 0; v < vectors; ++v) {
        llvm::AllocaInst* slot = slots[static_cast<size_t>(i * vectors + v)];
        Value* sum = b_.CreateLoad(wide, slot);
        b_.CreateStore(multiply_add(left, right[static_cast<size_t>(v)], sum), slot);
      }
    }
  };
  Value* even = b_.CreateAnd(task_.k_count, n(-kUnroll));
  f_.emit_loop(n(0), even, n(kUnroll), [&](Value* k) {
    for (int64_t u = 0; u < kUnroll; ++u) step(b_.CreateNSWAdd(k, n(u)));
  });
  f_.emit_loop(even, task_.k_count, n(1), step);

  std::vector<std::vector<Value*>> sums(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t v = 0; v < vectors; ++v) {
      sums[static_cast<size_t>(i)].push_back(
          b_.CreateLoad(wide, slots[static_cast<size_t>(i * vectors + v)]));
    }
  }
  if (plan_.one_pass) {
    finish_tile(sums, first_row, first_column, masks);
    return;
  }
  f_.emit_if(b_.CreateNot(task_.last_pass), [&] {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t v = 0; v < vectors; ++v) {
        store_scratch(sums[static_cast<size_t>(i)][static_cast<size_t>(v)], kept_at(i, v), kSums,
                      vector_align);
      }
    }
  });
  f_.emit_if(task_.last_pass, [&] { finish_tile(sums, first_row, first_column, masks); });
}

bool ContractionEmitter::varies_by_row(const TileLoad& tile) const {
  return std::any_of(plan_.rows.axes.begin(), plan_.rows.axes.end(), [&](const te::Axis& axis) {
    return !axis.extent.is_int(1) && !tile.load.offset.coefficient(axis.id).is_int(0);
  });
}

void ContractionEmitter::clear_registers() {
  if (f_.target.isa == Target::Isa::kBaseline) return;
  const bool wide = f_.target.isa == Target::Isa::kAvx512;
  std::string clobbers;
  for (int i = 0; i < (wide ? 32 : 16); ++i) {
    if (i > 0) clobbers += ",";
    clobbers += (wide ? "~{zmm" : "~{ymm") + std::to_string(i) + "}";
  }
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), false);
  b_.CreateCall(type, llvm::InlineAsm::get(type, "", clobbers, /*hasSideEffects=*/true));
}

llvm::Value* ContractionEmitter::out_line(Value* row, Value* column) {
  const te::Affine& sum = *plan_.out_offset;
  Value* offset = add(batch_part(sum), part_of(sum, plan_.rows, row));
  offset = add(offset, part_of(sum, plan_.columns, column));
  return element(f_.buffer(c_.out), f_.buffers[static_cast<size_t>(c_.out)].dtype, offset);
}

void ContractionEmitter::finish_tile(const std::vector<std::vector<Value*>>& sums, Value* first_row,
                                     Value* first_column, const std::vector<Value*>& masks) {
  if (!plan_.heavy_epilogue || sums.size() == 1) {
    finish_rows(sums, first_row, first_column, masks);
    return;
  }
  const auto vectors = static_cast<int64_t>(masks.size());
  const int64_t width = vectors * plan_.lanes;
  auto vector_align = static_cast<unsigned>(plan_.lanes * plan_.element_bytes);
  for (size_t i = 0; i < sums.size(); ++i) {
    for (int64_t v = 0; v < vectors; ++v) {
      int64_t offset = static_cast<int64_t>(i) * width + v * plan_.lanes;
      store_scratch(sums[i][static_cast<size_t>(v)], element(tile_, c_.accumulator, n(offset)),
                    kTile, vector_align);
    }
  }
  f_.emit_loop(n(0), n(static_cast<int64_t>(sums.size())), n(1), [&](Value* i) {
    std::vector<std::vector<Value*>> one(1);
    for (int64_t v = 0; v < vectors; ++v) {
      Value* at = element(tile_, c_.accumulator, add(mul(i, n(width)), n(v * plan_.lanes)));
      auto* load = b_.CreateAlignedLoad(accumulator(lanes_), at, llvm::Align(vector_align));
      one[0].push_back(f_.annotate_scratch(load, kTile));
    }
    finish_rows(one, add(first_row, i), first_column, masks);
  });
}

void ContractionEmitter::finish_rows(const std::vector<std::vector<Value*>>& sums, Value* first_row,
                                     Value* first_column, const std::vector<Value*>& masks) {
  // Loads that are the same for all rows happen once.
  auto loaded = [&](const TileLoad& tile, Value* row_part, size_t v) {
    const LinearLoad& load = tile.load;
    Value* offset = add(batch_part(load.offset), row_part);
    unsigned lanes = 1;
    Value* mask = nullptr;
    if (tile.along_columns) {
      offset = add(offset, add(part_of(load.offset, plan_.columns, first_column),
                               n(static_cast<int64_t>(v) * plan_.lanes)));
      lanes = lanes_;
      mask = masks[v];
    }
    Value* at = element(f_.buffer(load.buffer), load.dtype, offset);
    Value* value = this->load(load.buffer, load.dtype, at, lanes, mask);
    return tile.along_columns ? LaneValue::vector(value) : LaneValue::uniform(value);
  };
  const size_t vectors = masks.size();
  std::vector<std::vector<LaneValue>> values(plan_.tile_loads.size(),
                                             std::vector<LaneValue>(vectors));
  auto load_all = [&](size_t k, Value* row_part) {
    const TileLoad& tile = plan_.tile_loads[k];
    for (size_t v = 0; v < vectors; ++v) {
      values[k][v] = !tile.along_columns && v > 0 ? values[k][0] : loaded(tile, row_part, v);
    }
  };
  for (size_t k = 0; k < plan_.tile_loads.size(); ++k) {
    if (!varies_by_row(plan_.tile_loads[k])) load_all(k, n(0));
  }

  Dependences binds = ids(plan_.rows);
  for (uint32_t id : ids(plan_.columns)) binds.push_back(id);
  binds.push_back(c_.sum | te::kVarFlag);
  for (const TileLoad& tile : plan_.tile_loads) binds.push_back(tile.var | te::kVarFlag);
  std::sort(binds.begin(), binds.end());
  for (size_t i = 0; i < sums.size(); ++i) {
    Value* row = add(first_row, n(static_cast<int64_t>(i)));
    for (size_t k = 0; k < plan_.tile_loads.size(); ++k) {
      const TileLoad& tile = plan_.tile_loads[k];
      if (varies_by_row(tile)) load_all(k, part_of(tile.load.offset, plan_.rows, row));
    }
    std::vector<Value*> row_values;
    if (plan_.epilogue_axes) row_values = split(plan_.rows, row);
    Value* out_at = nullptr;
    DType out_type = f_.buffers[static_cast<size_t>(c_.out)].dtype;
    if (plan_.out_offset) {
      out_at = out_line(row, first_column);
    }
    for (size_t v = 0; v < vectors; ++v) {
      ScalarEmitter::Scope scope(scalars_, ScalarEmitter::RegionKind::kConditional, binds);
      scalars_.set_lanes(lanes_, masks[v]);
      scalars_.bind_var(c_.sum, LaneValue::vector(sums[i][v]));
      for (size_t k = 0; k < plan_.tile_loads.size(); ++k) {
        scalars_.bind_var(plan_.tile_loads[k].var, values[k][v]);
      }
      if (plan_.epilogue_axes) {
        for (size_t r = 0; r < row_values.size(); ++r) {
          scalars_.bind_axis(plan_.rows.axes[r].id, LaneValue::uniform(row_values[r]));
        }
        Value* column = add(first_column, n(static_cast<int64_t>(v) * plan_.lanes));
        bind_lanes(plan_.columns, column, lanes_);
      }
      Value* result = scalars_.emit_wide(plan_.epilogue);
      if (out_at == nullptr) {
        scalars_.store(c_.out, c_.out_index, LaneValue::vector(result));
        continue;
      }
      result = scalars_.to_memory(result, out_type);
      Value* at = element(out_at, out_type, n(static_cast<int64_t>(v) * plan_.lanes));
      llvm::Align align(out_type.size());
      llvm::Instruction* store =
          masks[v] == nullptr
              ? static_cast<llvm::Instruction*>(b_.CreateAlignedStore(result, at, align))
              : b_.CreateMaskedStore(result, at, align, masks[v]);
      f_.annotate(store, c_.out);
    }
  }
}

}  // namespace relay::codegen
