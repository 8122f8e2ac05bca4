// Steps on features before a model of ai.onnx.ml sees them, and on its results.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <relay/import/onnx/ops/ml.h>
#include <relay/import/onnx/ops/run_time.h>
#include <relay/import/onnx/ops/text.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;
using Strings = std::vector<std::string>;

/// Numbers for the columns of rows: one for all, or one each.
GraphValue per_column(NodeContext& node, const std::vector<double>& values, std::string_view what,
                      Dim columns) {
  auto count = static_cast<int64_t>(values.size());
  bool fits = count == 1 || !columns.is_int() || columns.as_int() == count;
  node.require(fits && count > 0, std::string(what) + " has " + std::to_string(count) +
                                      " entries for " + columns.str() + " columns");
  if (count == 1) return float_array(node, values, {});
  return float_array(node, values, {count});
}

Values convert_scaler(NodeContext& node) {
  GraphValue x = node.cast(node.input(0), kFloat32);
  node.require(x.rank() > 0, "the features have no axes");
  std::vector<double> offset = node.attr_floats("offset", std::vector<double>{0});
  std::vector<double> scale = node.attr_floats("scale", std::vector<double>{1});
  GraphValue moved = node.emit("subtract", {x, per_column(node, offset, "offset", x.last_dim())});
  return {node.emit("multiply", {moved, per_column(node, scale, "scale", x.last_dim())})};
}
RELAY_ONNX_ML("Scaler", 1, convert_scaler)

Values convert_normalizer(NodeContext& node) {
  GraphValue x = node.cast(node.input(0), kFloat32);
  node.require(x.rank() == 1 || x.rank() == 2,
               "the features have " + std::to_string(x.rank()) + " axes; rows of them have two");
  std::string norm = node.attr_string("norm", "MAX");
  AttrList along{{"axis", std::vector<int64_t>{-1}}, {"keepdims", true}};
  GraphValue size;
  if (norm == "MAX") {
    size = node.emit("max", {x}, along);
  } else if (norm == "L1") {
    size = node.emit("sum", {node.emit("abs", {x})}, along);
  } else if (norm == "L2") {
    size = node.emit("sqrt", {node.emit("sum", {node.emit("multiply", {x, x})}, along)});
  } else {
    node.fail("norm is " + quoted(norm));
  }
  GraphValue none = node.emit("equal", {size, node.scalar(kFloat32, 0)});
  return {node.emit("divide", {x, node.emit("where", {none, node.scalar(kFloat32, 1), size})})};
}
RELAY_ONNX_ML("Normalizer", 1, convert_normalizer)

Values convert_binarizer(NodeContext& node) {
  GraphValue x = node.input(0);
  double threshold = node.attr_float("threshold", 0);
  GraphValue above = node.emit("greater", {x, node.scalar(x.dtype(), threshold)});
  return {node.cast(above, x.dtype())};
}
RELAY_ONNX_ML("Binarizer", 1, convert_binarizer)

Values convert_imputer(NodeContext& node) {
  GraphValue x = node.input(0);
  node.require(x.rank() > 0, "the features have no axes");
  bool floats = x.dtype().is_float();
  node.ignore({"imputed_value_floats", "imputed_value_int64s", "replaced_value_float",
               "replaced_value_int64"});  // those of the other type say nothing
  std::vector<double> given;
  double replaced = 0;
  if (floats) {
    given = node.attr_floats("imputed_value_floats");
    replaced = node.attr_float("replaced_value_float", 0);
  } else {
    std::vector<int64_t> numbers = node.attr_ints("imputed_value_int64s");
    given.assign(numbers.begin(), numbers.end());
    replaced = static_cast<double>(node.attr_int("replaced_value_int64", 0));
  }
  GraphValue imputed = per_column(node, given, "the list of imputed values", x.last_dim());
  GraphValue missing = floats && std::isnan(replaced)
                           ? node.emit("isnan", {x})
                           : node.emit("equal", {x, node.scalar(x.dtype(), replaced)});
  return {node.emit("where", {missing, node.cast(imputed, x.dtype()), x})};
}
RELAY_ONNX_ML("Imputer", 1, convert_imputer)

