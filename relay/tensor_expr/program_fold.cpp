// Folds: a loop around rows of output points, or rows along the fold's own axes.
#include <algorithm>
#include <cstring>

#include <relay/support/error.h>
#include <relay/support/stop.h>
#include <relay/tensor_expr/program.h>

namespace relay::te {
namespace {

// Sums of floats: this many consecutive points are added up, then the block sums in order. Chunks
// are multiples of it, so that both kinds of folds give the same result to the bit.
constexpr int64_t kSumBlock = 256;

template <class T>
void compact(T* to, const T* from, const uint8_t* mask, int64_t n) {
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (mask[i] != 0) to[kept++] = from[i];
  }
}

void compact_rows(size_t width, void* to, const void* from, const uint8_t* mask, int64_t n) {
  switch (width) {
    case 1:
      return compact(static_cast<uint8_t*>(to), static_cast<const uint8_t*>(from), mask, n);
    case 2:
      return compact(static_cast<uint16_t*>(to), static_cast<const uint16_t*>(from), mask, n);
    case 4:
      return compact(static_cast<uint32_t*>(to), static_cast<const uint32_t*>(from), mask, n);
    default:
      return compact(static_cast<uint64_t*>(to), static_cast<const uint64_t*>(from), mask, n);
  }
}

}  // namespace

void Program::run_fold(const Instr& instr, const Block& block, const uint8_t* mask) {
  FoldInfo& fold = folds_[instr.extra];
  int64_t n = count(instr, block);
  if (fold.total == 0 && fold.node->combiner->needs_element) {
    throw RuntimeError(std::string(kEmptyFold));
  }
  start_fold(fold, n);
  if (fold.total == 0) return;
  if (fold.rows) return run_row_fold(fold);
  run_loop_fold(fold, n, mask);
}

void Program::start_fold(FoldInfo& fold, int64_t n) {
  for (size_t j = 0; j < fold.accumulators.size(); ++j) {
    const void* identity = fold.combiner ? fold.identities->root(j) : fold.identity;
    rows::splat(fold.dtypes[j], registers_[fold.accumulators[j]].data, identity, n);
  }
  if (fold.blocked) rows::splat(fold.dtypes[0], registers_[fold.partial].data, fold.identity, n);
}

void Program::join_rows(FoldInfo& fold, std::span<std::byte* const> lhs,
                        std::span<std::byte* const> rhs, std::span<std::byte* const> out, int64_t n,
                        const uint8_t* mask) {
  const Combiner& combiner = *fold.node->combiner;
  Program& program = *fold.combiner;
  for (size_t j = 0; j < lhs.size(); ++j) {
    program.bind_var(combiner.lhs[j]->id, lhs[j]);
    program.bind_var(combiner.rhs[j]->id, rhs[j]);
  }
  program.lanes().move_to(0, n);
  program.run_block(program.level_blocks_[1], mask);
  // A result may be another accumulator's operand: all are out of the way before any is
  // overwritten.
  for (size_t j = 0; j < lhs.size(); ++j) {
    std::memcpy(fold.row[j].data(), program.root(j),
                static_cast<size_t>(n) * rows::lane_size(fold.dtypes[j]));
  }
  for (size_t j = 0; j < lhs.size(); ++j) {
    std::memcpy(out[j], fold.row[j].data(),
                static_cast<size_t>(n) * rows::lane_size(fold.dtypes[j]));
  }
}

void Program::run_loop_fold(FoldInfo& fold, int64_t n, const uint8_t* mask) {
  std::vector<int64_t> index(fold.axes.size());
  for (Reg reg : fold.indices) *data<int64_t>(reg) = 0;
  std::vector<std::byte*> accumulators, values;
  for (Reg reg : fold.accumulators) accumulators.push_back(registers_[reg].data);
  for (Reg reg : fold.values) values.push_back(registers_[reg].data);
  std::byte* accumulator = accumulators[0];
  std::byte* target = fold.blocked ? registers_[fold.partial].data : accumulator;
  DType dtype = fold.dtypes[0];
  auto flush = [&](bool only) {
    if (only) {
      std::memcpy(accumulator, target, static_cast<size_t>(n) * rows::lane_size(dtype));
    } else {
      fold.combine(accumulator, accumulator, target, n);
      if (fold.round != nullptr) fold.round(accumulator, accumulator, n);
    }
  };
  for (int64_t point = 0; point < fold.total; ++point) {
    stop_if_asked();
    if (fold.blocked && point != 0 && point % kSumBlock == 0) {
      flush(point == kSumBlock);
      rows::splat(dtype, target, fold.identity, n);
    }
    run_block(fold.body, mask);
    const uint8_t* active = nullptr;
    bool skip = false;
    if (fold.has_where) {
      const auto* where = data<uint8_t>(fold.where);
      if (!registers_[fold.where].wide) {
        skip = where[0] == 0;
        if (!skip) run_block(fold.where_block, mask);
      } else {
        int64_t on = 0;
        for (int64_t i = 0; i < n; ++i) {
          fold.mask[i] = where[i] & (mask == nullptr ? 1 : mask[i]);
          on += fold.mask[i];
        }
        skip = on == 0;
        if (on < n) active = fold.mask.data();
        if (!skip) run_block(fold.where_block, active);
      }
    }
    if (!skip && fold.combiner) {
      if (active == nullptr) {
        join_rows(fold, accumulators, values, accumulators, n, mask);
      } else {
        std::vector<std::byte*> joined;
        for (std::vector<std::byte>& row : fold.lhs) joined.push_back(row.data());
        join_rows(fold, accumulators, values, joined, n, active);
        for (size_t j = 0; j < joined.size(); ++j) {
          rows::select(fold.dtypes[j], accumulators[j], active, joined[j], accumulators[j], n);
        }
      }
    } else if (!skip) {
      std::byte* joined = active == nullptr ? target : fold.row[0].data();
      fold.combine(joined, target, values[0], n);
      if (fold.round != nullptr) fold.round(joined, joined, n);
      if (active != nullptr) rows::select(dtype, target, active, joined, target, n);
    }
    for (size_t a = index.size(); a-- > 0;) {
      if (++index[a] == fold.axes[a].extent) {
        index[a] = 0;
        *data<int64_t>(fold.indices[a]) = 0;
        continue;
      }
      *data<int64_t>(fold.indices[a]) = index[a];
      break;
    }
  }
  if (fold.blocked) flush(fold.total <= kSumBlock);
}

