// JSON as text, written from front to back: documents of a program have millions of numbers, which
// need no tree.
#pragma once

#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <relay/support/quote.h>

namespace relay::explore {

/// Commas come by themselves. Keys and values alternate in an object.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name) {
    separate();
    append_json_string(text_, name);
    text_ += ':';
    fresh_ = true;
    return *this;
  }
  JsonWriter& value(std::string_view text) {
    separate();
    append_json_string(text_, text);
    return *this;
  }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool b) {
    separate();
    text_ += b ? "true" : "false";
    return *this;
  }
  template <std::integral T>
  JsonWriter& value(T number) {
    separate();
    fmt::format_to(std::back_inserter(text_), "{}", number);
    return *this;
  }
  /// JSON has no infinities: they are null, as not-a-number is.
  JsonWriter& value(double number) {
    separate();
    if (std::isfinite(number)) {
      fmt::format_to(std::back_inserter(text_), "{:.6g}", number);
    } else {
      text_ += "null";
    }
    return *this;
  }
  template <class T>
  JsonWriter& value(const std::vector<T>& items) {
    begin_array();
    for (const T& item : items) value(item);
    return end_array();
  }
  template <class T>
  JsonWriter& field(std::string_view name, const T& item) {
    return key(name).value(item);
  }
  /// A value that is JSON already.
  JsonWriter& raw(std::string_view json) {
    separate();
    text_ += json;
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  void separate() {
    if (!fresh_) text_ += ',';
    fresh_ = false;
  }
  JsonWriter& open(char bracket) {
    separate();
    text_ += bracket;
    fresh_ = true;
    return *this;
  }
  JsonWriter& close(char bracket) {
    text_ += bracket;
    fresh_ = false;
    return *this;
  }

  std::string text_;
  bool fresh_ = true;
};

}  // namespace relay::explore
