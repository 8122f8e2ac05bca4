// Weights of few bits, packed into bytes and scaled block by block, of the domain com.microsoft.
#include <relay/import/onnx/narrow.h>
#include <relay/import/onnx/ops/products.h>
#include <relay/import/onnx/ops/run_time.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

// The integers that bytes hold, lowest bits first, as uint8 along the last axis.
GraphValue unpacked(NodeContext& node, const GraphValue& bytes, int64_t bits) {
  if (bits == 8) return bytes;
  const int64_t each = 8 / bits;
  std::vector<uint8_t> shifts;
  for (int64_t k = 0; k < each; ++k) shifts.push_back(static_cast<uint8_t>(k * bits));
  GraphValue places = node.constant_value(NDArray::from<uint8_t>(Shape{each}, shifts));
  auto rank = static_cast<int64_t>(bytes.rank());
  GraphValue moved = node.emit("right_shift", {node.unsqueeze(bytes, {rank}), places});
  auto mask = static_cast<double>((1 << bits) - 1);
  GraphValue parts = node.emit("bitwise_and", {moved, node.scalar(kUInt8, mask)});
  std::vector<Dim> dims(bytes.dims().begin(), bytes.dims().end());
  dims.back() = dims.back() * each;
  return node.reshape(parts, dims);
}

int64_t bits_of(NodeContext& node) {
  int64_t bits = node.attr_int("bits", 4);
  node.require(bits == 2 || bits == 4 || bits == 8, "bits is " + std::to_string(bits));
  return bits;
}

int64_t extent_attr(NodeContext& node, const char* name) {
  constexpr int64_t kMost = int64_t{1} << 31;
  int64_t extent = node.attr_int(name);
  node.require(extent > 0 && extent < kMost, std::string(name) + " is " + std::to_string(extent));
  return extent;
}

void require_count(NodeContext& node, const GraphValue& x, int64_t count, const char* what) {
  Dim found = product(x.dims());
  node.require(found.is_int(count), std::string(what) + " is " + x.type()->str() + ", not of " +
                                        std::to_string(count) + " elements");
}

/// The form of the weights of MatMulNBits, by its attributes: `rows` of `columns` numbers, in
/// `blocks` blocks.
struct BlockForm {
  int64_t rows, columns, block, blocks, bits;
};

// The numbers of blocks, (rows, blocks), of which zero points may be packed like the weights.
GraphValue block_parameters(NodeContext& node, const BlockForm& form, const GraphValue& x,
                            bool packed, const char* what) {
  int64_t width = packed ? (form.blocks * form.bits + 7) / 8 : form.blocks;
  require_count(node, x, form.rows * width, what);
  GraphValue each = node.reshape(x, {form.rows, width});
  if (packed) each = unpacked(node, each, form.bits);
  return each.dim(1).is_int(form.blocks) ? each : node.slice(each, 1, 0, form.blocks);
}

Values convert_contrib_matmul_nbits(NodeContext& node) {
  GraphValue x = node.input(0), bytes = node.input(1);
  BlockForm form{extent_attr(node, "N"), extent_attr(node, "K"), extent_attr(node, "block_size"), 0,
                 bits_of(node)};
  node.require(form.block % 8 == 0, "block_size is " + std::to_string(form.block));
  form.blocks = (form.columns + form.block - 1) / form.block;
  node.ignore({"accuracy_level"});  // how narrow the products may be
  node.require(node.attr_int("weight_prepacked", 0) == 0, "weight_prepacked is not supported");
  node.require(x.dtype().is_float() && bytes.dtype() == kUInt8,
               "the data are no floats, or the weights no uint8");
  int64_t width = form.block * form.bits / 8;
  require_count(node, bytes, form.rows * form.blocks * width, "the tensor of weights");
  // Narrow data are multiplied in float32 and rounded once.
  DType wide = x.dtype().bits < 32 ? DType(kFloat32) : x.dtype();
  GraphValue numbers =
      unpacked(node, node.reshape(bytes, {form.rows, form.blocks, width}), form.bits);
  numbers = node.cast(numbers, wide);
  GraphValue scale = node.cast(block_parameters(node, form, node.input(2), false, "scales"), wide);
  GraphValue zero = node.reshape(node.scalar(wide, 1 << (form.bits - 1)), {Dim(1), Dim(1)});
  if (node.has(3)) {
    GraphValue given = node.input(3);
    bool packed = given.dtype() == kUInt8;
    zero = node.cast(block_parameters(node, form, given, packed, "zero_points"), wide);
  }
  if (node.has(4)) {
    // Each column names the block whose parameters it has.
    GraphValue groups = node.cast(node.input(4), kInt64);
    Dim stored = Dim(form.blocks * form.block);
    node.require(
        groups.rank() == 1 && (groups.dim(0) == stored || groups.dim(0).is_int(form.columns)),
        "g_idx is " + node.input(4).type()->str() + ", no entry for each column");
    if (!groups.dim(0).is_int(form.columns)) groups = node.slice(groups, 0, 0, form.columns);
    auto of_columns = [&](const GraphValue& each) {
      if (each.dim(1).is_int(1)) return each;
      return node.emit("take", {each, inside(node, each, 1, groups)}, {{"axis", 1}});
    };
    scale = of_columns(scale);
    zero = of_columns(zero);
    numbers = node.reshape(numbers, {Dim(form.rows), stored});
    numbers = node.slice(numbers, 1, 0, form.columns);
  } else {
    scale = node.unsqueeze(scale, {2});
    zero = node.unsqueeze(zero, {2});
  }
  GraphValue weight = node.emit("multiply", {node.emit("subtract", {numbers, zero}), scale});
  if (!node.has(4)) {
    weight = node.reshape(weight, {form.rows, form.blocks * form.block});
    if (form.blocks * form.block != form.columns) weight = node.slice(weight, 1, 0, form.columns);
  }
  GraphValue result = node.emit("nn.dense", {node.cast(x, wide), weight});
  if (node.has(5)) result = node.emit("add", {result, node.cast(node.input(5), wide)});
  return {node.cast(result, x.dtype())};
}
RELAY_ONNX_DOMAIN("com.microsoft", "MatMulNBits", 1, convert_contrib_matmul_nbits)

