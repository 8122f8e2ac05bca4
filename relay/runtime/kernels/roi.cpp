// Parts of images that boxes cut out, brought to one size: means or maxima of samples
// (roi_align), maxima of elements (roi_pool).
#include <relay/runtime/format.h>
#include <relay/runtime/kernels/floats.h>
#include <relay/runtime/kernels/interruption.h>
#include <relay/runtime/kernels/scratch.h>
#include <relay/runtime/library_kernel.h>
#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace relay {
namespace {

/// Channels that one task computes.
constexpr int64_t kChannels = 64;

/// Data, regions and result of one call, in either layout.
struct Regions {
  NDArray data, rois;
  bool channels_last;
  int64_t batch, channels, height, width;
  int64_t number, pooled_height, pooled_width;
  double scale;

  explicit Regions(const LibraryCall& call)
      : data(call.inputs[0].contiguous()),
        rois(call.inputs[1].contiguous()),
        channels_last(call.flag("channels_last")),
        scale(call.number("spatial_scale")) {
    const NDArray& out = call.outputs[0];
    RELAY_CHECK(data.rank() == 4 && rois.rank() == 2 && out.rank() == 4 && rois.extent(1) == 5,
                "arguments of regions");
    size_t h = channels_last ? 1 : 2, c = channels_last ? 3 : 1;
    batch = data.extent(0);
    channels = data.extent(c);
    height = data.extent(h);
    width = data.extent(h + 1);
    number = rois.extent(0);
    pooled_height = out.extent(h);
    pooled_width = out.extent(h + 1);
    RELAY_CHECK(out.dtype() == data.dtype() && out.extent(0) == number &&
                    out.extent(c) == channels && (out.size() == 0 || (height > 0 && width > 0)),
                "result of regions");
  }
  int64_t blocks() const { return (channels + kChannels - 1) / kChannels; }
  int64_t tasks() const { return number * blocks(); }
};

/// One region: its image, and left, top, right and bottom in elements.
struct Region {
  int64_t image;
  double left, top, right, bottom;
  bool finite() const {
    // That of corners is finite only where they are.
    return std::isfinite(right - left) && std::isfinite(bottom - top);
  }
};

Scratch<Region> read_regions(const Regions& all) {
  Scratch<Region> result(all.number);
  dispatch_float(all.rois.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* at = all.rois.data<T>();
    auto number = [&](int64_t i) {
      return static_cast<double>(static_cast<ComputeType<T>>(at[i]));
    };
    for (int64_t r = 0; r < all.number; ++r) {
      double image = number(5 * r);
      if (!(image >= 0 && image < static_cast<double>(all.batch) && image == std::floor(image))) {
        std::string text;
        append_float(text, all.rois.dtype(), image);
        throw RuntimeError("region " + std::to_string(r) + " is of image " + text +
                           ", which is not in a batch of extent " + std::to_string(all.batch));
      }
      result[r] = {static_cast<int64_t>(image), number(5 * r + 1) * all.scale,
                   number(5 * r + 2) * all.scale, number(5 * r + 3) * all.scale,
                   number(5 * r + 4) * all.scale};
    }
  });
  return result;
}

// ---- roi_align ----------------------------------------------------------------------------------

/// A sample between two elements of one dimension.
template <class C>
struct Sample {
  int64_t low, high;
  C part;  // of the way from low to high
};

/// An element that samples of a bin touch, and how much it counts in their mean.
template <class C>
struct Tap {
  int64_t index;
  C weight;
};

/// The bins of one dimension of a region.
template <class C>
struct Bins {
  struct Bin {
    int64_t begin, end;  // of its samples or taps
    bool some_outside;   // of the data, of its samples
  };
  int64_t count;
  Scratch<Bin> bins;
  ScratchList<Sample<C>> samples;  // those on the data, for maxima
  ScratchList<Tap<C>> taps;        // for means; an element between them may be anything
  int64_t first, end = 0;          // elements that any bin touches

  Bins(Interruption& interruption, double from, double to, double least, int64_t count,
       int64_t extent, int64_t ratio, bool means)
      : count(count), bins(count), first(extent) {
    double size = std::max(to - from, least) / static_cast<double>(count);
    double number = ratio > 0 ? static_cast<double>(ratio) : std::ceil(size);
    for (int64_t p = 0; p < count; ++p) {
      double start = from + static_cast<double>(p) * size;
      Bin& bin = bins[p];
      if (means) {
        bin.begin = taps.size();
        bin.some_outside = for_samples(interruption, start, size / number, number, extent,
                                       [&](int64_t low, int64_t high, C part) {
                                         touch(bin, low, 1 - part);
                                         touch(bin, high, part);
                                       });
        bin.end = taps.size();
        for (int64_t k = bin.begin; k < bin.end; ++k)
          taps[k].weight = static_cast<C>(taps[k].weight / number);
      } else {
        bin.begin = samples.size();
        bin.some_outside = for_samples(interruption, start, size / number, number, extent,
                                       [&](int64_t low, int64_t high, C part) {
                                         samples.push({low, high, part});
                                       });
        bin.end = samples.size();
      }
    }
    if (means) {
      for (const Tap<C>& tap : taps) {
        first = std::min(first, tap.index);
        end = std::max(end, tap.index + 1);
      }
    }
    first = std::min(first, end);
  }

