/* Token files: what is written is read, and what is damaged is refused.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>

#include <minimind/hash.h>
#include <minimind/random.h>
#include <minimind/safetensors.h>
#include <minimind/tokens.h>

#include "../tap.h"
#include "scratch.h"
#include "tiny.h"

static struct mm_tokenizer *tiny;

/* ---- writing and reading back ---- */

static void
test_small (void)
{
  const uint32_t ids[] = { 3, 4, 5, 258, 2 };
  uint32_t got[5];
  uint8_t mask[5] = { 0 };
  struct mm_tokens_writer *w;
  struct mm_tokens *f;
  uint64_t first, length;
  bool good;

  good = mm_tokens_create ("small", false, tiny, &w) == MM_OK
         && mm_tokens_add (w, ids, 2) == MM_OK
         && mm_tokens_end_document (w) == MM_OK
         && mm_tokens_end_document (w) == MM_OK
         && mm_tokens_add (w, ids + 2, 1) == MM_OK
         && mm_tokens_add (w, ids + 3, 2) == MM_OK
         && mm_tokens_end_document (w) == MM_OK;
  ok (good && mm_tokens_commit (w) == MM_OK, "three documents are written");

  ok (mm_tokens_open ("small", &f) == MM_OK, "and opened");
  ok (strcmp (mm_tokens_path (f), "small") == 0 && mm_tokens_documents (f) == 3
      && mm_tokens_count (f) == 5 && !mm_tokens_has_mask (f), "with their counts");
  ok (strcmp (mm_tokenizer_sha256 (mm_tokens_tokenizer (f)), mm_tokenizer_sha256 (tiny)) == 0
      && mm_tokenizer_eos (mm_tokens_tokenizer (f)) == 2, "and their tokenizer with its configuration");
  ok (mm_tokens_document (f, 0, &first, &length) == MM_OK && first == 0 && length == 2
      && mm_tokens_document (f, 1, &first, &length) == MM_OK && first == 2 && length == 0
      && mm_tokens_document (f, 2, &first, &length) == MM_OK && first == 2 && length == 3,
      "documents have their places, an empty one too");
  ok (mm_tokens_read (f, 0, 5, got, mask) == MM_OK && memcmp (got, ids, sizeof ids) == 0,
      "ids come back");
  ok (memcmp (mask, (uint8_t[]) { 1, 1, 1, 1, 1 }, 5) == 0, "without a mask all are targets");
  ok (mm_tokens_document (f, 3, &first, &length) == MM_EINVAL, "a document too far is refused");
  ok (mm_tokens_read (f, 4, 2, got, NULL) == MM_EINVAL
      && mm_tokens_read (f, UINT64_MAX, 2, got, NULL) == MM_EINVAL, "a range too far is refused");
  ok (mm_tokens_read (f, 5, 0, got, NULL) == MM_OK, "an empty range is not");
  mm_tokens_close (f);
}

static void
test_creation (void)
{
  const uint32_t good = 258, bad = 259;
  struct mm_tokens_writer *w;
  struct mm_tokens *f = NULL;
  int files = scratch_count (".");

  ok (mm_tokens_create ("small", false, tiny, &w) == MM_EEXIST, "an existing file is kept");
  ok (mm_tokens_create ("no/such", false, tiny, &w) < 0, "a missing folder is an error");
  if (mm_tokens_create ("small", true, tiny, &w) < 0)
    exit (99);
  ok (mm_tokens_add (w, &good, 1) == MM_OK && mm_tokens_add (w, &bad, 1) == MM_EINVAL,
      "an id beyond the vocabulary is not written");
  mm_tokens_abort (w);
  ok (scratch_count (".") == files && mm_tokens_open ("small", &f) == MM_OK
      && mm_tokens_count (f) == 5, "giving up leaves what was there");
  mm_tokens_close (f);
  mm_tokens_abort (NULL);
  mm_tokens_close (NULL);

  if (mm_tokens_create ("open", false, tiny, &w) < 0 || mm_tokens_add (w, &good, 1) < 0)
    exit (99);
  ok (mm_tokens_commit (w) == MM_EINVAL && mm_tokens_open ("open", &f) == MM_ENOENT,
      "a document under way is not published");
  ok (mm_tokens_create ("none", false, tiny, &w) == MM_OK && mm_tokens_commit (w) == MM_OK
      && mm_tokens_open ("none", &f) == MM_OK, "a file without documents can be made");
  ok (mm_tokens_documents (f) == 0 && mm_tokens_count (f) == 0, "and read");
  mm_tokens_close (f);
}

