/* config.c -- presets, config.json read and written, counts.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/json.h>
#include <minimind/model_config.h>

#include "scratch.h"
#include "../tap.h"

static void
test_presets (void)
{
  static const struct
  {
    const char *name;
    uint64_t parameters;        /* formats.md 2.4, of MiniMind's own code */
    double megaflops;           /* 3 x forward a token over 512 keys */
  } known[] = {
    { "minimind2-small", 25829888, 167.5 },
    { "minimind2", 104030976, 0 },
    { "minimind-3", 63912192, 402.3 },
  };
  struct mm_model_config c;

  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    {
      ok (mm_config_preset (known[i].name, 6400, &c) == MM_OK, known[i].name);
      ok (mm_config_parameters (&c) == known[i].parameters, "its parameters");
      if (known[i].megaflops > 0)
        ok (fabs (mm_config_train_flops (&c, 512) / 1e6 - known[i].megaflops) < 0.06, "its FLOPs");
      ok (mm_config_train_flops (&c, 512) == 3 * mm_config_forward_flops (&c, 512), "3 x forward");
      c.tied = false;
      ok (mm_config_parameters (&c) == known[i].parameters + c.hidden_size * 6400u, "untied");
    }
  for (size_t i = 0; mm_preset_names[i]; i++)
    ok (mm_config_preset (mm_preset_names[i], 320, &c) == MM_OK && c.vocab_size == 320,
        mm_preset_names[i]);
  ok (mm_config_preset ("huge", 320, &c) == MM_EUSAGE
      && strstr (mm_error_message (), "minimind2-small") && strstr (mm_error_message (), "nano"),
      "an unknown preset lists the names");
  ok (mm_config_preset ("nano", 0, &c) == MM_EUSAGE && strstr (mm_error_message (), "vocab_size"),
      "no vocabulary");
}

/* ---- reading ---- */

/* A Llama configuration with EXTRA fields in front, which win over none of the others.  */
#define SIZES "\"hidden_size\": 64, \"num_hidden_layers\": 3, \"intermediate_size\": 96, " \
  "\"vocab_size\": 500, \"num_attention_heads\": "
#define LLAMA(extra) "{" extra "\"model_type\": \"llama\", " SIZES "4}"
#define QWEN3(extra) "{" extra "\"model_type\": \"qwen3\", " SIZES "64}"

static mm_status
read_text (const char *text, struct mm_model_config *c)
{
  scratch_put ("config.json", text, strlen (text));
  return mm_config_read ("config.json", c);
}

static void
test_defaults (void)
{
  struct mm_model_config c;

  ok (read_text (LLAMA (""), &c) == MM_OK, "a Llama configuration without optional fields");
  ok (c.architecture == MM_LLAMA && c.hidden_size == 64 && c.n_layers == 3 && c.n_heads == 4
      && c.ffn_size == 96 && c.vocab_size == 500, "what it says");
  ok (c.n_kv_heads == 4 && c.head_dim == 16 && c.max_positions == 2048 && c.rms_eps == 1e-6f
      && c.rope_theta == 10000 && !c.tied && c.bos_id == 1 && c.eos_id == 2 && c.pad_id == -1,
      "LlamaConfig's defaults");
  ok (read_text (QWEN3 (""), &c) == MM_OK && c.architecture == MM_QWEN3, "a Qwen3 configuration");
  ok (c.n_kv_heads == 32 && c.head_dim == 128 && c.max_positions == 32768 && c.rope_theta == 10000
      && !c.tied && c.bos_id == -1 && c.eos_id == 2, "Qwen3Config's defaults");
  ok (read_text (QWEN3 ("\"num_key_value_heads\": null, "), &c) == MM_OK && c.n_kv_heads == 64,
      "null kv heads: as many as heads");
  ok (read_text ("{\"architectures\": [\"Qwen3ForCausalLM\"], " SIZES "32}", &c) == MM_OK
      && c.architecture == MM_QWEN3, "without model_type the class tells");
  ok (read_text (LLAMA ("\"tie_word_embeddings\": true, \"rms_norm_eps\": 1e-5, \"head_dim\": 10, "
                        "\"num_key_value_heads\": 2, \"pad_token_id\": 7, \"bos_token_id\": null, "
                        "\"eos_token_id\": [9, 8], \"max_position_embeddings\": 77, "), &c) == MM_OK
      && c.tied && c.rms_eps == 1e-5f && c.head_dim == 10 && c.n_kv_heads == 2 && c.pad_id == 7
      && c.bos_id == -1 && c.eos_id == 9 && c.max_positions == 77, "all given; eos as a list");
  ok (read_text (QWEN3 ("\"sliding_window\": 4096, \"use_sliding_window\": false, "
                        "\"layer_types\": [\"full_attention\", \"full_attention\"], "), &c) == MM_OK,
      "Qwen3: a window that is not used");
}

