#include <relay/op/registry/layout.h>

#include <algorithm>

#include <relay/op/registry/relation.h>
#include <relay/support/error.h>

namespace relay {
namespace {

std::string spelled(std::string_view axes) {
  std::string text;
  for (char axis : axes) {
    if (!text.empty()) text += ", ";
    text += axis;
  }
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_small(char c) { return c >= 'a' && c <= 'z'; }

}  // namespace

Layout Layout::parse(std::string_view text, std::string_view axes, std::string_view attribute) {
  auto fail = [&](const std::string& why) {
    throw Error(std::string(attribute) + " \"" + std::string(text) + "\" " + why);
  };
  Layout layout;
  layout.text_ = text;
  std::string seen;
  for (size_t i = 0; i < text.size();) {
    int64_t block = 0;
    bool has_size = is_digit(text[i]);
    for (; i < text.size() && is_digit(text[i]); ++i) {
      block = block * 10 + (text[i] - '0');
      if (block > (1 << 20)) fail("has a block of more than 2^20");
    }
    char letter = i < text.size() ? text[i++] : ' ';
    if (is_capital(letter) && !has_size) {
      seen += letter;
      layout.places_.push_back({letter, 0});
    } else if (is_small(letter) && has_size && block > 0) {
      layout.places_.push_back({static_cast<char>(letter - 'a' + 'A'), block});
    } else {
      fail("is not a layout: a layout is made of capital letters and blocks such as 8c");
    }
  }
  std::string wanted(axes);
  std::string found = seen;
  std::sort(wanted.begin(), wanted.end());
  std::sort(found.begin(), found.end());
  if (wanted != found) fail("must name each of the axes " + spelled(axes) + " once");
  for (const Place& place : layout.places_) {
    if (seen.find(place.axis) == std::string::npos) {
      fail(std::string("has a block of an axis ") + place.axis + " that it does not name");
    }
  }
  return layout;
}

void Layout::check(std::span<const Dim> dims, std::string_view what) const {
  if (dims.size() == rank()) return;
  throw Error(std::string(what) + " in layout " + text_ + " must have rank " +
              std::to_string(rank()) + ", found shape " + shape_str(dims));
}

std::vector<size_t> Layout::positions(char axis) const {
  std::vector<size_t> result;
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].axis != axis) continue;
    result.insert(places_[i].block == 0 ? result.begin() : result.end(), i);
  }
  return result;
}

std::vector<int64_t> Layout::blocks(char axis) const {
  std::vector<int64_t> result;
  for (const Place& place : places_) {
    if (place.axis == axis && place.block != 0) result.push_back(place.block);
  }
  return result;
}

Dim Layout::extent(std::span<const Dim> dims, char axis) const {
  Dim total = 1;
  for (size_t position : positions(axis)) total = total * dims[position];
  return total;
}

std::vector<Dim> Layout::dims(const std::function<Dim(char)>& extent) const {
  std::vector<Dim> result;
  for (const Place& place : places_) {
    if (place.block != 0) {
      result.emplace_back(place.block);
      continue;
    }
    Dim whole = extent(place.axis);
    int64_t block = 1;
    for (int64_t factor : blocks(place.axis)) block *= factor;
    if (whole.is_int() && whole.as_int() % block != 0) {
      throw Error("layout " + text_ + " stores axis " + place.axis + " in blocks of " +
                  std::to_string(block) + ", which do not divide its extent " + whole.str());
    }
    result.push_back(block == 1 ? whole : floor_div(whole, block));
  }
  return result;
}

Coordinate Layout::join(char axis, te::Indices parts) const {
  Coordinate result;
  result.blocks = blocks(axis);
  result.parts.assign(parts.begin(), parts.end());
  RELAY_CHECK(result.parts.size() == result.blocks.size() + 1, "indices of a blocked axis");
  result.whole = result.parts[0];
  for (size_t k = 0; k < result.blocks.size(); ++k) {
    result.whole = result.whole * result.blocks[k] + result.parts[k + 1];
  }
  return result;
}

Coordinate Layout::coordinate(te::Indices index, char axis) const {
  std::vector<te::Scalar> parts;
  for (size_t position : positions(axis)) parts.push_back(index[position]);
  return join(axis, parts);
}

std::vector<te::Scalar> Layout::index(const std::function<Coordinate(char)>& at) const {
  std::vector<te::Scalar> result(places_.size());
  for (const Place& place : places_) {
    if (place.block != 0) continue;
    Coordinate position = at(place.axis);
    std::vector<size_t> where = positions(place.axis);
    std::vector<int64_t> mine = blocks(place.axis);
    if (!position.parts.empty() && position.blocks == mine) {
      for (size_t k = 0; k < where.size(); ++k) result[where[k]] = position.parts[k];
      continue;
    }
    te::Scalar rest = position.whole;
    for (size_t k = mine.size(); k > 0; --k) {
      te::Scalar block = te::index_constant(mine[k - 1]);
      result[where[k]] = te::floor_mod(rest, block);
      rest = te::floor_div(rest, block);
    }
    result[where[0]] = rest;
  }
  return result;
}

std::string_view spatial_axes(size_t rank) {
  RELAY_CHECK(rank >= 1 && rank <= 3, "spatial rank");
  return std::string_view("DHW").substr(3 - rank);
}

namespace {
std::string entries_str(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}
}  // namespace

std::vector<int64_t> spatial_attr(const std::vector<int64_t>& values, size_t count,
                                  std::string_view attribute, int64_t least) {
  if (values.size() != count && values.size() != 1) {
    throw Error(std::string(attribute) + " must have " + (count == 1 ? "" : "1 or ") +
                std::to_string(count) + (count == 1 ? " entry" : " entries") + ", found " +
                entries_str(values));
  }
  for (int64_t value : values) {
    if (value < least || value > (int64_t{1} << 40)) {
      throw Error(std::string(attribute) + " entries must be at least " + std::to_string(least) +
                  (value < least ? "" : " and not more than 2^40") + ", found " +
                  entries_str(values));
    }
  }
  return values.size() == count ? values : std::vector<int64_t>(count, values[0]);
}

Padding padding_attr(const std::vector<int64_t>& values, size_t count) {
  if (values.size() != 1 && values.size() != count && values.size() != 2 * count) {
    throw Error("padding must have " + std::string(count == 1 ? "" : "1, ") +
                std::to_string(count) + " or " + std::to_string(2 * count) + " entries, found " +
                entries_str(values));
  }
  for (int64_t value : values) {
    if (value < -(int64_t{1} << 40) || value > (int64_t{1} << 40)) {
      throw Error("padding is out of range: " + entries_str(values));
    }
  }
  if (values.size() == 1) {
    return {std::vector<int64_t>(count, values[0]), std::vector<int64_t>(count, values[0])};
  }
  if (values.size() == count) return {values, values};
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(count);
  return {{values.begin(), middle}, {middle, values.end()}};
}

}  // namespace relay
