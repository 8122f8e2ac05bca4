#include <relay/support/diagnostic_rules.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace relay {

namespace {

// Rules of the text: S of syntax, N of names, G of graphs, A of calls.
constexpr DiagnosticRule kTextRules[] = {
    {"S1", "The text follows the grammar",
     "A program is a list of definitions `def @name(parameters) { body }`, or an expression. A "
     "body "
     "is bindings and then one expression, which is its value. The grammar is part 1 of the "
     "language's reference.",
     "def @main(%x: int32) { let %y = %x + 1 %y }\n",
     "def @main(%x: int32) { let %y = %x + 1; %y }\n", "S1"},
    {"S2", "Names, numbers and texts are spelled in one way",
     "A word has letters, digits and _ between dots. A local name begins with %, a global one with "
     "@; other characters stand in a name in quotes: %\"layer-1\". Text stands in double quotes.",
     "def @main(%x: float32) { cast(%x, dtype='int32') }\n",
     "def @main(%x: float32) { cast(%x, dtype=\"int32\") }\n", "S2"},
    {"S3", "Ways of other languages have other words here",
     "The error says what to write: True and False, fn for a function, let for a name, if with "
     "both "
     "branches, a function that calls itself for a loop, operators instead of methods and [ ].",
     "def @main(%x: Tensor[(3), float32]) { %x[0] }\n",
     "def @main(%x: Tensor[(3), float32]) { take(%x, 0, axis=0) }\n", "S3"},
    {"S4", "Parentheses and blocks nest at most 1000 deep",
     "Chains of bindings may be as long as you like. Bind a value by `let` or `%n = …` where an "
     "expression nests deeper.",
     "", "", "S4"},
    {"N1", "A local name is bound before it is used",
     "A parameter, `let %x = …;`, `%x = …` or a pattern binds a name, from there to the end of its "
     "block.",
     "def @main(%x: int32) { let %z = %x + %y; let %y = 1; %z }\n",
     "def @main(%x: int32) { let %y = 1; let %z = %x + %y; %z }\n", "N1"},
    {"N2", "A global function is defined",
     "`def @f` defines it, before or after its use, or a file that is imported.",
     "def @main(%x: int32) { @f(%x) }\n",
     "def @f(%x: int32) { %x + 1 }\ndef @main(%x: int32) { @f(%x) }\n", "N2"},
    {"N3", "A word that is called is an operator or a constructor",
     "`relay ops` lists the operators. A function is called by its name with @, a function value "
     "by "
     "its name with %. Names of PyTorch, NumPy, JAX and ONNX are known: the error says what the "
     "operator is called here.",
     "def @main(%x: Tensor[(2), float32]) { unsqueeze(%x, axis=0) }\n",
     "def @main(%x: Tensor[(2), float32]) { expand_dims(%x, axis=0) }\n", "N3"},
    {"N4", "A name is defined once",
     "Functions, data types, constructors, parameters and attributes of a call each have a name of "
     "their own.",
     "def @f() { 1 }\ndef @f() { 2 }\ndef @main() { @f() }\n",
     "def @f() { 1 }\ndef @g() { 2 }\ndef @main() { @f() + @g() }\n", "N4"},
    {"N5", "A type is one that exists",
     "Types are Tensor[(2, n), float32], an element type alone for a number, tuples (S, T), "
     "functions fn (S) -> T, ref(T), and data types that the program defines or imports.",
     "def @main(%x: Tensor[(3), f32]) { %x }\n", "def @main(%x: Tensor[(3), float32]) { %x }\n",
     "N5"},
    {"G1", "A graph name is bound once in a block and used in its scope",
     "`%n = e` names a node of the graph, from there to the end of the definition. The names in "
     "the "
     "node must be in scope where it is used.",
     "def @main(%x: int32) { %1 = %x + 1; %1 = %x + 2; %1 }\n",
     "def @main(%x: int32) { %1 = %x + 1; %2 = %1 + 2; %2 }\n", "G1"},
    {"A1", "A call has as many arguments as the callee has parameters",
     "`relay ops NAME` says what an operator takes. An operator of several tensors of any number "
     "takes one tuple.",
     "def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) { concatenate(%x, %y, axis=0) "
     "}\n",
     "def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) { concatenate((%x, %y), "
     "axis=0) "
     "}\n",
     "A1"},
    {"A2", "An attribute is one that the operator has",
     "`relay ops NAME` lists them. Keywords of other libraries are known: the error says what the "
     "attribute is called here.",
     "def @main(%x: Tensor[(2, 3), float32]) { sum(%x, dim=1) }\n",
     "def @main(%x: Tensor[(2, 3), float32]) { sum(%x, axis=1) }\n", "A2"},
    {"A3", "An attribute without a default is given", "`relay ops NAME` says which these are.",
     "def @main(%x: Tensor[(2, 3), float32]) { reshape(%x) }\n",
     "def @main(%x: Tensor[(2, 3), float32]) { reshape(%x, newshape=[6]) }\n", "A3"},
    {"A4", "An attribute has a value of its type",
     "`relay ops NAME` says which values an attribute takes.",
     "def @main(%x: Tensor[(2, 3), float32]) { reshape(%x, newshape=\"6\") }\n",
     "def @main(%x: Tensor[(2, 3), float32]) { reshape(%x, newshape=[6]) }\n", "A4"},
};

// T1 to T17 of the reference, and what is typed without a number there: `if` and `match`.
constexpr DiagnosticRule kTypeRules[] = {
    {"T1", "Two types that have to be equal are equal",
     "Types are compared part by part. The error shows the expected and the found type, and the "
     "places that decided them. No type contains itself.",
     "def @f(%x: Tensor[(2), float32]) { %x }\n"
     "def @main(%x: Tensor[(3), float32]) { @f(%x) }\n",
     "def @f(%x: Tensor[(3), float32]) { %x }\n"
     "def @main(%x: Tensor[(3), float32]) { @f(%x) }\n",
     "T1"},
    {"T2", "An operator takes the types that it is called with",
     "Each operator has a relation between the types of its inputs, its attributes and the type of "
     "its result. The error names the shapes or dtypes that do not go together.",
     "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(4), float32]) { add(%x, %y) }\n",
     "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]) { add(%x, %y) }\n", "T2"},
    {"T3", "Inference adds only what holds in every solution",
     "Elementwise operators have one dtype for all inputs; extents of 1 and missing ones "
     "broadcast. "
     "Nothing is converted by itself: cast does that.",
     "def @main(%x: Tensor[(2), float32], %y: Tensor[(2), int32]) { add(%x, %y) }\n",
     "def @main(%x: Tensor[(2), float32], %y: Tensor[(2), int32]) { add(%x, cast(%y, "
     "dtype=\"float32\")) }\n",
     "T2"},
    {"T4", "A number fits the dtype that its context gives it",
     "A number without a suffix takes the dtype of what it is used with; one with a point takes "
     "floats only. bool is no number.",
     "def @main(%x: int8) { %x + 300 }\n", "def @main(%x: int16) { %x + 300 }\n", "T4"},
    {"T5", "Functions are polymorphic, other values are not",
     "A function that let or def binds can be used at several types. Another value has one type.",
     "def @main() { let %c = 1; (%c + 1i64, %c + 1f) }\n",
     "def @main() { let %c = fn () { 1 }; (%c() + 1i64, %c() + 1f) }\n", "T2"},
    {"T6", "A function is checked, used or not",
     "A function keeps the demands of its body as constraints on its parameters. If they "
     "contradict "
     "each other it is wrong, whatever it is called with.",
     "def @f(%x) { add(%x, (1, 2)) }\ndef @main() { 1 }\n",
     "def @f(%x) { add(%x, (1, 2).0) }\ndef @main() { 1 }\n", "T2"},
    {"T7", "The types of a call are determined",
     "If neither the arguments nor the result of a call decide a type that the function's body "
     "needs, an annotation has to.",
     "def @f(%x) { let %r = ref(fn (%y) { reshape(%y, newshape=[2]) }); %x }\n"
     "def @main() { @f(1) }\n",
     "def @f(%x) { let %r = ref(fn (%y: Tensor[(1, 2), float32]) { reshape(%y, newshape=[2]) }); "
     "%x "
     "}\n"
     "def @main() { @f(1) }\n",
     "T7"},
    {"T8", "Numbers that nothing decides have a default",
     "float32 for a number with a point, int32 for others, int64 if it is large. A demand for "
     "floats decides nothing.",
     "def @main() { exp(1) }\n", "def @main() { exp(1.0) }\n", "T2"},
    {"T9", "The type of a function has at most 256 constraints",
     "Annotate the parameters of a larger function.", "", "", "T9"},
    {"T10", "A declared type parameter stands for every type",
     "The body of a function with a type parameter must be right for all types that callers "
     "choose; "
     "demands on it stand in a where.",
     "def @f<A>(%x: A) -> A { 1 }\ndef @main() { @f(2) }\n",
     "def @f<A>(%x: A) -> A { %x }\ndef @main() { @f(2) }\n", "T10"},
    {"T11", "A parameter has one type",
     "A polymorphic function that is an argument has one type inside the function that gets it.",
     "def @f(%g: fn<A>(A) -> A) { %g(1) }\ndef @main() { 1 }\n",
     "def @f(%g: fn(int32) -> int32) { %g(1) }\ndef @main() { 1 }\n", "T11"},
    {"T12", "A function that calls itself has one type in its own body",
     "If it calls itself at other types, annotate all of its parameters and its result.",
     "def @f(%x) { let %y = @f((%x, %x)); %x }\ndef @main() { @f(1) }\n",
     "def @f<A>(%x: A) -> A { let %y = @f((%x, %x)); %x }\ndef @main() { 1 }\n", "T1"},
    {"T13", "Dimension names of parameters belong to the caller",
     "In the body of a function a name such as n stands for every number. If the body needs a "
     "certain number, write it in the type of the parameter.",
     "def @main(%x: Tensor[(2, n), float32], %w: Tensor[(4, 5), float32]) { nn.matmul(%x, %w) }\n",
     "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(4, 5), float32]) { nn.matmul(%x, %w) }\n",
     "T13"},
    {"T14", "Equations between dimensions have a solution",
     "A call gives each dimension name a value. 2 * n cannot be 5, and n + m is not 2 where n is "
     "3.",
     "def @f(%x: Tensor[(2 * n), float32]) { %x }\ndef @main(%x: Tensor[(5), float32]) { @f(%x) "
     "}\n",
     "def @f(%x: Tensor[(2 * n), float32]) { %x }\ndef @main(%x: Tensor[(6), float32]) { @f(%x) "
     "}\n",
     "T14"},
    {"T15", "? is a dimension that is known when the program runs",
     "Used as a number it is checked then. Two different numbers never become ? by themselves.",
     "def @main(%c: bool) {\n  if (%c) { zeros(shape=[4], dtype=\"float32\") } else { "
     "zeros(shape=[5], dtype=\"float32\") }\n}\n",
     "def @main(%c: bool) {\n  if (%c) { zeros(shape=[4], dtype=\"float32\") } else { "
     "zeros(shape=[4], dtype=\"float32\") }\n}\n",
     "T1"},
    {"T16", "Specialisation comes to an end",
     "A function is compiled once for each set of types that its code depends on. One that calls "
     "itself at ever new types has no end.",
     "def @f<s: Shape>(%x: Tensor[s, float32], %n: int32) -> int32 {\n"
     "  if (%n == 0) { 0 } else { @f(stack((%x, %x), axis=0), %n - 1) }\n}\n"
     "def @main() { @f(1f, 3) }\n",
     "def @f(%x: Tensor[(?), float32], %n: int32) -> int32 {\n"
     "  if (%n == 0) { 0 } else { @f(concatenate((%x, %x), axis=0), %n - 1) }\n}\n"
     "def @main() { @f(zeros(shape=[1], dtype=\"float32\"), 3) }\n",
     "T16"},
    {"T17", "A run decides all types of the entry",
     "The arguments of the entry function, and defaults of numbers, decide its types.",
     "def @main(%x: fn (int32) -> int32) { %x(1) }\n", "def @main(%x: int32) { %x + 1 }\n", "V1",
     true},
    {"I1", "if takes one bool",
     "An if chooses once for the whole value. where(condition, a, b) chooses for each element.",
     "def @main(%x: Tensor[(3), bool]) { if (%x) { 1 } else { 2 } }\n",
     "def @main(%x: Tensor[(3), bool]) { if (all(%x)) { 1 } else { 2 } }\n", "I1"},
    {"M1", "A match covers all values",
     "The error shows values that no clause takes. match? may leave some out; it fails when it "
     "meets one.",
     "type Color { Red, Green, }\ndef @main(%c: Color) { match (%c) { Red => 1 } }\n",
     "type Color { Red, Green, }\ndef @main(%c: Color) { match (%c) { Red => 1, Green => 2 } }\n",
     "M1"},
    {"M2", "A clause of a match can run",
     "The clauses before it take all values that it would take. This is a warning.",
     "type Color { Red, Green, }\ndef @main(%c: Color) { match (%c) { _ => 1, Green => 2 } }\n",
     "type Color { Red, Green, }\ndef @main(%c: Color) { match (%c) { Green => 2, _ => 1 } }\n",
     "M2"},
};

// Devices, the shape of the IR, runs and what they are given.
constexpr DiagnosticRule kOtherRules[] = {
    {"D2", "A value is on one device",
     "The inputs and results of an operator are on one device; device_copy moves a tensor.",
     "def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {\n"
     "  let %a = device_copy(%x, src_virtual_device=\"cpu(0)\", dst_virtual_device=\"cpu(1)\");\n"
     "  let %b = device_copy(%y, src_virtual_device=\"cpu(0)\", dst_virtual_device=\"cpu(2)\");\n"
     "  %a + %b\n}\n",
     "def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {\n"
     "  let %a = device_copy(%x, src_virtual_device=\"cpu(0)\", dst_virtual_device=\"cpu(1)\");\n"
     "  let %b = device_copy(%y, src_virtual_device=\"cpu(0)\", dst_virtual_device=\"cpu(1)\");\n"
     "  %a + %b\n}\n",
     "D2"},
    {"E4", "An expression with an effect has one place",
     "A program that a person writes obeys this by itself. A pass or a script that shares a node "
     "with an effect, or uses a variable out of its scope, does not.",
     "", "", "E4"},
    {"R1", "A run can fail where types say nothing",
     "A match? without a fitting clause, an integer division by zero, an index out of range, a "
     "shape that is known only at run time. The error has the place and the calls that led there.",
     "def @main() { 1 / 0 }\n", "def @main() { 1 / 1 }\n", "R1", true},
    {"V1", "A command gets what it needs",
     "Files that can be read, an argument for each parameter, of its type.",
     "def @main(%x: int32) { %x }\n", "def @main() { 1 }\n", "V1", true},
};

constexpr size_t kCount = std::size(kTextRules) + std::size(kTypeRules) + std::size(kOtherRules);

}  // namespace

std::span<const DiagnosticRule> diagnostic_rules() {
  static const auto all = [] {
    std::array<DiagnosticRule, kCount> rules;
    auto end = std::copy(std::begin(kTextRules), std::end(kTextRules), rules.begin());
    end = std::copy(std::begin(kTypeRules), std::end(kTypeRules), end);
    std::copy(std::begin(kOtherRules), std::end(kOtherRules), end);
    return rules;
  }();
  return all;
}

const DiagnosticRule* find_rule(std::string_view code) {
  for (const DiagnosticRule& rule : diagnostic_rules()) {
    if (rule.code == code) return &rule;
  }
  return nullptr;
}

}  // namespace relay
