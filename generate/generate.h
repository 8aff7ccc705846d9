/* generate.h -- a model continues a text, or answers in a conversation.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef GENERATE_H
#define GENERATE_H

#include <stdbool.h>
#include <stddef.h>

#include <minimind/chat.h>
#include <minimind/cli.h>
#include <minimind/error.h>
#include <minimind/model.h>

/* Is what the model thinks shown?  */
enum generate_show
{
  SHOW_ON_TERMINAL,             /* where standard output is one */
  SHOW_ALWAYS,
  SHOW_NEVER
};

/* A conversation, by lines or from a file.  */
struct generate_talk
{
  bool chat;                    /* hold one: messages are lines */
  const char *messages;         /* or answer the one in this file ("-": standard input) */
  const char *system;           /* its system turn, or NULL */
  const char *template;         /* a name of chat.h, or "auto" */
  enum mm_thinking thinking;    /* what the answer opens with */
  enum generate_show show_thinking;
  size_t context;               /* tokens of the conversation, at most; 0: the model's positions */
  const char *history;          /* file of lines typed before, or NULL */
};

struct generate_config
{
  const char *model;            /* model folder or run folder */
  const char *adapter;          /* adapter folder, or NULL */
  const char *prompt;           /* NULL: standard input; in a conversation its one message */
  bool bos;                     /* the tokenizer's bos in front of the prompt */
  bool parse_special;           /* special-token strings in the prompt are those tokens */
  size_t max_tokens;            /* new ones, at most */
  bool ignore_eos;              /* go on after the end of the document */
  struct mm_sampling sampling;  /* its seed is the one of compute */
  bool echo;                    /* print the prompt too */
  bool json;                    /* one object at the end instead of text */
  bool score;                   /* print the losses of the prompt's tokens, generate nothing */
  struct generate_talk talk;
  struct mm_compute compute;
};

/* Generate and print.  MM_EUSAGE when the prompt is empty or does not fit the model's positions;
   MM_EFORMAT when it is not UTF-8 or the logits are not finite; MM_ECONFLICT when the tokenizer
   has ids that the model has not; the statuses of chat.h, checkpoint.h, lora.h, model.h and tokenizer.h.  */
mm_status generate (const struct generate_config *c) MM_NODISCARD;

#endif /* GENERATE_H */
