// Contractions: register tiles and their epilogue.
#include <algorithm>

#include <relay/codegen/llvm/contraction_emitter.h>
#include <relay/codegen/llvm/memory_access.h>

namespace relay::codegen {

void ContractionEmitter::emit_row_tiles(Value* panel, int64_t vectors, Value* first_column) {
  f_.emit_loop(task_.tile_begin, task_.tile_end, n(1), [&](Value* number) {
    Value* row = piece_begin(plan_.row_tiles, number);
    task_.tile = number;
    const int64_t size = plan_.row_tiles.size;
    if (plan_.row_tiles.known) {
      for_sizes(plan_.row_tiles, number, [&](int64_t rows) {
        if (plan_.matrix) return emit_matrix_tile({n(rows), row}, vectors, panel, first_column);
        emit_tile(rows, vectors, row, panel, first_column);
      });
      return;
    }
    Value* left = b_.CreateSub(dim(plan_.rows.extent), row);
    if (plan_.matrix) return emit_matrix_rows(left, row, vectors, panel, first_column);
    if (plan_.fills_tiles) {
      task_.tile_rows = least(left, n(size));
      emit_tile(size, vectors, row, panel, first_column);
      return;
    }
    f_.emit_if(b_.CreateICmpSGE(left, n(size)),
               [&] { emit_tile(size, vectors, row, panel, first_column); });
    f_.emit_if(b_.CreateICmpSLT(left, n(size)),
               [&] { emit_part_tiles(size, left, row, vectors, panel, first_column); });
  });
}

void ContractionEmitter::emit_part_tiles(int64_t size, Value* left, Value* row, int64_t vectors,
                                         Value* panel, Value* first_column) {
  int64_t part = 1;
  while (part * 2 < size) part *= 2;
  for (; part > 0; part /= 2) {
    Value* has = b_.CreateICmpNE(b_.CreateAnd(left, n(part)), n(0));
    f_.emit_if(has, [&] {
      Value* first = add(row, b_.CreateAnd(left, n(-2 * part)));
      emit_tile(part, vectors, first, panel, first_column);
    });
  }
}

void ContractionEmitter::add_products(const Sums& sums, const LeftLines& left,
                                      const std::vector<Value*>& columns, Value* k, int64_t steps) {
  const Products products = products_with(columns);
  for (int64_t i = 0; i < sums.rows; ++i) {
    Value* row = plan_.group == 1 ? load_left(left, i, k) : load_left_group(left, i, k, steps);
    const RowOfProducts line = row_of(row);
    for (int64_t v = 0; v < sums.vectors; ++v) {
      llvm::AllocaInst* slot = sums.slots[static_cast<size_t>(i * sums.vectors + v)];
      Value* sum = b_.CreateLoad(accumulator(lanes_), slot);
      b_.CreateStore(multiply_add(line, products, static_cast<size_t>(v), sum), slot);
    }
  }
}

llvm::Value* ContractionEmitter::multiply_add(Value* a, Value* b, Value* sum) {
  if (c_.accumulator.is_integer()) return add(b_.CreateMul(a, b), sum);
  if (f_.target.isa != Target::Isa::kBaseline) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {a, b, sum});
  }
  return b_.CreateFAdd(b_.CreateFMul(a, b), sum);
}

llvm::Value* ContractionEmitter::kept_at(const Sums& sums, int64_t row, int64_t vector) {
  const int64_t offset = (row * sums.vectors + vector) * plan_.lanes;
  return element(sums.kept, c_.accumulator, n(offset));
}

ContractionEmitter::Sums ContractionEmitter::begin_sums(int64_t rows, int64_t vectors,
                                                        Value* first_row, Value* first_column) {
  llvm::Type* wide = accumulator(lanes_);
  Sums sums{rows, vectors, {}};
  for (int64_t i = 0; i < rows * vectors; ++i) {
    sums.slots.push_back(f_.alloca_register(wide, "sum"));
    b_.CreateStore(llvm::Constant::getNullValue(wide), sums.slots.back());
  }
  if (plan_.one_pass) return sums;
  Value* column = b_.CreateSub(first_column, task_.first_column);
  Value* row = b_.CreateSub(first_row, task_.first_row);
  Value* offset = add(mul(column, n(plan_.tiles_in_block * plan_.row_tiles.size)),
                      mul(row, n(vectors * plan_.lanes)));
  sums.kept = element(sums_, c_.accumulator, offset);
  f_.emit_if(b_.CreateNot(task_.first_pass), [&] {
    for (int64_t i = 0; i < rows * vectors; ++i) {
      auto* load =
          b_.CreateAlignedLoad(wide, kept_at(sums, i / vectors, i % vectors), vector_alignment());
      f_.annotate_scratch(load, kSums);
      b_.CreateStore(load, sums.slots[static_cast<size_t>(i)]);
    }
  });
  return sums;
}

