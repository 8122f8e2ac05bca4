// Non-maximum suppression of the boxes of each class by itself.
#include <relay/runtime/kernels/boxes.h>
#include <relay/runtime/kernels/scratch.h>
#include <relay/runtime/kernels/suppress.h>
#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

namespace relay {
namespace {

/// The kept boxes of each class of each batch element: numbers of boxes, the best first, list by
/// list.
struct Found {
  Scratch<int64_t> counts;  // (batch, classes)
  ScratchList<int64_t> boxes;
};

struct Limits {
  double iou;    // what suppresses
  double score;  // what a score has to exceed, or reach
  bool reach;
  int64_t most;
};

/// Boxes and their scores, as the kernels here have them.
template <class T>
struct Classes {
  DType dtype;
  int64_t batch, classes, boxes;
  const T* corners;            // (batch, boxes, 4)
  const T* scores;             // those of the first class
  int64_t of_batch, of_class;  // distances of scores
  int64_t of_box;

  int64_t lists() const { return boxes == 0 || batch == 0 ? 0 : batch * classes; }
  /// The scores of a list, `of_box` apart.
  const T* scores_of(int64_t list) const {
    return scores + list / classes * of_batch + list % classes * of_class;
  }
};

/// The kept boxes of one class, in a list of exactly their number.
template <class T>
Scratch<int64_t> keep_best(LibraryCall& call, const Classes<T>& all, int64_t list,
                           const Limits& limits, int64_t& found) {
  using R = ComputeType<T>;
  const T* corners = all.corners + list / all.classes * all.boxes * 4;
  const T* scores = all.scores_of(list);
  // Few are candidates as a rule.
  Scratch<WideItem> items(2 * all.boxes);
  auto least = static_cast<R>(limits.score);
  int64_t count = 0;
  for (int64_t i = 0; i < all.boxes; ++i) {
    auto score = static_cast<R>(scores[i * all.of_box]);
    if (limits.reach ? score >= least : score > least)
      items[count++] = {order_key<true>(scores[i * all.of_box]), static_cast<uint64_t>(i)};
  }
  const WideItem* order =
      sort_items(call, items.data(), items.data() + all.boxes, count, all.dtype.size());
  Suppression<R> suppression(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t box = item_position(order[i]);
    const T* at = corners + box * 4;
    suppression.add(box, static_cast<R>(at[0]), static_cast<R>(at[1]), static_cast<R>(at[2]),
                    static_cast<R>(at[3]), 0);
  }
  int64_t most = std::min(count, limits.most);
  Scratch<int64_t> kept(most);
  found = suppression.run(call, static_cast<R>(limits.iou), most, kept.data());
  Scratch<int64_t> result(found);
  std::copy_n(kept.data(), found, result.data());
  return result;
}

template <class T>
Found find(LibraryCall& call, const Classes<T>& all, const Limits& limits) {
  int64_t lists = all.lists();
  Found found{Scratch<int64_t>(lists), {}};
  // Enough lists that threads have work for long, and few enough for a table of them.
  constexpr int64_t kTogether = 256;
  for (int64_t first = 0; first < lists; first += kTogether) {
    std::array<Scratch<int64_t>, kTogether> kept;
    int64_t together = std::min(kTogether, lists - first);
    call.parallel(together, [&](int64_t task) {
      kept[static_cast<size_t>(task)] =
          keep_best(call, all, first + task, limits, found.counts[first + task]);
    });
    for (int64_t task = 0; task < together; ++task)
      found.boxes.push(kept[static_cast<size_t>(task)].data(), found.counts[first + task]);
  }
  return found;
}

/// Batch, class and box of each, class by class.
template <class T>
void write_triples(LibraryCall& call, const Classes<T>& all, const Found& found) {
  auto* out = call.make(0, {found.boxes.size()}).template data<int64_t>();
  const int64_t* box = found.boxes.begin();
  for (int64_t list = 0; list < all.lists(); ++list) {
    for (int64_t k = 0; k < found.counts[list]; ++k) {
      *out++ = list / all.classes;
      *out++ = list % all.classes;
      *out++ = *box++;
    }
  }
  *call.outputs[1].data<int64_t>() = found.boxes.size();
}

/// Class and box of each and its score, in a row for each batch element as long as the longest.
template <class T>
void write_rows(LibraryCall& call, const Classes<T>& all, const Found& found) {
  auto* totals = call.outputs[2].data<int64_t>();
  std::fill_n(totals, all.batch, int64_t{0});
  for (int64_t list = 0; list < all.lists(); ++list)
    totals[list / all.classes] += found.counts[list];
  int64_t width = all.batch == 0 ? 0 : *std::max_element(totals, totals + all.batch);
  auto* boxes = call.make(0, {width}).template data<int64_t>();
  T* scores = call.make(1, {width}).template data<T>();
  std::fill_n(boxes, all.batch * width * 2, int64_t{-1});
  std::fill_n(scores, all.batch * width, T{});
  const int64_t* box = found.boxes.begin();
  int64_t at = 0;
  for (int64_t list = 0; list < all.lists(); ++list) {
    if (list % all.classes == 0) at = list / all.classes * width;
    for (int64_t k = 0; k < found.counts[list]; ++k, ++at) {
      boxes[2 * at] = list % all.classes;
      boxes[2 * at + 1] = *box;
      scores[at] = all.scores_of(list)[*box++ * all.of_box];
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
  RELAY_CHECK(boxes.extent(0) == batch && boxes.extent(1) == n && boxes.extent(2) == 4,
              "boxes of all_class_non_max_suppression");
  Limits limits{call.inputs[3].item_as_double(), call.inputs[4].item_as_double(), false,
                limit_of(call.inputs[2], n)};
  dispatch_float(boxes.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Classes<T> all{scores.dtype(),   batch,       classes, n, boxes.data<T>(),
                   scores.data<T>(), classes * n, n,       1};
    Found found = find(call, all, limits);
    if (triples) {
      write_triples(call, all, found);
    } else {
      write_rows(call, all, found);
    }
  });
}

/// Writes the best detections of all classes of batch element `b`, whose `count` boxes are given
/// class by class.
template <class T>
void write_detections(LibraryCall& call, const Classes<T>& all, int64_t b, const int64_t* counts,
                      const int64_t* boxes, int64_t count) {
  Scratch<WideItem> items(2 * count);
  Scratch<int64_t> owners(count);
  int64_t k = 0;
  for (int64_t c = 0; c < all.classes && k < count; ++c) {
    const T* scores = all.scores_of(b * all.classes + c);
    for (int64_t i = 0; i < counts[c]; ++i, ++k) {
      owners[k] = c;
      items[k] = {order_key<true>(scores[boxes[k] * all.of_box]), static_cast<uint64_t>(k)};
    }
  }
  const WideItem* order =
      sort_items(call, items.data(), items.data() + count, count, all.dtype.size());
  int64_t room = call.outputs[1].extent(1);
  T* corners = call.outputs[0].data<T>() + b * room * 4;
  T* names = call.outputs[1].data<T>() + b * room;
  T* scores = call.outputs[2].data<T>() + b * room;
  std::fill_n(corners, room * 4, T{});
  std::fill_n(names, room, T{});
  std::fill_n(scores, room, T{});
  count = std::min(room, count);
  for (k = 0; k < count; ++k) {
    int64_t at = item_position(order[k]);
    std::copy_n(all.corners + (b * all.boxes + boxes[at]) * 4, 4, corners + k * 4);
    names[k] = convert_element<T>(static_cast<double>(owners[at]));
    scores[k] = all.scores_of(b * all.classes + owners[at])[boxes[at] * all.of_box];
  }
  call.outputs[3].data<int32_t>()[b] = static_cast<int32_t>(count);
}

void regular_kernel(LibraryCall& call) {
  NDArray boxes = call.inputs[0].contiguous(), scores = call.inputs[1].contiguous();
  RELAY_CHECK(boxes.rank() == 3 && scores.rank() == 3 && boxes.dtype() == scores.dtype(),
              "arguments of regular_non_max_suppression");
  int64_t batch = scores.extent(0), n = scores.extent(1), columns = scores.extent(2);
  RELAY_CHECK(boxes.extent(0) == batch && boxes.extent(1) == n && boxes.extent(2) == 4,
              "boxes of regular_non_max_suppression");
  int64_t classes = call.integer("num_classes");
  if (classes < 0 || classes > columns) {
    throw RuntimeError("num_classes = " + std::to_string(classes) + " of scores of " +
                       std::to_string(columns) + " classes");
  }
  Limits limits{call.number("iou_threshold"), call.number("score_threshold"), true,
                std::clamp<int64_t>(call.integer("max_detections_per_class"), 0, n)};
  // The columns before the classes are background.
  int64_t first = scores.size() == 0 ? 0 : columns - classes;
  dispatch_float(boxes.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Classes<T> all{scores.dtype(),           batch,       classes, n,      boxes.data<T>(),
                   scores.data<T>() + first, n * columns, 1,       columns};
    Found found = find(call, all, limits);
    const int64_t* kept = found.boxes.begin();
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t* counts = nullptr;
      int64_t count = 0;
      if (all.lists() > 0) {
        counts = found.counts.data() + b * classes;
        count = std::accumulate(counts, counts + classes, int64_t{0});
      }
      write_detections(call, all, b, counts, kept, count);
      kept += count;
    }
  });
}

/// (batch, boxes, 4) of the scores' type.
void corners_rule(const LibraryOperands& of, int64_t batch, int64_t boxes) {
  of.floating(of.inputs[0]);
  of.shape(of.inputs[0], {batch, boxes, 4});
  of.same_dtype(of.inputs[1], of.inputs[0]);
}

void all_class_rule(const LibraryOperands& of) {
  constexpr int64_t kCounted = LibraryOperands::kCounted;
  const LibraryOperand& scores = of.inputs[1];
  of.rank(scores, 3);
  const int64_t batch = scores.extent(0);
  corners_rule(of, batch, scores.extent(2));
  for (size_t k = 2; k < 5; ++k) of.elements(of.inputs[k], 1);
  const auto& format = of.param<std::string>("output_format");
  of.want(format == "onnx" || format == "tensorflow", "the format of onnx or tensorflow");
  of.want(of.outputs.size() == (format == "onnx" ? 2 : 3), "outputs for its results");
  of.dtype(of.outputs[0], {kInt64});
  if (format == "onnx") {
    of.shape(of.outputs[0], {kCounted, 3});
    of.dtype(of.outputs[1], {kInt64});
    of.elements(of.outputs[1], 1);
    return;
  }
  of.shape(of.outputs[0], {batch, kCounted, 2});
  of.same_dtype(of.outputs[1], scores);
  of.shape(of.outputs[1], {batch, kCounted});
  of.dtype(of.outputs[2], {kInt64});
  of.elements(of.outputs[2], batch);
}

void regular_rule(const LibraryOperands& of) {
  const LibraryOperand& scores = of.inputs[1];
  of.rank(scores, 3);
  const int64_t batch = scores.extent(0);
  corners_rule(of, batch, scores.extent(1));
  of.rank(of.outputs[1], 2);
  const int64_t room = of.outputs[1].extent(1);
  of.want(room >= 0, "room for detections");
  of.shape(of.outputs[0], {batch, room, 4});
  of.shape(of.outputs[1], {batch, room});
  of.shape(of.outputs[2], {batch, room});
  for (size_t k = 0; k < 3; ++k) of.same_dtype(of.outputs[k], scores);
  of.dtype(of.outputs[3], {kInt32});
  of.elements(of.outputs[3], batch);
}

RELAY_LIBRARY_RULE("all_class_non_max_suppression", all_class_rule);
RELAY_LIBRARY_RULE("regular_non_max_suppression", regular_rule);
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
