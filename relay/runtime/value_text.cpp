#include <relay/runtime/value_text.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <relay/runtime/file.h>
#include <relay/runtime/tensor_text.h>
#include <relay/support/error.h>
#include <relay/support/hash.h>
#include <relay/support/quote.h>
#include <relay/support/suggest.h>

namespace relay {

namespace {

using Kind = TypeInfo::Kind;
using Constructor = DataInfo::Constructor;

// The two constructors of a data type of lists: one without fields, one of an element and a list.
struct ListForm {
  size_t end = 0;
  size_t link = 0;
};
std::optional<ListForm> list_form(const DataInfo& data, uint32_t number) {
  if (data.constructors.size() != 2) return std::nullopt;
  for (size_t link : {size_t{0}, size_t{1}}) {
    const std::vector<TypeInfo>& fields = data.constructors[link].fields;
    const bool rest =
        fields.size() == 2 && fields[1].kind == Kind::kData && fields[1].data == number;
    if (rest && data.constructors[1 - link].fields.empty()) return ListForm{1 - link, link};
  }
  return std::nullopt;
}

// The word behind an article: "a List", "an Expression".
std::string with_article(const std::string& name) {
  const bool vowel =
      !name.empty() && std::string_view("AEIOUaeiou").find(name[0]) != std::string::npos;
  return (vowel ? "an " : "a ") + name;
}

class ValueReader {
 public:
  ValueReader(std::string_view text, const WantedValue& wanted, size_t shift)
      : cursor_(text, shift), wanted_(wanted), tensors_(cursor_, wanted) {}

  Value read() {
    if (cursor_.peek() == '\0' && cursor_.at_end()) cursor_.fail("the value is missing");
    static const TypeInfo any;
    begin(wanted_.type == nullptr ? &any : wanted_.type);
    while (!frames_.empty()) go_on();
    cursor_.skip_space();
    if (!cursor_.at_end()) cursor_.fail("unexpected text after the value");
    return std::move(result_);
  }

 private:
  // A value with parts that is being read.
  struct Frame {
    enum class What : uint8_t { kTuple, kData, kList, kReference };
    What what = What::kTuple;
    const TypeInfo* type = nullptr;
    size_t constructor = 0;
    std::vector<Value> parts;
    std::string closers;  // what ends it: ")", "]}"
    bool fresh = true;    // nothing has been read behind its opening
    bool comma = false;   // a comma came last
  };

  // ---- One value ----

  void begin(const TypeInfo* type) {
    const char first = cursor_.peek();
    if (first == '@' && begin_file(type)) return;
    switch (type->kind) {
      case Kind::kTensor:
        if (first == '(' || first == '{')
          cursor_.fail("expected a tensor: a number or a list of them");
        return deliver(Value(tensors_.read(*type, !frames_.empty())));
      case Kind::kTuple:
        if (begin_random(type)) return;
        return begin_tuple(type);
      case Kind::kReference:
        if (begin_random(type)) return;
        return begin_reference(type);
      case Kind::kData:
        if (begin_random(type)) return;
        return begin_data(type);
      case Kind::kFunction:
        cursor_.fail("the parameter is " + wanted_.text + ": a function cannot be given as text");
      case Kind::kAny:
        return begin_any(type);
    }
  }

  // A value of a type that is not known: tensors, tuples and references show what they are.
  void begin_any(const TypeInfo* type) {
    constexpr size_t kDeepest = 100;  // types do not nest much deeper
    if (frames_.size() >= kDeepest)
      cursor_.fail("the value nests too deeply for a parameter whose type is " + wanted_.text);
    if (cursor_.peek() == '(') return begin_tuple(type);
    if (cursor_.peek() == '{' || reads_word("ref")) return begin_reference(type);
    const size_t start = cursor_.at();
    const std::string name(cursor_.word());
    const bool constructor = !name.empty() && cursor_.peek() == '(' && name != "ones" &&
                             name != "zeros" && name != "full" && name != "random";
    cursor_.move_to(start);
    if (constructor)
      cursor_.fail("the parameter's type is " + wanted_.text +
                   ", so it is not known of which data "
                   "type " +
                   name + " is; annotate the parameter");
    deliver(Value(tensors_.read(*type, !frames_.empty())));
  }

  bool reads_word(std::string_view word) {
    const size_t start = cursor_.at();
    const bool same = cursor_.word() == word;
    cursor_.move_to(start);
    return same;
  }

  // `random` for a type that is no tensor: a value is made up.
  bool begin_random(const TypeInfo* type) {
    if (!reads_word("random") || !wanted_.extents) return false;
    const size_t start = cursor_.at();
    cursor_.word();
    const TensorReader::Random random = tensors_.read_random();
    if (random.has_shape || random.distribution.kind != Distribution::Kind::kUsual)
      cursor_.fail("only tensors have extents and distributions: here, write random", start);
    Extents extents = wanted_.extents();
    const uint64_t seed = random.seed.value_or(hash_combine(wanted_.seed, made_++));
    deliver(made_up(*wanted_.check, *type, extents, seed));
    return true;
  }

