/* tokenize.h -- what the command line asks of minimind-tokenize, and its three works.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef TOKENIZE_H
#define TOKENIZE_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include <minimind/documents.h>
#include <minimind/tokenizer.h>

enum tokenize_output
{
  OUTPUT_TOKENS,                /* a token file */
  OUTPUT_TEXT,                  /* ids in decimal, a line for each document */
  OUTPUT_RAW                    /* ids as little-endian integers, as wide as in a token file */
};

struct tokenize_config
{
  const char *const *inputs;
  size_t n_inputs;
  const char *tokenizer;        /* file or folder */
  const char *output;
  bool force;
  enum tokenize_output output_kind;
  bool output_kind_given;
  struct mm_document_options documents;
  bool bos, no_eos, parse_special;
  const char *eos;              /* in place of the tokenizer's, or NULL */
  const char *chat_template;    /* of conversations, or NULL */
  bool minimind_compatible;     /* conversations as MiniMind encodes and labels them */
  bool decode, count, json;
  enum tokenize_output decode_kind;     /* of the inputs of decode */
  uint64_t sample;              /* documents to show, or 0 */
  int n_threads;
};

/* The command line; the parser's input is a struct tokenize_config.  */
extern const struct argp tokenize_argp;

/* What goes around the ids of a document.  */
struct tokenize_frame
{
  int32_t bos, eos;             /* MM_NO_TOKEN: nothing */
};

/* Find the tokens that the options ask for.  MM_EUSAGE where T has none.  */
mm_status tokenize_frame_find (const struct tokenize_config *c, const struct mm_tokenizer *t,
                               struct tokenize_frame *frame) MM_NODISCARD;

mm_status tokenize (const struct tokenize_config *c);           /* into a token file, or count */
mm_status tokenize_decode (const struct tokenize_config *c);    /* token files into text */
mm_status tokenize_sample (const struct tokenize_config *c);    /* show the first documents */

#endif /* TOKENIZE_H */
