/* documents_impl.h -- what the files documents*.c share.
   SPDX-License-Identifier: Apache-2.0

   documents.c goes through inputs, members and parts of documents; documents_member.c holds the
   buffer that the present member goes through; documents_kind.c finds out what a member is; and
   documents_text.c, documents_json.c, documents_csv.c take documents out of it.

   Unless documents with errors are to be skipped, bytes are checked, and replaced, as they come in,
   so that what stands in the buffer is UTF-8 but for a character cut off by its end; else a
   document is checked when it is complete.  */

#ifndef TEXT_DOCUMENTS_IMPL_H
#define TEXT_DOCUMENTS_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/documents.h>
#include <minimind/input.h>

#include "documents_csv.h"
#include "json_line.h"

enum { DOCUMENT_PART = 1 << 20 };       /* bytes; documents up to here come whole */

/* The part of the inputs that is read, where it is not all of them.  */
struct documents_range
{
  uint64_t from, to;            /* of all inputs' bytes */
  uint64_t before;              /* bytes of the inputs up to the present one, which is counted too */
  uint64_t size, low, high;     /* of the present input; the range in it */

  bool limited;                 /* the member is LEFT bytes from ORIGIN on */
  uint64_t origin, left;

  bool by_index;                /* of its DOCUMENTS those from FIRST to LAST - 1 */
  uint64_t documents, first, last;
  uint64_t index;               /* of the document under way */
  struct mm_document_counts kept;       /* without what was read of this input before FIRST */
  bool leave;                   /* nothing more is wanted of it */
};

struct mm_documents
{
  struct mm_document_options o;
  struct mm_json_path path;     /* o.field, for JSON */
  const char **inputs;          /* those given, then those of the list */
  size_t n_inputs, capacity, next_input;
  char *list;                   /* the names of a list */
  uint64_t total, done;         /* bytes of all inputs, or 0; of those closed */
  uint64_t *sizes;              /* of each, where a part is read */
  struct documents_range range;
  bool quiet;                   /* warn of nothing */
  bool detected;                /* the options' detect was asked */
  struct mm_input *in;

  /* The present member.  */
  bool in_member, at_end;       /* at_end: all of it is in the buffer */
  enum mm_document_format kind; /* not AUTO */
  bool delimited;               /* text: a delimiter was found in it */
  bool array;                   /* JSON: its values stand in an array */
  bool comma;                   /* JSON: the array has a value already */
  struct csv_reader csv;
  char *buffer;
  size_t start, end, buffer_capacity;   /* bytes not yet handed out: [start, end) */
  size_t checked;               /* valid UTF-8 up to here */
  size_t scanned;               /* no end of a line, no delimiter begins before here */
  size_t try_cut;               /* try to cut a document that has this many bytes */
  uint64_t line, column;        /* of START, both from 0 */

  /* The document under way.  */
  const char *text;             /* waits to be handed out */
  size_t left;
  bool waiting, final;          /* final: the document ends with it */
  bool in_document;             /* parts of it were handed out */
  uint64_t place;               /* the line, from 0, where the value given last begins */

  char *fixed;                  /* bytes with replacements */
  size_t fixed_capacity;
  struct mm_json_line found;
  struct mm_document_counts counts;
};

/* ---- documents_member.c ---- */

/* Forget the buffer and read the first bytes of a new member, unchecked.  */
mm_status documents_begin (struct mm_documents *d) MM_NODISCARD;

/* Check, and replace, what has come in, but where errors are skipped.  */
mm_status documents_check (struct mm_documents *d) MM_NODISCARD;

/* The same for the first bytes: a byte order mark tells that they are UTF-8, and is no character of
   the text.  */
mm_status documents_check_mark (struct mm_documents *d) MM_NODISCARD;

/* Read and check more of the member, or set AT_END.  What stands in the buffer moves to its
   beginning: places relative to START stay.  */
mm_status documents_read (struct mm_documents *d) MM_NODISCARD;

/* What stands before AT has been dealt with.  */
void documents_consume (struct mm_documents *d, size_t at);

/* The same where AT is the end of the line that START begins, with its line end or without.  */
void documents_consume_line (struct mm_documents *d, size_t at);

/* MM_EFORMAT that names file, member, line and byte of AT.  documents_fail_or_skip: the document
   is skipped, if the options say so: then MM_OK.  */
mm_status documents_fail (const struct mm_documents *d, size_t at, const char *problem) MM_NODISCARD;
mm_status documents_fail_or_skip (struct mm_documents *d, size_t at, const char *problem) MM_NODISCARD;

/* The end of the line that starts at START, at or behind SCANNED; END if the member ends without
   one, or the line has LIMIT bytes.  */
mm_status documents_line_end (struct mm_documents *d, size_t limit, size_t *at) MM_NODISCARD;

/* The offset of the first invalid byte in SIZE bytes at START + FROM where errors are skipped, so
   that nothing was checked; else SIZE.  */
size_t documents_valid (const struct mm_documents *d, size_t from, size_t size);

/* ---- documents_kind.c ---- */

/* Refuse what is no text by its first bytes, and what is not UTF-8.  */
mm_status documents_refuse (const struct mm_documents *d) MM_NODISCARD;

/* Set the member's kind by the options, its name and its beginning.  */
mm_status documents_choose_kind (struct mm_documents *d) MM_NODISCARD;

/* In which encoding bytes that are not UTF-8 may be: a name for iconv, or NULL.  */
const char *documents_guess (const char *text, size_t size);

/* ---- the kinds: take the next document of the member, or end it ---- */

mm_status documents_take_text (struct mm_documents *d) MM_NODISCARD;
mm_status documents_take_line (struct mm_documents *d) MM_NODISCARD;
mm_status documents_take_value (struct mm_documents *d) MM_NODISCARD;
mm_status documents_take_row (struct mm_documents *d) MM_NODISCARD;

/* ---- documents.c ---- */

/* The SIZE bytes at TEXT wait to be handed out.  */
void documents_give (struct mm_documents *d, const char *text, size_t size, bool final);

/* ---- documents_list.c ---- */

/* Append the names in the list to the inputs.  */
mm_status documents_read_list (struct mm_documents *d) MM_NODISCARD;

/* ---- documents_part.c ---- */

/* Find the range that the options ask for; sizes are known.  */
mm_status documents_divide (struct mm_documents *d) MM_NODISCARD;

/* Go to INPUT; false if it has nothing of the range and need not be opened.  */
bool documents_enter (struct mm_documents *d, size_t input);

/* A member was begun: leave of it, or of its input, what is in the range.  */
mm_status documents_narrow (struct mm_documents *d) MM_NODISCARD;

/* PART was handed out: is it in the range?  */
bool documents_in_part (struct mm_documents *d, const struct mm_document_part *part);

/* Documents before the range are being read.  */
bool documents_outside (const struct mm_documents *d);

/* Bytes of the range, when DONE of the present input are read.  */
uint64_t documents_done (const struct mm_documents *d, uint64_t done);

#endif /* TEXT_DOCUMENTS_IMPL_H */
