// FlexibleShapeDispatch: a program for several sizes, chosen when it runs.
#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <vector>

#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/type_fields.h>
#include <relay/op/dyn/sizes.h>
#include <relay/support/error.h>
#include <relay/transform/entry.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

struct Flexible {
  std::vector<int64_t> buckets;  // increasing
  int64_t axis;
  bool auto_pad;
  double pad_value;
  std::vector<int64_t> inputs;  // empty: all
  bool affects_output;
};

std::vector<int64_t> integers(const PassOptions& options, const std::string& name, int64_t least) {
  std::vector<int64_t> numbers;
  for (const std::string& text : option<std::vector<std::string>>(options, name)) {
    int64_t number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < least)
      throw Error("option " + name + " takes integers from " + std::to_string(least) + " on, not " +
                  text);
    numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  if (std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end())
    throw Error("option " + name + " has a number twice");
  return numbers;
}

class Dispatcher {
 public:
  Dispatcher(const Module& module, Flexible options)
      : module_(module), options_(std::move(options)) {
    const Module::FunctionEntry& entry = entry_of(module);
    if (options_.buckets.empty()) throw Error("option buckets wants at least one extent");
    name_ = entry.name;
    main_ = entry.function;
    find_inputs();
  }

  Module run() {
    Module result = module_;
    std::vector<Name> sized;
    for (int64_t bucket : options_.buckets) sized.push_back(add(result, Dim(bucket)));
    const Name any = add(result, Dim::any());
    result.update_function(name_, make_function({}, make_tuple(std::vector<ExprRef>())));
    infer_types_or_throw(result);
    const auto* type = result.function(any)->type()->as<FuncType>();
    const TypeRef wanted(type->result());
    result.update_function(name_, choice(sized, any, wanted));
    infer_types_or_throw(result);
    return result;
  }

 private:
  void find_inputs() {
    const size_t count = main_->params().size();
    if (options_.inputs.empty()) {
      for (size_t i = 0; i < count; ++i) options_.inputs.push_back(static_cast<int64_t>(i));
    }
    if (options_.inputs.empty()) throw Error("@" + name_.str() + " has no inputs");
    for (int64_t input : options_.inputs) {
      if (input >= static_cast<int64_t>(count))
        throw Error("@" + name_.str() + " has " + std::to_string(count) +
                        " inputs, so it has no input " + std::to_string(input),
                    main_->span());
      const Var& param = *main_->params()[static_cast<size_t>(input)];
      const auto* tensor = param.type() == nullptr ? nullptr : param.type()->as<TensorType>();
      if (tensor == nullptr || !tensor->has_rank() || !tensor->has_dtype())
        throw Error("%" + param.name().str() + " is no tensor of a known rank", param.span());
      const auto rank = static_cast<int64_t>(tensor->dims().size());
      if (options_.axis >= rank || options_.axis < -rank)
        throw Error("%" + param.name().str() + " has " + std::to_string(rank) +
                        " axes, so it has no axis " + std::to_string(options_.axis),
                    param.span());
    }
  }
  bool is_flexible(size_t param) const {
    return std::find(options_.inputs.begin(), options_.inputs.end(), static_cast<int64_t>(param)) !=
           options_.inputs.end();
  }
  size_t axis_of(size_t rank) const {
    return static_cast<size_t>(options_.axis < 0 ? options_.axis + static_cast<int64_t>(rank)
                                                 : options_.axis);
  }
  // The type of a parameter with this extent.
  TypeRef sized(size_t param, const Dim& extent) const {
    const Var& var = *main_->params()[param];
    if (!is_flexible(param)) return var.annotation();
    const auto* tensor = var.type()->as<TensorType>();
    std::vector<Dim> dims(tensor->dims().begin(), tensor->dims().end());
    dims[axis_of(dims.size())] = extent;
    return TensorType::make(dims, tensor->dtype());
  }

  // A copy of the program for one extent. If the extent has a name, all types that mention it know.
  Name add(Module& module, const Dim& extent) {
    std::vector<const TypeVar*> symbols;
    for (int64_t input : options_.inputs) {
      const auto* tensor = main_->params()[static_cast<size_t>(input)]->type()->as<TensorType>();
      const Dim& dim = tensor->dims()[axis_of(tensor->dims().size())];
      if (const TypeVar* symbol = dim.as_symbol()) symbols.push_back(symbol);
    }
    auto renamed = [&](const TypeRef& type) {
      return substitute(type, [&](const TypeVar* var) -> TypeRef {
        const bool named = std::find(symbols.begin(), symbols.end(), var) != symbols.end();
        return named ? TypeRef(DimType::make(extent)) : TypeRef();
      });
    };
    std::unordered_map<const Var*, ExprRef> own;
    std::vector<VarRef> params;
    for (size_t i = 0; i < main_->params().size(); ++i) {
      const Var& param = *main_->params()[i];
      params.push_back(make_var(param.name(), sized(i, extent), param.span()));
      own[&param] = params.back();
    }
    std::vector<TypeVarRef> type_params = main_->type_params();
    std::erase_if(type_params, [&](const TypeVarRef& var) {
      return std::find(symbols.begin(), symbols.end(), var.get()) != symbols.end();
    });
    FunctionRef made = make_function(std::move(params), substitute(main_->body(), own), {},
                                     std::move(type_params), {}, main_->attrs(), main_->span());
    const std::string suffix = extent.is_any() ? "other" : extent.str();
    const Name name = module.fresh_name(name_.str() + "_" + suffix);
    ExprRef copy = copy_nodes(copy_with_fresh_vars(made, renamed));
    module.add_function(name, FunctionRef(copy->as<Function>()));
    return name;
  }

