/* train.h -- the one training loop, shared by pretrain and sft.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MINIMIND_TRAIN_H
#define MINIMIND_TRAIN_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include <minimind/cli.h>
#include <minimind/error.h>
#include <minimind/model_config.h>
#include <minimind/schedule.h>

/* What the command line says.  Filled with the defaults by mm_train_defaults.  */
struct mm_train_config
{
  const char *data, *output;    /* dataset folder, run folder */
  const char *preset, *config;  /* a model from scratch: at most one of both; neither, nor model: the default preset */
  const char *model;            /* or one to start from: a model or run folder */
  bool fine_tune;               /* model is needed; --help tells of that trainer's learning rates */
  uint32_t lora_rank;           /* not 0: MODEL is frozen, an adapter of this rank is trained (lora.h) */
  double lora_alpha;
  unsigned lora_targets;        /* as mm_lora_targets reads them */
  struct mm_compute compute;

  uint64_t global_batch, micro_batch;   /* sequences */
  double learning_rate;
  uint64_t lr_base_batch;       /* sequences; 0: the rate is used as given */
  enum mm_schedule_kind schedule;
  double min_lr_ratio, weight_decay, beta1, beta2, adam_eps, grad_clip;
  uint64_t steps;               /* 0: by epochs */
  double epochs;                /* 0: one, unless steps says otherwise */
  uint64_t warmup;              /* steps */
  uint64_t stop_after;          /* 0: run to the end */
  uint64_t save_every, eval_every, log_every;   /* steps; 0: never (a save at the end always) */
  int keep;                     /* step folders; 0: all */
  const char *resume;           /* "auto", "never" or a folder */
  const char *accept;           /* settings, by comma, that may differ from the checkpoint's; or NULL */
  uint64_t sample_every;        /* 0: never */
  const char *sample_prompt;
  const char *metrics_file;     /* beside OUT/log/metrics.jsonl, or NULL */
  bool dry_run;

  /* How ranks work together.  Only fast changes bits.  */
  const char *transport;        /* of comm.h */
  double timeout;               /* s to wait for a peer; 0: for ever */
  int zero;                     /* 1: moments and update are shared out over the ranks */
  bool fast;                    /* gradients are summed as float32 */
  uint64_t bucket_mb;           /* gradients are summed in pieces of this size, MB of 1e6 bytes */
  bool balance;                 /* micro-batches are dealt to ranks by their speed */
  uint64_t check_replicas;      /* steps; 0: at the start and before each save only */
};

void mm_train_defaults (struct mm_train_config *c);

/* Child parser of the training options; its input is a struct mm_train_config *, filled with the
   defaults first.  It holds mm_compute_argp as its own child.  */
extern const struct argp mm_train_argp;

/* Train: open data, make or load the model, resume, then for each step: batch, forward, backward, reduce,
   update, report, save.  MM_OK at the end of the run; MM_ESTOPPED after stop_after or SIGTERM, SIGINT,
   SIGHUP or SIGUSR1, saved (a second signal ends the process at once), and when a rank is lost; MM_EGAVEUP after ten
   skipped updates in a row, or when the parameters of ranks differ; MM_ECONFLICT, also when ranks were started
   differently or MODEL has other weights than those that the checkpoint's run began with; MM_EUSAGE, MM_EBUSY and the
   statuses of what it reads.  All ranks return the same; the message is rank 0's, as mm_comm_agree says.  With dry_run:
   print what the run would be on standard output, write nothing.  */
mm_status mm_train (const struct mm_train_config *c) MM_NODISCARD;

#endif /* MINIMIND_TRAIN_H */
