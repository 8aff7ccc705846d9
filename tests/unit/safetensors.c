/* safetensors.c -- every rule of the format broken once; files written and read back.
   SPDX-License-Identifier: Apache-2.0

   Rules and golden file: the tests of huggingface/safetensors (safetensors/src/tensor.rs).  */

#include <config.h>

#include <math.h>
#include <stdint.h>

#include <minimind/hash.h>
#include <minimind/safetensors.h>

#include "../tap.h"
#include "scratch.h"

static int
says (const char *part)
{
  return strstr (mm_error_message (), part) != NULL;
}

/* A file of header TEXT and SIZE bytes 0, 1, 2...; N stands for the header's length.  */
static void
put_file (const char *text, uint64_t n, size_t size)
{
  size_t length = strlen (text);
  char *data = malloc (8 + length + size);

  for (int i = 0; i < 8; i++)
    data[i] = (char) (n >> 8 * i);
  memcpy (data + 8, text, length);
  for (size_t i = 0; i < size; i++)
    data[8 + length + i] = (char) i;
  scratch_put ("x", data, 8 + length + size);
  free (data);
}

static mm_status
open_file (void)
{
  struct mm_safetensors *f;
  mm_status st = mm_safetensors_open ("x", &f);

  if (st < 0 && (f || !says ("x: ")))
    printf ("# message without the file's name, or a file: %s\n", mm_error_message ());
  mm_safetensors_close (f);
  return st;
}

static mm_status
open_header (const char *text, size_t size)
{
  put_file (text, strlen (text), size);
  return open_file ();
}

/* One tensor "t" with these fields and SIZE bytes of data.  */
static mm_status
open_tensor (const char *fields, size_t size)
{
  char text[1000];

  snprintf (text, sizeof text, "{\"t\":{%s}}", fields);
  return open_header (text, size);
}

static void
test_golden (void)
{
  static const char header[] = "{\"test\":{\"dtype\":\"I32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}";
  char bytes[8 + 60 + 16] = "\x3c\0\0\0\0\0\0";
  struct mm_safetensors *f;
  const struct mm_tensor *t;
  int32_t values[4] = { 1, 1, 1, 1 }, none[4] = { 0 };

  memcpy (bytes + 8, header, 60);
  scratch_put ("x", bytes, sizeof bytes);
  ok (mm_safetensors_open ("x", &f) == MM_OK && mm_safetensors_count (f) == 1, "the golden file");
  t = mm_safetensors_at (f, 0);
  ok (strcmp (t->name, "test") == 0 && t->dtype == MM_I32 && t->n_dims == 2 && t->shape[0] == 2
      && t->shape[1] == 2 && t->offset == 68 && t->size == 16, "its tensor");
  ok (mm_safetensors_read (f, t, 0, values, 16) == MM_OK && memcmp (values, none, 16) == 0, "its values");
  ok (mm_safetensors_find (f, "test") == t && !mm_safetensors_find (f, "tes"), "found by name");
  ok (strcmp (mm_safetensors_path (f), "x") == 0 && mm_safetensors_size (f) == sizeof bytes, "path, size");
  ok (mm_safetensors_meta (f, "format") == NULL, "no metadata");
  mm_safetensors_close (f);
  mm_safetensors_close (NULL);
  for (size_t n = 0; n < sizeof bytes; n++)
    {
      scratch_put ("x", bytes, n);
      if (open_file () != MM_EFORMAT)
        break;
      if (n == sizeof bytes - 1)
        ok (1, "cut off at any byte, it is refused");
    }
  ok (truncate ("x", sizeof bytes + 1) == 0 && open_file () == MM_EFORMAT && says ("follow"),
      "with one byte more as well");
}