 private:
  /// Calls body(low, high, part) for the samples on the data, in rising order; returns true if
  /// there are others.
  template <class F>
  static bool for_samples(Interruption& interruption, double start, double step, double number,
                          int64_t extent, F&& body) {
    auto most = static_cast<double>(extent);
    // Only samples between -1 and the extent count: of a huge region few do.
    double from = std::max(0.0, std::floor((-1.0 - start) / step - 0.5) - 1);
    double to = std::min(number - 1, std::ceil((most - start) / step - 0.5) + 1);
    bool some_outside = from > 0 || to < number - 1;
    if (!(from <= to)) return true;
    auto tries = static_cast<int64_t>(std::min(to - from, 4096.0 + 4 * most));
    interruption.after(8 * (tries + 1));
    for (int64_t i = 0; i <= tries; ++i) {
      double at = start + (from + static_cast<double>(i) + 0.5) * step;
      if (at < -1.0 || at > most) {
        some_outside = true;
        continue;
      }
      at = std::min(std::max(at, 0.0), most - 1);
      auto low = static_cast<int64_t>(at);
      body(low, std::min(low + 1, extent - 1), static_cast<C>(at - static_cast<double>(low)));
    }
    return some_outside;
  }

  /// Adds to the weight of an element, which is one of the bin's last two or beyond them.
  void touch(const Bin& bin, int64_t index, C weight) {
    for (int64_t k = taps.size(); k-- > std::max(bin.begin, taps.size() - 2);) {
      if (taps[k].index != index) continue;
      taps[k].weight += weight;
      return;
    }
    taps.push({index, weight});
  }
};

/// Means of one channel: first rows are added up, as far as the region's columns go, then columns.
template <class T, class C>
void mean_of_plane(Interruption& interruption, const T* plane, int64_t width, const Bins<C>& rows,
                   const Bins<C>& columns, C* sum, T* out) {
  int64_t span = columns.end - columns.first;
  for (int64_t p = 0; p < rows.count; ++p) {
    auto [begin, end, some_outside] = rows.bins[p];
    interruption.after((end - begin) * span + columns.taps.size() + columns.count);
    std::fill(sum, sum + span, C(0));
    for (int64_t k = begin; k < end; ++k) {
      const T* row = plane + rows.taps[k].index * width + columns.first;
      C weight = rows.taps[k].weight;
      for (int64_t x = 0; x < span; ++x) sum[x] += weight * static_cast<C>(row[x]);
    }
    const Tap<C>* tap = columns.taps.begin();
    for (int64_t q = 0; q < columns.count; ++q) {
      const Tap<C>* last = columns.taps.begin() + columns.bins[q].end;
      C total = 0;
      for (; tap < last; ++tap) total += tap->weight * sum[tap->index - columns.first];
      *out++ = static_cast<T>(total);
    }
  }
}

/// Means of channels that lie side by side.
template <class T, class C>
void mean_of_channels(Interruption& interruption, const T* image, int64_t stride, int64_t width,
                      int64_t count, const Bins<C>& rows, const Bins<C>& columns, C* sum, T* out) {
  for (int64_t p = 0; p < rows.count; ++p) {
    const auto& bin = rows.bins[p];
    for (int64_t q = 0; q < columns.count; ++q) {
      const auto& column = columns.bins[q];
      interruption.after((1 + (bin.end - bin.begin) * (column.end - column.begin)) * count);
      std::fill(sum, sum + count, C(0));
      for (int64_t y = bin.begin; y < bin.end; ++y) {
        for (int64_t x = column.begin; x < column.end; ++x) {
          const T* from = image + (rows.taps[y].index * width + columns.taps[x].index) * stride;
          C weight = rows.taps[y].weight * columns.taps[x].weight;
          for (int64_t c = 0; c < count; ++c) sum[c] += weight * static_cast<C>(from[c]);
        }
      }
      for (int64_t c = 0; c < count; ++c) out[c] = static_cast<T>(sum[c]);
      out += stride;
    }
  }
}

