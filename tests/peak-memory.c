/* peak-memory.c -- run a command; print the largest resident size it had, in bytes.
   SPDX-License-Identifier: Apache-2.0

   Ends with the command's exit status.  Prints 0 under address sanitizer, whose memory would be counted too.  */

#include <config.h>

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

int
main (int argc, char **argv)
{
  struct rusage usage;
  int status;
  pid_t pid;

  if (argc < 2)
    return 64;
  pid = fork ();
  if (pid == 0)
    {
      execvp (argv[1], argv + 1);
      _exit (127);
    }
  if (pid < 0 || wait4 (pid, &status, 0, &usage) < 0)
    return 99;
  printf ("%lld\n", SANITIZED ? 0LL : 1024LL * usage.ru_maxrss);
  return WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
}
