# text_pipelines.py -- the pipelines of real tokenizers, to be trained on any text; for the scripts beside.
# SPDX-License-Identifier: Apache-2.0
#
# Each has the normalizer, pre-tokenizers, post-processor and options of the model it is named after,
# as its tokenizer.json has them; only vocabulary and merges are learnt here.

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers import processors, trainers

CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
QWEN = (CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN35 = (CONTRACTION + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?" + UPPER + "*" + LOWER + "+" + CONTRACTION + "?",
    r"[^\r\n\p{L}\p{N}]?" + UPPER + "+" + LOWER + "*" + CONTRACTION + "?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
# tiktoken's newest spelling, but for {1,3}+, which Oniguruma reads otherwise.
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+"
          r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s")
DEEPSEEK3 = [
    r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"]
DEEPSEEK2 = [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-\ud7ff]+"]

# name: (regular expressions, normalizer, what else)
PIPELINES = {
    "gpt2": ([], None, ()),
    "qwen2": ([QWEN % r"\p{N}"], "NFC", ()),
    "qwen35": ([QWEN35], "NFC", ()),
    "llama3": ([QWEN % r"\p{N}{1,3}"], None, ("ignore_merges", "bos")),
    "gpt4": ([QWEN % r"\p{N}{1,3}"], None, ("removed",)),
    "cl100k": ([CL100K], None, ("ignore_merges",)),
    "o200k": ([O200K], None, ("removed",)),
    "deepseek3": (DEEPSEEK3, "Sequence", ("bos",)),
    "deepseek2": (DEEPSEEK2, "Sequence", ("bos", "digits")),
}
# The patterns that are built in, each by itself: what pre_tokenize_str is asked for.
BUILT_IN = ["gpt2", "qwen2", "llama3", "cl100k", "o200k", "qwen35", "deepseek3"]


def pre_tokenizer(name):
    regexes, _, extras = PIPELINES[name]
    if not regexes:
        return pre_tokenizers.ByteLevel(add_prefix_space=False)
    behavior, invert = ("removed", True) if "removed" in extras else ("isolated", False)
    steps = [pre_tokenizers.Split(Regex(r), behavior, invert=invert) for r in regexes]
    if "digits" in extras:
        steps.append(pre_tokenizers.Digits(individual_digits=True))
    return pre_tokenizers.Sequence(
        steps + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def untrained(name, ignore_merges=True):
    _, normalizer, extras = PIPELINES[name]
    tok = Tokenizer(models.BPE(ignore_merges=ignore_merges and "ignore_merges" in extras))
    if normalizer:
        tok.normalizer = normalizers.NFC() if normalizer == "NFC" else normalizers.Sequence([])
    tok.pre_tokenizer = pre_tokenizer(name)
    tok.decoder = decoders.ByteLevel()
    return tok


def train(name, texts, vocab_size, special=("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
          think=True):
    tok = untrained(name)
    tok.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocab_size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        special_tokens=list(special)))
    if think:
        tok.add_tokens([AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False)])
    if "bos" in PIPELINES[name][2]:
        bos = special[0]
        tok.post_processor = processors.Sequence([
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(single=f"{bos} $A", pair=f"{bos} $A {bos}:1 $B:1",
                                          special_tokens=[(bos, tok.token_to_id(bos))])])
    return tok