static void
test_header (void)
{
  ok (mm_safetensors_open ("none", &(struct mm_safetensors *) { NULL }) == MM_ENOENT, "missing file");
  ok (mm_safetensors_open (".", &(struct mm_safetensors *) { NULL }) == MM_EIO, "folder");
  put_file ("{}", 100000001, 0);
  ok (open_file () == MM_EFORMAT && says ("at most 100000000"), "header too large");
  put_file ("{}", UINT64_C (1) << 63, 0);
  ok (open_file () == MM_EFORMAT && says ("9223372036854775808"), "header of 2^63 bytes");
  put_file ("{}", UINT64_MAX, 0);
  ok (open_file () == MM_EFORMAT, "header of 2^64 - 1 bytes");
  put_file ("{}", 3, 0);
  ok (open_file () == MM_EFORMAT && says ("truncated"), "header longer than the file");
  put_file ("", 0, 0);
  ok (open_file () == MM_EFORMAT, "header of no bytes");
  ok (open_header ("{}", 0) == MM_OK, "no tensors");
  ok (open_header ("{} \t\r\n", 0) == MM_OK, "blanks behind");
  ok (open_header (" {}", 0) == MM_EFORMAT && says ("'{'"), "blanks before");
  ok (open_header ("[]", 0) == MM_EFORMAT, "an array");
  ok (open_header ("{\"a\":", 0) == MM_EFORMAT, "half a header");
  ok (open_header ("{}x", 0) == MM_EFORMAT, "text behind");
  ok (open_header ("{\"\xff\":1}", 0) == MM_EFORMAT, "invalid UTF-8");
  ok (open_header ("{}", 1) == MM_EFORMAT, "data of no tensor");
  ok (open_header ("{\"__metadata__\":{\"a\":\"b\"}}", 0) == MM_OK, "metadata alone");
  ok (open_header ("{\"__metadata__\":{\"a\":1}}", 0) == MM_EFORMAT && says ("a: want a string"),
      "metadata that is a number");
  ok (open_header ("{\"__metadata__\":[]}", 0) == MM_EFORMAT, "metadata that is an array");
  ok (open_header ("{\"__metadata__\":{},\"__metadata__\":{}}", 0) == MM_EFORMAT, "metadata twice");
  ok (open_header ("{\"__metadata__\":{\"a\":\"b\",\"a\":\"b\"}}", 0) == MM_EFORMAT, "a metadata key twice");
}

static void
test_fields (void)
{
  ok (open_tensor ("\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]", 2) == MM_OK, "a good tensor");
  ok (open_tensor ("\"shape\":[2],\"data_offsets\":[0,2]", 2) == MM_EFORMAT && says ("t: "), "no dtype");
  ok (open_tensor ("\"dtype\":\"U9\",\"shape\":[2],\"data_offsets\":[0,2]", 2) == MM_EFORMAT
      && says ("unknown dtype U9"), "unknown dtype");
  ok (open_tensor ("\"dtype\":3,\"shape\":[2],\"data_offsets\":[0,2]", 2) == MM_EFORMAT, "dtype a number");
  ok (open_tensor ("\"dtype\":\"U8\",\"data_offsets\":[0,2]", 2) == MM_EFORMAT, "no shape");
  ok (open_tensor ("\"dtype\":\"U8\",\"shape\":2,\"data_offsets\":[0,2]", 2) == MM_EFORMAT, "shape no array");
  ok (open_tensor ("\"dtype\":\"U8\",\"shape\":[2.0],\"data_offsets\":[0,2]", 2) == MM_EFORMAT, "shape real");
  ok (open_tensor ("\"dtype\":\"U8\",\"shape\":[\"2\"],\"data_offsets\":[0,2]", 2) == MM_EFORMAT, "string");
  ok (open_tensor ("\"dtype\":\"U8\",\"shape\":[-2],\"data_offsets\":[0,2]", 2) == MM_EFORMAT, "negative");
  ok (open_tensor ("\"dtype\":\"U8\",\"shape\":[2]", 2) == MM_EFORMAT, "no offsets");
  ok (open_tensor ("\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0]", 2) == MM_EFORMAT, "one offset");
  ok (open_tensor ("\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2,2]", 2) == MM_EFORMAT, "three");
  ok (open_tensor ("\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[-2,0]", 2) == MM_EFORMAT
      && says ("unsigned"), "negative offset");
  ok (open_tensor ("\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,1e0]", 2) == MM_EFORMAT, "real offset");
  ok (open_tensor ("\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,0]", 2) == MM_EFORMAT
      && says ("before"), "end before begin");
  ok (open_tensor ("\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,2]", 2) == MM_EFORMAT
      && says ("has 2 bytes, want 3"), "too small for its shape");
  ok (open_tensor ("\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]", 1) == MM_EFORMAT, "half a byte");
  ok (open_tensor ("\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[0,2]", 2) == MM_OK, "four bits each");
  ok (open_tensor ("\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[0,3]", 3) == MM_OK, "six bits each");
  ok (open_tensor ("\"dtype\":\"U8\",\"shape\":[4194305,4194305,211106198978564],\"data_offsets\":[0,4]", 4)
      == MM_EFORMAT, "a product that wraps to the right size");
  ok (open_tensor ("\"dtype\":\"U64\",\"shape\":[2305843009213693953],\"data_offsets\":[0,8]", 8)
      == MM_EFORMAT, "times its bits, it wraps");
  ok (open_tensor ("\"dtype\":\"U8\",\"shape\":[18446744073709551615],\"data_offsets\":[0,8]", 8)
      == MM_EFORMAT, "a dimension of 2^64 - 1");
  ok (open_tensor ("\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]", 1) == MM_OK,
      "8 dimensions");
  ok (open_tensor ("\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]", 1) == MM_EUNSUP
      && says ("9 dimensions"), "9 dimensions");
  ok (open_tensor ("\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]", 4) == MM_OK, "a scalar");
  ok (open_tensor ("\"dtype\":\"F32\",\"shape\":[0,7],\"data_offsets\":[0,0]", 0) == MM_OK, "an empty tensor");
  ok (open_header ("{\"t\":[]}", 0) == MM_EFORMAT && says ("t: want an object"), "no object");
}

