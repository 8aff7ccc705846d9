/* tokenizer.h -- byte-level BPE: text to ids and back, as HuggingFace tokenizers does it.
   SPDX-License-Identifier: Apache-2.0

   Reads tokenizer.json and the tokenizer_config.json beside it.  Ids equal those of HF
   tokenizers for valid UTF-8 (text encoded with add_special_tokens = false: the templates of
   post-processors do nothing; what a document begins and ends with is the caller's to add, by
   mm_tokenizer_bos and mm_tokenizer_eos).  Supported is byte-level BPE: the patterns of GPT-2, Qwen2,
   Qwen3.5, Llama-3, cl100k, o200k and DeepSeek-V3 built in, any other sequence of Split and Digits
   through PCRE2; normalisation form C, by the tables of Unicode 9.0 that HF has; added tokens of every
   kind, ignore_merges, merges as pairs or strings.  Whatever else would change ids is refused by
   name: other models, normalizers, pre-tokenizers and decoders, regular expressions that PCRE2 and
   HF's engine may read differently, dropout, byte_fallback, prefixes, truncation, padding,
   vocabularies that lack bytes (HF drops them from the text in silence), and added tokens whose ids
   in the file are not those that HF would give them.

   Also read are rank files as tiktoken has them and GPT-2's vocab.json with merges.txt; they are made
   into a tokenizer.json that means the same, which is then "the file".

   A tokenizer is immutable once loaded and may be used from several threads; each thread
   encodes through an encoder of its own, which holds caches and scratch memory (about 9 MB).

     struct mm_tokenizer *t;
     if (mm_tokenizer_load ("tokenizer.json", &t) < 0) ...
     struct mm_encoder *e;
     if (mm_encoder_open (t, &e) < 0) ...
     struct mm_ids ids = { 0 };
     if (mm_encode (e, text, strlen (text), 0, &ids) < 0) ...  */

#ifndef MINIMIND_TOKENIZER_H
#define MINIMIND_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

struct mm_tokenizer;            /* opaque */
struct mm_encoder;              /* opaque */

enum { MM_NO_TOKEN = -1 };

/* PATH is a file, or a folder that holds tokenizer.json, or vocab.json and merges.txt:

     tokenizer.json       the configuration is the file whose name has tokenizer_config.json in place
                          of tokenizer.json, if there
     vocab.json           or merges.txt beside it (also encoder.json and vocab.bpe): GPT-2's, or NAME's
     a rank file          lines of a token in base64 and its rank; for the encoding NAME, which the
                          file's own name or its SHA-256 may tell

   NAME:FILE says it, NAME being one of gpt2, r50k_base, p50k_base, cl100k_base, o200k_base, qwen,
   llama3; it gives pattern, normalisation and special tokens.  MM_ENOENT, MM_EIO, MM_EFORMAT
   (damaged), MM_EUNSUP (another kind, named), MM_EUSAGE (NAME is missing or not wanted).  */
mm_status mm_tokenizer_load (const char *path, struct mm_tokenizer **t) MM_NODISCARD;

/* The same from memory; CONFIG may be NULL.  NAME stands in messages.  */
mm_status mm_tokenizer_parse (const char *name, const char *json, size_t json_size,
                              const char *config, size_t config_size,
                              struct mm_tokenizer **t) MM_NODISCARD;
void mm_tokenizer_free (struct mm_tokenizer *t);        /* accepts NULL */

/* The two files as loaded, byte for byte, or as made of others (CONFIG NULL and size 0 if there was none), and the
   SHA-256 of tokenizer.json in hexadecimal.  Owned by T.  */
void mm_tokenizer_files (const struct mm_tokenizer *t, const char **json, size_t *json_size,
                         const char **config, size_t *config_size);
const char *mm_tokenizer_sha256 (const struct mm_tokenizer *t);

/* Largest id + 1.  */
uint32_t mm_tokenizer_vocab_size (const struct mm_tokenizer *t);

/* Ids of the special roles or MM_NO_TOKEN: from tokenizer_config.json; without one eos is the
   first added token among <|im_end|>, <|endoftext|>, </s>.  */
