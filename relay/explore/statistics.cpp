// Tensors in few numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <relay/explore/tables.h>
#include <relay/runtime/format.h>

namespace relay::explore {
namespace {

constexpr size_t kBins = 24;
constexpr int64_t kFirst = 8;

struct Sums {
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();
  double sum = 0;
  double squares = 0;
  int64_t zeros = 0;
  int64_t bad = 0;
  int64_t good = 0;

  void add(double x) {
    if (!std::isfinite(x)) {
      ++bad;
      return;
    }
    least = std::min(least, x);
    greatest = std::max(greatest, x);
    sum += x;
    squares += x * x;
    zeros += x == 0 ? 1 : 0;
    ++good;
  }
};

// Calls `f` with each element. The most usual form of weights needs no dispatch for each of them.
template <class F>
void each_element(const NDArray& array, const F& f) {
  if (array.dtype() == kFloat32 && array.is_contiguous()) {
    const float* data = array.data<float>();
    for (int64_t i = 0; i < array.size(); ++i) f(static_cast<double>(data[i]));
    return;
  }
  for (int64_t i = 0; i < array.size(); ++i) f(array.element_as_double(i));
}

}  // namespace

void write_statistics(JsonWriter& json, const NDArray& original) {
  const NDArray array = original.device() == kCpu ? original : original.on(kCpu);
  json.begin_object();
  json.field("dtype", array.dtype().name());
  json.field("shape", std::vector<int64_t>(array.shape().begin(), array.shape().end()));
  json.field("size", array.size());
  const bool uniform = array.size() > 0 && array.is_uniform();
  const NDArray counted = uniform ? NDArray::uniform(array, {}) : array;
  Sums sums;
  each_element(counted, [&](double x) { sums.add(x); });
  if (sums.good > 0) {
    const double mean = sums.sum / static_cast<double>(sums.good);
    const double variance = sums.squares / static_cast<double>(sums.good) - mean * mean;
    json.field("min", sums.least).field("max", sums.greatest).field("mean", mean);
    json.field("std", std::sqrt(std::max(0.0, variance)));
  }
  const int64_t times = uniform ? array.size() : 1;
  json.field("zeros", sums.zeros * times).field("bad", sums.bad * times);
  json.field("uniform", uniform);
  if (sums.good > 0 && sums.greatest > sums.least) {
    std::array<int64_t, kBins> bins{};
    const double scale = static_cast<double>(kBins) / (sums.greatest - sums.least);
    each_element(counted, [&](double x) {
      if (!std::isfinite(x)) return;
      // The range of doubles can be infinite as a difference.
      const double at = (x - sums.least) * scale;
      ++bins[at >= 0 && at < kBins ? static_cast<size_t>(at) : kBins - 1];
    });
    json.field("histogram", std::vector<int64_t>(bins.begin(), bins.end()));
  }
  json.key("first").begin_array();
  for (int64_t i = 0; i < std::min(kFirst, array.size()); ++i) {
    std::string text;
    append_element(text, array.dtype(), array.element(i));
    json.value(text);
  }
  json.end_array().end_object();
}

}  // namespace relay::explore
