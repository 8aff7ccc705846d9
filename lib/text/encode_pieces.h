/* encode_pieces.h -- text without added tokens to ids, by way of a cache of pieces.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  What an encoder does nearly all of its time.  */

#ifndef TEXT_ENCODE_PIECES_H
#define TEXT_ENCODE_PIECES_H

#include "tokenizer_impl.h"

struct mm_pieces;               /* caches and scratch memory of one thread */

mm_status mm_pieces_open (const struct mm_tokenizer *t, struct mm_pieces **p) MM_NODISCARD;
void mm_pieces_close (struct mm_pieces *p);     /* accepts NULL */

/* Append the ids of TEXT, valid UTF-8, with no regard to added tokens.  */
mm_status mm_pieces_encode (struct mm_pieces *p, const char *text, size_t size,
                            struct mm_ids *ids) MM_NODISCARD;

/* An encoder: encode.c's and chat_encode.c's.  */
struct mm_encoder
{
  const struct mm_tokenizer *t;
  struct mm_pieces *pieces;
  struct mm_nfc nfc;
  struct mm_ids counted;        /* of one part, in mm_count */
};

/* The ids of one piece, of SIZE > 0 bytes, without any cache; IDS has room for SIZE of them.  */
mm_status mm_piece_encode (const struct mm_tokenizer *t, struct mm_bpe_scratch *s, const char *piece, size_t size,
                           uint32_t *ids, size_t *count) MM_NODISCARD;

/* Append ID to IDS.  */
mm_status mm_ids_append (struct mm_ids *ids, uint32_t id) MM_NODISCARD;

#endif /* TEXT_ENCODE_PIECES_H */
