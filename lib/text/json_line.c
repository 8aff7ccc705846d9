/* json_line.c -- a strict JSON scanner that keeps one string.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "json_line.h"
#include "scan.h"

struct scanner
{
  const char *p, *end;
  const char *problem;          /* the first; P stays there */
  mm_status status;             /* of memory */
  uint64_t objects;             /* a bit for each level: an object, not an array */
  unsigned depth;
  unsigned matched;             /* names of the path that lead to where P is */
  unsigned seen;                /* a bit for each name of the path that was met there */
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

/* 16 and the value of a hexadecimal digit; 0 of what is none.  */
static const uint8_t digits[256] = {
  ['0'] = 16, ['1'] = 17, ['2'] = 18, ['3'] = 19, ['4'] = 20, ['5'] = 21,
  ['6'] = 22, ['7'] = 23, ['8'] = 24, ['9'] = 25,
  ['a'] = 26, ['b'] = 27, ['c'] = 28, ['d'] = 29, ['e'] = 30, ['f'] = 31,
  ['A'] = 26, ['B'] = 27, ['C'] = 28, ['D'] = 29, ['E'] = 30, ['F'] = 31,
};

/* What stands behind a backslash for what; 0 for no escape.  */
static const char escapes[256] = {
  ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t',
  ['u'] = 'u'
};

/* The four hexadecimal digits at P, or -1.  */
static inline int
hex4 (const char *p, const char *end)
{
  const unsigned char *d = (const unsigned char *) p;
  unsigned a, b, c, e;

  if (end - p < 4)
    return -1;
  a = digits[d[0]], b = digits[d[1]], c = digits[d[2]], e = digits[d[3]];
  return a & b & c & e & 16 ? (int) ((a & 15) << 12 | (b & 15) << 8 | (c & 15) << 4 | (e & 15)) : -1;
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
      s->p = mm_scan_json (s->p, s->end);
      if (s->p == s->end)
        return fail (s, "the line ends within a string");
      if (*s->p == '"')
        break;
      if (*s->p != '\\')
        return fail (s, "control character in a string");
      span->escapes = true;
      if (s->end - s->p < 2 || !escapes[(unsigned char) s->p[1]])
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

/* What stands before the next backslash of P, or END, to OUT, which has room for 16 bytes more; returns its end.  */
static inline char *
copy_plain (char *out, const char **p, const char *end)
{
  const char *from = *p;

  for (; end - from >= 16; from += 16, out += 16)
    {
      mm_bytes16 v = mm_load16 (from);
      unsigned n = mm_first16 ((mm_bytes16) (v == '\\'));

      memcpy (out, &v, 16);
      if (n < 16)
        {
          *p = from + n;
          return out + n;
        }
    }
  while (from < end && *from != '\\')
    *out++ = *from++;
  *p = from;
  return out;
}

/* The string of SPAN without escapes into the buffer of R, which has room for it and 16 bytes.  */
static void
unescape (const struct span *span, const char *text, bool replace, struct mm_json_line *r)
{
  const char *p = span->start;
  char *out = r->buffer;

  for (;;)
    {
      out = copy_plain (out, &p, span->end);
      if (p == span->end)
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
          *out++ = escapes[(unsigned char) p[1]];
          p += 2;
        }
    }
  r->text = r->buffer;
  r->size = (size_t) (out - r->buffer);
}

/* Is the string of SPAN the SIZE bytes at NAME?  */
static bool
is_name (struct scanner *s, const struct span *span, const char *text, const char *name, size_t size,
         struct mm_json_line *r)
{
  struct mm_json_line key = { .text = span->start, .size = (size_t) (span->end - span->start) };

  if (span->escapes)
    {
      s->status = mm_grow ("line", &r->buffer, &r->capacity, key.size + 16, 1);
      if (s->status < 0)
        return fail (s, "no memory");
      key.buffer = r->buffer;
      unescape (span, text, true, &key);
    }
  return size == key.size && memcmp (key.text, name, size) == 0;
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

/* ---- the field ---- */

/* Scan the value of the name of PATH that is next: a string, or an object around it, which is opened.  */
static bool
scan_wanted (struct scanner *s, const struct mm_json_path *path, struct span *value, bool *opened)
{
  if (s->seen >> s->matched & 1)
    return fail (s, "the field stands twice");
  s->seen |= 1u << s->matched;
  if (s->matched + 1 == path->length)
    return s->p < s->end && *s->p == '"' ? scan_string (s, value) : fail (s, "the field is not a string");
  if (s->p == s->end || *s->p != '{')
    return fail (s, "the field is missing, what should be around it is no object");
  s->matched++;
  *opened = true;
  return enter (s, true);
}

/* Scan the line, an object; *VALUE is the field's string, its START NULL if there is none.  */
static bool
scan_object (struct scanner *s, const char *text, const struct mm_json_path *path, struct mm_json_line *r,
             struct span *value)
{
  bool key = false, done = false, opened;
  struct span name;