#define ENTRY(name, begin, end, bytes) \
  "\"" name "\":{\"dtype\":\"U8\",\"shape\":[" bytes "],\"data_offsets\":[" begin "," end "]}"

static void
test_places (void)
{
  struct mm_safetensors *f;

  ok (open_header ("{" ENTRY ("b", "2", "4", "2") "," ENTRY ("a", "0", "2", "2") "}", 4) == MM_OK,
      "names in any order");
  ok (open_header ("{" ENTRY ("a", "0", "2", "2") "," ENTRY ("b", "1", "3", "2") "}", 3) == MM_EFORMAT
      && says ("overlap"), "overlap");
  ok (open_header ("{" ENTRY ("a", "0", "2", "2") "," ENTRY ("b", "0", "2", "2") "}", 2) == MM_EFORMAT
      && says ("overlap"), "two names for the same bytes");
  ok (open_header ("{" ENTRY ("a", "0", "2", "2") "," ENTRY ("b", "3", "5", "2") "}", 5) == MM_EFORMAT
      && says ("hole"), "a hole");
  ok (open_header ("{" ENTRY ("a", "1", "3", "2") "}", 3) == MM_EFORMAT && says ("hole"), "at the start");
  ok (open_header ("{" ENTRY ("a", "0", "2", "2") "}", 3) == MM_EFORMAT, "data behind");
  ok (open_header ("{" ENTRY ("a", "0", "2", "2") "," ENTRY ("b", "2", "4", "2") "}", 3) == MM_EFORMAT
      && says ("truncated"), "data missing");
  ok (open_header ("{" ENTRY ("a", "9223372036854775806", "9223372036854775807", "1") "}", 1) == MM_EFORMAT,
      "an offset near 2^63");
  ok (open_header ("{" ENTRY ("a", "0", "9223372036854775807", "9223372036854775807") "}", 1) == MM_EFORMAT,
      "a size near 2^63");
  ok (open_header ("{" ENTRY ("a", "0", "2", "2") "," ENTRY ("a", "0", "2", "2") "}", 2) == MM_EFORMAT
      && says ("duplicate"), "a name twice");
  ok (open_header ("{" ENTRY ("a", "0", "1", "1") "," ENTRY ("\\u0061", "1", "2", "1") "}", 2) == MM_EFORMAT,
      "twice, once in another spelling");
  ok (open_header ("{" ENTRY ("b", "2", "4", "2") "," ENTRY ("e", "2", "2", "0") ","
                   ENTRY ("f", "2", "2", "0") "," ENTRY ("\\ud83d\\ude00", "0", "2", "2") "}", 4) == MM_OK,
      "empty tensors at one place");
  ok (mm_safetensors_open ("x", &f) == MM_OK && strcmp (mm_safetensors_at (f, 0)->name, "😀") == 0
      && strcmp (mm_safetensors_at (f, 3)->name, "b") == 0, "in order of offsets, names decoded");
  mm_safetensors_close (f);
}

static void
test_reading (void)
{
  struct mm_safetensors *f = NULL;
  const struct mm_tensor *t;
  unsigned char data[4];

  ok (open_header ("{\"__metadata__\":{\"k\":\"v\",\"l\":\"w\"}," ENTRY ("a", "0", "4", "4") "}", 4) == MM_OK
      && mm_safetensors_open ("x", &f) == MM_OK, "a file");
  t = mm_safetensors_find (f, "a");
  ok (mm_safetensors_read (f, t, 1, data, 2) == MM_OK && data[0] == 1 && data[1] == 2, "a piece");
  ok (mm_safetensors_read (f, t, 4, data, 0) == MM_OK, "nothing at the end");
  ok (mm_safetensors_read (f, t, 3, data, 2) == MM_EINVAL && says ("a: "), "beyond the end");
  ok (mm_safetensors_read (f, t, UINT64_MAX, data, 2) == MM_EINVAL, "far beyond");
  ok (mm_safetensors_want (f, "a", MM_U8, 1, &t) == MM_OK, "as wanted");
  ok (mm_safetensors_want (f, "a", MM_U8, 2, &t) == MM_EFORMAT && says ("1 dimension, want U8 and 2"),
      "other dimensions");
  ok (mm_safetensors_want (f, "a", MM_I8, 1, &t) == MM_EFORMAT && says ("dtype U8"), "another dtype");
  ok (mm_safetensors_want (f, "b", MM_U8, 1, &t) == MM_EFORMAT && says ("b") && !t, "no such tensor");
  const char *key, *value;
  ok (strcmp (mm_safetensors_meta (f, "l"), "w") == 0 && !mm_safetensors_meta (f, "m"), "metadata");
  ok (mm_safetensors_meta_at (f, 1, &key, &value) && strcmp (key, "l") == 0 && strcmp (value, "w") == 0
      && !mm_safetensors_meta_at (f, 2, &key, &value), "walked");
  ok (mm_safetensors_read_f32 (f, mm_safetensors_find (f, "a"), (float[4]) { 0 }) == MM_EUNSUP
      && says ("U8"), "U8 is not taken for numbers");
  t = mm_safetensors_find (f, "a");
  ok (truncate ("x", 20) == 0 && mm_safetensors_read (f, t, 0, data, 4) == MM_EIO && says ("shorter"),
      "a file that was cut off meanwhile");
  mm_safetensors_close (f);
}

