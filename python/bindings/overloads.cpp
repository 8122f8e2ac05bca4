// The message about arguments that fit no overload, on one line: nanobind has no hook for it, so
// its PyErr_SetString comes here (the linker's --wrap).
#include <string>
#include <string_view>
#include <vector>

#include <bindings/casters.h>

namespace relay::python {
namespace {

constexpr std::string_view kHead =
    "(): incompatible function arguments. The following argument types are supported:\n";
constexpr std::string_view kTail = "\nInvoked with types: ";

void replace(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// "(a: int, b: str = 'x')" of "    1. f(self, a: int, b: str = 'x') -> None".
std::string parameters(std::string_view line, std::string_view name) {
  size_t begin = line.find(std::string(name) + "(");
  size_t end = line.rfind(") ->");
  if (end == std::string_view::npos) end = line.rfind(')');
  if (begin == std::string_view::npos || end == std::string_view::npos) return {};
  std::string text(line.substr(begin + name.size() + 1, end - begin - name.size() - 1));
  if (text == "self" || text.starts_with("self,") || text.starts_with("self:") ||
      text.starts_with("cls: ")) {
    size_t comma = text.find(", ");
    text = comma == std::string::npos ? "" : text.substr(comma + 2);
  }
  return "(" + text + ")";
}

// The first type is that of `self`, or of the class.
std::string without_first(std::string types) {
  size_t comma = types.find(", ");
  return comma == std::string::npos ? "" : types.substr(comma + 2);
}

std::string shorter(std::string_view message) {
  size_t head = message.find(kHead), tail = message.rfind(kTail);
  if (head == std::string_view::npos || tail == std::string_view::npos) return {};
  std::string_view name = message.substr(0, head);
  std::string_view rest = message.substr(head + kHead.size(), tail - head - kHead.size());
  std::string takes;
  bool method = true;
  while (!rest.empty()) {
    size_t end = rest.find("\n    ");  // a default may have lines
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    std::string one = parameters(line, name);
    if (one.empty()) return {};
    method &= line.find("(self") != std::string_view::npos || name == "__new__";
    takes += (takes.empty() ? "" : " or ") + one;
  }
  std::string given(message.substr(tail + kTail.size()));
  if (method) given = without_first(std::move(given));
  replace(given, "kwargs = { ", "");
  replace(given, " }", "");
  replace(given, "NoneType", "None");
  std::string text = (name == "__new__" || name == "__init__") ? "the constructor takes "
                                                               : std::string(name) + "() takes ";
  text += takes + ", not (" + given + ")";
  replace(text, "relay._core.", "");
  replace(text, "collections.abc.", "");
  return text;
}

}  // namespace
}  // namespace relay::python

extern "C" void __real_PyErr_SetString(PyObject* type, const char* message);
extern "C" void __wrap_PyErr_SetString(PyObject* type, const char* message);

extern "C" void __wrap_PyErr_SetString(PyObject* type, const char* message) {
  std::string text = type == PyExc_TypeError ? relay::python::shorter(message) : std::string();
  __real_PyErr_SetString(type, text.empty() ? message : text.c_str());
}
