/* peer.h -- a program beside ours that works on request: a line is asked, a number answered.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

struct bench_peer
{
  const char *name;             /* in what is printed */
  pid_t pid;
  FILE *ask, *answer;           /* NULL: there is none */
};

/* Start ARGV; what it says of itself in its first line is printed.  */
static inline struct bench_peer
bench_peer_open (const char *name, char *const argv[])
{
  struct bench_peer peer = { .name = name };
  char line[256];
  int to[2], from[2];

  /* Peers don't inherit each other's ends.  */
  if (pipe2 (to, O_CLOEXEC) != 0 || pipe2 (from, O_CLOEXEC) != 0 || (peer.pid = fork ()) < 0)
    return peer;
  if (peer.pid == 0)
    {
      dup2 (to[0], STDIN_FILENO);
      dup2 (from[1], STDOUT_FILENO);
      execvp (argv[0], argv);
      _exit (127);
    }
  close (to[0]);
  close (from[1]);
  peer.ask = fdopen (to[1], "w");
  peer.answer = fdopen (from[0], "r");
  if (peer.answer && fgets (line, sizeof line, peer.answer))
    printf ("%s: %s", name, line);
  fflush (stdout);
  return peer;
}

static inline void
bench_peer_close (struct bench_peer *peer)
{
  if (peer->ask)
    fclose (peer->ask);
  if (peer->answer)
    fclose (peer->answer);
  if (peer->pid > 0)
    waitpid (peer->pid, NULL, 0);
}

/* Its answer to QUESTION, one number or two (the second into *SECOND unless NULL), or 0 when that is no number: then it
   is printed.  */
static inline double
bench_peer_ask_both (struct bench_peer *peer, const char *question, double *second)
{
  char line[256];
  double answer, more = 0;

  if (second)
    *second = 0;
  if (!peer->ask || !peer->answer)
    return 0;
  signal (SIGPIPE, SIG_IGN);    /* it may have left */
  fprintf (peer->ask, "%s\n", question);
  if (fflush (peer->ask) != 0 || !fgets (line, sizeof line, peer->answer))
    return 0;
  /* Its idle threads spin for a while.  */
  bench_sleep (0.1);
  if (sscanf (line, "%lf %lf", &answer, &more) >= 1)
    {
      if (second)
        *second = more;
      return answer;
    }
  printf ("%s: %s", peer->name, line);
  return 0;
}

static inline double
bench_peer_ask (struct bench_peer *peer, const char *question)
{
  return bench_peer_ask_both (peer, question, NULL);
}

/* The Python of BENCH_PYTHON.  */
static inline const char *
bench_python (void)
{
  const char *python = getenv ("BENCH_PYTHON");

  return python && strcmp (python, "venv") != 0 ? python : "python3";
}

#endif /* BENCH_PEER_H */
