/* documents.h -- the documents of texts, JSON, CSV and TSV, one after the other.
   SPDX-License-Identifier: Apache-2.0

   Every input that input.h opens, its members in order.  Of a text the whole member is a
   document, or what stands between delimiters; of JSON Lines a string field of each line; of a JSON
   array such a field of each object, or each string; of CSV and TSV a column of each row.
   Memory does not grow with inputs: a document larger than a few megabytes comes in parts, cut
   where the caller says that it may be, and of JSON and rows one value, line or row is held whole.
   Documents without a byte are left out and counted.

   Everything is UTF-8.  A byte order mark at a member's beginning is left out.  Files in UTF-16, and
   binary ones of known kinds (Parquet, Arrow, HDF5 ...), are refused with the command that converts
   them, whatever the options say.

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
  MM_DOCUMENTS_AUTO,            /* by the member's name (.txt, .jsonl, .ndjson, .csv, .tsv, .json; a
                                   compressed one's too); else, and of .json, JSON Lines if the first
                                   line is a JSON object; else a text.  With a delimiter a text.  */
  MM_DOCUMENTS_TEXT,
  MM_DOCUMENTS_JSONL,
  MM_DOCUMENTS_JSON,            /* an array of objects or strings, or objects one behind the other, on
                                   any lines */
  MM_DOCUMENTS_CSV,             /* RFC 4180; a field that does not begin with a quote may hold some */
  MM_DOCUMENTS_TSV,             /* the same with tabs */
  MM_DOCUMENTS_VALUES           /* JSON Lines or JSON, by name and beginning: each line or value as it stands is a
                                   document, whole and unread but for its extent; for rows that are more than one
                                   text, as conversations */
};

/* What becomes of a document that cannot be read: invalid UTF-8, a line that is not JSON or has
   no such field.  */
enum mm_document_errors
{
  MM_ERRORS_FAIL,               /* MM_EFORMAT */
  MM_ERRORS_SKIP,               /* leave it out, count it, warn of the first; documents are held in
                                   memory whole.  As fail where it is not known what comes next: a
                                   quote without an end, no comma between values */
  MM_ERRORS_REPLACE             /* U+FFFD for what is not UTF-8, counted; else as fail */
};

/* The last place at or before LIMIT where TEXT may be cut, whatever follows its SIZE bytes, or 0:
   mm_encode_cut, mm_bpe_trainer_cut.  */
typedef size_t mm_document_cut (const void *arg, const char *text, size_t size, size_t limit);

/* Does the JSON value of SIZE bytes ask to be read with the others as MM_DOCUMENTS_VALUES?  mm_chat_detect.  */
typedef bool mm_document_detect (const char *json, size_t size);

struct mm_document_options
{
  enum mm_document_format format;
  const char *field;            /* of JSON; "a.b" is b of the object a, "a\\.b" a name with a dot.  Of
                                   rows a column's name in the header or number from 1.  "text" if
                                   NULL */
  bool no_header;               /* rows: the first is one like the others; FIELD is a number */
  const char *files_from;       /* a file that names inputs behind those given, a line each, "-" for
                                   standard input; or NULL */
  bool null;                    /* its names end with a NUL */
  const char *delimiter;        /* between documents of a text; NULL: none */
  size_t delimiter_size;
  enum mm_document_errors errors;
  unsigned part, parts;         /* only the documents that begin in the PART-th, from 1, of PARTS equal
                                   pieces of all inputs' bytes: parts in order are the whole.  Plain
                                   texts and JSON Lines are read there alone; of other inputs that the
                                   piece holds a part of, documents are counted first and stand for the
                                   bytes.  PARTS 0: everything */
  mm_document_cut *cut;
  const void *cut_arg;
  mm_document_detect *detect;   /* under AUTO: if the first value of all inputs, where it is JSON, has it true, the
                                   format is VALUES.  NULL: it never is */
};

struct mm_document_part
{
  const char *text;             /* valid UTF-8 without a character cut off; valid until the next
                                   call */
  size_t size;                  /* > 0, unless it ends a document that had parts.  Of VALUES always whole */
  bool first, last;             /* of its document */
  const char *input;            /* the input it is from, as it was named; valid until the reader closes */
  size_t n_input;               /* its number, from 0 */
};

struct mm_document_counts
{
  uint64_t documents, bytes;    /* handed out */
  uint64_t empty;               /* documents left out because there was nothing in them */
  uint64_t skipped;             /* left out by MM_ERRORS_SKIP */
  uint64_t replaced;            /* U+FFFD put in by MM_ERRORS_REPLACE */
};

/* Command-line options for these, the parser's input: --format, --field, --no-header, --delimiter,
   --on-error, --files-from, --null; --format=chat is VALUES.  CUT, CUT_ARG and DETECT stay as they are.  */
extern const struct argp mm_documents_argp;

/* ARG with the escapes \\ \n \r \t \f \0 and \xHH taken for what they stand for, as new bytes.
   MM_EUSAGE for another escape.  */
mm_status mm_documents_delimiter (const char *arg, char **bytes, size_t *size) MM_NODISCARD;

/* Read INPUTS, borrowed, in their order; "-" is standard input.  Only the list of FILES_FROM is read
   yet.  MM_ENOENT if an input is missing; MM_EUSAGE for an empty delimiter, or one with another format
   than text, a FIELD that is no path, one of VALUES, a part of what is no file, and options that do not fit together;
   MM_EFORMAT, MM_EIO for the list.  */
mm_status mm_documents_open (const char *const *inputs, size_t n_inputs,
                             const struct mm_document_options *options,
                             struct mm_documents **d) MM_NODISCARD;
void mm_documents_close (struct mm_documents *d);       /* accepts NULL */

/* The next part; *MORE false at the end.  MM_ENOENT, MM_EIO; MM_EFORMAT names file, member, line
   and byte (both from 1); MM_EUNSUP for what is no UTF-8 text by its beginning.  */
mm_status mm_documents_next (struct mm_documents *d, struct mm_document_part *part,
                             bool *more) MM_NODISCARD;

/* Go to the first document, so that the format is known: *VALUES, it is MM_DOCUMENTS_VALUES, asked for or detected.
   Before the first mm_documents_next; the statuses are its.  */
mm_status mm_documents_begin (struct mm_documents *d, bool *values) MM_NODISCARD;

/* Write where the value that mm_documents_next gave last begins into the SIZE bytes at TEXT: "FILE (MEMBER): line
   3".  */
void mm_documents_place (const struct mm_documents *d, char *text, size_t size);

void mm_documents_counts (const struct mm_documents *d, struct mm_document_counts *counts);

/* How many documents there will be, if that can be told from the inputs and what was read; UINT64_MAX if not.  Empty
   ones, and members of other kinds that are to come, may make it wrong.  */
uint64_t mm_documents_expected (const struct mm_documents *d);

/* Bytes read of all inputs (compressed), and their size or 0 where one is unknown.  */
void mm_documents_progress (const struct mm_documents *d, uint64_t *done, uint64_t *total);

#endif /* MINIMIND_DOCUMENTS_H */
