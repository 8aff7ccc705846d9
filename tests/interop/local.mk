# Golden values of the real programs, with the scripts that made them.
unit_tests += tests/interop/text tests/interop/trainer
EXTRA_DIST += tests/interop/make-text-goldens.py tests/interop/text_cases.py \
  tests/interop/text/cases.jsonl tests/interop/text/real.jsonl \
  tests/interop/text/gpt2-added.json tests/interop/text/gpt2-disordered.json \
  tests/interop/text/gpt2-legacy.json tests/interop/text/llama3-ignore.json \
  tests/interop/text/qwen2.json tests/interop/text/cl100k.json tests/interop/text/o200k.json \
  tests/interop/text/qwen35.json tests/interop/text/deepseek2.json tests/interop/text/deepseek3.json \
  tests/interop/make-rank-goldens.py tests/interop/text/ranks.jsonl tests/interop/text/small.tiktoken \
  tests/interop/text/small-vocab.json tests/interop/text/small-merges.txt \
  tests/interop/text/splits.jsonl tests/interop/text/normal.jsonl tests/interop/text_pipelines.py tests/interop/text/trained.jsonl \
  tests/interop/make-trainer-goldens.py
EXTRA_DIST += tests/interop/nano.py tests/interop/nano.golden
unit_tests += tests/interop/io
EXTRA_DIST += tests/interop/make-io-goldens.py tests/interop/io/theirs.safetensors \
  tests/interop/io/ours.safetensors tests/interop/io/ours.tfevents
unit_tests += tests/interop/model
EXTRA_DIST += tests/interop/model.py tests/interop/model.safetensors tests/interop/cases.h
unit_tests += tests/interop/window
EXTRA_DIST += tests/interop/window.py tests/interop/window.safetensors
check_PROGRAMS += tests/interop/folder
cli_tests += tests/interop/folder.sh
EXTRA_DIST += tests/interop/folder.py
cli_tests += tests/interop/sft.sh
EXTRA_DIST += tests/interop/sft.py
unit_tests += tests/interop/chat
EXTRA_DIST += tests/interop/make-chat-goldens.py tests/interop/chat/cases.jsonl \
  tests/interop/chat/talk.jsonl tests/interop/chat/talk.chatml tests/interop/chat/talk.minimind2 \
  tests/interop/chat/talk.minimind-3
cli_tests += tests/interop/answers.sh
EXTRA_DIST += tests/interop/make-answer-goldens.py tests/interop/answers/config.json \
  tests/interop/answers/model.safetensors tests/interop/answers/cases.txt
unit_tests += tests/interop/adapter
EXTRA_DIST += tests/interop/make-adapter-goldens.py tests/interop/adapter/base/config.json \
  tests/interop/adapter/base/model.safetensors \
  $(foreach a,plain patterns rslora,$(foreach f,adapter_config.json adapter_model.safetensors merged.safetensors \
    logits.safetensors,tests/interop/adapter/$(a)/$(f)))
# By hand, where HuggingFace tokenizers is installed.
EXTRA_PROGRAMS += tests/interop/sweep
EXTRA_DIST += tests/interop/sweep-tokenizers.py tests/interop/sweep-trainer.py tests/interop/sweep-chat.py
# By hand, with PyTorch: minutes of training on real text, here and there.
EXTRA_DIST += tests/interop/real-text.sh tests/interop/torch_loop.py
# For tests/unit/shards.
EXTRA_DIST += tests/interop/make-shard-goldens.py \
  tests/interop/shards/u2-v1.npy tests/interop/shards/u4-v2.npy tests/interop/shards/i4-v3.npy \
  tests/interop/shards/i8-v1.npy tests/interop/shards/two.npy tests/interop/shards/fortran.npy \
  tests/interop/shards/big.npy tests/interop/shards/float.npy tests/interop/shards/scalar.npy \
  tests/interop/shards/nanogpt.bin tests/interop/shards/gpt2.bin tests/interop/shards/llama3.bin