void ContractionEmitter::emit_tile(int64_t rows, int64_t vectors, Value* first_row, Value* panel,
                                   Value* first_column) {
  if (plan_.dots) {
    emit_dot_tile(rows, first_row, first_column);
    return;
  }
  LeftLines left = left_lines(rows, first_row);
  std::vector<Value*> masks = column_masks(vectors, first_column);
  RightLine right = right_line(panel, vectors, first_column);
  if (plan_.one_pass) prefetch_epilogue(rows, vectors, first_row, first_column);

  const RightLine next = next_panel(right, vectors);
  // One row has a multiply-add for each load: the processor fetches what lies in one line ahead by
  // itself, and asking for it would take the place of loads.
  const bool is_stream = rows == 1 && right.pitch == nullptr;

  clear_registers();
  llvm::Type* wide = accumulator(lanes_);
  Sums sums = begin_sums(rows, vectors, first_row, first_column);
  auto step = [&](Value* k, int64_t steps) {
    std::vector<Value*> columns = load_right(right, k, masks);
    if (plan_.rhs_packed && !is_stream) prefetch_ahead(right, vectors, k);
    if (next.at != nullptr)
      prefetch(element(next.at, next.dtype, mul(k, next.step)), Cache::kSecond);
    if (plan_.group == 1) prefetch_rows_ahead(left, rows, k);
    add_products(sums, left, columns, k, steps);
  };
  Value* groups = task_.k_count;
  if (plan_.group > 1) groups = b_.CreateUDiv(groups, n(plan_.group));
  f_.emit_loop(n(0), groups, n(1), [&](Value* k) { step(k, plan_.group); });
  // The last steps, fewer than a group.
  if (plan_.group > 1) with_rest([&](int64_t steps) { step(groups, steps); });

  std::vector<std::vector<Value*>> values(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows * vectors; ++i) {
    values[static_cast<size_t>(i / vectors)].push_back(
        b_.CreateLoad(wide, sums.slots[static_cast<size_t>(i)]));
  }
  if (plan_.one_pass) {
    finish_tile(values, first_row, first_column, masks);
    return;
  }
  f_.emit_if(b_.CreateNot(task_.last_pass), [&] {
    for (int64_t i = 0; i < rows * vectors; ++i) {
      const int64_t row = i / vectors, v = i % vectors;
      store_scratch(values[static_cast<size_t>(row)][static_cast<size_t>(v)], kept_at(sums, row, v),
                    kSums, static_cast<unsigned>(vector_alignment().value()));
    }
  });
  f_.emit_if(task_.last_pass, [&] { finish_tile(values, first_row, first_column, masks); });
}

bool ContractionEmitter::varies_by_row(const TileLoad& tile) const {
  return std::any_of(plan_.rows.axes.begin(), plan_.rows.axes.end(), [&](const te::Axis& axis) {
    return !axis.extent.is_int(1) && !tile.load.offset.coefficient(axis.id).is_int(0);
  });
}

void ContractionEmitter::clear_registers() {
  // It is the instructions of 256 and 512 bits that ask for it.
  if (f_.target.vector_bytes() <= 16) return;
  // A function that does nothing: its convention keeps the general registers but one, and those of
  // no vectors or masks. Inline assembly that names each of them took 3 % of a compilation. It
  // rests on passes that do not run: none infers what the function does or which registers it uses.
  constexpr const char* kName = "clear_vectors";
  llvm::Module& module = *b_.GetInsertBlock()->getModule();
  llvm::Function* function = module.getFunction(kName);
  if (function == nullptr) {
    function = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), false),
                                      llvm::GlobalValue::InternalLinkage, kName, module);
    function->setCallingConv(llvm::CallingConv::PreserveMost);
    function->addFnAttr(llvm::Attribute::NoInline);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
    llvm::IRBuilder<>(llvm::BasicBlock::Create(module.getContext(), "", function)).CreateRetVoid();
  }
  b_.CreateCall(function)->setCallingConv(llvm::CallingConv::PreserveMost);
}

llvm::Value* ContractionEmitter::out_line(Value* row, Value* column) {
  const te::Affine& sum = *plan_.out_offset;
  Value* offset = add(batch_part(sum), part_of(sum, plan_.rows, row));
  offset = add(offset, part_of(sum, plan_.columns, column));
  return element(f_.buffer(c_.out), f_.buffers[static_cast<size_t>(c_.out)].dtype, offset);
}

