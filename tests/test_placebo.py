from evals.placebo import placebo_text


def test_the_placebo_has_the_length_asked_for_and_is_the_same_each_time():
    first = placebo_text(50_000)

    assert 50_000 <= len(first) <= 50_100
    assert placebo_text(50_000) == first
    assert placebo_text(10_000) == first[:10_000] or first.startswith(placebo_text(10_000)[:9_000])


def test_the_placebo_is_the_library_that_python_runs_with():
    assert "def " in placebo_text(20_000)
    assert "import " in placebo_text(20_000)
