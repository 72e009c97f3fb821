import csv
import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.writers._text_lines import CodeTexts, lines

NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 99_999)
# Whether a lone carriage return is quoted depends on the version of Python: it is tested by reading it back.
TEXTS = st.lists(st.text(max_size=6).filter(lambda text: "\r" not in text), min_size=1, max_size=5)


def plain(columns):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(zip(*columns, strict=True))
    return text.getvalue().encode("utf-8")


@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(0, 10**6)), max_size=12), TEXTS)
def test_lines_are_those_of_the_csv_module(rows, texts):
    first, second, code = (np.array(column, np.int64) for column in (zip(*rows, strict=True) if rows else ([], [], [])))
    code = code % len(texts)
    named = [texts[i] for i in code.tolist()]
    expected = plain([first.tolist(), named, second.tolist()])
    assert lines([first, (code, CodeTexts(texts)), second]) == expected


def test_a_carriage_return_is_read_back():
    written = lines([(np.array([0, 1]), CodeTexts(["a\rb", "\r\n"])), np.array([1, 2])]).decode()
    assert list(csv.reader(io.StringIO(written, newline=""))) == [["a\rb", "1"], ["\r\n", "2"]]


def test_every_length_of_a_number():
    values = np.array([0, *(10**k + d for k in range(19) for d in (-1, 0, 1)), 2**63 - 1])
    assert lines([values]) == plain([values.tolist()])
    for value in values.tolist():
        assert lines([np.array([value, 0]), np.array([value, value])]) == plain([[value, 0], [value, value]])
