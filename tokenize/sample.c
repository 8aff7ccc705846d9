/* sample.c -- show how the first documents are cut into tokens, and which of them are targets.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/log.h>
#include <minimind/memory.h>

#include "source.h"
#include "tokenize.h"

struct sample
{
  struct source source;
  struct mm_encoder *encoder;
  struct row row;
  bool skip;                    /* rows with errors */
  uint64_t n;                   /* documents shown */
};

/* TEXT between quotes, as C would write it: what is not UTF-8, which tokens often are not, in
   hexadecimal.  */
static void
print_quoted (const char *text, size_t size)
{
  static const char from[] = "\n\t\r\"\\", to[] = "ntr\"\\";

  putchar ('"');
  while (size > 0)
    {
      const char *known = *text ? strchr (from, *text) : NULL;
      size_t n = 1;

      if (known)
        printf ("\\%c", to[known - from]);
      else if ((unsigned char) *text < 0x20 || *text == 0x7f)
        printf ("\\x%02x", (unsigned char) *text);
      else
        {
          while (n < 4 && n < size && ((unsigned char) text[n] & 0xc0) == 0x80)
            n++;
          if (mm_utf8_check (text, n, NULL) == n)
            fwrite (text, 1, n, stdout);
          else
            {
              n = 1;
              printf ("\\x%02x", (unsigned char) *text);
            }
        }
      text += n;
      size -= n;
    }
  putchar ('"');
}

/* ---- texts ---- */

static void
print_token (const struct mm_tokenizer *t, uint32_t id)
{
  size_t size;
  const char *text = mm_tokenizer_bytes (t, id, &size);

  print_quoted (text, size);
  if (mm_tokenizer_is_special (t, id))
    fputs ("  special", stdout);
}

static void
print_text (const struct sample *s, size_t bytes, const struct mm_ids *ids)
{
  printf ("document %" PRIu64 ": %s, %s\n", s->n, MM_COUNT (bytes, "byte"), MM_COUNT (ids->count, "token"));
  for (size_t i = 0; i < ids->count; i++)
    {
      printf ("%8" PRIu32 "  ", ids->data[i]);
      print_token (s->source.t, ids->data[i]);
      putchar ('\n');
    }
}

static mm_status
add_token (struct mm_ids *ids, int32_t id)
{
  mm_status st;

  if (id == MM_NO_TOKEN)
    return MM_OK;
  st = mm_grow ("ids", &ids->data, &ids->capacity, ids->count + 1, sizeof *ids->data);
  if (st == MM_OK)
    ids->data[ids->count++] = (uint32_t) id;
  return st;
}

static mm_status
show_texts (struct sample *s, uint64_t most)
{
  struct mm_document_part part;
  struct mm_ids ids = { 0 };
  size_t bytes = 0;
  bool more = true;
  mm_status st = MM_OK;

  while (st == MM_OK && s->n < most)
    {
      st = mm_documents_next (s->source.documents, &part, &more);
      if (st < 0 || !more)
        break;
      if (part.first)
        {
          ids.count = bytes = 0;
          st = add_token (&ids, s->source.frame.bos);
        }
      if (st == MM_OK)
        st = mm_encode (s->encoder, part.text, part.size, s->source.flags, &ids);
      bytes += part.size;
      if (st == MM_OK && part.last)
        {
          st = add_token (&ids, s->source.frame.eos);
          s->n++;
          print_text (s, bytes, &ids);
        }
    }
  free (ids.data);
  return st;
}

/* ---- conversations ---- */

/* Are lines that tell more by their colour wanted?  NO_COLOR, if not empty, says no (no-color.org).  */
static bool
in_colour (void)
{
  const char *no_color = getenv ("NO_COLOR"), *term = getenv ("TERM");

  return isatty (STDOUT_FILENO) && !(no_color && *no_color) && !(term && strcmp (term, "dumb") == 0);
}

static void
print_conversation (const struct sample *s, const char *place, const struct row *row)
{
  const struct mm_chat_ids *x = &row->ids;
  bool colour = in_colour ();
  size_t targets = 0;

  for (size_t i = 0; i < x->ids.count; i++)
    targets += x->mask[i];
  printf ("conversation %" PRIu64 " (%s): %s, %s, %s, %s\n", s->n, place,
          mm_chat_template_name (s->source.rows.template), MM_COUNT (x->n_turns, "turn"),
          MM_COUNT (x->ids.count, "token"), MM_COUNT (targets, "target"));
  for (size_t i = 0; i < x->ids.count; i++)
    {
      bool target = x->mask[i];

      printf ("%s%8" PRIu32 "  %-6s  ", colour && target ? "\33[32m" : "", x->ids.data[i], target ? "target" : "");
      print_token (s->source.t, x->ids.data[i]);
      puts (colour && target ? "\33[0m" : "");
    }
}

static mm_status
show_conversation (struct sample *s, const struct mm_document_part *part)
{
  char place[1024];
  mm_status st;

  mm_documents_place (s->source.documents, place, sizeof place);
  st = row_encode (&s->row, &s->source.rows, s->encoder, place, part->text, part->size);
  if (st < 0 && s->skip && row_may_be_skipped (st))
    {
      mm_warn ("left out: %s", mm_error_message ());
      return MM_OK;
    }
  if (st < 0)
    return st;
  s->n++;
  print_conversation (s, place, &s->row);
  return MM_OK;
}

static mm_status
show_conversations (struct sample *s, uint64_t most)
{
  struct mm_document_part part;
  bool more = true;
  mm_status st = MM_OK;

  while (st == MM_OK && s->n < most)
    {
      st = mm_documents_next (s->source.documents, &part, &more);
      if (st < 0 || !more)
        break;
      st = show_conversation (s, &part);
    }
  return st;
}

/* ---- both ---- */

mm_status
tokenize_sample (const struct tokenize_config *c)
{
  struct sample s = { .skip = c->documents.errors == MM_ERRORS_SKIP };
  mm_status st = source_open (c, &s.source);

  if (st == MM_OK)
    st = mm_encoder_open (s.source.t, &s.encoder);
  if (st == MM_OK)
    st = (s.source.chat ? show_conversations : show_texts) (&s, c->sample);
  mm_encoder_close (s.encoder);
  row_free (&s.row);
  source_close (&s.source);
  return st;
}
