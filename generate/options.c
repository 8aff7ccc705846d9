/* options.c -- the options of a conversation.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/cli.h>

#include "options.h"

enum { OPT_CHAT = 0x200, OPT_MESSAGES, OPT_SYSTEM, OPT_CHAT_TEMPLATE, OPT_THINKING, OPT_SHOW_THINKING,
       OPT_HIDE_THINKING, OPT_CONTEXT, OPT_HISTORY };

static const struct argp_option options[] = {
  { "chat", OPT_CHAT, NULL, 0, "answer PROMPT, or line after line of standard input, in a conversation", 0 },
  { "system", OPT_SYSTEM, "TEXT", 0, "begin with TEXT as the system prompt", 0 },
  { "history", OPT_HISTORY, "FILE", 0, "keep the lines that are typed in FILE, and offer those of before", 0 },
  { "messages", OPT_MESSAGES, "FILE", 0, "answer the conversation in FILE, one JSON object or array; -: standard input",
    0 },
  { "chat-template", OPT_CHAT_TEMPLATE, "NAME", 0,
    "render as chatml, minimind2 or minimind-3; auto: as the tokenizer's configuration has it [auto]", 0 },
  { "thinking", OPT_THINKING, "WHEN", 0,
    "the answer opens with a thought (on) or without one (off), or as the template has it [auto]", 0 },
  { "show-thinking", OPT_SHOW_THINKING, NULL, 0, "print thoughts, in <think> </think> [on a terminal]", 0 },
  { "hide-thinking", OPT_HIDE_THINKING, NULL, 0, "print no thoughts", 0 },
  { "context", OPT_CONTEXT, "N", 0, "let the conversation have N tokens at most [the model's positions]", 0 },
  { 0 }
};

/* Options that need a conversation leave their name in the parser's hook.  */
static error_t
parse_opt (int key, char *arg, struct argp_state *state)
{
  static const char *const whens[] = { "auto", "on", "off", NULL };
  static const enum mm_thinking thinking_of[] = { MM_THINKING_DEFAULT, MM_THINKING_ON, MM_THINKING_OFF };
  struct generate_talk *talk = state->input;

  switch (key)
    {
    case ARGP_KEY_INIT:
      talk->template = "auto";
      break;
    case OPT_CHAT:
      talk->chat = true;
      break;
    case OPT_SYSTEM:
      talk->system = arg;
      break;
    case OPT_HISTORY:
      talk->history = mm_cli_path (state, "history", arg);
      break;
    case OPT_MESSAGES:
      talk->messages = mm_cli_path (state, "messages", arg);
      break;
    case OPT_CHAT_TEMPLATE:
      talk->template = arg;
      state->hook = "--chat-template";
      break;
    case OPT_THINKING:
      talk->thinking = thinking_of[mm_cli_choice (state, "thinking", arg, whens)];
      state->hook = "--thinking";
      break;
    case OPT_SHOW_THINKING:
      talk->show_thinking = SHOW_ALWAYS;
      state->hook = "--show-thinking";
      break;
    case OPT_HIDE_THINKING:
      talk->show_thinking = SHOW_NEVER;
      state->hook = "--hide-thinking";
      break;
    case OPT_CONTEXT:
      talk->context = (size_t) mm_cli_integer (state, "context", arg, 1, INT32_MAX);
      state->hook = "--context";
      break;
    case ARGP_KEY_END:
      if (state->hook && !generate_talks (talk))
        argp_error (state, "%s is for conversations: give --chat or --messages", (const char *) state->hook);
      if (talk->chat && talk->messages)
        argp_error (state, "--chat and --messages exclude each other");
      if ((talk->system || talk->history) && !talk->chat)
        argp_error (state, "--system and --history are for --chat");
      break;
    default:
      return ARGP_ERR_UNKNOWN;
    }
  return 0;
}

const struct argp generate_talk_argp = { options, parse_opt, NULL, NULL, NULL, NULL, NULL };
