// Models of files and of bytes.
#include <algorithm>

#include <relay/import/onnx/importer.h>

namespace relay {

namespace {
OnnxModel import(onnx::Model model, const OnnxOptions& options) {
  onnx::CheckedModel checked(std::move(model), options.opset, options.converters);
  // Each attempt but the last settles a name.
  for (onnx::DimNames names;;) {
    try {
      return onnx::Importer(checked, options, names).run();
    } catch (const onnx::ExtentsLearnt&) {
    }
  }
}
}  // namespace

OnnxModel from_onnx(const std::string& path, const OnnxOptions& options) {
  const size_t slash = path.rfind('/');
  std::string folder =
      slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
  return import(onnx::read_model(onnx::Bytes::map(path), path, folder), options);
}

OnnxModel from_onnx(std::span<const std::byte> bytes, const OnnxOptions& options,
                    const std::string& name) {
  return import(onnx::read_model(onnx::Bytes::copy_of(bytes), name, ""), options);
}

bool is_onnx_path(std::string_view path) { return path.ends_with(".onnx"); }

}  // namespace relay