  // From the largest bucket down to the smallest, then the program for any size.
  FunctionRef choice(const std::vector<Name>& sized, const Name& any, const TypeRef& wanted) {
    params_.clear();
    for (size_t i = 0; i < main_->params().size(); ++i) {
      const Var& param = *main_->params()[i];
      params_.push_back(make_var(param.name(), this->sized(i, Dim::any()), param.span()));
    }
    const size_t first = static_cast<size_t>(options_.inputs[0]);
    VarRef size = make_var("size");
    std::vector<ExprRef> given(params_.begin(), params_.end());
    ExprRef code = make_call(make_global_var(any), given);
    for (size_t i = sized.size(); i-- > 0;) {
      const int64_t bucket = options_.buckets[i];
      ExprRef fits = options_.auto_pad ? size_at_most(size, bucket) : size_is(size, bucket);
      ExprRef run = options_.auto_pad ? padded(sized[i], bucket, size, wanted)
                                      : make_call(make_global_var(sized[i]), given);
      code = make_if(std::move(fits), std::move(run), std::move(code));
    }
    const auto axis = static_cast<int64_t>(axis_of(rank_of(first)));
    ExprRef extent = size_of(params_[first], axis);
    return make_function(params_, make_let(size, std::move(extent), std::move(code)), {}, {}, {},
                         main_->attrs(), main_->span());
  }
  size_t rank_of(size_t param) const {
    return main_->params()[param]->type()->as<TensorType>()->dims().size();
  }

  // The program for a bucket on inputs that are padded to it, its results cut to the size.
  ExprRef padded(const Name& function, int64_t bucket, const VarRef& size, const TypeRef& wanted) {
    std::vector<ExprRef> args;
    for (size_t i = 0; i < params_.size(); ++i) {
      if (!is_flexible(i)) {
        args.push_back(params_[i]);
        continue;
      }
      const size_t rank = rank_of(i);
      const DType dtype = main_->params()[i]->type()->as<TensorType>()->dtype();
      ExprRef full =
          padded_to(params_[i], static_cast<int64_t>(rank), static_cast<int64_t>(axis_of(rank)),
                    bucket, size, NDArray::scalar(kFloat64, options_.pad_value).cast(dtype));
      VarRef whole = make_var(params_[i]->name(), sized(i, Dim(bucket)));
      args.push_back(make_let(whole, std::move(full), whole));
    }
    ExprRef result = make_call(make_global_var(function), args);
    if (!options_.affects_output) return result;
    VarRef out = make_var("out");
    return make_let(out, std::move(result), cut(out, size, wanted));
  }

  ExprRef cut(const ExprRef& value, const VarRef& size, const TypeRef& wanted) {
    if (const auto* tuple = wanted->as<TupleType>()) {
      std::vector<ExprRef> fields;
      for (uint32_t i = 0; i < tuple->fields().size(); ++i)
        fields.push_back(cut(make_projection(value, i), size, tuple->fields()[i]));
      return make_tuple(fields);
    }
    const auto* tensor = wanted->as<TensorType>();
    if (tensor == nullptr || !tensor->has_rank()) return value;
    const auto rank = static_cast<int64_t>(tensor->dims().size());
    if (options_.axis >= rank || options_.axis < -rank) return value;
    const auto axis = axis_of(tensor->dims().size());
    VarRef part = make_var("part", wanted->closed() ? wanted : TypeRef());
    return make_let(part, cut_to(value, rank, static_cast<int64_t>(axis), size), part);
  }

  const Module& module_;
  Flexible options_;
  Name name_;
  FunctionRef main_;
  std::vector<VarRef> params_;  // of the function that chooses
};

RELAY_REGISTER_PASS({
    {"FlexibleShapeDispatch",
     0,
     {ProgramState::kTyped},
     "Makes a copy of the program for each of several extents of one axis, and one for any extent; "
     "the entry calls the copy that fits the size of its first input. With auto_pad the inputs are "
     "padded to the next larger extent, and results cut to the size.",
     {},
     false,
     PassInfo::Signature::kKept},
    {{"buckets", "The extents.", std::vector<std::string>{}, OptionEntries::kIntegers},
     {"axis", "The axis whose extent it is; negative ones count from the end.", int64_t{0}},
     {"auto_pad", "Pad inputs to the next larger extent.", false},
     {"pad_value", "The number to pad with.", 0.0},
     {"input_indices", "Numbers of the inputs that have the axis; all if none is given.",
      std::vector<std::string>{}, OptionEntries::kIntegers},
     {"affects_output", "Results have the axis, too, so that padding is cut off.", true}},
    [](const PassInfo& info, const PassOptions& options) {
      Flexible given{
          integers(options, "buckets", 1),       option<int64_t>(options, "axis"),
          option<bool>(options, "auto_pad"),     option<double>(options, "pad_value"),
          integers(options, "input_indices", 0), option<bool>(options, "affects_output")};
      return make_module_pass(info, [given](const Module& module, const PassContext&) {
        return Dispatcher(module, given).run();
      });
    },
});

}  // namespace
}  // namespace relay
