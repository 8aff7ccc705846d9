/* error.c -- messages belong to the thread and carry the status through.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <minimind/error.h>

#include "../tap.h"

static int
message_is (const char *want)
{
  return strcmp (mm_error_message (), want) == 0;
}

static void *
other_thread (void *arg)
{
  *(int *) arg = message_is ("");
  mm_fail (MM_EIO, "other");
  return NULL;
}

static void
test_messages (void)
{
  ok (message_is (""), "no message before a failure");
  ok (mm_fail (MM_ESHAPE, "want %d rows", 3) == MM_ESHAPE, "status returned");
  ok (message_is ("want 3 rows"), "message kept");
  ok (mm_fail (MM_EFORMAT, "%s", "a\033[2Jb\n\177c") == MM_EFORMAT
      && message_is ("a\\x1b[2Jb\\x0a\\x7fc"), "control characters are shown, not sent");
  mm_fail (MM_EFORMAT, "%s", "文件");
  ok (message_is ("文件"), "UTF-8 passes");
}

static void
test_long (void)
{
  char text[5000];

  memset (text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  mm_fail (MM_EFORMAT, "%s", text);
  ok (strlen (mm_error_message ()) > 1000 && strlen (mm_error_message ()) < sizeof text,
      "a long message is cut");
  memset (text, '\n', sizeof text - 1);
  mm_fail (MM_EFORMAT, "%s", text);
  ok (strlen (mm_error_message ()) % 4 == 0, "not inside an escape");
}

static void
test_errno (void)
{
  errno = ENOENT;
  ok (mm_fail_errno ("a.txt") == MM_ENOENT, "ENOENT");
  ok (message_is ("a.txt: No such file or directory"), "names file and reason");
  errno = ENOENT;
  ok (mm_fail_errno ("") == MM_ENOENT && message_is ("'': No such file or directory"), "an empty name is seen");
  errno = ENOTDIR;
  ok (mm_fail_errno ("a/b") == MM_ENOENT, "ENOTDIR");
  errno = ENOMEM;
  ok (mm_fail_errno ("a") == MM_ENOMEM, "ENOMEM");
  errno = EACCES;
  ok (mm_fail_errno ("a") == MM_EIO, "any other errno");
  errno = ENOENT;
  ok (mm_fail_errno_output ("a") == MM_EIO && message_is ("a: No such file or directory"), "a missing output");
  errno = ENOMEM;
  ok (mm_fail_errno_output ("a") == MM_ENOMEM, "no memory for an output");
}

static void
test_prefix (void)
{
  mm_fail (MM_EFORMAT, "no header");
  ok (mm_fail_prefix (MM_EFORMAT, "file %d", 7) == MM_EFORMAT
      && message_is ("file 7: no header"), "a prefix goes in front");
}

static void
test_threads (void)
{
  pthread_t t;
  int empty = 0;

  mm_fail (MM_EIO, "mine");
  if (pthread_create (&t, NULL, other_thread, &empty) == 0)
    pthread_join (t, NULL);
  ok (empty, "another thread starts without a message");
  ok (message_is ("mine"), "and does not touch this one's");
}

int
main (void)
{
  test_messages ();
  test_long ();
  test_errno ();
  test_prefix ();
  test_threads ();
  return tap_done ();
}