Values convert_feature_vectorizer(NodeContext& node) {
  std::vector<int64_t> widths = node.attr_ints("inputdimensions", std::vector<int64_t>());
  Values parts = node.inputs();
  node.require(!parts.empty(), "there are no inputs");
  node.require(widths.empty() || widths.size() == parts.size(),
               "inputdimensions has " + std::to_string(widths.size()) + " entries for " +
                   std::to_string(parts.size()) + " inputs");
  for (size_t k = 0; k < parts.size(); ++k) {
    GraphValue part = node.cast(feature_rows(node, parts[k]), kFloat32);
    Dim width = part.dim(1);
    if (!widths.empty()) {
      node.demand(width, Dim(widths[k]),
                  "input " + std::to_string(k) + " has " + width.str() +
                      " columns, inputdimensions says " + std::to_string(widths[k]));
    }
    parts[k] = part;
  }
  return {node.concat(parts, 1)};
}
RELAY_ONNX_ML("FeatureVectorizer", 1, convert_feature_vectorizer)

Values convert_array_feature_extractor(NodeContext& node) {
  GraphValue x = node.input(0), places = node.cast(node.input(1), kInt64);
  node.require(x.rank() > 0, "the features have no axes");
  if (places.rank() != 1) places = node.reshape(places, {product(places.dims())});
  if (std::optional<NDArray> known = node.constant(1); known && x.last_dim().is_int()) {
    for (int64_t k = 0; k < known->size(); ++k) {
      int64_t place = known->element_as_int64(k);
      node.require(place >= 0 && place < x.last_dim().as_int(),
                   "column " + std::to_string(place) + " is asked for, and there are " +
                       x.last_dim().str() + ", counted from 0");
    }
  } else {
    places = inside(node, x, x.rank() - 1, places);
  }
  GraphValue row = x.rank() == 1 ? node.unsqueeze(x, {0}) : x;
  auto last = static_cast<int64_t>(row.rank()) - 1;
  GraphValue result = node.emit("take", {row, places}, {{"axis", last}});
  return {result.of_same_words(x)};
}
RELAY_ONNX_ML("ArrayFeatureExtractor", 1, convert_array_feature_extractor)

Values convert_one_hot_encoder(NodeContext& node) {
  GraphValue x = node.input(0);
  bool zeros = node.attr_bool("zeros", true);
  Strings words = node.attr_strings("cats_strings", Strings());
  std::vector<int64_t> categories = node.attr_ints("cats_int64s", std::vector<int64_t>());
  node.require(words.empty() || categories.empty(), "there are two lists of categories");
  node.require(!words.empty() || !categories.empty(), "there are no categories");
  node.require(words.empty() != x.is_text(),
               words.empty() ? "the categories are numbers, the input has strings"
                             : "the categories are strings, the input has numbers");
  if (x.is_text()) {
    x = place_among(node, x, words);
    for (size_t k = 0; k < words.size(); ++k) categories.push_back(static_cast<int64_t>(k));
  }
  x = node.unsqueeze(node.cast(x, kInt64), {static_cast<int64_t>(x.rank())});
  node.require_rank(x.rank());
  GraphValue hot = node.emit("equal", {x, node.int_list(categories)});
  GraphValue result = node.cast(hot, kFloat32);
  if (zeros) return {result};
  // A number that is no category is a mistake then.
  AttrList last{{"axis", std::vector<int64_t>{-1}}};
  GraphValue known = node.emit("min", {node.cast(node.emit("max", {result}, last), kInt64)});
  GraphValue bad = node.emit("equal", {known, number_value(node, 0)});
  return {node.emit(
      "add", {result, node.cast(zero_unless(node, bad, "an element is none of the categories"),
                                kFloat32)})};
}
RELAY_ONNX_ML("OneHotEncoder", 1, convert_one_hot_encoder)

// ---- Labels -------------------------------------------------------------------------------------

/// One side of a LabelEncoder: numbers, or strings.
struct Side {
  std::vector<double> numbers;  // of floats
  std::vector<int64_t> integers;
  Strings strings;
  DType dtype = kInt64;  // of numbers
  bool given = false;
  size_t size() const {
    return !strings.empty() ? strings.size() : dtype.is_float() ? numbers.size() : integers.size();
  }
};

void take_array(Side& side, const NDArray& array) {
  side.dtype = array.dtype();
  for (int64_t k = 0; k < array.size(); ++k) {
    if (side.dtype.is_float())
      side.numbers.push_back(array.element_as_double(k));
    else
      side.integers.push_back(array.element_as_int64(k));
  }
}

