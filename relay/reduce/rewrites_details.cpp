// Types, attributes, extents, dtypes and constants.
#include <map>
#include <set>

#include <relay/ir/visit.h>
#include <relay/reduce/rewrites.h>

namespace relay::reduce {

std::vector<Edit> drop_let_types(const Program& program) {
  std::vector<Edit> edits;
  for (const Program::Node& node : program.nodes) {
    const auto* let = node.expr->as<Let>();
    if (let == nullptr || !let->var()->annotation()) continue;
    edits.push_back([var = let->var().get()](Draft& draft) { draft.annotate(var, {}); });
  }
  return edits;
}

std::vector<Edit> drop_result_types(const Program& program) {
  std::vector<Edit> edits;
  for (const Program::Node& node : program.nodes) {
    const auto* function = node.expr->as<Function>();
    if (function == nullptr || !function->ret_type()) continue;
    edits.push_back([function](Draft& draft) { draft.drop_ret_type(function); });
  }
  return edits;
}

std::vector<Edit> drop_function_attrs(const Program& program) {
  std::vector<Edit> edits;
  for (const Program::Node& node : program.nodes) {
    const auto* function = node.expr->as<Function>();
    if (function == nullptr || !function->attrs()) continue;
    edits.push_back([function](Draft& draft) { draft.drop_function_attrs(function); });
  }
  return edits;
}

std::vector<Edit> drop_attrs(const Program& program) {
  std::vector<Edit> edits;
  for (const Program::Node& node : program.nodes) {
    const auto* call = node.expr->as<Call>();
    if (call == nullptr || !call->attrs()) continue;
    for (const NamedAttr& attr : call->attrs()->fields(true))
      edits.push_back([call, name = attr.name](Draft& draft) { draft.drop_attr(call, name); });
  }
  return edits;
}

namespace {

struct ParamOf {
  const Var* var;
  const TensorType* type;
};

// Parameters, of function literals too, that are annotated as tensors of known rank and dtype.
std::vector<ParamOf> tensor_params(const Program& program) {
  std::vector<ParamOf> result;
  for (const Program::Node& node : program.nodes) {
    const auto* function = node.expr->as<Function>();
    if (function == nullptr) continue;
    for (const VarRef& param : function->params()) {
      const auto* type = param->annotation() ? param->annotation()->as<TensorType>() : nullptr;
      if (type != nullptr && type->has_rank() && type->has_dtype())
        result.push_back({param.get(), type});
    }
  }
  return result;
}

}  // namespace

// Single axes of single parameters: an extent of one, and no such axis.
std::vector<Edit> shrink_params(const Program& program) {
  std::vector<Edit> edits;
  for (const ParamOf& param : tensor_params(program)) {
    for (size_t axis = 0; axis < param.type->dims().size(); ++axis) {
      std::vector<Dim> dims(param.type->dims().begin(), param.type->dims().end());
      if (dims[axis].is_int(1)) {
        dims.erase(dims.begin() + static_cast<ptrdiff_t>(axis));
      } else {
        dims[axis] = Dim(1);
      }
      edits.push_back([var = param.var, type = TensorType::make(dims, param.type->dtype())](
                          Draft& draft) { draft.annotate(var, type); });
    }
  }
  return edits;
}

// All tensors become numbers; all of one shape do.
std::vector<Edit> shrink_ranks(const Program& program) {
  std::map<std::string, std::vector<ParamOf>> by_shape;
  std::vector<ParamOf> all;
  for (const ParamOf& param : tensor_params(program)) {
    if (param.type->dims().empty()) continue;
    by_shape[param.type->shape()->str()].push_back(param);
    all.push_back(param);
  }
  std::vector<Edit> edits;
  auto add = [&](std::vector<ParamOf> params, size_t axes) {
    edits.push_back([params = std::move(params), axes](Draft& draft) {
      for (const ParamOf& param : params) {
        std::span<const Dim> dims = param.type->dims();
        dims = dims.last(std::min(axes, dims.size()));
        draft.annotate(param.var, TensorType::make(dims, param.type->dtype()));
      }
    });
  };
  for (size_t axes : {0, 1, 2}) {
    if (all.size() > 1 && by_shape.size() > 1) add(all, axes);
    for (const auto& [shape, params] : by_shape) {
      if (params.front().type->dims().size() > axes) add(params, axes);
    }
  }
  return edits;
}

namespace {

constexpr int64_t kMostExtent = int64_t{1} << 40;

void add_extents(const TypeRef& type, std::set<int64_t>& to) {
  if (!type) return;
  Mapping look;
  look.dim = [&](Dim dim) {
    if (dim.as_int() > 1 && dim.as_int() < kMostExtent) to.insert(dim.as_int());
    return dim;
  };
  map_type(type, look);
}

void add_dtypes(const TypeRef& type, std::set<std::string>& names, std::vector<DType>& to) {
  if (!type) return;
  Mapping look;
  look.dtype = [&](DType dtype) {
    if (names.insert(std::string(dtype.name())).second) to.push_back(dtype);
    return dtype;
  };
  map_type(type, look);
}

// Calls `visit` on every type that is written in the program.
template <class Visit>
void for_each_type(const Program& program, const Visit& visit) {
  for (const Program::Node& node : program.nodes) {
    if (const auto* function = node.expr->as<Function>()) {
      for (const VarRef& param : function->params()) visit(param->annotation());
      visit(function->ret_type());
    } else if (const auto* let = node.expr->as<Let>()) {
      visit(let->var()->annotation());
    } else if (const auto* call = node.expr->as<Call>()) {
      for (const TypeRef& arg : call->type_args()) visit(arg);
    }
  }
}

Edit mapping_dim(int64_t from, int64_t to) {
  return [from, to](Draft& draft) {
    Mapping mapping;
    mapping.dim = [from, to](Dim dim) { return dim.is_int(from) ? Dim(to) : dim; };
    draft.map(std::move(mapping));
  };
}

}  // namespace

// An extent is another one wherever it is written: in types, constants and attributes.
std::vector<Edit> shrink_extents(const Program& program) {
  std::set<int64_t> extents;
  for_each_type(program, [&](const TypeRef& type) { add_extents(type, extents); });
  for (const Program::Node& node : program.nodes) {
    if (const auto* constant = node.expr->as<Constant>()) {
      for (int64_t extent : constant->data().shape()) extents.insert(extent);
    }
    const auto* call = node.expr->as<Call>();
    if (call == nullptr || !call->attrs()) continue;
    for (const NamedAttr& attr : call->attrs()->fields(true)) {
      const auto* list = attr.value.get<AttrValue::List>();
      for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
        const auto* number = (*list)[i].get<int64_t>();
        if (number != nullptr) extents.insert(*number);
      }
    }
  }
  std::vector<Edit> edits;
  edits.push_back([](Draft& draft) {
    Mapping mapping;
    mapping.dim = [](Dim dim) { return dim.is_int() && dim.as_int() > 1 ? Dim(1) : dim; };
    draft.map(std::move(mapping));
  });
  // Large ones first.
  for (auto extent = extents.rbegin(); extent != extents.rend(); ++extent) {
    if (*extent >= kMostExtent) continue;
    for (int64_t to : {int64_t{1}, int64_t{2}, *extent / 2, *extent - 1}) {
      if (to >= 1 && to < *extent) edits.push_back(mapping_dim(*extent, to));
    }
  }
  return edits;
}

