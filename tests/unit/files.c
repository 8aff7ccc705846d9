/* files.c -- outputs appear whole or not at all; nothing else is touched.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <minimind/cli.h>
#include <minimind/files.h>

#include "../tap.h"
#include "scratch.h"

static int
says (const char *part)
{
  return strstr (mm_error_message (), part) != NULL;
}

static int
exists (const char *path)
{
  struct stat s;

  return lstat (path, &s) == 0;
}

static void
test_read (void)
{
  char *data;
  size_t size;

  scratch_put ("five", "a\0b\n\n", 5);
  ok (mm_read_file ("five", 5, &data, &size) == MM_OK && size == 5
      && memcmp (data, "a\0b\n\n", 6) == 0, "a file is read, with a NUL behind it");
  free (data);
  ok (mm_read_file ("five", 4, &data, &size) == MM_EFORMAT && says ("five") && says ("at most 4")
      && !data, "beyond the limit");
  scratch_put ("empty", "", 0);
  ok (mm_read_file ("empty", 0, &data, &size) == MM_OK && size == 0 && *data == '\0', "an empty file");
  free (data);
  ok (mm_read_file ("none", 4, &data, &size) == MM_ENOENT && says ("none"), "a missing file");
  ok (mm_read_file (".", 4, &data, &size) == MM_EIO && says ("folder"), "a folder");
  ok (mm_read_file ("/dev/full", 4, &data, &size) == MM_EIO && says ("/dev/full"), "a device");
  ok (mkfifo ("fifo", 0600) == 0 && mm_read_file ("fifo", 4, &data, &size) == MM_EIO,
      "a pipe without a writer, without waiting");
}

static void
test_write (void)
{
  char *joined;
  bool there;

  ok (mm_write_file ("new", "12", 2) == MM_OK && scratch_holds ("new", "12", 2), "a file is written");
  ok (mm_write_file ("new", "34", 2) == MM_EEXIST && scratch_holds ("new", "12", 2),
      "an existing one is left alone");
  ok (mm_write_file ("none/new", "12", 2) < 0 && says ("none/new"), "in no folder");
  joined = mm_path_join ("a", "b");
  ok (strcmp (joined, "a/b") == 0, "paths join");
  free (joined);
  joined = mm_path_join ("a/", "b");
  ok (strcmp (joined, "a/b") == 0, "with one slash");
  free (joined);
  ok (mm_path_exists ("new", &there) == MM_OK && there, "a file is there");
  ok (mm_path_exists ("none", &there) == MM_OK && !there && mm_path_exists ("new/x", &there) == MM_OK && !there,
      "others are not");
  ok (symlink ("loop", "loop") == 0 && mm_path_exists ("loop", &there) == MM_EIO && !there && says ("loop")
      && unlink ("loop") == 0, "of some it cannot be known");
  ok (mm_sync_dir (".") == MM_OK, "a folder is synced");
  ok (mm_sync_dir ("none") == MM_EIO, "a missing one is not");
}

static void
test_tree (void)
{
  mkdir ("tree", 0777);
  mkdir ("tree/a", 0777);
  mkdir ("outside", 0777);
  scratch_put ("tree/a/f", "x", 1);
  scratch_put ("outside/f", "x", 1);
  ok (symlink ("../outside", "tree/link") == 0 && mm_remove_tree ("tree") == MM_OK && !exists ("tree"),
      "a tree is removed");
  ok (exists ("outside/f"), "what its links name is not");
  ok (mm_remove_tree ("outside/f") == MM_OK && scratch_count ("outside") == 0, "a file is a tree");
  ok (mm_remove_tree ("tree") == MM_ENOENT && says ("tree"), "a missing tree");
}

static void
test_names (void)
{
  DIR *dir = opendir ("outside");
  const char *name;
  int n = 0;

  scratch_put ("outside/.a", "x", 1);
  scratch_put ("outside/b", "x", 1);
  while (mm_next_name (dir, "outside", &name) == MM_OK && name)
    n += strcmp (name, ".a") == 0 || strcmp (name, "b") == 0 ? 1 : 100;
  ok (n == 2 && !name, "names of a folder");
  closedir (dir);
  /* A folder that cannot be read: one whose descriptor is of a file by now.  */
  dir = opendir ("outside");
  n = open ("outside/b", O_RDONLY);
  ok (dup2 (n, dirfd (dir)) >= 0 && mm_next_name (dir, "outside", &name) < 0 && says ("outside") && !name,
      "one that cannot be read is no empty one");
  close (n);
  closedir (dir);
  unlink ("outside/b");
  unlink ("outside/.a");
}