/* The same documents by COUNT packed ids or one by one, so many documents EXPECTED, are the file WANT.  */
static bool
packed_agrees (const struct mm_tokenizer *t, uint64_t expected, const char *want)
{
  enum { COUNT = 100000 };
  static uint32_t ids[COUNT];
  static uint8_t packed[4 * COUNT];
  size_t width = mm_ids_width (mm_tokenizer_vocab_size (t));
  char got_sha[MM_SHA256_TEXT], want_sha[MM_SHA256_TEXT];
  struct mm_tokens_writer *w;
  mm_status st = mm_tokens_create ("packed", true, t, &w);

  for (uint32_t i = 0; i < COUNT; i++)
    ids[i] = (i * 7) % mm_tokenizer_vocab_size (t);
  mm_ids_pack (ids, COUNT, width, packed);
  if (want)
    mm_tokens_expect (w, expected);
  for (int doc = 0; st == MM_OK && doc < 3; doc++)
    {
      st = want ? mm_tokens_add_packed (w, packed, COUNT - (size_t) doc) : mm_tokens_add (w, ids, COUNT - (size_t) doc);
      if (st == MM_OK)
        st = mm_tokens_end_document (w);
    }
  memset (ids, 0, sizeof ids);
  mm_ids_unpack (packed, COUNT, width, ids);
  if (st < 0 || mm_tokens_commit (w) < 0 || ids[COUNT - 1] != (COUNT - 1) * 7 % mm_tokenizer_vocab_size (t))
    return false;
  if (!want)
    return rename ("packed", "unpacked") == 0;
  return mm_sha256_file (want, want_sha) == MM_OK && mm_sha256_file ("packed", got_sha) == MM_OK
         && strcmp (want_sha, got_sha) == 0;
}

static void
test_packed (void)
{
  const uint8_t bad[] = { 2, 1, 3, 1 };         /* 258 and 259 */
  struct mm_tokenizer *large = tiny_tokenizer (70000);
  struct mm_tokens_writer *w;

  ok (packed_agrees (tiny, 0, NULL) && packed_agrees (tiny, 3, "unpacked") && packed_agrees (tiny, 1, "unpacked")
      && packed_agrees (tiny, 500, "unpacked") && packed_agrees (tiny, UINT64_MAX, "unpacked"),
      "packed ids, more or fewer documents than expected: the same file");
  ok (packed_agrees (large, 0, NULL) && packed_agrees (large, 3, "unpacked"), "of 32 bits too");
  ok (mm_tokens_create ("bad", false, tiny, &w) == MM_OK && mm_tokens_add_packed (w, bad, 2) == MM_EINVAL
      && strstr (mm_error_message (), "token 1 would be 259"), "a packed id beyond the vocabulary");
  mm_tokens_abort (w);
  mm_tokenizer_free (large);
  unlink ("packed");
  unlink ("unpacked");
}

/* Ids and document lengths by a formula; enough to pass every buffer several times.  */
enum { DOCUMENTS = 10007 };

static uint32_t
id_at (uint64_t i, uint32_t vocab_size)
{
  return (uint32_t) (mm_uniform (1, MM_RANDOM_TEST, 0, i) * vocab_size);
}