static void
test_floats (void)
{
  static const uint16_t f16[] = { 0x3c00, 0xc000, 0x0001, 0x83ff, 0x7bff, 0x7c00, 0xfe00, 0x8000, 0x3555, 0x0400 };
  static const float want16[] = { 1, -2, 0x1p-24f, -1023 * 0x1p-24f, 65504, INFINITY, NAN, -0.0f,
                                  0x1.554p-2f, 0x1p-14f };
  static const uint16_t bf16[] = { 0x3f80, 0xc000, 0x0001, 0x7f80 };
  static const float wantb[] = { 1, -2, 0x1p-133f, INFINITY };
  static const double f64[] = { 0.1, 1e300, -2 };
  static const float want64[] = { 0.1f, INFINITY, -2 }, f32[] = { 1, 2, 3 };
  struct mm_safetensors_writer *w;
  struct mm_safetensors *f;
  float got[10];
  int same = 1;

  ok (mm_safetensors_create ("floats", false, false, &w) == MM_OK
      && mm_safetensors_declare (w, "h", MM_F16, 1, (uint64_t[]) { 10 }) == MM_OK
      && mm_safetensors_declare (w, "b", MM_BF16, 1, (uint64_t[]) { 4 }) == MM_OK
      && mm_safetensors_declare (w, "d", MM_F64, 1, (uint64_t[]) { 3 }) == MM_OK
      && mm_safetensors_declare (w, "f", MM_F32, 2, (uint64_t[]) { 3, 1 }) == MM_OK
      && mm_safetensors_write (w, "h", f16, sizeof f16) == MM_OK
      && mm_safetensors_write (w, "b", bf16, sizeof bf16) == MM_OK
      && mm_safetensors_write (w, "d", f64, sizeof f64) == MM_OK
      && mm_safetensors_write (w, "f", f32, sizeof f32) == MM_OK
      && mm_safetensors_commit (w, NULL) == MM_OK && mm_safetensors_open ("floats", &f) == MM_OK,
      "a file of four kinds of floats");
  ok (mm_safetensors_read_f32 (f, mm_safetensors_find (f, "h"), got) == MM_OK, "F16 is read");
  for (int i = 0; i < 10; i++)
    same &= isnan (want16[i]) ? isnan (got[i]) != 0 : memcmp (&got[i], &want16[i], 4) == 0;
  ok (same, "exactly: subnormals, infinity, NaN and zeros too");
  ok (mm_safetensors_read_f32 (f, mm_safetensors_find (f, "b"), got) == MM_OK
      && memcmp (got, wantb, sizeof wantb) == 0, "BF16");
  ok (mm_safetensors_read_f32 (f, mm_safetensors_find (f, "d"), got) == MM_OK
      && memcmp (got, want64, sizeof want64) == 0, "F64, rounded once");
  ok (mm_safetensors_read_f32 (f, mm_safetensors_find (f, "f"), got) == MM_OK
      && memcmp (got, f32, sizeof f32) == 0, "F32");
  mm_safetensors_close (f);
}

