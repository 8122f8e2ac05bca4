// An operator from outside of Relay's tree: compiled by itself, loaded with `relay --plugin`.
//
//   c++ -std=c++20 -O2 -fPIC -shared -I RELAY examples/plugin/cube.cpp -o cube.so
//   relay run --plugin ./cube.so program.rly --arg '[1, 2, 3]'
#include <relay/op/registry/plugin.h>

using namespace relay;

namespace {

struct CubeAttrs {
  double scale = 1;
  RELAY_ATTRS(CubeAttrs, (scale, "Factor of the result."))
};

void compute_cube(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  double scale = call.attrs<CubeAttrs>().scale;
  b.output(b.map(call.result().dims, [&](te::Indices i) {
    te::Scalar x = data(i);
    return x * x * x * scale;
  }));
}

}  // namespace

RELAY_PLUGIN() {
  declare_op("example.cube")
      .doc("scale times the third power of each element.")
      .input("data", "Tensor of floats of any shape.", tensor('T', kFloats))
      .output("result", "Tensor of the data's shape.", tensor('T'))
      .attrs<CubeAttrs>()
      .example("fn (%x: Tensor[(3), float32]) { example.cube(%x) }", "[1, 2, 3]")
      .no_data("an example")
      .relation(identity_relation())
      .compute(compute_cube);
}