static size_t
length_of (uint64_t doc)
{
  return (size_t) (mm_uniform (1, MM_RANDOM_TEST, 1, doc) * 30);
}

static uint64_t
write_many (const char *name, const struct mm_tokenizer *t, size_t piece)
{
  uint32_t ids[64];
  struct mm_tokens_writer *w;
  uint64_t at = 0;

  if (mm_tokens_create (name, false, t, &w) < 0)
    exit (99);
  for (uint64_t doc = 0; doc < DOCUMENTS; doc++)
    {
      for (size_t left = length_of (doc), n; left > 0; left -= n)
        {
          n = left < piece ? left : piece;
          for (size_t i = 0; i < n; i++)
            ids[i] = id_at (at + i, mm_tokenizer_vocab_size (t));
          at += n;
          if (mm_tokens_add (w, ids, n) < 0)
            exit (99);
        }
      if (mm_tokens_end_document (w) < 0)
        exit (99);
    }
  if (mm_tokens_commit (w) < 0)
    exit (99);
  return at;
}

static bool
range_is_right (struct mm_tokens *f, uint64_t first, size_t count, uint32_t vocab_size)
{
  uint32_t *ids = malloc ((count + 1) * sizeof *ids);
  bool right = ids && mm_tokens_read (f, first, count, ids, NULL) == MM_OK;

  for (size_t i = 0; right && i < count; i++)
    right = ids[i] == id_at (first + i, vocab_size);
  free (ids);
  return right;
}

static void
test_many (uint32_t vocab_size, const char *width)
{
  struct mm_tokenizer *t = tiny_tokenizer (vocab_size);
  char a[MM_SHA256_TEXT], b[MM_SHA256_TEXT], name[64];
  uint64_t n = write_many ("many", t, 64), at = 0;
  struct mm_safetensors *raw;
  struct mm_tokens *f;
  bool right = true;

  write_many ("again", t, 7);
  ok (mm_sha256_file ("many", a) == MM_OK && mm_sha256_file ("again", b) == MM_OK
      && strcmp (a, b) == 0, "equal documents give equal bytes, however they are cut into calls");
  snprintf (name, sizeof name, "ids are %s", width);
  if (mm_safetensors_open ("many", &raw) < 0 || mm_tokens_open ("many", &f) < 0)
    exit (99);
  ok (strcmp (mm_dtype_name (mm_safetensors_find (raw, "tokens")->dtype), width) == 0, name);
  mm_safetensors_close (raw);

  ok (mm_tokens_count (f) == n && mm_tokens_documents (f) == DOCUMENTS, "all are counted");
  for (uint64_t doc = 0; doc < DOCUMENTS; doc++)
    {
      uint64_t first, length;

      right = right && mm_tokens_document (f, doc, &first, &length) == MM_OK && first == at
              && length == length_of (doc);
      at += length_of (doc);
    }
  ok (right, "every document has its place");
  right = range_is_right (f, 0, n, vocab_size);
  for (uint64_t i = 0; i < 200; i++)
    {
      uint64_t first = (uint64_t) (mm_uniform (2, MM_RANDOM_TEST, 0, i) * (double) n);
      size_t count = (size_t) (mm_uniform (2, MM_RANDOM_TEST, 1, i) * (double) (n - first));

      right = right && range_is_right (f, first, i % 2 ? count : count % 50, vocab_size);
    }
  ok (right, "any range reads as it was written");
  mm_tokens_close (f);
  mm_tokenizer_free (t);
  remove ("many");
  remove ("again");
}

/* ---- damaged files ---- */

/* A token file to be got wrong in one place.  */
struct craft
{
  const char *kind, *sha256, *vocab_size, *documents, *tokens;
  int64_t offsets[4];
  uint64_t n_offsets;
  enum mm_dtype offsets_dtype, ids_dtype;
  uint16_t ids[6];
  uint8_t mask[6];
  uint64_t n_ids, n_mask;       /* n_mask 0: no mask */
  const char *tokenizer;        /* NULL: none */
};