// The 16 numbers that four bits stand for in the formats of bitsandbytes: floats of four bits,
// whose highest bit is the sign, and the quantiles of the normal distribution.
GraphValue bnb_table(NodeContext& node, int64_t type) {
  static const std::vector<float> kFloat4{
      0,  0.00520833333F,  0.66666667F,  1,  0.33333333F,  0.5F,  0.16666667F,  0.25F,
      -0, -0.00520833333F, -0.66666667F, -1, -0.33333333F, -0.5F, -0.16666667F, -0.25F};
  static const std::vector<float> kNormal4{-1,
                                           -0.696192801F,
                                           -0.525073051F,
                                           -0.394917488F,
                                           -0.284441382F,
                                           -0.184773430F,
                                           -0.0910500363F,
                                           0,
                                           0.0795802996F,
                                           0.160930201F,
                                           0.246112302F,
                                           0.337915242F,
                                           0.440709829F,
                                           0.562617004F,
                                           0.722956836F,
                                           1};
  node.require(type == 0 || type == 1, "quant_type is " + std::to_string(type));
  const std::vector<float>& table = type == 0 ? kFloat4 : kNormal4;
  return node.constant_value(NDArray::from<float>(Shape{16}, std::span<const float>(table)));
}

Values convert_contrib_matmul_bnb4(NodeContext& node) {
  GraphValue x = node.input(0), bytes = node.input(1), scale = node.input(2);
  int64_t rows = extent_attr(node, "N"), columns = extent_attr(node, "K");
  int64_t block = extent_attr(node, "block_size"), all = rows * columns;
  node.ignore({"training_mode"});
  node.require(node.attr_bool("transB", true), "transB is 0");
  node.require(x.dtype().is_float() && bytes.dtype() == kUInt8,
               "the data are no floats, or the weights no uint8");
  int64_t blocks = (all + block - 1) / block;
  require_count(node, bytes, (all + 1) / 2, "the tensor of weights");
  require_count(node, scale, blocks, "absmax");
  DType wide = x.dtype().bits < 32 ? DType(kFloat32) : x.dtype();
  // The higher bits of a byte come first, one row of the weights behind the other.
  const std::vector<uint8_t> shifts{4, 0};
  GraphValue places = node.constant_value(NDArray::from<uint8_t>(Shape{2}, shifts));
  GraphValue pairs = node.reshape(bytes, {Dim((all + 1) / 2), Dim(1)});
  pairs = node.emit("bitwise_and",
                    {node.emit("right_shift", {pairs, places}), node.scalar(kUInt8, 15)});
  GraphValue numbers = node.reshape(pairs, {Dim((all + 1) / 2 * 2)});
  if (all % 2 != 0) numbers = node.slice(numbers, 0, 0, all);
  numbers = node.emit(
      "take", {bnb_table(node, node.attr_int("quant_type", 1)), node.cast(numbers, kInt32)});
  scale = node.reshape(node.cast(scale, kFloat32), {Dim(blocks), Dim(1)});
  if (all % block == 0) {
    numbers = node.emit("multiply", {node.reshape(numbers, {Dim(blocks), Dim(block)}), scale});
  } else {
    std::vector<Dim> each{Dim(blocks), Dim(block)};
    GraphValue spread = node.reshape(node.broadcast_to(scale, each), {Dim(blocks * block)});
    numbers = node.emit("multiply", {numbers, node.slice(spread, 0, 0, all)});
  }
  GraphValue weight = node.cast(node.reshape(numbers, {Dim(rows), Dim(columns)}), wide);
  return {node.cast(node.emit("nn.dense", {node.cast(x, wide), weight}), x.dtype())};
}
RELAY_ONNX_DOMAIN("com.microsoft", "MatMulBnb4", 1, convert_contrib_matmul_bnb4)

