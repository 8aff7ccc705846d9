/* split_regex.c -- from Oniguruma's regular expressions to PCRE2's.
   SPDX-License-Identifier: Apache-2.0

   One pass over the expression.  Every literal character comes out as \x{...}, so that nothing in it
   is taken for syntax.  What the engines have differently:

   \s        PCRE2 counts U+180E; it comes out as the characters themselves
   {n,m}+    a repetition of a repetition in Ruby's syntax, possessive in PCRE2's
   $         also before each line end
   .         all but U+000A
   (?i:)     folds strings too (ss and U+00DF): allowed for letters of ASCII without such pairs
   \p{Han}   a script here, its extensions in PCRE2: comes out as \p{sc:Han}  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "split_regex.h"
#include "unicode.h"

enum { NESTING = 32, LONGEST = 1 << 16 };

struct translation
{
  const char *name, *regex;     /* for messages */
  const char *in;               /* what is left of it */
  char *out;
  size_t size, capacity;
  size_t atom;                  /* where in OUT the last atom starts, for what repeats it */
  struct { size_t start; bool fold; } groups[NESTING];
  int depth;
  bool fold;                    /* within (?i: */
  char before;                  /* the literal letter before, folded, or 0 */
  const struct mm_split_unicode *unicode;       /* NULL on a first pass */
  bool properties, doubt;
  mm_status status;             /* of the first failure; nothing happens after it */
};

/* ---- output ---- */

static void
refuse (struct translation *t, const char *what)
{
  if (t->status == MM_OK)
    t->status = mm_fail (MM_EUNSUP, "%s: pre_tokenizer Split: %s is not supported in its pattern, at "
                         "character %zu of %.200s", t->name, what, (size_t) (t->in - t->regex) + 1,
                         t->regex);
}

static void
put_bytes (struct translation *t, const char *text, size_t size)
{
  if (t->status == MM_OK)
    t->status = mm_grow ("pattern", &t->out, &t->capacity, t->size + size + 1, 1);
  if (t->status < 0)
    return;
  memcpy (t->out + t->size, text, size);
  t->size += size;
  t->out[t->size] = '\0';
}

static void
put (struct translation *t, const char *text)
{
  put_bytes (t, text, strlen (text));
}

static void
put_point (struct translation *t, uint32_t c)
{
  char text[16];

  snprintf (text, sizeof text, "\\x{%x}", (unsigned) c);
  put (t, text);
}

/* Put (?: before the last atom and ) behind it.  */
static void
wrap_atom (struct translation *t)
{
  put (t, "(?:)");
  if (t->status < 0)
    return;
  memmove (t->out + t->atom + 3, t->out + t->atom, t->size - 4 - t->atom);
  memcpy (t->out + t->atom, "(?:", 3);
}

/* ---- characters ---- */

static const char spaces[] = "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}"
                             "\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
static const char not_spaces[] = "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}"
                                 "\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}"
                                 "\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{10ffff}";

