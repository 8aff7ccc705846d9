/* json_line.c -- a strict JSON scanner that keeps one string.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <string.h>

#include <minimind/memory.h>

#include "json_line.h"

struct scanner
{
  const char *p, *end;
  const char *problem;          /* the first; P stays there */
  mm_status status;             /* of memory */
  uint64_t objects;             /* a bit for each level: an object, not an array */
  unsigned depth;
};

struct span
{
  const char *start, *end;      /* between the quotes */
  bool escapes;
};

static bool
fail (struct scanner *s, const char *problem)
{
  if (!s->problem)
    s->problem = problem;
  return false;
}

static void
skip_space (struct scanner *s)
{
  while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
    s->p++;
}

/* ---- strings ---- */

/* Bytes of WORD, bit 7 of each set, that are a quote, a backslash or a control character.  */
static inline uint64_t
stops (uint64_t word)
{
  const uint64_t ones = UINT64_C (0x0101010101010101), high = ones << 7;
  uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';

  /* (x - 1) & ~x has its high bit set for x = 0, and beyond the first such byte maybe for
     others: the first is right, which is what counts.  */
  return (((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)
          | ((word - ones * 0x20) & ~word)) & high;
}

static void
skip_plain (struct scanner *s)
{
  uint64_t word, found;

  while (s->end - s->p >= 8)
    {
      memcpy (&word, s->p, 8);
      found = stops (word);
      if (found)
        {
          s->p += __builtin_ctzll (found) / 8;
          return;
        }
      s->p += 8;
    }
  while (s->p < s->end && *s->p != '"' && *s->p != '\\' && (unsigned char) *s->p >= 0x20)
    s->p++;
}

static int
hex_digit (char c)
{
  return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f'
         ? (c | 0x20) - 'a' + 10 : -1;
}

/* The four hexadecimal digits at P, or -1.  */
static int
hex4 (const char *p, const char *end)
{
  int value = 0;

  if (end - p < 4)
    return -1;
  for (int i = 0; i < 4; i++)
    {
      int digit = hex_digit (p[i]);

      if (digit < 0)
        return -1;
      value = value << 4 | digit;
    }
  return value;
}

/* Scan a string, P at its first quote.  */
static bool
scan_string (struct scanner *s, struct span *span)
{
  if (s->p == s->end || *s->p != '"')
    return fail (s, "want a string");
  *span = (struct span) { ++s->p, NULL, false };
  for (;;)
    {
      skip_plain (s);
      if (s->p == s->end)
        return fail (s, "the line ends within a string");
      if (*s->p == '"')
        break;
      if (*s->p != '\\')
        return fail (s, "control character in a string");
      span->escapes = true;
      if (s->end - s->p < 2 || !strchr ("\"\\/bfnrtu", s->p[1]) || s->p[1] == '\0')
        return fail (s, "unknown escape in a string");
      if (s->p[1] == 'u' && hex4 (s->p + 2, s->end) < 0)
        return fail (s, "want four hexadecimal digits");
      s->p += s->p[1] == 'u' ? 6 : 2;
    }
  span->end = s->p++;
  return true;
}

static char *
put_utf8 (char *out, uint32_t c)
{
  if (c < 0x80)
    *out++ = (char) c;
  else if (c < 0x800)
    {
      *out++ = (char) (0xc0 | c >> 6);
      *out++ = (char) (0x80 | (c & 0x3f));
    }
  else if (c < 0x10000)
    {
      *out++ = (char) (0xe0 | c >> 12);
      *out++ = (char) (0x80 | (c >> 6 & 0x3f));
      *out++ = (char) (0x80 | (c & 0x3f));
    }
  else
    {
      *out++ = (char) (0xf0 | c >> 18);
      *out++ = (char) (0x80 | (c >> 12 & 0x3f));
      *out++ = (char) (0x80 | (c >> 6 & 0x3f));
      *out++ = (char) (0x80 | (c & 0x3f));
    }
  return out;
}

/* The character of the escape \u at *P, which is moved behind it: behind both halves of a pair.
   0xd800 and on where a half stands alone.  */
static uint32_t
unicode_escape (const char **p, const char *end)
{
  uint32_t c = (uint32_t) hex4 (*p + 2, end);
  int low;

  *p += 6;
  if ((c & 0xfc00) != 0xd800 || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
    return c;
  low = hex4 (*p + 2, end);
  if ((low & 0xfc00) != 0xdc00)
    return c;
  *p += 6;
  return 0x10000 + ((c & 0x3ff) << 10 | (uint32_t) (low & 0x3ff));
}

/* The string of SPAN without escapes into the buffer of R, which has room for it.  */
static void
unescape (const struct span *span, const char *text, bool replace, struct mm_json_line *r)
{
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const char *p = span->start;
  char *out = r->buffer;

  while (p < span->end)
    {
      const char *backslash = memchr (p, '\\', (size_t) (span->end - p));
      size_t plain = (size_t) ((backslash ? backslash : span->end) - p);

      memcpy (out, p, plain);
      out += plain;
      p += plain;
      if (!backslash)
        break;
      if (p[1] == 'u')
        {
          size_t at = (size_t) (p - text);
          uint32_t c = unicode_escape (&p, span->end);

          if (c >= 0xd800 && c < 0xe000)
            {
              if (!replace && !r->problem)
                {
                  r->problem = "half of a surrogate pair";
                  r->at = at;
                }
              r->replaced++;
              c = 0xfffd;
            }
          out = put_utf8 (out, c);
        }
      else
        {
          *out++ = to[strchr (from, p[1]) - from];
          p += 2;
        }
    }
  r->text = r->buffer;
  r->size = (size_t) (out - r->buffer);
}

/* Is the string of SPAN the text FIELD?  */
static bool
is_field (struct scanner *s, const struct span *span, const char *text, const char *field,
          struct mm_json_line *r)
{
  struct mm_json_line name = { .text = span->start, .size = (size_t) (span->end - span->start) };

  if (span->escapes)
    {
      s->status = mm_grow ("line", &r->buffer, &r->capacity, name.size, 1);
      if (s->status < 0)
        return fail (s, "no memory");
      name.buffer = r->buffer;
      unescape (span, text, true, &name);
    }
  return strlen (field) == name.size && memcmp (name.text, field, name.size) == 0;
}

/* ---- other values ---- */

static size_t
skip_digits (struct scanner *s)
{
  const char *start = s->p;

  while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
    s->p++;
  return (size_t) (s->p - start);
}

static bool
scan_number (struct scanner *s)
{
  if (*s->p == '-')
    s->p++;
  if (s->p < s->end && *s->p == '0')
    s->p++;
  else if (skip_digits (s) == 0)
    return fail (s, "want a value");
  if (s->p < s->end && *s->p == '.')
    {
      s->p++;
      if (skip_digits (s) == 0)
        return fail (s, "want digits after the point");
    }
  if (s->p < s->end && (*s->p | 0x20) == 'e')
    {
      s->p++;
      if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
        s->p++;
      if (skip_digits (s) == 0)
        return fail (s, "want digits in the exponent");
    }
  return true;
}

static bool
scan_literal (struct scanner *s)
{
  static const char *const literals[] = { "true", "false", "null" };

  for (size_t i = 0; i < 3; i++)
    {
      size_t n = strlen (literals[i]);

      if ((size_t) (s->end - s->p) >= n && memcmp (s->p, literals[i], n) == 0)
        {
          s->p += n;
          return true;
        }
    }
  return fail (s, "want a value");
}

/* ---- structure ---- */

static bool
in_object (const struct scanner *s)
{
  return s->objects >> (s->depth - 1) & 1;
}

static bool
enter (struct scanner *s, bool object)
{
  if (s->depth == MM_JSON_LINE_DEPTH)
    return fail (s, "nested too deep");
  s->objects = (s->objects & ~(UINT64_C (1) << s->depth)) | (uint64_t) object << s->depth;
  s->depth++;
  s->p++;
  return true;
}

/* Scan the key of a member and its colon.  */
static bool
scan_key (struct scanner *s, struct span *key)
{
  skip_space (s);
  if (!scan_string (s, key))
    return false;
  skip_space (s);
  if (s->p == s->end || *s->p != ':')
    return fail (s, "want a colon");
  s->p++;
  skip_space (s);
  return true;
}

/* Scan from a value to where the next one starts, keys excepted: *KEY is set when a member of an
   object begins, *DONE at the end of all.  */
static bool
next_value (struct scanner *s, bool *key, bool *done)
{
  *key = *done = false;
  for (;;)
    {
      if (s->depth == 0)
        {
          skip_space (s);
          *done = true;
          return s->p == s->end || fail (s, "something follows the object");
        }
      skip_space (s);
      if (s->p == s->end)
        return fail (s, "the line ends within an object");
      if (*s->p == (in_object (s) ? '}' : ']'))
        {
          s->depth--;
          s->p++;
          continue;
        }
      if (*s->p != ',')
        return fail (s, "want a comma");
      s->p++;
      *key = in_object (s);
      skip_space (s);
      return true;
    }
}

/* Scan one value; of a container only its start, *OPENED tells.  */
static bool
scan_value (struct scanner *s, bool *opened)
{
  struct span span;

  *opened = false;
  if (s->p == s->end)
    return fail (s, "want a value");
  switch (*s->p)
    {
    case '"':
      return scan_string (s, &span);
    case '{':
    case '[':
      *opened = true;
      return enter (s, *s->p == '{');
    case 't': case 'f': case 'n':
      return scan_literal (s);
    default:
      return scan_number (s);
    }
}

/* Behind the start of a container: false if it ends at once, else *KEY as next_value.  */
static bool
first_value (struct scanner *s, bool *key)
{
  skip_space (s);
  *key = in_object (s);
  if (s->p == s->end || *s->p != (*key ? '}' : ']'))
    return true;
  s->depth--;
  s->p++;
  return false;
}

/* Scan the value of the field looked for.  */
static bool
scan_wanted (struct scanner *s, struct span *value)
{
  if (value->start)
    return fail (s, "the field stands twice");
  if (s->p == s->end || *s->p != '"')
    return fail (s, "the field is not a string");
  return scan_string (s, value);
}

/* Scan the line; *VALUE is the field's string, its START NULL if there is none.  */
static bool
scan_line (struct scanner *s, const char *text, const char *field, struct mm_json_line *r,
           struct span *value)
{
  bool key = false, done = false, opened;
  struct span name;

  skip_space (s);
  if (s->p == s->end || *s->p != '{')
    return fail (s, "want a JSON object");
  while (!done)
    {
      if (key && !scan_key (s, &name))
        return false;
      opened = false;
      if (key && field && s->depth == 1 && is_field (s, &name, text, field, r))
        scan_wanted (s, value);
      else if (!s->problem)
        scan_value (s, &opened);
      if (s->problem)
        return false;
      if (opened && first_value (s, &key))
        continue;
      if (!next_value (s, &key, &done))
        return false;
    }
  if (value->start || !field)
    return true;
  s->p = text;
  return fail (s, "the field is missing");
}

mm_status
mm_json_line_field (const char *text, size_t size, const char *field, bool replace,
                    struct mm_json_line *r)
{
  struct scanner s = { .p = text, .end = text + size };
  struct span value = { NULL, NULL, false };
  mm_status st;

  r->text = NULL;
  r->size = 0;
  r->problem = NULL;
  r->replaced = 0;
  if (!scan_line (&s, text, field, r, &value))
    {
      r->problem = s.problem;
      r->at = (size_t) (s.p - text);
      return s.status;
    }
  r->text = value.start;
  r->size = value.start ? (size_t) (value.end - value.start) : 0;
  if (!value.escapes)
    return MM_OK;
  /* An escape is never shorter than its character.  */
  st = mm_grow ("line", &r->buffer, &r->capacity, r->size, 1);
  if (st == MM_OK)
    unescape (&value, text, replace, r);
  return st;
}