// Elements taken along one axis, then those read as numbers: an embedding of few bits.
Values convert_contrib_gather_block_quantised(NodeContext& node) {
  GraphValue data = node.input(0), indices = node.input(1), scale = node.input(2);
  GraphValue zero = node.optional_input(3);
  int64_t bits = bits_of(node), block = node.attr_int("block_size", 128);
  constexpr int64_t kMost = int64_t{1} << 31;
  node.require(block > 0 && block < kMost && block % 8 == 0,
               "block_size is " + std::to_string(block));
  auto rank = static_cast<int64_t>(data.rank());
  int64_t along = node.axis(node.attr_int("quantize_axis", 1), data.rank(), "quantize_axis");
  int64_t axis = node.axis(node.attr_int("gather_axis", 0), data.rank(), "gather_axis");
  // Elements of a type of few bits are apart already.
  const NarrowType* narrow = narrow_type(data.narrow());
  bool packed = narrow == nullptr;
  bool fits = packed ? data.dtype() == kUInt8 : !narrow->is_float();
  node.require(fits,
               "data of " +
                   (packed ? std::string(data.dtype().name()) : dtype_number_text(narrow->number)) +
                   " are not supported");
  if (!packed) bits = 8;
  node.require(!packed || along == rank - 1, "quantize_axis of packed data is not the last one");
  node.require(axis != along, "gather_axis is quantize_axis");
  node.require(scale.rank() == data.rank() && (!zero || zero.rank() == data.rank()),
               "data, scales and zero points differ in their numbers of axes");
  // Places outside give zeros.
  GraphValue extent = extent_value(node, data, static_cast<size_t>(axis));
  GraphValue places = node.cast(indices, kInt64), none = number_value(node, 0);
  GraphValue from_end = node.emit("add", {places, extent});
  places = node.emit("where", {node.emit("less", {places, none}), from_end, places});
  GraphValue valid = node.emit("logical_and", {node.emit("greater_equal", {places, none}),
                                               node.emit("less", {places, extent})});
  places = node.emit("where", {valid, places, none});
  auto taken = [&](const GraphValue& x) {
    return node.emit("take", {x, places}, {{"axis", axis}});
  };
  GraphValue numbers = unpacked(node, taken(data), bits);
  // Where the blocks lie among what was taken.
  int64_t moved = along > axis ? along + static_cast<int64_t>(indices.rank()) - 1 : along;
  auto at = static_cast<size_t>(moved);
  auto of_elements = [&](const GraphValue& x) {
    Dim whole = numbers.dim(at);
    GraphValue each = node.emit("repeat", {x}, {{"repeats", block}, {"axis", moved}});
    Dim found = each.dim(at);
    node.require(whole.is_int() && found.is_int() && found.as_int() >= whole.as_int() &&
                     found.as_int() < whole.as_int() + block,
                 "the blocks of " + x.type()->str() + " do not fit " + numbers.type()->str());
    return found == whole ? each : node.slice(each, moved, 0, whole.as_int());
  };
  DType dtype = scale.dtype();
  GraphValue offset = node.scalar(kFloat32, packed ? 1 << (bits - 1) : 0);
  if (zero) {
    GraphValue each = unpacked(node, taken(zero), bits);
    // Half a byte may be left over.
    Dim blocks = scale.dim(static_cast<size_t>(along)), found = each.dim(at);
    node.require(blocks.is_int() && found.is_int() && found.as_int() >= blocks.as_int(),
                 "there are fewer zero points than scales");
    if (found != blocks) each = node.slice(each, moved, 0, blocks.as_int());
    offset = node.cast(of_elements(each), kFloat32);
  }
  GraphValue result = node.emit("subtract", {node.cast(numbers, kFloat32), offset});
  result = node.emit("multiply", {result, of_elements(node.cast(taken(scale), kFloat32))});
  std::vector<Dim> valid_dims(result.rank(), Dim(1));
  for (size_t k = 0; k < indices.rank(); ++k)
    valid_dims[static_cast<size_t>(axis) + k] = indices.dim(k);
  result = node.emit("where", {node.reshape(valid, valid_dims), result, node.scalar(kFloat32, 0)});
  return {node.cast(result, dtype)};
}
RELAY_ONNX_DOMAIN("com.microsoft", "GatherBlockQuantized", 1,
                  convert_contrib_gather_block_quantised)

}  // namespace
}  // namespace relay::onnx
