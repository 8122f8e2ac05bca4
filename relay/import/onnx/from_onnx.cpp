// Models of files and of bytes.
#include <filesystem>

#include <relay/import/onnx/importer.h>

namespace relay {

namespace {
OnnxModel import(onnx::Model model, const OnnxOptions& options) {
  onnx::CheckedModel checked(std::move(model), options.opset);
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
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  return import(onnx::read_model(onnx::Bytes::map(path), path, folder), options);
}

OnnxModel from_onnx(std::span<const std::byte> bytes, const OnnxOptions& options,
                    const std::string& name) {
  return import(onnx::read_model(onnx::Bytes::copy_of(bytes), name, ""), options);
}

bool is_onnx_path(std::string_view path) { return path.ends_with(".onnx"); }

}  // namespace relay