  void begin_tuple(const TypeInfo* type) {
    const bool json = type->kind == Kind::kTuple && cursor_.peek() == '[';
    if (!json && cursor_.peek() != '(') cursor_.fail("expected a tuple, as in (1, 2)");
    cursor_.expect(json ? '[' : '(');
    open({Frame::What::kTuple, type, 0, {}, json ? "]" : ")"});
  }

  void begin_reference(const TypeInfo* type) {
    if (cursor_.accept('{')) {
      if (cursor_.quoted() != "ref")
        cursor_.fail(type->kind == Kind::kAny
                         ? "the parameter's type is " + wanted_.text +
                               ", so the data type is not known; annotate the parameter"
                         : R"(expected {"ref": …})");
      cursor_.expect(':');
      return open({Frame::What::kReference, type, 0, {}, "}"});
    }
    if (!reads_word("ref")) cursor_.fail("expected a reference, as in ref(1)");
    cursor_.word();
    cursor_.expect('(');
    open({Frame::What::kReference, type, 0, {}, ")"});
  }

  // `Cons(1, Nil)`, `{"Cons": [1, {"Nil": []}]}`, `"Nil"`, and for lists `[1, 2]`.
  void begin_data(const TypeInfo* type) {
    if (type->data == TypeInfo::kNoData || wanted_.check->data[type->data].constructors.empty())
      cursor_.fail(type->name + " has no constructors, so no value of it can be given");
    const DataInfo& data = wanted_.check->data[type->data];
    if (cursor_.peek() == '[') {
      if (!list_form(data, type->data))
        cursor_.fail("expected " + with_article(type->name) + ", as in " + example(data) +
                     ": brackets are for tensors and lists");
      cursor_.expect('[');
      return open({Frame::What::kList, type, 0, {}, "]"});
    }
    const bool json = cursor_.accept('{');
    cursor_.skip_space();
    const size_t start = cursor_.at();
    const std::string name = cursor_.peek() == '"' ? cursor_.quoted() : std::string(cursor_.word());
    const size_t constructor = find_constructor(data, *type, name, start);
    const char* closers = ")";
    if (json) {
      cursor_.expect(':');
      cursor_.expect('[');
      closers = "]}";
    } else if (!cursor_.accept('(')) {
      const size_t wants = data.constructors[constructor].fields.size();
      if (wants > 0) cursor_.fail(field_count(data.constructors[constructor]) + ", found none");
      return deliver(data_value(*type, constructor, {}));
    }
    open({Frame::What::kData, type, constructor, {}, closers});
  }

  size_t find_constructor(const DataInfo& data, const TypeInfo& type, const std::string& name,
                          size_t at) const {
    std::vector<std::string> names;
    for (size_t i = 0; i < data.constructors.size(); ++i) {
      if (data.constructors[i].name == name) return i;
      names.push_back(data.constructors[i].name);
    }
    if (name.empty())
      cursor_.fail("expected " + with_article(type.name) + ", as in " + example(data), at);
    const std::string guess = did_you_mean(name, names);
    cursor_.fail(name + " is no constructor of " + type.name + (guess.empty() ? "" : ": " + guess),
                 at);
  }

  // `Cons(…, …)` or `Nil`, the constructor with the most fields.
  static std::string example(const DataInfo& data) {
    const auto most = std::max_element(data.constructors.begin(), data.constructors.end(),
                                       [](const Constructor& a, const Constructor& b) {
                                         return a.fields.size() < b.fields.size();
                                       });
    std::string text = quoted_name(most->name);
    for (size_t i = 0; i < most->fields.size(); ++i) text += i == 0 ? "(…" : ", …";
    return most->fields.empty() ? text : text + ")";
  }

  static std::string field_count(const Constructor& constructor) {
    const size_t count = constructor.fields.size();
    return constructor.name + " has " + std::to_string(count) + (count == 1 ? " field" : " fields");
  }

  // `@values.json` holds the text of a value; other files hold arrays.
  bool begin_file(const TypeInfo* type) {
    const size_t start = cursor_.at();
    cursor_.expect('@');
    std::string path;
    if (cursor_.peek() == '"') {
      path = cursor_.quoted();
    } else {
      const std::string_view text = cursor_.text();
      size_t end = frames_.empty() ? text.size() : text.find_first_of(",)]}", cursor_.at());
      end = std::min(end, text.size());
      path = text.substr(cursor_.at(), end - cursor_.at());
      cursor_.move_to(end);
    }
    if (!path.ends_with(".json") && !path.ends_with(".txt")) {
      cursor_.move_to(start);
      if (type->kind != Kind::kTensor && type->kind != Kind::kAny)
        throw Error("a file of arrays holds tensors; write other values to a file NAME.json");
      return false;
    }
    if (wanted_.from_file) cursor_.fail("a file of values must not name another one", start);
    InputFile file(path);
    constexpr size_t kMost = size_t{1} << 32;
    if (file.size() > kMost) throw Error(path + " is too long");
    std::string content(file.size(), '\0');
    file.read_at(0, content.data(), content.size());
    WantedValue wanted = wanted_;
    wanted.type = type;
    wanted.from_file = true;
    wanted.seed = hash_combine(wanted_.seed, made_++);
    try {
      deliver(read_value(content, wanted));
    } catch (const Error& error) {
      throw Error(path + ": " + error.what());
    }
    return true;
  }

