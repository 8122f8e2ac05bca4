// Any x86-64 or AArch64.
#define RELAY_FFT_BYTES 16
#include <relay/runtime/kernels/fft/passes.inc>

namespace relay::fft {

const Code<float>& code_baseline(float) { return code<float>(); }
const Code<double>& code_baseline(double) { return code<double>(); }

}  // namespace relay::fft
