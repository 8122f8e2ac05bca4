// Passes over k: what is packed shall stay in the second cache.
#include <algorithm>

#include <relay/lower/contraction_parts.h>

namespace relay::lower {

namespace {

class Passes {
 public:
  Passes(ContractionPlan& plan, const Processor& processor) : plan_(plan), processor_(processor) {}

  void choose() {
    if (shares_copied_rows(plan_)) return choose_shared_passes();
    plan_.k_inner = 1;
    Dim outermost = 1;
    bool outer = true;
    for (const te::Axis& axis : plan_.folded.axes) {
      if (outer) {
        outermost = axis.extent;
      } else {
        plan_.k_inner = plan_.k_inner * axis.extent;
      }
      outer = false;
    }
    plan_.k_block = outermost;
    Dim k = plan_.folded.extent;
    if (plan_.dots || plan_.group > 1) return;
    int64_t row_bytes = plan_.panel_columns() * plan_.element_bytes;
    if (!k.is_int()) {
      plan_.one_pass = false;
      int64_t steps = panel_bytes() / row_bytes;
      plan_.k_block = max(Dim(1), floor_div(Dim(steps), max(Dim(1), plan_.k_inner)));
      return;
    }
    int64_t passes = (k.as_int() * row_bytes + panel_bytes() - 1) / panel_bytes();
    passes = std::clamp<int64_t>(passes, 1, std::max<int64_t>(1, outermost.as_int()));
    plan_.one_pass = passes == 1;
    if (plan_.one_pass) return;
    plan_.k_block = (outermost.as_int() + passes - 1) / passes;
    // Each block of rows packs again: as few as give every worker something to do.
    Dim blocks = plan_.batch.extent * plan_.panels.pieces;
    Dim tiles = plan_.row_tiles.pieces;
    if (!tiles.is_int() || !plan_.copies_rhs()) return;
    int64_t wanted = blocks.is_int() && blocks.as_int() >= 4 ? 1 : 2;
    int64_t most = std::max<int64_t>(1, 512 / plan_.row_tiles.size);
    plan_.tiles_in_block = std::clamp<int64_t>((tiles.as_int() + wanted - 1) / wanted, 1, most);
  }

 private:
  // The most that a panel may have to stay in the second cache beside rows and results.
  int64_t panel_bytes() const { return processor_.second_bytes / 8 * 5; }

  static constexpr int64_t kSharingRows = 96, kSharingTasks = 4;

  // Panels that are multiplied by the same copies of rows, over so many steps of k that their sums
  // may wait in scratch.
  int64_t shared_panels(int64_t row_bytes) const {
    constexpr int64_t kFewSteps = 256;
    const int64_t pieces = std::max<int64_t>(1, plan_.panels.pieces.as_int());
    const int64_t steps = std::clamp<int64_t>(plan_.folded.extent.as_int(), 1, kFewSteps);
    const int64_t most = std::clamp<int64_t>(panel_bytes() / (steps * row_bytes), 1, pieces);
    // Few rows in few batches are too few tasks for several threads.
    const int64_t rows = plan_.row_tiles.size * plan_.row_tiles.pieces.as_int();
    const int64_t batch = plan_.batch.extent.is_int() ? plan_.batch.extent.as_int() : kSharingTasks;
    const int64_t others = std::clamp<int64_t>(batch, 1, kSharingTasks) * (1 + rows / kSharingRows);
    const int64_t least = std::clamp<int64_t>(kSharingTasks / others, 1, pieces);
    const int64_t blocks = std::max((pieces + most - 1) / most, least);
    return (pieces + blocks - 1) / blocks;
  }

  // A pass takes whole steps of the outermost folded axis: one of many steps, if the first one has
  // too few. The last one stays, since copies run along it.
  void cut_finely(int64_t steps) {
    std::vector<te::Axis> axes = plan_.folded.axes;
    if (axes.size() < 3 || !axes[0].extent.is_int() ||
        plan_.folded.extent.as_int() <= steps * std::max<int64_t>(1, axes[0].extent.as_int()))
      return;
    auto longest = std::max_element(axes.begin(), axes.end() - 1, [](const auto& a, const auto& b) {
      return a.extent.as_int() < b.extent.as_int();
    });
    std::rotate(axes.begin(), longest, longest + 1);
    plan_.folded = AxisGroup(std::move(axes));
  }

