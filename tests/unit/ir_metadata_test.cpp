#include <gtest/gtest.h>

#include <relay/ir/metadata.h>
#include <relay/support/error.h>

namespace relay::ir_metadata_test {
namespace {

TEST(Metadata, Base64) {
  for (size_t n = 0; n < 20; ++n) {
    std::string bytes;
    for (size_t i = 0; i < n; ++i) bytes += static_cast<char>(i * 37 + 200);
    EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes);
  }
  EXPECT_EQ(encode_base64("Man"), "TWFu");
  EXPECT_EQ(encode_base64("Ma"), "TWE=");
  EXPECT_THROW(decode_base64("TW?u"), Error);
  EXPECT_THROW(decode_base64("T"), Error);
}

TEST(Metadata, TvmTensor) {
  // As TVM 0.14 wrote them: int32 [3, 1]; int8 [1, 3]; a float32 infinity.
  const char* ints = "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAAgAQACAAAAAAAAAAgAAAAAAAAAAwAAAAEAAAA=";
  NDArray a = decode_ndarray(ints);
  EXPECT_EQ(a.dtype(), kInt32);
  EXPECT_EQ(a.size(), 2);
  EXPECT_EQ(a.element_as_int64(0), 3);
  EXPECT_EQ(encode_ndarray(a), ints);
  NDArray b =
      decode_ndarray("P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAAIAQACAAAAAAAAAAIAAAAAAAAAAQM=");
  EXPECT_EQ(b.dtype(), kInt8);
  EXPECT_EQ(b.element_as_int64(1), 3);
  NDArray c = decode_ndarray("P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAAAAAAIgAQAEAAAAAAAAAAAAgH8=");
  EXPECT_EQ(c.rank(), 0u);
  EXPECT_EQ(c.item_as_double(), std::numeric_limits<double>::infinity());
}

TEST(Metadata, EveryType) {
  for (DType dtype : kAllDTypes) {
    NDArray array = NDArray::zeros(Shape{2, 0, 3}, dtype);
    EXPECT_TRUE(bit_equal(decode_ndarray(encode_ndarray(array)), array));
    NDArray one = NDArray::scalar(dtype, 1.0);
    EXPECT_TRUE(bit_equal(decode_ndarray(encode_ndarray(one)), one)) << dtype.name();
  }
}

TEST(Metadata, Malformed) {
  EXPECT_THROW(decode_ndarray(""), Error);
  EXPECT_THROW(decode_ndarray("AAAA"), Error);
  // Extent 2^62 in a text of a few bytes.
  std::string bytes = decode_base64(encode_ndarray(NDArray::zeros(Shape{2}, kInt8)));
  for (size_t i = 0; i < bytes.size(); ++i)
    EXPECT_THROW(decode_ndarray(encode_base64(bytes.substr(0, i))), Error);
  bytes[35] = 0x40;
  EXPECT_THROW(decode_ndarray(encode_base64(bytes)), Error);
}

}  // namespace
}  // namespace relay::ir_metadata_test