/// The greatest sample of each bin of one channel; samples off the data are 0.
template <class T, class C>
void max_of_plane(Interruption& interruption, const T* plane, int64_t row_stride,
                  int64_t column_stride, const Bins<C>& rows, const Bins<C>& columns,
                  int64_t out_stride, T* out) {
  for (int64_t p = 0; p < rows.count; ++p) {
    const auto& bin = rows.bins[p];
    for (int64_t q = 0; q < columns.count; ++q) {
      const auto& column = columns.bins[q];
      bool none = bin.begin == bin.end || column.begin == column.end;
      interruption.after(8 * (1 + (bin.end - bin.begin) * (column.end - column.begin)));
      C best = none || bin.some_outside || column.some_outside
                   ? C(0)
                   : -std::numeric_limits<C>::infinity();
      for (int64_t i = bin.begin; i < bin.end; ++i) {
        const Sample<C>& y = rows.samples[i];
        for (int64_t j = column.begin; j < column.end; ++j) {
          const Sample<C>& x = columns.samples[j];
          auto element = [&](int64_t a, int64_t b) {
            return static_cast<C>(plane[a * row_stride + b * column_stride]);
          };
          C above = element(y.low, x.low) * (1 - x.part) + element(y.low, x.high) * x.part;
          C below = element(y.high, x.low) * (1 - x.part) + element(y.high, x.high) * x.part;
          C value = above * (1 - y.part) + below * y.part;
          if (value > best || value != value) best = value;
        }
      }
      *out = static_cast<T>(best);
      out += out_stride;
    }
  }
}

/// Calls body(data of the image's first channel of the block, result, number of channels, region)
/// for each task; regions that are not finite are not-a-number.
template <class T, class F>
void for_each_block(LibraryCall& call, const Regions& all, F body) {
  Scratch<Region> regions = read_regions(all);
  const T* data = all.data.data<T>();
  T* out = call.outputs[0].data<T>();
  int64_t plane = all.height * all.width;
  int64_t bins = all.pooled_height * all.pooled_width;
  call.parallel(all.tasks(), [&](int64_t task) {
    int64_t r = task / all.blocks();
    int64_t from = task % all.blocks() * kChannels;
    int64_t count = std::min(kChannels, all.channels - from);
    const Region& region = regions[r];
    int64_t unit = all.channels_last ? 1 : plane;
    int64_t out_unit = all.channels_last ? 1 : bins;
    const T* image = data + region.image * all.channels * plane + from * unit;
    T* result = out + r * all.channels * bins + from * out_unit;
    if (region.finite()) {
      body(image, result, count, region);
      return;
    }
    for (int64_t c = 0; c < count; ++c) {
      for (int64_t i = 0; i < bins; ++i) {
        result[c * out_unit + i * (all.channels_last ? all.channels : 1)] =
            static_cast<T>(std::numeric_limits<ComputeType<T>>::quiet_NaN());
      }
    }
  });
}

template <class T>
void align(LibraryCall& call, const Regions& all) {
  using C = ComputeType<T>;
  int64_t ratio = call.integer("sample_ratio");
  bool is_max = call.flag("max"), aligned = call.flag("aligned");
  // If coordinates are those of middles, a region has at least one element.
  double moved = aligned ? 0.5 : 0.0, least = aligned ? 0.0 : 1.0;
  int64_t plane = all.height * all.width;
  int64_t bins = all.pooled_height * all.pooled_width;
  for_each_block<T>(call, all, [&](const T* image, T* out, int64_t count, const Region& region) {
    Interruption interruption(call);
    Bins<C> rows(interruption, region.top - moved, region.bottom - moved, least, all.pooled_height,
                 all.height, ratio, !is_max);
    Bins<C> columns(interruption, region.left - moved, region.right - moved, least,
                    all.pooled_width, all.width, ratio, !is_max);
    bool last = all.channels_last;
    if (is_max) {
      int64_t step = last ? all.channels : 1;
      for (int64_t c = 0; c < count; ++c) {
        max_of_plane(interruption, image + c * (last ? 1 : plane), all.width * step, step, rows,
                     columns, step, out + c * (last ? 1 : bins));
      }
      return;
    }
    Scratch<C> sums(last ? count : columns.end - columns.first);
    if (last) {
      mean_of_channels(interruption, image, all.channels, all.width, count, rows, columns,
                       sums.data(), out);
      return;
    }
    for (int64_t c = 0; c < count; ++c) {
      mean_of_plane(interruption, image + c * plane, all.width, rows, columns, sums.data(),
                    out + c * bins);
    }
  });
}

void roi_align_kernel(LibraryCall& call) {
  Regions all(call);
  if (call.outputs[0].size() == 0) return;
  dispatch_float(all.data.dtype(), [&](auto zero) { align<decltype(zero)>(call, all); });
}

