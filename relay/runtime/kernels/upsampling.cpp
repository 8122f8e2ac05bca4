// Upsampling by factors that are tensors: the result's extents are known only when they are. The
// same places and weights as relay/op/image/resample.cpp has.
#include <relay/runtime/format.h>
#include <relay/runtime/kernels/scratch.h>
#include <relay/runtime/library_kernel.h>
#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace relay {
namespace {

enum class Method : uint8_t { kNearest, kLinear, kCubic };
enum class Places : uint8_t { kAsymmetric, kAlignCorners, kHalfPixel };

Method method_of(const std::string& word) {
  if (word == "nearest") return Method::kNearest;
  if (word == "linear") return Method::kLinear;
  if (word == "cubic") return Method::kCubic;
  throw RuntimeError("no method of upsampling: " + word);
}
Places places_of(const std::string& word) {
  if (word == "asymmetric") return Places::kAsymmetric;
  if (word == "align_corners") return Places::kAlignCorners;
  if (word == "half_pixel") return Places::kHalfPixel;
  throw RuntimeError("no places of upsampling: " + word);
}

/// The result's extent along an axis, halves to even.
int64_t scaled_extent(int64_t extent, const NDArray& by, const char* name) {
  double scale = by.item_as_double();
  if (!(scale > 0 && scale < 1e9)) {
    std::string found;
    append_float(found, by.dtype(), scale);
    throw RuntimeError(std::string(name) + " must be positive and below 1e9, found " + found);
  }
  double result = std::nearbyint(static_cast<double>(extent) * scale);
  if (result > 1e15) throw RuntimeError("the result of upsampling has too many elements");
  return static_cast<int64_t>(result);
}

/// Which elements of one axis make each element of the result, and how much each counts: `count` of
/// them, one behind the other. T is the weights' type.
template <class T>
struct Taps {
  int64_t count;
  Scratch<int64_t> index;
  Scratch<T> weight;

  Taps(Method method, Places places, int64_t in, int64_t out)
      : count(method == Method::kNearest  ? 1
              : method == Method::kLinear ? 2
                                          : 4),
        index(count * out),
        weight(count * out) {
    using Wide = __int128;  // products of two extents
    for (int64_t at = 0; at < out; ++at) {
      // The place is above / below.
      Wide above = Wide{at} * in, below = out;
      if (places == Places::kAlignCorners) {
        above = Wide{at} * (in - 1);
        below = std::max<int64_t>(out - 1, 1);
      } else if (places == Places::kHalfPixel) {
        above = (Wide{2} * at + 1) * in - out;
        below = Wide{2} * out;
      }
      if (method == Method::kNearest) {
        bool round = places == Places::kAlignCorners;
        put(at, 0, floor_div(round ? 2 * above + below : above, round ? 2 * below : below), in, 1);
        continue;
      }
      Wide low = floor_div(above, below);
      T part = static_cast<T>(static_cast<int64_t>(above - low * below)) /
               static_cast<T>(static_cast<int64_t>(below));
      if (method == Method::kLinear) {
        put(at, 0, low, in, T{1} - part);
        put(at, 1, low + 1, in, part);
        continue;
      }
      constexpr T kSlope = -0.5;
      T t = part, t2 = t * t, t3 = t2 * t;
      std::array<T, 4> weights = {
          (t3 - t2 * 2 + t) * kSlope, t3 * (kSlope + 2) - t2 * (kSlope + 3) + 1,
          t2 * (2 * kSlope + 3) - t3 * (kSlope + 2) - t * kSlope, (t2 - t3) * kSlope};
      for (int64_t k = 0; k < 4; ++k) put(at, k, low + k - 1, in, weights[static_cast<size_t>(k)]);
    }
  }