/* A folder of its own for outputs, so that what is left can be counted.  */
static void
test_output (void)
{
  struct mm_output *out;
  static char big[200000];

  mkdir ("out", 0777);
  ok (mm_output_open ("out/f", false, &out) == MM_OK && mm_output_write (out, "hello ", 6) == MM_OK
      && !exists ("out/f"), "nothing stands under the name while it is written");
  ok (mm_output_write (out, "world", 5) == MM_OK && mm_output_write_at (out, 0, "J", 1) == MM_OK
      && mm_output_write (out, "!", 1) == MM_OK && mm_output_commit (out) == MM_OK
      && scratch_holds ("out/f", "Jello world!", 12), "committed, with a write in the middle");
  ok (scratch_count ("out") == 1, "and nothing else is left");
  ok (mm_output_open ("out/f", false, &out) == MM_EEXIST && says ("out/f") && says ("--force"),
      "an existing output is refused");
  memset (big, 'x', sizeof big);
  ok (mm_output_open ("out/f", true, &out) == MM_OK && mm_output_write (out, "y", 1) == MM_OK
      && mm_output_write (out, big, sizeof big) == MM_OK && scratch_holds ("out/f", "Jello world!", 12),
      "with force the old one stands until commit");
  ok (mm_output_commit (out) == MM_OK && !scratch_holds ("out/f", "Jello world!", 12), "then it is replaced");
  ok (mm_output_open ("out/g", false, &out) == MM_OK && mm_output_write (out, "y", 1) == MM_OK,
      "another");
  mm_output_abort (out);
  ok (scratch_count ("out") == 1, "aborted, leaves nothing");
  mm_output_abort (NULL);
  /* What a process of the same number left in another container.  */
  for (int i = 0; i < 100; i++)
    {
      char name[100];

      snprintf (name, sizeof name, "out/.g.%ld.%d.tmp", (long) getpid (), i);
      scratch_put (name, "old", 3);
    }
  ok (mm_output_open ("out/g", false, &out) == MM_OK, "temporary names that are taken are passed over");
  mm_output_abort (out);
  ok (scratch_count ("out") == 101 && system ("rm out/.g.*.tmp") == 0, "and left alone");
  ok (mm_output_open ("out/g", false, &out) == MM_OK, "one more");
  scratch_put ("out/g", "mine", 4);
  ok (mm_output_commit (out) == MM_EEXIST && scratch_holds ("out/g", "mine", 4) && scratch_count ("out") == 2,
      "a file that came meanwhile is not replaced");
}