void regions_rule(const LibraryOperands& of) {
  const LibraryOperand &data = of.inputs[0], &rois = of.inputs[1], &out = of.outputs[0];
  const bool last = of.param<bool>("channels_last");
  of.rank(data, 4);
  of.floating(data);
  of.rank(rois, 2);
  of.floating(rois);
  of.shape(rois, {rois.extent(0), 5});
  of.rank(out, 4);
  of.same_dtype(out, data);
  const size_t h = last ? 1 : 2, c = last ? 3 : 1;
  Shape shape(out.shape.begin(), out.shape.end());
  shape[0] = rois.extent(0);
  shape[c] = data.extent(c);
  of.want(shape[h] >= 0 && shape[h + 1] >= 0, "extents of its result");
  of.shape(out, shape);
  of.want(out.size() == 0 || (data.extent(h) > 0 && data.extent(h + 1) > 0),
          "images that are not empty");
}

RELAY_LIBRARY_RULE("roi_align", regions_rule);
RELAY_LIBRARY_KERNEL("roi_align", roi_align_kernel,
                     {2,
                      1,
                      {{"spatial_scale", ParamKind::kNumber},
                       {"sample_ratio", ParamKind::kInteger},
                       {"max", ParamKind::kFlag},
                       {"channels_last", ParamKind::kFlag},
                       {"aligned", ParamKind::kFlag}}});

// ---- roi_pool -----------------------------------------------------------------------------------

/// Elements of one dimension that a bin takes.
struct Range {
  int64_t begin, end;
};

/// The bins of one dimension.
Scratch<Range> cut(double from, double to, int64_t count, int64_t extent) {
  static constexpr double kFar = 1e12;
  auto rounded = [](double x) {
    return static_cast<int64_t>(std::round(std::min(std::max(x, -kFar), kFar)));
  };
  int64_t begin = rounded(from);
  int64_t size = std::max<int64_t>(rounded(to) - begin + 1, 1);
  Scratch<Range> bins(count);
  for (int64_t p = 0; p < count; ++p) {
    // p · size / count, down and up: without a product that is too large.
    int64_t whole = size / count;
    int64_t rest = size % count;
    int64_t low = p * whole + p * rest / count;
    int64_t high = (p + 1) * whole + ((p + 1) * rest + count - 1) / count;
    auto inside = [&](int64_t at) { return std::min(std::max(begin + at, int64_t{0}), extent); };
    bins[p] = {inside(low), inside(high)};
  }
  return bins;
}

template <class T>
void pool(LibraryCall& call, const Regions& all) {
  using C = ComputeType<T>;
  int64_t plane = all.height * all.width;
  int64_t bins = all.pooled_height * all.pooled_width;
  bool last = all.channels_last;
  int64_t step = last ? all.channels : 1;
  for_each_block<T>(call, all, [&](const T* image, T* out, int64_t count, const Region& region) {
    Interruption interruption(call);
    Scratch<Range> rows = cut(region.top, region.bottom, all.pooled_height, all.height);
    Scratch<Range> columns = cut(region.left, region.right, all.pooled_width, all.width);
    for (int64_t c = 0; c < count; ++c) {
      const T* from = image + c * (last ? 1 : plane);
      T* to = out + c * (last ? 1 : bins);
      for (int64_t p = 0; p < all.pooled_height; ++p) {
        auto [top, bottom] = rows[p];
        for (int64_t q = 0; q < all.pooled_width; ++q) {
          auto [left, right] = columns[q];
          bool empty = top >= bottom || left >= right;
          if (!empty) interruption.after((bottom - top) * (right - left));
          C best = empty ? C(0) : -std::numeric_limits<C>::infinity();
          for (int64_t y = top; y < bottom; ++y) {
            for (int64_t x = left; x < right; ++x) {
              auto value = static_cast<C>(from[(y * all.width + x) * step]);
              if (value > best || value != value) best = value;
            }
          }
          *to = static_cast<T>(best);
          to += step;
        }
      }
    }
  });
}

void roi_pool_kernel(LibraryCall& call) {
  Regions all(call);
  if (call.outputs[0].size() == 0) return;
  dispatch_float(all.data.dtype(), [&](auto zero) { pool<decltype(zero)>(call, all); });
}

void roi_pool_rule(const LibraryOperands& of) { regions_rule(of); }

RELAY_LIBRARY_RULE("roi_pool", roi_pool_rule);
RELAY_LIBRARY_KERNEL(
    "roi_pool", roi_pool_kernel,
    {2, 1, {{"spatial_scale", ParamKind::kNumber}, {"channels_last", ParamKind::kFlag}}});

}  // namespace
}  // namespace relay
