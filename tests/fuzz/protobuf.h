// Protobuf messages as trees, for mutations that keep the lengths of what is around them right:
// changed byte by byte, a nested message is nearly always refused where it begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace relay::fuzz {

struct Field;
using Message = std::vector<Field>;

/// A field: a number, or bytes, which are a message where they may be one.
struct Field {
  uint32_t number = 0;
  uint32_t wire = 0;  // 0: varint, 1: 8 bytes, 2: length and bytes, 5: 4 bytes
  uint64_t value = 0;
  std::string bytes;
  std::optional<Message> message;
};

inline std::optional<uint64_t> read_varint(std::string_view& text) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !text.empty(); shift += 7) {
    auto byte = static_cast<uint8_t>(text.front());
    text.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

/// Nothing if the bytes are no message. What only might be one is taken for one: it is written the
/// same.
inline std::optional<Message> read_message(std::string_view text, int depth = 24) {
  Message message;
  while (!text.empty()) {
    std::optional<uint64_t> key = read_varint(text);
    if (!key || *key >> 3 == 0 || *key >> 3 > 64) return std::nullopt;
    Field field{static_cast<uint32_t>(*key >> 3), static_cast<uint32_t>(*key & 7), 0, {}, {}};
    size_t size = field.wire == 1 ? 8 : 4;
    if (field.wire == 0) {
      std::optional<uint64_t> value = read_varint(text);
      if (!value) return std::nullopt;
      field.value = *value;
    } else if (field.wire == 2) {
      std::optional<uint64_t> length = read_varint(text);
      if (!length || *length > text.size()) return std::nullopt;
      field.bytes = text.substr(0, *length);
      text.remove_prefix(*length);
      if (depth > 0 && !field.bytes.empty()) {
        field.message = read_message(field.bytes, depth - 1);
        if (field.message) field.bytes.clear();
      }
    } else if ((field.wire == 1 || field.wire == 5) && size <= text.size()) {
      std::memcpy(&field.value, text.data(), size);
      text.remove_prefix(size);
    } else {
      return std::nullopt;
    }
    message.push_back(std::move(field));
  }
  return message;
}

inline void write_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

inline std::string write_message(const Message& message) {
  std::string out;
  for (const Field& field : message) {
    write_varint(out, uint64_t{field.number} << 3 | field.wire);
    if (field.wire == 0) {
      write_varint(out, field.value);
    } else if (field.wire == 2) {
      std::string inside = field.message ? write_message(*field.message) : field.bytes;
      write_varint(out, inside.size());
      out += inside;
    } else {
      out.append(reinterpret_cast<const char*>(&field.value), field.wire == 1 ? 8 : 4);
    }
  }
  return out;
}

/// One change at a random place of a message.
class Mutator {
 public:
  /// Changes bytes in place, within `capacity`: the new size.
  using MutateBytes = size_t (*)(uint8_t* data, size_t size, size_t capacity);
  Mutator(uint32_t seed, MutateBytes mutate_bytes) : random_(seed), mutate_bytes_(mutate_bytes) {}

  void mutate(Message& root) {
    collect(root);
    if (places_.empty()) return;
    Place place = places_[below(places_.size())];
    Message& in = *place.in;
    Field& field = in[place.at];
    switch (below(8)) {
      case 0:
        in.erase(in.begin() + static_cast<std::ptrdiff_t>(place.at));
        break;
      case 1:
        in.insert(in.begin() + static_cast<std::ptrdiff_t>(below(in.size() + 1)), Field(field));
        break;
      case 2:
        std::swap(field, in[below(in.size())]);
        break;
      case 3:
        insert(in, Field(other(field)));
        break;
      case 4: {
        Field copy = other(field);  // it may hold this one
        field = std::move(copy);
        break;
      }
      default:
        change(field);
        break;
    }
  }

  /// Puts something of another message into this one.
  void cross(Message& root, Message& from) {
    collect(from);
    if (places_.empty()) return;
    Place place = places_[below(places_.size())];
    Field taken = (*place.in)[place.at];
    collect(root);
    if (places_.empty()) return;
    // Where its like is.
    Place to = alike(taken.number, taken.wire);
    if (below(2) == 0) {
      (*to.in)[to.at] = std::move(taken);
    } else {
      insert(*to.in, std::move(taken));
    }
  }

 private:
  struct Place {
    Message* in;
    size_t at;
  };

  size_t below(size_t end) { return random_() % end; }

  void collect(Message& root) {
    places_.clear();
    std::vector<Message*> open = {&root};
    while (!open.empty()) {
      Message* message = open.back();
      open.pop_back();
      for (size_t i = 0; i < message->size(); ++i) {
        places_.push_back({message, i});
        if ((*message)[i].message) open.push_back(&*(*message)[i].message);
      }
    }
  }

  // One of some places that suits better.
  Place alike(uint32_t number, uint32_t wire) {
    Place place = places_[below(places_.size())];
    for (int tries = 0; tries < 32; ++tries) {
      const Field& found = (*place.in)[place.at];
      if (found.number == number && found.wire == wire) break;
      place = places_[below(places_.size())];
    }
    return place;
  }

  const Field& other(const Field& field) {
    Place place = alike(field.number, field.wire);
    return (*place.in)[place.at];
  }

  void insert(Message& in, Field field) {
    in.insert(in.begin() + static_cast<std::ptrdiff_t>(below(in.size() + 1)), std::move(field));
  }

  void change(Field& field) {
    if (field.wire != 2) {
      switch (below(4)) {
        case 0:
          // Near the ends of types, on both sides of zero.
          field.value = (uint64_t{1} << below(64)) - below(2);
          if (below(2) == 0) field.value = 0 - field.value;
          break;
        case 1:
          field.value += 1;
          break;
        case 2:
          field.value -= 1;
          break;
        default:
          field.value = below(24);
          break;
      }
      return;
    }
    std::string bytes = field.message ? write_message(*field.message) : std::move(field.bytes);
    field.message.reset();
    size_t size = bytes.size();
    bytes.resize(size + 64);
    bytes.resize(mutate_bytes_(reinterpret_cast<uint8_t*>(bytes.data()), size, bytes.size()));
    field.bytes = std::move(bytes);
  }

  std::minstd_rand random_;
  MutateBytes mutate_bytes_;
  std::vector<Place> places_;
};

}  // namespace relay::fuzz