std::vector<Edit> simplify_dtypes(const Program& program) {
  std::set<std::string> names;
  std::vector<DType> dtypes;
  for_each_type(program, [&](const TypeRef& type) { add_dtypes(type, names, dtypes); });
  for (const Program::Node& node : program.nodes) {
    if (const auto* constant = node.expr->as<Constant>())
      add_dtypes(BaseType::make(constant->data().dtype()), names, dtypes);
  }
  auto mapping_to = [](DType to, std::function<bool(DType)> which) -> Edit {
    return [to, which = std::move(which)](Draft& draft) {
      Mapping mapping;
      mapping.dtype = [to, which](DType dtype) { return which(dtype) ? to : dtype; };
      draft.map(std::move(mapping));
    };
  };
  std::vector<Edit> edits;
  for (DType to : {DType(kFloat32), DType(kInt32)}) {
    edits.push_back(mapping_to(to, [](DType dtype) { return !dtype.is_bool(); }));
    for (DType from : dtypes) {
      if (from != to)
        edits.push_back(mapping_to(to, [from](DType dtype) { return dtype == from; }));
    }
  }
  return edits;
}

// A dimension name is a number, another type parameter the plainest type.
std::vector<Edit> decide_type_params(const Program& program) {
  std::vector<Edit> edits;
  for (const Program::Node& node : program.nodes) {
    const auto* function = node.expr->as<Function>();
    if (function == nullptr) continue;
    for (const TypeVarRef& var : function->type_params()) {
      auto add = [&](TypeRef to) {
        edits.push_back([var, to = std::move(to)](Draft& draft) {
          Mapping mapping;
          mapping.var = [var, to](const TypeVar* other) {
            return other == var.get() ? to : TypeRef();
          };
          draft.map(std::move(mapping));
        });
      };
      if (var->kind() == Kind::kShapeVar) {
        add(DimType::make(Dim(1)));
        add(DimType::make(Dim(2)));
      } else if (var->kind() == Kind::kType) {
        add(TensorType::scalar(kFloat32));
      } else if (var->kind() == Kind::kShape) {
        add(ShapeType::make({}));
      } else if (var->kind() == Kind::kBaseType) {
        add(BaseType::make(kFloat32));
      }
    }
  }
  return edits;
}