static bool
is_hex (char c)
{
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* The general categories that the table of unicode.h tells, and their values there.  */
static const struct { const char *name; unsigned first, last; } tabled[] = {
  { "L", 1, 5 }, { "Lu", 1, 1 }, { "Ll", 2, 2 }, { "Lt", 3, 3 }, { "Lm", 4, 4 }, { "Lo", 5, 5 },
  { "M", 6, 6 }, { "P", 7, 7 }, { "S", 8, 8 }, { "N", 0, 0 }
};

/* Is C of row I of that list?  */
static bool
is_tabled (uint32_t c, size_t i)
{
  unsigned class = mm_unicode_class (c);

  return tabled[i].last == 0 ? class & MM_NUMBER
                             : class >> 4 >= tabled[i].first && class >> 4 <= tabled[i].last;
}

/* What PCRE2 does not know yet of the property NAME, as ranges of a class.  */
static void
put_newer (struct translation *t, const char *name)
{
  size_t i = 0;
  bool within = false;

  while (i < sizeof tabled / sizeof *tabled && strcmp (tabled[i].name, name) != 0)
    i++;
  if (i == sizeof tabled / sizeof *tabled)
    {
      t->doubt = true;
      return;
    }
  for (uint32_t c = 0; t->unicode && c < 0x110000; c++)
    {
      bool now = t->unicode->theirs[c >> 3] >> (c & 7) & 1 && is_tabled (c, i);

      if (now && !within)
        put_point (t, c);
      else if (!now && within)
        {
          put (t, "-");
          put_point (t, c - 1);
        }
      within = now;
    }
}

/* `\p{NAME}` behind the p or P: general categories and scripts that both engines name alike.  Comes
   out as items of a class; *NEGATIVE tells whether they are what is meant or all else is.  */
static void
put_property (struct translation *t, bool *negative)
{
  static const char categories[] = " L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc "
                                   "Sk So Z Zs Zl Zp ";
  static const char scripts[] = " Arabic Armenian Bengali Cyrillic Devanagari Georgian Greek Gujarati Han "
                                "Hangul Hebrew Hiragana Katakana Khmer Lao Latin Myanmar Tamil Telugu Thai ";
  char name[24], spaced[28];
  size_t size;

  if (*t->in++ != '{')
    {
      refuse (t, "a property without braces");
      return;
    }
  if (*t->in == '^')
    {
      *negative = !*negative;
      t->in++;
    }
  size = strcspn (t->in, "} ");
  if (t->in[size] != '}' || size == 0 || size >= sizeof name)
    {
      refuse (t, "this property");
      return;
    }
  snprintf (name, sizeof name, "%.*s", (int) size, t->in);
  snprintf (spaced, sizeof spaced, " %s ", name);
  if (!strstr (categories, spaced) && !strstr (scripts, spaced))
    {
      refuse (t, "this property");
      return;
    }
  put (t, "\\p{");
  put (t, strstr (categories, spaced) ? "" : "sc:");
  put (t, name);
  put (t, "}");
  t->in += size + 1;
  t->properties = true;
  put_newer (t, name);
}

/* The code point of an escape behind the backslash, or false if it is none of a character.  */
static bool
escaped_point (struct translation *t, uint32_t *c)
{
  static const char from[] = "nrtfvae", to[] = "\n\r\t\f\v\a\33";
  const char *known = *t->in ? strchr (from, *t->in) : NULL, *digits = t->in + 1;
  int n = 0;

  if (known || (*t->in > ' ' && *t->in < 0x7f && !strchr ("0123456789", *t->in)
                && (unsigned char) ((*t->in | 0x20) - 'a') >= 26))
    {
      *c = (uint32_t) (known ? to[known - from] : *t->in);
      t->in++;
      return true;
    }
  if (*t->in == 'x' && *digits == '{')
    {
      while (n < 8 && is_hex (digits[1 + n]))
        n++;
      if (n == 0 || digits[1 + n] != '}')
        return false;
      *c = (uint32_t) strtoul (digits + 1, NULL, 16);
      t->in = digits + n + 2;
    }
  else if (*t->in == 'u' || *t->in == 'x')
    {
      int want = *t->in == 'u' ? 4 : 2;
      char text[5] = "";

      while (n < want && is_hex (digits[n]))
        n++;
      if (n < want)
        return false;
      memcpy (text, digits, (size_t) n);
      *c = (uint32_t) strtoul (text, NULL, 16);
      t->in = digits + n;
      if (want == 2 && *c >= 0x80)      /* a byte of a character, for Oniguruma */
        return false;
    }
  else
    return false;
  return *c <= 0x10ffff && !(*c >= 0xd800 && *c <= 0xdfff);
}

/* A literal character of the expression or an escape.  */
static bool
next_point (struct translation *t, uint32_t *c)
{
  unsigned length;

  if (*t->in == '\\')
    {
      const char *start = t->in++;

      if (escaped_point (t, c))
        return true;
      t->in = start;
      refuse (t, "this escape");
      return false;
    }
  *c = mm_utf8_get (t->in, &length);
  t->in += length;
  return true;
}

/* Oniguruma folds these strings to single characters too (U+00DF, U+FB00 to U+FB06).  */
static void
check_fold (struct translation *t, uint32_t c)
{
  char now = c < 0x80 ? (char) (c | 0x20) : 0;

  if (!t->fold)
    return;
  if (c >= 0x80)
    refuse (t, "case folding outside ASCII");
  if ((t->before == 's' && (now == 's' || now == 't'))
      || (t->before == 'f' && (now == 'f' || now == 'i' || now == 'l')))
    refuse (t, "case folding of ss, st, ff, fi or fl");
  t->before = now;
}

/* ---- classes ---- */

/* Does C behind a backslash name a set of characters?  */
static bool
names_set (char c)
{
  return c != '\0' && strchr ("sSdDpP", c);
}

/* Such a set, T->in at C, as items of a class; *NEGATIVE where all else is meant.  */
static void
put_set (struct translation *t, bool *negative)
{
  char c = *t->in++;

  *negative = c == 'P' || c == 'D' || c == 'S';
  if (t->fold)
    refuse (t, "case folding of a set of characters");
  if (c == 's' || c == 'S')
    put (t, spaces);
  else if (c == 'd' || c == 'D')
    {
      put (t, "\\p{Nd}");
      t->properties = t->doubt = true;
    }
  else
    put_property (t, negative);
}

/* A set by itself.  */
static void
put_set_class (struct translation *t)
{
  size_t start = t->size;
  bool negative = false;

  put (t, "[^");
  put_set (t, &negative);
  put (t, "]");
  if (t->status == MM_OK && !negative)
    {
      memmove (t->out + start + 1, t->out + start + 2, t->size - start - 1);
      t->size--;
    }
}

/* A set within a class.  Those that mean all else can't be written out there, but \S can.  */
static void
put_set_item (struct translation *t)
{
  size_t start = t->size;
  bool negative = false, white = *t->in == 'S' || *t->in == 's';

  put_set (t, &negative);
  if (t->status < 0 || !negative)
    return;
  if (!white)
    refuse (t, "a negated property within a class");
  t->size = start;
  put (t, not_spaces);
}

/* A character of a class, or a range.  */
static void
put_range (struct translation *t)
{
  uint32_t first, last;

  if (!next_point (t, &first))
    return;
  last = first;
  if (t->in[0] == '-' && t->in[1] != ']')
    {
      t->in++;
      if (t->in[0] == '[' || (t->in[0] == '\\' && names_set (t->in[1])))
        refuse (t, "a range of sets");
      else if (!next_point (t, &last))
        return;
    }
  if (t->fold && last >= 0x80)
    refuse (t, "case folding outside ASCII");
  put_point (t, first);
  if (last != first)
    {
      put (t, "-");
      put_point (t, last);
    }
}

static void
put_class (struct translation *t)
{
  bool negative = *t->in == '^';

  t->in += negative;
  put (t, negative ? "[^" : "[");
  if (*t->in == ']')
    refuse (t, "an empty class");
  if (negative && t->fold)
    refuse (t, "case folding of a set of characters");
  while (t->status == MM_OK && *t->in != ']')
    if (*t->in == '\0')
      refuse (t, "a class without an end");
    else if (*t->in == '[')
      refuse (t, "a class within a class");
    else if (t->in[0] == '&' && t->in[1] == '&')
      refuse (t, "an intersection of classes");
    else if (t->in[0] == '\\' && names_set (t->in[1]))
      {
        t->in++;
        put_set_item (t);
      }
    else
      put_range (t);
  put (t, "]");
  t->in += *t->in == ']';
}

/* ---- groups and repetition ---- */

static void
open_group (struct translation *t)
{
  static const char *const kinds[] = { "?:", "?i:", "?=", "?!", "?<=", "?<!", "?>" };
  bool fold = t->fold;
  size_t start = t->size;

  if (*t->in != '?')
    put (t, "(?:");
  else
    {
      const char *kind = NULL;

      for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !kind; i++)
        if (strncmp (t->in, kinds[i], strlen (kinds[i])) == 0)
          kind = kinds[i];
      if (!kind)
        {
          refuse (t, "this kind of group");
          return;
        }
      fold |= kind[1] == 'i';
      put (t, "(");
      put (t, kind);
      t->in += strlen (kind);
    }
  if (t->depth == NESTING)
    {
      refuse (t, "nesting beyond 32 groups");
      return;
    }
  t->groups[t->depth].start = start;
  t->groups[t->depth++].fold = t->fold;
  t->fold = fold;
}

