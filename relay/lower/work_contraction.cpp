// The work of sums of products, from their plans.
#include <cmath>
#include <unordered_set>

#include <relay/lower/contraction_parts.h>
#include <relay/lower/work.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

namespace {

/// Pieces of a count that are all of one size.
struct Pieces {
  Dim number = 0;
  int64_t size = 1;
};

std::vector<Pieces> pieces_of(const Cut& cut) {
  if (!cut.known) return {{cut.pieces, cut.size}};
  if (cut.rest != 0) return {{cut.pieces - 1, cut.size}, {1, cut.rest}};
  return {{cut.more, cut.size}, {cut.pieces - cut.more, cut.size - 1}};
}

class ContractionWork {
 public:
  ContractionWork(const Contraction& contraction, const Processor& processor)
      : plan_(plan_contraction(contraction, processor)), processor_(processor) {}

  KernelWork run() {
    KernelWork work;
    work.products = (plan_.dots ? dots() : tiles()) * batch();
    work.steps = copies() * batch();
    return work + epilogue() * batch();
  }

 private:
  Dim batch() const { return plan_.batch.extent; }
  Dim rows() const { return plan_.rows.extent; }
  Dim columns() const { return plan_.columns.extent; }
  Dim steps_of_k() const { return ceil_div(plan_.folded.extent, Dim(plan_.group)); }
  Dim vectors(Dim elements) const { return ceil_div(elements, Dim(plan_.lanes)); }

  // The time of each tile for a step of k, in multiply-adds of which two begin in a cycle.
  Dim tiles() const {
    Dim total = 0;
    for (const Pieces& down : pieces_of(plan_.row_tiles)) {
      for (const Pieces& across : pieces_of(plan_.panels)) {
        if (down.size == 0 || across.size == 0) continue;
        const double cycles = tile_cost(processor_, down.size, across.size);
        total = total +
                down.number * across.number * Dim(static_cast<int64_t>(std::llround(2 * cycles)));
      }
    }
    // Columns that would fill a small part of a vector are vectors along k.
    return total * steps_of_k() +
           Dim(plan_.tail) * rows() * ceil_div(plan_.folded.extent, Dim(plan_.lanes * plan_.group));
  }

  // Vectors along k: each is loaded, of the left factor once for several columns, and the lanes of
  // each sum are joined.
  Dim dots() const {
    constexpr int64_t kJoin = 8;
    const Dim along = ceil_div(plan_.folded.extent, Dim(plan_.lanes * plan_.group));
    return columns() * (along * max(rows(), Dim(1) + floor_div(rows(), 4)) + rows() * Dim(kJoin));
  }

  // Factors that are copied before they are multiplied: columns once, rows for each block of
  // panels.
  Dim copies() const {
    if (plan_.dots) return 0;
    Dim total = 0;
    const Dim k = plan_.folded.extent;
    if (plan_.copies_rhs()) {
      const int64_t each = plan_.transpose ? 4 : 2;
      total = total + k * vectors(columns()) * Dim(each);
    }
    if (plan_.copies_lhs()) {
      const Dim blocks = shares_copied_rows(plan_)
                             ? Dim(1)
                             : ceil_div(plan_.panels.pieces, Dim(plan_.panels_in_block));
      total = total + k * rows() * blocks;
    }
    return total;
  }

  // A store of each vector of results, and what becomes of the sums before.
  KernelWork epilogue() const {
    int64_t steps = 1, functions = 0;
    for (const te::ScalarNode* node : te::post_order({&plan_.epilogue, 1})) {
      const ValueWork own = work_of(*node);
      steps += own.steps;
      functions += own.functions;
    }
    for (const TileLoad& load : plan_.tile_loads) steps += load.along_columns ? 1 : 0;
    const Dim each = rows() * vectors(columns());
    return {0, each * Dim(steps), each * Dim(functions)};
  }

  const ContractionPlan plan_;
  const Processor& processor_;
};

}  // namespace

KernelWork work_of(const Contraction& contraction, const Processor& processor) {
  return ContractionWork(contraction, processor).run();
}

}  // namespace relay::lower
