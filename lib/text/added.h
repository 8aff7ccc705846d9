/* added.h -- added tokens: strings of the text that are one id each, before any splitting.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  Matching is leftmost-longest over all tokens of a set; the tokens that
   are not "normalized" are one set and matched first, the others match in what is left.  A match
   that is refused (single_word between word characters, or a special token where special tokens
   are text) is not tried again shorter: the search goes on behind it, as in HF.  */

#ifndef TEXT_ADDED_H
#define TEXT_ADDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

#include "trie.h"

enum { MM_ADDED_LONGEST = 4096 };       /* bytes of an added token */

struct mm_added_token
{
  const char *text;             /* not owned */
  uint32_t size, id;
  bool special, normalized;
  bool single_word;             /* no match beside a word character */
  bool lstrip, rstrip;          /* swallows white space on that side */
};

struct mm_added_set
{
  const struct mm_added_token *tokens;  /* of both sets; the trie holds indices */
  struct mm_trie trie;
  bool starts[256];             /* first bytes of tokens */
  int only_start;               /* the first byte if all have the same, else -1 */
  size_t longest;               /* bytes */
  bool any, any_plain;          /* has tokens; has some that are not special */
  bool any_flags;               /* has some with single_word, lstrip or rstrip */
};

struct mm_added_match
{
  size_t start, end;            /* white space swallowed included */
  uint32_t id;
};

/* Make SET of those of the N TOKENS whose normalized flag is NORMALIZED; borrows TOKENS.  */
mm_status mm_added_build (struct mm_added_set *set, const struct mm_added_token *tokens, size_t n,
                          bool normalized) MM_NODISCARD;
void mm_added_free (struct mm_added_set *set);

/* The next match in TEXT.  *AT is where the search goes on, 0 at first; FLOOR is the end of the
   match before, which white space to the left is not taken from.  With SPECIAL false special
   tokens are text.  */
bool mm_added_next (const struct mm_added_set *set, const char *text, size_t size, bool special,
                    size_t *at, size_t floor, struct mm_added_match *match);

/* May TEXT be cut at AT without a change of what SET matches, whatever follows SIZE?  */
bool mm_added_may_cut (const struct mm_added_set *set, const char *text, size_t size, size_t at);

#endif /* TEXT_ADDED_H */