static char *json;

static struct craft
sound (void)
{
  return (struct craft) {
    .kind = "minimind-tokens", .sha256 = mm_tokenizer_sha256 (tiny), .vocab_size = "259",
    .documents = "3", .tokens = "6", .offsets = { 0, 2, 4, 6 }, .n_offsets = 4,
    .offsets_dtype = MM_I64, .ids_dtype = MM_U16, .ids = { 3, 4, 5, 6, 7, 8 },
    .mask = { 0, 1, 0, 1, 0, 1 }, .n_ids = 6, .n_mask = 6, .tokenizer = json,
  };
}

static void
must (mm_status st)
{
  if (st < 0)
    {
      fprintf (stderr, "%s\n", mm_error_message ());
      exit (99);
    }
}

static void
put_tensor (struct mm_safetensors_writer *w, const char *name, enum mm_dtype dtype, uint64_t n)
{
  must (mm_safetensors_declare (w, name, dtype, 1, &n));
}

static void
put_meta (struct mm_safetensors_writer *w, const char *key, const char *value)
{
  if (value)
    must (mm_safetensors_add_meta (w, key, value));
}

static void
craft (const struct craft *c)
{
  struct mm_safetensors_writer *w;

  must (mm_safetensors_create ("crafted", true, true, &w));
  put_meta (w, "kind", c->kind);
  put_meta (w, "tokenizer_sha256", c->sha256);
  put_meta (w, "vocab_size", c->vocab_size);
  put_meta (w, "documents", c->documents);
  put_meta (w, "tokens", c->tokens);
  put_tensor (w, "doc_offsets", c->offsets_dtype, c->n_offsets);
  put_tensor (w, "tokens", c->ids_dtype, c->n_ids);
  if (c->n_mask > 0)
    put_tensor (w, "loss_mask", MM_U8, c->n_mask);
  if (c->tokenizer)
    put_tensor (w, "tokenizer_json", MM_U8, strlen (c->tokenizer));
  must (mm_safetensors_write (w, "doc_offsets", c->offsets, c->n_offsets * 8));
  must (mm_safetensors_write (w, "tokens", c->ids, c->n_ids * 2));
  if (c->n_mask > 0)
    must (mm_safetensors_write (w, "loss_mask", c->mask, c->n_mask));
  if (c->tokenizer)
    must (mm_safetensors_write (w, "tokenizer_json", c->tokenizer, strlen (c->tokenizer)));
  must (mm_safetensors_commit (w, NULL));
}

/* Opening what C makes fails with WANT.  */
static void
refused (const struct craft *c, mm_status want, const char *name)
{
  struct mm_tokens *f;
  mm_status st;

  craft (c);
  st = mm_tokens_open ("crafted", &f);
  ok (st == want && !f, name);
  if (st == want)
    printf ("# %s\n", mm_error_message ());
  mm_tokens_close (f);
}

#define REFUSED(name, ...) \
  do { struct craft c = sound (); __VA_ARGS__; refused (&c, MM_EFORMAT, name); } while (0)

/* ---- conversations ---- */

/* Conversation I of N_CHATS: I % 7 + 1 turns of I % 5 + 1 tokens each.  */
enum { N_CHATS = 3000 };

static size_t
make_chat (size_t i, uint32_t *ids, uint8_t *mask, size_t *turn_ends, size_t *n_turns)
{
  size_t n = 0;

  *n_turns = i % 7 + 1;
  for (size_t turn = 0; turn < *n_turns; turn++)
    {
      for (size_t k = 0; k <= i % 5; k++, n++)
        {
          ids[n] = (uint32_t) ((i + n) % 256 + 3);
          mask[n] = turn % 2 == 1;
        }
      turn_ends[turn] = n;
    }
  return n;
}

