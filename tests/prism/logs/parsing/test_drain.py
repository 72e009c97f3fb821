from prism.logs.parsing.drain import LEAF, WILD, Drain, tokenize


def test_lines_that_differ_in_a_word_share_a_template():
    drain = Drain()
    for host in ("alpha", "beta", "gamma"):
        drain.add(f"connection from {host} was closed by peer after 12 s")
    assert [str(one) for one in drain.templates] == [f"connection from {WILD} was closed by peer after {WILD} s"]
    assert drain.templates[0].count == 3
    assert drain.match("connection from delta was closed by peer after 9 s") is drain.templates[0]
    assert drain.match("connection from delta was opened by peer after 9 s") is None


def test_templates_are_bounded_and_can_be_taken_over():
    drain = Drain(most=5)
    for word in "abcdefghij":
        drain.add(f"{word} " * (ord(word) - 90))
    assert len(drain.templates) == 5
    other = Drain()
    other.load(str(one) for one in drain.templates)
    assert len(other.templates) == 5


def test_numbers_and_long_words_are_wild():
    assert tokenize("step 12 " + "x" * 80) == ["step", WILD, WILD]
    assert tokenize("") == [""]


def test_rubbish_does_not_fill_a_leaf():
    drain = Drain()
    for i in range(5000):
        drain.add(" ".join("abcdefghijklmnopqrstuvwxyz"[(i * k) % 26] * (2 + (i >> k) % 9) for k in range(1, 7)))
    assert max(len(leaf) for leaf in drain._tree.values()) <= LEAF
