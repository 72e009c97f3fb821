from collectors.compiled import compiled


@compiled
def total(n: int) -> int:
    """The sum of the numbers below n."""
    found = 0
    for i in range(n):
        found += i
    return found


def test_a_compiled_loop_is_the_loop():
    assert total(10) == 45
    assert total.__doc__ == "The sum of the numbers below n."