Side side_of(NodeContext& node, const std::string& what) {
  Side side;
  if (node.has_attr(what + "_int64s")) {
    side.integers = node.attr_ints(what + "_int64s");
    side.given = true;
  }
  auto once = [&] { node.require(!side.given, "there are two lists of " + what); };
  if (node.has_attr(what + "_floats")) {
    once();
    side.numbers = node.attr_floats(what + "_floats");
    side.dtype = kFloat32;
    side.given = true;
  }
  if (node.has_attr(what + "_strings")) {
    once();
    side.strings = node.attr_strings(what + "_strings");
    side.given = true;
  }
  if (node.has_attr(what + "_tensor")) {
    once();
    GraphValue value = node.attr_value(what + "_tensor");
    if (value.strings()) {
      for (int64_t k = 0; k < value.array().size(); ++k) {
        auto word = static_cast<size_t>(value.array().element_as_int64(k));
        side.strings.push_back((*value.strings())[word]);
      }
    } else {
      take_array(side, value.array());
    }
    side.given = true;
  }
  node.require(side.given && side.size() > 0, "there are no " + what);
  return side;
}

/// The value of something that is no key, as the last of `values`.
void add_default(NodeContext& node, Side& values) {
  node.ignore({"default_string", "default_int64", "default_float"});
  if (node.has_attr("default_tensor")) {
    GraphValue value = node.attr_value("default_tensor");
    node.require((value.strings() == nullptr) == values.strings.empty(),
                 values.strings.empty() ? "the values are numbers, default_tensor is a string"
                                        : "the values are strings, default_tensor is a number");
    if (value.strings() && value.strings()->size() == 1) {
      values.strings.push_back(value.strings()->front());
    } else {
      node.require(value.array() && value.array().size() == 1 && !value.strings(),
                   "default_tensor has not one element");
      if (values.dtype.is_float()) {
        values.numbers.push_back(value.array().element_as_double(0));
      } else {
        values.integers.push_back(value.array().element_as_int64(0));
      }
    }
  } else if (!values.strings.empty()) {
    values.strings.push_back(node.attr_string("default_string", "_Unused"));
  } else if (values.dtype.is_float()) {
    values.numbers.push_back(node.attr_float("default_float", -0.0));
  } else {
    values.integers.push_back(node.attr_int("default_int64", -1));
  }
}

/// The values in the order of `places`, with words for strings.
GraphValue value_table(NodeContext& node, const Side& values, const std::vector<size_t>& places) {
  if (!values.strings.empty()) {
    auto words = std::make_shared<Strings>();
    std::vector<int64_t> numbers;
    std::map<std::string_view, int64_t> known;
    for (size_t place : places) {
      auto [word, added] = known.emplace(values.strings[place], words->size());
      if (added) words->push_back(values.strings[place]);
      numbers.push_back(word->second);
    }
    return node.int_list(numbers).of_strings(std::move(words));
  }
  auto count = static_cast<int64_t>(places.size());
  if (values.dtype.is_float()) {
    std::vector<double> numbers;
    for (size_t place : places) numbers.push_back(values.numbers[place]);
    NDArray array = NDArray::from<double>(Shape{count}, std::span<const double>(numbers));
    return node.constant_value(array.cast(values.dtype));
  }
  std::vector<int64_t> numbers;
  for (size_t place : places) numbers.push_back(values.integers[place]);
  return node.cast(node.int_list(numbers), values.dtype);
}

GraphValue looked_up(NodeContext& node, const GraphValue& table, const GraphValue& places) {
  GraphValue result = node.emit("take", {table, places});
  return table.strings() ? result.of_strings(table.strings()) : result;
}

/// Strings by the numbers of their words: which value each word has is known now.
GraphValue encoded_words(NodeContext& node, const GraphValue& x, const Side& keys,
                         const Side& values) {
  std::vector<size_t> places;
  for (const std::string& word : *x.strings()) {
    auto found = std::find(keys.strings.begin(), keys.strings.end(), word);
    places.push_back(static_cast<size_t>(found - keys.strings.begin()));
  }
  return looked_up(node, value_table(node, values, places), x);
}

/// Strings that only a run knows.
GraphValue encoded_text(NodeContext& node, const GraphValue& x, const Side& keys,
                        const Side& values) {
  std::vector<size_t> places(keys.size() + 1);
  std::iota(places.begin(), places.end(), 0);
  return looked_up(node, value_table(node, values, places), place_among(node, x, keys.strings));
}

