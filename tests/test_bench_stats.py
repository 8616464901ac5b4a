"""Statistics of samples that were made up, and what is printed of them."""

from __future__ import annotations

import io
import math
import random
import re

import pytest
from rich.console import Console

from asmgen.bench import stats, text
from asmgen.bench.modelled import Modelled
from asmgen.bench.modelled import Row as ModelledRow
from asmgen.bench.page import page
from asmgen.bench.result import Result, Row, as_json, summary
from asmgen.bench.stats import EVEN, FASTER, NOISY, SLOWER, figure, interval, noise, ratio

SEED = 20260401
Samples = list[list[float | None]]


def made(rng: random.Random, cycles: float, *, layout: float = 0.01) -> Samples:
    """Rounds with some jitter, now and then one that was interrupted, in contexts that differ a little."""
    return [
        [base * (1 + abs(rng.gauss(0, 0.003))) if rng.random() > 0.1 else None for _ in range(30)]
        for base in [cycles * (1 + rng.gauss(0, layout)) for _ in range(12)]
    ]


def test_a_figure_is_the_median_of_medians() -> None:
    samples: Samples = [[float(context + 10)] * 9 + [1000.0] for context in range(12)]
    found = figure(samples)
    assert found is not None and (found.cycles, found.minimum) == (15.5, 10.0)
    assert (found.low, found.high) == (12.0, 19.0), "two of twelve on either side are left out"


def test_too_few_good_windows_are_no_figure() -> None:
    short: Samples = [[1.0, None, 1.0, None, 1.0] for _ in range(12)]
    assert figure(short) is None and noise(short, short) is None and ratio(short, short, 0.0) is None
    assert figure([[1.0] * 9] * 5) is None, "of five contexts no interval has that confidence"


@pytest.mark.parametrize("count", range(6, 30))
def test_an_interval_covers_the_median_as_often_as_it_says_and_none_within_it_does(count: int) -> None:
    low, high = (int(each) for each in interval(list(range(count))))

    def covered(cut: int) -> float:
        return 1 - 2 * sum(math.comb(count, below) for below in range(cut + 1)) / 2**count

    assert high == count - 1 - low and covered(low) >= stats.CONFIDENCE > covered(low + 1)


def test_a_difference_is_found_and_its_direction() -> None:
    rng = random.Random(SEED)
    ours, slower, faster = made(rng, 40), made(rng, 46), made(rng, 35)
    assert (found := ratio(ours, slower, 0.002)) and found.answer == FASTER
    assert found.low < 1.15 < found.high + 0.02 and abs(found.value - 1.15) < 0.02
    assert (found := ratio(ours, faster, 0.002)) and found.answer == SLOWER and found.value < 0.9


def test_no_difference_is_an_answer_and_mistakes_are_rare() -> None:
    rng = random.Random(SEED)
    answers = [found.answer for _ in range(200) if (found := ratio(made(rng, 40), made(rng, 40), 0.0))]
    assert len(answers) == 200 and set(answers) <= {EVEN, FASTER, SLOWER}
    assert answers.count(EVEN) >= 180, f"seed {SEED}"


def test_a_context_far_off_changes_nothing() -> None:
    rng = random.Random(SEED)
    ours, theirs = made(rng, 40), made(rng, 44)
    plain = ratio(ours, theirs, 0.001)
    theirs[3] = [None if each is None else each * 2 for each in theirs[3]]
    ours[7] = [None if each is None else each * 2 for each in ours[7]]
    far = ratio(ours, theirs, 0.001)
    assert plain and far and far.answer == FASTER and abs(plain.value - far.value) < 0.02


def test_where_the_same_routine_twice_differs_small_differences_are_too_noisy() -> None:
    rng = random.Random(SEED)
    ours, theirs = made(rng, 40, layout=0.001), made(rng, 41, layout=0.001)
    answers = [found.answer for twice in (0.001, 0.05, None) if (found := ratio(ours, theirs, twice))]
    assert answers == [FASTER, NOISY, NOISY]
    assert (found := ratio(ours, made(rng, 80), 0.05)) and found.answer == FASTER, "a large one is still one"


def test_noise_is_what_the_same_routine_twice_differs_by() -> None:
    once: Samples = [[40.0] * 9 for _ in range(12)]
    again: Samples = [[41.0] * 9 for _ in range(12)]
    assert noise(once, again) == pytest.approx(0.025) and noise(once, once) == 0
    assert noise(again, once) == pytest.approx(1 - 40 / 41)