/* Write the same contents in another order; GROWING lets a tensor grow.  */
static mm_status
write_three (const char *path, bool backwards, bool growing, char *sha256)
{
  static const int64_t wide[2] = { 7, -8 };
  static unsigned char bytes[150000];
  static const uint16_t ids[6] = { 1, 2, 3, 4, 5, 6 };
  struct mm_safetensors_writer *w;
  uint64_t rows = growing ? MM_GROWING : 3;
  mm_status st = mm_safetensors_create (path, true, false, &w);

  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (unsigned char) (i * 7 >> 3);
  if (st == MM_OK && backwards)
    st = mm_safetensors_add_meta (w, "kind", "test");
  if (st == MM_OK)
    st = mm_safetensors_declare (w, "a", MM_U8, 1, (uint64_t[]) { sizeof bytes });
  if (st == MM_OK)
    st = mm_safetensors_declare (w, "ids", MM_U16, 2, (uint64_t[]) { rows, 2 });
  if (st == MM_OK)
    st = mm_safetensors_declare (w, "wide", MM_I64, 1, (uint64_t[]) { 2 });
  for (size_t at = 0; st == MM_OK && at < sizeof bytes; at += 75000)
    {
      st = mm_safetensors_write (w, "a", bytes + at, 1);
      if (st == MM_OK)
        st = mm_safetensors_write (w, "ids", ids + at / 25000, 6);
      if (st == MM_OK)
        st = mm_safetensors_write (w, "a", bytes + at + 1, 74999);
      if (st == MM_OK)
        st = mm_safetensors_write (w, "wide", wide + at / 75000, 8);
    }
  if (st == MM_OK)
    st = mm_safetensors_add_meta (w, "author", "me");
  if (st == MM_OK && !backwards)
    st = mm_safetensors_add_meta (w, "kind", "test");
  if (st < 0)
    {
      mm_safetensors_abort (w);
      return st;
    }
  return mm_safetensors_commit (w, sha256);
}

static int
same_files (const char *a, const char *b)
{
  char x[MM_SHA256_TEXT], y[MM_SHA256_TEXT];

  return mm_sha256_file (a, x) == MM_OK && mm_sha256_file (b, y) == MM_OK && strcmp (x, y) == 0;
}

/* Two growing tensors, the larger one written straight into the file; its place is right where EXPECTED is 24.
   Metadata as long as LONG_META is added at the end, when the header's size is taken for known.  */
static mm_status
write_direct (const char *path, bool direct, uint64_t expected, size_t long_meta, char *sha256)
{
  static uint16_t ids[300000];
  static char meta[5000];
  struct mm_safetensors_writer *w;
  mm_status st = mm_safetensors_create (path, true, false, &w);

  memset (meta, 'm', long_meta);
  meta[long_meta] = '\0';
  for (size_t i = 0; i < 300000; i++)
    ids[i] = (uint16_t) (i * 31 >> 4);
  if (st == MM_OK)
    st = mm_safetensors_declare (w, "text", MM_U8, 1, (uint64_t[]) { 5 });
  if (st == MM_OK)
    st = mm_safetensors_declare (w, "ids", MM_U16, 1, (uint64_t[]) { MM_GROWING });
  if (st == MM_OK)
    st = mm_safetensors_declare (w, "offsets", MM_I64, 1, (uint64_t[]) { MM_GROWING });
  if (st == MM_OK)
    st = mm_safetensors_write (w, "text", "hello", 5);
  if (st == MM_OK && direct)
    st = mm_safetensors_direct (w, "ids", expected);
  for (int i = 0; st == MM_OK && i < 3; i++)
    {
      st = mm_safetensors_write (w, "ids", ids + 100000 * i, 200000);
      if (st == MM_OK)
        st = mm_safetensors_write (w, "offsets", (int64_t[]) { i }, 8);
    }
  if (st == MM_OK)
    st = mm_safetensors_add_meta (w, "long", meta);
  if (st == MM_OK)
    return mm_safetensors_commit (w, sha256);
  mm_safetensors_abort (w);
  return st;
}

static void
test_direct (void)
{
  static const uint64_t expected[] = { 24, 0, 16, 32, 2000000, MM_GROWING };
  char want[MM_SHA256_TEXT], got[MM_SHA256_TEXT], path[16];
  struct mm_safetensors_writer *w;
  bool good = write_direct ("w/spooled", false, 0, 10, want) == MM_OK;

  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
    {
      snprintf (path, sizeof path, "w/direct%zu", i);
      good &= write_direct (path, true, expected[i], 10, got) == MM_OK && same_files (path, "w/spooled")
              && strcmp (want, got) == 0;
    }
  ok (good, "a growing tensor written to its place, to one before and behind it: equal bytes, equal hashes");
  good = write_direct ("w/longer", false, 0, 4500, want) == MM_OK
         && write_direct ("w/direct-longer", true, 24, 4500, NULL) == MM_OK
         && same_files ("w/longer", "w/direct-longer");
  ok (good, "and where the header becomes longer");
  ok (write_direct ("/dev/null", true, 24, 10, got) == MM_OK && write_direct ("w/again", false, 0, 10, want) == MM_OK
      && strcmp (want, got) == 0, "a device is written in order");
  if (mm_safetensors_create ("w/wrong", true, false, &w) < 0
      || mm_safetensors_declare (w, "a", MM_U8, 1, (uint64_t[]) { 5 }) < 0
      || mm_safetensors_declare (w, "b", MM_U8, 1, (uint64_t[]) { MM_GROWING }) < 0)
    exit (99);
  ok (mm_safetensors_direct (w, "a", 0) == MM_EINVAL && mm_safetensors_direct (w, "c", 0) == MM_EINVAL
      && mm_safetensors_direct (w, "b", 0) == MM_OK && mm_safetensors_direct (w, "b", 0) == MM_EINVAL,
      "only one that grows, once");
  mm_safetensors_abort (w);
}