/// Numbers: the keys in order are searched. Of equal keys the first counts.
GraphValue encoded_numbers(NodeContext& node, const GraphValue& x, const Side& keys,
                           const Side& values) {
  std::vector<size_t> order;
  std::optional<size_t> missing;  // not-a-number, which is equal to nothing
  for (size_t k = 0; k < keys.size(); ++k) {
    if (!keys.dtype.is_float() || !std::isnan(keys.numbers[k]))
      order.push_back(k);
    else if (!missing)
      missing = k;
  }
  auto less = [&](size_t a, size_t b) {
    return keys.dtype.is_float() ? keys.numbers[a] < keys.numbers[b]
                                 : keys.integers[a] < keys.integers[b];
  };
  std::stable_sort(order.begin(), order.end(), less);
  std::vector<size_t> distinct;
  for (size_t k : order) {
    if (distinct.empty() || less(distinct.back(), k)) distinct.push_back(k);
  }
  size_t found = distinct.size();
  if (found == 0) distinct.push_back(keys.size());
  Side sorted = keys;
  sorted.strings.clear();
  if (found == 0) {
    sorted.numbers.push_back(0);
    sorted.integers.push_back(0);
  }
  GraphValue list = value_table(node, sorted, distinct);
  std::vector<size_t> places = distinct;
  places.push_back(keys.size());
  if (missing) places.push_back(*missing);
  GraphValue table = value_table(node, values, places);
  GraphValue asked = node.cast(x, list.dtype());
  GraphValue at = node.cast(node.emit("searchsorted", {list, asked}), kInt64);
  GraphValue hit = node.emit("equal", {node.emit("take", {list, at}), asked});
  auto position = [&](size_t k) { return node.scalar(kInt64, static_cast<double>(k)); };
  at = node.emit("where", {hit, at, position(distinct.size())});
  if (missing) {
    at = node.emit("where", {node.emit("isnan", {asked}), position(distinct.size() + 1), at});
  }
  return looked_up(node, table, at);
}

Values convert_label_encoder(NodeContext& node) {
  GraphValue x = node.input(0);
  Side keys = side_of(node, "keys"), values = side_of(node, "values");
  node.require(keys.size() == values.size(), "there are " + std::to_string(keys.size()) +
                                                 " keys and " + std::to_string(values.size()) +
                                                 " values");
  add_default(node, values);
  node.require(keys.strings.empty() != x.is_text(),
               keys.strings.empty() ? "the keys are numbers, the input has strings"
                                    : "the keys are strings, the input has numbers");
  if (x.strings()) return {encoded_words(node, x, keys, values)};
  if (x.is_text()) return {encoded_text(node, x, keys, values)};
  return {encoded_numbers(node, x, keys, values)};
}
RELAY_ONNX_ML("LabelEncoder", 2, convert_label_encoder)

// Classes and their positions, whichever the input has not.
Values convert_label_encoder_1(NodeContext& node) {
  GraphValue x = node.input(0);
  Side words, numbers;
  words.strings = node.attr_strings("classes_strings");
  node.require(!words.strings.empty(), "there are no classes");
  for (size_t k = 0; k < words.strings.size(); ++k) {
    numbers.integers.push_back(static_cast<int64_t>(k));
  }
  add_default(node, x.is_text() ? numbers : words);
  if (x.strings()) return {encoded_words(node, x, words, numbers)};
  if (x.is_text()) return {encoded_text(node, x, words, numbers)};
  return {encoded_numbers(node, x, numbers, words)};
}
RELAY_ONNX_ML("LabelEncoder", 1, convert_label_encoder_1)

// A list of maps, one each row, from classes to scores: maps are no tensors, the matrix is.
Values convert_zip_map(NodeContext& node) {
  GraphValue x = node.input(0);
  Labels labels = class_labels(node, "classlabels_int64s");
  node.require(x.rank() == 2 || x.rank() == 1,
               "the scores have " + std::to_string(x.rank()) + " axes");
  node.demand(x.last_dim(), Dim(static_cast<int64_t>(labels.size())),
              "there are " + std::to_string(labels.size()) + " classes and " + x.last_dim().str() +
                  " columns of scores");
  node.warn("maps are no tensors: the result is the matrix of scores, with columns " +
            labels_text(labels));
  return {x};
}
RELAY_ONNX_ML("ZipMap", 1, convert_zip_map)

}  // namespace
}  // namespace relay::onnx