 private:
  static __int128 floor_div(__int128 a, __int128 b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
  void put(int64_t at, int64_t k, __int128 from, int64_t in, T part) {
    __int128 inside = std::clamp<__int128>(from, 0, in - 1);
    index[at * count + k] = static_cast<int64_t>(inside);
    weight[at * count + k] = part;
  }
};

/// A tensor as rows along one axis: (outer, in, inner) becomes (outer, out, inner), of the places
/// from `first` on.
struct Step {
  int64_t outer, in, inner;
  int64_t first, out;
};

/// Calls `row(from, to, at)` with the offsets of the rows of `inner` elements, where `at` is the
/// place on the axis.
template <class F>
void each_row(LibraryCall& call, const Step& step, F&& row) {
  int64_t rows = step.outer * step.out;
  int64_t together = std::max<int64_t>(1, (int64_t{1} << 14) / std::max<int64_t>(1, step.inner));
  call.parallel((rows + together - 1) / together, [&](int64_t task) {
    int64_t end = std::min(rows, (task + 1) * together);
    for (int64_t r = task * together; r < end; ++r)
      row(r / step.out * step.in * step.inner, r * step.inner, step.first + r % step.out);
  });
}

template <class T>
void copy_step(LibraryCall& call, const Step& step, const Taps<float>& taps, const T* from, T* to) {
  each_row(call, step, [&](int64_t source, int64_t target, int64_t at) {
    std::copy_n(from + source + taps.index[at] * step.inner, step.inner, to + target);
  });
}

template <class T>
void sum_step(LibraryCall& call, const Step& step, const Taps<T>& taps, const T* from, T* to) {
  each_row(call, step, [&](int64_t source, int64_t target, int64_t at) {
    const int64_t* index = taps.index.data() + at * taps.count;
    const T* weight = taps.weight.data() + at * taps.count;
    for (int64_t i = 0; i < step.inner; ++i) {
      const T* base = from + source + i;
      T total = base[index[0] * step.inner] * weight[0];
      for (int64_t k = 1; k < taps.count; ++k) total += base[index[k] * step.inner] * weight[k];
      to[target + i] = total;
    }
  });
}

/// A sum as an element: integers truncate, at the ends of their range.
template <class E, class T>
E finished(T value) {
  if constexpr (std::is_integral_v<E>) {
    if constexpr (sizeof(E) == 8) {
      // The greatest number that can be converted.
      constexpr T kMost =
          std::is_signed_v<E> ? T(9223372036854774784.0) : T(18446744073709549568.0);
      value = std::min(value, kMost);
    }
  }
  return convert_element<E>(value);
}

/// An axis whose extent changes.
struct Change {
  size_t axis;
  int64_t in, out;
};

struct Upsampling {
  LibraryCall& call;
  NDArray data;
  Method method;
  Places places;
  std::vector<Change> changes;  // in the order of the axes of space
  Shape result;

  /// The change of a tensor of this shape for the `count` places from `first` on; the shape is that
  /// of the outcome then.
  static Step step_of(Shape& shape, const Change& change, int64_t first, int64_t count) {
    Step step{1, change.in, 1, first, count};
    for (size_t k = 0; k < change.axis; ++k) step.outer *= shape[k];
    for (size_t k = change.axis + 1; k < shape.size(); ++k) step.inner *= shape[k];
    shape[change.axis] = count;
    return step;
  }

  /// Nearest elements are the same in any order of the axes.
  template <class E>
  void copy(E* out) {
    std::stable_partition(changes.begin(), changes.end(),
                          [](const Change& change) { return change.out < change.in; });
    Shape shape(data.shape().begin(), data.shape().end());
    const E* from = data.data<E>();
    Scratch<E> before;
    for (size_t s = 0; s < changes.size(); ++s) {
      const Change& change = changes[s];
      Step step = step_of(shape, change, 0, change.out);
      bool last = s + 1 == changes.size();
      Scratch<E> next(last ? 0 : step.outer * step.out * step.inner);
      copy_step(call, step, Taps<float>(method, places, change.in, change.out), from,
                last ? out : next.data());
      before = std::move(next);
      from = before.data();
    }
  }

  template <class E, class T>
  void sum(E* out) {
    Scratch<T> start(data.size());
    std::transform(data.data<E>(), data.data<E>() + data.size(), start.data(),
                   [](E value) { return static_cast<T>(static_cast<ComputeType<E>>(value)); });
    std::vector<Taps<T>> taps;
    for (const Change& change : changes) taps.emplace_back(method, places, change.in, change.out);
    Shape shape(data.shape().begin(), data.shape().end());
    sum_from(0, taps, start.data(), shape, Shape(shape.size(), 0), out);
  }

  /// The changes from `s` on of a part of the result that begins at `offsets`.
  template <class E, class T>
  void sum_from(size_t s, const std::vector<Taps<T>>& taps, const T* from, const Shape& shape,
                const Shape& offsets, E* out) {
    if (s == changes.size()) return write(from, shape, offsets, out);
    const Change& change = changes[s];
    // Sums depend on the order of the axes, which is that of nn.upsampling. The tensor between an
    // axis that grows and one that shrinks may be larger than data and result, so it is made in
    // pieces.
    int64_t others = element_count(shape) / change.in;
    int64_t most = std::max(data.size(), element_count(result));
    int64_t together = std::clamp<int64_t>(most / others, 1, change.out);
    for (int64_t first = 0; first < change.out; first += together) {
      int64_t count = std::min(together, change.out - first);
      Shape next = shape, at = offsets;
      at[change.axis] = first;
      Step step = step_of(next, change, first, count);
      Scratch<T> sums(others * count);
      sum_step(call, step, taps[s], from, sums.data());
      sum_from(s + 1, taps, sums.data(), next, at, out);
    }
  }