static void
test_layout (void)
{
  char sha[MM_SHA256_TEXT], grown[MM_SHA256_TEXT], real[MM_SHA256_TEXT];
  struct mm_safetensors *f;
  const struct mm_tensor *t;
  uint16_t ids[6];
  char header[300] = "";
  FILE *file;

  mkdir ("w", 0777);
  ok (write_three ("w/1", false, false, sha) == MM_OK && mm_sha256_file ("w/1", real) == MM_OK
      && strcmp (sha, real) == 0, "written, and the hash is that of the file");
  ok (write_three ("w/2", true, false, NULL) == MM_OK && same_files ("w/1", "w/2"),
      "equal contents in another order give equal bytes");
  ok (write_three ("w/3", true, true, grown) == MM_OK && same_files ("w/1", "w/3")
      && strcmp (sha, grown) == 0, "and with a growing tensor");
  ok (scratch_count ("w") == 3, "nothing else is left");
  ok (mm_safetensors_open ("w/3", &f) == MM_OK, "read back");
  t = mm_safetensors_at (f, 0);
  ok (strcmp (t->name, "wide") == 0 && t->offset == 4096, "widest first, at byte 4096");
  t = mm_safetensors_at (f, 1);
  ok (strcmp (t->name, "ids") == 0 && t->shape[0] == 3 && t->shape[1] == 2 && t->offset == 4096 + 16,
      "then the one that grew");
  ok (mm_safetensors_read (f, t, 0, ids, sizeof ids) == MM_OK && ids[0] == 1 && ids[5] == 6, "its values");
  ok (strcmp (mm_safetensors_meta (f, "format"), "pt") == 0
      && strcmp (mm_safetensors_meta (f, "author"), "me") == 0, "metadata");
  mm_safetensors_close (f);
  file = fopen ("w/1", "rb");
  ok (file && fseek (file, 8, SEEK_SET) == 0 && fread (header, 1, 299, file) == 299
      && strncmp (header, "{\"__metadata__\":{\"author\":\"me\",\"format\":\"pt\",\"kind\":\"test\"},"
                  "\"wide\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16]},"
                  "\"ids\":{\"dtype\":\"U16\",\"shape\":[3,2],\"data_offsets\":[16,28]},"
                  "\"a\":{\"dtype\":\"U8\",\"shape\":[150000],\"data_offsets\":[28,150028]}}   ", 225) == 0,
      "the header's bytes");
  if (file)
    fclose (file);
}

/* Metadata that comes late may push the data to the next page; 3 MB do not fit the copy's buffer.  */
static void
test_late_metadata (void)
{
  struct mm_safetensors_writer *w;
  struct mm_safetensors *f;
  size_t size = 3 << 20;
  unsigned *data = malloc (size), *back = malloc (size);
  char *late = malloc (5001), sha[MM_SHA256_TEXT], real[MM_SHA256_TEXT];

  for (size_t i = 0; i < size / 4; i++)
    data[i] = (unsigned) i * 2654435761u;
  memset (late, 'm', 5000);
  late[5000] = '\0';
  ok (mm_safetensors_create ("late", true, false, &w) == MM_OK
      && mm_safetensors_declare (w, "d", MM_U32, 1, (uint64_t[]) { size / 4 }) == MM_OK
      && mm_safetensors_write (w, "d", data, size) == MM_OK
      && mm_safetensors_add_meta (w, "late", late) == MM_OK && mm_safetensors_commit (w, sha) == MM_OK,
      "5,000 bytes of metadata after the data");
  ok (mm_safetensors_open ("late", &f) == MM_OK && mm_safetensors_at (f, 0)->offset == 8192
      && mm_safetensors_read (f, mm_safetensors_at (f, 0), 0, back, size) == MM_OK
      && memcmp (data, back, size) == 0, "the data moved by a page, whole");
  ok (mm_sha256_file ("late", real) == MM_OK && strcmp (sha, real) == 0, "the hash is that of the file");
  mm_safetensors_close (f);
  free (data);
  free (back);
  free (late);
}