int32_t mm_tokenizer_bos (const struct mm_tokenizer *t);
int32_t mm_tokenizer_eos (const struct mm_tokenizer *t);
int32_t mm_tokenizer_pad (const struct mm_tokenizer *t);

/* The bytes of token ID (added tokens: their text) and their number; NULL for an id that does
   not exist.  Owned by T.  */
const char *mm_tokenizer_bytes (const struct mm_tokenizer *t, uint32_t id, size_t *size);

/* True if ID is an added token with special = true.  */
bool mm_tokenizer_is_special (const struct mm_tokenizer *t, uint32_t id);

/* Id of the added or ordinary token whose text is exactly TEXT, or MM_NO_TOKEN.  */
int32_t mm_tokenizer_find (const struct mm_tokenizer *t, const char *text);

/* The first special token whose text stands in TEXT, or MM_NO_TOKEN: to tell a user of it, as
   mm_encode takes it for text without MM_PARSE_SPECIAL.  */
int32_t mm_tokenizer_special_in (const struct mm_tokenizer *t, const char *text, size_t size);

/* ---- encoding ---- */

struct mm_ids
{
  uint32_t *data;               /* grown with realloc; free() it */
  size_t count, capacity;
};

enum
{
  MM_PARSE_SPECIAL = 1,         /* special-token strings in the text become control tokens, as
                                   HF does by default; without it they are text */
  MM_VALID_UTF8 = 2             /* the caller has checked the text (mm_utf8_check), so that it is not
                                   done again; what happens with other text is not defined */
};

mm_status mm_encoder_open (const struct mm_tokenizer *t, struct mm_encoder **e) MM_NODISCARD;
void mm_encoder_close (struct mm_encoder *e);   /* accepts NULL */

/* Append the ids of TEXT to IDS.  MM_EFORMAT at invalid UTF-8: the message holds the byte
   offset, mm_utf8_check finds it first.  Time is linear in SIZE (O(n log n) for vocabularies
   whose merges do not stand behind those that make their parts).  On failure IDS may have
   grown by some ids.

   An added token matches wherever its text stands, before anything else, the longest of those
   that start first (HF's leftmost-longest); but a token with special = true is text without
   MM_PARSE_SPECIAL, as under HF's encode_special_tokens.  */
mm_status mm_encode (struct mm_encoder *e, const char *text, size_t size, unsigned flags,
                     struct mm_ids *ids) MM_NODISCARD;

/* The number of ids that mm_encode would append, without keeping them: memory does not grow with
   the text.  MM_EFORMAT as there.  */
mm_status mm_count (struct mm_encoder *e, const char *text, size_t size, unsigned flags,
                    size_t *count) MM_NODISCARD;

/* The last place at or before LIMIT where TEXT may be cut so that the two parts, encoded apart,
   give the ids of the whole, whatever follows the SIZE bytes; 0 if none is found, as in a text
   of one word, and always for patterns that are not built in.  TEXT is valid UTF-8 but for a
   character cut off by its end.  For streaming and threads.  */
size_t mm_encode_cut (const struct mm_tokenizer *t, const char *text, size_t size, size_t limit,
                      unsigned flags);

/* Offset of the first byte of TEXT that is not valid UTF-8, or SIZE.  A sequence cut off by
   the end counts as invalid; *TRUNCATED (unless NULL) tells this case.  */
size_t mm_utf8_check (const char *text, size_t size, bool *truncated);

/* ---- decoding ---- */

/* Append the bytes of IDS to *TEXT (grown with realloc; capacity tracked).  Ids that do not
   exist are skipped, as HF does.  SKIP_SPECIAL leaves special tokens out.  The bytes may not
   be valid UTF-8 where a model made them; HF then shows U+FFFD.  (HF also garbles added tokens
   made of certain accented letters, which here stay what they are.)  */
mm_status mm_decode (const struct mm_tokenizer *t, const uint32_t *ids, size_t count,
                     bool skip_special, char **text, size_t *size, size_t *capacity) MM_NODISCARD;

/* Bytes at the end of TEXT that begin a UTF-8 sequence not yet complete (0 to 3): what a
   stream must hold back.  */
size_t mm_utf8_incomplete_tail (const char *text, size_t size);

#endif /* MINIMIND_TOKENIZER_H */
