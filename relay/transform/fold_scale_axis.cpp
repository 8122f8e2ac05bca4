// FoldScaleAxis: factors on the results and inputs of convolutions and products go into weights.
#include <relay/transform/pass.h>

namespace relay {
namespace {

RELAY_REGISTER_PASS({
    {"FoldScaleAxis",
     0,
     {},
     "BackwardFoldScaleAxis, ForwardFoldScaleAxis and FoldConstant, as far as the level goes."},
    {{"constants", "Only constant factors, into constant weights.", false}},
    [](const PassInfo& info, const PassOptions& options) {
      PassOptions constants{{"constants", options.at("constants")}};
      return make_sequential(
          {create_pass("BackwardFoldScaleAxis", constants),
           create_pass("ForwardFoldScaleAxis", constants), create_pass("FoldConstant")},
          info.name.str(), info.opt_level);
    },
});

}  // namespace
}  // namespace relay