static bool
same_chats (struct mm_tokens *f)
{
  uint32_t ids[64], got[64];
  uint8_t mask[64], got_mask[64];
  size_t turn_ends[8], n_turns;
  uint64_t turns = 0, first, length, turn;
  bool good = true;

  for (size_t i = 0; good && i < N_CHATS; i++)
    {
      size_t n = make_chat (i, ids, mask, turn_ends, &n_turns);

      good = mm_tokens_document (f, i, &first, &length) == MM_OK && length == n
             && mm_tokens_read (f, first, n, got, got_mask) == MM_OK
             && memcmp (got, ids, n * sizeof *ids) == 0 && memcmp (got_mask, mask, n) == 0;
      for (size_t k = 0; good && k < n_turns; k++)
        good = mm_tokens_turn (f, turns++, &turn) == MM_OK && turn == first + (k > 0 ? turn_ends[k - 1] : 0);
    }
  return good && turns == mm_tokens_turns (f) && mm_tokens_turn (f, turns, &turn) == MM_EINVAL;
}

static void
test_chat (void)
{
  const struct mm_tokens_chat chat = { "minimind2", true };
  struct mm_safetensors *file;
  struct mm_tokens_writer *w;
  struct mm_tokens *f;
  uint32_t ids[64], bad = 259;
  uint8_t mask[64];
  size_t turn_ends[8], n_turns, n;
  bool good;

  good = mm_tokens_create_chat ("chat", false, tiny, &chat, &w) == MM_OK;
  for (size_t i = 0; good && i < N_CHATS; i++)
    {
      n = make_chat (i, ids, mask, turn_ends, &n_turns);
      good = mm_tokens_add_conversation (w, ids, mask, n, turn_ends, n_turns) == MM_OK;
    }
  ok (good && mm_tokens_add (w, ids, 1) == MM_EINVAL, "conversations are written, and no text among them");
  ok (mm_tokens_commit (w) == MM_OK && mm_tokens_open ("chat", &f) == MM_OK, "and opened");
  ok (mm_tokens_has_mask (f) && strcmp (mm_tokens_chat_template (f), "minimind2") == 0, "with their template");
  ok (same_chats (f), "ids, masks and turns come back");
  mm_tokens_close (f);
  must (mm_safetensors_open ("chat", &file));
  ok (strcmp (mm_safetensors_meta (file, "turns"), "11994") == 0
      && strcmp (mm_safetensors_meta (file, "targets"), "15420") == 0
      && strcmp (mm_safetensors_meta (file, "chat_labels"), "minimind") == 0, "with counts in the metadata");
  mm_safetensors_close (file);

  must (mm_tokens_create ("text", false, tiny, &w));
  ok (mm_tokens_add_conversation (w, ids, mask, 1, turn_ends, 1) == MM_EINVAL, "no conversation among texts");
  mm_tokens_abort (w);
  must (mm_tokens_create_chat ("bad", false, tiny, &chat, &w));
  ok (mm_tokens_add_conversation (w, &bad, mask, 1, turn_ends, 1) == MM_EINVAL, "no id beyond the vocabulary");
  mm_tokens_abort (w);
  must (mm_tokens_open ("small", &f));
  ok (!mm_tokens_chat_template (f) && mm_tokens_turns (f) == 0, "texts have no template and no turns");
  mm_tokens_close (f);
}