static void
close_group (struct translation *t)
{
  if (t->depth == 0)
    {
      refuse (t, "a ) without its (");
      return;
    }
  put (t, ")");
  t->atom = t->groups[--t->depth].start;
  t->fold = t->groups[t->depth].fold;
}

/* `{n,m}` and what follows it; T->in is behind the brace.  */
static void
put_interval (struct translation *t)
{
  const char *start = t->in;
  size_t low = strspn (start, "0123456789"), high = 0;
  bool comma = start[low] == ',';

  if (comma)
    high = strspn (start + low + 1, "0123456789");
  t->in += low + comma + high;
  if (*t->in != '}' || (low == 0 && high == 0) || low > 4 || high > 4)
    {
      refuse (t, "this repetition");
      return;
    }
  t->in++;
  put (t, "{");
  put (t, low ? "" : "0");
  put_bytes (t, start, low + comma + high);
  put (t, "}");
  if (*t->in == '+' || *t->in == '*' || (*t->in == '?' && !comma))
    wrap_atom (t);
}

static void
put_step (struct translation *t)
{
  char c = *t->in;
  uint32_t point;

  /* A repetition and its ? or + belong to the atom before; all else is an atom of its own.  */
  if (!strchr ("*+?{", c))
    t->atom = t->size;
  if (!((unsigned char) ((c | 0x20) - 'a') < 26))
    t->before = 0;
  switch (c)
    {
    case '*': case '+': case '?': case '|':
      put_bytes (t, &c, 1);
      t->in++;
      break;
    case '{':
      t->in++;
      put_interval (t);
      break;
    case '(':
      t->in++;
      open_group (t);
      break;
    case ')':
      t->in++;
      close_group (t);
      break;
    case '[':
      t->in++;
      put_class (t);
      break;
    case '.':
      t->in++;
      put (t, "[^\\n]");
      break;
    case '$':
      t->in++;
      put (t, "(?=\\n|\\z)");
      break;
    case '^':
      refuse (t, "the anchor ^");
      break;
    case '\\':
      if (names_set (t->in[1]))
        {
          t->in++;
          put_set_class (t);
          break;
        }
      /* fall through */
    default:
      if (next_point (t, &point))
        {
          check_fold (t, point);
          put_point (t, point);
        }
    }
}