static void
test_output_pair (void)
{
  struct mm_output *outs[2];

  mkdir ("pair", 0777);
  ok (mm_output_open ("pair/a", false, &outs[0]) == MM_OK && mm_output_open ("pair/b", false, &outs[1]) == MM_OK
      && mm_output_write (outs[0], "1", 1) == MM_OK && mm_output_write (outs[1], "2", 1) == MM_OK
      && mm_output_commit_all (outs, 2) == MM_OK && scratch_holds ("pair/a", "1", 1)
      && scratch_holds ("pair/b", "2", 1) && scratch_count ("pair") == 2, "two files appear together");
  ok (mm_output_open ("pair/a", true, &outs[0]) == MM_OK && mm_output_open ("pair/c", false, &outs[1]) == MM_OK,
      "two more, one by force");
  scratch_put ("pair/c", "mine", 4);
  ok (mm_output_commit_all (outs, 2) == MM_EEXIST && says ("pair/c") && scratch_count ("pair") == 3,
      "if the second cannot be, what the first replaced stays replaced");
  ok (mm_output_open ("pair/d", true, &outs[0]) == MM_OK && mm_output_open ("pair/e", false, &outs[1]) == MM_OK,
      "two new ones");
  scratch_put ("pair/e", "mine", 4);
  ok (mm_output_commit_all (outs, 2) == MM_EEXIST && says ("pair/e") && !exists ("pair/d")
      && scratch_count ("pair") == 4, "a new one goes again");
}

static void
test_output_refused (void)
{
  struct mm_output *out;
  int status, reader;
  char byte;

  ok (mm_output_open ("out", true, &out) == MM_EIO && says ("folder"), "a folder, even with force");
  ok (mm_output_open ("none/f", false, &out) == MM_EIO && says ("none/f"), "a name in no folder");
  ok (mm_output_open ("/dev/full", true, &out) == MM_OK && mm_output_write (out, "x", 1) == MM_OK
      && mm_output_commit (out) == MM_EIO && says ("/dev/full") && exists ("/dev/full"),
      "a full device is written to, never replaced");
  reader = open ("fifo", O_RDONLY | O_NONBLOCK);
  ok (mm_output_open ("fifo", false, &out) == MM_OK && mm_output_write (out, "x", 1) == MM_OK
      && mm_output_write_at (out, 0, "y", 1) == MM_EIO, "a pipe is a stream, without places");
  ok (mm_output_commit (out) == MM_OK && read (reader, &byte, 1) == 1 && byte == 'x', "and gets the bytes");
  close (reader);
  ok (mm_output_open ("/dev/null", false, &out) == MM_OK && mm_output_write (out, "x", 1) == MM_OK
      && mm_output_commit (out) == MM_OK, "a device needs no force");
  /* A limit on a file's size stands in for a full disk.  */
  if (fork () == 0)
    {
      char data[4096] = { 0 };
      mm_status st;

      struct rlimit limit = { 1000, 1000 };

      signal (SIGXFSZ, SIG_IGN);
      if (mm_output_open ("out/h", false, &out) < 0 || setrlimit (RLIMIT_FSIZE, &limit) < 0)
        _exit (1);
      st = mm_output_write_at (out, 0, data, sizeof data);
      mm_output_abort (out);
      _exit (st == MM_EIO && says ("out/h") && !exists ("out/h") ? 0 : 1);
    }
  wait (&status);
  ok (status == 0 && scratch_count ("out") == 2, "a write that the system refuses leaves nothing");
}

