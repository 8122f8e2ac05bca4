// Grids of coordinates.
#include <relay/op/op.h>
#include <relay/op/registry/columns.h>
#include <relay/op/shape/meshgrid_attrs.h>

namespace relay {
namespace {

using te::Indices;

// The place of input k among the result's axes.
size_t grid_axis(const MeshgridAttrs& attrs, size_t k) {
  return attrs.indexing == Indexing::kCartesian && k < 2 ? 1 - k : k;
}

TypeRef infer_meshgrid(const RelationCall& call) {
  std::vector<te::TensorInfo> inputs = call.tensors(0);
  const auto& attrs = call.attrs<MeshgridAttrs>();
  call.require(!inputs.empty(), "needs at least one tensor");
  std::vector<Dim> dims(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    // A lone "xy" input has no second axis to change places with.
    size_t axis = inputs.size() == 1 ? 0 : grid_axis(attrs, k);
    dims[axis] = inputs[k].rank() == 0 ? Dim(1) : inputs[k].dims[0];
  }
  TypeRef grid = TensorType::make(dims, inputs[0].dtype);
  return TupleType::make(std::vector<TypeRef>(inputs.size(), grid));
}

void compute_meshgrid(const OpCall& call, te::Builder& b) {
  const auto& attrs = call.attrs<MeshgridAttrs>();
  for (size_t k = 0; k < b.num_inputs(); ++k) {
    te::Tensor input = b.input(k);
    size_t axis = b.num_inputs() == 1 ? 0 : grid_axis(attrs, k);
    b.output(b.map(call.result(k).dims,
                   [&](Indices i) { return input.rank() == 0 ? input({}) : input({i[axis]}); }));
  }
}

RELAY_OP("meshgrid")
    .doc("Each vector spread over the grid of all: result k has vector k along its own axis.")
    .input("data", "Tuple of vectors or scalars of one dtype.", tuple_of(tensor('T').rank(0, 1)))
    .output("grids", "A tensor of all extents for each.", tuple_of(tensor('T')))
    .attrs<MeshgridAttrs>()
    .example("fn (%x: Tensor[(2), float32]) { meshgrid((%x, %x)) }", "[1, 2]")
    .relation(infer_meshgrid)
    .level(3)
    .compute(compute_meshgrid);

}  // namespace
}  // namespace relay
