from hypothesis import given
from hypothesis import strategies as st

from prism.logs.parsing.line_cleaning import MAX_OCTETS, clean, mask, segments


def test_escapes_and_rubbish_go_and_lines_stay():
    assert clean(b"\x1b[32m 57%\x1b[0m|##\x00\x07\nnext\r\n") == b" 57%|##\nnext\n"


@given(st.binary(max_size=2000))
def test_any_octets_keep_their_line_feeds(data):
    cleaned = clean(data)
    assert cleaned.count(b"\n") <= data.count(b"\n")
    lines, numbers = segments(cleaned, 1)
    assert len(lines) == len(numbers)
    mask(cleaned.decode("utf-8", "replace"))


def test_a_progress_bar_is_several_lines_with_one_number():
    lines, numbers = segments(b"a\rb\rc\nd", 5)
    assert lines == [b"a", b"b", b"c", b"d"]
    assert list(numbers) == [5, 5, 5, 6]


def test_an_endless_line_is_cut():
    lines, _ = segments(b"x" * (3 * MAX_OCTETS), 1)
    assert len(lines[0]) == MAX_OCTETS


def test_secrets_are_masked_and_counts_of_tokens_are_not():
    for secret in (
        "wandb_api_key=abcdef0123456789",
        "HF_TOKEN: hf_abcdefghijklmnop",
        "postgres://me:hunter22@db/x",
        "Authorization: Bearer abcdefghijkl.mnop",
        '{"password": "hunter22"}',
        "  aws_secret_access_key ........ wJalrXUtnFEMI/K7MDENG",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0.abc",
        "AKIAIOSFODNN7EXAMPLE",
    ):
        masked = mask(secret)
        assert "***" in masked, secret
        assert not any(word in masked for word in ("hunter22", "abcdef0123", "wJalr", "hf_abc", "eyJzdW", "IOSFOD", "mnop"))
    for plain in ("tokens: 4096", "num_tokens=1.2e6", "consumed tokens ......... 81920", "tokenizer_type ... GPT2BPETokenizer"):
        assert mask(plain) == plain or "tokenizer" in plain