// The first element of a constant, or as many as one row.
std::vector<Edit> shrink_constants(const Program& program) {
  std::vector<Edit> edits;
  for (const Program::Node& node : program.nodes) {
    const auto* constant = node.expr->as<Constant>();
    if (constant == nullptr || constant->data().rank() == 0) continue;
    edits.push_back([constant](Draft& draft) {
      const NDArray& data = constant->data();
      draft.replace(constant, make_constant(fitted(data, ShapeView(), data.dtype())));
    });
  }
  return edits;
}

template <int kValue>
std::vector<Edit> simplify_numbers(const Program& program) {
  std::vector<Edit> edits;
  for (const Module::FunctionEntry& entry : program.module.functions()) {
    post_order(entry.function.get(), [&](const Expr* expr) {
      if (const auto* constant = expr->as<Constant>()) {
        const NDArray& data = constant->data();
        NDArray value = NDArray::uniform(NDArray::scalar_int(data.dtype(), kValue), data.shape());
        if (bit_equal(value, data)) return;
        edits.push_back(
            [expr, by = make_constant(data.rank() == 0 ? NDArray::scalar_int(data.dtype(), kValue)
                                                       : value)](Draft& draft) {
              draft.replace(expr, by);
            });
      } else if (const auto* literal = expr->as<Literal>()) {
        LiteralValue value = literal->value();
        value.negative = false;
        value.magnitude = value.is_float ? 0 : kValue;
        value.number = value.is_float ? kValue : 0;
        value.text = value.is_float ? (kValue == 0 ? "0.0" : "1.0") : (kValue == 0 ? "0" : "1");
        if (value == literal->value()) return;
        edits.push_back(
            [expr, by = make_literal(value)](Draft& draft) { draft.replace(expr, by); });
      }
    });
  }
  return edits;
}
template std::vector<Edit> simplify_numbers<0>(const Program&);
template std::vector<Edit> simplify_numbers<1>(const Program&);

}  // namespace relay::reduce