static void
test_refusals (void)
{
  struct craft pieces = sound ();
  struct mm_tokens *f;
  char *at;

  REFUSED ("no kind", c.kind = NULL);
  REFUSED ("another kind", c.kind = "minimind-rows");
  REFUSED ("another tokenizer's hash", c.sha256 = "00");
  REFUSED ("another vocabulary", c.vocab_size = "260");
  REFUSED ("a wrong number of documents", c.documents = "4");
  REFUSED ("a wrong number of tokens", c.tokens = "5");
  REFUSED ("no tokenizer", c.tokenizer = NULL);
  REFUSED ("a damaged tokenizer", c.tokenizer = "{\"model\": ");
  pieces.tokenizer = at = tiny_json (TINY_VOCAB);
  memcpy (strstr (at, "\"BPE\""), "\"BBB\"", 5);
  refused (&pieces, MM_EUNSUP, "a tokenizer of another kind");
  free (at);
  REFUSED ("no offsets", c.n_offsets = 0);
  REFUSED ("offsets of another type", c.offsets_dtype = MM_U64);
  REFUSED ("ids of another type", c.ids_dtype = MM_I16);
  REFUSED ("a first offset above 0", c.offsets[0] = 1);
  REFUSED ("a last offset below the end", c.offsets[3] = 5);
  REFUSED ("a last offset beyond the end", c.offsets[3] = 7);
  REFUSED ("a negative last offset", c.offsets[3] = -6);
  REFUSED ("a mask of another length", c.n_mask = 5);

  ok (mm_tokens_open ("missing", &f) == MM_ENOENT, "a missing file");
  ok (mm_tokens_open (".", &f) == MM_EIO, "a directory");
  scratch_put ("text", "once upon a time", 16);
  ok (mm_tokens_open ("text", &f) == MM_EFORMAT, "a file of text");
}

static void
test_reading_damage (void)
{
  struct craft c = sound ();
  struct mm_tokens *f;
  uint64_t first, length;
  uint32_t ids[6];
  uint8_t mask[6];

  craft (&c);
  must (mm_tokens_open ("crafted", &f));
  ok (mm_tokens_has_mask (f) && mm_tokens_read (f, 1, 4, ids, mask) == MM_OK
      && memcmp (mask, c.mask + 1, 4) == 0, "a mask is read");
  mm_tokens_close (f);

  c.ids[4] = 259;
  c.mask[1] = 2;
  c.offsets[1] = 5;
  c.offsets[2] = -1;
  craft (&c);
  must (mm_tokens_open ("crafted", &f));
  ok (mm_tokens_read (f, 0, 4, ids, NULL) == MM_OK, "sound ids before a bad one are read");
  ok (mm_tokens_read (f, 2, 3, ids, NULL) == MM_EFORMAT, "an id beyond the vocabulary is refused");
  ok (strstr (mm_error_message (), "token 4 is 259") != NULL, "by its place");
  ok (mm_tokens_read (f, 0, 2, ids, mask) == MM_EFORMAT, "a mask above 1 is refused");
  ok (mm_tokens_document (f, 0, &first, &length) == MM_OK && length == 5, "a sound document stands");
  ok (mm_tokens_document (f, 1, &first, &length) == MM_EFORMAT, "decreasing offsets are refused");
  ok (mm_tokens_document (f, 2, &first, &length) == MM_EFORMAT, "a negative offset is refused");
  mm_tokens_close (f);

  c = sound ();
  c.offsets[1] = 7;
  craft (&c);
  must (mm_tokens_open ("crafted", &f));
  ok (mm_tokens_document (f, 0, &first, &length) == MM_EFORMAT, "an offset beyond the end is refused");
  ok (truncate ("crafted", 4096 + 4) == 0
      && mm_tokens_read (f, 0, 6, ids, NULL) < 0, "a file cut while open is an error");
  mm_tokens_close (f);
  ok (mm_tokens_open ("crafted", &f) == MM_EFORMAT, "a truncated file is refused");
}

int
main (void)
{
  scratch_enter ();
  tiny = tiny_tokenizer (TINY_VOCAB);
  json = tiny_json (TINY_VOCAB);
  test_small ();
  test_chat ();
  test_creation ();
  test_packed ();
  test_many (TINY_VOCAB, "U16");
  test_many (65536, "U16");
  test_many (65537, "U32");
  test_refusals ();
  test_reading_damage ();
  free (json);
  mm_tokenizer_free (tiny);
  return tap_done ();
}
