// Data types that stand for those of a program, with other fields.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include <relay/ir/module.h>

namespace relay {

/// The name, or with a number if it is taken.
Name free_name(const std::string& base, const std::function<bool(const Name&)>& taken);

/// Makes them in `target`, each once. Type parameters stay; names of types and constructors get
/// `suffix`, and a number where the name is taken.
class DerivedData {
 public:
  DerivedData(Module& target, std::string suffix) : target_(target), suffix_(std::move(suffix)) {}

  /// The name of the type with a constructor for each of `data`: `field` gives the type of the new
  /// constructor's fields. It may ask for `data` itself, and for other types that have it as a
  /// part.
  GlobalTypeVarRef type(const TypeDataRef& data,
                        const std::function<TypeRef(const Constructor&, size_t i)>& field);
  /// The one in the place of a constructor of a type that has been made.
  const ConstructorRef& constructor(const Constructor* old) const { return constructors_.at(old); }

 private:
  Module& target_;
  std::string suffix_;
  std::unordered_map<const Type*, GlobalTypeVarRef> types_;
  std::unordered_map<const Constructor*, ConstructorRef> constructors_;
};

}  // namespace relay
