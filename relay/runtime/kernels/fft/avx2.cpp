// AVX2 and FMA.
#if defined(__x86_64__)
#define RELAY_FFT_BYTES 32
#include <relay/runtime/kernels/fft/passes.inc>

namespace relay::fft {

const Code<float>& code_avx2(float) { return code<float>(); }
const Code<double>& code_avx2(double) { return code<double>(); }

}  // namespace relay::fft

#endif
