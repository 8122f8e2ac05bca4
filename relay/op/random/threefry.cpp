// Random bits from keys: Threefry-4x64 of 20 rounds (Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", 2011), split by paths (Claessen and Pałka, "Splittable pseudorandom number
// generators using cryptographic hashing", 2013).
#include <array>

#include <relay/op/random/random_attrs.h>
#include <relay/op/random/threefry.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

using te::BinaryOp;
using te::Indices;
using te::Scalar;

// Words of a key: 4 that are the cipher's key, 2 of a path (a bit for each split: left 0, right 1),
// 2 of a counter, of which the last one counts the numbers drawn, and 2 with the one bit of the
// path that the next split decides, none if the path is full.
constexpr size_t kWords = 10;
constexpr size_t kPath = 4, kCounter = 7, kBit = 8;
constexpr uint64_t kTop = uint64_t{1} << 63;

using Block = std::array<Scalar, 4>;
using State = std::array<Scalar, kWords>;

Scalar word(uint64_t value) { return te::constant(static_cast<int64_t>(value), kUInt64); }
Scalar operator^(const Scalar& a, const Scalar& b) { return te::binary(BinaryOp::kXor, a, b); }
Scalar operator|(const Scalar& a, const Scalar& b) { return te::binary(BinaryOp::kOr, a, b); }
Scalar operator<<(const Scalar& a, int by) {
  return te::binary(BinaryOp::kShl, a, word(static_cast<uint64_t>(by)));
}
Scalar operator>>(const Scalar& a, int by) {
  return te::binary(BinaryOp::kShr, a, word(static_cast<uint64_t>(by)));
}

Block threefry(const Block& key, const Block& counter) {
  constexpr int kRounds = 20;
  constexpr int kRotations[8][2] = {{14, 16}, {52, 57}, {23, 40}, {5, 37},
                                    {25, 33}, {46, 12}, {58, 22}, {32, 32}};
  std::array<Scalar, 5> keys{key[0], key[1], key[2], key[3],
                             word(0x1BD11BDAA9FC1A22) ^ key[0] ^ key[1] ^ key[2] ^ key[3]};
  Block x = counter;
  auto add_keys = [&](size_t turn) {
    for (size_t i = 0; i < 4; ++i) x[i] = x[i] + keys[(turn + i) % 5];
    if (turn > 0) x[3] = x[3] + word(turn);
  };
  auto mix = [&](size_t a, size_t b, int rotation) {
    x[a] = x[a] + x[b];
    x[b] = ((x[b] << rotation) | (x[b] >> (64 - rotation))) ^ x[a];
  };
  add_keys(0);
  for (int round = 0; round < kRounds; ++round) {
    const int* rotation = kRotations[round % 8];
    bool even = round % 2 == 0;
    mix(0, even ? 1 : 3, rotation[0]);
    mix(2, even ? 3 : 1, rotation[1]);
    if (round % 4 == 3) add_keys(static_cast<size_t>(round / 4 + 1));
  }
  return x;
}

State read_state(const te::Tensor& key) {
  State state;
  for (size_t i = 0; i < kWords; ++i) state[i] = key({te::index_constant(static_cast<int64_t>(i))});
  return state;
}

Scalar path_is_full(const State& state) {
  return state[kBit] == word(0) && state[kBit + 1] == word(0);
}

// The bit after, in two words.
void next_bit(const State& state, State& next) {
  next[kBit] = state[kBit] >> 1;
  next[kBit + 1] = te::select(state[kBit] == word(1), word(kTop), state[kBit + 1] >> 1);
}

// A state whose path and counter are hashed into its key.
State rekeyed(const State& state, const Block& counter) {
  Block key = threefry({state[0], state[1], state[2], state[3]}, counter);
  return {key[0], key[1], key[2], key[3], word(0), word(0), word(0), word(0), word(kTop), word(0)};
}

State choose(const Scalar& condition, const State& a, const State& b) {
  State result;
  for (size_t i = 0; i < kWords; ++i) result[i] = te::select(condition, a[i], b[i]);
  return result;
}

// The words of a state, each a tensor: they are computed once, not for each number.
std::vector<te::Tensor> as_stage(te::Builder& b, const State& state) {
  return b.map_n(std::span<const Dim>(),
                 [&](Indices) { return std::vector<Scalar>(state.begin(), state.end()); });
}

te::Tensor key_of(te::Builder& b, const State& state) {
  std::vector<te::Tensor> words = as_stage(b, state);
  std::vector<Dim> ones(kWords, Dim(1));
  return b.map({static_cast<int64_t>(kWords)}, [&](Indices i) {
    return te::piecewise(i[0], ones, [&](size_t k, const Scalar&) { return words[k](Indices()); });
  });
}

}  // namespace

TypeRef key_type(const RelationCall& call) {
  te::TensorInfo key = call.tensor(0);
  call.require_equal(
      key.dims[0], Dim(static_cast<int64_t>(kWords)),
      "a key has " + std::to_string(kWords) + " words, found " + call.input(0)->str());
  Dim dims[] = {static_cast<int64_t>(kWords)};
  return TensorType::make(dims, kUInt64);
}

