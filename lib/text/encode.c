/* encode.c -- text to ids: around the added tokens.
   SPDX-License-Identifier: Apache-2.0

   Text is cut at added tokens; what is left between them goes to encode_pieces.c.  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "encode_pieces.h"
#include "unicode.h"

enum { COUNTED = 1 << 16 };     /* bytes encoded at a time to be counted */

mm_status
mm_encoder_open (const struct mm_tokenizer *t, struct mm_encoder **out)
{
  struct mm_encoder *e;
  mm_status st = mm_alloc ("encoder", 1, sizeof *e, &e);

  *out = NULL;
  if (st < 0)
    return st;
  e->t = t;
  st = mm_pieces_open (t, &e->pieces);
  if (st < 0)
    mm_encoder_close (e);
  else
    *out = e;
  return st;
}

void
mm_encoder_close (struct mm_encoder *e)
{
  if (!e)
    return;
  mm_pieces_close (e->pieces);
  mm_nfc_free (&e->nfc);
  free (e->counted.data);
  free (e);
}

/* ---- added tokens ---- */

mm_status
mm_ids_append (struct mm_ids *ids, uint32_t id)
{
  mm_status st = mm_grow ("ids", &ids->data, &ids->capacity, ids->count + 1, sizeof *ids->data);

  if (st == MM_OK)
    ids->data[ids->count++] = id;
  return st;
}

/* Encode what stands between the added tokens of the first set: normalise it, then look for those of
   the second.  */
static mm_status
encode_between (struct mm_encoder *e, const char *text, size_t size, bool special,
                struct mm_ids *ids)
{
  size_t at = 0, done = 0;
  struct mm_added_match match;
  mm_status st = MM_OK;

  if (e->t->nfc && mm_nfc_check (text, size) < size)
    {
      st = mm_nfc_make (&e->nfc, text, size);
      text = e->nfc.text;
      size = e->nfc.size;
    }
  while (st == MM_OK && mm_added_next (&e->t->normalized, text, size, special, &at, done, &match))
    {
      st = mm_pieces_encode (e->pieces, text + done, match.start - done, ids);
      if (st == MM_OK)
        st = mm_ids_append (ids, match.id);
      done = match.end;
    }
  return st < 0 ? st : mm_pieces_encode (e->pieces, text + done, size - done, ids);
}

static size_t
valid_size (const char *text, size_t size, unsigned flags)
{
  return flags & MM_VALID_UTF8 ? size : mm_utf8_check (text, size, NULL);
}

mm_status
mm_encode (struct mm_encoder *e, const char *text, size_t size, unsigned flags, struct mm_ids *ids)
{
  bool special = flags & MM_PARSE_SPECIAL;
  size_t at = 0, done = 0, valid = valid_size (text, size, flags);
  struct mm_added_match match;
  mm_status st = MM_OK;

  if (valid < size)
    return mm_fail (MM_EFORMAT, "invalid UTF-8 at byte %zu", valid);
  while (st == MM_OK && mm_added_next (&e->t->verbatim, text, size, special, &at, done, &match))
    {
      st = encode_between (e, text + done, match.start - done, special, ids);
      if (st == MM_OK)
        st = mm_ids_append (ids, match.id);
      done = match.end;
    }
  return st < 0 ? st : encode_between (e, text + done, size - done, special, ids);
}

mm_status
mm_count (struct mm_encoder *e, const char *text, size_t size, unsigned flags, size_t *count)
{
  size_t at = 0, valid = valid_size (text, size, flags);
  mm_status st = MM_OK;

  *count = 0;
  if (valid < size)
    return mm_fail (MM_EFORMAT, "invalid UTF-8 at byte %zu", valid);
  while (st == MM_OK && at < size)
    {
      size_t part = size - at;

      /* Parts that give the ids of the whole.  */
      for (size_t limit = COUNTED; limit < part; limit *= 2)
        {
          size_t cut = mm_encode_cut (e->t, text + at, size - at, limit, flags);

          if (cut > 0)
            part = cut;
        }
      e->counted.count = 0;
      st = mm_encode (e, text + at, part, flags | MM_VALID_UTF8, &e->counted);
      *count += e->counted.count;
      at += part;
    }
  return st;
}

/* May a text that is normalised be cut at AT?  Not if the characters beside it may change, nor
   where tokens that are found in normalised text may lie: those are looked for in the text as it is,
   so that only ASCII may stand within their reach.  */
static bool
nfc_may_cut (const struct mm_tokenizer *t, const char *text, size_t size, size_t at)
{
  size_t reach = t->normalized.longest, first = at > reach ? at - reach : 0, before = at - 1;
  unsigned length;

  while (before > 0 && ((unsigned char) text[before] & 0xc0) == 0x80)
    before--;
  if (mm_unicode_more (mm_utf8_get (text + before, &length)) & MM_NFC_JOINS
      || mm_unicode_more (mm_utf8_get (text + at, &length)) & MM_NFC_JOINS)
    return false;
  for (size_t i = first; t->normalized.any && i < size && i < at + reach; i++)
    if ((unsigned char) text[i] >= 0x80)
      return false;
  return true;
}

size_t
mm_encode_cut (const struct mm_tokenizer *t, const char *text, size_t size, size_t limit,
               unsigned flags)
{
  bool special = flags & MM_PARSE_SPECIAL;

  if (t->pattern == MM_PATTERN_GENERAL)
    return 0;
  /* What is matched but not taken still hides what it overlaps, but matters only where
     something is taken.  */
  for (size_t at = limit < size ? limit + 1 : size; at-- > 1;)
    if (((unsigned char) text[at] & 0xc0) != 0x80
        && at + mm_utf8_length ((unsigned char) text[at]) <= size
        && mm_pretokenize_may_cut (t->pattern, text, at)
        && (!t->nfc || nfc_may_cut (t, text, size, at))
        && ((!special && !t->verbatim.any_plain) || mm_added_may_cut (&t->verbatim, text, size, at))
        && ((!special && !t->normalized.any_plain)
            || mm_added_may_cut (&t->normalized, text, size, at)))
      return at;
  return 0;
}
