#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/generate's prompt and tokens by llama.cpp.

Usage: llama_peer.py FOLDER THREADS

Turns the model in FOLDER (config.json and model.safetensors, Llama, float32) into GGUF beside it, without a vocabulary,
and says its version in one line. Then for each line: "prompt" evaluates 512 tokens from nothing, "tokens" 64 more, one
by one; the seconds are printed.
"""
import json
import os
import sys
import time

PROMPT, TOKENS = 512, 64
NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}


def gguf_name(name):
    """The name of HuggingFace's tensor NAME in GGUF, with its ending."""
    whole = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
             "lm_head.weight": "output.weight"}
    if name in whole:
        return whole[name]
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{NAMES[rest.removesuffix('.weight')]}.weight"


def turned(tensor, heads):
    """Rows of each head in the order in which llama.cpp turns them: neighbours are a pair, not halves."""
    rows, cols = tensor.shape
    return tensor.reshape(heads, 2, rows // heads // 2, cols).swapaxes(1, 2).reshape(rows, cols)


def write_gguf(gguf, load_file, folder, path):
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    rope = config.get("rope_theta") or config["rope_parameters"]["rope_theta"]
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("no_vocab")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(rope)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for name, tensor in load_file(os.path.join(folder, "model.safetensors")).items():
        if "q_proj" in name or "k_proj" in name:
            tensor = turned(tensor, heads if "q_proj" in name else kv_heads)
        writer.add_tensor(gguf_name(name), tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    folder, threads = sys.argv[1], int(sys.argv[2])
    try:
        import gguf
        import llama_cpp
        from safetensors.numpy import load_file
    except ImportError as error:
        print(f"left out: {error.name} is not installed (BENCH_PYTHON names a Python that has llama_cpp, gguf, safetensors)")
        return
    path = os.path.join(folder, "model.gguf")
    write_gguf(gguf, load_file, folder, path)
    llama = llama_cpp.Llama(path, n_ctx=1024, n_batch=512, n_ubatch=512, n_threads=threads, n_threads_batch=threads,
                            seed=1, type_k=0, type_v=0, verbose=False)
    print("llama_cpp_python", llama_cpp.__version__, llama_cpp.llama_print_system_info().decode()[:180], flush=True)
    ids = [(i * 7919) % llama.n_vocab() for i in range(PROMPT)]
    for line in sys.stdin:
        began = time.monotonic()
        if line.strip() == "prompt":
            llama.reset()
            llama.eval(ids)
        else:
            for i in range(TOKENS):
                llama.eval([ids[i]])
        print(time.monotonic() - began, flush=True)


main()