static void
test_rope (void)
{
  static const struct
  {
    const char *name, *text;
    double theta;
  } cases[] = {
    { "plain theta, version 4", LLAMA ("\"rope_theta\": 5e5, \"rope_scaling\": null, "), 5e5 },
    { "an integer", LLAMA ("\"rope_theta\": 1000000, "), 1e6 },
    { "object, version 5",
      LLAMA ("\"rope_parameters\": {\"rope_theta\": 1e6, \"rope_type\": \"default\"}, "), 1e6 },
    { "the object wins",
      LLAMA ("\"rope_theta\": 3.0, "
             "\"rope_parameters\": {\"rope_theta\": 7.0, \"type\": \"default\"}, "), 7 },
    { "plain theta fills the object",
      LLAMA ("\"rope_theta\": 3.0, \"rope_parameters\": {\"rope_type\": \"default\"}, "), 3 },
    { "rope_scaling wins over rope_parameters",
      LLAMA ("\"rope_scaling\": {\"rope_type\": \"default\", \"rope_theta\": 4.0}, "
             "\"rope_parameters\": {\"rope_theta\": 7.0, \"rope_type\": \"yarn\"}, "), 4 },
    { "an empty rope_scaling says nothing",
      LLAMA ("\"rope_scaling\": {}, \"rope_parameters\": {\"rope_theta\": 7.0}, "), 7 },
    { "by type of layer",
      QWEN3 ("\"rope_parameters\": {\"full_attention\": "
             "{\"rope_theta\": 8.0, \"rope_type\": \"default\"}}, "), 8 },
  };
  struct mm_model_config c;

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    ok (read_text (cases[i].text, &c) == MM_OK && c.rope_theta == cases[i].theta, cases[i].name);
}

static void
test_missing_eos (void)
{
  static const char generation[] = "{\"bos_token_id\": 3, \"eos_token_id\": [4, 5]}";
  static const char tokenizer[] = "{\"eos_token\": \"<|im_end|>\", \"added_tokens_decoder\": "
    "{\"0\": {\"content\": \"<|endoftext|>\"}, \"6\": {\"content\": \"<|im_end|>\"}}}";
  static const char object[] = "{\"eos_token\": {\"content\": \"</s>\"}, \"added_tokens_decoder\": "
    "{\"11\": {\"content\": \"</s>\"}}}";
  struct mm_model_config c;

  scratch_put ("tokenizer_config.json", tokenizer, sizeof tokenizer - 1);
  ok (read_text (QWEN3 (""), &c) == MM_OK && c.eos_id == 6, "eos from tokenizer_config.json");
  scratch_put ("tokenizer_config.json", object, sizeof object - 1);
  ok (read_text (QWEN3 (""), &c) == MM_OK && c.eos_id == 11, "its eos_token as an object");
  scratch_put ("generation_config.json", generation, sizeof generation - 1);
  ok (read_text (QWEN3 (""), &c) == MM_OK && c.eos_id == 4 && c.bos_id == 3,
      "generation_config.json comes before it");
  ok (read_text (QWEN3 ("\"eos_token_id\": 12, "), &c) == MM_OK && c.eos_id == 12 && c.bos_id == -1,
      "config.json before both");
  scratch_put ("generation_config.json", "{", 1);
  ok (read_text (QWEN3 (""), &c) == MM_EFORMAT
      && strstr (mm_error_message (), "generation_config.json"),
      "a broken generation_config.json is named");
  remove ("generation_config.json");
  remove ("tokenizer_config.json");
}

