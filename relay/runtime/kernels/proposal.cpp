// Boxes by their scores, without those that overlap a better one.
#include <relay/runtime/kernels/boxes.h>
#include <relay/runtime/kernels/scratch.h>
#include <relay/runtime/kernels/suppress.h>
#include <relay/runtime/library_kernel.h>
#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>

#include <algorithm>
#include <cstdint>

namespace relay {
namespace {

template <class T>
void propose(LibraryCall& call) {
  NDArray scores = call.inputs[0].contiguous(), boxes = call.inputs[1].contiguous();
  NDArray& out = call.outputs[0];
  int64_t batch = scores.extent(0);
  int64_t count = scores.extent(1);
  int64_t rows = out.extent(0) / std::max<int64_t>(batch, 1);
  if (rows == 0) return;
  int64_t candidates = call.integer("pre_nms_top_n");
  candidates = candidates > 0 ? std::min(candidates, count) : count;
  T threshold = static_cast<T>(call.number("threshold"));
  call.parallel(batch, [&](int64_t b) {
    const T* mine = boxes.data<T>() + b * count * 4;
    Suppression<T, Corners::kInclusive> suppression(candidates);
    {
      Scratch<WideItem> items(2 * count);
      const WideItem* order =
          order_scores(call, scores.dtype(), scores.data<T>() + b * count, 1, count, items.data());
      for (int64_t k = 0; k < candidates; ++k) {
        int64_t box = item_position(order[k]);
        const T* at = mine + box * 4;
        suppression.add(box, at[0], at[1], at[2], at[3], 0);
      }
    }
    Scratch<int64_t> kept(std::min(candidates, rows));
    int64_t found = suppression.run(call, threshold, rows, kept.data());
    T* to = out.data<T>() + b * rows * 5;
    // Too few: once more from the first.
    for (int64_t r = 0; r < rows; ++r, to += 5) {
      to[0] = static_cast<T>(b);
      std::copy_n(mine + kept[r % found] * 4, 4, to + 1);
    }
  });
}

void proposal_kernel(LibraryCall& call) {
  if (call.inputs[0].dtype() == kFloat64) {
    propose<double>(call);
  } else {
    propose<float>(call);
  }
}

void proposal_rule(const LibraryOperands& of) {
  const LibraryOperand &scores = of.inputs[0], &out = of.outputs[0];
  of.rank(scores, 2);
  of.dtype(scores, {kFloat32, kFloat64});
  const int64_t batch = scores.extent(0), boxes = scores.extent(1);
  of.same_dtype(of.inputs[1], scores);
  of.shape(of.inputs[1], {batch, boxes, 4});
  of.rank(out, 2);
  of.same_dtype(out, scores);
  of.shape(out, {out.extent(0), 5});
  const int64_t rows = out.extent(0) / std::max<int64_t>(batch, 1);
  of.want(out.extent(0) >= 0 && out.extent(0) == batch * rows && (boxes > 0 || rows == 0),
          "as many rows for each batch");
}

RELAY_LIBRARY_RULE("proposal", proposal_rule);
RELAY_LIBRARY_KERNEL("proposal", proposal_kernel,
                     {2,
                      1,
                      {{"pre_nms_top_n", ParamKind::kInteger}, {"threshold", ParamKind::kNumber}}});

}  // namespace
}  // namespace relay
