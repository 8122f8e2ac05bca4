// Functions that are not the compiler's own to compile: those with the attribute `Compiler`, and
// the code generators that such attributes name.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <relay/transform/pass_context.h>

namespace relay {

/// Makes code of a typed function that names the generator by `Compiler="name"`. `symbol` is the
/// function's attribute `global_symbol`, else its global name. Gives a function of the same type,
/// which is compiled in its place: it calls what the generator has made, such as an operator whose
/// kernel runs it. Throws `Error` for a function that it cannot take.
using CodeGenerator =
    std::function<FunctionRef(const FunctionRef& function, const std::string& symbol)>;

/// Names a code generator. Throws `Error` if the name is taken, unless `replace` says otherwise.
void register_code_generator(const std::string& name, std::string doc, CodeGenerator generate,
                             bool replace = false);
/// False if there is none of the name. A compilation that has begun goes on with it.
bool remove_code_generator(std::string_view name);
/// Names and documentation, by name.
std::vector<std::pair<std::string, std::string>> code_generators();

/// The code generator that a function names, if it names one.
std::optional<std::string> compiler_of(const Function& function);

/// A typed module with the code that generators make of the functions that name them, in their
/// place. Functions that name a generator that is not registered become ordinary ones, with a
/// warning in the context. Throws `Error`, with the generator and the function as a note, for what
/// a generator refuses and for code of another type.
Module generate_external_code(const Module& module, const PassContext& context);

/// The result of a function type on tensors of these types: names of dimensions that its parameters
/// (tuples flatten) have become the dimensions of the arguments, others become `?`.
TypeRef result_type_on(const FuncType& type, std::span<const TypeRef> tensors);

}  // namespace relay