static void
test_writer_errors (void)
{
  struct mm_safetensors_writer *w;
  uint64_t two[] = { 2 }, growing[] = { MM_GROWING }, ones[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };

  mkdir ("e", 0777);
  scratch_put ("e/old", "old", 3);
  ok (mm_safetensors_create ("e/old", true, false, &w) == MM_EEXIST, "existing output");
  ok (mm_safetensors_create ("e/old", false, false, &w) == MM_EEXIST && !w, "existing file in a folder");
  ok (mm_safetensors_create ("none/f", true, false, &w) == MM_EIO, "no folder");
  ok (mm_safetensors_create ("e/f", false, false, &w) == MM_OK, "begun");
  ok (mm_safetensors_declare (w, "t", MM_U16, 1, two) == MM_OK, "declared");
  ok (mm_safetensors_declare (w, "t", MM_U16, 1, two) == MM_EINVAL && says ("t: name"), "declared twice");
  ok (mm_safetensors_declare (w, "__metadata__", MM_U16, 1, two) == MM_EINVAL, "metadata's name");
  ok (mm_safetensors_declare (w, "u", MM_U16, 9, ones) == MM_EINVAL, "9 dimensions");
  ok (mm_safetensors_declare (w, "u", MM_F4, 1, ones) == MM_EINVAL, "half a byte");
  ok (mm_safetensors_declare (w, "u", MM_U16, 2, (uint64_t[]) { UINT64_C (1) << 62, 4 }) == MM_EINVAL,
      "a product that wraps");
  ok (mm_safetensors_declare (w, "u", MM_U16, 2, (uint64_t[]) { MM_GROWING, 0 }) == MM_EINVAL, "empty rows");
  ok (mm_safetensors_add_meta (w, "k", "\xff") == MM_EINVAL, "metadata in invalid UTF-8");
  ok (mm_safetensors_write (w, "v", "ab", 2) == MM_EINVAL && says ("v: "), "an undeclared tensor");
  ok (mm_safetensors_declare (w, "u", MM_U16, 1, two) == MM_EINVAL && says ("after"), "declared too late");
  ok (mm_safetensors_write (w, "t", "abc", 3) == MM_OK, "three of four bytes");
  ok (mm_safetensors_write (w, "t", "de", 2) == MM_EINVAL && says ("more than"), "five are too many");
  ok (mm_safetensors_commit (w, NULL) == MM_EINVAL && says ("3 bytes written, want 4")
      && scratch_count ("e") == 1, "incomplete: nothing is left");
  ok (mm_safetensors_create ("e/f", true, false, &w) == MM_OK
      && mm_safetensors_declare (w, "g", MM_U16, 1, growing) == MM_OK
      && mm_safetensors_write (w, "g", "abc", 3) == MM_OK && mm_safetensors_commit (w, NULL) == MM_EINVAL
      && says ("want 4") && scratch_count ("e") == 1, "half an element of a growing tensor");
  ok (mm_safetensors_create ("e/f", true, false, &w) == MM_OK
      && mm_safetensors_declare (w, "\xff", MM_U16, 1, two) == MM_OK
      && mm_safetensors_commit (w, NULL) == MM_EINVAL && scratch_count ("e") == 1, "a name in invalid UTF-8");
  ok (mm_safetensors_create ("/dev/full", true, false, &w) == MM_OK
      && mm_safetensors_declare (w, "t", MM_U16, 1, growing) == MM_OK
      && mm_safetensors_commit (w, NULL) == MM_EIO, "a full device");
  ok (mm_safetensors_create ("e/f", true, false, &w) == MM_OK
      && mm_safetensors_declare (w, "t", MM_U8, 1, (uint64_t[]) { UINT64_C (1) << 60 }) == MM_OK
      && mm_safetensors_write (w, "t", "x", 1) == MM_EIO && says ("no room"), "no room is known at once");
  mm_safetensors_abort (w);
  ok (scratch_count ("e") == 1 && scratch_holds ("e/old", "old", 3), "nothing but what was there");
  mm_safetensors_abort (NULL);
}

static void
test_empty (void)
{
  struct mm_safetensors_writer *w;
  struct mm_safetensors *f = NULL;

  ok (mm_safetensors_create ("nothing", true, false, &w) == MM_OK && mm_safetensors_commit (w, NULL) == MM_OK
      && mm_safetensors_open ("nothing", &f) == MM_OK && mm_safetensors_count (f) == 0
      && mm_safetensors_size (f) == 4096, "a file without tensors");
  mm_safetensors_close (f);
  ok (mm_safetensors_create ("zero", true, false, &w) == MM_OK
      && mm_safetensors_declare (w, "z", MM_F32, 2, (uint64_t[]) { 0, 5 }) == MM_OK
      && mm_safetensors_declare (w, "g", MM_U16, 1, (uint64_t[]) { MM_GROWING }) == MM_OK
      && mm_safetensors_commit (w, NULL) == MM_OK && mm_safetensors_open ("zero", &f) == MM_OK
      && mm_safetensors_find (f, "g")->shape[0] == 0 && mm_safetensors_size (f) == 4096, "empty tensors");
  mm_safetensors_close (f);
}