  while (!done)
    {
      if (key && !scan_key (s, &name))
        return false;
      opened = false;
      if (key && path && s->depth == s->matched + 1
          && is_name (s, &name, text, path->names[s->matched], path->sizes[s->matched], r))
        scan_wanted (s, path, value, &opened);
      else if (!s->problem)
        scan_value (s, &opened);
      if (s->problem)
        return false;
      if (opened && first_value (s, &key))
        continue;
      if (!next_value (s, &key, &done))
        return false;
      if (s->depth <= s->matched)
        s->matched = s->depth - (s->depth > 0);
    }
  if (value->start || !path)
    return true;
  s->p = text;
  return fail (s, "the field is missing");
}

static bool
scan_line (struct scanner *s, const char *text, const struct mm_json_path *path, unsigned flags,
           struct mm_json_line *r, struct span *value)
{
  bool key, done;

  skip_space (s);
  if (s->p < s->end && *s->p == '"' && flags & MM_JSON_STRINGS)
    return scan_string (s, value) && next_value (s, &key, &done);
  if (s->p == s->end || *s->p != '{')
    return fail (s, flags & MM_JSON_STRINGS ? "want a JSON object or string" : "want a JSON object");
  return scan_object (s, text, path, r, value);
}

mm_status
mm_json_line_field (const char *text, size_t size, const struct mm_json_path *path, unsigned flags,
                    struct mm_json_line *r)
{
  struct scanner s = { .p = text, .end = text + size };
  struct span value = { NULL, NULL, false };
  mm_status st;

  r->text = NULL;
  r->size = 0;
  r->problem = NULL;
  r->replaced = 0;
  if (!scan_line (&s, text, path, flags, r, &value))
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
  st = mm_grow ("line", &r->buffer, &r->capacity, r->size + 16, 1);
  if (st == MM_OK)
    unescape (&value, text, flags & MM_JSON_REPLACE, r);
  return st;
}

/* ---- paths ---- */

mm_status
mm_json_path_parse (const char *field, struct mm_json_path *path)
{
  const char *p = field;
  char *out;
  mm_status st = mm_alloc ("field", strlen (field) + 1, 1, &out);

  *path = (struct mm_json_path) { .length = 0 };
  if (st < 0)
    return st;
  path->names[0] = out;
  for (;;)
    {
      char *start = out;

      while (*p && *p != '.')
        {
          if (*p == '\\' && *++p != '.' && *p != '\\')
            {
              mm_json_path_free (path);
              return mm_fail (MM_EUSAGE, "field %s: a backslash stands before a dot or a backslash only", field);
            }
          *out++ = *p++;
        }
      path->names[path->length] = start;
      path->sizes[path->length++] = (size_t) (out - start);
      if (out == start || (*p && path->length == MM_JSON_PATH_LENGTH))
        {
          mm_json_path_free (path);
          return mm_fail (MM_EUSAGE, "field %s: %s", field, out == start ? "a name is empty" : "too many names");
        }
      if (!*p++)
        return MM_OK;
    }
}

void
mm_json_path_free (struct mm_json_path *path)
{
  free (path->names[0]);
  path->names[0] = NULL;
}

/* ---- where a value ends ---- */

/* Go behind a string, E->at in it; false if its end has not come.  */
static bool
leave_string (struct mm_json_extent *e, const char *text, size_t size)
{
  const char *end = text + size, *p = text + e->at;

  while ((p = mm_scan_json (p, end)) < end && *p != '"' && (*p != '\\' || end - p > 1))
    p += *p == '\\' ? 2 : 1;
  e->at = (size_t) (p - text);
  if (p == end || *p == '\\')
    return false;
  e->at++;
  e->in_string = false;
  return true;
}

bool
mm_json_extent_find (struct mm_json_extent *e, const char *text, size_t size)
{
  for (;;)
    {
      if (e->in_string)
        {
          if (!leave_string (e, text, size))
            return false;
          if (e->depth == 0)
            return true;
        }
      if (e->at == size)
        return false;
      switch (text[e->at])
        {
        case '"':
          if (e->depth == 0 && e->started)
            return true;
          e->in_string = true;
          break;
        case '{': case '[':
          if (e->depth == 0 && e->started)
            return true;
          e->depth++;
          break;
        case '}': case ']':
          if (e->depth == 0)
            return true;
          if (--e->depth == 0)
            {
              e->at++;
              return true;
            }
          break;
        case ' ': case '\t': case '\n': case '\r': case ',':
          if (e->depth == 0)
            return true;
          break;
        default:
          break;
        }
      e->started = true;
      e->at++;
    }
}