  template <class E, class T>
  void write(const T* from, const Shape& shape, const Shape& offsets, E* out) {
    // Axes from `inner` on lie side by side in the result too.
    size_t inner = shape.size() - 1;
    int64_t run = shape[inner];
    while (inner > 0 && shape[inner] == result[inner]) run *= shape[--inner];
    int64_t rows = element_count(shape) / run;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t at = 0, stride = 1, rest = row;
      for (size_t d = shape.size(); d-- > 0; stride *= result[d]) {
        at += offsets[d] * stride;
        if (d >= inner) continue;
        at += rest % shape[d] * stride;
        rest /= shape[d];
      }
      std::transform(from + row * run, from + (row + 1) * run, out + at, finished<E, T>);
    }
  }

  template <class E>
  void run(E* out) {
    if (changes.empty()) {
      std::copy_n(data.data<E>(), data.size(), out);
    } else if (method == Method::kNearest) {
      copy(out);
    } else if constexpr (std::is_same_v<E, double> || (std::is_integral_v<E> && sizeof(E) >= 4)) {
      sum<E, double>(out);
    } else {
      sum<E, float>(out);
    }
  }
};

void upsampling_kernel(LibraryCall& call) {
  constexpr const char* kNames[] = {"scale_d", "scale_h", "scale_w"};
  const std::vector<int64_t>& axes = call.integers("axes");
  NDArray data = call.inputs[0].contiguous();
  RELAY_CHECK((axes.size() == 2 || axes.size() == 3) && call.inputs.size() == axes.size() + 1,
              "arguments of upsampling");
  Upsampling upsampling{call, data, method_of(call.word("method")), places_of(call.word("places")),
                        {},   {}};
  std::vector<int64_t> counts(data.rank(), -1);
  for (size_t d = 0; d < axes.size(); ++d) {
    auto axis = static_cast<size_t>(axes[d]);
    RELAY_CHECK(axis < counts.size() && counts[axis] < 0, "axes of upsampling");
    int64_t in = data.extent(axis);
    int64_t out = scaled_extent(in, call.inputs[d + 1], kNames[d + 3 - axes.size()]);
    if (in != out) upsampling.changes.push_back({axis, in, out});
    counts[axis] = out;
  }
  std::erase_if(counts, [](int64_t count) { return count < 0; });
  const NDArray& out = counts.size() == 2 ? call.make(0, {counts[0], counts[1]})
                                          : call.make(0, {counts[0], counts[1], counts[2]});
  upsampling.result.assign(out.shape().begin(), out.shape().end());
  // Nothing to make, perhaps with extents for which no table has room.
  if (out.size() == 0) return;
  dispatch(data.dtype(), [&](auto tag) {
    using E = typename decltype(tag)::type;
    if constexpr (std::is_same_v<E, Bool>) {
      RELAY_UNREACHABLE("upsampling of bool");
    } else {
      upsampling.run(out.data<E>());
    }
  });
}

void upsampling_rule(const LibraryOperands& of) {
  const auto& axes = of.param<std::vector<int64_t>>("axes");
  of.want(axes.size() == 2 || axes.size() == 3, "two or three axes");
  of.want(of.inputs.size() == axes.size() + 1, "a factor for each axis");
  const LibraryOperand& data = of.inputs[0];
  of.want(!data.dtype.is_bool(), "numbers");
  Shape shape(data.shape.begin(), data.shape.end());
  for (size_t d = 0; d < axes.size(); ++d) {
    const bool is_axis = axes[d] >= 0 && axes[d] < static_cast<int64_t>(shape.size()) &&
                         shape[static_cast<size_t>(axes[d])] != LibraryOperands::kCounted;
    of.want(is_axis, "different axes of its operand");
    shape[static_cast<size_t>(axes[d])] = LibraryOperands::kCounted;
    of.elements(of.inputs[d + 1], 1);
  }
  of.same_dtype(of.outputs[0], data);
  of.shape(of.outputs[0], shape);
}

RELAY_LIBRARY_RULE("upsampling", upsampling_rule);
RELAY_LIBRARY_KERNEL(
    "upsampling", upsampling_kernel,
    {LibrarySignature::kAny,
     1,
     {{"axes", ParamKind::kIntegers}, {"method", ParamKind::kWord}, {"places", ParamKind::kWord}}});

}  // namespace
}  // namespace relay