static void
test_dir (void)
{
  struct mm_output_dir *out;
  const char *temp;
  char path[4200];

  mkdir ("dirs", 0777);
  ok (mm_output_dir_open ("dirs/d/", false, &out, &temp) == MM_OK && !exists ("dirs/d"),
      "a folder is not there while it is written");
  snprintf (path, sizeof path, "%s/config.json", temp);
  ok (mm_write_file (path, "1", 1) == MM_OK && mm_output_dir_commit (out) == MM_OK
      && scratch_holds ("dirs/d/config.json", "1", 1) && scratch_count ("dirs") == 1, "then it is");
  ok (mm_output_dir_open ("dirs/d", false, &out, &temp) == MM_EEXIST && says ("dirs/d"),
      "an existing one is refused");
  ok (mm_output_dir_open ("dirs/d", true, &out, &temp) == MM_OK, "with force");
  snprintf (path, sizeof path, "%s/other", temp);
  ok (mm_write_file (path, "2", 1) == MM_OK && exists ("dirs/d/config.json")
      && mm_output_dir_commit (out) == MM_OK && !exists ("dirs/d/config.json")
      && scratch_holds ("dirs/d/other", "2", 1) && scratch_count ("dirs") == 1,
      "it is replaced as a whole");
  ok (mm_output_dir_open ("dirs/d", true, &out, &temp) == MM_EEXIST && exists ("dirs/d/other"),
      "force does not remove a folder without our marks");
  scratch_put ("dirs/d/config.json", "1", 1);
  mkdir ("dirs/d/mine", 0777);
  ok (mm_output_dir_open ("dirs/d", true, &out, &temp) == MM_EEXIST && exists ("dirs/d/mine"),
      "nor one that holds folders");
  mkdir ("dirs/e", 0777);
  ok (mm_output_dir_open ("dirs/e", true, &out, &temp) == MM_OK, "an empty one may be replaced");
  snprintf (path, sizeof path, "%s/none/x", temp);
  ok (mm_write_file (path, "1", 1) == MM_EIO && says (temp), "a file in it that cannot be written");
  mm_output_dir_abort (out);
  ok (says ("dirs/e/none/x: No such file"), "is told by its name to be");
  ok (exists ("dirs/e") && scratch_count ("dirs") == 2, "aborted, leaves nothing");
  scratch_put ("dirs/f", "1", 1);
  ok (mm_output_dir_open ("dirs/f", true, &out, &temp) == MM_EEXIST, "a file is not replaced by a folder");
  ok (mm_output_dir_open (".", true, &out, &temp) == MM_EUSAGE, "not the present folder");
  ok (mm_output_dir_open ("dirs/..", true, &out, &temp) == MM_EUSAGE, "not its parent");
  ok (mm_output_dir_open ("/", true, &out, &temp) == MM_EUSAGE, "not the root");
  ok (mm_output_dir_open ("none/d", false, &out, &temp) == MM_EIO, "not in a missing folder");
}

/* Signals come from another process: the child writes until it is ended.  */
static void
test_signal (int signo, const char *name)
{
  struct mm_output *out;
  struct mm_output_dir *dir;
  const char *temp;
  char path[4200], byte;
  int ready[2], status;
  pid_t pid;

  mkdir (name, 0777);
  if (chdir (name) < 0 || pipe (ready) < 0)
    exit (99);
  pid = fork ();
  if (pid == 0)
    {
      mm_cli_begin ("test");
      if (mm_output_open ("f", false, &out) < 0 || mm_output_dir_open ("d", false, &dir, &temp) < 0)
        _exit (1);
      for (int i = 0; i < 200; i++)
        {
          snprintf (path, sizeof path, "%s/file-with-a-rather-long-name-%d", temp, i);
          if (mm_write_file (path, "1", 1) < 0)
            _exit (1);
        }
      if (write (ready[1], "r", 1) == 1)
        for (;;)
          pause ();
    }
  close (ready[1]);
  ok (read (ready[0], &byte, 1) == 1 && scratch_count (".") == 2, "a file and a folder under way");
  kill (pid, signo);
  waitpid (pid, &status, 0);
  ok (WIFSIGNALED (status) && WTERMSIG (status) == signo, "the signal ends the process");
  ok (scratch_count (".") == 0, "and both are gone");
  close (ready[0]);
  if (chdir ("..") < 0)
    exit (99);
}

int
main (void)
{
  /* Where the tests run in the background these are ignored, and stay so.  */
  signal (SIGINT, SIG_DFL);
  signal (SIGHUP, SIG_DFL);
  signal (SIGTERM, SIG_DFL);
  scratch_enter ();
  test_read ();
  test_write ();
  test_tree ();
  test_names ();
  test_output ();
  test_output_pair ();
  test_output_refused ();
  test_dir ();
  test_signal (SIGTERM, "term");
  test_signal (SIGINT, "int");
  test_signal (SIGHUP, "hup");
  return tap_done ();
}