  // ---- Values with parts ----

  void open(Frame frame) { frames_.push_back(std::move(frame)); }

  const TypeInfo* part_type(const Frame& frame) const {
    static const TypeInfo any;
    const size_t next = frame.parts.size();
    switch (frame.what) {
      case Frame::What::kTuple: {
        if (frame.type->kind == Kind::kAny) return &any;
        const size_t count = frame.type->fields.size();
        if (next == count)
          cursor_.fail("the tuple has " + std::to_string(count) +
                       (count == 1 ? " field" : " fields") + ", found more");
        return &frame.type->fields[next];
      }
      case Frame::What::kData: {
        const Constructor& constructor =
            wanted_.check->data[frame.type->data].constructors[frame.constructor];
        if (next == constructor.fields.size())
          cursor_.fail(field_count(constructor) + ", found more");
        return &constructor.fields[next];
      }
      case Frame::What::kList: {
        const DataInfo& data = wanted_.check->data[frame.type->data];
        return &data.constructors[list_form(data, frame.type->data)->link].fields[0];
      }
      case Frame::What::kReference:
        break;
    }
    if (next == 1) cursor_.fail("a reference holds one value, found more");
    return frame.type->kind == Kind::kAny || frame.type->fields.empty() ? &any
                                                                        : &frame.type->fields[0];
  }

  // Reads the next part of the innermost value, or its end.
  void go_on() {
    Frame& frame = frames_.back();
    if (cursor_.peek() == frame.closers[0] && !cursor_.at_end()) {
      for (char closer : frame.closers) cursor_.expect(closer);
      return close();
    }
    if (!frame.fresh) {
      if (!cursor_.accept(','))
        cursor_.fail(std::string("expected ',' or '") + frame.closers[0] + "'");
      frame.comma = true;
      if (cursor_.peek() == frame.closers[0] && frame.what == Frame::What::kTuple) return;
    }
    frame.fresh = frame.comma = false;
    begin(part_type(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    const size_t count = frame.parts.size();
    switch (frame.what) {
      case Frame::What::kTuple: {
        const bool any = frame.type->kind == Kind::kAny;
        if (!any && count != frame.type->fields.size())
          cursor_.fail("the tuple has " + std::to_string(frame.type->fields.size()) +
                       " fields, found " + std::to_string(count));
        // Parentheses around one value of an unknown type only group.
        if (any && count == 1 && !frame.comma) return deliver(std::move(frame.parts[0]));
        return deliver(Value::tuple(std::move(frame.parts)));
      }
      case Frame::What::kData: {
        const Constructor& constructor =
            wanted_.check->data[frame.type->data].constructors[frame.constructor];
        if (count != constructor.fields.size())
          cursor_.fail(field_count(constructor) + ", found " + std::to_string(count));
        return deliver(data_value(*frame.type, frame.constructor, std::move(frame.parts)));
      }
      case Frame::What::kList: {
        const ListForm form = *list_form(wanted_.check->data[frame.type->data], frame.type->data);
        Value list = data_value(*frame.type, form.end, {});
        for (size_t i = count; i-- > 0;) {
          std::vector<Value> link;
          link.push_back(std::move(frame.parts[i]));
          link.push_back(std::move(list));
          list = data_value(*frame.type, form.link, std::move(link));
        }
        return deliver(std::move(list));
      }
      case Frame::What::kReference:
        if (count != 1) cursor_.fail("a reference holds one value, found none");
        return deliver(Value::reference(std::move(frame.parts[0])));
    }
  }

  Value data_value(const TypeInfo& type, size_t constructor, std::vector<Value> parts) const {
    const Constructor& made = wanted_.check->data[type.data].constructors[constructor];
    const ConstructorInfo* info =
        ConstructorInfo::intern(Name(made.name), Name(type.name), static_cast<int32_t>(constructor),
                                static_cast<uint32_t>(made.fields.size()));
    return Value::data(info, std::move(parts));
  }

  void deliver(Value value) {
    if (frames_.empty()) {
      result_ = std::move(value);
    } else {
      frames_.back().parts.push_back(std::move(value));
    }
  }

  TextCursor cursor_;
  const WantedValue& wanted_;
  TensorReader tensors_;
  std::vector<Frame> frames_;
  Value result_;
  uint64_t made_ = 0;  // how many parts took a seed of their own
};

}  // namespace

Value read_value(std::string_view text, const WantedValue& wanted, size_t shift) {
  return ValueReader(text, wanted, shift).read();
}

bool needs_extents(std::string_view text) {
  for (size_t at = text.find("random"); at != std::string_view::npos;
       at = text.find("random", at + 1)) {
    TextCursor cursor(text.substr(at + 6), 0);
    if (!cursor.accept('(')) return true;
    const char next = cursor.peek();
    if (next < '0' || next > '9') return true;
  }
  return false;
}

}  // namespace relay
