// Discrete Fourier transforms. The kernel is in relay/runtime/kernels/dft.cpp.
#include <cmath>

#include <relay/op/math/dft_attrs.h>
#include <relay/op/op.h>
#include <relay/op/registry/facts.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

constexpr DTypes kTransformed = DTypes(kFloat32) | kFloat64;

TypeRef infer_dft(const RelationCall& call) {
  te::TensorInfo re = call.tensor(0), im = call.tensor(1);
  std::string message = "the parts must have one shape, found " + call.input(0)->str() + " and " +
                        call.input(1)->str();
  call.require(re.rank() == im.rank(), message);
  for (size_t d = 0; d < re.rank(); ++d) call.require_equal(re.dims[d], im.dims[d], message);
  return TupleType::make({call.input(0), call.input(0)});
}

/// The attributes with their defaults worked out.
struct Frames {
  int64_t n, hop, window;
  explicit Frames(const StftAttrs& attrs)
      : n(*attrs.n_fft),
        hop(attrs.hop_length == 0 ? n / 4 : attrs.hop_length),
        window(attrs.win_length == 0 ? n : attrs.win_length) {}
};

TypeRef infer_stft(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0), window = call.tensor(1);
  const auto& attrs = call.attrs<StftAttrs>();
  Frames frames(attrs);
  call.require(frames.n > 0, "n_fft must be positive, found " + std::to_string(frames.n));
  call.require(attrs.hop_length != 0 || frames.hop > 0,
               "hop_length must be given: otherwise it is a quarter of n_fft, and of " +
                   std::to_string(frames.n) + " that is 0");
  call.require(frames.hop > 0, "hop_length must be positive, found " + std::to_string(frames.hop));
  call.require(frames.window > 0 && frames.window <= frames.n,
               "win_length must be from 1 to n_fft, found " + std::to_string(frames.window));
  call.require_equal(window.dims[0], frames.window,
                     "window must have win_length = " + std::to_string(frames.window) +
                         " elements, found " + call.input(1)->str());
  Dim samples = data.dims[data.rank() - 1];
  call.require_at_most(frames.n, samples,
                       "n_fft = " + std::to_string(frames.n) + " of " + samples.str() +
                           " samples: data " + call.input(0)->str());
  std::vector<Dim> dims;
  if (data.rank() == 2) dims.push_back(data.dims[0]);
  dims.push_back(attrs.onesided ? frames.n / 2 + 1 : frames.n);
  dims.push_back(floor_div(samples - frames.n, frames.hop) + 1);
  dims.push_back(2);
  return TensorType::make(dims, data.dtype);
}

// The frames of the samples times the window, which stands in their middle, and their transforms.
void compute_stft(const OpCall& call, te::Builder& b) {
  const auto& attrs = call.attrs<StftAttrs>();
  Frames frames(attrs);
  te::Tensor data = b.input(0), window = b.input(1);
  DType dtype = data.dtype();
  te::TensorInfo result = call.result();
  size_t axis = data.rank() - 1;  // of frequencies in the result
  std::vector<Dim> dims(result.dims.begin(),
                        result.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.push_back(result.dims[axis + 1]);
  dims.push_back(frames.n);
  int64_t before = (frames.n - frames.window) / 2;
  Scalar zero = te::constant(0, dtype);
  te::Tensor re = b.map(dims, [&](Indices i) {
    std::vector<Scalar> at(i.begin(), i.end() - 2);
    Scalar sample = i[axis + 1];
    at.push_back(i[axis] * te::index_constant(frames.hop) + sample);
    return data(at) * window.load_or({sample - te::index_constant(before)}, zero);
  });
  te::Tensor im = b.map(dims, [&](Indices) { return zero; });
  std::vector<te::Tensor> parts{re, im};
  te::TensorInfo info{dims, dtype};
  std::vector<te::Tensor> found = b.library("dft", parts, {info, info}, {{"inverse", false}});
  double factor = attrs.normalized ? 1 / std::sqrt(static_cast<double>(frames.n)) : 1;
  b.output(b.map(result.dims, [&](Indices i) {
    std::vector<Scalar> at(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(axis));
    at.push_back(i[axis + 1]);
    at.push_back(i[axis]);
    Scalar part = te::select(i[axis + 2] == te::index_constant(0), found[0](at), found[1](at));
    return attrs.normalized ? part * te::constant(factor, dtype) : part;
  }));
}

/// Transforms of `points` numbers in rows of `n` with small prime factors. One with a large factor
/// takes two of at least twice the length; which those are, a term does not say.
Dim operations_of_transforms(Dim points, Dim n) { return 5 * points * log2_of(n); }

RELAY_OP("dft")
    .doc(
        "The discrete Fourier transform along the last axis, of any extent: real and imaginary "
        "parts.")
    .input("re_data", "Real parts.", tensor('T', kTransformed).rank(1, kAnyRank))
    .input("im_data", "Imaginary parts, of the same shape.", tensor('T').rank(1, kAnyRank))
    .output("re", "Real parts.", tensor('T'))
    .output("im", "Imaginary parts.", tensor('T'))
    .example("fn (%x: Tensor[(4), float32], %y: Tensor[(4), float32]) { dft(%x, %y) }",
             "[1, 2, 3, 4]", "[0, 0, 0, 0]")
    .attrs<DFTAttrs>()
    .relation(infer_dft)
    .level(3)
    .column(costs(),
            [](const OpCall& call) {
              return kernel_cost(
                  call, operations_of_transforms(elements_of(call), call.tensor(0).dims.back()));
            })
    .kernel("dft", [](const OpCall& call) -> KernelParams {
      return {{"inverse", call.attrs<DFTAttrs>().inverse}};
    });

RELAY_OP("stft")
    .doc(
        "Fourier transforms of the samples around points in time: frames of n_fft samples, "
        "hop_length apart, times the window, which stands in their middle if it is shorter. "
        "The result has axes for frequencies, frames, and real and imaginary parts.")
    .input("data", "Samples, (samples) or (batch, samples).", tensor('T', kTransformed).rank(1, 2))
    .input("window", "Factors, win_length of them.", tensor('T').rank(1))
    .output("result", "(batch, frequencies, frames, 2), without batch where the data has none.",
            tensor('T'))
    .example(
        "fn (%x: Tensor[(6), float32], %w: Tensor[(4), float32]) { stft(%x, %w, n_fft=4, "
        "hop_length=2) }",
        "[1, 2, 3, 4, 5, 6]", "[1, 1, 1, 1]")
    .attrs<StftAttrs>()
    .relation(infer_stft)
    .level(3)
    .column(costs(),
            [](const OpCall& call) {
              Frames frames(call.attrs<StftAttrs>());
              te::TensorInfo result = call.result();
              Dim points = frames.n * result.dims[result.rank() - 2];
              if (result.rank() == 4) points = points * result.dims[0];
              return kernel_cost(call, points + operations_of_transforms(points, frames.n));
            })
    .compute(compute_stft);

}  // namespace
}  // namespace relay
