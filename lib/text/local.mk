lib_libcore_a_SOURCES += \
  lib/minimind/tokenizer.h \
  lib/minimind/bpe_trainer.h \
  lib/minimind/chat.h \
  lib/minimind/documents.h \
  lib/minimind/shown.h

lib_libcore_a_SOURCES += \
  lib/text/added.c lib/text/added.h \
  lib/text/bpe.c lib/text/bpe.h \
  lib/text/bpe_corpus.c lib/text/bpe_corpus.h \
  lib/text/bpe_count.c lib/text/bpe_count.h \
  lib/text/bpe_learnt.c lib/text/bpe_learnt.h \
  lib/text/bpe_merge.c \
  lib/text/bpe_queue.c lib/text/bpe_queue.h \
  lib/text/bpe_runs.c lib/text/bpe_runs.h \
  lib/text/bpe_short.c \
  lib/text/bpe_temp.c lib/text/bpe_temp.h \
  lib/text/bpe_train.c lib/text/bpe_train.h \
  lib/text/bpe_trainer.c \
  lib/text/bpe_write.c lib/text/bpe_write.h \
  lib/text/byte_class.h lib/text/byte_class_x86.h \
  lib/text/byte_table.c lib/text/byte_table.h \
  lib/text/chat_impl.h lib/text/chat_read.c lib/text/chat_template.c lib/text/chat_encode.c \
  lib/text/documents.c lib/text/documents_impl.h \
  lib/text/documents_cli.c \
  lib/text/documents_csv.c lib/text/documents_csv.h \
  lib/text/documents_json.c \
  lib/text/documents_kind.c \
  lib/text/documents_list.c \
  lib/text/documents_member.c \
  lib/text/documents_part.c \
  lib/text/documents_text.c \
  lib/text/encode.c lib/text/encode_pieces.c lib/text/encode_pieces.h \
  lib/text/json_line.c lib/text/json_line.h \
  lib/text/json_string.c lib/text/json_string.h \
  lib/text/json_unescape.c lib/text/json_unescape.h \
  lib/text/known.c lib/text/known.h \
  lib/text/load_added.c \
  lib/text/load_config.c \
  lib/text/load_file.c \
  lib/text/load_model.c \
  lib/text/load_pipeline.c \
  lib/text/load_pre_tokenizer.c \
  lib/text/normalize.c lib/text/normalize.h \
  lib/text/pattern.h lib/text/pattern_deepseek.c lib/text/pattern_gpt4.c lib/text/pattern_known.c \
  lib/text/piece_key.h \
  lib/text/pretokenize.c lib/text/pretokenize.h \
  lib/text/pretokenize_gpt2.c lib/text/pretokenize_gpt2.h \
  lib/text/ranks.c \
  lib/text/scan.h \
  lib/text/seam.c lib/text/seam.h \
  lib/text/split.c lib/text/split.h \
  lib/text/split_regex.c lib/text/split_regex.h \
  lib/text/shown.c \
  lib/text/tokenizer.c lib/text/tokenizer_impl.h \
  lib/text/trie.c lib/text/trie.h \
  lib/text/unicode.h lib/text/unicode_table.c \
  lib/text/utf8.c \
  lib/text/vector.c lib/text/vector.h \
  lib/text/vocabulary.c lib/text/vocabulary.h \
  lib/text/word_count.c lib/text/word_count.h

EXTRA_DIST += lib/text/make-unicode.py
