#include <relay/infer/check/kind_check.h>

#include <relay/ir/type_fields.h>

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
    if (const auto* call = type->as<TypeCall>()) {
      check_call(call);
    } else if (const auto* data = type->as<TypeData>()) {
      check_data(data);
    } else if (const auto* tensor = type->as<TensorType>()) {
      expect(tensor->shape(), Kind::kShape);
      expect(tensor->dtype_type(), Kind::kBaseType);
    } else {
      for_each_dim(type.get(), [&](Dim dim) { check_dim(dim); });
      for_each_part(*type, [&](const Type* part) {
        if (type->is<RelationType>() || part->is<RelationType>()) {
          check(TypeRef(part));
        } else {
          expect(TypeRef(part), Kind::kType);
        }
      });
    }
    return type->kind();
  }

 private:
  void error(std::string message) {
    sink_.add(Diagnostic::error(std::move(message), span_).of_rule("N5"));
  }

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
      diagnostic.of_rule("N5");
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
        if (input->has_incomplete()) {
          error("constructor " + constructor->name().str() + " has a field of type " +
                input->str() + ", which leaves a part open");
        }
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
