#include <relay/infer/kind_check.h>

namespace relay {
namespace {

// Types are at most Type::kMaxDepth deep, so this may recurse.
class KindChecker {
 public:
  KindChecker(const Module& module, DiagnosticSink& sink, Span span)
      : module_(module), sink_(sink), span_(span) {}

  void expect(const TypeRef& type, Kind wanted) {
    Kind found = check(type);
    if (found == wanted) return;
    error(type->str() + " has kind " + std::string(kind_name(found)) + " where " +
          std::string(kind_name(wanted)) + " is needed");
  }

  Kind check(const TypeRef& type) {
    switch (type->tag()) {
      case TypeTag::kTensor:
        expect(type->as<TensorType>()->shape(), Kind::kShape);
        expect(type->as<TensorType>()->dtype_type(), Kind::kBaseType);
        break;
      case TypeTag::kShape:
        for (Dim d : type->as<ShapeType>()->dims()) check_dim(d);
        break;
      case TypeTag::kDim:
        check_dim(type->as<DimType>()->dim());
        break;
      case TypeTag::kTuple:
        for (const TypeRef& field : type->as<TupleType>()->fields()) expect(field, Kind::kType);
        break;
      case TypeTag::kFunc: {
        const auto* func = type->as<FuncType>();
        for (const TypeRef& param : func->params()) expect(param, Kind::kType);
        expect(func->result(), Kind::kType);
        for (const RelationTypeRef& relation : func->constraints()) check(relation);
        break;
      }
      case TypeTag::kCall:
        check_call(type->as<TypeCall>());
        break;
      case TypeTag::kRef:
        expect(type->as<RefType>()->value(), Kind::kType);
        break;
      case TypeTag::kRelation:
        for (const TypeRef& arg : type->as<RelationType>()->args()) check(arg);
        break;
      case TypeTag::kData:
        check_data(type->as<TypeData>());
        break;
      case TypeTag::kBase:
      case TypeTag::kVar:
      case TypeTag::kGlobalVar:
      case TypeTag::kIncomplete:
        break;
    }
    return type->kind();
  }

 private:
  void error(std::string message) { sink_.add(Diagnostic::error(std::move(message), span_)); }

  void check_dim(Dim dim) {
    if (dim.is_int() && dim.as_int() < 0) error("dimension " + dim.str() + " is negative");
    if (!dim.has_symbol()) return;
    for_each_atom(dim, [&](Dim atom) {
      const TypeVar* symbol = atom.as_symbol();
      if (symbol != nullptr && symbol->kind() != Kind::kShapeVar) {
        error(symbol->name().str() + " has kind " + std::string(kind_name(symbol->kind())) +
              " where ShapeVar is needed");
      }
    });
  }

  void check_call(const TypeCall* call) {
    const auto* name = call->callee()->as<GlobalTypeVar>();
    if (name == nullptr) {
      error(call->callee()->str() + " has kind " + std::string(kind_name(call->callee()->kind())) +
            " where AdtHandle is needed: only a data type takes arguments");
      return;
    }
    const TypeData* data = module_.type_data(name);
    if (data == nullptr) {
      error("unknown type " + name->name().str());
      return;
    }
    size_t wanted = data->type_vars().size();
    if (call->args().size() != wanted) {
      Diagnostic diagnostic =
          Diagnostic::error("type " + name->name().str() + " takes " + std::to_string(wanted) +
                                (wanted == 1 ? " argument" : " arguments") + ", found " +
                                std::to_string(call->args().size()),
                            span_);
      if (data->span().known()) diagnostic.note("defined here", data->span());
      sink_.add(std::move(diagnostic));
      return;
    }
    for (size_t i = 0; i < wanted; ++i) expect(call->args()[i], data->type_vars()[i]->kind());
  }

  void check_data(const TypeData* data) {
    for (const ConstructorRef& constructor : data->constructors()) {
      for (const TypeRef& input : constructor->inputs()) {
        expect(input, Kind::kType);
        for (const TypeVarRef& var : free_type_vars(input)) {
          bool declared = false;
          for (const TypeVarRef& own : data->type_vars()) declared |= own == var;
          if (!declared) {
            error("constructor " + constructor->name().str() + " uses the type variable " +
                  var->name().str() + ", which " + data->name()->name().str() +
                  " does not declare");
          }
        }
      }
    }
  }

  const Module& module_;
  DiagnosticSink& sink_;
  Span span_;
};

}  // namespace

Kind check_kind(const TypeRef& type, const Module& module, DiagnosticSink& sink, Span span) {
  return KindChecker(module, sink, span).check(type);
}

namespace inference {

void check_annotation(const TypeRef& type, const Module& module, DiagnosticSink& sink, Span span) {
  KindChecker(module, sink, span).expect(type, Kind::kType);
}

}  // namespace inference
}  // namespace relay
