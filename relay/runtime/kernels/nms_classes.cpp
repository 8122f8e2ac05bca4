// Non-maximum suppression of the boxes of each class by itself.
#include <relay/runtime/kernels/boxes.h>
#include <relay/runtime/kernels/suppress.h>

#include <vector>

namespace relay {
namespace {

/// A box that is kept: its number and score.
struct Kept {
  int64_t box;
  double score;
};

/// What is kept of one class.
using Detections = std::vector<Kept>;

struct Limits {
  double iou;    // what suppresses
  double score;  // what a score has to exceed, or reach
  bool reach;
  int64_t most;
};

/// The candidates of a class and what is kept of them, the best first. `scores` are `stride` apart.
template <class T>
Detections keep_best(LibraryCall& call, DType dtype, const T* boxes, const T* scores,
                     int64_t stride, int64_t n, const Limits& limits) {
  using R = Real<T>;
  // Few are candidates as a rule.
  Scratch<WideItem> items(2 * n);
  auto least = static_cast<R>(limits.score);
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    auto score = static_cast<R>(scores[i * stride]);
    if (limits.reach ? score >= least : score > least)
      items[count++] = {order_key<true>(scores[i * stride]), static_cast<uint64_t>(i)};
  }
  const WideItem* order = sort_items(call, items.data(), items.data() + n, count, dtype.size());
  Suppression<R> suppression(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t box = item_position(order[i]);
    const T* at = boxes + box * 4;
    suppression.add(box, static_cast<R>(at[0]), static_cast<R>(at[1]), static_cast<R>(at[2]),
                    static_cast<R>(at[3]), 0);
  }
  Scratch<int64_t> kept(count);
  int64_t found =
      suppression.run(call, static_cast<R>(limits.iou), std::min(count, limits.most), kept.data());
  Detections detections;
  detections.reserve(static_cast<size_t>(found));
  for (int64_t k = 0; k < found; ++k)
    detections.push_back({kept[k], static_cast<double>(static_cast<R>(scores[kept[k] * stride]))});
  return detections;
}

/// Batch, class and box of each, class by class.
void write_triples(LibraryCall& call, const std::vector<Detections>& found, int64_t classes) {
  int64_t total = 0;
  for (const Detections& each : found) total += static_cast<int64_t>(each.size());
  auto* out = call.make(0, {total}).data<int64_t>();
  for (size_t i = 0; i < found.size(); ++i) {
    for (const Kept& kept : found[i]) {
      *out++ = static_cast<int64_t>(i) / classes;
      *out++ = static_cast<int64_t>(i) % classes;
      *out++ = kept.box;
    }
  }
  *call.outputs[1].data<int64_t>() = total;
}

/// Class and box of each and its score, in a row for each batch element as long as the longest.
template <class T>
void write_rows(LibraryCall& call, const std::vector<Detections>& found, int64_t batch,
                int64_t classes) {
  std::vector<int64_t> totals(static_cast<size_t>(batch));
  for (size_t i = 0; i < found.size(); ++i)
    totals[i / static_cast<size_t>(classes)] += static_cast<int64_t>(found[i].size());
  int64_t width = totals.empty() ? 0 : *std::max_element(totals.begin(), totals.end());
  auto* boxes = call.make(0, {width}).data<int64_t>();
  T* scores = call.make(1, {width}).data<T>();
  auto* counts = call.outputs[2].data<int64_t>();
  std::fill_n(boxes, batch * width * 2, int64_t{-1});
  std::fill_n(scores, batch * width, T{});
  for (int64_t b = 0; b < batch; ++b) {
    counts[b] = totals[static_cast<size_t>(b)];
    int64_t at = b * width;
    for (int64_t c = 0; c < classes; ++c) {
      for (const Kept& kept : found[static_cast<size_t>(b * classes + c)]) {
        boxes[2 * at] = c;
        boxes[2 * at + 1] = kept.box;
        scores[at++] = convert_element<T>(kept.score);
      }
    }
  }
}

void all_class_kernel(LibraryCall& call) {
  NDArray boxes = call.inputs[0].contiguous(), scores = call.inputs[1].contiguous();
  const std::string& format = call.word("output_format");
  bool triples = format == "onnx";
  RELAY_CHECK(boxes.rank() == 3 && scores.rank() == 3 && boxes.dtype() == scores.dtype() &&
                  call.outputs.size() == (triples ? 2 : 3),
              "arguments of all_class_non_max_suppression");
  int64_t batch = scores.extent(0), classes = scores.extent(1), n = scores.extent(2);
  Limits limits{call.inputs[3].item_as_double(), call.inputs[4].item_as_double(), false,
                limit_of(call.inputs[2], n)};
  std::vector<Detections> found(static_cast<size_t>(batch * classes));
  dispatch_float(boxes.dtype(), [&](auto zero) {
    using T = decltype(zero);
    call.parallel(batch * classes, [&](int64_t task) {
      found[static_cast<size_t>(task)] =
          keep_best(call, boxes.dtype(), boxes.data<T>() + task / classes * n * 4,
                    scores.data<T>() + task * n, 1, n, limits);
    });
    if (triples) {
      write_triples(call, found, classes);
    } else {
      write_rows<T>(call, found, batch, classes);
    }
  });
}

/// Writes the best detections of all classes of a batch element.
template <class T>
void write_detections(LibraryCall& call, const T* boxes, std::span<const Detections> classes,
                      int64_t b) {
  struct Best {
    int64_t of;
    Kept kept;
  };
  std::vector<Best> best;
  for (size_t c = 0; c < classes.size(); ++c) {
    for (const Kept& kept : classes[c]) best.push_back({static_cast<int64_t>(c), kept});
  }
  std::stable_sort(best.begin(), best.end(),
                   [](const Best& x, const Best& y) { return x.kept.score > y.kept.score; });
  int64_t room = call.outputs[1].extent(1);
  auto count = std::min<int64_t>(room, static_cast<int64_t>(best.size()));
  T* corners = call.outputs[0].data<T>() + b * room * 4;
  T* names = call.outputs[1].data<T>() + b * room;
  T* scores = call.outputs[2].data<T>() + b * room;
  std::fill_n(corners, room * 4, T{});
  std::fill_n(names, room, T{});
  std::fill_n(scores, room, T{});
  for (int64_t k = 0; k < count; ++k) {
    const Best& each = best[static_cast<size_t>(k)];
    std::copy_n(boxes + each.kept.box * 4, 4, corners + k * 4);
    names[k] = convert_element<T>(static_cast<double>(each.of));
    scores[k] = convert_element<T>(each.kept.score);
  }
  call.outputs[3].data<int32_t>()[b] = static_cast<int32_t>(count);
}

void regular_kernel(LibraryCall& call) {
  NDArray boxes = call.inputs[0].contiguous(), scores = call.inputs[1].contiguous();
  RELAY_CHECK(boxes.rank() == 3 && scores.rank() == 3 && boxes.dtype() == scores.dtype(),
              "arguments of regular_non_max_suppression");
  int64_t batch = scores.extent(0), n = scores.extent(1), columns = scores.extent(2);
  int64_t classes = call.integer("num_classes");
  if (classes < 0 || classes > columns) {
    throw RuntimeError("num_classes = " + std::to_string(classes) + " of scores of " +
                       std::to_string(columns) + " classes");
  }
  Limits limits{call.number("iou_threshold"), call.number("score_threshold"), true,
                std::clamp<int64_t>(call.integer("max_detections_per_class"), 0, n)};
  // Those before the classes are background.
  int64_t first = columns - classes;
  std::vector<Detections> found(static_cast<size_t>(batch * classes));
  dispatch_float(boxes.dtype(), [&](auto zero) {
    using T = decltype(zero);
    call.parallel(batch * classes, [&](int64_t task) {
      int64_t b = task / classes, c = task % classes;
      found[static_cast<size_t>(task)] =
          keep_best(call, boxes.dtype(), boxes.data<T>() + b * n * 4,
                    scores.data<T>() + b * n * columns + first + c, columns, n, limits);
    });
    for (int64_t b = 0; b < batch; ++b) {
      std::span<const Detections> own(found.data() + b * classes, static_cast<size_t>(classes));
      write_detections(call, boxes.data<T>() + b * n * 4, own, b);
    }
  });
}

RELAY_LIBRARY_KERNEL("all_class_non_max_suppression", all_class_kernel,
                     {5, LibrarySignature::kAny, {{"output_format", ParamKind::kWord}}});
RELAY_LIBRARY_KERNEL("regular_non_max_suppression", regular_kernel,
                     {2,
                      4,
                      {{"max_detections_per_class", ParamKind::kInteger},
                       {"num_classes", ParamKind::kInteger},
                       {"iou_threshold", ParamKind::kNumber},
                       {"score_threshold", ParamKind::kNumber}}});

}  // namespace
}  // namespace relay