std::vector<Dim> drawn_dims(const RelationCall& call, const std::vector<int64_t>& shape) {
  std::vector<Dim> dims;
  __int128 count = 1;
  for (int64_t extent : shape) {
    call.require(extent >= 0, "an extent of out_shape is " + std::to_string(extent));
    count = count * extent;
    call.require(extent <= kLargestExtent && count <= kLargestExtent,
                 "out_shape has more elements than a tensor can have");
    dims.emplace_back(extent);
  }
  return dims;
}

Drawn draw(te::Builder& b, const te::Tensor& key, const std::vector<Dim>& dims,
           const std::function<Scalar(Scalar bits)>& convert) {
  Dim blocks = ceil_div(product(dims), 4);
  Scalar drawn = te::cast(te::from_dim(blocks * 4), kUInt64);
  State given = read_state(key);

  // If the counter has no room for them, the path grows by a 1, or a new key is made.
  State longer = given;
  for (size_t k = 0; k < 2; ++k) longer[kPath + k] = given[kPath + k] | given[kBit + k];
  longer[kCounter - 1] = longer[kCounter] = word(0);
  next_bit(given, longer);
  State fresh =
      rekeyed(given, {given[kPath], given[kPath + 1], word(~uint64_t{0}), word(~uint64_t{0})});
  Scalar room = given[kCounter] < word(~uint64_t{0}) - drawn;
  std::vector<te::Tensor> words =
      as_stage(b, choose(room, given, choose(path_is_full(given), fresh, longer)));
  State state;
  for (size_t k = 0; k < kWords; ++k) state[k] = words[k](Indices());
  State after = state;
  after[kCounter] = state[kCounter] + drawn;

  std::vector<te::Tensor> parts = b.map_n({blocks}, [&](Indices i) {
    Scalar from = state[kCounter] + te::cast(i[0], kUInt64) * word(4);
    Block bits = threefry({state[0], state[1], state[2], state[3]},
                          {state[kPath], state[kPath + 1], state[kCounter - 1], from});
    std::vector<Scalar> numbers;
    for (const Scalar& each : bits) numbers.push_back(convert(each));
    return numbers;
  });
  te::Tensor flat = b.map({blocks, 4}, [&](Indices i) {
    return te::piecewise(i[1], {1, 1, 1, 1},
                         [&](size_t k, const Scalar&) { return parts[k]({i[0]}); });
  });
  std::vector<Dim> strides(dims.size(), Dim(1));
  for (size_t k = dims.size(); k-- > 1;) strides[k - 1] = strides[k] * dims[k];
  return {key_of(b, after), b.view(flat, 0, dims, strides)};
}

namespace {

TypeRef infer_generate(const RelationCall& call) {
  std::vector<Dim> dims = drawn_dims(call, call.attrs<ThreefryGenerateAttrs>().out_shape);
  return TupleType::make({key_type(call), TensorType::make(dims, kUInt64)});
}

void compute_generate(const OpCall& call, te::Builder& b) {
  Drawn drawn = draw(b, b.input(0), call.result(1).dims, [](Scalar bits) { return bits; });
  b.output(drawn.key);
  b.output(drawn.numbers);
}

TypeRef infer_split(const RelationCall& call) {
  TypeRef key = key_type(call);
  return TupleType::make({key, key});
}

void compute_split(const OpCall&, te::Builder& b) {
  State given = read_state(b.input(0));
  State fresh =
      rekeyed(given, {given[kPath], given[kPath + 1], given[kCounter - 1], given[kCounter]});
  std::vector<te::Tensor> words = as_stage(b, choose(path_is_full(given), fresh, given));
  State state;
  for (size_t k = 0; k < kWords; ++k) state[k] = words[k](Indices());
  State left = state;
  next_bit(state, left);
  State right = left;
  for (size_t k = 0; k < 2; ++k) right[kPath + k] = state[kPath + k] | state[kBit + k];
  b.output(key_of(b, left));
  b.output(key_of(b, right));
}

RELAY_OP("random.threefry_generate")
    .doc(
        "Random bits: Threefry-4x64 of 20 rounds on the key's path and counter, four numbers for "
        "each block. A key always gives the same numbers.")
    .input("key", kKeyDoc, tensor(kUInt64).rank(1))
    .output("key", "The key to go on with.", tensor(kUInt64).rank(1))
    .output("bits", "Numbers, all of their bits random.", tensor(kUInt64))
    .attrs<ThreefryGenerateAttrs>()
    .relation(infer_generate)
    .example("fn (%key: Tensor[(10), uint64]) { random.threefry_generate(%key, out_shape=[2, 2]) }",
             "[7, 0, 0, 0, 0, 0, 0, 0, 9223372036854775808, 0]")
    .level(10)
    .compute(compute_generate);

RELAY_OP("random.threefry_split")
    .doc(
        "Two keys whose numbers have nothing to do with each other. The key itself is used up: the "
        "left one gives its numbers.")
    .input("key", kKeyDoc, tensor(kUInt64).rank(1))
    .output("left", "A key.", tensor(kUInt64).rank(1))
    .output("right", "Another key.", tensor(kUInt64).rank(1))
    .relation(infer_split)
    .example("fn (%key: Tensor[(10), uint64]) { random.threefry_split(%key) }",
             "[7, 0, 0, 0, 0, 0, 0, 0, 9223372036854775808, 0]")
    .level(10)
    .compute(compute_split);

}  // namespace
}  // namespace relay