void Program::run_row_fold(FoldInfo& fold) {
  run_block(fold.prologue, nullptr);
  std::byte* accumulator = registers_[fold.accumulators[0]].data;
  DType dtype = fold.dtypes[0];
  Combiner::Kind kind = fold.node->combiner->kind;
  for (int64_t begin = 0; begin < fold.total;) {
    stop_if_asked();
    int64_t n = std::min(fold.total - begin, contexts_[fold.context].capacity);
    contexts_[fold.context].move_to(begin, n);
    run_block(fold.body, nullptr);
    const uint8_t* active = nullptr;
    bool skip = false;
    if (fold.has_where) {
      const auto* where = data<uint8_t>(fold.where);
      bool wide = registers_[fold.where].wide;
      int64_t on = 0;
      for (int64_t i = 0; i < n; ++i) {
        fold.mask[i] = where[wide ? i : 0];
        on += fold.mask[i];
      }
      skip = on == 0;
      if (on < n) active = fold.mask.data();
      if (!skip) run_block(fold.where_block, active);
    }
    if (!skip && fold.combiner) {
      reduce_custom(fold, n, active);
    } else if (!skip && fold.blocked) {
      const std::byte* values = registers_[fold.values[0]].data;
      size_t width = rows::lane_size(dtype);
      std::byte* partial = registers_[fold.partial].data;
      for (int64_t at = 0; at < n; at += kSumBlock) {
        bool only = begin + at == 0;
        std::memcpy(partial, fold.identity, width);
        rows::reduce(kind, dtype, partial, values + static_cast<size_t>(at) * width,
                     active == nullptr ? nullptr : active + at, std::min(kSumBlock, n - at));
        if (only) {
          std::memcpy(accumulator, partial, width);
        } else {
          rows::reduce(kind, dtype, accumulator, partial, nullptr, 1);
        }
      }
    } else if (!skip) {
      rows::reduce(kind, dtype, accumulator, registers_[fold.values[0]].data, active, n);
    }
    begin += n;
  }
}

void Program::reduce_custom(FoldInfo& fold, int64_t n, const uint8_t* mask) {
  size_t k = fold.values.size();
  std::vector<std::byte*> values(k), lhs(k), rhs(k), accumulators(k);
  for (size_t j = 0; j < k; ++j) {
    values[j] = registers_[fold.values[j]].data;
    lhs[j] = fold.lhs[j].data();
    rhs[j] = fold.rhs[j].data();
    accumulators[j] = registers_[fold.accumulators[j]].data;
  }
  if (mask != nullptr) {
    // Not in place: others may read the values.
    for (size_t j = 0; j < k; ++j) {
      compact_rows(rows::lane_size(fold.dtypes[j]), fold.kept[j].data(), values[j], mask, n);
      values[j] = fold.kept[j].data();
    }
    n = std::count(mask, mask + n, uint8_t{1});
  }
  // Neighbours are joined until one is left: the order of operands stays, whatever the association.
  while (n > 1) {
    int64_t half = n / 2;
    for (size_t j = 0; j < k; ++j) {
      rows::deinterleave(rows::lane_size(fold.dtypes[j]), lhs[j], rhs[j], values[j], half);
    }
    if (n % 2 != 0) {
      for (size_t j = 0; j < k; ++j) {
        size_t width = rows::lane_size(fold.dtypes[j]);
        std::memcpy(lhs[j] + static_cast<size_t>(half) * width,
                    values[j] + static_cast<size_t>(n - 1) * width, width);
      }
    }
    join_rows(fold, lhs, rhs, lhs, half, nullptr);
    values = lhs;  // read before it is written below: deinterleaving runs forward
    n = half + n % 2;
  }
  join_rows(fold, accumulators, values, accumulators, 1, nullptr);
}

}  // namespace relay::te
