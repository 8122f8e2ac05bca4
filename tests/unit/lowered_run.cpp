#include <tests/unit/lowered_run.h>

#include <limits>

#include <relay/runtime/library_kernel.h>
#include <relay/tensor_expr/evaluate.h>

namespace relay::testing {

NDArray garbage(const Shape& shape, DType dtype) {
  NDArray array = NDArray::empty(shape, dtype);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < array.size(); ++i) {
      if constexpr (std::is_integral_v<T> || std::is_same_v<T, Bool>) {
        array.data<T>()[i] = convert_element<T>(int64_t{-99});
      } else {
        array.data<T>()[i] = convert_element<T>(std::numeric_limits<double>::quiet_NaN());
      }
    }
  });
  return array;
}

LoweredRun::LoweredRun(const lower::Lowered& lowered, std::vector<NDArray> inputs,
                       SymbolValues symbols)
    : lowered_(lowered),
      inputs_(std::move(inputs)),
      symbols_(std::move(symbols)),
      places_(lowered.places.size()) {
  for (size_t k = 0; k < lowered_.num_inputs; ++k) places_[k] = inputs_[k];
}

int64_t LoweredRun::dim(Dim dim) const { return te::evaluate_dim(dim, inputs_, symbols_); }

Shape LoweredRun::shape(const std::vector<Dim>& dims) const {
  Shape shape;
  for (Dim each : dims) shape.push_back(dim(each));
  return shape;
}

NDArray LoweredRun::place(int32_t k) {
  std::optional<NDArray>& array = places_[static_cast<size_t>(k)];
  if (array) return *array;
  const lower::Place& p = lowered_.places[static_cast<size_t>(k)];
  auto counted = [](Dim each) { return each.is_any(); };
  if (std::any_of(p.info.dims.begin(), p.info.dims.end(), counted)) return {};
  Shape extents = shape(p.info.dims);
  array = p.alias >= 0 ? place(p.alias).reshape(extents) : garbage(extents, p.info.dtype);
  return *array;
}

void LoweredRun::run_library(const lower::LibraryLaunch& launch) {
  std::vector<NDArray> in, out;
  for (int32_t k : launch.inputs) in.push_back(place(k));
  for (int32_t k : launch.outputs) out.push_back(place(k));
  struct Host final : LibraryHost {
    NDArray make(size_t output, std::span<const int64_t> counts) override {
      const te::TensorInfo& info =
          run.lowered_.places[static_cast<size_t>(launch.outputs[output])].info;
      Shape extents;
      for (Dim each : info.dims) {
        extents.push_back(each.is_any() ? counts[0] : run.dim(each));
        if (each.is_any()) counts = counts.subspan(1);
      }
      return NDArray::empty(extents, info.dtype);
    }
    Host(const LoweredRun& run, const lower::LibraryLaunch& launch) : run(run), launch(launch) {}
    const LoweredRun& run;
    const lower::LibraryLaunch& launch;
  } host(*this, launch);
  LibraryCall call(in, launch.params, out, host);
  find_library_kernel(launch.name)->run(call);
  for (size_t k = 0; k < out.size(); ++k) places_[static_cast<size_t>(launch.outputs[k])] = out[k];
}

std::vector<NDArray> LoweredRun::results() {
  std::vector<NDArray> results;
  for (int32_t k : lowered_.outputs) results.push_back(place(k));
  return results;
}

}  // namespace relay::testing