mm_status
mm_split_regex (const char *name, const char *regex, const struct mm_split_unicode *u, char **out,
                bool *properties, bool *doubt)
{
  struct translation t = { .name = name, .regex = regex, .in = regex, .unicode = u };

  *out = NULL;
  *properties = *doubt = false;
  if (strlen (regex) > LONGEST)
    return mm_fail (MM_EUNSUP, "%s: pre_tokenizer Split: a pattern of %zu bytes is not supported, at "
                    "most %d are", name, strlen (regex), LONGEST);
  put (&t, "");
  while (t.status == MM_OK && *t.in)
    put_step (&t);
  if (t.depth > 0)
    refuse (&t, "a ( without its )");
  if (t.status < 0)
    {
      free (t.out);
      return t.status;
    }
  *out = t.out;
  *properties = t.properties;
  *doubt = t.doubt;
  return MM_OK;
}

mm_status
mm_split_literal (const char *name, const char *text, char **out)
{
  struct translation t = { .name = name, .regex = text, .in = text };
  unsigned length;

  put (&t, "");
  for (; t.status == MM_OK && *t.in; t.in += length)
    put_point (&t, mm_utf8_get (t.in, &length));
  if (t.status < 0)
    free (t.out);
  *out = t.status < 0 ? NULL : t.out;
  return t.status;
}
