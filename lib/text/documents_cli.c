/* documents_cli.c -- the options of tools that read documents.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <argp.h>
#include <string.h>

#include <minimind/cli.h>
#include <minimind/documents.h>
#include <minimind/memory.h>

enum { OPT_FORMAT = 0x2000, OPT_FIELD, OPT_DELIMITER, OPT_ON_ERROR,
       OPT_NO_HEADER, OPT_FILES_FROM };

static const struct argp_option options[] = {
  { "format", OPT_FORMAT, "NAME", 0,
    "read inputs as text, jsonl (an object a line), json (an array), csv, tsv or chat (conversations in JSON) "
    "[auto: by the name; where it does not tell, jsonl if the first line is an object, else text]", 0 },
  { "field", OPT_FIELD, "NAME", 0,
    "take the document from this field of JSON, a.b inside the object a; or from this column of csv and tsv, "
    "by its name in the header or its number [text]", 0 },
  { "no-header", OPT_NO_HEADER, NULL, 0, "csv and tsv begin with a row like the others; --field is a number", 0 },
  { "delimiter", OPT_DELIMITER, "TEXT", 0,
    "split texts into documents at TEXT; \\n, \\t, \\xHH and such are understood [a member is one]", 0 },
  { "on-error", OPT_ON_ERROR, "ACTION", 0,
    "fail, skip or replace where a document is not valid UTF-8, JSON or a row [fail]", 0 },
  { "files-from", OPT_FILES_FROM, "FILE", 0,
    "read the inputs named in FILE too, a line each; \"-\" is standard input", 0 },
  { "null", '0', NULL, 0, "names in the list end with a NUL, as from find -print0", 0 },
  { 0 }
};

static int
hex (char c)
{
  return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f'
         ? (c | 0x20) - 'a' + 10 : -1;
}

mm_status
mm_documents_delimiter (const char *arg, char **bytes, size_t *size)
{
  static const char from[] = "\\nrtf0", to[] = "\\\n\r\t\f";     /* the last is the end, a NUL */
  mm_status st = mm_alloc ("delimiter", strlen (arg) + 1, 1, bytes);

  if (st < 0)
    return st;
  for (*size = 0; *arg; ++*size)
    {
      const char *known;

      if (*arg != '\\')
        (*bytes)[*size] = *arg++;
      else if (arg[1] == 'x' && hex (arg[2]) >= 0 && hex (arg[3]) >= 0)
        {
          (*bytes)[*size] = (char) (hex (arg[2]) << 4 | hex (arg[3]));
          arg += 4;
        }
      else if (arg[1] && (known = strchr (from, arg[1])))
        {
          (*bytes)[*size] = to[known - from];
          arg += 2;
        }
      else
        return mm_fail (MM_EUSAGE, "delimiter: unknown escape at %s", arg);
    }
  return MM_OK;
}

static error_t
parse_opt (int key, char *arg, struct argp_state *state)
{
  static const char *const formats[] = { "auto", "text", "jsonl", "json", "csv", "tsv", "chat", NULL };
  static const char *const actions[] = { "fail", "skip", "replace", NULL };
  struct mm_document_options *o = state->input;
  char *delimiter;

  switch (key)
    {
    case OPT_FORMAT:
      o->format = (enum mm_document_format) mm_cli_choice (state, "format", arg, formats);
      break;
    case OPT_FIELD:
      o->field = arg;
      break;
    case OPT_NO_HEADER:
      o->no_header = true;
      break;
    case OPT_FILES_FROM:
      o->files_from = mm_cli_path (state, "files-from", arg);
      break;
    case '0':
      o->null = true;
      break;
    case OPT_DELIMITER:
      if (mm_documents_delimiter (arg, &delimiter, &o->delimiter_size) < 0)
        argp_error (state, "%s", mm_error_message ());
      o->delimiter = delimiter;
      break;
    case OPT_ON_ERROR:
      o->errors = (enum mm_document_errors) mm_cli_choice (state, "on-error", arg, actions);
      break;
    default:
      return ARGP_ERR_UNKNOWN;
    }
  return 0;
}

const struct argp mm_documents_argp = { options, parse_opt, NULL, NULL, NULL, NULL, NULL };