static void
test_refusals (void)
{
  static const struct
  {
    const char *text;
    mm_status st;
    const char *says;
  } cases[] = {
    { "{\"model_type\": \"qwen3_moe\"}", MM_EUNSUP, "mixture of experts" },
    { "{\"architectures\": [\"Qwen3MoeForCausalLM\"], \"model_type\": \"qwen3_moe\"}", MM_EUNSUP,
      "qwen3_moe" },
    { LLAMA ("\"num_experts\": 4, "), MM_EUNSUP, "num_experts" },
    { LLAMA ("\"num_local_experts\": 4, "), MM_EUNSUP, "num_local_experts" },
    { LLAMA ("\"n_routed_experts\": 4, "), MM_EUNSUP, "n_routed_experts" },
    { LLAMA ("\"use_moe\": true, "), MM_EUNSUP, "use_moe" },
    { "{\"model_type\": \"gemma2\"}", MM_EUNSUP, "gemma2" },
    { "{\"architectures\": [\"GPT2LMHeadModel\"]}", MM_EUNSUP, "GPT2LMHeadModel" },
    { LLAMA ("\"architectures\": [\"LlamaForSequenceClassification\"], "), MM_EUNSUP,
      "LlamaForSequenceClassification" },
    { QWEN3 ("\"use_sliding_window\": true, "), MM_EUNSUP, "sliding" },
    { LLAMA ("\"sliding_window\": 4096, "), MM_EUNSUP, "sliding" },
    { QWEN3 ("\"layer_types\": [\"full_attention\", \"sliding_attention\"], "), MM_EUNSUP,
      "sliding_attention" },
    { LLAMA ("\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2.0}, "), MM_EUNSUP, "linear" },
    { LLAMA ("\"rope_parameters\": {\"rope_type\": \"llama3\", \"rope_theta\": 5e5}, "), MM_EUNSUP,
      "llama3" },
    { LLAMA ("\"rope_scaling\": {\"rope_type\": \"yarn\", \"type\": \"default\"}, "), MM_EUNSUP,
      "yarn" },
    { LLAMA ("\"partial_rotary_factor\": 0.5, "), MM_EUNSUP, "partial_rotary_factor" },
    { LLAMA ("\"rope_parameters\": {\"partial_rotary_factor\": 0.5}, "), MM_EUNSUP,
      "partial_rotary_factor" },
    { LLAMA ("\"attention_bias\": true, "), MM_EUNSUP, "attention_bias" },
    { LLAMA ("\"mlp_bias\": true, "), MM_EUNSUP, "mlp_bias" },
    { LLAMA ("\"hidden_act\": \"gelu\", "), MM_EUNSUP, "gelu" },
    { LLAMA ("\"quantization_config\": {\"bits\": 4}, "), MM_EUNSUP, "quantization_config" },
    { "{\"hidden_size\": 64}", MM_EFORMAT, "model_type" },
    { "{\"model_type\": \"llama\"}", MM_EFORMAT, "hidden_size" },
    { "[1]", MM_EFORMAT, "object" },
    { "{\"model_type\": \"llama\", ", MM_EFORMAT, "config.json" },
    { LLAMA ("\"num_key_value_heads\": 3, "), MM_EFORMAT, "num_attention_heads" },
    { LLAMA ("\"num_key_value_heads\": 0, "), MM_EFORMAT, "num_key_value_heads" },
    { LLAMA ("\"head_dim\": 7, "), MM_EFORMAT, "head_dim" },
    { LLAMA ("\"head_dim\": 8192, "), MM_EFORMAT, "head_dim" },
    { LLAMA ("\"rms_norm_eps\": 0.0, "), MM_EFORMAT, "rms_norm_eps" },
    { LLAMA ("\"rope_theta\": -1.0, "), MM_EFORMAT, "rope_theta" },
    { LLAMA ("\"eos_token_id\": \"x\", "), MM_EFORMAT, "eos_token_id" },
    { LLAMA ("\"tie_word_embeddings\": 1, "), MM_EFORMAT, "tie_word_embeddings" },
    { "{\"model_type\": \"llama\", " SIZES "65}", MM_EFORMAT, "65 heads" },
    { "{\"model_type\": \"llama\", \"head_dim\": 2, " SIZES "5000}", MM_EFORMAT,
      "num_attention_heads: want 1 to 4096" },
  };
  struct mm_model_config c;

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
      char name[128];

      snprintf (name, sizeof name, "refused: %.100s", cases[i].says);
      ok (read_text (cases[i].text, &c) == cases[i].st
          && strstr (mm_error_message (), cases[i].says)
          && strstr (mm_error_message (), "config.json"), name);
    }
  ok (mm_config_read ("nothing.json", &c) == MM_ENOENT, "no such file");
}

/* ---- writing ---- */

static void
test_text (void)
{
  struct mm_model_config c, back;
  char *config, *generation;
  json_t *o = NULL;

  for (size_t i = 0; mm_preset_names[i]; i++)
    {
      ok (mm_config_preset (mm_preset_names[i], 6400, &c) == MM_OK
          && mm_config_text (&c, MM_F32, &config, &generation) == MM_OK, mm_preset_names[i]);
      ok (read_text (config, &back) == MM_OK && back.architecture == c.architecture
          && back.hidden_size == c.hidden_size && back.n_layers == c.n_layers
          && back.n_heads == c.n_heads && back.n_kv_heads == c.n_kv_heads
          && back.head_dim == c.head_dim && back.ffn_size == c.ffn_size
          && back.vocab_size == c.vocab_size && back.max_positions == c.max_positions
          && back.rms_eps == c.rms_eps && back.rope_theta == c.rope_theta && back.tied == c.tied
          && back.bos_id == c.bos_id && back.eos_id == c.eos_id && back.pad_id == c.pad_id,
          "reads back the same");
      free (config);
      free (generation);
    }

  c.rms_eps = 3e-7f;
  c.rope_theta = 123456.789;
  c.eos_id = -1;
  c.tied = false;
  ok (mm_config_text (&c, MM_F32, &config, &generation) == MM_OK
      && read_text (config, &back) == MM_OK && back.rms_eps == c.rms_eps
      && back.rope_theta == c.rope_theta && !back.tied, "odd numbers read back the same");
  ok (strstr (config, "\"rope_scaling\": null") && strstr (config, "\"rope_theta\": 123456.789,")
      && strstr (config, "\"rope_parameters\": {\"rope_theta\": 123456.789, "),
      "theta for both versions of transformers");
  ok (mm_json_parse ("generation", generation, strlen (generation), &o) == MM_OK
      && json_is_null (json_object_get (o, "eos_token_id"))
      && json_integer_value (json_object_get (o, "bos_token_id")) == c.bos_id,
      "generation_config.json");
  json_decref (o);
  free (config);
  free (generation);
}

int
main (void)
{
  scratch_enter ();
  test_presets ();
  test_defaults ();
  test_rope ();
  test_missing_eos ();
  test_refusals ();
  test_text ();
  return tap_done ();
}