  // Passes over k in which several panels read the same copies of rows.
  void choose_shared_passes() {
    constexpr int64_t kTasks = 16, kMostRows = 512;
    const int64_t row_bytes = plan_.panel_columns() * plan_.element_bytes;
    const int64_t k = plan_.folded.extent.as_int();
    plan_.panels_in_block = shared_panels(row_bytes);
    const int64_t steps = std::max<int64_t>(1, panel_bytes() / (row_bytes * plan_.panels_in_block));
    cut_finely(steps);
    const int64_t outermost = plan_.folded.axes.empty() ? 1 : plan_.folded.axes[0].extent.as_int();
    plan_.k_inner = outermost > 0 ? k / outermost : 1;
    plan_.k_block = std::clamp<int64_t>(steps / std::max<int64_t>(1, plan_.k_inner.as_int()), 1,
                                        std::max<int64_t>(1, outermost));
    plan_.one_pass = !(plan_.k_block.as_int() < outermost);
    // Each block of rows packs the panels again.
    const int64_t size = plan_.row_tiles.size, tiles = plan_.row_tiles.pieces.as_int();
    const int64_t blocks =
        (plan_.panels.pieces.as_int() + plan_.panels_in_block - 1) / plan_.panels_in_block;
    const Dim others = plan_.batch.extent * Dim(std::max<int64_t>(1, blocks));
    const int64_t wanted =
        others.is_int() ? kTasks / std::clamp<int64_t>(others.as_int(), 1, kTasks) : 1;
    plan_.tiles_in_block =
        std::clamp<int64_t>((tiles + wanted - 1) / wanted, (kSharingRows + size - 1) / size,
                            std::max<int64_t>(1, kMostRows / size));
    if (plan_.one_pass) plan_.k_block = outermost;
  }

  ContractionPlan& plan_;
  const Processor& processor_;
};

}  // namespace

bool shares_copied_rows(const ContractionPlan& plan) {
  return plan.copies_lhs() && plan.copies_rhs() && !plan.transpose && plan.group == 1 &&
         std::all_of(plan.folded.axes.begin(), plan.folded.axes.end(),
                     [](const te::Axis& axis) { return axis.extent.is_int(); }) &&
         plan.folded.extent.is_int() && plan.panels.pieces.is_int() &&
         plan.row_tiles.pieces.is_int();
}

void choose_streams(ContractionPlan& plan, int64_t most_rows) {
  constexpr int64_t kSteps = 32, kBytes = 2048, kTasks = 8;
  plan.one_pass = false;
  plan.k_block = kSteps;
  int64_t most = std::max<int64_t>(1, kBytes / (plan.panel_columns() * plan.element_bytes));
  if (plan.panels.pieces.is_int()) {
    int64_t pieces = plan.panels.pieces.as_int();
    if (plan.batch.extent.is_int(1)) pieces = (pieces + kTasks - 1) / kTasks;
    most = std::clamp<int64_t>(pieces, 1, most);
  }
  plan.panels_in_block = most;
  plan.tiles_in_block = std::max<int64_t>(1, most_rows / plan.row_tiles.size + 1);
}

void choose_tail(ContractionPlan& plan) {
  plan.main_columns = plan.columns.extent;
  const Dim columns = plan.columns.extent, rows = plan.rows.extent;
  const bool possible = !plan.rhs_packed && plan.lhs_direct && plan.lhs_step->is_int(1) &&
                        !plan.dots && !plan.matrix && columns.is_int() && rows.is_int() &&
                        columns.as_int() > plan.lanes && plan.folded.extent.is_int() &&
                        plan.folded.extent.as_int() >= 2 * plan.lanes * plan.group;
  if (!possible) return;
  const int64_t tail = columns.as_int() % plan.lanes;
  const auto m = static_cast<double>(rows.as_int());
  const auto t = static_cast<double>(tail);
  const auto lanes = static_cast<double>(plan.lanes);
  // Cycles for a step of k: a vector more, against single columns and packing them.
  const auto group = static_cast<double>(plan.group);
  const double whole = m / 2 / group + 2;
  const double single = m * t / lanes / group + 6 * t;
  if (tail == 0 || single > whole) return;
  plan.tail = tail;
  plan.main_columns = columns - tail;
}

void cut_into_passes(ContractionPlan& plan, const Processor& processor) {
  Passes(plan, processor).choose();
}

}  // namespace relay::lower
