// Parts of images that boxes cut out, brought to one size: means or maxima of samples
// (roi_align), maxima of elements (roi_pool).
#include <relay/runtime/library_kernel.h>
#include <relay/support/error.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

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
    size_t h = channels_last ? 1 : 2;
    batch = data.extent(0);
    channels = data.extent(channels_last ? 3 : 1);
    height = data.extent(h);
    width = data.extent(h + 1);
    number = rois.extent(0);
    pooled_height = out.extent(h);
    pooled_width = out.extent(h + 1);
  }
  int64_t blocks() const { return (channels + kChannels - 1) / kChannels; }
  int64_t tasks() const { return number * blocks(); }
};

/// One region: its image, and left, top, right and bottom in elements.
struct Region {
  int64_t image = 0;
  double left, top, right, bottom;
  bool finite() const {
    return std::isfinite(left) && std::isfinite(top) && std::isfinite(right) &&
           std::isfinite(bottom);
  }
};

std::vector<Region> read_regions(const Regions& all) {
  std::vector<Region> result(static_cast<size_t>(all.number));
  dispatch(all.rois.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* at = all.rois.data<T>();
    auto number = [&](int64_t i) {
      return static_cast<double>(static_cast<ComputeType<T>>(at[i]));
    };
    for (int64_t r = 0; r < all.number; ++r) {
      double image = number(5 * r);
      if (!(image > -1 && image < static_cast<double>(all.batch))) {
        std::string text = std::isnan(image)        ? "nan"
                           : std::abs(image) < 9e15 ? std::to_string(static_cast<int64_t>(image))
                                                    : "one far outside";
        throw RuntimeError("region " + std::to_string(r) + " is of image " + text +
                           ", outside of a batch of extent " + std::to_string(all.batch));
      }
      result[static_cast<size_t>(r)] = {
          static_cast<int64_t>(image), number(5 * r + 1) * all.scale, number(5 * r + 2) * all.scale,
          number(5 * r + 3) * all.scale, number(5 * r + 4) * all.scale};
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

/// The bins of one dimension of a region.
template <class C>
struct Bins {
  struct Bin {
    std::vector<Sample<C>> samples;  // those on the data
    bool some_outside = false;
    // The mean of the samples: weights of elements first, first + 1, …
    int64_t first = 0;
    std::vector<C> weights;
  };
  std::vector<Bin> bins;
  int64_t first = 0, end = 0;  // elements that any bin touches

  Bins(double begin, double finish, int64_t count, int64_t extent, int64_t ratio) {
    bins.resize(static_cast<size_t>(count));
    double size = std::max(finish - begin, 1.0) / static_cast<double>(count);
    double samples = ratio > 0 ? static_cast<double>(ratio) : std::ceil(size);
    double step = size / samples;
    auto most = static_cast<double>(extent);
    first = extent;
    for (int64_t p = 0; p < count; ++p) {
      Bin& bin = bins[static_cast<size_t>(p)];
      double start = begin + static_cast<double>(p) * size;
      // Only samples between -1 and the extent count: of a huge region few do.
      double from = std::max(0.0, std::floor((-1.0 - start) / step - 0.5) - 1);
      double to = std::min(samples - 1, std::ceil((most - start) / step - 0.5) + 1);
      bin.some_outside = from > 0 || to < samples - 1;
      auto tries = static_cast<int64_t>(std::min(to - from, 4096.0 + 4 * most));
      for (int64_t i = 0; i <= tries; ++i) {
        double at = start + (from + static_cast<double>(i) + 0.5) * step;
        if (at < -1.0 || at > most) {
          bin.some_outside = true;
          continue;
        }
        at = std::min(std::max(at, 0.0), most - 1);
        auto low = static_cast<int64_t>(at);
        bin.samples.push_back(
            {low, std::min(low + 1, extent - 1), static_cast<C>(at - static_cast<double>(low))});
      }
      if (bin.samples.empty()) continue;
      bin.first = bin.samples.front().low;
      int64_t last = bin.samples.back().high;
      bin.weights.assign(static_cast<size_t>(last - bin.first + 1), C(0));
      for (const Sample<C>& sample : bin.samples) {
        bin.weights[static_cast<size_t>(sample.low - bin.first)] += 1 - sample.part;
        bin.weights[static_cast<size_t>(sample.high - bin.first)] += sample.part;
      }
      for (C& weight : bin.weights) weight = static_cast<C>(weight / samples);
      first = std::min(first, bin.first);
      end = std::max(end, last + 1);
    }
    first = std::min(first, end);
  }
};

/// Means of one channel: first rows are added up, as far as the region's columns go, then columns.
template <class T, class C>
void mean_of_plane(const T* plane, int64_t width, const Bins<C>& rows, const Bins<C>& columns,
                   std::vector<C>& sums, T* out) {
  int64_t span = columns.end - columns.first;
  sums.resize(static_cast<size_t>(span));
  for (const auto& bin : rows.bins) {
    C* sum = sums.data();
    std::fill(sum, sum + span, C(0));
    for (size_t k = 0; k < bin.weights.size(); ++k) {
      const T* row = plane + (bin.first + static_cast<int64_t>(k)) * width + columns.first;
      C weight = bin.weights[k];
      for (int64_t x = 0; x < span; ++x) sum[x] += weight * static_cast<C>(row[x]);
    }
    for (const auto& column : columns.bins) {
      const C* from = sum + (column.first - columns.first);
      C total = 0;
      for (size_t k = 0; k < column.weights.size(); ++k) total += column.weights[k] * from[k];
      *out++ = static_cast<T>(total);
    }
  }
}

/// Means of channels that lie side by side.
template <class T, class C>
void mean_of_channels(const T* image, int64_t stride, int64_t width, int64_t count,
                      const Bins<C>& rows, const Bins<C>& columns, std::vector<C>& sums, T* out) {
  sums.resize(static_cast<size_t>(count));
  C* sum = sums.data();
  for (const auto& bin : rows.bins) {
    for (const auto& column : columns.bins) {
      std::fill(sum, sum + count, C(0));
      for (size_t y = 0; y < bin.weights.size(); ++y) {
        for (size_t x = 0; x < column.weights.size(); ++x) {
          int64_t place = (bin.first + static_cast<int64_t>(y)) * width + column.first +
                          static_cast<int64_t>(x);
          const T* from = image + place * stride;
          C weight = bin.weights[y] * column.weights[x];
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
void max_of_plane(const T* plane, int64_t row_stride, int64_t column_stride, const Bins<C>& rows,
                  const Bins<C>& columns, int64_t out_stride, T* out) {
  for (const auto& bin : rows.bins) {
    for (const auto& column : columns.bins) {
      bool is_zero = bin.some_outside || column.some_outside;
      C best = is_zero || bin.samples.empty() || column.samples.empty()
                   ? C(0)
                   : -std::numeric_limits<C>::infinity();
      for (const Sample<C>& y : bin.samples) {
        for (const Sample<C>& x : column.samples) {
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
  std::vector<Region> regions = read_regions(all);
  const T* data = all.data.data<T>();
  T* out = call.outputs[0].data<T>();
  int64_t plane = all.height * all.width;
  int64_t bins = all.pooled_height * all.pooled_width;
  call.parallel(all.tasks(), [&](int64_t task) {
    int64_t r = task / all.blocks();
    int64_t from = task % all.blocks() * kChannels;
    int64_t count = std::min(kChannels, all.channels - from);
    const Region& region = regions[static_cast<size_t>(r)];
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
  bool is_max = call.flag("max");
  int64_t plane = all.height * all.width;
  int64_t bins = all.pooled_height * all.pooled_width;
  for_each_block<T>(call, all, [&](const T* image, T* out, int64_t count, const Region& region) {
    Bins<C> rows(region.top, region.bottom, all.pooled_height, all.height, ratio);
    Bins<C> columns(region.left, region.right, all.pooled_width, all.width, ratio);
    std::vector<C> sums;
    if (all.channels_last && !is_max) {
      mean_of_channels(image, all.channels, all.width, count, rows, columns, sums, out);
      return;
    }
    for (int64_t c = 0; c < count; ++c) {
      if (is_max) {
        bool last = all.channels_last;
        int64_t step = last ? all.channels : 1;
        max_of_plane(image + c * (last ? 1 : plane), all.width * step, step, rows, columns, step,
                     out + c * (last ? 1 : bins));
      } else {
        mean_of_plane(image + c * plane, all.width, rows, columns, sums, out + c * bins);
      }
    }
  });
}

template <class F>
void for_floats(DType dtype, F body) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<ComputeType<T>>) {
      body(tag);
    } else {
      RELAY_CHECK(false, "regions of a dtype that is no float");
    }
  });
}

void roi_align_kernel(LibraryCall& call) {
  Regions all(call);
  if (call.outputs[0].size() == 0) return;
  for_floats(all.data.dtype(), [&](auto tag) { align<typename decltype(tag)::type>(call, all); });
}

RELAY_LIBRARY_KERNEL("roi_align", roi_align_kernel,
                     {2,
                      1,
                      {{"spatial_scale", ParamKind::kNumber},
                       {"sample_ratio", ParamKind::kInteger},
                       {"max", ParamKind::kFlag},
                       {"channels_last", ParamKind::kFlag}}});

// ---- roi_pool -----------------------------------------------------------------------------------

/// Elements begin … end of each bin of one dimension.
std::vector<std::pair<int64_t, int64_t>> cut(double from, double to, int64_t count,
                                             int64_t extent) {
  static constexpr double kFar = 1e12;
  auto rounded = [](double x) {
    return static_cast<int64_t>(std::round(std::min(std::max(x, -kFar), kFar)));
  };
  int64_t begin = rounded(from);
  int64_t size = std::max<int64_t>(rounded(to) - begin + 1, 1);
  std::vector<std::pair<int64_t, int64_t>> bins;
  for (int64_t p = 0; p < count; ++p) {
    // p · size / count, down and up: without a product that is too large.
    int64_t whole = size / count;
    int64_t rest = size % count;
    int64_t low = p * whole + p * rest / count;
    int64_t high = (p + 1) * whole + ((p + 1) * rest + count - 1) / count;
    auto inside = [&](int64_t at) { return std::min(std::max(begin + at, int64_t{0}), extent); };
    bins.emplace_back(inside(low), inside(high));
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
    auto rows = cut(region.top, region.bottom, all.pooled_height, all.height);
    auto columns = cut(region.left, region.right, all.pooled_width, all.width);
    for (int64_t c = 0; c < count; ++c) {
      const T* from = image + c * (last ? 1 : plane);
      T* to = out + c * (last ? 1 : bins);
      for (auto [top, bottom] : rows) {
        for (auto [left, right] : columns) {
          bool empty = top >= bottom || left >= right;
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
  for_floats(all.data.dtype(), [&](auto tag) { pool<typename decltype(tag)::type>(call, all); });
}

RELAY_LIBRARY_KERNEL(
    "roi_pool", roi_pool_kernel,
    {2, 1, {{"spatial_scale", ParamKind::kNumber}, {"channels_last", ParamKind::kFlag}}});

}  // namespace
}  // namespace relay
