/* chat_encode.c -- rendered conversations to ids, and which of them are learnt.
   SPDX-License-Identifier: Apache-2.0

   As in encode.c the text is cut at added tokens, those of the first set before those of the second; but a
   match counts only inside a range that allows it, and one that does not hides nothing: the search goes on
   with its second byte.  So nobody can type away the template's own tokens.  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/chat.h>
#include <minimind/memory.h>

#include "encode_pieces.h"

/* One text under way.  */
struct walk
{
  struct mm_encoder *e;
  const struct mm_chat_text *text;
  struct mm_chat_ids *out;
};

/* ---- which tokens ---- */

/* The range that byte AT lies in.  */
static size_t
range_at (const struct mm_chat_text *text, size_t at)
{
  size_t low = 0, high = text->n_ranges;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (text->ranges[middle].end <= at)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* May token ID stand in bytes START to END?  */
static bool
is_allowed (const struct walk *w, uint32_t id, size_t start, size_t end)
{
  const struct mm_chat_range *range = &w->text->ranges[range_at (w->text, start)];

  if (end > range->end || range->tokens == MM_TOKENS_NONE)
    return false;
  return range->tokens == MM_TOKENS_ALL || !mm_tokenizer_is_special (w->e->t, id);
}

/* The next match of SET in bytes BEGIN to END that counts; *AT and FLOOR, relative to BEGIN, as mm_added_next's.  */
static bool
next_match (const struct walk *w, const struct mm_added_set *set, size_t begin, size_t end, size_t *at, size_t floor,
            struct mm_added_match *match)
{
  while (mm_added_next (set, w->text->text + begin, end - begin, true, at, floor, match))
    {
      size_t size;

      mm_tokenizer_bytes (w->e->t, match->id, &size);
      if (is_allowed (w, match->id, begin + *at - size, begin + *at))
        return true;
      *at = *at - size + 1;
    }
  return false;
}

/* ---- appending ---- */

/* Is a byte of START to END a target?  */
static bool
any_target (const struct mm_chat_text *text, size_t start, size_t end)
{
  for (size_t r = range_at (text, start); r < text->n_ranges; r++)
    {
      if (text->ranges[r].target)
        return true;
      if (text->ranges[r].end >= end)
        return false;
    }
  return false;
}

/* The ids from FIRST on stand for bytes START to END, one behind the other; WHOLE: each for all of them.  Set the mask,
   and count them for the turns that end behind them.  */
static mm_status
label (struct walk *w, size_t first, size_t start, size_t end, bool whole)
{
  struct mm_chat_ids *out = w->out;
  mm_status st = mm_grow ("mask", &out->mask, &out->mask_capacity, out->ids.count, 1);
  size_t at = start;

  if (st < 0)
    return st;
  for (size_t i = first; i < out->ids.count; i++)
    {
      size_t size = end - start;

      if (!whole)
        mm_tokenizer_bytes (w->e->t, out->ids.data[i], &size);
      out->mask[i] = any_target (w->text, at, at + size);
      while (out->n_turns < w->text->n_turns && w->text->turn_ends[out->n_turns] <= at)
        out->turn_ends[out->n_turns++] = i;
      at += whole ? 0 : size;
    }
  return MM_OK;
}

/* Encode bytes START to END, which hold no added token.  */
static mm_status
append_plain (struct walk *w, size_t start, size_t end)
{
  size_t first = w->out->ids.count;
  mm_status st = mm_pieces_encode (w->e->pieces, w->text->text + start, end - start, &w->out->ids);

  return st < 0 ? st : label (w, first, start, end, false);
}

static mm_status
append_added (struct walk *w, uint32_t id, size_t start, size_t end)
{
  size_t first = w->out->ids.count;
  mm_status st = mm_ids_append (&w->out->ids, id);

  return st < 0 ? st : label (w, first, start, end, true);
}

/* Encode bytes BEGIN to END, which hold no token of the first set.  */
static mm_status
encode_between (struct walk *w, size_t begin, size_t end)
{
  size_t at = 0, done = 0;
  struct mm_added_match match;
  mm_status st = MM_OK;

  while (st == MM_OK && next_match (w, &w->e->t->normalized, begin, end, &at, done, &match))
    {
      st = append_plain (w, begin + done, begin + match.start);
      if (st == MM_OK)
        st = append_added (w, match.id, begin + match.start, begin + match.end);
      done = match.end;
    }
  return st < 0 ? st : append_plain (w, begin + done, end);
}

/* ---- conversations ---- */

/* Empty OUT and make room for the turns of TEXT.  */
static mm_status
begin (const struct mm_chat_text *text, struct mm_chat_ids *out)
{
  size_t valid = mm_utf8_check (text->text, text->size, NULL);

  out->ids.count = out->n_turns = 0;
  if (valid < text->size)
    return mm_fail (MM_EFORMAT, "invalid UTF-8 at byte %zu of the rendered conversation", valid);
  return mm_grow ("turns", &out->turn_ends, &out->turns_capacity, text->n_turns + 1, sizeof *out->turn_ends);
}

/* TEXT with each range in NFC: no range begins with what a character before it could take in, as the template's own
   text stands around them.  */
static mm_status
normalise (struct mm_encoder *e, const struct mm_chat_text *text, struct mm_chat_text *out)
{
  size_t at = 0, turn = 0;
  mm_status st = mm_grow ("ranges", &out->ranges, &out->ranges_capacity, text->n_ranges, sizeof *out->ranges);

  if (st == MM_OK)
    st = mm_grow ("turns", &out->turn_ends, &out->turns_capacity, text->n_turns + 1, sizeof *out->turn_ends);
  for (size_t r = 0; st == MM_OK && r < text->n_ranges; r++)
    {
      size_t end = text->ranges[r].end;

      st = mm_nfc_make (&e->nfc, text->text + at, end - at);
      if (st == MM_OK)
        st = mm_grow ("normalised text", &out->text, &out->capacity, out->size + e->nfc.size, 1);
      if (st < 0)
        break;
      memcpy (out->text + out->size, e->nfc.text, e->nfc.size);
      /* A turn ends inside the template's text, which is ASCII and stays as it is.  */
      for (; turn < text->n_turns && text->turn_ends[turn] <= end; turn++)
        out->turn_ends[out->n_turns++] = out->size + (text->turn_ends[turn] - at);
      out->size += e->nfc.size;
      out->ranges[out->n_ranges] = text->ranges[r];
      out->ranges[out->n_ranges++].end = out->size;
      at = end;
    }
  return st;
}

/* Turns that end with the text.  */
static void
end_turns (const struct mm_chat_text *text, struct mm_chat_ids *out)
{
  while (out->n_turns < text->n_turns)
    out->turn_ends[out->n_turns++] = out->ids.count;
}

/* The ids of TEXT, which is normalised if need be.  */
static mm_status
encode_text (struct mm_encoder *e, const struct mm_chat_text *text, struct mm_chat_ids *out)
{
  struct walk w = { e, text, out };
  size_t at = 0, done = 0;
  struct mm_added_match match;
  mm_status st = MM_OK;

  while (st == MM_OK && next_match (&w, &e->t->verbatim, 0, text->size, &at, done, &match))
    {
      st = encode_between (&w, done, match.start);
      if (st == MM_OK)
        st = append_added (&w, match.id, match.start, match.end);
      done = match.end;
    }
  if (st == MM_OK)
    st = encode_between (&w, done, text->size);
  if (st == MM_OK)
    end_turns (text, out);
  return st;
}

mm_status
mm_chat_encode (struct mm_encoder *e, const struct mm_chat_text *text, struct mm_chat_ids *out)
{
  struct mm_chat_text normal = { 0 };
  mm_status st = begin (text, out);

  if (st < 0)
    return st;
  if (!e->t->nfc || mm_nfc_check (text->text, text->size) == text->size)
    return encode_text (e, text, out);
  st = normalise (e, text, &normal);
  if (st == MM_OK)
    st = encode_text (e, &normal, out);
  mm_chat_text_free (&normal);
  return st;
}

void
mm_chat_ids_free (struct mm_chat_ids *ids)
{
  free (ids->ids.data);
  free (ids->mask);
  free (ids->turn_ends);
  *ids = (struct mm_chat_ids) { 0 };
}

/* ---- as MiniMind ---- */

static mm_status
encode_mark (struct mm_encoder *e, const char *mark, struct mm_ids *ids)
{
  return mm_encode (e, mark, strlen (mark), MM_PARSE_SPECIAL, ids);
}

static bool
stands_at (const struct mm_ids *ids, size_t at, const struct mm_ids *mark)
{
  return ids->count - at >= mark->count
         && memcmp (ids->data + at, mark->data, mark->count * sizeof *mark->data) == 0;
}

/* Targets from behind each HEADER to the end of the next END.  */
static void
find_targets (struct mm_chat_ids *x, const struct mm_ids *header, const struct mm_ids *end)
{
  const struct mm_ids *ids = &x->ids;

  for (size_t i = 0; i < ids->count;)
    {
      size_t first = i + header->count, last;

      if (!stands_at (ids, i, header))
        {
          i++;
          continue;
        }
      for (last = first; last < ids->count && !stands_at (ids, last, end); last++)
        ;
      last = last < ids->count ? last + end->count : last;
      memset (x->mask + first, 1, last - first);
      i = last;
    }
}

mm_status
mm_chat_encode_minimind (struct mm_encoder *e, const struct mm_chat_text *text, struct mm_chat_ids *out)
{
  struct mm_ids header = { 0 }, end = { 0 };
  size_t at = 0;
  mm_status st = begin (text, out);

  for (size_t i = 0; st == MM_OK && i < text->n_turns; i++)
    {
      st = mm_encode (e, text->text + at, text->turn_ends[i] - at, MM_PARSE_SPECIAL, &out->ids);
      at = text->turn_ends[i];
      out->turn_ends[out->n_turns++] = out->ids.count;
    }
  if (st == MM_OK)
    st = mm_encode (e, text->text + at, text->size - at, MM_PARSE_SPECIAL, &out->ids);
  if (st == MM_OK)
    st = mm_grow ("mask", &out->mask, &out->mask_capacity, out->ids.count + 1, 1);
  if (st == MM_OK)
    st = encode_mark (e, "<|im_start|>assistant\n", &header);
  if (st == MM_OK)
    st = encode_mark (e, "<|im_end|>\n", &end);
  if (st == MM_OK)
    {
      memset (out->mask, 0, out->ids.count);
      find_targets (out, &header, &end);
    }
  free (header.data);
  free (end.data);
  return st;
}