static void
test_dtypes (void)
{
  double values[3];

  ok (strcmp (mm_dtype_name (MM_BF16), "BF16") == 0 && mm_dtype_bits (MM_BF16) == 16
      && mm_dtype_bits (MM_F6_E3M2) == 6 && mm_dtype_bits (MM_C64) == 64, "dtypes");
  ok (mm_dtype_values (MM_I8, "\xff\x80\x7f", 3, values) && values[0] == -1 && values[1] == -128
      && values[2] == 127, "signed bytes");
  ok (mm_dtype_values (MM_U16, &"x\xff\xff\0\1"[1], 2, values) && values[0] == 65535 && values[1] == 256,
      "unaligned halves");
  ok (mm_dtype_values (MM_I64, (int64_t[]) { -5 }, 1, values) && values[0] == -5
      && mm_dtype_values (MM_U64, (uint64_t[]) { UINT64_MAX }, 1, values) && values[0] == 0x1p64
      && mm_dtype_values (MM_I32, (int32_t[]) { -6 }, 1, values) && values[0] == -6
      && mm_dtype_values (MM_U32, (uint32_t[]) { UINT32_MAX }, 1, values) && values[0] == 4294967295.0
      && mm_dtype_values (MM_I16, (int16_t[]) { -7 }, 1, values) && values[0] == -7
      && mm_dtype_values (MM_BOOL, "\1", 1, values) && values[0] == 1, "integers");
  ok (!mm_dtype_values (MM_F8_E4M3, "\1", 1, values) && !mm_dtype_values (MM_C64, "12345678", 1, values),
      "no values of other types");
}

/* The nearest of all finite values of a 16-bit type to X, ties to the even one, by search.  */
static uint16_t
nearest (enum mm_dtype dtype, float x)
{
  uint16_t best = 0;
  double least = HUGE_VAL;

  for (uint32_t h = 0; h < 0x8000; h++)
    {
      uint16_t half = (uint16_t) h;
      double value, away;

      mm_dtype_values (dtype, &half, 1, &value);
      if (!isfinite (value))
        continue;
      away = fabs (value - fabs ((double) x));
      if (away < least || (away == least && half % 2 == 0))
        {
          least = away;
          best = half;
        }
    }
  return best | (signbit (x) ? 0x8000 : 0);
}

static void
test_rounding (enum mm_dtype dtype, const char *name)
{
  static const float values[] = {
    0, -0.0f, 1, -1.5f, 0.1f, 65504, 65519, 0x1p-14f, 0x1.ffcp-15f, 0x1.ffep-15f, 0x1p-24f, 0x1p-25f, 0x1.8p-25f,
    0x1.8p-24f, 1e-30f, 0x1.002p0f, 0x1.006p0f, 0x1.01p0f, 0x1.03p0f, 3.14159265f, -2.71828f, 1234.567f
  };
  uint16_t half;
  float special[] = { INFINITY, -INFINITY, NAN };
  double back;
  bool same = true, nearly = true;

  for (uint32_t h = 0; h < 0x10000; h++)
    {
      uint16_t before = (uint16_t) h;
      float x;

      mm_dtype_values (dtype, &before, 1, &back);
      x = (float) back;
      same = same && (isnan (x) || (mm_dtype_from_f32 (dtype, &x, 1, &half) && half == before));
    }
  ok (same, name);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    nearly = mm_dtype_from_f32 (dtype, &values[i], 1, &half) && half == nearest (dtype, values[i]) && nearly;
  ok (nearly, "rounded to the nearest, ties to even");
  for (int i = 0; i < 3; i++)
    {
      mm_dtype_from_f32 (dtype, &special[i], 1, &half);
      mm_dtype_values (dtype, &half, 1, &back);
      ok (isnan (special[i]) ? isnan (back) : back == special[i], "what is not finite stays so");
    }
}

int
main (void)
{
  scratch_enter ();
  test_golden ();
  test_header ();
  test_fields ();
  test_places ();
  test_reading ();
  test_floats ();
  test_layout ();
  test_direct ();
  test_late_metadata ();
  test_writer_errors ();
  test_empty ();
  test_dtypes ();
  test_rounding (MM_F16, "F16: all values there and back");
  test_rounding (MM_BF16, "BF16: all values there and back");
  ok (!mm_dtype_from_f32 (MM_F64, &(float) { 1 }, 1, &(double) { 0 }), "no other types");
  return tap_done ();
}
