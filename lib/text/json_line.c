/* json_line.c -- a strict JSON scanner that keeps one string.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "json_line.h"
#include "json_string.h"

struct scanner
{
  const char *p, *end;
  const char *problem;          /* the first; P stays there */
  mm_status status;             /* of memory */
  uint64_t objects;             /* a bit for each level: an object, not an array */
  unsigned depth;
  unsigned matched;             /* names of the path that lead to where P is */
  unsigned seen;                /* a bit for each name of the path that was met there */
  size_t kept;                  /* bytes of the line's buffer that hold the value */
};

/* The string that is looked for.  */
struct value
{
  const char *start;            /* NULL: not met */
  bool escapes;                 /* its characters stand in the buffer, not at START */
  size_t size;
  struct mm_json_text text;     /* with escapes */
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
  s->p = mm_json_skip_space (s->p, s->end);
}

/* ---- strings ---- */

/* Scan a string, P at its first quote.  */
static bool
scan_string (struct scanner *s, struct mm_json_span *span)
{
  const char *problem = mm_json_string_scan (&s->p, s->end, span);

  return !problem || fail (s, problem);
}

/* The string with its first quote at P is the value.  Up to the first escape it is only looked at.  */
static bool
read_value (struct scanner *s, struct mm_json_line *r, struct value *value)
{
  const char *problem;

  value->start = ++s->p;
  s->p = mm_scan_json (s->p, s->end);
  value->size = (size_t) (s->p - value->start);
  value->escapes = s->p == s->end || *s->p != '"';
  if (value->escapes)
    {
      /* An escape is never shorter than its character.  */
      s->status = mm_grow ("line", &r->buffer, &r->capacity, (size_t) (s->end - value->start) + MM_JSON_ROOM, 1);
      if (s->status < 0)
        return fail (s, "no memory");
      memcpy (r->buffer, value->start, value->size);
      value->text = (struct mm_json_text) { .end = r->buffer + value->size };
      problem = mm_json_string_read (&s->p, s->end, &value->text);
      if (problem)
        return fail (s, problem);
      s->kept = value->size = (size_t) (value->text.end - r->buffer);
    }
  s->p++;
  return true;
}

/* Is the string of SPAN the SIZE bytes at NAME?  */
static bool
is_name (struct scanner *s, const struct mm_json_span *span, const char *name, size_t size, struct mm_json_line *r)
{
  const char *key = span->start;
  size_t key_size = (size_t) (span->end - span->start);
  uint64_t lone = 0;

  if (span->escapes)
    {
      s->status = mm_grow ("line", &r->buffer, &r->capacity, s->kept + key_size + MM_JSON_ROOM, 1);
      if (s->status < 0)
        return fail (s, "no memory");
      key = r->buffer + s->kept;
      key_size = (size_t) (mm_json_string_get (span, r->buffer + s->kept, &lone) - key);
    }
  return size == key_size && memcmp (key, name, size) == 0;
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
scan_key (struct scanner *s, struct mm_json_span *key)
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
  struct mm_json_span span;

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
scan_wanted (struct scanner *s, const struct mm_json_path *path, struct mm_json_line *r, struct value *value,
             bool *opened)
{
  if (s->seen >> s->matched & 1)
    return fail (s, "the field stands twice");
  s->seen |= 1u << s->matched;
  if (s->matched + 1 == path->length)
    return s->p < s->end && *s->p == '"' ? read_value (s, r, value) : fail (s, "the field is not a string");
  if (s->p == s->end || *s->p != '{')
    return fail (s, "the field is missing, what should be around it is no object");
  s->matched++;
  *opened = true;
  return enter (s, true);
}

/* Scan the line, an object; *VALUE is the field's string, its START NULL if there is none.  */
static bool
scan_object (struct scanner *s, const char *text, const struct mm_json_path *path, struct mm_json_line *r,
             struct value *value)
{
  bool key = false, done = false, opened;
  struct mm_json_span name;

  while (!done)
    {
      if (key && !scan_key (s, &name))
        return false;
      opened = false;
      if (key && path && s->depth == s->matched + 1
          && is_name (s, &name, path->names[s->matched], path->sizes[s->matched], r))
        scan_wanted (s, path, r, value, &opened);
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
           struct mm_json_line *r, struct value *value)
{
  bool key, done;

  skip_space (s);
  if (s->p < s->end && *s->p == '"' && flags & MM_JSON_STRINGS)
    return read_value (s, r, value) && next_value (s, &key, &done);
  if (s->p == s->end || *s->p != '{')
    return fail (s, flags & MM_JSON_STRINGS ? "want a JSON object or string" : "want a JSON object");
  return scan_object (s, text, path, r, value);
}

mm_status
mm_json_line_field (const char *text, size_t size, const struct mm_json_path *path, unsigned flags,
                    struct mm_json_line *r)
{
  struct scanner s = { .p = text, .end = text + size };
  struct value value = { .start = NULL };

  *r = (struct mm_json_line) { .buffer = r->buffer, .capacity = r->capacity };
  if (!scan_line (&s, text, path, flags, r, &value))
    {
      r->problem = s.problem;
      r->at = (size_t) (s.p - text);
      return s.status;
    }
  r->text = value.escapes ? r->buffer : value.start;
  r->size = value.size;
  r->replaced = value.text.lone;
  if (value.text.lone > 0 && !(flags & MM_JSON_REPLACE))
    {
      r->problem = "half of a surrogate pair";
      r->at = (size_t) (value.text.first - text);
    }
  return MM_OK;
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