void ContractionEmitter::finish_tile(const std::vector<std::vector<Value*>>& sums, Value* first_row,
                                     Value* first_column, const std::vector<Value*>& masks) {
  const std::vector<LinePlace> places = line_places(masks.size(), first_column);
  const int64_t together = plan_.interleave;
  const bool once = static_cast<int64_t>(sums.size()) == together && !plan_.fills_tiles;
  if (!plan_.heavy_epilogue || once)
    return finish_rows(sums, first_row, first_column, masks, places);
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
  Value* end = plan_.fills_tiles ? task_.tile_rows : n(static_cast<int64_t>(sums.size()));
  f_.emit_loop(n(0), end, n(together), [&](Value* i) {
    std::vector<std::vector<Value*>> rows(static_cast<size_t>(together));
    for (int64_t k = 0; k < together * vectors; ++k) {
      Value* at = element(tile_, c_.accumulator, add(mul(i, n(width)), n(k * plan_.lanes)));
      auto* load = b_.CreateAlignedLoad(accumulator(lanes_), at, llvm::Align(vector_align));
      rows[static_cast<size_t>(k / vectors)].push_back(f_.annotate_scratch(load, kTile));
    }
    finish_rows(rows, add(first_row, i), first_column, masks, places);
  });
}

llvm::Value* ContractionEmitter::vectors_are_whole(Value* first_column, size_t vectors) {
  if (plan_.dots) return nullptr;
  Value* end = add(first_column, n(static_cast<int64_t>(vectors) * plan_.lanes));
  return b_.CreateICmpSLE(end, dim(plan_.main_columns));
}

void ContractionEmitter::store_row(const std::vector<Value*>& results, Value* line,
                                   const std::vector<Value*>& masks, Value* whole) {
  const DType type = f_.buffers[static_cast<size_t>(c_.out)].dtype;
  const llvm::Align align(type.size());
  auto address = [&](size_t v) {
    return element(line, type, n(static_cast<int64_t>(v) * plan_.lanes));
  };
  auto store_all = [&](size_t v) {
    f_.annotate(b_.CreateAlignedStore(results[v], address(v), align), c_.out);
  };
  std::vector<size_t> cut;  // vectors whose lanes are perhaps not all columns
  for (size_t v = 0; v < results.size(); ++v) {
    if (masks[v] == nullptr) {
      store_all(v);
    } else if (std::optional<unsigned> count = known_first_lanes(masks[v]);
               count && f_.target.isa != Target::Isa::kAvx512) {
      store_first(f_, c_.out, results[v], address(v), *count, align);
    } else {
      cut.push_back(v);
    }
  }
  auto store_cut = [&] {
    const Dim columns = plan_.main_columns;
    for (size_t v : cut) {
      if (whole != nullptr && plan_.panels.known && columns.is_int()) {
        const auto rest = static_cast<unsigned>(columns.as_int() % plan_.lanes);
        store_first(f_, c_.out, results[v], address(v), rest, align);
      } else {
        f_.annotate(b_.CreateMaskedStore(results[v], address(v), align, masks[v]), c_.out);
      }
    }
  };
  if (cut.empty()) return;
  if (whole == nullptr || f_.target.isa == Target::Isa::kAvx512) {
    whole = nullptr;
    return store_cut();
  }
  f_.emit_if(whole, [&] {
    for (size_t v : cut) store_all(v);
  });
  f_.emit_if(b_.CreateNot(whole), store_cut);
}

void ContractionEmitter::finish_rows(const std::vector<std::vector<Value*>>& sums, Value* first_row,
                                     Value* first_column, const std::vector<Value*>& masks,
                                     const std::vector<LinePlace>& places) {
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
  Value* whole = vectors_are_whole(first_column, vectors);
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
  const auto together = static_cast<size_t>(plan_.interleave);
  std::vector<std::vector<Value*>> turned(vectors);  // results of rows that are stored together
  for (size_t i = 0; i < sums.size(); ++i) {
    Value* row = add(first_row, n(static_cast<int64_t>(i)));
    for (size_t k = 0; k < plan_.tile_loads.size(); ++k) {
      const TileLoad& tile = plan_.tile_loads[k];
      if (varies_by_row(tile)) load_all(k, part_of(tile.load.offset, plan_.rows, row));
    }
    std::vector<Value*> row_values;
    if (plan_.epilogue_axes) row_values = split(plan_.rows, row);
    std::vector<Value*> results;
    const DType out_type = f_.buffers[static_cast<size_t>(c_.out)].dtype;
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
      if (!plan_.out_offset) {
        scalars_.store(c_.out, c_.out_index, LaneValue::vector(result));
        continue;
      }
      results.push_back(scalars_.to_memory(result, out_type));
      turned[v].push_back(results.back());
    }
    if (!plan_.out_offset) continue;
    if (together == 1) {
      store_row(results, out_line(row, first_column), masks, whole);
      continue;
    }
    if ((i + 1) % together != 0) continue;
    Value* first = add(first_row, n(static_cast<int64_t>(i + 1 - together)));
    for (size_t v = 0; v < vectors; ++v)
      store_interleaved(std::exchange(turned[v], {}), first, places[v]);
  }
}

}  // namespace relay::codegen
