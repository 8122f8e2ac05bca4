// ChangeBatch: inputs with another extent along one axis.
#include <charconv>
#include <limits>
#include <map>

#include <relay/ir/rewrite.h>
#include <relay/support/error.h>
#include <relay/transform/entry.h>
#include <relay/transform/pass.h>
#include <relay/transform/program.h>

namespace relay {
namespace {

using BatchAxes = std::map<std::string, int64_t>;  // of parameters by name

// From entries `NAME: AXIS`, what a dictionary of options becomes.
BatchAxes batch_axes(const PassOptions& options) {
  BatchAxes result;
  for (const std::string& text : option<std::vector<std::string>>(options, "data")) {
    const size_t colon = text.rfind(": ");
    int64_t axis = 0;
    const char* end = text.data() + text.size();
    const bool number =
        colon != std::string::npos &&
        std::from_chars(text.data() + colon + 2, end, axis) == std::from_chars_result{end, {}};
    if (!number) throw Error("option data has entries NAME: AXIS, not " + text);
    result[text.substr(0, colon)] = axis;
  }
  return result;
}

VarRef with_extent(const Var& param, int64_t axis, int64_t extent) {
  const auto* tensor = param.annotation() ? param.annotation()->as<TensorType>() : nullptr;
  if (tensor == nullptr || !tensor->has_rank())
    throw Error("%" + param.name().str() + " is not annotated as a tensor of a known rank",
                param.span());
  std::vector<Dim> dims(tensor->dims().begin(), tensor->dims().end());
  const auto rank = static_cast<int64_t>(dims.size());
  if (axis < -rank || axis >= rank) {
    throw Error("%" + param.name().str() + " has " + std::to_string(rank) +
                    " axes, so it has no axis " + std::to_string(axis),
                param.span());
  }
  dims[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = Dim(extent);
  return make_var(param.name(), TensorType::make(ShapeType::make(dims), tensor->dtype_type()),
                  param.span());
}

FunctionRef change_batch(const FunctionRef& function, const BatchAxes& axes, int64_t extent) {
  std::unordered_map<const Var*, ExprRef> replaced;
  std::vector<VarRef> params = function->params();
  for (VarRef& param : params) {
    auto axis = axes.find(param->name().str());
    if (axis == axes.end()) continue;
    VarRef made = with_extent(*param, axis->second, extent);
    replaced[param.get()] = made;
    param = std::move(made);
  }
  if (replaced.empty()) return function;
  // Types that it states for its result and inside are of the old extent; inference finds them.
  return make_function(std::move(params), substitute(function->body(), replaced), {},
                       function->type_params(), {}, function->attrs(), function->span());
}

RELAY_REGISTER_PASS({
    {"ChangeBatch",
     1,
     {},
     "Gives parameters of the entry, mostly inputs, another extent along one axis: another size of "
     "the batch. Annotations of other variables and attributes that have the extent stay. Name "
     "parameters whose extents have to agree in one call: an ill-typed result is an error.",
     {},
     false,
     PassInfo::Signature::kOther,
     PassInfo::ResultOf::kOptions},
    {{"data", "The axis of each, by name: a dictionary, or entries `NAME: AXIS`.",
      std::vector<std::string>{}, OptionEntries::kIntegerByName},
     {"batch_size", "The extent.", int64_t{16}}},
    [](const PassInfo& info, const PassOptions& options) {
      const auto extent = option<int64_t>(options, "batch_size");
      if (extent < 1) throw Error("option batch_size of pass ChangeBatch is at least 1");
      if (extent > std::numeric_limits<int32_t>::max())
        throw Error("option batch_size of pass ChangeBatch is at most 2147483647");
      return make_prepared_function_pass(
          info, [given = batch_axes(options), extent](const Module& module, const PassContext&) {
            return [entry = entry_of(module), &given, extent](const FunctionRef& function) {
              if (entry.function != function) return function;
              for (const auto& [name, axis] : given) find_parameter(*function, entry.name, name);
              return change_batch(function, given, extent);
            };
          });
    },
});

}  // namespace
}  // namespace relay
