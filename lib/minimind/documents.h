/* documents.h -- the documents of text files and JSON Lines, one after the other.
   SPDX-License-Identifier: Apache-2.0

   Every input that input.h opens, its members in order.  Of a text the whole member is a
   document, or what stands between delimiters; of JSON Lines a string field of each line.
   Memory does not grow with inputs: a document larger than a few megabytes comes in parts, cut
   where the caller says that it may be.  Documents without a byte are left out and counted.

     while ((st = mm_documents_next (d, &part, &more)) == MM_OK && more)
       ...

   Ownership: the texts of parts belong to the reader.  */

#ifndef MINIMIND_DOCUMENTS_H
#define MINIMIND_DOCUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

struct argp;
struct mm_documents;            /* opaque */

enum mm_document_format
{
  MM_DOCUMENTS_AUTO,            /* by the member's name (.jsonl, .ndjson, .txt, a compressed one's
                                   too), else JSON Lines if its first line is a JSON object */
  MM_DOCUMENTS_TEXT,
  MM_DOCUMENTS_JSONL
};

/* What becomes of a document that cannot be read: invalid UTF-8, a line that is not JSON or has
   no such field.  */
enum mm_document_errors
{
  MM_ERRORS_FAIL,               /* MM_EFORMAT */
  MM_ERRORS_SKIP,               /* leave it out, count it, warn of the first; documents are held in
                                   memory whole */
  MM_ERRORS_REPLACE             /* U+FFFD for what is not UTF-8, counted; else as fail */
};

/* The last place at or before LIMIT where TEXT may be cut, whatever follows its SIZE bytes, or 0:
   mm_encode_cut, mm_bpe_trainer_cut.  */
typedef size_t mm_document_cut (const void *arg, const char *text, size_t size, size_t limit);

struct mm_document_options
{
  enum mm_document_format format;
  const char *field;            /* of JSON Lines; "text" if NULL */
  const char *delimiter;        /* between documents of a text; NULL: none */
  size_t delimiter_size;
  enum mm_document_errors errors;
  mm_document_cut *cut;
  const void *cut_arg;
};

struct mm_document_part
{
  const char *text;             /* valid UTF-8 without a character cut off; valid until the next
                                   call */
  size_t size;                  /* > 0, unless it ends a document that had parts */
  bool first, last;             /* of its document */
};

struct mm_document_counts
{
  uint64_t documents, bytes;    /* handed out */
  uint64_t empty;               /* documents left out because there was nothing in them */
  uint64_t skipped;             /* left out by MM_ERRORS_SKIP */
  uint64_t replaced;            /* U+FFFD put in by MM_ERRORS_REPLACE */
};

/* Command-line options for these, the parser's input: --format, --field, --delimiter, --on-error.
   CUT and CUT_ARG stay as they are.  */
extern const struct argp mm_documents_argp;

/* ARG with the escapes \\ \n \r \t \f \0 and \xHH taken for what they stand for, as new bytes.
   MM_EUSAGE for another escape.  */
mm_status mm_documents_delimiter (const char *arg, char **bytes, size_t *size) MM_NODISCARD;

/* Read INPUTS, borrowed, in their order; "-" is standard input.  Nothing is opened yet.
   MM_EUSAGE for an empty delimiter, or one with MM_DOCUMENTS_JSONL.  */
mm_status mm_documents_open (const char *const *inputs, size_t n_inputs,
                             const struct mm_document_options *options,
                             struct mm_documents **d) MM_NODISCARD;
void mm_documents_close (struct mm_documents *d);       /* accepts NULL */

/* The next part; *MORE false at the end.  MM_ENOENT, MM_EIO; MM_EFORMAT names file, member, line
   and byte (both from 1); MM_EUNSUP for a JSON array.  */
mm_status mm_documents_next (struct mm_documents *d, struct mm_document_part *part,
                             bool *more) MM_NODISCARD;

void mm_documents_counts (const struct mm_documents *d, struct mm_document_counts *counts);

/* Bytes read of all inputs (compressed), and their size or 0 where one is unknown.  */
void mm_documents_progress (const struct mm_documents *d, uint64_t *done, uint64_t *total);

#endif /* MINIMIND_DOCUMENTS_H */
