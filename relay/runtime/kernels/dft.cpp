// The discrete Fourier transform along the last axis.
#include <relay/runtime/kernels/fft/plan.h>
#include <relay/runtime/library_kernel.h>
#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>

namespace relay {
namespace {

template <class T>
void run(LibraryCall& call) {
  NDArray re = call.inputs[0].contiguous(), im = call.inputs[1].contiguous();
  int64_t n = re.extent(re.rank() - 1);
  if (re.size() == 0) return;
  fft::Parts<const T> from{re.data<T>(), im.data<T>()};
  fft::Parts<T> to{call.outputs[0].data<T>(), call.outputs[1].data<T>()};
  bool inverse = call.flag("inverse");
  if (inverse) {
    from = {from.i, from.r};
    to = to.swapped();
  }
  T factor = inverse ? static_cast<T>(1.0 / static_cast<double>(n)) : T{1};
  fft::transform<T>(&call, *fft::plan_for<T>(n), from, to, re.size() / n, factor);
}

void dft_kernel(LibraryCall& call) {
  const NDArray &re = call.inputs[0], &im = call.inputs[1];
  RELAY_CHECK(re.rank() > 0 && re.dtype() == im.dtype() && re.size() == im.size(),
              "arguments of a transform");
  if (re.dtype() == kFloat64) {
    run<double>(call);
  } else {
    run<float>(call);
  }
}

void dft_rule(const LibraryOperands& of) {
  const LibraryOperand& re = of.inputs[0];
  of.dtype(re, {kFloat32, kFloat64});
  of.want(!re.shape.empty(), "an axis to transform");
  for (const LibraryOperand* other : {&of.inputs[1], &of.outputs[0], &of.outputs[1]})
    of.same(*other, re);
}

RELAY_LIBRARY_RULE("dft", dft_rule);
RELAY_LIBRARY_KERNEL("dft", dft_kernel, {2, 2, {{"inverse", ParamKind::kFlag}}});

}  // namespace
}  // namespace relay