def test_windows_that_others_stretch_are_noticed_and_widen_intervals() -> None:
    steady: Samples = [[40.0] * 30 for _ in range(12)]
    mixed: Samples = [[40.0] * 10 + [50.0] * 20 for _ in range(12)]
    assert stats.stretch([steady]) == 0 and stats.stretch([mixed]) == pytest.approx(0.25)
    assert stats.stretch([[[1.0, None]]]) is None
    assert stats.doubt(0.002, 0.01) == 0.002 and stats.doubt(0.002, 0.25) == pytest.approx(0.252)
    assert stats.doubt(None, 0.01) is None and stats.doubt(0.01, None) is None


def test_the_part_left_out() -> None:
    assert stats.disturbed([[[1.0, None], [None, None]]]) == 0.75 and stats.disturbed([]) == 0


# What is shown.


def example(twice: float = 0.001, stretch: float = 0.01, rate: float = 3.97) -> Result:
    rng = random.Random(SEED)
    ours, theirs = made(rng, 40), made(rng, 50)
    figures = [figure(each) for each in (ours, theirs)]
    compared = ratio(ours, theirs, stats.doubt(twice, stretch))
    assert figures[0] and figures[1] and compared
    rows = (Row("asmgen", "ours", (), {"latency": figures[0]}, {}),
            Row("gcc 12 -O2", "compiled", ("gcc 12 -O3",), {"latency": figures[1]}, {"latency": compared}))  # fmt: skip
    lost = (("x.o:<f>", "it is gone"),)
    return Result("field.mul", "call", ("latency",), rows, {"latency": twice}, stretch, 0.1, lost, 0, True, rate)


def printed(*what: object) -> str:
    console = Console(file=io.StringIO(), width=190)
    console.print(*what)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_bars_are_as_long_as_their_part() -> None:
    assert [len(text.bar(part, 10)) for part in (0, 0.05, 0.5, 1, 7)] == [1, 1, 5, 10, 10]
    assert text.bar(0.5, 10) == "█████" and text.bar(0.55, 10) == "█████▌"


def test_the_table_has_bars_ratios_and_answers() -> None:
    shown = printed(text.table(example()))
    assert "field.mul, cycles a call" in shown and "gcc 12 -O2 = -O3" in shown
    ours, theirs = (line for line in shown.splitlines() if "█" in line)
    assert theirs.count("█") == 30 and 22 <= ours.count("█") <= 25
    assert re.search(r"1\.2\d\d  1\.\d+–1\.\d+  ours is faster", theirs)


def test_remarks_tell_of_noise_and_of_what_is_not_there() -> None:
    quiet = [line for line, _ in text.remarks(example())]
    assert quiet == ["the same routine twice: latency 0.1%; windows stretched by 1.0%, left out: 10%",
                     "not timed: x.o:<f>: it is gone"]  # fmt: skip
    for noisy in (example(0.05), example(stretch=0.05)):
        assert list(text.remarks(noisy))[1][0].startswith("too noisy here now"), "and it is said"
        assert not noisy.quiet and as_json(noisy)["quiet"] is False
    assert "at 2.86 a cycle" in list(text.remarks(example(rate=2.86)))[1][0] and not example(rate=2.86).quiet


def test_json_and_summary() -> None:
    shown = as_json(example())
    assert shown["quiet"] and shown["kernel"] == "field.mul" and shown["failed"] == [
        {"name": "x.o:<f>", "reason": "it is gone"}]  # fmt: skip
    theirs = shown["routines"][1]
    assert theirs["same_code"] == ["gcc 12 -O3"] and theirs["ratio"]["latency"]["ours"] == FASTER
    compared = theirs["ratio"]["latency"]
    assert compared["low"] <= compared["value"] <= compared["high"]
    ((name, cells),) = summary([example()])
    assert name == "field.mul" and re.fullmatch(r"1\.2\d gcc 12 -O2", cells[0]) and cells[1:] == ["", ""]
    assert "gcc 12 -O2" in printed(text.summary_table([example()]))


def test_the_page_is_one_file_with_everything_in_it_the_same_every_time() -> None:
    rows = (ModelledRow("asmgen", "ours", (), 70, 29, {"cortex-a55": 95.0}, {"cortex-a55": 99.0}),)
    model = Modelled("field.sqr", "arm64", 4, ("cortex-a55",), rows, (("gcc", "broke"),))
    made = page("asmgen bench <x>", ["a CPU"], [example()], [model])
    assert made == page("asmgen bench <x>", ["a CPU"], [example()], [model])
    assert "asmgen bench &lt;x&gt;" in made and "<svg" in made and "x.o:&lt;f&gt;" in made
    assert re.search(r"ours is faster", made) and "95.0 @ 99" in made and "4 repetitions" in made and "broke" in made
    assert not re.search(r'(?:src|href)="?https?:', made) and "<script src" not in made
    assert "4 repetitions" in printed(text.modelled_table(model)) and "95.0 @ 99" in printed(text.modelled_table(model))
